//! One host's log as it happens: what the engine made happen, merged with what happens every slot.
//!
//! Every slot the forge loop checks for leadership, resources are sampled and the ledger is measured. None of this moves
//! blocks, so it is narrated host by host, on as many threads as there are.

use std::ops::Range;

use crate::draws::{Draws, Purpose, Sampler, Stream, threshold};
use crate::engine::{Journal, misses_slot};
use crate::event::{Block, Context, Event};
use crate::mempool::Reply;
use crate::profile::Profile;
use crate::quantity::Span;
use crate::sink::HostSink;
use crate::stages::{Stages, slowed};
use crate::truth::{OpenSlots, ResourceSample};

/// Before the first transaction of a reply is in the mempool.
const COLLECTED_NS: i64 = 1_200_000;
/// A transaction's way into the mempool.
const TX_NS: i64 = 350_000;
/// The point in a slot at which the ledger is measured.
const LEDGER_METRICS_SHARE: f64 = 0.7;

/// The parts that are the same for all hosts.
pub(crate) struct Narration<'p> {
    profile: &'p Profile,
    draws: Draws,
    slot_ns: i64,
    stages: &'p Stages,
    measured: Sampler,
    load: Sampler,
    missed: u64,
    major: u64,
}

/// An event of a slot, once its moment comes: of the slot's number, and the tip of the host's chain then.
type Routine = fn(u64, u32) -> Event;

/// The state of one host's log.
pub(crate) struct Narrator {
    host: u32,
    ahead_ns: i64,
    tip: u32,
    events: Vec<(u64, Event)>,
    replies: Vec<Reply>,
    led: Vec<u64>,
    /// Lines of the current reply already given, and when the last one was.
    reply_step: u32,
    reply_line_ns: i64,
    peers: Vec<u32>,
    phase_ns: i64,
    was_down: bool,
    resources: ResourceSample,
    live_grown: u64,
    adopted_in_slot: u32,
    busy_left: u64,
    open: OpenSlots,
}

impl<'p> Narration<'p> {
    pub(crate) fn new(profile: &'p Profile, stages: &'p Stages, seed: u64) -> Self {
        Self {
            profile,
            draws: Draws::new(seed),
            slot_ns: profile.genesis.slot_length.0 as i64,
            stages,
            measured: Sampler::new(Span(1_500_000), 0.4),
            load: Sampler::new(Span(1_000_000), 0.5),
            missed: threshold(profile.forging.missed_slots),
            major: threshold(profile.resources.major_gcs * profile.genesis.slot_length.0 as f64 / 1e9),
        }
    }

    /// Gives a sink what a host logs in some slots, by its own clock.
    pub(crate) fn tell(
        &self,
        narrator: &mut Narrator,
        journal: &mut Journal,
        blocks: &[Block],
        slots: Range<u64>,
        sink: &mut impl HostSink,
    ) {
        narrator.events.append(&mut journal.events);
        narrator.events.sort_by_key(|(at_ns, _)| *at_ns);
        narrator.replies.append(&mut journal.replies);
        narrator.led.append(&mut journal.led);
        let (events, replies) = (std::mem::take(&mut narrator.events), std::mem::take(&mut narrator.replies));
        let mut teller =
            Teller { narration: self, narrator, blocks, events: &events, replies: &replies, next_event: 0, next_reply: 0, sink };
        for slot in slots {
            teller.slot(slot);
            teller.until((slot + 1) as i64 * self.slot_ns);
            teller.close(slot + 1 == self.profile.run.slots);
        }
        let (event, reply) = (teller.next_event, teller.next_reply);
        narrator.events = events[event..].to_vec();
        narrator.replies = replies[reply..].to_vec();
    }
}

impl Narrator {
    pub(crate) fn new(profile: &Profile, draws_seed: u64, host: u32, peers: Vec<u32>) -> Self {
        let draws = Draws::new(draws_seed);
        let slot_ns = profile.genesis.slot_length.0;
        let phase_ns =
            ((u128::from(draws.bits(Purpose::Phase, u64::from(host), 0)) * u128::from(slot_ns / 2)) >> 64) as i64 + (slot_ns / 10) as i64;
        Self {
            host,
            ahead_ns: profile.clock_ahead_ns(host),
            tip: 0,
            events: Vec::new(),
            replies: Vec::new(),
            led: Vec::new(),
            reply_step: 0,
            reply_line_ns: 0,
            peers,
            phase_ns,
            was_down: false,
            resources: ResourceSample::default(),
            live_grown: 0,
            adopted_in_slot: 0,
            busy_left: 0,
            open: OpenSlots::default(),
        }
    }
}

