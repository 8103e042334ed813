//! Chain-sync: a client follows the server's chain, between nodes by headers, with a local client by blocks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use minicbor::Decoder;
use slotmark_chain::{CborBuffer, Point, Tip};

use super::{MiniProtocol, PeerState};
use crate::handshake::Side;
use crate::limits::{Due, Overdue, PeerRules, SHORT, due, overdue, unasked};
use crate::message::{
    CONWAY, Decoded, MessageError, array, begin, close, encoded, list, point, put_point, put_tip, read, unexpected, unknown,
};

/// The protocol's number between nodes.
pub const BETWEEN_NODES: u16 = 2;
/// Its number with local clients.
pub const WITH_CLIENTS: u16 = 5;

/// A server at its tip may be silent for this many seconds; the limit is drawn anew each time.
const MUST_REPLY_S: std::ops::Range<u64> = 601..911;
const HEADER_IN_TIME: &str = "an answer to a request for the next header within 10 s";

/// A client's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Asks for the next block or rollback.
    RequestNext,
    /// Goes to the first of these points that the server has.
    FindIntersect(Vec<Point>),
    /// Ends the protocol.
    Done,
}

/// A server's message without its tip; roll-forward has a reader of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Nothing new yet.
    AwaitReply,
    /// Go back to this point.
    RollBackward(Point),
    /// The intersection.
    IntersectFound(Point),
    /// None of the points is known.
    IntersectNotFound,
}

/// A message of either side.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// From the client.
    Request(Request),
    /// Nothing new yet.
    AwaitReply,
    /// Between nodes: the next header.
    RollForward(Arc<[u8]>, Option<Tip>),
    /// With a local client: the next block.
    RollForwardBlock(Arc<[u8]>, Option<Tip>),
    /// Back to a point.
    RollBackward(Point, Option<Tip>),
    /// The intersection.
    IntersectFound(Point, Option<Tip>),
    /// None of the points is known.
    IntersectNotFound(Option<Tip>),
}

impl Request {
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

impl Reply {
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

impl MiniProtocol for Message {
    type State = State;

    const NUMBERS: &'static [(Side, u16)] = &[(Side::Node, BETWEEN_NODES), (Side::Client, WITH_CLIENTS)];

    fn is_from_responder(&self) -> bool {
        !matches!(self, Self::Request(_))
    }

    fn is_done(&self) -> bool {
        matches!(self, Self::Request(Request::Done))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Request(request) => request.encode(out),
            Self::AwaitReply => begin(out, 1, 1),
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
            Self::RollBackward(point, tip) => Reply::RollBackward(*point).encode(out, &tip_on_wire(*tip)),
            Self::IntersectFound(point, tip) => Reply::IntersectFound(*point).encode(out, &tip_on_wire(*tip)),
            Self::IntersectNotFound(tip) => Reply::IntersectNotFound.encode(out, &tip_on_wire(*tip)),
        }
    }

