//! Tests files that were prepared for a replay, cut and changed at many places.

use std::fs;
use std::ops::ControlFlow;
use std::time::Duration;

use clap::ValueEnum as _;
use slotmark_replay::{Backend, ReplayError, Settings, prepare, replay};
use slotmark_synth::{Recipe, Workload, forge};

#[test]
fn a_damaged_file_is_refused_with_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let (chain, prepared, out) = (folder.path().join("chain"), folder.path().join("prepared"), folder.path().join("out"));
    let recipe = Recipe { security_parameter: 3, ..Recipe::new(Workload::ValueOnly, 20) };
    forge(&recipe, &chain, &mut |_| ControlFlow::Continue(())).unwrap();
    prepare(&chain.join("genesis/shelley-genesis.json"), &prepared).unwrap();
    let settings = Settings {
        chain,
        genesis: None,
        prepared: Some(prepared.clone()),
        backend: Backend::from_str("memory", false).expect("a store"),
        state: folder.path().join("state"),
        flush_every: 100,
        blocks: Some(4),
        reapply: false,
        pause: Duration::ZERO,
    };
    let whole = fs::read(&prepared).unwrap();
    assert_eq!(replay(&settings, &out).unwrap().missing, 0);
    fs::remove_file(&out).unwrap();
    let refused = |content: &[u8], what: &str| {
        fs::write(&prepared, content).unwrap();
        match replay(&settings, &out) {
            Err(error @ ReplayError::Prepared { .. }) => {
                let line = error.to_string();
                assert!(line.contains("not what --prepare writes (") && !line.contains('\n'), "{what}: {line}");
            }
            other => panic!("{what}: {other:?}"),
        }
        assert!(!out.exists(), "{what}: something was written");
    };
    // Densely at both ends, where lengths, numbers and the last outputs are, and here and there between.
    let length = whole.len();
    let places = || (0..200).chain((200..length).step_by(length / 60)).chain(length - 40..length);
    for at in places() {
        refused(&whole[..at], &format!("cut at {at}"));
    }
    for at in places() {
        for bit in [1, 0x80] {
            let mut content = whole.clone();
            content[at] ^= bit;
            refused(&content, &format!("bit {bit} of byte {at}"));
        }
    }
    refused(&[&whole[..], b"\0"].concat(), "a byte more");
    refused(&[0xff; 99], "nothing but ones");
}
