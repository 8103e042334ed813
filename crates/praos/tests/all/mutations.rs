//! Small chains with real keys and proofs: sound ones keep every rule, and each mutation breaks the one that it is about. One file because each case is a few lines on the same chain.

use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::sync::Arc;

use ed25519_dalek::SigningKey;
use serde_json::json;
use slotmark_chain::block::{Era, decode_header, header_hash};
use slotmark_chain::hash::{blake2b_224, blake2b_256};
use slotmark_chain::{Chain, ChainWriter, Hash32, NewBlock};
use slotmark_network::{Ratio, byron, shelley};
use slotmark_praos::certificate::Certificate;
use slotmark_praos::check::{Report, check_chain};
use slotmark_praos::genesis::Genesis;
use slotmark_praos::header::Leader;
use slotmark_praos::lottery::{ActiveSlots, Draw, Purpose, praos_input, tpraos_input};
use slotmark_praos::state::ChainState;
use slotmark_praos::{kes, vrf};
use tempfile::TempDir;

const SLOTS_PER_KES_PERIOD: u64 = 20;
const MAX_KES_EVOLUTIONS: u64 = 3;
const EMPTY_BODY: [&[u8]; 4] = [&[0x80], &[0x80], &[0xa0], &[0x80]];
/// The native script that may spend all funds, `[1, []]`: all of nothing must hold.
const SCRIPT: [u8; 3] = [0x82, 0x01, 0x80];
/// All funds, in lovelace.
const FUNDS: u32 = 5_000_000;
/// The hash of the stake key that all funds count for.
const STAKE_KEY: [u8; 28] = [7; 28];

/// The address that holds all funds.
fn address() -> Vec<u8> {
    [&[0x10], &blake2b_224(&[&[0], &SCRIPT])[..], &STAKE_KEY].concat()
}

/// The transaction that holds all funds, as far as inputs name it.
fn funds() -> Hash32 {
    blake2b_256(&[&address()])
}

/// A pool's keys.
struct Pool {
    cold: SigningKey,
    vrf: vrf::SigningKey,
    kes: kes::SigningKey,
}

impl Pool {
    fn new(seed: u8) -> Self {
        let [cold, vrf, kes] = [1, 2, 3].map(|purpose| [seed ^ purpose << 5; 32]);
        Self { cold: SigningKey::from_bytes(&cold), vrf: vrf::SigningKey::from_seed(&vrf), kes: kes::SigningKey::from_seed(&kes) }
    }

    fn id(&self) -> [u8; 28] {
        blake2b_224(&[self.cold.verifying_key().as_bytes()])
    }

    fn vrf_key_hash(&self) -> Hash32 {
        blake2b_256(&[&self.vrf.verification_key()])
    }

    fn certify(&self, sequence: u64, kes_period: u64) -> Certificate {
        Certificate::sign(&self.cold, self.kes.verification_key(), sequence, kes_period)
    }
}

/// A network of one pool with all stake; with `tpraos` one of genesis keys alone.
struct Network {
    tpraos: bool,
    pool: Pool,
    genesis: Arc<Genesis>,
    _folder: TempDir,
}

