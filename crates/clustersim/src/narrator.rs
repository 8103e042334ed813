//! One host's log as it happens: what the engine recorded, merged with what happens every slot.
//!
//! Every slot the forge loop checks for leadership, resources are sampled and the ledger is measured. None of this moves
//! blocks, so it is narrated host by host, on as many threads as there are.

use std::collections::VecDeque;
use std::ops::Range;

use crate::draws::{Draws, Purpose, Sampler, Stream, threshold};
use crate::engine::{Journal, Record, misses_slot};
use crate::event::{Block, Event, ResourceSample};
use crate::mempool::Reply;
use crate::profile::Profile;
use crate::quantity::Span;
use crate::sink::HostSink;
use crate::truth::SlotTruth;

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
    started: Sampler,
    block_context: Sampler,
    ledger_state: Sampler,
    ledger_view: Sampler,
    leadership: Sampler,
    measured: Sampler,
    load: Sampler,
    missed: u64,
    major: u64,
}

/// An event of every slot.
#[derive(Clone, Copy)]
enum Routine {
    Started,
    BlockContext,
    LedgerState,
    LedgerView,
    NotLeader,
    Resources,
    LedgerMetrics,
}

/// The state of one host's log.
pub(crate) struct Narrator {
    host: u32,
    ahead_ns: i64,
    tip: u32,
    records: Vec<(u64, Record)>,
    replies: Vec<Reply>,
    led: Vec<u64>,
    /// Lines of the current reply already given, and when the last one was.
    reply_step: u32,
    reply_line_ns: i64,
    peers: Vec<u32>,
    phase_ns: i64,
    was_down: bool,
    cpu_ns: u64,
    gc_ns: u64,
    sample: ResourceSample,
    live_grown: u64,
    adopted_in_slot: u32,
    busy_left: u64,
    /// True events of the slots that are not over: more than one where the host leads one and logs late.
    open: VecDeque<SlotTruth>,
}

impl<'p> Narration<'p> {
    pub(crate) fn new(profile: &'p Profile, seed: u64) -> Self {
        let forging = &profile.forging;
        let sampler = |stage: &crate::profile::Stage| Sampler::new(stage.mean, stage.sigma);
        Self {
            profile,
            draws: Draws::new(seed),
            slot_ns: profile.genesis.slot_length.0 as i64,
            started: sampler(&forging.started),
            block_context: sampler(&forging.block_context),
            ledger_state: sampler(&forging.ledger_state),
            ledger_view: sampler(&forging.ledger_view),
            leadership: sampler(&forging.leadership),
            measured: Sampler::new(Span(1_500_000), 0.4),
            load: Sampler::new(Span(1_000_000), 0.5),
            missed: threshold(forging.missed_slots),
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
        narrator.records.append(&mut journal.records);
        narrator.records.sort_by_key(|(at_ns, _)| *at_ns);
        narrator.replies.append(&mut journal.replies);
        narrator.led.append(&mut journal.led);
        let (records, replies) = (std::mem::take(&mut narrator.records), std::mem::take(&mut narrator.replies));
        let mut teller = Teller { narration: self, narrator, blocks, records: &records, replies: &replies, record: 0, reply: 0, sink };
        for slot in slots {
            teller.slot(slot);
            teller.until((slot + 1) as i64 * self.slot_ns);
            teller.close(slot + 1 == self.profile.run.slots);
        }
        let (record, reply) = (teller.record, teller.reply);
        narrator.records = records[record..].to_vec();
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
            records: Vec::new(),
            replies: Vec::new(),
            led: Vec::new(),
            reply_step: 0,
            reply_line_ns: 0,
            peers,
            phase_ns,
            was_down: false,
            cpu_ns: 0,
            gc_ns: 0,
            sample: ResourceSample::default(),
            live_grown: 0,
            adopted_in_slot: 0,
            busy_left: 0,
            open: VecDeque::new(),
        }
    }
}

