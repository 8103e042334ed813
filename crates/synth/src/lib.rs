//! Forges Cardano chains: Conway blocks written as an ImmutableDB, the same bytes for the same [`Recipe`].
//!
//! What is real: CBOR as Conway's CDDL has it, with the choices that cardano-node makes; header links, body hashes and
//! sizes; transaction ids; Ed25519 signatures of transactions and of operational certificates; inputs that exist and are
//! unspent, value that is preserved, fees that suffice; script hashes, script data hashes and execution units.
//!
//! What stands in for the real thing: the VRF's outputs and proofs, the KES keys and the KES signatures are bytes of the
//! right length from the seed. Leaders are drawn with equal stake; nothing is derived from a VRF.
//!
//! Slots, epochs and limits are those of [`parameters`]; the outputs that the first transactions spend are in [`Genesis`].

mod address;
mod block;
mod cbor;
mod error;
mod forge;
mod genesis;
mod keys;
mod leaders;
pub mod parameters;
mod plutus;
mod random;
mod recipe;
mod transaction;
mod wallet;
mod workload;

pub use address::Address;
pub use error::SynthError;
pub use forge::{Forged, Progress, forge};
pub use genesis::{Genesis, GenesisOutput};
pub use plutus::{Budget, loop_budget, loop_script, loop_script_hash};
pub use recipe::{PREVIEW_CHUNK_SLOTS, Recipe, UnknownWorkload, Workload};
