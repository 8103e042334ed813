//! No bytes make the parser panic, and leaving out what is of no interest changes nothing.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use slotmark_tracelog::{Body, LineReader};

const NAMESPACES: [&str; 9] = [
    "Resources",
    "Forge.Loop.StartLeadershipCheck",
    "Forge.Loop.ForgedBlock",
    "ChainSync.Client.DownloadedHeader",
    "Net.PeerSelection.Counters",
    "BlockFetch.Client.SendFetchRequest",
    "ChainDB.AddBlockEvent.SwitchedToAFork",
    "LedgerMetrics",
    "Mempool.AddedTx",
];
const KINDS: [&str; 5] = ["TraceForgedBlock", "ResourceStats", "TraceNodeNotLeader", "Whatever", "AddedToCurrentChain"];
const FIELDS: [&str; 14] = [
    "slot",
    "blockNo",
    "block",
    "blockPrev",
    "kind",
    "newtip",
    "head",
    "length",
    "utxoSize",
    "chainDensity",
    "Alloc",
    "current slot",
    "credentials",
    "val",
];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
        "[ -~é]{0,12}".prop_map(Value::from),
        prop::sample::select(&KINDS[..]).prop_map(Value::from),
        "[0-9a-f]{64}@[0-9]{1,5}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(&FIELDS[..]), inner), 0..4)
                .prop_map(|members| Value::from(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>())),
        ]
    })
}

fn line() -> impl Strategy<Value = String> {
    (prop::sample::select(&NAMESPACES[..]), prop::collection::vec((prop::sample::select(&FIELDS[..]), value()), 0..6)).prop_map(
        |(ns, members)| {
            let data: Map<_, _> = members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
            let rest = json!({"data": data, "sev": "Info", "thread": "1", "host": "h"}).to_string();
            format!(r#"{{"at":"2025-12-01T07:06:46.5Z","ns":"{ns}",{}"#, &rest[1..])
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn random_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = LineReader::default().read(&bytes);
    }

    #[test]
    fn a_damaged_line_is_read_or_refused(line in line(), place in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut lines = LineReader::default();
        let _ = lines.read(line.as_bytes());
        let mut bytes = line.into_bytes();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        let _ = lines.read(&bytes);
        let _ = lines.read(&bytes[..place]);
    }

    #[test]
    fn where_the_namespace_stands_does_not_matter(line in line()) {
        // At the end, nothing can be left out before it is known: the line is read whole.
        let mut value: Value = serde_json::from_str(&line).unwrap();
        let namespace = value.as_object_mut().unwrap().remove("ns").unwrap();
        let text = value.to_string();
        let moved = format!(r#"{},"ns":{namespace}}}"#, &text[..text.len() - 1]);
        let mut lines = LineReader::default();
        let (first, last) = (lines.read(line.as_bytes()), lines.read(moved.as_bytes()));
        prop_assert_eq!(first.is_ok(), last.is_ok(), "{:?} {:?}", first, last);
        if let (Ok(first), Ok(last)) = (first, last) {
            let text = |body: Option<Body<'_>>| format!("{body:?}");
            prop_assert_eq!(text(first.entry.map(|entry| entry.body)), text(last.entry.map(|entry| entry.body)));
        }
    }
}
