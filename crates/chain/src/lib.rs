//! Chains as cardano-node keeps them: reading and checking an ImmutableDB, writing one, decoding its blocks.
//!
//! Also what all rules of validity share: `hash`, `ed25519`, and `rule`, which names the rules.

mod appender;
pub mod block;
mod cbor;
mod digest;
pub mod ed25519;
mod error;
pub mod hash;
mod immutable;
mod point;
pub mod rule;
mod summary;
mod writer;

pub use appender::ChainAppender;
pub use block::{Block, DecodeError, Decoder};
pub use cbor::CborBuffer;
pub use digest::{BlockFacts, Digest};
pub use error::ChainError;
pub use immutable::{BlockEntry, Chain, ChunkIdentity, Window};
pub use point::{Hash32, Point, PointError, Tip};
pub use summary::{EraSummary, Summary, summarise};
pub use writer::{ChainWriter, NewBlock};
