//! Workloads for live clusters: every transaction keeps the ledger's rules behind those before it.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use minicbor::Encoder;
use slotmark_chain::block::Certificate;
use slotmark_chain::hash::{blake2b_224, blake2b_256};
use slotmark_chain::rule::Rule;
use slotmark_chain::{Decoder, Hash32};
use slotmark_ledger::{EncodedOutput, Environment, Resolved, encode_output, phase_one, phase_two};
use slotmark_network::{PLUTUS_V2_COST_MODEL, PLUTUS_V3_PLOMIN_COST_MODEL};
use slotmark_praos::genesis::{Genesis, Ledger};
use slotmark_synth::bed::Bed;
use slotmark_synth::load::{Fund, Load, LoadKind, Referred, SignedLoad, SignedTransaction, prepare};
use slotmark_synth::{Budgets, Script, Shares, SynthError, loop_script_hash};

const LOVELACE: u64 = 1_000_000_000_000;

fn secrets() -> Vec<[u8; 32]> {
    (1..=4).map(|number| [number; 32]).collect()
}

fn made(load: &Load) -> Result<SignedLoad, SynthError> {
    let funds: Vec<Fund> = secrets().iter().map(|secret| Fund::new(secret, LOVELACE)).collect();
    prepare(load, &funds, &mut |_, _| ControlFlow::Continue(()))
}

/// The funds as the genesis has them.
fn unspent() -> HashMap<(Hash32, u64), EncodedOutput> {
    let output = |secret: &[u8; 32]| {
        let key = ed25519_dalek::SigningKey::from_bytes(secret).verifying_key().to_bytes();
        let address = [&[0x60], &blake2b_224(&[&key])[..]].concat();
        ((blake2b_256(&[&address]), 0), encode_output(&address, LOVELACE))
    };
    secrets().iter().map(output).collect()
}

/// Returns the ledger parameters of a bed's genesis.
fn genesis() -> Ledger {
    genesis_with(0).ledger.expect("Alonzo's")
}

/// Returns a bed's genesis with this many outputs that nothing spends.
fn genesis_with(utxo_entries: u64) -> Genesis {
    let folder = tempfile::tempdir().expect("a folder");
    let mut bed = Bed::small(&[1.0]);
    (bed.genesis.max_block_body_bytes, bed.genesis.utxo_entries) = (90_112, utxo_entries);
    bed.write(folder.path(), &mut |_, _| ControlFlow::Continue(())).expect("a bed");
    let place = folder.path().join("genesis");
    for era in ["shelley", "alonzo", "conway"] {
        std::fs::rename(place.join(format!("genesis.{era}.json")), place.join(format!("{era}-genesis.json"))).expect("renamed");
    }
    let shelley = place.join("shelley-genesis.json");
    Genesis::read(&shelley).expect("a genesis")
}

/// A Conway block of one transaction, under a header of nothing.
fn block(transaction: &SignedTransaction) -> Vec<u8> {
    let mut parts = minicbor::Decoder::new(&transaction.bytes);
    assert_eq!(parts.array().expect("an array"), Some(4));
    let mut part = || {
        let start = parts.position();
        parts.skip().expect("a part");
        &transaction.bytes[start..parts.position()]
    };
    let [body, witnesses, valid, auxiliary] = [part(), part(), part(), part()];
    assert_eq!(blake2b_256(&[body]), transaction.id);
    assert_eq!(valid, [0xf5]);
    let mut block = Vec::new();
    let mut encoder = Encoder::new(&mut block);
    encoder.array(2).unwrap().u8(7).unwrap().array(5).unwrap().array(2).unwrap().array(10).unwrap();
    encoder.u8(0).unwrap().u64(10).unwrap().null().unwrap().bytes(&[0; 32]).unwrap().bytes(&[0; 32]).unwrap();
    encoder.array(2).unwrap().bytes(&[0; 64]).unwrap().bytes(&[0; 80]).unwrap().u8(0).unwrap().bytes(&[0; 32]).unwrap();
    encoder.array(4).unwrap().bytes(&[0; 32]).unwrap().u8(0).unwrap().u8(0).unwrap().bytes(&[0; 64]).unwrap();
    encoder.array(2).unwrap().u8(10).unwrap().u8(0).unwrap().bytes(&[0; 448]).unwrap();
    block.extend([&[0x81], body, &[0x81], witnesses].concat());
    match auxiliary {
        [0xf6] => block.push(0xa0),
        auxiliary => block.extend([&[0xa1, 0x00], auxiliary].concat()),
    }
    block.push(0x80);
    block
}