impl Network {
    fn new(tpraos: bool) -> Self {
        let pool = Pool::new(1);
        let (id, vrf) = (hex::encode(pool.id()), hex::encode(pool.vrf_key_hash()));
        let stake_key = hex::encode(STAKE_KEY);
        let delegates = if tpraos { json!({"09".repeat(28): {"delegate": id, "vrf": vrf}}) } else { json!({}) };
        let parameters = shelley::Parameters {
            decentralisation: if tpraos { Ratio::ONE } else { Ratio::ZERO },
            max_header_bytes: if tpraos { 1_010 } else { 855 },
            max_body_bytes: 112,
            tau: Ratio::ZERO,
            ..shelley::PARAMETERS
        };
        let shelley = json!({
            "activeSlotsCoeff": 0.5, "securityParam": 5, "epochLength": 2_000, "slotsPerKESPeriod": SLOTS_PER_KES_PERIOD,
            "maxKESEvolutions": MAX_KES_EVOLUTIONS, "updateQuorum": 1, "genDelegs": delegates,
            "initialFunds": {hex::encode(address()): FUNDS}, "maxLovelaceSupply": FUNDS, "networkId": "Testnet", "networkMagic": 42,
            "protocolParams": parameters, "slotLength": 1, "systemStart": "2022-07-07T09:33:35Z",
            "staking": {"pools": {id.clone(): {"vrf": vrf}}, "stake": {stake_key: id}},
        });
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("shelley-genesis.json"), shelley.to_string()).unwrap();
        fs::write(folder.path().join("byron-genesis.json"), byron::stated("", 5, 42, 0).to_string()).unwrap();
        let genesis = Arc::new(Genesis::read(&folder.path().join("shelley-genesis.json")).unwrap());
        Self { tpraos, pool, genesis, _folder: folder }
    }

    fn era(&self) -> Era {
        if self.tpraos { Era::Alonzo } else { Era::Conway }
    }

    /// Returns whether the pool may make a block in a slot.
    fn leads(&self, slot: u64) -> bool {
        if self.tpraos {
            return slot.is_multiple_of(2); // every slot is the overlay's, and every second one of them is active
        }
        let output = vrf::output(&self.pool.vrf.prove(&praos_input(slot, Some(self.genesis.hash)))).unwrap();
        ActiveSlots::new(Ratio::new(1, 2).unwrap()).is_leader(&Draw::praos(&output), Ratio::ONE)
    }

    fn slot_after(&self, slot: u64) -> u64 {
        (slot + 1..).find(|slot| self.leads(*slot)).unwrap()
    }

    /// The block that the pool makes in a slot, after another one.
    fn block(&self, slot: u64, before: Option<&Made>) -> Header {
        let (number, previous) = before.map_or((0, None), |made| (made.header.number + 1, Some(made.hash)));
        let period = slot / SLOTS_PER_KES_PERIOD;
        let start = period - period % MAX_KES_EVOLUTIONS;
        let body: Vec<Vec<u8>> = EMPTY_BODY.iter().map(|part| part.to_vec()).collect();
        let mut header = Header {
            number,
            slot,
            previous,
            cold_key: self.pool.cold.verifying_key().to_bytes(),
            vrf_key: [0; 32],
            vrf: vec![],
            body_size: 4,
            body_hash: body_hash(&body),
            certificate: self.pool.certify(1, start),
            minor_version: 0,
            evolution: (period - start) as u32,
            body,
        };
        header.prove(self, &self.pool.vrf);
        header
    }

    /// Encodes and signs a block; `damage` may change the signature.
    fn make(&self, header: Header, damage: impl FnOnce(&mut [u8])) -> Made {
        let body = header.encode(self.tpraos);
        let mut key = self.pool.kes.clone();
        assert!(key.evolve_to(header.evolution));
        let mut signature = key.sign(&body);
        damage(&mut signature);
        let mut whole = vec![0x82];
        whole.extend(body);
        whole.extend([0x59, 0x01, 0xc0]);
        whole.extend(signature);
        let hash = header_hash(self.era(), &whole);
        let mut bytes = vec![0x82, if self.tpraos { 5 } else { 7 }, 0x85];
        bytes.extend(&whole);
        header.body.iter().for_each(|part| bytes.extend(part));
        Made { header, hash, header_size: whole.len() as u16, bytes }
    }

    /// Some blocks, each in a slot that the pool leads.
    fn chain(&self, blocks: usize) -> Vec<Made> {
        let mut chain: Vec<Made> = Vec::new();
        let mut slot = if self.tpraos { 0 } else { self.slot_after(0) };
        for _ in 0..blocks {
            let header = self.block(slot, chain.last());
            chain.push(self.make(header, |_| {}));
            slot = self.slot_after(slot);
        }
        chain
    }

    fn check(&self, blocks: &[Made]) -> Report {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("chain");
        let mut writer = ChainWriter::create(&path, 100).unwrap();
        for made in blocks {
            let (bytes, header_size) = (&made.bytes[..], made.header_size);
            writer.append(&NewBlock { bytes, header_offset: 3, header_size, slot: made.header.slot, hash: made.hash }).unwrap();
        }
        writer.finish().unwrap();
        check_chain(&Chain::open(&path).unwrap(), Some(&self.genesis), &mut |_, _| ControlFlow::Continue(())).unwrap()
    }

    /// The rules that a chain breaks whose last block is changed before it is signed.
    fn broken_by(&self, change: impl FnOnce(&mut Header)) -> BTreeSet<&'static str> {
        self.broken_in(70, change, |_| {})
    }

    fn broken_in(&self, blocks: usize, change: impl FnOnce(&mut Header), damage: impl FnOnce(&mut [u8])) -> BTreeSet<&'static str> {
        let mut chain = self.chain(blocks);
        let slot = self.slot_after(chain.last().unwrap().header.slot);
        let mut header = self.block(slot, chain.last());
        change(&mut header);
        chain.push(self.make(header, damage));
        let report = self.check(&chain);
        assert!(report.failed_blocks <= 1, "{:?}", report.failures);
        let last = chain.last().unwrap();
        assert!(report.failures.iter().all(|failure| failure.slot == last.header.slot && failure.hash == hex::encode(last.hash)));
        report.failures.iter().map(|failure| failure.rule).collect()
    }
}

