//! The two lengths of BLAKE2b that Cardano uses, over pieces one after the other.

use blake2b_simd::Params;

use crate::block::Hash28;
use crate::point::Hash32;

/// BLAKE2b with a digest of 32 bytes: transactions, blocks, nonces, VRF keys, genesis files.
pub fn blake2b_256(pieces: &[&[u8]]) -> Hash32 {
    let mut state = Params::new().hash_length(32).to_state();
    for piece in pieces {
        state.update(piece);
    }
    state.finalize().as_bytes().try_into().expect("32 bytes")
}

/// BLAKE2b with a digest of 28 bytes: keys and scripts.
pub fn blake2b_224(pieces: &[&[u8]]) -> Hash28 {
    let mut state = Params::new().hash_length(28).to_state();
    for piece in pieces {
        state.update(piece);
    }
    state.finalize().as_bytes().try_into().expect("28 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_hash_as_their_whole() {
        assert_eq!(blake2b_256(&[b"ab", b"", b"c"]), blake2b_256(&[b"abc"]));
        assert_eq!(blake2b_224(&[b"a", b"bc"]), blake2b_224(&[b"abc"]));
        assert_eq!(hex::encode(blake2b_256(&[&0u64.to_be_bytes()])), "81e47a19e6b29b0a65b9591762ce5143ed30d0261e5d24a3201752506b20f15c");
    }
}
