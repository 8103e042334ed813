//! Which messages are read, and by which names nodes of all ages call them.
//!
//! Names and fields follow what locli 2.3 interprets (`LogObject.hs`, cardano-node 10.x), with what it misses: switching to a
//! fork, ledger snapshots of current nodes, names given as lists of parts, and hashes as the oldest nodes wrote them.

/// What a log line tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the metrics and of the nodes")]
pub enum Message {
    Resources,
    Started,
    BlockContext,
    LedgerState,
    LedgerView,
    Leader,
    NotLeader,
    Ticked,
    MempoolSnapshot,
    Forged,
    Header,
    Requested,
    Fetched,
    Announced,
    Sending,
    /// Added to the current chain, or switched to a fork that ends in it.
    Adopted,
    Switched,
    /// Adopted by who forged it; tells the size.
    SelfAdopted,
    LedgerSnapshot,
    LedgerMetrics,
    Collected,
    Processed,
    MempoolAdded,
    MempoolRemoved,
    MempoolRejected,
    Acknowledged,
    GeneratorSummary,
    /// Who the node says it is.
    Version,
}

/// The message that a namespace stands for, new or transitional.
#[inline]
pub(crate) fn by_namespace(namespace: &[u8]) -> Option<Message> {
    use Message::*;
    // Most lines of a log are of no interest, and most of those begin otherwise.
    Some(match namespace {
        b"Resources" => Resources,
        b"Forge.Loop.StartLeadershipCheck" | b"Forge.Loop.StartLeadershipCheckPlus" | b"StartLeadershipCheckPlus" => Started,
        b"Forge.Loop.BlockContext" | b"Forge.BlockContext" => BlockContext,
        b"Forge.Loop.LedgerState" | b"Forge.LedgerState" => LedgerState,
        b"Forge.Loop.LedgerView" | b"Forge.LedgerView" => LedgerView,
        b"Forge.Loop.NodeIsLeader" | b"Forge.NodeIsLeader" => Leader,
        b"Forge.Loop.NodeNotLeader" | b"Forge.NodeNotLeader" => NotLeader,
        b"Forge.Loop.ForgeTickedLedgerState" | b"Forge.Loop.TickedLedgerState" | b"Forge.TickedLedgerState" => Ticked,
        b"Forge.Loop.ForgingMempoolSnapshot" | b"Forge.Loop.MempoolSnapshot" | b"Forge.MempoolSnapshot" => MempoolSnapshot,
        b"Forge.Loop.ForgedBlock" | b"Forge.ForgedBlock" => Forged,
        b"ChainSync.Client.DownloadedHeader" | b"ChainSyncClient.ChainSyncClientEvent.DownloadedHeader" => Header,
        b"BlockFetch.Client.SendFetchRequest" | b"BlockFetchClient.SendFetchRequest" => Requested,
        b"BlockFetch.Client.CompletedBlockFetch" | b"BlockFetchClient.CompletedBlockFetch" => Fetched,
        b"ChainSync.ServerHeader.Update" | b"ChainSyncServerEvent.TraceChainSyncServerUpdate" => Announced,
        b"BlockFetch.Server.SendBlock" | b"BlockFetchServer.SendBlock" => Sending,
        b"ChainDB.AddBlockEvent.AddedToCurrentChain" => Adopted,
        b"ChainDB.AddBlockEvent.SwitchedToAFork" => Switched,
        b"Forge.Loop.AdoptedBlock" | b"Forge.AdoptedBlock" => SelfAdopted,
        b"ChainDB.LedgerEvent.TookSnapshot" | b"ChainDB.LedgerEvent.Snapshot.TookSnapshot" => LedgerSnapshot,
        b"LedgerMetrics" => LedgerMetrics,
        b"TxSubmission.TxInbound.Collected" => Collected,
        b"TxSubmission.TxInbound.Processed" => Processed,
        b"Mempool.AddedTx" => MempoolAdded,
        b"Mempool.RemoveTxs" => MempoolRemoved,
        b"Mempool.RejectedTx" => MempoolRejected,
        b"Version.NodeVersion" => Version,
        _ => return None,
    })
}

/// The message that a `kind` stands for, transitional or legacy, whatever the namespace.
///
/// Kinds that nodes also use for messages to local clients (`ChainSyncServer.Update`) are not among them.
pub(crate) fn by_kind(kind: &[u8]) -> Option<Message> {
    use Message::*;
    Some(match kind.strip_prefix(b"Cardano.Node.").unwrap_or(kind) {
        b"Resources" | b"ResourceStats" => Resources,
        b"TraceStartLeadershipCheck" | b"StartLeadershipCheckPlus" | b"TraceStartLeadershipCheckPlus" => Started,
        b"TraceBlockContext" => BlockContext,
        b"TraceLedgerState" => LedgerState,
        b"TraceLedgerView" => LedgerView,
        b"TraceNodeIsLeader" => Leader,
        b"TraceNodeNotLeader" => NotLeader,
        b"TraceForgeTickedLedgerState" => Ticked,
        b"TraceForgingMempoolSnapshot" => MempoolSnapshot,
        b"TraceForgedBlock" => Forged,
        b"DownloadedHeader" | b"ChainSyncClientEvent.TraceDownloadedHeader" => Header,
        b"SendFetchRequest" => Requested,
        b"CompletedBlockFetch" => Fetched,
        b"ChainSyncServerEvent.TraceChainSyncServerUpdate"
        | b"ChainSyncServerEvent.TraceChainSyncServerRead.AddBlock"
        | b"ChainSyncServerEvent.TraceChainSyncServerReadBlocked.AddBlock" => Announced,
        b"TraceBlockFetchServerSendBlock" => Sending,
        b"AddedToCurrentChain" | b"TraceAddBlockEvent.AddedToCurrentChain" => Adopted,
        b"SwitchedToAFork" | b"TraceAddBlockEvent.SwitchedToAFork" => Switched,
        b"TraceAdoptedBlock" => SelfAdopted,
        b"TookSnapshot" | b"TraceLedgerEvent.TookSnapshot" | b"TraceSnapshotEvent.TookSnapshot" => LedgerSnapshot,
        b"LedgerMetrics" => LedgerMetrics,
        b"TraceTxSubmissionCollected" | b"TxSubmissionCollected" => Collected,
        b"TraceTxSubmissionProcessed" | b"TxSubmissionProcessed" => Processed,
        b"TraceMempoolAddedTx" => MempoolAdded,
        b"TraceMempoolRemoveTxs" => MempoolRemoved,
        b"TraceMempoolRejectedTx" => MempoolRejected,
        b"TraceBenchTxSubServAck" => Acknowledged,
        b"TraceBenchTxSubSummary" => GeneratorSummary,
        _ => return None,
    })
}

/// Where legacy nodes tell local clients of headers, under the kind that they use for other nodes too.
pub(crate) const LEGACY_LOCAL_SERVER: &[u8] = b"cardano.node.ChainSyncBlockServer";
