//! The discrete-event part: blocks forged, announced, fetched and adopted.
//!
//! Events lie in a heap by time, then by the order in which they were made. What hosts log is kept as records by host; what
//! happens every slot whatever the blocks do is not here but in the narrator.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::draws::{Draws, Purpose, Sampler, threshold};
use crate::event::Block;
use crate::mempool::{Mempool, MempoolModel, Reply};
use crate::profile::{Fault, Profile, Stage};
use crate::tcp::{TcpModel, Window};
use crate::topology::Topology;
use crate::truth::{AdoptedBy, ForgingTimes, NEVER, Observation, Truth};

/// After the rising edge of a header sent, its falling edge.
const SEND_NS: u64 = 35_000;
/// Between the headers of one catch-up.
const HEADER_SPACING_NS: u64 = 50_000;
/// From the chain's adoption of a forged block to the forge loop's word of it.
const ADOPTION_TOLD_NS: u64 = 40_000;
/// From a new tip to the mempool being rid of its transactions.
const MEMPOOL_SYNC_NS: u64 = 5_500_000;

/// A line that a host logs, by true time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Record {
    Started { slot: u64 },
    BlockContext { slot: u64, tip: u32 },
    LedgerState { slot: u64 },
    LedgerView { slot: u64 },
    Leader { slot: u64 },
    Ticked { slot: u64, tip: u32 },
    Snapshot { slot: u64, tip: u32 },
    Forged { block: u32 },
    SelfAdopted { block: u32 },
    Noticed { peer: u32, block: u32 },
    Requested { peer: u32, head: u32, length: u32 },
    Fetched { peer: u32, block: u32 },
    HeaderSent { peer: u32, block: u32, tip: u32, rising: bool },
    RolledBack { peer: u32, to: u32, tip: u32 },
    Sending { peer: u32, block: u32 },
    Extended { block: u32 },
    Forked { block: u32 },
    TxsRemoved { first: u32, count: u32, left: u32 },
}

#[derive(Clone, Copy, Debug)]
enum Happening {
    Forge { host: u32, life: u32, slot: u64, started_ns: u64 },
    Snapshot { host: u32, life: u32, slot: u64, parent: u32, forged_ns: u64, times: u32 },
    Forged { host: u32, life: u32, slot: u64, parent: u32, txs: u32, times: u32 },
    Announce { host: u32, life: u32, block: u32 },
    Header { link: u32, life: u32, block: u32 },
    Decide { host: u32, life: u32 },
    Serve { link: u32, life: u32 },
    Body { link: u32, life: u32, block: u32 },
    Process { host: u32, life: u32, block: u32 },
    Adopt { host: u32, life: u32, block: u32, announced: bool },
    FaultStarts { fault: u32 },
    FaultEnds { fault: u32 },
    Connect { link: u32, life: u32 },
}

#[derive(Debug)]
struct Queued {
    at_ns: u64,
    order: u64,
    happening: Happening,
}

impl PartialEq for Queued {
    fn eq(&self, other: &Self) -> bool {
        (self.at_ns, self.order) == (other.at_ns, other.order)
    }
}

impl Eq for Queued {}

impl PartialOrd for Queued {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Queued {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at_ns, self.order).cmp(&(other.at_ns, other.order))
    }
}

/// A set of block indices.
#[derive(Clone, Debug, Default)]
struct BlockSet(Vec<u64>);

impl BlockSet {
    fn has(&self, block: u32) -> bool {
        self.0.get(block as usize / 64).is_some_and(|word| word >> (block % 64) & 1 == 1)
    }

    fn add(&mut self, block: u32) {
        let word = block as usize / 64;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (block % 64);
    }
}

struct LinkState {
    producer: u32,
    follower: u32,
    latency_ns: u64,
    /// Reasons for which it is down.
    cuts: u32,
    connected: bool,
    life: u32,
    window: Window,
    /// The last header that the producer sent.
    told: u32,
    header_ns: u64,
    /// The tip of the producer's chain as the follower knows it.
    candidate: u32,
    /// Blocks asked for and not yet there, oldest first.
    fetching: Vec<u32>,
    stream_free_ns: u64,
    body_ns: u64,
}

struct HostState {
    life: u32,
    /// Reasons for which it is down.
    downs: u32,
    ahead_ns: i64,
    speed: f64,
    slow: f64,
    tip: u32,
    /// Bodies it has.
    has: BlockSet,
    /// Bodies it has with all their ancestors, processed.
    connected: BlockSet,
    orphans: Vec<u32>,
    /// When its chain selection is free.
    free_ns: u64,
    /// Whether an iteration of its block-fetch logic is due, how many there were, and when the next one may be.
    deciding: bool,
    decisions: u64,
    decision_ns: u64,
    producers: Vec<u32>,
    followers: Vec<u32>,
    mempool: Mempool,
    next_slot: u64,
    threshold: u64,
}

