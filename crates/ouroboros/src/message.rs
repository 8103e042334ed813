//! The mini-protocols' messages, as CBOR.

use minicbor::data::Type;
use minicbor::decode::Error;
use minicbor::{Decoder, Encoder};
use slotmark_chain::{Point, Tip};

/// Why bytes are no message (yet).
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The message goes on in bytes that aren't here.
    #[error("the message is not whole")]
    Incomplete,
    /// No message of the protocol begins like this.
    #[error("{0}")]
    Malformed(String),
}

impl From<Error> for MessageError {
    fn from(error: Error) -> Self {
        if error.is_end_of_input() { Self::Incomplete } else { Self::Malformed(error.to_string()) }
    }
}

/// A decoded message and how many bytes it took.
pub type Decoded<T> = Result<(T, usize), MessageError>;

/// What a client says in chain-sync.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChainSyncRequest {
    /// The next instruction, please.
    RequestNext,
    /// Go to the first of these points that you know.
    FindIntersect(Vec<Point>),
    /// Goodbye.
    Done,
}

/// What a client says in block-fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockFetchRequest {
    /// The blocks from one point to another, both included.
    Range(Point, Point),
    /// Goodbye.
    Done,
}

/// What a client says in keep-alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeepAliveRequest {
    /// Send this number back.
    Ping(u16),
    /// Goodbye.
    Done,
}

/// What a server says in chain-sync besides roll-forward, which has a reader of its own.
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

fn array(decoder: &mut Decoder<'_>, allowed: &[u64]) -> Result<Option<u64>, MessageError> {
    let length = decoder.array()?;
    if length.is_some_and(|length| !allowed.contains(&length)) {
        return Err(MessageError::Malformed(format!("an array of {} items, expected {allowed:?}", length.unwrap_or(0))));
    }
    Ok(length)
}

fn close(decoder: &mut Decoder<'_>, length: Option<u64>) -> Result<(), MessageError> {
    if length.is_none() {
        if decoder.datatype()? != Type::Break {
            return Err(MessageError::Malformed("an array that should end here".into()));
        }
        decoder.skip()?;
    }
    Ok(())
}

fn unknown<T>(protocol: &str, tag: u64) -> Result<T, MessageError> {
    Err(MessageError::Malformed(format!("{protocol} has no message {tag} here")))
}

/// A point: `[]` or `[slot, hash]`.
fn point(decoder: &mut Decoder<'_>) -> Result<Point, MessageError> {
    let length = decoder.array()?;
    let empty = length == Some(0) || (length.is_none() && decoder.datatype()? == Type::Break);
    if empty {
        close(decoder, length)?;
        return Ok(Point::Origin);
    }
    if length.is_some_and(|length| length != 2) {
        return Err(MessageError::Malformed("a point of neither 0 nor 2 items".into()));
    }
    let slot = decoder.u64()?;
    let hash = decoder.bytes()?.try_into().map_err(|_| MessageError::Malformed("a hash that has not 32 bytes".into()))?;
    close(decoder, length)?;
    Ok(Point::Block { slot, hash })
}

/// Appends a point.
pub(crate) fn put_point(out: &mut Vec<u8>, point: &Point) {
    let mut encoder = Encoder::new(out);
    match point {
        Point::Origin => encoder.array(0).map(drop),
        Point::Block { slot, hash } => encoder.array(2).and_then(|e| e.u64(*slot)).and_then(|e| e.bytes(hash)).map(drop),
    }
    .expect("a Vec takes every byte");
}

/// Appends a tip: `[point, block number]`.
pub(crate) fn put_tip(out: &mut Vec<u8>, tip: &Tip) {
    out.push(0x82);
    put_point(out, &tip.point);
    put_uint(out, tip.block_no);
}

pub(crate) fn put_uint(out: &mut Vec<u8>, number: u64) {
    Encoder::new(out).u64(number).map(drop).expect("a Vec takes every byte");
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
        let mut decoder = Decoder::new(bytes);
        let length = array(&mut decoder, &[1, 2])?;
        let message = match decoder.u64()? {
            0 => Self::RequestNext,
            4 => {
                let mut points = Vec::new();
                let count = decoder.array()?;
                let mut left = count;
                loop {
                    match &mut left {
                        Some(0) => break,
                        Some(left) => *left -= 1,
                        None if decoder.datatype()? == Type::Break => {
                            decoder.skip()?;
                            break;
                        }
                        None => {}
                    }
                    points.push(point(&mut decoder)?);
                }
                Self::FindIntersect(points)
            }
            7 => Self::Done,
            tag => return unknown("chain-sync", tag),
        };
        close(&mut decoder, length)?;
        Ok((message, decoder.position()))
    }

    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::RequestNext => out.extend([0x81, 0x00]),
            Self::FindIntersect(points) => {
                out.extend([0x82, 0x04]);
                Encoder::new(&mut *out).array(points.len() as u64).map(drop).expect("a Vec takes every byte");
                points.iter().for_each(|point| put_point(out, point));
            }
            Self::Done => out.extend([0x81, 0x07]),
        }
    }
}

