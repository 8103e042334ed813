//! The messages of all protocols that the node speaks, as values.
//!
//! What crates/ouroboros reads and writes is read and written there; here is the rest.

use std::sync::Arc;

use minicbor::data::{Tag, Type};
use minicbor::{Decoder, Encoder};
use slotmark_chain::{Hash32, Point, Tip};
use slotmark_ouroboros::message::{BlockFetchRequest, ChainSyncReply, ChainSyncRequest, KeepAliveRequest, MessageError};
use slotmark_ouroboros::mux::protocol;

use crate::local::Local;

/// Conway among the eras of headers and transactions.
const ERA: u64 = 6;
/// The tag of CBOR inside CBOR.
const ENCODED: u64 = 24;

/// A message of any protocol. Its variant decides which side sends it.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Chain-sync, from a client.
    ChainSync(ChainSyncRequest),
    /// Chain-sync: nothing new yet.
    AwaitReply,
    /// Chain-sync between nodes: the next header.
    RollForward(Arc<[u8]>, Option<Tip>),
    /// Chain-sync with a local client: the next block.
    RollForwardBlock(Arc<[u8]>, Option<Tip>),
    /// Chain-sync: back to a point.
    RollBackward(Point, Option<Tip>),
    /// Chain-sync: the intersection.
    IntersectFound(Point, Option<Tip>),
    /// Chain-sync: no such point.
    IntersectNotFound(Option<Tip>),
    /// Block-fetch, from a client.
    BlockFetch(BlockFetchRequest),
    /// Block-fetch: blocks follow.
    StartBatch,
    /// Block-fetch: there are no such blocks.
    NoBlocks,
    /// Block-fetch: a block.
    Block(Arc<[u8]>),
    /// Block-fetch: that was the last one.
    BatchDone,
    /// Tx-submission: the client is ready.
    TxInit,
    /// Tx-submission: the server asks for ids.
    RequestTxIds {
        /// Whether to wait for one.
        blocking: bool,
        /// How many of the oldest are done with.
        acknowledged: u16,
        /// How many are asked for at most.
        requested: u16,
    },
    /// Tx-submission: ids and sizes.
    TxIds(Vec<(Hash32, u32)>),
    /// Tx-submission: the server asks for transactions.
    RequestTxs(Vec<Hash32>),
    /// Tx-submission: transactions.
    Txs(Vec<Arc<[u8]>>),
    /// Tx-submission: the client ends.
    TxDone,
    /// Keep-alive, from a client.
    KeepAlive(KeepAliveRequest),
    /// Keep-alive: the cookie comes back.
    Alive(u16),
    /// A protocol of local clients.
    Local(Local),
}

impl Message {
    /// The protocol's number, and whether its responder sends this.
    pub fn place(&self) -> (u16, bool) {
        match self {
            Self::ChainSync(_) => (protocol::CHAIN_SYNC_N2N, false),
            Self::RollForwardBlock(..) => (protocol::CHAIN_SYNC_N2C, true),
            Self::AwaitReply | Self::RollForward(..) | Self::RollBackward(..) | Self::IntersectFound(..) | Self::IntersectNotFound(..) => {
                (protocol::CHAIN_SYNC_N2N, true)
            }
            Self::BlockFetch(_) => (protocol::BLOCK_FETCH, false),
            Self::StartBatch | Self::NoBlocks | Self::Block(_) | Self::BatchDone => (protocol::BLOCK_FETCH, true),
            Self::TxInit | Self::TxIds(_) | Self::Txs(_) | Self::TxDone => (protocol::TX_SUBMISSION, false),
            Self::RequestTxIds { .. } | Self::RequestTxs(_) => (protocol::TX_SUBMISSION, true),
            Self::KeepAlive(_) => (protocol::KEEP_ALIVE, false),
            Self::Alive(_) => (protocol::KEEP_ALIVE, true),
            Self::Local(local) => (local.protocol(), local.is_from_responder()),
        }
    }

