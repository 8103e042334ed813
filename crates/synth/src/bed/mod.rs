//! Beds: all files that a cluster of nodes needs to run a network of its own.
//!
//! ```text
//! bed.json                                    the bed itself: Bed
//! genesis/genesis.ERA.json                    the genesis files
//! genesis/pools-keys/poolN/                   keys and certificates of the pools, from 1 on
//! genesis/utxo-keys/utxoN/                    keys of the workload's funds
//! genesis/stake-delegators/, drep-keys/       keys of the first who delegate to each pool, and of the first DReps
//! node-I/config.json, topology.json           for each host, from 0 on
//! ```
//!
//! A bed's system start is a placeholder: [`stamp`] copies a bed with another one, and forges the past there, which depends on it.

mod check;
mod past;
mod population;
mod stamp;

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use slotmark_chain::ChainError;
use slotmark_network::shelley::{self, PROTOCOL_MAJORS, ProtocolVersion};
use slotmark_praos::envelope::{Envelope, GenesisUtxoSigningKey, GenesisUtxoVerificationKey};

pub use self::check::{Fault, check};
use self::population::Population;
pub(crate) use self::population::unowned_address;
pub use self::stamp::stamp;
use crate::budgets::Budgets;
use crate::error::SynthError;
use crate::genesis::MAX_EXTRA_OUTPUTS;
use crate::keys::public;
use crate::load::Fund;
use crate::network::configuration::{bed_options, configuration};
use crate::network::keys::{write_delegators, write_dreps, write_pools};
use crate::network::{Folder, Network, Staking};
use crate::plutus::Script;
use crate::pools::HotKeys;
use crate::recipe::PUBLIC_KES_PERIOD_SLOTS;

/// The version of `bed.json`.
pub const BED_SCHEMA: u32 = 1;
/// Host I listens on this port and I.
pub const FIRST_PORT: u16 = 30_000;
/// Hosts' addresses are those of the network for benchmarks (RFC 2544), 198.18.0.0/15.
const FIRST_ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
/// DReps whose keys are written; the seed gives the others.
const DREPS_WITH_KEYS: u64 = 3;
/// The most that a genesis holds of each.
const MAX_DELEGATORS: u64 = 10_000_000;
const MAX_DREPS: u64 = 1_000_000;
const MAX_FUNDS: u32 = 10_000;
const MAX_HOSTS: usize = 10_000;

/// A bed: what decides its files, as `bed.json` has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bed {
    /// [`BED_SCHEMA`].
    pub schema: u32,
    /// Decides all keys.
    pub seed: u64,
    /// The genesis, the same for every node.
    pub genesis: BedGenesis,
    /// From how many peers one block may be fetched at the same time.
    pub concurrency: u32,
    /// The hosts by number.
    pub hosts: Vec<BedHost>,
    /// Links between hosts, with their distance.
    pub links: Vec<BedLink>,
    /// Parameters that were changed from the profile's: parameter to the profile's value and the bed's.
    pub changed: BTreeMap<String, (Value, Value)>,
    /// The profile that the bed was made from, with the changes in it.
    pub profile: Value,
    /// The script of the workload's transactions; None for those that run nothing, and in beds of versions that had the loop alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<Script>,
}

/// The genesis of a bed, the same for every node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BedGenesis {
    /// Number of the network.
    pub network_magic: u32,
    /// Length of a slot in ns.
    pub slot_length_ns: u64,
    /// f of Praos.
    pub active_slot_coefficient: f64,
    /// k of Praos.
    pub security_parameter: u64,
    /// Slots an epoch.
    pub epoch_slots: u64,
    /// Bytes of a block's body at most.
    pub max_block_body_bytes: u64,
    /// The major version of the protocol; 10 where it isn't stated.
    #[serde(default = "first_version", skip_serializing_if = "is_first_version")]
    pub protocol_version: u64,
    /// Budgets of scripts; those of public networks where it isn't stated.
    #[serde(default, skip_serializing_if = "Budgets::are_public")]
    pub budgets: Budgets,
    /// Stake keys that delegate.
    pub delegators: u64,
    /// Unspent outputs that nothing spends.
    pub utxo_entries: u64,
    /// DReps.
    pub dreps: u64,
    /// Unspent outputs of the workload, each with a key of its own.
    pub funds: u32,
    /// The first slot in which nodes make blocks. Those before it are the past, which [`stamp`] forges; 0 where it has none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub first_slot: u64,
}

fn first_version() -> u64 {
    *PROTOCOL_MAJORS.start()
}

