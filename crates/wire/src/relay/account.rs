//! The blocks that a node announced to one client: each with its times, and the digest that the client must reach with it.

use slotmark_chain::{Decoder, Digest};

use super::watch::{Times, What};
use crate::client::{WireHeader, decode_wire_header, roll_forward_block, roll_forward_header};
use crate::protocols::chain_sync;

/// The work that the client does on each block, as `docs/targets.md` defines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Receives it.
    Raw,
    /// Decodes it.
    Decode,
    /// Decodes its header.
    Headers,
    /// Decodes its header, and fetches it.
    Fetch,
}

/// A block that the node announced; times by the monotonic clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announced {
    /// The read returned that the roll-forward's first byte was in.
    pub announced_ns: u64,
    /// The read returned that the last byte was in of what the client works on: of the roll-forward, in `fetch` of the block.
    pub arrived_ns: u64,
    /// The longest time that bytes of it were in the relay.
    pub held_ns: u64,
    /// True where the client's request waited for it at the tip.
    pub awaited: bool,
    /// Size of the block; of the header in `headers`.
    pub bytes: u64,
    /// Absolute slot.
    pub slot: u64,
    /// Header hash, in hex.
    pub hash: String,
    /// The client's digest up to this block, in hex.
    pub digest: String,
}

/// An event between a node and a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The client's request waits at the tip.
    Waits {
        /// Time of the node's answer.
        at_ns: u64,
    },
    /// The node announced a block.
    Announced(Announced),
    /// The node rolled back.
    RolledBack {
        /// Time of the client's message.
        at_ns: u64,
        /// To which point, `SLOT.HASH` or `origin`.
        to: String,
    },
    /// Nothing is known of the connection from here on.
    Ended {
        /// Time of the event.
        at_ns: u64,
        /// True where the node ended it, or sent an invalid message; false where the client did.
        by_node: bool,
        /// In words.
        why: String,
    },
}

/// All that was announced to a client so far.
pub struct Account {
    mode: Mode,
    digest: Digest,
    decoder: Decoder,
    /// The connection that blocks are announced on.
    connection: Option<u64>,
    /// In `fetch`: a block of which the header came, and not yet the body.
    header: Option<Announced>,
    ended: bool,
}

impl Account {
    /// Nothing yet, of a client in this mode.
    pub fn new(mode: Mode) -> Self {
        Self { mode, digest: Digest::new(), decoder: Decoder::new(), connection: None, header: None, ended: false }
    }

    pub(super) fn enter(&mut self, connection: u64, what: What) -> Option<Event> {
        // A client may open connections on which it follows nothing; their ends mean nothing.
        let on_another = self.connection != Some(connection) && matches!(what, What::Ended { .. });
        if self.ended || on_another {
            return None;
        }
        if matches!(what, What::Forward { .. } | What::Backward { .. } | What::Await { .. } | What::Body { .. })
            && *self.connection.get_or_insert(connection) != connection
        {
            return Some(self.end(0, false, "it followed the chain on a second connection".into()));
        }
        match what {
            What::Await { at_ns } => Some(Event::Waits { at_ns }),
            What::Backward { at_ns, to } => Some(Event::RolledBack { at_ns, to: to.to_string() }),
            What::Forward { times, awaited, message } => match self.announced(&times, awaited, &message) {
                Ok(announced) if self.mode == Mode::Fetch => {
                    self.header = Some(announced);
                    None
                }
                Ok(announced) => Some(Event::Announced(announced)),
                Err(why) => Some(self.end(times.first_ns, true, why)),
            },
            What::Body { times, block } => {
                let header = self.header.take()?;
                self.digest.raw(block.len() as u32, crc32fast::hash(&block));
                Some(Event::Announced(Announced {
                    arrived_ns: times.last_ns,
                    held_ns: header.held_ns.max(times.held_ns),
                    bytes: block.len() as u64,
                    digest: self.digest.hex(),
                    ..header
                }))
            }
            What::Unreadable { at_ns, why } => Some(self.end(at_ns, true, why)),
            What::Ended { at_ns, by_node, why } => Some(self.end(at_ns, by_node, why)),
        }
    }

    fn end(&mut self, at_ns: u64, by_node: bool, why: String) -> Event {
        self.ended = true;
        Event::Ended { at_ns, by_node, why }
    }

    fn announced(&mut self, times: &Times, awaited: bool, message: &[u8]) -> Result<Announced, String> {
        let number = if matches!(self.mode, Mode::Raw | Mode::Decode) { chain_sync::WITH_CLIENTS } else { chain_sync::BETWEEN_NODES };
        let (slot, hash, bytes) = match self.mode {
            Mode::Raw | Mode::Decode => {
                let (block, _) = roll_forward_block(message).map_err(|error| error.of(number).to_string())?;
                let facts = self.decoder.decode(block).map_err(|error| format!("it sent a block that can't be decoded: {error}"))?.facts();
                match self.mode {
                    Mode::Raw => self.digest.raw(block.len() as u32, crc32fast::hash(block)),
                    _ => self.digest.decoded(&facts),
                }
                (facts.slot, facts.hash, block.len())
            }
            Mode::Headers | Mode::Fetch => {
                let (header, _): (WireHeader<'_>, _) = roll_forward_header(message).map_err(|error| error.of(number).to_string())?;
                let decoded = decode_wire_header(&header).map_err(|error| error.to_string())?;
                if self.mode == Mode::Headers {
                    self.digest.header(decoded.slot, &decoded.hash);
                }
                (decoded.slot, decoded.hash, header.bytes.len())
            }
        };
        Ok(Announced {
            announced_ns: times.first_ns,
            arrived_ns: times.last_ns,
            held_ns: times.held_ns,
            awaited,
            bytes: bytes as u64,
            slot,
            hash: hex::encode(hash),
            digest: self.digest.hex(),
        })
    }
}
