//! Byron's genesis file.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use slotmark_chain::Hash32;
use slotmark_chain::hash::blake2b_256;

/// The fields of a Byron genesis file that are read.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Byron {
    /// Start of slot 0, in seconds since 1970.
    pub start_time: i64,
    /// Constants of the protocol.
    pub protocol_consts: Constants,
    /// Parameters that updates may change.
    pub block_version_data: BlockVersionData,
    /// Lovelace in digits by address in base 58.
    pub non_avvm_balances: BTreeMap<String, String>,
    /// Vouchers to redeem.
    pub avvm_distr: BTreeMap<String, IgnoredAny>,
}

/// Constants of the protocol.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Constants {
    /// Blocks after which a block is settled.
    pub k: u64,
    /// The network's number.
    pub protocol_magic: u64,
}

/// Parameters that updates may change.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BlockVersionData {
    /// Length of a slot, in ms, in digits.
    pub slot_duration: String,
}

/// The genesis of a forged network, which leaves Byron before slot 0. As canonical JSON (no spaces, keys in order), its text's hash is the
/// one that nodes compute.
pub fn stated(stakeholder: &str, security_parameter: u64, magic: u32, start_s: u64) -> Value {
    json!({
        "avvmDistr": {},
        "blockVersionData": {
            "heavyDelThd": "300000000000",
            "maxBlockSize": "2000000",
            "maxHeaderSize": "2000000",
            "maxProposalSize": "700",
            "maxTxSize": "4096",
            "mpcThd": "20000000000000",
            "scriptVersion": 0,
            "slotDuration": "20000",
            "softforkRule": {"initThd": "900000000000000", "minThd": "600000000000000", "thdDecrement": "50000000000000"},
            "txFeePolicy": {"multiplier": "43946000000", "summand": "155381000000000"},
            "unlockStakeEpoch": "18446744073709551615",
            "updateImplicit": "10000",
            "updateProposalThd": "100000000000000",
            "updateVoteThd": "1000000000000",
        },
        "bootStakeholders": {stakeholder: 1},
        "heavyDelegation": {},
        "nonAvvmBalances": {},
        "protocolConsts": {"k": security_parameter, "protocolMagic": magic},
        "startTime": start_s,
    })
}

/// The text of a Byron genesis with another start, as canonical JSON: nodes hash that, whatever the file looks like.
///
/// # Errors
/// It is no object.
pub fn with_start(text: &str, start_s: u64) -> Result<String, serde_json::Error> {
    let mut byron: serde_json::Map<String, Value> = serde_json::from_str(text)?;
    byron.insert("startTime".to_owned(), start_s.into());
    Ok(Value::Object(byron).to_string())
}

/// The hash that nodes compute of a Byron genesis.
///
/// # Errors
/// It isn't JSON.
pub fn hash(text: &str) -> Result<Hash32, serde_json::Error> {
    let byron: Value = serde_json::from_str(text)?;
    Ok(blake2b_256(&[byron.to_string().as_bytes()]))
}
