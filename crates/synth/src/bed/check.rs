//! Checks for a bed that was changed by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use slotmark_chain::Hash32;
use slotmark_chain::hash::{blake2b_224, blake2b_256};
use slotmark_network::byron::{self, Byron};
use slotmark_network::{AccessPoint, Hex, HexText, Shelley, Topology};
use slotmark_praos::envelope::{
    ColdSigningKey, ColdVerificationKey, Envelope, Enveloped, GenesisUtxoSigningKey, GenesisUtxoVerificationKey, IssueCounter,
    KesSigningKey, KesVerificationKey, OperationalCertificate, VrfSigningKey, VrfVerificationKey,
};
use slotmark_praos::{certificate, kes, vrf};

use super::{Bed, BedHost, GenesisRule, genesis_name};
use crate::address::Hash28;
use crate::error::SynthError;
use crate::keys::public;
use crate::load::fund_address;
use crate::network::ERAS;

const ANEW: &str = "make the bed anew with `slotmark cluster create`";

/// One thing that is wrong with a bed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The file, from the bed's folder on.
    pub file: String,
    /// The fault.
    pub what: String,
    /// The remedy.
    pub remedy: String,
}

/// All that is wrong with a bed; nothing where nodes can run on it.
///
/// # Errors
/// `bed.json` can't be read, so that the expected content is unknown.
pub fn check(folder: &Path) -> Result<Vec<Fault>, SynthError> {
    let bed = Bed::read(folder)?;
    let mut check = Check { folder, bed: &bed, faults: Vec::new() };
    check.description();
    check.addresses();
    let texts = ERAS.map(|era| check.text(&genesis_file(era)));
    check.configurations(&texts);
    check.topologies();
    if let Some(shelley) = check.shelley(texts[1].as_deref()) {
        check.times(texts[0].as_deref(), &shelley);
        check.rules(&shelley);
        check.pools(&shelley);
        check.funds(&shelley);
    }
    Ok(check.faults)
}

fn genesis_file(era: &str) -> String {
    format!("genesis/{}", genesis_name(era))
}

struct Check<'a> {
    folder: &'a Path,
    bed: &'a Bed,
    faults: Vec<Fault>,
}

/// The host that is reached at an address and port, in a network of its own or at 127.0.0.1.
fn reached<'b>(bed: &'b Bed, address: &str, port: u16) -> Option<&'b BedHost> {
    let address: Ipv4Addr = address.parse().ok()?;
    bed.hosts.iter().find(|host| host.port == port && (address == host.host_addr || address == Ipv4Addr::LOCALHOST))
}

