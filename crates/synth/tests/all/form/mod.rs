//! JSON files, and whether they have the form of another network's.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The content of a file.
pub fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON")
}

/// Paths, for each era's genesis file, that only ours has, and those that only the shared development network's has.
pub const OTHERWISE: [(&str, &[&str], &[&str]); 5] = [
    ("byron", &[], &[]),
    // The ledger reads both spellings; other makes of node read only ours.
    ("shelley", &["/staking/pools/*/rewardAccount/credential/keyHash"], &["/staking/pools/*/rewardAccount/credential/key hash"]),
    // Nodes from 10.2 on are taken to read only Plutus V1 here; no real one was tried: docs/live.md.
    ("alonzo", &[], &["/costModels/PlutusV2"]),
    ("conway", &["/initialDReps"], &["/constitution/script"]),
    ("dijkstra", &[], &[]),
];

/// A file of the shared data.
pub fn shared(file: &str) -> PathBuf {
    let shared = std::env::var_os("SLOTMARK_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    shared.join("data").join(file)
}

/// Holds a value against one of the same form: objects have the same keys but for `ours` and `theirs`, and values the same
/// types; of objects with names for keys and of arrays any one of theirs stands for each of ours.
pub fn assert_same_form(at: &str, our: &Value, their: &Value, ours: &[&str], theirs: &[&str]) {
    const BY_NAME: [&str; 8] = [
        "/initialFunds",
        "/staking/pools",
        "/staking/stake",
        "/bootStakeholders",
        "/committee/members",
        "/genDelegs",
        "/heavyDelegation",
        "/avvmDistr",
    ];
    match (our, their) {
        (Value::Object(our), Value::Object(their)) if BY_NAME.contains(&at) => {
            for (name, value) in our {
                let (their_name, their_value) = their.iter().find(|(_, one)| one.is_object() == value.is_object()).expect("one of theirs");
                assert!(name.len() == their_name.len() || at == "/initialFunds", "{at}: {name}, {their_name}");
                assert_same_form(&format!("{at}/*"), value, their_value, ours, theirs);
            }
        }
        (Value::Object(our), Value::Object(their)) => {
            for (key, value) in our {
                let path = format!("{at}/{key}");
                match their.get(key) {
                    Some(other) => assert_same_form(&path, value, other, ours, theirs),
                    None => assert!(ours.contains(&path.as_str()), "{path} is ours alone"),
                }
            }
            for key in their.keys().filter(|key| !our.contains_key(*key)) {
                let path = format!("{at}/{key}");
                assert!(theirs.contains(&path.as_str()), "{path} is missing");
            }
        }
        (Value::Array(our), Value::Array(their)) => {
            assert!(at == "/staking/pools/*/owners" || our.len() == their.len(), "{at}: {} and {}", our.len(), their.len());
            our.iter().zip(their).for_each(|(one, other)| assert_same_form(&format!("{at}/*"), one, other, ours, theirs));
        }
        _ => assert_eq!(std::mem::discriminant(our), std::mem::discriminant(their), "{at}: {our} and {their}"),
    }
}
