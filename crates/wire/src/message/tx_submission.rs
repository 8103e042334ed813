//! Messages of tx-submission.

use minicbor::Decoder;
use slotmark_chain::{CborBuffer, Hash32};

use super::{CONWAY, Decoded, MessageError, array, begin, close, encoded, hash, list, read, unknown};

/// A server's request in tx-submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TxSubmissionRequest {
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

/// A client's message in tx-submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TxSubmissionReply<'t> {
    /// Go on and ask.
    Init,
    /// Ids of transactions, each with its size in bytes.
    Ids(Vec<(Hash32, u32)>),
    /// Transactions.
    Transactions(Vec<&'t [u8]>),
    /// There will be no more.
    Done,
}

impl TxSubmissionRequest {
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

impl<'t> TxSubmissionReply<'t> {
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