/// Applies a transaction to what is unspent, after holding it against every rule. Gives the scripts that ran.
fn apply(transaction: &SignedTransaction, genesis: &Ledger, unspent: &mut HashMap<(Hash32, u64), EncodedOutput>) -> usize {
    let bytes = block(transaction);
    let mut decoder = Decoder::new();
    let block = decoder.decode(&bytes).expect("a block");
    let one = &block.transactions[0];
    let resolved = Resolved::of(&block, one, 0, |id, index| unspent.get(&(*id, index)).cloned()).expect("inputs");
    assert!(resolved.all().all(|output| output.is_some()), "an input that isn't there");
    let environment = Environment { slot: 10, network: Some(genesis.network), parameters: Some(&genesis.parameters) };
    let auxiliary = block.auxiliary_data().expect("a map").first().map(|(_, span)| span.of(block.bytes));
    let mut outcome = phase_one(&block, one, &resolved, auxiliary, &environment).expect("a transaction");
    let (scripts, runs) = phase_two(&block, one, true, &resolved, auxiliary, &environment);
    outcome.merge(scripts);
    let broken: Vec<&str> = outcome.broken.iter().map(Rule::name).collect();
    assert!(broken.is_empty() && outcome.held.iter().next().is_some(), "{broken:?}");
    spend(transaction, unspent);
    runs.len()
}

/// Takes out what a transaction spends, and adds what it makes.
fn spend(transaction: &SignedTransaction, unspent: &mut HashMap<(Hash32, u64), EncodedOutput>) {
    let bytes = block(transaction);
    let mut decoder = Decoder::new();
    let block = decoder.decode(&bytes).expect("a block");
    let one = &block.transactions[0];
    for input in &block.inputs[one.inputs.start as usize..one.inputs.end as usize] {
        let id = block.bytes[input.transaction as usize..][..32].try_into().expect("32 bytes");
        assert!(unspent.remove(&(id, input.index)).is_some());
    }
    for (index, output) in block.outputs[one.outputs.start as usize..one.outputs.end as usize].iter().enumerate() {
        unspent.insert((transaction.id, index as u64), Arc::from(output.encoded.of(block.bytes)));
    }
}

/// As [`apply`], one after the other.
fn apply_all<'t>(
    transactions: impl Iterator<Item = &'t SignedTransaction>,
    genesis: &Ledger,
    unspent: &mut HashMap<(Hash32, u64), EncodedOutput>,
) {
    for transaction in transactions {
        apply(transaction, genesis, unspent);
    }
}

fn load(kind: LoadKind, transactions: u64) -> Load {
    Load { kind, transactions, payload_bytes: 100, seed: 1, budget: Budgets::PUBLIC.transaction, referred: Referred::default() }
}

#[test]
fn value_only_transactions_are_valid_in_their_order() {
    let genesis = genesis();
    // More than the split has outputs for at 40 inputs each: later ones spend what earlier ones made.
    for (inputs, outputs, transactions) in [(2, 2, 300), (1, 3, 50), (40, 40, 60)] {
        let made = made(&load(LoadKind::ValueOnly { inputs, outputs }, transactions)).expect("a load");
        let mut unspent = unspent();
        for transaction in made.split.iter().chain(&made.transactions) {
            assert_eq!(apply(transaction, &genesis, &mut unspent), 0);
        }
        assert_eq!((made.split.len(), made.transactions.len() as u64), (4, transactions));
        let ids: HashSet<_> = made.transactions.iter().map(|transaction| transaction.id).collect();
        assert_eq!(ids.len(), made.transactions.len());
    }
}

