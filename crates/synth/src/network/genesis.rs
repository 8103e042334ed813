//! Genesis files of all eras, as cardano-node reads them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};
use slotmark_chain::hash::blake2b_224;

use super::Network;
use super::keys::drep_secret;
use crate::address::{Address, Hash28};
use crate::keys::public;
use crate::parameters::*;
use crate::plutus::Language;
use crate::pools::Pool;
use crate::random::secret;

/// The epoch in which the DReps expire that the genesis has.
const DREP_EXPIRY: u64 = 1_000;

pub(super) fn byron(network: &Network) -> Value {
    let stakeholder = hex::encode(blake2b_224(&[&public(&secret(network.seed, "byron", 0))]));
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
        "protocolConsts": {"k": network.security_parameter, "protocolMagic": network.magic},
        "startTime": SYSTEM_START_S,
    })
}

/// The unspent outputs first, one by one, since there may be millions.
pub(super) fn write_shelley(
    file: &mut dyn Write,
    network: &Network,
    pools: &[Pool],
    stake_hash: &dyn Fn(u32) -> Hash28,
    funds: impl Iterator<Item = (Address, u64)>,
) -> io::Result<()> {
    let funds = Entries(RefCell::new(funds.map(|(address, lovelace)| (hex::encode(address.bytes()), lovelace))));
    let shelley = Shelley { funds, rest: shelley(network), staking: Staking { pools, stake_hash } };
    serde_json::to_writer_pretty(&mut *file, &shelley)?;
    writeln!(file)
}

/// An object of the entries that an iterator gives. It can be written once.
struct Entries<I>(RefCell<I>);

impl<K: Serialize, V: Serialize, I: Iterator<Item = (K, V)>> Serialize for Entries<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(&mut *self.0.borrow_mut())
    }
}

struct Shelley<'a, I> {
    funds: Entries<I>,
    rest: Map<String, Value>,
    staking: Staking<'a>,
}

impl<I: Iterator<Item = (String, u64)>> Serialize for Shelley<'_, I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut shelley = serializer.serialize_map(None)?;
        shelley.serialize_entry("initialFunds", &self.funds)?;
        for (name, value) in &self.rest {
            match name.as_str() {
                "staking" => shelley.serialize_entry(name, &self.staking)?,
                _ => shelley.serialize_entry(name, value)?,
            }
        }
        shelley.end()
    }
}

/// The pools, and who delegates to them.
struct Staking<'a> {
    pools: &'a [Pool],
    stake_hash: &'a dyn Fn(u32) -> Hash28,
}

impl Serialize for Staking<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let pools: BTreeMap<String, Value> = self.pools.iter().map(|pool| (hex::encode(pool.id), self.pool(pool))).collect();
        let of_pool = |pool: &'_ Pool| pool.delegators.clone().map(|key| ((self.stake_hash)(key), pool.id)).collect::<Vec<_>>();
        let mut stake: Vec<(Hash28, Hash28)> = self.pools.iter().flat_map(of_pool).collect();
        stake.sort_unstable();
        let stake = stake.iter().map(|(key, pool)| (hex::encode(key), hex::encode(pool)));
        let mut staking = serializer.serialize_map(None)?;
        staking.serialize_entry("pools", &pools)?;
        staking.serialize_entry("stake", &Entries(RefCell::new(stake)))?;
        staking.end()
    }
}

impl Staking<'_> {
    /// A pool as it is registered; its rewards go to the first who delegates to it.
    fn pool(&self, pool: &Pool) -> Value {
        let account = hex::encode((self.stake_hash)(pool.delegators.start));
        json!({
            "cost": 0,
            "margin": 0.0,
            "metadata": null,
            "owners": [],
            "pledge": 0,
            "publicKey": hex::encode(pool.id),
            "relays": [],
            "rewardAccount": {"credential": {"keyHash": account}, "network": "Testnet"},
            "vrf": hex::encode(pool.vrf_key_hash()),
        })
    }
}

