//! The keys of the wallet that makes all transactions.

use ed25519_dalek::{Signer, SigningKey};
use rayon::prelude::*;
use slotmark_chain::hash::blake2b_224;

use crate::address::{Address, Hash28};
use crate::random::{Stream, secret};

/// How many payment keys, and how many stake keys that delegate.
pub(crate) const PAYMENT_KEYS: u16 = 4_096;
pub(crate) const STAKE_KEYS: u32 = 16;

/// Who an output belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) payment: u16,
    /// From [`STAKE_KEYS`] on, keys that were never registered and have no secret half.
    pub(crate) stake: u32,
}

impl Owner {
    /// Any of ours whose stake is delegated.
    pub(crate) fn any(stream: &mut Stream) -> Self {
        Self { payment: stream.below(u64::from(PAYMENT_KEYS)) as u16, stake: stream.below(u64::from(STAKE_KEYS)) as u32 }
    }
}

/// Payment and stake keys, from the seed.
pub(crate) struct Keys {
    seed: u64,
    payment: Vec<SigningKey>,
    payment_hashes: Vec<Hash28>,
    stake_hashes: Vec<Hash28>,
}

impl Keys {
    pub(crate) fn new(seed: u64) -> Self {
        let key = |purpose, number: u32| SigningKey::from_bytes(&secret(seed, purpose, u64::from(number)));
        let payment: Vec<SigningKey> = (0..u32::from(PAYMENT_KEYS)).into_par_iter().map(|number| key("payment", number)).collect();
        let payment_hashes = payment.iter().map(key_hash).collect();
        Self { seed, payment_hashes, stake_hashes: (0..STAKE_KEYS).map(|number| key_hash(&key("stake", number))).collect(), payment }
    }

    /// The seed of a payment key.
    pub(crate) fn payment_secret(&self, number: u16) -> [u8; 32] {
        secret(self.seed, "payment", u64::from(number))
    }

    /// The seed of a stake key.
    pub(crate) fn stake_secret(&self, number: u32) -> [u8; 32] {
        secret(self.seed, "stake", u64::from(number))
    }

    /// The hash of a stake key.
    pub(crate) fn stake_hash(&self, number: u32) -> Hash28 {
        match self.stake_hashes.get(number as usize) {
            Some(hash) => *hash,
            None => blake2b_224(&[&secret(self.seed, "unregistered", u64::from(number))]),
        }
    }

    pub(crate) fn address(&self, owner: Owner) -> Address {
        Address::base(&self.payment_hashes[usize::from(owner.payment)], &self.stake_hash(owner.stake))
    }

    /// A payment key's public half and its signature of a transaction's id.
    pub(crate) fn witness(&self, payment: u16, transaction: &[u8; 32]) -> ([u8; 32], [u8; 64]) {
        let key = &self.payment[usize::from(payment)];
        (key.verifying_key().to_bytes(), key.sign(transaction).to_bytes())
    }
}

fn key_hash(key: &SigningKey) -> Hash28 {
    blake2b_224(&[key.verifying_key().as_bytes()])
}
