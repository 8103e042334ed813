//! Transactions that keep every rule, and changes that break the one that each is about. One file because each case is a few lines on the same transaction.

use std::sync::Arc;

use amaru_uplc::arena::Arena;
use amaru_uplc::flat;
use amaru_uplc::syn::parse_program;
use ed25519_dalek::{Signer, SigningKey};
use pallas_codec::minicbor::Encoder;
use slotmark_chain::Decoder;
use slotmark_chain::hash::{blake2b_224, blake2b_256};
use slotmark_chain::rule::{Outcome, Rule};
use slotmark_ledger::{EncodedOutput, Environment, Resolved, ScriptEnd, ScriptRun, block_units, phase_one, phase_two};
use slotmark_network::{Network, Parameters, STATED, Units, alonzo, shelley};

const SLOT: u64 = 1_000;
const FUNDS: u64 = 10_000_000;
const COLLATERAL: u64 = 5_000_000;
/// Every step of a script costs 100 of each kind of unit.
const COST_MODEL: [i64; 251] = [100; 251];
const SUCCEEDS: &str = "(program 1.1.0 (lam context (con unit ())))";
const FAILS: &str = "(program 1.1.0 (lam context (error)))";

fn parameters() -> Parameters {
    Parameters {
        alonzo: alonzo::Parameters { max_block_units: Units { memory: 62_000_000, steps: 20_000_000_000 }, ..alonzo::PARAMETERS },
        cost_models: [None, None, Some(COST_MODEL.to_vec())],
        ..STATED.clone()
    }
}

fn encode(write: impl FnOnce(&mut Encoder<&mut Vec<u8>>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut Encoder::new(&mut bytes));
    bytes
}

fn number(number: u64) -> Vec<u8> {
    encode(|encoder| _ = encoder.u64(number).unwrap())
}

fn bytes(bytes: &[u8]) -> Vec<u8> {
    encode(|encoder| _ = encoder.bytes(bytes).unwrap())
}

/// The bytes of a script as transactions hold it: its flat form in a byte string.
fn script(source: &str) -> Vec<u8> {
    let arena = Arena::new();
    let program = flat::encode(parse_program(&arena, source).into_result().unwrap()).unwrap();
    bytes(&program)
}

fn key_address(key: &SigningKey) -> Vec<u8> {
    [&[0x60], &blake2b_224(&[key.verifying_key().as_bytes()])[..]].concat()
}

fn script_address(language: u8, script: &[u8]) -> Vec<u8> {
    [&[0x70], &blake2b_224(&[&[language], script])[..]].concat()
}

/// An output: an address, lovelace, an asset of a policy, an inline datum.
#[derive(Clone, Default)]
struct NewOutput {
    address: Vec<u8>,
    lovelace: u64,
    asset: Option<([u8; 28], u64)>,
    datum: bool,
}

impl NewOutput {
    fn encode(&self) -> Vec<u8> {
        encode(|encoder| {
            encoder.map(2 + u64::from(self.datum)).unwrap().u8(0).unwrap().bytes(&self.address).unwrap().u8(1).unwrap();
            match self.asset {
                Some((policy, amount)) => {
                    encoder.array(2).unwrap().u64(self.lovelace).unwrap();
                    encoder.map(1).unwrap().bytes(&policy).unwrap().map(1).unwrap().bytes(b"token").unwrap().u64(amount).unwrap();
                }
                None => _ = encoder.u64(self.lovelace).unwrap(),
            }
            if self.datum {
                encoder.u8(2).unwrap().array(2).unwrap().u8(1).unwrap();
                encoder.tag(pallas_codec::minicbor::data::IanaTag::Cbor.tag()).unwrap().bytes(&[0]).unwrap();
            }
        })
    }
}

