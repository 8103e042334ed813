//! A small network of real nodes on this machine: genesis files, keys, topology, processes.

pub mod peer;
pub mod sets;
pub mod wallet;

use std::collections::BTreeMap;
use std::fs;
use std::future::Future;
use std::net::Ipv4Addr;
use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ed25519_dalek::SigningKey;
use pallas_network::facades::PeerClient;
use pallas_network::miniprotocols::Point;
use pallas_network::miniprotocols::chainsync::NextResponse;
use serde_json::{Map, Value, json};
use slotmark_chain::block::{Era, decode_header_alone};
use slotmark_chain::hash::{blake2b_224, blake2b_256};
use slotmark_praos::certificate::Certificate;
use slotmark_praos::envelope::{Envelope, Enveloped, KesSigningKey, OperationalCertificate, VrfSigningKey};
use slotmark_praos::genesis::Genesis;
use slotmark_praos::{kes, vrf};
use slotmark_synth::{Recipe, Workload};
use slotmark_tracelog::{HostFrom, Reading, Source};

/// The longest wait for anything.
pub const DEADLINE: Duration = Duration::from_secs(240);

/// Lovelace of each pool.
pub const FUNDS: u64 = 1_000_000_000_000_000;

/// The networks' number.
pub const MAGIC: u64 = 42;

/// Runs something that needs a runtime, and doesn't wait for ever.
pub fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(DEADLINE, work).await.expect("an answer in time") })
}

/// The shape of a network.
#[derive(Clone, Copy)]
pub struct Shape {
    pub pools: usize,
    pub security_parameter: u64,
    pub active_slots: f64,
    pub epoch_slots: u64,
    pub slot_ms: u64,
}

/// A network's files.
pub struct Bed {
    pub folder: tempfile::TempDir,
    pub shape: Shape,
    /// The address of each pool's funds, and the key that spends them.
    pub funds: Vec<(Vec<u8>, SigningKey)>,
    /// Members of nodes' configurations beside those that they need.
    pub settings: Map<String, Value>,
    net: u32,
}

/// A node that runs.
pub struct Node {
    pub child: Child,
    pub number: usize,
    pub folder: PathBuf,
}

static BEDS: AtomicU32 = AtomicU32::new(0);

