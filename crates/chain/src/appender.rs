//! Writing an ImmutableDB as a node does: block by block behind what is there, readable all the time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::block::decode_header;
use crate::error::ChainError;
use crate::immutable::{ENTRY_BYTES, chunk_numbers, chunk_path, index_error};
use crate::point::{Hash32, Point};
use crate::writer::NewBlock;

/// An ImmutableDB that grows. A process that ends at any moment loses at most the block that it was writing: opening cuts off
/// what isn't whole.
pub struct ChainAppender {
    path: PathBuf,
    chunk_slots: u64,
    places: Vec<Place>,
    open: Option<OpenChunk>,
    /// True after a failed write: files may then hold a part of a block, which only opening anew cuts off.
    broken: bool,
}

/// The place of a block.
#[derive(Clone, Copy, Debug)]
struct Place {
    slot: u64,
    hash: Hash32,
    chunk: u64,
    offset: u64,
    size: u32,
}

/// An entry of a secondary index, as it stands there.
struct Entry {
    position: usize,
    offset: u64,
    /// The latest end of its block: the start of the next one, or the end of the chunk.
    limit: u64,
    crc32: u32,
    hash: Hash32,
    slot: u64,
}

struct OpenChunk {
    number: u64,
    blocks: File,
    secondary: File,
    primary: File,
    bytes: u64,
    entries: u32,
    /// Offsets in the primary index.
    offsets: u64,
}

impl ChainAppender {
    /// Opens a folder, which is made where it isn't there. What a process that was killed left behind the last whole block is
    /// cut off.
    ///
    /// # Errors
    /// Files can't be read or written, a chunk is missing before the last one or its entries are damaged, or chunks have other
    /// numbers of slots.
    pub fn open(folder: impl AsRef<Path>, chunk_slots: u64) -> Result<Self, ChainError> {
        let path = folder.as_ref().to_path_buf();
        fs::create_dir_all(&path).map_err(|source| ChainError::Write { path: path.clone(), source })?;
        let mut numbers = chunk_numbers(&path)?;
        // The chunk's own file is made last: what has none isn't there yet.
        numbers.pop_if(|last| !chunk_path(&path, *last, "chunk").exists());
        if let Some(first) = numbers.first().filter(|first| **first > 0) {
            return Err(ChainError::MissingChunk { path: chunk_path(&path, *first, "chunk"), expected: 0 });
        }
        let mut chain = Self { path, chunk_slots: chunk_slots.max(1), places: Vec::new(), open: None, broken: false };
        let last = numbers.pop();
        for number in numbers {
            chain.load_chunk(number)?;
        }
        if let Some(last) = last {
            chain.open = Some(chain.load_last_chunk(last)?);
        }
        Ok(chain)
    }

    /// Takes in the entries of a chunk before the last one, which must be whole.
    fn load_chunk(&mut self, number: u64) -> Result<(), ChainError> {
        let path = chunk_path(&self.path, number, "secondary");
        let secondary = fs::read(&path).map_err(|source| ChainError::Io { path, source })?;
        let path = chunk_path(&self.path, number, "chunk");
        let length = fs::metadata(&path).map_err(|source| ChainError::Io { path, source })?.len();
        let (mut end, mut last_crc32) = (0, None);
        for entry in entries(&secondary, length) {
            if !entry.fits(end, length) {
                break;
            }
            self.add(number, &entry, entry.limit - entry.offset)?;
            (end, last_crc32) = (entry.limit, Some(entry.crc32));
        }
        // Nothing but the last block itself shows whether it ends where the file does.
        let ends_whole = match last_crc32 {
            Some(expected) => crc32fast::hash(&self.block(self.places.len() - 1)?) == expected,
            None => true,
        };
        if end == length && ends_whole && secondary.len().is_multiple_of(ENTRY_BYTES) {
            return Ok(());
        }
        let what = format!("its entries don't fit the chunk file's {length} bytes: one of the two was cut");
        Err(index_error(&self.path, number, "secondary", secondary.len(), what))
    }

