//! The mini-protocols' messages, as CBOR: each protocol's by itself, and [`Message`], that of any protocol.

mod any;
mod block_fetch;
mod chain_sync;
mod keep_alive;
mod local;
mod tx_submission;

use minicbor::Decoder;
use minicbor::data::{Tag, Type};
use minicbor::decode::Error;
use slotmark_chain::{CborBuffer, Hash32, Point, Tip};

pub use any::{Message, length};
pub use block_fetch::BlockFetchRequest;
pub use chain_sync::{ChainSyncReply, ChainSyncRequest};
pub use keep_alive::KeepAliveRequest;
pub use local::{Local, Target};
pub use tx_submission::{TxSubmissionReply, TxSubmissionRequest};

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

/// The number of Conway among the eras that have transactions, from 0 for Byron on.
const CONWAY: u8 = 6;
/// The tag of CBOR inside CBOR.
const ENCODED: u64 = 24;

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

/// Reads a message from the beginning of `bytes`: an array of so many items, whose first is the number by which `content` knows it.
fn read<'b, T>(bytes: &'b [u8], lengths: &[u64], content: impl FnOnce(&mut Decoder<'b>, u64) -> Result<T, MessageError>) -> Decoded<T> {
    let mut decoder = Decoder::new(bytes);
    let length = array(&mut decoder, lengths)?;
    let tag = decoder.u64()?;
    let message = content(&mut decoder, tag)?;
    close(&mut decoder, length)?;
    Ok((message, decoder.position()))
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

/// Appends the head of a message, or of anything of an era: an array of so many items, and its first, a number.
fn begin(out: &mut Vec<u8>, items: usize, first: u8) {
    out.array(items);
    out.uint(u64::from(first));
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
