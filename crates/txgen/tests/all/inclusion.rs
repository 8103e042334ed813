//! Waiting until transactions are in a chain that a server hands out.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::os::unix::net::UnixListener;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use slotmark_chain::hash::blake2b_256;
use slotmark_chain::{Chain, Decoder, Hash32};
use slotmark_server::framing::FramedChain;
use slotmark_server::{Config, Server};
use slotmark_synth::{Recipe, Workload, forge};
use slotmark_txgen::{Included, Inclusion, inclusions, wait_for_inclusion};
use slotmark_wire::handshake::{self, Proposal, Side, Terms};
use slotmark_wire::mux::{HEADER_BYTES, frame};

#[test]
fn transactions_are_found_in_blocks_and_missed_where_they_are_in_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("chain");
    forge(&Recipe::new(Workload::ValueOnly, 3), &place, &mut |_| ControlFlow::Continue(())).expect("a chain");
    let chain = Chain::open(&place).expect("a chain");
    let mut decoder = Decoder::new();
    let mut expected: Vec<Inclusion> = Vec::new();
    for index in 0..chain.len() {
        let block = decoder.decode(chain.bytes(index)).expect("a block");
        let (hash, slot) = (block.header.hash, block.header.slot);
        let ids = block.transactions.iter().map(|transaction| blake2b_256(&[transaction.body.of(block.bytes)]));
        expected.extend(ids.map(|id| Inclusion { id, block: hash, slot }));
    }
    let mut ids: Vec<Hash32> = expected.iter().map(|one| one.id).collect();
    assert!(ids.len() > 400);
    let socket = folder.path().join("socket");
    let mut config = Config::new(FramedChain::new(chain, 1 << 30).expect("framed"), 42);
    config.socket = Some(socket.clone());
    let _server = Server::start(config, |_| {}).expect("a server");
    let (go_on, stopped) = (AtomicBool::new(false), AtomicBool::new(true));
    let wait = |ids: Vec<Hash32>, seconds| wait_for_inclusion(&socket, 42, ids, Duration::from_secs(seconds), &go_on);
    assert!(matches!(wait(ids.clone(), 60), Ok(Included::All)));
    let asked = ids.iter().copied().chain([[1; 32]]).collect();
    assert_eq!(inclusions(&socket, 42, asked, Duration::from_secs(60)).expect("a chain"), expected);
    ids.extend([[1; 32], [2; 32]]);
    let at_once = wait_for_inclusion(&socket, 42, ids.clone(), Duration::from_secs(600), &stopped);
    assert!(matches!(at_once, Ok(Included::Missing(_))));
    // The chain ends, and nothing more comes: the wait ends with the time.
    assert!(matches!(wait(ids, 2), Ok(Included::Missing(left)) if left >= 2));
    assert!(wait_for_inclusion(&folder.path().join("nobody"), 42, [[1; 32]], Duration::from_secs(1), &go_on).is_err());
}

#[test]
fn a_node_that_does_not_answer_is_named_with_the_query() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("socket");
    let listener = UnixListener::bind(&socket).expect("a socket");
    thread::spawn(move || {
        let mut connection = listener.accept().expect("a connection").0;
        let mut bytes = [0; 1024];
        let count = connection.read(&mut bytes).expect("a proposal");
        let (proposal, _) = Proposal::decode(&bytes[HEADER_BYTES..count]).expect("a proposal");
        let (mut answer, mut wire) = (Vec::new(), Vec::new());
        let first = *Side::Client.versions().start();
        let terms = Terms { versions: first..=first, ..Terms::of(Side::Client, 42) };
        terms.answer(&proposal).encode(&mut answer, &terms, &proposal);
        frame(&mut wire, handshake::NUMBER, true, &[&answer]);
        connection.write_all(&wire).expect("sent");
        let _ = connection.read_to_end(&mut Vec::new());
    });
    let error = inclusions(&socket, 42, HashSet::from([[1; 32]]), Duration::from_secs(1)).expect_err("no answer").to_string();
    assert_eq!(error, "no answer to chain-sync MsgFindIntersect (for its tip) within 1 s");
}
