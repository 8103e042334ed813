//! Profiles: everything that decides a simulation but the seed.
//!
//! A profile is TOML; one that `extends` another is laid over it, table by table. Durations, sizes and rates are written with
//! their unit. docs/simulator.md has the table of all parameters and where their values come from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::error::SimulationError;
use crate::quantity::{BitRate, Bytes, Span};

/// A whole profile.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The profile's name, as it goes into `meta.json`.
    pub name: String,
    /// One sentence about it.
    pub description: String,
    /// How long it runs.
    pub run: Run,
    /// What every node agrees on.
    pub genesis: Genesis,
    /// Hosts, links and their latencies.
    pub network: Network,
    /// How a block's bytes travel over one connection.
    pub tcp: Tcp,
    /// What the cluster is made to do.
    pub workload: Workload,
    /// The node under test.
    pub target: Target,
    /// The stages of making a block.
    pub forging: Forging,
    /// The stages of passing a block on.
    pub peer: Peer,
    /// What the once-a-second resource samples say.
    pub resources: Resources,
    /// What goes wrong, and when.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fault: Vec<Fault>,
    /// The published column that this profile was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
}

/// How long it runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Slots to simulate.
    pub slots: u64,
    /// When slot 0 starts, as `2025-08-01T16:54:49Z`; whole seconds.
    pub system_start: String,
}

/// What every node agrees on.
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
    /// Delegators in genesis; only told, not modelled.
    pub delegators: u64,
    /// UTxO entries in genesis; only told, not modelled.
    pub utxo_entries: u64,
    /// DReps in genesis; only told, not modelled.
    pub dreps: u64,
}

/// Hosts, links and their latencies.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// How many hosts, numbered from 0.
    pub hosts: u32,
    /// How many of them forge, from host 0 on; the others only follow.
    pub pools: u32,
    /// Stake of each pool in any unit; equal where this is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stake: Vec<f64>,
    /// Who follows whom.
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
    /// How long after a cut ends, or a host is back, its connections are there again.
    pub reconnect: Span,
}

/// Who follows whom.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TopologyRule {
    /// The benchmark's: in each region a ring with chords at one and two thirds, and one link to each other region.
    TorusDense,
    /// Host n and host n + 1 follow each other.
    Line,
    /// A line whose ends meet.
    Ring,
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
    File {
        /// The file.
        path: String,
    },
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

/// How a block's bytes travel over one connection: slow start, and a window that falls back while the connection rests.
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
    /// What a sender takes to fill a window that has opened, beside the bandwidth.
    pub round_pause: Span,
    /// A retransmission timeout is the round trip and this much.
    pub rto_margin: Span,
}

/// What the cluster is made to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// `value-only`, `plutus-loop`, or another name.
    pub name: String,
    /// Transactions that are submitted a second.
    pub tps: f64,
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
    /// How much a mempool holds, as a multiple of `block_size`.
    pub mempool_blocks: f64,
    /// How fast a mempool with room in it takes up what waits at its peers, in transactions a second.
    pub refill_tps: f64,
    /// Transactions that one reply of the submission protocol carries.
    pub txs_per_reply: u32,
    /// Plutus script, empty for none.
    pub script: String,
}

/// The node under test; only told, not modelled.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// What the run calls it, as `10.5.0`.
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
    /// Standard deviation of the logarithm of a host's own speed, which scales all its stages.
    pub host_spread: f64,
    /// From how many peers one block is fetched at the same time.
    pub concurrency: u32,
    /// Blocks in one request at the most.
    pub max_range: u32,
    /// Whether a header is announced before its block is adopted (diffusion pipelining).
    pub pipelining: bool,
    /// Blocks of equal height whose slots are further apart than this are not decided by VRF.
    pub vrf_tie_slots: u64,
}

/// What the once-a-second resource samples say: means over a run.
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

/// What goes wrong, and when; times are slots, the end is not included.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Fault {
    /// A host does nothing, logs nothing and keeps only its database.
    HostDown {
        /// The host.
        host: u32,
        /// First slot.
        from: u64,
        /// The slot in which it is back.
        until: u64,
    },
    /// All stages of a host take longer.
    HostSlow {
        /// The host.
        host: u32,
        /// First slot.
        from: u64,
        /// The slot in which it is as before.
        until: u64,
        /// How many times longer.
        factor: f64,
    },
    /// No message passes between two hosts, either way.
    LinkCut {
        /// The two hosts.
        between: (u32, u32),
        /// First slot.
        from: u64,
        /// The slot in which it is back.
        until: u64,
    },
    /// No message passes between these hosts and the others.
    Partition {
        /// The hosts on one side.
        hosts: Vec<u32>,
        /// First slot.
        from: u64,
        /// The slot in which it heals.
        until: u64,
    },
    /// A host's clock is wrong for the whole run.
    ClockSkew {
        /// The host.
        host: u32,
        /// By how many ms its clock is ahead; negative where it is behind.
        ahead_ms: f64,
    },
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

