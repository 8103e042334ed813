//! A forged chain block by block: written as a node does, killed at any moment; and taken back from the ledger.

use std::fs;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use slotmark_chain::block::{Decoder, Era};
use slotmark_chain::{Chain, ChainAppender, ChainError, NewBlock};
use slotmark_praos::genesis::Genesis;
use slotmark_praos::state::ChainState;
use slotmark_synth::{Recipe, Workload, forge};

fn forged(folder: &Path, workload: Workload, blocks: u64) -> Chain {
    let recipe = Recipe { security_parameter: 3, ..Recipe::new(workload, blocks) };
    forge(&recipe, folder.join("forged"), &mut |_| ControlFlow::Continue(())).unwrap();
    Chain::open(folder.join("forged")).unwrap()
}

fn genesis_of(folder: &Path) -> Arc<Genesis> {
    Arc::new(Genesis::read(&folder.join("forged/genesis/shelley-genesis.json")).unwrap())
}

fn append(appender: &mut ChainAppender, chain: &Chain, blocks: Range<usize>) {
    blocks.for_each(|index| tried(appender, chain, index).unwrap());
}

fn tried(appender: &mut ChainAppender, chain: &Chain, index: usize) -> Result<(), ChainError> {
    let entry = chain.entry(index);
    let (header_offset, header_size) = (entry.header_offset, entry.header_size);
    appender.append(&NewBlock { bytes: chain.bytes(index), header_offset, header_size, slot: entry.slot, hash: entry.hash })
}