/// A transaction as it is thought of, all of whose fields can be changed.
#[derive(Clone)]
struct Draft {
    key: SigningKey,
    inputs: Vec<Option<NewOutput>>,
    outputs: Vec<NewOutput>,
    fee: u64,
    invalid_before: Option<u64>,
    invalid_hereafter: Option<u64>,
    certificates: Option<Vec<u8>>,
    /// Votes (19) and proposals (20), as encoded.
    governance: Vec<(u8, Vec<u8>)>,
    auxiliary_hash: Option<[u8; 32]>,
    auxiliary: Option<Vec<u8>>,
    mint: Option<([u8; 28], i64)>,
    network: Option<u8>,
    required_signer: Option<[u8; 28]>,
    signs: bool,
    native_scripts: Vec<Vec<u8>>,
    datums: Vec<Vec<u8>>,
    /// Plutus V3.
    scripts: Vec<Vec<u8>>,
    /// Budget of the first input.
    budget: Option<Units>,
    collateral: Vec<NewOutput>,
    /// Times that each of it is listed.
    collateral_times: usize,
    /// Changes what the script data's hash is over.
    wrong_script_data: bool,
    marked_invalid: bool,
    new_pools: u64,
    older_deposits: i128,
}

impl Draft {
    /// One input, one output, signed.
    fn plain() -> Self {
        let key = SigningKey::from_bytes(&[7; 32]);
        let funds = NewOutput { address: key_address(&key), lovelace: FUNDS, ..NewOutput::default() };
        let fee = 180_000;
        let output = NewOutput { lovelace: FUNDS - fee, ..funds.clone() };
        Self {
            key,
            inputs: vec![Some(funds)],
            outputs: vec![output],
            fee,
            invalid_before: Some(SLOT),
            invalid_hereafter: Some(SLOT + 1),
            certificates: None,
            governance: vec![],
            auxiliary_hash: None,
            auxiliary: None,
            mint: None,
            network: Some(0),
            required_signer: None,
            signs: true,
            native_scripts: vec![],
            datums: vec![],
            scripts: vec![],
            budget: None,
            collateral: vec![],
            collateral_times: 1,
            wrong_script_data: false,
            marked_invalid: false,
            new_pools: 0,
            older_deposits: 0,
        }
    }

    /// One input that a Plutus script locks.
    fn with_script(source: &str) -> Self {
        let mut draft = Self::plain();
        let script = script(source);
        let input = draft.inputs[0].as_mut().unwrap();
        draft.collateral = vec![NewOutput { lovelace: COLLATERAL, ..input.clone() }];
        input.address = script_address(3, &script);
        input.datum = true;
        draft.scripts = vec![script];
        draft.budget = Some(Units { memory: 10_000, steps: 5_000_000 });
        draft.pay(200_000);
        draft
    }

    /// Sets the fee, out of the first output.
    fn pay(&mut self, fee: u64) {
        self.outputs[0].lovelace = self.outputs[0].lovelace + self.fee - fee;
        self.fee = fee;
    }

    /// The least fee that is enough.
    fn pay_least(&mut self) {
        let bytes = self.encode().2;
        let units = self.budget.unwrap_or_default();
        let run = (u128::from(units.memory) * 577_000 + u128::from(units.steps) * 721).div_ceil(10_000_000);
        self.pay(155_381 + 44 * bytes + run as u64);
    }

    fn redeemers(&self) -> Option<Vec<u8>> {
        self.budget.map(|budget| {
            encode(|encoder| {
                encoder.map(1).unwrap().array(2).unwrap().u8(0).unwrap().u8(0).unwrap();
                encoder.array(2).unwrap().u8(0).unwrap().array(2).unwrap().u64(budget.memory).unwrap().u64(budget.steps).unwrap();
            })
        })
    }

    fn script_data_hash(&self) -> Option<[u8; 32]> {
        let redeemers = self.redeemers()?;
        let views = encode(|encoder| {
            encoder.map(1).unwrap().u8(2).unwrap().array(COST_MODEL.len() as u64).unwrap();
            COST_MODEL.iter().for_each(|parameter| _ = encoder.i64(*parameter).unwrap());
        });
        let datums: Vec<u8> = if self.datums.is_empty() { vec![] } else { list(&self.datums) };
        Some(blake2b_256(&[&redeemers, &datums, &views, &vec![0; usize::from(self.wrong_script_data)]]))
    }

