//! Ed25519 as libsodium checks it, which is what cardano-node uses.

use ed25519_dalek::{Signature, VerifyingKey};

/// Returns whether a signature is a key's over a message, as `crypto_sign_verify_detached` of libsodium decides.
///
/// Refused beside wrong signatures: keys and signatures of small order, encodings that aren't canonical, and a scalar
/// that isn't below the group's order.
pub fn verify(key: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    is_canonical(key)
        && VerifyingKey::from_bytes(key).is_ok_and(|key| key.verify_strict(message, &Signature::from_bytes(signature)).is_ok())
}

/// Returns whether the y coordinate of an encoded point is below 2^255 - 19: curve25519-dalek takes others too.
pub fn is_canonical(point: &[u8; 32]) -> bool {
    let high = point[1..31].iter().all(|&byte| byte == 0xff) && point[31] & 0x7f == 0x7f;
    !(high && point[0] >= 0xed)
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::{Signer, SigningKey};

    use super::*;

    #[test]
    fn only_coordinates_below_the_prime_are_canonical() {
        let mut prime = [0xff; 32];
        (prime[0], prime[31]) = (0xed, 0x7f);
        assert!(!is_canonical(&prime));
        prime[0] = 0xec;
        assert!(is_canonical(&prime));
        prime[31] = 0xff; // the sign of x
        assert!(is_canonical(&prime));
        prime[0] = 0xee;
        assert!(!is_canonical(&prime));
        prime[7] = 0xfe;
        assert!(is_canonical(&prime));
    }

    #[test]
    fn signatures_are_checked_strictly() {
        let key = SigningKey::from_bytes(&[7; 32]);
        let public = key.verifying_key().to_bytes();
        let signature = key.sign(b"slot").to_bytes();
        assert!(verify(&public, b"slot", &signature));
        assert!(!verify(&public, b"slots", &signature));
        for bit in 0..512 {
            let mut other = signature;
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(!verify(&public, b"slot", &other), "bit {bit}");
        }
        // The neutral element as key and as half of the signature: the equation holds for every message.
        let mut neutral = [0; 32];
        neutral[0] = 1;
        let mut forged = [0; 64];
        forged[0] = 1;
        assert!(!verify(&neutral, b"slot", &forged));
    }
}
