//! Forges Cardano chains: Conway blocks written as an ImmutableDB, the same bytes for the same [`Recipe`].
//!
//! A chain is valid from its first block, and its network stands beside it: CBOR is as Conway's CDDL has it, with the choices
//! that cardano-node makes; pools lead slots by VRF and stake; nonces, epochs, KES keys and operational certificates go
//! on as the protocol has it; transactions spend what is there, preserve value and pay what they must. In the folder
//! [`GENESIS_FOLDER`] are the genesis files, a node's configuration, and the keys.
//!
//! Limits, fees and prices are those that [`slotmark_network`] states; the outputs that the first transactions spend are in [`Genesis`].

mod actions;
mod address;
pub mod assembly;
pub mod bed;
mod block;
mod budgets;
mod error;
mod files;
mod forge;
mod genesis;
mod keys;
pub mod load;
mod lottery;
mod network;
mod plutus;
mod pools;
mod random;
mod recipe;
mod transaction;
mod wallet;
mod workload;

pub use actions::{Action, Shares, UnknownShares};
pub use address::Address;
pub use budgets::Budgets;
pub use error::SynthError;
pub use files::GENESIS_FOLDER;
pub use forge::{Forged, Progress, forge, forge_with};
pub use genesis::{Genesis, GenesisOutput};
pub use plutus::{Budget, Calibrated, Language, Loop, Script, loop_budget, loop_script, loop_script_hash};
pub use recipe::{PREVIEW_SECURITY_PARAMETER, PUBLIC_KES_PERIOD_SLOTS, Recipe, UnknownWorkload, Weights, Workload};
