//! The three files of a chunk.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use crate::error::ChainError;

pub(crate) const ENTRY_BYTES: usize = 56;

/// A chunk's files, mapped.
pub(super) struct Chunk {
    pub(super) number: u64,
    pub(super) path: PathBuf,
    pub(super) blocks: Option<Mmap>,
    pub(super) secondary: Option<Mmap>,
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) has_ebb: bool,
}

impl Chunk {
    pub(super) fn bytes(&self) -> &[u8] {
        self.blocks.as_deref().unwrap_or_default()
    }

    pub(super) fn block(&self, position: usize) -> &[u8] {
        &self.bytes()[self.raw_offset(position) as usize..self.raw_offset(position + 1) as usize]
    }

    pub(super) fn raw_entry(&self, position: usize) -> &[u8] {
        &self.secondary.as_deref().unwrap_or_default()[position * ENTRY_BYTES..][..ENTRY_BYTES]
    }

    pub(super) fn raw_offset(&self, position: usize) -> u64 {
        if position < self.count { be64(self.raw_entry(position)) } else { self.bytes().len() as u64 }
    }

    pub(super) fn raw_crc32(&self, position: usize) -> u32 {
        u32::from_be_bytes(self.raw_entry(position)[12..16].try_into().expect("4 bytes"))
    }

    pub(super) fn raw_slot(&self, position: usize) -> u64 {
        be64(&self.raw_entry(position)[48..])
    }
}

fn be64(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes[..8].try_into().expect("8 bytes"))
}

pub(crate) fn chunk_path(folder: &Path, number: u64, kind: &str) -> PathBuf {
    folder.join(format!("{number:05}.{kind}"))
}

/// The numbers of the chunks in a folder, one after the other; none where it has no chunk.
///
/// # Errors
/// The folder can't be read, or a number is missing between two.
pub(crate) fn chunk_numbers(folder: &Path) -> Result<Vec<u64>, ChainError> {
    let io = |source| ChainError::Io { path: folder.to_path_buf(), source };
    let mut numbers = Vec::new();
    for file in fs::read_dir(folder).map_err(io)? {
        let path = file.map_err(io)?.path();
        // By any of its files: a first or last chunk that lacks its blocks is damage, and not a shorter chain.
        if path.extension().is_some_and(|kind| kind == "chunk" || kind == "secondary" || kind == "primary") {
            numbers.extend(path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse::<u64>().ok()));
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    match numbers.windows(2).find(|pair| pair[0] + 1 != pair[1]) {
        Some(pair) => Err(ChainError::MissingChunk { path: chunk_path(folder, pair[1], "chunk"), expected: pair[0] + 1 }),
        None => Ok(numbers),
    }
}

/// Makes the error for a file of a chunk that can't be read.
pub(super) fn io_error(path: &Path, source: std::io::Error) -> ChainError {
    match source.kind() {
        std::io::ErrorKind::NotFound => ChainError::MissingFile { path: path.to_path_buf() },
        _ => ChainError::Io { path: path.to_path_buf(), source },
    }
}

/// Maps a file; None for an empty one.
pub(super) fn map(path: &Path) -> Result<Option<Mmap>, ChainError> {
    let io = |source| io_error(path, source);
    let file = File::open(path).map_err(io)?;
    if file.metadata().map_err(io)?.len() == 0 {
        return Ok(None); // an empty file can't be mapped
    }
    // SAFETY: an ImmutableDB's files are append-only and complete ones never change; a file cut by another program
    // while it is mapped ends this process with SIGBUS, as with every reader of mapped files.
    Ok(Some(unsafe { Mmap::map(&file) }.map_err(io)?))
}
