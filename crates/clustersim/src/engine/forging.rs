//! Leadership of slots, and the making of a block.

use slotmark_tracelog::hex;

use super::{Engine, Happening};
use crate::draws::{Purpose, threshold};
use crate::event::{Block, Event};
use crate::profile::Fault;
use crate::truth::ForgingTimes;

impl Engine<'_> {
    /// Returns the start of a host's slot, true time; `None` before true time 0.
    fn slot_starts(&self, host: usize, slot: u64) -> u64 {
        (slot * self.slot_ns).saturating_add_signed(-self.hosts[host].ahead_ns)
    }

    pub(super) fn schedule_leaders(&mut self, until_ns: u64) {
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
                if !leads || super::misses_slot(&self.draws, missed, host as u32, slot) || self.profile.is_down(host as u32, slot) {
                    continue;
                }
                let life = self.life_at(host as u32, slot);
                let started_ns = starts + self.stage_at(starts, |stages| &stages.started, Purpose::Started, host, slot);
                let context_ns = started_ns + self.stage_at(started_ns, |stages| &stages.block_context, Purpose::BlockContext, host, slot);
                self.journals[host].led.push(slot);
                self.record(host, started_ns, Event::StartLeadershipCheck { slot });
                self.at(context_ns, Happening::Forge { host: host as u32, life, slot, started_ns });
            }
        }
    }

    /// Returns how often a host has gone down and come back before a slot.
    fn life_at(&self, host: u32, slot: u64) -> u32 {
        let ended = |fault: &&Fault| matches!(fault, Fault::HostDown { host: other, from, .. } if *other == host && *from <= slot);
        self.profile.fault.iter().filter(ended).count() as u32
    }

    /// The block context is there: the block to build on is decided.
    pub(super) fn forge(&mut self, host: usize, slot: u64, started_ns: u64) {
        let mut parent = self.hosts[host].tip;
        while parent != 0 && self.block(parent).slot >= slot {
            parent = self.block(parent).parent;
        }
        let block_context_ns = self.now_ns;
        let mut tick = self.stage_now(|stages| &stages.ledger_tick, Purpose::LedgerTick, host, slot);
        if self.first_of_epoch(slot, parent) {
            tick += self.profile.forging.epoch_boundary.0;
        }
        let ledger_state_ns = block_context_ns + self.stage_now(|stages| &stages.ledger_state, Purpose::LedgerState, host, slot);
        let ledger_view_ns = ledger_state_ns + self.stage_now(|stages| &stages.ledger_view, Purpose::LedgerView, host, slot);
        let leadership_ns = ledger_view_ns + self.stage_now(|stages| &stages.leadership, Purpose::Leadership, host, slot);
        let ledger_tick_ns = leadership_ns + tick;
        let mempool_snapshot_ns = ledger_tick_ns + self.stage_now(|stages| &stages.mempool_snapshot, Purpose::MempoolSnapshot, host, slot);
        let forged_ns = mempool_snapshot_ns + self.stage_now(|stages| &stages.forge, Purpose::Forge, host, slot);
        self.record(host, block_context_ns, Event::BlockContext { slot, tip: parent });
        self.record(host, ledger_state_ns, Event::LedgerState { slot });
        self.record(host, ledger_view_ns, Event::LedgerView { slot });
        self.record(host, leadership_ns, Event::NodeIsLeader { slot });
        self.record(host, ledger_tick_ns, Event::ForgeTickedLedgerState { slot, tip: parent });
        self.record(host, mempool_snapshot_ns, Event::ForgingMempoolSnapshot { slot, tip: parent });
        let times = self.times.len() as u32;
        self.times.push(ForgingTimes {
            started_ns,
            block_context_ns,
            ledger_state_ns,
            ledger_view_ns,
            leadership_ns,
            ledger_tick_ns,
            mempool_snapshot_ns,
        });
        let life = self.hosts[host].life;
        self.at(mempool_snapshot_ns, Happening::Snapshot { host: host as u32, life, slot, parent, forged_ns, times });
    }

    pub(super) fn forged(&mut self, host: u32, slot: u64, parent: u32, txs: u32, times: u32) {
        let index = self.truth.blocks.len() as u32;
        let mut hash = [0; 64];
        for (n, word) in hash.chunks_exact_mut(16).enumerate() {
            hex(&self.draws.bits(Purpose::Hash, slot << 16 | u64::from(host), n as u64).to_be_bytes(), word);
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
        self.record(place, self.now_ns, Event::ForgedBlock { block: index });
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
}
