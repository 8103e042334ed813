//! Two forged chains that begin alike, for a server that turns from one to the other.

use std::collections::HashSet;
use std::fs;
use std::ops::ControlFlow;

use slotmark_chain::block::{Decoder, decode_header};
use slotmark_chain::hash::blake2b_256;
use slotmark_chain::{Chain, Digest, Point};
use slotmark_synth::{Recipe, Workload};

use crate::bed::{Bed, Shape};

/// k: a turn takes back fewer blocks.
const SECURITY_PARAMETER: u64 = 12;
/// Blocks of the first fork behind the common ones, and more than that of the second one.
const FIRST: usize = 8;
const SECOND: usize = 11;
/// Blocks that are forged; the common ones end where the second fork draws its first block with transactions.
const BLOCKS: u64 = 145;

/// Two forks and the network that they are on.
pub struct Forks {
    pub bed: Bed,
    /// All blocks of the shorter fork, and of the longer one.
    pub first: Vec<Vec<u8>>,
    pub second: Vec<Vec<u8>>,
    /// Number of blocks that both begin with.
    pub common: usize,
}

/// An event that a client sees of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A block, whole.
    Block(Vec<u8>),
    /// A roll-backward.
    Back(Point),
}

impl Forks {
    /// Forges both.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let forge = |workload: &str| {
            let recipe = Recipe { security_parameter: SECURITY_PARAMETER, ..Recipe::new(workload.parse().unwrap(), BLOCKS) };
            let path = folder.path().join(workload.replace([':', '=', ','], "-"));
            slotmark_synth::forge(&recipe, &path, &mut |_| ControlFlow::Continue(())).unwrap();
            let chain = Chain::open(&path).unwrap();
            let blocks: Vec<Vec<u8>> = (0..chain.len()).map(|index| chain.bytes(index).to_vec()).collect();
            (path, blocks, recipe)
        };
        let (path, mut first, recipe) = forge(&Workload::Empty.to_string());
        let (_, mut second, _) = forge("mix:empty=150,value-only=1");
        let common = first.iter().zip(&second).take_while(|(one, other)| one == other).count();
        // Beyond an epoch's 120 blocks or so, and not too far.
        let slot = decode_header(&first[common]).unwrap().slot;
        assert!(slot > recipe.epoch_slots() && common + SECOND <= second.len(), "{common} common blocks");
        first.truncate(common + FIRST);
        second.truncate(common + SECOND);
        let shape = Shape {
            pools: 0,
            security_parameter: SECURITY_PARAMETER,
            active_slots: 0.05,
            epoch_slots: recipe.epoch_slots(),
            slot_ms: 1_000,
        };
        let bed = Bed::of_files(shape, &path.join(slotmark_synth::GENESIS_FOLDER));
        fs::remove_dir_all(folder).unwrap();
        Self { bed, first, second, common }
    }

    /// The address and the lovelace of an output of the genesis that no block spends.
    pub fn unspent(&self) -> (Vec<u8>, u64) {
        let mut decoder = Decoder::new();
        let mut spent = HashSet::new();
        for bytes in &self.second {
            let block = decoder.decode(bytes).unwrap();
            spent.extend(block.inputs.iter().map(|input| bytes[input.transaction as usize..][..32].to_vec()));
        }
        let funds = &self.bed.genesis().funds;
        assert!(!spent.is_empty() && spent.len() < funds.len());
        funds.iter().find(|(address, _)| !spent.contains(&blake2b_256(&[address])[..])).unwrap().clone()
    }

    /// Returns the events that a client sees that follows from the origin on.
    pub fn seen(&self) -> Vec<Seen> {
        let blocks = |blocks: &[Vec<u8>]| blocks.iter().cloned().map(Seen::Block).collect::<Vec<_>>();
        let header = decode_header(&self.first[self.common - 1]).unwrap();
        let turn = Seen::Back(Point::Block { slot: header.slot, hash: header.hash });
        [vec![Seen::Back(Point::Origin)], blocks(&self.first), vec![turn], blocks(&self.second[self.common..])].concat()
    }

    /// The digest behind each block that a client of this kind gets, as targets form them.
    pub fn digests(&self) -> Vec<String> {
        let mut digest = Digest::new();
        let hex = |block: &Vec<u8>| {
            digest.raw(block.len() as u32, crc32fast::hash(block));
            digest.hex()
        };
        self.first.iter().chain(&self.second[self.common..]).map(hex).collect()
    }
}