/// A forged chain of 24 blocks, and the first ones of them in another folder, as an appender left them.
fn appended(folder: &Path, blocks: usize) -> (Chain, PathBuf, ChainAppender) {
    let (chain, grown) = (forged(folder, Workload::Empty, 24), folder.join("grown"));
    let mut appender = ChainAppender::open(&grown, 30).unwrap();
    append(&mut appender, &chain, 0..blocks);
    (chain, grown, appender)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for file in fs::read_dir(from).unwrap().map(|file| file.unwrap()) {
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

/// The files of a chain, but for the last primary index, which a node leaves short.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap())
        .filter(|file| file.file_type().unwrap().is_file())
        .map(|file| (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap()))
        .collect();
    files.sort();
    let last = files.iter().rposition(|(name, _)| name.ends_with("primary")).unwrap();
    files.remove(last);
    files
}

#[test]
fn a_chain_that_was_cut_anywhere_goes_on_as_if_it_had_not_been() {
    let folder = tempfile::tempdir().unwrap();
    let (chain, whole, appender) = appended(folder.path(), 24);
    assert_eq!((chain.len(), appender.len()), (24, 24));
    assert_eq!(files(&whole), files(&folder.path().join("forged")));
    assert_eq!(appender.block(11).unwrap(), chain.bytes(11));
    assert_eq!(appender.find(&chain.point(11)), Some(11));
    drop(appender);

    // What a process leaves that was killed in its last write, or before: each of the last chunk's files is cut by itself.
    let last = files(&whole).into_iter().rfind(|(name, _)| name.ends_with("chunk")).unwrap().0.replace(".chunk", "");
    for kind in ["chunk", "secondary", "primary"] {
        let name = format!("{last}.{kind}");
        let length = fs::metadata(whole.join(&name)).unwrap().len();
        for cut in (0..=length).step_by(if kind == "chunk" { 97 } else { 7 }) {
            let torn = folder.path().join("torn");
            copy(&whole, &torn);
            fs::OpenOptions::new().write(true).open(torn.join(&name)).unwrap().set_len(cut).unwrap();
            let mut appender = ChainAppender::open(&torn, 30).unwrap();
            let kept = appender.len();
            assert!(kept == 24 || cut < length, "{name} at {cut}");
            let opened = Chain::open(&torn).unwrap();
            assert_eq!(opened.len(), kept);
            (0..opened.chunk_count()).for_each(|chunk| opened.check_chunk(chunk).unwrap());
            append(&mut appender, &chain, kept..24);
            assert_eq!(files(&torn), files(&whole), "{name} at {cut}");
            drop(opened);
            fs::remove_dir_all(&torn).unwrap();
        }
    }
}

#[test]
fn a_chain_whose_older_chunks_are_damaged_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (chain, whole, _) = appended(folder.path(), 24);
    let chunk_of = |index: usize| chain.entry(index).slot / 30;
    let older = chunk_of(12);
    assert!(0 < older && older < chunk_of(23));
    let remove = |kind: &'static str| {
        let name = format!("{older:05}.{kind}");
        move |folder: &Path| fs::remove_file(folder.join(&name)).unwrap()
    };
    let cut = |kind: &'static str| {
        let name = format!("{older:05}.{kind}");
        move |folder: &Path| {
            let file = fs::OpenOptions::new().write(true).open(folder.join(&name)).unwrap();
            file.set_len(file.metadata().unwrap().len() - 1).unwrap();
        }
    };
    let missing = format!("{:05}.chunk: chunk {older:05} is missing before it", older + 1);
    // What is done to the files, the slots a chunk that are asked for, and a part of the error.
    type Case<'a> = (&'a dyn Fn(&Path), u64, String);
    let cases: [Case<'_>; 7] = [
        (&|folder: &Path| ["chunk", "secondary", "primary"].into_iter().for_each(|kind| remove(kind)(folder)), 30, missing),
        (&|folder: &Path| remove_all(folder, "00000."), 30, "00001.chunk: chunk 00000 is missing before it".to_owned()),
        (&remove("chunk"), 30, format!("{older:05}.chunk: No such file")),
        (&remove("secondary"), 30, format!("{older:05}.secondary: No such file")),
        (&cut("chunk"), 30, format!("{older:05}.secondary: damaged at offset")),
        (&cut("secondary"), 30, format!("{older:05}.secondary: damaged at offset")),
        (&|_: &Path| (), 31, "where chunks have 31 slots".to_owned()),
    ];
    for (number, (damage, chunk_slots, expected)) in cases.into_iter().enumerate() {
        let damaged = folder.path().join(format!("damaged-{number}"));
        copy(&whole, &damaged);
        damage(&damaged);
        let before = files(&damaged);
        let Err(error) = ChainAppender::open(&damaged, chunk_slots) else { panic!("case {number} is opened") };
        let error = error.to_string();
        assert!(error.contains(&expected) && !error.contains("can't be written"), "case {number}: {error}");
        assert_eq!(files(&damaged), before, "case {number}");
    }
}

#[test]
fn indexes_that_were_left_without_their_chunk_are_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let (chain, killed, appender) = appended(folder.path(), 12);
    drop(appender);
    for kind in ["primary", "secondary"] {
        fs::write(killed.join(format!("{:05}.{kind}", chain.entry(11).slot / 30 + 1)), "left over").unwrap();
    }
    let mut appender = ChainAppender::open(&killed, 30).unwrap();
    assert_eq!(appender.len(), 12);
    append(&mut appender, &chain, 12..24);
    assert_eq!(files(&killed), files(&folder.path().join("forged")));
}

#[test]
fn after_a_write_that_failed_a_chain_must_be_opened_anew() {
    let folder = tempfile::tempdir().unwrap();
    let (chain, grown, mut appender) = appended(folder.path(), 12);
    // Where the file of a later chunk is to be, there is a folder.
    let later = (12..chain.len()).find(|index| chain.entry(*index).slot / 30 > chain.entry(11).slot / 30).unwrap();
    let in_the_way = grown.join(format!("{:05}.chunk", chain.entry(11).slot / 30 + 1));
    fs::create_dir(&in_the_way).unwrap();
    append(&mut appender, &chain, 12..later);
    assert!(tried(&mut appender, &chain, later).is_err());
    fs::remove_dir(&in_the_way).unwrap();
    let again = tried(&mut appender, &chain, later).unwrap_err().to_string();
    assert!(again.contains("open the chain anew"), "{again}");
    let mut appender = ChainAppender::open(&grown, 30).unwrap();
    assert_eq!(appender.len(), later);
    append(&mut appender, &chain, later..24);
    assert_eq!(files(&grown), files(&folder.path().join("forged")));
}

