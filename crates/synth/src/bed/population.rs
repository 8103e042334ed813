//! The funds before the first block of a bed's chain.

use slotmark_chain::hash::blake2b_224;
use slotmark_praos::stake::Distribution;

use super::BedGenesis;
use crate::address::{Address, Hash28};
use crate::error::SynthError;
use crate::genesis::EXTRA_LOVELACE;
use crate::keys::{key_hash, payment_secret, public, stake_secret};
use crate::load::fund_address;
use crate::pools::{Pool, pools};
use crate::random::secret;

/// Lovelace that is delegated, of all pools together: ten thousand million ada.
const DELEGATED_LOVELACE: u64 = 10_000_000_000_000_000;
/// Lovelace of the workload's funds together: as much.
const FUNDS_LOVELACE: u64 = 10_000_000_000_000_000;

/// The pools of a bed, those who delegate to them, and all unspent outputs.
pub(super) struct Population {
    seed: u64,
    pub(super) pools: Vec<Pool>,
    /// Lovelace of each who delegates to a pool.
    lovelace: Vec<u64>,
    utxo_entries: u64,
    funds: u32,
}

impl Population {
    /// A pool for each of `stakes`, in any unit. Each has at least one delegator, however few the genesis has.
    pub(super) fn new(seed: u64, genesis: &BedGenesis, stakes: &[f64]) -> Result<Self, SynthError> {
        let count = stakes.len() as u64;
        let total: f64 = stakes.iter().sum();
        if stakes.is_empty() || !(total > 0.0 && total.is_finite() && stakes.iter().all(|stake| *stake >= 0.0)) {
            return Err(SynthError::Refused("no pool has stake: expected one at least. Give network.pools and network.stake.".to_owned()));
        }
        let delegators = (0..count).map(|pool| (genesis.delegators / count + u64::from(pool < genesis.delegators % count)).max(1) as u32);
        let delegators: Vec<u32> = delegators.collect();
        let share = |stake: f64, members: u32| ((stake / total * DELEGATED_LOVELACE as f64) as u64 / u64::from(members)).max(1_000_000);
        let lovelace = stakes.iter().zip(&delegators).map(|(stake, members)| share(*stake, *members)).collect();
        Ok(Self { seed, pools: pools(seed, delegators), lovelace, utxo_entries: genesis.utxo_entries, funds: genesis.funds })
    }

    /// Returns the number of unspent outputs.
    pub(super) fn entries(&self) -> u64 {
        let delegators = self.pools.iter().map(|pool| pool.delegators.len() as u64).sum::<u64>();
        u64::from(self.funds) + delegators + self.utxo_entries
    }

    /// All unspent outputs: those of the workload, of those who delegate, and the rest, without keys.
    pub(super) fn funds(&self) -> impl Iterator<Item = (Address, u64)> {
        let of_workload =
            (0..self.funds).map(|number| (fund_address(&public(&fund_secret(self.seed, number))), lovelace_of_fund(self.funds)));
        let of_delegators = self.pools.iter().zip(&self.lovelace).flat_map(|(pool, lovelace)| {
            pool.delegators.clone().map(|key| (Address::base(&self.payment_hash(key), &self.stake_hash(key)), *lovelace))
        });
        let rest = (0..self.utxo_entries).map(|number| (unowned_address(self.seed, number), EXTRA_LOVELACE));
        of_workload.chain(of_delegators).chain(rest)
    }

    /// The stake that decides who leads a slot, in all epochs: what moves in a bed is nobody's stake, and nothing is paid for blocks.
    pub(super) fn distribution(&self) -> Distribution {
        let stake = |(pool, lovelace): (&Pool, &u64)| (pool.id, (pool.delegators.len() as u64 * lovelace, pool.vrf_key_hash()));
        Distribution::of_pools(self.pools.iter().zip(&self.lovelace).map(stake))
    }

    /// The hash of a stake key.
    pub(super) fn stake_hash(&self, key: u32) -> Hash28 {
        if self.has_secret(key) { key_hash(&stake_secret(self.seed, key)) } else { self.nobody("unregistered", u64::from(key)) }
    }

    fn payment_hash(&self, key: u32) -> Hash28 {
        if self.has_secret(key) { key_hash(&payment_secret(self.seed, key)) } else { self.nobody("unowned", u64::from(key)) }
    }

    /// The seeds of the payment and stake keys of the first who delegates to each pool.
    pub(super) fn first_delegators(&self) -> impl Iterator<Item = ([u8; 32], [u8; 32])> {
        let keys = self.pools.iter().map(|pool| pool.delegators.start);
        keys.map(|key| (payment_secret(self.seed, key), stake_secret(self.seed, key)))
    }

    /// Only the first who delegates to a pool has keys: a key takes as long as a hundred hashes, and a genesis may have a million.
    fn has_secret(&self, key: u32) -> bool {
        self.pools.binary_search_by_key(&key, |pool| pool.delegators.start).is_ok()
    }

    /// A hash that is no key's.
    fn nobody(&self, purpose: &str, number: u64) -> Hash28 {
        nobody(self.seed, purpose, number)
    }
}

fn nobody(seed: u64, purpose: &str, number: u64) -> Hash28 {
    blake2b_224(&[&secret(seed, purpose, number)])
}

/// The address of one of the unspent outputs that nothing spends, by its number.
pub(crate) fn unowned_address(seed: u64, number: u64) -> Address {
    Address::key(&nobody(seed, "stuffing", number))
}

/// Returns the lovelace of each of this many funds.
pub(super) fn lovelace_of_fund(funds: u32) -> u64 {
    FUNDS_LOVELACE / u64::from(funds)
}

/// The seed of the key of one of the workload's funds.
pub(super) fn fund_secret(seed: u64, number: u32) -> [u8; 32] {
    secret(seed, "fund", u64::from(number))
}
