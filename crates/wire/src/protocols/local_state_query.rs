//! Local state query: a local client asks about the ledger's state at a point.

use minicbor::Decoder;
use slotmark_chain::{CborBuffer, Point};

use super::MiniProtocol;
use crate::handshake::Side;
use crate::message::{MessageError, begin, point, put_point, unexpected};

/// The protocol's number.
pub const NUMBER: u16 = 7;

/// A message of either side.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// From the client: hold the ledger's state at a point.
    Acquire(Target),
    /// The state is held.
    Acquired,
    /// The state isn't held: its point is too old (0), or not on the chain (1).
    NotAcquired(u8),
    /// From the client: a query, as encoded.
    Query(Vec<u8>),
    /// The query's result, as encoded.
    Answer(Vec<u8>),
    /// From the client: hold the state no longer.
    Release,
    /// The client ends.
    Done,
}

/// The state that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The state at a block, or at the origin.
    At(Point),
    /// The state at the chain's tip.
    Tip,
    /// The state at the last settled block.
    Immutable,
}

impl MiniProtocol for Message {
    /// A node sets its local clients no limits.
    type State = ();

    const NUMBERS: &'static [(Side, u16)] = &[(Side::Client, NUMBER)];

    fn is_from_responder(&self) -> bool {
        matches!(self, Self::Acquired | Self::NotAcquired(_) | Self::Answer(_))
    }

    fn is_done(&self) -> bool {
        *self == Self::Done
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Acquire(Target::At(point)) => {
                begin(out, 2, 0);
                put_point(out, point);
            }
            Self::Acquire(Target::Tip) => begin(out, 1, 8),
            Self::Acquire(Target::Immutable) => begin(out, 1, 10),
            Self::Acquired => begin(out, 1, 1),
            Self::NotAcquired(why) => out.numbers(&[2, u64::from(*why)]),
            Self::Query(query) => {
                begin(out, 2, 3);
                out.extend_from_slice(query);
            }
            Self::Answer(result) => {
                begin(out, 2, 4);
                out.extend_from_slice(result);
            }
            Self::Release => begin(out, 1, 5),
            Self::Done => begin(out, 1, 7),
        }
    }

    /// Reads what a client sends.
    fn decode(from_responder: bool, bytes: &[u8]) -> Result<Self, MessageError> {
        let mut decoder = Decoder::new(bytes);
        decoder.array()?;
        Ok(match (from_responder, decoder.u64()?) {
            (false, 0 | 6) => Self::Acquire(Target::At(point(&mut decoder)?)),
            (false, 8 | 9) => Self::Acquire(Target::Tip),
            (false, 10 | 11) => Self::Acquire(Target::Immutable),
            (false, 3) => Self::Query(bytes[decoder.position()..].to_vec()),
            (false, 5) => Self::Release,
            (false, 7) => Self::Done,
            _ => return unexpected("local state query"),
        })
    }
}