#[test]
fn transactions_refer_to_outputs_that_the_bed_has() {
    let mut genesis = genesis_with(50);
    let referred = Referred { each: 5, entries: 50, seed: 1 };
    let asked = Load { referred, ..load(LoadKind::ValueOnly { inputs: 2, outputs: 2 }, 30) };
    let made = made(&asked).expect("a load");
    let outputs = genesis.funds.iter().map(|(address, lovelace)| ((blake2b_256(&[address]), 0), encode_output(address, *lovelace)));
    let mut unspent = unspent();
    unspent.extend(outputs);
    let of_bed = unspent.len();
    apply_all(made.split.iter().chain(&made.transactions), &genesis.ledger.take().expect("Alonzo's"), &mut unspent);
    let mut seen = HashSet::new();
    for transaction in &made.transactions {
        let bytes = block(transaction);
        let mut decoder = Decoder::new();
        let block = decoder.decode(&bytes).expect("a block");
        let references = block.inputs_in(&block.transactions[0].reference_inputs).expect("inputs");
        let ids: HashSet<Hash32> =
            references.iter().map(|input| block.bytes[input.transaction as usize..][..32].try_into().expect("32 bytes")).collect();
        assert_eq!(ids.len(), 5);
        seen.extend(ids);
    }
    assert!(seen.len() > 45, "drawn among all of them: {} of 50 in 30 transactions", seen.len());
    assert_eq!(seen.iter().filter(|id| unspent.contains_key(&(**id, 0))).count(), seen.len(), "none of them is spent");
    assert!(of_bed > 54);
    let too_many = Load { referred: Referred { each: 51, ..referred }, ..asked.clone() };
    assert!(self::made(&too_many).expect_err("refused").to_string().contains("51 references to 50 outputs"));
    let with_script = Load { kind: LoadKind::PlutusLoop { count: None }, ..asked };
    assert!(self::made(&with_script).expect_err("refused").to_string().contains("references beside a script"));
}

#[test]
fn transactions_of_a_short_load_depend_on_the_split_alone() {
    let made = made(&load(LoadKind::ValueOnly { inputs: 2, outputs: 2 }, 400)).expect("a load");
    let genesis = genesis();
    let mut unspent = unspent();
    apply_all(made.split.iter(), &genesis, &mut unspent);
    // In the opposite order too.
    apply_all(made.transactions.iter().rev(), &genesis, &mut unspent);
}

/// A breach: the bytes before the one that is changed, how many lie between, and the rule that names it.
const BREACHES: [(&str, &str, usize, &str); 10] = [
    ("less deposit for a registration", "840c8200581c", 28 + 2 + 4, "value-conserved"),
    ("another refund", "83088200581c", 28 + 4, "value-conserved"),
    ("somebody else's stake delegated", "83028200581c", 0, "witness-keys"),
    ("somebody else's rewards", "05a1581de0", 0, "witness-keys"),
    ("rewards withdrawn and not paid out", "05a1581de0", 28, "value-conserved"),
    ("somebody else's pool", "8a03581c", 0, "witness-keys"),
    ("tokens of a policy without its script", "09a1581c", 0, "scripts"),
    ("another deposit of a DRep", "84108200581c", 28 + 4, "value-conserved"),
    ("another deposit of a proposal", "14d9010281841b", 7, "value-conserved"),
    ("somebody else's vote", "13a18202581c", 0, "witness-keys"),
];

/// The rules that a transaction breaks, without scripts.
fn broken(
    transaction: &SignedTransaction,
    genesis: &Ledger,
    unspent: &HashMap<(Hash32, u64), EncodedOutput>,
    pools: &mut HashSet<[u8; 28]>,
) -> Vec<&'static str> {
    let bytes = block(transaction);
    let mut decoder = Decoder::new();
    let block = decoder.decode(&bytes).expect("a block");
    let one = &block.transactions[0];
    let mut new = 0;
    for certificate in block.certificates(one).expect("certificates") {
        if let Certificate::PoolRegistration { pool, .. } = certificate {
            new += u64::from(pools.insert(pool));
        }
    }
    let resolved = Resolved::of(&block, one, new, |id, index| unspent.get(&(*id, index)).cloned()).expect("inputs");
    let environment = Environment { slot: 10, network: Some(genesis.network), parameters: Some(&genesis.parameters) };
    let auxiliary = block.auxiliary_data().expect("a map").first().map(|(_, span)| span.of(block.bytes));
    let outcome = phase_one(&block, one, &resolved, auxiliary, &environment).expect("a transaction");
    outcome.broken.iter().map(Rule::name).collect()
}

fn mints(transaction: &SignedTransaction) -> bool {
    let bytes = block(transaction);
    let mut decoder = Decoder::new();
    let block = decoder.decode(&bytes).expect("a block");
    block.transactions[0].mint.count > 0
}

