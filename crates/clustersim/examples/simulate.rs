//! `simulate PROFILE.toml [BASE.toml ...] --seed 1 --out DIR [--slots N] [--set key=value]...`: the simulator without Python.
//!
//! Layers are given base first.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use slotmark_clustersim::{Profile, write_run};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("simulate: {message}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), String> {
    let (mut layers, mut settings, mut seed, mut out) = (Vec::new(), Vec::new(), 1_u64, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument}: expected a value."));
        match argument.as_str() {
            "--seed" => seed = value()?.parse().map_err(|_| "--seed: expected a number.".to_string())?,
            "--slots" => settings.push(format!("run.slots={}", value()?)),
            "--set" => settings.push(value()?),
            "--out" => out = Some(PathBuf::from(value()?)),
            _ => layers.push(std::fs::read_to_string(&argument).map_err(|error| format!("{argument}: {error}"))?),
        }
    }
    let out = out.ok_or("expected --out DIR.")?;
    let layers: Vec<&str> = layers.iter().map(String::as_str).collect();
    let profile = Profile::from_layers(&layers, &settings).map_err(|error| error.to_string())?;
    let began = Instant::now();
    let facts = write_run(&profile, seed, &out, &mut |_, _| ControlFlow::Continue(())).map_err(|error| error.to_string())?;
    let took = began.elapsed().as_secs_f64();
    let megabytes = facts.bytes as f64 / 1e6;
    println!(
        "{} hosts, {} slots, {} blocks of which {} on the chain, {} lines, {megabytes:.1} MB in {took:.2} s: {:.0} MB/s, {:.0} times as fast as time",
        facts.hosts,
        facts.slots,
        facts.blocks_forged,
        facts.blocks_chained,
        facts.lines,
        megabytes / took,
        facts.slots as f64 / took
    );
    Ok(())
}
