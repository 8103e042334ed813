//! One row per host and slot in which its resources were sampled.

use std::iter;
use std::path::PathBuf;

use super::columns::{Clock, NONE, SlotRowsError, Table, TableColumn, Wanted, WantedHost, each_batch, table, value};

/// Counters, by their columns in `resources`; the first and the sixth order samples of one time.
const COUNTERS: [&str; 10] = [
    "cpu_cs",
    "gc_cs",
    "mutator_cs",
    "major_gcs",
    "minor_gcs",
    "allocated_bytes",
    "net_read_bytes",
    "net_written_bytes",
    "fs_read_bytes",
    "fs_written_bytes",
];
const CPU: usize = 0;
const ALLOCATED: usize = 5;
/// Levels.
const LEVELS: [&str; 3] = ["rss_bytes", "heap_bytes", "live_bytes"];
/// The columns of the result, counters and levels in their order.
const COLUMNS: [&str; 3 + COUNTERS.len() + LEVELS.len()] = [
    "slot",
    "span_slots",
    "span_ns",
    "cpu",
    "gc",
    "mutator",
    "major",
    "minor",
    "allocated",
    "net_read",
    "net_written",
    "fs_read",
    "fs_written",
    "rss_bytes",
    "heap_bytes",
    "live_bytes",
];

/// A sample of a host.
#[derive(Clone, Copy)]
struct Sample {
    ts_ns: i64,
    slot: i64,
    /// Its row in the columns that were read.
    row: usize,
}

/// One row per host and slot in which it was sampled, of the slot's last sample, in the order of hosts as given and of time.
///
/// Columns: `host` (its number), `slot`, `span_slots` and `span_ns` (since the sample before, null for a host's first), how much each counter rose meanwhile (`cpu`, `gc`,
/// `mutator`, `major`, `minor`, `allocated`, `net_read`, `net_written`, `fs_read`, `fs_written`; below 0 where it went down), and the levels
/// `rss_bytes`, `heap_bytes`, `live_bytes`.
///
/// # Errors
///
/// A file can't be read, or has other columns.
pub fn usage_rows(resources: &[PathBuf], wanted: Wanted<'_>, clock: Clock) -> Result<Table, SlotRowsError> {
    clock.check()?;
    let hosts = wanted.hosts;
    let mut found: Vec<Vec<Sample>> = hosts.iter().map(|_| Vec::new()).collect();
    let mut read: [Vec<i64>; COUNTERS.len() + LEVELS.len()] = Default::default();
    let names: Vec<_> = ["host", "ts_ns"].into_iter().chain(COUNTERS).chain(LEVELS).collect();
    let names = wanted.columns(&names);
    for path in resources {
        each_batch(path, &names, |batch| {
            let of = wanted.of(batch)?;
            let times = batch.whole("ts_ns")?;
            let first = read[CPU].len();
            for (column, values) in COUNTERS.into_iter().chain(LEVELS).zip(&mut read) {
                values.extend_from_slice(batch.whole(column)?);
            }
            for row in 0..batch.rows {
                let (Some(host), Some(ts_ns)) = (of.at(row), value(times, row)) else { continue };
                let ts_ns = ts_ns.saturating_sub(hosts[host].shift_ns);
                if let Some(slot) = clock.slot_of(ts_ns) {
                    found[host].push(Sample { ts_ns, slot, row: first + row });
                }
            }
            Ok(())
        })?;
    }
    for samples in &mut found {
        samples.sort_by_key(|sample| (sample.ts_ns, read[CPU][sample.row], read[ALLOCATED][sample.row]));
        samples.dedup_by(|later, kept| {
            let same = later.slot == kept.slot;
            if same {
                *kept = *later; // a slot's last sample stands for it
            }
            same
        });
    }
    Ok(rows_of(hosts, &found, &read))
}

fn rows_of(hosts: &[WantedHost], found: &[Vec<Sample>], read: &[Vec<i64>]) -> Table {
    let count = found.iter().map(Vec::len).sum();
    let column = |of: &dyn Fn(Option<&Sample>, &Sample) -> i64| {
        let mut values = Vec::with_capacity(count);
        for samples in found {
            let before = iter::once(None).chain(samples.iter().map(Some));
            values.extend(before.zip(samples).map(|(before, sample)| of(before, sample)));
        }
        values
    };
    let rose = |before: i64, now: i64| if before == NONE || now == NONE { NONE } else { now.checked_sub(before).unwrap_or(NONE) };
    let mut columns = vec![
        column(&|_, sample| sample.slot),
        column(&|before, sample| before.map_or(NONE, |before| sample.slot - before.slot)),
        column(&|before, sample| before.map_or(NONE, |before| rose(before.ts_ns, sample.ts_ns))),
    ];
    let (counters, levels) = read.split_at(COUNTERS.len());
    columns.extend(
        counters.iter().map(|values| column(&|before, now| before.map_or(NONE, |before| rose(values[before.row], values[now.row])))),
    );
    columns.extend(levels.iter().map(|values| column(&|_, sample| values[sample.row])));
    let columns = COLUMNS.into_iter().zip(columns).map(|(name, values)| TableColumn::whole(name, values));
    table(hosts.iter().zip(found).map(|(host, samples)| (host.number, samples.len())), columns)
}
