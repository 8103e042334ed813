//! The extension module `slotmark._core`: thin bindings over the crates. `_core.pyi` beside the package describes each.

mod order;

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::fmt::Display;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyIndexError, PyOSError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use slotmark_chain::{Chain, ChainError, Decoder, Digest, summarise};
use slotmark_clustersim::{
    METRICS, Profile, Quantity, QuantityKind, RunFacts, SimulationError, propagation, reach, simulate_truth, write_run, write_tables,
};
use slotmark_newfolder::NewFolder;
use slotmark_tracelog::{Clock, HostFrom, Numbers, Plan, SlotFiles, SlotRowsError, Source, Table, TableColumn, Wanted, WantedHost};
use slotmark_wire::client::Client;
use slotmark_wire::relay::{Account, Mode, Relay, Route};

/// Interval at which an ingest reports its progress.
const TELL_EVERY: Duration = Duration::from_millis(50);

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

fn chain_error(error: ChainError) -> PyErr {
    slotmark_error("ChainError", error)
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

/// Numbers, or bits, that other libraries take without a copy, by Python's buffer protocol.
#[pyclass(frozen, module = "slotmark._core")]
struct Buffer(Held);

enum Held {
    Numbers(Numbers),
    Bits(Vec<u8>),
}

#[pymethods]
impl Buffer {
    /// # Safety
    /// `view` is one that Python gives to be filled.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        fn bytes<T>(values: &[T]) -> (*const c_void, usize) {
            (values.as_ptr().cast(), size_of_val(values))
        }
        let (start, length) = match &slf.get().0 {
            Held::Numbers(Numbers::Host(values)) => bytes(values),
            Held::Numbers(Numbers::Whole(values)) => bytes(values),
            Held::Numbers(Numbers::Real(values)) => bytes(values),
            Held::Bits(values) => bytes(values),
        };
        // SAFETY: the bytes are those of a vector that nobody changes, and the view keeps its owner; it can't be written to.
        let filled = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start.cast_mut(), length as ffi::Py_ssize_t, 1, flags) };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}

/// A column: its name, Arrow's name for its type, its values, and which rows have one.
type PyColumn = (&'static str, &'static str, Buffer, Option<Buffer>);

/// Rows, and columns.
type PyTable = (usize, Vec<PyColumn>);

fn table_of(table: Table) -> PyTable {
    let columns = table.columns.into_iter().map(|TableColumn { name, numbers, there }| {
        let kind = match numbers {
            Numbers::Host(_) => "uint32",
            Numbers::Whole(_) => "int64",
            Numbers::Real(_) => "float64",
        };
        (name, kind, Buffer(Held::Numbers(numbers)), there.map(|bits| Buffer(Held::Bits(bits))))
    });
    (table.rows, columns.collect())
}

