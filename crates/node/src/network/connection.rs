//! One connection: the handshake, then messages both ways until it ends.

use std::cell::Cell;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use slotmark_chain::Point;
use slotmark_tracelog::{Peer, forms};
use slotmark_wire::handshake::{self, Answer, FINAL_VERSIONS, Proposal, Side, Stated, Terms};
use slotmark_wire::ingress::Ingress;
use slotmark_wire::limits::{self, TimeLimits};
use slotmark_wire::message::{MessageError, length};
use slotmark_wire::mux::{Header, Received, frame};
use slotmark_wire::protocols::{Message, PeerLimits, block_fetch, chain_sync, keep_alive, local_state_query};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::bounds::Turn;
use super::writer::Outbox;
use super::{Network, Origin};
use crate::core::{Command, Connected, Event};
use crate::inbox::Rank;

/// Bytes that are read at once.
const READ_BYTES: usize = 65_536;
/// Interval at which time limits are checked.
const TICK: Duration = Duration::from_secs(1);
/// Interval at which a client sends a keep-alive message.
const PING_EVERY: Duration = Duration::from_secs(10);
/// Answers that wait for their way out make further requests wait.
const FULL_BYTES: usize = 1 << 20;
/// The largest message of a local client, which has no limit in the protocol: a transaction, with room to spare.
const LOCAL_BYTES: usize = 4 << 20;

/// Waits for bytes, where all those before are taken; false at the end. Nothing is lost where the wait is given up.
async fn fill(received: &mut Received, socket: &mut (impl AsyncRead + Unpin)) -> std::io::Result<bool> {
    let read = socket.read(received.room()).await?;
    received.filled(read);
    Ok(read > 0)
}

/// Sees to a connection with a node until it ends. `neighbour` is whether the topology has the peer, and may trust it.
pub(super) async fn run(
    network: Rc<Network>,
    mut stream: TcpStream,
    address: SocketAddr,
    origin: Origin,
    neighbour: Option<bool>,
) -> Result<(), String> {
    let _ = stream.set_nodelay(true);
    let own = stream.local_addr().map_err(|error| error.to_string())?;
    let mut inbox = Received::new(READ_BYTES);
    let shaken = tokio::time::timeout(limits::HANDSHAKE, shake_hands(&mut stream, &mut inbox, network.magic, origin));
    let initiator_only = shaken.await.map_err(|_| "no handshake within 10 s".to_owned())??;
    // Its pair of addresses need not rest when it ends: both sides may want to connect again.
    let _ = stream.set_zero_linger();
    let (reader, writer) = stream.into_split();
    let (outbox, writing) = Outbox::start(writer, Side::Node);
    let (commands, received) = unbounded_channel();
    let peer = network.next_id();
    network.log.connected(peer, format!("{own} {address}"));
    let is_client = neighbour.is_some() && (origin == Origin::Dialled || !initiator_only);
    let connected = Connected { peer, commands, is_client, is_local: false };
    let rank = if is_client || !network.bounds.is_strict { Rank::First } else { Rank::Later };
    network.events.send(rank, Event::Connected(connected));
    let mut connection = Connection::new(Rc::clone(&network), peer, rank, outbox);
    let times = TimeLimits { chain_sync_idle: network.chain_sync_idle, ..TimeLimits::default() };
    let mut limits = PeerLimits::new(neighbour.unwrap_or(false), times);
    if network.bounds.is_strict && !is_client && origin == Origin::Accepted {
        limits.arrivals().expect_message(Instant::now());
    }
    connection.limits = Some(limits);
    connection.may_answer = is_client;
    connection.may_ask = !(initiator_only && origin == Origin::Dialled);
    let ended = connection.converse(reader, inbox, received, is_client).await;
    drop(connection);
    writing.abort();
    network.events.send(rank, Event::Disconnected(peer));
    network.log.disconnected(peer);
    ended
}

