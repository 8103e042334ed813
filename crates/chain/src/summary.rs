//! Figures of a chain: `slotmark chain info`.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::prelude::*;
use serde::Serialize;

use crate::block::{Decoder, Era};
use crate::error::ChainError;
use crate::immutable::Chain;

/// The figures of a stretch of a chain.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// The folder.
    pub chain: String,
    /// Chunk files that the stretch lies in.
    pub chunks: usize,
    /// Blocks.
    pub blocks: u64,
    /// Blocks without a transaction.
    pub empty_blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The first block's slot.
    pub first_slot: u64,
    /// The last block's slot.
    pub last_slot: u64,
    /// The last block's point.
    pub tip: String,
    /// Quantiles of a block's size in bytes: the smallest size that this percentage of the blocks doesn't exceed.
    pub block_bytes: BTreeMap<&'static str, u64>,
    /// Transactions.
    pub transactions: u64,
    /// Transactions that failed phase 2.
    pub invalid_transactions: u64,
    /// Inputs.
    pub inputs: u64,
    /// Outputs.
    pub outputs: u64,
    /// Redeemers.
    pub redeemers: u64,
    /// Fees in lovelace.
    pub fees: u64,
    /// By era, in order.
    pub eras: Vec<EraSummary>,
}

/// The figures of an era.
#[derive(Debug, Serialize)]
pub struct EraSummary {
    /// Its name.
    pub era: &'static str,
    /// Blocks.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Transactions.
    pub transactions: u64,
    /// The first block's slot.
    pub first_slot: u64,
    /// The last block's slot.
    pub last_slot: u64,
    /// Blocks by protocol version, as `7.2`.
    pub protocol_versions: BTreeMap<String, u64>,
}

#[derive(Default)]
struct Tally {
    blocks: u64,
    bytes: u64,
    empty: u64,
    transactions: u64,
    invalid: u64,
    inputs: u64,
    outputs: u64,
    redeemers: u64,
    fees: u64,
    slots: Option<(u64, u64)>,
    versions: BTreeMap<(u64, u64), u64>,
}

impl Tally {
    fn merge(&mut self, other: Tally) {
        self.blocks += other.blocks;
        self.bytes += other.bytes;
        self.empty += other.empty;
        self.transactions += other.transactions;
        self.invalid += other.invalid;
        self.inputs += other.inputs;
        self.outputs += other.outputs;
        self.redeemers += other.redeemers;
        self.fees = self.fees.wrapping_add(other.fees);
        self.slots = match (self.slots, other.slots) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, two) => one.or(two),
        };
        for (version, blocks) in other.versions {
            *self.versions.entry(version).or_default() += blocks;
        }
    }
}

/// Reads, checks and decodes every block of a stretch, on all cores.
///
/// `progress` gets bytes done and bytes in all from one thread at a time, and stops the work with `Break`.
///
/// # Errors
/// The first damage, by file and offset; [`ChainError::Interrupted`] where `progress` stopped it.
pub fn summarise(
    chain: &Chain,
    range: Range<usize>,
    progress: &(dyn Fn(u64, u64) -> ControlFlow<()> + Sync),
) -> Result<Summary, ChainError> {
    if range.is_empty() {
        return Err(ChainError::Empty { path: chain.path().to_path_buf() });
    }
    let total: u64 = range.clone().map(|index| u64::from(chain.entry(index).size)).sum();
    let (done, stopped) = (AtomicU64::new(0), AtomicBool::new(false));
    let chunks = chain.chunk_of(range.start)..chain.chunk_of(range.end - 1) + 1;
    let tallies = chunks
        .clone()
        .into_par_iter()
        .map(|position| {
            let blocks = chain.chunk_blocks(position);
            let mine = blocks.start.max(range.start)..blocks.end.min(range.end);
            if stopped.load(Ordering::Relaxed) {
                return Err(ChainError::Interrupted);
            }
            chain.check_chunk(position)?;
            let tally = tally(chain, mine)?;
            let bytes: u64 = tally.values().map(|era| era.bytes).sum();
            if progress(done.fetch_add(bytes, Ordering::Relaxed) + bytes, total).is_break() {
                stopped.store(true, Ordering::Relaxed);
                return Err(ChainError::Interrupted);
            }
            Ok(tally)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let mut eras: BTreeMap<Era, Tally> = BTreeMap::new();
    let mut whole = Tally::default();
    for (era, tally) in tallies.into_iter().flatten() {
        eras.entry(era).or_default().merge(tally);
    }
    let eras = eras
        .into_iter()
        .map(|(era, tally)| {
            let (first_slot, last_slot) = tally.slots.unwrap_or_default();
            let summary = EraSummary {
                era: era.name(),
                blocks: tally.blocks,
                bytes: tally.bytes,
                transactions: tally.transactions,
                first_slot,
                last_slot,
                protocol_versions: tally.versions.iter().map(|((major, minor), &blocks)| (format!("{major}.{minor}"), blocks)).collect(),
            };
            whole.merge(tally);
            summary
        })
        .collect();
    Ok(Summary {
        chain: chain.path().display().to_string(),
        chunks: chunks.len(),
        blocks: whole.blocks,
        empty_blocks: whole.empty,
        bytes: whole.bytes,
        first_slot: chain.entry(range.start).slot,
        last_slot: chain.entry(range.end - 1).slot,
        tip: chain.point(range.end - 1).to_string(),
        block_bytes: quantiles(range.map(|index| u64::from(chain.entry(index).size)).collect()),
        transactions: whole.transactions,
        invalid_transactions: whole.invalid,
        inputs: whole.inputs,
        outputs: whole.outputs,
        redeemers: whole.redeemers,
        fees: whole.fees,
        eras,
    })
}

fn tally(chain: &Chain, blocks: Range<usize>) -> Result<BTreeMap<Era, Tally>, ChainError> {
    let mut decoder = Decoder::new();
    let mut eras: BTreeMap<Era, Tally> = BTreeMap::new();
    for index in blocks {
        let bytes = chain.bytes(index);
        let block = decoder.decode(bytes).map_err(|source| chain.block_error(index, source))?;
        let facts = block.facts();
        eras.entry(block.header.era).or_default().merge(Tally {
            blocks: 1,
            bytes: bytes.len() as u64,
            empty: u64::from(facts.transactions == 0),
            transactions: u64::from(facts.transactions),
            invalid: block.invalid.len() as u64,
            inputs: u64::from(facts.inputs),
            outputs: u64::from(facts.outputs),
            redeemers: block.redeemers.len() as u64,
            fees: facts.fees,
            slots: Some((facts.slot, facts.slot)),
            versions: BTreeMap::from([(block.header.protocol_version, 1)]),
        });
    }
    Ok(eras)
}

fn quantiles(mut sizes: Vec<u64>) -> BTreeMap<&'static str, u64> {
    sizes.sort_unstable();
    let at = |percent: usize| sizes[(sizes.len() * percent).div_ceil(100).max(1) - 1];
    BTreeMap::from([("p5", at(5)), ("p50", at(50)), ("p90", at(90)), ("p99", at(99)), ("max", at(100))])
}