/// All but the unspent outputs and the pools, for which there is null.
fn shelley(network: &Network) -> Map<String, Value> {
    // A whole number of seconds is written without a fraction.
    let slot_length = match network.slot_length_ns % 1_000_000_000 {
        0 => json!(network.slot_length_ns / 1_000_000_000),
        _ => json!(network.slot_length_ns as f64 / 1e9),
    };
    let shelley = json!({
        "activeSlotsCoeff": network.active_slot_coefficient,
        "epochLength": network.epoch_slots,
        "genDelegs": {},
        "maxKESEvolutions": MAX_KES_EVOLUTIONS,
        "maxLovelaceSupply": MAX_LOVELACE,
        "networkId": "Testnet",
        "networkMagic": network.magic,
        "protocolParams": {
            "a0": 0.3,
            "decentralisationParam": 0,
            "eMax": 18,
            "extraEntropy": {"tag": "NeutralNonce"},
            "keyDeposit": KEY_DEPOSIT,
            "maxBlockBodySize": network.max_block_body_bytes,
            "maxBlockHeaderSize": MAX_HEADER_BYTES,
            "maxTxSize": MAX_TX_BYTES,
            "minFeeA": MIN_FEE_PER_BYTE,
            "minFeeB": MIN_FEE_CONSTANT,
            "minPoolCost": 0,
            "minUTxOValue": 0,
            "nOpt": 500,
            "poolDeposit": POOL_DEPOSIT,
            "protocolVersion": {"major": PROTOCOL_VERSION.0, "minor": PROTOCOL_VERSION.1},
            "rho": 0.003,
            "tau": 1.0,
        },
        "securityParam": network.security_parameter,
        "slotLength": slot_length,
        "slotsPerKESPeriod": network.kes_period_slots,
        "staking": null,
        "systemStart": SYSTEM_START,
        "updateQuorum": 1,
    });
    match shelley {
        Value::Object(shelley) => shelley,
        _ => Map::new(),
    }
}

pub(super) fn alonzo(network: &Network) -> Value {
    let price = |(numerator, denominator): (u64, u64)| numerator as f64 / denominator as f64;
    let mut alonzo = json!({
        "collateralPercentage": COLLATERAL_PERCENT,
        "costModels": {"PlutusV1": &PLUTUS_V1_COST_MODEL[..]},
        "executionPrices": {"prMem": price(MEMORY_PRICE), "prSteps": price(STEP_PRICE)},
        "lovelacePerUTxOWord": LOVELACE_PER_UTXO_WORD,
        "maxBlockExUnits": {"exUnitsMem": MAX_BLOCK_MEMORY, "exUnitsSteps": MAX_BLOCK_STEPS},
        "maxCollateralInputs": MAX_COLLATERAL_INPUTS,
        "maxTxExUnits": {"exUnitsMem": MAX_TX_MEMORY, "exUnitsSteps": MAX_TX_STEPS},
        "maxValueSize": MAX_VALUE_BYTES,
    });
    // Alonzo itself has no Plutus V2: its cost model is for later eras, and only there where a script needs it.
    if network.language == Some(Language::V2) {
        alonzo["extraConfig"] = json!({"costModels": {"PlutusV2": &PLUTUS_V2_COST_MODEL[..]}});
    }
    alonzo
}

pub(super) fn conway(network: &Network) -> Value {
    let dreps: Map<String, Value> = (0..network.dreps)
        .map(|number| {
            let hash = blake2b_224(&[&public(&drep_secret(network.seed, number))]);
            (format!("keyHash-{}", hex::encode(hash)), json!({"deposit": DREP_DEPOSIT, "expiry": DREP_EXPIRY}))
        })
        .collect();
    json!({
        "committee": {"members": {}, "threshold": {"denominator": 3, "numerator": 2}},
        "committeeMaxTermLength": 365,
        "committeeMinSize": 0,
        "constitution": {"anchor": {"dataHash": "00".repeat(32), "url": ""}},
        "dRepActivity": 20,
        "dRepDeposit": DREP_DEPOSIT,
        "dRepVotingThresholds": {
            "committeeNoConfidence": 0.6,
            "committeeNormal": 0.67,
            "hardForkInitiation": 0.6,
            "motionNoConfidence": 0.67,
            "ppEconomicGroup": 0.67,
            "ppGovGroup": 0.75,
            "ppNetworkGroup": 0.67,
            "ppTechnicalGroup": 0.67,
            "treasuryWithdrawal": 0.67,
            "updateToConstitution": 0.75,
        },
        "govActionDeposit": 100_000_000_000_u64,
        "govActionLifetime": 30,
        "initialDReps": dreps,
        "minFeeRefScriptCostPerByte": REFERENCE_SCRIPT_FEE_PER_BYTE,
        "plutusV3CostModel": &PLUTUS_V3_COST_MODEL[..],
        "poolVotingThresholds": {
            "committeeNoConfidence": 0.51,
            "committeeNormal": 0.51,
            "hardForkInitiation": 0.51,
            "motionNoConfidence": 0.51,
            "ppSecurityGroup": 0.51,
        },
    })
}

/// What nodes from 10.6 on ask for beside the others.
pub(super) fn dijkstra() -> Value {
    json!({
        "maxRefScriptSizePerBlock": 1_048_576,
        "maxRefScriptSizePerTx": 204_800,
        "refScriptCostMultiplier": 1.2,
        "refScriptCostStride": 25_600,
    })
}
