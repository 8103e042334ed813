//! The process's use of resources, once a second, from /proc. Figures of a garbage collector are 0: there is none.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use slotmark_tracelog::forms;

use crate::log::Log;

/// Logs a sample at once and then after each period, for as long as the process runs.
pub fn log_for_ever(log: &Arc<Log>, every: Duration) {
    let log = Arc::clone(log);
    std::thread::spawn(move || {
        loop {
            sample(&log);
            std::thread::sleep(every);
        }
    });
}

fn sample(log: &Log) {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name, in parentheses, may hold anything.
    let fields: Vec<i64> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().map(|field| field.parse().unwrap_or(0)).collect();
    // Numbered from 1 with the name as 2, so that the state is 3.
    let field = |number: usize| fields.get(number - 3).copied().unwrap_or(0);
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: Vec<i64> = statm.split_whitespace().map(|field| field.parse().unwrap_or(0)).collect();
    let page = rustix::param::page_size() as i64;
    let bytes = |place: usize| pages.get(place).copied().unwrap_or(0) * page;
    let io = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let of_io = |name: &str| io.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok()).unwrap_or(0);
    let cpu_cs = (field(14) + field(15)) * 100 / (rustix::param::clock_ticks_per_second() as i64).max(1);
    let (net_read, net_written) = network();
    log.line(forms::Resources {
        allocated_bytes: 0i64,
        block_io_cs: field(42),
        cpu_cs,
        gc_cs: 0i64,
        mutator_cs: cpu_cs,
        fs_read_bytes: of_io("read_bytes:"),
        fs_written_bytes: of_io("write_bytes:"),
        major_gcs: 0i64,
        minor_gcs: 0i64,
        heap_bytes: bytes(5),
        live_bytes: 0i64,
        net_read_bytes: net_read,
        net_written_bytes: net_written,
        rss_bytes: bytes(1),
        threads: field(20),
    });
}

/// Bytes that the network namespace received and sent (`InOctets`, `OutOctets`).
fn network() -> (i64, i64) {
    let text = fs::read_to_string("/proc/self/net/netstat").unwrap_or_default();
    let mut lines = text.lines().filter(|line| line.starts_with("IpExt:")).map(str::split_whitespace);
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return (0, 0) };
    let pairs: Vec<(&str, &str)> = names.zip(values).collect();
    let of = |wanted: &str| pairs.iter().find(|(name, _)| *name == wanted).and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    (of("InOctets"), of("OutOctets"))
}
