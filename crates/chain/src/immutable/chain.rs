//! An ImmutableDB, opened.

use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::UncheckedAdvice;
use rayon::prelude::*;

use crate::block;
use crate::error::ChainError;
use crate::point::{Hash32, Point, Tip};

use super::chunk::{Chunk, chunk_numbers};
use super::index::{index_error, load};

/// The entry of one block in the indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockEntry {
    /// Absolute slot; of an epoch boundary block, the first slot of its epoch.
    pub slot: u64,
    /// Header hash.
    pub hash: Hash32,
    /// zlib's CRC-32 of the whole block.
    pub crc32: u32,
    /// Start of the block in its chunk file.
    pub offset: u64,
    /// The block's length in bytes.
    pub size: u32,
    /// Start of the header, from the start of the block.
    pub header_offset: u16,
    /// The header's length in bytes.
    pub header_size: u16,
    /// True for an epoch boundary block.
    pub is_ebb: bool,
}

/// An ImmutableDB, opened for reading. Every chunk counts, the last one too.
pub struct Chain {
    pub(super) path: PathBuf,
    pub(super) chunks: Vec<Chunk>,
    pub(super) len: usize,
    chunk_slots: u64,
}

impl Chain {
    /// Maps every chunk and checks the indexes against each other.
    ///
    /// Blocks aren't read: [`Chain::check_chunk`] does that.
    ///
    /// # Errors
    /// A file is missing, cut or damaged, or chunk numbers have a gap; the message names file and offset.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, ChainError> {
        let path = folder.as_ref().to_path_buf();
        let numbers = if path.is_dir() { chunk_numbers(&path)? } else { Vec::new() };
        if numbers.is_empty() {
            return Err(ChainError::NotAChain { path });
        }
        let loaded = numbers.par_iter().map(|&number| load(&path, number)).collect::<Result<Vec<_>, _>>()?;
        let chunk_slots = loaded.iter().find_map(|(_, slots)| *slots).unwrap_or(u64::MAX);
        for (chunk, slots) in &loaded {
            if slots.is_some_and(|slots| slots != chunk_slots) {
                let what = format!("its slots fit a chunk size of {}, those before it {chunk_slots}", slots.unwrap_or(0));
                return Err(index_error(&path, chunk.number, "secondary", 48, what));
            }
        }
        let (mut chunks, mut len) = (Vec::with_capacity(loaded.len()), 0);
        for (mut chunk, _) in loaded {
            chunk.first = len;
            len += chunk.count;
            chunks.push(chunk);
        }
        Ok(Self { path, chunks, len, chunk_slots })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of blocks.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there is no block.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of chunks.
    pub fn chunk_count(&self) -> usize {
        self.chunks.len()
    }

    /// The blocks of the chunk at a position (0 is the first chunk there is).
    pub fn chunk_blocks(&self, position: usize) -> Range<usize> {
        let chunk = &self.chunks[position];
        chunk.first..chunk.first + chunk.count
    }

    /// The position of the chunk that holds a block.
    pub fn chunk_of(&self, index: usize) -> usize {
        assert!(index < self.len, "block {index} of {}", self.len);
        self.chunks.partition_point(|chunk| chunk.first + chunk.count <= index)
    }

    /// Returns the entry of a block in the indexes.
    pub fn entry(&self, index: usize) -> BlockEntry {
        let chunk = &self.chunks[self.chunk_of(index)];
        let position = index - chunk.first;
        let raw = chunk.raw_entry(position);
        let offset = chunk.raw_offset(position);
        let is_ebb = position == 0 && chunk.has_ebb;
        BlockEntry {
            slot: if is_ebb { chunk.raw_slot(position).saturating_mul(self.chunk_slots) } else { chunk.raw_slot(position) },
            hash: raw[16..48].try_into().expect("32 bytes"),
            crc32: chunk.raw_crc32(position),
            offset,
            size: (chunk.raw_offset(position + 1) - offset) as u32,
            header_offset: u16::from_be_bytes([raw[8], raw[9]]),
            header_size: u16::from_be_bytes([raw[10], raw[11]]),
            is_ebb,
        }
    }

    /// The whole block, `[era, block]`.
    pub fn bytes(&self, index: usize) -> &[u8] {
        let chunk = &self.chunks[self.chunk_of(index)];
        chunk.block(index - chunk.first)
    }

    /// The block's header.
    pub fn header_bytes(&self, index: usize) -> &[u8] {
        let entry = self.entry(index);
        &self.bytes(index)[usize::from(entry.header_offset)..][..usize::from(entry.header_size)]
    }

    /// The block's point.
    pub fn point(&self, index: usize) -> Point {
        let entry = self.entry(index);
        Point::Block { slot: entry.slot, hash: entry.hash }
    }

    /// The index of the block at a point; None at the origin and where the chain doesn't have it.
    pub fn find(&self, point: &Point) -> Option<usize> {
        let Point::Block { slot, hash } = point else { return None };
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.entry(middle).slot < *slot { low = middle + 1 } else { high = middle }
        }
        // An epoch boundary block shares its slot with the block after it.
        (low..self.len.min(low + 2)).find(|&index| {
            let entry = self.entry(index);
            entry.slot == *slot && entry.hash == *hash
        })
    }

    /// Lets the blocks of the chunk at a position leave this process's memory, where mapped files count. They can still be read.
    pub fn forget_chunk(&self, position: usize) {
        if let Some(blocks) = &self.chunks[position].blocks {
            // SAFETY: the map is of a file and only read, so that pages which are dropped come back as they were.
            // A failure leaves everything as it is.
            let _ = unsafe { blocks.unchecked_advise(UncheckedAdvice::DontNeed) };
        }
    }

    /// The last block.
    ///
    /// # Errors
    /// The chain is empty, or its last block can't be decoded.
    pub fn tip(&self) -> Result<Tip, ChainError> {
        let last = self.len.checked_sub(1).ok_or_else(|| ChainError::Empty { path: self.path.clone() })?;
        self.tip_at(last)
    }

    /// The tip that the chain has where a block is its last.
    ///
    /// # Errors
    /// The block can't be decoded.
    pub fn tip_at(&self, index: usize) -> Result<Tip, ChainError> {
        let header = block::decode_header(self.bytes(index)).map_err(|source| self.block_error(index, source))?;
        Ok(Tip { point: self.point(index), block_no: header.block_no })
    }

    /// The chunk file that a block is in.
    pub fn block_path(&self, index: usize) -> PathBuf {
        self.chunks[self.chunk_of(index)].path.clone()
    }

    /// An error of decoding a block, with its place.
    pub fn block_error(&self, index: usize, source: block::DecodeError) -> ChainError {
        let entry = self.entry(index);
        ChainError::Block { path: self.block_path(index), offset: entry.offset, slot: entry.slot, source }
    }
}
