//! Tx-submission: a server asks a client for its transactions.

use std::sync::Arc;
use std::time::Instant;

use minicbor::Decoder;
use slotmark_chain::{CborBuffer, Hash32};

use super::{MiniProtocol, PeerState};
use crate::handshake::Side;
use crate::limits::{Due, LARGE_BYTES, PeerRules, SHORT, SMALL_BYTES, due, unasked};
use crate::message::{CONWAY, Decoded, MessageError, array, begin, close, encoded, hash, list, read, unknown};

/// The protocol's number.
pub const NUMBER: u16 = 4;
/// Ids of transactions that may be offered and not acknowledged.
pub const WINDOW: u16 = 10;

/// A server's request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
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

/// A client's message, which borrows its transactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply<'t> {
    /// Go on and ask.
    Init,
    /// Ids of transactions, each with its size in bytes.
    Ids(Vec<(Hash32, u32)>),
    /// Transactions.
    Transactions(Vec<&'t [u8]>),
    /// There will be no more.
    Done,
}

/// A message of either side.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// The client is ready.
    Init,
    /// From the server.
    Request(Request),
    /// Ids and sizes.
    Ids(Vec<(Hash32, u32)>),
    /// Transactions.
    Transactions(Vec<Arc<[u8]>>),
    /// The client ends.
    Done,
}

impl Request {
    /// Reads a message from the beginning of `bytes`.
    ///
    /// # Errors
    /// It isn't whole, or isn't one.
    pub fn decode(bytes: &[u8]) -> Decoded<Self> {
        read(bytes, &[2, 4], |decoder, tag| {
            Ok(match tag {
                0 => Self::Ids { blocking: decoder.bool()?, acknowledged: decoder.u16()?, requested: decoder.u16()? },
                2 => Self::Transactions(list(decoder, id)?),
                tag => return unknown("tx-submission", tag),
            })
        })
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

impl<'t> Reply<'t> {
    /// Reads a message from the beginning of `bytes`.
    ///
    /// # Errors
    /// It isn't whole, or isn't one.
    pub fn decode(bytes: &'t [u8]) -> Decoded<Self> {
        read(bytes, &[1, 2], |decoder, tag| {
            Ok(match tag {
                1 => Self::Ids(list(decoder, |decoder| {
                    let length = array(decoder, &[2])?;
                    let offered = (id(decoder)?, decoder.u32()?);
                    close(decoder, length)?;
                    Ok(offered)
                })?),
                3 => Self::Transactions(list(decoder, |decoder| of_conway(decoder, encoded))?),
                4 => Self::Done,
                6 => Self::Init,
                tag => return unknown("tx-submission", tag),
            })
        })
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

impl MiniProtocol for Message {
    type State = State;

    const NUMBERS: &'static [(Side, u16)] = &[(Side::Node, NUMBER)];

    fn is_from_responder(&self) -> bool {
        matches!(self, Self::Request(_))
    }

    fn is_done(&self) -> bool {
        *self == Self::Done
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Init => Reply::Init.encode(out),
            Self::Request(request) => request.encode(out),
            Self::Ids(ids) => Reply::Ids(ids.clone()).encode(out),
            Self::Transactions(transactions) => Reply::Transactions(transactions.iter().map(AsRef::as_ref).collect()).encode(out),
            Self::Done => Reply::Done.encode(out),
        }
    }

    fn decode(from_responder: bool, bytes: &[u8]) -> Result<Self, MessageError> {
        if from_responder {
            return Ok(Self::Request(Request::decode(bytes)?.0));
        }
        Ok(match Reply::decode(bytes)?.0 {
            Reply::Init => Self::Init,
            Reply::Ids(ids) => Self::Ids(ids),
            Reply::Transactions(transactions) => Self::Transactions(transactions.into_iter().map(Arc::from).collect()),
            Reply::Done => Self::Done,
        })
    }
}

/// A peer in this protocol, as the client.
#[derive(Default)]
pub struct State {
    asked: Asked,
    due: Due,
}

/// The last request to a client.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Asked {
    #[default]
    NotBegun,
    Nothing,
    Ids { blocking: bool, at_most: u16 },
    Transactions,
    Ended,
}

impl PeerState<Message> for State {
    fn sent(&mut self, message: &Message, now: Instant) {
        match message {
            Message::Request(Request::Ids { blocking, requested, .. }) => {
                self.asked = Asked::Ids { blocking: *blocking, at_most: *requested };
                self.due = if *blocking { None } else { due(now, SHORT, "ids of transactions within 10 s") };
            }
            Message::Request(Request::Transactions(_)) => {
                self.asked = Asked::Transactions;
                self.due = due(now, SHORT, "transactions within 10 s");
            }
            _ => {}
        }
    }

    fn received(&mut self, message: &Message, _: &PeerRules, _: Instant) -> Result<(), String> {
        match message {
            Message::Request(_) => {}
            Message::Init => {
                if self.asked != Asked::NotBegun {
                    return Err("a second beginning of tx-submission".into());
                }
                self.asked = Asked::Nothing;
            }
            Message::Ids(ids) => {
                let Asked::Ids { blocking, at_most } = self.asked else { return unasked("ids of transactions") };
                if ids.len() > usize::from(at_most) || (blocking && ids.is_empty()) {
                    return Err(format!("{} ids of transactions, where {at_most} at most were asked for", ids.len()));
                }
                (self.asked, self.due) = (Asked::Nothing, None);
            }
            Message::Transactions(_) => {
                if self.asked != Asked::Transactions {
                    return unasked("a transaction");
                }
                (self.asked, self.due) = (Asked::Nothing, None);
            }
            Message::Done => {
                if !matches!(self.asked, Asked::Ids { blocking: true, .. }) {
                    return Err("an end of tx-submission where there may be none".into());
                }
                self.asked = Asked::Ended;
            }
        }
        Ok(())
    }

    fn max_bytes(&self, from_responder: bool) -> usize {
        if !from_responder && self.asked != Asked::NotBegun { LARGE_BYTES } else { SMALL_BYTES }
    }

    fn due(&self) -> Due {
        self.due
    }
}

/// A transaction's id: `[6, hash]`.
fn id(decoder: &mut Decoder<'_>) -> Result<Hash32, MessageError> {
    of_conway(decoder, hash)
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

/// Appends a list of indefinite length.
fn put_list<T>(out: &mut Vec<u8>, items: &[T], mut put: impl FnMut(&mut Vec<u8>, &T)) {
    out.begin_array();
    items.iter().for_each(|item| put(out, item));
    out.end();
}