    fn body(&self) -> Vec<u8> {
        let mut fields: Vec<(u8, Vec<u8>)> = vec![
            (0, places(0, self.inputs.len())),
            (1, list(&self.outputs.iter().map(NewOutput::encode).collect::<Vec<_>>())),
            (2, number(self.fee)),
        ];
        fields.extend(self.invalid_hereafter.map(|slot| (3, number(slot))));
        fields.extend(self.certificates.clone().map(|certificate| (4, list(&[certificate]))));
        fields.extend(self.governance.clone());
        fields.extend(self.auxiliary_hash.map(|hash| (7, bytes(&hash))));
        fields.extend(self.invalid_before.map(|slot| (8, number(slot))));
        fields.extend(self.mint.map(|(policy, amount)| {
            let mint = |encoder: &mut Encoder<&mut Vec<u8>>| {
                encoder.map(1).unwrap().bytes(&policy).unwrap().map(1).unwrap().bytes(b"token").unwrap().i64(amount).unwrap();
            };
            (9, encode(mint))
        }));
        fields.extend(self.script_data_hash().map(|hash| (11, bytes(&hash))));
        fields.extend((!self.collateral.is_empty()).then(|| {
            let listed: Vec<_> =
                (100..).take(self.collateral.len()).cycle().take(self.collateral.len() * self.collateral_times).map(place).collect();
            (13, list(&listed))
        }));
        fields.extend(self.required_signer.map(|key| (14, list(&[bytes(&key)]))));
        fields.extend(self.network.map(|network| (15, vec![network])));
        map(fields)
    }

    fn witnesses(&self, body: &[u8]) -> Vec<u8> {
        let mut fields: Vec<(u8, Vec<u8>)> = vec![];
        if self.signs {
            let signature = self.key.sign(&blake2b_256(&[body])).to_bytes();
            let witness = encode(|encoder| {
                encoder.array(1).unwrap().array(2).unwrap().bytes(self.key.verifying_key().as_bytes()).unwrap().bytes(&signature).unwrap();
            });
            fields.push((0, witness));
        }
        fields.extend((!self.native_scripts.is_empty()).then(|| (1, list(&self.native_scripts))));
        fields.extend((!self.datums.is_empty()).then(|| (4, list(&self.datums))));
        fields.extend(self.redeemers().map(|redeemers| (5, redeemers)));
        let scripts: Vec<Vec<u8>> = self.scripts.iter().map(|script| bytes(script)).collect();
        fields.extend((!scripts.is_empty()).then(|| (7, list(&scripts))));
        map(fields)
    }

    /// A Conway block of this transaction alone, where its witnesses begin, and the size that fees count.
    fn encode(&self) -> (Vec<u8>, usize, u64) {
        let body = self.body();
        let witnesses = self.witnesses(&body);
        let auxiliary = self.auxiliary.clone();
        let mut block = header();
        block.push(0x81);
        block.extend(&body);
        block.push(0x81);
        let at = block.len();
        block.extend(&witnesses);
        match &auxiliary {
            Some(auxiliary) => block.extend([&[0xa1, 0x00], &auxiliary[..]].concat()),
            None => block.push(0xa0),
        }
        block.extend(if self.marked_invalid { &[0x81, 0x00][..] } else { &[0x80] });
        (block, at, 1 + (body.len() + witnesses.len() + auxiliary.map_or(1, |auxiliary| auxiliary.len())) as u64)
    }

