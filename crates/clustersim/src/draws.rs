//! Randomness that depends on what it is for, and on nothing else.
//!
//! A draw is a function of the seed and of a key (which stage, which host, which block), so that the order in which events
//! happen, the number of threads, and changes elsewhere in a profile leave it alone. All arithmetic is in integers or in
//! software floating point (libm), so that every machine draws the same.

use std::sync::LazyLock;

use crate::quantity::Span;

/// The purpose of a draw: the first word of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Purpose {
    Leader = 1,
    Vrf,
    Hash,
    HostSpeed,
    LinkSpread,
    Topology,
    Started,
    BlockContext,
    LedgerState,
    LedgerView,
    Leadership,
    LedgerTick,
    MempoolSnapshot,
    Forge,
    ForgedToAnnounced,
    SelfAdopt,
    HeaderNotice,
    NoticeToFetch,
    Serve,
    Receive,
    FetchedToAnnounced,
    Adopt,
    HeaderJitter,
    RequestJitter,
    BodyJitter,
    Loss,
    Warmth,
    Slot,
    MempoolOffset,
    Phase,
    TxId,
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The source of all draws of one simulation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draws {
    seed: u64,
}

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed: mix(seed.wrapping_add(GOLDEN)) }
    }

    /// 64 random bits for a key.
    pub(crate) fn bits(&self, purpose: Purpose, a: u64, b: u64) -> u64 {
        let first = mix(self.seed ^ (purpose as u64).wrapping_mul(GOLDEN));
        let second = mix(first.wrapping_add(a.wrapping_mul(GOLDEN)) ^ a);
        mix(second.wrapping_add(b.wrapping_mul(GOLDEN)) ^ b.rotate_left(32))
    }

    /// A stream of draws for a key, for what is drawn in a fixed order.
    pub(crate) fn stream(&self, purpose: Purpose, a: u64, b: u64) -> Stream {
        Stream { state: self.bits(purpose, a, b) }
    }
}

/// SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    state: u64,
}

impl Stream {
    pub(crate) fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }
}

/// A probability as the share of the 64-bit numbers below a threshold.
pub(crate) fn threshold(probability: f64) -> u64 {
    if probability >= 1.0 { u64::MAX } else { (probability.max(0.0) * 18_446_744_073_709_551_616.0) as u64 }
}

const STEPS: usize = 1024;

/// A log-normal duration with a given mean: its quantile function in ns at 1,025 points, linear between them.
///
/// The outermost points stand for the quantiles 1/4096 and 4095/4096, so that a draw is at most 3.5 sigmas from the median; the whole is
/// scaled so that the mean is exact.
#[derive(Clone, Debug)]
pub(crate) struct Sampler {
    quantiles: Vec<u64>,
}

impl Sampler {
    /// A duration of a mean and the standard deviation `sigma` of its logarithm; constant where `sigma` is 0.
    pub(crate) fn new(mean: Span, sigma: f64) -> Self {
        if sigma <= 0.0 || mean.0 == 0 {
            return Self { quantiles: vec![mean.0; STEPS + 1] };
        }
        let raw: Vec<f64> = NORMAL_QUANTILES.iter().map(|quantile| libm::exp(sigma * quantile)).collect();
        Self::scaled(&raw, mean)
    }

    /// An exponential duration with a given mean.
    pub(crate) fn exponential(mean: Span) -> Self {
        let edge = |step: usize| (step as f64 / STEPS as f64).min(1.0 - 0.25 / STEPS as f64);
        let raw: Vec<f64> = (0..=STEPS).map(|step| -libm::log(1.0 - edge(step))).collect();
        Self::scaled(&raw, mean)
    }

    fn scaled(raw: &[f64], mean: Span) -> Self {
        let area: f64 = raw.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0).sum::<f64>() / STEPS as f64;
        Self { quantiles: raw.iter().map(|value| (value / area * mean.0 as f64 + 0.5) as u64).collect() }
    }

    /// The duration in ns that 64 random bits stand for.
    pub(crate) fn at(&self, bits: u64) -> u64 {
        let index = (bits >> 54) as usize;
        let within = (bits >> 22) & 0xffff_ffff;
        let (low, high) = (self.quantiles[index], self.quantiles[index + 1]);
        low + ((u128::from(high - low) * u128::from(within)) >> 32) as u64
    }
}

/// The standard normal distribution's quantiles at the points of a [`Sampler`]. A simulation has dozens of samplers, and a short one takes as long as they.
static NORMAL_QUANTILES: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let edge = |step: usize| (step as f64 / STEPS as f64).clamp(0.25 / STEPS as f64, 1.0 - 0.25 / STEPS as f64);
    (0..=STEPS).map(|step| normal_quantile(edge(step))).collect()
});

/// The quantile function of the standard normal distribution, by bisection of its distribution function.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-9.0_f64, 9.0_f64);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if 0.5 * libm::erfc(-middle / core::f64::consts::SQRT_2) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sampler_keeps_its_mean_and_its_order() {
        let sampler = Sampler::new(Span(21_260_000), 0.4);
        let draws = Draws::new(7);
        let n = 200_000_u64;
        let mean = (0..n).map(|i| sampler.at(draws.bits(Purpose::LedgerTick, 0, i))).sum::<u64>() as f64 / n as f64;
        assert!((mean / 21_260_000.0 - 1.0).abs() < 0.005, "{mean}");
        assert!(sampler.at(0) < sampler.at(u64::MAX / 2) && sampler.at(u64::MAX / 2) < sampler.at(u64::MAX));
    }

    #[test]
    fn a_draw_depends_on_every_word_of_its_key_and_on_the_seed() {
        let of = |seed, purpose, a, b| Draws::new(seed).bits(purpose, a, b);
        let base = of(1, Purpose::Serve, 2, 3);
        assert_eq!(base, of(1, Purpose::Serve, 2, 3));
        for other in [of(2, Purpose::Serve, 2, 3), of(1, Purpose::Adopt, 2, 3), of(1, Purpose::Serve, 3, 2), of(1, Purpose::Serve, 2, 4)] {
            assert_ne!(base, other);
        }
    }
}
