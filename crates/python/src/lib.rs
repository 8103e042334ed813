//! The extension module `slotmark._core`: thin bindings over the crates. `make stubs` writes `_core.pyi` beside the package from it.

mod chains;
mod folders;
mod levels;
mod logs;
mod nodes;
mod order;
mod progress;
mod tables;

use std::fmt::Display;
use std::io;
use std::path::PathBuf;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use slotmark_clustersim::{
    METRICS, Profile, Quantity, QuantityKind, RunFacts, SimulationError, propagation, reach, simulate_truth, write_run, write_tables,
};

use progress::{Progress, stoppable};

/// An exception of `slotmark.errors`.
fn slotmark_error(name: &str, message: impl Display) -> PyErr {
    Python::attach(|py| {
        let made = py.import("slotmark.errors").and_then(|errors| errors.getattr(name)?.call1((message.to_string(),)));
        match made {
            Ok(error) => PyErr::from_value(error),
            Err(error) => error,
        }
    })
}

fn simulation_error(error: SimulationError) -> PyErr {
    slotmark_error("SimulationError", error)
}

/// An `OSError` with the number and the words that Python's own has.
fn os_error(error: io::Error) -> PyErr {
    let words = error.to_string();
    let words = words.split(" (os error").next().unwrap_or_default().to_owned();
    PyOSError::new_err((error.raw_os_error().unwrap_or_default(), words))
}

/// The Rust side of slotmark. Raises ChainError, LogError, ServerError, SimulationError and RunError of slotmark.errors; releases the GIL while it works.
#[pymodule]
mod _core {
    use super::*;

    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "the name that Python sees")]
    const version: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use super::chains::{Window, chain_info, chain_sources, chain_window, digests};
    #[pymodule_export]
    use super::folders::NewFolder;
    #[pymodule_export]
    use super::levels::Levels;
    #[pymodule_export]
    use super::logs::{is_log_line, merge_logs, read_logs, survey_log};
    #[pymodule_export]
    use super::nodes::{Announced, Ended, Relay, RolledBack, Waits, node_tip, node_version};
    #[pymodule_export]
    use super::tables::{Buffer, partitioned, slot_rows, usage_rows};

    /// The BLAKE3 digest of a file in hex. Raises OSError where it can't be read.
    #[pyfunction]
    fn blake3_file(py: Python<'_>, path: PathBuf) -> PyResult<String> {
        py.detach(|| {
            let mut hasher = blake3::Hasher::new();
            hasher.update_mmap_rayon(&path)?;
            Ok(hasher.finalize().to_hex().to_string())
        })
    }

    /// Returns what a parameter of a profile, by its full name, changes in a simulation: ``blocks``, ``logs``, ``name`` or ``nothing``.
    #[pyfunction]
    fn parameter_reach(parameter: &str) -> &'static str {
        reach(parameter).word()
    }

    /// A cluster profile as one TOML text: `layers` are TOML texts, the base first; `settings` are `key=value`, laid over them.
    #[pyfunction]
    fn cluster_profile(layers: Vec<String>, settings: Vec<String>) -> PyResult<String> {
        let layers: Vec<&str> = layers.iter().map(String::as_str).collect();
        Profile::from_layers(&layers, &settings).map(|profile| profile.to_toml()).map_err(simulation_error)
    }

    /// Simulates a cluster into a new run directory and returns the facts about it as JSON; `progress` gets slots done and in all, and may raise to stop.
    #[pyfunction]
    fn simulate(py: Python<'_>, profile_toml: String, seed: u64, out: PathBuf, progress: Progress) -> PyResult<String> {
        let profile = Profile::from_layers(&[&profile_toml], &[]).map_err(simulation_error)?;
        let facts =
            stoppable(py, &progress, simulation_error, |told| write_run(&profile, seed, &out, &mut |done, total| told(done, total)))?;
        Ok(facts_json(&facts))
    }

    /// Simulates a cluster straight into the empty folder `tables`, as `ingest` would from its logs, with the tables of the truth.
    ///
    /// The files that describe a run directory go into the empty folder `description`. Threads are as many as there are cores
    /// where 0. Returns the facts as JSON, as `simulate`, and `slotmark_tracelog::Ingested`; `progress` gets slots
    /// of hosts done and in all, and may raise to stop.
    #[pyfunction]
    #[allow(clippy::too_many_arguments, reason = "one argument a thing that the caller decides")]
    fn simulate_direct(
        py: Python<'_>,
        profile_toml: String,
        seed: u64,
        name: String,
        tables: PathBuf,
        description: PathBuf,
        threads: usize,
        progress: Progress,
    ) -> PyResult<(String, String)> {
        let profile = Profile::from_layers(&[&profile_toml], &[]).map_err(simulation_error)?;
        let (facts, ingested) = stoppable(py, &progress, simulation_error, |told| {
            write_tables(&profile, seed, &name, &tables, &description, threads, &mut |done, total| told(done, total))
        })?;
        let ingested = serde_json::to_string(&ingested).map_err(|error| slotmark_error("SimulationError", error))?;
        Ok((facts_json(&facts), ingested))
    }

    /// The published tables as a simulation predicts them, as JSON: `blocks`, `rejected`, `orphaned`, and `rows` of metric, predicted, standard_error, published.
    #[pyfunction]
    fn simulate_tables(py: Python<'_>, profile_toml: String, seed: u64, progress: Progress) -> PyResult<String> {
        let profile = Profile::from_layers(&[&profile_toml], &[]).map_err(simulation_error)?;
        let truth =
            stoppable(py, &progress, simulation_error, |told| simulate_truth(&profile, seed, &mut |done, total| told(done, total)))?;
        let tables = propagation(&profile, &truth);
        serde_json::to_string(&tables).map_err(|error| slotmark_error("SimulationError", error))
    }

    /// The metrics of `simulate_tables`, in its order: the published table of each, and its published name.
    #[pyfunction]
    fn predicted_metrics() -> Vec<(&'static str, &'static str)> {
        METRICS.to_vec()
    }

    /// The number, the unit, what the unit is of (`a duration`, `a size`, …), and its worth in the smallest of its kind.
    ///
    /// None where it is no number of 0 or more, or its unit is unknown; without a unit it is `a number`, worth 1.
    #[pyfunction]
    fn quantity(text: &str) -> Option<(f64, &str, &'static str, f64)> {
        let Quantity { number, unit, of } = Quantity::parse(text)?;
        Some((number, unit, of.map_or("a number", |(kind, _)| kind.name()), of.map_or(1.0, |(_, worth)| worth)))
    }

    /// The units that a duration may be written in, rising.
    #[pyfunction]
    fn duration_units() -> Vec<&'static str> {
        QuantityKind::Duration.units().iter().map(|(unit, _)| *unit).collect()
    }
}

fn facts_json(facts: &RunFacts) -> String {
    let facts = serde_json::json!({
        "hosts": facts.hosts, "slots": facts.slots, "blocks_forged": facts.blocks_forged,
        "blocks_chained": facts.blocks_chained, "lines": facts.lines, "bytes": facts.bytes,
    });
    facts.to_string()
}
