//! Reading an ImmutableDB: a folder of `NNNNN.chunk`, `.primary` and `.secondary` files, all of them memory-mapped.
//!
//! A chunk file holds blocks back to back; the secondary index has an entry of 56 bytes a block; the primary index
//! maps the chunk's slots to entries. Integers are big-endian. Layout as ouroboros-consensus writes it.

//!
//! `chunk` maps a chunk's files, `index` checks its indexes against each other, `check` reads its blocks, and `window` is a stretch
//! of the chain.

mod chain;
mod check;
mod chunk;
mod index;
mod window;

pub use chain::{BlockEntry, Chain};
pub(crate) use chunk::{ENTRY_BYTES, chunk_numbers, chunk_path};
pub(crate) use index::index_error;
pub use window::{ChunkIdentity, Window};