/// The stages as samplers.
struct Stages {
    started: Sampler,
    block_context: Sampler,
    ledger_state: Sampler,
    ledger_view: Sampler,
    leadership: Sampler,
    ledger_tick: Sampler,
    mempool_snapshot: Sampler,
    forge: Sampler,
    forged_to_announced: Sampler,
    self_adopt: Sampler,
    header_notice: Sampler,
    notice_to_fetch: Sampler,
    serve: Sampler,
    receive: Sampler,
    fetched_to_announced: Sampler,
    adopt: Sampler,
    jitter: Sampler,
}

impl Stages {
    fn new(profile: &Profile) -> Self {
        let sampler = |stage: &Stage| Sampler::new(stage.mean, stage.sigma);
        let (forging, peer) = (&profile.forging, &profile.peer);
        Self {
            started: sampler(&forging.started),
            block_context: sampler(&forging.block_context),
            ledger_state: sampler(&forging.ledger_state),
            ledger_view: sampler(&forging.ledger_view),
            leadership: sampler(&forging.leadership),
            ledger_tick: sampler(&forging.ledger_tick),
            mempool_snapshot: sampler(&forging.mempool_snapshot),
            forge: sampler(&forging.forge),
            forged_to_announced: sampler(&forging.forged_to_announced),
            self_adopt: sampler(&forging.self_adopt),
            header_notice: sampler(&peer.header_notice),
            notice_to_fetch: sampler(&peer.notice_to_fetch),
            serve: sampler(&peer.serve),
            receive: sampler(&peer.receive),
            fetched_to_announced: sampler(&peer.fetched_to_announced),
            adopt: sampler(&peer.adopt),
            jitter: Sampler::exponential(profile.network.jitter),
        }
    }
}

/// What one host has logged and not yet told.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    pub(crate) records: Vec<(u64, Record)>,
    pub(crate) replies: Vec<Reply>,
    /// Slots in which it leads, in order.
    pub(crate) led: Vec<u64>,
}

pub(crate) struct Engine<'p> {
    profile: &'p Profile,
    draws: Draws,
    stages: Stages,
    tcp: TcpModel,
    mempools: MempoolModel,
    slot_ns: u64,
    end_ns: u64,
    hosts: Vec<HostState>,
    links: Vec<LinkState>,
    queue: BinaryHeap<Reverse<Queued>>,
    order: u64,
    now_ns: u64,
    times: Vec<ForgingTimes>,
    warm: u64,
    pub(crate) journals: Vec<Journal>,
    pub(crate) truth: Truth,
}

/// Whether a host's forge loop misses a slot.
pub(crate) fn misses_slot(draws: &Draws, threshold: u64, host: u32, slot: u64) -> bool {
    threshold > 0 && draws.bits(Purpose::Slot, u64::from(host) + 1, slot) < threshold
}

