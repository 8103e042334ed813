//! One row per host and slot in which its resources were sampled.

use std::path::PathBuf;

use super::columns::{Clock, Rows, ToldError, Wanted, WantedHost, each_batch, value, whole};

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
const COLUMNS: [&str; 2 + COUNTERS.len() + LEVELS.len()] = [
    "slot",
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
    let names: Vec<_> = ["host", "ts_ns"].into_iter().chain(COUNTERS).chain(LEVELS).collect();
    let names = wanted.columns(&names);
    for path in resources {
        each_batch(path, &names, |batch| {
            let of = wanted.of(batch)?;
            let times = whole(batch, "ts_ns")?;
            let mut counters = Vec::with_capacity(COUNTERS.len());
            for column in COUNTERS {
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
    rows_of(hosts, found)
}

fn rows_of(hosts: &[WantedHost], found: Vec<Vec<Sample>>) -> Result<Vec<u8>, ToldError> {
    let mut rows = Rows::new(COLUMNS, found.iter().map(Vec::len).sum());
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
            let span_ns = before.map(|before| sample.ts_ns - before.ts_ns);
            let rose = (0..COUNTERS.len()).map(|place| sample.counters[place]?.checked_sub(before?.counters[place]?));
            rows.push(host.number, [Some(sample.slot), span_ns].into_iter().chain(rose).chain(sample.levels));
            before = Some(sample);
        }
    }
    rows.stream([])
}
