//! The verifiable random function of Praos: ECVRF-ED25519-SHA512-Elligator2 of draft-irtf-cfrg-vrf-03.
//!
//! Accepts and refuses what libsodium's `crypto_vrf_ietfdraft03` does (cardano-crypto-praos): keys of small order, points
//! whose y isn't canonical and scalars from the group's order on are refused. RFC 9381 is another function.

use curve25519_dalek::EdwardsPoint;
use curve25519_dalek::edwards::CompressedEdwardsY;
use curve25519_dalek::scalar::{Scalar, clamp_integer};
use curve25519_dalek::traits::{IsIdentity, VartimeMultiscalarMul};
use sha2::{Digest, Sha512};

use crate::ed25519::is_canonical;

/// Bytes of a proof: a point, a challenge of 16 bytes and a scalar.
pub const PROOF_BYTES: usize = 80;
/// Bytes of an output.
pub const OUTPUT_BYTES: usize = 64;

/// The suite's number, before everything that is hashed.
const SUITE: u8 = 4;
const TO_CURVE: u8 = 1;
const CHALLENGE: u8 = 2;
const TO_OUTPUT: u8 = 3;

/// A proof that an output is a key's for an input.
pub type Proof = [u8; PROOF_BYTES];
/// The output of the function.
pub type Output = [u8; OUTPUT_BYTES];

/// A secret key.
#[derive(Clone)]
pub struct SigningKey {
    seed: [u8; 32],
    verification_key: [u8; 32],
    secret: Scalar,
    /// Key for the nonce of a proof: the same input always has the same proof.
    nonce_key: [u8; 32],
}

impl SigningKey {
    /// The key of a seed.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        let expanded = Sha512::digest(seed);
        let (low, high) = expanded.split_at(32);
        let secret = Scalar::from_bytes_mod_order(clamp_integer(low.try_into().expect("32 bytes")));
        let verification_key = EdwardsPoint::mul_base(&secret).compress().to_bytes();
        Self { seed: *seed, verification_key, secret, nonce_key: high.try_into().expect("32 bytes") }
    }

    /// The key as cardano-cli keeps it: the seed, then the verification key. None where the two don't belong together.
    pub fn from_bytes(bytes: &[u8; 64]) -> Option<Self> {
        let (seed, verification_key) = bytes.split_at(32);
        let key = Self::from_seed(seed.try_into().expect("32 bytes"));
        (key.verification_key == verification_key).then_some(key)
    }

    /// The seed, then the verification key.
    pub fn to_bytes(&self) -> [u8; 64] {
        let mut bytes = [0; 64];
        bytes[..32].copy_from_slice(&self.seed);
        bytes[32..].copy_from_slice(&self.verification_key);
        bytes
    }

    /// The public half.
    pub fn verification_key(&self) -> [u8; 32] {
        self.verification_key
    }

    /// The function itself, without a proof: enough to find the slots that a key leads.
    pub fn evaluate(&self, input: &[u8]) -> Output {
        output_of(&(self.secret * hash_to_curve(&self.verification_key, input)).mul_by_cofactor())
    }

    /// The proof for an input; [`output`] gives the output that it proves.
    pub fn prove(&self, input: &[u8]) -> Proof {
        let point = hash_to_curve(&self.verification_key, input);
        let point_bytes = point.compress().to_bytes();
        let gamma = (self.secret * point).compress().to_bytes();
        let nonce = Sha512::new().chain_update(self.nonce_key).chain_update(point_bytes).finalize();
        let nonce = Scalar::from_bytes_mod_order_wide(&nonce.into());
        let (u, v) = (EdwardsPoint::mul_base(&nonce), nonce * point);
        let challenge = challenge(&[point_bytes, gamma, u.compress().to_bytes(), v.compress().to_bytes()]);
        let response = nonce + scalar_of(&challenge) * self.secret;
        let mut proof = [0; PROOF_BYTES];
        proof[..32].copy_from_slice(&gamma);
        proof[32..48].copy_from_slice(&challenge);
        proof[48..].copy_from_slice(response.as_bytes());
        proof
    }
}

