//! Node logs, which are read in pieces and merged.

use std::io;
use std::ops::{ControlFlow, Range};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use slotmark_tracelog::{Account, Elsewhere, HostFrom, Reading, Source, Surveyed};

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

/// Files that Python reads.
#[derive(Debug)]
struct ByPython(Py<PyAny>);

impl ByPython {
    fn asked<T>(&self, name: &str, ask: impl FnOnce(Python<'_>, &Py<PyAny>) -> PyResult<T>) -> io::Result<T> {
        Python::attach(|py| {
            ask(py, &self.0).map_err(|error| {
                let text = error.value(py).to_string();
                io::Error::other(text.strip_prefix(&format!("{name}: ")).unwrap_or(&text).trim_end_matches('.').to_owned())
            })
        })
    }
}

impl Elsewhere for ByPython {
    fn facts(&self, name: &str) -> io::Result<(u64, String)> {
        self.asked(name, |py, files| files.call_method1(py, "facts", (name,))?.extract(py))
    }

    fn range(&self, name: &str, range: Range<u64>) -> io::Result<Vec<u8>> {
        self.asked(name, |py, files| {
            let content = files.call_method1(py, "range", (name, range.start, range.end))?;
            Ok(content.bind(py).cast::<PyBytes>()?.as_bytes().to_vec())
        })
    }
}

/// Returns what of a host's log file decides how logs are cut: `slotmark_tracelog::Surveyed` as JSON. Raises LogError where it can't be read.
///
/// A file that only one host can read is `at` that host; `elsewhere` reads files whose paths are URLs, by its methods `facts` and `range`.
#[pyfunction]
#[pyo3(signature = (host, path, at="", elsewhere=None))]
pub(crate) fn survey_log(py: Python<'_>, host: String, path: PathBuf, at: &str, elsewhere: Option<Py<PyAny>>) -> PyResult<String> {
    let (source, elsewhere) = (Source { host, path }, elsewhere.map(ByPython));
    let elsewhere = elsewhere.as_ref().map(|files| files as &dyn Elsewhere);
    let mut surveyed = py.detach(|| slotmark_tracelog::survey(&source, elsewhere)).map_err(log_error)?;
    surveyed.at = at.to_owned();
    let named = |_| log_error(format!("{}: this path is not UTF-8. Rename the folder.", source.path.display()));
    serde_json::to_string(&surveyed).map_err(named)
}

/// Reads one of `of` pieces of the surveyed logs that lie `at` a host, numbered from 0, and writes its `NAME/part-NNNNN.parquet` into the folder `tables`.
///
/// Returns `slotmark_tracelog::Account` as JSON for each part; `progress` gets bytes done and in all, and may raise to stop. Raises LogError.
#[pyfunction]
#[pyo3(signature = (survey, at, number, of, host_from_field, tables, threads, progress, elsewhere=None))]
#[allow(clippy::too_many_arguments, reason = "one argument a thing that the caller decides")]
pub(crate) fn read_logs(
    py: Python<'_>,
    survey: Vec<String>,
    at: &str,
    number: usize,
    of: usize,
    host_from_field: bool,
    tables: PathBuf,
    threads: usize,
    progress: Progress,
    elsewhere: Option<Py<PyAny>>,
) -> PyResult<Vec<String>> {
    let files = surveyed(&survey)?;
    let elsewhere = elsewhere.map(|files| Arc::new(ByPython(files)) as Arc<dyn Elsewhere>);
    let host_from = if host_from_field { HostFrom::Field } else { HostFrom::Path };
    let reading = Reading { tables, threads, host_from, elsewhere };
    // Called often and from every thread: only some of the calls are passed to Python.
    let last = Mutex::new(None::<Instant>);
    let accounts = stoppable(py, &progress, log_error, |told| {
        slotmark_tracelog::read(&files, at, number, of, &reading, &|done, total| {
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