impl Check<'_> {
    fn fault(&mut self, file: impl Into<String>, what: impl Into<String>, remedy: impl Into<String>) {
        self.faults.push(Fault { file: file.into(), what: what.into(), remedy: remedy.into() });
    }

    /// A file's text; a fault where it can't be read.
    fn text(&mut self, file: &str) -> Option<String> {
        match fs::read_to_string(self.folder.join(file)) {
            Ok(text) => Some(text),
            Err(error) => {
                let what =
                    if error.kind() == std::io::ErrorKind::NotFound { "is missing".to_owned() } else { format!("can't be read ({error})") };
                self.fault(file, what, format!("put it back, or {ANEW}"));
                None
            }
        }
    }

    fn json<T: for<'d> Deserialize<'d>>(&mut self, file: &str) -> Option<T> {
        let text = self.text(file)?;
        self.parsed(file, serde_json::from_str(&text))
    }

    fn parsed<T>(&mut self, file: &str, parsed: Result<T, serde_json::Error>) -> Option<T> {
        parsed.map_err(|error| self.fault(file, format!("isn't what it should be: {error}"), format!("mend it there, or {ANEW}"))).ok()
    }

    /// Returns the content of a text envelope.
    fn envelope<T: Enveloped>(&mut self, file: &str) -> Option<T> {
        let text = self.text(file)?;
        let content = Envelope::read(&text).and_then(|envelope| envelope.open());
        content.map_err(|error| self.fault(file, format!("is {error}"), format!("put the right file back, or {ANEW}"))).ok()
    }

    fn description(&mut self) {
        for file in ["profile.json", "meta.json", "topology.json", "node-specs.json"] {
            let _: Option<serde_json::Map<String, Value>> = self.json(file);
        }
        let _ = self.text("profile.toml");
    }

    /// Hosts share a machine: without networks of their own they differ by their ports alone.
    fn addresses(&mut self) {
        let (mut ports, mut addresses, mut pools) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for host in &self.bed.hosts {
            if let Some(other) = ports.insert(host.port, &host.name) {
                self.fault(
                    "bed.json",
                    format!("{} and {other} both have port {}", host.name, host.port),
                    "give each host a port of its own",
                );
            }
            if let Some(other) = addresses.insert(host.host_addr, &host.name) {
                let what = format!("{} and {other} both have address {}", host.name, host.host_addr);
                self.fault("bed.json", what, "give each host an address of its own");
            }
            let Some(pool) = host.pool else { continue };
            if let Some(other) = pools.insert(pool, &host.name) {
                self.fault("bed.json", format!("{} and {other} both have pool {pool}", host.name), "give each pool to one host");
            }
        }
        if pools.is_empty() {
            self.fault("bed.json", "no host has a pool, so there are no blocks", ANEW);
        }
    }

    fn configurations(&mut self, texts: &[Option<String>; 5]) {
        // Hosts by what their configurations have for each era's hash: where a genesis was changed, all are wrong in the same way.
        let mut stated: BTreeMap<(usize, String), Vec<&str>> = BTreeMap::new();
        for host in &self.bed.hosts {
            let file = format!("{}/config.json", host.name);
            let Some(configuration) = self.json::<serde_json::Map<String, Value>>(&file) else { continue };
            for (place, era) in ERAS.iter().enumerate() {
                let expected = format!("../{}", genesis_file(era));
                let key = format!("{era}GenesisFile");
                if configuration.get(&key).and_then(Value::as_str) != Some(&expected) {
                    self.fault(&file, format!("{key} isn't {expected}"), format!("write \"{key}\": \"{expected}\""));
                }
                match configuration.get(&format!("{era}GenesisHash")).and_then(Value::as_str) {
                    Some(hash) => stated.entry((place, hash.to_owned())).or_default().push(&host.name),
                    None => self.fault(&file, format!("{era}GenesisHash is missing"), format!("write the hash of {}", genesis_file(era))),
                }
                let fork = format!("Test{era}HardForkAtEpoch");
                if era == &"Conway" && configuration.get(&fork).and_then(Value::as_u64) != Some(0) {
                    self.fault(
                        &file,
                        format!("{fork} isn't 0, and pools of this genesis make no older blocks"),
                        format!("write \"{fork}\": 0"),
                    );
                }
            }
        }
        for ((place, hash), hosts) in stated {
            let Some(text) = &texts[place] else { continue };
            let file = genesis_file(ERAS[place]);
            let Some(found) = Self::genesis_hash(place, text) else { continue };
            if found != hash {
                let (first, more) = (hosts[0], hosts.len() - 1);
                let whose = if more == 0 { first.to_owned() } else { format!("{first} and {more} other hosts") };
                let what = format!("its hash is {found}, but the configuration of {whose} has {hash}");
                self.fault(file, what, format!("put the file back, or write this hash as {}GenesisHash", ERAS[place]));
            }
        }
    }

    fn genesis_hash(era: usize, text: &str) -> Option<String> {
        let hash: Hash32 = if era == 0 {
            // That it isn't JSON is found where its fields are read.
            byron::hash(text).ok()?
        } else {
            blake2b_256(&[text.as_bytes()])
        };
        Some(hex::encode(hash))
    }

    fn topologies(&mut self) {
        let bed = self.bed;
        let mut links: BTreeSet<(&str, &str)> = BTreeSet::new();
        let mut all_known = true;
        for host in &bed.hosts {
            let file = format!("{}/topology.json", host.name);
            let Some(topology) = self.json::<Topology>(&file) else {
                all_known = false;
                continue;
            };
            for group in &topology.local_roots {
                if group.valency.or(group.hot_valency) != Some(group.access_points.len() as u64) {
                    let what = format!("a group of {} access points doesn't have that valency", group.access_points.len());
                    self.fault(&file, what, "write it as valency, so that the node follows all of them");
                }
                for AccessPoint { address, port } in &group.access_points {
                    match reached(bed, address, *port) {
                        Some(other) if other.name == host.name => {
                            self.fault(&file, format!("{} follows itself", host.name), "remove this access point");
                        }
                        Some(other) if other.edge => {
                            self.fault(&file, format!("follows {}, an edge host", other.name), "remove this access point");
                        }
                        Some(other) => {
                            links.insert((host.name.as_str(), other.name.as_str()));
                        }
                        None => {
                            all_known = false;
                            let remedy = "write the address and port of one in bed.json, or remove this access point";
                            self.fault(&file, format!("no host of the bed is at {address}:{port}"), remedy);
                        }
                    }
                }
            }
        }
        // Ways that a mistake hides are not missed beside it.
        if all_known {
            self.connected(&links);
        }
    }

    /// Blocks have a way from each host to every other one; of an edge host only to it.
    fn connected(&mut self, links: &BTreeSet<(&str, &str)>) {
        let Some(first) = self.bed.hosts.first() else { return };
        for forward in [true, false] {
            let mut seen = BTreeSet::from([first.name.as_str()]);
            let mut open = vec![first.name.as_str()];
            while let Some(host) = open.pop() {
                for (follower, producer) in links {
                    let (from, to) = if forward { (producer, follower) } else { (follower, producer) };
                    if *from == host && seen.insert(to) {
                        open.push(to);
                    }
                }
            }
            let mut wanted = self.bed.hosts.iter().filter(|host| forward || !host.edge).map(|host| host.name.as_str());
            if let Some(other) = wanted.find(|name| !seen.contains(name)) {
                let (from, to) = if forward { (first.name.as_str(), other) } else { (other, first.name.as_str()) };
                let what = format!("blocks have no way from {from} to it over the hosts that it follows");
                self.fault(format!("{to}/topology.json"), what, "let it follow more hosts");
                return;
            }
        }
    }

    fn shelley(&mut self, text: Option<&str>) -> Option<Shelley> {
        self.parsed(&genesis_file("Shelley"), serde_json::from_str(text?))
    }

    fn times(&mut self, byron: Option<&str>, shelley: &Shelley) {
        let Some(byron) = byron else { return };
        let (file, shelley_file) = (genesis_file("Byron"), genesis_file("Shelley"));
        let Some(byron) = self.parsed::<Byron>(&file, serde_json::from_str(byron)) else { return };
        match chrono::DateTime::parse_from_rfc3339(&shelley.system_start) {
            Ok(start) if start.timestamp() != byron.start_time => {
                let what = format!(
                    "startTime is {}, and Shelley's systemStart {}, which is {}",
                    byron.start_time,
                    shelley.system_start,
                    start.timestamp()
                );
                self.fault(&file, what, "write the same time in both");
            }
            Ok(_) => {}
            Err(_) => {
                let what = format!("systemStart is '{}': expected a time as 2025-01-01T00:00:00Z", shelley.system_start);
                self.fault(shelley_file, what, "write one");
            }
        }
        for (name, here, there) in [
            ("protocolMagic", byron.protocol_consts.protocol_magic, ("networkMagic", u64::from(shelley.network_magic))),
            ("k", byron.protocol_consts.k, ("securityParam", shelley.security_parameter)),
        ] {
            if here != there.1 {
                self.fault(&file, format!("{name} is {here}, and Shelley's {} {}", there.0, there.1), "write the same number in both");
            }
        }
    }

    /// Checks the rules of nodes for a genesis, and a few more.
    fn rules(&mut self, shelley: &Shelley) {
        let file = genesis_file("Shelley");
        let (share, k) = (shelley.active_slots_coeff, shelley.security_parameter);
        if !(share > 0.0 && share <= 1.0) {
            self.fault(file, format!("activeSlotsCoeff is {share}: expected more than 0 and at most 1"), "write such a number");
            return;
        }
        let GenesisRule { least, words } = GenesisRule::of_epoch(k, share);
        if shelley.epoch_slots < least {
            let what = format!("epochLength is {} with k = {k} and f = {share}: expected {least} at least, {words}", shelley.epoch_slots);
            self.fault(&file, what, format!("write {} (10k/f), or a smaller securityParam", (10.0 * k as f64 / share).ceil()));
        }
        if shelley.max_kes_evolutions > u64::from(kes::EVOLUTIONS) {
            let what = format!("maxKESEvolutions is {}: expected {} at most", shelley.max_kes_evolutions, kes::EVOLUTIONS);
            self.fault(&file, what, "write 62, as the public networks have");
        }
        let genesis_keys = shelley.delegates.len() as u64;
        if genesis_keys > 0 && shelley.update_quorum <= genesis_keys / 2 {
            let what = format!("updateQuorum is {} of {genesis_keys} genesis keys: expected more than half", shelley.update_quorum);
            self.fault(&file, what, "write a larger one");
        }
    }

    fn pools(&mut self, shelley: &Shelley) {
        let staked: BTreeSet<Hash28> = shelley.staking.stake.iter().map(|(_, pool)| pool.0).collect();
        for pool in self.bed.hosts.iter().filter_map(|host| host.pool) {
            let place = format!("genesis/pools-keys/pool{pool}");
            let at = |name: &str| format!("{place}/{name}");
            let cold = self.envelope::<ColdVerificationKey>(&at("cold.vkey")).map(|key| key.0);
            let vrf = self.envelope::<VrfVerificationKey>(&at("vrf.vkey")).map(|key| key.0);
            let hot = self.envelope::<KesVerificationKey>(&at("kes.vkey")).map(|key| key.0);
            if let (Some(ColdSigningKey(secret)), Some(cold)) = (self.envelope(&at("cold.skey")), cold)
                && public(&secret) != cold
            {
                self.not_its_half(&at("cold.skey"), "cold.vkey");
            }
            self.vrf_signing_key(&at("vrf.skey"), vrf);
            if let (Some(KesSigningKey(secret)), Some(hot)) = (self.envelope(&at("kes.skey")), hot) {
                match kes::SigningKey::from_bytes(&secret, 0) {
                    Some(key) if key.verification_key() == hot => {}
                    _ => self.not_its_half(&at("kes.skey"), "kes.vkey"),
                }
            }
            let Some(cold) = cold else { continue };
            self.registration(&at("cold.vkey"), &at("vrf.vkey"), cold, vrf, shelley, &staked);
            self.certificate(&at("opcert.cert"), &at("opcert.counter"), cold, hot);
        }
    }

    fn not_its_half(&mut self, file: &str, public: &str) {
        self.fault(file, format!("isn't the secret half of {public}"), format!("put the right file back, or {ANEW}"));
    }

    fn vrf_signing_key(&mut self, file: &str, public: Option<[u8; 32]>) {
        let Some(VrfSigningKey(secret)) = self.envelope(file) else { return };
        match (vrf::SigningKey::from_bytes(&secret), public) {
            (None, _) => self.fault(file, "its two halves don't belong together", format!("put the right file back, or {ANEW}")),
            (Some(key), Some(public)) if key.verification_key() != public => self.not_its_half(file, "vrf.vkey"),
            _ => {}
        }
        let mode = fs::metadata(self.folder.join(file)).map_or(0, |facts| facts.permissions().mode());
        if mode & 0o077 != 0 {
            let what = format!("others may use it (mode {:o}), and cardano-node refuses such a VRF key", mode & 0o777);
            self.fault(file, what, "chmod 600");
        }
    }

    fn registration(
        &mut self,
        cold_file: &str,
        vrf_file: &str,
        cold: [u8; 32],
        vrf: Option<[u8; 32]>,
        shelley: &Shelley,
        staked: &BTreeSet<Hash28>,
    ) {
        let id = Hex(blake2b_224(&[&cold]));
        let (registered, is_staked) = (shelley.staking.pools.get(&id), staked.contains(&id.0));
        let (id, genesis) = (hex::encode(id.0), genesis_file("Shelley"));
        let Some(registered) = registered else {
            let what = format!("{genesis} has no pool of this key, {id}");
            self.fault(cold_file, what, format!("put the pool's own keys there, or {ANEW}"));
            return;
        };
        if let Some(vrf) = vrf
            && registered.vrf.0 != blake2b_256(&[&vrf])
        {
            let what = format!("{genesis} has another VRF key for the pool {id}");
            self.fault(vrf_file, what, format!("put the pool's own keys there, or {ANEW}"));
        }
        if !is_staked {
            self.fault(
                genesis,
                format!("no stake is delegated to the pool {id}, so it never leads"),
                "add an entry for it to staking.stake",
            );
        }
    }

    fn certificate(&mut self, file: &str, counter_file: &str, cold: [u8; 32], hot: Option<[u8; 32]>) {
        let counter: Option<IssueCounter> = self.envelope(counter_file);
        let Some(OperationalCertificate { certificate, cold_key }) = self.envelope(file) else { return };
        let issue = "issue a new one with `cardano-cli node issue-op-cert`";
        if cold_key != cold {
            self.fault(file, "is of another pool's cold key", issue);
        } else if !certificate::verify(&cold, &certificate.view()) {
            self.fault(file, "the signature isn't the cold key's", issue);
        }
        if hot.is_some_and(|hot| hot != certificate.hot_key) {
            self.fault(file, "is for another KES key than kes.vkey", issue);
        }
        if certificate.kes_period != 0 {
            let what = format!("is good from KES period {} on, and the chain begins in period 0", certificate.kes_period);
            self.fault(file, what, "issue a new one for --kes-period 0");
        }
        // The first number of a pool is 0 or 1: one above the last, which is held to be 0.
        if certificate.sequence > 1 {
            let what = format!("has number {}: expected 0, since the chain has none before it", certificate.sequence);
            self.fault(file, what, issue);
        }
        if let Some(IssueCounter { next, cold_key }) = counter
            && (certificate.sequence.checked_add(1) != Some(next) || cold_key != cold)
        {
            let what = if cold_key == cold {
                format!("the next number is {next}, and the certificate's {}", certificate.sequence)
            } else {
                "is of another pool's cold key".to_owned()
            };
            self.fault(counter_file, what, format!("put the right file back, or {ANEW}"));
        }
    }

    fn funds(&mut self, shelley: &Shelley) {
        for number in 1..=self.bed.genesis.funds {
            let at = |name: &str| format!("genesis/utxo-keys/utxo{number}/utxo.{name}");
            let Some(GenesisUtxoVerificationKey(key)) = self.envelope(&at("vkey")) else { continue };
            if let Some(GenesisUtxoSigningKey(secret)) = self.envelope(&at("skey"))
                && public(&secret) != key
            {
                self.not_its_half(&at("skey"), "utxo.vkey");
            }
            if shelley.funds.get(&HexText(fund_address(&key).bytes().to_vec())).is_none() {
                let what = format!("{} has no output of this key", genesis_file("Shelley"));
                self.fault(at("vkey"), what, format!("put the right file back, or {ANEW}"));
            }
        }
    }
}