impl<'p> Engine<'p> {
    pub(crate) fn new(profile: &'p Profile, topology: &Topology, seed: u64) -> Self {
        let draws = Draws::new(seed);
        let slot_ns = profile.genesis.slot_length.0;
        let mempools = MempoolModel::new(&profile.workload);
        let tcp = TcpModel::new(&profile.tcp, profile.network.bandwidth.0, profile.network.loss);
        let pools = profile.network.pools as usize;
        let stake = |host: usize| -> f64 {
            if host >= pools {
                return 0.0;
            }
            match profile.network.stake.get(host) {
                Some(own) => own / profile.network.stake.iter().sum::<f64>(),
                None => 1.0 / pools as f64,
            }
        };
        let spread = Sampler::new(crate::quantity::Span(1_000_000), profile.peer.host_spread);
        let hosts: Vec<HostState> = topology
            .hosts
            .iter()
            .enumerate()
            .map(|(n, host)| HostState {
                life: 0,
                downs: 0,
                ahead_ns: host.clock_ahead_ns,
                speed: spread.at(draws.bits(Purpose::HostSpeed, n as u64, 0)) as f64 / 1e6,
                slow: 1.0,
                tip: 0,
                has: BlockSet(vec![1]),
                connected: BlockSet(vec![1]),
                orphans: Vec::new(),
                free_ns: 0,
                deciding: false,
                decisions: 0,
                decision_ns: 0,
                producers: Vec::new(),
                followers: Vec::new(),
                mempool: mempools.empty(draws.bits(Purpose::MempoolOffset, n as u64, 0)),
                next_slot: 0,
                threshold: threshold(1.0 - libm::pow(1.0 - profile.genesis.active_slot_coefficient, stake(n))),
            })
            .collect();
        let links: Vec<LinkState> = topology
            .links
            .iter()
            .map(|link| LinkState {
                producer: link.producer,
                follower: link.follower,
                latency_ns: link.latency_ns,
                cuts: 0,
                connected: true,
                life: 0,
                window: tcp.cold(),
                told: 0,
                header_ns: 0,
                candidate: 0,
                fetching: Vec::new(),
                stream_free_ns: 0,
                body_ns: 0,
            })
            .collect();
        let count = hosts.len();
        let genesis =
            Block { index: 0, parent: 0, slot: 0, height: 0, forger: u32::MAX, vrf: 0, size_bytes: 0, txs: 0, hash: [0; 32], forged_ns: 0 };
        let mut engine = Self {
            profile,
            draws,
            stages: Stages::new(profile),
            tcp,
            mempools,
            slot_ns,
            end_ns: profile.run.slots * slot_ns,
            hosts,
            links,
            queue: BinaryHeap::new(),
            order: 0,
            now_ns: 0,
            times: Vec::new(),
            warm: threshold(profile.tcp.warm_share),
            journals: (0..count).map(|_| Journal::default()).collect(),
            truth: Truth {
                blocks: vec![genesis],
                forging: vec![ForgingTimes::default()],
                observations: vec![Vec::new(); count],
                tips: vec![0; count],
                clock_ahead_ns: topology.hosts.iter().map(|host| host.clock_ahead_ns).collect(),
                slots: profile.run.slots,
            },
        };
        for n in 0..engine.links.len() {
            let (producer, follower) = (engine.links[n].producer as usize, engine.links[n].follower as usize);
            engine.hosts[producer].followers.push(n as u32);
            engine.hosts[follower].producers.push(n as u32);
        }
        for host in &mut engine.hosts {
            host.producers.sort_by_key(|link| (engine.links[*link as usize].latency_ns, *link));
        }
        for (n, fault) in profile.fault.iter().enumerate() {
            if let Some((from, until)) = fault.slots() {
                engine.at(from * slot_ns, Happening::FaultStarts { fault: n as u32 });
                engine.at(until * slot_ns, Happening::FaultEnds { fault: n as u32 });
            }
        }
        engine
    }

    fn at(&mut self, at_ns: u64, happening: Happening) {
        self.order += 1;
        self.queue.push(Reverse(Queued { at_ns, order: self.order, happening }));
    }

    /// Lets everything happen that happens before `until_ns`, true time.
    pub(crate) fn run_until(&mut self, until_ns: u64) {
        self.schedule_leaders(until_ns);
        while let Some(Reverse(next)) = self.queue.peek() {
            if next.at_ns >= until_ns {
                break;
            }
            if let Some(Reverse(Queued { at_ns, happening, .. })) = self.queue.pop() {
                self.now_ns = at_ns;
                self.happen(happening);
            }
        }
        self.now_ns = until_ns;
        for host in 0..self.hosts.len() {
            self.fill_mempool(host, until_ns);
        }
    }

    /// Drops what hosts logged.
    pub(crate) fn forget_journals(&mut self) {
        for journal in &mut self.journals {
            journal.records.clear();
            journal.replies.clear();
            journal.led.clear();
        }
    }

    /// The tips, once all is done.
    pub(crate) fn into_truth(mut self) -> Truth {
        self.truth.tips = self.hosts.iter().map(|host| host.tip).collect();
        self.truth
    }

    /// When a host's slot starts, true time; `None` before true time 0.
    fn slot_starts(&self, host: usize, slot: u64) -> u64 {
        (slot * self.slot_ns).saturating_add_signed(-self.hosts[host].ahead_ns)
    }

    fn schedule_leaders(&mut self, until_ns: u64) {
        let missed = threshold(self.profile.forging.missed_slots);
        for host in 0..self.hosts.len() {
            while self.hosts[host].next_slot < self.profile.run.slots {
                let slot = self.hosts[host].next_slot;
                let starts = self.slot_starts(host, slot);
                if starts >= until_ns {
                    break;
                }
                self.hosts[host].next_slot += 1;
                let leads = self.draws.bits(Purpose::Leader, host as u64, slot) < self.hosts[host].threshold;
                if !leads || misses_slot(&self.draws, missed, host as u32, slot) || self.profile.is_down(host as u32, slot) {
                    continue;
                }
                let life = self.life_at(host as u32, slot);
                let started_ns = starts + self.stage_now(|stages| &stages.started, Purpose::Started, host, slot);
                let context_ns = started_ns + self.stage_now(|stages| &stages.block_context, Purpose::BlockContext, host, slot);
                self.journals[host].led.push(slot);
                self.record(host, started_ns, Record::Started { slot });
                self.at(context_ns, Happening::Forge { host: host as u32, life, slot, started_ns });
            }
        }
    }

    /// How often a host has gone down and come back before a slot.
    fn life_at(&self, host: u32, slot: u64) -> u32 {
        let ended = |fault: &&Fault| matches!(fault, Fault::HostDown { host: other, from, .. } if *other == host && *from <= slot);
        self.profile.fault.iter().filter(ended).count() as u32
    }

