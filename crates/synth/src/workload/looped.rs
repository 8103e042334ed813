//! The benchmarking cluster's Plutus workloads: few transactions a block, each of which runs a loop for as long as its budget lasts.
//!
//! The first block holds the one transaction that locks outputs with the script. Then each block has as many transactions
//! as its budget allows, which spend one locked output each, run the script, and lock the output again.

use super::locked::{Locked, Run, collateral};
use crate::budgets::Budgets;
use crate::error::SynthError;
use crate::plutus::{Budget, Calibrated, Loop};
use crate::random::Stream;
use crate::transaction::{Draft, payload};
use crate::wallet::Wallet;

const PAYLOAD_BYTES: usize = 100;
/// The payload's metadata label.
const LABEL: u64 = 0;

pub(crate) struct Looped {
    calibrated: Calibrated,
    /// Transactions a block.
    transactions: usize,
    locked: Option<Locked>,
}

impl Looped {
    /// A loop in transactions of which so many share a block's budget, under a major version of the protocol; with 0 each has all that it may have. Nothing is locked yet.
    ///
    /// # Errors
    /// The budget allows no round of the loop.
    pub(crate) fn new(one: Loop, budgets: &Budgets, transactions: u32, major: u64) -> Result<Self, SynthError> {
        let calibrated = one.within(budgets.share(transactions), major)?;
        let room = budgets.block.room(Budget::default(), calibrated.used);
        let transactions = if transactions == 0 { room } else { room.min(transactions as usize) };
        Ok(Self { calibrated, transactions, locked: None })
    }

    /// The transactions of the next block; None when there is nothing left to spend.
    pub(crate) fn transactions(&mut self, wallet: &mut Wallet, stream: &mut Stream) -> Option<Vec<Draft>> {
        let Some(locked) = &mut self.locked else {
            let (draft, locked) = Locked::set_up(self.calibrated.script.clone(), true, wallet, stream)?;
            self.locked = Some(locked);
            return Some(vec![draft]);
        };
        let mut drafts = Vec::with_capacity(self.transactions);
        for _ in 0..self.transactions {
            let mut bytes = [0; PAYLOAD_BYTES];
            stream.fill(&mut bytes);
            let auxiliary = payload(LABEL, &bytes);
            let redeemer = locked.script.redeemer().to_vec();
            let collateral = collateral(wallet, stream)?;
            let run = Run { redeemer, by_reference: false, collateral_return: false, auxiliary, invalid_hereafter: None, collateral };
            let (draft, left) = locked.spend(&wallet.keys, &run, self.calibrated.used)?;
            locked.spent(&draft, left);
            drafts.push(draft);
        }
        Some(drafts)
    }
}
