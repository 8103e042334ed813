//! The messages of all protocols, as values, for one who speaks several over one connection.

use std::sync::Arc;

use minicbor::Decoder;
use slotmark_chain::{CborBuffer, Hash32, Point, Tip};

use super::{
    BlockFetchRequest, CONWAY, ChainSyncReply, ChainSyncRequest, KeepAliveRequest, Local, MessageError, TxSubmissionReply,
    TxSubmissionRequest, begin, encoded, point, put_tip, unexpected,
};
use crate::mux::protocol;

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
    /// Tx-submission, from the server.
    TxRequest(TxSubmissionRequest),
    /// Tx-submission: ids and sizes.
    TxIds(Vec<(Hash32, u32)>),
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
            Self::TxRequest(_) => (protocol::TX_SUBMISSION, true),
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
                begin(out, 3, 2);
                begin(out, 2, CONWAY);
                out.encoded(header);
                put_tip(out, &tip_on_wire(*tip));
            }
            Self::RollForwardBlock(block, tip) => {
                begin(out, 3, 2);
                out.encoded(block);
                put_tip(out, &tip_on_wire(*tip));
            }
            Self::RollBackward(point, tip) => ChainSyncReply::RollBackward(*point).encode(out, &tip_on_wire(*tip)),
            Self::IntersectFound(point, tip) => ChainSyncReply::IntersectFound(*point).encode(out, &tip_on_wire(*tip)),
            Self::IntersectNotFound(tip) => ChainSyncReply::IntersectNotFound.encode(out, &tip_on_wire(*tip)),
            Self::BlockFetch(request) => request.encode(out),
            Self::StartBatch => begin(out, 1, 2),
            Self::NoBlocks => begin(out, 1, 3),
            Self::Block(block) => {
                begin(out, 2, 4);
                out.encoded(block);
            }
            Self::BatchDone => begin(out, 1, 5),
            Self::TxRequest(request) => request.encode(out),
            Self::TxInit => TxSubmissionReply::Init.encode(out),
            Self::TxIds(ids) => TxSubmissionReply::Ids(ids.clone()).encode(out),
            Self::Txs(transactions) => TxSubmissionReply::Transactions(transactions.iter().map(AsRef::as_ref).collect()).encode(out),
            Self::TxDone => TxSubmissionReply::Done.encode(out),
            Self::KeepAlive(request) => request.encode(out),
            Self::Alive(cookie) => out.numbers(&[1, u64::from(*cookie)]),
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
            (protocol::TX_SUBMISSION, true) => Ok(Self::TxRequest(TxSubmissionRequest::decode(bytes)?.0)),
            (protocol::TX_SUBMISSION, false) => Ok(match TxSubmissionReply::decode(bytes)?.0 {
                TxSubmissionReply::Init => Self::TxInit,
                TxSubmissionReply::Ids(ids) => Self::TxIds(ids),
                TxSubmissionReply::Transactions(transactions) => Self::Txs(transactions.into_iter().map(Arc::from).collect()),
                TxSubmissionReply::Done => Self::TxDone,
            }),
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

fn tip_on_wire(tip: Option<Tip>) -> Tip {
    tip.unwrap_or(Tip { point: Point::Origin, block_no: 0 })
}

fn tip(decoder: &mut Decoder<'_>) -> Result<Option<Tip>, MessageError> {
    decoder.array()?;
    let point = point(decoder)?;
    let block_no = decoder.u64()?;
    Ok((point != Point::Origin).then_some(Tip { point, block_no }))
}

fn chain_sync_reply(bytes: &[u8]) -> Result<Message, MessageError> {
    let mut decoder = Decoder::new(bytes);
    decoder.array()?;
    Ok(match decoder.u64()? {
        1 => Message::AwaitReply,
        2 => {
            if decoder.array()? != Some(2) || decoder.u64()? != u64::from(CONWAY) {
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
            Message::TxRequest(TxSubmissionRequest::Ids { blocking: true, acknowledged: 3, requested: 10 }),
            Message::TxIds(vec![([1; 32], 300), ([2; 32], 70_000)]),
            Message::TxIds(vec![]),
            Message::TxRequest(TxSubmissionRequest::Transactions(vec![[1; 32]])),
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