/// Sees to a connection with a local client until it ends.
pub(super) async fn serve_local(network: Rc<Network>, mut stream: UnixStream) {
    let mut inbox = Received::new(READ_BYTES);
    let shaken = tokio::time::timeout(limits::HANDSHAKE, shake_hands_locally(&mut stream, &mut inbox, network.magic));
    if !matches!(shaken.await, Ok(Ok(()))) {
        return;
    }
    let (reader, writer) = stream.into_split();
    let (outbox, writing) = Outbox::start(writer, Side::Client);
    let (commands, received) = unbounded_channel();
    let peer = network.next_id();
    network.events.send(Rank::First, Event::Connected(Connected { peer, commands, is_client: false, is_local: true }));
    let mut connection = Connection::new(Rc::clone(&network), peer, Rank::First, outbox);
    connection.may_ask = true;
    let ended = connection.converse(reader, inbox, received, false).await;
    drop(connection);
    if let Err(why) = ended {
        eprintln!("slotmark-node: connection with a local client ended: {why}");
        writing.abort();
    }
    network.events.send(Rank::First, Event::Disconnected(peer));
}

async fn message_of_handshake(stream: &mut (impl AsyncRead + Unpin), inbox: &mut Received) -> Result<(bool, Vec<u8>), String> {
    let mut message = Vec::new();
    loop {
        while let Some((header, payload)) = inbox.payload() {
            if header.protocol != handshake::NUMBER {
                return Err("something else than a handshake".into());
            }
            message.extend(payload);
            if message.len() > limits::HANDSHAKE_BYTES {
                return Err("a handshake of more than 5,760 bytes".into());
            }
            match length(&message) {
                Ok(Some(end)) if end == message.len() => return Ok((header.from_responder, message)),
                Ok(None) => {}
                _ => return Err("a handshake that can't be read".into()),
            }
        }
        if !fill(inbox, stream).await.map_err(|error| error.to_string())? {
            return Err("it closed the connection in the handshake".into());
        }
    }
}

async fn send(stream: &mut (impl AsyncWrite + Unpin), from_responder: bool, message: &[u8]) -> Result<(), String> {
    let mut wire = Vec::new();
    frame(&mut wire, handshake::NUMBER, from_responder, &[message]);
    stream.write_all(&wire).await.map_err(|error| error.to_string())
}

/// Agrees on a version; gives whether the other side only initiates.
async fn shake_hands(stream: &mut TcpStream, inbox: &mut Received, magic: u32, origin: Origin) -> Result<bool, String> {
    let terms = Terms { side: Side::Node, versions: FINAL_VERSIONS, magic: u64::from(magic), initiator_only: false };
    if origin == Origin::Dialled {
        let mut message = Vec::new();
        terms.proposal().encode(&mut message, terms.side);
        send(stream, false, &message).await?;
    }
    let (from_responder, message) = message_of_handshake(stream, inbox).await?;
    let unreadable = |error: MessageError| format!("a handshake that can't be read: {error}");
    if let Ok((proposal, _)) = Proposal::decode(&message) {
        // Where both dialled at the same moment, it is one connection: each takes the other's proposal as the answer.
        let accepted = match (origin, from_responder) {
            (Origin::Accepted, false) => answer(stream, &terms, &proposal).await?,
            (Origin::Dialled, _) => terms.agreed(terms.answer(&proposal)).map_err(|why| why.to_string())?,
            (Origin::Accepted, true) => return Err("a message of the handshake that has no place here".into()),
        };
        let agreed = proposal.versions.iter().find(|stated| stated.version == accepted.version);
        return Ok(agreed.is_some_and(|stated| stated.initiator_only));
    }
    let (answer, _) = Answer::decode(&message).map_err(unreadable)?;
    if (origin, from_responder) != (Origin::Dialled, true) {
        return Err("a message of the handshake that has no place here".into());
    }
    terms.agreed(answer).map(|stated| stated.initiator_only).map_err(|why| why.to_string())
}

