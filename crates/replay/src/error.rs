//! Reasons why a replay can't go on.

use std::io;
use std::path::PathBuf;

use slotmark_chain::ChainError;
use slotmark_network::GenesisError;

/// A replay that can't begin or go on.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message is its documentation")]
pub enum ReplayError {
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    Genesis(#[from] GenesisError),
    #[error("{path}: the UTxO set can't be kept here ({reason}). Make room or choose another folder; what was flushed before is kept.")]
    Store { path: PathBuf, reason: String },
    #[error(
        "{path}: the UTxO set can't be opened ({reason}). Make room if the disk is full; else remove the folder and replay from the beginning."
    )]
    Unopened { path: PathBuf, reason: String },
    #[error("{path}: damaged ({what}). Remove the folder and replay from the beginning.")]
    Damaged { path: PathBuf, what: String },
    #[error(
        "{path}: made over another chain: it ends at slot {slot} with block {hash}, which this chain doesn't have. Choose another folder."
    )]
    OtherChain { path: PathBuf, slot: u64, hash: String },
    #[error(
        "{path}: the block of slot {slot} breaks the rule {rule}. `slotmark chain check` lists every such block; replay a chain that is valid."
    )]
    Invalid { path: PathBuf, slot: u64, rule: &'static str },
    #[error("{path}: the block of slot {slot} has a transaction of more than 65,536 outputs, which no ledger takes.")]
    Outputs { path: PathBuf, slot: u64 },
    #[error("{path}: not what --prepare writes ({reason}). Make it anew.")]
    Prepared { path: PathBuf, reason: String },
    #[error("{store}: a wrong answer: {what}. Don't use this store; nothing measured of it counts.")]
    Wrong { store: &'static str, what: String },
    #[error("{path}: can't be written ({source}). Make room or choose another place.")]
    Write { path: PathBuf, source: io::Error },
}