struct Teller<'a, 'p, S> {
    narration: &'a Narration<'p>,
    narrator: &'a mut Narrator,
    blocks: &'a [Block],
    events: &'a [(u64, Event)],
    replies: &'a [Reply],
    next_event: usize,
    next_reply: usize,
    sink: &'a mut S,
}

impl<S: HostSink> Teller<'_, '_, S> {
    fn slot(&mut self, slot: u64) {
        let narration = self.narration;
        let host = self.narrator.host;
        let starts = slot as i64 * narration.slot_ns;
        let ends = starts + narration.slot_ns - 1;
        let led = self.narrator.led.first() == Some(&slot);
        if led {
            self.narrator.led.remove(0);
        }
        if narration.profile.is_down(host, slot) {
            self.narrator.was_down = true;
            self.close(true);
            self.until(starts);
            return;
        }
        self.narrator.open.begin(slot, led);
        if std::mem::take(&mut self.narrator.was_down) {
            // A new process counts from zero.
            self.narrator.resources = ResourceSample::default();
        }
        let mut stream = narration.draws.stream(Purpose::Slot, u64::from(host) << 1 << 32, slot);
        let mut routines: [(i64, Routine); 7] = [(0, |slot, _| Event::Resources { slot }); 7];
        let mut count = 0;
        let mut add = |at_ns: i64, routine: Routine| {
            routines[count] = (at_ns.min(ends), routine);
            count += 1;
        };
        if !led && !misses_slot(&narration.draws, narration.missed, host, slot) {
            let stages = narration.stages;
            let checks: [(&Sampler, Routine); 5] = [
                (&stages.started, |slot, _| Event::StartLeadershipCheck { slot }),
                (&stages.block_context, |slot, tip| Event::BlockContext { slot, tip }),
                (&stages.ledger_state, |slot, _| Event::LedgerState { slot }),
                (&stages.ledger_view, |slot, _| Event::LedgerView { slot }),
                (&stages.leadership, |slot, _| Event::NodeNotLeader { slot }),
            ];
            let mut at_ns = starts;
            for (sampler, routine) in checks {
                let slowness = narration.profile.slowness(host, at_ns.saturating_sub(self.narrator.ahead_ns).max(0) as u64);
                at_ns += slowed(sampler.at(stream.bits()), slowness) as i64;
                add(at_ns, routine);
            }
        }
        let shaken = narration.measured.at(stream.bits()) as i64;
        let measured = starts + (narration.slot_ns as f64 * LEDGER_METRICS_SHARE) as i64;
        add(measured + shaken, |slot, tip| Event::LedgerMetrics { slot, tip });
        let shaken = narration.measured.at(stream.bits()) as i64;
        add(starts + self.narrator.phase_ns + shaken, |slot, _| Event::Resources { slot });
        let routines = &mut routines[..count];
        routines.sort_by_key(|(at_ns, _)| *at_ns);
        for (at_ns, routine) in routines {
            self.until(*at_ns);
            let event = routine(slot, self.narrator.tip);
            if let Event::Resources { .. } = event {
                self.sample(slot, &mut stream);
            }
            self.event(*at_ns, event);
        }
    }

    /// Gives the true events in the slots that are over, or in all.
    fn close(&mut self, all: bool) {
        while let Some(truth) = self.narrator.open.take(all) {
            self.sink.slot(&truth);
        }
    }

    /// Gives an event: the sink, and the truth of the slot that it is about.
    #[inline]
    fn event(&mut self, at_ns: i64, event: Event) {
        let Narrator { open, resources, ahead_ns, .. } = &mut *self.narrator;
        let context = Context { profile: self.narration.profile, blocks: self.blocks, ahead_ns: *ahead_ns, resources };
        event.note(at_ns, &context, open);
        self.sink.event(at_ns, event, &context);
    }

