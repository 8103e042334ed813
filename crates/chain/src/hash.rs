//! The two lengths of BLAKE2b that Cardano uses, over pieces one after the other.

use std::io;

use blake2b_simd::{Params, State};

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

/// A reader or writer that hashes what goes through it by BLAKE2b with a digest of 32 bytes: files too large for the memory.
pub struct Hashing<T> {
    inner: T,
    state: State,
}

impl<T> Hashing<T> {
    /// Reads from `inner`, or writes to it.
    pub fn new(inner: T) -> Self {
        Self { inner, state: Params::new().hash_length(32).to_state() }
    }

    /// The hash of all that was read or written.
    pub fn hash(&self) -> Hash32 {
        self.state.finalize().as_bytes().try_into().expect("32 bytes")
    }
}

impl<R: io::Read> io::Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.state.update(&buffer[..count]);
        Ok(count)
    }
}

impl<W: io::Write> io::Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.state.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
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
    fn what_is_written_and_read_is_hashed() {
        let mut written = Vec::new();
        let mut writer = Hashing::new(&mut written);
        io::Write::write_all(&mut writer, b"ab").unwrap();
        io::Write::write_all(&mut writer, b"c").unwrap();
        assert_eq!(writer.hash(), blake2b_256(&[b"abc"]));
        assert_eq!(written, b"abc");
        let mut reader = Hashing::new(io::Read::take(&written[..], 2));
        assert_eq!(io::read_to_string(&mut reader).unwrap(), "ab");
        assert_eq!(reader.hash(), blake2b_256(&[b"ab"]));
    }

    #[test]
    fn pieces_hash_as_their_whole() {
        assert_eq!(blake2b_256(&[b"ab", b"", b"c"]), blake2b_256(&[b"abc"]));
        assert_eq!(blake2b_224(&[b"a", b"bc"]), blake2b_224(&[b"abc"]));
        assert_eq!(hex::encode(blake2b_256(&[&0u64.to_be_bytes()])), "81e47a19e6b29b0a65b9591762ce5143ed30d0261e5d24a3201752506b20f15c");
    }
}
