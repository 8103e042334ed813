//! Messages as cardano-node publishes them: the members that its trace schema requires (IntersectMBO/cardano-node, bench/trace-schemas, at
//! 1d5ced20 or the newest version there was) are enough to read each message.
//!
//! The schema is taken from the node's source: of types it knows few, and it states no member of `Resources`, `LedgerMetrics`,
//! `ChainSync.Client.DownloadedHeader` and `Version.NodeVersion`. Real lines have those (`real_lines.rs`).

use slotmark_tracelog::{Reason, namespaces, read_line};

/// A message's namespace, the members that the schema requires, and those of them that a row needs.
const SCHEMA: [(&str, &[&str], &[&str]); 22] = [
    ("Forge.Loop.StartLeadershipCheck", &["kind", "slot"], &["slot"]),
    ("Forge.Loop.BlockContext", &["current slot", "kind", "tip", "tipBlockNo"], &["current slot", "tipBlockNo"]),
    ("Forge.Loop.LedgerState", &["kind", "slot"], &["slot"]),
    ("Forge.Loop.LedgerView", &["kind", "slot"], &["slot"]),
    ("Forge.Loop.NodeIsLeader", &["kind", "slot"], &["slot"]),
    ("Forge.Loop.NodeNotLeader", &["kind", "slot"], &["slot"]),
    ("Forge.Loop.ForgeTickedLedgerState", &["kind", "prev", "slot"], &["slot"]),
    ("Forge.Loop.ForgingMempoolSnapshot", &["kind", "mempoolHash", "mempoolSlot", "prev", "slot"], &["slot"]),
    ("Forge.Loop.ForgedBlock", &["block", "blockNo", "blockPrev", "kind", "slot"], &["block", "blockNo", "blockPrev", "slot"]),
    ("Forge.Loop.AdoptedBlock", &["blockHash", "blockSize", "kind", "slot"], &["blockHash"]),
    ("BlockFetch.Client.SendFetchRequest", &["deltaq", "head", "kind", "length"], &["head", "length"]),
    ("BlockFetch.Client.CompletedBlockFetch", &["block", "delay", "kind", "size"], &["block"]),
    ("BlockFetch.Server.SendBlock", &["block", "kind"], &["block"]),
    ("ChainSync.ServerHeader.Update", &["addBlock", "blockNo", "blockingRead", "kind", "risingEdge", "slot", "tip"], &["addBlock"]),
    ("ChainDB.AddBlockEvent.AddedToCurrentChain", &["events", "kind", "newSuffixSelectView", "newtip", "oldSuffixSelectView"], &["newtip"]),
    (
        "ChainDB.AddBlockEvent.SwitchedToAFork",
        &["events", "kind", "newSuffixSelectView", "newtip", "oldSuffixSelectView", "reason"],
        &["newtip"],
    ),
    ("ChainDB.LedgerEvent.Snapshot.TookSnapshot", &["enclosedTime", "kind", "snapshot", "tip"], &[]),
    ("TxSubmission.TxInbound.Collected", &["count", "kind", "txIds"], &["count"]),
    ("TxSubmission.TxInbound.Processed", &["accepted", "kind", "rejected"], &["accepted", "rejected"]),
    ("Mempool.AddedTx", &["kind", "mempoolSize", "tx"], &[]),
    ("Mempool.RemoveTxs", &["kind", "mempoolSize", "txs"], &[]),
    ("Mempool.RejectedTx", &["err", "errdetails", "kind"], &[]),
];

/// Messages of which the schema states no member.
const UNSTATED: [&str; 4] = ["Resources", "LedgerMetrics", "ChainSync.Client.DownloadedHeader", "Version.NodeVersion"];

/// A value as nodes write it under this key.
fn value(key: &str) -> &'static str {
    match key {
        "slot" | "current slot" | "tipBlockNo" | "blockNo" | "blockSize" | "length" | "mempoolSlot" | "count" | "accepted" | "rejected"
        | "size" => "7",
        "block" | "blockHash" | "blockPrev" | "head" | "mempoolHash" => {
            "\"30536f56af017d743bac1167522fae6a1ba9ccda5ba29eda3cd573cca916cf98\""
        }
        "addBlock" | "newtip" | "prev" => "\"30536f56af017d743bac1167522fae6a1ba9ccda5ba29eda3cd573cca916cf98@7\"",
        "mempoolSize" => r#"{"bytes":556,"numTxs":1}"#,
        "events" | "txs" | "txIds" => "[]",
        "delay" => "0.25",
        "risingEdge" | "blockingRead" => "true",
        _ => "\"text\"",
    }
}

fn line(namespace: &str, keys: &[&str]) -> String {
    let members: Vec<String> = keys.iter().map(|key| format!("\"{key}\":{}", value(key))).collect();
    let data = members.join(",");
    format!(r#"{{"at":"2026-11-28T07:06:46.5Z","ns":"{namespace}","data":{{{data}}},"sev":"Info","thread":"5","host":"h"}}"#)
}

#[test]
fn what_the_published_schema_requires_is_enough_to_read_a_message() {
    for (namespace, members, needed) in SCHEMA {
        let whole = line(namespace, members);
        assert!(read_line(whole.as_bytes()).unwrap_or_else(|reason| panic!("{whole}: {reason}")).entry.is_some(), "{whole}");
        // A message without a member is read unless a row needs that one.
        for left_out in members {
            let rest: Vec<&str> = members.iter().copied().filter(|member| member != left_out).collect();
            let missing = read_line(line(namespace, &rest).as_bytes()).err();
            assert_eq!(missing.is_some(), needed.contains(left_out), "{namespace} without {left_out}: {missing:?}");
            assert!(missing.is_none_or(|reason| matches!(reason, Reason::Missing(_))), "{namespace} without {left_out}");
        }
    }
}

#[test]
fn each_message_that_is_read_is_in_the_published_schema() {
    let known: Vec<&str> = SCHEMA.iter().map(|(namespace, ..)| *namespace).chain(UNSTATED).collect();
    let unknown: Vec<&str> = namespaces().filter(|namespace| !known.contains(namespace)).collect();
    assert_eq!(unknown, Vec::<&str>::new());
    assert_eq!(namespaces().count(), known.len());
}
