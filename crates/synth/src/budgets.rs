//! Budgets of the scripts of a transaction and of a block on a forged network, as its genesis states.

use serde::{Deserialize, Serialize};
use slotmark_network::{Units, alonzo};

use crate::error::SynthError;
use crate::plutus::Budget;

/// A network's budgets are at most this many times those of public networks: a script that never ends is stopped after some seconds.
const MOST_TIMES: u64 = 10;

/// Budgets of the scripts of a transaction and of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budgets {
    /// Budget of a transaction.
    pub transaction: Budget,
    /// Budget of a block.
    pub block: Budget,
}

impl Default for Budgets {
    fn default() -> Self {
        Self::PUBLIC
    }
}

impl Budgets {
    /// The budgets of public networks.
    pub const PUBLIC: Self =
        Self { transaction: Budget::of(alonzo::PARAMETERS.max_transaction_units), block: Budget::of(alonzo::PARAMETERS.max_block_units) };

    /// Returns whether they are those of public networks.
    pub fn are_public(&self) -> bool {
        *self == Self::PUBLIC
    }

    /// The budget of each of `transactions` that share a block's, as far as a transaction may have it; with 0 all that a transaction may have.
    pub fn share(&self, transactions: u32) -> Budget {
        let share = |block: u64, most: u64| block.checked_div(transactions.into()).map_or(most, |share| share.min(most));
        Budget { memory: share(self.block.memory, self.transaction.memory), steps: share(self.block.steps, self.transaction.steps) }
    }

    /// Alonzo's parameters with these budgets.
    pub(crate) fn alonzo(&self) -> alonzo::Parameters {
        let units = |budget: Budget| Units { memory: budget.memory, steps: budget.steps };
        alonzo::Parameters { max_transaction_units: units(self.transaction), max_block_units: units(self.block), ..alonzo::PARAMETERS }
    }

    /// Checks that a block has room for a transaction, and that no budget is beyond what is ever run.
    ///
    /// # Errors
    /// One is too small or too large; the message names it as profiles do.
    pub fn check(&self) -> Result<(), SynthError> {
        let kinds = [
            ("memory", self.transaction.memory, self.block.memory, Self::PUBLIC.block.memory),
            ("steps", self.transaction.steps, self.block.steps, Self::PUBLIC.block.steps),
        ];
        for (kind, transaction, block, public) in kinds {
            let most = public * MOST_TIMES;
            if !(1..=block).contains(&transaction) || block > most {
                return Err(SynthError::Refused(format!(
                    "genesis.budgets: transaction.{kind} is {transaction} and block.{kind} is {block}: expected 1 or more for a transaction, as much or \
                     more for a block, and {most} at most. Give others with --set genesis.budgets.block.{kind}=…"
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_no_more_than_a_transaction_may_have() {
        let budgets = Budgets::PUBLIC;
        assert_eq!(budgets.share(0), budgets.transaction);
        assert_eq!(budgets.share(1), budgets.transaction);
        assert_eq!(budgets.share(8), Budget { memory: 7_750_000, steps: 5_000_000_000 });
        assert!(budgets.check().is_ok());
        for wrong in [
            Budgets { transaction: Budget { memory: 0, steps: 1 }, ..budgets },
            Budgets { block: budgets.share(100), ..budgets },
            Budgets { block: Budget { memory: 620_000_001, ..budgets.block }, ..budgets },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
    }
}
