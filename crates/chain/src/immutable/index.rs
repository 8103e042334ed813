//! The indexes of a chunk, checked against each other and against its file of blocks.

use std::fs;
use std::path::Path;

use super::chunk::{Chunk, ENTRY_BYTES, chunk_path, io_error, map};
use crate::error::ChainError;

pub(crate) fn index_error(folder: &Path, number: u64, kind: &str, offset: usize, what: String) -> ChainError {
    ChainError::Index { path: chunk_path(folder, number, kind), offset: offset as u64, what }
}

/// Maps a chunk's blocks and entries and checks its indexes; with the slots a chunk, where they follow from it.
pub(super) fn load(folder: &Path, number: u64) -> Result<(Chunk, Option<u64>), ChainError> {
    let paths = ["chunk", "secondary", "primary"].map(|kind| chunk_path(folder, number, kind));
    let (blocks, secondary) = (map(&paths[0])?, map(&paths[1])?);
    // Read, and not mapped as the other two: it is only needed here, and small.
    let primary = fs::read(&paths[2]).map_err(|source| io_error(&paths[2], source))?;
    let entries = secondary.as_deref().unwrap_or_default();
    if !entries.len().is_multiple_of(ENTRY_BYTES) {
        let length = entries.len() as u64;
        let at = length - length % ENTRY_BYTES as u64;
        return Err(ChainError::Cut { path: paths[1].clone(), length, unit: "entries of 56 bytes", at });
    }
    match primary.first() {
        None => return Err(ChainError::Cut { path: paths[2].clone(), length: 0, unit: "offsets of 4 bytes behind a version byte", at: 0 }),
        Some(1) => {}
        Some(&found) => return Err(ChainError::Version { path: paths[2].clone(), found }),
    }
    if primary.len() % 4 != 1 {
        let length = primary.len() as u64;
        let at = length - (length - 1) % 4;
        return Err(ChainError::Cut { path: paths[2].clone(), length, unit: "offsets of 4 bytes behind a version byte", at });
    }
    let count = entries.len() / ENTRY_BYTES;
    let [path, ..] = paths;
    let mut chunk = Chunk { number, path, blocks, secondary, first: 0, count, has_ebb: false };
    let relative = relative_slots(folder, number, &primary, count)?;
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
        if offset == before {
            continue; // a slot without a block, and the 0 at the beginning
        }
        if position == 0 || offset != before + ENTRY_BYTES as u32 || offset as usize > count * ENTRY_BYTES {
            let what = format!("offset {offset} into the secondary index doesn't follow {before}, or lies behind its {count} entries");
            return Err(index_error(folder, number, "primary", 1 + 4 * position, what));
        }
        relative.push(position as u64 - 1);
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
