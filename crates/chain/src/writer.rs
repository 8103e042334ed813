//! Writing an ImmutableDB.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use slotmark_newfolder::NewFolder;

use crate::error::ChainError;
use crate::immutable::{ENTRY_BYTES, chunk_path};
use crate::point::Hash32;

/// Writes a new chain folder under a temporary name beside its place; [`ChainWriter::finish`] puts it there.
///
/// Dropping it unfinished removes what was written.
pub struct ChainWriter {
    path: PathBuf,
    folder: NewFolder,
    chunk_slots: u64,
    chunk: Option<OpenChunk>,
    last_slot: Option<u64>,
}

struct OpenChunk {
    number: u64,
    blocks: BufWriter<File>,
    offset: u64,
    secondary: Vec<u8>,
    primary: Vec<u32>,
}

/// One block to be written.
pub struct NewBlock<'a> {
    /// The whole block, `[era, block]`.
    pub bytes: &'a [u8],
    /// Start of its header, from the start of the block.
    pub header_offset: u16,
    /// The header's length.
    pub header_size: u16,
    /// Absolute slot.
    pub slot: u64,
    /// Header hash.
    pub hash: Hash32,
}

impl ChainWriter {
    /// Begins a chain with this many slots a chunk file.
    ///
    /// # Errors
    /// Something is at `folder` already, or the place can't be written.
    pub fn create(folder: impl AsRef<Path>, chunk_slots: u64) -> Result<Self, ChainError> {
        let path = folder.as_ref().to_path_buf();
        match NewFolder::create(&path) {
            Ok(folder) => Ok(Self { path, folder, chunk_slots: chunk_slots.max(1), chunk: None, last_slot: None }),
            Err(source) if source.kind() == io::ErrorKind::AlreadyExists => Err(ChainError::Exists { path }),
            Err(source) => Err(ChainError::Write { path, source }),
        }
    }

    /// The folder as long as it is unfinished: what is put there comes into place with the chain.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Appends a block.
    ///
    /// # Errors
    /// Its slot isn't after the last one's, or it can't be written.
    pub fn append(&mut self, block: &NewBlock<'_>) -> Result<(), ChainError> {
        if let Some(last) = self.last_slot.filter(|&last| block.slot <= last) {
            return Err(ChainError::Order { slot: block.slot, last });
        }
        let number = block.slot / self.chunk_slots;
        while self.chunk.as_ref().is_none_or(|chunk| chunk.number < number) {
            let next = self.close_chunk()?.map_or(0, |closed| closed + 1);
            self.open_chunk(next)?;
        }
        let chunk = self.chunk.as_mut().expect("opened above");
        let relative = (block.slot % self.chunk_slots) as usize + 1;
        chunk.primary.resize(relative + 1, chunk.secondary.len() as u32);
        chunk.secondary.extend(chunk.offset.to_be_bytes());
        chunk.secondary.extend(block.header_offset.to_be_bytes());
        chunk.secondary.extend(block.header_size.to_be_bytes());
        chunk.secondary.extend(crc32fast::hash(block.bytes).to_be_bytes());
        chunk.secondary.extend(block.hash);
        chunk.secondary.extend(block.slot.to_be_bytes());
        debug_assert_eq!(chunk.secondary.len() % ENTRY_BYTES, 0);
        chunk.primary.push(chunk.secondary.len() as u32);
        chunk.offset += block.bytes.len() as u64;
        chunk.blocks.write_all(block.bytes).map_err(|source| ChainError::Write { path: self.path.clone(), source })?;
        self.last_slot = Some(block.slot);
        Ok(())
    }

    /// Closes the last chunk and puts the folder in its place.
    ///
    /// # Errors
    /// It can't be written.
    pub fn finish(mut self) -> Result<(), ChainError> {
        self.close_chunk()?;
        let path = self.path;
        self.folder.finish().map_err(|source| ChainError::Write { path, source })
    }

    fn open_chunk(&mut self, number: u64) -> Result<(), ChainError> {
        let path = chunk_path(self.folder.path(), number, "chunk");
        let file = File::create(&path).map_err(|source| ChainError::Write { path: self.path.clone(), source })?;
        self.chunk = Some(OpenChunk {
            number,
            blocks: BufWriter::with_capacity(1 << 20, file),
            offset: 0,
            secondary: Vec::new(),
            primary: vec![0, 0],
        });
        Ok(())
    }

    fn close_chunk(&mut self) -> Result<Option<u64>, ChainError> {
        let Some(mut chunk) = self.chunk.take() else { return Ok(None) };
        chunk.primary.resize(self.chunk_slots as usize + 2, chunk.secondary.len() as u32);
        let mut primary = vec![1];
        primary.extend(chunk.primary.iter().flat_map(|offset| offset.to_be_bytes()));
        let written = (|| -> io::Result<()> {
            chunk.blocks.flush()?;
            fs::write(chunk_path(self.folder.path(), chunk.number, "secondary"), &chunk.secondary)?;
            fs::write(chunk_path(self.folder.path(), chunk.number, "primary"), primary)
        })();
        written.map_err(|source| ChainError::Write { path: self.path.clone(), source })?;
        Ok(Some(chunk.number))
    }
}