impl Bed {
    /// Makes the files; slot 0 begins now.
    pub fn new(shape: Shape) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let chain = folder.path().join("chain");
        slotmark_synth::forge(&Recipe::new(Workload::Empty, 1), &chain, &mut |_| ControlFlow::Continue(())).unwrap();
        let genesis = folder.path().join("genesis");
        fs::create_dir(&genesis).unwrap();
        for era in ["byron", "alonzo", "conway"] {
            fs::copy(chain.join(format!("genesis/{era}-genesis.json")), genesis.join(format!("genesis.{era}.json"))).unwrap();
        }
        let mut shelley: Value = serde_json::from_slice(&fs::read(chain.join("genesis/shelley-genesis.json")).unwrap()).unwrap();
        let (mut pools, mut stake, mut initial, mut funds) = (Map::new(), Map::new(), Map::new(), Vec::new());
        for number in 1..=shape.pools as u8 {
            let cold = cold_key(usize::from(number) - 1);
            let vrf = vrf::SigningKey::from_seed(&[number; 32]);
            let kes = kes::SigningKey::from_seed(&[number; 32]);
            let certificate = Certificate::sign(&cold, kes.verification_key(), certificate_number(number), 0);
            let cold_key = cold.verifying_key().to_bytes();
            let keys = genesis.join(format!("pools-keys/pool{number}"));
            fs::create_dir_all(&keys).unwrap();
            write(&keys.join("vrf.skey"), &VrfSigningKey(vrf.to_bytes()));
            write(&keys.join("kes.skey"), &KesSigningKey(kes.to_bytes()));
            write(&keys.join("opcert.cert"), &OperationalCertificate { certificate, cold_key });
            let id = hex::encode(blake2b_224(&[&cold_key]));
            let payment = SigningKey::from_bytes(&[100 + number; 32]);
            let staking = staking_key(usize::from(number) - 1);
            let [payment_hash, stake_hash] = [&payment, &staking].map(|key| blake2b_224(&[key.verifying_key().as_bytes()]));
            let address = [&[0x00][..], &payment_hash, &stake_hash].concat();
            initial.insert(hex::encode(&address), json!(FUNDS));
            let vrf_hash = hex::encode(blake2b_256(&[&vrf.verification_key()]));
            stake.insert(hex::encode(stake_hash), json!(id));
            pools.insert(
                id.clone(),
                json!({"cost": 0, "margin": 0.0, "metadata": null, "owners": [], "pledge": 0, "publicKey": id, "relays": [],
                    "rewardAccount": {"credential": {"keyHash": hex::encode(stake_hash)}, "network": "Testnet"}, "vrf": vrf_hash}),
            );
            funds.push((address, payment));
        }
        shelley["activeSlotsCoeff"] = json!(shape.active_slots);
        shelley["securityParam"] = json!(shape.security_parameter);
        shelley["epochLength"] = json!(shape.epoch_slots);
        shelley["slotLength"] = json!(shape.slot_ms as f64 / 1e3);
        shelley["initialFunds"] = Value::Object(initial);
        shelley["staking"] = json!({"pools": pools, "stake": stake});
        shelley["systemStart"] = json!(now_rfc3339());
        fs::write(genesis.join("genesis.shelley.json"), format!("{shelley:#}")).unwrap();
        Self { folder, shape, funds, settings: Map::new(), net: net() }
    }

    /// Makes the files of a network whose pools earn rewards.
    pub fn with_rewards(shape: Shape) -> Self {
        let bed = Self::new(shape);
        bed.change_genesis("shelley", |shelley| {
            for (name, value) in [("rho", 0.003), ("tau", 0.2), ("a0", 0.3)] {
                shelley["protocolParams"][name] = json!(value);
            }
            shelley["protocolParams"]["nOpt"] = json!(2);
            shelley["maxLovelaceSupply"] = json!(45_000_000_000_000_000u64);
        });
        bed
    }

    /// Changes an era's genesis file.
    pub fn change_genesis(&self, era: &str, change: impl FnOnce(&mut Value)) {
        let path = self.genesis_path().with_file_name(format!("genesis.{era}.json"));
        let mut genesis = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        change(&mut genesis);
        fs::write(&path, genesis.to_string()).unwrap();
    }

    /// A network of nodes that only follow, with the genesis files of a forged chain.
    pub fn of_files(shape: Shape, files: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("genesis")).unwrap();
        for era in ["byron", "shelley", "alonzo", "conway"] {
            fs::copy(files.join(format!("{era}-genesis.json")), folder.path().join(format!("genesis/genesis.{era}.json"))).unwrap();
        }
        Self { folder, shape, funds: Vec::new(), settings: Map::new(), net: net() }
    }

    /// A node's address: one of this network's own, so that ports can't be taken.
    pub fn address(&self, number: usize) -> Ipv4Addr {
        Ipv4Addr::new(127, 1 + (self.net >> 8) as u8 % 250, self.net as u8, 1 + number as u8)
    }

    pub fn genesis_path(&self) -> PathBuf {
        self.folder.path().join("genesis/genesis.shelley.json")
    }

    pub fn genesis(&self) -> Arc<Genesis> {
        Arc::new(Genesis::read(&self.genesis_path()).unwrap())
    }

    /// Starts a node that follows some others; it makes blocks where it is a pool's.
    pub fn start(&self, number: usize, knows: &[usize], options: &[&str]) -> Node {
        let folder = self.folder.path().join(format!("node-{number}"));
        fs::create_dir_all(&folder).unwrap();
        let mut config =
            json!({"Protocol": "Cardano", "RequiresNetworkMagic": "RequiresMagic", "TraceOptionNodeName": format!("node-{number}")});
        for era in ["Shelley", "Allegra", "Mary", "Alonzo", "Babbage", "Conway"] {
            config[format!("Test{era}HardForkAtEpoch")] = json!(0);
        }
        for (key, era) in [("Byron", "byron"), ("Shelley", "shelley"), ("Alonzo", "alonzo"), ("Conway", "conway")] {
            config[format!("{key}GenesisFile")] = json!(format!("../genesis/genesis.{era}.json"));
        }
        for (key, value) in &self.settings {
            config[key] = value.clone();
        }
        fs::write(folder.join("config.json"), config.to_string()).unwrap();
        let roots: Vec<Value> = knows
            .iter()
            .map(|peer| json!({"accessPoints": [{"address": self.address(*peer).to_string(), "port": 3001}], "valency": 1, "trustable": true}))
            .collect();
        fs::write(folder.join("topology.json"), json!({"localRoots": roots, "publicRoots": []}).to_string()).unwrap();
        let log = fs::OpenOptions::new().append(true).create(true).open(folder.join("stdout")).unwrap();
        let errors = fs::OpenOptions::new().append(true).create(true).open(folder.join("stderr")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_slotmark-node"));
        command.current_dir(&folder).stdout(log).stderr(errors).stdin(Stdio::null());
        command.args([
            "run",
            "--config",
            "config.json",
            "--topology",
            "topology.json",
            "--database-path",
            "db",
            "--socket-path",
            "node.socket",
        ]);
        command.args(["--host-addr", &self.address(number).to_string(), "--port", "3001"]).args(options);
        if number < self.shape.pools {
            let keys = self.folder.path().join(format!("genesis/pools-keys/pool{}", number + 1));
            command.arg("--shelley-kes-key").arg(keys.join("kes.skey"));
            command.arg("--shelley-vrf-key").arg(keys.join("vrf.skey"));
            command.arg("--shelley-operational-certificate").arg(keys.join("opcert.cert"));
        }
        Node { child: command.spawn().unwrap(), number, folder }
    }

    /// Starts all pools' nodes, each knowing all others.
    pub fn start_all(&self, options: &[&str]) -> Vec<Node> {
        let all: Vec<usize> = (0..self.shape.pools).collect();
        all.iter()
            .map(|number| self.start(*number, &all.iter().copied().filter(|peer| peer != number).collect::<Vec<_>>(), options))
            .collect()
    }
}

