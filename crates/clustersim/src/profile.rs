//! Profiles: everything that decides a simulation but the seed.
//!
//! A profile is TOML; one that `extends` another is laid over it, table by table. Durations, sizes and rates are written with
//! their unit. docs/simulator.md has the table of all parameters and where their values come from; [`reach`] which of them
//! the model has.

mod check;
mod fault;
mod layers;
mod reach;
mod settings;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

pub use fault::Fault;
pub use reach::{Reach, reach};

use crate::quantity::{BitRate, Bytes, Span};

/// A whole profile.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The profile's name, as it goes into `meta.json`.
    pub name: String,
    /// One sentence about it.
    pub description: String,
    /// Duration of the run.
    pub run: Run,
    /// Genesis, the same for every node.
    pub genesis: Genesis,
    /// Hosts, links and their latencies.
    pub network: Network,
    /// Transfer of a block's bytes over one connection.
    pub tcp: Tcp,
    /// The cluster's workload.
    pub workload: Workload,
    /// The node under test.
    pub target: Target,
    /// The stages of making a block.
    pub forging: Forging,
    /// The stages of passing a block on.
    pub peer: Peer,
    /// The once-a-second resource samples.
    pub resources: Resources,
    /// Faults and their times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fault: Vec<Fault>,
    /// Settings that only a live cluster needs: nothing here looks at it.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    pub live: toml::Table,
    /// The published column that this profile was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
}

/// The duration of the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Slots to simulate.
    pub slots: u64,
    /// Start of slot 0, as `2025-08-01T16:54:49Z`; whole seconds.
    pub system_start: String,
}

/// The genesis, the same for every node.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Genesis {
    /// Length of a slot.
    pub slot_length: Span,
    /// Slots an epoch.
    pub epoch_slots: u64,
    /// f of Praos: the probability that a slot has a leader, if one pool had all stake.
    pub active_slot_coefficient: f64,
    /// k of Praos.
    pub security_parameter: u64,
    /// The largest block body the protocol allows; raised to the workload's block size where that is larger.
    pub max_block_body_size: Bytes,
    /// Network magic.
    pub network_magic: u64,
    /// Delegators in genesis.
    pub delegators: u64,
    /// UTxO entries in genesis.
    pub utxo_entries: u64,
    /// DReps in genesis.
    pub dreps: u64,
    /// The major version of the protocol.
    #[serde(default = "first_version", skip_serializing_if = "is_first_version")]
    pub protocol_version: u64,
    /// Budgets of scripts.
    #[serde(default, skip_serializing_if = "Budgets::are_public")]
    pub budgets: Budgets,
}

/// Major versions of the protocol that a network may have: those of slotmark-network, on which the simulator doesn't depend.
pub(crate) const PROTOCOL_VERSIONS: RangeInclusive<u64> = 10..=11;

/// That of profiles written before it could be stated.
fn first_version() -> u64 {
    *PROTOCOL_VERSIONS.start()
}

pub(crate) fn is_first_version(major: &u64) -> bool {
    *major == first_version()
}

/// Budgets of the scripts of a transaction and of a block. A simulation runs none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budgets {
    /// Budget of a transaction.
    pub transaction: Budget,
    /// Budget of a block.
    pub block: Budget,
}

/// Units of scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Memory units.
    pub memory: u64,
    /// Steps.
    pub steps: u64,
}

impl Default for Budgets {
    /// Those of public networks, for profiles written before these could be stated.
    fn default() -> Self {
        Self {
            transaction: Budget { memory: 14_000_000, steps: 10_000_000_000 },
            block: Budget { memory: 62_000_000, steps: 40_000_000_000 },
        }
    }
}

impl Budgets {
    /// Returns whether they are those of public networks.
    pub(crate) fn are_public(&self) -> bool {
        *self == Self::default()
    }
}

/// Hosts, links and their latencies.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Number of hosts, numbered from 0.
    pub hosts: u32,
    /// Number of them that forge, from host 0 on; the others only follow.
    pub pools: u32,
    /// Number of them that no host follows, as nodes of wallets' users; the last ones.
    #[serde(default, skip_serializing_if = "is_none")]
    pub edge_hosts: u32,
    /// Stake of each pool in any unit; equal where this is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stake: Vec<f64>,
    /// The hosts that each host follows.
    pub topology: TopologyRule,
    /// Regions; host n is in region n modulo their number.
    pub regions: Vec<String>,
    /// Round trips between regions and inside them.
    pub rtt: Vec<RegionRtt>,
    /// Mean of an exponential delay added to each message between hosts, on top of the link's latency.
    pub jitter: Span,
    /// Probability that a TCP segment is lost.
    pub loss: f64,
    /// Bandwidth of a link.
    pub bandwidth: BitRate,
    /// Time after which connections are there again, once a cut ends or a host is back.
    pub reconnect: Span,
}

