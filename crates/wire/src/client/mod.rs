//! A client that follows a chain: buffered, pipelined, and without a copy or an allocation for each block.

mod bearer;
mod inbox;
mod pacer;
mod roll_forward;
mod skim;

use std::fmt;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use slotmark_chain::Point;

use crate::handshake::{self, Answer, NotAgreed, Side, Terms};
use crate::limits;
use crate::message::MessageError;
use crate::mux::{HEADER_BYTES, frame};
use crate::protocols::{block_fetch, chain_sync};
use bearer::Bearer;
use inbox::Inbox;
use pacer::Pacer;
pub(crate) use roll_forward::{MessageOrClientError, roll_forward_block, roll_forward_header, wrapped};
pub use roll_forward::{WireHeader, decode_wire_header};
use skim::Skimmer;

/// Errors between a client and its server.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message is its documentation")]
pub enum ClientError {
    #[error("{address}: can't connect ({source}). Is a server listening there?")]
    Connect { address: String, source: io::Error },
    #[error("the connection was lost: {0}")]
    Lost(#[from] io::Error),
    #[error("the server closed the connection after {blocks} blocks")]
    Closed { blocks: u64 },
    #[error("the server refused the handshake, which offered {offer}: {why}")]
    Refused { offer: Offer, why: String },
    #[error("the server closed the connection during the handshake, which offered {0}. Is it a node of that network and age?")]
    ClosedInHandshake(Offer),
    #[error("no answer to the handshake within {} s, which offered {offer}. Does a node listen there?", limit.as_secs_f64())]
    NoHandshake { offer: Offer, limit: Duration },
    #[error("what listens there is no {side}: it began with \"{}\"", beginning.escape_ascii())]
    OtherProtocol { side: &'static str, beginning: Vec<u8> },
    #[error("the intersection was not found: the server doesn't have {0}")]
    NoIntersection(Point),
    #[error("the chain ended after {blocks} blocks: the server has no more")]
    Tip { blocks: u64 },
    #[error("a roll-backward to {to} after {blocks} blocks")]
    RollBackward { to: Point, blocks: u64 },
    #[error("the server has no blocks from {0} to {1}")]
    NoBlocks(Point, Point),
    #[error("protocol {protocol}: {what}")]
    Protocol { protocol: u16, what: String },
    #[error("{0}")]
    WrongBytes(String),
}

/// The client's offer in the handshake, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The side of a node that the client spoke to.
    pub side: Side,
    /// The network's magic.
    pub magic: u64,
}

impl fmt::Display for Offer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let versions = self.side.versions();
        write!(out, "network magic {} and {} versions {} to {}", self.magic, self.side, versions.start(), versions.end())
    }
}

impl ClientError {
    fn message(protocol: u16, error: &MessageError) -> Self {
        Self::Protocol { protocol, what: error.to_string() }
    }
}

/// A connection to a server, hands shaken.
pub struct Client {
    bearer: Bearer,
    inbox: Inbox,
    side: Side,
    version: u64,
    /// True where the next reply to a request for a block is the roll-backward to the intersection.
    rolls_back: bool,
}

impl Client {
    /// Connects to a node-to-client socket.
    ///
    /// # Errors
    /// No server listens there, or the handshake is refused.
    pub fn connect_socket(path: &Path, magic: u64) -> Result<Self, ClientError> {
        Self::shake_hands(Bearer::unix(path)?, Side::Client, magic)
    }

    /// Connects to a node-to-node address, `HOST:PORT`.
    ///
    /// # Errors
    /// No server listens there, or the handshake is refused.
    pub fn connect_address(address: &str, magic: u64) -> Result<Self, ClientError> {
        Self::shake_hands(Bearer::tcp(address)?, Side::Node, magic)
    }

