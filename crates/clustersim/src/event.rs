//! Events of a host: one table has what each holds, the form of the log line that it becomes, and what of it is in the truth.

use slotmark_tracelog::{Form, MempoolSize, Peer, Point, SelectView, Tip, Transaction, TransactionList, forms};

use crate::profile::Profile;
use crate::truth::{OpenSlots, ResourceSample};

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
    /// The parent of the first block.
    pub(crate) fn genesis() -> Self {
        Self { index: 0, parent: 0, slot: 0, height: 0, forger: u32::MAX, vrf: 0, size_bytes: 0, txs: 0, hash: [b'0'; 64], forged_ns: 0 }
    }

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

    /// Blocks per slot up to it.
    fn density(&self) -> f64 {
        if self.is_genesis() { 0.0 } else { self.height as f64 / (self.slot + 1) as f64 }
    }

    fn select_view(&self) -> SelectView {
        SelectView { block_no: self.number(), slot: self.slot, certificate_no: 0, issuer: self.forger, vrf: self.vrf }
    }
}

/// The text for the hash of no block in a log line.
const GENESIS_HASH: &[u8] = b"GenesisHash";

/// Facts that events refer to, on one host at one time.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The profile.
    pub profile: &'a Profile,
    /// All blocks so far, by their index.
    pub blocks: &'a [Block],
    /// By how many ns the host's clock is ahead.
    pub ahead_ns: i64,
    /// The last sample of the host's resources.
    pub resources: &'a ResourceSample,
}

impl<'a> Context<'a> {
    fn block(&self, index: u32) -> &'a Block {
        &self.blocks[index as usize]
    }

    fn hash(&self, index: u32) -> &'a [u8] {
        &self.block(index).hash
    }

    fn point(&self, index: u32) -> Point<'a> {
        self.block(index).point()
    }

    fn slot_ns(&self) -> i64 {
        self.profile.genesis.slot_length.0 as i64
    }

    fn mempool(&self, transactions: u32) -> MempoolSize {
        MempoolSize { bytes: u64::from(transactions) * self.profile.workload.tx_size.0, transactions }
    }
}

/// Takes messages as the table of messages has them.
pub(crate) trait Teller {
    /// Takes one.
    fn form<'a, F: Form<'a>>(&mut self, form: F);
}

