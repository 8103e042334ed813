//! The rows that come out, a table per message family, and the Parquet files that they go to.
//!
//! A segment of a log writes a part of every table. Rows leave in the order of their times: a window of rows is held back,
//! so that lines that come a little late find their place.

use std::fs;
use std::mem;
use std::path::{Path, PathBuf};

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;

use crate::dialects::Entry;
use crate::messages::{Address, Block, Body, Ledger, Message, Slot, Transactions};
use crate::strings::{Id, Strings};
use crate::table_file::{Column, TableFile};

/// Rows that leave at a time; as many more are held back.
const WINDOW: usize = 64 << 10;
/// Rows whose columns are made and written at a time: few enough to stay near the CPU.
const NEAR: usize = 4 << 10;

/// In the place of a number that is missing: no log has it.
const NO_NUMBER: i64 = i64::MIN;
/// In the place of a word that is missing.
const NO_WORD: Id = -1;

/// One row of a table.
trait Row: Copy {
    const TABLE: &'static str;
    fn ts_ns(&self) -> i64;
    /// The columns, in order. Numbers of strings mean those of `strings`.
    fn columns(rows: &[Self], strings: &Strings) -> Vec<Column>;
}

macro_rules! row {
    ($(#[$doc:meta])* $row:ident, $table:literal, { $($name:ident: $kind:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        struct $row { $($name: row!(@type $kind),)* }

        impl Row for $row {
            const TABLE: &'static str = $table;

            fn ts_ns(&self) -> i64 {
                self.ts_ns
            }

            fn columns(rows: &[Self], strings: &Strings) -> Vec<Column> {
                vec![$(row!(@column $kind, rows, $name, strings),)*]
            }
        }
    };
    (@type Whole) => { i64 };
    (@type Optional) => { i64 };
    (@type Real) => { Option<f64> };
    (@type Word) => { Id };
    (@type Text) => { Id };
    (@column Whole, $rows:ident, $name:ident, $strings:ident) => {
        Column::whole(stringify!($name), $rows.iter().map(|row| row.$name))
    };
    (@column Optional, $rows:ident, $name:ident, $strings:ident) => {
        Column::optional(stringify!($name), $rows.iter().map(|row| (row.$name != NO_NUMBER).then_some(row.$name)))
    };
    (@column Real, $rows:ident, $name:ident, $strings:ident) => {
        Column::real(stringify!($name), $rows.iter().map(|row| row.$name))
    };
    (@column Word, $rows:ident, $name:ident, $strings:ident) => {
        Column::words(stringify!($name), $rows.iter().map(|row| row.$name), $strings.words())
    };
    (@column Text, $rows:ident, $name:ident, $strings:ident) => {
        Column::optional_words(stringify!($name), $rows.iter().map(|row| (row.$name != NO_WORD).then_some(row.$name)), $strings.words())
    };
}

row!(
    /// Events of a block on a host.
    BlockRow, "block_events", {
        host: Word, ts_ns: Whole, event: Word, block: Word, slot: Optional, block_no: Optional, previous: Text, size_bytes: Optional,
        length: Optional, local: Text, remote: Text, place: Whole,
    }
);
row!(
    /// A step of the forge loop on a host.
    SlotRow, "slot_events", { host: Word, ts_ns: Whole, event: Word, slot: Optional, block_no: Optional, }
);
row!(
    /// A sample of a node's resources: counters since its start, and levels.
    ResourceRow, "resources", {
        host: Word, ts_ns: Whole, cpu_cs: Whole, gc_cs: Whole, mutator_cs: Whole, major_gcs: Whole, minor_gcs: Whole, allocated_bytes: Whole,
        live_bytes: Whole, rss_bytes: Whole, block_io_cs: Whole, threads: Whole, heap_bytes: Optional, net_read_bytes: Optional,
        net_written_bytes: Optional, fs_read_bytes: Optional, fs_written_bytes: Optional,
    }
);
row!(
    /// Events of transactions on a host.
    TransactionRow, "transactions", {
        host: Word, ts_ns: Whole, event: Word, thread: Text, count: Optional, accepted: Optional, rejected: Optional,
    }
);
row!(
    /// The ledger's size on a host.
    LedgerRow, "ledger_metrics", { host: Word, ts_ns: Whole, slot: Whole, utxo_size: Optional, chain_density: Real, }
);

/// One segment's part of every table.
pub(crate) struct Rows {
    strings: Strings,
    /// Buffer in which an address is put together.
    address: Vec<u8>,
    /// The host of the row before: its place among hosts, and its name's number.
    host: Option<(usize, Id)>,
    /// The thread of the row before that has one, and its number.
    thread: (Vec<u8>, Id),
    /// The word in the column `event` of each message, by its number.
    events: [Option<Id>; Message::COUNT],
    blocks: Part<BlockRow>,
    slots: Part<SlotRow>,
    resources: Part<ResourceRow>,
    transactions: Part<TransactionRow>,
    ledger: Part<LedgerRow>,
    /// Hashes shorter than 64 characters that were met.
    pub(crate) short_hashes: u64,
}

/// Number of rows that a table's part got, and of those that came too late to find their place.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Written {
    pub(crate) table: &'static str,
    pub(crate) rows: u64,
    pub(crate) late: u64,
}

