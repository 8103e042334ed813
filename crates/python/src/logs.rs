//! Node logs, which are read in pieces and merged.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use slotmark_tracelog::{Account, HostFrom, Reading, Source, Surveyed};

use crate::progress::{Progress, stoppable};
use crate::slotmark_error;

/// Interval at which the reading of logs reports its progress.
const TELL_EVERY: Duration = Duration::from_millis(50);

fn log_error(error: impl std::fmt::Display) -> PyErr {
    slotmark_error("LogError", error)
}

fn surveyed(texts: &[String]) -> PyResult<Vec<Surveyed>> {
    texts.iter().map(|text| serde_json::from_str(text)).collect::<Result<_, _>>().map_err(log_error)
}

/// Returns whether a line is one of a node's log, in any dialect that `read_logs` reads.
#[pyfunction]
pub(crate) fn is_log_line(line: &[u8]) -> bool {
    slotmark_tracelog::is_log_line(line)
}

/// Returns what of a host's log file decides how logs are cut: `slotmark_tracelog::Surveyed` as JSON. Raises LogError where it can't be read.
#[pyfunction]
pub(crate) fn survey_log(py: Python<'_>, host: String, path: PathBuf) -> PyResult<String> {
    let source = Source { host, path };
    let surveyed = py.detach(|| slotmark_tracelog::survey(&source)).map_err(log_error)?;
    let named = |_| log_error(format!("{}: this path is not UTF-8. Rename the folder.", source.path.display()));
    serde_json::to_string(&surveyed).map_err(named)
}

/// Reads one of `of` pieces of surveyed logs, numbered from 0, and writes its `NAME/part-NNNNN.parquet` into the folder `tables`.
///
/// Returns `slotmark_tracelog::Account` as JSON for each part; `progress` gets bytes done and in all, and may raise to stop. Raises LogError.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "one argument a thing that the caller decides")]
pub(crate) fn read_logs(
    py: Python<'_>,
    survey: Vec<String>,
    number: usize,
    of: usize,
    host_from_field: bool,
    tables: PathBuf,
    threads: usize,
    progress: Progress,
) -> PyResult<Vec<String>> {
    let files = surveyed(&survey)?;
    let host_from = if host_from_field { HostFrom::Field } else { HostFrom::Path };
    let reading = Reading { tables, threads, host_from };
    // Called often and from every thread: only some of the calls are passed to Python.
    let last = Mutex::new(None::<Instant>);
    let accounts = stoppable(py, &progress, log_error, |told| {
        slotmark_tracelog::read(&files, number, of, &reading, &|done, total| {
            let due = last.lock().is_ok_and(|mut last| {
                let due = done >= total || last.is_none_or(|last| last.elapsed() > TELL_EVERY);
                if due {
                    *last = Some(Instant::now());
                }
                due
            });
            if due { told(done, total) } else { ControlFlow::Continue(()) }
        })
    })?;
    accounts.iter().map(serde_json::to_string).collect::<Result<_, _>>().map_err(log_error)
}

/// Adds up the accounts of all parts, in any order, and writes the tables of all lines into the folder that has the parts.
///
/// Returns `slotmark_tracelog::Ingested` as JSON. Raises LogError where a file is there twice, or the accounts aren't those of all parts.
#[pyfunction]
pub(crate) fn merge_logs(py: Python<'_>, survey: Vec<String>, accounts: Vec<String>, tables: PathBuf) -> PyResult<String> {
    let files = surveyed(&survey)?;
    let accounts = accounts.iter().map(|text| serde_json::from_str(text)).collect::<Result<Vec<Account>, _>>().map_err(log_error)?;
    let ingested = py.detach(|| slotmark_tracelog::merge(&files, accounts, &tables)).map_err(log_error)?;
    serde_json::to_string(&ingested).map_err(log_error)
}
