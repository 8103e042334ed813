//! TPraos and Praos: the keys and proofs of block producers, and which headers are valid.
//!
//! From the ground up: `vrf` and `kes` sign and prove, `certificate` ties hot keys to cold ones, `envelope` keeps
//! keys in files. `nonce`, `lottery` and `overlay` are the protocol's arithmetic; `genesis`, `updates` and `stake`
//! what it reads off genesis files and transactions; `accounts` has rewards, deposits and pots, `holdings` is who holds what, `base` a file of it for large genesis files, and `outputs`
//! what a set of unspent outputs elsewhere has to do. `header` checks one header, `state` what goes from block to block,
//! `check` a whole chain.

pub mod accounts;
pub mod base;
pub mod certificate;
pub mod check;
pub mod envelope;
pub mod genesis;
mod governance;
pub mod header;
mod holdings;
pub mod kes;
pub mod lottery;
pub mod nonce;
pub mod outputs;
pub mod overlay;
pub mod stake;
pub mod state;
pub mod updates;
pub mod vrf;

pub use slotmark_chain::{ed25519, rule};
