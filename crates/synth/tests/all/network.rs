//! Forged chains and their networks: every rule holds by the genesis beside them, epochs and certificates pass, and what is
//! changed in a chain breaks the rule that it is about.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::form::{OTHERWISE, assert_same_form, json, shared};
use serde_json::Value;
use slotmark_chain::block::{Era, body_is_proven, decode_header, header_hash};
use slotmark_chain::hash::{blake2b_224, blake2b_256};
use slotmark_chain::{Chain, ChainWriter, NewBlock};
use slotmark_praos::check::{Report, check_chain};
use slotmark_praos::envelope::{
    ColdSigningKey, ColdVerificationKey, Envelope, Enveloped, IssueCounter, KesSigningKey, KesVerificationKey, OperationalCertificate,
    VrfSigningKey,
};
use slotmark_praos::genesis::Genesis;
use slotmark_praos::{certificate, kes, vrf};
use slotmark_synth::{GENESIS_FOLDER, Recipe, Workload, forge};
use tempfile::TempDir;

/// A chain in a folder of its own.
struct Made {
    place: TempDir,
    genesis: Arc<Genesis>,
}

impl Made {
    fn new(recipe: &Recipe) -> Self {
        let place = TempDir::new().expect("a folder");
        forge(recipe, place.path().join("chain"), &mut |_| ControlFlow::Continue(())).expect("a chain");
        let genesis = Genesis::read(&place.path().join("chain").join(GENESIS_FOLDER).join("shelley-genesis.json"));
        Self { genesis: Arc::new(genesis.expect("a genesis")), place }
    }

    fn network(&self) -> PathBuf {
        self.place.path().join("chain").join(GENESIS_FOLDER)
    }

    fn chain(&self) -> Chain {
        Chain::open(self.place.path().join("chain")).expect("a chain")
    }

    fn check(&self) -> Report {
        check(&self.chain(), &self.genesis)
    }
}

fn check(chain: &Chain, genesis: &Arc<Genesis>) -> Report {
    check_chain(chain, Some(genesis), &mut |_, _| ControlFlow::Continue(())).expect("a sound chain")
}

/// The rules that concern every block of Praos.
const OF_EVERY_BLOCK: [&str; 17] = [
    "block-number",
    "slot-order",
    "previous-hash",
    "header-limit",
    "body-limit",
    "body-size",
    "body-hash",
    "certificate-signature",
    "counter-lower-bound",
    "counter-upper-bound",
    "kes-period-start",
    "kes-period-end",
    "kes-signature",
    "vrf-proof",
    "pool-registered",
    "vrf-key",
    "leader-threshold",
];

/// Asserts that every rule holds of every block, by exact stake, and that each epoch is there.
fn assert_valid(report: &Report) {
    assert_eq!(report.failures, []);
    for counts in &report.rules {
        assert_eq!((counts.approximate, counts.unknown, counts.broken), (0, 0, 0), "{counts:?}");
    }
    let held: BTreeMap<_, _> = report.rules.iter().map(|counts| (counts.rule, counts.held)).collect();
    for rule in OF_EVERY_BLOCK {
        assert_eq!(held[rule], report.blocks, "{rule}");
    }
    assert_eq!(held.contains_key("inputs-found"), report.transactions > 0);
    assert!(report.epochs.iter().all(|epoch| epoch.exact && epoch.pools == Some(2)));
}

/// A network on which epochs have 1,000 slots, 50 blocks on average.
fn small(workload: Workload, blocks: u64) -> Recipe {
    Recipe { security_parameter: 5, ..Recipe::new(workload, blocks) }
}

#[test]
fn chains_of_every_workload_are_valid_over_several_epochs() {
    let mix = "mix:value-only=1,plutus-loop=8,empty=8,preview-like=16".parse().expect("a mix");
    for workload in Workload::KINDS.into_iter().chain([mix]) {
        // Value-only blocks are full: they take shorter epochs.
        let recipe =
            if workload == Workload::ValueOnly { Recipe { security_parameter: 2, ..small(workload, 90) } } else { small(workload, 220) };
        let report = Made::new(&recipe).check();
        assert_valid(&report);
        assert_eq!(report.blocks, recipe.blocks);
        assert!(report.epochs.len() >= 4, "{workload}: {:?}", report.epochs);
        let nonces: Vec<_> = report.epochs.iter().map(|epoch| &epoch.nonce).collect();
        assert!(nonces.windows(2).all(|pair| pair[0] != pair[1]), "{workload}");
        // Epochs 0 and 1 have the genesis's stake; payments move it between pools and to fees.
        let moved = report.epochs.iter().any(|epoch| epoch.stake != report.epochs[0].stake);
        assert_eq!(moved, workload != Workload::Empty, "{workload}");
    }
}