fn is_first_version(major: &u64) -> bool {
    *major == first_version()
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_false(value: &bool) -> bool {
    !value
}

/// A host of a bed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BedHost {
    /// Its name, which is also its folder's: `node-I`.
    pub name: String,
    /// The host's region.
    pub region: String,
    /// Address to listen on, in a network of its own.
    pub host_addr: Ipv4Addr,
    /// On which port, in any network.
    pub port: u16,
    /// The number of its pool, from 1 on; None for one that only follows.
    pub pool: Option<u32>,
    /// Stake of its pool, in any unit.
    pub stake: f64,
    /// True for one that no host follows.
    #[serde(default, skip_serializing_if = "is_false")]
    pub edge: bool,
}

/// A connection over which one host follows another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BedLink {
    /// The number of the host that follows.
    pub follower: u32,
    /// The number of the host that is followed.
    pub producer: u32,
    /// Time that a message travels, in ns.
    pub latency_ns: u64,
}

/// The addresses at which the hosts of a cluster are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// Each at an address of its own.
    OwnNetworks,
    /// All at 127.0.0.1.
    Loopback,
}

impl BedHost {
    /// Host number `number` in a region; `stake` is that of its pool, if it has one.
    pub fn new(number: u32, region: String, stake: Option<f64>) -> Self {
        // .0 and .255 are left out: programs take them for a network's own and its broadcast address.
        let place = number / 254 * 256 + number % 254 + 1;
        Self {
            name: format!("node-{number}"),
            region,
            host_addr: Ipv4Addr::from(u32::from(FIRST_ADDRESS) + place),
            port: FIRST_PORT.saturating_add(u16::try_from(number).unwrap_or(u16::MAX)),
            pool: stake.map(|_| number + 1),
            stake: stake.unwrap_or_default(),
            edge: false,
        }
    }

    /// Returns the address at which it is reached.
    pub fn address(&self, addresses: Addresses) -> Ipv4Addr {
        match addresses {
            Addresses::OwnNetworks => self.host_addr,
            Addresses::Loopback => Ipv4Addr::LOCALHOST,
        }
    }
}

impl Bed {
    /// A small bed by seed 1, for the tests of all that reads one: slots of 1 s, two of five with a block, a host with a pool for each of these stakes, no
    /// links, and no profile.
    pub fn small(stakes: &[f64]) -> Self {
        let host = |(number, stake): (u32, &f64)| BedHost::new(number, String::new(), Some(*stake));
        Self {
            schema: BED_SCHEMA,
            seed: 1,
            genesis: BedGenesis {
                network_magic: 42,
                slot_length_ns: 1_000_000_000,
                active_slot_coefficient: 0.4,
                security_parameter: 20,
                epoch_slots: 500,
                max_block_body_bytes: 16_384,
                protocol_version: first_version(),
                budgets: Budgets::PUBLIC,
                delegators: 1,
                utxo_entries: 0,
                dreps: 0,
                funds: 1,
                first_slot: 0,
            },
            concurrency: 1,
            hosts: (0..).zip(stakes).map(host).collect(),
            links: Vec::new(),
            changed: BTreeMap::new(),
            profile: Value::Null,
            script: None,
        }
    }

    /// Reads a bed's `bed.json`.
    ///
    /// # Errors
    /// It can't be read, isn't one, is of another version, or has numbers that no genesis can have; the message names file and
    /// remedy.
    pub fn read(folder: &Path) -> Result<Self, SynthError> {
        let path = folder.join("bed.json");
        let wrong = |message: String| SynthError::Bed { path: path.clone(), message };
        let bytes = std::fs::read(&path)
            .map_err(|error| wrong(format!("can't be read ({error}): expected a folder that `slotmark cluster create` made.")))?;
        #[derive(Deserialize)]
        struct Version {
            schema: u32,
        }
        let remedy = "Make the bed anew with `slotmark cluster create`.";
        let not = |error: serde_json::Error| wrong(format!("isn't the description of a bed ({error}). {remedy}"));
        let Version { schema } = serde_json::from_slice(&bytes).map_err(not)?;
        if schema != BED_SCHEMA {
            return Err(wrong(format!("has schema {schema}: expected {BED_SCHEMA}. {remedy}")));
        }
        let mut bed: Self = serde_json::from_slice(&bytes).map_err(not)?;
        if let Some(Excess { what, .. }) = bed.excess() {
            return Err(wrong(format!("{what}. {remedy}")));
        }
        if bed.hosts.iter().enumerate().any(|(number, host)| host.name != format!("node-{number}")) {
            return Err(wrong(format!("its hosts aren't node-0, node-1 and so on. {remedy}")));
        }
        bed.genesis.budgets.check().map_err(|error| wrong(format!("{error}. {remedy}")))?;
        if let Some(script) = bed.script.take() {
            let script = script.under(bed.genesis.protocol_version);
            let script = script.and_then(|script| script.used(bed.genesis.budgets.transaction).map(|_| script));
            bed.script = Some(script.map_err(|error| wrong(format!("{error}. {remedy}")))?);
        }
        let hosts = bed.hosts.len() as u32;
        if bed.links.iter().any(|link| link.follower >= hosts || link.producer >= hosts) {
            return Err(wrong(format!("a link names a host that isn't there. {remedy}")));
        }
        Ok(bed)
    }