    fn decode(from_responder: bool, bytes: &[u8]) -> Result<Self, MessageError> {
        if !from_responder {
            return Ok(Self::Request(Request::decode(bytes)?.0));
        }
        let mut decoder = Decoder::new(bytes);
        decoder.array()?;
        Ok(match decoder.u64()? {
            1 => Self::AwaitReply,
            2 => {
                if decoder.array()? != Some(2) || decoder.u64()? != u64::from(CONWAY) {
                    return Err(MessageError::Malformed("a header of another era than Conway".into()));
                }
                let header = encoded(&mut decoder)?.into();
                Self::RollForward(header, tip(&mut decoder)?)
            }
            3 => Self::RollBackward(point(&mut decoder)?, tip(&mut decoder)?),
            5 => Self::IntersectFound(point(&mut decoder)?, tip(&mut decoder)?),
            6 => Self::IntersectNotFound(tip(&mut decoder)?),
            _ => return unexpected("chain-sync"),
        })
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

/// A client's turns: since when it is the client that has to ask.
#[derive(Debug, Default)]
pub struct ClientTurn {
    since: Option<Instant>,
    /// Requests that aren't answered.
    owed: u32,
}

impl ClientTurn {
    /// Notes a request.
    ///
    /// # Errors
    /// It may not come while others have no answer.
    pub fn request(&mut self, request: &Request) -> Result<(), &'static str> {
        match request {
            Request::RequestNext => self.owed = self.owed.saturating_add(1),
            Request::FindIntersect(_) if self.owed > 0 => return Err("a request for an intersection while headers were owed"),
            Request::FindIntersect(_) => {}
            Request::Done => self.owed = 0,
        }
        self.since = None;
        Ok(())
    }

    /// Notes that a header, a block or a rollback was sent; the request to wait is none of them.
    pub fn answered(&mut self, now: Instant) {
        self.owed = self.owed.saturating_sub(1);
        self.intersected(now);
    }

    /// Notes that the answer to a request for an intersection was sent.
    pub fn intersected(&mut self, now: Instant) {
        if self.owed == 0 {
            self.since = Some(now);
        }
    }

    /// Checks that no request is overdue.
    ///
    /// # Errors
    /// One is.
    pub fn check(&self, now: Instant, limit: Option<Duration>) -> Result<(), Overdue> {
        overdue(self.since, now, "chain-sync request", limit)
    }
}

/// A peer in this protocol, as the client and as the server.
#[derive(Default)]
pub struct State {
    turn: ClientTurn,
    requested: u32,
    awaiting: bool,
    intersecting: bool,
    due: Due,
}

impl PeerState<Message> for State {
    fn sent(&mut self, message: &Message, now: Instant) {
        match message {
            Message::Request(Request::RequestNext) => {
                self.requested += 1;
                if self.requested == 1 {
                    self.due = due(now, SHORT, HEADER_IN_TIME);
                }
            }
            Message::Request(Request::FindIntersect(_)) => {
                self.intersecting = true;
                self.due = due(now, SHORT, "an intersection within 10 s");
            }
            Message::RollForward(..) | Message::RollBackward(..) => self.turn.answered(now),
            Message::IntersectFound(..) | Message::IntersectNotFound(_) => self.turn.intersected(now),
            Message::Request(Request::Done) | Message::AwaitReply | Message::RollForwardBlock(..) => {}
        }
    }

    fn received(&mut self, message: &Message, rules: &PeerRules, now: Instant) -> Result<(), String> {
        match message {
            Message::Request(request) => self.turn.request(request)?,
            Message::RollForward(..) | Message::RollBackward(..) => {
                if self.requested == 0 || self.intersecting {
                    return unasked("a header");
                }
                self.requested -= 1;
                self.awaiting = false;
                self.due = if self.requested > 0 { due(now, SHORT, HEADER_IN_TIME) } else { None };
            }
            Message::AwaitReply => {
                if self.requested == 0 || self.awaiting || self.intersecting {
                    return unasked("a request to wait");
                }
                self.awaiting = true;
                let limit = MUST_REPLY_S.start + u64::from(now.elapsed().subsec_nanos()) % (MUST_REPLY_S.end - MUST_REPLY_S.start);
                self.due = if rules.trustable {
                    None
                } else {
                    due(now, Duration::from_secs(limit), "a header within the 601 s to 911 s that a chain may stand still")
                };
            }
            Message::IntersectFound(..) | Message::IntersectNotFound(_) => {
                if !std::mem::take(&mut self.intersecting) {
                    return unasked("an intersection");
                }
                self.due = None;
            }
            Message::RollForwardBlock(..) => {}
        }
        Ok(())
    }

    fn due(&self) -> Due {
        self.due
    }

    fn check_turn(&self, rules: &PeerRules, now: Instant) -> Result<(), Overdue> {
        self.turn.check(now, rules.limits.chain_sync_idle)
    }
}
