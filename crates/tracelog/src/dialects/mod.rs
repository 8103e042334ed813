//! Log dialects: how a kind of node writes its log. A dialect is one file: which lines it reads, which fields of them, and which of our
//! messages they are.
//!
//! Which one a file is in is seen from its first lines. Lines of one dialect are rows by themselves (cardano-node) or parts of rows,
//! which are put together in the order of the lines (Dingo).

mod cardano_node;
#[cfg(feature = "ingest")]
mod dialect;
#[cfg(feature = "ingest")]
pub(crate) mod dingo;
mod entry;

pub use cardano_node::read_line;
#[cfg(feature = "ingest")]
pub use dialect::Dialect;
pub use entry::{Entry, Seen};
