//! One client's connection, served by one thread: reads segments, answers messages.

mod answers;

use std::io::{self, ErrorKind, Read, Write};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use slotmark_chain::{ChainError, Point, Tip};
use slotmark_wire::follower::{Follower, Reply, Source};
use slotmark_wire::handshake::{self, Answer, Proposal, Side, Terms};
use slotmark_wire::ingress::Ingress;
use slotmark_wire::limits::{Arrivals, Overdue, SMALL_BYTES, TimeLimits};
use slotmark_wire::message::{Decoded, MessageError};
use slotmark_wire::mux::{Header, Segments, frame};
use slotmark_wire::protocols::{
    Message, PEER_SHARING, block_fetch, chain_sync, keep_alive, local_state_query, local_tx_monitor, local_tx_submission, tx_submission,
};
use slotmark_wire::stream::{Stream, thread_cpu_ns};

use super::ConnectionReport;
use super::growth::{Growth, LOOK_EVERY};
use super::heard::Heard;
use crate::framing::{Framed, FramedChain, Framing};

const READ_BYTES: usize = 64 << 10;

/// The settings by which a connection is served.
pub(super) struct Manner {
    pub(super) limits: TimeLimits,
    pub(super) delay: Duration,
    pub(super) look: Duration,
}

/// A reason why a connection ends.
#[derive(Debug, thiserror::Error)]
enum End {
    #[error("the client closed the connection")]
    Closed,
    #[error("the client ended the connection")]
    Done,
    #[error("the client went away ({0})")]
    Lost(ErrorKind),
    #[error("{0}")]
    Silent(#[from] Overdue),
    #[error("refused: {0}")]
    Refused(String),
    #[error("the client only asked for the versions")]
    Queried,
    #[error("the client left replies unread for {0:?}")]
    Unread(Duration),
    #[error("a segment from the wrong direction")]
    Direction,
    #[error("unknown protocol number {0}")]
    UnknownProtocol(u16),
    #[error("protocol {0} is not served here")]
    NotServed(u16),
    #[error("protocol {0} before the handshake")]
    TooEarly(u16),
    #[error("malformed message in protocol {protocol}: {what}")]
    Malformed { protocol: u16, what: String },
    #[error("a message of protocol {0} that is not whole within {SMALL_BYTES} bytes")]
    TooLong(u16),
    #[error("{0}")]
    Chain(#[from] ChainError),
}

pub(super) struct Connection<'c> {
    chain: &'c FramedChain,
    growth: Option<&'c Growth>,
    side: Side,
    magic: u64,
    stream: Stream,
    manner: Manner,
    looked_ns: &'c AtomicU64,
    heard: &'c Heard,
    connected: Instant,
    /// The time of the last read.
    now: Instant,
    arrivals: Arrivals,
    /// The client's turns in chain-sync, and in keep-alive.
    asking: chain_sync::ClientTurn,
    pinging: keep_alive::ClientTurn,
    version: Option<u64>,
    ingress: Vec<(u16, Ingress)>,
    follower: Follower<usize>,
    /// Roll-backwards of a growing chain that were taken note of.
    seen: usize,
    pending: Option<(Arc<Framed>, Range<usize>)>,
    framed: Option<Arc<Framed>>,
    out: Vec<u8>,
    replies: u64,
    bytes: u64,
}

/// The blocks of the chain that are there now, by their places.
struct Served(usize);

impl Source for Served {
    type Place = usize;
    type Block = usize;
    type Error = std::convert::Infallible;

