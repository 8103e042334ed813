//! Keep-alive: a client has a number sent back, by which it knows that the server is there.

use std::time::{Duration, Instant};

use minicbor::Decoder;
use slotmark_chain::CborBuffer;

use super::{MiniProtocol, PeerState};
use crate::handshake::Side;
use crate::limits::{Due, LONG, Overdue, PeerRules, due, overdue};
use crate::message::{Decoded, MessageError, begin, read, unexpected, unknown};

/// The protocol's number.
pub const NUMBER: u16 = 8;

/// A client's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Send this number back.
    Ping(u16),
    /// Ends the protocol.
    Done,
}

/// A message of either side.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// From the client.
    Request(Request),
    /// The number comes back.
    Alive(u16),
}

impl Request {
    /// Reads a message from the beginning of `bytes`.
    ///
    /// # Errors
    /// It isn't whole, or isn't one.
    pub fn decode(bytes: &[u8]) -> Decoded<Self> {
        read(bytes, &[1, 2], |decoder, tag| {
            Ok(match tag {
                0 => Self::Ping(decoder.u16()?),
                2 => Self::Done,
                tag => return unknown("keep-alive", tag),
            })
        })
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

impl MiniProtocol for Message {
    type State = State;

    const NUMBERS: &'static [(Side, u16)] = &[(Side::Node, NUMBER)];

    fn is_from_responder(&self) -> bool {
        matches!(self, Self::Alive(_))
    }

    fn is_done(&self) -> bool {
        matches!(self, Self::Request(Request::Done))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Request(request) => request.encode(out),
            Self::Alive(cookie) => out.numbers(&[1, u64::from(*cookie)]),
        }
    }

    fn decode(from_responder: bool, bytes: &[u8]) -> Result<Self, MessageError> {
        if !from_responder {
            return Ok(Self::Request(Request::decode(bytes)?.0));
        }
        let mut decoder = Decoder::new(bytes);
        decoder.array()?;
        if decoder.u8()? != 1 {
            return unexpected("keep-alive");
        }
        Ok(Self::Alive(decoder.u16()?))
    }
}

/// A client's turn: since when its next message may be waited for.
#[derive(Debug, Default)]
pub struct ClientTurn(Option<Instant>);

impl ClientTurn {
    /// Notes a message.
    pub fn request(&mut self, request: &Request, now: Instant) {
        self.0 = matches!(request, Request::Ping(_)).then_some(now);
    }

    /// Checks that no message is overdue.
    ///
    /// # Errors
    /// One is.
    pub fn check(&self, now: Instant, limit: Duration) -> Result<(), Overdue> {
        overdue(self.0, now, "keep-alive", Some(limit))
    }
}

/// A peer in this protocol, as the client and as the server.
#[derive(Default)]
pub struct State {
    turn: ClientTurn,
    cookie: Option<u16>,
    due: Due,
}

impl PeerState<Message> for State {
    fn sent(&mut self, message: &Message, now: Instant) {
        if let Message::Request(Request::Ping(cookie)) = message {
            self.cookie = Some(*cookie);
            self.due = due(now, LONG, "an answer of keep-alive within 60 s");
        }
    }

    fn received(&mut self, message: &Message, _: &PeerRules, now: Instant) -> Result<(), String> {
        match message {
            Message::Request(request) => self.turn.request(request, now),
            Message::Alive(cookie) => {
                if self.cookie.take() != Some(*cookie) {
                    return Err("an answer of keep-alive with another cookie".into());
                }
                self.due = None;
            }
        }
        Ok(())
    }

    fn due(&self) -> Due {
        self.due
    }

    fn check_turn(&self, rules: &PeerRules, now: Instant) -> Result<(), Overdue> {
        self.turn.check(now, rules.limits.keep_alive)
    }
}
