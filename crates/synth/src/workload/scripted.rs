//! Blocks as full as they can be of transactions that run one script, read from a file.
//!
//! The first block holds the one transaction that locks outputs with the script. Each other transaction spends one locked output and
//! locks it again. Scripts are run here, in the transaction itself, so that it names what they use.

use rayon::prelude::*;

use super::locked::{Locked, Run, collateral};
use crate::budgets::Budgets;
use crate::error::SynthError;
use crate::plutus::evaluate::{probe, settle_run};
use crate::plutus::{Budget, Script};
use crate::random::Stream;
use crate::recipe::Recipe;
use crate::transaction::Draft;
use crate::wallet::Wallet;

/// Bytes of a block's body beside its transactions at most, and of each one's number.
const BODY_BYTES: usize = 64;
const NUMBER_BYTES: usize = 3;

pub(crate) struct Scripted {
    script: Script,
    usual: Budget,
    locked: Option<Locked>,
    budgets: Budgets,
    /// Bytes of a block's body at most.
    body_bytes: u64,
}

impl Scripted {
    /// Nothing is locked yet.
    pub(crate) fn new(script: &Script, recipe: &Recipe) -> Result<Self, SynthError> {
        let Recipe { budgets, max_block_body_bytes: body_bytes, .. } = *recipe;
        let script = script.clone().under(recipe.protocol_version)?;
        let usual = probe(&script, budgets.transaction)?;
        Ok(Self { script, usual, locked: None, budgets, body_bytes })
    }

    /// The transactions of the next block; None when there is nothing left to spend.
    pub(crate) fn transactions(&mut self, wallet: &mut Wallet, stream: &mut Stream) -> Result<Option<Vec<Draft>>, SynthError> {
        let Some(locked) = &mut self.locked else {
            let set_up = Locked::set_up(self.script.clone(), false, wallet, stream);
            return Ok(set_up.map(|(draft, locked)| {
                self.locked = Some(locked);
                vec![draft]
            }));
        };
        let (mut drafts, mut bytes, mut used) = (Vec::new(), BODY_BYTES, Budget::default());
        loop {
            // As many as can't depend on each other, and may all fit.
            let most = locked.count().min(self.budgets.block.room(used, self.usual));
            let mut runs = Vec::with_capacity(most);
            for output in locked.first(most) {
                let Some(collateral) = collateral(wallet, stream) else { return Ok(None) };
                let redeemer = self.script.redeemer().to_vec();
                let run = Run {
                    redeemer,
                    by_reference: false,
                    collateral_return: false,
                    auxiliary: Vec::new(),
                    invalid_hereafter: None,
                    collateral,
                };
                runs.push((output, run));
            }
            let made = runs.par_iter().map(|(output, run)| {
                let build = |fee, budget| locked.spec(*output, &wallet.keys, run, fee, budget).map(|(spec, left)| (spec, (left, budget)));
                settle_run(&self.script, *output, self.usual, self.budgets.transaction, build)
            });
            let made: Vec<_> = made.collect::<Result<_, _>>()?;
            let began = drafts.len();
            for made in made {
                let Some((draft, (left, budget))) = made else { return Ok(None) };
                let more = draft.block_bytes() + NUMBER_BYTES;
                if bytes + more > self.body_bytes as usize || self.budgets.block.room(used, budget) == 0 {
                    return Ok(Some(drafts));
                }
                bytes += more;
                used = Budget { memory: used.memory + budget.memory, steps: used.steps + budget.steps };
                locked.spent(&draft, left);
                drafts.push(draft);
            }
            if drafts.len() == began {
                return Ok(Some(drafts));
            }
        }
    }
}
