//! Time limits of a client, state by state.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Time limits of a client in each state in which it is the client's turn.
///
/// The defaults are those of a node (the network specification of ouroboros-network, and its `TimeLimits` modules). A node sets
/// none for a client of its local socket after the handshake; [`TimeLimits::spare`] keeps such clients from locking others out.
#[derive(Clone, Copy, Debug)]
pub struct TimeLimits {
    /// From the connection to the end of the handshake.
    pub handshake: Duration,
    /// From a segment's first byte to its last, after the handshake.
    pub segment: Duration,
    /// Node-to-node: from the handshake to the first message in any protocol.
    pub first_message: Duration,
    /// Node-to-node: from a chain-sync reply to the next request.
    pub chain_sync_idle: Duration,
    /// Node-to-node: from one keep-alive message to the next, once there was one.
    pub keep_alive: Duration,
    /// Longest time that replies may stay unread.
    pub write: Duration,
    /// Time of silence after which a client gives way to a new one where all places are taken.
    pub spare: Duration,
}

impl Default for TimeLimits {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            segment: Duration::from_secs(30),
            first_message: Duration::from_secs(5),
            chain_sync_idle: Duration::from_secs(3_373),
            keep_alive: Duration::from_secs(97),
            write: Duration::from_secs(60),
            spare: Duration::from_secs(5),
        }
    }
}

impl TimeLimits {
    /// Returns the interval at which a waiting connection checks its limits.
    pub(super) fn tick(&self) -> Duration {
        let shortest = [self.handshake, self.segment, self.first_message, self.chain_sync_idle, self.keep_alive].into_iter().min();
        shortest.unwrap_or_default().clamp(Duration::from_millis(1), Duration::from_secs(1))
    }
}

/// The time of a client's last message, as its connection's thread notes it and others read it.
pub(super) struct Heard {
    since: Instant,
    at_ms: AtomicU64,
    gave_way: AtomicBool,
}

impl Heard {
    pub(super) fn new() -> Self {
        Self { since: Instant::now(), at_ms: AtomicU64::new(0), gave_way: AtomicBool::new(false) }
    }

    pub(super) fn note(&self, now: Instant) {
        self.at_ms.store(now.duration_since(self.since).as_millis() as u64, Ordering::Relaxed);
    }

    pub(super) fn silent_for(&self) -> Duration {
        self.since.elapsed().saturating_sub(Duration::from_millis(self.at_ms.load(Ordering::Relaxed)))
    }

    pub(super) fn give_way(&self) {
        self.gave_way.store(true, Ordering::SeqCst);
    }

    pub(super) fn gave_way(&self) -> bool {
        self.gave_way.load(Ordering::SeqCst)
    }
}