impl ChainSyncReply {
    /// Reads a message from the beginning of `bytes`; roll-forward isn't among them.
    ///
    /// # Errors
    /// It isn't whole, or isn't one.
    pub fn decode(bytes: &[u8]) -> Decoded<Self> {
        let mut decoder = Decoder::new(bytes);
        let length = array(&mut decoder, &[1, 2, 3])?;
        let message = match decoder.u64()? {
            1 => Self::AwaitReply,
            3 => {
                let to = point(&mut decoder)?;
                decoder.skip()?;
                Self::RollBackward(to)
            }
            5 => {
                let found = point(&mut decoder)?;
                decoder.skip()?;
                Self::IntersectFound(found)
            }
            6 => {
                decoder.skip()?;
                Self::IntersectNotFound
            }
            tag => return unknown("chain-sync", tag),
        };
        close(&mut decoder, length)?;
        Ok((message, decoder.position()))
    }

    /// Reads the server's tip from the answer to a find-intersect.
    ///
    /// # Errors
    /// It isn't whole, or isn't one.
    pub fn decode_tip(bytes: &[u8]) -> Decoded<Point> {
        let mut decoder = Decoder::new(bytes);
        let length = array(&mut decoder, &[2, 3])?;
        match decoder.u64()? {
            5 => drop(point(&mut decoder)?),
            6 => {}
            tag => return unknown("chain-sync", tag),
        }
        let inner = array(&mut decoder, &[2])?;
        let tip = point(&mut decoder)?;
        decoder.u64()?;
        close(&mut decoder, inner)?;
        close(&mut decoder, length)?;
        Ok((tip, decoder.position()))
    }

    /// Appends the message, with the server's tip where it carries one.
    pub fn encode(&self, out: &mut Vec<u8>, tip: &Tip) {
        match self {
            Self::AwaitReply => return out.extend([0x81, 0x01]),
            Self::RollBackward(to) => {
                out.extend([0x83, 0x03]);
                put_point(out, to);
            }
            Self::IntersectFound(found) => {
                out.extend([0x83, 0x05]);
                put_point(out, found);
            }
            Self::IntersectNotFound => out.extend([0x82, 0x06]),
        }
        put_tip(out, tip);
    }
}

impl BlockFetchRequest {
    /// Reads a message from the beginning of `bytes`.
    ///
    /// # Errors
    /// It isn't whole, or isn't one.
    pub fn decode(bytes: &[u8]) -> Decoded<Self> {
        let mut decoder = Decoder::new(bytes);
        let length = array(&mut decoder, &[1, 3])?;
        let message = match decoder.u64()? {
            0 => Self::Range(point(&mut decoder)?, point(&mut decoder)?),
            1 => Self::Done,
            tag => return unknown("block-fetch", tag),
        };
        close(&mut decoder, length)?;
        Ok((message, decoder.position()))
    }

    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Range(from, to) => {
                out.extend([0x83, 0x00]);
                put_point(out, from);
                put_point(out, to);
            }
            Self::Done => out.extend([0x81, 0x01]),
        }
    }
}

impl KeepAliveRequest {
    /// Reads a message from the beginning of `bytes`.
    ///
    /// # Errors
    /// It isn't whole, or isn't one.
    pub fn decode(bytes: &[u8]) -> Decoded<Self> {
        let mut decoder = Decoder::new(bytes);
        let length = array(&mut decoder, &[1, 2])?;
        let message = match decoder.u64()? {
            0 => Self::Ping(decoder.u16()?),
            2 => Self::Done,
            tag => return unknown("keep-alive", tag),
        };
        close(&mut decoder, length)?;
        Ok((message, decoder.position()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn points() -> impl Strategy<Value = Point> {
        prop_oneof![Just(Point::Origin), (any::<u64>(), any::<[u8; 32]>()).prop_map(|(slot, hash)| Point::Block { slot, hash })]
    }

    proptest! {
        #[test]
        fn requests_come_back_and_every_cut_is_incomplete(points in proptest::collection::vec(points(), 0..5), a in points(), b in points()) {
            let mut wire = Vec::new();
            let request = ChainSyncRequest::FindIntersect(points);
            request.encode(&mut wire);
            prop_assert_eq!(ChainSyncRequest::decode(&wire), Ok((request, wire.len())));
            for cut in 0..wire.len() {
                prop_assert_eq!(ChainSyncRequest::decode(&wire[..cut]), Err(MessageError::Incomplete));
            }
            let mut wire = Vec::new();
            let request = BlockFetchRequest::Range(a, b);
            request.encode(&mut wire);
            prop_assert_eq!(BlockFetchRequest::decode(&wire), Ok((request, wire.len())));
            let tip = Tip { point: b, block_no: 7 };
            for reply in [ChainSyncReply::RollBackward(a), ChainSyncReply::IntersectFound(b), ChainSyncReply::IntersectNotFound, ChainSyncReply::AwaitReply] {
                let mut wire = Vec::new();
                reply.encode(&mut wire, &tip);
                prop_assert_eq!(ChainSyncReply::decode(&wire), Ok((reply.clone(), wire.len())));
                if let ChainSyncReply::IntersectFound(_) | ChainSyncReply::IntersectNotFound = reply {
                    prop_assert_eq!(ChainSyncReply::decode_tip(&wire), Ok((tip.point, wire.len())));
                    for cut in 0..wire.len() {
                        prop_assert_eq!(ChainSyncReply::decode_tip(&wire[..cut]), Err(MessageError::Incomplete));
                    }
                }
            }
        }

        #[test]
        fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = ChainSyncRequest::decode(&bytes);
            let _ = ChainSyncReply::decode(&bytes);
            let _ = ChainSyncReply::decode_tip(&bytes);
            let _ = BlockFetchRequest::decode(&bytes);
            let _ = KeepAliveRequest::decode(&bytes);
            let _ = crate::handshake::Proposal::decode(&bytes);
            let _ = crate::handshake::Answer::decode(&bytes);
        }
    }
}
