//! The protocols of local clients but for chain-sync: submission of transactions, queries, and a look at the mempool.

use std::sync::Arc;

use minicbor::Decoder;
use slotmark_chain::{CborBuffer, Hash32, Point};

use super::{CONWAY, MessageError, begin, encoded, hash, point, unexpected};
use crate::mux::protocol;

/// A message of a protocol for local clients.
#[derive(Clone, Debug, PartialEq)]
pub enum Local {
    /// From the client: a transaction to submit.
    Submit(Arc<[u8]>),
    /// The transaction is in the mempool.
    Accepted,
    /// The reason why the transaction is not in the mempool.
    Refused(String),
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
    /// From the client: hold the mempool as it is now or, where one is held, as it is after the next change.
    AcquireMempool,
    /// The mempool is held; its slot.
    MempoolAcquired(u64),
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
    ReleaseMempool,
    /// From the client: the end of a protocol.
    Done(u16),
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

impl Local {
    /// The protocol's number.
    pub fn protocol(&self) -> u16 {
        match self {
            Self::Submit(_) | Self::Accepted | Self::Refused(_) => protocol::LOCAL_TX_SUBMISSION,
            Self::Acquire(_) | Self::Acquired | Self::NotAcquired(_) | Self::Query(_) | Self::Answer(_) | Self::Release => {
                protocol::LOCAL_STATE_QUERY
            }
            Self::Done(number) => *number,
            _ => protocol::LOCAL_TX_MONITOR,
        }
    }

    /// Returns whether the node sends it.
    pub fn is_from_responder(&self) -> bool {
        matches!(
            self,
            Self::Accepted
                | Self::Refused(_)
                | Self::Acquired
                | Self::NotAcquired(_)
                | Self::Answer(_)
                | Self::MempoolAcquired(_)
                | Self::Tx(_)
                | Self::Has(_)
                | Self::Sizes(..)
        )
    }

    /// Appends what the node sends.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
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
            Self::Acquired => begin(out, 1, 1),
            Self::NotAcquired(why) => out.numbers(&[2, u64::from(*why)]),
            Self::Answer(result) => {
                begin(out, 2, 4);
                out.extend_from_slice(result);
            }
            Self::MempoolAcquired(slot) => out.numbers(&[2, *slot]),
            Self::Tx(None) => begin(out, 1, 6),
            Self::Tx(Some(bytes)) => {
                begin(out, 2, 6);
                begin(out, 2, CONWAY);
                out.encoded(bytes);
            }
            Self::Has(has) => {
                begin(out, 2, 8);
                out.bool(*has);
            }
            Self::Sizes(capacity, size, count) => {
                begin(out, 2, 10);
                out.numbers(&[*capacity, *size, *count]);
            }
            _ => {}
        }
    }

    /// Reads what a client sends.
    ///
    /// # Errors
    /// It isn't a message of the protocol.
    pub fn decode(number: u16, bytes: &[u8]) -> Result<Self, MessageError> {
        let mut decoder = Decoder::new(bytes);
        decoder.array()?;
        let tag = decoder.u64()?;
        Ok(match (number, tag) {
            (protocol::LOCAL_TX_SUBMISSION, 0) => {
                decoder.array()?;
                let era = decoder.u64()?;
                if era != 6 {
                    return Err(MessageError::Malformed(format!("a transaction of era {era}, expected 6, Conway")));
                }
                Self::Submit(encoded(&mut decoder)?.into())
            }
            (protocol::LOCAL_TX_SUBMISSION, 3) | (protocol::LOCAL_STATE_QUERY, 7) | (protocol::LOCAL_TX_MONITOR, 0) => Self::Done(number),
            (protocol::LOCAL_STATE_QUERY, 0 | 6) => Self::Acquire(Target::At(point(&mut decoder)?)),
            (protocol::LOCAL_STATE_QUERY, 8 | 9) => Self::Acquire(Target::Tip),
            (protocol::LOCAL_STATE_QUERY, 10 | 11) => Self::Acquire(Target::Immutable),
            (protocol::LOCAL_STATE_QUERY, 3) => Self::Query(bytes[decoder.position()..].to_vec()),
            (protocol::LOCAL_STATE_QUERY, 5) => Self::Release,
            (protocol::LOCAL_TX_MONITOR, 1) => Self::AcquireMempool,
            (protocol::LOCAL_TX_MONITOR, 3) => Self::ReleaseMempool,
            (protocol::LOCAL_TX_MONITOR, 5) => Self::NextTx,
            (protocol::LOCAL_TX_MONITOR, 7) => {
                // The id alone, or [era, id].
                if decoder.datatype()? == minicbor::data::Type::Array {
                    decoder.array()?;
                    decoder.u64()?;
                }
                Self::HasTx(hash(&mut decoder)?)
            }
            (protocol::LOCAL_TX_MONITOR, 9) => Self::GetSizes,
            _ => return unexpected("a protocol of local clients"),
        })
    }
}