/// A block before it is signed.
#[derive(Clone)]
struct Header {
    number: u64,
    slot: u64,
    previous: Option<Hash32>,
    cold_key: [u8; 32],
    vrf_key: [u8; 32],
    vrf: Vec<(vrf::Output, vrf::Proof)>,
    body_size: u64,
    body_hash: Hash32,
    certificate: Certificate,
    minor_version: u64,
    evolution: u32,
    body: Vec<Vec<u8>>,
}

struct Made {
    header: Header,
    hash: Hash32,
    header_size: u16,
    bytes: Vec<u8>,
}

impl Header {
    /// Proves the lottery for the header's slot.
    fn prove(&mut self, network: &Network, key: &vrf::SigningKey) {
        self.prove_slot(network, key, self.slot);
    }

    fn prove_slot(&mut self, network: &Network, key: &vrf::SigningKey, slot: u64) {
        let nonce = Some(network.genesis.hash);
        let inputs = if network.tpraos {
            vec![tpraos_input(slot, nonce, Purpose::Nonce), tpraos_input(slot, nonce, Purpose::Leader)]
        } else {
            vec![praos_input(slot, nonce)]
        };
        self.vrf_key = key.verification_key();
        let proofs = inputs.iter().map(|input| key.prove(input));
        self.vrf = proofs.map(|proof| (vrf::output(&proof).unwrap(), proof)).collect();
    }

    /// Puts in other parts of a body, with their size and hash.
    fn fill(&mut self, parts: [&[u8]; 4]) {
        self.body = parts.iter().map(|part| part.to_vec()).collect();
        self.body_size = self.body.iter().map(|part| part.len() as u64).sum();
        self.body_hash = body_hash(&self.body);
    }

