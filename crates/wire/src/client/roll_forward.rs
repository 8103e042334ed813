//! Roll-forward messages: the blocks and headers in them.

use slotmark_chain::block::{Era, Header};

use super::ClientError;
use crate::message::MessageError;
use crate::protocols::chain_sync;

/// A header as chain-sync between nodes sends it.
pub struct WireHeader<'a> {
    /// Its era.
    pub era: Era,
    /// Its bytes.
    pub bytes: &'a [u8],
}

pub(crate) enum MessageOrClientError {
    Message(MessageError),
    Client(ClientError),
}

impl MessageOrClientError {
    /// As an error of the client, in this protocol.
    pub(crate) fn of(self, protocol: u16) -> ClientError {
        match self {
            Self::Message(error) => ClientError::message(protocol, &error),
            Self::Client(error) => error,
        }
    }
}

impl From<MessageError> for MessageOrClientError {
    fn from(error: MessageError) -> Self {
        Self::Message(error)
    }
}

impl From<ClientError> for MessageOrClientError {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

/// The head of a byte string under tag 24: where it begins and how long it is.
pub(super) fn wrapped_head(bytes: &[u8]) -> Result<(usize, usize), MessageError> {
    let malformed = || MessageError::Malformed("expected a byte string under tag 24".into());
    let width = match bytes {
        [0xd8, 0x18, head, ..] => match head {
            0x40..=0x57 => return Ok((3, usize::from(head - 0x40))),
            0x58..=0x5a => 1usize << (head - 0x58),
            _ => return Err(malformed()),
        },
        [] | [0xd8] | [0xd8, 0x18] => return Err(MessageError::Incomplete),
        _ => return Err(malformed()),
    };
    let length = bytes.get(3..3 + width).ok_or(MessageError::Incomplete)?;
    Ok((3 + width, length.iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte))))
}

pub(crate) fn wrapped(bytes: &[u8]) -> Result<(&[u8], usize), MessageError> {
    let (start, length) = wrapped_head(bytes)?;
    let inner = bytes.get(start..start + length).ok_or(MessageError::Incomplete)?;
    Ok((inner, start + length))
}

/// Returns the number of bytes that a tip takes.
pub(super) fn tip_length(bytes: &[u8]) -> Result<usize, MessageError> {
    let mut decoder = minicbor::Decoder::new(bytes);
    decoder.skip()?;
    Ok(decoder.position())
}

pub(crate) fn roll_forward_block(message: &[u8]) -> Result<(&[u8], usize), MessageOrClientError> {
    let (block, taken) = wrapped(&message[2..])?;
    Ok((block, 2 + taken + tip_length(&message[2 + taken..])?))
}

pub(crate) fn roll_forward_header(message: &[u8]) -> Result<(WireHeader<'_>, usize), MessageOrClientError> {
    let malformed = || MessageError::Malformed("expected a header, as [era, 24(bytes)]".into());
    let rest = &message[2..];
    let (era, start) = match rest {
        [0x82, 0x00, 0x82, 0x82, kind, ..] => {
            let size = tip_length(&rest[5..])?; // an unsigned integer, walked over in the same way
            (Era::from_tag(u64::from(*kind)).filter(|era| *era <= Era::Byron), 5 + size)
        }
        [0x82, era @ 1..=23, ..] => (Era::from_tag(u64::from(*era) + 1), 2),
        _ if rest.len() < 5 => return Err(MessageError::Incomplete.into()),
        _ => return Err(malformed().into()),
    };
    let era = era.ok_or_else(malformed)?;
    let (bytes, taken) = wrapped(&rest[start..])?;
    let taken = 2 + start + taken;
    Ok((WireHeader { era, bytes }, taken + tip_length(&message[taken..])?))
}

/// Decodes a header.
///
/// # Errors
/// It can't be decoded.
pub fn decode_wire_header<'a>(header: &WireHeader<'a>) -> Result<Header<'a>, ClientError> {
    slotmark_chain::block::decode_header_alone(header.era, header.bytes).map_err(|error| ClientError::Protocol {
        protocol: chain_sync::BETWEEN_NODES,
        what: format!("a header that can't be decoded: {error}"),
    })
}
