//! Reading tables of a run folder again, and giving tables.
//!
//! The tables come from strangers: columns of other types are errors that name the file.

use std::cell::Cell;
use std::fs::File;
use std::iter;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, Int64Array, PrimitiveArray, RecordBatch, StringArray, UInt32Array};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{ArrowError, Field, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;

/// Rows that are read at a time.
const BATCH: usize = 1 << 15;
const HOST: &str = "host";

/// A host whose rows are wanted.
#[derive(Clone, Debug)]
pub struct WantedHost {
    /// Its name.
    pub name: String,
    /// The number that stands for it in the result.
    pub number: u32,
    /// Time that is subtracted from all its times.
    pub shift_ns: i64,
}

/// The clock that turns times into slots.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Start of slot 0, in ns since 1970.
    pub system_start_ns: i64,
    /// Length of a slot; above 0.
    pub slot_ns: i64,
}

impl Clock {
    /// The slot of a time, its host's shift taken from it; none before the first.
    #[inline]
    pub(super) fn slot_of(self, ts_ns: i64) -> Option<i64> {
        let since = ts_ns.saturating_sub(self.system_start_ns);
        (since >= 0).then(|| since / self.slot_ns)
    }

    pub(super) const fn check(self) -> Result<(), SlotRowsError> {
        if self.slot_ns > 0 { Ok(()) } else { Err(SlotRowsError::NoTime) }
    }
}

/// Reasons why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum SlotRowsError {
    /// A file can't be read.
    #[error("{path}: {source}")]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The error.
        source: ParquetError,
    },
    /// A file isn't as `ingest` writes it.
    #[error("{path}: its column '{column}' is {found}")]
    Column {
        /// The file.
        path: PathBuf,
        /// The column.
        column: &'static str,
        /// The type that it has.
        found: String,
    },
    /// A file isn't what its name says.
    #[error("{path}: its bytes are no Parquet file")]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// The result can't be put together.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    /// A slot must take time.
    #[error("the slots of the genesis take no time")]
    NoTime,
}

/// Reads some columns of a file.
pub(super) fn each_batch(
    path: &Path,
    columns: &[&'static str],
    take: impl FnMut(&RecordBatch) -> Result<(), Odd>,
) -> Result<(), SlotRowsError> {
    // On some damaged files the library panics.
    quietly(|| read(path, columns, take)).unwrap_or_else(|| Err(SlotRowsError::Damaged { path: path.to_owned() }))
}

fn read(path: &Path, columns: &[&'static str], mut take: impl FnMut(&RecordBatch) -> Result<(), Odd>) -> Result<(), SlotRowsError> {
    let parquet = |source: ParquetError| SlotRowsError::Parquet { path: path.to_owned(), source };
    let file = File::open(path).map_err(|error| parquet(error.into()))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(parquet)?;
    let schema = builder.schema().clone();
    let mut roots = Vec::new();
    for &column in columns {
        let missing = || SlotRowsError::Column { path: path.to_owned(), column, found: "not there".to_owned() };
        roots.push(schema.index_of(column).map_err(|_| missing())?);
    }
    let mask = ProjectionMask::roots(builder.parquet_schema(), roots);
    let reader = builder.with_projection(mask).with_batch_size(BATCH).build().map_err(parquet)?;
    for batch in reader {
        let batch = batch.map_err(|error| parquet(error.into()))?;
        take(&batch).map_err(|odd| SlotRowsError::Column { path: path.to_owned(), column: odd.column, found: odd.found })?;
    }
    Ok(())
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Returns the result of some work; None where it panics, of which nothing is printed.
fn quietly<T>(work: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                before(panic);
            }
        }));
    });
    QUIET.set(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    QUIET.set(false);
    done.ok()
}

/// A column that isn't what it should be.
pub(super) struct Odd {
    column: &'static str,
    found: String,
}

fn column<'a>(batch: &'a RecordBatch, name: &'static str) -> Result<&'a ArrayRef, Odd> {
    batch.column_by_name(name).ok_or_else(|| Odd { column: name, found: "not there".to_owned() })
}

fn odd(name: &'static str, array: &ArrayRef) -> Odd {
    Odd { column: name, found: format!("of the type {}", array.data_type()) }
}

