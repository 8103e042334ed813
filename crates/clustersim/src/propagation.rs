//! The published tables, from the truth: what the established analysis would print for a simulation.
//!
//! Definitions are locli's: means over accepted blocks (forging, first peer, end to end) or over every valid observation of an
//! accepted block (the other peer rows). A block is accepted if it is on the chain but not its last, from the first analysed
//! epoch on, as full as the report requires, and adopted by all other hosts by the logs. Adoption by a fork switch is not in them.

use serde::Serialize;

use crate::event::Block;
use crate::profile::Profile;
use crate::truth::{AdoptedBy, NEVER, Observation, Truth};

/// The centiles of adoption that are published, and 0.95, which is what is asked for.
const CENTILES: [(f64, Metric); 9] = [
    (0.5, Metric::Adoption50),
    (0.8, Metric::Adoption80),
    (0.9, Metric::Adoption90),
    (0.92, Metric::Adoption92),
    (0.94, Metric::Adoption94),
    (0.95, Metric::Adoption95),
    (0.96, Metric::Adoption96),
    (0.98, Metric::Adoption98),
    (1.0, Metric::Adoption100),
];

/// Makes the metrics: what each is, by a name for the code here, its published name and the table that it is published in.
macro_rules! metrics {
    ($($table:literal { $($metric:ident = $name:literal,)* })*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Metric {
            $($($metric,)*)*
        }

        /// The metrics in the order of the reports, each with the table that it is published in.
        pub const METRICS: &[(&str, &str)] = &[$($(($table, $name),)*)*];
    };
}

metrics! {
    "Forging" {
        Started = "Started forge loop iteration",
        BlockContext = "Acquired block context",
        LedgerState = "Acquired ledger state",
        LedgerView = "Acquired ledger view",
        Leadership = "Leadership check duration",
        LedgerTick = "Ledger ticking",
        MempoolSnapshot = "Mempool snapshotting",
        Forged = "Leadership to forged",
        ForgedToAnnounced = "Forged to announced",
        ForgedToSending = "Forged to sending",
        ForgedToAdopted = "Forged to self-adopted",
        StartToAnnounced = "Slot start to announced",
    }
    "Individual peer propagation" {
        FirstNotice = "First peer notice",
        FirstFetch = "First peer fetch",
        NoticeToRequest = "Notice to fetch request",
        Fetch = "Fetch duration",
        FetchedToAnnounced = "Fetched to announced",
        FetchedToSending = "Fetched to sending",
        FetchedToAdopted = "Fetched to adopted",
    }
    "End-to-end propagation" {
        Adoption50 = "0.50 adoption",
        Adoption80 = "0.80 adoption",
        Adoption90 = "0.90 adoption",
        Adoption92 = "0.92 adoption",
        Adoption94 = "0.94 adoption",
        Adoption95 = "0.95 adoption",
        Adoption96 = "0.96 adoption",
        Adoption98 = "0.98 adoption",
        Adoption100 = "1.00 adoption",
    }
    "Anomaly control" {
        BlocksPerHost = "Blocks per host",
        FilteredRatio = "Filtered to chained block ratio",
        ChainedRatio = "Chained to forged block ratio",
        Battles = "Height & slot battles",
        Size = "Block size",
    }
}

/// A row of the tables.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its published name.
    pub metric: String,
    /// The simulation's value; s where it is a time.
    pub predicted: f64,
    /// Its standard error, over blocks: 0 where it is no mean over blocks.
    pub standard_error: f64,
    /// The value of the profile's report.
    pub published: Option<f64>,
}

/// The tables that the established analysis would print.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Propagation {
    /// Blocks analysed.
    pub blocks: u64,
    /// Blocks on the chain that were left out.
    pub rejected: u64,
    /// Blocks forged that are not on the chain.
    pub orphaned: u64,
    /// The rows, in the order of the reports.
    pub rows: Vec<Row>,
}

/// A mean over values, of which several may be of one block: those count as one in its error.
#[derive(Default)]
struct Mean {
    count: f64,
    sum: f64,
    /// Number and sum of the values of the block at hand.
    of_block: (f64, f64),
    /// Over blocks: squares of the number of values, their products with the sums, and squares of the sums.
    over_blocks: (f64, f64, f64),
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
        self.of_block.0 += 1.0;
        self.of_block.1 += value;
    }

    /// Ends the block at hand.
    fn end_block(&mut self) {
        let (count, sum) = std::mem::take(&mut self.of_block);
        self.over_blocks.0 += count * count;
        self.over_blocks.1 += count * sum;
        self.over_blocks.2 += sum * sum;
    }

    fn mean(&self) -> f64 {
        self.sum / self.count
    }

    fn error(&self) -> f64 {
        let (mean, (counts, products, sums)) = (self.mean(), self.over_blocks);
        (sums - 2.0 * mean * products + mean * mean * counts).max(0.0).sqrt() / self.count
    }
}