    /// Appends the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::ChainSync(request) => request.encode(out),
            Self::AwaitReply => ChainSyncReply::AwaitReply.encode(out, &tip_on_wire(None)),
            Self::RollForward(header, tip) => {
                out.extend([0x83, 0x02, 0x82, ERA as u8]);
                put_encoded(out, header);
                put_tip(out, *tip);
            }
            Self::RollForwardBlock(block, tip) => {
                out.extend([0x83, 0x02]);
                put_encoded(out, block);
                put_tip(out, *tip);
            }
            Self::RollBackward(point, tip) => ChainSyncReply::RollBackward(*point).encode(out, &tip_on_wire(*tip)),
            Self::IntersectFound(point, tip) => ChainSyncReply::IntersectFound(*point).encode(out, &tip_on_wire(*tip)),
            Self::IntersectNotFound(tip) => ChainSyncReply::IntersectNotFound.encode(out, &tip_on_wire(*tip)),
            Self::BlockFetch(request) => request.encode(out),
            Self::StartBatch => out.extend([0x81, 0x02]),
            Self::NoBlocks => out.extend([0x81, 0x03]),
            Self::Block(block) => {
                out.extend([0x82, 0x04]);
                put_encoded(out, block);
            }
            Self::BatchDone => out.extend([0x81, 0x05]),
            Self::TxInit => out.extend([0x81, 0x06]),
            Self::RequestTxIds { blocking, acknowledged, requested } => {
                put(out, |e| e.array(4)?.u8(0)?.bool(*blocking)?.u16(*acknowledged)?.u16(*requested)?.ok());
            }
            Self::TxIds(ids) => put(out, |e| {
                e.array(2)?.u8(1)?.begin_array()?;
                for (id, bytes) in ids {
                    e.array(2)?.array(2)?.u64(ERA)?.bytes(id)?.u32(*bytes)?;
                }
                e.end()?.ok()
            }),
            Self::RequestTxs(ids) => put(out, |e| {
                e.array(2)?.u8(2)?.begin_array()?;
                for id in ids {
                    e.array(2)?.u64(ERA)?.bytes(id)?;
                }
                e.end()?.ok()
            }),
            Self::Txs(transactions) => {
                out.extend([0x82, 0x03, 0x9f]);
                for transaction in transactions {
                    out.extend([0x82, ERA as u8]);
                    put_encoded(out, transaction);
                }
                out.push(0xff);
            }
            Self::TxDone => out.extend([0x81, 0x04]),
            Self::KeepAlive(KeepAliveRequest::Ping(cookie)) => put(out, |e| e.array(2)?.u8(0)?.u16(*cookie)?.ok()),
            Self::KeepAlive(KeepAliveRequest::Done) => out.extend([0x81, 0x02]),
            Self::Alive(cookie) => put(out, |e| e.array(2)?.u8(1)?.u16(*cookie)?.ok()),
            Self::Local(local) => local.encode(out),
        }
    }

    /// Reads a whole message of a protocol, from its responder or its initiator.
    ///
    /// # Errors
    /// It isn't one.
    pub fn decode(number: u16, from_responder: bool, bytes: &[u8]) -> Result<Self, MessageError> {
        match (number, from_responder) {
            (protocol::CHAIN_SYNC_N2N | protocol::CHAIN_SYNC_N2C, false) => Ok(Self::ChainSync(ChainSyncRequest::decode(bytes)?.0)),
            (protocol::CHAIN_SYNC_N2N, true) => chain_sync_reply(bytes),
            (protocol::BLOCK_FETCH, false) => Ok(Self::BlockFetch(BlockFetchRequest::decode(bytes)?.0)),
            (protocol::BLOCK_FETCH, true) => block_fetch_reply(bytes),
            (protocol::TX_SUBMISSION, _) => tx_submission(from_responder, bytes),
            (protocol::KEEP_ALIVE, false) => Ok(Self::KeepAlive(KeepAliveRequest::decode(bytes)?.0)),
            (protocol::KEEP_ALIVE, true) => {
                let mut decoder = Decoder::new(bytes);
                decoder.array()?;
                if decoder.u8()? != 1 {
                    return unexpected("keep-alive");
                }
                Ok(Self::Alive(decoder.u16()?))
            }
            _ => Local::decode(number, bytes).map(Self::Local),
        }
    }
}

