//! Rows that are put together again of the tables of a run.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::path::PathBuf;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyIndexError;
use pyo3::ffi;
#[cfg(feature = "stubs")]
use pyo3::inspect::PyStaticExpr;
use pyo3::prelude::*;
use slotmark_tracelog::{Clock, Numbers, SlotFiles, SlotRowsError, Table, TableColumn, Wanted, WantedHost};

use crate::{order, slotmark_error};

/// Numbers of a column, or a bit a row from the least of the first byte on: `pyarrow.py_buffer` takes it without a copy.
#[pyclass(frozen, module = "slotmark._core")]
pub(crate) struct Buffer(Held);

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

/// A column: its name, Arrow's name for its type, its values, and the bits of rows that have one, where not all do.
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

/// One row per host and slot that the tables have, as their number and columns: `slotmark_tracelog::slot_rows`.
///
/// `files` has those of `slot_events`, `transactions` and `ledger_metrics`; `hosts` are names with the numbers that stand for them and what is
/// taken from their times, in ns; `alone` is set where all rows of the files are of the one host. A column is its name, Arrow's name for its type,
/// its values, and the bits of rows that have one, where not all do. Raises RunError where a file can't be read, or isn't as ingest writes it.
#[pyfunction]
pub(crate) fn slot_rows(
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

/// One row per host and slot in which its resources were sampled, as `slot_rows`; `files` has those of `resources`: `slotmark_tracelog::usage_rows`.
#[pyfunction]
pub(crate) fn usage_rows(
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

/// Numbers of numpy's.
pub(crate) struct Floats(PyBuffer<f64>);

impl<'py> FromPyObject<'_, 'py> for Floats {
    type Error = PyErr;

    #[cfg(feature = "stubs")]
    const INPUT_TYPE: PyStaticExpr =
        pyo3::type_hint_subscript!(pyo3::type_hint_identifier!("numpy.typing", "NDArray"), pyo3::type_hint_identifier!("numpy", "float64"));

    fn extract(array: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        array.extract().map(Self)
    }
}

/// The values as `numpy.partition` orders them, in a third of its time. They are finite; IndexError where a place is beyond the last.
#[pyfunction]
pub(crate) fn partitioned(py: Python<'_>, values: Floats, mut places: Vec<usize>) -> PyResult<Buffer> {
    let Floats(values) = values;
    let mut ordered = values.to_vec(py)?;
    places.sort_unstable();
    places.dedup();
    if places.last().is_some_and(|&place| place >= ordered.len()) {
        return Err(PyIndexError::new_err("a place beyond the last value"));
    }
    py.detach(|| order::partition(&mut ordered, &places));
    Ok(Buffer(Held::Numbers(Numbers::Real(ordered))))
}
