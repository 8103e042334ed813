//! Stretches of a chain.

use std::ops::Range;

use rayon::prelude::*;
use sha2::{Digest as _, Sha256};

use super::chain::Chain;
use crate::error::ChainError;
use crate::point::Point;

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
    /// Number of blocks.
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

impl Chain {
    /// The window of `blocks` blocks (all that are left, for None) after `start`.
    ///
    /// # Errors
    /// The chain doesn't have this point, or fewer blocks after it.
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

    /// The window that a start in words means: a point, `origin`, or `densest`, the window with the most bytes.
    ///
    /// # Errors
    /// The words are no point, the chain doesn't have it, or the chain has fewer blocks.
    pub fn window_from(&self, start: &str, blocks: Option<u64>) -> Result<Window, ChainError> {
        if start == "densest" {
            return self.densest_window(blocks.unwrap_or(self.len as u64));
        }
        self.window(&start.parse::<Point>().map_err(|_| ChainError::Start(start.to_owned()))?, blocks)
    }

    /// The window of `blocks` blocks with the most bytes; the first of several such.
    ///
    /// # Errors
    /// The chain has fewer blocks.
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
}
