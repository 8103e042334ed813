//! Resources of a process, as its kernel counts them.

use std::fs;

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// Resources of a process between two moments. None where the kernel doesn't count them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Used {
    /// Largest resident set since the first moment, in bytes; what LMDB has mapped and touched counts.
    pub peak_bytes: Option<u64>,
    /// Bytes that were read from storage: what was in the page cache doesn't count.
    pub read_bytes: Option<u64>,
    /// Bytes that were sent to storage, or will be.
    pub written_bytes: Option<u64>,
    /// Page faults without reading from storage.
    pub minor_faults: u64,
    /// Page faults that read from storage.
    pub major_faults: u64,
    /// CPU time in the program, in us: with that in the kernel it is exact, by itself to some 10 ms.
    pub user_us: u64,
    /// CPU time in the kernel, in us.
    pub system_us: u64,
}

/// The counters of this process at a moment.
pub struct Counters {
    peak_is_new: bool,
    read: Option<u64>,
    written: Option<u64>,
    minor: u64,
    major: u64,
    cpu_us: u64,
    system_us: u64,
}

impl Counters {
    /// Reads them, and begins a new peak of the resident set.
    pub fn begin() -> Self {
        // 5: the peak becomes what is resident now; see proc(5).
        let peak_is_new = fs::write("/proc/self/clear_refs", "5").is_ok();
        Self { peak_is_new, ..Self::now() }
    }

    fn now() -> Self {
        let times = faults_and_system_time().unwrap_or_default();
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        Self {
            peak_is_new: false,
            read: field("/proc/self/io", "read_bytes:"),
            written: field("/proc/self/io", "write_bytes:"),
            minor: times[0],
            major: times[1],
            cpu_us: cpu.tv_sec as u64 * 1_000_000 + cpu.tv_nsec as u64 / 1_000,
            system_us: times[2],
        }
    }

    /// Returns the resources used since then. The peak is that of the whole process where the kernel couldn't begin a new one.
    pub fn used(&self) -> Used {
        let now = Self::now();
        let since = |then: Option<u64>, now: Option<u64>| Some(now?.saturating_sub(then?));
        let cpu_us = now.cpu_us.saturating_sub(self.cpu_us);
        // The kernel gives the two parts in ticks of 10 ms, and only their sum to the microsecond.
        let system_us = now.system_us.saturating_sub(self.system_us).min(cpu_us);
        Used {
            peak_bytes: field("/proc/self/status", "VmHWM:").map(|kilobytes| kilobytes * 1024),
            read_bytes: since(self.read, now.read),
            written_bytes: since(self.written, now.written),
            minor_faults: now.minor.saturating_sub(self.minor),
            major_faults: now.major.saturating_sub(self.major),
            user_us: cpu_us - system_us,
            system_us,
        }
    }

    /// Returns whether the peak is one since the beginning.
    pub fn peak_is_new(&self) -> bool {
        self.peak_is_new
    }
}

/// Bytes of the page cache that are charged to this process's control group, of version 1 or 2; None where none limits memory.
pub fn page_cache_bytes() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mounted = |kind: &str, option: &str| {
        let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        fields.filter(|fields| fields.len() > 3).find_map(|fields| {
            (fields[2] == kind && (option.is_empty() || fields[3].split(',').any(|one| one == option))).then(|| fields[1].to_owned())
        })
    };
    groups.lines().find_map(|line| {
        let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
        let (folder, name) = match controllers {
            "" => (mounted("cgroup2", "")?, "file "),
            _ if controllers.split(',').any(|one| one == "memory") => (mounted("cgroup", "memory")?, "cache "),
            _ => return None,
        };
        field(&format!("{folder}{group}/memory.stat"), name)
    })
}

/// The first number behind a name in a file of lines.
fn field(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

/// Minor faults, major faults and system time in us, of all threads; fields 10, 12 and 15 of proc(5)'s stat.
fn faults_and_system_time() -> Option<[u64; 3]> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |place: usize| fields.get(place - 3)?.parse::<u64>().ok();
    let tick_us = 1_000_000 / rustix::param::clock_ticks_per_second().max(1);
    Some([number(10)?, number(12)?, number(15)? * tick_us])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_below_a_tick_of_the_kernel_is_counted() {
        let before = Counters::begin();
        let until = before.cpu_us + 2_000;
        while Counters::now().cpu_us < until {}
        let used = before.used();
        assert!(used.user_us + used.system_us >= 2_000, "{used:?}");
    }

    #[test]
    fn memory_that_was_used_shows_in_the_peak_and_in_the_faults() {
        let before = Counters::begin();
        let block = std::hint::black_box(vec![1u8; 64 << 20]);
        let used = before.used();
        assert!(used.peak_bytes.unwrap() >= 64 << 20, "{used:?} {}", block.len());
        assert!(used.minor_faults > 0, "{used:?}");
        drop(block);
        if Counters::begin().peak_is_new() {
            assert!(Counters::begin().used().peak_bytes.unwrap() < used.peak_bytes.unwrap());
        }
    }
}
