//! Columns, and the Parquet file that they go to.
//!
//! Parquet's own column writers are used, without Arrow's arrays in between: with Arrow, the crate takes three times as long to compile.

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::page::{CompressedPage, PageWriteSpec, PageWriter};
use parquet::column::writer::{ColumnCloseResult, ColumnWriter, get_column_writer};
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescPtr, Type, TypePtr};

use crate::strings::{Id, Strings};
use crate::words::{WordWriter, Words};

/// A column of a table: its name, and the values of rows.
#[derive(Clone, Debug)]
pub struct Column {
    pub(crate) name: &'static str,
    values: Values,
    /// 1 for a row with a value and 0 for one without; None where all rows of the file have one.
    there: Option<Vec<i16>>,
}

/// The values of rows that have one.
#[derive(Clone, Debug)]
enum Values {
    Whole(Vec<i64>),
    /// Whole numbers from 0 on, by their bits.
    Unsigned(Vec<i64>),
    Real(Vec<f64>),
    /// Words by their numbers.
    Text(Vec<Id>, Words),
    Flag(Vec<bool>),
}

impl Column {
    /// A column of whole numbers.
    pub fn whole(name: &'static str, values: impl Iterator<Item = i64>) -> Self {
        Self { name, values: Values::Whole(values.collect()), there: None }
    }

    /// A column of whole numbers, of which some may be missing.
    pub fn optional(name: &'static str, values: impl Iterator<Item = Option<i64>>) -> Self {
        let (values, there) = some(values);
        Self { name, values: Values::Whole(values), there }
    }

    /// A column of whole numbers from 0 on.
    pub fn unsigned(name: &'static str, values: impl Iterator<Item = u64>) -> Self {
        Self { name, values: Values::Unsigned(values.map(u64::cast_signed).collect()), there: None }
    }

    /// A column of numbers, of which some may be missing.
    pub(crate) fn real(name: &'static str, values: impl Iterator<Item = Option<f64>>) -> Self {
        let (values, there) = some(values);
        Self { name, values: Values::Real(values), there }
    }

    /// A column of texts.
    pub fn text<'a>(name: &'static str, values: impl Iterator<Item = &'a str>) -> Self {
        let mut numbered = Numbered::default();
        let numbers: Vec<Id> = values.map(|value| numbered.of(value)).collect();
        Self::words(name, numbers.into_iter(), numbered.strings.words())
    }

    /// A column of texts, of which some may be missing.
    pub fn optional_text<'a>(name: &'static str, values: impl Iterator<Item = Option<&'a str>>) -> Self {
        let mut numbered = Numbered::default();
        let numbers: Vec<Option<Id>> = values.map(|value| value.map(|value| numbered.of(value))).collect();
        Self::optional_words(name, numbers.into_iter(), numbered.strings.words())
    }

    /// A column of words by their numbers.
    pub(crate) fn words(name: &'static str, numbers: impl Iterator<Item = Id>, words: &Words) -> Self {
        Self { name, values: Values::Text(numbers.collect(), words.clone()), there: None }
    }

    /// The same, of which some may be missing.
    pub(crate) fn optional_words(name: &'static str, numbers: impl Iterator<Item = Option<Id>>, words: &Words) -> Self {
        let (numbers, there) = some(numbers);
        Self { name, values: Values::Text(numbers, words.clone()), there }
    }

    /// A column of yes and no.
    pub fn flag(name: &'static str, values: impl Iterator<Item = bool>) -> Self {
        Self { name, values: Values::Flag(values.collect()), there: None }
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.there.as_ref().map_or_else(|| self.values.len(), Vec::len)
    }

    /// True where the values are whole numbers with a sign.
    pub(crate) const fn is_whole(&self) -> bool {
        matches!(self.values, Values::Whole(_))
    }

    /// True where the values are texts.
    pub(crate) const fn is_text(&self) -> bool {
        matches!(self.values, Values::Text(..))
    }

    /// The column as one in which values may be missing, whether or not any is.
    pub(crate) fn with_gaps(mut self) -> Self {
        let rows = self.rows();
        self.there.get_or_insert_with(|| vec![1; rows]);
        self
    }

    /// The column as one in which values may be missing only if one is.
    pub(crate) fn with_gaps_if_any(mut self) -> Self {
        self.there = self.there.filter(|there| there.contains(&0));
        self
    }

    /// Its type in a file.
    fn kind(&self) -> Result<TypePtr, ParquetError> {
        let (physical, logical) = match self.values {
            Values::Whole(_) => (Physical::INT64, None),
            Values::Unsigned(_) => (Physical::INT64, Some(LogicalType::integer(64, false))),
            Values::Real(_) => (Physical::DOUBLE, None),
            Values::Text(..) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Values::Flag(_) => (Physical::BOOLEAN, None),
        };
        let repetition = if self.there.is_some() { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        Type::primitive_type_builder(self.name, physical).with_repetition(repetition).with_logical_type(logical).build().map(Arc::new)
    }
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Self::Whole(values) | Self::Unsigned(values) => values.len(),
            Self::Real(values) => values.len(),
            Self::Text(numbers, _) => numbers.len(),
            Self::Flag(values) => values.len(),
        }
    }
}

