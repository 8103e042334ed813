//! The scripts that workloads run: loops of ours, and those of others, read from files.

mod data;
pub(crate) mod evaluate;
mod flat;
mod language;
mod loops;
mod script;

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use slotmark_chain::hash::blake2b_224;
use slotmark_network::{STATED, Units, shelley};

use crate::address::Hash28;
pub use language::Language;
pub(crate) use language::{LaterCosts, V3Costs};
pub use loops::{Calibrated, Loop};
pub use script::Script;

/// The budget that a script may use, or does use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Memory units.
    pub memory: u64,
    /// Steps.
    pub steps: u64,
}

impl Budget {
    /// The budget of these units.
    pub(crate) const fn of(units: Units) -> Self {
        Self { memory: units.memory, steps: units.steps }
    }

    /// The price of these units, in lovelace: the part of a transaction's fee that pays for them.
    pub fn price(self) -> u64 {
        let units = Units { memory: self.memory, steps: self.steps };
        let fee = STATED.least_fee(0, 0, units).and_then(|fee| u64::try_from(fee).ok());
        fee.map_or(u64::MAX, |fee| fee - shelley::PARAMETERS.fee_constant)
    }

    /// Returns how often another fits into it beside what is `used` already.
    pub(crate) fn room(self, used: Self, each: Self) -> usize {
        let times = |limit: u64, used: u64, each: u64| limit.saturating_sub(used).checked_div(each).unwrap_or(u64::MAX);
        let times = times(self.memory, used.memory, each.memory).min(times(self.steps, used.steps, each.steps));
        usize::try_from(times).unwrap_or(usize::MAX)
    }
}

/// The script that counts down, as a witness set holds it: a CBOR byte string with the flat-encoded program in it.
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
    static SCRIPT: LazyLock<Vec<u8>> = LazyLock::new(|| Loop::Countdown.program());
    &SCRIPT
}

/// BLAKE2b-224 of the language's tag, 3, and the script.
pub fn loop_script_hash() -> Hash28 {
    blake2b_224(&[&[3], loop_script()])
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budgets::Budgets;

    #[test]
    fn the_budget_of_a_countdown_is_what_running_it_uses() {
        let Calibrated { rounds, used, .. } = Loop::Countdown.within(Budgets::PUBLIC.transaction, 10).expect("a loop");
        assert_eq!(used, loop_budget(rounds));
        assert!(loop_budget(rounds + 1).memory > Budgets::PUBLIC.transaction.memory);
    }

    #[test]
    fn the_script_is_the_one_whose_budget_was_measured() {
        let hash: String = loop_script_hash().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hash, "b499a4bc88aca05aa266583b0722d81d10d9f1ec2863ace533d2599d");
    }
}
