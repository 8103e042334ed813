//! The proof of every store that was built, with processes that are killed; and of one that claims more than it has.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use clap::ValueEnum as _;
use slotmark_replay::Backend;
use slotmark_replay::prove::{Settings, prove};

fn settings(backend: Backend, state: PathBuf, program: PathBuf) -> Settings {
    Settings { backend, state, operations: 20_000, kills: 3, seed: 5, program }
}

#[test]
fn what_killed_processes_leave_is_what_their_last_batch_left() {
    for backend in Backend::value_variants() {
        let folder = tempfile::tempdir().unwrap();
        let program = PathBuf::from(env!("CARGO_BIN_EXE_slotmark-stores"));
        prove(&settings(*backend, folder.path().to_path_buf(), program)).unwrap();
    }
}

#[test]
fn batches_that_are_claimed_and_not_there_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("claims");
    fs::write(&program, "#!/bin/sh\nseq 1 200\nexec sleep 60\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let store = Backend::from_str("lsm", false).expect("a store");
    let why = prove(&settings(store, folder.path().join("state"), program)).unwrap_err().to_string();
    assert!(why.starts_with("lsm: a wrong answer: killed after batch ") && why.contains("it has nothing as the last one"), "{why}");
}
