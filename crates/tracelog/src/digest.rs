//! The digest of a file that a run is made from.

/// A BLAKE3 digest of bytes that come piece by piece.
#[derive(Default)]
pub struct SourceDigest(blake3::Hasher);

impl SourceDigest {
    /// The digest of these bytes, as [`SourceDigest::finish`] gives it.
    pub fn of(bytes: &[u8]) -> String {
        let mut digest = Self::default();
        digest.update(bytes);
        digest.finish()
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest in hex, with its algorithm before it: `blake3:9f…`.
    pub fn finish(&self) -> String {
        format!("blake3:{}", self.0.finalize().to_hex())
    }
}
