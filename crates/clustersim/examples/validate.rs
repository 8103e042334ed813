//! `validate LAYER.toml... [--seed N] [--slots N] [--set key=value]...`: predicted against published, as a table or (`--json`) as JSON.

use std::ops::ControlFlow;
use std::process::ExitCode;

use slotmark_clustersim::{Profile, propagation, simulate_truth};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("validate: {message}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), String> {
    let (mut layers, mut settings, mut seed, mut json) = (Vec::new(), Vec::new(), 1_u64, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument}: expected a value."));
        match argument.as_str() {
            "--seed" => seed = value()?.parse().map_err(|_| "--seed: expected a number.".to_string())?,
            "--slots" => settings.push(format!("run.slots={}", value()?)),
            "--set" => settings.push(value()?),
            "--json" => json = true,
            _ => layers.push(std::fs::read_to_string(&argument).map_err(|error| format!("{argument}: {error}"))?),
        }
    }
    let layers: Vec<&str> = layers.iter().map(String::as_str).collect();
    let profile = Profile::from_layers(&layers, &settings).map_err(|error| error.to_string())?;
    let truth = simulate_truth(&profile, seed, &mut |_, _| ControlFlow::Continue(())).map_err(|error| error.to_string())?;
    let result = propagation(&profile, &truth);
    if json {
        println!("{}", serde_json::to_string(&result).unwrap_or_default());
        return Ok(());
    }
    println!("{} blocks analysed, {} rejected, {} orphaned", result.blocks, result.rejected, result.orphaned);
    for row in &result.rows {
        let error = row
            .published
            .map_or(String::new(), |published| format!("{published:>10.5} {:>7.1} %", 100.0 * (row.predicted / published - 1.0)));
        println!("{:34} {:>10.5} {error}", row.metric, row.predicted);
    }
    Ok(())
}
