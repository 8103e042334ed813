//! Phase 2: the Plutus scripts of a transaction, run.
//!
//! What a script is given (its datum, its redeemer, the context) is built by pallas-validate, and run with the
//! cost model of the chain's own parameters and the budget that the redeemer names.

use std::panic::{AssertUnwindSafe, catch_unwind};

use amaru_uplc::machine::PlutusVersion;
use pallas_codec::minicbor;
use pallas_codec::utils::MaybeIndefArray;
use pallas_primitives::conway::{Redeemer, Redeemers, Tx};
use pallas_primitives::{PlutusData, TransactionInput};
use pallas_traverse::MultiEraTx;
use pallas_validate::phase2::script_context::{
    DataLookupTable, ResolvedInput, ScriptVersion, SlotConfig, TxInfo, TxInfoV1, TxInfoV2, TxInfoV3, find_script,
};
use pallas_validate::phase2::to_plutus_data::ToPlutusData;
use slotmark_chain::block::{Block, Transaction};
use slotmark_chain::rule::{Outcome, Rule};
use slotmark_network::{Parameters, Units};

use crate::Environment;
use crate::evaluate::{evaluate, stack_bytes};
use crate::resolved::Resolved;

/// Stack that the evaluator may need for each byte that nests as deeply as it can, measured on scripts of nothing but heads.
pub(crate) const STACK_PER_BYTE: usize = 4_096;
/// Bytes of a transaction and all that it refers to, beyond which its scripts aren't run.
const MOST_BYTES: usize = 256 * 1_024;
/// The first protocol version of Conway.
const CONWAY: u64 = 9;

/// The result of one script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptRun {
    /// The purpose that it ran for, as redeemers name it: 0 spend, 1 mint, 2 certificate, 3 reward, 4 vote, 5 proposal.
    pub purpose: u8,
    /// Index within its purpose.
    pub index: u32,
    /// The budget that the redeemer allows.
    pub budget: Units,
    /// The budget that it used; up to its failure, if it failed.
    pub used: Units,
    /// Its end.
    pub end: ScriptEnd,
}

/// The end of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptEnd {
    /// It succeeds.
    Success,
    /// It fails within its budget.
    Failure,
    /// It needs more than its budget.
    OverBudget,
}

/// Runs a transaction's scripts. `valid` is from the block: whether all of them succeed.
///
/// The rules are in none of the outcome's sets where there are no scripts, and not known where they can't be run: without
/// parameters or an input, where a script isn't there (which phase 1 finds), or where the evaluator can't read it. Before
/// Conway they aren't known either where they don't hold: what scripts see is then not made exactly as the ledger did.
pub fn phase_two(
    block: &Block<'_, '_>,
    transaction: &Transaction,
    valid: bool,
    resolved: &Resolved,
    auxiliary: Option<&[u8]>,
    environment: &Environment<'_>,
) -> (Outcome, Vec<ScriptRun>) {
    let mut outcome = Outcome::default();
    if transaction.witnesses.redeemers.is_empty() {
        return (outcome, Vec::new());
    }
    let Some(runs) = run_all(block, transaction, resolved, auxiliary, environment) else {
        [Rule::ScriptBudget, Rule::ScriptResult].into_iter().for_each(|rule| outcome.note_unknown(rule));
        return (outcome, Vec::new());
    };
    let ended = |end: ScriptEnd| runs.iter().any(|run| run.end == end);
    let fails = ended(ScriptEnd::Failure) || ended(ScriptEnd::OverBudget);
    // What scripts see is made for Conway, and before it not alike in all: then a failure isn't known to be one.
    let exact = environment.parameters.is_some_and(|parameters| parameters.shelley.protocol_version.major >= CONWAY);
    let mut note = |rule, holds| if holds || exact { outcome.note(rule, holds) } else { outcome.note_unknown(rule) };
    // A transaction that is marked as failing may well fail for want of budget.
    note(Rule::ScriptBudget, !valid || !ended(ScriptEnd::OverBudget));
    note(Rule::ScriptResult, if valid { !ended(ScriptEnd::Failure) } else { fails });
    (outcome, runs)
}

fn run_all(
    block: &Block<'_, '_>,
    transaction: &Transaction,
    resolved: &Resolved,
    auxiliary: Option<&[u8]>,
    environment: &Environment<'_>,
) -> Option<Vec<ScriptRun>> {
    let parameters = environment.parameters?;
    let bytes = transaction_bytes(block, transaction, auxiliary);
    let outputs = resolved.inputs.iter().chain(&resolved.references);
    let size = bytes.len() + outputs.map(|output| output.as_ref().map_or(0, |bytes| bytes.len())).sum::<usize>();
    if size > MOST_BYTES {
        return None;
    }
    let allowed = Units { memory: parameters.alonzo.max_transaction_units.memory, ..Units::default() };
    let stack = (size * STACK_PER_BYTE).saturating_add(stack_bytes(allowed, parameters));
    // The libraries panic on some data; such a transaction's scripts count as unknown.
    stacker::maybe_grow(stack, stack, || {
        let run = || run_decoded(&bytes, block, transaction, resolved, parameters, environment);
        catch_unwind(AssertUnwindSafe(run)).ok().flatten()
    })
}

