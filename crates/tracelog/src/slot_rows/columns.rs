//! Reading tables of a run folder again, and giving tables.
//!
//! The tables come from strangers: columns of other types are errors that name the file.

use std::cell::Cell;
use std::fs::File;
use std::iter;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::ColumnReader;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor};

use super::keys::{Dictionary, KeyReader};

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
    /// A slot must take time.
    #[error("the slots of the genesis take no time")]
    NoTime,
}

/// Reads some columns of a file.
pub(super) fn each_batch(path: &Path, columns: &[&'static str], take: impl FnMut(&Batch) -> Result<(), Odd>) -> Result<(), SlotRowsError> {
    // On some damaged files the library panics.
    quietly(|| read(path, columns, take)).unwrap_or_else(|| Err(SlotRowsError::Damaged { path: path.to_owned() }))
}

fn read(path: &Path, columns: &[&'static str], mut take: impl FnMut(&Batch) -> Result<(), Odd>) -> Result<(), SlotRowsError> {
    let parquet = |source: ParquetError| SlotRowsError::Parquet { path: path.to_owned(), source };
    let unlike = |odd: Odd| SlotRowsError::Column { path: path.to_owned(), column: odd.column, found: odd.found };
    let file = SerializedFileReader::new(File::open(path).map_err(|error| parquet(error.into()))?).map_err(parquet)?;
    let schema = file.metadata().file_metadata().schema_descr();
    let mut wanted = Vec::new();
    for &name in columns {
        let place = schema.columns().iter().position(|column| column.path().parts()[0] == name);
        let place = place.ok_or_else(|| unlike(Odd { column: name, found: "not there".to_owned() }))?;
        let column = schema.column(place);
        let kind = Kind::of(&column).ok_or_else(|| unlike(Odd::of(name, &column)))?;
        wanted.push((name, place, kind, column));
    }
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group).map_err(parquet)?;
        let readers = wanted.iter().map(|(_, place, kind, column)| Reader::new(group.as_ref(), *place, *kind, column));
        let mut readers = readers.collect::<Result<Vec<_>, _>>().map_err(parquet)?;
        loop {
            let mut batch = Batch { rows: 0, columns: Vec::new() };
            for ((name, _, kind, column), reader) in wanted.iter().zip(&mut readers) {
                let values = reader.read(*kind).map_err(parquet)?;
                if batch.columns.is_empty() {
                    batch.rows = values.len();
                } else if values.len() != batch.rows {
                    return Err(parquet(ParquetError::General(format!("column {name} is shorter or longer than others"))));
                }
                batch.columns.push((*name, column.clone(), values));
            }
            if batch.rows == 0 {
                break;
            }
            take(&batch).map_err(unlike)?;
        }
    }
    Ok(())
}

/// Some rows of a file, the columns that were asked for.
pub(super) struct Batch {
    pub(super) rows: usize,
    columns: Vec<(&'static str, ColumnDescPtr, Values)>,
}

/// Values of a column, a row each.
enum Values {
    /// [`NONE`] where there is no value.
    Whole(Vec<i64>),
    Real(Vec<Option<f64>>),
    Text(Words),
}

/// Words: a key of each row that has one.
struct Words {
    dictionary: Dictionary,
    keys: Vec<Option<i32>>,
}

impl Words {
    /// Words that have no keys: each row's is its place.
    fn without_keys(values: &[ByteArray], there: &[i16]) -> Self {
        let words = values.iter().map(|word| str::from_utf8(word.data()).ok().map(str::to_owned));
        Self { dictionary: Arc::new(words.collect()), keys: spread((0..).take(values.len()).collect(), there, |key| key) }
    }
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Self::Whole(values) => values.len(),
            Self::Real(values) => values.len(),
            Self::Text(words) => words.keys.len(),
        }
    }
}

/// The kinds of columns that are read.
#[derive(Clone, Copy)]
enum Kind {
    Whole,
    Real,
    Text,
}

impl Kind {
    /// None for another one.
    fn of(column: &ColumnDescriptor) -> Option<Self> {
        if column.path().parts().len() > 1 || column.max_rep_level() > 0 {
            return None;
        }
        let logical = column.logical_type_ref();
        match column.physical_type() {
            Physical::INT64 => {
                let plain = match logical {
                    None => matches!(column.converted_type(), ConvertedType::NONE | ConvertedType::INT_64),
                    logical => logical == Some(&LogicalType::integer(64, true)),
                };
                plain.then_some(Self::Whole)
            }
            Physical::DOUBLE => Some(Self::Real),
            Physical::BYTE_ARRAY => {
                let text = matches!(logical, Some(LogicalType::String)) || column.converted_type() == ConvertedType::UTF8;
                text.then_some(Self::Text)
            }
            _ => None,
        }
    }
}

