//! Points on a chain.

use std::fmt;
use std::str::FromStr;

/// A BLAKE2b-256 hash.
pub type Hash32 = [u8; 32];

/// A place on a chain: before its first block, or at a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Point {
    /// Before the first block.
    Origin,
    /// At the block in this slot with this header hash.
    Block {
        /// Absolute slot.
        slot: u64,
        /// Header hash.
        hash: Hash32,
    },
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Point::Origin => f.write_str("origin"),
            Point::Block { slot, hash } => write!(f, "{slot}.{}", hex::encode(hash)),
        }
    }
}

/// Text that is no point.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("'{0}' is not a point: expected SLOT.HASH with 64 hex digits, or origin")]
pub struct PointError(pub String);

impl FromStr for Point {
    type Err = PointError;

    fn from_str(text: &str) -> Result<Self, PointError> {
        if text == "origin" {
            return Ok(Point::Origin);
        }
        let error = || PointError(text.to_owned());
        let (slot, hash) = text.split_once('.').ok_or_else(error)?;
        let mut bytes = [0; 32];
        hex::decode_to_slice(hash, &mut bytes).map_err(|_| error())?;
        Ok(Point::Block { slot: slot.parse().map_err(|_| error())?, hash: bytes })
    }
}

/// A chain's last block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tip {
    /// Its place on the chain.
    pub point: Point,
    /// Its number, counted from 0 (epoch boundary blocks have their predecessor's).
    pub block_no: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_read_as_they_are_written() {
        let point = Point::Block { slot: 1_085_316, hash: [0xab; 32] };
        assert_eq!(point.to_string().parse(), Ok(point));
        assert_eq!("origin".parse(), Ok(Point::Origin));
        for text in ["", "5", "5.ab", "x.00", &format!("-1.{}", "00".repeat(32)), &format!("1.{}", "0g".repeat(32))] {
            assert_eq!(text.parse::<Point>(), Err(PointError(text.to_owned())));
        }
    }
}