    /// Writes the bed's files into a folder. `progress` is called with the entries of the genesis that are written and how many
    /// there are; it stops the work with `Break`.
    ///
    /// # Errors
    /// Numbers that no genesis can have, a file that can't be written, or `progress` gave `Break` ([`SynthError::Interrupted`]).
    pub fn write(&self, path: &Path, progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>) -> Result<(), SynthError> {
        if let Some(Excess { parameter, what }) = self.excess() {
            return Err(SynthError::Refused(format!("{what}. Give another with --set {parameter}=….")));
        }
        self.genesis.budgets.check()?;
        let network = self.network();
        let population = self.population()?;
        let folder = Folder::new(path);
        let genesis = folder.below("genesis");
        let (total, mut done, mut go_on) = (population.entries(), 0, ControlFlow::Continue(()));
        let funds = population.funds().map_while(|fund| {
            done += 1;
            if done % 10_000 == 0 || done == total {
                go_on = progress(done, total);
            }
            go_on.is_continue().then_some(fund)
        });
        let staking = Staking { pools: &population.pools, stake_hash: &|key| population.stake_hash(key), others: Vec::new() };
        let hashes = network.write_genesis(&genesis, genesis_name, staking, funds)?;
        if go_on.is_break() {
            return Err(SynthError::Interrupted);
        }
        let hot_keys = HotKeys::new(self.seed, network.kes_periods(), &population.pools);
        write_pools(&genesis, &population.pools, hot_keys.last())?;
        write_delegators(&genesis, population.first_delegators())?;
        write_dreps(&genesis, self.seed, self.genesis.dreps.min(DREPS_WITH_KEYS))?;
        for number in 0..self.genesis.funds {
            let secret = population::fund_secret(self.seed, number);
            let place = genesis.below(format!("utxo-keys/utxo{}", number + 1));
            place.pair("utxo", &GenesisUtxoSigningKey(secret), &GenesisUtxoVerificationKey(public(&secret)))?;
        }
        for (number, host) in self.hosts.iter().enumerate() {
            let place = folder.below(&host.name);
            let mut configuration = configuration(|era| format!("../genesis/{}", genesis_name(era)), &hashes);
            let degree = self.links.iter().filter(|link| link.follower as usize == number).count();
            configuration.extend(bed_options(&host.name, degree, self.concurrency));
            place.json("config.json", &configuration)?;
            place.json("topology.json", &self.topology(number as u32, Addresses::OwnNetworks))?;
        }
        let specs: serde_json::Map<String, Value> =
            self.hosts.iter().enumerate().map(|(i, host)| (host.name.clone(), spec(i, host))).collect();
        folder.json("node-specs.json", &specs)?;
        folder.file("bed.json", |file| {
            serde_json::to_writer_pretty(&mut *file, self)?;
            writeln!(file)
        })?;
        Ok(())
    }

    fn population(&self) -> Result<Population, SynthError> {
        let stakes: Vec<f64> = self.hosts.iter().filter(|host| host.pool.is_some()).map(|host| host.stake).collect();
        Population::new(self.seed, &self.genesis, &stakes)
    }

    /// The workload's funds, with the keys that are in the bed's folder.
    ///
    /// # Errors
    /// A key can't be read; the message names its file.
    pub fn funds(&self, folder: &Path) -> Result<Vec<Fund>, SynthError> {
        (1..=self.genesis.funds)
            .map(|number| {
                let path = folder.join(format!("genesis/utxo-keys/utxo{number}/utxo.skey"));
                let wrong = |why: String| SynthError::Bed {
                    path: path.clone(),
                    message: format!("{why}. `slotmark cluster check` names all that is wrong with the bed."),
                };
                let text = std::fs::read_to_string(&path).map_err(|error| wrong(format!("can't be read ({error})")))?;
                let key = Envelope::read(&text).and_then(|envelope| envelope.open());
                let GenesisUtxoSigningKey(secret) = key.map_err(|error| wrong(format!("is {error}")))?;
                Ok(Fund::new(&secret, population::lovelace_of_fund(self.genesis.funds)))
            })
            .collect()
    }

    /// The topology file of a host: those that it follows, each in a group of its own, and no others.
    pub fn topology(&self, host: u32, addresses: Addresses) -> Value {
        let producers = self.links.iter().filter(|link| link.follower == host).map(|link| &self.hosts[link.producer as usize]);
        let group = |producer: &BedHost| {
            let access_point = json!({"address": producer.address(addresses), "port": producer.port});
            json!({"accessPoints": [access_point], "advertise": false, "trustable": true, "valency": 1})
        };
        json!({"localRoots": producers.map(group).collect::<Vec<_>>(), "publicRoots": [], "useLedgerAfterSlot": -1})
    }

