//! Sets of unspent outputs of nodes (`--ledger`), held against the chain.

use std::path::{Path, PathBuf};

use clap::ValueEnum as _;
use slotmark_chain::block::Decoder;
use slotmark_chain::{ChainAppender, Hash32, Point};
use slotmark_praos::state::ChainState;
use slotmark_replay::place::Place;
use slotmark_replay::{Backend, Tip};

use super::Bed;

/// Stores on disk.
pub const ON_DISK: [&str; 2] = ["lsm", "lmdb"];

fn backend(name: &str) -> Backend {
    Backend::from_str(name, false).unwrap()
}

/// The folder of a node's set.
pub fn folder(bed: &Bed, number: usize, store: &str) -> PathBuf {
    bed.folder.path().join(format!("node-{number}/db/ledger/{store}"))
}

/// The tip and the digest of a set on disk.
pub fn of_set(folder: &Path, store: &str) -> (Tip, Hash32) {
    let set = backend(store).open(&folder.join("set")).unwrap();
    (set.tip().unwrap(), set.digest().unwrap())
}

/// The digest of the unspent outputs that a node's settled blocks make of the genesis, all in memory, up to a tip; and their number without the genesis's.
pub fn of_chain(bed: &Bed, number: usize, tip: Tip) -> (Hash32, usize) {
    let genesis = bed.genesis();
    let mut state = ChainState::new(Some(&genesis));
    // As the node opens it: what a kill left at the end is cut off.
    let chain =
        ChainAppender::open(bed.folder.path().join(format!("node-{number}/db/immutable")), 10 * bed.shape.security_parameter).unwrap();
    let last = chain.find(&Point::Block { slot: tip.slot, hash: tip.hash }).expect("a settled block");
    let mut decoder = Decoder::new();
    for index in 0..=last {
        let bytes = chain.block(index).unwrap();
        let block = decoder.decode(&bytes).unwrap();
        state.step(&block).unwrap().outcome.result().unwrap();
    }
    let mut outputs: Vec<_> =
        state.stake().unwrap().all_unspent().map(|(id, index, entry)| (Place::new(&id, index).unwrap(), entry)).collect();
    outputs.sort_by_key(|(place, _)| *place);
    let of_genesis: Vec<Hash32> = genesis.outputs().map(|(id, _)| id).collect();
    let added = outputs.iter().filter(|(place, _)| !of_genesis.contains(place.0.first_chunk().unwrap())).count();
    let mut set = backend("memory").open(Path::new("")).unwrap();
    set.fill(&mut outputs.into_iter(), tip).unwrap();
    (set.digest().unwrap(), added)
}

/// Runs a node that can't start; gives its line.
pub fn refusal(bed: &Bed, store: &str) -> String {
    let mut node = bed.start(1, &[], &["--ledger", store]);
    let status = node.child.wait().unwrap();
    assert_eq!(status.code(), Some(2), "{}", node.errors());
    let errors = node.errors();
    errors.lines().last().unwrap_or_default().replace(&format!("{}/", bed.folder.path().display()), "")
}