/// Texts of rows by numbers; a text that follows itself isn't looked up.
#[derive(Default)]
struct Numbered<'a> {
    strings: Strings,
    last: Option<(&'a str, Id)>,
}

impl<'a> Numbered<'a> {
    fn of(&mut self, text: &'a str) -> Id {
        match self.last {
            Some((last, number)) if last == text => number,
            _ => self.last.insert((text, self.strings.id(text.as_bytes()))).1,
        }
    }
}

/// The values that there are, and which rows have one.
fn some<T>(values: impl Iterator<Item = Option<T>>) -> (Vec<T>, Option<Vec<i16>>) {
    let mut all = Vec::with_capacity(values.size_hint().0);
    let there = values.map(|value| {
        let level = i16::from(value.is_some());
        all.extend(value);
        level
    });
    let there = there.collect();
    (all, Some(there))
}

/// A Parquet file that grows by some rows at a time. Each column of a row group is compressed in memory as it comes.
pub(crate) struct TableFile {
    file: SerializedFileWriter<File>,
    properties: WriterPropertiesPtr,
    /// The columns of the row group that grows.
    group: Vec<Chunk>,
    /// Its rows.
    rows: usize,
}

impl TableFile {
    /// A new file with the columns that are given, of which no row is written.
    ///
    /// # Errors
    /// The file exists or can't be written.
    pub(crate) fn create(path: &Path, columns: &[Column], properties: WriterProperties) -> Result<Self, ParquetError> {
        let fields = columns.iter().map(Column::kind).collect::<Result<_, _>>()?;
        let schema = Type::group_type_builder("rows").with_fields(fields).build()?;
        let properties = Arc::new(properties);
        let file = SerializedFileWriter::new(File::create_new(path)?, Arc::new(schema), properties.clone())?;
        Ok(Self { file, properties, group: Vec::new(), rows: 0 })
    }

    /// Adds rows.
    ///
    /// # Errors
    /// The columns aren't those of the file, or it can't be written.
    pub(crate) fn write(&mut self, columns: &[Column]) -> Result<(), ParquetError> {
        let most = self.properties.max_row_group_row_count().unwrap_or(usize::MAX);
        let rows = columns.first().map_or(0, Column::rows);
        if columns.len() != self.file.schema_descr().num_columns() || columns.iter().any(|column| column.rows() != rows) {
            return Err(ParquetError::General("the columns don't fit together".to_owned()));
        }
        let mut froms = vec![0; columns.len()];
        let mut from = 0;
        while from < rows {
            if self.group.is_empty() {
                let descriptions = self.file.schema_descr().columns().iter().zip(columns);
                self.group = descriptions.map(|(description, column)| Chunk::new(description, column, &self.properties)).collect();
            }
            let to = rows.min(from + most - self.rows);
            for ((column, chunk), first) in columns.iter().zip(&mut self.group).zip(&mut froms) {
                *first = chunk.write(column, from..to, *first)?;
            }
            self.rows += to - from;
            from = to;
            if self.rows == most {
                self.end_group()?;
            }
        }
        Ok(())
    }

