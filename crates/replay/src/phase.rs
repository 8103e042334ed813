//! The phases of a block's work, and the clock that divides them.

use std::time::Instant;

use serde::{Serialize, Serializer};

/// A part of a block's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Reading the block's bytes from the chain's files and holding them against the index's CRC-32.
    Read,
    /// Decoding all of it, and computing its transactions' ids.
    Decode,
    /// Going into its slot, and taking in its header: nonces and counters, in the middle of an epoch a part of the rewards, and at its beginning
    /// paying them, the snapshot of stake, pools that change and retire, and parameters.
    Tick,
    /// The header's link, number, slot, counter, signatures, VRF proofs and leadership.
    HeaderCheck,
    /// Looking up what its transactions refer to.
    Resolve,
    /// Its certificates and withdrawals, its fees, and the stake that its outputs move.
    Accounts,
    /// The ledger's rules that need no script to run, on its transactions.
    PhaseOne,
    /// Running its transactions' scripts.
    PhaseTwo,
    /// Taking its spent outputs out of the set and its new ones in.
    Apply,
    /// Writing what was taken in since the last time to disk, durably.
    Flush,
}

impl Phase {
    /// All phases in the order of the work, each with its name in records.
    pub const NAMED: [(Self, &'static str); 10] = [
        (Self::Read, "read"),
        (Self::Decode, "decode"),
        (Self::Tick, "tick"),
        (Self::HeaderCheck, "header_check"),
        (Self::Resolve, "resolve"),
        (Self::Accounts, "accounts"),
        (Self::PhaseOne, "phase_one"),
        (Self::PhaseTwo, "phase_two"),
        (Self::Apply, "apply"),
        (Self::Flush, "flush"),
    ];
}

/// Times of one block's phases, on a monotonic clock.
#[derive(Debug)]
pub struct Laps {
    begin: Instant,
    last: Instant,
    ns: [Option<u64>; Phase::NAMED.len()],
}

impl Laps {
    /// Starts the clock.
    pub fn start() -> Self {
        let now = Instant::now();
        Self { begin: now, last: now, ns: [None; Phase::NAMED.len()] }
    }

    /// Ends a phase, which began where the one before ended.
    pub fn end(&mut self, phase: Phase) {
        let now = Instant::now();
        self.ns[phase as usize] = Some(now.duration_since(self.last).as_nanos() as u64);
        self.last = now;
    }

    /// The time of a phase in ns; None where it wasn't part of the work.
    pub fn of(&self, phase: Phase) -> Option<u64> {
        self.ns[phase as usize]
    }

    /// From the start to the end of the last phase in ns: the sum of the phases, which follow each other without a gap.
    pub fn total(&self) -> u64 {
        self.last.duration_since(self.begin).as_nanos() as u64
    }
}

impl Serialize for Laps {
    /// Members of a record: the total, and the phases that were part of the work.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let phases = Phase::NAMED.into_iter().filter_map(|(phase, name)| Some((name, self.of(phase)?)));
        serializer.collect_map([("total", self.total())].into_iter().chain(phases).map(|(name, ns)| (format!("{name}_ns"), ns)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_add_up_to_the_total_and_one_that_was_left_out_has_no_time() {
        let mut laps = Laps::start();
        for phase in [Phase::Read, Phase::Decode, Phase::Apply] {
            laps.end(phase);
        }
        let sum: u64 = Phase::NAMED.iter().filter_map(|(phase, _)| laps.of(*phase)).sum();
        assert_eq!(sum, laps.total());
        assert_eq!(laps.of(Phase::HeaderCheck), None);
    }
}
