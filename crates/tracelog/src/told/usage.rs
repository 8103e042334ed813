//! One row per host and slot in which its resources were sampled.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{Int64Builder, UInt32Builder};

use super::columns::{Clock, ToldError, Wanted, WantedHost, each_batch, stream, value, whole};

/// Counters, by their columns in `resources` and in the result; the first and the sixth order samples of one time.
const COUNTERS: [(&str, &str); 10] = [
    ("cpu_cs", "cpu"),
    ("gc_cs", "gc"),
    ("mutator_cs", "mutator"),
    ("major_gcs", "major"),
    ("minor_gcs", "minor"),
    ("allocated_bytes", "allocated"),
    ("net_read_bytes", "net_read"),
    ("net_written_bytes", "net_written"),
    ("fs_read_bytes", "fs_read"),
    ("fs_written_bytes", "fs_written"),
];
const CPU: usize = 0;
const ALLOCATED: usize = 5;
/// Levels.
const LEVELS: [&str; 3] = ["rss_bytes", "heap_bytes", "live_bytes"];

/// A sample of a host.
#[derive(Clone, Copy)]
struct Sample {
    ts_ns: i64,
    slot: i64,
    counters: [Option<i64>; COUNTERS.len()],
    levels: [Option<i64>; LEVELS.len()],
}

/// One row per host and slot in which it was sampled, of the slot's last sample, in the order of hosts as given and of time, as an Arrow stream.
///
/// Columns: `host` (its number), `slot`, `span_ns` (since the sample before, null for a host's first), how much each counter rose meanwhile (`cpu`, `gc`,
/// `mutator`, `major`, `minor`, `allocated`, `net_read`, `net_written`, `fs_read`, `fs_written`; below 0 where it went down), and the levels
/// `rss_bytes`, `heap_bytes`, `live_bytes`.
///
/// # Errors
///
/// A file can't be read, or has other columns.
pub fn usage_told(resources: &[PathBuf], wanted: Wanted<'_>, clock: Clock) -> Result<Vec<u8>, ToldError> {
    clock.check()?;
    let hosts = wanted.hosts;
    let mut found: Vec<Vec<Sample>> = hosts.iter().map(|_| Vec::new()).collect();
    let names: Vec<_> = ["host", "ts_ns"].into_iter().chain(COUNTERS.map(|(column, _)| column)).chain(LEVELS).collect();
    let names = wanted.columns(&names);
    for path in resources {
        each_batch(path, &names, |batch| {
            let of = wanted.of(batch)?;
            let times = whole(batch, "ts_ns")?;
            let mut counters = Vec::with_capacity(COUNTERS.len());
            for (column, _) in COUNTERS {
                counters.push(whole(batch, column)?);
            }
            let mut levels = Vec::with_capacity(LEVELS.len());
            for column in LEVELS {
                levels.push(whole(batch, column)?);
            }
            for row in 0..batch.num_rows() {
                let (Some(host), Some(ts_ns)) = (of.at(row), value(times, row)) else { continue };
                let ts_ns = ts_ns.saturating_sub(hosts[host].shift_ns);
                if let Some(slot) = clock.slot_of(ts_ns) {
                    let counters = std::array::from_fn(|place| value(counters[place], row));
                    let levels = std::array::from_fn(|place| value(levels[place], row));
                    found[host].push(Sample { ts_ns, slot, counters, levels });
                }
            }
            Ok(())
        })?;
    }
    columns(hosts, found)
}

fn columns(hosts: &[WantedHost], found: Vec<Vec<Sample>>) -> Result<Vec<u8>, ToldError> {
    let rows = found.iter().map(Vec::len).sum();
    let mut numbers = UInt32Builder::with_capacity(rows);
    let names: Vec<&str> = ["slot", "span_ns"].into_iter().chain(COUNTERS.map(|(_, name)| name)).chain(LEVELS).collect();
    let mut columns: Vec<Int64Builder> = names.iter().map(|_| Int64Builder::with_capacity(rows)).collect();
    for (host, mut samples) in hosts.iter().zip(found) {
        samples.sort_by_key(|sample| (sample.ts_ns, sample.counters[CPU], sample.counters[ALLOCATED]));
        samples.dedup_by(|later, kept| {
            let same = later.slot == kept.slot;
            if same {
                *kept = *later; // a slot's last sample stands for it
            }
            same
        });
        let mut before: Option<Sample> = None;
        for sample in samples {
            numbers.append_value(host.number);
            let span_ns = before.map(|before| sample.ts_ns - before.ts_ns);
            let rose = (0..COUNTERS.len()).map(|place| sample.counters[place]?.checked_sub(before?.counters[place]?));
            let values = [Some(sample.slot), span_ns].into_iter().chain(rose).chain(sample.levels);
            for (column, value) in columns.iter_mut().zip(values) {
                column.append_option(value);
            }
            before = Some(sample);
        }
    }
    let mut arrays: Vec<(&str, ArrayRef)> = vec![("host", Arc::new(numbers.finish()))];
    arrays.extend(names.iter().zip(&mut columns).map(|(&name, column)| (name, Arc::new(column.finish()) as ArrayRef)));
    stream(arrays)
}
