//! The lottery for slots: what the VRF is asked, what its output means, and which outputs win.

use pallas_math::math::{FixedDecimal, FixedPrecision};
use serde::{Deserialize, Serialize};
use slotmark_chain::Hash32;
use slotmark_chain::hash::blake2b_256;
use slotmark_network::Ratio;

use crate::nonce::Nonce;
use crate::vrf::Output;

/// The purpose of a TPraos proof: each has an input of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To contribute to the nonce.
    Nonce,
    /// To lead the slot.
    Leader,
}

/// The VRF's input of a slot in Praos, which has one proof for both purposes.
pub fn praos_input(slot: u64, epoch_nonce: Nonce) -> Hash32 {
    blake2b_256(&[&slot.to_be_bytes(), epoch_nonce.as_ref().map_or(&[], |nonce| &nonce[..])])
}

/// The VRF's input of a slot in TPraos, for one of its two proofs.
pub fn tpraos_input(slot: u64, epoch_nonce: Nonce, purpose: Purpose) -> Hash32 {
    let number: u64 = match purpose {
        Purpose::Nonce => 0,
        Purpose::Leader => 1,
    };
    let mut input = praos_input(slot, epoch_nonce);
    for (byte, seed) in input.iter_mut().zip(blake2b_256(&[&number.to_be_bytes()])) {
        *byte ^= seed;
    }
    input
}

/// Returns a block's contribution to the nonce in Praos.
pub fn praos_contribution(output: &[u8]) -> Hash32 {
    blake2b_256(&[&blake2b_256(&[b"N", output])])
}

/// Returns a block's contribution to the nonce in TPraos, from the output of its nonce proof.
pub fn tpraos_contribution(nonce_output: &[u8]) -> Hash32 {
    blake2b_256(&[nonce_output])
}

/// A number from 0 to below 1 that the lottery drew, as a big-endian fraction of all that its bytes can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Draw {
    /// Praos: a hash of the output.
    Praos(Hash32),
    /// TPraos: the output of the leader proof itself.
    TPraos(Output),
}

impl Draw {
    /// The draw of a Praos output.
    pub fn praos(output: &Output) -> Self {
        Self::Praos(blake2b_256(&[b"L", output]))
    }

    /// The draw of a TPraos leader output.
    pub fn tpraos(output: &Output) -> Self {
        Self::TPraos(*output)
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Draw::Praos(bytes) => bytes,
            Draw::TPraos(bytes) => bytes,
        }
    }

    fn as_f64(&self) -> f64 {
        let leading = u128::from_be_bytes(self.bytes()[..16].try_into().expect("16 bytes"));
        leading as f64 * 2f64.powi(-128)
    }
}

/// The share of slots that have a leader, f, ready for many draws.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Ratio", into = "Ratio")]
pub struct ActiveSlots {
    share: Ratio,
    /// ln(1 - f) to 34 decimals; None for f = 1.
    log: Option<FixedDecimal>,
}

/// Draws nearer than this to the threshold, as a share of it, are decided with 34 decimals. Both sides of an f64
/// comparison are good to about 1e-14.
const UNDECIDED: f64 = 1e-9;
/// The bound that the ledger puts on the error of the exponential's series, as a multiple of the next term.
const BOUND: u64 = 3;
/// The ledger's bound is one as long as e^x is below it. For larger exponents (f above 0.6, and most of the stake) its
/// series ends too early and errs, so that only the series itself shows how the ledger decides.
const FAITHFUL: f64 = 1.0;
/// Terms of the series at most.
const MAX_TERMS: u64 = 1_000;

impl From<Ratio> for ActiveSlots {
    fn from(share: Ratio) -> Self {
        Self::new(share)
    }
}

impl From<ActiveSlots> for Ratio {
    fn from(active_slots: ActiveSlots) -> Self {
        active_slots.share
    }
}

impl ActiveSlots {
    /// For an active slot coefficient above 0 and up to 1.
    pub fn new(share: Ratio) -> Self {
        let one = FixedDecimal::from(1u64);
        let log = (!share.is_one()).then(|| (&one - &decimal(share)).ln());
        Self { share, log }
    }

    /// The coefficient.
    pub fn share(&self) -> Ratio {
        self.share
    }

    /// Returns whether a draw leads with this share of the stake: below 1 - (1 - f)^stake.
    ///
    /// As `checkLeaderNatValue` of cardano-protocol-tpraos decides: 1 / (1 - p) against e^(-stake ln(1 - f)), with 34
    /// decimals; what the series can't decide is no leader.
    pub fn is_leader(&self, draw: &Draw, stake: Ratio) -> bool {
        if self.log.is_none() {
            return true;
        }
        if self.exponent(stake) > FAITHFUL {
            return self.is_leader_exactly(draw, stake);
        }
        let ratio = draw.as_f64() / self.threshold(stake);
        if (ratio - 1.0).abs() > UNDECIDED { ratio < 1.0 } else { self.is_leader_exactly(draw, stake) }
    }

    /// The probability of leading a slot with this share of the stake.
    pub fn threshold(&self, stake: Ratio) -> f64 {
        -(-self.exponent(stake)).exp_m1()
    }

