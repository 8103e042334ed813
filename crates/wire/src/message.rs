//! The mini-protocols' messages, as CBOR: each protocol's by itself, and [`Message`], that of any protocol.

mod any;
mod local;

use minicbor::Decoder;
use minicbor::data::{Tag, Type};
use minicbor::decode::Error;
use slotmark_chain::{CborBuffer, Hash32, Point, Tip};

pub use any::{Message, length};
pub use local::{Local, Target};

/// Reasons why bytes are no message, or not yet one.
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

/// A client's message in block-fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockFetchRequest {
    /// The blocks from one point to another, both included.
    Range(Point, Point),
    /// Ends the protocol.
    Done,
}

/// A client's message in keep-alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeepAliveRequest {
    /// Send this number back.
    Ping(u16),
    /// Ends the protocol.
    Done,
}

/// A server's request in tx-submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TxSubmissionRequest {
    /// Ids of further transactions.
    Ids {
        /// True where the client waits until it has one.
        blocking: bool,
        /// The number of transactions, from the first offered on, that were taken.
        acknowledged: u16,
        /// The most transactions to offer.
        requested: u16,
    },
    /// The transactions of these ids.
    Transactions(Vec<Hash32>),
}

/// A client's message in tx-submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TxSubmissionReply<'t> {
    /// Go on and ask.
    Init,
    /// Ids of transactions, each with its size in bytes.
    Ids(Vec<(Hash32, u32)>),
    /// Transactions.
    Transactions(Vec<&'t [u8]>),
    /// There will be no more.
    Done,
}

/// The number of Conway among the eras that have transactions, from 0 for Byron on.
const CONWAY: u8 = 6;
/// The tag of CBOR inside CBOR.
const ENCODED: u64 = 24;

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

/// Reads a point: `[]` or `[slot, hash]`.
///
/// # Errors
/// It isn't whole, or isn't one.
pub fn point(decoder: &mut Decoder<'_>) -> Result<Point, MessageError> {
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
    let hash = hash(decoder)?;
    close(decoder, length)?;
    Ok(Point::Block { slot, hash })
}

/// Appends a point.
pub fn put_point(out: &mut Vec<u8>, point: &Point) {
    match point {
        Point::Origin => out.array(0),
        Point::Block { slot, hash } => {
            out.array(2);
            out.uint(*slot);
            out.bytes(hash);
        }
    }
}

/// Appends a tip: `[point, block number]`.
pub fn put_tip(out: &mut Vec<u8>, tip: &Tip) {
    out.array(2);
    put_point(out, &tip.point);
    out.uint(tip.block_no);
}

/// Reads CBOR inside CBOR.
///
/// # Errors
/// It isn't whole, or isn't that.
pub fn encoded<'b>(decoder: &mut Decoder<'b>) -> Result<&'b [u8], MessageError> {
    if decoder.tag()? != Tag::new(ENCODED) {
        return Err(MessageError::Malformed(format!("a tag other than {ENCODED}")));
    }
    Ok(decoder.bytes()?)
}

/// Reads a hash of 32 bytes.
///
/// # Errors
/// It isn't whole, or isn't one.
pub fn hash(decoder: &mut Decoder<'_>) -> Result<Hash32, MessageError> {
    decoder.bytes()?.try_into().map_err(|_| MessageError::Malformed("a hash that has not 32 bytes".into()))
}

fn unexpected<T>(name: &str) -> Result<T, MessageError> {
    Err(MessageError::Malformed(format!("{name} has no such message here")))
}

/// Reads a list of definite or indefinite length.
///
/// # Errors
/// It isn't whole, or isn't one.
pub fn list<'b, T>(
    decoder: &mut Decoder<'b>,
    mut item: impl FnMut(&mut Decoder<'b>) -> Result<T, MessageError>,
) -> Result<Vec<T>, MessageError> {
    let mut items = Vec::new();
    let mut left = decoder.array()?;
    loop {
        match &mut left {
            Some(0) => return Ok(items),
            Some(left) => *left -= 1,
            None if decoder.datatype()? == Type::Break => {
                decoder.skip()?;
                return Ok(items);
            }
            None => {}
        }
        items.push(item(decoder)?);
    }
}

impl TxSubmissionRequest {
    /// Reads a message from the beginning of `bytes`.
    ///
    /// # Errors
    /// It isn't whole, or isn't one.
    pub fn decode(bytes: &[u8]) -> Decoded<Self> {
        let mut decoder = Decoder::new(bytes);
        let length = array(&mut decoder, &[2, 4])?;
        let message = match decoder.u64()? {
            0 => Self::Ids { blocking: decoder.bool()?, acknowledged: decoder.u16()?, requested: decoder.u16()? },
            2 => Self::Transactions(list(&mut decoder, id)?),
            tag => return unknown("tx-submission", tag),
        };
        close(&mut decoder, length)?;
        Ok((message, decoder.position()))
    }

    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Ids { blocking, acknowledged, requested } => {
                out.array(4);
                out.uint(0);
                out.bool(*blocking);
                out.uint(u64::from(*acknowledged));
                out.uint(u64::from(*requested));
            }
            Self::Transactions(ids) => {
                begin(out, 2, 2);
                put_list(out, ids, put_id);
            }
        }
    }
}

/// Appends the head of a message, or of anything of an era: an array of so many items, and its first, a number.
fn begin(out: &mut Vec<u8>, items: usize, first: u8) {
    out.array(items);
    out.uint(u64::from(first));
}

/// Appends a list of indefinite length.
fn put_list<T>(out: &mut Vec<u8>, items: &[T], mut put: impl FnMut(&mut Vec<u8>, &T)) {
    out.begin_array();
    items.iter().for_each(|item| put(out, item));
    out.end();
}

