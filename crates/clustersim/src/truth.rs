//! The true events, in true time.

use crate::event::{Block, ResourceSample};

/// No such moment.
pub const NEVER: u64 = u64::MAX;

/// The way in which a block came onto a host's chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AdoptedBy {
    /// Not at all.
    #[default]
    Nothing,
    /// It extended the chain: `AddedToCurrentChain` names it.
    Extension,
    /// The chain switched to a fork whose tip it was: `SwitchedToAFork` names it.
    Fork,
    /// A later block took it along; no log line names it.
    Carried,
}

impl AdoptedBy {
    /// The word for it in `truth.jsonl`.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::Extension => Some("extension"),
            Self::Fork => Some("fork"),
            Self::Carried => Some("carried"),
        }
    }
}

/// The first moments, in ns since slot 0 and true time, at which a host did something with a block; `NEVER` where it did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Its header was received.
    pub noticed_ns: u64,
    /// A fetch request was sent whose newest block it was.
    pub requested_ns: u64,
    /// Its body was received.
    pub fetched_ns: u64,
    /// Its header was announced to a follower.
    pub announced_ns: u64,
    /// Its body was sent to a follower.
    pub sending_ns: u64,
    /// It became part of the host's chain.
    pub adopted_ns: u64,
    /// The longest request whose newest block it was.
    pub range: u32,
    /// The way in which it was adopted.
    pub adopted_by: AdoptedBy,
}

impl Default for Observation {
    fn default() -> Self {
        Self {
            noticed_ns: NEVER,
            requested_ns: NEVER,
            fetched_ns: NEVER,
            announced_ns: NEVER,
            sending_ns: NEVER,
            adopted_ns: NEVER,
            range: 0,
            adopted_by: AdoptedBy::Nothing,
        }
    }
}

/// Times at which the stages of making a block ended, in ns since slot 0 and true time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForgingTimes {
    /// The forge loop's iteration started.
    pub started_ns: u64,
    /// The block context was there.
    pub block_context_ns: u64,
    /// The ledger state was there.
    pub ledger_state_ns: u64,
    /// The ledger view was there.
    pub ledger_view_ns: u64,
    /// The leadership check was done.
    pub leadership_ns: u64,
    /// The ledger was ticked.
    pub ledger_tick_ns: u64,
    /// The mempool's snapshot was there.
    pub mempool_snapshot_ns: u64,
}

/// The true events on a host in one slot of its own clock. Moments are ns since slot 0 and true time, before 0 where the host's clock is ahead;
/// `None` for what did not happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotTruth {
    /// The slot.
    pub slot: u64,
    /// True where the host led it.
    pub leads: bool,
    /// The forge loop started.
    pub started_ns: Option<i64>,
    /// The block context was there.
    pub block_context_ns: Option<i64>,
    /// The number of the block to build on; -1 for genesis.
    pub context_number: Option<i64>,
    /// The ledger state was there.
    pub ledger_state_ns: Option<i64>,
    /// The ledger view was there.
    pub ledger_view_ns: Option<i64>,
    /// The host knew whether it leads.
    pub leadership_ns: Option<i64>,
    /// The ledger was measured.
    pub measured_ns: Option<i64>,
    /// The number of the tip then; -1 for genesis.
    pub tip_number: Option<i64>,
    /// The slot of the tip then.
    pub tip_slot: Option<i64>,
    /// Unspent outputs then.
    pub utxo: Option<i64>,
    /// Resources were sampled.
    pub sampled_ns: Option<i64>,
    /// Since the node started, CPU time of the mutator, in ns; the node logs whole hundredths of a second.
    pub mutator_ns: Option<i64>,
    /// Since the node started, CPU time of collections, in ns.
    pub gc_ns: Option<i64>,
    /// The other counters and the sizes, as the node logs them.
    pub resources: Option<ResourceSample>,
    /// The most transactions that the mempool held when it changed.
    pub mempool_txs: Option<i64>,
}

impl SlotTruth {
    /// The columns of the table `truth_slots`, and the fields of a line of `truth-slots.jsonl`.
    pub const FIELDS: [&'static str; 23] = [
        "slot",
        "leads",
        "started_ns",
        "block_context_ns",
        "context_number",
        "ledger_state_ns",
        "ledger_view_ns",
        "leadership_ns",
        "measured_ns",
        "tip_number",
        "tip_slot",
        "utxo",
        "sampled_ns",
        "mutator_ns",
        "gc_ns",
        "major_gcs",
        "minor_gcs",
        "allocated_bytes",
        "live_bytes",
        "heap_bytes",
        "rss_bytes",
        "fs_written_bytes",
        "mempool_txs",
    ];

    /// The values of these fields; `leads` is 1 or 0.
    pub fn values(&self) -> [Option<i64>; Self::FIELDS.len()] {
        let sampled = |get: fn(ResourceSample) -> u64| self.resources.map(|sample| get(sample) as i64);
        [
            Some(self.slot as i64),
            Some(i64::from(self.leads)),
            self.started_ns,
            self.block_context_ns,
            self.context_number,
            self.ledger_state_ns,
            self.ledger_view_ns,
            self.leadership_ns,
            self.measured_ns,
            self.tip_number,
            self.tip_slot,
            self.utxo,
            self.sampled_ns,
            self.mutator_ns,
            self.gc_ns,
            sampled(|sample| sample.gcs_major),
            sampled(|sample| sample.gcs_minor),
            sampled(|sample| sample.alloc_bytes),
            sampled(|sample| sample.live_bytes),
            sampled(|sample| sample.heap_bytes),
            sampled(|sample| sample.rss_bytes),
            sampled(|sample| sample.fs_written_bytes),
            self.mempool_txs,
        ]
    }
}

/// The true events of a simulation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Every block that was forged, after genesis at index 0.
    pub blocks: Vec<Block>,
    /// Its forging, by index.
    pub forging: Vec<ForgingTimes>,
    /// Observations of each host of each block: by host, then by block index; a host's list may end early.
    pub observations: Vec<Vec<Observation>>,
    /// The chain each host ended on: the index of its tip.
    pub tips: Vec<u32>,
    /// By how many ns each host's clock is ahead: what it logs is true time plus this.
    pub clock_ahead_ns: Vec<i64>,
    /// The slots simulated.
    pub slots: u64,
}

impl Truth {
    /// Returns a host's observation of a block.
    pub fn observation(&self, host: usize, block: u32) -> Observation {
        self.observations[host].get(block as usize).copied().unwrap_or_default()
    }

    /// The hash of a block in hex, or what a log has for that of genesis.
    pub fn hash(&self, block: u32) -> String {
        String::from_utf8_lossy(self.blocks[block as usize].name()).into_owned()
    }

    /// The chain that ends in a block, genesis left out, oldest first.
    pub fn chain_to(&self, tip: u32) -> Vec<u32> {
        let mut chain = Vec::new();
        let mut at = tip;
        while at != 0 {
            chain.push(at);
            at = self.blocks[at as usize].parent;
        }
        chain.reverse();
        chain
    }

    /// The chain that most blocks long: that of the highest tip; the lower VRF value decides.
    pub fn chain(&self) -> Vec<u32> {
        let best = self.tips.iter().copied().max_by_key(|tip| {
            let block = &self.blocks[*tip as usize];
            (block.height, std::cmp::Reverse(block.vrf))
        });
        best.map(|tip| self.chain_to(tip)).unwrap_or_default()
    }
}
