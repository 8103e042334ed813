//! The discrete-event part: blocks forged, announced, fetched and adopted.
//!
//! Events lie in a heap by time, then by the order in which they were made. What hosts log is kept by host; what
//! happens every slot whatever the blocks do is not here but in the narrator. What happens next is in this file; what it does is in
//! one a subject.

mod faults;
mod fetching;
mod forging;
mod selection;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::draws::{Draws, Purpose, Sampler, threshold};
use crate::event::{Block, Event};
use crate::mempool::{Mempool, MempoolModel, Reply};
use crate::profile::Profile;
use crate::stages::{Stages, slowed};
use crate::tcp::{TcpModel, Window};
use crate::topology::{Link, Topology};
use crate::truth::{Datum, ForgingTimes, NEVER, Observation, Truth};

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
    announced: u32,
    header_ns: u64,
    /// The tip of the producer's chain as it was announced to the follower.
    candidate: u32,
    /// Blocks asked for and not yet there, oldest first.
    fetching: Vec<u32>,
    stream_free_ns: u64,
    body_ns: u64,
}

impl LinkState {
    /// A connection over which nothing was sent yet.
    fn new(link: &Link, window: Window) -> Self {
        Self {
            producer: link.producer,
            follower: link.follower,
            latency_ns: link.latency_ns,
            cuts: 0,
            connected: true,
            life: 0,
            window,
            announced: 0,
            header_ns: 0,
            candidate: 0,
            fetching: Vec::new(),
            stream_free_ns: 0,
            body_ns: 0,
        }
    }
}

struct HostState {
    life: u32,
    /// Reasons for which it is down.
    downs: u32,
    ahead_ns: i64,
    speed: f64,
    tip: u32,
    /// Bodies it has.
    has: BlockSet,
    /// Bodies it has with all their ancestors, processed.
    connected: BlockSet,
    orphans: Vec<u32>,
    /// Time from which its chain selection is free.
    free_ns: u64,
    /// True where an iteration of its block-fetch logic is due; then how many there were, and when the next one may be.
    deciding: bool,
    decisions: u64,
    decision_ns: u64,
    producers: Vec<u32>,
    followers: Vec<u32>,
    mempool: Mempool,
    next_slot: u64,
    threshold: u64,
}

impl HostState {
    /// A host that is up and has genesis alone; it leads a slot where the draw is below `threshold`.
    fn new(ahead_ns: i64, speed: f64, mempool: Mempool, threshold: u64) -> Self {
        Self {
            life: 0,
            downs: 0,
            ahead_ns,
            speed,
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
            mempool,
            next_slot: 0,
            threshold,
        }
    }
}

/// The events of one host that are not yet handed on.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// Each with its true time.
    pub(crate) events: Vec<(u64, Event)>,
    pub(crate) replies: Vec<Reply>,
    /// Slots in which it leads, in order.
    pub(crate) led: Vec<u64>,
}

pub(crate) struct Engine<'p> {
    profile: &'p Profile,
    draws: Draws,
    stages: &'p Stages,
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

/// Returns whether a host's forge loop misses a slot.
pub(crate) fn misses_slot(draws: &Draws, threshold: u64, host: u32, slot: u64) -> bool {
    threshold > 0 && draws.bits(Purpose::Slot, u64::from(host) + 1, slot) < threshold
}

impl<'p> Engine<'p> {
    pub(crate) fn new(profile: &'p Profile, stages: &'p Stages, topology: &Topology, seed: u64) -> Self {
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
            .map(|(n, host)| {
                let speed = spread.at(draws.bits(Purpose::HostSpeed, n as u64, 0)) as f64 / 1e6;
                let mempool = mempools.empty(draws.bits(Purpose::MempoolOffset, n as u64, 0));
                let leads = threshold(1.0 - libm::pow(1.0 - profile.genesis.active_slot_coefficient, stake(n)));
                HostState::new(host.clock_ahead_ns, speed, mempool, leads)
            })
            .collect();
        let links: Vec<LinkState> = topology.links.iter().map(|link| LinkState::new(link, tcp.cold())).collect();
        let count = hosts.len();
        let mut engine = Self {
            profile,
            draws,
            stages,
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
                blocks: vec![Block::genesis()],
                forging: vec![ForgingTimes::NONE],
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
                engine.at(from.saturating_mul(slot_ns), Happening::FaultStarts { fault: n as u32 });
                engine.at(until.saturating_mul(slot_ns), Happening::FaultEnds { fault: n as u32 });
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
            journal.events.clear();
            journal.replies.clear();
            journal.led.clear();
        }
    }

    /// The tips, once all is done.
    pub(crate) fn into_truth(mut self) -> Truth {
        self.truth.tips = self.hosts.iter().map(|host| host.tip).collect();
        self.truth
    }

    /// A stage of a host, as slow as the host is.
    fn stage_now(&self, stage: impl Fn(&Stages) -> &Sampler, purpose: Purpose, host: usize, key: u64) -> u64 {
        self.stage_at(self.now_ns, stage, purpose, host, key)
    }

    /// A stage of a host, as slow as the host is at a time.
    fn stage_at(&self, at_ns: u64, stage: impl Fn(&Stages) -> &Sampler, purpose: Purpose, host: usize, key: u64) -> u64 {
        let drawn = stage(self.stages).at(self.draws.bits(purpose, host as u64, key));
        slowed(drawn, self.hosts[host].speed * self.profile.slowness(host as u32, at_ns))
    }

    fn record(&mut self, host: usize, at_ns: u64, event: Event) {
        if at_ns < self.end_ns.saturating_add_signed(-self.hosts[host].ahead_ns) {
            self.journals[host].events.push((at_ns, event));
        }
    }

    /// The observation of a block by a host, to be given a moment; `None` where the run is over by then.
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
            list.resize(block as usize + 1, Observation::NONE);
        }
        &mut list[block as usize]
    }

    fn block(&self, index: u32) -> &Block {
        &self.truth.blocks[index as usize]
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
}
