//! Local transaction monitor: a local client looks at the mempool.

use std::sync::Arc;

use minicbor::Decoder;
use minicbor::data::Type;
use slotmark_chain::{CborBuffer, Hash32};

use super::MiniProtocol;
use crate::handshake::Side;
use crate::message::{CONWAY, MessageError, begin, hash, unexpected};

/// The protocol's number.
pub const NUMBER: u16 = 9;

/// A message of either side.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// From the client: hold the mempool as it is now or, where one is held, as it is after the next change.
    Acquire,
    /// The mempool is held; its slot.
    Acquired(u64),
    /// From the client: the next transaction in the held mempool.
    NextTx,
    /// The next transaction; None behind the last one.
    Tx(Option<Arc<[u8]>>),
    /// From the client: whether a transaction is in the held mempool.
    HasTx(Hash32),
    /// True where it is in the mempool.
    Has(bool),
    /// From the client: the sizes of the held mempool.
    GetSizes,
    /// Capacity and size in bytes, and the number of transactions.
    Sizes(u64, u64, u64),
    /// From the client: hold the mempool no longer.
    Release,
    /// The client ends.
    Done,
}

impl MiniProtocol for Message {
    /// A node sets its local clients no limits.
    type State = ();

    const NUMBERS: &'static [(Side, u16)] = &[(Side::Client, NUMBER)];

    fn is_from_responder(&self) -> bool {
        matches!(self, Self::Acquired(_) | Self::Tx(_) | Self::Has(_) | Self::Sizes(..))
    }

    fn is_done(&self) -> bool {
        *self == Self::Done
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Acquire => begin(out, 1, 1),
            Self::Acquired(slot) => out.numbers(&[2, *slot]),
            Self::NextTx => begin(out, 1, 5),
            Self::Tx(None) => begin(out, 1, 6),
            Self::Tx(Some(bytes)) => {
                begin(out, 2, 6);
                begin(out, 2, CONWAY);
                out.encoded(bytes);
            }
            Self::HasTx(id) => {
                begin(out, 2, 7);
                begin(out, 2, CONWAY);
                out.bytes(id);
            }
            Self::Has(has) => {
                begin(out, 2, 8);
                out.bool(*has);
            }
            Self::GetSizes => begin(out, 1, 9),
            Self::Sizes(capacity, size, count) => {
                begin(out, 2, 10);
                out.numbers(&[*capacity, *size, *count]);
            }
            Self::Release => begin(out, 1, 3),
            Self::Done => begin(out, 1, 0),
        }
    }

    /// Reads what a client sends.
    fn decode(from_responder: bool, bytes: &[u8]) -> Result<Self, MessageError> {
        let mut decoder = Decoder::new(bytes);
        decoder.array()?;
        Ok(match (from_responder, decoder.u64()?) {
            (false, 0) => Self::Done,
            (false, 1) => Self::Acquire,
            (false, 3) => Self::Release,
            (false, 5) => Self::NextTx,
            (false, 7) => {
                // The id alone, or [era, id].
                if decoder.datatype()? == Type::Array {
                    decoder.array()?;
                    decoder.u64()?;
                }
                Self::HasTx(hash(&mut decoder)?)
            }
            (false, 9) => Self::GetSizes,
            _ => return unexpected("local transaction monitor"),
        })
    }
}
