//! Chain selection of a host: the chain that it prefers, and the events when it takes up a block.

use super::{Engine, Happening};
use crate::draws::Purpose;
use crate::event::Event;
use crate::truth::AdoptedBy;

/// From the chain's adoption of a forged block to the forge loop's word of it.
const ADOPTION_TOLD_NS: u64 = 40_000;
/// From a new tip to the mempool being rid of its transactions.
const MEMPOOL_SYNC_NS: u64 = 5_500_000;

impl Engine<'_> {
    /// Returns whether a chain ending in `new` is preferred to one ending in `old`.
    pub(super) fn preferred(&self, new: u32, old: u32) -> bool {
        let (a, b) = (self.block(new), self.block(old));
        if a.height != b.height {
            return a.height > b.height;
        }
        new != old && a.slot.abs_diff(b.slot) <= self.profile.peer.vrf_tie_slots && a.vrf < b.vrf
    }

    /// The newest block that is on both chains.
    pub(super) fn common(&self, mut a: u32, mut b: u32) -> u32 {
        while a != b {
            if self.block(a).height >= self.block(b).height {
                a = self.block(a).parent;
            } else {
                b = self.block(b).parent;
            }
        }
        a
    }

    /// Chain selection takes up a block.
    pub(super) fn process(&mut self, host: usize, block: u32) {
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

    pub(super) fn adopt(&mut self, host: usize, block: u32, announced: bool) {
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
        let (by, event) = if shared == old {
            (AdoptedBy::Extension, Event::AddedToCurrentChain { block: best })
        } else {
            (AdoptedBy::Fork, Event::SwitchedToAFork { block: best })
        };
        self.record(host, now_ns, event);
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
            self.record(host, now_ns + ADOPTION_TOLD_NS, Event::AdoptedBlock { block: best });
        }
        if removed > 0 {
            let mempool = &self.hosts[host].mempool;
            let tx = mempool.next.saturating_sub(u64::from(mempool.txs) + u64::from(removed)) as u32;
            let mempool_txs = mempool.txs;
            self.record(host, now_ns + MEMPOOL_SYNC_NS, Event::RemoveTxs { tx, count: removed, mempool_txs });
        }
        // A header goes ahead of its block's adoption only while the block extends the chain: after a switch it is still to be announced.
        if !(announced && best == block && shared == old) {
            let life = self.hosts[host].life;
            let at = now_ns + self.stage_now(|stages| &stages.fetched_to_announced, Purpose::FetchedToAnnounced, host, u64::from(best));
            self.at(at, Happening::Announce { host: host as u32, life, block: best });
        }
        self.reconsider(host);
    }
}
