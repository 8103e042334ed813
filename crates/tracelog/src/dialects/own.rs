//! Blocks that the node made itself: the row of one's adoption waits for the line with its size.

use std::collections::VecDeque;

use super::entry::Entry;
use super::parts::At;
use crate::messages::{Block, Body, Message};

/// Most own blocks that are followed at once: far more than a node makes between the adoption of one and the first request for it.
pub(super) const MOST_OWN: usize = 100;

/// The last own blocks, the oldest first.
#[derive(Default)]
pub(super) struct OwnBlocks(VecDeque<Own>);

struct Own {
    block: Box<[u8]>,
    slot: i64,
    block_no: Option<i64>,
    size_bytes: Option<i64>,
    /// The line with its adoption, and by how much the chain grew.
    adopted: Option<(At, Option<i64>)>,
}

impl OwnBlocks {
    /// Returns whether a block is one of them.
    pub fn has(&self, block: &[u8]) -> bool {
        self.0.iter().any(|own| *own.block == *block)
    }

    /// Adds a block that isn't one of them yet; the oldest goes where there are as many as may be.
    pub fn add<E>(
        &mut self,
        block: &[u8],
        slot: i64,
        block_no: Option<i64>,
        give: &mut impl FnMut(&Entry<'_>, i64) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.0.len() == MOST_OWN
            && let Some(oldest) = self.0.pop_front()
        {
            oldest.give_without_size(give)?;
        }
        self.0.push_back(Own { block: block.into(), slot, block_no, size_bytes: None, adopted: None });
        Ok(())
    }

    /// Takes the adoption of a block; returns whether it is one of them that wasn't adopted before.
    pub fn adopt<E>(
        &mut self,
        block: &[u8],
        at: At,
        length: Option<i64>,
        give: &mut impl FnMut(&Entry<'_>, i64) -> Result<(), E>,
    ) -> Result<bool, E> {
        let Some(own) = self.0.iter_mut().find(|own| *own.block == *block && own.adopted.is_none()) else { return Ok(false) };
        own.adopted = Some((at, length));
        if own.size_bytes.is_some() {
            own.give(give)?;
        }
        Ok(true)
    }

    /// Takes the size of a block; where it is one of them that was adopted, its row is complete.
    pub fn size<E>(&mut self, block: &[u8], size_bytes: i64, give: &mut impl FnMut(&Entry<'_>, i64) -> Result<(), E>) -> Result<(), E> {
        match self.0.iter_mut().find(|own| *own.block == *block && own.size_bytes.is_none()) {
            Some(own) => {
                own.size_bytes = Some(size_bytes);
                own.give(give)
            }
            None => Ok(()),
        }
    }

    /// Gives the rows that still wait.
    pub fn give_rest<E>(&mut self, mut give: impl FnMut(&Entry<'_>, i64) -> Result<(), E>) -> Result<(), E> {
        self.0.drain(..).try_for_each(|own| own.give_without_size(&mut give))
    }

    /// Returns whether there are no more than may be.
    #[cfg(test)]
    pub fn is_within_bounds(&self) -> bool {
        self.0.len() <= MOST_OWN
    }
}

impl Own {
    /// Gives the row of its adoption where it still waits for the size.
    fn give_without_size<E>(&self, give: &mut impl FnMut(&Entry<'_>, i64) -> Result<(), E>) -> Result<(), E> {
        if self.size_bytes.is_none() { self.give(give) } else { Ok(()) }
    }

    /// Gives the row of its adoption, where it was adopted.
    fn give<E>(&self, give: &mut impl FnMut(&Entry<'_>, i64) -> Result<(), E>) -> Result<(), E> {
        let Some((at, length)) = self.adopted else { return Ok(()) };
        let Self { block, slot, block_no, size_bytes, .. } = self;
        let body = Block { block, slot: Some(*slot), block_no: *block_no, size_bytes: *size_bytes, length, ..Block::default() };
        give(&at.entry(Message::SelfAdopted, Body::Block(body)), at.place)
    }
}
