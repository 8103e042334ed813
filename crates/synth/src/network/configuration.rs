//! Nodes' configurations.

use serde_json::{Map, Value, json};
use slotmark_chain::Hash32;

use super::ERAS;

/// Namespaces of new tracing and the severity from which on they are logged: all that ingest reads, as cardano-node's own
/// benchmarks require it.
const TRACED: [(&str, &str); 11] = [
    ("BlockFetch.Client", "Debug"),
    ("BlockFetch.Server", "Debug"),
    ("ChainDB", "Debug"),
    ("ChainSync.Client", "Debug"),
    ("ChainSync.ServerHeader", "Debug"),
    ("Forge.Loop", "Debug"),
    ("LedgerMetrics", "Info"),
    ("Mempool", "Debug"),
    ("Resources", "Debug"),
    ("TxSubmission.TxInbound", "Debug"),
    ("Version.NodeVersion", "Info"),
];

/// Namespaces among them that are not logged: they come for each block or transaction, and nothing reads them.
const SILENT: [&str; 8] = [
    "ChainDB.LedgerEvent.Flavor.V1",
    "ChainDB.LedgerEvent.Flavor.V2",
    "ChainDB.LedgerEvent.Forker",
    "Mempool.AttemptAdd",
    "Mempool.LedgerFound",
    "Mempool.LedgerNotFound",
    "Mempool.SyncNotNeeded",
    "Mempool.Synced",
];

/// A configuration with the hashes of genesis files, in the order of [`ERAS`]: Conway from the first slot on.
pub(crate) fn configuration(file: impl Fn(&str) -> String, hashes: &[Hash32; 5]) -> Map<String, Value> {
    let mut configuration = Map::new();
    for (era, hash) in ERAS.iter().zip(hashes) {
        configuration.insert(format!("{era}GenesisFile"), json!(file(era)));
        configuration.insert(format!("{era}GenesisHash"), json!(hex::encode(hash)));
    }
    for era in ["Shelley", "Allegra", "Mary", "Alonzo", "Babbage", "Conway"] {
        configuration.insert(format!("Test{era}HardForkAtEpoch"), json!(0));
    }
    for (key, value) in [
        ("ExperimentalHardForksEnabled", json!(true)),
        ("ExperimentalProtocolsEnabled", json!(true)),
        ("LastKnownBlockVersion-Alt", json!(0)),
        ("LastKnownBlockVersion-Major", json!(6)),
        ("LastKnownBlockVersion-Minor", json!(0)),
        ("Protocol", json!("Cardano")),
        ("RequiresNetworkMagic", json!("RequiresMagic")),
    ] {
        configuration.insert(key.to_owned(), value);
    }
    configuration
}

/// Returns the additional configuration of a node in a bed: peers that stay as they are, and logs.
///
/// `degree` is how many the node follows, `concurrency` from how many it may fetch one block at the same time.
pub(crate) fn bed_options(name: &str, degree: usize, concurrency: u32) -> impl Iterator<Item = (String, Value)> {
    let root = json!({"severity": "Notice", "detail": "DNormal", "backends": ["Stdout MachineFormat", "EKGBackend"]});
    let traced = TRACED.iter().map(|(namespace, severity)| (*namespace, *severity)).chain(SILENT.map(|namespace| (namespace, "Silence")));
    let traced = traced.map(|(namespace, severity)| (namespace.to_owned(), json!({"severity": severity})));
    let traces: Map<String, Value> = [(String::new(), root)].into_iter().chain(traced).collect();
    let (active, established) = (degree.max(15), degree.max(40));
    [
        ("ChainSyncIdleTimeout", json!(0)),
        ("EnableP2P", json!(true)),
        ("MaxConcurrencyBulkSync", json!(1)),
        ("MaxConcurrencyDeadline", json!(concurrency)),
        ("PeerSharing", json!(false)),
        ("SnapshotInterval", json!(4_230)),
        ("TargetNumberOfActivePeers", json!(active)),
        ("TargetNumberOfEstablishedPeers", json!(established)),
        ("TargetNumberOfKnownPeers", json!(established.max(100))),
        ("TargetNumberOfRootPeers", json!(established.max(100))),
        ("TraceOptionNodeName", json!(name)),
        ("TraceOptionResourceFrequency", json!(1_000)),
        ("TraceOptions", Value::Object(traces)),
        ("TurnOnLogMetrics", json!(true)),
        ("TurnOnLogging", json!(true)),
        ("UseTraceDispatcher", json!(true)),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
}
