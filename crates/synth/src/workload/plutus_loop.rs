//! The benchmarking cluster's Plutus workload: few transactions a block, each with the whole budget of a transaction.
//!
//! The first block holds the one transaction that locks outputs with the script. Then each block has as many transactions
//! as its budget allows, which spend one locked output each, count down in the script, and lock the output again.

use slotmark_network::alonzo;

use super::TransactionSource;
use super::locked::{Locked, Run, collateral};
use crate::plutus::{Script, longest_loop, loop_budget};
use crate::random::Stream;
use crate::transaction::{Draft, payload};
use crate::wallet::Wallet;

const PAYLOAD_BYTES: usize = 100;
/// The payload's metadata label.
const LABEL: u64 = 0;

#[derive(Default)]
pub(crate) struct PlutusLoop {
    locked: Option<Locked>,
}

impl TransactionSource for PlutusLoop {
    fn transactions(&mut self, wallet: &mut Wallet, _slot: u64, stream: &mut Stream) -> Option<Vec<Draft>> {
        let Some(locked) = &mut self.locked else {
            let (draft, locked) = Locked::set_up(Script::countdown(longest_loop()), true, wallet, stream)?;
            self.locked = Some(locked);
            return Some(vec![draft]);
        };
        let budget = loop_budget(longest_loop());
        let most = alonzo::PARAMETERS.max_block_units;
        let transactions = (most.memory / budget.memory).min(most.steps / budget.steps);
        let mut drafts = Vec::with_capacity(transactions as usize);
        for _ in 0..transactions {
            let mut bytes = [0; PAYLOAD_BYTES];
            stream.fill(&mut bytes);
            let auxiliary = payload(LABEL, &bytes);
            let redeemer = locked.script.redeemer().to_vec();
            let collateral = collateral(wallet, stream)?;
            let run = Run { redeemer, by_reference: false, collateral_return: false, auxiliary, invalid_hereafter: None, collateral };
            let (draft, left) = locked.spend(&wallet.keys, &run, budget)?;
            locked.spent(&draft, left);
            drafts.push(draft);
        }
        Some(drafts)
    }
}
