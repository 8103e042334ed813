//! Reading blocks to find damage.

use super::chain::Chain;
use crate::block::{self, Header};
use crate::error::ChainError;

impl Chain {
    /// Reads every block of the chunk at a position: CRC, header hash, that each follows the one before it, and that its body is its header's.
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
        let header = self.check_entry(index)?;
        let (entry, path) = (self.entry(index), || self.block_path(index));
        let follows = match index.checked_sub(1) {
            Some(before) => header.prev_hash == Some(self.entry(before).hash),
            None => true, // what comes before the folder's first block isn't in the folder
        };
        if !follows {
            return Err(ChainError::Broken { path: path(), offset: entry.offset, slot: entry.slot });
        }
        if !block::body_is_proven(self.bytes(index), &header) {
            return Err(ChainError::BodyHash { path: path(), offset: entry.offset, slot: entry.slot });
        }
        Ok(())
    }

    /// The whole block, `[era, block]`, whose CRC-32 is the one in its index entry.
    ///
    /// # Errors
    /// The difference, by file and offset.
    pub fn checked_bytes(&self, index: usize) -> Result<&[u8], ChainError> {
        // The chunk is looked up once: `bytes` and `entry` would each do it again.
        let chunk = &self.chunks[self.chunk_of(index)];
        let position = index - chunk.first;
        let bytes = chunk.block(position);
        let found = crc32fast::hash(bytes);
        if found != chunk.raw_crc32(position) {
            let entry = self.entry(index);
            let path = self.block_path(index);
            return Err(ChainError::Crc { path, offset: entry.offset, slot: entry.slot, found, expected: entry.crc32 });
        }
        Ok(bytes)
    }

    /// Reads one block and compares it with its index entry: CRC, header hash and place, slot. Gives the header.
    ///
    /// # Errors
    /// The difference, by file and offset.
    pub fn check_entry(&self, index: usize) -> Result<Header<'_>, ChainError> {
        let (entry, bytes) = (self.entry(index), self.checked_bytes(index)?);
        let path = || self.block_path(index);
        let header = block::decode_header(bytes).map_err(|source| self.block_error(index, source))?;
        let indexed = (u32::from(entry.header_offset), u32::from(entry.header_offset) + u32::from(entry.header_size));
        if header.hash != entry.hash || (header.span.start, header.span.end) != indexed {
            return Err(ChainError::HeaderHash { path: path(), offset: entry.offset + u64::from(entry.header_offset), slot: entry.slot });
        }
        // Byron counts the slots of an epoch boundary block by epochs whose length the header doesn't have.
        if !entry.is_ebb && header.slot != entry.slot {
            return Err(ChainError::HeaderSlot { path: path(), offset: entry.offset, slot: entry.slot, found: header.slot });
        }
        Ok(header)
    }
}