/// Bytes of the message that bytes begin with; None where it isn't whole.
///
/// # Errors
/// It is no CBOR.
pub fn length(bytes: &[u8]) -> Result<Option<usize>, MessageError> {
    let mut decoder = Decoder::new(bytes);
    match decoder.skip() {
        Ok(()) => Ok(Some(decoder.position())),
        Err(error) if error.is_end_of_input() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(crate) type Put<'o> = Encoder<&'o mut Vec<u8>>;
pub(crate) type PutResult = Result<(), minicbor::encode::Error<std::convert::Infallible>>;

/// Appends what `write` writes.
pub(crate) fn put(out: &mut Vec<u8>, write: impl FnOnce(&mut Put<'_>) -> PutResult) {
    write(&mut Encoder::new(out)).expect("a Vec takes every byte");
}

/// Appends bytes as CBOR inside CBOR.
pub(crate) fn put_encoded(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, |e| e.tag(Tag::new(ENCODED))?.bytes(bytes)?.ok());
}

fn tip_on_wire(tip: Option<Tip>) -> Tip {
    tip.unwrap_or(Tip { point: Point::Origin, block_no: 0 })
}

/// Appends a tip: `[point, block number]`.
pub(crate) fn put_tip(out: &mut Vec<u8>, tip: Option<Tip>) {
    let tip = tip_on_wire(tip);
    out.push(0x82);
    put_point(out, &tip.point);
    put(out, |e| e.u64(tip.block_no)?.ok());
}

/// Appends a point.
pub(crate) fn put_point(out: &mut Vec<u8>, point: &Point) {
    match point {
        Point::Origin => out.push(0x80),
        Point::Block { slot, hash } => put(out, |e| e.array(2)?.u64(*slot)?.bytes(hash)?.ok()),
    }
}

pub(crate) fn unexpected<T>(name: &str) -> Result<T, MessageError> {
    Err(MessageError::Malformed(format!("{name} has no such message here")))
}

/// Reads a point: `[]` or `[slot, hash]`.
pub(crate) fn point(decoder: &mut Decoder<'_>) -> Result<Point, MessageError> {
    match decoder.array()? {
        Some(0) => Ok(Point::Origin),
        Some(2) => Ok(Point::Block { slot: decoder.u64()?, hash: hash(decoder)? }),
        _ => Err(MessageError::Malformed("a point of neither 0 nor 2 items".into())),
    }
}

pub(crate) fn hash(decoder: &mut Decoder<'_>) -> Result<Hash32, MessageError> {
    decoder.bytes()?.try_into().map_err(|_| MessageError::Malformed("a hash that has not 32 bytes".into()))
}

fn tip(decoder: &mut Decoder<'_>) -> Result<Option<Tip>, MessageError> {
    decoder.array()?;
    let point = point(decoder)?;
    let block_no = decoder.u64()?;
    Ok((point != Point::Origin).then_some(Tip { point, block_no }))
}

/// Reads CBOR inside CBOR.
pub(crate) fn encoded<'b>(decoder: &mut Decoder<'b>) -> Result<&'b [u8], MessageError> {
    if decoder.tag()? != Tag::new(ENCODED) {
        return Err(MessageError::Malformed("a tag other than 24".into()));
    }
    Ok(decoder.bytes()?)
}

fn chain_sync_reply(bytes: &[u8]) -> Result<Message, MessageError> {
    let mut decoder = Decoder::new(bytes);
    decoder.array()?;
    Ok(match decoder.u64()? {
        1 => Message::AwaitReply,
        2 => {
            if decoder.array()? != Some(2) || decoder.u64()? != ERA {
                return Err(MessageError::Malformed("a header of another era than Conway".into()));
            }
            let header = encoded(&mut decoder)?.into();
            Message::RollForward(header, tip(&mut decoder)?)
        }
        3 => Message::RollBackward(point(&mut decoder)?, tip(&mut decoder)?),
        5 => Message::IntersectFound(point(&mut decoder)?, tip(&mut decoder)?),
        6 => Message::IntersectNotFound(tip(&mut decoder)?),
        _ => return unexpected("chain-sync"),
    })
}

