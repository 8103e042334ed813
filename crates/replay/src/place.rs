//! The place of an unspent output.

use std::hash::{Hash, Hasher};

use slotmark_chain::Hash32;

/// Bytes of a place as a key of a store.
pub const PLACE_BYTES: usize = 34;

/// A transaction's id, and the index of one of its outputs in two bytes, big endian: in the order of keys, outputs of a
/// transaction are neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(pub [u8; PLACE_BYTES]);

impl Place {
    /// The place of an output; None for an index beyond the 65,536 that a transaction can have.
    pub fn new(transaction: &Hash32, index: u64) -> Option<Self> {
        let mut bytes = [0; PLACE_BYTES];
        bytes[..32].copy_from_slice(transaction);
        bytes[32..].copy_from_slice(&u16::try_from(index).ok()?.to_be_bytes());
        Some(Self(bytes))
    }
}

impl Hash for Place {
    /// Takes eight bytes of the transaction's id, which is a hash itself, and the index: a seeded hasher makes it unpredictable.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let id = u64::from_le_bytes(self.0[..8].try_into().expect("8 bytes"));
        let index = u16::from_be_bytes([self.0[32], self.0[33]]);
        state.write_u64(id.wrapping_add(u64::from(index)));
    }
}