async fn shake_hands_locally(stream: &mut UnixStream, inbox: &mut Received, magic: u32) -> Result<(), String> {
    let (_, message) = message_of_handshake(stream, inbox).await?;
    let (proposal, _) = Proposal::decode(&message).map_err(|error| error.to_string())?;
    answer(stream, &Terms::of(Side::Client, u64::from(magic)), &proposal).await.map(drop)
}

/// Answers a proposal; gives what was accepted.
async fn answer(stream: &mut (impl AsyncWrite + Unpin), terms: &Terms, proposal: &Proposal) -> Result<Stated, String> {
    let (answer, mut reply) = (terms.answer(proposal), Vec::new());
    answer.encode(&mut reply, terms, proposal);
    send(stream, true, &reply).await?;
    terms.agreed(answer).map_err(|why| why.to_string())
}

struct Connection {
    network: Rc<Network>,
    peer: u32,
    /// The rank of its events at the core.
    rank: Rank,
    /// The messages of the last read.
    turn: Turn,
    /// Requests for headers that are at the core, and whether one for an intersection is.
    at_core: u32,
    intersecting: bool,
    /// Requests for blocks that aren't answered.
    unanswered_ranges: Rc<Cell<u32>>,
    outbox: Outbox,
    /// None for local clients.
    limits: Option<PeerLimits>,
    /// True where responders of the other side may send, and its initiators.
    may_answer: bool,
    may_ask: bool,
    /// Incomplete messages, by protocol and direction.
    begun: HashMap<(u16, bool), Ingress>,
    /// Requests for headers that wait until answers are on their way.
    held: u32,
    /// True while a query of a local client has no answer; a query that waits as requests for headers do is the held one.
    asks: bool,
    held_query: Option<local_state_query::Message>,
    /// Ranges of blocks for the task that sends them, and what ends it.
    ranges: Option<(UnboundedSender<(Point, Point)>, tokio::task::AbortHandle)>,
    pinged: Option<Instant>,
    cookie: u16,
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some((_, sending)) = &self.ranges {
            sending.abort();
        }
    }
}

impl Connection {
    fn new(network: Rc<Network>, peer: u32, rank: Rank, outbox: Outbox) -> Self {
        Self {
            network,
            peer,
            rank,
            turn: Turn::default(),
            at_core: 0,
            intersecting: false,
            unanswered_ranges: Rc::default(),
            outbox,
            limits: None,
            may_answer: false,
            may_ask: false,
            begun: HashMap::new(),
            held: 0,
            asks: false,
            held_query: None,
            ranges: None,
            pinged: None,
            cookie: 0,
        }
    }

    async fn converse(
        &mut self,
        mut reader: impl AsyncRead + Unpin,
        mut inbox: Received,
        mut commands: UnboundedReceiver<Command>,
        pings: bool,
    ) -> Result<(), String> {
        let mut ticks = tokio::time::interval(TICK);
        let mut next_ping = Instant::now();
        loop {
            self.turn = Turn::default();
            while let Some((header, payload)) = inbox.payload() {
                self.payload(header, payload)?;
            }
            let unfinished = inbox.unfinished_since(Instant::now());
            // Others have their turn before more is read from this one.
            tokio::task::yield_now().await;
            tokio::select! {
                filled = fill(&mut inbox, &mut reader) => match filled {
                    Ok(true) => {}
                    Ok(false) => return Ok(()),
                    Err(error) => return Err(error.to_string()),
                },
                command = commands.recv() => match command {
                    Some(Command::Send(message)) => self.send(message),
                    Some(Command::Close(why)) => return Err(why),
                    None => return Ok(()),
                },
                () = self.outbox.drained(), if self.held > 0 || self.held_query.is_some() => self.let_go(),
                _ = ticks.tick() => {
                    let now = Instant::now();
                    if let Some(limits) = &mut self.limits {
                        limits.arrivals().segment(unfinished);
                        limits.check(now)?;
                        if self.outbox.queued() > self.network.bounds.unread_bytes {
                            return Err("it does not read what it asked for".into());
                        }
                    }
                    if pings && self.pinged.is_none() && now >= next_ping {
                        next_ping = now + PING_EVERY;
                        self.cookie = self.cookie.wrapping_add(1);
                        self.pinged = Some(now);
                        self.send(keep_alive::Message::Request(keep_alive::Request::Ping(self.cookie)));
                    }
                    self.let_go();
                }
            }
        }
    }

