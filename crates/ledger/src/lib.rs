//! The rules of transactions, from Shelley to Conway.
//!
//! `resolved` is what a transaction's inputs stand for.
//! `phase_one` holds a transaction against the rules of the ledger that need no script to run, each rule on its own;
//! `phase_two` runs its Plutus scripts, each by `evaluate`. Both take a transaction as [`slotmark_chain::block::Decoder`] decoded it.

mod bytes;
mod certificates;
mod evaluate;
mod integrity;
mod needs;
mod phase_one;
mod phase_two;
mod resolved;

pub use evaluate::reads_under;
pub use phase_one::{block_units, phase_one};
pub use phase_two::{ScriptEnd, ScriptRun, phase_two};
pub use resolved::{EncodedOutput, Resolved, encode_output};

use slotmark_network::{Network, Parameters};

/// The state that a transaction's validity depends on beside its inputs.
#[derive(Clone, Copy, Debug)]
pub struct Environment<'e> {
    /// The block's slot.
    pub slot: u64,
    /// The network; None where it isn't known.
    pub network: Option<Network>,
    /// The protocol parameters of the block's epoch; None where they aren't known.
    pub parameters: Option<&'e Parameters>,
}
