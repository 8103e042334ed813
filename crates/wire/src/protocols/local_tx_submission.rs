//! Local transaction submission: a local client hands over one transaction at a time.

use std::sync::Arc;

use minicbor::Decoder;
use slotmark_chain::CborBuffer;

use super::MiniProtocol;
use crate::handshake::Side;
use crate::message::{CONWAY, MessageError, begin, encoded, unexpected};

/// The protocol's number.
pub const NUMBER: u16 = 6;

/// A message of either side.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// From the client: a transaction.
    Submit(Arc<[u8]>),
    /// The transaction is in the mempool.
    Accepted,
    /// The reason why the transaction is not in the mempool.
    Refused(String),
    /// The client ends.
    Done,
}

impl MiniProtocol for Message {
    /// A node sets its local clients no limits.
    type State = ();

    const NUMBERS: &'static [(Side, u16)] = &[(Side::Client, NUMBER)];

    fn is_from_responder(&self) -> bool {
        matches!(self, Self::Accepted | Self::Refused(_))
    }

    fn is_done(&self) -> bool {
        *self == Self::Done
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Submit(bytes) => {
                begin(out, 2, 0);
                begin(out, 2, CONWAY);
                out.encoded(bytes);
            }
            Self::Accepted => begin(out, 1, 1),
            // `ConwayMempoolFailure` (7) of Conway's ledger is the one failure that is text.
            Self::Refused(why) => {
                begin(out, 2, 2);
                out.array(1);
                begin(out, 2, CONWAY);
                out.array(1);
                begin(out, 2, 7);
                out.text(why);
            }
            Self::Done => begin(out, 1, 3),
        }
    }

    /// Reads what a client sends.
    fn decode(from_responder: bool, bytes: &[u8]) -> Result<Self, MessageError> {
        let mut decoder = Decoder::new(bytes);
        decoder.array()?;
        match (from_responder, decoder.u64()?) {
            (false, 0) => {
                decoder.array()?;
                let era = decoder.u64()?;
                if era != u64::from(CONWAY) {
                    return Err(MessageError::Malformed(format!("a transaction of era {era}, expected {CONWAY}, Conway")));
                }
                Ok(Self::Submit(encoded(&mut decoder)?.into()))
            }
            (false, 3) => Ok(Self::Done),
            _ => unexpected("local transaction submission"),
        }
    }
}