    /// Takes in the last chunk: checks every block, cuts off what isn't whole, and makes the primary index anew.
    fn load_last_chunk(&mut self, number: u64) -> Result<OpenChunk, ChainError> {
        let read = |kind: &str| {
            let path = chunk_path(&self.path, number, kind);
            fs::read(&path).or_else(|source| match source.kind() {
                io::ErrorKind::NotFound => Ok(Vec::new()),
                _ => Err(ChainError::Io { path, source }),
            })
        };
        let (blocks, secondary) = (read("chunk")?, read("secondary")?);
        let first = self.places.len();
        let mut end = 0;
        for entry in entries(&secondary, blocks.len() as u64) {
            if !entry.fits(end, blocks.len() as u64) {
                break;
            }
            let bytes = &blocks[entry.offset as usize..entry.limit as usize];
            let Some(size) = item_length(bytes).filter(|size| crc32fast::hash(&bytes[..*size]) == entry.crc32) else { break };
            self.add(number, &entry, size as u64)?;
            end = entry.offset + size as u64;
        }
        let kept = self.places.len() - first;
        let reopened = || {
            let file = |kind: &str| OpenOptions::new().append(true).create(true).open(chunk_path(&self.path, number, kind));
            let [blocks, secondary, primary] = [file("chunk")?, file("secondary")?, file("primary")?];
            blocks.set_len(end)?;
            secondary.set_len((kept * ENTRY_BYTES) as u64)?;
            primary.set_len(0)?;
            let mut open = OpenChunk { number, blocks, secondary, primary, bytes: end, entries: kept as u32, offsets: 0 };
            open.begin_primary()?;
            for (count, place) in (0..).zip(&self.places[first..]) {
                open.index(place.slot % self.chunk_slots, count)?;
            }
            Ok(open)
        };
        reopened().map_err(|source| ChainError::Write { path: self.path.clone(), source })
    }

    /// Takes in a chunk's next block.
    fn add(&mut self, chunk: u64, entry: &Entry, size: u64) -> Result<(), ChainError> {
        let Entry { slot, hash, offset, .. } = *entry;
        let damaged = |what| index_error(&self.path, chunk, "secondary", entry.position * ENTRY_BYTES, what);
        if slot / self.chunk_slots != chunk {
            return Err(damaged(format!("slot {slot} isn't one of this chunk, where chunks have {} slots", self.chunk_slots)));
        }
        if let Some(last) = self.places.last().filter(|last| slot <= last.slot) {
            return Err(damaged(format!("slot {slot} follows slot {}", last.slot)));
        }
        let size = u32::try_from(size).map_err(|_| damaged(format!("a block of {size} bytes")))?;
        self.places.push(Place { slot, hash, chunk, offset, size });
        Ok(())
    }

    /// Returns the number of blocks.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns whether there is no block.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The point of a block by its place, counted from 0; None where there is none.
    pub fn point(&self, index: usize) -> Option<Point> {
        self.places.get(index).map(|place| Point::Block { slot: place.slot, hash: place.hash })
    }

    /// The place of the block at a point.
    pub fn find(&self, point: &Point) -> Option<usize> {
        let Point::Block { slot, hash } = point else { return None };
        let index = self.places.partition_point(|place| place.slot < *slot);
        self.places.get(index).filter(|place| place.slot == *slot && place.hash == *hash).map(|_| index)
    }

    /// A block by its place.
    ///
    /// # Errors
    /// Its chunk can't be read.
    pub fn block(&self, index: usize) -> Result<Vec<u8>, ChainError> {
        let place = &self.places[index];
        let path = chunk_path(&self.path, place.chunk, "chunk");
        let mut bytes = vec![0; place.size as usize];
        File::open(&path)
            .and_then(|file| file.read_exact_at(&mut bytes, place.offset))
            .map_err(|source| ChainError::Io { path, source })?;
        Ok(bytes)
    }

    /// Appends a block.
    ///
    /// # Errors
    /// Its slot isn't after the last one's, or it can't be written; after a write that failed, none can be until the chain is opened anew.
    pub fn append(&mut self, block: &NewBlock<'_>) -> Result<(), ChainError> {
        if let Some(last) = self.places.last().filter(|last| block.slot <= last.slot) {
            return Err(ChainError::Order { slot: block.slot, last: last.slot });
        }
        let written = if self.broken { Err(io::Error::other("an earlier write failed: open the chain anew")) } else { self.write(block) };
        self.broken |= written.is_err();
        written.map_err(|source| ChainError::Write { path: self.path.clone(), source })
    }