impl Profile {
    /// Reads a profile from its layers, the base first, and lays `settings` (`key=value`) over them.
    ///
    /// A key may leave out the tables before it where that is unambiguous: `ledger_tick.mean=33ms`.
    pub fn from_layers(layers: &[&str], settings: &[String]) -> Result<Self, SimulationError> {
        let mut merged = Table::new();
        let mut name = String::from("(unnamed)");
        for text in layers {
            let layer: Table = text.parse().map_err(|error: toml::de::Error| {
                let place = error.span().map_or(0, |span| text[..span.start.min(text.len())].lines().count().max(1));
                SimulationError::profile(&name, format!("line {place}: {}; mend the TOML.", error.message()))
            })?;
            if let Some(Value::String(given)) = layer.get("name") {
                name.clone_from(given);
            }
            lay_over(&mut merged, layer);
        }
        merged.remove("extends");
        for setting in settings {
            set(&mut merged, setting).map_err(|message| SimulationError::profile(&name, message))?;
        }
        let profile = Self::deserialize(Value::Table(merged)).map_err(|error| {
            let message = error.to_string().trim().replace('\n', " ");
            SimulationError::profile(&name, format!("{message}; docs/simulator.md has the table of parameters."))
        })?;
        profile.check()?;
        Ok(profile)
    }