    fn send(&mut self, message: impl Into<Message>) {
        let message = message.into();
        if let Some(limits) = &mut self.limits {
            limits.sent(&message, Instant::now());
        }
        self.asks &= !matches!(message, Message::LocalStateQuery(local_state_query::Message::Answer(_)));
        self.outbox.send(&message);
        match message {
            Message::ChainSync(
                chain_sync::Message::RollForward(..) | chain_sync::Message::RollForwardBlock(..) | chain_sync::Message::RollBackward(..),
            ) => {
                self.at_core = self.at_core.saturating_sub(1);
                self.let_go();
            }
            Message::ChainSync(chain_sync::Message::IntersectFound(..) | chain_sync::Message::IntersectNotFound(_)) => {
                self.intersecting = false;
            }
            _ => {}
        }
    }

    fn tell(&self, message: impl Into<Message>) {
        self.network.events.send(self.rank, Event::Message(self.peer, message.into()));
    }

    /// Returns whether a further request for a header has to wait.
    fn is_busy(&self) -> bool {
        self.at_core >= self.network.bounds.at_core || self.outbox.queued() >= FULL_BYTES
    }

    /// Passes on what had to wait.
    fn let_go(&mut self) {
        if self.outbox.queued() < FULL_BYTES
            && let Some(query) = self.held_query.take()
        {
            self.tell(query);
        }
        while self.held > 0 && !self.is_busy() {
            self.held -= 1;
            self.at_core = self.at_core.saturating_add(1);
            self.tell(chain_sync::Message::Request(chain_sync::Request::RequestNext));
        }
    }

    /// Returns the side of the node that the connection is at.
    fn side(&self) -> Side {
        if self.limits.is_some() { Side::Node } else { Side::Client }
    }

    fn payload(&mut self, header: Header, payload: &[u8]) -> Result<(), String> {
        let spoken = Message::is_spoken(self.side(), header.protocol);
        if !spoken || !(if header.from_responder { self.may_answer } else { self.may_ask }) {
            let side = if header.from_responder { "responder" } else { "initiator" };
            return Err(format!("a segment of protocol {} from its {side}, which is not spoken here", header.protocol));
        }
        let key = (header.protocol, header.from_responder);
        let mut held = self.begun.remove(&key).unwrap_or_default();
        held.push(payload);
        let mut at = 0;
        if held.ripe() {
            let malformed = |error| format!("a message of protocol {} that can't be read: {error}", header.protocol);
            while let Some(bytes) = length(&held.bytes()[at..]).map_err(malformed)? {
                self.check_size(header, bytes)?;
                let message = &held.bytes()[at..at + bytes];
                let message = Message::decode(self.side(), header.protocol, header.from_responder, message).map_err(malformed)?;
                at += bytes;
                self.message(message)?;
            }
        }
        let left = held.bytes().len() - at;
        self.check_size(header, left)?;
        if left > 0 {
            self.begun.insert(key, if at == 0 { held } else { Ingress::holding(&held.bytes()[at..]) });
        }
        Ok(())
    }

    /// Checks the bytes of a message, or of what is here of it.
    fn check_size(&self, header: Header, bytes: usize) -> Result<(), String> {
        let limit = self.limits.as_ref().map_or(LOCAL_BYTES, |limits| limits.max_bytes(header.protocol, header.from_responder));
        if bytes > limit { Err(format!("a message of protocol {} of more than {limit} bytes", header.protocol)) } else { Ok(()) }
    }