/// Rows of some hosts from the tables of a run; of each host its name, the number that stands for it and what is taken from its times.
fn of_hosts(
    py: Python<'_>,
    hosts: Vec<(String, u32, i64)>,
    alone: bool,
    of: impl Fn(Wanted<'_>) -> Result<Table, SlotRowsError> + Sync,
) -> PyResult<PyTable> {
    let hosts: Vec<WantedHost> = hosts.into_iter().map(|(name, number, shift_ns)| WantedHost { name, number, shift_ns }).collect();
    let found = py.detach(|| of(Wanted { hosts: &hosts, alone: alone && !hosts.is_empty() }));
    found.map(table_of).map_err(|error| slotmark_error("RunError", format!("{error}. Copy the run again from where it was made.")))
}

#[pymodule]
mod _core {
    use super::*;

    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "the name that Python sees")]
    const version: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use super::Buffer;

    #[pyfunction]
    fn blake3_file(py: Python<'_>, path: PathBuf) -> PyResult<String> {
        py.detach(|| {
            let mut hasher = blake3::Hasher::new();
            hasher.update_mmap_rayon(&path)?;
            Ok(hasher.finalize().to_hex().to_string())
        })
    }

    #[pyfunction]
    #[pyo3(signature = (chain, start, blocks))]
    fn chain_window<'py>(py: Python<'py>, chain: PathBuf, start: String, blocks: Option<u64>) -> PyResult<Bound<'py, PyDict>> {
        let window = py.detach(|| Chain::open(&chain)?.window_from(&start, blocks)).map_err(chain_error)?;
        let facts = PyDict::new(py);
        facts.set_item("start", window.start.to_string())?;
        facts.set_item("first", window.first.to_string())?;
        facts.set_item("last", window.last.to_string())?;
        facts.set_item("blocks", window.blocks)?;
        facts.set_item("bytes", window.bytes)?;
        Ok(facts)
    }

    #[pyfunction]
    fn chain_sources(py: Python<'_>, chain: PathBuf, start: String, blocks: u64) -> PyResult<Vec<(String, u64, String)>> {
        let identify = || {
            let chain = Chain::open(&chain)?;
            let window = chain.window_from(&start, Some(blocks))?;
            Ok(chain.identity(&window)?.into_iter().map(|chunk| (chunk.file, chunk.bytes, chunk.sha256)).collect())
        };
        py.detach(identify).map_err(chain_error)
    }

    #[pyfunction]
    fn digests(
        py: Python<'_>,
        chain: PathBuf,
        start: String,
        blocks: u64,
        mode: String,
        every: u64,
    ) -> PyResult<Vec<(u64, String, String)>> {
        py.detach(|| digests_over(&chain, &start, blocks, &mode, every.max(1))).map_err(chain_error)
    }

    #[pyfunction]
    #[pyo3(signature = (chain, start, blocks, progress))]
    fn chain_info(py: Python<'_>, chain: PathBuf, start: Option<String>, blocks: Option<u64>, progress: Py<PyAny>) -> PyResult<String> {
        let raised = Mutex::new(None);
        let progressed = |done, total| tell(&progress, done, total, &raised);
        let summary = py.detach(|| {
            let chain = Chain::open(&chain)?;
            let window = chain.window_from(start.as_deref().unwrap_or("origin"), blocks)?;
            summarise(&chain, window.range, &progressed)
        });
        if let Some(error) = raised.into_inner().unwrap_or_default() {
            return Err(error);
        }
        serde_json::to_string(&summary.map_err(chain_error)?).map_err(|error| slotmark_error("ChainError", error))
    }

    #[pyfunction]
    fn is_log_line(line: &[u8]) -> bool {
        slotmark_tracelog::is_log_line(line)
    }

    #[pyfunction]
    fn ingest(
        py: Python<'_>,
        sources: Vec<(String, PathBuf)>,
        tables: PathBuf,
        threads: usize,
        host_from_field: bool,
        progress: Py<PyAny>,
    ) -> PyResult<String> {
        let sources = sources.into_iter().map(|(host, path)| Source { host, path }).collect();
        let host_from = if host_from_field { HostFrom::Field } else { HostFrom::Path };
        let plan = Plan { sources, tables, threads, host_from };
        let raised = Mutex::new(None);
        // Called often and from every thread: only some of the calls are passed to Python.
        let last = Mutex::new(None::<Instant>);
        let progressed = |done, total| {
            let due = last.lock().is_ok_and(|mut last| {
                let due = done >= total || last.is_none_or(|last| last.elapsed() > TELL_EVERY);
                if due {
                    *last = Some(Instant::now());
                }
                due
            });
            if due { tell(&progress, done, total, &raised) } else { ControlFlow::Continue(()) }
        };
        let ingested = py.detach(|| slotmark_tracelog::ingest(&plan, &progressed));
        if let Some(error) = raised.into_inner().unwrap_or_default() {
            return Err(error);
        }
        serde_json::to_string(&ingested.map_err(|error| slotmark_error("LogError", error))?)
            .map_err(|error| slotmark_error("LogError", error))
    }

    #[pyfunction]
    fn parameter_reach(parameter: &str) -> &'static str {
        reach(parameter).word()
    }

    #[pyfunction]
    fn cluster_profile(layers: Vec<String>, settings: Vec<String>) -> PyResult<String> {
        let layers: Vec<&str> = layers.iter().map(String::as_str).collect();
        Profile::from_layers(&layers, &settings).map(|profile| profile.to_toml()).map_err(simulation_error)
    }

    #[pyfunction]
    fn simulate(py: Python<'_>, profile_toml: String, seed: u64, out: PathBuf, progress: Py<PyAny>) -> PyResult<String> {
        let profile = Profile::from_layers(&[&profile_toml], &[]).map_err(simulation_error)?;
        let raised = Mutex::new(None);
        let written = py.detach(|| write_run(&profile, seed, &out, &mut |done, total| tell(&progress, done, total, &raised)));
        if let Some(error) = raised.into_inner().unwrap_or_default() {
            return Err(error);
        }
        Ok(facts_json(&written.map_err(simulation_error)?))
    }

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
        progress: Py<PyAny>,
    ) -> PyResult<(String, String)> {
        let profile = Profile::from_layers(&[&profile_toml], &[]).map_err(simulation_error)?;
        let raised = Mutex::new(None);
        let mut progressed = |done, total| tell(&progress, done, total, &raised);
        let written = py.detach(|| write_tables(&profile, seed, &name, &tables, &description, threads, &mut progressed));
        if let Some(error) = raised.into_inner().unwrap_or_default() {
            return Err(error);
        }
        let (facts, ingested) = written.map_err(simulation_error)?;
        let ingested = serde_json::to_string(&ingested).map_err(|error| slotmark_error("SimulationError", error))?;
        Ok((facts_json(&facts), ingested))
    }

    #[pyfunction]
    fn simulate_tables(py: Python<'_>, profile_toml: String, seed: u64, progress: Py<PyAny>) -> PyResult<String> {
        let profile = Profile::from_layers(&[&profile_toml], &[]).map_err(simulation_error)?;
        let raised = Mutex::new(None);
        let truth = py.detach(|| simulate_truth(&profile, seed, &mut |done, total| tell(&progress, done, total, &raised)));
        if let Some(error) = raised.into_inner().unwrap_or_default() {
            return Err(error);
        }
        let tables = propagation(&profile, &truth.map_err(simulation_error)?);
        serde_json::to_string(&tables).map_err(|error| slotmark_error("SimulationError", error))
    }

    #[pyfunction]
    fn slot_rows(
        py: Python<'_>,
        mut files: HashMap<String, Vec<PathBuf>>,
        hosts: Vec<(String, u32, i64)>,
        alone: bool,
        system_start_ns: i64,
        slot_ns: i64,
    ) -> PyResult<PyTable> {
        let mut of = |table: &str| files.remove(table).unwrap_or_default();
        let (slot_events, transactions, ledger_metrics) = (of("slot_events"), of("transactions"), of("ledger_metrics"));
        let files = SlotFiles { slot_events, transactions, ledger_metrics };
        let clock = Clock { system_start_ns, slot_ns };
        of_hosts(py, hosts, alone, |wanted| slotmark_tracelog::slot_rows(&files, wanted, clock))
    }

    #[pyfunction]
    fn usage_rows(
        py: Python<'_>,
        mut files: HashMap<String, Vec<PathBuf>>,
        hosts: Vec<(String, u32, i64)>,
        alone: bool,
        system_start_ns: i64,
        slot_ns: i64,
    ) -> PyResult<PyTable> {
        let resources = files.remove("resources").unwrap_or_default();
        let clock = Clock { system_start_ns, slot_ns };
        of_hosts(py, hosts, alone, |wanted| slotmark_tracelog::usage_rows(&resources, wanted, clock))
    }

    #[pyfunction]
    fn partition(py: Python<'_>, values: PyBuffer<f64>, mut places: Vec<usize>) -> PyResult<()> {
        let mut copied = values.to_vec(py)?;
        places.sort_unstable();
        places.dedup();
        if places.last().is_some_and(|&place| place >= copied.len()) {
            return Err(PyIndexError::new_err("a place beyond the last value"));
        }
        py.detach(|| order::partition(&mut copied, &places));
        values.copy_from_slice(py, &copied)
    }

    #[pyfunction]
    fn predicted_metrics() -> Vec<(&'static str, &'static str)> {
        METRICS.to_vec()
    }

    #[pyfunction]
    fn quantity(text: &str) -> Option<(f64, &str, &'static str, f64)> {
        let Quantity { number, unit, of } = Quantity::parse(text)?;
        Some((number, unit, of.map_or("a number", |(kind, _)| kind.name()), of.map_or(1.0, |(_, worth)| worth)))
    }

    #[pyfunction]
    fn duration_units() -> Vec<&'static str> {
        QuantityKind::Duration.units().iter().map(|(unit, _)| *unit).collect()
    }

    /// A folder that is being written; None inside when it was finished or removed.
    #[pyclass(name = "NewFolder", frozen)]
    struct PyNewFolder {
        folder: Mutex<Option<NewFolder>>,
        #[pyo3(get)]
        path: PathBuf,
    }

    #[pymethods]
    impl PyNewFolder {
        #[new]
        fn new(place: PathBuf) -> PyResult<Self> {
            let folder = NewFolder::create(place).map_err(os_error)?;
            let path = folder.path().to_path_buf();
            Ok(Self { folder: Mutex::new(Some(folder)), path })
        }

        fn finish(&self) -> PyResult<()> {
            let folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner).take();
            folder.map_or(Ok(()), |folder| folder.finish().map_err(os_error))
        }

        fn remove(&self) {
            drop(self.folder.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
    }

    #[pyfunction]
    fn node_tip(py: Python<'_>, place: String, node_to_node: bool, magic: u64) -> PyResult<String> {
        let tip = py.detach(|| {
            let mut client =
                if node_to_node { Client::connect_address(&place, magic)? } else { Client::connect_socket(Path::new(&place), magic)? };
            client.tip()
        });
        tip.map(|point| point.to_string()).map_err(|error| slotmark_error("ServerError", format!("{place}: {error}")))
    }

    #[pyfunction]
    fn node_version(py: Python<'_>, address: String, magic: u64) -> PyResult<u64> {
        let client = py.detach(|| Client::connect_address(&address, magic));
        client.map(|client| client.version()).map_err(|error| slotmark_error("ServerError", error))
    }

    #[pyclass(name = "Relay", frozen)]
    struct PyRelay {
        relay: Mutex<Option<Relay>>,
        account: Mutex<Account>,
        #[pyo3(get)]
        place: String,
    }

    #[pymethods]
    impl PyRelay {
        #[new]
        fn new(node: String, own_socket: Option<PathBuf>, mode: &str) -> PyResult<Self> {
            let mode = match mode {
                "raw" => Mode::Raw,
                "decode" => Mode::Decode,
                "headers" => Mode::Headers,
                "fetch" => Mode::Fetch,
                _ => return Err(slotmark_error("ArgumentError", format!("mode '{mode}': expected raw, decode, headers or fetch."))),
            };
            let route = match own_socket {
                Some(relay) => Route::Socket { node: node.into(), relay },
                None => Route::Address(node),
            };
            let relay = Relay::start(route).map_err(os_error)?;
            let place = relay.place();
            Ok(Self { relay: Mutex::new(Some(relay)), account: Mutex::new(Account::new(mode)), place })
        }

        fn events(&self, py: Python<'_>) -> PyResult<String> {
            let events = py.detach(|| {
                let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
                let relay = self.relay.lock().unwrap_or_else(PoisonError::into_inner);
                relay.as_ref().map(|relay| relay.enter(&mut account)).unwrap_or_default()
            });
            serde_json::to_string(&events).map_err(|error| slotmark_error("ServerError", error))
        }

        fn stop(&self, py: Python<'_>) {
            let relay = self.relay.lock().unwrap_or_else(PoisonError::into_inner).take();
            py.detach(|| drop(relay));
        }
    }
}

