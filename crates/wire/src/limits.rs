//! The limits of the protocols between nodes: which messages may come when, their size, and their time.
//!
//! After the network specification, and `TimeLimits.hs`, `Limits.hs` and the codecs of ouroboros-network.

use std::time::{Duration, Instant};

/// Longest time of a handshake.
pub const HANDSHAKE: Duration = Duration::from_secs(10);
/// Bytes of a message of the handshake at most.
pub const HANDSHAKE_BYTES: usize = 5_760;
/// Bytes of a message at most, in all states but those where blocks or transactions are sent.
pub const SMALL_BYTES: usize = 65_535;
/// Bytes of a message at most where blocks or transactions are sent.
pub const LARGE_BYTES: usize = 2_500_000;
/// Time of an answer that takes no look at the chain.
pub(crate) const SHORT: Duration = Duration::from_secs(10);
/// Time of an answer that does.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Something that a peer has not sent in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no {what} within {limit:?}")]
pub struct Overdue {
    /// A noun.
    pub what: &'static str,
    /// The time that there was for it.
    pub limit: Duration,
}

/// Refuses something that has been waited for since a moment, where that is too long.
pub(crate) fn overdue(since: Option<Instant>, now: Instant, what: &'static str, limit: Option<Duration>) -> Result<(), Overdue> {
    match (since, limit) {
        (Some(since), Some(limit)) if now.saturating_duration_since(since) > limit => Err(Overdue { what, limit }),
        _ => Ok(()),
    }
}

/// A moment by which an answer must have come, and the answer; None where none is due.
pub(crate) type Due = Option<(Instant, &'static str)>;

/// An answer that is due so long after now.
pub(crate) fn due(now: Instant, limit: Duration, what: &'static str) -> Due {
    Some((now + limit, what))
}

/// Refuses a message that was not asked for.
pub(crate) fn unasked(what: &str) -> Result<(), String> {
    Err(format!("{what} that was not asked for"))
}

/// The rules for one peer.
pub(crate) struct PeerRules {
    /// True where it may leave its chain as it is for as long as it likes.
    pub(crate) trustable: bool,
    pub(crate) limits: TimeLimits,
}

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

/// Since when a peer's next bytes are waited for.
#[derive(Debug, Default)]
pub struct Arrivals {
    segment: Option<Instant>,
    first_message: Option<Instant>,
}

impl Arrivals {
    /// From now on, a message of any protocol is due.
    pub fn expect_message(&mut self, now: Instant) {
        self.first_message = Some(now);
    }

    /// Notes that a message of any protocol, or a part of one, came.
    pub fn message(&mut self) {
        self.first_message = None;
    }

    /// Notes the time since when a part of a segment is here; None where none is.
    pub fn segment(&mut self, since: Option<Instant>) {
        self.segment = since;
    }

    /// Checks the segment alone, all that is limited for clients of a local socket.
    ///
    /// # Errors
    /// It is overdue.
    pub fn check_segment(&self, now: Instant, limits: &TimeLimits) -> Result<(), Overdue> {
        overdue(self.segment, now, "end of a segment", Some(limits.segment))
    }

    /// Checks that nothing is overdue.
    ///
    /// # Errors
    /// Something is.
    pub fn check(&self, now: Instant, limits: &TimeLimits) -> Result<(), Overdue> {
        self.check_segment(now, limits)?;
        overdue(self.first_message, now, "message after the handshake", Some(limits.first_message))
    }
}
