//! The time of a client's last message, which decides who gives way.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

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
