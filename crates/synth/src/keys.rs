//! The keys of the wallet that makes all transactions.

use ed25519_dalek::{Signer, SigningKey};
use rayon::prelude::*;
use slotmark_chain::hash::blake2b_224;

use crate::address::{Address, Hash28};
use crate::random::{Stream, secret};

/// How many payment keys, and how many stake keys.
pub(crate) const PAYMENT_KEYS: u16 = 4_096;
pub(crate) const STAKE_KEYS: u16 = 16;

/// Who an output belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) payment: u16,
    pub(crate) stake: u16,
}

impl Owner {
    /// Any of ours.
    pub(crate) fn any(stream: &mut Stream) -> Self {
        Self { payment: stream.below(u64::from(PAYMENT_KEYS)) as u16, stake: stream.below(u64::from(STAKE_KEYS)) as u16 }
    }
}

/// Payment and stake keys, from the seed.
pub(crate) struct Keys {
    payment: Vec<SigningKey>,
    payment_hashes: Vec<Hash28>,
    stake_hashes: Vec<Hash28>,
}

impl Keys {
    pub(crate) fn new(seed: u64) -> Self {
        let key = |purpose, number| SigningKey::from_bytes(&secret(seed, purpose, u64::from(number)));
        let payment: Vec<SigningKey> = (0..PAYMENT_KEYS).into_par_iter().map(|number| key("payment", number)).collect();
        let stake = (0..STAKE_KEYS).map(|number| key("stake", number));
        Self { payment_hashes: payment.iter().map(key_hash).collect(), stake_hashes: stake.map(|key| key_hash(&key)).collect(), payment }
    }

    pub(crate) fn address(&self, owner: Owner) -> Address {
        Address::base(&self.payment_hashes[usize::from(owner.payment)], &self.stake_hashes[usize::from(owner.stake)])
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
