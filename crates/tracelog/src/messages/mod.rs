//! The table of messages: an entry for each has its names in nodes of all ages, what its row has, and how nodes of
//! today write it.
//!
//! Ingest finds messages by the names and reads rows; the simulator writes the forms, as text or straight into rows. An entry:
//!
//! - `names`: namespaces, new or transitional. The first is the one that is written.
//! - `kinds`: what stands under `kind`, transitional or legacy, whatever the namespace. Kinds that nodes also use for messages to
//!   local clients (`ChainSyncServer.Update`) are not among them.
//! - `row`: its table, as a variant of [`Body`]; the word for it in the column `event`; and each column, with how it is read
//!   (a function of `values`) and under which key. Where that isn't enough, a function in brackets reads the row.
//! - `form`: one way to write it. The severity, the thread (`on` one, or one for each `peer` from a number on), and the members
//!   of `data` in their order: `"key": field` for a value that is given, `"key" = constant` for what is always the same.
//!
//! Names and fields follow what locli 2.3 interprets (`LogObject.hs`, cardano-node 10.x), with what it misses: switching to a
//! fork, ledger snapshots of current nodes, names given as lists of parts, and hashes as the oldest nodes wrote them.

#[macro_use]
mod macros;

mod body;
mod form;
mod names;
mod values;

pub use body::{Address, Block, Body, Connection, Ledger, Slot, Transactions, Version};
#[cfg(feature = "ingest")]
pub(crate) use form::Made;
pub use form::{
    AnyTransactions, Datum, EnclosedTime, Form, MempoolSize, Out, Peer, Point, SelectView, Snapshot, Thread, Tip, Transaction,
    TransactionList, hex,
};
use names::Names;
#[cfg(test)]
pub(crate) use values::RESOURCES;
#[cfg(feature = "ingest")]
pub(crate) use values::{connected, connected_to, count, hash, number, slot, text};
pub(crate) use values::{string, time};

use crate::json::Value;
use crate::reason::Reason;

