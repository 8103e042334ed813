//! What a host logs, as data.

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
    /// Hash, 32 bytes.
    pub hash: [u8; 32],
    /// When it was forged, in ns since slot 0, true time.
    pub forged_ns: u64,
}

impl Block {
    /// The block number that a node tells; -1 for genesis.
    pub fn number(&self) -> i64 {
        self.height as i64 - 1
    }

    /// Whether it is genesis, which has no header.
    pub fn is_genesis(&self) -> bool {
        self.height == 0
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

/// What a host logs. Peers are hosts' numbers.
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

/// Threads of a node's log: those that serve one peer begin at a number each, and the peer's number is added.
pub(crate) mod threads {
    pub(crate) const TX_SUBMISSION: u32 = 8_200;
    pub(crate) const MEMPOOL_ADD: &str = "66";
    pub(crate) const MEMPOOL_REMOVE: &str = "32";
}

/// What a log line has for a point where there is no block.
pub(crate) const GENESIS_POINT: &str = "genesis (origin)";
/// What a log line has for the hash of no block.
pub(crate) const GENESIS_HASH: &str = "GenesisHash";
