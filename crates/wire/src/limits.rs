//! The limits of the protocols between nodes: which messages may come when, their size, and their time.
//!
//! After the network specification, and `TimeLimits.hs`, `Limits.hs` and the codecs of ouroboros-network.

mod states;
mod turns;

use std::time::Duration;

pub use states::PeerLimits;
pub use turns::{ClientTurns, Overdue};

/// Longest time of a handshake.
pub const HANDSHAKE: Duration = Duration::from_secs(10);
/// Bytes of a message of the handshake at most.
pub const HANDSHAKE_BYTES: usize = 5_760;
/// Bytes of a message at most, in all states but those where blocks or transactions are sent.
pub const SMALL_BYTES: usize = 65_535;
/// Bytes of a message at most where blocks or transactions are sent.
pub const LARGE_BYTES: usize = 2_500_000;
/// Ids of transactions that may be offered and not acknowledged.
pub const WINDOW: u16 = 10;

/// Time limits of a client in each state in which it is the client's turn.
///
/// The defaults are those of a node. A node sets none for a client of its local socket after the handshake; [`TimeLimits::spare`]
/// keeps such clients from locking others out of a replay server.
#[derive(Clone, Copy, Debug)]
pub struct TimeLimits {
    /// From the connection to the end of the handshake.
    pub handshake: Duration,
    /// From a segment's first byte to its last, after the handshake.
    pub segment: Duration,
    /// Node-to-node: from the handshake to the first message in any protocol (cardano-node's protocolIdleTimeout).
    pub first_message: Duration,
    /// Node-to-node: from a chain-sync reply to the next request; None for no limit.
    pub chain_sync_idle: Option<Duration>,
    /// Node-to-node: from one keep-alive message to the next, once there was one.
    pub keep_alive: Duration,
    /// Longest time that replies of a replay server may stay unread.
    pub write: Duration,
    /// Time of silence after which a client of a replay server gives way to a new one where all places are taken.
    pub spare: Duration,
}

impl Default for TimeLimits {
    fn default() -> Self {
        Self {
            handshake: HANDSHAKE,
            segment: Duration::from_secs(30),
            first_message: Duration::from_secs(5),
            chain_sync_idle: Some(Duration::from_secs(3_373)),
            keep_alive: Duration::from_secs(97),
            write: Duration::from_secs(60),
            spare: Duration::from_secs(5),
        }
    }
}

impl TimeLimits {
    /// Returns the interval at which a waiting connection checks its limits.
    pub fn tick(&self) -> Duration {
        let all = [Some(self.handshake), Some(self.segment), Some(self.first_message), self.chain_sync_idle, Some(self.keep_alive)];
        all.into_iter().flatten().min().unwrap_or_default().clamp(Duration::from_millis(1), Duration::from_secs(1))
    }
}