/// The output that a proof proves for a key and an input; None where it proves nothing.
pub fn verify(verification_key: &[u8; 32], input: &[u8], proof: &Proof) -> Option<Output> {
    let key = decode_point(verification_key).filter(|key| !key.is_small_order())?;
    let Parts { gamma, challenge: stated, response } = Parts::of(proof)?;
    let point = hash_to_curve(verification_key, input);
    let minus_challenge = -scalar_of(&stated);
    let u = EdwardsPoint::vartime_double_scalar_mul_basepoint(&minus_challenge, &key, &response);
    let v = EdwardsPoint::vartime_multiscalar_mul([response, minus_challenge], [point, gamma]);
    let eightfold = gamma.mul_by_cofactor();
    // The point itself, not its bytes: there are two encodings of a point with x = 0.
    let gamma_bytes = if eightfold.is_identity() { gamma.compress().to_bytes() } else { proof[..32].try_into().expect("32 bytes") };
    let found = challenge(&[point.compress().to_bytes(), gamma_bytes, u.compress().to_bytes(), v.compress().to_bytes()]);
    (found == stated).then(|| output_of(&eightfold))
}

/// The output that a proof is for, unchecked; None where its bytes are no proof.
pub fn output(proof: &Proof) -> Option<Output> {
    Parts::of(proof).map(|parts| output_of(&parts.gamma.mul_by_cofactor()))
}

/// The parts of a proof.
struct Parts {
    gamma: EdwardsPoint,
    challenge: [u8; 16],
    response: Scalar,
}

impl Parts {
    fn of(proof: &Proof) -> Option<Self> {
        let gamma = decode_point(proof[..32].try_into().expect("32 bytes"))?;
        let challenge = proof[32..48].try_into().expect("16 bytes");
        let response = Scalar::from_canonical_bytes(proof[48..].try_into().expect("32 bytes")).into_option()?;
        Some(Self { gamma, challenge, response })
    }
}

fn decode_point(bytes: &[u8; 32]) -> Option<EdwardsPoint> {
    if is_canonical(bytes) { CompressedEdwardsY(*bytes).decompress() } else { None }
}

/// The input's point: the Elligator 2 map of a hash, times the cofactor.
fn hash_to_curve(verification_key: &[u8; 32], input: &[u8]) -> EdwardsPoint {
    let mut message = Vec::with_capacity(34 + input.len());
    message.extend([SUITE, TO_CURVE]);
    message.extend(verification_key);
    message.extend(input);
    // The map takes the sign of x from the hash's top bit; the draft clears that bit, so that the sign is always 0.
    #[expect(deprecated, reason = "not a secure hash to the curve by itself, and just the map that this draft has")]
    let point = EdwardsPoint::nonspec_map_to_curve::<Sha512>(&message);
    if Sha512::digest(&message)[31] & 0x80 == 0 { point } else { -point }
}

/// The first 16 bytes of the hash of four points.
fn challenge(points: &[[u8; 32]; 4]) -> [u8; 16] {
    let mut hash = Sha512::new_with_prefix([SUITE, CHALLENGE]);
    for point in points {
        hash.update(point);
    }
    hash.finalize()[..16].try_into().expect("16 bytes")
}

fn scalar_of(challenge: &[u8; 16]) -> Scalar {
    Scalar::from(u128::from_le_bytes(*challenge))
}

fn output_of(eightfold_gamma: &EdwardsPoint) -> Output {
    Sha512::new_with_prefix([SUITE, TO_OUTPUT]).chain_update(eightfold_gamma.compress().as_bytes()).finalize().into()
}

#[cfg(test)]
mod tests {
    use curve25519_dalek::constants::EIGHT_TORSION;
    use proptest::prelude::*;

    use super::*;

    fn bytes<const N: usize>(text: &str) -> [u8; N] {
        let mut bytes = [0; N];
        hex::decode_to_slice(text, &mut bytes).expect("hex");
        bytes
    }

