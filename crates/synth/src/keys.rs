//! The keys of the wallet that makes all transactions.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use ed25519_dalek::SigningKey;
use rayon::prelude::*;
use slotmark_chain::Hash32;
use slotmark_chain::hash::blake2b_224;

use crate::address::{Address, Hash28};
use crate::random::{Stream, secret};
use crate::transaction::Signers;

/// Number of payment keys, and of stake keys that delegate.
pub(crate) const PAYMENT_KEYS: u16 = 4_096;
pub(crate) const STAKE_KEYS: u32 = 16;

/// The owner of an output.
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

/// A key that signs transactions. Forging a chain of full blocks is mostly that, and aws-lc takes half of ed25519-dalek's time for the
/// same bytes.
pub(crate) struct PaymentKey {
    pair: Ed25519KeyPair,
    public: [u8; 32],
}

impl PaymentKey {
    pub(crate) fn from_seed(seed: &[u8; 32]) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).expect("any 32 bytes are a seed");
        let public = pair.public_key().as_ref().try_into().expect("32 bytes");
        Self { pair, public }
    }

    pub(crate) fn public(&self) -> &[u8; 32] {
        &self.public
    }

    pub(crate) fn sign(&self, transaction: &Hash32) -> [u8; 64] {
        self.pair.sign(transaction).as_ref().try_into().expect("64 bytes")
    }
}

/// Payment and stake keys, from the seed.
pub(crate) struct Keys {
    seed: u64,
    payment: Vec<PaymentKey>,
    payment_hashes: Vec<Hash28>,
    stake_hashes: Vec<Hash28>,
}

impl Keys {
    pub(crate) fn new(seed: u64) -> Self {
        let payment = (0..u32::from(PAYMENT_KEYS)).into_par_iter().map(|number| PaymentKey::from_seed(&payment_secret(seed, number)));
        let payment: Vec<PaymentKey> = payment.collect();
        let payment_hashes = payment.iter().map(|key| blake2b_224(&[key.public()])).collect();
        let stake_hashes = (0..STAKE_KEYS).map(|number| key_hash(&stake_secret(seed, number))).collect();
        Self { seed, payment_hashes, stake_hashes, payment }
    }

    /// The hash of a stake key.
    pub(crate) fn stake_hash(&self, number: u32) -> Hash28 {
        match self.stake_hashes.get(number as usize) {
            Some(hash) => *hash,
            None => blake2b_224(&[&secret(self.seed, "unregistered", u64::from(number))]),
        }
    }

    /// The hash of the stake key of a delegator that only the genesis has; it has no secret half.
    pub(crate) fn delegator_hash(&self, number: u64) -> Hash28 {
        blake2b_224(&[&secret(self.seed, "delegator", number)])
    }

    /// The hash of a payment key.
    pub(crate) fn payment_hash(&self, number: u16) -> Hash28 {
        self.payment_hashes[usize::from(number)]
    }

    pub(crate) fn address(&self, owner: Owner) -> Address {
        Address::base(&self.payment_hashes[usize::from(owner.payment)], &self.stake_hash(owner.stake))
    }
}

impl Signers for Keys {
    fn signer(&self, number: u16) -> &PaymentKey {
        &self.payment[usize::from(number)]
    }
}

/// The seed of a payment key.
pub(crate) fn payment_secret(seed: u64, number: u32) -> [u8; 32] {
    secret(seed, "payment", u64::from(number))
}

/// The seed of a stake key.
pub(crate) fn stake_secret(seed: u64, number: u32) -> [u8; 32] {
    secret(seed, "stake", u64::from(number))
}

/// The public half of an Ed25519 key, from its seed.
pub(crate) fn public(seed: &[u8; 32]) -> [u8; 32] {
    SigningKey::from_bytes(seed).verifying_key().to_bytes()
}

/// The hash of the public half of an Ed25519 key, from its seed.
pub(crate) fn key_hash(seed: &[u8; 32]) -> Hash28 {
    blake2b_224(&[&public(seed)])
}