/// The transaction on its own, as peers send it: `[body, witnesses, valid, auxiliary data]`.
fn transaction_bytes(block: &Block<'_, '_>, transaction: &Transaction, auxiliary: Option<&[u8]>) -> Vec<u8> {
    let mut bytes = vec![0x84];
    bytes.extend_from_slice(transaction.body.of(block.bytes));
    bytes.extend_from_slice(transaction.witnesses.encoded.of(block.bytes));
    bytes.push(0xf5);
    bytes.extend_from_slice(auxiliary.unwrap_or(&[0xf6]));
    bytes
}

fn run_decoded(
    bytes: &[u8],
    block: &Block<'_, '_>,
    transaction: &Transaction,
    resolved: &Resolved,
    parameters: &Parameters,
    environment: &Environment<'_>,
) -> Option<Vec<ScriptRun>> {
    let tx: Tx<'_> = minicbor::decode(bytes).ok()?;
    let inputs = &block.inputs[transaction.inputs.start as usize..transaction.inputs.end as usize];
    let references = block.inputs_in(&transaction.reference_inputs).ok()?;
    let places = inputs.iter().chain(&references).map(|input| {
        let id: [u8; 32] = block.bytes[input.transaction as usize..][..32].try_into().expect("32 bytes");
        TransactionInput { transaction_id: id.into(), index: input.index }
    });
    let outputs = resolved.inputs.iter().chain(&resolved.references);
    let sources =
        places.zip(outputs).map(|(input, output)| Some(ResolvedInput { input, output: minicbor::decode(output.as_deref()?).ok()? }));
    let sources: Vec<ResolvedInput<'_>> = sources.collect::<Option<_>>()?;
    let table = DataLookupTable::from_transaction(&MultiEraTx::from_conway(&tx), &sources);
    let network = environment.network?;
    let times = SlotConfig { slot_length: network.slot_ms, zero_slot: 0, zero_time: network.start_ms };
    let mut contexts = Contexts { tx: &tx, sources: &sources, times: &times, made: [None, None, None] };
    redeemers(&tx)
        .into_iter()
        .map(|redeemer| {
            let (script, datum) = find_script(&redeemer, &tx, &sources, &table).ok()?;
            let (version, script): (_, &[u8]) = match &script {
                ScriptVersion::V1(script) => (PlutusVersion::V1, script.as_ref()),
                ScriptVersion::V2(script) => (PlutusVersion::V2, script.as_ref()),
                ScriptVersion::V3(script) => (PlutusVersion::V3, script.as_ref()),
                ScriptVersion::Native(_) => return None,
            };
            let mut context = contexts.of(version)?.into_script_context(&redeemer, datum.as_ref())?.to_plutus_data();
            if parameters.shelley.protocol_version.major < CONWAY
                && transaction.invalid_before.is_none()
                && transaction.invalid_hereafter.is_some()
            {
                close_interval(&mut context, version)?;
            }
            let mut arguments = vec![context];
            if version != PlutusVersion::V3 {
                arguments.insert(0, redeemer.data.clone());
                arguments.splice(0..0, datum);
            }
            let budget = Units { memory: redeemer.ex_units.mem, steps: redeemer.ex_units.steps };
            let (end, used) = evaluate(version, script, &arguments, budget, parameters)?;
            Some(ScriptRun { purpose: redeemer.tag as u8, index: redeemer.index, budget, used, end })
        })
        .collect()
}

/// Puts the upper end of a context's interval into the interval.
///
/// Before Conway, scripts saw an interval with nothing but an upper end so (`transVITime` of cardano-ledger), which
/// pallas-validate, made for Conway, doesn't have.
fn close_interval(context: &mut PlutusData, version: PlutusVersion) -> Option<()> {
    fn field(data: &mut PlutusData, index: usize) -> Option<&mut PlutusData> {
        let PlutusData::Constr(constr) = data else { return None };
        match &mut constr.fields {
            MaybeIndefArray::Def(fields) | MaybeIndefArray::Indef(fields) => fields.get_mut(index),
        }
    }
    let interval = field(field(context, 0)?, if version == PlutusVersion::V1 { 6 } else { 7 })?;
    *field(field(interval, 1)?, 1)? = true.to_plutus_data();
    Some(())
}

fn redeemers(tx: &Tx<'_>) -> Vec<Redeemer> {
    match tx.transaction_witness_set.redeemer.as_deref() {
        Some(Redeemers::List(list)) => list.to_vec(),
        Some(Redeemers::Map(map)) => map
            .iter()
            .map(|(key, value)| Redeemer { tag: key.tag, index: key.index, data: value.data.clone(), ex_units: value.ex_units })
            .collect(),
        None => Vec::new(),
    }
}

/// The view of the transaction for scripts of each version of Plutus, made once each.
struct Contexts<'c> {
    tx: &'c Tx<'c>,
    sources: &'c [ResolvedInput<'c>],
    times: &'c SlotConfig,
    made: [Option<TxInfo<'c>>; 3],
}

impl<'c> Contexts<'c> {
    fn of(&mut self, version: PlutusVersion) -> Option<TxInfo<'c>> {
        let place = &mut self.made[version as usize];
        if place.is_none() {
            let made = match version {
                PlutusVersion::V1 => TxInfoV1::from_transaction(self.tx, self.sources, self.times),
                PlutusVersion::V2 => TxInfoV2::from_transaction(self.tx, self.sources, self.times),
                PlutusVersion::V3 => TxInfoV3::from_transaction(self.tx, self.sources, self.times),
            };
            *place = made.ok();
        }
        place.clone()
    }
}
