//! Who leads which slot, and with what keys.

use std::collections::HashMap;

use ed25519_dalek::{Signer, SigningKey};
use slotmark_chain::Hash32;
use slotmark_chain::hash::blake2b_256;

use crate::parameters::{MAX_KES_EVOLUTIONS, SLOTS_PER_BLOCK, SLOTS_PER_KES_PERIOD, kes_periods};
use crate::random::{Stream, secret};

/// Pools, of equal stake: as many as the benchmarking cluster has.
const POOLS: u64 = 52;

/// A slot that somebody leads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leadership {
    pub(crate) slot: u64,
    pub(crate) pool: usize,
}

/// The slots with leaders, in order, from the first slot on.
pub(crate) struct Schedule {
    stream: Stream,
    next_slot: u64,
}

impl Schedule {
    pub(crate) fn new(seed: u64) -> Self {
        Self { stream: Stream::new(seed, "slots", 0), next_slot: 0 }
    }

    pub(crate) fn next(&mut self) -> Leadership {
        while self.stream.below(SLOTS_PER_BLOCK) > 0 {
            self.next_slot += 1;
        }
        let slot = self.next_slot;
        self.next_slot += 1;
        Leadership { slot, pool: self.stream.below(POOLS) as usize }
    }
}

/// The pools' keys.
pub(crate) struct Pools {
    seed: u64,
    pools: Vec<Pool>,
    certificates: HashMap<(usize, u64), Certificate>,
}

struct Pool {
    cold: SigningKey,
    vrf_key: [u8; 32],
}

/// What a pool signs blocks with.
pub(crate) struct Issuer {
    pub(crate) cold_key: [u8; 32],
    pub(crate) vrf_key: [u8; 32],
    pub(crate) certificate: Certificate,
}

/// An operational certificate.
#[derive(Clone, Copy)]
pub(crate) struct Certificate {
    /// Stands in for a KES key.
    pub(crate) hot_key: Hash32,
    pub(crate) sequence: u64,
    pub(crate) kes_period: u64,
    pub(crate) signature: [u8; 64],
}

impl Pools {
    pub(crate) fn new(seed: u64) -> Self {
        let key = |purpose, number| SigningKey::from_bytes(&secret(seed, purpose, number));
        let pools = (0..POOLS).map(|pool| Pool { cold: key("cold", pool), vrf_key: key("vrf", pool).verifying_key().to_bytes() }).collect();
        Self { seed, pools, certificates: HashMap::new() }
    }

    /// A pool's keys in a slot, with the certificate that is good in it.
    pub(crate) fn issuer(&mut self, leadership: Leadership) -> Issuer {
        let pool = &self.pools[leadership.pool];
        let sequence = leadership.slot / SLOTS_PER_KES_PERIOD / MAX_KES_EVOLUTIONS;
        let certificate = *self.certificates.entry((leadership.pool, sequence)).or_insert_with(|| {
            let number = (leadership.pool as u64) << 32 | sequence;
            certify(&pool.cold, blake2b_256(&[&secret(self.seed, "kes", number)]), sequence)
        });
        Issuer { cold_key: pool.cold.verifying_key().to_bytes(), vrf_key: pool.vrf_key, certificate }
    }
}

/// The cold key signs the hot key, the number and the period, each of the two as 8 bytes.
fn certify(cold: &SigningKey, hot_key: Hash32, sequence: u64) -> Certificate {
    let kes_period = *kes_periods(sequence).start();
    let mut message = [0; 48];
    message[..32].copy_from_slice(&hot_key);
    message[32..40].copy_from_slice(&sequence.to_be_bytes());
    message[40..].copy_from_slice(&kes_period.to_be_bytes());
    Certificate { hot_key, sequence, kes_period, signature: cold.sign(&message).to_bytes() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_ascend_and_one_in_twenty_has_a_leader() {
        let mut schedule = Schedule::new(1);
        let slots: Vec<u64> = (0..20_000).map(|_| schedule.next().slot).collect();
        assert!(slots.is_sorted_by(|a, b| a < b));
        let last = slots[slots.len() - 1];
        assert!((390_000..410_000).contains(&last), "{last}"); // 20,000 x 20, standard deviation 2,757
        let next_slot = slots.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
        assert!((860..1_140).contains(&next_slot), "{next_slot}"); // 1,000 expected
    }

    #[test]
    fn certificates_are_renewed_before_they_end() {
        let mut pools = Pools::new(1);
        for slot in [0, 8_035_199, 8_035_200, 100_000_000] {
            let certificate = pools.issuer(Leadership { slot, pool: 3 }).certificate;
            assert_eq!(certificate.kes_period, *kes_periods(certificate.sequence).start());
            assert!(kes_periods(certificate.sequence).contains(&(slot / SLOTS_PER_KES_PERIOD)), "slot {slot}");
        }
        assert_eq!(pools.certificates.len(), 3);
    }
}
