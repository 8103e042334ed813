//! Errors of forging.

use std::path::PathBuf;

use slotmark_chain::ChainError;

/// A chain that couldn't be forged.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message is its documentation")]
pub enum SynthError {
    #[error("a chain of no blocks can't be forged. Give one block at least.")]
    NoBlocks,
    #[error("a security parameter of {found}: expected {least} to {most}. 432 is what preview has, 2160 what mainnet has.")]
    SecurityParameter { found: u64, least: u64, most: u64 },
    #[error("KES periods of 0 slots: expected 1 at least. 129600 is what public networks have.")]
    KesPeriod,
    #[error("a block's body of {found} bytes at most: expected {least} to {most}. 90112 is what public networks have.")]
    BodyBytes { found: u64, least: u64, most: u64 },
    #[error("protocol version {found}: expected {least} to {most}.")]
    ProtocolVersion { found: u64, least: u64, most: u64 },
    #[error("{found} extra outputs in the genesis: expected {most} at most.")]
    Outputs { found: u64, most: u64 },
    #[error("{found} delegators in the genesis: expected {most} at most.")]
    Delegators { found: u64, most: u64 },
    #[error(
        "workload {workload} withdraws from accounts without rewards, and with delegators there are rewards. Choose another workload, or no delegators."
    )]
    ActsOnRewards { workload: String },
    #[error("block {block}: the forged wallet has too little left to go on: the chain is too long for its genesis. Give fewer blocks.")]
    Funds { block: u64 },
    #[error("{0}")]
    Refused(String),
    #[error("{path}: {message}")]
    Bed { path: PathBuf, message: String },
    #[error("{place}: {message}.")]
    Script { place: String, message: String },
    #[error("the workload script needs a script, and no other workload takes one. Give --script, --datum and --redeemer with it alone.")]
    NoScript,
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error("interrupted")]
    Interrupted,
}