#[test]
fn keys_evolve_and_certificates_are_renewed() {
    // 62 periods of 7 slots: a certificate lasts 434 slots.
    let made = Made::new(&Recipe { kes_period_slots: 7, ..small(Workload::Empty, 150) });
    assert_valid(&made.check());
    let chain = made.chain();
    let mut sequences: BTreeMap<[u8; 32], Vec<u64>> = BTreeMap::new();
    let mut evolutions = Vec::new();
    for index in 0..chain.len() {
        let header = decode_header(chain.bytes(index)).expect("a header");
        let certificate = header.certificate.expect("a certificate");
        sequences.entry(*header.issuer.expect("an issuer")).or_default().push(certificate.sequence);
        evolutions.push(header.slot / 7 - certificate.kes_period);
    }
    assert!(evolutions.iter().all(|evolution| *evolution < 62) && evolutions.iter().any(|evolution| *evolution > 50));
    assert_eq!(sequences.len(), 2);
    for sequence in sequences.values() {
        assert_eq!(sequence[0], 0);
        assert!(sequence.windows(2).all(|pair| pair[1] - pair[0] <= 1) && sequence.last() >= Some(&3), "{sequence:?}");
    }
}

#[test]
fn extra_outputs_are_in_the_genesis_and_get_spent() {
    let recipe = Recipe { utxo: 20_000, ..small(Workload::ValueOnly, 3) };
    let made = Made::new(&recipe);
    assert_eq!(made.genesis.funds.len(), 16_384 + 20_000);
    assert_valid(&made.check());
    let other = Made::new(&Recipe { utxo: 0, ..recipe });
    assert_ne!(made.genesis.hash, other.genesis.hash);
    assert_ne!(made.chain().tip().expect("a tip"), other.chain().tip().expect("a tip"));
}

#[test]
fn a_chain_with_rewards_is_valid_by_the_stake_that_they_make() {
    let made = Made::new(&Recipe { delegators: 300, security_parameter: 2, ..small(Workload::Empty, 160) });
    assert_eq!((made.genesis.funds.len(), made.genesis.delegators.len()), (16_384 + 300, 16 + 300));
    let report = made.check();
    assert_valid(&report);
    // Rewards of epoch 1 are paid before epoch 3, and stake of then counts in epoch 4. Nothing else moves stake in blocks without transactions.
    let stake: Vec<_> = report.epochs.iter().map(|epoch| epoch.stake).collect();
    assert!(stake.len() >= 7 && stake[..4].iter().all(|of| *of == stake[0]), "{stake:?}");
    assert!(stake[3..].is_sorted_by(|one, other| one < other), "{stake:?}");
}

