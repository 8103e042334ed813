//! The files a node is started with: configuration, genesis, topology, keys.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use slotmark_chain::Hash32;
use slotmark_chain::hash::{Hashing, blake2b_224, blake2b_256};
use slotmark_network::{AccessPoint, Network, Topology, genesis_beside};
use slotmark_praos::base::Base;
use slotmark_praos::certificate::verify;
use slotmark_praos::envelope::{Envelope, Enveloped, KesSigningKey, OperationalCertificate, VrfSigningKey};
use slotmark_praos::genesis::Genesis;
use slotmark_praos::{kes, vrf};

use crate::eras::Eras;
use crate::error::NodeError;
use crate::options::Run;

/// The values from the configuration and the genesis files.
pub struct Settings {
    /// The network's genesis.
    pub genesis: Arc<Genesis>,
    /// The network's time.
    pub network: Network,
    /// The network's number in handshakes.
    pub magic: u32,
    /// The host's name in log lines.
    pub name: String,
    /// Interval at which resources are logged.
    pub resources_every: Duration,
    /// Longest time that a peer may ask for no header; None for no limit.
    pub chain_sync_idle: Option<Duration>,
    /// Slots between snapshots of the ledger.
    pub snapshot_slots: u64,
    /// The history of eras.
    pub eras: Eras,
    /// The protocol parameters, encoded as local clients get them.
    pub parameters: Vec<u8>,
}

/// The configuration's keys that count here.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct File {
    byron_genesis_file: PathBuf,
    shelley_genesis_file: PathBuf,
    alonzo_genesis_file: PathBuf,
    conway_genesis_file: PathBuf,
    shelley_genesis_hash: Option<String>,
    alonzo_genesis_hash: Option<String>,
    conway_genesis_hash: Option<String>,
    trace_option_node_name: Option<String>,
    trace_option_resource_frequency: Option<u64>,
    chain_sync_idle_timeout: Option<u64>,
    snapshot_interval: Option<u64>,
    #[serde(flatten)]
    others: serde_json::Map<String, Value>,
}

/// A peer of the topology file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The peer's address.
    pub access_point: AccessPoint,
    /// True where it may be silent for any time.
    pub trustable: bool,
}

/// The keys and the certificate that a node makes blocks with.
pub struct Credentials {
    /// The pool's cold key.
    pub cold_key: [u8; 32],
    /// Its hash, which is the pool's id.
    pub pool: [u8; 28],
    /// The VRF key.
    pub vrf: vrf::SigningKey,
    /// The KES key, in its first evolution.
    pub kes: kes::SigningKey,
    /// The cold key's word for the KES key.
    pub certificate: slotmark_praos::certificate::Certificate,
}

const CONFIGURATION: &str = "a configuration of cardano-node that names the genesis files";
const ERAS: [&str; 6] = ["Shelley", "Allegra", "Mary", "Alonzo", "Babbage", "Conway"];

impl Settings {
    /// Reads the configuration and the genesis files that it names; of Shelley's only the hash where it is on a ledger base, and not even
    /// that where the configuration states one.
    ///
    /// # Errors
    /// A file can't be read, isn't what it should be, or has another hash than the configuration states; or the network isn't
    /// in Conway from its first slot on.
    pub fn read(config: &Path, base: Option<&Path>) -> Result<Self, NodeError> {
        let file: File = read_json(config, CONFIGURATION)?;
        for era in ERAS {
            let key = format!("Test{era}HardForkAtEpoch");
            if file.others.get(&key).and_then(Value::as_u64) != Some(0) {
                return Err(NodeError::content(config, key, "0: this node supports Conway only"));
            }
        }
        let folder = config.parent().unwrap_or(Path::new(""));
        let shelley = folder.join(&file.shelley_genesis_file);
        let mut byron_hash = None;
        for (era, named, hash) in [
            ("byron", &file.byron_genesis_file, None),
            ("alonzo", &file.alonzo_genesis_file, file.alonzo_genesis_hash),
            ("conway", &file.conway_genesis_file, file.conway_genesis_hash),
        ] {
            let (named, beside) = (folder.join(named), genesis_beside(&shelley, era));
            if named != beside {
                let expected = format!("{}, beside Shelley's", beside.display());
                return Err(NodeError::content(config, format!("{} as {era}'s genesis file", named.display()), expected));
            }
            let bytes = fs::read(&named).map_err(NodeError::read(&named))?;
            let found = blake2b_256(&[&bytes]);
            check_hash(&named, &found, hash.as_deref(), config)?;
            byron_hash.get_or_insert(found);
        }
        let stated = file.shelley_genesis_hash.as_deref();
        let genesis = match base {
            Some(path) => {
                let base = Base::open(path)?;
                let found = match stated {
                    Some(_) => None,
                    None => Some(hex::encode(hash_of_file(&shelley)?)),
                };
                if let Some(expected) = stated.or(found.as_deref()).filter(|hash| *hash != hex::encode(base.genesis_hash())) {
                    let what = format!("made of a genesis with the hash {}", hex::encode(base.genesis_hash()));
                    return Err(NodeError::content(path, what, format!("{expected}. Make it anew, by `slotmark-node prepare`")));
                }
                if base.byron_hash() != byron_hash.as_ref() {
                    let of = base
                        .byron_hash()
                        .map_or("no Byron genesis".to_owned(), |hash| format!("a Byron genesis with the hash {}", hex::encode(hash)));
                    let expected = format!("{}. Make it anew, by `slotmark-node prepare`", byron_hash.map(hex::encode).unwrap_or_default());
                    return Err(NodeError::content(path, format!("made of {of}"), expected));
                }
                Genesis::on_base(base, &shelley)?
            }
            None => {
                let text = fs::read_to_string(&shelley).map_err(NodeError::read(&shelley))?;
                let genesis = Genesis::read_text(&text, &shelley)?;
                check_hash(&shelley, &genesis.hash, stated, config)?;
                genesis
            }
        };
        let magic = genesis.shelley.network_magic;
        // As cardano-node: twice k.
        let snapshot_slots = file.snapshot_interval.unwrap_or(2 * genesis.shelley.security_parameter).max(1);
        let ledger = genesis.ledger.as_ref();
        let ledger = ledger.ok_or_else(|| NodeError::content(config, "no Alonzo genesis file", "one beside Shelley's"))?;
        let network = ledger.network;
        let eras = Eras::read(&genesis_beside(&shelley, "byron"), &genesis, &network)?;
        let parameters = ledger.parameters.encode();
        let parameters = parameters.ok_or_else(|| NodeError::content(config, "no Conway genesis file", "one beside Shelley's"))?;
        let name = file.trace_option_node_name.or_else(|| fs::read_to_string("/proc/sys/kernel/hostname").ok());
        Ok(Self {
            genesis: Arc::new(genesis),
            network,
            magic,
            name: name.map(|name| name.trim().to_owned()).unwrap_or_default(),
            resources_every: Duration::from_millis(file.trace_option_resource_frequency.unwrap_or(1_000).clamp(10, 3_600_000)),
            chain_sync_idle: file
                .chain_sync_idle_timeout
                .map_or(Some(3_373), |seconds| (seconds > 0).then_some(seconds))
                .map(Duration::from_secs),
            snapshot_slots,
            eras,
            parameters,
        })
    }
}

