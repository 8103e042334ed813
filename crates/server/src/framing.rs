//! Replies of a chain, framed once: the bytes that go over the wire, ready to be sent by one write for many messages.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use slotmark_chain::block::Era;
use slotmark_chain::{CborBuffer, Chain, ChainError, Tip};
use slotmark_wire::message::put_tip;
use slotmark_wire::mux::frame;
use slotmark_wire::protocols::{block_fetch, chain_sync};

/// The part of each block that is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Framing {
    /// Node-to-client chain-sync: roll-forward with the block.
    Blocks,
    /// Node-to-node chain-sync: roll-forward with the header.
    Headers,
    /// Block-fetch: the block.
    Bodies,
}

/// The framed messages of one chunk, back to back.
pub struct Framed {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    blocks: Range<usize>,
    framing: Framing,
}

impl Framed {
    /// Returns the part of each block that is framed.
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// The blocks whose messages these are.
    pub fn blocks(&self) -> &Range<usize> {
        &self.blocks
    }

    /// The messages of a stretch of those blocks, back to back.
    pub fn messages(&self, blocks: Range<usize>) -> &[u8] {
        let end = |index: usize| if index == self.blocks.start { 0 } else { self.ends[index - 1 - self.blocks.start] };
        &self.bytes[end(blocks.start)..end(blocks.end)]
    }
}

/// A chain's framed messages, a chunk at a time as they are asked for; the ones not used for longest go when they
/// take up more than the budget.
pub struct FramedChain {
    chain: Chain,
    tip: Tip,
    budget: usize,
    cache: Mutex<Cache>,
}

#[derive(Default)]
struct Cache {
    framed: HashMap<(Framing, usize), (Arc<Framed>, u64)>,
    bytes: usize,
    clock: u64,
}

impl FramedChain {
    /// Nothing is framed yet; at most about `budget` bytes will be kept.
    ///
    /// # Errors
    /// The chain is empty, or its last block can't be decoded.
    pub fn new(chain: Chain, budget: usize) -> Result<Self, ChainError> {
        let tip = chain.tip()?;
        Ok(Self { chain, tip, budget, cache: Mutex::default() })
    }

    /// The chain.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// The last block.
    pub fn tip(&self) -> &Tip {
        &self.tip
    }

    /// Frames every chunk of a stretch of blocks, on all cores.
    ///
    /// # Errors
    /// A block is damaged.
    pub fn prepare(&self, framing: Framing, blocks: Range<usize>) -> Result<(), ChainError> {
        (self.chain.chunk_of(blocks.start)..=self.chain.chunk_of(blocks.end - 1))
            .into_par_iter()
            .try_for_each(|position| self.chunk(framing, position).map(drop))
    }

    /// The framed chunk that holds a block.
    ///
    /// # Errors
    /// A block of the chunk is damaged.
    pub fn at(&self, framing: Framing, index: usize) -> Result<Arc<Framed>, ChainError> {
        self.chunk(framing, self.chain.chunk_of(index))
    }

    fn chunk(&self, framing: Framing, position: usize) -> Result<Arc<Framed>, ChainError> {
        let key = (framing, position);
        {
            let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
            cache.clock += 1;
            let now = cache.clock;
            if let Some((framed, used)) = cache.framed.get_mut(&key) {
                *used = now;
                return Ok(Arc::clone(framed));
            }
        }
        let framed = Arc::new(self.frame_chunk(framing, position)?);
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let now = cache.clock;
        cache.bytes += framed.bytes.len();
        if let Some((twin, _)) = cache.framed.insert(key, (Arc::clone(&framed), now)) {
            cache.bytes -= twin.bytes.len();
        }
        while cache.bytes > self.budget && cache.framed.len() > 1 {
            let Some(oldest) =
                cache.framed.iter().filter(|(other, _)| **other != key).min_by_key(|(_, (_, used))| *used).map(|(key, _)| *key)
            else {
                break;
            };
            if let Some((gone, _)) = cache.framed.remove(&oldest) {
                cache.bytes -= gone.bytes.len();
            }
        }
        Ok(framed)
    }

    /// Appends the message of one block, with this tip, to `out`.
    ///
    /// # Errors
    /// The block is damaged.
    pub fn frame_block(&self, framing: Framing, index: usize, tip: &Tip, out: &mut Vec<u8>) -> Result<(), ChainError> {
        self.chain.checked_bytes(index)?;
        self.append(framing, index, tip, out);
        Ok(())
    }

    fn append(&self, framing: Framing, index: usize, tip: &Tip, out: &mut Vec<u8>) {
        let mut at = Vec::new();
        put_tip(&mut at, tip);
        let block = self.chain.bytes(index);
        match framing {
            Framing::Blocks => frame(out, chain_sync::WITH_CLIENTS, true, &[&[0x83, 0x02], &wrapped_head(block.len()), block, &at]),
            Framing::Bodies => frame(out, block_fetch::NUMBER, true, &[&[0x82, 0x04], &wrapped_head(block.len()), block]),
            Framing::Headers => {
                let header = self.chain.header_bytes(index);
                let era = header_era(block);
                frame(out, chain_sync::BETWEEN_NODES, true, &[&[0x83, 0x02], &era, &wrapped_head(header.len()), header, &at]);
            }
        }
    }

    fn frame_chunk(&self, framing: Framing, position: usize) -> Result<Framed, ChainError> {
        self.chain.check_chunk(position)?;
        let blocks = self.chain.chunk_blocks(position);
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(blocks.len()));
        for index in blocks.clone() {
            self.append(framing, index, &self.tip, &mut bytes);
            ends.push(bytes.len());
        }
        bytes.shrink_to_fit();
        Ok(Framed { bytes, ends, blocks, framing })
    }
}

/// Tag 24 and the head of a byte string: CBOR inside CBOR.
fn wrapped_head(length: usize) -> Vec<u8> {
    let mut head = Vec::new();
    head.tag(24);
    head.head(2, length as u64);
    head
}

/// Returns the bytes before the wrapped header: `[era index, …` from Shelley on, `[0, [[kind, size], …` in Byron.
fn header_era(block: &[u8]) -> Vec<u8> {
    let era = block.get(1).copied().unwrap_or(0);
    if Era::from_tag(u64::from(era)).is_some_and(|era| era > Era::Byron) {
        return vec![0x82, era - 1];
    }
    let mut head = vec![0x82, 0x00, 0x82, 0x82, era];
    head.uint(block.len() as u64);
    head
}
