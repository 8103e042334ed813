//! The published tables, from the truth: what the established analysis would print for a simulation.
//!
//! Definitions are locli's: means over accepted blocks (forging, first peer, end to end) or over every valid observation of an
//! accepted block (the other peer rows). A block is accepted if it is on the chain but not its last, from the first analysed
//! epoch on, as full as the report asks for, and seen to be adopted by all other hosts. Adoption by a fork switch is not seen.

use serde::Serialize;

use crate::profile::Profile;
use crate::truth::{AdoptedBy, NEVER, Truth};

/// The centiles of adoption that are published, and 0.95, which is what is asked for.
const CENTILES: [f64; 9] = [0.5, 0.8, 0.9, 0.92, 0.94, 0.95, 0.96, 0.98, 1.0];

/// A row of the tables.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its published name.
    pub metric: String,
    /// What the simulation gives; s where it is a time.
    pub predicted: f64,
    /// Its standard error, over blocks: 0 where it is no mean over blocks.
    pub standard_error: f64,
    /// What the profile's report has for it.
    pub published: Option<f64>,
}

/// What the established analysis would print.
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

#[derive(Default)]
struct Mean {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
        self.squares += value * value;
    }

    fn mean(&self) -> f64 {
        self.sum / self.count
    }

    fn error(&self) -> f64 {
        let variance = (self.squares / self.count - self.mean() * self.mean()).max(0.0);
        (variance / self.count).sqrt()
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
    let seconds = |later: u64, earlier: u64| (later as i64 - earlier as i64) as f64 / 1e9;
    let names = [
        "Started forge loop iteration",
        "Acquired block context",
        "Acquired ledger state",
        "Acquired ledger view",
        "Leadership check duration",
        "Ledger ticking",
        "Mempool snapshotting",
        "Leadership to forged",
        "Forged to announced",
        "Forged to sending",
        "Forged to self-adopted",
        "Slot start to announced",
        "First peer notice",
        "First peer fetch",
        "Notice to fetch request",
        "Fetch duration",
        "Fetched to announced",
        "Fetched to sending",
        "Fetched to adopted",
    ];
    let mut means: Vec<Mean> = names.iter().map(|_| Mean::default()).collect();
    let mut centiles: Vec<Mean> = CENTILES.iter().map(|_| Mean::default()).collect();
    let (mut battles, mut sizes) = (Mean::default(), Mean::default());
    let chain = truth.chain();
    let mut at_height = std::collections::HashMap::new();
    for block in truth.blocks.iter().skip(1) {
        *at_height.entry(block.height).or_insert(0_u32) += 1;
    }
    let mut rejected = 0;
    for index in chain.iter().rev().skip(1).rev() {
        let block = &truth.blocks[*index as usize];
        let forger = block.forger as usize;
        let seen_adopted = |host: usize| {
            let seen = truth.observation(host, *index);
            (seen.adopted_ns != NEVER && seen.adopted_by == AdoptedBy::Extension).then_some(seen)
        };
        let observers: Vec<usize> = (0..hosts)
            .filter(|host| *host != forger)
            .filter(|host| {
                let seen = truth.observation(*host, *index);
                seen.noticed_ns != NEVER && seen.requested_ns != NEVER && seen.fetched_ns != NEVER
            })
            .collect();
        let adoptions = observers.iter().filter(|host| seen_adopted(**host).is_some()).count();
        let epoch = block.slot / profile.genesis.epoch_slots;
        if epoch < first_epoch || block.size_bytes <= at_least || block.size_bytes >= at_most || adoptions + 1 < hosts {
            rejected += 1;
            continue;
        }
        let times = &truth.forging[*index as usize];
        // By its own clock, the forger starts the slot when it is its time.
        let slot_start = |host: usize| (block.slot as i64 * slot_ns - truth.clock_ahead_ns[host]) as u64;
        let own = truth.observation(forger, *index);
        let or_hundredth = |later: u64, earlier: u64| if later == NEVER { 0.01 } else { seconds(later, earlier) };
        for (place, value) in [
            seconds(times.started_ns, slot_start(forger)),
            seconds(times.block_context_ns, times.started_ns),
            seconds(times.ledger_state_ns, times.block_context_ns),
            seconds(times.ledger_view_ns, times.ledger_state_ns),
            seconds(times.leadership_ns, times.ledger_view_ns),
            seconds(times.ledger_tick_ns, times.leadership_ns),
            seconds(times.mempool_snapshot_ns, times.ledger_tick_ns),
            seconds(block.forged_ns, times.mempool_snapshot_ns),
            or_hundredth(own.announced_ns, block.forged_ns),
            or_hundredth(own.sending_ns, block.forged_ns),
            or_hundredth(own.adopted_ns, block.forged_ns),
            or_hundredth(own.announced_ns, slot_start(forger)),
        ]
        .into_iter()
        .enumerate()
        {
            means[place].add(value);
        }
        let (mut first_notice, mut first_fetch) = (f64::INFINITY, f64::INFINITY);
        for host in observers {
            let seen = truth.observation(host, *index);
            let in_order =
                seen.noticed_ns <= seen.requested_ns && seen.requested_ns <= seen.fetched_ns && seen.fetched_ns <= seen.adopted_ns;
            if !in_order || seen.adopted_ns == NEVER || seen.range != 1 {
                continue;
            }
            first_notice = first_notice.min(seconds(seen.noticed_ns, slot_start(host)));
            first_fetch = first_fetch.min(seconds(seen.fetched_ns, slot_start(host)));
            means[14].add(seconds(seen.requested_ns, seen.noticed_ns));
            means[15].add(seconds(seen.fetched_ns, seen.requested_ns));
            if seen.announced_ns != NEVER {
                means[16].add(seconds(seen.announced_ns, seen.fetched_ns));
            }
            if seen.sending_ns != NEVER {
                means[17].add(seconds(seen.sending_ns, seen.fetched_ns));
            }
            if seen.adopted_by == AdoptedBy::Extension {
                means[18].add(seconds(seen.adopted_ns, seen.fetched_ns));
            }
        }
        if first_notice.is_finite() {
            means[12].add(first_notice);
            means[13].add(first_fetch);
        }
        let mut adopted: Vec<i64> =
            (0..hosts).filter_map(|host| seen_adopted(host).map(|seen| seen.adopted_ns as i64 - slot_start(host) as i64)).collect();
        adopted.sort_unstable();
        for (centile, mean) in CENTILES.iter().zip(&mut centiles) {
            let place = ((adopted.len() as f64 * centile) as usize).min(adopted.len() - 1);
            mean.add(adopted[place] as f64 / 1e9);
        }
        battles.add(f64::from(at_height[&block.height] - 1));
        sizes.add(block.size_bytes as f64);
    }
    let published = |metric: &str| profile.published.as_ref().and_then(|published| published.rows.get(metric)).copied();
    let row = |metric: &str, mean: &Mean| Row {
        metric: metric.to_string(),
        predicted: mean.mean(),
        standard_error: mean.error(),
        published: published(metric),
    };
    let mut rows: Vec<Row> = names.iter().zip(&means).map(|(name, mean)| row(name, mean)).collect();
    rows.extend(CENTILES.iter().zip(&centiles).map(|(centile, mean)| row(&format!("{centile:.2} adoption"), mean)));
    let forged = truth.blocks.len() as f64 - 1.0;
    let single =
        |metric: &str, predicted: f64| Row { metric: metric.to_string(), predicted, standard_error: 0.0, published: published(metric) };
    let (accepted, chained) = (sizes.count, chain.len() as f64);
    rows.push(single("Blocks per host", forged / hosts as f64));
    rows.push(single("Filtered to chained block ratio", accepted / chained));
    rows.push(single("Chained to forged block ratio", chained / forged));
    rows.push(row("Height & slot battles", &battles));
    rows.push(row("Block size", &sizes));
    Propagation { blocks: accepted as u64, rejected, orphaned: (forged - chained) as u64, rows }
}
