//! What is to be forged.

use std::fmt;
use std::str::FromStr;

use crate::error::SynthError;

/// Slots a chunk file on preview: 10 k with k = 432.
pub const PREVIEW_CHUNK_SLOTS: u64 = 4_320;

/// A chain file can't have fewer slots than a gap of one block on average, nor an index that fills the memory.
const CHUNK_SLOTS: std::ops::RangeInclusive<u64> = 20..=1_000_000;

/// All that decides a chain's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// What the blocks hold.
    pub workload: Workload,
    /// How many blocks.
    pub blocks: u64,
    /// Decides everything that is random.
    pub seed: u64,
    /// Slots a chunk file, from 20 to 1,000,000; [`PREVIEW_CHUNK_SLOTS`] if you don't care.
    pub chunk_slots: u64,
}

impl Recipe {
    pub(crate) fn check(&self) -> Result<(), SynthError> {
        if self.blocks == 0 {
            return Err(SynthError::NoBlocks);
        }
        if !CHUNK_SLOTS.contains(&self.chunk_slots) {
            return Err(SynthError::ChunkSlots { found: self.chunk_slots, least: *CHUNK_SLOTS.start(), most: *CHUNK_SLOTS.end() });
        }
        Ok(())
    }
}

/// What a chain's blocks hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Workload {
    /// Full blocks of transactions with two inputs, two outputs, two signatures and 100 bytes of payload.
    ValueOnly,
    /// Blocks of about 3 kB: transactions that run one Plutus V3 script with the whole budget of a transaction.
    PlutusLoop,
    /// No transactions.
    Empty,
    /// Sizes and numbers of transactions as on the preview network's first 1.3 million slots: four in five blocks are empty.
    PreviewLike,
}

impl Workload {
    /// Every workload.
    pub const ALL: [Workload; 4] = [Workload::ValueOnly, Workload::PlutusLoop, Workload::Empty, Workload::PreviewLike];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Workload::ValueOnly => "value-only",
            Workload::PlutusLoop => "plutus-loop",
            Workload::Empty => "empty",
            Workload::PreviewLike => "preview-like",
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no workload has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no workload: expected value-only, plutus-loop, empty or preview-like")]
pub struct UnknownWorkload(pub String);

impl FromStr for Workload {
    type Err = UnknownWorkload;

    fn from_str(text: &str) -> Result<Self, UnknownWorkload> {
        Self::ALL.into_iter().find(|workload| workload.name() == text).ok_or_else(|| UnknownWorkload(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_read_as_they_are_written() {
        for workload in Workload::ALL {
            assert_eq!(workload.to_string().parse(), Ok(workload));
        }
        let error = "value".parse::<Workload>().unwrap_err().to_string();
        assert!(Workload::ALL.iter().all(|workload| error.contains(workload.name())), "{error}");
    }

    #[test]
    fn recipes_that_make_no_chain_are_refused() {
        let recipe = Recipe { workload: Workload::Empty, blocks: 1, seed: 1, chunk_slots: PREVIEW_CHUNK_SLOTS };
        assert!(recipe.check().is_ok());
        assert!(matches!(Recipe { blocks: 0, ..recipe }.check(), Err(SynthError::NoBlocks)));
        for chunk_slots in [0, 19, 1_000_001, u64::MAX] {
            assert!(matches!(Recipe { chunk_slots, ..recipe }.check(), Err(SynthError::ChunkSlots { .. })));
        }
    }
}
