//! Reading an ImmutableDB: a folder of `NNNNN.chunk`, `.primary` and `.secondary` files, all of them memory-mapped.
//!
//! A chunk file holds blocks back to back; the secondary index has an entry of 56 bytes a block; the primary index
//! maps the chunk's slots to entries. Integers are big-endian. Layout as ouroboros-consensus writes it.

use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use rayon::prelude::*;
use sha2::{Digest as _, Sha256};

use crate::block;
use crate::error::ChainError;
use crate::point::{Hash32, Point, Tip};

pub(crate) const ENTRY_BYTES: usize = 56;

/// What the indexes say of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockEntry {
    /// Absolute slot; of an epoch boundary block, the first slot of its epoch.
    pub slot: u64,
    /// Header hash.
    pub hash: Hash32,
    /// zlib's CRC-32 of the whole block.
    pub crc32: u32,
    /// Where the block begins in its chunk file.
    pub offset: u64,
    /// The block's length in bytes.
    pub size: u32,
    /// Where the header begins, from the block's beginning.
    pub header_offset: u16,
    /// The header's length in bytes.
    pub header_size: u16,
    /// Whether it is an epoch boundary block.
    pub is_ebb: bool,
}

struct Chunk {
    number: u64,
    path: PathBuf,
    blocks: Option<Mmap>,
    secondary: Option<Mmap>,
    first: usize,
    count: usize,
    has_ebb: bool,
}

impl Chunk {
    fn bytes(&self) -> &[u8] {
        self.blocks.as_deref().unwrap_or_default()
    }

    fn raw_entry(&self, position: usize) -> &[u8] {
        &self.secondary.as_deref().unwrap_or_default()[position * ENTRY_BYTES..][..ENTRY_BYTES]
    }

    fn raw_offset(&self, position: usize) -> u64 {
        if position < self.count { be64(self.raw_entry(position)) } else { self.bytes().len() as u64 }
    }

    fn raw_slot(&self, position: usize) -> u64 {
        be64(&self.raw_entry(position)[48..])
    }
}

/// A stretch of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its blocks' indexes in the chain.
    pub range: Range<usize>,
    /// The point before its first block, where a client intersects.
    pub start: Point,
    /// Its first block.
    pub first: Point,
    /// Its last block.
    pub last: Point,
    /// How many blocks it has.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A chunk file that a window lies in, as read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkIdentity {
    /// The file's name.
    pub file: String,
    /// Its length.
    pub bytes: u64,
    /// SHA-256 of the whole file, in hex.
    pub sha256: String,
}