/// Reports the progress to Python; a Python exception or a signal stops it and is kept.
fn tell(progress: &Py<PyAny>, done: u64, total: u64, raised: &Mutex<Option<PyErr>>) -> ControlFlow<()> {
    let answer = Python::attach(|py| {
        py.check_signals()?;
        progress.call1(py, (done, total)).map(drop)
    });
    match answer {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            if let Ok(mut raised) = raised.lock() {
                raised.get_or_insert(error);
            }
            ControlFlow::Break(())
        }
    }
}

fn facts_json(facts: &RunFacts) -> String {
    let facts = serde_json::json!({
        "hosts": facts.hosts, "slots": facts.slots, "blocks_forged": facts.blocks_forged,
        "blocks_chained": facts.blocks_chained, "lines": facts.lines, "bytes": facts.bytes,
    });
    facts.to_string()
}

fn digests_over(folder: &Path, start: &str, blocks: u64, mode: &str, every: u64) -> Result<Vec<(u64, String, String)>, ChainError> {
    let chain = Chain::open(folder)?;
    let window = chain.window_from(start, Some(blocks))?;
    let (mut digest, mut decoder, mut trail) = (Digest::new(), Decoder::new(), Vec::new());
    for (done, index) in window.range.clone().enumerate() {
        let bytes = chain.bytes(index);
        match mode {
            "decode" => digest.decoded(&decoder.decode(bytes).map_err(|source| chain.block_error(index, source))?.facts()),
            "headers" => {
                let entry = chain.entry(index);
                digest.header(entry.slot, &entry.hash);
            }
            _ => digest.raw(bytes.len() as u32, chain.entry(index).crc32),
        }
        let done = done as u64 + 1;
        if done.is_multiple_of(every) || done == window.blocks {
            trail.push((done, digest.hex(), chain.point(index).to_string()));
        }
    }
    Ok(trail)
}