fn block_fetch_reply(bytes: &[u8]) -> Result<Message, MessageError> {
    let mut decoder = Decoder::new(bytes);
    decoder.array()?;
    Ok(match decoder.u64()? {
        2 => Message::StartBatch,
        3 => Message::NoBlocks,
        4 => Message::Block(encoded(&mut decoder)?.into()),
        5 => Message::BatchDone,
        _ => return unexpected("block-fetch"),
    })
}

fn tx_submission(from_responder: bool, bytes: &[u8]) -> Result<Message, MessageError> {
    let mut decoder = Decoder::new(bytes);
    decoder.array()?;
    Ok(match (decoder.u64()?, from_responder) {
        (0, true) => Message::RequestTxIds { blocking: decoder.bool()?, acknowledged: decoder.u16()?, requested: decoder.u16()? },
        (2, true) => Message::RequestTxs(list(&mut decoder, |decoder| {
            decoder.array()?;
            era(decoder)?;
            hash(decoder)
        })?),
        (1, false) => Message::TxIds(list(&mut decoder, |decoder| {
            decoder.array()?;
            decoder.array()?;
            era(decoder)?;
            Ok((hash(decoder)?, decoder.u32()?))
        })?),
        (3, false) => Message::Txs(list(&mut decoder, |decoder| {
            decoder.array()?;
            era(decoder)?;
            Ok(encoded(decoder)?.into())
        })?),
        (4, false) => Message::TxDone,
        (6, false) => Message::TxInit,
        _ => return unexpected("tx-submission"),
    })
}

fn era(decoder: &mut Decoder<'_>) -> Result<(), MessageError> {
    match decoder.u64()? {
        ERA => Ok(()),
        other => Err(MessageError::Malformed(format!("a transaction of era {other}, expected {ERA}, Conway"))),
    }
}

/// Reads a list, of definite length or not.
pub(crate) fn list<T>(
    decoder: &mut Decoder<'_>,
    mut item: impl FnMut(&mut Decoder<'_>) -> Result<T, MessageError>,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_as_they_were_written() {
        let at = Point::Block { slot: 5, hash: [7; 32] };
        let tip = Some(Tip { point: at, block_no: 3 });
        let bytes: Arc<[u8]> = vec![0x80; 300].into();
        for message in [
            Message::ChainSync(ChainSyncRequest::RequestNext),
            Message::ChainSync(ChainSyncRequest::FindIntersect(vec![at, Point::Origin])),
            Message::AwaitReply,
            Message::RollForward(bytes.clone(), tip),
            Message::RollBackward(Point::Origin, None),
            Message::RollBackward(at, tip),
            Message::IntersectFound(at, tip),
            Message::IntersectNotFound(tip),
            Message::BlockFetch(BlockFetchRequest::Range(at, at)),
            Message::StartBatch,
            Message::NoBlocks,
            Message::Block(bytes.clone()),
            Message::BatchDone,
            Message::TxInit,
            Message::RequestTxIds { blocking: true, acknowledged: 3, requested: 10 },
            Message::TxIds(vec![([1; 32], 300), ([2; 32], 70_000)]),
            Message::TxIds(vec![]),
            Message::RequestTxs(vec![[1; 32]]),
            Message::Txs(vec![bytes.clone(), bytes]),
            Message::TxDone,
            Message::KeepAlive(KeepAliveRequest::Ping(77)),
            Message::Alive(77),
        ] {
            let mut wire = Vec::new();
            message.encode(&mut wire);
            let (protocol, from_responder) = message.place();
            assert_eq!(length(&wire), Ok(Some(wire.len())), "{message:?}");
            assert_eq!(Message::decode(protocol, from_responder, &wire), Ok(message));
            for cut in 0..wire.len() {
                assert_eq!(length(&wire[..cut]), Ok(None));
            }
        }
    }
}