fn open<T: Enveloped>(path: &Path) -> T {
    let text = fs::read_to_string(path).expect("a file");
    Envelope::read(&text).expect("an envelope").open().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn keys_are_those_that_made_the_chain() {
    use std::os::unix::fs::PermissionsExt;

    let made = Made::new(&Recipe { kes_period_slots: 7, ..small(Workload::Empty, 60) });
    let chain = made.chain();
    let mut headers = BTreeMap::new();
    for index in 0..chain.len() {
        let header = decode_header(chain.bytes(index)).expect("a header");
        headers.insert(blake2b_224(&[header.issuer.expect("an issuer")]), header);
    }
    assert_eq!(headers.len(), 2);
    for number in 1..=2 {
        let place = made.network().join(format!("pools-keys/pool{number}"));
        let ColdVerificationKey(cold) = open(&place.join("cold.vkey"));
        let ColdSigningKey(secret) = open(&place.join("cold.skey"));
        assert_eq!(ed25519_dalek::SigningKey::from_bytes(&secret).verifying_key().to_bytes(), cold);
        let header = &headers[&blake2b_224(&[&cold])];
        let VrfSigningKey(key) = open(&place.join("vrf.skey"));
        let key = vrf::SigningKey::from_bytes(&key).expect("a key with its public half");
        assert_eq!(header.vrf_key, Some(&key.verification_key()));
        let registered = made.genesis.pools.iter().find(|(id, _)| *id == blake2b_224(&[&cold])).expect("a pool of the genesis");
        assert_eq!(registered.1, blake2b_256(&[&key.verification_key()]));
        let OperationalCertificate { certificate, cold_key } = open(&place.join("opcert.cert"));
        assert_eq!(cold_key, cold);
        assert!(certificate::verify(&cold, &certificate.view()));
        let used = header.certificate.expect("a certificate");
        assert_eq!((&certificate.hot_key, certificate.sequence), (used.hot_key, used.sequence));
        let KesSigningKey(key) = open(&place.join("kes.skey"));
        let key = kes::SigningKey::from_bytes(&key, 0).expect("a key before its first evolution");
        let KesVerificationKey(hot) = open(&place.join("kes.vkey"));
        assert_eq!((key.verification_key(), hot), (certificate.hot_key, certificate.hot_key));
        assert_eq!(open::<IssueCounter>(&place.join("opcert.counter")), IssueCounter { next: certificate.sequence + 1, cold_key });
        for name in ["cold.skey", "vrf.skey", "kes.skey"] {
            assert_eq!(fs::metadata(place.join(name)).expect("a file").permissions().mode() & 0o077, 0, "{name}");
        }
    }
}

#[test]
fn the_configuration_has_the_hashes_of_its_genesis_files() {
    let made = Made::new(&small(Workload::Empty, 1));
    let configuration = json(&made.network().join("config.json"));
    for era in ["Byron", "Shelley", "Alonzo", "Conway", "Dijkstra"] {
        let bytes = fs::read(made.network().join(configuration[format!("{era}GenesisFile")].as_str().expect("a name"))).expect("a file");
        assert_eq!(configuration[format!("{era}GenesisHash")], hex::encode(blake2b_256(&[&bytes])), "{era}");
        // Nodes hash Byron's as canonical JSON, which the file already is.
        if era == "Byron" {
            let value: Value = serde_json::from_slice(&bytes).expect("JSON");
            assert_eq!(value.to_string().as_bytes(), bytes);
        }
    }
}

#[test]
#[ignore = "needs the shared data: genesis files of other networks"]
fn genesis_files_have_the_form_of_other_networks() {
    let made = Made::new(&Recipe { utxo: 3, ..small(Workload::Empty, 1) });
    let bed = |file: &str| json(&shared(&format!("devnet-bed/{file}")));
    let our = |file: &str| json(&made.network().join(file));
    for (era, ours, theirs) in OTHERWISE {
        let file = format!("{era}-genesis.json");
        assert_same_form("", &our(&file), &bed(&file), ours, theirs);
    }
    for file in ["byron", "alonzo"] {
        let file = format!("{file}-genesis.json");
        let preview = json(&shared(&format!("preview-genesis/{file}")));
        let (our, preview) = (our(&file), preview);
        assert_eq!(our.as_object().map(|our| our.keys().collect::<Vec<_>>()), preview.as_object().map(|their| their.keys().collect()));
    }
    let configuration = our("config.json");
    for (key, value) in configuration.as_object().expect("an object") {
        match bed("config.json").get(key) {
            Some(other) => assert_eq!(std::mem::discriminant(value), std::mem::discriminant(other), "{key}"),
            None => assert!(key.ends_with("GenesisHash"), "{key}"),
        }
    }
}

#[test]
#[ignore = "needs the shared data: the preview network's genesis"]
fn canonical_json_is_what_nodes_hash_of_byron() {
    let value = json(&shared("preview-genesis/byron-genesis.json"));
    // As the preview network's configuration states it.
    let expected = "83de1d7302569ad56cf9139a41e2e11346d4cb4a31c00142557b6ab3fa550761";
    assert_eq!(hex::encode(blake2b_256(&[value.to_string().as_bytes()])), expected);
}

#[test]
#[ignore = "needs the shared data: keys of another network"]
fn envelopes_are_of_the_types_of_another_network() {
    let made = Made::new(&small(Workload::Empty, 1));
    for (our, their) in [("pools-keys/pool1/opcert.cert", "opcert.cert"), ("stake-delegators/delegator1/payment.vkey", "faucet.vkey")] {
        let (our, their) = (json(&made.network().join(our)), json(&shared(&format!("devnet-bed/keys/{their}"))));
        assert_same_form("", &our, &their, &[], &[]);
        assert_eq!((&our["type"], &our["description"]), (&their["type"], &their["description"]));
        assert_eq!(our["cborHex"].as_str().map(str::len), their["cborHex"].as_str().map(str::len));
    }
}

/// Returns the place of a header's part in a block, found by its bytes.
fn place_of(block: &[u8], part: &[u8]) -> usize {
    block.windows(part.len()).position(|window| window == part).expect("a part of the block")
}

/// Writes a chain anew with one block changed; the blocks after it are left out, since their links are about the old one.
fn changed(made: &Made, index: usize, change: impl Fn(&mut Vec<u8>)) -> Report {
    let chain = made.chain();
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("changed");
    let mut writer = ChainWriter::create(&path, made.genesis.shelley.security_parameter * 10).expect("a writer");
    for at in 0..=index {
        let entry = chain.entry(at);
        let mut bytes = chain.bytes(at).to_vec();
        if at == index {
            change(&mut bytes);
        }
        let header = &bytes[usize::from(entry.header_offset)..][..usize::from(entry.header_size)];
        let (slot, hash) = (decode_header(&bytes).expect("a header").slot, header_hash(Era::Conway, header));
        let block = NewBlock { bytes: &bytes, header_offset: entry.header_offset, header_size: entry.header_size, slot, hash };
        writer.append(&block).expect("appended");
    }
    writer.finish().expect("written");
    check(&Chain::open(&path).expect("a chain"), &made.genesis)
}

#[test]
fn a_changed_block_breaks_the_rule_that_the_change_is_about() {
    let made = Made::new(&small(Workload::PLUTUS_LOOP, 70));
    let chain = made.chain();
    let last = chain.len() - 1;
    let bytes = chain.bytes(last);
    let header = decode_header(bytes).expect("a header");
    let certificate = header.certificate.expect("a certificate");
    let vrf = header.vrf[0].expect("a proof");
    assert!(body_is_proven(bytes, &header));
    // The part that is changed, and what breaks with it; what the KES key signs always breaks its signature.
    let cases: [(&[u8], &[&str]); 8] = [
        (header.signature.expect("a signature"), &["kes-signature"]),
        (certificate.signature, &["certificate-signature", "kes-signature"]),
        (certificate.hot_key, &["certificate-signature", "kes-signature"]),
        (vrf.proof, &["kes-signature", "vrf-proof"]),
        (vrf.output, &["kes-signature", "leader-threshold", "vrf-proof"]),
        (&header.prev_hash.expect("a predecessor"), &["kes-signature", "previous-hash"]),
        (header.body_hash.expect("a hash"), &["body-hash", "kes-signature"]),
        (header.vrf_key.expect("a key"), &["kes-signature", "vrf-key", "vrf-proof"]),
    ];
    for (part, expected) in cases {
        let place = place_of(bytes, part);
        let report = changed(&made, last, |block| block[place] ^= 0x40);
        let broken: Vec<&str> = report.failures.iter().map(|failure| failure.rule).collect();
        let mut sorted = broken.clone();
        sorted.sort_unstable();
        // A changed output may still win the lottery.
        sorted.retain(|rule| *rule != "leader-threshold" || expected.contains(rule));
        let expected: Vec<&str> = expected.iter().copied().filter(|rule| *rule != "leader-threshold" || sorted.contains(rule)).collect();
        assert_eq!(sorted, expected, "at {place}");
        assert_eq!(report.failed_blocks, 1);
    }
    // An input that isn't there: the first byte of a transaction's id.
    let body = bytes.len() - 2_000;
    let place = (body..bytes.len() - 34).find(|&at| bytes[at..at + 3] == [0x82, 0x58, 0x20]).expect("an input") + 3;
    let report = changed(&made, last, |block| block[place] ^= 1);
    assert!(report.failures.iter().any(|failure| failure.rule == "body-hash"));
    // Another network's genesis: all that depends on its hash.
    let other = Made::new(&Recipe { seed: 2, ..small(Workload::Empty, 1) });
    let report = check(&chain, &other.genesis);
    let broken: Vec<&str> = report.rules.iter().filter(|counts| counts.broken > 0).map(|counts| counts.rule).collect();
    assert_eq!(broken, ["vrf-proof", "pool-registered", "inputs-found"]);
}