/// The means of all metrics, by their place.
struct Means(Vec<Mean>);

impl Means {
    fn add(&mut self, metric: Metric, value: f64) {
        self.0[metric as usize].add(value);
    }

    /// Adds the steps of the host that forged a block.
    fn add_forging(&mut self, of: &BlockTruth<'_>) {
        let (block, times) = (of.block, &of.truth.forging[of.block.index as usize]);
        let forger = block.forger as usize;
        let own = of.truth.observation(forger, block.index);
        let or_hundredth = |later: u64, earlier: u64| if later == NEVER { 0.01 } else { seconds(later, earlier) };
        for (metric, value) in [
            (Metric::Started, seconds(times.started_ns, of.slot_start(forger))),
            (Metric::BlockContext, seconds(times.block_context_ns, times.started_ns)),
            (Metric::LedgerState, seconds(times.ledger_state_ns, times.block_context_ns)),
            (Metric::LedgerView, seconds(times.ledger_view_ns, times.ledger_state_ns)),
            (Metric::Leadership, seconds(times.leadership_ns, times.ledger_view_ns)),
            (Metric::LedgerTick, seconds(times.ledger_tick_ns, times.leadership_ns)),
            (Metric::MempoolSnapshot, seconds(times.mempool_snapshot_ns, times.ledger_tick_ns)),
            (Metric::Forged, seconds(block.forged_ns, times.mempool_snapshot_ns)),
            (Metric::ForgedToAnnounced, or_hundredth(own.announced_ns, block.forged_ns)),
            (Metric::ForgedToSending, or_hundredth(own.sending_ns, block.forged_ns)),
            (Metric::ForgedToAdopted, or_hundredth(own.adopted_ns, block.forged_ns)),
            (Metric::StartToAnnounced, or_hundredth(own.announced_ns, of.slot_start(forger))),
        ] {
            self.add(metric, value);
        }
    }

    /// Adds the steps of the hosts that got a block.
    fn add_peers(&mut self, of: &BlockTruth<'_>, observers: &[usize]) {
        let (mut first_notice, mut first_fetch) = (f64::INFINITY, f64::INFINITY);
        for &host in observers {
            let seen = of.truth.observation(host, of.block.index);
            let in_order =
                seen.noticed_ns <= seen.requested_ns && seen.requested_ns <= seen.fetched_ns && seen.fetched_ns <= seen.adopted_ns;
            if !in_order || seen.adopted_ns == NEVER || seen.range != 1 {
                continue;
            }
            first_notice = first_notice.min(seconds(seen.noticed_ns, of.slot_start(host)));
            first_fetch = first_fetch.min(seconds(seen.fetched_ns, of.slot_start(host)));
            self.add(Metric::NoticeToRequest, seconds(seen.requested_ns, seen.noticed_ns));
            self.add(Metric::Fetch, seconds(seen.fetched_ns, seen.requested_ns));
            if seen.announced_ns != NEVER {
                self.add(Metric::FetchedToAnnounced, seconds(seen.announced_ns, seen.fetched_ns));
            }
            if seen.sending_ns != NEVER {
                self.add(Metric::FetchedToSending, seconds(seen.sending_ns, seen.fetched_ns));
            }
            if seen.adopted_by == AdoptedBy::Extension {
                self.add(Metric::FetchedToAdopted, seconds(seen.adopted_ns, seen.fetched_ns));
            }
        }
        if first_notice.is_finite() {
            self.add(Metric::FirstNotice, first_notice);
            self.add(Metric::FirstFetch, first_fetch);
        }
    }

    /// Adds the times by which shares of all hosts had adopted a block.
    fn add_adoption(&mut self, of: &BlockTruth<'_>) {
        let adopted = |host: usize| of.adoption(host).map(|seen| seen.adopted_ns as i64 - of.slot_start(host) as i64);
        let mut adopted: Vec<i64> = (0..of.truth.observations.len()).filter_map(adopted).collect();
        adopted.sort_unstable();
        for (centile, metric) in CENTILES {
            let place = ((adopted.len() as f64 * centile) as usize).min(adopted.len() - 1);
            self.add(metric, adopted[place] as f64 / 1e9);
        }
    }
}