    fn write(&mut self, block: &NewBlock<'_>) -> io::Result<()> {
        let number = block.slot / self.chunk_slots;
        while self.open.as_ref().is_none_or(|open| open.number < number) {
            let next = match &mut self.open {
                Some(open) => {
                    open.fill(self.chunk_slots + 2)?;
                    open.number + 1
                }
                None => 0,
            };
            // Indexes may be there where a process was killed that made them.
            let create = |kind: &str| File::create(chunk_path(&self.path, next, kind));
            let mut open = OpenChunk {
                number: next,
                // The chunk's own file is made last: what has none isn't there yet.
                primary: create("primary")?,
                secondary: create("secondary")?,
                blocks: create("chunk")?,
                bytes: 0,
                entries: 0,
                offsets: 0,
            };
            open.begin_primary()?;
            self.open = Some(open);
        }
        let open = self.open.as_mut().expect("opened above");
        let mut entry = Vec::with_capacity(ENTRY_BYTES);
        entry.extend(open.bytes.to_be_bytes());
        entry.extend(block.header_offset.to_be_bytes());
        entry.extend(block.header_size.to_be_bytes());
        entry.extend(crc32fast::hash(block.bytes).to_be_bytes());
        entry.extend(block.hash);
        entry.extend(block.slot.to_be_bytes());
        open.blocks.write_all(block.bytes)?;
        open.secondary.write_all(&entry)?;
        open.index(block.slot % self.chunk_slots, open.entries)?;
        let size = block.bytes.len() as u32;
        self.places.push(Place { slot: block.slot, hash: block.hash, chunk: number, offset: open.bytes, size });
        open.bytes += u64::from(size);
        open.entries += 1;
        Ok(())
    }
}

/// The entries of a secondary index, of a chunk of this size.
fn entries(secondary: &[u8], length: u64) -> impl Iterator<Item = Entry> {
    let be64 = |bytes: &[u8]| u64::from_be_bytes(bytes[..8].try_into().expect("8 bytes"));
    let nexts = secondary.chunks_exact(ENTRY_BYTES).skip(1).map(be64).chain([length]);
    secondary.chunks_exact(ENTRY_BYTES).zip(nexts).enumerate().map(move |(position, (bytes, limit))| Entry {
        position,
        offset: be64(bytes),
        limit,
        crc32: u32::from_be_bytes(bytes[12..16].try_into().expect("4 bytes")),
        hash: bytes[16..48].try_into().expect("32 bytes"),
        slot: be64(&bytes[48..]),
    })
}

impl Entry {
    /// Returns whether its block lies behind the one that ends at `end`, in a chunk of `length` bytes.
    fn fits(&self, end: u64, length: u64) -> bool {
        self.offset == end && end < self.limit && self.limit <= length
    }
}

impl OpenChunk {
    /// The version, and that nothing comes before the first slot.
    fn begin_primary(&mut self) -> io::Result<()> {
        self.primary.write_all(&[1, 0, 0, 0, 0, 0, 0, 0, 0])?;
        self.offsets = 2;
        Ok(())
    }

    /// Notes the entry of a slot, by its place in the chunk, with the number of entries before it.
    fn index(&mut self, slot: u64, before: u32) -> io::Result<()> {
        let mut offsets = Vec::new();
        let offset = before * ENTRY_BYTES as u32;
        for _ in self.offsets..slot + 2 {
            offsets.extend(offset.to_be_bytes());
        }
        offsets.extend((offset + ENTRY_BYTES as u32).to_be_bytes());
        self.primary.write_all(&offsets)?;
        self.offsets = self.offsets.max(slot + 2) + 1;
        Ok(())
    }

    /// Brings the primary index to this number of offsets.
    fn fill(&mut self, offsets: u64) -> io::Result<()> {
        let offset = (self.entries * ENTRY_BYTES as u32).to_be_bytes();
        let missing = offsets.saturating_sub(self.offsets) as usize;
        self.primary.write_all(&offset.repeat(missing))?;
        self.offsets = self.offsets.max(offsets);
        Ok(())
    }
}

/// The length of the block that bytes begin with; None where it isn't whole.
fn item_length(bytes: &[u8]) -> Option<usize> {
    decode_header(bytes).ok()?;
    let mut cursor = crate::cbor::Cursor::new(bytes);
    cursor.skip().ok()?;
    Some(cursor.position())
}