/// The rule for the hosts that each host follows.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TopologyRule {
    /// The benchmark's: in each region a ring with chords at one and two thirds, and one link to each other region.
    TorusDense,
    /// Host n and host n + 1 follow each other.
    Line,
    /// A line whose ends meet.
    Ring,
    /// Host 0 and each other one follow each other.
    Star,
    /// Everybody follows everybody.
    Complete,
    /// Each host follows this many others; the graph is drawn with the seed and is connected.
    RandomRegular {
        /// Hosts that each one follows.
        degree: u32,
    },
    /// `[follower, producer]` pairs.
    Edges {
        /// The pairs.
        edges: Vec<(u32, u32)>,
    },
    /// A JSON file with `nodes: [{nodeId, name, clusterName, producers: {name: one-way latency in ms}}]`; its latencies replace the region's.
    /// A profile that was read has [`Self::Nodes`] in its place.
    File {
        /// The file.
        path: String,
    },
    /// The nodes of such a file.
    Nodes {
        /// The file that they were read from.
        file: String,
        /// The nodes.
        nodes: Vec<Node>,
    },
}

/// A node of a topology file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// Its number, from 0 on.
    pub node_id: u32,
    /// The name by which others name it.
    pub name: String,
    /// Its region.
    #[serde(default)]
    pub cluster_name: String,
    /// One-way latencies in ms to the nodes that it follows, by their names.
    pub producers: BTreeMap<String, f64>,
}

/// The round trip between two regions, or inside one.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegionRtt {
    /// The two regions, in any order.
    pub between: (String, String),
    /// Mean round trip.
    pub mean: Span,
    /// Links differ by up to this much from the mean, drawn once a link.
    pub spread: Span,
}

/// The transfer of a block's bytes over one connection: slow start, and a window that falls back while the connection rests.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// Payload of a segment.
    pub segment: Bytes,
    /// Segments in the window of a connection that has rested.
    pub initial_window: u64,
    /// By what the window grows in each round trip in which it was used up.
    pub growth: f64,
    /// The largest window.
    pub max_window: Bytes,
    /// The time in which the excess of a window over the initial one halves while no block is sent, in retransmission timeouts.
    pub idle_half_life_rtos: f64,
    /// Share of transfers that find a window twice the initial one, grown by the other traffic of the connection.
    pub warm_share: f64,
    /// Time that a sender takes to fill a window that has opened, beside the bandwidth.
    pub round_pause: Span,
    /// A retransmission timeout is the round trip and this much.
    pub rto_margin: Span,
}

/// The cluster's workload.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// `value-only`, `plutus-loop`, or another name.
    pub name: String,
    /// Transactions that are submitted a second.
    pub tps: f64,
    /// Shares of these by region, in any unit: each region's hosts then have a generator of their own. Empty for one of all hosts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub shares: BTreeMap<String, f64>,
    /// Transactions in all; the generator then stops.
    pub tx_count: u64,
    /// Size of a transaction on the wire and in a block.
    pub tx_size: Bytes,
    /// Body of a full block; how many transactions fit follows from it.
    pub block_size: Bytes,
    /// Inputs a transaction.
    pub inputs: u32,
    /// Outputs a transaction.
    pub outputs: u32,
    /// Extra payload of a transaction.
    pub payload: Bytes,
    /// Shares of what transactions do, in any unit: moving value, voting and so on. Empty: all move value, or run the script.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub actions: BTreeMap<String, u32>,
    /// Size of a mempool, as a multiple of `block_size`.
    pub mempool_blocks: f64,
    /// Rate at which a mempool with room in it takes up transactions that wait at its peers, in transactions a second.
    pub refill_tps: f64,
    /// Transactions that one reply of the submission protocol carries.
    pub txs_per_reply: u32,
    /// Plutus script, empty for none: a name, or a file `NAME.plutus`, which live clusters run.
    pub script: String,
    /// Transactions that share a block's budget, where the script is a loop; 0: each uses as much as a transaction may.
    #[serde(default, skip_serializing_if = "is_none")]
    pub txs_per_block: u32,
    /// Datum of a script file: a file too.
    #[serde(default)]
    pub datum: String,
    /// Redeemer of a script file: a file too.
    #[serde(default)]
    pub redeemer: String,
}

/// The node under test.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The run's name for it, as `10.5.0`.
    pub ident: String,
    /// The batch that its runs belong to.
    pub batch: String,
    /// Ledger era.
    pub era: String,
    /// GHC version.
    pub ghc_version: String,
    /// Components: name to version and commit.
    pub components: BTreeMap<String, Component>,
}

/// A component of the node.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// Version.
    pub version: String,
    /// Git commit.
    pub commit: String,
}

/// A stage: a log-normal duration.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Mean.
    pub mean: Span,
    /// Standard deviation of its logarithm; 0 for a constant.
    pub sigma: f64,
}

