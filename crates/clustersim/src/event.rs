//! Events of a host as data, and the entry of each in the table of messages.

use slotmark_tracelog::{Form, MempoolSize, Peer, Point, SelectView, Tip, Transaction, TransactionList, forms};

/// A block: the header's facts and how large its body is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its place in the order in which blocks were forged; 0 is genesis.
    pub index: u32,
    /// The index of the block before it.
    pub parent: u32,
    /// Its slot.
    pub slot: u64,
    /// Blocks before it, and itself: the block number is one less; 0 for genesis.
    pub height: u64,
    /// The host that forged it.
    pub forger: u32,
    /// The value that decides between blocks of equal height: the lower wins.
    pub vrf: u64,
    /// Bytes of its body.
    pub size_bytes: u64,
    /// Transactions in it.
    pub txs: u32,
    /// Hash, in hex.
    pub hash: [u8; 64],
    /// Time of its forging, in ns since slot 0, true time.
    pub forged_ns: u64,
}

impl Block {
    /// The block number that a node logs; -1 for genesis.
    pub fn number(&self) -> i64 {
        self.height as i64 - 1
    }

    /// Returns whether it is genesis, which has no header.
    pub fn is_genesis(&self) -> bool {
        self.height == 0
    }

    /// Its hash as a log line has it.
    pub(crate) fn name(&self) -> &[u8] {
        if self.is_genesis() { GENESIS_HASH } else { &self.hash }
    }

    fn point(&self) -> Point<'_> {
        Point { block: (!self.is_genesis()).then_some((&self.hash, self.slot)) }
    }

    fn tip(&self) -> Tip<'_> {
        Tip { block: (!self.is_genesis()).then_some((&self.hash, self.number(), self.slot)) }
    }

    fn select_view(&self) -> SelectView {
        SelectView { block_no: self.number(), slot: self.slot, certificate_no: 0, issuer: self.forger, vrf: self.vrf }
    }
}

/// One sample of a node's resource counters; sums since it started, but for the sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceSample {
    /// CPU time of the process, 1/100 s.
    pub cpu_centi: u64,
    /// CPU time of the garbage collector, 1/100 s.
    pub gc_centi: u64,
    /// CPU time of the mutator, 1/100 s.
    pub mutator_centi: u64,
    /// Major collections.
    pub gcs_major: u64,
    /// Minor collections.
    pub gcs_minor: u64,
    /// Bytes allocated.
    pub alloc_bytes: u64,
    /// Bytes alive after the last collection.
    pub live_bytes: u64,
    /// Bytes of the heap.
    pub heap_bytes: u64,
    /// Resident bytes.
    pub rss_bytes: u64,
    /// Bytes written to the file system.
    pub fs_written_bytes: u64,
    /// Threads.
    pub threads: u64,
}

