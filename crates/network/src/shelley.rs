//! Shelley's genesis file and its protocol parameters.

use std::fmt;
use std::fs::File;
use std::io::BufReader;
use std::ops::RangeInclusive;
use std::path::Path;

use pallas_primitives::RationalNumber;
use pallas_primitives::babbage::ProtocolParamUpdate;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use slotmark_chain::hash::Hashing;
use slotmark_chain::{CborBuffer, Hash32};

use crate::entries::{Entries, Hex, HexText};
use crate::error::GenesisError;
use crate::parameters::put_ratio;
use crate::ratio::Ratio;

/// Number of forged networks, which nodes exchange before anything else.
pub const NETWORK_MAGIC: u32 = 42;
/// Network id in addresses of forged networks: a test network.
pub const NETWORK_ID: u8 = 0;
/// Start of slot 0 of forged networks: 2025-01-01T00:00:00Z, in seconds since 1970.
pub const SYSTEM_START_S: u64 = 1_735_689_600;
/// The same as the Shelley genesis states it.
pub const SYSTEM_START: &str = "2025-01-01T00:00:00Z";
/// A slot of a forged chain has a leader in one of this many cases (active slot coefficient 0.05).
pub const SLOTS_PER_BLOCK: u64 = 20;
/// KES periods that an operational certificate of forged networks is good for.
pub const MAX_KES_EVOLUTIONS: u64 = 62;
/// Preview's k. Its chunk files have 4,320 slots, and its epochs 86,400.
pub const PREVIEW_SECURITY_PARAMETER: u64 = 432;
/// Slots a KES period on the public networks.
pub const PUBLIC_KES_PERIOD_SLOTS: u64 = 129_600;
/// Major versions of the protocol that forged networks can have: those of Conway in which governance is complete.
pub const PROTOCOL_MAJORS: RangeInclusive<u64> = 10..=VAN_ROSSEM;
/// The major version of the protocol that added functions and their costs to Plutus.
pub const VAN_ROSSEM: u64 = 11;
/// Lovelace that can exist.
pub const MAX_LOVELACE: u64 = 45_000_000_000_000_000;

/// The parameters of forged networks: sizes and fees of the public networks, and the block size of the benchmarking cluster.
pub const PARAMETERS: Parameters = Parameters {
    a0: Ratio::new(3, 10).expect("a fraction"),
    decentralisation: Ratio::ZERO,
    e_max: 18,
    extra_entropy: None,
    key_deposit: 2_000_000,
    max_body_bytes: 90_112,
    max_header_bytes: 1_100,
    max_transaction_bytes: 16_384,
    fee_per_byte: 44,
    fee_constant: 155_381,
    min_pool_cost: 0,
    min_output_lovelace: 0,
    n_opt: 500,
    pool_deposit: 500_000_000,
    protocol_version: ProtocolVersion::of(10),
    rho: Ratio::new(3, 1_000).expect("a fraction"),
    // As tenths, so that files have it as a decimal number.
    tau: Ratio::new(10, 10).expect("a fraction"),
};

/// A Shelley genesis file. Its entries are read and written as `F` and `S`: there may be millions.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Shelley<F = Entries<HexText, u64>, S = Staking> {
    /// Addresses of the first unspent outputs, each with its lovelace. They are written first.
    #[serde(rename = "initialFunds")]
    pub funds: F,
    /// The share of slots with leaders: f of Praos.
    pub active_slots_coeff: f64,
    /// Slots of an epoch.
    #[serde(rename = "epochLength")]
    pub epoch_slots: u64,
    /// Genesis keys and their delegates.
    #[serde(rename = "genDelegs")]
    pub delegates: Entries<Hex<28>, Delegate>,
    /// KES periods that an operational certificate is good for.
    #[serde(rename = "maxKESEvolutions")]
    pub max_kes_evolutions: u64,
    /// Lovelace that can exist.
    pub max_lovelace_supply: u64,
    /// The kind of network, which addresses hold.
    pub network_id: NetworkId,
    /// The network's number in handshakes.
    pub network_magic: u32,
    /// The first protocol parameters.
    #[serde(rename = "protocolParams")]
    pub parameters: Parameters,
    /// Blocks after which a block is settled: k of Praos.
    #[serde(rename = "securityParam")]
    pub security_parameter: u64,
    /// Length of a slot, in seconds.
    #[serde(serialize_with = "whole_where_it_is")]
    pub slot_length: f64,
    /// Slots of a KES period.
    #[serde(rename = "slotsPerKESPeriod")]
    pub kes_period_slots: u64,
    /// The pools, and who delegates to them.
    #[serde(default)]
    pub staking: S,
    /// Start of slot 0, in the format of RFC 3339.
    pub system_start: String,
    /// Number of genesis keys that decide an update.
    pub update_quorum: u64,
}