fn remove_all(folder: &Path, prefix: &str) {
    for file in fs::read_dir(folder).unwrap().map(|file| file.unwrap()) {
        if file.file_name().to_str().unwrap().starts_with(prefix) {
            fs::remove_file(file.path()).unwrap();
        }
    }
}

#[test]
fn a_block_that_is_taken_back_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    // 60 blocks or so an epoch.
    let chain = forged(folder.path(), Workload::ValueOnly, 130);
    let genesis = genesis_of(folder.path());
    let mut state = ChainState::new(Some(&genesis));
    let mut decoder = Decoder::new();
    let facts = |state: &ChainState, slot: u64| {
        let outlook = state.outlook(Era::Conway, slot).unwrap();
        let stake = state.stake().unwrap();
        let mut unspent: Vec<_> = stake.all_unspent().collect();
        unspent.sort();
        let epoch = &outlook.epoch;
        (state.tip(), epoch.number, epoch.nonce, epoch.distribution.clone(), stake.delegations(), unspent)
    };
    // Three blocks on and three back, then one on: also over the ends of epochs.
    for index in 0..chain.len() - 3 {
        let far = chain.entry(index).slot + 3_000;
        let watched = index % 10 == 0 || index + 5 > chain.len();
        let before = watched.then(|| facts(&state, far));
        let mut undone = Vec::new();
        for ahead in index..index + 3 {
            let block = decoder.decode(chain.bytes(ahead)).unwrap();
            // Headers alone come to the same epoch, nonce and stake.
            let mut headers = state.of_next_header(Era::Conway, block.header.slot);
            let foreseen = headers.step_header(&block.header, block.body_bytes());
            let (step, undo) = state.step_with_undo(&block);
            let step = step.unwrap();
            assert_eq!(step.outcome.result(), Ok(()));
            assert_eq!(foreseen.outcome.result(), Ok(()));
            assert_eq!(foreseen.leader, step.leader);
            assert_eq!(foreseen.epoch.unwrap().nonce, step.epoch.unwrap().nonce);
            undone.push(undo);
        }
        undone.into_iter().rev().for_each(|undo| state.undo(undo));
        if let Some(before) = before {
            assert!(facts(&state, far) == before, "block {index}");
        }
        let block = decoder.decode(chain.bytes(index)).unwrap();
        state.step(&block).unwrap();
    }
}

#[test]
fn stake_goes_on_after_a_block_was_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let chain = forged(folder.path(), Workload::ValueOnly, 200);
    let genesis = genesis_of(folder.path());
    let (mut straight, mut turned) = (ChainState::new(Some(&genesis)), ChainState::new(Some(&genesis)));
    let mut decoder = Decoder::new();
    let mut distributions = Vec::new();
    for index in 0..chain.len() {
        let block = decoder.decode(chain.bytes(index)).unwrap();
        if index == 10 {
            let (step, undo) = turned.step_with_undo(&block);
            step.unwrap();
            turned.undo(undo);
        }
        let [expected, found] = [&mut straight, &mut turned].map(|state| {
            let step = state.step(&block).unwrap();
            (step.leader, step.epoch.unwrap().distribution.clone().unwrap())
        });
        assert!(found == expected, "block {index}");
        if distributions.last() != Some(&expected.1) {
            distributions.push(expected.1);
        }
    }
    // The genesis's stake, then that of the first blocks, and so on.
    assert!(distributions.len() > 3, "{} distributions: the chain ends too early", distributions.len());
}
