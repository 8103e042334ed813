//! Messages of block-fetch.

use slotmark_chain::Point;

use super::{Decoded, begin, point, put_point, read, unknown};

/// A client's message in block-fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockFetchRequest {
    /// The blocks from one point to another, both included.
    Range(Point, Point),
    /// Ends the protocol.
    Done,
}

impl BlockFetchRequest {
    /// Reads a message from the beginning of `bytes`.
    ///
    /// # Errors
    /// It isn't whole, or isn't one.
    pub fn decode(bytes: &[u8]) -> Decoded<Self> {
        read(bytes, &[1, 3], |decoder, tag| {
            Ok(match tag {
                0 => Self::Range(point(decoder)?, point(decoder)?),
                1 => Self::Done,
                tag => return unknown("block-fetch", tag),
            })
        })
    }

    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Range(from, to) => {
                begin(out, 3, 0);
                put_point(out, from);
                put_point(out, to);
            }
            Self::Done => begin(out, 1, 1),
        }
    }
}
