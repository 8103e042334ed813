//! The network's time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use slotmark_network::Network;

/// Slots by this machine's clock.
#[derive(Clone, Copy, Debug)]
pub struct SlotClock {
    start_ns: i128,
    slot_ns: i128,
}

/// The time in ns since 1970.
pub fn now_ns() -> i128 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_nanos() as i128,
        Err(before) => -(before.duration().as_nanos() as i128),
    }
}

impl SlotClock {
    /// The clock of a network.
    pub fn new(network: &Network) -> Self {
        Self { start_ns: i128::from(network.start_ms) * 1_000_000, slot_ns: i128::from(network.slot_ms) * 1_000_000 }
    }

    /// The slot at a time in ns since 1970; None before the first one.
    pub fn slot_at(&self, at_ns: i128) -> Option<u64> {
        u64::try_from((at_ns - self.start_ns).div_euclid(self.slot_ns)).ok()
    }

    /// Returns the start of a slot, in ns since 1970.
    pub fn start_of(&self, slot: u64) -> i128 {
        self.start_ns.saturating_add(self.slot_ns.saturating_mul(i128::from(slot)))
    }

    /// Returns the time until the slot after one begins, or the first one; 0 where it has begun.
    pub fn until_after(&self, slot: Option<u64>) -> Duration {
        let ns = self.start_of(slot.map_or(0, |slot| slot.saturating_add(1))) - now_ns();
        Duration::from_nanos(u64::try_from(ns.max(0)).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_begin_and_end() {
        let clock = SlotClock::new(&Network { id: 0, start_ms: 1_000, slot_ms: 200 });
        assert_eq!(clock.slot_at(999_999_999), None);
        assert_eq!((clock.slot_at(1_000_000_000), clock.slot_at(1_199_999_999), clock.slot_at(1_200_000_000)), (Some(0), Some(0), Some(1)));
        assert_eq!((clock.start_of(0), clock.start_of(5)), (1_000_000_000, 2_000_000_000));
        assert_eq!(clock.until_after(Some(3)), Duration::ZERO);
        assert!(clock.until_after(Some(u64::MAX)) > Duration::from_secs(1 << 30));
    }
}
