//! What can go wrong while forging.

use slotmark_chain::ChainError;

/// A chain that couldn't be forged.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message is its documentation")]
pub enum SynthError {
    #[error("a chain of no blocks can't be forged. Ask for one block at least.")]
    NoBlocks,
    #[error("{found} slots a chunk: expected {least} to {most}. 4320 is what preview has, 21600 what mainnet has.")]
    ChunkSlots { found: u64, least: u64, most: u64 },
    #[error("block {block}: the forged wallet has too little left to go on: the chain is too long for its genesis. Ask for fewer blocks.")]
    Funds { block: u64 },
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error("interrupted")]
    Interrupted,
}
