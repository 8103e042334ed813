//! Random numbers that depend on the seed and on what they are for, not on when or by which thread they are drawn.
//!
//! ChaCha8 is counter-based: a seed and a purpose give the key, a number (a block's, say) the stream.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use slotmark_chain::hash::blake2b_256;

/// A stream of random numbers.
#[derive(Clone)]
pub(crate) struct Stream(ChaCha8Rng);

/// 32 bytes for one purpose and number: seeds of keys.
pub(crate) fn secret(seed: u64, purpose: &str, number: u64) -> [u8; 32] {
    let length = [purpose.len() as u8];
    blake2b_256(&[b"slotmark-synth", &seed.to_be_bytes(), &length, purpose.as_bytes(), &number.to_be_bytes()])
}

impl Stream {
    /// The stream of a purpose with this number.
    pub(crate) fn new(seed: u64, purpose: &str, number: u64) -> Self {
        let mut generator = ChaCha8Rng::from_seed(secret(seed, purpose, 0));
        generator.set_stream(number);
        Self(generator)
    }

    /// A number below `limit`; its bias is below 2^-32 for limits below 2^32.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(limit)) >> 64) as u64
    }

    /// A number from the range, its end excluded.
    pub(crate) fn between(&mut self, range: std::ops::Range<u64>) -> u64 {
        range.start + self.below(range.end.saturating_sub(range.start).max(1))
    }

    /// True in this many of 1,000 cases.
    pub(crate) fn per_mille(&mut self, share: u64) -> bool {
        self.below(1_000) < share
    }

    /// A stream of its own, to be drawn from again and again by cloning it.
    pub(crate) fn fork(&mut self) -> Self {
        let mut key = [0; 32];
        self.fill(&mut key);
        Self(ChaCha8Rng::from_seed(key))
    }

    /// Random bytes.
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_purpose_and_number_and_repeat_themselves() {
        let draw = |seed, purpose, number| Stream::new(seed, purpose, number).below(u64::MAX);
        assert_eq!(draw(1, "slots", 7), draw(1, "slots", 7));
        assert_ne!(draw(1, "slots", 7), draw(2, "slots", 7));
        assert_ne!(draw(1, "slots", 7), draw(1, "slot", 7));
        assert_ne!(draw(1, "slots", 7), draw(1, "slots", 8));
    }

    #[test]
    fn numbers_stay_in_their_range_and_spread_over_it() {
        let mut stream = Stream::new(3, "test", 0);
        let mut seen = [0u32; 10];
        for _ in 0..10_000 {
            seen[stream.below(10) as usize] += 1;
        }
        assert!(seen.iter().all(|&count| (850..1_150).contains(&count)), "{seen:?}");
        assert_eq!(stream.between(5..6), 5);
    }
}
