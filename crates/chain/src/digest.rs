//! The digest by which a target proves its work, as `docs/targets.md` defines it.

use sha2::{Digest as _, Sha256};

use crate::point::Hash32;

/// The facts of a decoded block that go into the digest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockFacts {
    /// Absolute slot.
    pub slot: u64,
    /// Header hash.
    pub hash: Hash32,
    /// Transaction bodies, those that failed phase 2 included.
    pub transactions: u32,
    /// Entries of all transactions' inputs.
    pub inputs: u32,
    /// Entries of all transactions' outputs.
    pub outputs: u32,
    /// Sum of the fees in lovelace.
    pub fees: u64,
}

/// A running SHA-256 over one record per block.
#[derive(Clone, Default)]
pub struct Digest(Sha256);

impl Digest {
    /// A digest over nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Folds a block that was received and not decoded.
    pub fn raw(&mut self, length: u32, crc32: u32) {
        let mut record = [0; 8];
        record[..4].copy_from_slice(&length.to_be_bytes());
        record[4..].copy_from_slice(&crc32.to_be_bytes());
        self.0.update(record);
    }

    /// Folds a decoded block.
    pub fn decoded(&mut self, facts: &BlockFacts) {
        let mut record = [0; 60];
        record[..8].copy_from_slice(&facts.slot.to_be_bytes());
        record[8..40].copy_from_slice(&facts.hash);
        record[40..44].copy_from_slice(&facts.transactions.to_be_bytes());
        record[44..48].copy_from_slice(&facts.inputs.to_be_bytes());
        record[48..52].copy_from_slice(&facts.outputs.to_be_bytes());
        record[52..].copy_from_slice(&facts.fees.to_be_bytes());
        self.0.update(record);
    }

    /// Folds a header.
    pub fn header(&mut self, slot: u64, hash: &Hash32) {
        let mut record = [0; 40];
        record[..8].copy_from_slice(&slot.to_be_bytes());
        record[8..].copy_from_slice(hash);
        self.0.update(record);
    }

    /// The digest so far, in hex.
    pub fn hex(&self) -> String {
        hex::encode(self.0.clone().finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_the_documented_bytes() {
        let mut digest = Digest::new();
        digest.raw(2, 0x0102_0304);
        digest.header(7, &[9; 32]);
        digest.decoded(&BlockFacts { slot: 1, hash: [2; 32], transactions: 3, inputs: 4, outputs: 5, fees: 6 });
        let mut bytes = vec![0, 0, 0, 2, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 7];
        bytes.extend([9; 32]);
        bytes.extend([0, 0, 0, 0, 0, 0, 0, 1]);
        bytes.extend([2; 32]);
        bytes.extend([0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 6]);
        assert_eq!(digest.hex(), hex::encode(Sha256::digest(bytes)));
    }
}
