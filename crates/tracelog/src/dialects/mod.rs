//! Log dialects: how a kind of node writes its log. A dialect is one file and a line in [`dialect`]'s table: which lines it reads, which
//! fields of them, which of our messages they are, and whether a file of it can be read in pieces.
//!
//! Which one a file is in is decided by its first lines. Lines of one dialect are rows by themselves (cardano-node) or parts of rows,
//! which are put together in the order of the lines (Dingo, Dugite, Amaru: `parts`).

#[cfg(feature = "ingest")]
mod amaru;
mod cardano_node;
#[cfg(feature = "ingest")]
mod dialect;
#[cfg(feature = "ingest")]
mod dingo;
#[cfg(feature = "ingest")]
mod dugite;
mod entry;
#[cfg(feature = "ingest")]
mod own;
#[cfg(feature = "ingest")]
mod parts;

pub use cardano_node::{LineReader, read_line};
#[cfg(feature = "ingest")]
pub use dialect::is_log_line;
#[cfg(feature = "ingest")]
pub(crate) use dialect::{CARDANO_NODE, DIALECTS, Dialect, HostOf, Taker, Times, dialect_of};
pub use entry::{Entry, Seen};
