//! Errors of a chain folder.

use std::io;
use std::path::PathBuf;

use crate::block::DecodeError;
use crate::point::Point;

/// A chain folder that can't be read or written, or that doesn't hold what was asked for.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message is its documentation")]
pub enum ChainError {
    #[error("{path}: {source}. Check that it is there and that you may read it.")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path}: can't be written ({source}). Nothing was kept; make room or choose another place, and run again.")]
    Write { path: PathBuf, source: io::Error },
    #[error(
        "{path}: not a chain: expected a folder with chunk files such as 00000.chunk. Name the ImmutableDB folder itself, often db/immutable."
    )]
    NotAChain { path: PathBuf },
    #[error("{path}: missing, though its siblings are there. Copy the chunk's three files again.")]
    MissingFile { path: PathBuf },
    #[error("{path}: chunk {expected:05} is missing before it. Copy the folder again, whole.")]
    MissingChunk { path: PathBuf, expected: u64 },
    #[error("{path}: version byte {found} at offset 0, expected 1. Not a primary index of a known version.")]
    Version { path: PathBuf, found: u8 },
    #[error("{path}: {length} bytes, which is not a whole number of {unit}: the file was cut at offset {at}. Copy it again.")]
    Cut { path: PathBuf, length: u64, unit: &'static str, at: u64 },
    #[error("{path}: damaged at offset {offset}: {what}. Copy the chunk's three files again.")]
    Index { path: PathBuf, offset: u64, what: String },
    #[error(
        "{path}: damaged at offset {offset}: the block of slot {slot} has CRC-32 {found:08x}, its index says {expected:08x}. Copy the chunk again."
    )]
    Crc { path: PathBuf, offset: u64, slot: u64, found: u32, expected: u32 },
    #[error(
        "{path}: damaged at offset {offset}: the header of slot {slot} doesn't have the hash that its index says. Copy the chunk again."
    )]
    HeaderHash { path: PathBuf, offset: u64, slot: u64 },
    #[error(
        "{path}: damaged at offset {offset}: the body of slot {slot} doesn't have the hash that its header holds. Copy the chunk again."
    )]
    BodyHash { path: PathBuf, offset: u64, slot: u64 },
    #[error("{path}: damaged at offset {offset}: the header has slot {found}, its index says {slot}. Copy the chunk's three files again.")]
    HeaderSlot { path: PathBuf, offset: u64, slot: u64, found: u64 },
    #[error("{path}: damaged at offset {offset}: the block of slot {slot} doesn't follow the block before it. Copy the chunks again.")]
    Broken { path: PathBuf, offset: u64, slot: u64 },
    #[error("{path}: the block of slot {slot} at offset {offset} can't be decoded: {source}")]
    Block { path: PathBuf, offset: u64, slot: u64, source: DecodeError },
    #[error("{path}: the chain has no block {point}. `slotmark chain info` shows which slots it holds.")]
    NoSuchPoint { path: PathBuf, point: Point },
    #[error("{path}: {found} blocks after {start}, but {asked} were asked for. Ask for fewer, or start earlier.")]
    TooShort { path: PathBuf, start: Point, found: u64, asked: u64 },
    #[error("{path}: the chain is empty.")]
    Empty { path: PathBuf },
    #[error("'{0}' is no start: expected a point as SLOT.HASH with 64 hex digits, origin, or densest")]
    Start(String),
    #[error("{path}: already there, and a chain is never overwritten. Choose another folder or move it away.")]
    Exists { path: PathBuf },
    #[error("slot {slot} can't be written after slot {last}: slots must ascend.")]
    Order { slot: u64, last: u64 },
    #[error("interrupted")]
    Interrupted,
}
