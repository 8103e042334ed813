//! The scripts that workloads run: the loop, which counts down from its redeemer to zero, and those of others, read from files.

mod data;
pub(crate) mod evaluate;
mod flat;
mod language;
mod script;

use std::sync::LazyLock;

use slotmark_chain::CborBuffer;
use slotmark_chain::hash::blake2b_224;
use slotmark_network::alonzo;

use crate::address::Hash28;
use flat::{Builtin, Term};
pub use language::Language;
pub use script::Script;

/// The name of the loop.
pub const LOOP: &str = "Loop";

/// The budget that a script may use, or does use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Memory units.
    pub memory: u64,
    /// Steps.
    pub steps: u64,
}

/// The script, as a witness set holds it: a CBOR byte string with the flat-encoded program in it.
///
/// A Plutus V3 script, in Untyped Plutus Core 1.1.0:
///
/// ```text
/// (lam context
///   [ (lam loop [ [loop loop] count ])
///     (lam loop (lam n
///       (force [ [ [ (force (builtin ifThenElse)) [ [(builtin equalsInteger) n] (con integer 0) ] ]
///                  (delay (con unit ())) ]
///                (delay [ [loop loop] [ [(builtin subtractInteger) n] (con integer 1) ] ]) ]))) ])
/// ```
///
/// `count` is the redeemer, the second field of the context.
pub fn loop_script() -> &'static [u8] {
    static SCRIPT: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let mut script = Vec::new();
        script.bytes(&flat::program([1, 1, 0], &countdown()));
        script
    });
    &SCRIPT
}

/// BLAKE2b-224 of the language's tag, 3, and the script.
pub fn loop_script_hash() -> Hash28 {
    blake2b_224(&[&[3], loop_script()])
}

fn countdown() -> Term {
    use Builtin::{EqualsInteger, HeadList, IfThenElse, SndPair, SubtractInteger, TailList, UnConstrData, UnIData};
    let builtin = Term::Builtin;
    let variable = Term::Variable;
    // Under the binders of the context and of the loop.
    let fields = builtin(SndPair).force().force().apply(builtin(UnConstrData).apply(variable(2)));
    let redeemer = builtin(HeadList).force().apply(builtin(TailList).force().apply(fields));
    let count = builtin(UnIData).apply(redeemer);
    // Under the binders of the loop and of n.
    let done = builtin(EqualsInteger).apply(variable(1)).apply(Term::Integer(0));
    let less = builtin(SubtractInteger).apply(variable(1)).apply(Term::Integer(1));
    let again = variable(2).apply(variable(2)).apply(less);
    let step = builtin(IfThenElse).force().apply(done).apply(Term::Unit.delay()).apply(again.delay()).force();
    let start = variable(1).apply(variable(1)).apply(count);
    start.lambda().apply(step.lambda().lambda()).lambda()
}

/// Budget for each step of the count: 23 steps of the machine (16,000 steps and 100 memory units each), one equalsInteger (52,333 and 1), one
/// subtractInteger (101,208 and 2), one ifThenElse (76,049 and 1).
///
/// Holds for [`PLUTUS_V3_COST_MODEL`](slotmark_network::PLUTUS_V3_COST_MODEL), as an evaluator with it finds too.
const EACH: Budget = Budget { memory: 2_304, steps: 597_590 };
/// Budget for counting down from 0.
const START: Budget = Budget { memory: 4_262, steps: 1_120_619 };

/// Returns the budget for counting down from a number below 2^63.
pub fn loop_budget(count: u64) -> Budget {
    Budget { memory: START.memory + count * EACH.memory, steps: START.steps + count * EACH.steps }
}

/// The largest number that a transaction's budget allows to count down from.
pub(crate) fn longest_loop() -> u64 {
    let most = alonzo::PARAMETERS.max_transaction_units;
    ((most.memory - START.memory) / EACH.memory).min((most.steps - START.steps) / EACH.steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_loop_just_fits_a_transaction() {
        let most = alonzo::PARAMETERS.max_transaction_units;
        let fits = |count| loop_budget(count).memory <= most.memory && loop_budget(count).steps <= most.steps;
        assert!(fits(longest_loop()) && !fits(longest_loop() + 1));
    }

    #[test]
    fn the_script_is_the_one_whose_budget_was_measured() {
        let hash: String = loop_script_hash().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hash, "b499a4bc88aca05aa266583b0722d81d10d9f1ec2863ace533d2599d");
    }
}
