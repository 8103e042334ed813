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

impl Message {
    /// How many messages there are.
    pub(crate) const COUNT: usize = Self::Version as usize + 1;
}

/// What namespaces, new or transitional, stand for.
pub(crate) const NAMESPACES: &[(&[u8], Message)] = {
    use Message::*;
    &[
        (b"Resources", Resources),
        (b"Forge.Loop.StartLeadershipCheck", Started),
        (b"Forge.Loop.StartLeadershipCheckPlus", Started),
        (b"StartLeadershipCheckPlus", Started),
        (b"Forge.Loop.BlockContext", BlockContext),
        (b"Forge.BlockContext", BlockContext),
        (b"Forge.Loop.LedgerState", LedgerState),
        (b"Forge.LedgerState", LedgerState),
        (b"Forge.Loop.LedgerView", LedgerView),
        (b"Forge.LedgerView", LedgerView),
        (b"Forge.Loop.NodeIsLeader", Leader),
        (b"Forge.NodeIsLeader", Leader),
        (b"Forge.Loop.NodeNotLeader", NotLeader),
        (b"Forge.NodeNotLeader", NotLeader),
        (b"Forge.Loop.ForgeTickedLedgerState", Ticked),
        (b"Forge.Loop.TickedLedgerState", Ticked),
        (b"Forge.TickedLedgerState", Ticked),
        (b"Forge.Loop.ForgingMempoolSnapshot", MempoolSnapshot),
        (b"Forge.Loop.MempoolSnapshot", MempoolSnapshot),
        (b"Forge.MempoolSnapshot", MempoolSnapshot),
        (b"Forge.Loop.ForgedBlock", Forged),
        (b"Forge.ForgedBlock", Forged),
        (b"ChainSync.Client.DownloadedHeader", Header),
        (b"ChainSyncClient.ChainSyncClientEvent.DownloadedHeader", Header),
        (b"BlockFetch.Client.SendFetchRequest", Requested),
        (b"BlockFetchClient.SendFetchRequest", Requested),
        (b"BlockFetch.Client.CompletedBlockFetch", Fetched),
        (b"BlockFetchClient.CompletedBlockFetch", Fetched),
        (b"ChainSync.ServerHeader.Update", Announced),
        (b"ChainSyncServerEvent.TraceChainSyncServerUpdate", Announced),
        (b"BlockFetch.Server.SendBlock", Sending),
        (b"BlockFetchServer.SendBlock", Sending),
        (b"ChainDB.AddBlockEvent.AddedToCurrentChain", Adopted),
        (b"ChainDB.AddBlockEvent.SwitchedToAFork", Switched),
        (b"Forge.Loop.AdoptedBlock", SelfAdopted),
        (b"Forge.AdoptedBlock", SelfAdopted),
        (b"ChainDB.LedgerEvent.TookSnapshot", LedgerSnapshot),
        (b"ChainDB.LedgerEvent.Snapshot.TookSnapshot", LedgerSnapshot),
        (b"LedgerMetrics", LedgerMetrics),
        (b"TxSubmission.TxInbound.Collected", Collected),
        (b"TxSubmission.TxInbound.Processed", Processed),
        (b"Mempool.AddedTx", MempoolAdded),
        (b"Mempool.RemoveTxs", MempoolRemoved),
        (b"Mempool.RejectedTx", MempoolRejected),
        (b"Version.NodeVersion", Version),
    ]
};

/// Places in [`NAMESPACES`], plus 1, where a namespace's hash says or in the next free slot behind. Most are 0: there is none.
static BY_HASH: [u8; SLOTS] = {
    let mut slots = [0; SLOTS];
    let mut place = 0;
    while place < NAMESPACES.len() {
        let mut slot = hash(NAMESPACES[place].0);
        while slots[slot] != 0 {
            slot = (slot + 1) % SLOTS;
        }
        place += 1;
        slots[slot] = place as u8;
    }
    slots
};
const SLOTS: usize = 512;

/// Namespaces differ by their ends.
#[inline]
const fn hash(namespace: &[u8]) -> usize {
    let Some(end) = namespace.last_chunk() else { return 0 };
    let mixed = (u64::from_le_bytes(*end) ^ namespace.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as usize % SLOTS
}

/// The message that a namespace stands for, new or transitional.
#[inline]
pub(crate) fn by_namespace(namespace: &[u8]) -> Option<Message> {
    let mut slot = hash(namespace);
    loop {
        let (name, message) = NAMESPACES[usize::from(BY_HASH[slot]).checked_sub(1)?];
        if name == namespace {
            return Some(message);
        }
        slot = (slot + 1) % SLOTS;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_found_and_no_other() {
        for (name, message) in NAMESPACES {
            assert_eq!(by_namespace(name), Some(*message));
            assert_eq!(by_namespace(&name[1..]), None);
            assert_eq!(by_namespace(&[b"x", *name].concat()), None);
        }
        assert_eq!(by_namespace(b""), None);
        assert_eq!(by_namespace(b"Net"), None);
    }
}
