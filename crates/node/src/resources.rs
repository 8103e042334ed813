//! What the process uses, once a second, from /proc; and what it allocated, which only the process itself knows.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use slotmark_tracelog::forms;

use crate::log::Log;

/// The system's allocator, which counts.
pub struct Counting;

static ALLOCATED: AtomicI64 = AtomicI64::new(0);
static FREED: AtomicI64 = AtomicI64::new(0);

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        FREED.fetch_add(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        FREED.fetch_add(layout.size() as i64, Ordering::Relaxed);
        ALLOCATED.fetch_add(size as i64, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(place, layout, size) }
    }
}

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
    let allocated = ALLOCATED.load(Ordering::Relaxed);
    log.line(forms::Resources {
        allocated_bytes: allocated,
        block_io_cs: field(42),
        cpu_cs,
        gc_cs: 0i64,
        mutator_cs: cpu_cs,
        fs_read_bytes: of_io("read_bytes:"),
        fs_written_bytes: of_io("write_bytes:"),
        major_gcs: 0i64,
        minor_gcs: 0i64,
        heap_bytes: bytes(5),
        live_bytes: (allocated - FREED.load(Ordering::Relaxed)).max(0),
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