    fn message(&mut self, message: Message) -> Result<(), String> {
        let bounds = self.network.bounds;
        if let Some(limits) = &mut self.limits {
            limits.received(&message, Instant::now())?;
            self.turn.note(&message, &bounds)?;
        }
        match message {
            Message::ChainSync(chain_sync::Message::Request(chain_sync::Request::RequestNext)) => {
                if self.limits.is_some() && self.held.saturating_add(self.at_core) >= bounds.pipelined {
                    return Err(format!("more than {} requests for headers without waiting for answers", bounds.pipelined));
                }
                self.held += 1;
                self.let_go();
            }
            Message::ChainSync(chain_sync::Message::Request(chain_sync::Request::FindIntersect(_)))
                if std::mem::replace(&mut self.intersecting, true) =>
            {
                return Err("a request for an intersection before the answer to the last".into());
            }
            Message::ChainSync(chain_sync::Message::Request(chain_sync::Request::Done)) => {
                (self.held, self.at_core) = (0, 0);
                self.tell(chain_sync::Message::Request(chain_sync::Request::Done));
            }
            Message::LocalStateQuery(_) if self.asks => {
                return Err("a message of state queries before the answer of a query".into());
            }
            Message::LocalStateQuery(query @ local_state_query::Message::Query(_)) => {
                self.asks = true;
                self.held_query = Some(query);
                self.let_go();
            }
            Message::BlockFetch(block_fetch::Message::Request(block_fetch::Request::Range(from, to))) => {
                if self.limits.is_some() && self.unanswered_ranges.get() >= bounds.ranges {
                    return Err(format!("more than {} requests for blocks without waiting for answers", bounds.ranges));
                }
                self.unanswered_ranges.set(self.unanswered_ranges.get() + 1);
                let (ranges, _) = self.ranges.get_or_insert_with(|| {
                    let (ranges, received) = unbounded_channel();
                    let unanswered = Rc::clone(&self.unanswered_ranges);
                    let sending = send_blocks(Rc::clone(&self.network), self.peer, self.outbox.clone(), received, unanswered);
                    (ranges, tokio::task::spawn_local(sending).abort_handle())
                });
                let _ = ranges.send((from, to));
            }
            Message::BlockFetch(block_fetch::Message::Request(block_fetch::Request::Done)) => {}
            Message::KeepAlive(keep_alive::Message::Request(keep_alive::Request::Ping(cookie))) => {
                self.send(keep_alive::Message::Alive(cookie));
            }
            Message::KeepAlive(keep_alive::Message::Request(keep_alive::Request::Done)) => {}
            Message::KeepAlive(keep_alive::Message::Alive(_)) => {
                if let Some(pinged) = self.pinged.take() {
                    self.network.events.send(self.rank, Event::Rtt(self.peer, pinged.elapsed()));
                }
            }
            message => self.tell(message),
        }
        Ok(())
    }
}

/// Sends the blocks of ranges, one range after the other, as fast as they go out.
async fn send_blocks(
    network: Rc<Network>,
    peer: u32,
    outbox: Outbox,
    mut ranges: UnboundedReceiver<(Point, Point)>,
    unanswered: Rc<Cell<u32>>,
) {
    while let Some((from, to)) = ranges.recv().await {
        unanswered.set(unanswered.get().saturating_sub(1));
        // A range is looked for in the whole chain: others have their turn first.
        tokio::task::yield_now().await;
        let Some(points) = network.store.range(&from, &to) else {
            outbox.send(&Message::BlockFetch(block_fetch::Message::NoBlocks));
            continue;
        };
        outbox.send(&Message::BlockFetch(block_fetch::Message::StartBatch));
        for point in points {
            while outbox.queued() >= FULL_BYTES {
                outbox.drained().await;
            }
            // A block of a fork may just have been forgotten: the batch is then shorter than asked for.
            let Some(block) = network.store.block(&point) else { break };
            let mut hash = [0; 64];
            slotmark_tracelog::hex(&block.hash, &mut hash);
            network.log.line(forms::SendBlock { peer: Peer(peer), block: &hash[..] });
            outbox.send(&Message::BlockFetch(block_fetch::Message::Block(Arc::clone(&block.bytes))));
        }
        outbox.send(&Message::BlockFetch(block_fetch::Message::BatchDone));
    }
}
