//! Block-fetch: a node asks another one for the blocks of ranges.

use std::sync::Arc;
use std::time::Instant;

use minicbor::Decoder;
use slotmark_chain::{CborBuffer, Point};

use super::{MiniProtocol, PeerState};
use crate::handshake::Side;
use crate::limits::{Due, LARGE_BYTES, LONG, PeerRules, SMALL_BYTES, due, unasked};
use crate::message::{Decoded, MessageError, begin, encoded, point, put_point, read, unexpected, unknown};

/// The protocol's number.
pub const NUMBER: u16 = 3;

const ANSWER_IN_TIME: &str = "an answer to a request for blocks within 60 s";
const BLOCK_IN_TIME: &str = "a block within 60 s";

/// A client's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// The blocks from one point to another, both included.
    Range(Point, Point),
    /// Ends the protocol.
    Done,
}

/// A message of either side.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// From the client.
    Request(Request),
    /// Blocks follow.
    StartBatch,
    /// There are no such blocks.
    NoBlocks,
    /// A block.
    Block(Arc<[u8]>),
    /// The block before it was the last one.
    BatchDone,
}

impl Request {
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

impl MiniProtocol for Message {
    type State = State;

    const NUMBERS: &'static [(Side, u16)] = &[(Side::Node, NUMBER)];

    fn is_from_responder(&self) -> bool {
        !matches!(self, Self::Request(_))
    }

    fn is_done(&self) -> bool {
        matches!(self, Self::Request(Request::Done))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Request(request) => request.encode(out),
            Self::StartBatch => begin(out, 1, 2),
            Self::NoBlocks => begin(out, 1, 3),
            Self::Block(block) => {
                begin(out, 2, 4);
                out.encoded(block);
            }
            Self::BatchDone => begin(out, 1, 5),
        }
    }

    fn decode(from_responder: bool, bytes: &[u8]) -> Result<Self, MessageError> {
        if !from_responder {
            return Ok(Self::Request(Request::decode(bytes)?.0));
        }
        let mut decoder = Decoder::new(bytes);
        decoder.array()?;
        Ok(match decoder.u64()? {
            2 => Self::StartBatch,
            3 => Self::NoBlocks,
            4 => Self::Block(encoded(&mut decoder)?.into()),
            5 => Self::BatchDone,
            _ => return unexpected("block-fetch"),
        })
    }
}

/// A peer in this protocol, as the server.
#[derive(Default)]
pub struct State {
    ranges: u32,
    streaming: bool,
    due: Due,
}

impl PeerState<Message> for State {
    fn sent(&mut self, message: &Message, now: Instant) {
        if let Message::Request(Request::Range(..)) = message {
            self.ranges += 1;
            if self.ranges == 1 {
                self.due = due(now, LONG, ANSWER_IN_TIME);
            }
        }
    }

    fn received(&mut self, message: &Message, _: &PeerRules, now: Instant) -> Result<(), String> {
        match message {
            Message::Request(_) => {}
            Message::StartBatch => {
                if self.ranges == 0 || self.streaming {
                    return unasked("a batch of blocks");
                }
                self.streaming = true;
                self.due = due(now, LONG, BLOCK_IN_TIME);
            }
            Message::Block(_) => {
                if !self.streaming {
                    return unasked("a block");
                }
                self.due = due(now, LONG, BLOCK_IN_TIME);
            }
            Message::BatchDone | Message::NoBlocks => {
                if self.ranges == 0 || self.streaming != (*message == Message::BatchDone) {
                    return unasked("the end of a batch");
                }
                self.streaming = false;
                self.ranges -= 1;
                self.due = if self.ranges > 0 { due(now, LONG, ANSWER_IN_TIME) } else { None };
            }
        }
        Ok(())
    }

    fn max_bytes(&self, from_responder: bool) -> usize {
        if from_responder && self.streaming { LARGE_BYTES } else { SMALL_BYTES }
    }

    fn due(&self) -> Due {
        self.due
    }
}