/// Appends a transaction's id: `[6, hash]`.
fn put_id(out: &mut Vec<u8>, id: &Hash32) {
    begin(out, 2, CONWAY);
    out.bytes(id);
}

/// Reads the content behind the era of Conway: `[6, …]`.
fn of_conway<'b, T>(decoder: &mut Decoder<'b>, read: impl FnOnce(&mut Decoder<'b>) -> Result<T, MessageError>) -> Result<T, MessageError> {
    let length = array(decoder, &[2])?;
    let era = decoder.u8()?;
    if era != CONWAY {
        return Err(MessageError::Malformed(format!("a transaction of era {era}, expected {CONWAY}")));
    }
    let found = read(decoder)?;
    close(decoder, length)?;
    Ok(found)
}

/// A transaction's id: `[6, hash]`.
fn id(decoder: &mut Decoder<'_>) -> Result<Hash32, MessageError> {
    of_conway(decoder, hash)
}

impl<'t> TxSubmissionReply<'t> {
    /// Reads a message from the beginning of `bytes`.
    ///
    /// # Errors
    /// It isn't whole, or isn't one.
    pub fn decode(bytes: &'t [u8]) -> Decoded<Self> {
        let mut decoder = Decoder::new(bytes);
        let length = array(&mut decoder, &[1, 2])?;
        let message = match decoder.u64()? {
            1 => Self::Ids(list(&mut decoder, |decoder| {
                let length = array(decoder, &[2])?;
                let offered = (id(decoder)?, decoder.u32()?);
                close(decoder, length)?;
                Ok(offered)
            })?),
            3 => Self::Transactions(list(&mut decoder, |decoder| of_conway(decoder, encoded))?),
            4 => Self::Done,
            6 => Self::Init,
            tag => return unknown("tx-submission", tag),
        };
        close(&mut decoder, length)?;
        Ok((message, decoder.position()))
    }

    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Init => begin(out, 1, 6),
            Self::Ids(ids) => {
                begin(out, 2, 1);
                put_list(out, ids, |out, (id, bytes)| {
                    out.array(2);
                    put_id(out, id);
                    out.uint(u64::from(*bytes));
                });
            }
            Self::Transactions(transactions) => {
                begin(out, 2, 3);
                put_list(out, transactions, |out, transaction| {
                    begin(out, 2, CONWAY);
                    out.encoded(transaction);
                });
            }
            Self::Done => begin(out, 1, 4),
        }
    }
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
            4 => Self::FindIntersect(list(&mut decoder, point)?),
            7 => Self::Done,
            tag => return unknown("chain-sync", tag),
        };
        close(&mut decoder, length)?;
        Ok((message, decoder.position()))
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
                begin(out, 3, 0);
                put_point(out, from);
                put_point(out, to);
            }
            Self::Done => begin(out, 1, 1),
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

    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Ping(cookie) => {
                begin(out, 2, 0);
                out.uint(u64::from(*cookie));
            }
            Self::Done => begin(out, 1, 2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn points() -> impl Strategy<Value = Point> {
        prop_oneof![Just(Point::Origin), (any::<u64>(), any::<[u8; 32]>()).prop_map(|(slot, hash)| Point::Block { slot, hash })]
    }

    #[test]
    fn messages_of_tx_submission_come_back_and_are_not_whole_before_their_end() {
        for request in [
            TxSubmissionRequest::Ids { blocking: true, acknowledged: 0, requested: 3 },
            TxSubmissionRequest::Ids { blocking: false, acknowledged: 300, requested: 0 },
            TxSubmissionRequest::Transactions(vec![]),
            TxSubmissionRequest::Transactions(vec![[1; 32], [2; 32]]),
        ] {
            let mut wire = Vec::new();
            request.encode(&mut wire);
            assert_eq!(TxSubmissionRequest::decode(&wire), Ok((request, wire.len())));
            for length in 0..wire.len() {
                assert_eq!(TxSubmissionRequest::decode(&wire[..length]), Err(MessageError::Incomplete));
            }
        }
        for reply in [
            TxSubmissionReply::Init,
            TxSubmissionReply::Ids(vec![([1; 32], 300), ([2; 32], 70_000)]),
            TxSubmissionReply::Transactions(vec![&[0x84; 300], &[]]),
            TxSubmissionReply::Done,
        ] {
            let mut wire = Vec::new();
            reply.encode(&mut wire);
            assert_eq!(TxSubmissionReply::decode(&wire), Ok((reply, wire.len())));
            for length in 0..wire.len() {
                assert_eq!(TxSubmissionReply::decode(&wire[..length]), Err(MessageError::Incomplete));
            }
        }
        // Of definite length, as other nodes may write it; of another era; of no such message.
        let id = [&[0x82, 6, 0x58, 32][..], &[7; 32]].concat();
        let definite = [&[0x82, 2, 0x81][..], &id].concat();
        assert_eq!(TxSubmissionRequest::decode(&definite), Ok((TxSubmissionRequest::Transactions(vec![[7; 32]]), definite.len())));
        let babbage: Vec<u8> = definite.iter().enumerate().map(|(place, byte)| if place == 4 { 5 } else { *byte }).collect();
        assert!(matches!(TxSubmissionRequest::decode(&babbage), Err(MessageError::Malformed(what)) if what.contains("era 5")));
        assert!(matches!(TxSubmissionRequest::decode(&[0x82, 1, 0x80]), Err(MessageError::Malformed(_))));
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
            let _ = TxSubmissionRequest::decode(&bytes);
            let _ = TxSubmissionReply::decode(&bytes);
            let _ = crate::handshake::Proposal::decode(&bytes);
            let _ = crate::handshake::Answer::decode(&bytes);
        }
    }
}