/// A reader of a column.
enum Reader {
    Keys(KeyReader),
    Values(ColumnReader),
}

impl Reader {
    fn new(group: &dyn RowGroupReader, place: usize, kind: Kind, column: &ColumnDescPtr) -> Result<Self, ParquetError> {
        if matches!(kind, Kind::Text)
            && let Some(keys) = KeyReader::new(group, place, column.clone())?
        {
            return Ok(Self::Keys(keys));
        }
        group.get_column_reader(place).map(Self::Values)
    }

    /// Values of the next rows.
    fn read(&mut self, kind: Kind) -> Result<Values, ParquetError> {
        let mut there = Vec::new(); // stays empty where the file says that all rows have a value
        let reader = match self {
            Self::Keys(reader) => {
                let mut keys = Vec::with_capacity(BATCH);
                let dictionary = reader.read(BATCH, &mut there, &mut keys)?;
                return Ok(Values::Text(Words { dictionary, keys: spread(keys, &there, |key| key) }));
            }
            Self::Values(reader) => reader,
        };
        Ok(match (kind, reader) {
            (Kind::Whole, ColumnReader::Int64ColumnReader(reader)) => {
                let mut values = Vec::with_capacity(BATCH);
                reader.read_records(BATCH, Some(&mut there), None, &mut values)?;
                Values::Whole(if values.len() >= there.len() { values } else { spread(values, &there, |value| value.unwrap_or(NONE)) })
            }
            (Kind::Real, ColumnReader::DoubleColumnReader(reader)) => {
                let mut values = Vec::with_capacity(BATCH);
                reader.read_records(BATCH, Some(&mut there), None, &mut values)?;
                Values::Real(spread(values, &there, |value| value))
            }
            (Kind::Text, ColumnReader::ByteArrayColumnReader(reader)) => {
                let mut values = Vec::with_capacity(BATCH);
                reader.read_records(BATCH, Some(&mut there), None, &mut values)?;
                Values::Text(Words::without_keys(&values, &there))
            }
            _ => return Err(ParquetError::General("a column is of another type than the file's schema says".to_owned())),
        })
    }
}

/// The values of rows that have one, as one of each row.
fn spread<T, V>(values: Vec<T>, there: &[i16], of: impl Fn(Option<T>) -> V) -> Vec<V> {
    let mut values = values.into_iter();
    if there.is_empty() {
        return values.map(|value| of(Some(value))).collect();
    }
    there.iter().map(|&level| of(if level > 0 { values.next() } else { None })).collect()
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

impl Odd {
    fn of(name: &'static str, column: &ColumnDescriptor) -> Self {
        let nested = column.path().parts().len() > 1 || column.max_rep_level() > 0;
        let kind = if nested { "GROUP".to_owned() } else { column.physical_type().to_string() };
        let meant = column.logical_type_ref().map_or_else(String::new, |logical| format!(" ({logical:?})"));
        Self { column: name, found: format!("of the type {kind}{meant}") }
    }
}

impl Batch {
    /// A column, as what `as_wanted` makes of its values.
    fn column<'a, T: ?Sized>(&'a self, name: &'static str, as_wanted: impl Fn(&'a Values) -> Option<&'a T>) -> Result<&'a T, Odd> {
        let found = self.columns.iter().find(|(other, ..)| *other == name);
        let (_, column, values) = found.ok_or_else(|| Odd { column: name, found: "not there".to_owned() })?;
        as_wanted(values).ok_or_else(|| Odd::of(name, column))
    }

    /// Whole numbers of a column.
    pub(super) fn whole(&self, name: &'static str) -> Result<&[i64], Odd> {
        self.column(name, |values| if let Values::Whole(values) = values { Some(values.as_slice()) } else { None })
    }

    /// Numbers of a column.
    pub(super) fn real(&self, name: &'static str) -> Result<&[Option<f64>], Odd> {
        self.column(name, |values| if let Values::Real(values) = values { Some(values.as_slice()) } else { None })
    }

    /// Texts of a column.
    fn text(&self, name: &'static str) -> Result<&Words, Odd> {
        self.column(name, |values| if let Values::Text(words) = values { Some(words) } else { None })
    }
}

