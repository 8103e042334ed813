//! Operational certificates: a pool's cold key vouches for a hot key, from a KES period on.

use std::collections::HashMap;

use ed25519_dalek::{Signer, SigningKey};
use slotmark_chain::block::{Hash28, OperationalCertificate};

use crate::ed25519;

/// An operational certificate that stands for itself; in a header it is an [`OperationalCertificate`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The root of the KES key.
    pub hot_key: [u8; 32],
    /// Number of earlier certificates.
    pub sequence: u64,
    /// The KES period from which it is valid.
    pub kes_period: u64,
    /// The cold key's signature.
    pub signature: [u8; 64],
}

impl Certificate {
    /// Signs a hot key with a cold one.
    pub fn sign(cold: &SigningKey, hot_key: [u8; 32], sequence: u64, kes_period: u64) -> Self {
        let signature = cold.sign(&message(&hot_key, sequence, kes_period)).to_bytes();
        Self { hot_key, sequence, kes_period, signature }
    }

    /// The certificate as a header has it.
    pub fn view(&self) -> OperationalCertificate<'_> {
        OperationalCertificate { hot_key: &self.hot_key, sequence: self.sequence, kes_period: self.kes_period, signature: &self.signature }
    }
}

/// Returns whether a certificate has the signature of a cold key.
pub fn verify(cold_key: &[u8; 32], certificate: &OperationalCertificate<'_>) -> bool {
    ed25519::verify(cold_key, &message(certificate.hot_key, certificate.sequence, certificate.kes_period), certificate.signature)
}

/// The hot key, then number and period in 8 bytes each, big-endian.
fn message(hot_key: &[u8; 32], sequence: u64, kes_period: u64) -> [u8; 48] {
    let mut message = [0; 48];
    message[..32].copy_from_slice(hot_key);
    message[32..40].copy_from_slice(&sequence.to_be_bytes());
    message[40..].copy_from_slice(&kes_period.to_be_bytes());
    message
}

/// The number of the last certificate of each issuer.
#[derive(Clone, Debug, Default)]
pub struct Counters(HashMap<Hash28, u64>);

/// A certificate's number against the last one of its issuer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// The same, or the one after it.
    Valid,
    /// A smaller one.
    TooSmall,
    /// More than one above it.
    TooFarAhead,
}

impl Counters {
    /// Counters at some point of a chain.
    pub fn new(counters: impl IntoIterator<Item = (Hash28, u64)>) -> Self {
        Self(counters.into_iter().collect())
    }

    /// The number of an issuer's last certificate.
    pub fn last(&self, issuer: &Hash28) -> Option<u64> {
        self.0.get(issuer).copied()
    }

    /// Notes a certificate's number as the last of its issuer.
    pub fn note(&mut self, issuer: Hash28, sequence: u64) {
        self.0.insert(issuer, sequence);
    }
}

impl Sequence {
    /// Compares a number with the one before it; a first certificate is compared with 0.
    pub fn after(last: u64, sequence: u64) -> Self {
        if sequence < last {
            Self::TooSmall
        } else if sequence - last > 1 {
            Self::TooFarAhead
        } else {
            Self::Valid
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_its_cold_keys_alone() {
        let cold = SigningKey::from_bytes(&[1; 32]);
        let key = cold.verifying_key().to_bytes();
        let certificate = Certificate::sign(&cold, [2; 32], 3, 4);
        assert!(verify(&key, &certificate.view()));
        for other in [
            Certificate { hot_key: [3; 32], ..certificate.clone() },
            Certificate { sequence: 4, ..certificate.clone() },
            Certificate { kes_period: 3, ..certificate.clone() },
        ] {
            assert!(!verify(&key, &other.view()));
        }
        assert!(!verify(&SigningKey::from_bytes(&[2; 32]).verifying_key().to_bytes(), &certificate.view()));
        for bit in 0..512 {
            let mut other = certificate.clone();
            other.signature[bit / 8] ^= 1 << (bit % 8);
            assert!(!verify(&key, &other.view()), "bit {bit}");
        }
    }

    #[test]
    fn numbers_go_up_by_one_at_most() {
        for (last, sequence, expected) in [
            (5, 5, Sequence::Valid),
            (5, 6, Sequence::Valid),
            (5, 4, Sequence::TooSmall),
            (5, 7, Sequence::TooFarAhead),
            (u64::MAX, u64::MAX, Sequence::Valid),
            (0, u64::MAX, Sequence::TooFarAhead),
        ] {
            assert_eq!(Sequence::after(last, sequence), expected, "{last}, {sequence}");
        }
    }
}
