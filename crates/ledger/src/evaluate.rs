//! One Plutus script, run by the evaluator for the protocol version: amaru-uplc up to version 10, uplc from version 11 (van Rossem) on.
//!
//! Both take the budget and the prices that the ledger states. amaru-uplc has what scripts of version 10 may use, and takes a third of the time. Of
//! version 11 it lacks multi-scalar multiplication, `case` on constants and the new sizes of strings, and has fixed prices for the other new
//! functions.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use amaru_uplc::arena::Arena;
use amaru_uplc::binder::DeBruijn;
use amaru_uplc::bumpalo::Bump;
use amaru_uplc::constant::Constant;
use amaru_uplc::data::PlutusData as MachineData;
use amaru_uplc::flat;
use amaru_uplc::machine::{ExBudget, MachineError, PlutusVersion};
use amaru_uplc::program::Program;
use amaru_uplc::term::Term;
use pallas_codec::minicbor::{self, Encoder};
use pallas_primitives::PlutusData;
use slotmark_network::shelley::VAN_ROSSEM;
use slotmark_network::{Parameters, Units};
use uplc::ast;
use uplc::machine::Error;
use uplc::machine::cost_model::ExBudget as LaterBudget;

use crate::phase_two::{STACK_PER_BYTE, ScriptEnd};

/// Room that amaru-uplc begins with.
const ARENA_BYTES: usize = 256 * 1_024;

thread_local! {
    /// The largest piece of memory that scripts of this thread had, for the next one. Memory that the system gives anew costs a fault per page, and
    /// these took up to five sixths of a script's time.
    static ARENA: Cell<Option<Arena>> = const { Cell::new(None) };
}

/// Memory units of a step of the machine.
const STEP_MEMORY: u64 = 100;
/// Stack for each step of uplc's machine that is still to be gone back to, all of which may be dropped at once.
const STACK_PER_STEP: u64 = 512;

/// Runs one script; None where it can't be read, or its language has no cost model.
pub(crate) fn evaluate(
    version: PlutusVersion,
    script: &[u8],
    arguments: &[PlutusData],
    budget: Units,
    parameters: &Parameters,
) -> Option<(ScriptEnd, Units)> {
    let costs = parameters.cost_models[version as usize].as_ref()?;
    let arguments = arguments.iter().map(encoded).collect::<Option<_>>()?;
    let run = Run { version, script, arguments, budget, costs, major: parameters.shelley.protocol_version.major };
    if run.major < VAN_ROSSEM { run.by_amaru() } else { run.by_uplc() }
}

/// One script as it is to be run.
struct Run<'r> {
    version: PlutusVersion,
    script: &'r [u8],
    /// Each as encoded.
    arguments: Vec<Vec<u8>>,
    budget: Units,
    costs: &'r [i64],
    major: u64,
}

/// Returns whether a script of a language, by its number in the ledger, can be read under a protocol version.
pub fn reads_under(language: usize, script: &[u8], major: u64) -> bool {
    let Some(version) = [PlutusVersion::V1, PlutusVersion::V2, PlutusVersion::V3].into_iter().nth(language) else { return false };
    let reads =
        || if major < VAN_ROSSEM { program(&Arena::new(), version, script, major).is_some() } else { later_program(script).is_some() };
    let stack = script.len() * STACK_PER_BYTE;
    stacker::maybe_grow(stack, stack, || catch_unwind(AssertUnwindSafe(reads)).unwrap_or(false))
}

/// Stack that running a script may need beside what reading it does.
pub(crate) fn stack_bytes(budget: Units, parameters: &Parameters) -> usize {
    match parameters.shelley.protocol_version.major < VAN_ROSSEM {
        true => 0,
        false => usize::try_from((budget.memory / STEP_MEMORY).saturating_mul(STACK_PER_STEP)).unwrap_or(usize::MAX),
    }
}

fn encoded(data: &PlutusData) -> Option<Vec<u8>> {
    let mut encoder = Encoder::new(Vec::new());
    encoder.encode(data).ok()?;
    Some(encoder.into_writer())
}

fn program<'a>(arena: &'a Arena, version: PlutusVersion, script: &[u8], major: u64) -> Option<&'a Program<'a, DeBruijn>> {
    let flat_bytes: minicbor::bytes::ByteVec = minicbor::decode(script).ok()?;
    flat::decode(arena, &flat_bytes, version, u32::try_from(major).ok()?).ok()
}

fn later_program(script: &[u8]) -> Option<ast::Program<ast::DeBruijn>> {
    ast::Program::from_cbor(script, &mut Vec::new()).ok()
}

impl Run<'_> {
    fn by_amaru(&self) -> Option<(ScriptEnd, Units)> {
        let mut arena = ARENA.take().unwrap_or_else(|| Arena::from_bump(Bump::with_capacity(ARENA_BYTES)));
        let found = self.in_arena(&arena);
        arena.reset();
        ARENA.set(Some(arena));
        found
    }

    fn in_arena(&self, arena: &Arena) -> Option<(ScriptEnd, Units)> {
        let mut program = program(arena, self.version, self.script, self.major)?;
        for argument in &self.arguments {
            let data = MachineData::from_cbor(arena, argument).ok()?;
            program = program.apply(arena, Term::data(arena, data));
        }
        let budget = ExBudget::new(whole(self.budget.memory), whole(self.budget.steps));
        let result = program.eval_with_params(arena, self.version, self.costs, budget);
        let end = match &result.term {
            Err(MachineError::OutOfExError(_)) => ScriptEnd::OverBudget,
            Err(_) => ScriptEnd::Failure,
            Ok(Term::Constant(Constant::Unit)) => ScriptEnd::Success,
            Ok(_) if self.version == PlutusVersion::V3 => ScriptEnd::Failure,
            Ok(_) => ScriptEnd::Success,
        };
        let used = result.info.consumed_budget;
        Some((end, units(used.mem, used.cpu)))
    }

    fn by_uplc(&self) -> Option<(ScriptEnd, Units)> {
        let language = match self.version {
            PlutusVersion::V1 => uplc::Language::PlutusV1,
            PlutusVersion::V2 => uplc::Language::PlutusV2,
            PlutusVersion::V3 => uplc::Language::PlutusV3,
        };
        let mut program = ast::Program::<ast::NamedDeBruijn>::from(later_program(self.script)?);
        for argument in &self.arguments {
            program = program.apply_data(uplc::plutus_data(argument).ok()?);
        }
        let budget = LaterBudget { mem: whole(self.budget.memory), cpu: whole(self.budget.steps) };
        let result = program.eval_as_with_protocol(&language, u16::try_from(self.major).ok()?, self.costs, Some(&budget));
        let end = match &result.result {
            Err(Error::OutOfExError(_)) => ScriptEnd::OverBudget,
            _ if result.failed(false, &language) => ScriptEnd::Failure,
            _ => ScriptEnd::Success,
        };
        let used = result.cost();
        Some((end, units(used.mem, used.cpu)))
    }
}

fn units(memory: i64, steps: i64) -> Units {
    Units { memory: u64::try_from(memory).unwrap_or_default(), steps: u64::try_from(steps).unwrap_or_default() }
}

fn whole(units: u64) -> i64 {
    i64::try_from(units).unwrap_or(i64::MAX)
}
