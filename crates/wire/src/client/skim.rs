//! Finding the ends of node-to-client chain-sync messages in a byte stream cut anywhere, looking at as little as can be.

use slotmark_chain::Point;

use super::ClientError;
use super::roll_forward::{tip_length, wrapped_head};
use crate::message::MessageError;
use crate::mux::{Header, Segments};
use crate::protocols::chain_sync;

/// Longer than any part of a message besides the block.
const MOST: usize = 512;

pub(super) struct Skimmer {
    protocol: u16,
    segments: Segments,
    held: Vec<u8>,
    block: usize,
    in_tail: bool,
    blocks: u64,
    bytes: u64,
    rolls_back: bool,
}

impl Skimmer {
    pub(super) fn new(protocol: u16, rolls_back: bool) -> Self {
        Self { protocol, segments: Segments::default(), held: Vec::new(), block: 0, in_tail: false, blocks: 0, bytes: 0, rolls_back }
    }

    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes what came from the socket; `answered` gets each reply, with the bytes so far where it was a block.
    pub(super) fn skim(&mut self, mut wire: &[u8], mut answered: impl FnMut(Option<u64>)) -> Result<(), ClientError> {
        while let Some((header, payload)) = self.segments.next(&mut wire) {
            self.check(header)?;
            self.stream(payload, &mut answered)?;
        }
        Ok(())
    }

    /// Refuses segments that make no sense here.
    #[inline]
    fn check(&self, header: Header) -> Result<(), ClientError> {
        if header.protocol != self.protocol || !header.from_responder {
            return Err(ClientError::Protocol { protocol: header.protocol, what: "an unrequested segment".into() });
        }
        Ok(())
    }

    fn stream(&mut self, mut bytes: &[u8], answered: &mut impl FnMut(Option<u64>)) -> Result<(), ClientError> {
        while !bytes.is_empty() {
            if self.block > 0 {
                let skipped = self.block.min(bytes.len());
                self.block -= skipped;
                bytes = &bytes[skipped..];
                continue;
            }
            // Look at the bytes where they lie; hold them only when a part goes on behind them.
            let held = self.held.len();
            let joined;
            let part = if held == 0 {
                bytes
            } else {
                self.held.extend_from_slice(&bytes[..bytes.len().min(MOST - held)]);
                joined = std::mem::take(&mut self.held);
                joined.as_slice()
            };
            match self.part(part, answered) {
                Ok(taken) => bytes = &bytes[taken - held..],
                Err(MessageError::Incomplete) if part.len() < MOST => {
                    self.held = part.to_vec();
                    return Ok(());
                }
                Err(error) => return Err(self.unexpected(part, error)),
            }
        }
        Ok(())
    }

    /// Reads what comes next, a message's beginning or its tip; returns how many bytes it took.
    fn part(&mut self, part: &[u8], answered: &mut impl FnMut(Option<u64>)) -> Result<usize, MessageError> {
        if self.in_tail {
            let taken = tip_length(part)?;
            self.in_tail = false;
            self.blocks += 1;
            answered(Some(self.bytes));
            return Ok(taken);
        }
        if let [0x83, 0x02, rest @ ..] = part {
            let (start, length) = wrapped_head(rest)?;
            self.block = length;
            self.bytes += length as u64;
            self.in_tail = true;
            return Ok(2 + start);
        }
        match chain_sync::Reply::decode(part)? {
            (chain_sync::Reply::RollBackward(_), taken) if self.rolls_back => {
                self.rolls_back = false;
                answered(None);
                Ok(taken)
            }
            (reply, _) => Err(MessageError::Malformed(format!("{reply:?}"))),
        }
    }

    fn unexpected(&self, part: &[u8], error: MessageError) -> ClientError {
        match chain_sync::Reply::decode(part) {
            Ok((chain_sync::Reply::AwaitReply, _)) => ClientError::Tip { blocks: self.blocks },
            Ok((chain_sync::Reply::RollBackward(to), _)) => ClientError::RollBackward { to, blocks: self.blocks },
            Ok((chain_sync::Reply::IntersectFound(_) | chain_sync::Reply::IntersectNotFound, _)) => {
                ClientError::NoIntersection(Point::Origin)
            }
            Err(_) => ClientError::message(self.protocol, &error),
        }
    }
}
