//! A host's mempool: filled by the workload, emptied by blocks.
//!
//! The workload is overload by design: transactions wait at the peers until the mempool has room. A mempool is therefore a
//! count, moved on reply by reply of the submission protocol, and every host takes the workload's transactions in the same
//! order. What is left out: transactions are never invalid.

use crate::profile::Workload;

/// The workload in the units of the computation.
#[derive(Clone, Debug)]
pub(crate) struct MempoolModel {
    /// Transactions that the mempool holds.
    capacity: u32,
    /// Transactions that a block holds.
    pub(crate) block_txs: u32,
    per_reply: u32,
    /// ns between replies while the generator is the limit.
    offered_ns: u64,
    /// ns between replies while the mempool catches up.
    refill_ns: u64,
    tx_count: u64,
}

/// A reply of the submission protocol that was taken into the mempool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) at_ns: u64,
    /// Number of its first transaction.
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// Transactions in the mempool after it.
    pub(crate) mempool_txs: u32,
}

/// The state of one host's mempool.
#[derive(Clone, Debug)]
pub(crate) struct Mempool {
    pub(crate) txs: u32,
    /// Number of the next transaction to take.
    pub(crate) next: u64,
    /// Earliest time at which the next reply may be taken.
    free_ns: u64,
    offset_ns: u64,
}

impl MempoolModel {
    pub(crate) fn new(workload: &Workload) -> Self {
        let block_txs = (workload.block_size.0 / workload.tx_size.0).max(1) as u32;
        let per_reply = workload.txs_per_reply;
        let every = |tps: f64| if tps > 0.0 { (f64::from(per_reply) / tps * 1e9) as u64 } else { u64::MAX };
        let offered_ns = every(workload.tps);
        Self {
            capacity: (f64::from(block_txs) * workload.mempool_blocks) as u32,
            block_txs,
            per_reply,
            offered_ns,
            refill_ns: every(workload.refill_tps).min(offered_ns).max(1),
            tx_count: workload.tx_count,
        }
    }

    /// An empty mempool; `offset_bits` set when in the generator's turn this host gets its share.
    pub(crate) fn empty(&self, offset_bits: u64) -> Mempool {
        let offset_ns =
            if self.offered_ns == u64::MAX { 0 } else { ((u128::from(self.offered_ns) * u128::from(offset_bits)) >> 64) as u64 };
        Mempool { txs: 0, next: 0, free_ns: 0, offset_ns }
    }

    /// Takes all replies before `until_ns`.
    pub(crate) fn advance(&self, mempool: &mut Mempool, until_ns: u64, mut taken: impl FnMut(Reply)) {
        if self.offered_ns == u64::MAX {
            return;
        }
        loop {
            let count = self.per_reply.min(self.tx_count.saturating_sub(mempool.next).min(u64::from(u32::MAX)) as u32);
            if count == 0 || mempool.txs.saturating_add(count) > self.capacity {
                break;
            }
            let offered_at =
                (mempool.next / u64::from(self.per_reply) + 1).saturating_mul(self.offered_ns).saturating_add(mempool.offset_ns);
            let at_ns = offered_at.max(mempool.free_ns);
            if at_ns >= until_ns {
                return;
            }
            mempool.txs += count;
            taken(Reply { at_ns, first: mempool.next as u32, count, mempool_txs: mempool.txs });
            mempool.next += u64::from(count);
            mempool.free_ns = at_ns + self.refill_ns;
        }
        // Full, or nothing left to take: what comes next comes after now.
        mempool.free_ns = mempool.free_ns.max(until_ns);
    }

    /// Removes a block's transactions at `at_ns`; gives how many of them were there.
    pub(crate) fn remove(&self, mempool: &mut Mempool, txs: u32, at_ns: u64) -> u32 {
        let removed = txs.min(mempool.txs);
        mempool.txs -= removed;
        // What came with the block before it came from a peer is not taken any more.
        mempool.next += u64::from(txs - removed);
        mempool.free_ns = mempool.free_ns.max(at_ns + self.refill_ns);
        removed
    }

    /// Gives back what a block held that is no longer on the chain.
    pub(crate) fn give_back(&self, mempool: &mut Mempool, txs: u32) {
        mempool.txs += txs;
    }

    /// A mempool after a restart at `at_ns`: empty.
    pub(crate) fn restart(&self, mempool: &mut Mempool, at_ns: u64) {
        mempool.txs = 0;
        mempool.free_ns = at_ns;
    }

    /// Transactions in the next block.
    pub(crate) fn for_block(&self, mempool: &Mempool) -> u32 {
        mempool.txs.min(self.block_txs)
    }
}