struct Teller<'a, 'p, S> {
    narration: &'a Narration<'p>,
    narrator: &'a mut Narrator,
    blocks: &'a [Block],
    records: &'a [(u64, Record)],
    replies: &'a [Reply],
    record: usize,
    reply: usize,
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
        self.narrator.open.push_back(SlotTruth { slot, leads: led, ..SlotTruth::default() });
        if std::mem::take(&mut self.narrator.was_down) {
            // A new process counts from zero.
            self.narrator.cpu_ns = 0;
            self.narrator.gc_ns = 0;
            self.narrator.sample = ResourceSample::default();
        }
        let mut stream = narration.draws.stream(Purpose::Slot, u64::from(host) << 1 << 32, slot);
        let mut routine = [(0_i64, Routine::Started); 7];
        let mut count = 0;
        let mut add = |at_ns: i64, what: Routine| {
            routine[count] = (at_ns.min(ends), what);
            count += 1;
        };
        if !led && !misses_slot(&narration.draws, narration.missed, host, slot) {
            let mut at_ns = starts;
            for (sampler, what) in [
                (&narration.started, Routine::Started),
                (&narration.block_context, Routine::BlockContext),
                (&narration.ledger_state, Routine::LedgerState),
                (&narration.ledger_view, Routine::LedgerView),
                (&narration.leadership, Routine::NotLeader),
            ] {
                at_ns += sampler.at(stream.bits()) as i64;
                add(at_ns, what);
            }
        }
        let shaken = narration.measured.at(stream.bits()) as i64;
        add(starts + (narration.slot_ns as f64 * LEDGER_METRICS_SHARE) as i64 + shaken, Routine::LedgerMetrics);
        let shaken = narration.measured.at(stream.bits()) as i64;
        add(starts + self.narrator.phase_ns + shaken, Routine::Resources);
        let routine = &mut routine[..count];
        routine.sort_by_key(|(at_ns, _)| *at_ns);
        for (at_ns, what) in routine {
            self.until(*at_ns);
            self.routine(*at_ns, *what, slot, &mut stream);
        }
    }

    /// Gives the true events in the slots that are over, or in all.
    fn close(&mut self, all: bool) {
        while let Some(truth) = self.narrator.open.front()
            && (all || !truth.leads || truth.leadership_ns.is_some())
        {
            self.sink.slot(truth);
            self.narrator.open.pop_front();
        }
    }

    /// Returns the true events of a slot that is not over.
    fn truth(&mut self, slot: u64) -> Option<&mut SlotTruth> {
        self.narrator.open.iter_mut().rev().find(|truth| truth.slot == slot)
    }

    /// Gives an event: the sink, and the truth of the slot that it is about.
    #[inline]
    fn event(&mut self, at_ns: i64, event: &Event<'_>) {
        let moment = Some(at_ns - self.narrator.ahead_ns);
        let about = match *event {
            Event::StartLeadershipCheck { slot }
            | Event::BlockContext { slot, .. }
            | Event::LedgerState { slot }
            | Event::LedgerView { slot }
            | Event::NodeIsLeader { slot }
            | Event::NodeNotLeader { slot }
            | Event::LedgerMetrics { slot, .. } => self.truth(slot),
            Event::AddedTx { mempool_txs, .. } | Event::RemoveTxs { mempool_txs, .. } => {
                self.note_mempool(at_ns, mempool_txs);
                None
            }
            _ => None,
        };
        if let Some(truth) = about {
            match *event {
                Event::StartLeadershipCheck { .. } => truth.started_ns = moment,
                Event::BlockContext { tip, .. } => (truth.block_context_ns, truth.context_number) = (moment, Some(tip.number())),
                Event::LedgerState { .. } => truth.ledger_state_ns = moment,
                Event::LedgerView { .. } => truth.ledger_view_ns = moment,
                Event::NodeIsLeader { .. } | Event::NodeNotLeader { .. } => truth.leadership_ns = moment,
                Event::LedgerMetrics { utxo, .. } => (truth.measured_ns, truth.utxo) = (moment, Some(utxo as i64)),
                _ => {}
            }
        }
        self.sink.event(at_ns, event);
    }

    /// The mempool changed.
    fn note_mempool(&mut self, at_ns: i64, txs: u32) {
        let Ok(slot) = u64::try_from(at_ns.div_euclid(self.narration.slot_ns)) else { return };
        let open = &mut self.narrator.open;
        if open.back().is_none_or(|truth| truth.slot < slot) {
            // By its own clock, a host goes down within a slot.
            open.push_back(SlotTruth { slot, ..SlotTruth::default() });
        }
        if let Some(truth) = open.back_mut() {
            truth.mempool_txs = truth.mempool_txs.max(Some(i64::from(txs)));
        }
    }

    fn routine(&mut self, at_ns: i64, what: Routine, slot: u64, stream: &mut Stream) {
        let blocks = self.blocks;
        let tip = &blocks[self.narrator.tip as usize];
        let event = match what {
            Routine::Started => Event::StartLeadershipCheck { slot },
            Routine::BlockContext => Event::BlockContext { slot, tip },
            Routine::LedgerState => Event::LedgerState { slot },
            Routine::LedgerView => Event::LedgerView { slot },
            Routine::NotLeader => Event::NodeNotLeader { slot },
            Routine::LedgerMetrics => {
                if let Some(truth) = self.truth(slot) {
                    (truth.tip_number, truth.tip_slot) = (Some(tip.number()), Some(tip.slot as i64));
                }
                Event::LedgerMetrics {
                    slot,
                    utxo: self.narration.profile.genesis.utxo_entries,
                    density: if tip.is_genesis() { 0.0 } else { tip.height as f64 / (tip.slot + 1) as f64 },
                    delegations: self.narration.profile.genesis.delegators,
                }
            }
            Routine::Resources => {
                let sample = self.sample(slot, stream);
                let (mutator_ns, gc_ns) = (self.narrator.cpu_ns as i64, self.narrator.gc_ns as i64);
                let moment = at_ns - self.narrator.ahead_ns;
                if let Some(truth) = self.truth(slot) {
                    truth.sampled_ns = Some(moment);
                    (truth.mutator_ns, truth.gc_ns) = (Some(mutator_ns), Some(gc_ns));
                    truth.resources = Some(sample);
                }
                Event::Resources(sample)
            }
        };
        self.event(at_ns, &event);
    }

    /// Gives everything recorded before a time.
    fn until(&mut self, until_ns: i64) {
        let ahead_ns = self.narrator.ahead_ns;
        loop {
            let record_at = self.records.get(self.record).map_or(i64::MAX, |(at_ns, _)| *at_ns as i64 + ahead_ns);
            let reply_at = self.replies.get(self.reply).map_or(i64::MAX, |reply| self.reply_line_ns(reply) + ahead_ns);
            if record_at >= until_ns && reply_at >= until_ns {
                return;
            }
            if record_at <= reply_at {
                let (_, record) = self.records[self.record];
                self.record += 1;
                self.tell_record(record_at, record);
            } else {
                let reply = self.replies[self.reply];
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
        let tx_bytes = self.narration.profile.workload.tx_size.0;
        let step = self.narrator.reply_step;
        self.narrator.reply_line_ns = at_ns - self.narrator.ahead_ns;
        let peers = &self.narrator.peers;
        let peer = peers.get(reply.first as usize / reply.count.max(1) as usize % peers.len().max(1)).copied().unwrap_or_default();
        if step == 0 {
            self.event(at_ns, &Event::TxsCollected { peer, count: reply.count });
        } else if step <= reply.count {
            let mempool_txs = reply.mempool_txs - reply.count + step;
            let event = Event::AddedTx { tx: reply.first + step - 1, mempool_txs, mempool_bytes: u64::from(mempool_txs) * tx_bytes };
            self.event(at_ns, &event);
        } else {
            self.event(at_ns, &Event::TxsProcessed { peer, accepted: reply.count, rejected: 0 });
            self.reply += 1;
            self.narrator.reply_step = 0;
            return;
        }
        self.narrator.reply_step += 1;
    }

    fn tell_record(&mut self, at_ns: i64, record: Record) {
        let blocks = self.blocks;
        let block = |index: u32| &blocks[index as usize];
        let event = match record {
            Record::Started { slot } => Event::StartLeadershipCheck { slot },
            Record::BlockContext { slot, tip } => Event::BlockContext { slot, tip: block(tip) },
            Record::LedgerState { slot } => Event::LedgerState { slot },
            Record::LedgerView { slot } => Event::LedgerView { slot },
            Record::Leader { slot } => Event::NodeIsLeader { slot },
            Record::Ticked { slot, tip } => Event::TickedLedgerState { slot, tip: block(tip) },
            Record::Snapshot { slot, tip } => Event::MempoolSnapshot { slot, tip: block(tip) },
            Record::Forged { block: forged } => Event::ForgedBlock { block: block(forged), parent: block(block(forged).parent) },
            Record::SelfAdopted { block: adopted } => Event::AdoptedBlock { block: block(adopted) },
            Record::Noticed { peer, block: noticed } => Event::DownloadedHeader { peer, block: block(noticed) },
            Record::Requested { peer, head, length } => Event::SendFetchRequest { peer, head: block(head), length },
            Record::Fetched { peer, block: fetched } => {
                let block = block(fetched);
                Event::CompletedBlockFetch { peer, block, delay_ns: at_ns - block.slot as i64 * self.narration.slot_ns }
            }
            Record::HeaderSent { peer, block: sent, tip, rising } => {
                Event::HeaderSent { peer, block: block(sent), tip: block(tip), rising }
            }
            Record::RolledBack { peer, to, tip } => Event::RolledBack { peer, to: block(to), tip: block(tip) },
            Record::Sending { peer, block: sent } => Event::SendBlock { peer, block: block(sent) },
            Record::Extended { block: adopted } => {
                self.narrator.tip = adopted;
                self.narrator.adopted_in_slot += 1;
                Event::AddedToCurrentChain { block: block(adopted) }
            }
            Record::Forked { block: adopted } => {
                self.narrator.tip = adopted;
                self.narrator.adopted_in_slot += 1;
                Event::SwitchedToAFork { block: block(adopted) }
            }
            Record::TxsRemoved { first, count, left } => {
                let mempool_bytes = u64::from(left) * self.narration.profile.workload.tx_size.0;
                Event::RemoveTxs { tx: first, count, mempool_txs: left, mempool_bytes }
            }
        };
        self.event(at_ns, &event);
    }

    /// The next sample of the resource counters: a base load, the work of blocks, collections, and a busy start of each epoch.
    fn sample(&mut self, slot: u64, stream: &mut Stream) -> ResourceSample {
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
        narrator.cpu_ns += (percent * seconds * 1e7) as u64;
        narrator.gc_ns += (gc_percent * seconds * 1e7) as u64;
        let minors = resources.minor_gcs * seconds * load;
        let minor = minors as u64 + u64::from(stream.bits() < threshold(minors - (minors as u64) as f64));
        let sample = &mut narrator.sample;
        sample.mutator_centi = narrator.cpu_ns / 10_000_000;
        sample.gc_centi = narrator.gc_ns / 10_000_000;
        sample.cpu_centi = (narrator.cpu_ns + narrator.gc_ns) / 10_000_000;
        sample.gcs_major += u64::from(major);
        sample.gcs_minor += minor;
        sample.alloc_bytes += (resources.alloc.0 as f64 * seconds * load) as u64;
        // What is alive grows by a tenth between major collections.
        let growth = resources.live.0 as f64 * 0.1 * resources.major_gcs * seconds;
        narrator.live_grown = if major { 0 } else { (narrator.live_grown + growth as u64).min(resources.live.0 / 5) };
        sample.live_bytes = (resources.live.0 as f64 * 0.95) as u64 + narrator.live_grown;
        sample.heap_bytes = resources.heap.0;
        sample.rss_bytes = resources.rss.0 - resources.rss.0 % 4096;
        sample.fs_written_bytes += (resources.fs_writes.0 as f64 * seconds * load) as u64;
        sample.threads = 9;
        *sample
    }
}