    fn shake_hands(bearer: Bearer, side: Side, magic: u64) -> Result<Self, ClientError> {
        let mut client = Self { bearer, inbox: Inbox::new(), side, version: 0, rolls_back: true };
        let offer = Offer { side, magic };
        let (terms, mut message) = (Terms::of(side, magic), Vec::new());
        terms.proposal().encode(&mut message, side);
        client.bearer.read_within(Some(limits::HANDSHAKE))?;
        let answered = client.send(handshake::NUMBER, &message).and_then(|()| client.reply(handshake::NUMBER, Answer::decode, 0));
        let answer = answered.map_err(|error| client.handshake_error(error, offer.clone()))?;
        client.version = match terms.agreed(answer) {
            Ok(stated) => stated.version,
            Err(NotAgreed::Refused(why) | NotAgreed::Wrong(why)) => return Err(ClientError::Refused { offer, why }),
        };
        client.bearer.read_within(None)?;
        Ok(client)
    }

    /// Returns the meaning of an error that comes instead of the answer to the handshake.
    fn handshake_error(&self, error: ClientError, offer: Offer) -> ClientError {
        let beginning = self.inbox.untaken();
        match error {
            ClientError::Protocol { .. } if !beginning.is_empty() => {
                let beginning = beginning[..beginning.len().min(32)].to_vec();
                ClientError::OtherProtocol { side: offer.side.name(), beginning }
            }
            ClientError::Closed { .. } => ClientError::ClosedInHandshake(offer),
            ClientError::Lost(source) if matches!(source.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                ClientError::NoHandshake { offer, limit: limits::HANDSHAKE }
            }
            ClientError::Lost(source) if matches!(source.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => {
                ClientError::ClosedInHandshake(offer)
            }
            error => error,
        }
    }

    /// The negotiated version, as it stands on the wire.
    pub fn version(&self) -> u64 {
        self.version
    }

    fn chain_sync(&self) -> u16 {
        if self.side == Side::Client { chain_sync::WITH_CLIENTS } else { chain_sync::BETWEEN_NODES }
    }

    /// Intersects at a point.
    ///
    /// # Errors
    /// The server doesn't have it.
    pub fn find_intersection(&mut self, point: &Point) -> Result<(), ClientError> {
        let mut message = Vec::new();
        chain_sync::Request::FindIntersect(vec![*point]).encode(&mut message);
        self.send(self.chain_sync(), &message)?;
        match self.reply(self.chain_sync(), chain_sync::Reply::decode, 0)? {
            chain_sync::Reply::IntersectFound(_) => {
                self.rolls_back = true;
                Ok(())
            }
            _ => Err(ClientError::NoIntersection(*point)),
        }
    }

    /// The server's tip, from its answer to a find-intersect.
    ///
    /// # Errors
    /// The connection ends.
    pub fn tip(&mut self) -> Result<Point, ClientError> {
        let mut message = Vec::new();
        chain_sync::Request::FindIntersect(vec![Point::Origin]).encode(&mut message);
        self.send(self.chain_sync(), &message)?;
        self.reply(self.chain_sync(), chain_sync::Reply::decode_tip, 0)
    }

    /// Requests the next message and waits for it, at the chain's end too; node-to-client only.
    ///
    /// Gives what `each` makes of the block, `[era, block]`; None where the chain rolled back.
    ///
    /// # Errors
    /// The connection ends, or whatever `each` meets.
    pub fn next_block<T>(&mut self, each: impl FnOnce(&[u8]) -> Result<T, ClientError>) -> Result<Option<T>, ClientError> {
        let Some(taken) = self.next_roll_forward(|message| Ok(roll_forward_block(message)?.1))? else { return Ok(None) };
        let made = roll_forward_block(self.inbox.stream()).map_err(|error| error.of(self.chain_sync())).and_then(|(block, _)| each(block));
        self.inbox.take(taken);
        made.map(Some)
    }

    /// As [`Client::next_block`], for headers; node-to-node only.
    ///
    /// # Errors
    /// The connection ends, or whatever `each` meets.
    pub fn next_header<T>(&mut self, each: impl FnOnce(WireHeader<'_>) -> Result<T, ClientError>) -> Result<Option<T>, ClientError> {
        let Some(taken) = self.next_roll_forward(|message| Ok(roll_forward_header(message)?.1))? else { return Ok(None) };
        let made =
            roll_forward_header(self.inbox.stream()).map_err(|error| error.of(self.chain_sync())).and_then(|(header, _)| each(header));
        self.inbox.take(taken);
        made.map(Some)
    }

    /// Requests the next message; returns how many bytes the roll-forward takes that the stream then begins with, None for a roll-backward.
    fn next_roll_forward(&mut self, whole: impl Fn(&[u8]) -> Result<usize, MessageOrClientError>) -> Result<Option<usize>, ClientError> {
        let protocol = self.chain_sync();
        let mut message = Vec::new();
        chain_sync::Request::RequestNext.encode(&mut message);
        self.send(protocol, &message)?;
        loop {
            let found = match self.inbox.stream() {
                [] => Err(MessageError::Incomplete.into()),
                message @ [0x83, 0x02, ..] => whole(message).map(Some),
                message => match chain_sync::Reply::decode(message) {
                    Ok((chain_sync::Reply::AwaitReply, taken)) => {
                        self.inbox.take(taken);
                        continue;
                    }
                    Ok((chain_sync::Reply::RollBackward(_), taken)) => {
                        self.inbox.take(taken);
                        Ok(None)
                    }
                    Ok((reply, _)) => Err(MessageError::Malformed(format!("{reply:?} to a request for what comes next")).into()),
                    Err(error) => Err(error.into()),
                },
            };
            match found {
                Ok(found) => return Ok(found),
                Err(MessageOrClientError::Message(MessageError::Incomplete)) => {
                    if !self.inbox.more(protocol, self.side, &mut self.bearer)? {
                        return Err(ClientError::Closed { blocks: 0 });
                    }
                }
                Err(error) => return Err(error.of(protocol)),
            }
        }
    }

    /// Follows the chain after the intersection for `blocks` blocks with up to `depth` requests in flight.
    ///
    /// `each` gets every block, `[era, block]`, whole and in order; node-to-client only.
    ///
    /// # Errors
    /// The connection or the chain ends early, or the chain rolls back.
    pub fn blocks(&mut self, blocks: u64, depth: u64, mut each: impl FnMut(&[u8]) -> Result<(), ClientError>) -> Result<(), ClientError> {
        self.follow(blocks, depth, |message| {
            let (block, taken) = roll_forward_block(message)?;
            each(block)?;
            Ok(taken)
        })
    }

    /// As [`Client::blocks`], for headers; node-to-node only.
    ///
    /// # Errors
    /// The connection or the chain ends early, or the chain rolls back.
    pub fn headers(
        &mut self,
        headers: u64,
        depth: u64,
        mut each: impl FnMut(WireHeader<'_>) -> Result<(), ClientError>,
    ) -> Result<(), ClientError> {
        self.follow(headers, depth, |message| {
            let (header, taken) = roll_forward_header(message)?;
            each(header)?;
            Ok(taken)
        })
    }

    fn follow(
        &mut self,
        blocks: u64,
        depth: u64,
        mut forward: impl FnMut(&[u8]) -> Result<usize, MessageOrClientError>,
    ) -> Result<(), ClientError> {
        let protocol = self.chain_sync();
        let mut pacer = Pacer::new(protocol, blocks + u64::from(self.rolls_back), depth);
        let mut done = 0;
        while done < blocks {
            pacer.ask(&mut self.bearer)?;
            let message = self.inbox.stream();
            let taken = match message {
                [] => Err(MessageOrClientError::Message(MessageError::Incomplete)),
                [0x83, 0x02, ..] => forward(message).inspect(|_| done += 1),
                message => match chain_sync::Reply::decode(message) {
                    Ok((chain_sync::Reply::RollBackward(_), taken)) if self.rolls_back => {
                        self.rolls_back = false;
                        Ok(taken)
                    }
                    Ok((chain_sync::Reply::RollBackward(to), _)) => return Err(ClientError::RollBackward { to, blocks: done }),
                    Ok((chain_sync::Reply::AwaitReply, _)) => return Err(ClientError::Tip { blocks: done }),
                    Ok((reply, _)) => {
                        return Err(ClientError::Protocol { protocol, what: format!("{reply:?} to a request for the next block") });
                    }
                    Err(error) => Err(MessageOrClientError::Message(error)),
                },
            };
            match taken {
                Ok(taken) => {
                    self.inbox.take(taken);
                    pacer.answered();
                }
                Err(MessageOrClientError::Message(MessageError::Incomplete)) => {
                    self.bearer.expect_more(pacer.several_in_flight());
                    if !self.inbox.more(protocol, self.side, &mut self.bearer)? {
                        return Err(ClientError::Closed { blocks: done });
                    }
                }
                Err(error) => return Err(error.of(protocol)),
            }
        }
        Ok(())
    }

    /// As [`Client::blocks`], but finds only the ends of messages and throws them away: the floor. Returns the blocks' bytes.
    ///
    /// `seen` gets each block, with the bytes so far.
    ///
    /// # Errors
    /// The connection or the chain ends early, or the chain rolls back.
    pub fn discard(&mut self, blocks: u64, depth: u64, mut seen: impl FnMut(u64)) -> Result<u64, ClientError> {
        let mut pacer = Pacer::new(self.chain_sync(), blocks + u64::from(self.rolls_back), depth);
        let mut skimmer = Skimmer::new(self.chain_sync(), std::mem::take(&mut self.rolls_back));
        let mut buffer = vec![0; inbox::READ_BYTES];
        while skimmer.blocks() < blocks {
            pacer.ask(&mut self.bearer)?;
            self.bearer.expect_more(pacer.several_in_flight());
            let read = self.bearer.read(&mut buffer)?;
            if read == 0 {
                return Err(ClientError::Closed { blocks: skimmer.blocks() });
            }
            skimmer.skim(&buffer[..read], |bytes| {
                pacer.answered();
                if let Some(bytes) = bytes {
                    seen(bytes);
                }
            })?;
        }
        Ok(skimmer.bytes())
    }

    /// Fetches the blocks from one point to another, both included; `each` gets every block, in order.
    ///
    /// # Errors
    /// The server hasn't all of them, or the connection ends.
    pub fn fetch(&mut self, from: &Point, to: &Point, mut each: impl FnMut(&[u8]) -> Result<(), ClientError>) -> Result<(), ClientError> {
        let protocol = block_fetch::NUMBER;
        let mut message = Vec::new();
        block_fetch::Request::Range(*from, *to).encode(&mut message);
        self.send(protocol, &message)?;
        self.bearer.expect_more(true);
        let mut blocks = 0;
        loop {
            let message = self.inbox.stream();
            let taken = match message {
                [0x81, 0x02, ..] => 2,
                [0x81, 0x03, ..] => return Err(ClientError::NoBlocks(*from, *to)),
                [0x81, 0x05, ..] => {
                    self.inbox.take(2);
                    return Ok(());
                }
                [0x82, 0x04, ..] => match wrapped(&message[2..]) {
                    Ok((block, taken)) => {
                        each(block)?;
                        blocks += 1;
                        2 + taken
                    }
                    Err(MessageError::Incomplete) => 0,
                    Err(error) => return Err(ClientError::message(protocol, &error)),
                },
                message if message.len() < 2 => 0,
                message => {
                    return Err(ClientError::Protocol { protocol, what: format!("a message that begins with {:02x?}", &message[..2]) });
                }
            };
            if taken > 0 {
                self.inbox.take(taken);
            } else if !self.inbox.more(protocol, self.side, &mut self.bearer)? {
                return Err(ClientError::Closed { blocks });
            }
        }
    }

    fn send(&mut self, protocol: u16, message: &[u8]) -> Result<(), ClientError> {
        let mut wire = Vec::with_capacity(message.len() + HEADER_BYTES);
        frame(&mut wire, protocol, false, &[message]);
        self.bearer.expect_more(false);
        Ok(self.bearer.write_all(&wire)?)
    }

    fn reply<T>(
        &mut self,
        protocol: u16,
        decode: impl Fn(&[u8]) -> Result<(T, usize), MessageError>,
        blocks: u64,
    ) -> Result<T, ClientError> {
        loop {
            match decode(self.inbox.stream()) {
                Ok((reply, taken)) => {
                    self.inbox.take(taken);
                    return Ok(reply);
                }
                Err(MessageError::Incomplete) => {
                    if !self.inbox.more(protocol, self.side, &mut self.bearer)? {
                        return Err(ClientError::Closed { blocks });
                    }
                }
                Err(error) => return Err(ClientError::message(protocol, &error)),
            }
        }
    }
}