/// Whom a genesis key delegates to.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Delegate {
    /// Hash of the delegate's key.
    pub delegate: Hex<28>,
    /// Hash of the delegate's VRF key.
    pub vrf: Hex<32>,
}

impl Shelley {
    /// Reads a genesis file while it is hashed: it may be larger than what is kept of it. Gives BLAKE2b-256 of its bytes too, which is the
    /// network's first nonce.
    ///
    /// # Errors
    /// It can't be read, or isn't one.
    pub fn read(path: &Path) -> Result<(Self, Hash32), GenesisError> {
        let file = File::open(path).map_err(|source| GenesisError::Io { path: path.to_path_buf(), source })?;
        let mut bytes = BufReader::with_capacity(1 << 16, Hashing::new(file));
        let read = serde_json::from_reader(&mut bytes).map_err(|source| GenesisError::json(path, "Shelley", source))?;
        Ok((read, bytes.get_ref().hash()))
    }

    /// The genesis of a file's text.
    ///
    /// # Errors
    /// It isn't one.
    pub fn parse(text: &str, path: &Path) -> Result<Self, GenesisError> {
        serde_json::from_str(text).map_err(|source| GenesisError::json(path, "Shelley", source))
    }
}

/// The kind of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names are the file's")]
pub enum NetworkId {
    Testnet,
    Mainnet,
}

/// Pools that are there from the beginning, and the stake keys that delegate to them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Staking {
    /// By the hash of the pool's cold key.
    pub pools: Entries<Hex<28>, StakingPool>,
    /// By the hash of the stake key, the pool's.
    pub stake: Entries<Hex<28>, Hex<28>>,
}

/// A pool that is there from the beginning.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StakingPool {
    /// Hash of its VRF key.
    pub vrf: Hex<32>,
    /// Lovelace that its owners promise to delegate to it.
    #[serde(default)]
    pub pledge: u64,
    /// Lovelace that it takes first of its rewards.
    #[serde(default)]
    pub cost: u64,
    /// The share of the rest that it takes.
    #[serde(default)]
    pub margin: Ratio,
    /// The account that its own rewards go to; None where it isn't stated.
    #[serde(default)]
    pub reward_account: Option<RewardAccount>,
    /// Hashes of its owners' stake keys.
    #[serde(default)]
    pub owners: Vec<Hex<28>>,
}

/// A reward account as a genesis states it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct RewardAccount {
    /// Its owner.
    pub credential: StatedCredential,
}

/// The hash of a key or a script.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StatedCredential {
    /// The hash of a key.
    #[serde(alias = "key hash")]
    KeyHash(Hex<28>),
    /// The hash of a script.
    #[serde(alias = "script hash")]
    ScriptHash(Hex<28>),
}

/// A network, as far as its transactions depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// The network's number in addresses: 1 for mainnet, 0 for test networks.
    pub id: u8,
    /// Start of slot 0, in ms after 1970-01-01 UTC.
    pub start_ms: u64,
    /// Length of a slot, in ms.
    pub slot_ms: u64,
}

impl<F, S> Shelley<F, S> {
    /// Returns the genesis of forged chains, with these funds and this staking.
    pub fn stated(funds: F, staking: S) -> Self {
        Self {
            funds,
            active_slots_coeff: 1.0 / SLOTS_PER_BLOCK as f64,
            epoch_slots: 10 * PREVIEW_SECURITY_PARAMETER * SLOTS_PER_BLOCK,
            delegates: Entries::default(),
            max_kes_evolutions: MAX_KES_EVOLUTIONS,
            max_lovelace_supply: MAX_LOVELACE,
            network_id: NetworkId::Testnet,
            network_magic: NETWORK_MAGIC,
            parameters: PARAMETERS,
            security_parameter: PREVIEW_SECURITY_PARAMETER,
            slot_length: 1.0,
            kes_period_slots: PUBLIC_KES_PERIOD_SLOTS,
            staking,
            system_start: SYSTEM_START.to_owned(),
            update_quorum: 1,
        }
    }

    /// The network, as far as its transactions depend on it.
    ///
    /// # Errors
    /// A field that they depend on is out of its range; the message names file and field.
    pub fn network(&self, path: &Path) -> Result<Network, GenesisError> {
        let start = chrono::DateTime::parse_from_rfc3339(&self.system_start).ok();
        let start_ms = start.and_then(|start| u64::try_from(start.timestamp_millis()).ok());
        let slot_ms = (self.slot_length * 1_000.0).round();
        Ok(Network {
            id: u8::from(self.network_id == NetworkId::Mainnet),
            start_ms: start_ms.ok_or_else(|| GenesisError::field(path, "systemStart", "a time as 2022-10-25T00:00:00Z"))?,
            slot_ms: match slot_ms >= 1.0 {
                true => slot_ms as u64,
                false => return Err(GenesisError::field(path, "slotLength", "seconds, 0.001 at least")),
            },
        })
    }
}