    /// Seed, verification key, input, proof, output: three of the draft's appendix A.4, four of cardano-base
    /// (cardano-crypto-praos, `test_vectors/vrf_ver03_generated_*`).
    const VECTORS: [[&str; 5]; 7] = [
        [
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            "b6b4699f87d56126c9117a7da55bd0085246f4c56dbc95d20172612e9d38e8d7ca65e573a126ed88d4e30a46f80a666854d675cf3ba81de0de043c3774f061560f55edc256a787afe701677c0f602900",
            "5b49b554d05c0cd5a5325376b3387de59d924fd1e13ded44648ab33c21349a603f25b84ec5ed887995b33da5e3bfcb87cd2f64521c4c62cf825cffabbe5d31cc",
        ],
        [
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            "ae5b66bdf04b4c010bfe32b2fc126ead2107b697634f6f7337b9bff8785ee111200095ece87dde4dbe87343f6df3b107d91798c8a7eb1245d3bb9c5aafb093358c13e6ae1111a55717e895fd15f99f07",
            "94f4487e1b2fec954309ef1289ecb2e15043a2461ecc7b2ae7d4470607ef82eb1cfa97d84991fe4a7bfdfd715606bc27e2967a6c557cfb5875879b671740b7d8",
        ],
        [
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            "af82",
            "dfa2cba34b611cc8c833a6ea83b8eb1bb5e2ef2dd1b0c481bc42ff36ae7847f6ab52b976cfd5def172fa412defde270c8b8bdfbaae1c7ece17d9833b1bcf31064fff78ef493f820055b561ece45e1009",
            "2031837f582cd17a9af9e0c7ef5a6540e3453ed894b62c293686ca3c1e319dde9d0aa489a4b59a9594fc2328bc3deff3c8a0929a369a72b1180a596e016b5ded",
        ],
        [
            "0000000000000000000000000000000000000000000000000000000000000000",
            "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29",
            "00",
            "000f006e64c91f84212919fe0899970cd341206fc081fe599339c8492e2cea3299ae9de4b6ce21cda0a975f65f45b70f82b3952ba6d0dbe11a06716e67aca233c0d78f115a655aa1952ada9f3d692a0a",
            "9930b5dddc0938f01cf6f9746eded569ee676bd6ff3b4f19233d74b903ec53a45c5728116088b7c622b6d6c354f7125c7d09870b56ec6f1e4bf4970f607e04b2",
        ],
        [
            "0000000000000000000000000000000000000000000000000000000000000000",
            "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29",
            "00010203040506070809",
            "0031f929352875995e3d55c4abdac7bfb92e706beb182999dd7d78f61e1bdc3f83b746a9ae6caee317a7c47597ece1801799c06ca2180cdb5392677cd8815353c1d0d5691956b3be52b322be049fc20c",
            "ca4171883d173a3f03bdb87c45ce349f0bb168ca8171d64f9b9aeaf20d0869bab9f74e819ccdc6754656468ccc2aa85e5f903a31375a39be84464fa515b51512",
        ],
        [
            "a70b8f607568df8ae26cf438b1057d8d0a94b7f3ac44cd984577fc43c2da55b7",
            "f1eb347d5c59e24f9f5f33c80cfd866e79fd72e0c370da3c011b1c9f045e23f1",
            "00",
            "aa349327d919c8c96de316855de6fe5fa841ef25af913cfb9b33d6b663c425bd024456ca193f10da319a2205c67222e8a62da87101904f453de0beb79568902cedeea891f3db8202690f51c8e7d3210b",
            "d4b4deef941fc3ece4e86f837c784951b4a0cbc4accd79cdcbc882123befeb17c63b329730c59bbe9253294496f730428d588b9221832cb336bfd9d67754030f",
        ],
        [
            "a70b8f607568df8ae26cf438b1057d8d0a94b7f3ac44cd984577fc43c2da55b7",
            "f1eb347d5c59e24f9f5f33c80cfd866e79fd72e0c370da3c011b1c9f045e23f1",
            "00010203040506070809",
            "989c0c477b4a0c07e0dabd7b73cdb42beb4b4e09471377e6d0b75e8ffd5d091704394c5ea4e2be5d5244b02c03cf85984adfa12c61280bc8c6e46f02035ee57d6cd18b96695ea04ff5ec541869ea890a",
            "933f886e8648796a968dccc71a3ce09a8026b28fdf5ffcc50be4b97431f3e3904375870b0bd196509dc33606846bb14820acdf36170e1667dbe9d3a940717bbd",
        ],
    ];