/// Returns a number for a bed's addresses, of which 16 bits count: beds of a process have their own, up to 64 of them.
fn net() -> u32 {
    std::process::id().wrapping_mul(64).wrapping_add(BEDS.fetch_add(1, Ordering::Relaxed))
}

/// The key of the stake of a pool's owner.
pub fn staking_key(pool: usize) -> SigningKey {
    SigningKey::from_bytes(&[201 + pool as u8; 32])
}

/// A pool's cold key.
pub fn cold_key(pool: usize) -> SigningKey {
    SigningKey::from_bytes(&[pool as u8 + 1; 32])
}

/// The number of a pool's operational certificate, which need not be 0.
pub fn certificate_number(pool: u8) -> u64 {
    u64::from(pool % 2)
}

fn write(path: &Path, content: &impl Enveloped) {
    fs::write(path, Envelope::of(content).text()).unwrap();
}

fn now_rfc3339() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let (year, month, day) = slotmark_tracelog::date_of(now.as_secs() / 86_400);
    let of_day = now.as_secs() % 86_400;
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z", of_day / 3_600, of_day / 60 % 60, of_day % 60, now.subsec_millis())
}

impl Node {
    /// Its tip as its log has it: the block's number and hash.
    pub fn tip(&self) -> Option<(i64, String)> {
        let (number, point) = self.newest()?;
        Some((number, point[..64].to_owned()))
    }

    /// The slot of its tip.
    pub fn tip_slot(&self) -> Option<u64> {
        self.newest()?.1[65..].parse().ok()
    }

