//! The two lengths of BLAKE2b that Cardano uses.

use blake2b_simd::Params;

/// Of transactions, blocks and data.
pub(crate) fn blake2b_256(bytes: &[u8]) -> [u8; 32] {
    blake2b_256_of(&[bytes])
}

/// Of several pieces, one after the other.
pub(crate) fn blake2b_256_of(pieces: &[&[u8]]) -> [u8; 32] {
    let mut state = Params::new().hash_length(32).to_state();
    for piece in pieces {
        state.update(piece);
    }
    state.finalize().as_bytes().try_into().expect("32 bytes")
}

/// Of keys and scripts.
pub(crate) fn blake2b_224_of(pieces: &[&[u8]]) -> [u8; 28] {
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
        assert_eq!(blake2b_256_of(&[b"ab", b"", b"c"]), blake2b_256(b"abc"));
        assert_eq!(blake2b_224_of(&[b"a", b"bc"]), blake2b_224_of(&[b"abc"]));
    }
}
