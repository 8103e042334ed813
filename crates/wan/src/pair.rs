//! Delay and loss of the packets of one ordered pair of hosts.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use crate::topology::Link;

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is due at this time, in ns.
    Due(u64),
    /// It is lost by the link's share of losses.
    Lost,
    /// It finds the buffer before the bandwidth full.
    QueueFull,
}

/// One way between two hosts, with what it has drawn and sent so far.
#[derive(Clone, Debug)]
pub struct Pair {
    link: Link,
    draws: ChaCha8Rng,
    /// Time from which the bandwidth is free again, in ns.
    free_ns: u64,
    /// Time at which the last packet is due, in ns: no later one overtakes it.
    last_due_ns: u64,
}

impl Pair {
    /// A pair's link, whose draws depend only on the seed and on the pair's number.
    #[must_use]
    pub fn new(link: Link, seed: u64, number: u64) -> Self {
        let mut draws = ChaCha8Rng::seed_from_u64(seed);
        draws.set_stream(number);
        Self { link, draws, free_ns: 0, last_due_ns: 0 }
    }

    /// Returns the fate of a packet of this size that was sent at this time. Losses and jitter of the n-th packet depend only on n.
    pub fn fate(&mut self, sent_ns: u64, bytes: usize) -> Fate {
        let (for_loss, for_jitter) = (self.draws.next_u32(), self.draws.next_u32());
        if below(for_loss, 1_000_000) < u64::from(self.link.loss_ppm) {
            return Fate::Lost;
        }
        let mut leaves_ns = sent_ns;
        if let Some(bits_per_s) = self.link.bandwidth_bits_per_s {
            let begins_ns = sent_ns.max(self.free_ns);
            if begins_ns - sent_ns > u64::from(self.link.queue_us) * 1_000 {
                return Fate::QueueFull;
            }
            leaves_ns = begins_ns + (bytes as u64 * 8 * 1_000_000_000).div_ceil(bits_per_s);
            self.free_ns = leaves_ns;
        }
        let jitter_ns = below(for_jitter, u64::from(self.link.jitter_us) * 1_000 + 1);
        let due_ns = leaves_ns + u64::from(self.link.delay_us) * 1_000 + jitter_ns;
        self.last_due_ns = self.last_due_ns.max(due_ns);
        Fate::Due(self.last_due_ns)
    }
}

/// A draw of 32 bits as a number below `bound`.
fn below(bits: u32, bound: u64) -> u64 {
    ((u128::from(bits) * u128::from(bound)) >> 32) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn link(delay_us: u32) -> Link {
        Link { delay_us, queue_us: 100_000, ..Link::default() }
    }

    #[test]
    fn bandwidth_spaces_packets_and_a_full_buffer_loses_them() {
        let mut pair = Pair::new(Link { bandwidth_bits_per_s: Some(12_000_000), queue_us: 2_500, ..link(10_000) }, 1, 0);
        let fates: Vec<_> = (0..5).map(|_| pair.fate(1_000_000, 1500)).collect();
        assert_eq!(fates, [12_000_000, 13_000_000, 14_000_000].map(Fate::Due).into_iter().chain([Fate::QueueFull; 2]).collect::<Vec<_>>());
        assert_eq!(pair.fate(4_000_000, 1500), Fate::Due(15_000_000), "later the buffer is empty");
    }

    #[test]
    fn a_share_is_lost_and_the_seed_says_which() {
        let lost = |seed, number| {
            let mut pair = Pair::new(Link { loss_ppm: 100_000, ..link(10) }, seed, number);
            (0..10_000).map(|sent| pair.fate(sent, 100) == Fate::Lost).collect::<Vec<_>>()
        };
        let count = lost(7, 3).iter().filter(|lost| **lost).count();
        assert!((900..1100).contains(&count), "{count} of 10,000 lost where 1,000 were meant");
        assert_eq!(lost(7, 3), lost(7, 3));
        assert_ne!(lost(7, 3), lost(7, 4));
        assert_ne!(lost(7, 3), lost(8, 3));
    }

    #[test]
    fn jitter_fills_its_range_up_to_a_minute() {
        for jitter_us in [4_294_967, 4_294_968, 60_000_000] {
            // A pair of its own for each packet, since packets don't overtake each other.
            let jitter_ns = |number| match Pair::new(Link { jitter_us, ..link(0) }, 1, number).fate(0, 100) {
                Fate::Due(due_ns) => due_ns,
                fate => panic!("{fate:?}"),
            };
            let drawn: Vec<u64> = (0..1_000).map(jitter_ns).collect();
            let longest = u64::from(jitter_us) * 1_000;
            assert!(drawn.iter().all(|jitter| *jitter <= longest), "{jitter_us}");
            for quarter in 0..4 {
                let count = drawn.iter().filter(|jitter| **jitter * 4 / (longest + 1) == quarter).count();
                assert!((200..300).contains(&count), "{jitter_us}: {count} of 1,000 in quarter {quarter}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_packet_is_early_or_overtakes(
            delay_us in 0u32..300_000, jitter_us in 0u32..300_000, bandwidth in prop::option::of(1_000u64..10_000_000_000),
            seed: u64, gaps in prop::collection::vec((0u64..3_000_000, 20usize..1500), 1..200)
        ) {
            let mut pair = Pair::new(Link { jitter_us, bandwidth_bits_per_s: bandwidth, ..link(delay_us) }, seed, 0);
            let (mut now, mut last) = (0, 0);
            for (gap, bytes) in gaps {
                now += gap;
                if let Fate::Due(due) = pair.fate(now, bytes) {
                    prop_assert!(due >= now + u64::from(delay_us) * 1_000 && due >= last);
                    if bandwidth.is_none() {
                        prop_assert!(due <= last.max(now + u64::from(delay_us + jitter_us) * 1_000));
                    }
                    last = due;
                }
            }
        }
    }
}