    /// The number and the point, as `HASH@SLOT`, of the tip in its log.
    fn newest(&self) -> Option<(i64, String)> {
        let log = fs::read_to_string(self.folder.join("stdout")).unwrap_or_default();
        log.lines().rev().find_map(|line| {
            let line: Value = serde_json::from_str(line).ok()?;
            let data = &line["data"];
            Some((data["newTipSelectView"]["blockNo"].as_i64()?, data["newtip"].as_str()?.to_owned()))
        })
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("stdout")).unwrap_or_default()
    }

    pub fn errors(&self) -> String {
        fs::read_to_string(self.folder.join("stderr")).unwrap_or_default()
    }

    /// Kills it without a word.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Stops it by SIGINT, and expects that it ends well.
    pub fn stop(mut self) {
        let id = rustix::process::Pid::from_raw(self.child.id() as i32).unwrap();
        rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "node-{} ended with {status}: {}", self.number, self.errors());
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ingests the logs of nodes; gives the rows of each table.
pub fn ingest(bed: &Bed, numbers: &[usize]) -> BTreeMap<String, u64> {
    let tables = bed.folder.path().join("tables");
    fs::create_dir(&tables).unwrap();
    let source = |number: &usize| Source { host: format!("node-{number}"), path: bed.folder.path().join(format!("node-{number}/stdout")) };
    let sources: Vec<Source> = numbers.iter().map(source).collect();
    let reading = Reading { tables, threads: 1, host_from: HostFrom::Path, elsewhere: None };
    let ingested = slotmark_tracelog::ingest(&sources, &reading, &|_, _| ControlFlow::Continue(())).unwrap();
    assert_eq!((ingested.rejected, &ingested.reasons), (0, &vec![]), "{:?}", ingested.first_rejections);
    for host in &ingested.hosts {
        assert_eq!((host.rejected, host.backwards, host.short_hashes), (0, 0, 0), "{}", host.host);
    }
    ingested.tables
}

/// All blocks of a node's chain, as a peer gets them.
pub async fn fetch_chain(bed: &Bed, number: usize) -> Vec<Vec<u8>> {
    loop {
        if let Some(blocks) = try_to_fetch_chain(bed, number).await {
            return blocks;
        }
    }
}

/// As [`fetch_chain`]; None where a fork took the tip away meanwhile.
async fn try_to_fetch_chain(bed: &Bed, number: usize) -> Option<Vec<Vec<u8>>> {
    let mut peer = PeerClient::connect(format!("{}:3001", bed.address(number)), MAGIC).await.unwrap();
    let (_, tip) = peer.chainsync().find_intersect(vec![Point::Origin]).await.unwrap();
    let first = loop {
        if let NextResponse::RollForward(header, _) = peer.chainsync().request_next().await.unwrap() {
            let header = decode_header_alone(Era::Conway, &header.cbor).unwrap();
            break Point::Specific(header.slot, header.hash.to_vec());
        }
    };
    let blocks = peer.blockfetch().fetch_range((first, tip.0)).await;
    peer.abort().await;
    blocks.ok()
}

/// Waits until something is so.
pub fn wait_for<T>(what: &str, nodes: &mut [Node], mut check: impl FnMut(&[Node]) -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = check(nodes) {
            return found;
        }
        for node in nodes.iter_mut() {
            let ended = node.child.try_wait().unwrap();
            assert!(ended.is_none(), "node-{} ended: {}", node.number, node.errors());
        }
        if began.elapsed() > DEADLINE {
            let tips: BTreeMap<usize, _> = nodes.iter().map(|node| (node.number, (node.tip(), node.errors()))).collect();
            panic!("{what}: not within {DEADLINE:?}; tips and errors: {tips:#?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until all nodes listen for local clients.
pub fn wait_for_sockets(nodes: &mut [Node]) {
    let listens = |node: &Node| UnixStream::connect(node.folder.join("node.socket")).is_ok();
    wait_for("sockets", nodes, |nodes| nodes.iter().all(listens).then_some(()));
}

/// Waits until all nodes have the same tip, of this number at least; gives its number.
pub fn wait_for_agreement(number: i64, nodes: &mut [Node]) -> i64 {
    wait_for(&format!("agreement on a block of number {number} or more"), nodes, |nodes| {
        let tips: Vec<_> = nodes.iter().map(Node::tip).collect::<Option<_>>()?;
        let first = tips.first()?.clone();
        (first.0 >= number && tips.iter().all(|tip| *tip == first)).then_some(first.0)
    })
}
