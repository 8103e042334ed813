//! Key-evolving signatures: Sum6 over Ed25519 with BLAKE2b-256 (Malkin, Micciancio, Miner 2002, as in cardano-base).
//!
//! A tree of 64 Ed25519 keys, one for each evolution; the key of a node is the hash of its two children's. Which
//! evolutions are allowed at a slot is left to the caller: here there are 64.

use ed25519_dalek::{Signer, SigningKey as Ed25519Key};
use slotmark_chain::hash::blake2b_256;

use crate::ed25519;

/// Levels of the tree above its leaves.
const DEPTH: usize = 6;
/// Number of evolutions of a key.
pub const EVOLUTIONS: u32 = 1 << DEPTH;
/// Bytes of a signature: the leaf's, and two keys a level.
pub const SIGNATURE_BYTES: usize = 64 + DEPTH * 64;
/// Bytes of a signing key: the leaf's seed, and a seed and two keys a level.
pub const SIGNING_KEY_BYTES: usize = 32 + DEPTH * 96;

/// A signature: the leaf's, then the two children of each node on its way to the root, lowest first.
pub type Signature = [u8; SIGNATURE_BYTES];

/// A secret key in one of its evolutions.
#[derive(Clone)]
pub struct SigningKey {
    evolution: u32,
    leaf: [u8; 32],
    /// Levels of the nodes on the way from the leaf to the root, lowest first.
    levels: [Level; DEPTH],
}

#[derive(Clone, Copy, Default)]
struct Level {
    /// The seed of the right half, until it is needed.
    right_seed: [u8; 32],
    left: [u8; 32],
    right: [u8; 32],
}

impl SigningKey {
    /// The key of a seed, before its first evolution.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        let mut levels = [Level::default(); DEPTH];
        let (leaf, _) = plant(seed, &mut levels);
        Self { evolution: 0, leaf, levels }
    }

    /// The key as cardano-cli keeps it, of 608 bytes, which don't have the evolution: the caller has it.
    ///
    /// None where the leaf's key isn't the one that its node has in this evolution.
    pub fn from_bytes(bytes: &[u8; SIGNING_KEY_BYTES], evolution: u32) -> Option<Self> {
        let part = |at: usize| <[u8; 32]>::try_from(&bytes[at..at + 32]).expect("32 bytes");
        let level = |number: usize| {
            let at = 32 + 96 * number;
            Level { right_seed: part(at), left: part(at + 32), right: part(at + 64) }
        };
        let key = Self { evolution, leaf: part(0), levels: std::array::from_fn(level) };
        (evolution < EVOLUTIONS && *path(&key.nodes(), evolution)?.0 == public(&key.leaf) && !key.is_torn()).then_some(key)
    }

    /// The leaf's seed; then for each level, lowest first, the seed of the right half (zero once used) and both keys.
    pub fn to_bytes(&self) -> [u8; SIGNING_KEY_BYTES] {
        let mut bytes = [0; SIGNING_KEY_BYTES];
        bytes[..32].copy_from_slice(&self.leaf);
        for (level, place) in self.levels.iter().zip(bytes[32..].chunks_exact_mut(96)) {
            place[..32].copy_from_slice(&level.right_seed);
            place[32..64].copy_from_slice(&level.left);
            place[64..].copy_from_slice(&level.right);
        }
        bytes
    }

    /// The root: what an operational certificate calls the hot key.
    pub fn verification_key(&self) -> [u8; 32] {
        let root = &self.levels[DEPTH - 1];
        blake2b_256(&[&root.left, &root.right])
    }

    /// Goes on to the next evolution; false, and nothing changed, where there is none.
    pub fn evolve(&mut self) -> bool {
        let next = self.evolution + 1;
        if next >= EVOLUTIONS {
            return false;
        }
        // The lowest node whose left half ends here; below it, the tree begins anew from its right half.
        let (below, rest) = self.levels.split_at_mut(next.trailing_zeros() as usize);
        let seed = std::mem::take(&mut rest[0].right_seed);
        (self.leaf, _) = plant(&seed, below);
        self.evolution = next;
        true
    }

    /// Goes on to a later evolution; false where it is past it already, or the key has no such evolution.
    pub fn evolve_to(&mut self, evolution: u32) -> bool {
        if evolution < self.evolution || evolution >= EVOLUTIONS {
            return false;
        }
        while self.evolution < evolution {
            self.evolve();
        }
        true
    }

    /// Signs with this evolution's key.
    pub fn sign(&self, message: &[u8]) -> Signature {
        let mut signature = [0; SIGNATURE_BYTES];
        signature[..64].copy_from_slice(&Ed25519Key::from_bytes(&self.leaf).sign(message).to_bytes());
        signature[64..].copy_from_slice(&self.nodes());
        signature
    }

    /// The children of each node on the way to the root, as a signature has them.
    fn nodes(&self) -> [u8; DEPTH * 64] {
        let mut nodes = [0; DEPTH * 64];
        for (level, place) in self.levels.iter().zip(nodes.chunks_exact_mut(64)) {
            place[..32].copy_from_slice(&level.left);
            place[32..].copy_from_slice(&level.right);
        }
        nodes
    }

    /// Returns whether a right half that is yet to come has another key than the tree has for it.
    fn is_torn(&self) -> bool {
        (0..DEPTH).any(|number| {
            let level = &self.levels[number];
            self.evolution >> number & 1 == 0 && key_of(&level.right_seed, number) != level.right
        })
    }
}

