//! Scripts run ahead of time: transactions name what their scripts use.

use std::sync::Arc;

use slotmark_chain::block::Decoder;
use slotmark_ledger::{Environment, Resolved, ScriptEnd, phase_two};
use slotmark_network::{Network, shelley};

use super::{Budget, Script};
use crate::address::Address;
use crate::assembly::Transactions;
use crate::error::SynthError;
use crate::transaction::{Draft, NewOutput, OutputReference, ScriptSpend, Spec, encode_output, settle};

/// A transaction is made anew at most this many times until it names what its script uses.
const TRIES: usize = 6;
/// Lovelace of the first run's output.
const PROBED_LOVELACE: u64 = 100_000_000_000;

/// An output that a script locks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LockedOutput {
    pub(crate) reference: OutputReference,
    pub(crate) lovelace: u64,
}

/// Runs a script in a transaction that spends one output which it locks, and locks it again, and may use as much as `most`; gives what it
/// uses.
///
/// # Errors
/// The script doesn't succeed.
pub(crate) fn probe(script: &Script, most: Budget) -> Result<Budget, SynthError> {
    let reference = OutputReference { transaction: [1; 32], index: 0 };
    let collateral = OutputReference { transaction: [2; 32], index: 0 };
    let address = Address::script(&script.hash());
    let locked = LockedOutput { reference, lovelace: PROBED_LOVELACE };
    let probed = settle_run(script, locked, most, most, |fee, budget| {
        let spend = ScriptSpend {
            script,
            reference: None,
            redeemer: script.redeemer(),
            budget,
            collateral,
            collateral_lovelace: PROBED_LOVELACE,
            collateral_address: None,
        };
        let left = PROBED_LOVELACE.checked_sub(fee)?;
        let outputs = vec![NewOutput { datum: Some(script.output_datum()), ..NewOutput::to(address, left) }];
        let spec = Spec { inputs: vec![reference], outputs, fee, script: Some(spend), signers: vec![0], ..Spec::default() };
        Some((spec, budget))
    })?;
    let (draft, budget) = probed.ok_or_else(|| wrong(script, "a transaction with the script can't be paid"))?;
    let bytes = draft.tx_bytes() as u64;
    if bytes > shelley::PARAMETERS.max_transaction_bytes {
        return Err(wrong(
            script,
            &format!("a transaction with it has {bytes} bytes: expected {} at most", shelley::PARAMETERS.max_transaction_bytes),
        ));
    }
    Ok(budget)
}

/// The transaction that pays the least fee and names what its script uses, which `build` makes of a fee and a budget; with what `build`
/// yields beside it. The script is run in the very transaction, first with `guess`, and at most with `most`. None where `build` gives None.
///
/// # Errors
/// The script doesn't succeed.
pub(crate) fn settle_run<'a, T>(
    script: &Script,
    locked: LockedOutput,
    guess: Budget,
    most: Budget,
    build: impl Fn(u64, Budget) -> Option<(Spec<'a>, T)>,
) -> Result<Option<(Draft, T)>, SynthError> {
    let mut budget = guess;
    let mut fits = None;
    for _ in 0..TRIES {
        let Some((draft, beside)) = settle(|fee| build(fee, budget)) else { return Ok(None) };
        match run(script, &draft, locked)? {
            (ScriptEnd::Success, used) if used == budget => return Ok(Some((draft, beside))),
            (ScriptEnd::Success, used) => {
                fits = Some((draft, beside));
                budget = used;
            }
            (ScriptEnd::OverBudget, _) if budget != most => budget = most,
            (ScriptEnd::OverBudget, _) => {
                let Budget { memory, steps } = most;
                let message = format!("the script uses more than a transaction may, {memory} of memory and {steps} steps, or never ends");
                return Err(wrong(script, &message));
            }
            (ScriptEnd::Failure, _) => return Err(wrong(script, "the script fails with its datum and redeemer")),
        }
    }
    match fits {
        Some(made) => Ok(Some(made)),
        None => Err(wrong(script, "what the script uses differs each time its transaction is made")),
    }
}

fn wrong(script: &Script, message: &str) -> SynthError {
    let message = format!("{message}. Give another script, datum or redeemer");
    SynthError::Script { place: script.name().to_owned(), message }
}

/// Runs the script of a transaction whose first input is that output.
fn run(script: &Script, draft: &Draft, locked: LockedOutput) -> Result<(ScriptEnd, Budget), SynthError> {
    let unreadable = || wrong(script, "the script, its datum or its redeemer can't be read as what they should be");
    let mut transactions = Transactions::default();
    transactions.push(draft.body(), |set| draft.unsigned(set), draft.auxiliary(), true);
    let bytes = transactions.body().behind_blank_header();
    let mut decoder = Decoder::new();
    let block = decoder.decode(&bytes).map_err(|_| unreadable())?;
    let transaction = block.transactions.first().ok_or_else(unreadable)?;
    let mut output = Vec::new();
    let address = Address::script(&script.hash());
    encode_output(&mut output, &NewOutput { datum: Some(script.output_datum()), ..NewOutput::to(address, locked.lovelace) });
    let output: Arc<[u8]> = output.into();
    let resolved = Resolved::of(&block, transaction, 0, |id, _| (*id == locked.reference.transaction).then(|| Arc::clone(&output)));
    let resolved = resolved.map_err(|_| unreadable())?;
    let environment = Environment { slot: 0, network: Some(NETWORK), parameters: Some(script.costs().parameters()) };
    let auxiliary = (!draft.auxiliary().is_empty()).then(|| draft.auxiliary());
    let (_, runs) = phase_two(&block, transaction, true, &resolved, auxiliary, &environment);
    let [run] = runs[..] else { return Err(unreadable()) };
    Ok((run.end, Budget { memory: run.used.memory, steps: run.used.steps }))
}

/// Transactions of ours have no slots in them, so that scripts see nothing of the network's times.
const NETWORK: Network = Network { id: shelley::NETWORK_ID, start_ms: shelley::SYSTEM_START_S * 1_000, slot_ms: 1_000 };