impl Rows {
    /// Writes below a folder of tables, as part number `part`.
    pub(crate) fn new(tables: &Path, part: usize) -> Self {
        Self {
            strings: Strings::default(),
            address: Vec::new(),
            host: None,
            thread: (Vec::new(), 0),
            events: [None; Message::COUNT],
            blocks: Part::new(tables, part),
            slots: Part::new(tables, part),
            resources: Part::new(tables, part),
            transactions: Part::new(tables, part),
            ledger: Part::new(tables, part),
            short_hashes: 0,
        }
    }

    /// Takes a line's content; `host` is the host's place among all and its name, `place` orders lines of a host that have one time.
    #[inline(always)] // of a form, only one of the tables is left
    pub(crate) fn push(&mut self, host: (usize, &[u8]), entry: &Entry<'_>, place: i64) -> Result<(), ParquetError> {
        let host = self.host(host);
        let ts_ns = entry.ts_ns;
        match entry.body {
            Body::Resources(needed, optional) => {
                let [cpu_cs, gc_cs, mutator_cs, major_gcs, minor_gcs, allocated_bytes, live_bytes, rss_bytes, block_io_cs, threads] =
                    needed;
                let [heap_bytes, net_read_bytes, net_written_bytes, fs_read_bytes, fs_written_bytes] = optional.map(number);
                let row = ResourceRow {
                    host,
                    ts_ns,
                    cpu_cs,
                    gc_cs,
                    mutator_cs,
                    major_gcs,
                    minor_gcs,
                    allocated_bytes,
                    live_bytes,
                    rss_bytes,
                    block_io_cs,
                    threads,
                    heap_bytes,
                    net_read_bytes,
                    net_written_bytes,
                    fs_read_bytes,
                    fs_written_bytes,
                };
                self.resources.push(row, &self.strings)
            }
            Body::Slot(Slot { slot, block_no }) => self.slot(host, ts_ns, entry.message, slot, block_no),
            Body::Ledger(Ledger { slot, utxo_size, chain_density }) => {
                if entry.message == Message::Started {
                    self.slot(host, ts_ns, Message::Started, Some(slot), None)?;
                    if utxo_size.is_none() && chain_density.is_none() {
                        return Ok(());
                    }
                }
                self.ledger.push(LedgerRow { host, ts_ns, slot, utxo_size: number(utxo_size), chain_density }, &self.strings)
            }
            Body::Block(Block { block, slot, block_no, previous, size_bytes, length, connection }) => {
                self.short_hashes += u64::from(block.len() < 64);
                let event = self.event(entry.message);
                let block = self.strings.id(block);
                let previous = previous.map_or(NO_WORD, |hash| self.strings.id(hash));
                let local = connection.and_then(|ends| ends.local).map_or(NO_WORD, |end| self.address(end));
                let remote = connection.map_or(NO_WORD, |ends| self.address(ends.remote));
                let (slot, block_no, size_bytes, length) = (number(slot), number(block_no), number(size_bytes), number(length));
                let row = BlockRow { host, ts_ns, event, block, slot, block_no, previous, size_bytes, length, local, remote, place };
                self.blocks.push(row, &self.strings)
            }
            Body::Transactions(Transactions { count, accepted, rejected }) => {
                let event = self.event(entry.message);
                let thread = entry.thread.map_or(NO_WORD, |thread| self.thread(thread));
                let (count, accepted, rejected) = (number(count), number(accepted), number(rejected));
                self.transactions.push(TransactionRow { host, ts_ns, event, thread, count, accepted, rejected }, &self.strings)
            }
            Body::Version(_) => Ok(()),
        }
    }

    #[inline]
    fn host(&mut self, host: (usize, &[u8])) -> Id {
        match self.host {
            Some((place, id)) if place == host.0 => id,
            _ => {
                let id = self.strings.id(host.1);
                self.host = Some((host.0, id));
                id
            }
        }
    }

    #[inline]
    fn thread(&mut self, name: &[u8]) -> Id {
        let (last, id) = &mut self.thread;
        if last.is_empty() || last != name {
            last.clear();
            last.extend_from_slice(name);
            *id = self.strings.id(name);
        }
        *id
    }

    #[inline]
    fn event(&mut self, message: Message) -> Id {
        *self.events[message as usize].get_or_insert_with(|| self.strings.id(message.event().as_bytes()))
    }

    /// `HOST:PORT`.
    #[inline]
    fn address(&mut self, address: Address<'_>) -> Id {
        self.address.clear();
        self.address.extend_from_slice(address.host);
        self.address.push(b':');
        self.address.extend_from_slice(address.port);
        self.strings.id(&self.address)
    }

