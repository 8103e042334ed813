//! Unspent outputs before the first block.

use slotmark_chain::Hash32;
use slotmark_chain::hash::blake2b_256;

use crate::address::Address;
use crate::keys::{Keys, Owner, PAYMENT_KEYS, STAKE_KEYS};
use crate::recipe::Recipe;

/// Number of outputs that are always there.
const OUTPUTS: u64 = 16_384;
/// Lovelace of each of them: 1,600,000 ada, 26.2 thousand million ada in all.
const LOVELACE: u64 = 1_600_000_000_000;
/// Lovelace of each extra one: 1,000 ada.
pub(crate) const EXTRA_LOVELACE: u64 = 1_000_000_000;
/// Most extra ones, so that no more lovelace is unspent than can exist.
pub(crate) const MAX_EXTRA_OUTPUTS: u64 = 16_000_000;

/// Lovelace of each delegator's output: 500 ada.
const DELEGATOR_LOVELACE: u64 = 500_000_000;
/// Most delegators, for the same reason.
pub(crate) const MAX_DELEGATORS: u64 = 4_000_000;

/// The unspent outputs before a chain's first block: they depend on the recipe's seed and its extra outputs.
///
/// There is one output of 1,600,000 ada for each of 16,384 base addresses, which combine each of 4,096 payment keys with four
/// of 16 stake keys that delegate. Extra ones hold 1,000 ada each; their stake keys aren't registered, so that they count
/// for no pool until they are spent. Delegators of the recipe hold 500 ada each at an address of their own, which isn't spent. As with a Shelley genesis file's `initialFunds`, an output's transaction id is the
/// BLAKE2b-256 of its address, and its index is 0.
pub struct Genesis {
    keys: Keys,
    extra: u64,
    delegators: u64,
}

/// An output that the genesis holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GenesisOutput {
    /// The id that a transaction spends it by.
    pub transaction: Hash32,
    /// The index that a transaction spends it by: 0.
    pub index: u16,
    /// Its address.
    pub address: Address,
    /// Its amount.
    pub lovelace: u64,
}

impl Genesis {
    /// The genesis of a recipe's chain.
    pub fn new(recipe: &Recipe) -> Self {
        Self { keys: Keys::new(recipe.seed), extra: recipe.utxo, delegators: recipe.delegators }
    }

    /// Its outputs, in order.
    pub fn outputs(&self) -> impl Iterator<Item = GenesisOutput> {
        outputs(&self.keys, self.extra).map(|(_, output)| output).chain(delegators_outputs(&self.keys, self.delegators))
    }
}

/// The genesis's outputs, and whose they are.
pub(crate) fn outputs(keys: &Keys, extra: u64) -> impl Iterator<Item = (Owner, GenesisOutput)> {
    let payment_keys = u64::from(PAYMENT_KEYS);
    let delegated = (0..OUTPUTS).map(move |number| (number, (number / payment_keys * 4 + number % 4) as u32, LOVELACE));
    let extra = (0..extra).map(move |number| (number, STAKE_KEYS + (number / payment_keys) as u32, EXTRA_LOVELACE));
    delegated.chain(extra).map(move |(number, stake, lovelace)| {
        let owner = Owner { payment: (number % payment_keys) as u16, stake };
        (owner, output(keys.address(owner), lovelace))
    })
}

/// The outputs of this many delegators.
pub(crate) fn delegators_outputs(keys: &Keys, delegators: u64) -> impl Iterator<Item = GenesisOutput> {
    (0..delegators).map(|number| {
        let payment = keys.payment_hash((number % u64::from(PAYMENT_KEYS)) as u16);
        output(Address::base(&payment, &keys.delegator_hash(number)), DELEGATOR_LOVELACE)
    })
}

fn output(address: Address, lovelace: u64) -> GenesisOutput {
    GenesisOutput { transaction: blake2b_256(&[address.bytes()]), index: 0, address, lovelace }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;
    use crate::recipe::Workload;
    use slotmark_network::shelley;

    #[test]
    fn every_output_has_an_address_of_its_own() {
        let recipe = Recipe { utxo: 10_000, delegators: 5_000, ..Recipe::new(Workload::Empty, 1) };
        let genesis = Genesis::new(&recipe);
        let ids: HashSet<Hash32> = genesis.outputs().map(|output| output.transaction).collect();
        assert_eq!(ids.len(), 31_384);
        assert!(genesis.outputs().all(|output| output.transaction == blake2b_256(&[output.address.bytes()])));
        assert_ne!(genesis.outputs().next(), Genesis::new(&Recipe { seed: 2, ..recipe }).outputs().next());
        const MOST: u64 = OUTPUTS * LOVELACE + MAX_EXTRA_OUTPUTS * EXTRA_LOVELACE + MAX_DELEGATORS * DELEGATOR_LOVELACE;
        const { assert!(MOST <= shelley::MAX_LOVELACE) }
    }

    #[test]
    fn each_stake_key_that_delegates_has_as_much() {
        let mut by_stake: HashMap<u32, u64> = HashMap::new();
        for (owner, output) in outputs(&Keys::new(1), 0) {
            *by_stake.entry(owner.stake).or_default() += output.lovelace;
        }
        assert_eq!(by_stake.len(), 16);
        assert!(by_stake.values().all(|lovelace| *lovelace == 1_024 * LOVELACE));
    }
}
