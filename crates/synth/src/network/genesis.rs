//! The genesis files of a network of ours: what is its own in them. `slotmark_network` has the rest.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};
use slotmark_chain::hash::blake2b_224;
use slotmark_network::alonzo::Alonzo;
use slotmark_network::conway::{self, Conway};
use slotmark_network::shelley::{self, Shelley};
use slotmark_network::{PLUTUS_V1_COST_MODEL, PLUTUS_V3_COST_MODEL, Ratio, byron};

use super::Network;
use super::keys::drep_secret;
use crate::address::{Address, Hash28};
use crate::keys::public;
use crate::plutus::{Language, LaterCosts, V3Costs};
use crate::pools::Pool;
use crate::random::secret;

/// The share of rewards that goes to the treasury where not all of it does, as on mainnet.
const TAU_WITH_REWARDS: Ratio = Ratio::new(2, 10).expect("a fraction");

pub(super) fn byron(network: &Network) -> Value {
    let stakeholder = hex::encode(blake2b_224(&[&public(&secret(network.seed, "byron", 0))]));
    byron::stated(&stakeholder, network.security_parameter, network.magic, shelley::SYSTEM_START_S)
}

/// Writes the unspent outputs one by one, since there may be millions.
pub(super) fn write_shelley(
    file: &mut dyn Write,
    network: &Network,
    staking: Staking<'_>,
    funds: impl Iterator<Item = (Address, u64)>,
) -> io::Result<()> {
    let funds = OneByOne(RefCell::new(funds.map(|(address, lovelace)| (hex::encode(address.bytes()), lovelace))));
    let shelley = Shelley {
        active_slots_coeff: network.active_slot_coefficient,
        epoch_slots: network.epoch_slots,
        network_magic: network.magic,
        parameters: shelley::Parameters {
            max_body_bytes: network.max_block_body_bytes,
            protocol_version: network.protocol_version,
            tau: if network.rewards { TAU_WITH_REWARDS } else { shelley::PARAMETERS.tau },
            ..shelley::PARAMETERS
        },
        security_parameter: network.security_parameter,
        slot_length: network.slot_length_ns as f64 / 1e9,
        kes_period_slots: network.kes_period_slots,
        ..Shelley::stated(funds, staking)
    };
    serde_json::to_writer_pretty(&mut *file, &shelley)?;
    writeln!(file)
}

/// An object of the entries that an iterator gives. It can be written once.
struct OneByOne<I>(RefCell<I>);

impl<K: Serialize, V: Serialize, I: Iterator<Item = (K, V)>> Serialize for OneByOne<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(&mut *self.0.borrow_mut())
    }
}

/// The pools, and who delegates to them.
pub(crate) struct Staking<'a> {
    pub(crate) pools: &'a [Pool],
    pub(crate) stake_hash: &'a dyn Fn(u32) -> Hash28,
    /// Delegators beside the pools' own, each with its pool.
    pub(crate) others: Vec<(Hash28, Hash28)>,
}

impl Serialize for Staking<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let pools: BTreeMap<String, Value> = self.pools.iter().map(|pool| (hex::encode(pool.id), self.pool(pool))).collect();
        let of_pool = |pool: &'_ Pool| pool.delegators.clone().map(|key| ((self.stake_hash)(key), pool.id)).collect::<Vec<_>>();
        let mut stake: Vec<(Hash28, Hash28)> = self.pools.iter().flat_map(of_pool).chain(self.others.iter().copied()).collect();
        stake.sort_unstable();
        let stake = stake.iter().map(|(key, pool)| (hex::encode(key), hex::encode(pool)));
        let mut staking = serializer.serialize_map(None)?;
        staking.serialize_entry("pools", &pools)?;
        staking.serialize_entry("stake", &OneByOne(RefCell::new(stake)))?;
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

/// Cost models beside that of Plutus V1 are there only where a script needs them.
pub(super) fn alonzo(network: &Network) -> Alonzo {
    let LaterCosts { v2, v3 } = network.costs;
    let later = [(v2, Language::V2), (v3 > V3Costs::Genesis, Language::V3)];
    let later = later.map(|(needed, language)| needed.then(|| network.costs.model(language)));
    Alonzo::stated(network.budgets.alonzo(), &PLUTUS_V1_COST_MODEL, later)
}

pub(super) fn conway(network: &Network) -> Conway {
    let dreps = (0..network.dreps).map(|number| blake2b_224(&[&public(&drep_secret(network.seed, number))]));
    Conway::stated(conway::PARAMETERS, &PLUTUS_V3_COST_MODEL, dreps)
}