    fn check(&self, change: impl FnOnce(&mut Vec<u8>, usize), parameters: &Parameters) -> (Outcome, Vec<ScriptRun>) {
        let (mut block, at, _) = self.encode();
        change(&mut block, at);
        let mut decoder = Decoder::new();
        let block = decoder.decode(&block).unwrap();
        let transaction = &block.transactions[0];
        let unspent = |id: &[u8; 32], index: u64| -> Option<EncodedOutput> {
            assert_eq!(id, &[1; 32]);
            let output = match index {
                0..100 => self.inputs[index as usize].as_ref(),
                _ => Some(&self.collateral[index as usize - 100]),
            };
            output.map(|output| Arc::from(output.encode()))
        };
        let mut resolved = Resolved::of(&block, transaction, self.new_pools, unspent).unwrap();
        resolved.older_deposits = self.older_deposits;
        let network = Some(Network { id: 0, start_ms: 1_666_656_000_000, slot_ms: 1_000 });
        let environment = Environment { slot: SLOT, network, parameters: Some(parameters) };
        let auxiliary = block.auxiliary_data().unwrap().first().map(|(_, span)| span.of(block.bytes));
        let mut outcome = phase_one(&block, transaction, &resolved, auxiliary, &environment).unwrap();
        let (scripts, runs) = phase_two(&block, transaction, block.invalid.is_empty(), &resolved, auxiliary, &environment);
        outcome.merge(scripts);
        outcome.merge(block_units(&block, &environment));
        (outcome, runs)
    }

    fn broken(&self) -> Vec<&'static str> {
        names(self.check(|_, _| {}, &parameters()).0)
    }
}

fn names(outcome: Outcome) -> Vec<&'static str> {
    outcome.broken.iter().map(Rule::name).collect()
}

fn map(mut fields: Vec<(u8, Vec<u8>)>) -> Vec<u8> {
    fields.sort_by_key(|field| field.0);
    let mut bytes = vec![0xa0 + fields.len() as u8];
    fields.into_iter().for_each(|(key, value)| bytes.extend([vec![key], value].concat()));
    bytes
}

fn list(items: &[Vec<u8>]) -> Vec<u8> {
    [&[0x80 + items.len() as u8], &items.concat()[..]].concat()
}

/// An input of the one earlier transaction.
fn place(index: u64) -> Vec<u8> {
    encode(|encoder| {
        encoder.array(2).unwrap().bytes(&[1; 32]).unwrap().u64(index).unwrap();
    })
}

/// Inputs of the one earlier transaction, with consecutive indexes.
fn places(first: u64, count: usize) -> Vec<u8> {
    list(&(first..).take(count).map(place).collect::<Vec<_>>())
}

/// `[7, [header, …`: a header of nothing.
fn header() -> Vec<u8> {
    encode(|encoder| {
        encoder.array(2).unwrap().u8(7).unwrap().array(5).unwrap().array(2).unwrap().array(10).unwrap();
        encoder.u8(0).unwrap().u64(SLOT).unwrap().null().unwrap().bytes(&[0; 32]).unwrap().bytes(&[0; 32]).unwrap();
        encoder.array(2).unwrap().bytes(&[0; 64]).unwrap().bytes(&[0; 80]).unwrap();
        encoder.u8(0).unwrap().bytes(&[0; 32]).unwrap();
        encoder.array(4).unwrap().bytes(&[0; 32]).unwrap().u8(0).unwrap().u8(0).unwrap().bytes(&[0; 64]).unwrap();
        encoder.array(2).unwrap().u8(10).unwrap().u8(0).unwrap().bytes(&[0; 448]).unwrap();
    })
}

/// A native script that needs a key's signature.
fn needs_key(key: [u8; 28]) -> Vec<u8> {
    list(&[number(0), bytes(&key)])
}

/// An array whose length is stated, or one that ends with a break.
fn array(items: &[Vec<u8>], is_stated: bool) -> Vec<u8> {
    if is_stated { list(items) } else { [&[0x9f], &items.concat()[..], &[0xff]].concat() }
}