#[test]
fn what_transactions_do_beside_value_is_valid_and_each_breach_is_named() {
    let genesis = genesis();
    let made = made(&load(LoadKind::Acting { inputs: 2, outputs: 2, shares: Shares::MIXED }, 400)).expect("a load");
    let (mut unspent, mut pools, mut found) = (unspent(), HashSet::new(), HashSet::new());
    for transaction in made.split.iter().chain(&made.transactions) {
        for (what, before, between, rule) in BREACHES {
            let before = hex::decode(before).expect("hexadecimal digits");
            // The last one: an output's amount may end like the key of an entry, and tokens be in an output alone.
            if rule == "scripts" && !mints(transaction) {
                continue;
            }
            let Some(place) = transaction.bytes.windows(before.len()).rposition(|part| part == before) else { continue };
            let mut bytes = transaction.bytes.clone();
            bytes[place + before.len() + between] ^= 1;
            let mut body = minicbor::Decoder::new(&bytes[1..]);
            body.skip().expect("a body");
            let changed =
                SignedTransaction { id: blake2b_256(&[&bytes[1..1 + body.position()]]), action: transaction.action, bytes: bytes.clone() };
            let named = broken(&changed, &genesis, &unspent, &mut pools.clone());
            assert!(named.contains(&rule), "{what}: {named:?}");
            found.insert(what);
        }
        assert_eq!(broken(transaction, &genesis, &unspent, &mut pools), [""; 0]);
        spend(transaction, &mut unspent);
    }
    assert_eq!(found.len(), BREACHES.len(), "{found:?}");
}

/// The actions that the content of a transaction may be of: keys of its body, and the kind of its certificate.
fn may_be(transaction: &SignedTransaction) -> &'static [&'static str] {
    let mut body = minicbor::Decoder::new(&transaction.bytes[1..]);
    let (mut keys, mut kind) = (HashSet::new(), None);
    for _ in 0..body.map().expect("a map").expect("its length") {
        let key = body.u8().expect("a key");
        keys.insert(key);
        if key == 4 {
            let mut certificate = body.probe();
            certificate.tag().expect("a set");
            certificate.array().expect("certificates");
            certificate.array().expect("a certificate");
            kind = certificate.u8().ok();
        }
        body.skip().expect("a value");
    }
    let large = transaction.bytes.len() > 1_000;
    match kind {
        Some(8 | 12) => &["registration"],
        Some(2) => &["delegation"],
        Some(3) => &["pool"],
        Some(16 | 18) => &["drep"],
        Some(_) => &[],
        None if keys.contains(&5) => &["withdrawal"],
        None if keys.contains(&9) && keys.contains(&18) => &["reference"],
        None if keys.contains(&9) => &["token"],
        None if keys.contains(&19) => &["vote"],
        None if keys.contains(&20) => &["proposal"],
        None if large => &["metadata"],
        None => &["value", "reference"], // an output with a script isn't looked for
    }
}

#[test]
fn each_transaction_is_named_by_what_it_does() {
    let loads =
        [(LoadKind::Acting { inputs: 2, outputs: 2, shares: Shares::MIXED }, 11), (LoadKind::ValueOnly { inputs: 2, outputs: 2 }, 1)];
    for (kind, actions) in loads {
        let made = made(&load(kind, 400)).expect("a load");
        let named: HashSet<_> = made.transactions.iter().map(|transaction| transaction.action).collect();
        assert_eq!(named.len(), actions, "{named:?}");
        for transaction in &made.transactions {
            assert!(may_be(transaction).contains(&transaction.action), "{}: {:?}", transaction.action, may_be(transaction));
        }
    }
    let script = made(&load(LoadKind::PlutusLoop { count: Some(1) }, 3)).expect("a load");
    assert!(script.transactions.iter().all(|transaction| transaction.action == "script"));
}

#[test]
fn plutus_transactions_are_valid_and_run_their_script() {
    let genesis = genesis();
    let made = made(&load(LoadKind::PlutusLoop { count: Some(1_000) }, 30)).expect("a load");
    let mut unspent = unspent();
    apply_all(made.split.iter(), &genesis, &mut unspent);
    let locked = unspent.values().filter(|output| output.windows(28).any(|part| part == loop_script_hash())).count();
    assert_eq!(locked, 32);
    for transaction in &made.transactions {
        assert_eq!(apply(transaction, &genesis, &mut unspent), 1);
    }
    // As much as a transaction may use, where no number is given.
    let full = self::made(&load(LoadKind::PlutusLoop { count: None }, 1)).expect("a load");
    let mut unspent = self::unspent();
    apply_all(full.split.iter(), &genesis, &mut unspent);
    assert_eq!(apply(&full.transactions[0], &genesis, &mut unspent), 1);
}

/// Writes a file of a script's folder.
fn put(folder: &std::path::Path, name: &str, content: &str) -> std::path::PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).expect("written");
    path
}