    #[inline]
    fn after(&self, place: usize) -> Result<Option<(usize, usize)>, Self::Error> {
        Ok((place < self.0).then_some((place, place + 1)))
    }
}

impl<'c> Connection<'c> {
    #[allow(clippy::too_many_arguments, reason = "what a server shares with its connections, each once")]
    pub(super) fn new(
        chain: &'c FramedChain,
        growth: Option<&'c Growth>,
        side: Side,
        magic: u64,
        stream: Stream,
        manner: Manner,
        looked_ns: &'c AtomicU64,
        heard: &'c Heard,
    ) -> Self {
        Self {
            chain,
            growth,
            side,
            magic,
            stream,
            manner,
            looked_ns,
            heard,
            connected: Instant::now(),
            now: Instant::now(),
            arrivals: Arrivals::default(),
            asking: chain_sync::ClientTurn::default(),
            pinging: keep_alive::ClientTurn::default(),
            version: None,
            ingress: Vec::new(),
            follower: Follower::new(0),
            seen: 0,
            pending: None,
            framed: None,
            out: Vec::new(),
            replies: 0,
            bytes: 0,
        }
    }

    /// Serves until the connection ends, for whatever reason.
    pub(super) fn serve(mut self) -> ConnectionReport {
        let reason = match self.run() {
            Err(_) if self.heard.gave_way() => "gave way to another client after a long silence".into(),
            Err(end) => end.to_string(),
            Ok(never) => match never {},
        };
        self.stream.shutdown();
        ConnectionReport {
            connection: 0,
            side: self.side.name(),
            peer: String::new(),
            version: self.version,
            replies: self.replies,
            bytes: self.bytes,
            duration_ns: self.connected.elapsed().as_nanos() as u64,
            cpu_ns: thread_cpu_ns(),
            reason,
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let look = self.manner.look;
        if !look.is_zero()
            && self.version.is_some()
            && let Some(read) = self.stream.look(buffer, look, self.looked_ns)?
        {
            return Ok(read);
        }
        self.stream.read(buffer)
    }

    fn run(&mut self) -> Result<std::convert::Infallible, End> {
        let lost = |error: io::Error| End::Lost(error.kind());
        self.stream.widen();
        self.stream.write_within(self.manner.limits.write).map_err(lost)?;
        let tick = self.manner.limits.tick();
        self.stream.read_within(if self.growth.is_some() { tick.min(LOOK_EVERY) } else { tick }).map_err(lost)?;
        let mut buffer = vec![0; READ_BYTES];
        let mut segments = Segments::default();
        loop {
            let read = match self.read(&mut buffer) {
                Ok(0) => return Err(End::Closed),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if is_timeout(&error) => {
                    self.now = Instant::now();
                    self.refuse_overdue(self.now)?;
                    self.answer()?;
                    self.flush()?;
                    continue;
                }
                Err(error) => return Err(lost(error)),
            };
            self.now = Instant::now();
            let mut wire = &buffer[..read];
            while let Some((header, payload)) = segments.next(&mut wire) {
                self.check(&header)?; // before its payload is here: invalid input is refused at once
                if !payload.is_empty() {
                    self.payload(header.protocol, payload)?;
                }
            }
            self.flush()?;
            let now = Instant::now();
            self.heard.note(now);
            self.arrivals.segment(segments.unfinished_since(now));
            self.refuse_overdue(now)?;
        }
    }

    /// Ends the connection where the client's turn has taken too long.
    fn refuse_overdue(&self, now: Instant) -> Result<(), End> {
        let limits = &self.manner.limits;
        match self.side {
            _ if self.version.is_none() && now.duration_since(self.connected) > limits.handshake => {
                Err(Overdue { what: "handshake", limit: limits.handshake })?
            }
            _ if self.version.is_none() => {}
            Side::Client => self.arrivals.check_segment(now, limits)?,
            Side::Node => {
                self.arrivals.check(now, limits)?;
                self.asking.check(now, limits.chain_sync_idle)?;
                self.pinging.check(now, limits.keep_alive)?;
            }
        }
        Ok(())
    }

    fn check(&self, header: &Header) -> Result<(), End> {
        if header.from_responder {
            return Err(End::Direction);
        }
        let (served, known): (&[u16], &[u16]) = match self.side {
            Side::Client => {
                (&[chain_sync::WITH_CLIENTS], &[local_tx_submission::NUMBER, local_state_query::NUMBER, local_tx_monitor::NUMBER])
            }
            Side::Node => (&[chain_sync::BETWEEN_NODES, block_fetch::NUMBER, keep_alive::NUMBER, tx_submission::NUMBER, PEER_SHARING], &[]),
        };
        match header.protocol {
            handshake::NUMBER if self.version.is_none() => Ok(()),
            number if known.contains(&number) => Err(End::NotServed(number)),
            number if !served.contains(&number) => Err(End::UnknownProtocol(number)),
            number if self.version.is_none() => Err(End::TooEarly(number)),
            _ => Ok(()),
        }
    }

    /// Takes payload: answers every message that is whole with it, keeps the rest.
    fn payload(&mut self, protocol: u16, payload: &[u8]) -> Result<(), End> {
        self.arrivals.message();
        if matches!(protocol, tx_submission::NUMBER | PEER_SHARING) {
            return Ok(()); // a usual client greets us here; we never ask it for anything
        }
        let held = self.ingress.iter().position(|(number, _)| *number == protocol).map(|place| self.ingress.swap_remove(place).1);
        let rest = match held {
            None => {
                let taken = self.messages(protocol, payload)?;
                (taken < payload.len()).then(|| Ingress::holding(&payload[taken..]))
            }
            Some(mut ingress) => {
                ingress.push(payload);
                match if ingress.ripe() { self.messages(protocol, ingress.bytes())? } else { 0 } {
                    0 => Some(ingress),
                    taken if taken < ingress.bytes().len() => Some(Ingress::holding(&ingress.bytes()[taken..])),
                    _ => None,
                }
            }
        };
        if let Some(rest) = rest {
            if rest.bytes().len() > SMALL_BYTES {
                return Err(End::TooLong(protocol));
            }
            self.ingress.push((protocol, rest));
        }
        Ok(())
    }

    /// Answers every message that is whole; returns how many bytes they took.
    fn messages(&mut self, protocol: u16, bytes: &[u8]) -> Result<usize, End> {
        let mut at = 0;
        while at < bytes.len() {
            match self.message(protocol, &bytes[at..])? {
                0 => break,
                taken => at += taken,
            }
        }
        Ok(at)
    }

    /// Answers the message that `bytes` begin with; returns how many bytes it took, 0 where it isn't whole.
    fn message(&mut self, protocol: u16, bytes: &[u8]) -> Result<usize, End> {
        match protocol {
            handshake::NUMBER => self.one(protocol, Proposal::decode(bytes), |this, proposal| this.handshake(&proposal)),
            chain_sync::WITH_CLIENTS | chain_sync::BETWEEN_NODES => {
                self.one(protocol, chain_sync::Request::decode(bytes), |this, request| this.chain_sync(protocol, request))
            }
            block_fetch::NUMBER => self.one(protocol, block_fetch::Request::decode(bytes), |this, request| match request {
                block_fetch::Request::Range(from, to) => this.block_fetch(&from, &to),
                block_fetch::Request::Done => Ok(()),
            }),
            _ => self.one(protocol, keep_alive::Request::decode(bytes), |this, request| {
                this.pinging.request(&request, this.now);
                if let keep_alive::Request::Ping(cookie) = request { this.send(keep_alive::Message::Alive(cookie)) } else { Ok(()) }
            }),
        }
    }

    /// Answers a message that was read; returns how many bytes it took, 0 where it isn't whole.
    fn one<T>(&mut self, protocol: u16, read: Decoded<T>, answer: impl FnOnce(&mut Self, T) -> Result<(), End>) -> Result<usize, End> {
        match read {
            Ok((message, taken)) => answer(self, message).map(|()| taken),
            Err(MessageError::Incomplete) => Ok(0),
            Err(MessageError::Malformed(what)) => Err(End::Malformed { protocol, what }),
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