/// The whole number of a row, if it has one.
#[inline]
pub(super) fn value(column: &[i64], row: usize) -> Option<i64> {
    Some(column[row]).filter(|&value| value != NONE)
}

/// A column of words, each with what it stands for.
pub(super) enum Numbered<T> {
    Each(Vec<Option<T>>),
    Same(T),
}

impl<T: Copy> Numbered<T> {
    /// Looks a word up where it isn't that of the row before.
    pub(super) fn new(batch: &Batch, name: &'static str, meaning: impl Fn(&str) -> Option<T>) -> Result<Self, Odd> {
        let words = batch.text(name)?;
        let mut last = (None, None);
        let meant = words.keys.iter().map(|&key| {
            if key != last.0 {
                let word = key.and_then(|key| words.dictionary.get(usize::try_from(key).ok()?)?.as_deref());
                last = (key, word.and_then(&meaning));
            }
            last.1
        });
        Ok(Self::Each(meant.collect()))
    }

    #[inline]
    pub(super) fn at(&self, row: usize) -> Option<T> {
        match self {
            Self::Each(meant) => meant[row],
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
    pub(super) fn of(self, batch: &Batch) -> Result<Numbered<usize>, Odd> {
        if self.alone {
            return Ok(Numbered::Same(0));
        }
        Numbered::new(batch, HOST, |name| self.hosts.iter().position(|host| host.name == name))
    }
}

/// The value of a column of whole numbers without an entry. A file that has this number has no entry there: no log has it.
pub(super) const NONE: i64 = i64::MIN;

/// A table that was put together, column by column.
#[derive(Debug)]
pub struct Table {
    /// Its rows.
    pub rows: usize,
    /// Its columns, in order.
    pub columns: Vec<TableColumn>,
}

/// A column of such a table.
#[derive(Debug)]
pub struct TableColumn {
    /// Its name.
    pub name: &'static str,
    /// Its values, of rows without one too, where they mean nothing.
    pub numbers: Numbers,
    /// A bit a row, set where it has a value, the least of the first byte for the first row; None where all have one.
    pub there: Option<Vec<u8>>,
}

/// The values of a column.
#[derive(Debug)]
pub enum Numbers {
    /// Numbers of hosts.
    Host(Vec<u32>),
    /// Whole numbers.
    Whole(Vec<i64>),
    /// Real numbers.
    Real(Vec<f64>),
}

impl TableColumn {
    /// Whole numbers as a column of the result; [`NONE`] is none.
    pub(super) fn whole(name: &'static str, values: Vec<i64>) -> Self {
        let there = bits(values.iter().map(|&value| value != NONE));
        Self { name, numbers: Numbers::Whole(values), there }
    }

    /// Numbers as a column of the result.
    pub(super) fn real(name: &'static str, values: &[Option<f64>]) -> Self {
        let there = bits(values.iter().map(Option::is_some));
        Self { name, numbers: Numbers::Real(values.iter().map(|value| value.unwrap_or_default()).collect()), there }
    }
}

/// A bit of each row; None where all are set.
fn bits(rows: impl ExactSizeIterator<Item = bool>) -> Option<Vec<u8>> {
    let (mut bits, mut all) = (vec![0; rows.len().div_ceil(8)], true);
    for (row, there) in rows.enumerate() {
        bits[row / 8] |= u8::from(there) << (row % 8);
        all &= there;
    }
    (!all).then_some(bits)
}

/// The numbers of hosts, each for as many rows as it has, and more columns, as a table.
pub(super) fn table(hosts: impl IntoIterator<Item = (u32, usize)>, columns: impl IntoIterator<Item = TableColumn>) -> Table {
    let hosts: Vec<_> = hosts.into_iter().collect();
    let rows = hosts.iter().map(|(_, rows)| rows).sum();
    let mut numbers: Vec<u32> = Vec::with_capacity(rows);
    numbers.extend(hosts.into_iter().flat_map(|(number, rows)| iter::repeat_n(number, rows)));
    let host = TableColumn { name: HOST, numbers: Numbers::Host(numbers), there: None };
    Table { rows, columns: iter::once(host).chain(columns).collect() }
}