fn seconds(later: u64, earlier: u64) -> f64 {
    (later as i64 - earlier as i64) as f64 / 1e9
}

/// A block, and all that is true of it.
struct BlockTruth<'t> {
    truth: &'t Truth,
    block: &'t Block,
    slot_ns: i64,
}

impl BlockTruth<'_> {
    /// The start of its slot by a host's own clock: the forger starts the slot when it is its time.
    fn slot_start(&self, host: usize) -> u64 {
        (self.block.slot as i64 * self.slot_ns - self.truth.clock_ahead_ns[host]) as u64
    }

    /// The times at which a host had it, where it adopted it as an extension.
    fn adoption(&self, host: usize) -> Option<Observation> {
        let seen = self.truth.observation(host, self.block.index);
        (seen.adopted_ns != NEVER && seen.adopted_by == AdoptedBy::Extension).then_some(seen)
    }

    /// The other hosts that noticed it, requested it and got it.
    fn observers(&self) -> Vec<usize> {
        let hosts = 0..self.truth.observations.len();
        let got = |host: &usize| {
            let seen = self.truth.observation(*host, self.block.index);
            seen.noticed_ns != NEVER && seen.requested_ns != NEVER && seen.fetched_ns != NEVER
        };
        hosts.filter(|host| *host != self.block.forger as usize).filter(got).collect()
    }
}

/// Computes the rows of the tables Forging to End-to-end propagation, and of the anomaly control.
pub fn propagation(profile: &Profile, truth: &Truth) -> Propagation {
    let slot_ns = profile.genesis.slot_length.0 as i64;
    let largest = profile.genesis.max_block_body_size.0.max(profile.workload.block_size.0);
    let (first_epoch, fullness) = match &profile.published {
        Some(published) => (published.first_epoch, (published.min_fullness, published.max_fullness)),
        None => (0, (0.0, 1.0)),
    };
    let at_least = (largest as f64 * fullness.0) as u64;
    let at_most = if fullness.1 < 1.0 { (largest as f64 * fullness.1) as u64 } else { u64::MAX };
    let hosts = truth.observations.len();
    let mut means = Means(METRICS.iter().map(|_| Mean::default()).collect());
    let chain = truth.chain();
    let mut at_height = std::collections::HashMap::new();
    for block in truth.blocks.iter().skip(1) {
        *at_height.entry(block.height).or_insert(0_u32) += 1;
    }
    let mut rejected = 0;
    for index in chain.iter().rev().skip(1).rev() {
        let block = &truth.blocks[*index as usize];
        let of = BlockTruth { truth, block, slot_ns };
        let observers = of.observers();
        let adoptions = observers.iter().filter(|host| of.adoption(**host).is_some()).count();
        let epoch = block.slot / profile.genesis.epoch_slots;
        if epoch < first_epoch || block.size_bytes <= at_least || block.size_bytes >= at_most || adoptions + 1 < hosts {
            rejected += 1;
            continue;
        }
        means.add_forging(&of);
        means.add_peers(&of, &observers);
        means.add_adoption(&of);
        means.add(Metric::Battles, f64::from(at_height[&block.height] - 1));
        means.add(Metric::Size, block.size_bytes as f64);
        means.0.iter_mut().for_each(Mean::end_block);
    }
    let (forged, accepted, chained) = (truth.blocks.len() as f64 - 1.0, means.0[Metric::Size as usize].count, chain.len() as f64);
    let rows = METRICS.iter().zip(&means.0).enumerate().map(|(place, ((_, name), mean))| {
        // What is no mean over blocks has no standard error.
        let single = [
            (Metric::BlocksPerHost, forged / hosts as f64),
            (Metric::FilteredRatio, accepted / chained),
            (Metric::ChainedRatio, chained / forged),
        ]
        .into_iter()
        .find(|(metric, _)| *metric as usize == place);
        let (predicted, standard_error) = single.map_or_else(|| (mean.mean(), mean.error()), |(_, value)| (value, 0.0));
        let published = profile.published.as_ref().and_then(|published| published.rows.get(*name)).copied();
        Row { metric: (*name).to_string(), predicted, standard_error, published }
    });
    Propagation { blocks: accepted as u64, rejected, orphaned: (forged - chained) as u64, rows: rows.collect() }
}
