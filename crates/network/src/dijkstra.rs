//! Dijkstra's genesis file, which nodes from 10.6 on require beside the others.

use serde_json::{Value, json};

/// Returns the genesis of forged networks. Nothing here depends on it.
pub fn stated() -> Value {
    json!({
        "maxRefScriptSizePerBlock": 1_048_576,
        "maxRefScriptSizePerTx": 204_800,
        "refScriptCostMultiplier": 1.2,
        "refScriptCostStride": 25_600,
    })
}