    #[test]
    fn published_vectors_are_reproduced() {
        for [seed, key, input, proof, expected] in VECTORS {
            let signing_key = SigningKey::from_seed(&bytes(seed));
            assert_eq!(signing_key.verification_key(), bytes(key), "{seed}");
            let input = hex::decode(input).expect("hex");
            assert_eq!(hex::encode(signing_key.prove(&input)), proof);
            assert_eq!(verify(&bytes(key), &input, &bytes(proof)), Some(bytes(expected)));
            assert_eq!(output(&bytes(proof)), Some(bytes(expected)));
        }
    }

    #[test]
    fn a_key_is_kept_with_its_public_half() {
        let key = SigningKey::from_seed(&[3; 32]);
        let mut kept = key.to_bytes();
        assert_eq!(SigningKey::from_bytes(&kept).map(|key| key.prove(b"x")), Some(key.prove(b"x")));
        kept[40] ^= 1;
        assert!(SigningKey::from_bytes(&kept).is_none());
    }

    #[test]
    fn every_flipped_bit_is_refused() {
        let key = SigningKey::from_seed(&[5; 32]);
        let (public, proof) = (key.verification_key(), key.prove(b"slot 5"));
        assert!(verify(&public, b"slot 5", &proof).is_some());
        assert_eq!(verify(&public, b"slot 6", &proof), None);
        for bit in 0..8 * PROOF_BYTES {
            let mut other = proof;
            other[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(verify(&public, b"slot 5", &other), None, "bit {bit}");
        }
        for bit in 0..256 {
            let mut other = public;
            other[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(verify(&other, b"slot 5", &proof), None, "bit {bit}");
        }
    }

    #[test]
    fn a_scalar_of_the_order_or_more_is_refused() {
        let key = SigningKey::from_seed(&[5; 32]);
        let mut proof = key.prove(b"slot 5");
        let order: [u8; 32] = bytes("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
        let mut carry = 0;
        for (byte, add) in proof[48..].iter_mut().zip(order) {
            let sum = u16::from(*byte) + u16::from(add) + carry;
            (*byte, carry) = (sum as u8, sum >> 8);
        }
        assert_eq!(verify(&key.verification_key(), b"slot 5", &proof), None);
    }

    #[test]
    fn keys_of_small_order_prove_nothing() {
        for key in EIGHT_TORSION {
            // With this key and a Gamma of small order the equations hold for about one challenge in eight.
            for attempt in 0..64u64 {
                let nonce = Scalar::from(attempt + 1);
                let point = hash_to_curve(&key.compress().to_bytes(), b"slot 5");
                let (u, v) = (EdwardsPoint::mul_base(&nonce), nonce * point);
                let encoded = [point, key, u, v].map(|point| point.compress().to_bytes());
                let mut proof = [0; PROOF_BYTES];
                proof[..32].copy_from_slice(&encoded[1]);
                proof[32..48].copy_from_slice(&challenge(&encoded));
                proof[48..].copy_from_slice(nonce.as_bytes());
                assert_eq!(verify(&key.compress().to_bytes(), b"slot 5", &proof), None);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

        #[test]
        fn what_is_proved_is_verified(seed: [u8; 32], input in proptest::collection::vec(any::<u8>(), 0..80)) {
            let key = SigningKey::from_seed(&seed);
            let proof = key.prove(&input);
            prop_assert_eq!(output(&proof), Some(key.evaluate(&input)));
            prop_assert_eq!(verify(&key.verification_key(), &input, &proof), output(&proof));
        }

        #[test]
        fn any_bytes_are_refused_without_panic(key: [u8; 32], proof in proptest::collection::vec(any::<u8>(), 80)) {
            let proof: Proof = proof.try_into().expect("80 bytes");
            prop_assert_eq!(verify(&key, b"slot", &proof), None);
        }
    }
}