pub(super) fn numbers<'a, T: ArrowPrimitiveType>(batch: &'a RecordBatch, name: &'static str) -> Result<&'a PrimitiveArray<T>, Odd> {
    let array = column(batch, name)?;
    array.as_primitive_opt::<T>().ok_or_else(|| odd(name, array))
}

#[inline]
pub(super) fn value<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    array.is_valid(row).then(|| array.value(row))
}

/// A column of words, each with what it stands for; looked up once per word, not per row, where words are numbered.
pub(super) enum Numbered<'a, T> {
    Words { keys: &'a PrimitiveArray<Int32Type>, meant: Vec<Option<T>> },
    Plain(Vec<Option<T>>),
    Same(T),
}

impl<'a, T: Copy> Numbered<'a, T> {
    pub(super) fn new(batch: &'a RecordBatch, name: &'static str, meaning: impl Fn(&str) -> Option<T>) -> Result<Self, Odd> {
        let array = column(batch, name)?;
        let each = |words: &StringArray| words.iter().map(|word| word.and_then(&meaning)).collect();
        if let Some(words) = array.as_dictionary_opt::<Int32Type>() {
            let values = words.values().as_string_opt::<i32>().ok_or_else(|| odd(name, array))?;
            return Ok(Self::Words { keys: words.keys(), meant: each(values) });
        }
        array.as_string_opt::<i32>().map(|words| Self::Plain(each(words))).ok_or_else(|| odd(name, array))
    }

    #[inline]
    pub(super) fn at(&self, row: usize) -> Option<T> {
        match self {
            Self::Words { keys, meant } => value(keys, row).and_then(|key| *meant.get(usize::try_from(key).ok()?)?),
            Self::Plain(meant) => meant[row],
            Self::Same(meant) => Some(*meant),
        }
    }
}

/// The hosts whose rows are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'h> {
    /// The hosts.
    pub hosts: &'h [WantedHost],
    /// True where all rows of the files are of the first one, so that the host's name needn't be read.
    pub alone: bool,
}

impl Wanted<'_> {
    /// The columns of a table that are read.
    pub(super) fn columns(self, columns: &[&'static str]) -> Vec<&'static str> {
        columns.iter().copied().filter(|&column| column != HOST || !self.alone).collect()
    }

    /// The place of each row's host among those that are wanted.
    pub(super) fn of<'a>(self, batch: &'a RecordBatch) -> Result<Numbered<'a, usize>, Odd> {
        if self.alone {
            return Ok(Numbered::Same(0));
        }
        Numbered::new(batch, HOST, |name| self.hosts.iter().position(|host| host.name == name))
    }
}

/// Whole numbers of a column.
pub(super) fn whole<'a>(batch: &'a RecordBatch, name: &'static str) -> Result<&'a PrimitiveArray<Int64Type>, Odd> {
    numbers::<Int64Type>(batch, name)
}

/// The value of a column of whole numbers without an entry. A file that has this number has no entry there: no log has it.
pub(super) const NONE: i64 = i64::MIN;

/// Adds a column's values of a batch to those of the batches before.
pub(super) fn extend(values: &mut Vec<i64>, array: &PrimitiveArray<Int64Type>) {
    if array.null_count() == 0 {
        values.extend_from_slice(array.values());
    } else {
        values.extend(array.iter().map(|value| value.unwrap_or(NONE)));
    }
}

/// Whole numbers as a column of the result.
pub(super) fn column_of(values: Vec<i64>) -> ArrayRef {
    let there = BooleanBuffer::collect_bool(values.len(), |row| values[row] != NONE);
    Arc::new(Int64Array::new(values.into(), Some(NullBuffer::new(there)).filter(|nulls| nulls.null_count() > 0)))
}

/// The numbers of hosts, each for as many rows as it has, and more columns, as a table.
pub(super) fn table(
    hosts: impl IntoIterator<Item = (u32, usize)>,
    columns: impl IntoIterator<Item = (&'static str, ArrayRef)>,
) -> Result<RecordBatch, SlotRowsError> {
    let numbers: Vec<u32> = hosts.into_iter().flat_map(|(number, rows)| iter::repeat_n(number, rows)).collect();
    let host = (HOST, Arc::new(UInt32Array::from(numbers)) as ArrayRef);
    let (fields, arrays): (Vec<_>, Vec<_>) =
        iter::once(host).chain(columns).map(|(name, array)| (Field::new(name, array.data_type().clone(), true), array)).unzip();
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?)
}