    /// A stage of a host, as slow as the host is.
    fn stage_now(&self, stage: impl Fn(&Stages) -> &Sampler, purpose: Purpose, host: usize, key: u64) -> u64 {
        let drawn = stage(&self.stages).at(self.draws.bits(purpose, host as u64, key));
        let factor = self.hosts[host].speed * self.hosts[host].slow;
        if factor == 1.0 { drawn } else { (drawn as f64 * factor) as u64 }
    }

    fn record(&mut self, host: usize, at_ns: u64, record: Record) {
        if at_ns < self.end_ns.saturating_add_signed(-self.hosts[host].ahead_ns) {
            self.journals[host].records.push((at_ns, record));
        }
    }

    /// The observation of a block by a host, to be told a moment; `None` where the run is over by then.
    fn observe(&mut self, host: usize, block: u32, at_ns: u64, moment: impl Fn(&mut Observation) -> &mut u64) -> bool {
        if at_ns >= self.end_ns.saturating_add_signed(-self.hosts[host].ahead_ns) {
            return false;
        }
        let place = moment(self.observation(host, block));
        let first = *place == NEVER;
        *place = (*place).min(at_ns);
        first
    }

    fn observation(&mut self, host: usize, block: u32) -> &mut Observation {
        let list = &mut self.truth.observations[host];
        if list.len() <= block as usize {
            list.resize(block as usize + 1, Observation::default());
        }
        &mut list[block as usize]
    }

    fn block(&self, index: u32) -> &Block {
        &self.truth.blocks[index as usize]
    }

    /// Whether a chain ending in `new` is preferred to one ending in `old`.
    fn preferred(&self, new: u32, old: u32) -> bool {
        let (a, b) = (self.block(new), self.block(old));
        if a.height != b.height {
            return a.height > b.height;
        }
        new != old && a.slot.abs_diff(b.slot) <= self.profile.peer.vrf_tie_slots && a.vrf < b.vrf
    }

    /// The newest block that is on both chains.
    fn common(&self, mut a: u32, mut b: u32) -> u32 {
        while a != b {
            if self.block(a).height >= self.block(b).height {
                a = self.block(a).parent;
            } else {
                b = self.block(b).parent;
            }
        }
        a
    }

    fn fill_mempool(&mut self, host: usize, until_ns: u64) {
        if self.hosts[host].downs == 0 {
            let replies = &mut self.journals[host].replies;
            self.mempools.advance(&mut self.hosts[host].mempool, until_ns, |reply| replies.push(reply));
        }
    }

    fn first_of_epoch(&self, block_slot: u64, parent: u32) -> bool {
        let epoch = |slot: u64| slot / self.profile.genesis.epoch_slots;
        parent != 0 && epoch(block_slot) > epoch(self.block(parent).slot)
    }

    fn host_alive(&self, host: u32, life: u32) -> bool {
        let state = &self.hosts[host as usize];
        state.downs == 0 && state.life == life
    }