/// Returns whether a signature is the one of a key's evolution over a message.
///
/// An evolution of 64 or more has no signature.
pub fn verify(verification_key: &[u8; 32], evolution: u32, message: &[u8], signature: &Signature) -> bool {
    let (leaf_signature, nodes) = signature.split_at(64);
    let nodes = nodes.try_into().expect("six pairs");
    let Some((leaf, root)) = path(nodes, evolution) else { return false };
    root == *verification_key && ed25519::verify(leaf, message, leaf_signature.try_into().expect("64 bytes"))
}

/// The leaf's key that the pairs of a signature lead to, and the root's; None where a pair isn't its parent's.
fn path(nodes: &[u8; DEPTH * 64], evolution: u32) -> Option<(&[u8; 32], [u8; 32])> {
    if evolution >= EVOLUTIONS {
        return None;
    }
    let mut below = None;
    let mut leaf = None;
    for (number, pair) in nodes.chunks_exact(64).enumerate() {
        let (left, right) = pair.split_at(32);
        let chosen: &[u8; 32] = if evolution >> number & 1 == 0 { left } else { right }.try_into().expect("32 bytes");
        if below.is_some_and(|below| below != *chosen) {
            return None;
        }
        leaf.get_or_insert(chosen);
        below = Some(blake2b_256(&[pair]));
    }
    Some((leaf?, below?))
}

/// Builds the tree below a node from its seed, one level for each of `levels`; gives the first leaf's seed and the node's key.
fn plant(seed: &[u8; 32], levels: &mut [Level]) -> ([u8; 32], [u8; 32]) {
    let Some((top, below)) = levels.split_last_mut() else { return (*seed, public(seed)) };
    let (left_seed, right_seed) = halves(seed);
    let (leaf, left) = plant(&left_seed, below);
    *top = Level { right_seed, left, right: key_of(&right_seed, below.len()) };
    (leaf, blake2b_256(&[&top.left, &top.right]))
}

/// The key of a node with this many levels below it.
fn key_of(seed: &[u8; 32], depth: usize) -> [u8; 32] {
    if depth == 0 {
        return public(seed);
    }
    let (left, right) = halves(seed);
    blake2b_256(&[&key_of(&left, depth - 1), &key_of(&right, depth - 1)])
}

/// The seeds of a node's two halves.
fn halves(seed: &[u8; 32]) -> ([u8; 32], [u8; 32]) {
    (blake2b_256(&[&[1], seed]), blake2b_256(&[&[2], seed]))
}

fn public(seed: &[u8; 32]) -> [u8; 32] {
    Ed25519Key::from_bytes(seed).verifying_key().to_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_evolution_has_signatures_of_its_own() {
        let mut key = SigningKey::from_seed(&[9; 32]);
        let root = key.verification_key();
        for evolution in 0..EVOLUTIONS {
            assert_eq!((key.evolution, key.verification_key()), (evolution, root));
            let signature = key.sign(b"header");
            for other in 0..2 * EVOLUTIONS {
                assert_eq!(verify(&root, other, b"header", &signature), other == evolution, "{evolution} as {other}");
            }
            assert!(!verify(&root, evolution, b"headers", &signature));
            let bytes = key.to_bytes();
            let read = SigningKey::from_bytes(&bytes, evolution).expect("the same key");
            assert_eq!(read.sign(b"header"), signature);
            assert!(SigningKey::from_bytes(&bytes, evolution ^ 1).is_none());
            assert_eq!(key.evolve(), evolution + 1 < EVOLUTIONS);
        }
        assert!(!key.evolve_to(3) && !key.evolve_to(64) && key.evolve_to(63));
    }

    #[test]
    fn every_flipped_bit_is_refused() {
        let mut key = SigningKey::from_seed(&[9; 32]);
        assert!(key.evolve_to(21));
        let (root, signature) = (key.verification_key(), key.sign(b"header"));
        for bit in 0..8 * SIGNATURE_BYTES {
            let mut other = signature;
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(!verify(&root, 21, b"header", &other), "bit {bit}");
        }
        for bit in 0..256 {
            let mut other = root;
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(!verify(&other, 21, b"header", &signature), "bit {bit}");
        }
    }

    #[test]
    fn used_seeds_are_gone() {
        let mut key = SigningKey::from_seed(&[9; 32]);
        assert!(key.evolve_to(63));
        assert!(key.levels.iter().all(|level| level.right_seed == [0; 32]));
        assert!(SigningKey::from_bytes(&key.to_bytes(), 63).is_some());
    }
}