#[test]
fn governance_is_read_whether_lengths_are_stated_or_not() {
    const DEPOSITS: [u64; 2] = [2_000_000, 1_000_000];
    for is_stated in [true, false] {
        let array = |items: &[Vec<u8>]| array(items, is_stated);
        let entry = |key: Vec<u8>, value: Vec<u8>| {
            let (open, close): (u8, &[u8]) = if is_stated { (0xa1, &[]) } else { (0xbf, &[0xff]) };
            [&[open], &key[..], &value, close].concat()
        };
        let sound = |sign: bool| {
            let mut draft = Draft::plain();
            draft.signs = sign;
            draft.pay(400_000);
            draft.outputs[0].lovelace -= DEPOSITS.iter().sum::<u64>();
            let key = blake2b_224(&[draft.key.verifying_key().as_bytes()]);
            let credential = array(&[number(0), bytes(&key)]);
            let abstain = array(&[number(2)]);
            // Registers, delegates to a pool and to nobody's votes.
            draft.certificates = Some(array(&[number(13), credential, bytes(&[5; 28]), abstain, number(DEPOSITS[0])]));
            let vote = array(&[number(1), vec![0xf6]]);
            let votes = entry(array(&[number(2), bytes(&key)]), entry(array(&[bytes(&[9; 32]), number(0)]), vote));
            let account = bytes(&[&[0xe0], &key[..]].concat());
            let anchor = array(&[vec![0x61, b'a'], bytes(&[2; 32])]);
            let proposal = array(&[number(DEPOSITS[1]), account, array(&[number(6)]), anchor]);
            draft.governance = vec![(19, votes), (20, array(&[proposal]))];
            draft
        };
        assert_eq!(sound(true).broken(), [""; 0], "lengths stated: {is_stated}");
        assert_eq!(sound(false).broken(), ["witness-keys"], "lengths stated: {is_stated}");
        let mut elsewhere = sound(true);
        let at = elsewhere.governance[1].1.windows(3).position(|bytes| bytes == [0x58, 0x1d, 0xe0]).unwrap();
        elsewhere.governance[1].1[at + 2] = 0xe1;
        assert_eq!(elsewhere.broken(), ["network-id"], "lengths stated: {is_stated}");
        let mut dearer = sound(true);
        dearer.outputs[0].lovelace += 1;
        assert_eq!(dearer.broken(), ["value-conserved"], "lengths stated: {is_stated}");
    }
}

#[test]
fn who_leaves_gets_the_deposit_that_was_paid() {
    for older in [0, 7, -7] {
        let mut draft = Draft::plain();
        let key = blake2b_224(&[draft.key.verifying_key().as_bytes()]);
        draft.certificates = Some(array(&[number(1), array(&[number(0), bytes(&key)], true)], true));
        draft.older_deposits = older;
        draft.outputs[0].lovelace += parameters().shelley.key_deposit.strict_add_signed(older as i64);
        assert_eq!(draft.broken(), [""; 0], "{older}");
        draft.outputs[0].lovelace += 1;
        assert_eq!(draft.broken(), ["value-conserved"], "{older}");
    }
}

#[test]
fn a_pool_earns_on_its_own_network() {
    let registration = |network: u8, draft: &Draft| {
        let key = blake2b_224(&[draft.key.verifying_key().as_bytes()]);
        let margin = [&[0xd8, 0x1e][..], &list(&[number(1), number(2)])].concat();
        let account = bytes(&[&[0xe0 | network], &key[..]].concat());
        let fields =
            [number(3), bytes(&key), bytes(&[3; 32]), number(0), number(0), margin, account, list(&[bytes(&key)]), list(&[]), vec![0xf6]];
        list(&fields)
    };
    for (network, broken) in [(0, vec![]), (1, vec!["network-id"])] {
        let mut draft = Draft::plain();
        draft.pay(300_000);
        draft.certificates = Some(registration(network, &draft));
        assert_eq!(draft.broken(), broken);
    }
}