    /// Puts the row group's columns into the file, one after the other.
    fn end_group(&mut self) -> Result<(), ParquetError> {
        if self.group.is_empty() {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for chunk in self.group.drain(..) {
            let (pages, closed) = chunk.close()?;
            group.append_column(&pages, closed)?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }

    /// Writes what is left and closes the file.
    ///
    /// # Errors
    /// It can't be written.
    pub(crate) fn close(mut self) -> Result<(), ParquetError> {
        self.end_group()?;
        self.file.close()?;
        Ok(())
    }
}

/// A column of a row group that grows.
#[allow(clippy::large_enum_variant, reason = "most columns are of the large one, and there are few")]
enum Chunk {
    Values(ColumnWriter<'static>, Pages),
    Words(WordWriter),
}

impl Chunk {
    /// One for the values of a column, by its description.
    fn new(description: &ColumnDescPtr, column: &Column, properties: &WriterPropertiesPtr) -> Self {
        if let Values::Text(_, words) = &column.values {
            return Self::Words(WordWriter::new(description, properties, words));
        }
        let pages = Pages::default();
        Self::Values(get_column_writer(description.clone(), properties.clone(), Box::new(pages.clone())), pages)
    }

    /// Writes some rows of a column, of which `from` is the place of the first one's value among all; gives that of the row after the last.
    fn write(&mut self, column: &Column, rows: Range<usize>, from: usize) -> Result<usize, ParquetError> {
        let there = column.there.as_ref().map(|there| &there[rows.clone()]);
        let end = from + there.map_or(rows.len(), |there| there.iter().filter(|&&level| level == 1).count());
        match (&column.values, self) {
            (Values::Whole(values) | Values::Unsigned(values), Self::Values(ColumnWriter::Int64ColumnWriter(out), _)) => {
                out.write_batch(&values[from..end], there, None)?;
            }
            (Values::Real(values), Self::Values(ColumnWriter::DoubleColumnWriter(out), _)) => {
                out.write_batch(&values[from..end], there, None)?;
            }
            (Values::Flag(values), Self::Values(ColumnWriter::BoolColumnWriter(out), _)) => {
                out.write_batch(&values[from..end], there, None)?;
            }
            (Values::Text(numbers, words), Self::Words(out)) if out.writes(words) => out.write(&numbers[from..end], there)?,
            _ => return Err(ParquetError::General(format!("column {} is of another type or has other words than before", column.name))),
        }
        Ok(end)
    }

    /// All pages, and what is known of them.
    fn close(self) -> Result<(Bytes, ColumnCloseResult), ParquetError> {
        match self {
            Self::Values(writer, pages) => {
                let closed = writer.close()?;
                Ok((pages.take()?, closed))
            }
            Self::Words(writer) => writer.close(),
        }
    }
}

/// The pages of a column, one after the other, as its writer makes them.
#[derive(Clone, Default)]
struct Pages(Arc<Mutex<Option<TrackedWrite<Vec<u8>>>>>);

impl Pages {
    /// All bytes so far.
    fn take(&self) -> Result<Bytes, ParquetError> {
        let pages = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        pages.map_or_else(|| Ok(Vec::new()), TrackedWrite::into_inner).map(Bytes::from)
    }
}

impl PageWriter for Pages {
    fn write_page(&mut self, page: CompressedPage) -> Result<PageWriteSpec, ParquetError> {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pages = pages.get_or_insert_with(|| TrackedWrite::new(Vec::new()));
        SerializedPageWriter::new(pages).write_page(page)
    }

    fn close(&mut self) -> Result<(), ParquetError> {
        Ok(())
    }
}