/// Protocol parameters that Shelley's genesis states; amounts are in lovelace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parameters {
    /// Weight of a pool's pledge.
    pub a0: Ratio,
    /// Share of the slots that belong to the genesis keys; not used from Babbage on.
    #[serde(rename = "decentralisationParam")]
    pub decentralisation: Ratio,
    /// Epochs ahead that a pool may retire at most.
    pub e_max: u64,
    /// Entropy that an epoch's nonce is combined with; not used from Babbage on.
    #[serde(with = "entropy")]
    pub extra_entropy: Option<Hash32>,
    /// Deposit for a stake credential.
    pub key_deposit: u64,
    /// Bytes of a block's body at most.
    #[serde(rename = "maxBlockBodySize")]
    pub max_body_bytes: u64,
    /// Bytes of a header at most.
    #[serde(rename = "maxBlockHeaderSize")]
    pub max_header_bytes: u64,
    /// Bytes of a transaction at most.
    #[serde(rename = "maxTxSize")]
    pub max_transaction_bytes: u64,
    /// Least fee, for each byte.
    #[serde(rename = "minFeeA")]
    pub fee_per_byte: u64,
    /// Least fee of a transaction.
    #[serde(rename = "minFeeB")]
    pub fee_constant: u64,
    /// Least cost that a pool takes of an epoch's rewards.
    #[serde(default)]
    pub min_pool_cost: u64,
    /// Least amount in an output; not used from Alonzo on.
    #[serde(rename = "minUTxOValue")]
    pub min_output_lovelace: u64,
    /// Number of pools that rewards are made for.
    pub n_opt: u64,
    /// Deposit for a pool.
    pub pool_deposit: u64,
    /// The version of the protocol.
    pub protocol_version: ProtocolVersion,
    /// The share of the reserves that an epoch takes.
    pub rho: Ratio,
    /// The share of that which the treasury takes.
    pub tau: Ratio,
}

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtocolVersion {
    /// Decides what blocks and scripts may use.
    pub major: u64,
    /// Differs for what all nodes accept.
    pub minor: u64,
}

impl ProtocolVersion {
    /// The first with this major version.
    pub const fn of(major: u64) -> Self {
        Self { major, minor: 0 }
    }
}

impl Parameters {
    /// Takes over what an update has of them and transactions or rewards depend on.
    pub(crate) fn adopt(&mut self, update: &ProtocolParamUpdate) {
        let set = |parameter: &mut u64, update: Option<u64>| *parameter = update.unwrap_or(*parameter);
        set(&mut self.protocol_version.major, update.protocol_version.as_ref().map(|version| version.0));
        set(&mut self.fee_constant, update.minfee_b.map(u64::from));
        set(&mut self.fee_per_byte, update.minfee_a.map(u64::from));
        set(&mut self.max_body_bytes, update.max_block_body_size.map(u64::from));
        set(&mut self.max_header_bytes, update.max_block_header_size.map(u64::from));
        set(&mut self.max_transaction_bytes, update.max_transaction_size.map(u64::from));
        set(&mut self.key_deposit, update.key_deposit);
        set(&mut self.pool_deposit, update.pool_deposit);
        set(&mut self.e_max, update.maximum_epoch);
        set(&mut self.n_opt, update.desired_number_of_stake_pools.map(u64::from));
        set(&mut self.min_pool_cost, update.min_pool_cost);
        let set = |parameter: &mut Ratio, update: &Option<RationalNumber>| {
            let update = update.as_ref().and_then(|update| Ratio::new(update.numerator, update.denominator));
            *parameter = update.unwrap_or(*parameter);
        };
        set(&mut self.a0, &update.pool_pledge_influence);
        set(&mut self.rho, &update.expansion_rate);
        set(&mut self.tau, &update.treasury_growth_rate);
    }

    /// Their number in [`crate::Parameters::encode`].
    pub(crate) const ENCODED: usize = 14;

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        for number in [self.fee_per_byte, self.fee_constant, self.max_body_bytes, self.max_transaction_bytes, self.max_header_bytes] {
            out.uint(number);
        }
        for number in [self.key_deposit, self.pool_deposit, self.e_max, self.n_opt] {
            out.uint(number);
        }
        [self.a0, self.rho, self.tau].into_iter().for_each(|share| put_ratio(out, share));
        out.array(2);
        out.uint(self.protocol_version.major);
        out.uint(self.protocol_version.minor);
        out.uint(self.min_pool_cost);
    }
}

/// A whole number of seconds is written without a fraction.
fn whole_where_it_is<S: Serializer>(seconds: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() && seconds.fract() == 0.0 {
        serializer.serialize_u64(*seconds as u64)
    } else {
        serializer.serialize_f64(*seconds)
    }
}