fn check_hash(path: &Path, found: &Hash32, stated: Option<&str>, config: &Path) -> Result<(), NodeError> {
    let found = hex::encode(found);
    match stated.filter(|stated| *stated != found) {
        Some(stated) => {
            let expected = format!("{stated}, as {} states", config.display());
            Err(NodeError::content(path, format!("a file with the hash {found}"), expected))
        }
        None => Ok(()),
    }
}

fn hash_of_file(path: &Path) -> Result<Hash32, NodeError> {
    let mut file = Hashing::new(fs::File::open(path).map_err(NodeError::read(path))?);
    std::io::copy(&mut file, &mut std::io::sink()).map_err(NodeError::read(path))?;
    Ok(file.hash())
}

/// Makes the ledger base of the genesis that a configuration names.
///
/// # Errors
/// The configuration or a genesis file can't be read or isn't what it should be, or the base can't be written.
pub fn prepare(config: &Path, out: &Path) -> Result<(), NodeError> {
    let file: File = read_json(config, CONFIGURATION)?;
    Ok(Base::make(&config.parent().unwrap_or(Path::new("")).join(&file.shelley_genesis_file), out)?)
}

/// The peers of a topology file, each once.
///
/// # Errors
/// The file can't be read or isn't a topology in the P2P form.
pub fn read_topology(path: &Path) -> Result<Vec<Neighbour>, NodeError> {
    let file: Topology = read_json(path, "a topology in the P2P form, with localRoots")?;
    let mut neighbours: Vec<Neighbour> = Vec::new();
    for root in file.local_roots.into_iter().chain(file.public_roots) {
        for access_point in root.access_points {
            if !neighbours.iter().any(|known| known.access_point == access_point) {
                neighbours.push(Neighbour { access_point, trustable: root.trustable });
            }
        }
    }
    Ok(neighbours)
}

impl Credentials {
    /// Reads keys and certificate; None where none are given.
    ///
    /// # Errors
    /// A file can't be read or holds something else, or the certificate isn't for the KES key.
    pub fn read(options: &Run) -> Result<Option<Self>, NodeError> {
        let (Some(kes_path), Some(vrf_path), Some(certificate_path)) =
            (&options.shelley_kes_key, &options.shelley_vrf_key, &options.shelley_operational_certificate)
        else {
            return Ok(None);
        };
        let key: KesSigningKey = read_envelope(kes_path)?;
        let kes = kes::SigningKey::from_bytes(&key.0, 0);
        let kes = kes.ok_or_else(|| NodeError::content(kes_path, "a KES key that isn't whole", "one before its first evolution"))?;
        let key: VrfSigningKey = read_envelope(vrf_path)?;
        let vrf = vrf::SigningKey::from_bytes(&key.0);
        let vrf = vrf.ok_or_else(|| NodeError::content(vrf_path, "two halves of different keys", "a VRF key"))?;
        let OperationalCertificate { certificate, cold_key } = read_envelope(certificate_path)?;
        if certificate.hot_key != kes.verification_key() {
            let expected = format!("one for the key in {}", kes_path.display());
            return Err(NodeError::content(certificate_path, "a certificate for another KES key", expected));
        }
        if !verify(&cold_key, &certificate.view()) {
            return Err(NodeError::content(certificate_path, "a certificate without its cold key's signature", "a valid one"));
        }
        Ok(Some(Self { cold_key, pool: blake2b_224(&[&cold_key]), vrf, kes, certificate }))
    }
}

pub(crate) fn read_json<T: DeserializeOwned>(path: &Path, expected: &str) -> Result<T, NodeError> {
    let bytes = fs::read(path).map_err(NodeError::read(path))?;
    serde_json::from_slice(&bytes).map_err(|error| NodeError::content(path, error, expected))
}

fn read_envelope<T: Enveloped>(path: &Path) -> Result<T, NodeError> {
    let text = fs::read_to_string(path).map_err(NodeError::read(path))?;
    let envelope = Envelope::read(&text).map_err(|source| NodeError::Envelope { path: path.to_path_buf(), source })?;
    envelope.open().map_err(|source| NodeError::Envelope { path: path.to_path_buf(), source })
}