/// The members of a message's data, wherever they come from.
pub(crate) trait Members<'a> {
    /// Calls `each` with every member; it returns whether it took it.
    fn each(&mut self, each: impl FnMut(&[u8], Value<'a>) -> Result<bool, Reason>) -> Result<(), Reason>;
}

messages! {
    /// A sample of the node's resources.
    Resources {
        names: ["Resources"];
        kinds: ["Resources", "ResourceStats"];
        row: Resources "" (resources);
        /// Counters since the node started, and levels.
        form: Resources Info (on "13") {
            "Alloc": allocated_bytes, "CentiBlkIO": block_io_cs, "CentiCpu": cpu_cs, "CentiGC": gc_cs, "CentiMut": mutator_cs,
            "FsRd": fs_read_bytes, "FsWr": fs_written_bytes, "GcsMajor": major_gcs, "GcsMinor": minor_gcs, "Heap": heap_bytes,
            "Live": live_bytes, "NetRd": net_read_bytes, "NetWr": net_written_bytes, "RSS": rss_bytes, "Threads": threads,
            "kind" = "ResourceStats"
        };
    }
    /// The forge loop begins to look at a slot.
    Started {
        names: ["Forge.Loop.StartLeadershipCheck", "Forge.Loop.StartLeadershipCheckPlus", "StartLeadershipCheckPlus"];
        kinds: ["TraceStartLeadershipCheck", "StartLeadershipCheckPlus", "TraceStartLeadershipCheckPlus"];
        row: Ledger "started" { slot: slot("slot"), utxo_size: maybe_count("utxoSize"), chain_density: maybe_density("chainDensity") };
        /// A slot begins.
        form: StartLeadershipCheck Info (on "52") { "kind" = "TraceStartLeadershipCheck", "slot": slot };
    }
    /// The forge loop has the block to build on.
    BlockContext {
        names: ["Forge.Loop.BlockContext", "Forge.BlockContext"];
        kinds: ["TraceBlockContext"];
        row: Slot "block_context" { slot: slot("current slot"), block_no: number_before("tipBlockNo") };
        /// The block to build on, and the number of the one that is next.
        form: BlockContext Debug (on "52") { "current slot": slot, "kind" = "TraceBlockContext", "tip": tip, "tipBlockNo": next };
    }
    /// The forge loop has the ledger's state.
    LedgerState {
        names: ["Forge.Loop.LedgerState", "Forge.LedgerState"];
        kinds: ["TraceLedgerState"];
        row: Slot "ledger_state" { slot: slot("slot") };
        /// In a slot.
        form: LedgerState Debug (on "52") { "kind" = "TraceLedgerState", "slot": slot };
    }
    /// The forge loop has the ledger's view.
    LedgerView {
        names: ["Forge.Loop.LedgerView", "Forge.LedgerView"];
        kinds: ["TraceLedgerView"];
        row: Slot "ledger_view" { slot: slot("slot") };
        /// In a slot.
        form: LedgerView Debug (on "52") { "kind" = "TraceLedgerView", "slot": slot };
    }
    /// The node leads the slot.
    Leader {
        names: ["Forge.Loop.NodeIsLeader", "Forge.NodeIsLeader"];
        kinds: ["TraceNodeIsLeader"];
        row: Slot "leader" { slot: slot("slot") };
        /// In a slot.
        form: NodeIsLeader Info (on "52") { "kind" = "TraceNodeIsLeader", "slot": slot };
    }
    /// The node doesn't lead the slot.
    NotLeader {
        names: ["Forge.Loop.NodeNotLeader", "Forge.NodeNotLeader"];
        kinds: ["TraceNodeNotLeader"];
        row: Slot "not_leader" { slot: slot("slot") };
        /// In a slot.
        form: NodeNotLeader Info (on "52") { "kind" = "TraceNodeNotLeader", "slot": slot };
    }
    /// The ledger's state is brought to the slot.
    Ticked {
        names: ["Forge.Loop.ForgeTickedLedgerState", "Forge.Loop.TickedLedgerState", "Forge.TickedLedgerState"];
        kinds: ["TraceForgeTickedLedgerState"];
        row: Slot "ticked" { slot: slot("slot") };
        /// From the block to build on.
        form: ForgeTickedLedgerState Debug (on "52") { "kind" = "TraceForgeTickedLedgerState", "prev": tip, "slot": slot };
    }
    /// The forge loop has the mempool's transactions.
    MempoolSnapshot {
        names: ["Forge.Loop.ForgingMempoolSnapshot", "Forge.Loop.MempoolSnapshot", "Forge.MempoolSnapshot"];
        kinds: ["TraceForgingMempoolSnapshot"];
        row: Slot "mempool_snapshot" { slot: slot("slot") };
        /// As they are valid behind the block to build on.
        form: ForgingMempoolSnapshot Debug (on "52") {
            "kind" = "TraceForgingMempoolSnapshot", "mempoolHash": tip_hash, "mempoolSlot": tip_slot, "prev": tip, "slot": slot
        };
    }
    /// The node forged a block.
    Forged {
        names: ["Forge.Loop.ForgedBlock", "Forge.ForgedBlock"];
        kinds: ["TraceForgedBlock"];
        row: Block "forged" { block: hash("block"), slot: slot("slot"), block_no: number("blockNo"), previous: hash("blockPrev") };
        /// On another one.
        form: ForgedBlock Info (on "52") {
            "block": block, "blockNo": number, "blockPrev": previous, "kind" = "TraceForgedBlock", "slot": slot
        };
    }
    /// A peer's header is here.
    Header {
        names: ["ChainSync.Client.DownloadedHeader", "ChainSyncClient.ChainSyncClientEvent.DownloadedHeader"];
        kinds: ["DownloadedHeader", "ChainSyncClientEvent.TraceDownloadedHeader"];
        row: Block "noticed" {
            block: hash("block"), slot: slot("slot"), block_no: wrapped_number("blockNo"), connection: connection("peer")
        };
        /// From a peer.
        form: DownloadedHeader Info (peer 200) {
            "block": block, "blockNo": number, "kind" = "DownloadedHeader", "peer" = peer, "slot": slot
        };
    }
    /// A block, or a range that ends in it, is asked for.
    Requested {
        names: ["BlockFetch.Client.SendFetchRequest", "BlockFetchClient.SendFetchRequest"];
        kinds: ["SendFetchRequest"];
        row: Block "requested" { block: hash("head"), length: count("length"), connection: connection("peer") };
        /// From a peer.
        form: SendFetchRequest Info (peer 2_200) { "head": head, "kind" = "SendFetchRequest", "length": length, "peer" = peer };
    }
    /// A block is here.
    Fetched {
        names: ["BlockFetch.Client.CompletedBlockFetch", "BlockFetchClient.CompletedBlockFetch"];
        kinds: ["CompletedBlockFetch"];
        row: Block "fetched" { block: hash("block"), connection: connection("peer") };
        /// Seconds between the start of the slot and this message.
        form: CompletedBlockFetch Info (peer 2_200) {
            "block": block, "delay": delay_s, "kind" = "CompletedBlockFetch", "peer" = peer, "size": size_bytes
        };
    }
    /// A header is offered to a peer.
    Announced {
        names: ["ChainSync.ServerHeader.Update", "ChainSyncServerEvent.TraceChainSyncServerUpdate"];
        kinds: [
            "ChainSyncServerEvent.TraceChainSyncServerUpdate",
            "ChainSyncServerEvent.TraceChainSyncServerRead.AddBlock",
            "ChainSyncServerEvent.TraceChainSyncServerReadBlocked.AddBlock"
        ];
        row: Block "announced" (announced);
        /// Before it is sent.
        form: SendingHeader Info (peer 4_200) {
            "addBlock": block, "blockingRead" = true, "kind" = "ChainSyncServer.Update", "peer" = peer, "risingEdge" = true, "tip": tip
        };
        /// Logged when the header is sent.
        form: HeaderSent Debug (peer 4_200) {
            "addBlock": block, "blockingRead" = true, "kind" = "ChainSyncServer.Update", "peer" = peer, "tip": tip
        };
        /// Logged when the chain goes back.
        form: RollingBack Info (peer 4_200) {
            "blockingRead" = true, "kind" = "ChainSyncServer.Update", "peer" = peer, "risingEdge" = true, "rollBackTo": to, "tip": tip
        };
    }
    /// A block is sent to a peer.
    Sending {
        names: ["BlockFetch.Server.SendBlock", "BlockFetchServer.SendBlock"];
        kinds: ["TraceBlockFetchServerSendBlock"];
        row: Block "sending" { block: hash("block"), connection: connection("peer") };
        /// To a peer.
        form: SendBlock Info (peer 6_200) { "block": block, "kind" = "BlockFetchServer", "peer" = peer };
    }
    /// Added to the current chain.
    Adopted {
        names: ["ChainDB.AddBlockEvent.AddedToCurrentChain"];
        kinds: ["AddedToCurrentChain", "TraceAddBlockEvent.AddedToCurrentChain"];
        row: Block "adopted" { block: hash("newtip"), length: growth("chainLengthDelta") };
        /// As its new tip.
        form: AddedToCurrentChain Notice (on "20") { "kind" = "AddedToCurrentChain", "newTipSelectView": view, "newtip": tip };
    }
    /// Switched to a fork that ends in it.
    Switched {
        names: ["ChainDB.AddBlockEvent.SwitchedToAFork"];
        kinds: ["SwitchedToAFork", "TraceAddBlockEvent.SwitchedToAFork"];
        row: Block "switched" { block: hash("newtip"), length: growth("chainLengthDelta") };
        /// As its new tip.
        form: SwitchedToAFork Notice (on "20") {
            "kind" = "TraceAddBlockEvent.SwitchedToAFork", "newTipSelectView": view, "newtip": tip
        };
    }
    /// Adopted by who forged it; has the size.
    SelfAdopted {
        names: ["Forge.Loop.AdoptedBlock", "Forge.AdoptedBlock"];
        kinds: ["TraceAdoptedBlock"];
        row: Block "self_adopted" {
            block: hash("blockHash" | "block hash"), slot: maybe_slot("slot"), size_bytes: maybe_count("blockSize"),
            length: growth("chainLengthDelta")
        };
        /// A block of this node.
        form: AdoptedBlock Info (on "52") { "blockHash": block, "blockSize": size_bytes, "kind" = "TraceAdoptedBlock", "slot": slot };
    }
    /// A snapshot of the ledger was written.
    LedgerSnapshot {
        names: ["ChainDB.LedgerEvent.Snapshot.TookSnapshot", "ChainDB.LedgerEvent.TookSnapshot"];
        kinds: ["TookSnapshot", "TraceLedgerEvent.TookSnapshot", "TraceSnapshotEvent.TookSnapshot"];
        row: Slot "ledger_snapshot" {};
        /// When it begins, and again when it is written.
        form: TookSnapshot Info (on "102") { "enclosedTime": time, "kind" = "TookSnapshot", "snapshot": snapshot, "tip": tip };
    }
    /// Size of the ledger.
    LedgerMetrics {
        names: ["LedgerMetrics"];
        kinds: ["LedgerMetrics"];
        row: Ledger "" { slot: slot("slot"), utxo_size: count("utxoSize"), chain_density: density("chainDensity") };
        /// In a slot.
        form: LedgerMetrics Info (on "17") {
            "chainDensity": density, "delegMapSize": delegations, "kind" = "LedgerMetrics", "slot": slot, "utxoSize": utxo_size
        };
    }
    /// A peer's transactions are here.
    Collected {
        names: ["TxSubmission.TxInbound.Collected"];
        kinds: ["TraceTxSubmissionCollected", "TxSubmissionCollected"];
        row: Transactions "collected" { count: count("count") };
        /// From a peer.
        form: TxInboundCollected Debug (peer 8_200) { "count": count, "kind" = "TraceTxSubmissionCollected" };
    }
    /// A peer's transactions were offered to the mempool.
    Processed {
        names: ["TxSubmission.TxInbound.Processed"];
        kinds: ["TraceTxSubmissionProcessed", "TxSubmissionProcessed"];
        row: Transactions "processed" { accepted: count("accepted"), rejected: count("rejected") };
        /// From a peer.
        form: TxInboundProcessed Debug (peer 8_200) {
            "accepted": accepted, "kind" = "TraceTxSubmissionProcessed", "rejected": rejected
        };
    }
    /// A transaction is in the mempool.
    MempoolAdded {
        names: ["Mempool.AddedTx"];
        kinds: ["TraceMempoolAddedTx"];
        row: Transactions "added" { count: mempool_transactions("mempoolSize") };
        /// Beside how many there are now.
        form: AddedTx Info (on "66") { "kind" = "TraceMempoolAddedTx", "mempoolSize": mempool, "tx": transaction };
    }
    /// Transactions left the mempool: they are in a block.
    MempoolRemoved {
        names: ["Mempool.RemoveTxs"];
        kinds: ["TraceMempoolRemoveTxs"];
        row: Transactions "removed" { count: mempool_transactions("mempoolSize") };
        /// Beside how many there are now.
        form: RemoveTxs Info (on "32") { "kind" = "TraceMempoolRemoveTxs", "mempoolSize": mempool, "txs": transactions };
    }
    /// A transaction was refused.
    MempoolRejected {
        names: ["Mempool.RejectedTx"];
        kinds: ["TraceMempoolRejectedTx"];
        row: Transactions "rejected" { count: mempool_transactions("mempoolSize") };
        /// Beside how many there are now.
        form: RejectedTx Info (on "66") { "kind" = "TraceMempoolRejectedTx", "mempoolSize": mempool, "tx": transaction };
    }
    /// The generator's transactions were taken by a node.
    Acknowledged {
        names: [];
        kinds: ["TraceBenchTxSubServAck"];
        row: Transactions "acknowledged" {};
    }
    /// Totals of the generator.
    GeneratorSummary {
        names: [];
        kinds: ["TraceBenchTxSubSummary"];
        row: Transactions "generator_summary" (generator_summary);
    }
    /// Name and version of the node.
    Version {
        names: ["Version.NodeVersion"];
        kinds: [];
        row: Version "" (version);
        /// Logged when the node starts.
        form: NodeVersion Notice (on "5") { "applicationName": name, "applicationVersion": version, "kind" = "NodeVersion" };
    }
}

static BY_NAMESPACE: Names<{ names::count(NAMESPACES) }> = Names::of(NAMESPACES);
static BY_KIND: Names<{ names::count(KINDS) }> = Names::of(KINDS);

/// The namespaces under which nodes write the messages of the table, one for each message that has one.
pub fn namespaces() -> impl Iterator<Item = &'static str> {
    NAMESPACES.iter().filter_map(|(_, names)| names.first().copied())
}

/// The message that a namespace stands for, new or transitional.
#[inline]
pub(crate) fn by_namespace(namespace: &[u8]) -> Option<Message> {
    BY_NAMESPACE.find(namespace)
}

/// The message that a `kind` stands for, transitional or legacy, whatever the namespace.
#[inline]
pub(crate) fn by_kind(kind: &[u8]) -> Option<Message> {
    BY_KIND.find(kind.strip_prefix(b"Cardano.Node.").unwrap_or(kind))
}

/// The namespace in which legacy nodes log headers for local clients, under the kind that they use for other nodes too.
pub(crate) const LEGACY_LOCAL_SERVER: &[u8] = b"cardano.node.ChainSyncBlockServer";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_and_no_other() {
        for (table, find) in [(NAMESPACES, by_namespace as fn(&[u8]) -> Option<Message>), (KINDS, by_kind)] {
            for (message, names) in table {
                for name in *names {
                    assert_eq!(find(name.as_bytes()), Some(*message), "{name}");
                    assert_eq!(find(&name.as_bytes()[..name.len() - 1]), None);
                    assert_eq!(find(format!("x{name}").as_bytes()), None);
                }
            }
            assert_eq!(find(b""), None);
            assert_eq!(find(b"Net"), None);
        }
    }
}
