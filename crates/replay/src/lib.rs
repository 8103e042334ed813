//! Replaying a chain's ledger work, timed phase by phase.
//!
//! `place` names unspent outputs, `store` keeps them: in memory, or on disk in an LSM tree or in LMDB. `prepare` reads a
//! genesis in advance, `changes` what a block does to the unspent outputs, `replay` does a
//! chain's work with a clock at hand, `resources` reads what the process used, and `record` is the form of what is written.
//!
//! Stores alone: `batches` is the work of the published benchmark, `lookups` the threads that look up, `alone` times it, `prove` compares a
//! store's answers with those of a map, and `disk` reads blocks at random.

pub mod alone;
pub mod batches;
pub mod changes;
pub mod disk;
pub mod error;
pub mod lookups;
pub mod phase;
pub mod place;
pub mod prepare;
pub mod prove;
pub mod record;
pub mod replay;
pub mod resources;
pub mod store;

pub use error::ReplayError;
pub use replay::{Replay, Settings, prepare, replay};
pub use store::{Backend, Store, Tip};
