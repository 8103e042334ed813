//! The one owner of the chain: everything that happens comes here as an event, one after the other.
//!
//! `upstream` are peers whose headers and blocks come here, `followers` those whom the chain is served to, `transactions` the
//! way of transactions in and out, `local` what local clients ask, `queries` the answers that come from the ledger, `slots` what each slot brings.

mod followers;
mod local;
mod queries;
mod slots;
mod transactions;
mod upstream;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use slotmark_chain::{Hash32, Point, Tip};
use slotmark_ledger::Environment;
use slotmark_praos::state::Outlook;
use slotmark_wire::follower::Follower;
use slotmark_wire::protocols::{Message, block_fetch, chain_sync, tx_submission};
use tokio::sync::mpsc::UnboundedSender;

use crate::chaindb::{ChainDb, slot_of};
use crate::clock::{SlotClock, now_ns};
use crate::config::{Credentials, Settings};
use crate::error::NodeError;
use crate::inbox::Events;
use crate::log::Log;
use crate::mempool::{Mempool, Rules};
use crate::options::Run;
use crate::store::Store;

use transactions::{Offered, Offering};
use upstream::Upstream;

/// Fetch decisions are at least so far apart (ouroboros-network, `BlockFetch/State.hs`).
const DECISION_EVERY: Duration = Duration::from_millis(10);

/// An event for the node.
pub enum Event {
    /// A connection is there, its handshake done.
    Connected(Connected),
    /// It is gone.
    Disconnected(u32),
    /// A peer sent a message.
    Message(u32, Message),
    /// The time that a peer took to answer a keep-alive message.
    Rtt(u32, Duration),
    /// The node is to stop.
    Stop,
}

/// A connection that is there.
pub struct Connected {
    /// Its number.
    pub peer: u32,
    /// Takes what is to be done with it.
    pub commands: UnboundedSender<Command>,
    /// True where this node follows the peer's chain.
    pub is_client: bool,
    /// True for a local client.
    pub is_local: bool,
}

/// A command for a connection.
pub enum Command {
    /// Send a message.
    Send(Message),
    /// Close it, and why.
    Close(String),
}

struct PeerState {
    commands: UnboundedSender<Command>,
    is_local: bool,
    rtt: Duration,
    upstream: Option<Upstream>,
    follower: Follower<Point>,
    offering: Offering,
    offered: Offered,
    local: local::LocalState,
}

impl PeerState {
    fn send(&self, message: impl Into<Message>) {
        let _ = self.commands.send(Command::Send(message.into()));
    }
}

/// The core's state.
pub struct Core {
    settings: Arc<Settings>,
    options: Arc<Run>,
    clock: SlotClock,
    log: Arc<Log>,
    store: Arc<Store>,
    db: ChainDb,
    credentials: Option<Credentials>,
    mempool: Mempool,
    /// The conditions for transactions, with the tip and the epoch that they are for.
    outlook: Option<((Hash32, u64), Outlook)>,
    peers: BTreeMap<u32, PeerState>,
    /// Blocks that were asked for, and of whom.
    in_flight: HashMap<Hash32, u32>,
    /// The time since when something that fetching depends on has changed; None where nothing has.
    undecided: Option<Instant>,
    last_decision: Instant,
    /// A header that is announced before its block is validated.
    tentative: Option<Hash32>,
    /// The last such header whose block was refused.
    trap: Option<crate::chaindb::View>,
    last_slot: Option<u64>,
    dropped: HashSet<Hash32>,
}

impl Core {
    /// The state of a node without peers.
    pub fn new(
        settings: Arc<Settings>,
        options: Arc<Run>,
        log: Arc<Log>,
        store: Arc<Store>,
        db: ChainDb,
        credentials: Option<Credentials>,
    ) -> Self {
        let clock = SlotClock::new(&settings.network);
        Self {
            settings,
            options,
            clock,
            log,
            store,
            db,
            credentials,
            mempool: Mempool::default(),
            outlook: None,
            peers: BTreeMap::new(),
            in_flight: HashMap::new(),
            undecided: None,
            last_decision: Instant::now(),
            tentative: None,
            trap: None,
            last_slot: None,
            dropped: HashSet::new(),
        }
    }

    /// Sees to events until the node is to stop.
    ///
    /// # Errors
    /// The store can't be written, or a record of the ledger base can't be read.
    pub fn run(mut self, events: &Events) -> Result<(), NodeError> {
        // A slot that had begun before the node was ready isn't checked.
        self.last_slot = self.clock.slot_at(now_ns());
        loop {
            match events.next(|| self.wait()) {
                Some(Event::Stop) => return self.db.snapshot(),
                Some(event) => self.event(event)?,
                None => {}
            }
            self.slot()?;
            self.look_again();
            self.decide();
            self.db.sound()?;
        }
    }

    /// Returns the time without anything to do but for events.
    fn wait(&self) -> Duration {
        let mut wait = self.clock.until_after(self.last_slot);
        if let Some(since) = self.undecided {
            wait = wait.min(self.decision_at(since).saturating_duration_since(Instant::now()));
        }
        // Headers of the near future are looked at again.
        if self.peers.values().any(|peer| peer.upstream.as_ref().is_some_and(Upstream::is_held)) {
            wait = wait.min(Duration::from_millis(20));
        }
        wait.min(Duration::from_secs(1))
    }