#[test]
fn sound_transactions_keep_every_rule_that_concerns_them() {
    let (outcome, runs) = Draft::plain().check(|_, _| {}, &parameters());
    assert_eq!((names(outcome), outcome.unknown.is_empty(), runs), (vec![], true, vec![]));
    let held: Vec<_> = outcome.held.iter().map(Rule::name).collect();
    let of_each = [
        "inputs-given",
        "validity-interval",
        "fee",
        "transaction-limit",
        "value-conserved",
        "output-lovelace",
        "value-limit",
        "network-id",
        "witness-signatures",
        "witness-keys",
    ];
    assert_eq!(held, of_each);
    let draft = Draft::with_script(SUCCEEDS);
    let (outcome, runs) = draft.check(|_, _| {}, &parameters());
    assert_eq!((names(outcome), outcome.unknown.is_empty()), (vec![], true));
    for rule in
        [Rule::Scripts, Rule::Datums, Rule::Redeemers, Rule::ScriptDataHash, Rule::Collateral, Rule::ScriptBudget, Rule::ScriptResult]
    {
        assert!(outcome.held.contains(rule), "{rule}");
    }
    let [run] = runs[..] else { panic!("one run") };
    assert_eq!((run.purpose, run.index, run.budget, run.end), (0, 0, draft.budget.unwrap(), ScriptEnd::Success));
    // One application of a lambda: the start, an application, the lambda, its argument, its result.
    assert_eq!(run.used, Units { memory: 500, steps: 500 });
}

type Change = fn(&mut Draft);

#[test]
fn every_change_of_a_plain_transaction_breaks_its_rule() {
    let cases: &[(&str, Change, &[&str])] = &[
        ("nothing", |_| {}, &[]),
        ("the least fee", Draft::pay_least, &[]),
        (
            "a fee below the least one",
            |draft| {
                draft.pay_least();
                draft.pay(draft.fee - 1);
            },
            &["fee"],
        ),
        ("an output with more than there was", |draft| draft.outputs[0].lovelace += 1, &["value-conserved"]),
        ("an output with less than there was", |draft| draft.outputs[0].lovelace -= 1, &["value-conserved"]),
        ("an asset from nowhere", |draft| draft.outputs[0].asset = Some(([9; 28], 1)), &["value-conserved"]),
        ("an asset that is lost", |draft| draft.inputs[0].as_mut().unwrap().asset = Some(([9; 28], 1)), &["value-conserved"]),
        ("a deposit not made", |draft| draft.new_pools = 1, &["value-conserved"]),
        ("no inputs", |draft| draft.inputs.clear(), &["inputs-given", "value-conserved"]),
        ("a slot before the interval", |draft| draft.invalid_before = Some(SLOT + 1), &["validity-interval"]),
        ("a slot after the interval", |draft| draft.invalid_hereafter = Some(SLOT), &["validity-interval"]),
        (
            "an output of too little",
            |draft| {
                let output = NewOutput { lovelace: 840_000, ..draft.outputs[0].clone() };
                draft.outputs[0].lovelace -= output.lovelace;
                draft.outputs.push(output);
            },
            &["output-lovelace"],
        ),
        ("another network's address", |draft| draft.outputs[0].address[0] |= 1, &["network-id"]),
        ("another network", |draft| draft.network = Some(1), &["network-id"]),
        ("auxiliary data that isn't named", |draft| draft.auxiliary = Some(vec![0xa0]), &["auxiliary-data-hash"]),
        ("auxiliary data that isn't there", |draft| draft.auxiliary_hash = Some(blake2b_256(&[&[0xa0]])), &["auxiliary-data-hash"]),
        (
            "auxiliary data that is named",
            |draft| (draft.auxiliary, draft.auxiliary_hash) = (Some(vec![0xa0]), Some(blake2b_256(&[&[0xa0]]))),
            &[],
        ),
        ("no signature", |draft| draft.signs = false, &["witness-keys"]),
        ("another's signature", |draft| draft.key = SigningKey::from_bytes(&[8; 32]), &["witness-keys"]),
        ("another's signature missing", |draft| draft.required_signer = Some([3; 28]), &["witness-keys"]),
        ("a script nobody needs", |draft| draft.native_scripts.push(needs_key([3; 28])), &["scripts"]),
        ("a datum nobody needs", |draft| draft.datums.push(vec![0]), &["datums", "script-data-hash"]),
        (
            "an asset minted without its script",
            |draft| {
                draft.mint = Some(([9; 28], 5));
                draft.outputs[0].asset = Some(([9; 28], 5));
            },
            &["scripts"],
        ),
        ("an asset minted with its script", |draft| mint(draft, blake2b_224(&[draft.key.verifying_key().as_bytes()])), &[]),
        ("an asset minted against its script", |draft| mint(draft, [3; 28]), &["native-scripts"]),
        (
            "an unsigned delegation",
            |draft| {
                draft.certificates = Some([&[0x83, 0x02, 0x82, 0x00, 0x58, 0x1c][..], &[4; 28], &[0x58, 0x1c], &[5; 28]].concat());
            },
            &["witness-keys"],
        ),
    ];
    for (what, change, rules) in cases {
        let mut draft = Draft::plain();
        change(&mut draft);
        assert_eq!(draft.broken(), *rules, "{what}");
    }
}