    fn slot(&mut self, host: Id, ts_ns: i64, message: Message, slot: Option<i64>, block_no: Option<i64>) -> Result<(), ParquetError> {
        let event = self.event(message);
        self.slots.push(SlotRow { host, ts_ns, event, slot: number(slot), block_no: number(block_no) }, &self.strings)
    }

    /// Writes what is left and closes the files.
    pub(crate) fn finish(self) -> Result<[Written; 5], ParquetError> {
        Ok([
            self.blocks.finish(&self.strings)?,
            self.slots.finish(&self.strings)?,
            self.resources.finish(&self.strings)?,
            self.transactions.finish(&self.strings)?,
            self.ledger.finish(&self.strings)?,
        ])
    }
}

/// A number as rows have it.
fn number(value: Option<i64>) -> i64 {
    value.unwrap_or(NO_NUMBER)
}

/// A table's part: the rows that are held back, and the file, once there is a row.
struct Part<R> {
    path: PathBuf,
    /// The rows that leave next: as many as leave at a time, or none.
    earlier: Vec<R>,
    /// Those that came after them.
    later: Vec<R>,
    in_order: bool,
    last: i64,
    is_first: bool,
    file: Option<TableFile>,
    written: Written,
}

impl<R: Row> Part<R> {
    fn new(tables: &Path, part: usize) -> Self {
        let path = part_file(&tables.join(R::TABLE), part);
        let written = Written { table: R::TABLE, ..Written::default() };
        Self { path, earlier: Vec::new(), later: Vec::new(), in_order: true, last: i64::MIN, is_first: part == 0, file: None, written }
    }

    #[inline]
    fn push(&mut self, row: R, strings: &Strings) -> Result<(), ParquetError> {
        self.in_order &= self.later.last().or(self.earlier.last()).is_none_or(|last| last.ts_ns() <= row.ts_ns());
        if self.later.is_empty() {
            self.later.reserve_exact(WINDOW); // address space alone: memory comes with rows
        }
        self.later.push(row);
        if self.later.len() >= WINDOW { self.write(strings) } else { Ok(()) }
    }

    /// Writes the earlier rows; the later ones are next.
    fn write(&mut self, strings: &Strings) -> Result<(), ParquetError> {
        if !self.in_order {
            let leaving = self.earlier.len();
            self.earlier.append(&mut self.later);
            self.earlier.sort_by_key(Row::ts_ns); // stable: lines of one time stay in their order
            self.later.extend(self.earlier.drain(leaving..));
            self.in_order = true;
        }
        if let Some(newest) = self.earlier.last() {
            self.written.late += self.earlier.iter().take_while(|row| row.ts_ns() < self.last).count() as u64;
            self.last = self.last.max(newest.ts_ns());
            self.written.rows += self.earlier.len() as u64;
            for rows in self.earlier.chunks(NEAR) {
                let columns = R::columns(rows, strings);
                file(&mut self.file, &self.path, &columns)?.write(&columns)?;
            }
            self.earlier.clear();
        }
        mem::swap(&mut self.earlier, &mut self.later);
        Ok(())
    }

    fn finish(mut self, strings: &Strings) -> Result<Written, ParquetError> {
        while !self.earlier.is_empty() || !self.later.is_empty() {
            self.write(strings)?;
        }
        if self.is_first {
            file(&mut self.file, &self.path, &R::columns(&[], strings))?; // so that every table is there, if only its columns
        }
        if let Some(file) = self.file {
            file.close()?;
        }
        Ok(self.written)
    }
}

/// The file of a part, which is made with the columns that are given where there is none.
fn file<'f>(file: &'f mut Option<TableFile>, path: &Path, columns: &[Column]) -> Result<&'f mut TableFile, ParquetError> {
    match file {
        Some(file) => Ok(file),
        none => {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            Ok(none.insert(TableFile::create(path, columns, properties(columns))?))
        }
    }
}

/// Whole numbers mostly grow by little from row to row: their differences are packed. Words come from a dictionary.
fn properties(columns: &[Column]) -> WriterProperties {
    let mut builder = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_max_row_group_row_count(Some(8 * WINDOW));
    for column in columns {
        let path = || ColumnPath::from(column.name);
        if !column.is_text() {
            builder = builder.set_column_dictionary_enabled(path(), false);
        }
        if column.is_whole() {
            builder = builder.set_column_encoding(path(), Encoding::DELTA_BINARY_PACKED);
        }
        if column.is_text() && column.name != "host" {
            // The least and the greatest hash of a chunk are of no use, and finding them compares every row.
            builder = builder.set_column_statistics_enabled(path(), EnabledStatistics::None);
        }
    }
    builder.build()
}
/// Returns the path of a part of a table.
pub(crate) fn part_file(table: &Path, part: usize) -> PathBuf {
    table.join(format!("part-{part:05}.parquet"))
}
