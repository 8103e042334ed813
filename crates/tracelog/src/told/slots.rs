//! One row per host and slot.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::Float64Builder;
use arrow_array::types::Float64Type;

use super::columns::{Clock, Numbered, Rows, ToldError, Wanted, WantedHost, each_batch, numbers, value, whole};

/// The files of the tables that tell of slots.
#[derive(Clone, Debug, Default)]
pub struct SlotFiles {
    /// Parts of `slot_events`.
    pub slot_events: Vec<PathBuf>,
    /// Parts of `transactions`.
    pub transactions: Vec<PathBuf>,
    /// Parts of `ledger_metrics`.
    pub ledger_metrics: Vec<PathBuf>,
}

/// The steps of the forge loop that have a time each, by the word in the column `event`.
const STEPS: [&str; 8] = ["started", "block_context", "ledger_state", "ledger_view", "leader", "not_leader", "ticked", "mempool_snapshot"];
/// The columns of the result that hold whole numbers, those of the steps in their order.
const COLUMNS: [&str; 4 + STEPS.len() + 3] = [
    "slot",
    "events",
    "starts",
    "leads",
    "started_ts_ns",
    "context_ts_ns",
    "state_ts_ns",
    "view_ts_ns",
    "leading_ts_ns",
    "not_leading_ts_ns",
    "ticked_ts_ns",
    "snapshot_ts_ns",
    "context_block_no",
    "txs",
    "utxo_size",
];
const STARTED: usize = 0;
const LEADER: usize = 4;

/// A slot of a host.
#[derive(Clone, Default)]
struct Slot {
    events: i64,
    starts: i64,
    leads: i64,
    steps: [Option<i64>; STEPS.len()],
    block_no: Option<i64>,
    txs: Option<i64>,
    utxo_size: Option<i64>,
    chain_density: Option<f64>,
}

/// The slots of a host. Logs tell of slots as they come, so that mostly the next row is of the slot met last, or of the one after it.
#[derive(Default)]
struct Slots {
    /// Rising.
    slots: Vec<(i64, Slot)>,
    /// The place of the one met last.
    last: usize,
    /// Those first told of after later ones.
    late: HashMap<i64, Slot>,
}

impl Slots {
    #[inline]
    fn at(&mut self, slot: i64) -> &mut Slot {
        match self.place_of(slot) {
            Some(place) => {
                self.last = place;
                &mut self.slots[place].1
            }
            None => self.late.entry(slot).or_default(),
        }
    }

    #[inline]
    fn place_of(&mut self, slot: i64) -> Option<usize> {
        let is_at = |place: usize| self.slots.get(place).is_some_and(|&(other, _)| other == slot);
        if let Some(place) = [self.last, self.last + 1].into_iter().find(|&place| is_at(place)) {
            return Some(place);
        }
        if self.slots.last().is_none_or(|&(latest, _)| latest < slot) {
            self.slots.push((slot, Slot::default()));
            return Some(self.slots.len() - 1);
        }
        self.slots.binary_search_by_key(&slot, |&(other, _)| other).ok()
    }

    fn rising(mut self) -> Vec<(i64, Slot)> {
        if !self.late.is_empty() {
            self.slots.extend(self.late);
            self.slots.sort_unstable_by_key(|&(slot, _)| slot);
        }
        self.slots
    }
}