    /// The profile as one TOML text, without layers.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).unwrap_or_default()
    }

    fn check(&self) -> Result<(), SimulationError> {
        let wrong = |message: String| Err(SimulationError::profile(&self.name, message));
        let network = &self.network;
        if network.hosts == 0 || network.pools == 0 || network.pools > network.hosts {
            return wrong(format!(
                "network.hosts = {}, network.pools = {}: expected 1 or more of each and no more pools than hosts.",
                network.hosts, network.pools
            ));
        }
        if network.hosts > 65_535 {
            return wrong(format!("network.hosts = {}: expected 65535 at the most.", network.hosts));
        }
        if !network.stake.is_empty() && network.stake.len() != network.pools as usize {
            return wrong(format!("network.stake has {} entries: expected one a pool ({}), or none.", network.stake.len(), network.pools));
        }
        if network.stake.iter().any(|stake| stake.is_nan() || *stake < 0.0)
            || (!network.stake.is_empty() && network.stake.iter().sum::<f64>() <= 0.0)
        {
            return wrong("network.stake: expected numbers of 0 or more, not all 0.".into());
        }
        if network.regions.is_empty() {
            return wrong("network.regions is empty: expected at least one region.".into());
        }
        if !(0.0..1.0).contains(&network.loss) {
            return wrong(format!("network.loss = {}: expected a probability from 0 to below 1.", network.loss));
        }
        if self.workload.block_size.0 == 0 {
            return wrong("workload.block_size = 0: expected more than 0.".into());
        }
        if network.bandwidth.0 < 1000 {
            return wrong(format!("network.bandwidth = {}: expected 1kbit/s or more.", network.bandwidth));
        }
        if !(self.genesis.active_slot_coefficient > 0.0 && self.genesis.active_slot_coefficient <= 1.0) {
            return wrong(format!(
                "genesis.active_slot_coefficient = {}: expected more than 0 and at most 1.",
                self.genesis.active_slot_coefficient
            ));
        }
        if self.genesis.slot_length.0 == 0 || self.genesis.epoch_slots == 0 || self.run.slots == 0 {
            return wrong("genesis.slot_length, genesis.epoch_slots and run.slots: expected more than 0.".into());
        }
        if self.genesis.slot_length.0.checked_mul(self.run.slots).is_none_or(|ns| ns > i64::MAX as u64 / 4) {
            return wrong(format!("run.slots = {}: expected less than 73 years.", self.run.slots));
        }
        if crate::clock::parse_start(&self.run.system_start).is_none() {
            return wrong(format!("run.system_start = `{}`: expected a time like 2025-08-01T16:54:49Z.", self.run.system_start));
        }
        if self.tcp.segment.0 == 0 || self.tcp.initial_window == 0 || self.tcp.growth.is_nan() || self.tcp.growth < 1.0 {
            return wrong("tcp.segment and tcp.initial_window: expected more than 0; tcp.growth: 1 or more.".into());
        }
        if !(0.0..=1.0).contains(&self.tcp.warm_share) || !(0.0..=1.0).contains(&self.forging.missed_slots) {
            return wrong("tcp.warm_share and forging.missed_slots: expected a share from 0 to 1.".into());
        }
        let workload = &self.workload;
        if workload.tx_size.0 == 0
            || workload.txs_per_reply == 0
            || [workload.tps, workload.refill_tps, workload.mempool_blocks].iter().any(|rate| rate.is_nan() || *rate < 0.0)
        {
            return wrong("workload: expected tx_size and txs_per_reply above 0, tps, refill_tps and mempool_blocks of 0 or more.".into());
        }
        if self.peer.concurrency == 0 || self.peer.max_range == 0 {
            return wrong("peer.concurrency and peer.max_range: expected 1 or more.".into());
        }
        for fault in &self.fault {
            let (hosts, from, until): (Vec<u32>, u64, u64) = match fault {
                Fault::HostDown { host, from, until } | Fault::HostSlow { host, from, until, .. } => (vec![*host], *from, *until),
                Fault::LinkCut { between, from, until } => (vec![between.0, between.1], *from, *until),
                Fault::Partition { hosts, from, until } => (hosts.clone(), *from, *until),
                Fault::ClockSkew { host, .. } => (vec![*host], 0, 1),
            };
            if let Some(host) = hosts.iter().find(|host| **host >= network.hosts) {
                return wrong(format!("a fault names host {host}: expected one below {}.", network.hosts));
            }
            if from >= until {
                return wrong(format!("a fault lasts from slot {from} until slot {until}: expected a later end."));
            }
            let run_ms = self.genesis.slot_length.0 as f64 * self.run.slots as f64 / 1e6;
            match fault {
                Fault::HostSlow { factor, .. } if !(factor.is_finite() && *factor > 0.0) => {
                    return wrong(format!("a fault makes a host {factor} times as slow: expected a factor above 0."));
                }
                Fault::Partition { hosts, .. } if !(0..network.hosts).any(|host| hosts.contains(&host) != hosts.contains(&0)) => {
                    return wrong("a fault parts nobody from nobody: expected some of the hosts, not all.".into());
                }
                Fault::ClockSkew { ahead_ms, .. } if ahead_ms.is_nan() || ahead_ms.abs() > run_ms => {
                    return wrong(format!("a fault sets a clock {ahead_ms} ms ahead: expected no more than the run lasts, {run_ms} ms."));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Lays a table over another: tables are merged, everything else is replaced.
fn lay_over(base: &mut Table, layer: Table) {
    for (key, value) in layer {
        match (base.get_mut(&key), value) {
            // A table with a `kind` is one choice: the other kind's keys must not stay.
            (Some(Value::Table(below)), Value::Table(above)) if !above.contains_key("kind") => lay_over(below, above),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

/// Every path in a table, tables and leaves.
fn paths(table: &Table, before: &str, found: &mut Vec<String>) {
    for (key, value) in table {
        let path = if before.is_empty() { key.clone() } else { format!("{before}.{key}") };
        if let Value::Table(inner) = value {
            paths(inner, &path, found);
        }
        found.push(path);
    }
}

fn set(table: &mut Table, setting: &str) -> Result<(), String> {
    let Some((key, text)) = setting.split_once('=') else {
        return Err(format!("`{setting}` is no setting; write key=value, as ledger_tick.mean=33ms."));
    };
    let (key, text) = (key.trim(), text.trim());
    let mut known = Vec::new();
    paths(table, "", &mut known);
    let suffix = format!(".{key}");
    let matches: Vec<&String> = known.iter().filter(|path| *path == key || path.ends_with(&suffix)).collect();
    let path = match (known.iter().find(|path| *path == key), matches.as_slice()) {
        (Some(exact), _) => (*exact).clone(),
        (None, [only]) => (*only).clone(),
        (None, []) => match key {
            "fault" | "network.stake" => key.to_string(),
            "stake" => "network.stake".to_string(),
            _ => return Err(format!("it has no parameter `{key}`; `slotmark simulate PROFILE --show` prints all.")),
        },
        (None, several) => {
            let all = several.iter().map(|path| path.as_str()).collect::<Vec<_>>().join(", ");
            return Err(format!("`{key}` may mean {all}; write more of it."));
        }
    };
    let value = format!("value = {text}")
        .parse::<Table>()
        .ok()
        .and_then(|mut parsed| parsed.remove("value"))
        .unwrap_or_else(|| Value::String(text.to_string()));
    let mut place = table;
    let mut steps = path.split('.').peekable();
    while let Some(step) = steps.next() {
        if steps.peek().is_none() {
            // `stage=20ms` means its mean.
            if let (Some(Value::Table(stage)), Value::String(_)) = (place.get_mut(step), &value)
                && stage.contains_key("mean")
            {
                stage.insert("mean".into(), value);
                return Ok(());
            }
            // An integer where a fraction is expected.
            let value = match (place.get(step), value) {
                (Some(Value::Float(_)), Value::Integer(whole)) => Value::Float(whole as f64),
                (_, value) => value,
            };
            place.insert(step.to_string(), value);
            return Ok(());
        }
        match place.get_mut(step) {
            Some(Value::Table(inner)) => place = inner,
            _ => return Err(format!("`{key}`: `{step}` is no table.")),
        }
    }
    Ok(())
}

impl Fault {
    /// The slots in which it begins and ends; `None` for one that lasts for the whole run.
    pub(crate) fn slots(&self) -> Option<(u64, u64)> {
        match self {
            Self::HostDown { from, until, .. }
            | Self::HostSlow { from, until, .. }
            | Self::LinkCut { from, until, .. }
            | Self::Partition { from, until, .. } => Some((*from, *until)),
            Self::ClockSkew { .. } => None,
        }
    }
}

impl Profile {
    /// Whether a host is down in a slot.
    pub(crate) fn is_down(&self, host: u32, slot: u64) -> bool {
        self.fault
            .iter()
            .any(|fault| matches!(fault, Fault::HostDown { host: down, from, until } if *down == host && (*from..*until).contains(&slot)))
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
