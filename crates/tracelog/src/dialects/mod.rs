//! Log dialects: how a kind of node writes its log. A dialect is one file, its `mod` and its entry in [`DIALECTS`]: which lines it reads, which
//! fields of them, which of our messages they are, and whether a file of it can be read in pieces.
//!
//! Which one a file is in is decided by its first lines. Lines of one dialect are rows by themselves (cardano-node) or parts of rows,
//! which are put together in the order of the lines (Dingo).

mod cardano_node;
#[cfg(feature = "ingest")]
mod dialect;
#[cfg(feature = "ingest")]
mod dingo;
mod entry;

pub use cardano_node::read_line;
#[cfg(feature = "ingest")]
pub use dialect::is_log_line;
#[cfg(feature = "ingest")]
pub(crate) use dialect::{Dialect, Taker, dialect_of};
pub use entry::{Entry, Seen};

/// The dialects; of two that have as many lines of a file, the first is taken.
#[cfg(feature = "ingest")]
pub(crate) static DIALECTS: [&dyn Dialect; 2] = [&CARDANO_NODE, &dingo::Dingo];

/// The dialect of a file that is in none: its lines are rejected.
#[cfg(feature = "ingest")]
pub(crate) static CARDANO_NODE: cardano_node::CardanoNode = cardano_node::CardanoNode;