    fn link_alive(&self, link: u32, life: u32) -> bool {
        let state = &self.links[link as usize];
        state.connected && state.life == life
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Forge { host, life, slot, started_ns } if self.host_alive(host, life) => self.forge(host as usize, slot, started_ns),
            Happening::Snapshot { host, life, slot, parent, forged_ns, times } if self.host_alive(host, life) => {
                self.fill_mempool(host as usize, self.now_ns);
                let txs = self.mempools.for_block(&self.hosts[host as usize].mempool);
                self.at(forged_ns, Happening::Forged { host, life, slot, parent, txs, times });
            }
            Happening::Forged { host, life, slot, parent, txs, times } if self.host_alive(host, life) => {
                self.forged(host, slot, parent, txs, times);
            }
            Happening::Announce { host, life, block } if self.host_alive(host, life) => self.announce(host as usize, block),
            Happening::Header { link, life, block } if self.link_alive(link, life) => self.header(link, block),
            Happening::Decide { host, life } if self.host_alive(host, life) => self.decide(host as usize),
            Happening::Serve { link, life } if self.link_alive(link, life) => self.serve(link),
            Happening::Body { link, life, block } if self.link_alive(link, life) => self.body(link, block),
            Happening::Process { host, life, block } if self.host_alive(host, life) => self.process(host as usize, block),
            Happening::Adopt { host, life, block, announced } if self.host_alive(host, life) => self.adopt(host as usize, block, announced),
            Happening::FaultStarts { fault } => self.fault(fault as usize, true),
            Happening::FaultEnds { fault } => self.fault(fault as usize, false),
            Happening::Connect { link, life } => self.connect(link, life),
            _ => {}
        }
    }

    /// The block context is there: the block to build on is decided.
    fn forge(&mut self, host: usize, slot: u64, started_ns: u64) {
        let mut parent = self.hosts[host].tip;
        while parent != 0 && self.block(parent).slot >= slot {
            parent = self.block(parent).parent;
        }
        let context_ns = self.now_ns;
        let mut tick = self.stage_now(|stages| &stages.ledger_tick, Purpose::LedgerTick, host, slot);
        if self.first_of_epoch(slot, parent) {
            tick += self.profile.forging.epoch_boundary.0;
        }
        let state_ns = context_ns + self.stage_now(|stages| &stages.ledger_state, Purpose::LedgerState, host, slot);
        let view_ns = state_ns + self.stage_now(|stages| &stages.ledger_view, Purpose::LedgerView, host, slot);
        let leader_ns = view_ns + self.stage_now(|stages| &stages.leadership, Purpose::Leadership, host, slot);
        let tick_ns = leader_ns + tick;
        let snapshot_ns = tick_ns + self.stage_now(|stages| &stages.mempool_snapshot, Purpose::MempoolSnapshot, host, slot);
        let forged_ns = snapshot_ns + self.stage_now(|stages| &stages.forge, Purpose::Forge, host, slot);
        self.record(host, context_ns, Record::BlockContext { slot, tip: parent });
        self.record(host, state_ns, Record::LedgerState { slot });
        self.record(host, view_ns, Record::LedgerView { slot });
        self.record(host, leader_ns, Record::Leader { slot });
        self.record(host, tick_ns, Record::Ticked { slot, tip: parent });
        self.record(host, snapshot_ns, Record::Snapshot { slot, tip: parent });
        let times = self.times.len() as u32;
        self.times.push(ForgingTimes {
            started_ns,
            block_context_ns: context_ns,
            ledger_state_ns: state_ns,
            ledger_view_ns: view_ns,
            leadership_ns: leader_ns,
            ledger_tick_ns: tick_ns,
            mempool_snapshot_ns: snapshot_ns,
        });
        let life = self.hosts[host].life;
        self.at(snapshot_ns, Happening::Snapshot { host: host as u32, life, slot, parent, forged_ns, times });
    }

    fn forged(&mut self, host: u32, slot: u64, parent: u32, txs: u32, times: u32) {
        let index = self.truth.blocks.len() as u32;
        let mut hash = [0; 32];
        for (n, word) in hash.chunks_exact_mut(8).enumerate() {
            word.copy_from_slice(&self.draws.bits(Purpose::Hash, slot << 16 | u64::from(host), n as u64).to_be_bytes());
        }
        let workload = &self.profile.workload;
        let size_bytes = if txs == self.mempools.block_txs { workload.block_size.0 } else { u64::from(txs) * workload.tx_size.0 };
        let block = Block {
            index,
            parent,
            slot,
            height: self.block(parent).height + 1,
            forger: host,
            vrf: self.draws.bits(Purpose::Vrf, slot, u64::from(host)),
            size_bytes: size_bytes.max(4),
            txs,
            hash,
            forged_ns: self.now_ns,
        };
        self.truth.blocks.push(block);
        self.truth.forging.push(self.times[times as usize]);
        let place = host as usize;
        self.record(place, self.now_ns, Record::Forged { block: index });
        self.hosts[place].has.add(index);
        let life = self.hosts[place].life;
        let starts = self.now_ns.max(self.hosts[place].free_ns);
        let adopted = starts + self.stage_now(|stages| &stages.self_adopt, Purpose::SelfAdopt, place, slot);
        let announced = self.profile.peer.pipelining && self.hosts[place].tip == parent;
        if announced {
            let at = starts + self.stage_now(|stages| &stages.forged_to_announced, Purpose::ForgedToAnnounced, place, slot);
            self.at(at, Happening::Announce { host, life, block: index });
        }
        self.hosts[place].free_ns = adopted;
        self.at(adopted, Happening::Adopt { host, life, block: index, announced });
    }

    fn announce(&mut self, host: usize, block: u32) {
        let tip = self.hosts[host].tip;
        if block != tip && self.block(block).parent != tip {
            return;
        }
        for n in 0..self.hosts[host].followers.len() {
            let link = self.hosts[host].followers[n];
            if self.links[link as usize].connected {
                self.send_headers(link, block);
            }
        }
    }

    /// Sends a follower the headers from what it was told last to `block`.
    fn send_headers(&mut self, link: u32, block: u32) {
        let (producer, follower, told, latency_ns, life) = {
            let state = &self.links[link as usize];
            (state.producer as usize, state.follower, state.told, state.latency_ns, state.life)
        };
        if told == block {
            return;
        }
        let shared = self.common(told, block);
        let tip = self.hosts[producer].tip;
        if shared != told {
            self.record(producer, self.now_ns, Record::RolledBack { peer: follower, to: shared, tip });
        }
        let mut path = Vec::new();
        let mut at = block;
        while at != shared {
            path.push(at);
            at = self.block(at).parent;
        }
        self.links[link as usize].told = block;
        for (n, header) in path.into_iter().rev().enumerate() {
            let sent_ns = self.now_ns + n as u64 * HEADER_SPACING_NS;
            self.record(producer, sent_ns, Record::HeaderSent { peer: follower, block: header, tip, rising: true });
            self.record(producer, sent_ns + SEND_NS, Record::HeaderSent { peer: follower, block: header, tip, rising: false });
            self.observe(producer, header, sent_ns, |seen| &mut seen.announced_ns);
            let key = u64::from(link) << 32 | u64::from(header);
            let jitter = self.stages.jitter.at(self.draws.bits(Purpose::HeaderJitter, key, 0));
            let notice = self.stage_now(|stages| &stages.header_notice, Purpose::HeaderNotice, follower as usize, key);
            let state = &mut self.links[link as usize];
            let arrives = (sent_ns + latency_ns + jitter + notice).max(state.header_ns);
            state.header_ns = arrives;
            self.at(arrives, Happening::Header { link, life, block: header });
        }
    }

    fn header(&mut self, link: u32, block: u32) {
        let (producer, follower) = {
            let state = &mut self.links[link as usize];
            state.candidate = block;
            (state.producer, state.follower as usize)
        };
        self.record(follower, self.now_ns, Record::Noticed { peer: producer, block });
        self.observe(follower, block, self.now_ns, |seen| &mut seen.noticed_ns);
        self.reconsider(follower);
    }

    /// The block-fetch logic is to look again: at once, or when its interval is over.
    fn reconsider(&mut self, host: usize) {
        let state = &mut self.hosts[host];
        if state.deciding || state.downs > 0 {
            return;
        }
        state.deciding = true;
        state.decisions += 1;
        let (key, life, earliest) = (state.decisions, state.life, state.decision_ns);
        let decided = self.now_ns + self.stage_now(|stages| &stages.notice_to_fetch, Purpose::NoticeToFetch, host, key);
        self.at(decided.max(earliest), Happening::Decide { host: host as u32, life });
    }

    /// One iteration of the block-fetch logic: peers are taken in the order of their distance.
    fn decide(&mut self, host: usize) {
        self.hosts[host].deciding = false;
        self.hosts[host].decision_ns = self.now_ns + self.profile.peer.decision_interval.0;
        for n in 0..self.hosts[host].producers.len() {
            self.request(self.hosts[host].producers[n]);
        }
    }

    /// Whether a link is free and its producer's chain is better than the follower's and not all there.
    fn wants(&self, link: u32) -> bool {
        let state = &self.links[link as usize];
        let host = &self.hosts[state.follower as usize];
        state.connected && state.fetching.is_empty() && !host.has.has(state.candidate) && self.preferred(state.candidate, host.tip)
    }

    /// Asks a link's producer for what is missing and not asked of enough others.
    fn request(&mut self, link: u32) {
        if !self.wants(link) {
            return;
        }
        let (producer, follower, latency_ns, life, candidate) = {
            let state = &self.links[link as usize];
            (state.producer, state.follower as usize, state.latency_ns, state.life, state.candidate)
        };
        let mut missing = Vec::new();
        let mut at = candidate;
        while !self.hosts[follower].has.has(at) {
            missing.push(at);
            at = self.block(at).parent;
        }
        missing.reverse();
        let in_flight = |block: u32| {
            let links = self.hosts[follower].producers.iter();
            links.filter(|other| self.links[**other as usize].fetching.contains(&block)).count() as u32
        };
        let free = |block: &u32| in_flight(*block) < self.profile.peer.concurrency;
        let range: Vec<u32> =
            missing.iter().copied().skip_while(|block| !free(block)).take_while(free).take(self.profile.peer.max_range as usize).collect();
        let Some(head) = range.last().copied() else {
            return;
        };
        let length = range.len() as u32;
        self.links[link as usize].fetching = range;
        self.record(follower, self.now_ns, Record::Requested { peer: producer, head, length });
        if self.observe(follower, head, self.now_ns, |seen| &mut seen.requested_ns) || length > 1 {
            let seen = self.observation(follower, head);
            seen.range = seen.range.max(length);
        }
        let key = u64::from(link) << 32 | u64::from(head);
        let jitter = self.stages.jitter.at(self.draws.bits(Purpose::RequestJitter, key, 0));
        let serve = self.stage_now(|stages| &stages.serve, Purpose::Serve, producer as usize, key);
        self.at(self.now_ns + latency_ns + jitter + serve, Happening::Serve { link, life });
    }

    fn serve(&mut self, link: u32) {
        let state = &self.links[link as usize];
        let (producer, follower, latency_ns, life) = (state.producer as usize, state.follower, state.latency_ns, state.life);
        let blocks = state.fetching.clone();
        let sizes: Vec<u64> = blocks.iter().map(|block| self.block(*block).size_bytes).collect();
        let starts = self.now_ns.max(state.stream_free_ns);
        let key = u64::from(link) << 32 | u64::from(blocks.last().copied().unwrap_or_default());
        let warm = self.draws.bits(Purpose::Warmth, key, 0) < self.warm;
        let (draws, loss) = (self.draws, self.profile.network.loss);
        let mut window = state.window;
        let times = self.tcp.send(&mut window, starts, latency_ns, &sizes, warm, |round, segments| {
            let any = 1.0 - libm::pow(1.0 - loss, segments);
            draws.bits(Purpose::Loss, key, round) < threshold(any)
        });
        let state = &mut self.links[link as usize];
        state.window = window;
        for ((block, size), (first_ns, arrival_ns)) in blocks.iter().zip(&sizes).zip(times) {
            self.record(producer, first_ns, Record::Sending { peer: follower, block: *block });
            self.observe(producer, *block, first_ns, |seen| &mut seen.sending_ns);
            let key = u64::from(link) << 32 | u64::from(*block);
            let drawn = self.stage_now(|stages| &stages.receive, Purpose::Receive, follower as usize, key) as f64;
            let (fixed, by_size) =
                (self.profile.peer.receive.mean.0 as f64, self.profile.peer.receive_per_kb.0 as f64 * *size as f64 / 1e3);
            let receive = if fixed > 0.0 { (drawn * (1.0 + by_size / fixed)) as u64 } else { by_size as u64 };
            let jitter = self.stages.jitter.at(self.draws.bits(Purpose::BodyJitter, key, 0));
            let state = &mut self.links[link as usize];
            let there = (arrival_ns + jitter + receive).max(state.body_ns);
            state.body_ns = there;
            state.stream_free_ns = first_ns;
            self.at(there, Happening::Body { link, life, block: *block });
        }
    }

    fn body(&mut self, link: u32, block: u32) {
        let (producer, follower) = {
            let state = &mut self.links[link as usize];
            state.fetching.retain(|other| *other != block);
            (state.producer, state.follower as usize)
        };
        self.record(follower, self.now_ns, Record::Fetched { peer: producer, block });
        self.observe(follower, block, self.now_ns, |seen| &mut seen.fetched_ns);
        if !self.hosts[follower].has.has(block) {
            self.hosts[follower].has.add(block);
            let starts = self.now_ns.max(self.hosts[follower].free_ns);
            let mut takes = self.stage_now(|stages| &stages.adopt, Purpose::Adopt, follower, u64::from(block));
            if self.first_of_epoch(self.block(block).slot, self.block(block).parent) {
                takes += self.profile.forging.epoch_boundary.0;
            }
            self.hosts[follower].free_ns = starts + takes;
            let life = self.hosts[follower].life;
            self.at(starts, Happening::Process { host: follower as u32, life, block });
        }
        self.reconsider(follower);
    }

    /// Chain selection takes up a block.
    fn process(&mut self, host: usize, block: u32) {
        let announced = self.profile.peer.pipelining && self.block(block).parent == self.hosts[host].tip;
        let life = self.hosts[host].life;
        if announced {
            let at =
                self.now_ns + self.stage_now(|stages| &stages.fetched_to_announced, Purpose::FetchedToAnnounced, host, u64::from(block));
            self.at(at, Happening::Announce { host: host as u32, life, block });
        }
        let mut takes = self.stage_now(|stages| &stages.adopt, Purpose::Adopt, host, u64::from(block));
        if self.first_of_epoch(self.block(block).slot, self.block(block).parent) {
            takes += self.profile.forging.epoch_boundary.0;
        }
        self.at(self.now_ns + takes, Happening::Adopt { host: host as u32, life, block, announced });
    }

    fn adopt(&mut self, host: usize, block: u32, announced: bool) {
        if !self.hosts[host].connected.has(self.block(block).parent) {
            self.hosts[host].orphans.push(block);
            return;
        }
        self.hosts[host].connected.add(block);
        let mut best = block;
        loop {
            let ready = self.hosts[host].orphans.iter().position(|orphan| self.hosts[host].connected.has(self.block(*orphan).parent));
            let Some(ready) = ready else { break };
            let orphan = self.hosts[host].orphans.swap_remove(ready);
            self.hosts[host].connected.add(orphan);
            if self.preferred(orphan, best) {
                best = orphan;
            }
        }
        let old = self.hosts[host].tip;
        if !self.preferred(best, old) {
            return;
        }
        let now_ns = self.now_ns;
        let shared = self.common(old, best);
        self.hosts[host].tip = best;
        let (by, record) = if shared == old {
            (AdoptedBy::Extension, Record::Extended { block: best })
        } else {
            (AdoptedBy::Fork, Record::Forked { block: best })
        };
        self.record(host, now_ns, record);
        self.fill_mempool(host, now_ns);
        let mut at = old;
        while at != shared {
            let txs = self.block(at).txs;
            self.mempools.give_back(&mut self.hosts[host].mempool, txs);
            at = self.block(at).parent;
        }
        let (mut at, mut removed) = (best, 0);
        while at != shared {
            let by = if at == best { by } else { AdoptedBy::Carried };
            if self.observe(host, at, now_ns, |seen| &mut seen.adopted_ns) {
                self.observation(host, at).adopted_by = by;
            }
            let txs = self.block(at).txs;
            removed += self.mempools.remove(&mut self.hosts[host].mempool, txs, now_ns);
            at = self.block(at).parent;
        }
        if self.block(best).forger == host as u32 && best == block {
            self.record(host, now_ns + ADOPTION_TOLD_NS, Record::SelfAdopted { block: best });
        }
        if removed > 0 {
            let mempool = &self.hosts[host].mempool;
            let first = mempool.next.saturating_sub(u64::from(mempool.txs) + u64::from(removed)) as u32;
            let left = mempool.txs;
            self.record(host, now_ns + MEMPOOL_SYNC_NS, Record::TxsRemoved { first, count: removed, left });
        }
        // A header goes ahead of its block's adoption only while the block extends the chain: after a switch it is still to be told.
        if !(announced && best == block && shared == old) {
            let life = self.hosts[host].life;
            let at = now_ns + self.stage_now(|stages| &stages.fetched_to_announced, Purpose::FetchedToAnnounced, host, u64::from(best));
            self.at(at, Happening::Announce { host: host as u32, life, block: best });
        }
        self.reconsider(host);
    }

    fn fault(&mut self, fault: usize, starts: bool) {
        match &self.profile.fault[fault] {
            Fault::HostDown { host, .. } => {
                let host = *host as usize;
                let links: Vec<u32> = self.hosts[host].producers.iter().chain(&self.hosts[host].followers).copied().collect();
                if starts {
                    self.fill_mempool(host, self.now_ns);
                    let state = &mut self.hosts[host];
                    state.downs += 1;
                    state.life += 1;
                    state.has = state.connected.clone();
                    state.orphans.clear();
                    state.free_ns = 0;
                    state.deciding = false;
                } else {
                    self.hosts[host].downs -= 1;
                    self.mempools.restart(&mut self.hosts[host].mempool, self.now_ns);
                }
                for link in links {
                    self.cut(link, starts);
                }
            }
            Fault::HostSlow { host, factor, .. } => {
                let slow = &mut self.hosts[*host as usize].slow;
                *slow = if starts { *slow * factor } else { *slow / factor };
            }
            Fault::LinkCut { between: (a, b), .. } => {
                let between =
                    |link: &LinkState| (link.producer == *a && link.follower == *b) || (link.producer == *b && link.follower == *a);
                let links: Vec<u32> = (0..self.links.len()).filter(|n| between(&self.links[*n])).map(|n| n as u32).collect();
                for link in links {
                    self.cut(link, starts);
                }
            }
            Fault::Partition { hosts, .. } => {
                let across = |link: &LinkState| hosts.contains(&link.producer) != hosts.contains(&link.follower);
                let links: Vec<u32> = (0..self.links.len()).filter(|n| across(&self.links[*n])).map(|n| n as u32).collect();
                for link in links {
                    self.cut(link, starts);
                }
            }
            Fault::ClockSkew { .. } => {}
        }
    }

    /// Takes a link away for one more reason, or gives one reason back.
    fn cut(&mut self, link: u32, starts: bool) {
        let cold = self.tcp.cold();
        let state = &mut self.links[link as usize];
        if starts {
            state.cuts += 1;
            state.connected = false;
            state.life += 1;
            state.fetching.clear();
            state.window = cold;
            let follower = state.follower as usize;
            if self.hosts[follower].downs == 0 {
                self.reconsider(follower);
            }
        } else {
            state.cuts -= 1;
            if state.cuts == 0 {
                let life = state.life;
                self.at(self.now_ns + self.profile.network.reconnect.0, Happening::Connect { link, life });
            }
        }
    }

    /// A connection is made anew: chain-sync finds the intersection and goes on from there.
    fn connect(&mut self, link: u32, life: u32) {
        let state = &self.links[link as usize];
        if state.cuts > 0 || state.life != life {
            return;
        }
        let (own, theirs) = (self.hosts[state.producer as usize].tip, self.hosts[state.follower as usize].tip);
        let shared = self.common(own, theirs);
        let state = &mut self.links[link as usize];
        state.connected = true;
        state.told = shared;
        state.candidate = shared;
        state.header_ns = 0;
        state.body_ns = 0;
        state.stream_free_ns = 0;
        self.send_headers(link, own);
    }
}