    fn encode(&self, tpraos: bool) -> Vec<u8> {
        fn uint(out: &mut Vec<u8>, number: u64) {
            match number {
                0..24 => out.push(number as u8),
                24..0x1_0000 => {
                    out.push(0x19);
                    out.extend((number as u16).to_be_bytes());
                }
                _ => {
                    out.push(0x1b);
                    out.extend(number.to_be_bytes());
                }
            }
        }
        fn bytes(out: &mut Vec<u8>, bytes: &[u8]) {
            out.extend([0x58, bytes.len() as u8]);
            out.extend(bytes);
        }
        let mut out = vec![if tpraos { 0x8f } else { 0x8a }];
        uint(&mut out, self.number);
        uint(&mut out, self.slot);
        match &self.previous {
            Some(hash) => bytes(&mut out, hash),
            None => out.push(0xf6),
        }
        bytes(&mut out, &self.cold_key);
        bytes(&mut out, &self.vrf_key);
        for (output, proof) in &self.vrf {
            out.push(0x82);
            bytes(&mut out, output);
            bytes(&mut out, proof);
        }
        uint(&mut out, self.body_size);
        bytes(&mut out, &self.body_hash);
        out.extend(if tpraos { &[][..] } else { &[0x84] });
        bytes(&mut out, &self.certificate.hot_key);
        uint(&mut out, self.certificate.sequence);
        uint(&mut out, self.certificate.kes_period);
        bytes(&mut out, &self.certificate.signature);
        out.extend(if tpraos { &[6][..] } else { &[0x82, 10] });
        uint(&mut out, self.minor_version);
        out
    }
}

fn body_hash(parts: &[Vec<u8>]) -> Hash32 {
    let hashes: Vec<u8> = parts.iter().flat_map(|part| blake2b_256(&[part])).collect();
    blake2b_256(&[&hashes])
}

/// The four parts of a block with one transaction, which spends an output of all funds for its fee.
fn spending(transaction: &Hash32) -> [Vec<u8>; 4] {
    let mut bodies = vec![0x81, 0xa3, 0x00, 0x81, 0x82, 0x58, 0x20];
    bodies.extend(transaction);
    bodies.extend([0x00, 0x01, 0x80, 0x02, 0x1a]);
    bodies.extend(FUNDS.to_be_bytes());
    let witnesses = [&[0x81, 0xa1, 0x01, 0x81], &SCRIPT[..]].concat();
    [bodies, witnesses, vec![0xa0], vec![0x80]]
}

#[test]
fn sound_chains_keep_every_rule() {
    for tpraos in [false, true] {
        let network = Network::new(tpraos);
        let report = network.check(&network.chain(90));
        assert_eq!((report.blocks, report.failures, report.epochs.len()), (90, vec![], 1));
        for rule in &report.rules {
            assert_eq!((rule.held, rule.approximate, rule.unknown, rule.broken), (90, 0, 0, 0), "{}", rule.rule);
        }
        assert_eq!(report.rules.len(), if tpraos { 18 } else { 17 });
        assert_eq!(network.broken_by(|_| {}), BTreeSet::new());
    }
}