/// An ImmutableDB, opened for reading. Every chunk counts, the last one too.
pub struct Chain {
    path: PathBuf,
    chunks: Vec<Chunk>,
    len: usize,
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
        let numbers = chunk_numbers(&path)?;
        for pair in numbers.windows(2) {
            if pair[0] + 1 != pair[1] {
                return Err(ChainError::MissingChunk { path: chunk_path(&path, pair[1], "chunk"), expected: pair[0] + 1 });
            }
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

    /// How many blocks it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no block.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many chunks it has.
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

    /// What the indexes say of a block.
    pub fn entry(&self, index: usize) -> BlockEntry {
        let chunk = &self.chunks[self.chunk_of(index)];
        let position = index - chunk.first;
        let raw = chunk.raw_entry(position);
        let offset = chunk.raw_offset(position);
        let is_ebb = position == 0 && chunk.has_ebb;
        BlockEntry {
            slot: if is_ebb { chunk.raw_slot(position).saturating_mul(self.chunk_slots) } else { chunk.raw_slot(position) },
            hash: raw[16..48].try_into().expect("32 bytes"),
            crc32: u32::from_be_bytes(raw[12..16].try_into().expect("4 bytes")),
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
        let position = index - chunk.first;
        &chunk.bytes()[chunk.raw_offset(position) as usize..chunk.raw_offset(position + 1) as usize]
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

    /// The last block.
    ///
    /// # Errors
    /// The chain is empty, or its last block can't be decoded.
    pub fn tip(&self) -> Result<Tip, ChainError> {
        let last = self.len.checked_sub(1).ok_or_else(|| ChainError::Empty { path: self.path.clone() })?;
        let header = block::decode_header(self.bytes(last)).map_err(|source| self.block_error(last, source))?;
        Ok(Tip { point: self.point(last), block_no: header.block_no })
    }

    /// The window of `blocks` blocks (all that are left, for None) after `start`.
    ///
    /// # Errors
    /// The chain hasn't this point or not so many blocks after it.
    pub fn window(&self, start: &Point, blocks: Option<u64>) -> Result<Window, ChainError> {
        let first = match start {
            Point::Origin => 0,
            point => self.find(point).ok_or_else(|| ChainError::NoSuchPoint { path: self.path.clone(), point: *point })? + 1,
        };
        let found = (self.len - first) as u64;
        let asked = blocks.unwrap_or(found.max(1));
        if asked > found || asked == 0 {
            return Err(ChainError::TooShort { path: self.path.clone(), start: *start, found, asked });
        }
        Ok(self.window_of(first..first + asked as usize))
    }

    /// The window of `blocks` blocks with the most bytes; the first of several such.
    ///
    /// # Errors
    /// The chain hasn't so many blocks.
    pub fn densest_window(&self, blocks: u64) -> Result<Window, ChainError> {
        if blocks > self.len as u64 || blocks == 0 {
            return Err(ChainError::TooShort { path: self.path.clone(), start: Point::Origin, found: self.len as u64, asked: blocks });
        }
        let length = blocks as usize;
        let sizes: Vec<u64> = (0..self.len).map(|index| u64::from(self.entry(index).size)).collect();
        let mut sum: u64 = sizes[..length].iter().sum();
        let (mut best, mut first) = (sum, 0);
        for next in length..self.len {
            sum = sum + sizes[next] - sizes[next - length];
            if sum > best {
                (best, first) = (sum, next + 1 - length);
            }
        }
        Ok(self.window_of(first..first + length))
    }

    fn window_of(&self, range: Range<usize>) -> Window {
        Window {
            start: range.start.checked_sub(1).map_or(Point::Origin, |before| self.point(before)),
            first: self.point(range.start),
            last: self.point(range.end - 1),
            blocks: range.len() as u64,
            bytes: range.clone().map(|index| u64::from(self.entry(index).size)).sum(),
            range,
        }
    }

    /// Reads every block of the chunk at a position: CRC, header hash, and that each follows the one before it.
    ///
    /// # Errors
    /// The first damage, by file and offset.
    pub fn check_chunk(&self, position: usize) -> Result<(), ChainError> {
        for index in self.chunk_blocks(position) {
            self.check_block(index)?;
        }
        Ok(())
    }

    fn check_block(&self, index: usize) -> Result<(), ChainError> {
        let (entry, bytes) = (self.entry(index), self.bytes(index));
        let path = || self.block_path(index);
        let found = crc32fast::hash(bytes);
        if found != entry.crc32 {
            return Err(ChainError::Crc { path: path(), offset: entry.offset, slot: entry.slot, found, expected: entry.crc32 });
        }
        let header = block::decode_header(bytes).map_err(|source| self.block_error(index, source))?;
        let indexed = (u32::from(entry.header_offset), u32::from(entry.header_offset) + u32::from(entry.header_size));
        if header.hash != entry.hash || (header.span.start, header.span.end) != indexed {
            return Err(ChainError::HeaderHash { path: path(), offset: entry.offset + u64::from(entry.header_offset), slot: entry.slot });
        }
        let follows = match index.checked_sub(1) {
            Some(before) => header.prev_hash == Some(self.entry(before).hash),
            None => true, // what comes before the first block of the folder isn't ours to know
        };
        if !follows {
            return Err(ChainError::Broken { path: path(), offset: entry.offset, slot: entry.slot });
        }
        Ok(())
    }

    /// The chunk files that a window lies in, each with its SHA-256, checking every block in them on the way.
    ///
    /// # Errors
    /// The first damage, by file and offset.
    pub fn identity(&self, window: &Window) -> Result<Vec<ChunkIdentity>, ChainError> {
        (self.chunk_of(window.range.start)..=self.chunk_of(window.range.end - 1))
            .into_par_iter()
            .map(|position| {
                self.check_chunk(position)?;
                let chunk = &self.chunks[position];
                Ok(ChunkIdentity {
                    file: chunk.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                    bytes: chunk.bytes().len() as u64,
                    sha256: hex::encode(Sha256::digest(chunk.bytes())),
                })
            })
            .collect()
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

fn be64(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes[..8].try_into().expect("8 bytes"))
}

pub(crate) fn chunk_path(folder: &Path, number: u64, kind: &str) -> PathBuf {
    folder.join(format!("{number:05}.{kind}"))
}

fn chunk_numbers(folder: &Path) -> Result<Vec<u64>, ChainError> {
    let not_a_chain = || ChainError::NotAChain { path: folder.to_path_buf() };
    if !folder.is_dir() {
        return Err(not_a_chain());
    }
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
    if numbers.is_empty() { Err(not_a_chain()) } else { Ok(numbers) }
}

fn map(path: &Path) -> Result<Option<Mmap>, ChainError> {
    let io = |source: std::io::Error| {
        if source.kind() == std::io::ErrorKind::NotFound {
            ChainError::MissingFile { path: path.to_path_buf() }
        } else {
            ChainError::Io { path: path.to_path_buf(), source }
        }
    };
    let file = File::open(path).map_err(io)?;
    if file.metadata().map_err(io)?.len() == 0 {
        return Ok(None); // an empty file can't be mapped
    }
    // SAFETY: an ImmutableDB's files are append-only and complete ones never change; a file cut by somebody else
    // while it is mapped ends this process with SIGBUS, as with every reader of mapped files.
    Ok(Some(unsafe { Mmap::map(&file) }.map_err(io)?))
}

fn index_error(folder: &Path, number: u64, kind: &str, offset: usize, what: String) -> ChainError {
    ChainError::Index { path: chunk_path(folder, number, kind), offset: offset as u64, what }
}

/// Maps a chunk's three files and checks the indexes; with the slots a chunk, where they can be told from it.
fn load(folder: &Path, number: u64) -> Result<(Chunk, Option<u64>), ChainError> {
    let paths = ["chunk", "secondary", "primary"].map(|kind| chunk_path(folder, number, kind));
    let [blocks, secondary, primary] = [map(&paths[0])?, map(&paths[1])?, map(&paths[2])?];
    let entries = secondary.as_deref().unwrap_or_default();
    if !entries.len().is_multiple_of(ENTRY_BYTES) {
        let length = entries.len() as u64;
        let at = length - length % ENTRY_BYTES as u64;
        return Err(ChainError::Cut { path: paths[1].clone(), length, unit: "entries of 56 bytes", at });
    }
    let slots = primary.as_deref().unwrap_or_default();
    match slots.first() {
        None => return Err(ChainError::Cut { path: paths[2].clone(), length: 0, unit: "offsets of 4 bytes behind a version byte", at: 0 }),
        Some(1) => {}
        Some(&found) => return Err(ChainError::Version { path: paths[2].clone(), found }),
    }
    if slots.len() % 4 != 1 {
        let length = slots.len() as u64;
        let at = length - (length - 1) % 4;
        return Err(ChainError::Cut { path: paths[2].clone(), length, unit: "offsets of 4 bytes behind a version byte", at });
    }
    let count = entries.len() / ENTRY_BYTES;
    let [path, ..] = paths;
    let mut chunk = Chunk { number, path, blocks, secondary, first: 0, count, has_ebb: false };
    let relative = relative_slots(folder, number, slots, count)?;
    chunk.has_ebb = relative.first() == Some(&0);
    let chunk_slots = check_entries(folder, &chunk, &relative)?;
    Ok((chunk, chunk_slots))
}

/// The relative slot of each entry, from the primary index: 0 is for an epoch boundary block.
fn relative_slots(folder: &Path, number: u64, primary: &[u8], count: usize) -> Result<Vec<u64>, ChainError> {
    let mut relative = Vec::with_capacity(count);
    let mut before = 0u32;
    for (position, offset) in primary[1..].chunks_exact(4).enumerate() {
        let offset = u32::from_be_bytes(offset.try_into().expect("4 bytes"));
        let at = 1 + 4 * position;
        let expected_or_equal = if position == 0 { offset == 0 } else { offset == before || offset == before + ENTRY_BYTES as u32 };
        if !expected_or_equal || offset as usize > count * ENTRY_BYTES {
            let what = format!("offset {offset} into the secondary index doesn't follow {before}, or lies behind its {count} entries");
            return Err(index_error(folder, number, "primary", at, what));
        }
        if offset > before {
            relative.push(position as u64 - 1);
        }
        before = offset;
    }
    if relative.len() != count {
        let what = format!("it ends after {} of the secondary index's {count} entries", relative.len());
        return Err(index_error(folder, number, "primary", primary.len(), what));
    }
    Ok(relative)
}

/// Checks offsets, sizes and slots of a chunk's entries; yields the slots a chunk that they imply, where they do.
fn check_entries(folder: &Path, chunk: &Chunk, relative: &[u64]) -> Result<Option<u64>, ChainError> {
    let (number, length) = (chunk.number, chunk.bytes().len() as u64);
    let error =
        |position: usize, field: usize, what: String| index_error(folder, number, "secondary", position * ENTRY_BYTES + field, what);
    if chunk.count == 0 && length > 0 {
        return Err(error(0, 0, format!("no entry, but the chunk file has {length} bytes")));
    }
    let mut chunk_slots = None;
    for (position, &relative) in relative.iter().enumerate() {
        let raw = chunk.raw_entry(position);
        let (offset, end) = (chunk.raw_offset(position), chunk.raw_offset(position + 1));
        if position == 0 && offset != 0 {
            return Err(error(position, 0, format!("the first block begins at {offset}, not at 0")));
        }
        if offset >= end || end > length || end - offset > u64::from(u32::MAX) {
            return Err(error(
                position,
                0,
                format!("a block from {offset} to {end} doesn't fit the chunk file's {length} bytes: one of the two was cut"),
            ));
        }
        let header_end = u64::from(u16::from_be_bytes([raw[8], raw[9]])) + u64::from(u16::from_be_bytes([raw[10], raw[11]]));
        if header_end > end - offset {
            return Err(error(position, 8, format!("a header that ends at {header_end} lies outside its block of {} bytes", end - offset)));
        }
        let slot = chunk.raw_slot(position);
        if position > usize::from(chunk.has_ebb) && slot <= chunk.raw_slot(position - 1) {
            return Err(error(position, 48, format!("slot {slot} follows slot {}", chunk.raw_slot(position - 1))));
        }
        if relative == 0 {
            continue; // an epoch boundary block's entry holds its epoch
        }
        let base = slot.checked_sub(relative - 1);
        let implied = match (base, number) {
            (Some(0), 0) => None,
            (Some(base), 1..) if base.is_multiple_of(number) && base > 0 => Some(base / number),
            _ => {
                return Err(error(
                    position,
                    48,
                    format!("slot {slot} is not the one that the primary index has it in ({relative} of the chunk)"),
                ));
            }
        };
        if implied.is_some() && chunk_slots.is_some() && implied != chunk_slots {
            return Err(error(
                position,
                48,
                format!("slot {slot} is not the one that the primary index has it in ({relative} of the chunk)"),
            ));
        }
        chunk_slots = chunk_slots.or(implied);
    }
    Ok(chunk_slots)
}