    fn network(&self) -> Network {
        let genesis = &self.genesis;
        Network {
            seed: self.seed,
            magic: genesis.network_magic,
            slot_length_ns: genesis.slot_length_ns,
            active_slot_coefficient: genesis.active_slot_coefficient,
            security_parameter: genesis.security_parameter,
            epoch_slots: genesis.epoch_slots,
            kes_period_slots: PUBLIC_KES_PERIOD_SLOTS,
            max_block_body_bytes: genesis.max_block_body_bytes,
            dreps: genesis.dreps,
            protocol_version: ProtocolVersion::of(genesis.protocol_version),
            budgets: genesis.budgets,
            costs: self.script.as_ref().map(Script::costs).unwrap_or_default().under(genesis.protocol_version),
            rewards: false,
        }
    }

    /// The first parameter that is outside of what a genesis, or this program, can have.
    fn excess(&self) -> Option<Excess> {
        let genesis = &self.genesis;
        let limits = [
            ("network.hosts", self.hosts.len() as u64, 1, MAX_HOSTS as u64),
            ("genesis.security_parameter", genesis.security_parameter, 1, u64::from(u32::MAX)),
            ("genesis.delegators", genesis.delegators, 0, MAX_DELEGATORS),
            ("genesis.utxo_entries", genesis.utxo_entries, 0, MAX_EXTRA_OUTPUTS),
            ("genesis.dreps", genesis.dreps, 0, MAX_DREPS),
            ("genesis.protocol_version", genesis.protocol_version, *PROTOCOL_MAJORS.start(), *PROTOCOL_MAJORS.end()),
            ("live.funds", u64::from(genesis.funds), 1, u64::from(MAX_FUNDS)),
        ];
        let outside = limits.into_iter().find(|(_, found, least, most)| !(least..=most).contains(&found));
        if let Some((parameter, found, least, most)) = outside {
            return Some(Excess { parameter, what: format!("{parameter} is {found}: expected {least} to {most}") });
        }
        let share = genesis.active_slot_coefficient;
        if !(share > 0.0 && share <= 1.0) {
            let parameter = "genesis.active_slot_coefficient";
            return Some(Excess { parameter, what: format!("{parameter} is {share:?}: expected more than 0 and at most 1") });
        }
        if genesis.slot_length_ns == 0 {
            let parameter = "genesis.slot_length";
            return Some(Excess { parameter, what: format!("{parameter} is 0: expected more") });
        }
        let most = PUBLIC_KES_PERIOD_SLOTS * shelley::MAX_KES_EVOLUTIONS / 2;
        if genesis.first_slot > most {
            let what = format!(
                "its blocks before a run are in {} slots: expected {most} at most, half of what the keys of pools are for",
                genesis.first_slot
            );
            return Some(Excess { parameter: "live.past_epochs", what });
        }
        let GenesisRule { least, words } = GenesisRule::of_epoch(genesis.security_parameter, share);
        let (parameter, found) = ("genesis.epoch_slots", genesis.epoch_slots);
        (found < least).then(|| Excess { parameter, what: format!("{parameter} is {found}: expected {least} at least, {words}") })
    }
}

/// A number of a bed that is too small or too large.
struct Excess {
    /// The parameter of profiles that it comes from.
    parameter: &'static str,
    /// The value, and what is expected.
    what: String,
}

/// The name of an era's genesis file.
fn genesis_name(era: &str) -> String {
    format!("genesis.{}.json", era.to_lowercase())
}

/// The least length of an epoch, and why.
struct GenesisRule {
    least: u64,
    words: &'static str,
}

impl GenesisRule {
    /// Nodes refuse less than 3k/f; with 4k/f or less, an epoch's nonce is settled before its stake is.
    fn of_epoch(security_parameter: u64, active_slot_coefficient: f64) -> Self {
        let settling = 4.0 * security_parameter as f64 / active_slot_coefficient;
        Self { least: (settling as u64).saturating_add(1), words: "more than 4k/f" }
    }
}

/// A host as the workbench describes it.
fn spec(number: usize, host: &BedHost) -> Value {
    let pools = u32::from(host.pool.is_some());
    let kind = match host.pool {
        Some(_) => "pool",
        None if host.edge => "edge",
        None => "relay",
    };
    json!({
        "i": number, "kind": kind, "pools": pools, "name": host.name, "isProducer": pools == 1,
        "host_addr": host.host_addr, "port": host.port, "region": host.region,
    })
}

/// The error of a file of a bed that can't be written.
fn write_error(path: PathBuf) -> impl FnOnce(io::Error) -> SynthError {
    move |source| SynthError::Chain(ChainError::Write { path, source })
}
