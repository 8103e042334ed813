//! Node logs, a line a message, to typed Parquet tables: one pass, bounded memory, every line accounted for.
//!
//! `messages` says which messages there are and what is taken from each (cardano-node's new tracing, its transitional names,
//! and the legacy messages), `line` takes a line apart, `tables` are the rows that come out, `account` keeps account of lines, `ingest`
//! drives it over files.

mod account;
mod ingest;
mod json;
mod line;
mod messages;
mod reader;
mod scan;
mod strings;
mod tables;
mod time;

pub use account::{Account, HostFacts, Ingested, LineTables, Rejection, SourceFacts, settle, write_part, write_table};
pub use ingest::{HostFrom, IngestError, Plan, Source, ingest};
pub use line::{Body, Entry, Reason, Seen, read_line};
pub use messages::Message;
pub use time::parse_time;