/// The stages of making a block, each measured from the end of the one before.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forging {
    /// Slot start to the start of the forge loop's iteration.
    pub started: Stage,
    /// To the block context.
    pub block_context: Stage,
    /// To the ledger state.
    pub ledger_state: Stage,
    /// To the ledger view.
    pub ledger_view: Stage,
    /// To the outcome of the leadership check.
    pub leadership: Stage,
    /// To the ticked ledger state.
    pub ledger_tick: Stage,
    /// To the snapshot of the mempool.
    pub mempool_snapshot: Stage,
    /// To the forged block ("Leadership to forged" in the published tables).
    pub forge: Stage,
    /// From forged to its header announced.
    pub forged_to_announced: Stage,
    /// From forged to adopted by the forger itself.
    pub self_adopt: Stage,
    /// Share of slots in which the loop doesn't run.
    pub missed_slots: f64,
    /// Added to the ledger tick in the first slots of an epoch, until its first block.
    pub epoch_boundary: Span,
}

/// The stages of passing a block on.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// Announced to noticed by a follower, beside the latency of the link.
    pub header_notice: Stage,
    /// Noticed to the fetch request.
    pub notice_to_fetch: Stage,
    /// The block-fetch logic rests this long after each look at its peers.
    pub decision_interval: Span,
    /// Request received to the block being sent.
    pub serve: Stage,
    /// The last byte received to the block being complete.
    pub receive: Stage,
    /// Added to `receive` for each kB of the block, in the same proportion.
    pub receive_per_kb: Span,
    /// Fetched to announced.
    pub fetched_to_announced: Stage,
    /// Fetched to adopted.
    pub adopt: Stage,
    /// Standard deviation of the logarithm of a host's own speed, which scales its stages; the forge loop of slots that it doesn't lead is of one speed.
    pub host_spread: f64,
    /// From how many peers one block is fetched at the same time.
    pub concurrency: u32,
    /// Blocks in one request at the most.
    pub max_range: u32,
    /// True where a header is announced before its block is adopted (diffusion pipelining).
    pub pipelining: bool,
    /// Blocks of equal height whose slots are further apart than this are not decided by VRF.
    pub vrf_tie_slots: u64,
}

/// The once-a-second resource samples: means over a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// CPU of the mutator, percent of one core.
    pub mutator_percent: f64,
    /// CPU of the garbage collector, percent of one core.
    pub gc_percent: f64,
    /// Minor collections a second.
    pub minor_gcs: f64,
    /// Major collections a second.
    pub major_gcs: f64,
    /// Resident memory.
    pub rss: Bytes,
    /// Heap of the runtime system.
    pub heap: Bytes,
    /// Live data after the last major collection, mean.
    pub live: Bytes,
    /// Allocation a second.
    pub alloc: Bytes,
    /// Bytes written to the file system a second.
    pub fs_writes: Bytes,
    /// Slots at the start of an epoch for which one core is busy.
    pub epoch_busy_slots: u64,
}

/// The published column that a profile was made from.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The report, as `R106`.
    pub report: String,
    /// Its column.
    pub column: String,
    /// First epoch that its analysis takes.
    pub first_epoch: u64,
    /// Blocks below this share of the largest body are left out.
    pub min_fullness: f64,
    /// Blocks above this share of the largest body are left out.
    pub max_fullness: f64,
    /// Rows, in s.
    pub rows: BTreeMap<String, f64>,
}

fn is_none(number: &u32) -> bool {
    *number == 0
}

impl Network {
    /// Returns whether a host is one that no other follows.
    pub fn is_edge(&self, host: u32) -> bool {
        host >= self.hosts.saturating_sub(self.edge_hosts)
    }
}

impl Profile {
    /// The largest block body that the protocol allows, which is the workload's where that is larger.
    pub fn largest_body_bytes(&self) -> u64 {
        self.genesis.max_block_body_size.0.max(self.workload.block_size.0)
    }

    /// Returns whether a host is down in a slot.
    pub(crate) fn is_down(&self, host: u32, slot: u64) -> bool {
        self.fault
            .iter()
            .any(|fault| matches!(fault, Fault::HostDown { host: down, from, until } if *down == host && (*from..*until).contains(&slot)))
    }

    /// Returns by what factor the stages of a host take longer at a true time.
    pub(crate) fn slowness(&self, host: u32, at_ns: u64) -> f64 {
        let slot = at_ns / self.genesis.slot_length.0;
        let factor = |fault: &Fault| match fault {
            Fault::HostSlow { host: slow, from, until, factor } if *slow == host && (*from..*until).contains(&slot) => *factor,
            _ => 1.0,
        };
        self.fault.iter().map(factor).product()
    }

    /// By how many ns a host's clock is ahead.
    pub(crate) fn clock_ahead_ns(&self, host: u32) -> i64 {
        let ahead = |fault: &Fault| match fault {
            Fault::ClockSkew { host: other, ahead_ms } if *other == host => (ahead_ms * 1e6) as i64,
            _ => 0,
        };
        self.fault.iter().map(ahead).sum()
    }
}