    /// -stake ln(1 - f).
    fn exponent(&self, stake: Ratio) -> f64 {
        -stake.as_f64() * (-self.share.as_f64()).ln_1p()
    }

    fn is_leader_exactly(&self, draw: &Draw, stake: Ratio) -> bool {
        let Some(log) = &self.log else { return true };
        let mut limit = vec![0; draw.bytes().len() + 1];
        limit[0] = 1;
        let limit = FixedDecimal::from(&limit[..]);
        let drawn = FixedDecimal::from(draw.bytes());
        let compared = &limit / &(&limit - &drawn);
        is_below_exponential(&compared, &-(&decimal(stake) * log))
    }
}

/// Returns whether a number is certainly below e^x, for x of 0 or more: `taylorExpCmp` of the ledger's non-integral package.
fn is_below_exponential(number: &FixedDecimal, x: &FixedDecimal) -> bool {
    let (mut sum, mut term) = (FixedDecimal::from(1u64), x.clone());
    for divisor in 2..MAX_TERMS + 2 {
        let next = &(&term * x) / &FixedDecimal::from(divisor);
        let error = &next * &FixedDecimal::from(BOUND);
        sum = &sum + &term;
        if *number >= &sum + &error {
            return false;
        }
        if *number < &sum - &error {
            return true;
        }
        term = next;
    }
    false
}

fn decimal(ratio: Ratio) -> FixedDecimal {
    &FixedDecimal::from(ratio.numerator()) / &FixedDecimal::from(ratio.denominator())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn active(numerator: u64, denominator: u64) -> ActiveSlots {
        ActiveSlots::new(Ratio::new(numerator, denominator).unwrap())
    }

    /// The draw of a share of all draws, given in 2^-64.
    fn draw(share: u64) -> [Draw; 2] {
        let (mut praos, mut tpraos) = ([0; 32], [0; 64]);
        praos[..8].copy_from_slice(&share.to_be_bytes());
        tpraos[..8].copy_from_slice(&share.to_be_bytes());
        [Draw::Praos(praos), Draw::TPraos(tpraos)]
    }

    #[test]
    fn the_exact_comparison_agrees_with_the_fast_one() {
        for (numerator, denominator) in [(1, 20), (1, 1_000), (99, 100), (1, 2)] {
            let active = active(numerator, denominator);
            for stake in [Ratio::ONE, Ratio::new(1, 3).unwrap(), Ratio::new(1, 1_000_000).unwrap(), Ratio::new(300, 301).unwrap()] {
                let threshold = active.threshold(stake);
                for (factor, expected) in [(0.0, true), (0.5, true), (0.999_999, true), (1.000_001, false), (1.5, false)] {
                    let share = (threshold * factor * 2f64.powi(64)) as u64;
                    for draw in draw(share) {
                        let exactly = active.is_leader_exactly(&draw, stake);
                        assert_eq!(active.is_leader(&draw, stake), exactly, "{numerator}/{denominator} {stake:?} {factor}");
                        if active.exponent(stake) <= FAITHFUL {
                            assert_eq!(exactly, expected, "{numerator}/{denominator} {stake:?} {factor}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_ledgers_series_is_followed_where_it_errs() {
        // With f = 0.99 and all stake the threshold is 0.99; the ledger's series gives up before it.
        let active = active(99, 100);
        let [draw, _] = draw((0.989_999 * 2f64.powi(64)) as u64);
        assert!(draw.as_f64() < active.threshold(Ratio::ONE));
        assert!(!active.is_leader(&draw, Ratio::ONE));
    }

    #[test]
    fn the_threshold_of_all_stake_is_the_coefficient() {
        // With all stake the threshold is f itself: half of all draws for 1/2, distinguished at the last place of 34 decimals.
        let active = active(1, 2);
        for draw in draw((1 << 63) - 1) {
            assert!(active.is_leader(&draw, Ratio::ONE));
        }
        for draw in draw((1 << 63) + 1) {
            assert!(!active.is_leader(&draw, Ratio::ONE));
        }
    }

    #[test]
    fn nobody_leads_without_stake_and_everybody_with_a_coefficient_of_one() {
        for draw in draw(0) {
            assert!(!active(1, 20).is_leader(&draw, Ratio::ZERO));
            assert!(active(1, 1).is_leader(&draw, Ratio::ZERO));
        }
        for draw in draw(u64::MAX) {
            assert!(active(1, 1).is_leader(&draw, Ratio::ZERO));
            assert!(!active(19, 20).is_leader(&draw, Ratio::ONE));
        }
    }

    #[test]
    fn inputs_differ_by_slot_nonce_and_purpose() {
        let inputs = [
            praos_input(1, Some([1; 32])),
            praos_input(2, Some([1; 32])),
            praos_input(1, Some([2; 32])),
            praos_input(1, None),
            tpraos_input(1, Some([1; 32]), Purpose::Nonce),
            tpraos_input(1, Some([1; 32]), Purpose::Leader),
        ];
        assert!((0..inputs.len()).all(|one| (0..one).all(|other| inputs[one] != inputs[other])));
    }
}
