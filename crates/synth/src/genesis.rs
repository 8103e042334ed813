//! What is unspent before the first block.

use slotmark_chain::Hash32;
use slotmark_chain::hash::blake2b_256;

use crate::address::Address;
use crate::keys::{Keys, Owner, PAYMENT_KEYS, STAKE_KEYS};

/// Lovelace of each output: 400,000 ada, 26.2 thousand million ada in all.
const LOVELACE: u64 = 400_000_000_000;

/// The unspent outputs before a chain's first block: they depend on the seed alone.
///
/// There is one output of 400,000 ada for each of 65,536 base addresses, which combine 4,096 payment keys with 16 stake
/// keys; the payment key changes fastest. As with a Shelley genesis file's `initialFunds`, an output's transaction
/// id is the BLAKE2b-256 of its address, and its index is 0.
pub struct Genesis {
    keys: Keys,
}

/// An output that the genesis holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GenesisOutput {
    /// The id that a transaction spends it by.
    pub transaction: Hash32,
    /// The index that a transaction spends it by: 0.
    pub index: u16,
    /// Where it is.
    pub address: Address,
    /// How much it holds.
    pub lovelace: u64,
}

impl Genesis {
    /// The genesis of all chains of a seed.
    pub fn new(seed: u64) -> Self {
        Self { keys: Keys::new(seed) }
    }

    /// Its outputs, in order.
    pub fn outputs(&self) -> impl Iterator<Item = GenesisOutput> {
        outputs(&self.keys).map(|(_, output)| output)
    }
}

/// The genesis's outputs, and whose they are.
pub(crate) fn outputs(keys: &Keys) -> impl Iterator<Item = (Owner, GenesisOutput)> {
    (0..STAKE_KEYS).flat_map(move |stake| {
        (0..PAYMENT_KEYS).map(move |payment| {
            let owner = Owner { payment, stake };
            let address = keys.address(owner);
            (owner, GenesisOutput { transaction: blake2b_256(&[address.bytes()]), index: 0, address, lovelace: LOVELACE })
        })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_output_has_an_address_of_its_own() {
        let genesis = Genesis::new(1);
        let ids: HashSet<Hash32> = genesis.outputs().map(|output| output.transaction).collect();
        assert_eq!(ids.len(), 65_536);
        assert!(genesis.outputs().all(|output| output.transaction == blake2b_256(&[output.address.bytes()])));
        assert_ne!(genesis.outputs().next(), Genesis::new(2).outputs().next());
        let most = 45_000_000_000_000_000; // lovelace that can exist
        assert!(genesis.outputs().map(|output| output.lovelace).sum::<u64>() <= most);
    }
}
