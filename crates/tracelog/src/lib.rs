//! Node logs, a line per message, to typed Parquet tables: one pass, bounded memory, every line accounted for.
//!
//! `messages` is the table of messages: an entry has the names of each (cardano-node's new tracing, its transitional names, and
//! the legacy messages), what its row has, and how it is written. `dialects` takes lines apart, as each kind of node writes them;
//! `tables` are the rows that come out, `account` keeps account of lines, `found` is what comes of that, `repeats` finds those that are
//! there twice, `ingest` drives it over files. `slot_rows` reads tables again, for a row per host and slot.

#[cfg(feature = "ingest")]
mod account;
mod dialects;
#[cfg(feature = "ingest")]
mod digest;
#[cfg(feature = "ingest")]
mod found;
#[cfg(feature = "ingest")]
mod ingest;
mod json;
#[cfg(feature = "ingest")]
mod log;
mod messages;
#[cfg(feature = "ingest")]
mod reader;
mod reason;
#[cfg(feature = "ingest")]
mod repeats;
mod scan;
#[cfg(feature = "ingest")]
mod slot_rows;
mod stamp;
#[cfg(feature = "ingest")]
mod strings;
#[cfg(feature = "ingest")]
mod table_file;
#[cfg(feature = "ingest")]
mod tables;
mod time;
#[cfg(feature = "ingest")]
mod words;
#[cfg(feature = "ingest")]
mod written;

#[cfg(feature = "ingest")]
pub use account::{Account, LineTables, settle};
#[cfg(feature = "ingest")]
pub use dialects::is_log_line;
pub use dialects::{Entry, LineReader, Seen, read_line};
#[cfg(feature = "ingest")]
pub use digest::SourceDigest;
#[cfg(feature = "ingest")]
pub use found::{DamagedFile, HostFacts, Ingested, Rejection, SourceFacts};
#[cfg(feature = "ingest")]
pub use ingest::{HostFrom, IngestError, Progress, Reading, Source, Surveyed, ingest, merge, read, survey};
#[cfg(feature = "ingest")]
pub use log::Elsewhere;
pub use messages::{
    Address, AnyTransactions, Block, Body, Connection, Datum, EnclosedTime, Form, Ledger, MempoolSize, Message, Out, Peer, Point,
    SelectView, Slot, Snapshot, Thread, Tip, Transaction, TransactionList, Transactions, Version, forms, hex, namespaces,
};
pub use reason::Reason;
#[cfg(feature = "ingest")]
pub use slot_rows::{Clock, Numbers, SlotFiles, SlotRowsError, Table, TableColumn, Wanted, WantedHost, slot_rows, usage_rows};
pub use stamp::{Stamp, date_of};
#[cfg(feature = "ingest")]
pub use table_file::Column;
pub use time::parse_time;
#[cfg(feature = "ingest")]
pub use written::{write_part, write_table};