    fn event(&mut self, event: Event) -> Result<(), NodeError> {
        match event {
            Event::Connected(connected) => self.connected(connected),
            Event::Disconnected(peer) => {
                self.peers.remove(&peer);
                self.in_flight.retain(|_, of| *of != peer);
                self.note_change();
            }
            Event::Rtt(peer, rtt) => {
                if let Some(peer) = self.peers.get_mut(&peer) {
                    peer.rtt = rtt;
                }
            }
            Event::Message(peer, message) => {
                if let Err(why) = self.message(peer, message)? {
                    self.drop_peer(peer, why);
                }
            }
            Event::Stop => {}
        }
        Ok(())
    }

    fn connected(&mut self, connected: Connected) {
        let Connected { peer, commands, is_client, is_local } = connected;
        let state = PeerState {
            commands,
            is_local,
            rtt: Duration::MAX,
            upstream: is_client.then(Upstream::default),
            follower: Follower::new(Point::Origin),
            offering: Offering::default(),
            offered: Offered::default(),
            local: local::LocalState::default(),
        };
        if is_client {
            state.send(chain_sync::Message::Request(chain_sync::Request::FindIntersect(self.points())));
            state.send(tx_submission::Message::Init);
        }
        self.peers.insert(peer, state);
    }

    /// Deals with a message; the inner error is what the peer did wrong.
    fn message(&mut self, peer: u32, message: Message) -> Result<Result<(), String>, NodeError> {
        if !self.peers.contains_key(&peer) {
            return Ok(Ok(()));
        }
        Ok(match message {
            Message::ChainSync(chain_sync::Message::Request(request)) => self.follow(peer, request),
            Message::ChainSync(instruction) => self.upstream_message(peer, instruction),
            Message::BlockFetch(block_fetch::Message::Block(bytes)) => return self.block(peer, bytes),
            Message::BlockFetch(block_fetch::Message::NoBlocks | block_fetch::Message::BatchDone) => {
                self.batch_done(peer);
                Ok(())
            }
            Message::TxSubmission(tx_submission::Message::Request(request)) => self.offering_message(peer, request),
            Message::TxSubmission(offer) => return self.offered_message(peer, offer),
            Message::LocalTxSubmission(message) => return self.submission_message(peer, message),
            Message::LocalStateQuery(message) => return self.query_message(peer, message),
            Message::LocalTxMonitor(message) => return self.monitor_message(peer, message),
            Message::BlockFetch(_) | Message::KeepAlive(_) => Ok(()),
        })
    }

    /// The peers that match, in the order in which they came.
    fn peers_where(&self, is_wanted: impl Fn(&PeerState) -> bool) -> Vec<u32> {
        self.peers.iter().filter(|(_, peer)| is_wanted(peer)).map(|(number, _)| *number).collect()
    }

    /// Ends a connection.
    fn drop_peer(&mut self, peer: u32, why: String) {
        if let Some(peer) = self.peers.get(&peer) {
            let _ = peer.commands.send(Command::Close(why));
        }
    }

    /// Notes that a fetch decision is due.
    fn note_change(&mut self) {
        self.undecided.get_or_insert_with(Instant::now);
    }

    fn decision_at(&self, since: Instant) -> Instant {
        (self.last_decision + DECISION_EVERY).max(since + self.options.delay(crate::options::Stage::Fetch))
    }

    fn tip(&self) -> Option<Tip> {
        self.db.tip()
    }

    fn tip_slot(&self) -> u64 {
        self.tip().map_or(0, |tip| slot_of(&tip.point))
    }

    /// Points of the selected chain, ever further apart, for others to find the intersection.
    fn points(&self) -> Vec<Point> {
        let chain = self.db.chain();
        let mut points = Vec::new();
        let (mut back, mut step) = (0, 1);
        while let Some(hash) = chain.len().checked_sub(1 + back).and_then(|place| chain.get(place)) {
            points.extend(self.db.point(hash));
            back += step;
            step *= 2;
        }
        points.push(self.db.root_tip().map_or(Point::Origin, |tip| tip.point));
        points.dedup();
        points
    }

    /// Runs something with the mempool and the state that its transactions are checked against; None where the ledger isn't known.
    ///
    /// # Errors
    /// A record of the ledger base couldn't be read: what the mempool decided counts for nothing.
    fn with_mempool<T>(&mut self, run: impl FnOnce(&mut Mempool, &Rules<'_>, u64) -> T) -> Result<Option<T>, NodeError> {
        let slot = self.clock.slot_at(now_ns()).unwrap_or(0).max(self.tip_slot() + 1);
        let key = (self.db.tip_hash(), slot / self.db.genesis().shelley.epoch_slots);
        if self.outlook.as_ref().is_none_or(|(known, _)| *known != key) {
            self.outlook = self.db.outlook(&key.0, slot).map(|outlook| (key, outlook));
        }
        let (Some((_, outlook)), Some(stake)) = (&self.outlook, self.db.ledger().stake()) else { return Ok(None) };
        let environment = Environment { slot, network: Some(self.settings.network), parameters: outlook.parameters.as_deref() };
        let accounts = outlook.accounts.as_ref();
        let rules = Rules { stake, accounts, environment, with_scripts: !self.options.no_scripts };
        let done = run(&mut self.mempool, &rules, outlook.max_body_bytes);
        self.db.sound()?;
        Ok(Some(done))
    }
}