/// An event in a host's log. Peers are hosts' numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the fields are those of the log line that docs/simulator.md names")]
pub enum Event<'a> {
    /// `Forge.Loop.StartLeadershipCheck`.
    StartLeadershipCheck { slot: u64 },
    /// `Forge.Loop.BlockContext`: the block to build on.
    BlockContext { slot: u64, tip: &'a Block },
    /// `Forge.Loop.LedgerState`.
    LedgerState { slot: u64 },
    /// `Forge.Loop.LedgerView`.
    LedgerView { slot: u64 },
    /// `Forge.Loop.NodeIsLeader`.
    NodeIsLeader { slot: u64 },
    /// `Forge.Loop.NodeNotLeader`.
    NodeNotLeader { slot: u64 },
    /// `Forge.Loop.ForgeTickedLedgerState`.
    TickedLedgerState { slot: u64, tip: &'a Block },
    /// `Forge.Loop.ForgingMempoolSnapshot`.
    MempoolSnapshot { slot: u64, tip: &'a Block },
    /// `Forge.Loop.ForgedBlock`.
    ForgedBlock { block: &'a Block, parent: &'a Block },
    /// `Forge.Loop.AdoptedBlock`.
    AdoptedBlock { block: &'a Block },
    /// `ChainSync.Client.DownloadedHeader`.
    DownloadedHeader { peer: u32, block: &'a Block },
    /// `BlockFetch.Client.SendFetchRequest`: `head` is the newest block of a range of `length`.
    SendFetchRequest { peer: u32, head: &'a Block, length: u32 },
    /// `BlockFetch.Client.CompletedBlockFetch`; the delay is since the start of the block's slot.
    CompletedBlockFetch { peer: u32, block: &'a Block, delay_ns: i64 },
    /// `ChainSync.ServerHeader.Update`: a header sent to a follower; `rising` before, otherwise after sending.
    HeaderSent { peer: u32, block: &'a Block, tip: &'a Block, rising: bool },
    /// `ChainSync.ServerHeader.Update` with `rollBackTo`.
    RolledBack { peer: u32, to: &'a Block, tip: &'a Block },
    /// `BlockFetch.Server.SendBlock`.
    SendBlock { peer: u32, block: &'a Block },
    /// `ChainDB.AddBlockEvent.AddedToCurrentChain`.
    AddedToCurrentChain { block: &'a Block },
    /// `ChainDB.AddBlockEvent.SwitchedToAFork`.
    SwitchedToAFork { block: &'a Block },
    /// `Resources`.
    Resources(ResourceSample),
    /// `LedgerMetrics`.
    LedgerMetrics { slot: u64, utxo: u64, density: f64, delegations: u64 },
    /// `TxSubmission.TxInbound.Collected`.
    TxsCollected { peer: u32, count: u32 },
    /// `TxSubmission.TxInbound.Processed`.
    TxsProcessed { peer: u32, accepted: u32, rejected: u32 },
    /// `Mempool.AddedTx`.
    AddedTx { tx: u32, mempool_txs: u32, mempool_bytes: u64 },
    /// `Mempool.RemoveTxs`: those in a block just adopted, the first of which is `tx`.
    RemoveTxs { tx: u32, count: u32, mempool_txs: u32, mempool_bytes: u64 },
    /// `Mempool.RejectedTx`.
    RejectedTx { tx: u32, mempool_txs: u32, mempool_bytes: u64 },
}

/// The text for the hash of no block in a log line.
const GENESIS_HASH: &[u8] = b"GenesisHash";

/// Takes messages as the table of messages has them.
pub(crate) trait Teller {
    /// Takes one.
    fn form<'a, F: Form<'a>>(&mut self, form: F);
}

impl Event<'_> {
    /// Gives its message with its values.
    #[inline]
    pub(crate) fn tell(&self, teller: &mut impl Teller) {
        match *self {
            Event::StartLeadershipCheck { slot } => teller.form(forms::StartLeadershipCheck { slot: slot as i64 }),
            Event::BlockContext { slot, tip } => {
                teller.form(forms::BlockContext { slot: slot as i64, tip: tip.point(), next: tip.height as i64 });
            }
            Event::LedgerState { slot } => teller.form(forms::LedgerState { slot: slot as i64 }),
            Event::LedgerView { slot } => teller.form(forms::LedgerView { slot: slot as i64 }),
            Event::NodeIsLeader { slot } => teller.form(forms::NodeIsLeader { slot: slot as i64 }),
            Event::NodeNotLeader { slot } => teller.form(forms::NodeNotLeader { slot: slot as i64 }),
            Event::TickedLedgerState { slot, tip } => {
                teller.form(forms::ForgeTickedLedgerState { tip: tip.point(), slot: slot as i64 });
            }
            Event::MempoolSnapshot { slot, tip } => teller.form(forms::ForgingMempoolSnapshot {
                tip_hash: tip.name(),
                tip_slot: tip.slot as i64,
                tip: tip.point(),
                slot: slot as i64,
            }),
            Event::ForgedBlock { block, parent } => teller.form(forms::ForgedBlock {
                block: &block.hash[..],
                number: block.number(),
                previous: parent.name(),
                slot: block.slot as i64,
            }),
            Event::AdoptedBlock { block } => {
                teller.form(forms::AdoptedBlock { block: &block.hash[..], size_bytes: block.size_bytes as i64, slot: block.slot as i64 })
            }
            Event::DownloadedHeader { peer, block } => teller.form(forms::DownloadedHeader {
                peer: Peer(peer),
                block: &block.hash[..],
                number: block.number(),
                slot: block.slot as i64,
            }),
            Event::SendFetchRequest { peer, head, length } => {
                teller.form(forms::SendFetchRequest { peer: Peer(peer), head: &head.hash[..], length: i64::from(length) });
            }
            Event::CompletedBlockFetch { peer, block, delay_ns } => teller.form(forms::CompletedBlockFetch {
                peer: Peer(peer),
                block: &block.hash[..],
                delay_s: delay_ns as f64 / 1e9,
                size_bytes: block.size_bytes as i64,
            }),
            Event::HeaderSent { peer, block, tip, rising: true } => {
                teller.form(forms::SendingHeader { peer: Peer(peer), block: block.point(), tip: tip.tip() });
            }
            Event::HeaderSent { peer, block, tip, rising: false } => {
                teller.form(forms::HeaderSent { peer: Peer(peer), block: block.point(), tip: tip.tip() });
            }
            Event::RolledBack { peer, to, tip } => {
                teller.form(forms::RollingBack { peer: Peer(peer), to: to.point(), tip: tip.tip() });
            }
            Event::SendBlock { peer, block } => teller.form(forms::SendBlock { peer: Peer(peer), block: &block.hash[..] }),
            Event::AddedToCurrentChain { block } => {
                teller.form(forms::AddedToCurrentChain { view: block.select_view(), tip: block.point() });
            }
            Event::SwitchedToAFork { block } => teller.form(forms::SwitchedToAFork { view: block.select_view(), tip: block.point() }),
            Event::Resources(sample) => teller.form(forms::Resources {
                allocated_bytes: sample.alloc_bytes as i64,
                block_io_cs: 0,
                cpu_cs: sample.cpu_centi as i64,
                gc_cs: sample.gc_centi as i64,
                mutator_cs: sample.mutator_centi as i64,
                fs_read_bytes: 0,
                fs_written_bytes: sample.fs_written_bytes as i64,
                major_gcs: sample.gcs_major as i64,
                minor_gcs: sample.gcs_minor as i64,
                heap_bytes: sample.heap_bytes as i64,
                live_bytes: sample.live_bytes as i64,
                net_read_bytes: 0,
                net_written_bytes: 0,
                rss_bytes: sample.rss_bytes as i64,
                threads: sample.threads as i64,
            }),
            Event::LedgerMetrics { slot, utxo, density, delegations } => {
                teller.form(forms::LedgerMetrics { density, delegations: delegations as i64, slot: slot as i64, utxo_size: utxo as i64 })
            }
            Event::TxsCollected { peer, count } => {
                teller.form(forms::TxInboundCollected { peer: Peer(peer), count: i64::from(count) });
            }
            Event::TxsProcessed { peer, accepted, rejected } => {
                teller.form(forms::TxInboundProcessed { peer: Peer(peer), accepted: i64::from(accepted), rejected: i64::from(rejected) })
            }
            Event::AddedTx { tx, mempool_txs, mempool_bytes } => {
                teller.form(forms::AddedTx { mempool: mempool(mempool_txs, mempool_bytes), transaction: Transaction(tx) });
            }
            Event::RemoveTxs { tx, count, mempool_txs, mempool_bytes } => teller.form(forms::RemoveTxs {
                mempool: mempool(mempool_txs, mempool_bytes),
                transactions: TransactionList { first: tx, count },
            }),
            Event::RejectedTx { tx, mempool_txs, mempool_bytes } => {
                teller.form(forms::RejectedTx { mempool: mempool(mempool_txs, mempool_bytes), transaction: Transaction(tx) });
            }
        }
    }

    /// The block that came, was made, or was sent on.
    pub fn block(&self) -> Option<&Block> {
        match self {
            Event::BlockContext { tip: block, .. }
            | Event::TickedLedgerState { tip: block, .. }
            | Event::MempoolSnapshot { tip: block, .. }
            | Event::ForgedBlock { block, .. }
            | Event::AdoptedBlock { block }
            | Event::DownloadedHeader { block, .. }
            | Event::SendFetchRequest { head: block, .. }
            | Event::CompletedBlockFetch { block, .. }
            | Event::HeaderSent { block, .. }
            | Event::SendBlock { block, .. }
            | Event::AddedToCurrentChain { block }
            | Event::SwitchedToAFork { block } => Some(block),
            _ => None,
        }
    }
}

fn mempool(transactions: u32, bytes: u64) -> MempoolSize {
    MempoolSize { bytes, transactions }
}