/// Extra entropy: in files an object of tag and contents.
mod entropy {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Tagged {
        tag: std::borrow::Cow<'static, str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        contents: Option<Hex<32>>,
    }

    pub(super) fn serialize<S: Serializer>(entropy: &Option<Hash32>, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            return entropy.serialize(serializer);
        }
        let tag = if entropy.is_some() { "Nonce" } else { "NeutralNonce" };
        Tagged { tag: tag.into(), contents: entropy.map(Hex) }.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Hash32>, D::Error> {
        if !deserializer.is_human_readable() {
            return Option::deserialize(deserializer);
        }
        Tagged::deserialize(deserializer).map(|tagged| tagged.contents.map(|Hex(entropy)| entropy))
    }
}

/// The text of a Shelley genesis with another start: only that is changed, since there may be millions of entries.
///
/// # Errors
/// It is no object with a start that is written without escapes.
pub fn with_start(text: &str, start: &str) -> Result<String, serde_json::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Start<'a> {
        /// A piece of the text.
        system_start: &'a str,
    }
    let Start { system_start } = serde_json::from_str(text)?;
    let place = system_start.as_ptr().addr() - text.as_ptr().addr();
    let mut stamped = String::with_capacity(text.len() + start.len());
    stamped.push_str(&text[..place]);
    stamped.push_str(start);
    stamped.push_str(&text[place + system_start.len()..]);
    Ok(stamped)
}

/// The text of a Shelley genesis without `initialFunds` and `staking`; all else as it was, byte by byte.
///
/// # Errors
/// It is no object, or a key is written with escapes.
pub fn without_entries(text: &str) -> Result<String, serde_json::Error> {
    /// The places of an object's keys in the text, and which of them are wanted.
    struct Keys<'a>(Vec<&'a str>);

    impl<'de> Deserialize<'de> for Keys<'de> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Object;

            impl<'de> Visitor<'de> for Object {
                type Value = Keys<'de>;

                fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                    formatter.write_str("an object")
                }

                fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                    let mut keys = Vec::new();
                    while let Some((key, IgnoredAny)) = map.next_entry::<&'de str, IgnoredAny>()? {
                        keys.push(key);
                    }
                    Ok(Keys(keys))
                }
            }

            deserializer.deserialize_map(Object)
        }
    }

    let Keys(keys) = serde_json::from_str(text)?;
    let place = |key: &str| key.as_ptr().addr() - text.as_ptr().addr();
    let (mut rest, mut from) = (String::new(), 0);
    for (number, key) in keys.iter().enumerate() {
        if !["initialFunds", "staking"].contains(key) {
            continue;
        }
        rest.push_str(&text[from..place(key)]);
        // Up to the next key's quotation mark, or to the end of the object.
        let (until, end) = match keys.get(number + 1) {
            Some(next) => (place(next) - 1, ","),
            None => (text.trim_end().len() - 1, ""),
        };
        let empty = if *key == "staking" { r#"{"pools":{},"stake":{}}"# } else { "{}" };
        rest.push_str(&format!("{key}\":{empty}{end}"));
        from = until;
    }
    rest.push_str(&text[from..]);
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_entries_of_a_genesis_are_left_out() {
        for (text, expected) in [
            (r#"{"a": 0.05, "initialFunds": {"60": 1}, "b" :[]}"#, r#"{"a": 0.05, "initialFunds":{},"b" :[]}"#),
            (r#"{"initialFunds" : {"60": 1} } "#, r#"{"initialFunds":{}} "#),
            (
                r#"{"staking":{"pools":{"a":{"staking":1}},"stake":{}},"initialFunds":{},"a":1}"#,
                r#"{"staking":{"pools":{},"stake":{}},"initialFunds":{},"a":1}"#,
            ),
            (r#"{"a":{"initialFunds":{"b":1}}}"#, r#"{"a":{"initialFunds":{"b":1}}}"#),
        ] {
            let rest = without_entries(text).unwrap();
            assert_eq!(rest, expected);
            serde_json::from_str::<serde_json::Value>(&rest).unwrap();
        }
        assert!(without_entries("[]").is_err());
    }

    #[test]
    fn only_the_start_of_a_shelley_genesis_changes() {
        let text = r#"{"initialFunds": {"a": 1}, "systemStart" : "2025-01-01T00:00:00Z", "x": {"systemStart": "no"}}"#;
        let expected = text.replace("2025-01-01T00:00:00Z", "2026-02-03T04:05:06Z");
        assert_eq!(with_start(text, "2026-02-03T04:05:06Z").unwrap(), expected);
        assert!(with_start("{}", "2026-02-03T04:05:06Z").is_err());
        assert!(with_start(r#"{"systemStart": "a\u0020b"}"#, "2026-02-03T04:05:06Z").is_err());
    }
}
