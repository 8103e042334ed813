//! Output of the benchmarks of chains.

use std::fs;

/// The median of at least one value.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

/// The machine, in words.
pub fn machine() -> String {
    let text = |path| fs::read_to_string(path).unwrap_or_default();
    let info = text("/proc/cpuinfo");
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map_or("unknown CPU", |rest| rest.trim_start_matches([' ', '\t', ':']));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = text("/proc/loadavg");
    format!("{model}, {cores} cores, Linux {}, load {}", text("/proc/sys/kernel/osrelease").trim(), load.split(' ').next().unwrap_or("?"))
}