fn mint(draft: &mut Draft, key: [u8; 28]) {
    let script = needs_key(key);
    let policy = blake2b_224(&[&[0], &script]);
    draft.native_scripts.push(script);
    draft.mint = Some((policy, 5));
    draft.outputs[0].asset = Some((policy, 5));
}

#[test]
fn every_change_of_a_transaction_with_a_script_breaks_its_rule() {
    let cases: &[(&str, Change, &[&str])] = &[
        ("nothing", |_| {}, &[]),
        ("a script that fails", |draft| *draft = Draft::with_script(FAILS), &["script-result"]),
        (
            "a script that fails, and is marked as failing",
            |draft| {
                *draft = Draft::with_script(FAILS);
                draft.marked_invalid = true;
            },
            &[],
        ),
        ("a script that succeeds, and is marked as failing", |draft| draft.marked_invalid = true, &["script-result"]),
        ("a budget too small", |draft| draft.budget = Some(Units { memory: 499, steps: 500 }), &["script-budget"]),
        ("a budget that is just enough", |draft| draft.budget = Some(Units { memory: 500, steps: 500 }), &[]),
        (
            "a budget above the limit",
            |draft| {
                draft.budget = Some(Units { memory: 14_000_001, steps: 500 });
                draft.pay_least();
            },
            &["transaction-units"],
        ),
        (
            "a budget above the limit of a block",
            |draft| {
                draft.budget = Some(Units { memory: 500, steps: 20_000_000_001 });
                draft.pay_least();
            },
            &["block-units", "transaction-units"],
        ),
        ("a fee without the script's", |draft| draft.pay(155_381 + 44 * draft.encode().2), &["fee"]),
        ("a script that isn't there", |draft| draft.scripts.clear(), &["scripts", "redeemers", "script-data-hash"]),
        ("a script without a redeemer", |draft| draft.budget = None, &["redeemers", "script-data-hash"]),
        (
            "a redeemer for nothing",
            |draft| {
                draft.inputs[0].as_mut().unwrap().address = key_address(&draft.key);
                draft.scripts.clear();
            },
            &["redeemers", "script-data-hash"],
        ),
        ("a hash of other data", |draft| draft.wrong_script_data = true, &["script-data-hash"]),
        ("no collateral", |draft| draft.collateral.clear(), &["collateral"]),
        ("too little collateral", |draft| draft.collateral[0].lovelace = draft.fee, &["collateral"]),
        (
            "too little collateral, which is there twice",
            |draft| {
                draft.collateral_times = 2;
                draft.collateral[0].lovelace = draft.fee;
            },
            &["collateral"],
        ),
        ("collateral of assets", |draft| draft.collateral[0].asset = Some(([9; 28], 1)), &["collateral"]),
        ("collateral at a script", |draft| draft.collateral[0].address = draft.inputs[0].clone().unwrap().address, &["collateral"]),
        (
            "more collateral than allowed",
            |draft| {
                draft.collateral = vec![draft.collateral[0].clone(); 4];
                draft.pay_least();
            },
            &["collateral"],
        ),
    ];
    for (what, change, rules) in cases {
        let mut draft = Draft::with_script(SUCCEEDS);
        change(&mut draft);
        assert_eq!(draft.broken(), *rules, "{what}");
    }
}

