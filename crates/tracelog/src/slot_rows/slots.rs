//! One row per host and slot.

use std::collections::HashMap;
use std::path::PathBuf;

use super::columns::{Clock, NONE, Numbered, SlotRowsError, Table, TableColumn, Wanted, WantedHost, each_batch, table, value};

/// The files of the tables about slots.
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
    "grew_slot",
    "txs",
    "utxo_size",
];
const STARTED: usize = 0;
const LEADER: usize = 4;
/// Places in [`COLUMNS`], less the slot.
const EVENTS: usize = 0;
const STARTS: usize = 1;
const LEADS: usize = 2;
const FIRST_STEP: usize = 3;
/// The number of the block that the forge loop saw, until all rows are there: see [`grown`].
const BLOCK_NO: usize = FIRST_STEP + STEPS.len();
const TXS: usize = BLOCK_NO + 1;
const UTXO_SIZE: usize = BLOCK_NO + 2;

/// The slots of a host, column by column. Logs have slots as they come, so that mostly the next row is of the slot met last, or of the one after it.
#[derive(Default)]
struct Slots {
    slots: Vec<i64>,
    values: [Vec<i64>; COLUMNS.len() - 1],
    chain_density: Vec<Option<f64>>,
    /// Number of slots at the beginning of `slots` that are rising: there are more only where rows of a slot came after those of later ones.
    rising: usize,
    /// The places of those others: all new slots from the first such one on.
    late: HashMap<i64, usize>,
    /// The place of the one met last.
    last: usize,
}

impl Slots {
    /// The place of a slot, which is made where it wasn't met before.
    #[inline]
    fn at(&mut self, slot: i64) -> usize {
        let is_at = |place: usize| self.slots.get(place).is_some_and(|&other| other == slot);
        if is_at(self.last) {
            return self.last;
        }
        self.last = if is_at(self.last + 1) { self.last + 1 } else { self.elsewhere(slot) };
        self.last
    }

    fn elsewhere(&mut self, slot: i64) -> usize {
        let rising = &self.slots[..self.rising];
        if rising.last().is_none_or(|&latest| latest < slot) && self.late.is_empty() {
            self.rising += 1;
            return self.push(slot);
        }
        if let Ok(place) = rising.binary_search(&slot) {
            return place;
        }
        if let Some(&place) = self.late.get(&slot) {
            return place;
        }
        let place = self.push(slot);
        self.late.insert(slot, place);
        place
    }

    fn push(&mut self, slot: i64) -> usize {
        self.slots.push(slot);
        for (column, values) in self.values.iter_mut().enumerate() {
            values.push(if column < FIRST_STEP { 0 } else { NONE });
        }
        self.chain_density.push(None);
        self.slots.len() - 1
    }

    /// The columns, their rows in the order of slots.
    fn in_order(mut self) -> (Vec<i64>, [Vec<i64>; COLUMNS.len() - 1], Vec<Option<f64>>) {
        if !self.late.is_empty() {
            let mut order: Vec<usize> = (0..self.slots.len()).collect();
            order.sort_unstable_by_key(|&place| self.slots[place]);
            for values in self.values.iter_mut().chain([&mut self.slots]) {
                *values = order.iter().map(|&place| values[place]).collect();
            }
            self.chain_density = order.iter().map(|&place| self.chain_density[place]).collect();
        }
        (self.slots, self.values, self.chain_density)
    }
}