/// A script of a text envelope, whose flat program is given in hexadecimal digits.
fn script(language: u8, program: &str, redeemer: &str) -> Result<Script, SynthError> {
    let folder = tempfile::tempdir().expect("a folder");
    let bytes = program.len() / 2;
    let text = format!(
        r#"{{"type": "PlutusScriptV{language}", "description": "", "cborHex": "{:02x}{:02x}{program}"}}"#,
        0x41 + bytes,
        0x40 + bytes
    );
    let envelope = put(folder.path(), "made-up.plutus", &text);
    let datum = put(folder.path(), "datum.json", r#"{"constructor": 0, "fields": [{"bytes": "00ff"}]}"#);
    Script::read(&envelope, &datum, &put(folder.path(), "redeemer.json", redeemer), Budgets::PUBLIC.transaction, 10)
}

#[test]
fn scripts_of_files_run_in_valid_transactions_and_those_that_fail_are_refused() {
    // Succeeds whatever it is given: (lam d (lam r (lam context (con unit ())))) for the first two, (lam context (con unit ())) for the third.
    const ALWAYS: [&str; 3] = ["010000222499", "010000222499", "0101002499"];
    for (language, program) in (1..).zip(ALWAYS) {
        let script = script(language, program, r#"{"int": 7}"#).expect("a script");
        let copy: Script = serde_json::from_str(&serde_json::to_string(&script).expect("text")).expect("the same");
        assert_eq!(copy, script);
        let mut genesis = genesis();
        // A bed of this script has the cost model of its language in its genesis.
        genesis.parameters.cost_models[1] = Some(PLUTUS_V2_COST_MODEL.to_vec());
        genesis.parameters.cost_models[2] = Some(PLUTUS_V3_PLOMIN_COST_MODEL.to_vec());
        // More than there are outputs: later ones spend what earlier ones locked.
        let made = made(&load(LoadKind::Script(script), 30)).expect("a load");
        let mut unspent = unspent();
        apply_all(made.split.iter(), &genesis, &mut unspent);
        for transaction in &made.transactions {
            assert_eq!(apply(transaction, &genesis, &mut unspent), 1);
        }
    }
    // (lam context (error)); no program at all; a redeemer that is no data.
    for (program, redeemer, words) in [
        ("0101002601", "00", "made-up.plutus: the script fails with its datum and redeemer"),
        ("ff", "00", "made-up.plutus: the script, its datum or its redeemer can't be read"),
        ("0101002499", "f6", "made-up.plutus: the script, its datum or its redeemer can't be read"),
        ("0101002499", "{}", "redeemer.json: no Plutus data"),
    ] {
        let error = script(3, program, redeemer).expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
    }
    let stated = serde_json::to_string(&script(3, "0101002499", "00").expect("a script")).expect("text");
    assert!(serde_json::from_str::<Script>(&stated.replace("450101002499", "450101002498")).is_err(), "another script than the hash is of");
}

#[test]
fn the_same_load_gives_the_same_bytes_and_another_seed_others() {
    let asked = load(LoadKind::ValueOnly { inputs: 2, outputs: 2 }, 20);
    let (first, again, other) =
        (made(&asked).expect("a load"), made(&asked).expect("a load"), made(&Load { seed: 2, ..asked }).expect("a load"));
    assert_eq!((&first.split, &first.transactions), (&again.split, &again.transactions));
    assert_ne!(first.transactions, other.transactions);
}

#[test]
fn what_cannot_be_paid_or_sent_is_refused() {
    for (asked, expected) in [
        (load(LoadKind::ValueOnly { inputs: 0, outputs: 2 }, 1), "without inputs or outputs"),
        (load(LoadKind::ValueOnly { inputs: 300, outputs: 1 }, 100), "the funds are spent after"),
        (load(LoadKind::ValueOnly { inputs: 2, outputs: 600 }, 1), "expected 16384 at most"),
        (Load { payload_bytes: 20_000, ..load(LoadKind::ValueOnly { inputs: 2, outputs: 2 }, 1) }, "expected 16384 at most"),
    ] {
        let error = made(&asked).expect_err("refused").to_string();
        assert!(error.contains(expected), "{error}");
    }
    let poor = [Fund::new(&[1; 32], 1_000_000)];
    assert!(matches!(
        prepare(&load(LoadKind::ValueOnly { inputs: 1, outputs: 1 }, 1), &poor, &mut |_, _| ControlFlow::Continue(())),
        Err(SynthError::Refused(_))
    ));
    let stopped = prepare(&load(LoadKind::ValueOnly { inputs: 1, outputs: 1 }, 9), &[Fund::new(&[1; 32], LOVELACE)], &mut |_, _| {
        ControlFlow::Break(())
    });
    assert!(matches!(stopped, Err(SynthError::Interrupted)));
}
