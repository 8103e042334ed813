//! The output of a replay: JSON lines, by the contract of docs/replay.md.

use serde::Serialize;

use crate::phase::Laps;
use crate::resources::Used;

/// The version of the contract.
pub const CONTRACT: u32 = 1;

/// The mode of a replay that checks nothing, in db-analyser's word.
pub const REAPPLICATION: &str = "reapplication";

/// The first line: what the process is.
#[derive(Debug, Serialize)]
pub struct Process {
    /// Always `process`.
    pub record: &'static str,
    /// The contract's version.
    pub contract: u32,
    /// The program that does the work.
    pub engine: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The kind of store for unspent outputs.
    pub backend: &'static str,
    /// The library and version of that store.
    pub store: String,
    /// [`REAPPLICATION`] where nothing is checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<&'static str>,
    /// The phases that are timed, in order.
    pub phases: Vec<&'static str>,
    /// Outputs that were there before the first block.
    pub genesis_entries: u64,
    /// The slot after which the process went on; None where it began with the chain.
    pub resumed_after: Option<u64>,
    /// Blocks between two flushes.
    pub flush_every: u64,
}

/// A line per block. A phase that wasn't part of the work isn't there.
#[derive(Debug, Serialize)]
#[allow(missing_docs, reason = "docs/replay.md has them, one by one")]
pub struct Block {
    pub record: &'static str,
    pub slot: u64,
    pub block_no: u64,
    pub hash: String,
    pub era: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_of_epoch: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reward_pulse: Option<u64>,
    pub block_bytes: u64,
    pub transactions: u64,
    pub inputs: u64,
    pub outputs: u64,
    pub script_memory: u64,
    pub script_steps: u64,
    pub missing: u64,
    #[serde(flatten)]
    pub laps: Laps,
}

/// The last line.
#[derive(Debug, Serialize)]
pub struct End {
    /// Always `end`.
    pub record: &'static str,
    /// Lines of blocks before it.
    pub blocks: u64,
    /// Unspent outputs.
    pub entries: u64,
    /// Digest of the set of unspent outputs, in hex.
    pub digest: String,
    /// Lovelace outside of unspent outputs; None where accounts weren't followed to the end.
    #[serde(flatten)]
    pub pots: Option<Pots>,
    /// Loading the outputs of the genesis.
    pub load_ns: u64,
    /// From the first block to the last, with what isn't timed between them, without idle time.
    pub elapsed_ns: u64,
    /// Bytes that the set takes on disk; None where it isn't on disk.
    pub disk_bytes: Option<u64>,
    /// Resources of the process, from before the genesis was loaded to after the last block.
    #[serde(flatten)]
    pub used: Used,
}

/// Lovelace that isn't in unspent outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Pots {
    /// Registered credentials.
    pub accounts: u64,
    /// Rewards in their accounts.
    pub rewards: u64,
    /// The treasury.
    pub treasury: u64,
    /// Not issued yet.
    pub reserves: u64,
    /// For credentials and pools.
    pub deposits: u64,
    /// Fees that aren't shared out yet.
    pub fees: u64,
    /// Donations that the treasury doesn't have yet.
    pub donations: u64,
}