/// One row per host and slot that any of the tables has, in the order of hosts as given and of slots.
///
/// Columns: `host` (its number), `slot`, `events` (rows of `slot_events`), `starts`, `leads` (how many of those), the earliest time of each step
/// (`started_ts_ns`, `context_ts_ns`, `state_ts_ns`, `view_ts_ns`, `leading_ts_ns`, `not_leading_ts_ns`, `ticked_ts_ns`, `snapshot_ts_ns`),
/// `grew_slot` (since which slot the host's chain has had the number of blocks that the forge loop saw), `txs` (the most in the mempool), `utxo_size`,
/// `chain_density`; null where not logged.
///
/// # Errors
///
/// A file can't be read, or has other columns.
pub fn slot_rows(files: &SlotFiles, wanted: Wanted<'_>, clock: Clock) -> Result<Table, SlotRowsError> {
    clock.check()?;
    let hosts = wanted.hosts;
    let mut found: Vec<Slots> = hosts.iter().map(|_| Slots::default()).collect();
    for path in &files.slot_events {
        let step = |word: &str| STEPS.iter().position(|&step| step == word);
        each_batch(path, &wanted.columns(&["host", "ts_ns", "event", "slot", "block_no"]), |batch| {
            let of = wanted.of(batch)?;
            let which = Numbered::new(batch, "event", step)?;
            let times = batch.whole("ts_ns")?;
            let slots = batch.whole("slot")?;
            let block_nos = batch.whole("block_no")?;
            for row in 0..batch.rows {
                let (Some(host), Some(slot)) = (of.at(row), value(slots, row)) else { continue };
                let place = found[host].at(slot);
                let values = &mut found[host].values;
                values[EVENTS][place] += 1;
                raise(&mut values[BLOCK_NO][place], value(block_nos, row));
                let Some(step) = which.at(row) else { continue };
                values[STARTS][place] += i64::from(step == STARTED);
                values[LEADS][place] += i64::from(step == LEADER);
                if let Some(ts_ns) = value(times, row) {
                    let earliest = &mut values[FIRST_STEP + step][place];
                    let ts_ns = ts_ns.saturating_sub(hosts[host].shift_ns);
                    if *earliest == NONE || ts_ns < *earliest {
                        *earliest = ts_ns;
                    }
                }
            }
            Ok(())
        })?;
    }
    for path in &files.transactions {
        each_batch(path, &wanted.columns(&["host", "ts_ns", "event", "count"]), |batch| {
            let of = wanted.of(batch)?;
            let which = Numbered::new(batch, "event", |word| matches!(word, "added" | "removed").then_some(()))?;
            let times = batch.whole("ts_ns")?;
            let counts = batch.whole("count")?;
            for row in 0..batch.rows {
                let (Some(host), Some(()), Some(ts_ns)) = (of.at(row), which.at(row), value(times, row)) else { continue };
                if let Some(slot) = clock.slot_of(ts_ns.saturating_sub(hosts[host].shift_ns)) {
                    let place = found[host].at(slot);
                    raise(&mut found[host].values[TXS][place], value(counts, row));
                }
            }
            Ok(())
        })?;
    }
    for path in &files.ledger_metrics {
        each_batch(path, &wanted.columns(&["host", "slot", "utxo_size", "chain_density"]), |batch| {
            let of = wanted.of(batch)?;
            let slots = batch.whole("slot")?;
            let sizes = batch.whole("utxo_size")?;
            let densities = batch.real("chain_density")?;
            for (row, density) in densities.iter().enumerate() {
                let (Some(host), Some(slot)) = (of.at(row), value(slots, row)) else { continue };
                let place = found[host].at(slot);
                raise(&mut found[host].values[UTXO_SIZE][place], value(sizes, row));
                if let &Some(density) = density {
                    let most = &mut found[host].chain_density[place];
                    *most = Some(most.map_or(density, |before| before.max(density)));
                }
            }
            Ok(())
        })?;
    }
    Ok(rows_of(hosts, found))
}

/// The most of what was met; [`NONE`] is below all.
#[inline]
fn raise(most: &mut i64, met: Option<i64>) {
    *most = (*most).max(met.unwrap_or(NONE));
}

/// Puts in the place of each block number, in the order of slots, the first slot from which on it is the same.
fn grown(slots: &[i64], block_nos: &mut [i64]) {
    let (mut latest, mut since) = (NONE, NONE);
    for (&slot, block_no) in slots.iter().zip(block_nos).filter(|(_, block_no)| **block_no != NONE) {
        if *block_no != latest {
            (latest, since) = (*block_no, slot);
        }
        *block_no = since;
    }
}

fn rows_of(hosts: &[WantedHost], found: Vec<Slots>) -> Table {
    let rows: Vec<_> = hosts.iter().zip(&found).map(|(host, slots)| (host.number, slots.slots.len())).collect();
    let mut columns: [Vec<i64>; COLUMNS.len()] = Default::default();
    let mut densities = Vec::new();
    for slots in found {
        let (slots, mut values, chain_density) = slots.in_order();
        grown(&slots, &mut values[BLOCK_NO]);
        for (column, mut of_host) in columns.iter_mut().zip([slots].into_iter().chain(values)) {
            if column.is_empty() { *column = of_host } else { column.append(&mut of_host) }
        }
        densities.extend(chain_density);
    }
    let columns = COLUMNS.into_iter().zip(columns).map(|(name, values)| TableColumn::whole(name, values));
    table(rows, columns.chain([TableColumn::real("chain_density", &densities)]))
}
