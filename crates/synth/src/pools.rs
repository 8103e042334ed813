//! The pools that make blocks: their keys, and the keys that delegate to them.

use std::ops::Range;

use ed25519_dalek::SigningKey;
use slotmark_chain::Hash32;
use slotmark_chain::hash::{blake2b_224, blake2b_256};
use slotmark_praos::certificate::Certificate;
use slotmark_praos::header::KesPeriods;
use slotmark_praos::{kes, vrf};

use crate::address::Hash28;
use crate::keys::STAKE_KEYS;
use crate::random::secret;

/// Number of the wallet's stake keys that delegate to each pool of a forged chain.
///
/// Few pools, since each of them draws in each slot: a block costs 20 draws a pool, of about 60 us each.
pub(crate) const DELEGATORS: [u32; 2] = [10, 6];
const _: () = assert!(DELEGATORS[0] + DELEGATORS[1] == STAKE_KEYS);

/// A pool, but for its hot keys.
pub(crate) struct Pool {
    pub(crate) cold: SigningKey,
    pub(crate) vrf: vrf::SigningKey,
    /// The hash of its cold key.
    pub(crate) id: Hash28,
    /// The stake keys that delegate to it.
    pub(crate) delegators: Range<u32>,
}

impl Pool {
    pub(crate) fn cold_key(&self) -> [u8; 32] {
        self.cold.verifying_key().to_bytes()
    }

    pub(crate) fn vrf_key_hash(&self) -> Hash32 {
        blake2b_256(&[&self.vrf.verification_key()])
    }
}

/// The pools of a seed, each with its number of delegators: the first ones to the first, and so on.
pub(crate) fn pools(seed: u64, delegators: impl IntoIterator<Item = u32>) -> Vec<Pool> {
    let mut next = 0;
    let pool = |(number, delegators): (u64, u32)| {
        let cold = SigningKey::from_bytes(&secret(seed, "cold", number));
        let first = next;
        next += delegators;
        Pool {
            id: blake2b_224(&[cold.verifying_key().as_bytes()]),
            vrf: vrf::SigningKey::from_seed(&secret(seed, "vrf", number)),
            delegators: first..next,
            cold,
        }
    };
    (0..).zip(delegators).map(pool).collect()
}

/// The hot keys of all pools, which evolve as the slots pass.
pub(crate) struct HotKeys {
    seed: u64,
    periods: KesPeriods,
    by_pool: Vec<HotKey>,
}

/// A KES key, and the certificate that a pool's cold key signed for it.
pub(crate) struct HotKey {
    /// The seed of the key.
    pub(crate) seed: [u8; 32],
    pub(crate) certificate: Certificate,
    key: kes::SigningKey,
}

impl HotKeys {
    pub(crate) fn new(seed: u64, periods: KesPeriods, pools: &[Pool]) -> Self {
        let by_pool = (0..).zip(pools).map(|(number, pool)| HotKey::new(seed, number, pool, 0, 0)).collect();
        Self { seed, periods, by_pool }
    }

    /// A pool's signature in a slot, by the certificate that [`HotKeys::enter`] gave.
    pub(crate) fn sign(&self, pool: usize, message: &[u8]) -> kes::Signature {
        self.by_pool[pool].key.sign(message)
    }

    /// Brings a pool's hot key to the slot's evolution, and gives its certificate: a new one where the last has ended.
    pub(crate) fn enter(&mut self, slot: u64, number: usize, pool: &Pool) -> &Certificate {
        let period = slot / self.periods.slots;
        let hot = &mut self.by_pool[number];
        if period - hot.certificate.kes_period >= self.periods.max_evolutions {
            // Numbers go up one by one, however many periods went by without a block.
            let start = period - period % self.periods.max_evolutions;
            *hot = HotKey::new(self.seed, number as u64, pool, hot.certificate.sequence + 1, start);
        }
        let evolved = hot.key.evolve_to((period - hot.certificate.kes_period) as u32);
        debug_assert!(evolved, "slots ascend, and certificates end before their keys do");
        &hot.certificate
    }

    /// The hot key that each pool used last.
    pub(crate) fn last(&self) -> &[HotKey] {
        &self.by_pool
    }
}

impl HotKey {
    fn new(seed: u64, number: u64, pool: &Pool, sequence: u64, kes_period: u64) -> Self {
        let seed = secret(seed, "kes", number << 32 | sequence);
        let key = kes::SigningKey::from_seed(&seed);
        Self { seed, certificate: Certificate::sign(&pool.cold, key.verification_key(), sequence, kes_period), key }
    }
}

#[cfg(test)]
mod tests {
    use slotmark_praos::certificate::verify;

    use super::*;

    #[test]
    fn every_stake_key_has_one_pool() {
        let delegators: Vec<u32> = pools(1, DELEGATORS).into_iter().flat_map(|pool| pool.delegators).collect();
        assert_eq!(delegators, (0..STAKE_KEYS).collect::<Vec<_>>());
    }

    #[test]
    fn certificates_are_renewed_one_by_one_and_keys_evolve() {
        let pools = pools(1, DELEGATORS);
        let mut keys = HotKeys::new(1, KesPeriods { slots: 10, max_evolutions: 3 }, &pools);
        // Slot, then number and first period of the certificate, and the evolution in it.
        for (slot, sequence, start, evolution) in [(0, 0, 0, 0), (9, 0, 0, 0), (29, 0, 0, 2), (30, 1, 3, 0), (45, 1, 3, 1), (250, 2, 24, 1)]
        {
            let certificate = keys.enter(slot, 1, &pools[1]).clone();
            assert_eq!((certificate.sequence, certificate.kes_period), (sequence, start), "slot {slot}");
            assert!(verify(&pools[1].cold_key(), &certificate.view()));
            assert!(kes::verify(&certificate.hot_key, evolution, b"header", &keys.sign(1, b"header")), "slot {slot}");
        }
        assert_eq!(keys.last()[0].certificate.sequence, 0);
    }
}