    /// Gives all that happens before a time.
    fn until(&mut self, until_ns: i64) {
        let ahead_ns = self.narrator.ahead_ns;
        loop {
            let event_at = self.events.get(self.next_event).map_or(i64::MAX, |(at_ns, _)| *at_ns as i64 + ahead_ns);
            let reply_at = self.replies.get(self.next_reply).map_or(i64::MAX, |reply| self.reply_line_ns(reply) + ahead_ns);
            if event_at >= until_ns && reply_at >= until_ns {
                return;
            }
            if event_at <= reply_at {
                let (_, event) = self.events[self.next_event];
                self.next_event += 1;
                if let Event::AddedToCurrentChain { block } | Event::SwitchedToAFork { block } = event {
                    self.narrator.tip = block;
                    self.narrator.adopted_in_slot += 1;
                }
                self.event(event_at, event);
            } else {
                let reply = self.replies[self.next_reply];
                self.tell_reply_line(reply_at, &reply);
            }
        }
    }

    /// Returns when the next line of a reply is due: collected, one a transaction, processed.
    fn reply_line_ns(&self, reply: &Reply) -> i64 {
        let step = self.narrator.reply_step;
        let due = reply.at_ns as i64 + if step == 0 { 0 } else { COLLECTED_NS + i64::from(step - 1) * TX_NS };
        due.max(self.narrator.reply_line_ns)
    }

    fn tell_reply_line(&mut self, at_ns: i64, reply: &Reply) {
        let step = self.narrator.reply_step;
        self.narrator.reply_line_ns = at_ns - self.narrator.ahead_ns;
        let peers = &self.narrator.peers;
        let peer = peers.get(reply.first as usize / reply.count.max(1) as usize % peers.len().max(1)).copied().unwrap_or_default();
        if step == 0 {
            self.event(at_ns, Event::TxInboundCollected { peer, count: reply.count });
        } else if step <= reply.count {
            self.event(at_ns, Event::AddedTx { tx: reply.first + step - 1, mempool_txs: reply.mempool_txs - reply.count + step });
        } else {
            self.event(at_ns, Event::TxInboundProcessed { peer, accepted: reply.count });
            self.next_reply += 1;
            self.narrator.reply_step = 0;
            return;
        }
        self.narrator.reply_step += 1;
    }

    /// Takes the next sample of the resource counters: a base load, the work of blocks, collections, and a busy start of each epoch.
    fn sample(&mut self, slot: u64, stream: &mut Stream) {
        let profile = self.narration.profile;
        let resources = &profile.resources;
        let seconds = profile.genesis.slot_length.0 as f64 / 1e9;
        let narrator = &mut *self.narrator;
        let load = self.narration.load.at(stream.bits()) as f64 / 1e6;
        // Blocks make a quarter of the load; there is one in every 1/f slots.
        let per_block = resources.mutator_percent * 0.25 / profile.genesis.active_slot_coefficient;
        let mut percent = resources.mutator_percent * 0.75 * load + per_block * f64::from(std::mem::take(&mut narrator.adopted_in_slot));
        if slot > 0 && slot.is_multiple_of(profile.genesis.epoch_slots) {
            let shake = (stream.bits() >> 62) as i64 - 1;
            narrator.busy_left = resources.epoch_busy_slots.saturating_add_signed(shake);
        }
        if narrator.busy_left > 0 {
            narrator.busy_left -= 1;
            percent = percent.max(0.0) + 95.0 + load;
        }
        let major = stream.bits() < self.narration.major;
        let expected_major = (resources.major_gcs * seconds).max(1e-9);
        let gc_percent = resources.gc_percent * 0.5 * load + if major { resources.gc_percent * 0.5 / expected_major } else { 0.0 };
        let minors = resources.minor_gcs * seconds * load;
        let minor = minors as u64 + u64::from(stream.bits() < threshold(minors - (minors as u64) as f64));
        let sample = &mut narrator.resources;
        sample.mutator_ns += (percent * seconds * 1e7) as u64;
        sample.gc_ns += (gc_percent * seconds * 1e7) as u64;
        sample.major_gcs += u64::from(major);
        sample.minor_gcs += minor;
        sample.allocated_bytes += (resources.alloc.0 as f64 * seconds * load) as u64;
        // What is alive grows by a tenth between major collections.
        let growth = resources.live.0 as f64 * 0.1 * resources.major_gcs * seconds;
        narrator.live_grown = if major { 0 } else { (narrator.live_grown + growth as u64).min(resources.live.0 / 5) };
        sample.live_bytes = (resources.live.0 as f64 * 0.95) as u64 + narrator.live_grown;
        sample.heap_bytes = resources.heap.0;
        sample.rss_bytes = resources.rss.0 - resources.rss.0 % 4096;
        sample.fs_written_bytes += (resources.fs_writes.0 as f64 * seconds * load) as u64;
    }
}