/// One row per host and slot of which any of the tables tells, in the order of hosts as given and of slots, as an Arrow stream.
///
/// Columns: `host` (its number), `slot`, `events` (rows of `slot_events`), `starts`, `leads` (how many of those), the earliest time of each step
/// (`started_ts_ns`, `context_ts_ns`, `state_ts_ns`, `view_ts_ns`, `leading_ts_ns`, `not_leading_ts_ns`, `ticked_ts_ns`, `snapshot_ts_ns`),
/// `context_block_no`, `txs` (the most in the mempool), `utxo_size`, `chain_density`; null where not told.
///
/// # Errors
///
/// A file can't be read, or has other columns.
pub fn slots_told(files: &SlotFiles, wanted: Wanted<'_>, clock: Clock) -> Result<Vec<u8>, ToldError> {
    clock.check()?;
    let hosts = wanted.hosts;
    let mut found: Vec<Slots> = hosts.iter().map(|_| Slots::default()).collect();
    for path in &files.slot_events {
        let step = |word: &str| STEPS.iter().position(|&step| step == word);
        each_batch(path, &wanted.columns(&["host", "ts_ns", "event", "slot", "block_no"]), |batch| {
            let of = wanted.of(batch)?;
            let which = Numbered::new(batch, "event", step)?;
            let times = whole(batch, "ts_ns")?;
            let slots = whole(batch, "slot")?;
            let block_nos = whole(batch, "block_no")?;
            for row in 0..batch.num_rows() {
                let (Some(host), Some(slot)) = (of.at(row), value(slots, row)) else { continue };
                let slot = found[host].at(slot);
                slot.events += 1;
                slot.block_no = slot.block_no.max(value(block_nos, row));
                let Some(step) = which.at(row) else { continue };
                slot.starts += i64::from(step == STARTED);
                slot.leads += i64::from(step == LEADER);
                if let Some(ts_ns) = value(times, row) {
                    let ts_ns = ts_ns.saturating_sub(hosts[host].shift_ns);
                    slot.steps[step] = Some(slot.steps[step].map_or(ts_ns, |before| before.min(ts_ns)));
                }
            }
            Ok(())
        })?;
    }
    for path in &files.transactions {
        each_batch(path, &wanted.columns(&["host", "ts_ns", "event", "count"]), |batch| {
            let of = wanted.of(batch)?;
            let which = Numbered::new(batch, "event", |word| matches!(word, "added" | "removed").then_some(()))?;
            let times = whole(batch, "ts_ns")?;
            let counts = whole(batch, "count")?;
            for row in 0..batch.num_rows() {
                let (Some(host), Some(()), Some(ts_ns)) = (of.at(row), which.at(row), value(times, row)) else { continue };
                if let Some(slot) = clock.slot_of(ts_ns.saturating_sub(hosts[host].shift_ns)) {
                    let slot = found[host].at(slot);
                    slot.txs = slot.txs.max(value(counts, row));
                }
            }
            Ok(())
        })?;
    }
    for path in &files.ledger_metrics {
        each_batch(path, &wanted.columns(&["host", "slot", "utxo_size", "chain_density"]), |batch| {
            let of = wanted.of(batch)?;
            let slots = whole(batch, "slot")?;
            let sizes = whole(batch, "utxo_size")?;
            let densities = numbers::<Float64Type>(batch, "chain_density")?;
            for row in 0..batch.num_rows() {
                let (Some(host), Some(slot)) = (of.at(row), value(slots, row)) else { continue };
                let slot = found[host].at(slot);
                slot.utxo_size = slot.utxo_size.max(value(sizes, row));
                if let Some(density) = value(densities, row) {
                    slot.chain_density = Some(slot.chain_density.map_or(density, |before| before.max(density)));
                }
            }
            Ok(())
        })?;
    }
    rows_of(hosts, found)
}

fn rows_of(hosts: &[WantedHost], found: Vec<Slots>) -> Result<Vec<u8>, ToldError> {
    let count = found.iter().map(|of_host| of_host.slots.len() + of_host.late.len()).sum();
    let mut rows = Rows::new(COLUMNS, count);
    let mut densities = Float64Builder::with_capacity(count);
    for (host, of_host) in hosts.iter().zip(found) {
        for (slot, told) in of_host.rising() {
            let first = [slot, told.events, told.starts, told.leads].map(Some);
            rows.push(host.number, first.into_iter().chain(told.steps).chain([told.block_no, told.txs, told.utxo_size]));
            densities.append_option(told.chain_density);
        }
    }
    rows.stream([("chain_density", Arc::new(densities.finish()) as ArrayRef)])
}