/// The name of the change, the change, and the rules that it breaks.
type Case = (&'static str, fn(&mut Header, &Network), &'static [&'static str]);

/// Changes of a pool's block.
const CASES: &[Case] = &[
    ("a bit of the certificate's signature", |header, _| header.certificate.signature[9] ^= 1, &["certificate-signature"]),
    ("a bit of the VRF proof's point", |header, _| header.vrf[0].1[9] ^= 1, &["vrf-proof"]),
    ("a bit of the VRF proof's challenge", |header, _| header.vrf[0].1[40] ^= 1, &["vrf-proof"]),
    ("a bit of the VRF proof's scalar", |header, _| header.vrf[0].1[60] ^= 1, &["vrf-proof"]),
    (
        "a VRF proof of another slot",
        |header, network| header.prove_slot(network, &network.pool.vrf, network.slot_after(header.slot)),
        &["vrf-proof"],
    ),
    (
        "a VRF key that isn't registered",
        |header, network| {
            // One that leads the slot too.
            let key = (40..).map(|seed| Pool::new(seed).vrf).find(|key| {
                let output = vrf::output(&key.prove(&praos_input(header.slot, Some(network.genesis.hash)))).unwrap();
                network.genesis.active_slots.is_leader(&Draw::praos(&output), Ratio::ONE)
            });
            header.prove(network, &key.unwrap());
        },
        &["vrf-key"],
    ),
    (
        "a slot that the pool doesn't lead",
        |header, network| {
            header.slot = (header.slot..).find(|slot| !network.leads(*slot)).unwrap();
            header.prove(network, &network.pool.vrf);
            let period = header.slot / SLOTS_PER_KES_PERIOD;
            header.certificate = network.pool.certify(1, period);
            header.evolution = 0;
        },
        &["leader-threshold"],
    ),
    (
        "a certificate that begins later",
        |header, network| {
            header.certificate = network.pool.certify(1, header.slot / SLOTS_PER_KES_PERIOD + 1);
            header.evolution = 0;
        },
        &["kes-period-start"],
    ),
    (
        "a certificate that has ended",
        |header, network| {
            header.certificate = network.pool.certify(1, header.slot / SLOTS_PER_KES_PERIOD - MAX_KES_EVOLUTIONS);
            header.evolution = MAX_KES_EVOLUTIONS as u32;
        },
        &["kes-period-end"],
    ),
    ("a signature of another evolution", |header, _| header.evolution += 1, &["kes-signature"]),
    (
        "a stale counter",
        |header, network| {
            header.certificate = network.pool.certify(0, header.certificate.kes_period);
        },
        &["counter-lower-bound"],
    ),
    (
        "a counter too far ahead",
        |header, network| {
            header.certificate = network.pool.certify(3, header.certificate.kes_period);
        },
        &["counter-upper-bound"],
    ),
    ("the next counter", |header, network| header.certificate = network.pool.certify(2, header.certificate.kes_period), &[]),
    (
        "another pool",
        |header, _| {
            let pool = Pool::new(9);
            header.cold_key = pool.cold.verifying_key().to_bytes();
            let Certificate { hot_key, kes_period, .. } = header.certificate;
            header.certificate = Certificate::sign(&pool.cold, hot_key, 1, kes_period);
        },
        &["pool-registered"],
    ),
    ("a link to another block", |header, _| header.previous = Some([5; 32]), &["previous-hash"]),
    ("a number left out", |header, _| header.number += 1, &["block-number"]),
    ("a hash of another body", |header, _| header.body_hash[3] ^= 1, &["body-hash"]),
    ("a size of another body", |header, _| header.body_size += 1, &["body-size"]),
    ("an overlong header", |header, _| header.minor_version = u64::MAX, &["header-limit"]),
    (
        "an input that never was",
        |header, _| {
            let parts = spending(&[1; 32]);
            header.fill([&parts[0], &parts[1], &parts[2], &parts[3]]);
        },
        &["inputs-found"],
    ),
    (
        "an input that is there",
        |header, _| {
            let parts = spending(&funds());
            header.fill([&parts[0], &parts[1], &parts[2], &parts[3]]);
        },
        &[],
    ),
    (
        "an input spent twice",
        |header, _| {
            let spending = &spending(&funds())[0][1..];
            let witnesses = [&[0x82][..], &[0xa1, 0x01, 0x81], &SCRIPT, &[0xa1, 0x01, 0x81], &SCRIPT].concat();
            header.fill([&[&[0x82], spending, spending].concat(), &witnesses, &[0xa0], &[0x80]]);
        },
        &["inputs-found"],
    ),
];

#[test]
fn every_mutation_breaks_its_rule() {
    let network = Network::new(false);
    for (what, change, rules) in CASES {
        assert_eq!(network.broken_by(|header| change(header, &network)), rules.iter().copied().collect(), "{what}");
    }
}

#[test]
fn every_mutation_of_a_genesis_delegates_block_breaks_its_rule() {
    let cases: &[Case] = &[
        ("a bit of the nonce proof", |header, _| header.vrf[0].1[9] ^= 1, &["vrf-nonce-proof"]),
        ("a bit of the nonce output", |header, _| header.vrf[0].0[9] ^= 1, &["vrf-nonce-proof"]),
        ("a bit of the leader proof", |header, _| header.vrf[1].1[50] ^= 1, &["vrf-leader-proof"]),
        ("a bit of the leader output", |header, _| header.vrf[1].0[9] ^= 1, &["vrf-leader-proof"]),
        ("both proofs in the other's place", |header, _| header.vrf.reverse(), &["vrf-nonce-proof", "vrf-leader-proof"]),
        (
            "a slot of the overlay without a block",
            |header, network| {
                header.slot += 1;
                header.prove(network, &network.pool.vrf);
            },
            &["overlay-slot"],
        ),
        ("another VRF key", |header, network| header.prove(network, &Pool::new(9).vrf), &["overlay-vrf-key"]),
        (
            "another cold key",
            |header, _| {
                let cold = Pool::new(9).cold;
                header.cold_key = cold.verifying_key().to_bytes();
                let Certificate { hot_key, kes_period, .. } = header.certificate;
                header.certificate = Certificate::sign(&cold, hot_key, 1, kes_period);
            },
            &["overlay-delegate"],
        ),
    ];
    let network = Network::new(true);
    for (what, change, rules) in cases {
        let found = network.broken_in(5, |header| change(header, &network), |_| {});
        assert_eq!(found, rules.iter().copied().collect(), "{what}");
    }
}

#[test]
fn a_flipped_bit_of_the_signature_breaks_it() {
    let network = Network::new(false);
    for byte in [0, 63, 64, 200, 447] {
        let found = network.broken_in(3, |_| {}, |signature| signature[byte] ^= 0x40);
        assert_eq!(found, BTreeSet::from(["kes-signature"]), "byte {byte}");
    }
}

#[test]
fn a_body_above_the_limit_is_refused() {
    let network = Network::new(false);
    // A transaction with an interval and long forms of its numbers, in a network whose bodies have at most 112 bytes.
    let nine = |head: u8, number: u64| [&[head][..], &number.to_be_bytes()].concat();
    let bodies = [
        &[0x81, 0xa6, 0x00][..],
        &nine(0x9b, 1),
        &[0x82, 0x58, 0x20],
        &funds(),
        &nine(0x1b, 0),
        &[0x01],
        &nine(0x9b, 0),
        &[0x02],
        &nine(0x1b, u64::from(FUNDS)),
        &[0x03],
        &nine(0x1b, u64::MAX),
        &[0x08],
        &nine(0x1b, 0),
        &[0x0e],
        &nine(0x9b, 0),
    ]
    .concat();
    let [_, witnesses, _, _] = spending(&funds());
    let found = network.broken_in(3, |header| header.fill([&bodies, &witnesses, &[0xa0], &[0x80]]), |_| {});
    assert_eq!(found, BTreeSet::from(["body-limit"]));
}

#[test]
fn a_chain_that_begins_later_has_no_known_nonces_or_stake() {
    let network = Network::new(false);
    let report = network.check(&network.chain(30)[10..]);
    assert_eq!(report.failures, []);
    let counts = |name: &str| report.rules.iter().find(|rule| rule.rule == name).map(|rule| (rule.held, rule.unknown));
    for name in ["vrf-proof", "leader-threshold", "pool-registered", "body-limit"] {
        assert_eq!(counts(name), Some((0, 20)), "{name}");
    }
    assert_eq!((counts("previous-hash"), counts("counter-upper-bound")), (Some((19, 1)), Some((19, 1))));
    assert_eq!((counts("kes-signature"), counts("certificate-signature")), (Some((20, 0)), Some((20, 0))));
}

#[test]
fn a_gap_of_many_epochs_costs_nothing() {
    let network = Network::new(false);
    let mut header = network.block(u64::MAX / 2, None);
    header.certificate = network.pool.certify(0, header.slot / SLOTS_PER_KES_PERIOD);
    header.evolution = 0;
    let made = network.make(header, |_| {});
    let step = ChainState::new(Some(&network.genesis)).step_header(&decode_header(&made.bytes).unwrap(), 4);
    assert_eq!(step.epoch.unwrap().number, u64::MAX / 2 / 2_000);
    assert!(matches!(step.leader, Leader::Pool(stake) if stake.exact && stake.share.is_one()));
}
