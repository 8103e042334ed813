//! Messages of chain-sync.

use slotmark_chain::{CborBuffer, Point, Tip};

use super::{Decoded, array, begin, close, list, point, put_point, put_tip, read, unknown};

/// A client's message in chain-sync.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChainSyncRequest {
    /// Asks for the next block or rollback.
    RequestNext,
    /// Goes to the first of these points that the server has.
    FindIntersect(Vec<Point>),
    /// Ends the protocol.
    Done,
}

/// A server's message in chain-sync; roll-forward has a reader of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChainSyncReply {
    /// Nothing new yet.
    AwaitReply,
    /// Go back to this point.
    RollBackward(Point),
    /// The intersection.
    IntersectFound(Point),
    /// None of the points is known.
    IntersectNotFound,
}

impl ChainSyncRequest {
    /// Reads a message from the beginning of `bytes`.
    ///
    /// # Errors
    /// It isn't whole, or isn't one.
    pub fn decode(bytes: &[u8]) -> Decoded<Self> {
        if bytes.starts_with(&[0x81, 0x00]) {
            return Ok((Self::RequestNext, 2));
        }
        read(bytes, &[1, 2], |decoder, tag| {
            Ok(match tag {
                0 => Self::RequestNext,
                4 => Self::FindIntersect(list(decoder, point)?),
                7 => Self::Done,
                tag => return unknown("chain-sync", tag),
            })
        })
    }

    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::RequestNext => begin(out, 1, 0),
            Self::FindIntersect(points) => {
                begin(out, 2, 4);
                out.array(points.len());
                points.iter().for_each(|point| put_point(out, point));
            }
            Self::Done => begin(out, 1, 7),
        }
    }
}

impl ChainSyncReply {
    /// Reads a message from the beginning of `bytes`; roll-forward isn't among them.
    ///
    /// # Errors
    /// It isn't whole, or isn't one.
    pub fn decode(bytes: &[u8]) -> Decoded<Self> {
        read(bytes, &[1, 2, 3], |decoder, tag| {
            Ok(match tag {
                1 => Self::AwaitReply,
                3 => {
                    let to = point(decoder)?;
                    decoder.skip()?;
                    Self::RollBackward(to)
                }
                5 => {
                    let found = point(decoder)?;
                    decoder.skip()?;
                    Self::IntersectFound(found)
                }
                6 => {
                    decoder.skip()?;
                    Self::IntersectNotFound
                }
                tag => return unknown("chain-sync", tag),
            })
        })
    }

    /// Reads the server's tip from the answer to a find-intersect.
    ///
    /// # Errors
    /// It isn't whole, or isn't one.
    pub fn decode_tip(bytes: &[u8]) -> Decoded<Point> {
        read(bytes, &[2, 3], |decoder, tag| {
            match tag {
                5 => drop(point(decoder)?),
                6 => {}
                tag => return unknown("chain-sync", tag),
            }
            let length = array(decoder, &[2])?;
            let tip = point(decoder)?;
            decoder.u64()?;
            close(decoder, length)?;
            Ok(tip)
        })
    }

    /// Appends the message, with the server's tip where it carries one.
    pub fn encode(&self, out: &mut Vec<u8>, tip: &Tip) {
        match self {
            Self::AwaitReply => return begin(out, 1, 1),
            Self::RollBackward(to) => {
                begin(out, 3, 3);
                put_point(out, to);
            }
            Self::IntersectFound(found) => {
                begin(out, 3, 5);
                put_point(out, found);
            }
            Self::IntersectNotFound => begin(out, 2, 6),
        }
        put_tip(out, tip);
    }
}
