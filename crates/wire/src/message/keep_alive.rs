//! Messages of keep-alive.

use slotmark_chain::CborBuffer;

use super::{Decoded, begin, read, unknown};

/// A client's message in keep-alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeepAliveRequest {
    /// Send this number back.
    Ping(u16),
    /// Ends the protocol.
    Done,
}

impl KeepAliveRequest {
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