/// Makes the events from their table.
///
/// An entry has the name of an event, which is also that of its form; what it holds; what its form holds; and behind `truth`, what is noted of it.
/// The names in front are those by which entries know the time by the host's clock, their [`Context`], and the slots whose truth isn't complete.
macro_rules! events {
    ($at_ns:ident, $of:ident, $open:ident: $(
        $(#[$doc:meta])*
        $event:ident { $($field:ident: $type:ty),* } => { $($form:tt)* } $(truth $truth:block)?;
    )*) => {
        /// An event in a host's log. Peers are hosts' numbers, blocks are indices.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the fields are those of the log line that docs/simulator.md names")]
        pub enum Event {
            $($(#[$doc])* $event { $($field: $type),* },)*
        }

        #[allow(unused_variables, reason = "not every entry needs all that its event holds")]
        impl Event {
            /// Gives its message with its values; `at_ns` is the host's clock.
            #[inline]
            pub(crate) fn tell(&self, $at_ns: i64, $of: &Context<'_>, teller: &mut impl Teller) {
                match *self {
                    $(Self::$event { $($field),* } => teller.form(forms::$event { $($form)* }),)*
                }
            }

            /// Notes it in the truth of the slot that it is about, where that is open.
            #[inline]
            pub(crate) fn note(&self, $at_ns: i64, $of: &Context<'_>, $open: &mut OpenSlots) -> Option<()> {
                match *self {
                    $(Self::$event { $($field),* } => { $($truth)? })*
                }
                Some(())
            }
        }
    };
}

events! {
    at_ns, of, open:
    /// The forge loop looks at a slot.
    StartLeadershipCheck { slot: u64 } => { slot: slot as i64 }
        truth { open.of(slot)?.started_ns = Some(at_ns - of.ahead_ns) };
    /// It has the block to build on.
    BlockContext { slot: u64, tip: u32 } => { slot: slot as i64, tip: of.point(tip), next: of.block(tip).height as i64 }
        truth {
            let truth = open.of(slot)?;
            (truth.block_context_ns, truth.context_number) = (Some(at_ns - of.ahead_ns), Some(of.block(tip).number()));
        };
    /// It has the ledger's state.
    LedgerState { slot: u64 } => { slot: slot as i64 }
        truth { open.of(slot)?.ledger_state_ns = Some(at_ns - of.ahead_ns) };
    /// It has the ledger's view.
    LedgerView { slot: u64 } => { slot: slot as i64 }
        truth { open.of(slot)?.ledger_view_ns = Some(at_ns - of.ahead_ns) };
    /// The host leads the slot.
    NodeIsLeader { slot: u64 } => { slot: slot as i64 }
        truth { open.of(slot)?.leadership_ns = Some(at_ns - of.ahead_ns) };
    /// It doesn't.
    NodeNotLeader { slot: u64 } => { slot: slot as i64 }
        truth { open.of(slot)?.leadership_ns = Some(at_ns - of.ahead_ns) };
    /// The ledger's state is that of the slot.
    ForgeTickedLedgerState { slot: u64, tip: u32 } => { tip: of.point(tip), slot: slot as i64 };
    /// The forge loop has the mempool's transactions.
    ForgingMempoolSnapshot { slot: u64, tip: u32 } => {
        tip_hash: of.block(tip).name(),
        tip_slot: of.block(tip).slot as i64,
        tip: of.point(tip),
        slot: slot as i64,
    };
    /// A block is forged.
    ForgedBlock { block: u32 } => {
        block: of.hash(block),
        number: of.block(block).number(),
        previous: of.block(of.block(block).parent).name(),
        slot: of.block(block).slot as i64,
    };
    /// The host took up its own block.
    AdoptedBlock { block: u32 } => {
        block: of.hash(block),
        size_bytes: of.block(block).size_bytes as i64,
        slot: of.block(block).slot as i64,
    };
    /// A header came.
    DownloadedHeader { peer: u32, block: u32 } => {
        peer: Peer(peer),
        block: of.hash(block),
        number: of.block(block).number(),
        slot: of.block(block).slot as i64,
    };
    /// Blocks are asked for: `head` is the newest of a range of `length`.
    SendFetchRequest { peer: u32, head: u32, length: u32 } => { peer: Peer(peer), head: of.hash(head), length: i64::from(length) };
    /// A block came; the delay is since the start of its slot.
    CompletedBlockFetch { peer: u32, block: u32 } => {
        peer: Peer(peer),
        block: of.hash(block),
        delay_s: (at_ns - of.block(block).slot as i64 * of.slot_ns()) as f64 / 1e9,
        size_bytes: of.block(block).size_bytes as i64,
    };
    /// A header is about to be sent to a follower.
    SendingHeader { peer: u32, block: u32, tip: u32 } => { peer: Peer(peer), block: of.point(block), tip: of.block(tip).tip() };
    /// It was sent.
    HeaderSent { peer: u32, block: u32, tip: u32 } => { peer: Peer(peer), block: of.point(block), tip: of.block(tip).tip() };
    /// A follower is sent back to a block.
    RollingBack { peer: u32, to: u32, tip: u32 } => { peer: Peer(peer), to: of.point(to), tip: of.block(tip).tip() };
    /// A block is sent to a follower.
    SendBlock { peer: u32, block: u32 } => { peer: Peer(peer), block: of.hash(block) };
    /// The chain is longer by a block.
    AddedToCurrentChain { block: u32 } => { view: of.block(block).select_view(), tip: of.point(block) };
    /// Another chain is the host's, which ends in a block.
    SwitchedToAFork { block: u32 } => { view: of.block(block).select_view(), tip: of.point(block) };
    /// Resources were sampled.
    Resources { slot: u64 } => {
        allocated_bytes: of.resources.allocated_bytes as i64,
        block_io_cs: 0,
        cpu_cs: ((of.resources.mutator_ns + of.resources.gc_ns) / NS_PER_CS) as i64,
        gc_cs: (of.resources.gc_ns / NS_PER_CS) as i64,
        mutator_cs: (of.resources.mutator_ns / NS_PER_CS) as i64,
        fs_read_bytes: 0,
        fs_written_bytes: of.resources.fs_written_bytes as i64,
        major_gcs: of.resources.major_gcs as i64,
        minor_gcs: of.resources.minor_gcs as i64,
        heap_bytes: of.resources.heap_bytes as i64,
        live_bytes: of.resources.live_bytes as i64,
        net_read_bytes: 0,
        net_written_bytes: 0,
        rss_bytes: of.resources.rss_bytes as i64,
        threads: 9,
    } truth {
        let truth = open.of(slot)?;
        (truth.sampled_ns, truth.resources) = (Some(at_ns - of.ahead_ns), *of.resources);
    };
    /// The ledger was measured.
    LedgerMetrics { slot: u64, tip: u32 } => {
        density: of.block(tip).density(),
        delegations: of.profile.genesis.delegators as i64,
        slot: slot as i64,
        utxo_size: of.profile.genesis.utxo_entries as i64,
    } truth {
        let (truth, tip) = (open.of(slot)?, of.block(tip));
        (truth.measured_ns, truth.utxo) = (Some(at_ns - of.ahead_ns), Some(of.profile.genesis.utxo_entries as i64));
        (truth.tip_number, truth.tip_slot) = (Some(tip.number()), Some(tip.slot as i64));
    };
    /// Transactions came.
    TxInboundCollected { peer: u32, count: u32 } => { peer: Peer(peer), count: i64::from(count) };
    /// All of them were looked at.
    TxInboundProcessed { peer: u32, accepted: u32 } => { peer: Peer(peer), accepted: i64::from(accepted), rejected: 0 };
    /// A transaction is in the mempool.
    AddedTx { tx: u32, mempool_txs: u32 } => { mempool: of.mempool(mempool_txs), transaction: Transaction(tx) }
        truth { open.at(at_ns.div_euclid(of.slot_ns()))?.note_mempool(mempool_txs) };
    /// Those in a block just adopted left the mempool; the first of them is `tx`.
    RemoveTxs { tx: u32, count: u32, mempool_txs: u32 } => {
        mempool: of.mempool(mempool_txs),
        transactions: TransactionList { first: tx, count },
    } truth { open.at(at_ns.div_euclid(of.slot_ns()))?.note_mempool(mempool_txs) };
}

/// The engine keeps all events of a run until they are told.
const _: () = assert!(size_of::<Event>() <= 16);

/// Counters of time have hundredths of a second.
const NS_PER_CS: u64 = 10_000_000;
