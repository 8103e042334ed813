//! `speed LAYER.toml... --out DIR`: what the simulator costs, as rows that benchmarks/simulate prints.
//!
//! A row a number of hosts: the blocks alone, everything handed to an empty sink, written as tables (`--direct`), and written as logs
//! into DIR. All but the first on one core.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use slotmark_clustersim::{Nowhere, Profile, SimulationError, simulate, simulate_truth, write_run, write_tables};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut layers, mut out) = (Vec::new(), None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--out" => out = arguments.next().map(PathBuf::from),
            _ => layers.push(std::fs::read_to_string(&argument)?),
        }
    }
    let out = out.ok_or("expected --out DIR")?;
    std::fs::create_dir_all(&out)?;
    let layers: Vec<&str> = layers.iter().map(String::as_str).collect();
    let profile = |hosts: u32, slots: u64| {
        Profile::from_layers(&layers, &[format!("hosts={hosts}"), format!("pools={hosts}"), format!("run.slots={slots}")])
    };
    fn go_on(_: u64, _: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    println!(
        "{:>6} {:>7}  {:>14}  {:>17}  {:>26}  {:>26}",
        "hosts", "slots", "blocks alone", "to an empty sink", "written as tables", "written as logs"
    );
    for (hosts, slots, log_slots) in [(10, 48_000, 4_000), (52, 48_000, 1_000), (200, 8_000, 250), (1_000, 2_000, 50)] {
        let whole = profile(hosts, slots)?;
        let alone = timed(|| simulate_truth(&whole, 1, &mut go_on).map(|_| 0))?.0;
        let narrated = one_core(|| timed(|| simulate(&whole, 1, &mut Nowhere, &mut go_on).map(|_| 0)))?.0;
        let target = out.join("run");
        // Before the tables: where many files were just deleted, a file system is slow to make new ones.
        let logs = profile(hosts, log_slots)?;
        let (logged, bytes) = one_core(|| timed(|| write_run(&logs, 1, &target, &mut go_on).map(|facts| facts.bytes)))?;
        std::fs::remove_dir_all(&target)?;
        let (tables, description) = (target.join("tables"), target.join("description"));
        std::fs::create_dir_all(&tables)?;
        let direct = || write_tables(&whole, 1, "run", &tables, &description, 1, &mut go_on).map(|(facts, _)| facts.lines);
        let (direct, lines) = one_core(|| timed(direct))?;
        std::fs::remove_dir_all(&target)?;
        println!(
            "{hosts:>6} {slots:>7}  {alone:>9.2} s     {narrated:>9.2} s {:>5.0}x  {direct:>7.2} s {:>5.0}x {:>7.1} M/s  {:>6.1} MB {logged:>6.2} s {:>5.0} MB/s",
            slots as f64 / narrated,
            slots as f64 / direct,
            lines as f64 / 1e6 / direct,
            bytes as f64 / 1e6,
            bytes as f64 / 1e6 / logged
        );
    }
    let plain = one_core(|| {
        timed(|| {
            let mut file = std::fs::File::create(out.join("plain")).map_err(|source| SimulationError::Io { path: out.clone(), source })?;
            let chunk = vec![b'x'; 192 << 10];
            for _ in 0..1_500 {
                file.write_all(&chunk).map_err(|source| SimulationError::Io { path: out.clone(), source })?;
            }
            Ok(1_500 * chunk.len() as u64)
        })
    })?;
    std::fs::remove_file(out.join("plain"))?;
    println!("the same file system takes plain writes of {:.0} MB at {:.0} MB/s", plain.1 as f64 / 1e6, plain.1 as f64 / 1e6 / plain.0);
    Ok(())
}

fn one_core<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

fn timed(work: impl FnOnce() -> Result<u64, SimulationError>) -> Result<(f64, u64), SimulationError> {
    let began = Instant::now();
    let count = work()?;
    Ok((began.elapsed().as_secs_f64(), count))
}
