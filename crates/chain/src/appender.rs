//! Writing an ImmutableDB as a node does: block by block behind what is there, readable all the time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::block::decode_header;
use crate::error::ChainError;
use crate::immutable::{ENTRY_BYTES, chunk_path};
use crate::point::{Hash32, Point};
use crate::writer::NewBlock;

/// An ImmutableDB that grows. A process that ends at any moment loses at most the block that it was writing: opening cuts off
/// what isn't whole.
pub struct ChainAppender {
    path: PathBuf,
    chunk_slots: u64,
    places: Vec<Place>,
    open: Option<OpenChunk>,
}

/// Where a block is.
#[derive(Clone, Copy, Debug)]
struct Place {
    slot: u64,
    hash: Hash32,
    chunk: u64,
    offset: u64,
    size: u32,
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
    /// Files can't be read or written, or the indexes of a chunk before the last one are damaged.
    pub fn open(folder: impl AsRef<Path>, chunk_slots: u64) -> Result<Self, ChainError> {
        let path = folder.as_ref().to_path_buf();
        let mut chain = Self { path, chunk_slots: chunk_slots.max(1), places: Vec::new(), open: None };
        chain.load().map_err(|source| ChainError::Write { path: chain.path.clone(), source })?;
        Ok(chain)
    }

    fn load(&mut self) -> io::Result<()> {
        fs::create_dir_all(&self.path)?;
        let mut number = 0;
        while chunk_path(&self.path, number, "chunk").exists() {
            let is_last = !chunk_path(&self.path, number + 1, "chunk").exists();
            let open = self.load_chunk(number, is_last)?;
            self.open = Some(open);
            number += 1;
        }
        Ok(())
    }

    /// Reads a chunk's indexes; of the last chunk, checks every block and makes the indexes anew.
    fn load_chunk(&mut self, number: u64, is_last: bool) -> io::Result<OpenChunk> {
        let entries = fs::read(chunk_path(&self.path, number, "secondary")).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound if is_last => Ok(Vec::new()),
            _ => Err(error),
        })?;
        let blocks = fs::read(chunk_path(&self.path, number, "chunk")).map(|blocks| if is_last { blocks } else { Vec::new() })?;
        let length = if is_last { blocks.len() as u64 } else { fs::metadata(chunk_path(&self.path, number, "chunk"))?.len() };
        let be64 = |bytes: &[u8]| u64::from_be_bytes(bytes[..8].try_into().expect("8 bytes"));
        let raw: Vec<&[u8]> = entries.chunks_exact(ENTRY_BYTES).collect();
        let mut kept = 0;
        let mut end = 0;
        for (position, entry) in raw.iter().enumerate() {
            let offset = be64(entry);
            // A block ends where the next one begins; the last one where its own CBOR does, for there may be a torn one behind.
            let limit = raw.get(position + 1).map_or(length, |next| be64(next));
            if offset != end || limit > length || offset >= limit {
                break;
            }
            let mut size = limit - offset;
            if is_last {
                let bytes = &blocks[offset as usize..limit as usize];
                let crc = u32::from_be_bytes(entry[12..16].try_into().expect("4 bytes"));
                let Some(whole) = item_length(bytes).filter(|whole| crc32fast::hash(&bytes[..*whole]) == crc) else { break };
                size = whole as u64;
            }
            let slot = be64(&entry[48..]);
            let hash = entry[16..48].try_into().expect("32 bytes");
            self.places.push(Place { slot, hash, chunk: number, offset, size: size as u32 });
            (kept, end) = (position + 1, offset + size);
        }
        if !is_last && kept != raw.len() {
            let what = format!("{:05}.secondary: its entries don't fit the chunk's {length} bytes", number);
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let append = |kind: &str| OpenOptions::new().append(true).create(true).open(chunk_path(&self.path, number, kind));
        let mut open = OpenChunk {
            number,
            blocks: append("chunk")?,
            secondary: append("secondary")?,
            primary: append("primary")?,
            bytes: end,
            entries: kept as u32,
            offsets: 0,
        };
        if is_last {
            open.blocks.set_len(end)?;
            open.secondary.set_len((kept * ENTRY_BYTES) as u64)?;
            open.primary.set_len(0)?;
            open.begin_primary()?;
            let first = self.places.len() - kept;
            for (count, place) in (0..).zip(&self.places[first..]) {
                open.index(place.slot % self.chunk_slots, count)?;
            }
        }
        Ok(open)
    }

    /// How many blocks it has.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether it has no block.
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
    /// Its slot isn't after the last one's, or it can't be written.
    pub fn append(&mut self, block: &NewBlock<'_>) -> Result<(), ChainError> {
        if let Some(last) = self.places.last().filter(|last| block.slot <= last.slot) {
            return Err(ChainError::Order { slot: block.slot, last: last.slot });
        }
        self.write(block).map_err(|source| ChainError::Write { path: self.path.clone(), source })
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
            let create = |kind: &str| OpenOptions::new().append(true).create(true).open(chunk_path(&self.path, next, kind));
            let mut open = OpenChunk {
                number: next,
                // The chunk's file comes last: what has none isn't there.
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

impl OpenChunk {
    /// The version, and that nothing comes before the first slot.
    fn begin_primary(&mut self) -> io::Result<()> {
        self.primary.write_all(&[1, 0, 0, 0, 0, 0, 0, 0, 0])?;
        self.offsets = 2;
        Ok(())
    }

    /// Notes the entry of a slot, by its place in the chunk, where so many entries are before it.
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

    /// Brings the primary index to so many offsets.
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
