//! Real transactions of preview, changed: each change is refused by the name of the rule that it is about.

use std::sync::Arc;

use slotmark_chain::block::{Block, Decoder};
use slotmark_chain::rule::{Outcome, Rule};
use slotmark_ledger::{Environment, Resolved, phase_one, phase_two};
use slotmark_praos::genesis::Genesis;
use slotmark_praos::state::{ChainState, Step};

use crate::shared::{genesis, preview};

/// A block as it stands in the chain, and one of its transactions.
struct Found {
    bytes: Vec<u8>,
    place: usize,
    step: Step,
    slot: u64,
}

/// The first transaction that each of these is true of, and the chain's state behind the last of their blocks.
fn first_of<const N: usize>(genesis: &Arc<Genesis>, wanted: [fn(&Block<'_, '_>, usize) -> bool; N]) -> (ChainState, [Found; N]) {
    let chain = preview();
    let mut state = ChainState::new(Some(genesis));
    let mut decoder = Decoder::new();
    let mut found = [const { None }; N];
    for index in 0..chain.len() {
        let block = decoder.decode(chain.bytes(index)).expect("a block");
        let step = state.step(&block).expect("a step");
        for (found, wanted) in found.iter_mut().zip(&wanted).filter(|(found, _)| found.is_none()) {
            if let Some(place) = (0..block.transactions.len()).find(|place| wanted(&block, *place)) {
                *found = Some(Found { bytes: chain.bytes(index).to_vec(), place, step: step.clone(), slot: block.header.slot });
            }
        }
        if found.iter().all(Option::is_some) {
            break;
        }
    }
    (state, found.map(|found| found.expect("the chain has such a transaction")))
}

impl Found {
    /// Returns the results of both phases, with changes.
    fn check(&self, genesis: &Genesis, change: impl FnOnce(&mut Changed)) -> (Outcome, Outcome) {
        let mut changed = Changed {
            bytes: self.bytes.clone(),
            slot: self.slot,
            resolved: self.step.resolved[self.place].clone(),
            valid: None,
            place: self.place,
        };
        change(&mut changed);
        let mut decoder = Decoder::new();
        let block = decoder.decode(&changed.bytes).expect("a block");
        let transaction = &block.transactions[self.place];
        let environment = Environment { slot: changed.slot, ..self.step.environment(Some(genesis), self.slot) };
        let auxiliary = block.auxiliary_data().unwrap();
        let auxiliary = auxiliary.iter().find(|(place, _)| *place as usize == self.place).map(|(_, span)| span.of(block.bytes));
        let valid = changed.valid.unwrap_or_else(|| !block.invalid.contains(&(self.place as u32)));
        let one = phase_one(&block, transaction, &changed.resolved, auxiliary, &environment).unwrap();
        (one, phase_two(&block, transaction, valid, &changed.resolved, auxiliary, &environment).0)
    }
}

/// The parts of a transaction that can be changed.
struct Changed {
    bytes: Vec<u8>,
    slot: u64,
    resolved: Resolved,
    valid: Option<bool>,
    place: usize,
}

impl Changed {
    /// Changes bytes at a place of the decoded block.
    fn at(&mut self, place: impl Fn(&Block<'_, '_>, usize) -> usize, change: impl FnOnce(&mut [u8])) {
        let mut decoder = Decoder::new();
        let at = place(&decoder.decode(&self.bytes).expect("a block"), self.place);
        change(&mut self.bytes[at..]);
    }
}

fn names(outcome: Outcome) -> Vec<&'static str> {
    outcome.broken.iter().map(Rule::name).collect()
}

/// Returns the start of a transaction's first signature.
fn signature(block: &Block<'_, '_>, place: usize) -> usize {
    block.vkeys[block.transactions[place].witnesses.vkeys.start as usize].signature as usize
}

/// Returns the place of a transaction's fee, four bytes behind the key 2 and its head.
fn fee(block: &Block<'_, '_>, place: usize) -> usize {
    let transaction = &block.transactions[place];
    let encoded = [&[0x02, 0x1a][..], &(transaction.fee as u32).to_be_bytes()].concat();
    let body = transaction.body.of(block.bytes);
    transaction.body.start as usize + body.windows(6).position(|window| window == encoded).expect("a fee of four bytes") + 2
}

fn has_interval(block: &Block<'_, '_>, place: usize) -> bool {
    let transaction = &block.transactions[place];
    transaction.invalid_hereafter.is_some() && !transaction.witnesses.vkeys.is_empty() && transaction.witnesses.redeemers.is_empty()
}

fn runs_scripts(block: &Block<'_, '_>, place: usize) -> bool {
    !block.transactions[place].witnesses.redeemers.is_empty() && !block.invalid.contains(&(place as u32))
}

fn fails(block: &Block<'_, '_>, place: usize) -> bool {
    block.invalid.contains(&(place as u32))
}

#[test]
#[ignore = "needs the shared data: the real chain and its genesis"]
fn every_change_of_a_real_transaction_breaks_its_rule() {
    let genesis = Arc::new(genesis());
    let (_, [plain, scripted, failing]) = first_of(&genesis, [has_interval, runs_scripts, fails]);
    for found in [&plain, &scripted, &failing] {
        let (one, two) = found.check(&genesis, |_| {});
        assert_eq!((names(one), names(two), two.unknown.is_empty()), (vec![], vec![], true), "slot {}", found.slot);
    }
    let one = |change: fn(&mut Changed)| names(plain.check(&genesis, change).0);
    assert_eq!(one(|changed| changed.at(signature, |bytes| bytes[20] ^= 4)), ["witness-signatures"]);
    assert_eq!(one(|changed| changed.slot = u64::MAX), ["validity-interval"]);
    assert_eq!(one(|changed| changed.at(fee, |bytes| bytes[3] ^= 1)), ["value-conserved", "witness-signatures"]);
    assert_eq!(one(|changed| changed.at(fee, |bytes| bytes[..2].fill(0))), ["fee", "value-conserved", "witness-signatures"]);
    assert_eq!(one(|changed| changed.resolved.inputs[0] = None), Vec::<&str>::new());
    // A key witness that is another's: its signature is wrong, and the needed one is missing.
    let key = |block: &Block<'_, '_>, place: usize| signature(block, place) - 34;
    let other = plain.check(&genesis, |changed| changed.at(key, |bytes| bytes[3] ^= 1)).0;
    assert_eq!(names(other), ["witness-signatures", "witness-keys"]);

    // Before Conway a script's failure isn't known to be one, but never counts as valid.
    let unknown = |found: &Found, change: fn(&mut Changed)| {
        let two = found.check(&genesis, change).1;
        assert!(two.broken.is_empty());
        two.unknown.iter().map(Rule::name).collect::<Vec<_>>()
    };
    assert_eq!(unknown(&scripted, |changed| changed.valid = Some(false)), ["script-result"]);
    assert_eq!(unknown(&failing, |changed| changed.valid = Some(true)), ["script-budget"]);
}

#[test]
#[ignore = "needs the shared data: the real chain and its genesis"]
fn a_real_output_is_spent_once() {
    let (mut state, [plain]) = first_of(&Arc::new(genesis()), [has_interval]);
    assert!(!plain.step.outcome.broken.contains(Rule::InputsFound));
    let mut decoder = Decoder::new();
    let block = decoder.decode(&plain.bytes).unwrap();
    let again = state.step(&block).unwrap();
    assert!(again.outcome.broken.contains(Rule::InputsFound));
    assert!(again.resolved[plain.place].inputs.iter().all(Option::is_none));
}