#[test]
fn a_flipped_bit_of_a_signature_is_found() {
    for bit in [0, 255, 256, 500] {
        // The set's head, the key 0, two heads of arrays, the key, the head of the signature.
        let flip = |block: &mut Vec<u8>, at: usize| block[at + 2 + 2 + 34 + 2 + bit / 8] ^= 1 << (bit % 8);
        assert_eq!(names(Draft::plain().check(flip, &parameters()).0), ["witness-signatures"], "bit {bit}");
    }
}

#[test]
fn what_is_larger_than_the_parameters_allow_is_refused() {
    let small = Parameters { shelley: shelley::Parameters { max_transaction_bytes: 200, ..shelley::PARAMETERS }, ..parameters() };
    assert_eq!(names(Draft::plain().check(|_, _| {}, &small).0), ["transaction-limit"]);
    let small = Parameters { alonzo: alonzo::Parameters { max_value_bytes: 40, ..alonzo::PARAMETERS }, ..parameters() };
    let mut draft = Draft::plain();
    let key = blake2b_224(&[draft.key.verifying_key().as_bytes()]);
    mint(&mut draft, key);
    assert_eq!(names(draft.check(|_, _| {}, &small).0), ["value-limit"]);
}

#[test]
fn what_an_input_stands_for_is_not_known_where_it_is_missing() {
    let mut draft = Draft::with_script(SUCCEEDS);
    draft.inputs[0] = None;
    let (outcome, runs) = draft.check(|_, _| {}, &parameters());
    assert_eq!((names(outcome), runs), (vec![], vec![]));
    let unknown: Vec<_> = outcome.unknown.iter().map(Rule::name).collect();
    let expected = [
        "fee",
        "value-conserved",
        "witness-keys",
        "scripts",
        "native-scripts",
        "datums",
        "redeemers",
        "script-data-hash",
        "collateral",
        "script-budget",
        "script-result",
    ];
    assert_eq!(unknown, expected);
}

#[test]
fn without_parameters_their_rules_are_not_known() {
    let draft = Draft::with_script(SUCCEEDS);
    let (block, _, _) = draft.encode();
    let mut decoder = Decoder::new();
    let block = decoder.decode(&block).unwrap();
    let outputs = |_: &[u8; 32], index: u64| {
        Some(draft.inputs.first()?.as_ref().filter(|_| index < 100).unwrap_or(&draft.collateral[0]).encode().into())
    };
    let resolved = Resolved::of(&block, &block.transactions[0], 0, outputs).unwrap();
    let environment = Environment { slot: SLOT, network: None, parameters: None };
    let outcome = phase_one(&block, &block.transactions[0], &resolved, None, &environment).unwrap();
    let unknown: Vec<_> = outcome.unknown.iter().map(Rule::name).collect();
    let of_parameters =
        ["fee", "transaction-limit", "output-lovelace", "value-limit", "network-id", "script-data-hash", "collateral", "transaction-units"];
    assert_eq!((names(outcome), unknown), (vec![], of_parameters.to_vec()));
}

#[test]
fn a_script_of_nothing_but_heads_needs_no_more_stack_than_there_is() {
    // 8,000 bytes of `force`, four bits each.
    let program: Vec<u8> = [&[1, 1, 0][..], &[0x55; 8_000]].concat();
    let mut draft = Draft::with_script(SUCCEEDS);
    let script = bytes(&program);
    draft.inputs[0].as_mut().unwrap().address = script_address(3, &script);
    draft.scripts = vec![script];
    draft.pay_least();
    let (outcome, runs) = draft.check(|_, _| {}, &parameters());
    assert_eq!((names(outcome), runs), (vec![], vec![]));
    assert!(outcome.unknown.contains(Rule::ScriptResult));
}
