//! The content of blocks: one source of transactions per workload.

mod acting;
mod empty;
mod locked;
mod looped;
mod preview_like;
mod preview_sizes;
mod scripted;
mod value_only;

use crate::error::SynthError;
use crate::plutus::Script;
use crate::random::Stream;
use crate::recipe::{Recipe, Workload};
use crate::transaction::Draft;
use crate::wallet::Wallet;

/// Makes the transactions of one block after the other.
pub(crate) trait TransactionSource: Send {
    /// The transactions of the next block, which is in this slot; None when there is nothing left to spend.
    fn transactions(&mut self, wallet: &mut Wallet, slot: u64, stream: &mut Stream) -> Option<Vec<Draft>>;
}

/// The sources of all kinds of blocks, which spend from one wallet.
pub(crate) struct Sources {
    scripted: Option<scripted::Scripted>,
    acting: Option<acting::Acting>,
    empty: empty::Empty,
    looped: Option<looped::Looped>,
    preview_like: preview_like::PreviewLike,
    value_only: value_only::ValueOnly,
}

impl Sources {
    /// Nothing is spent yet; `script` is what the workload of that name runs.
    ///
    /// # Errors
    /// A script doesn't succeed, or a budget allows no round of a loop.
    pub(crate) fn new(recipe: &Recipe, script: Option<&Script>) -> Result<Self, SynthError> {
        let value_only = || value_only::ValueOnly { body_bytes: recipe.max_block_body_bytes };
        let looped = |one| looped::Looped::new(one, &recipe.budgets, recipe.txs_per_block, recipe.protocol_version);
        Ok(Self {
            scripted: script.map(|script| scripted::Scripted::new(script, recipe)).transpose()?,
            acting: match recipe.workload {
                Workload::Acting(shares) => Some(acting::Acting::new(shares, value_only(), recipe.epoch_slots())),
                _ => None,
            },
            empty: empty::Empty,
            looped: recipe.workload.of_loop().map(looped).transpose()?,
            preview_like: preview_like::PreviewLike::new(recipe.protocol_version)?,
            value_only: value_only(),
        })
    }

    /// The transactions of the next block, of a workload that is no mix; None when there is nothing left to spend.
    ///
    /// # Errors
    /// A script doesn't succeed.
    pub(crate) fn transactions(
        &mut self,
        workload: Workload,
        wallet: &mut Wallet,
        slot: u64,
        stream: &mut Stream,
    ) -> Result<Option<Vec<Draft>>, SynthError> {
        let source: &mut dyn TransactionSource = match workload {
            Workload::Script => return self.scripted.as_mut().ok_or(SynthError::NoScript)?.transactions(wallet, stream),
            Workload::Acting(_) => return Ok(self.acting.as_mut().and_then(|acting| acting.transactions(wallet, slot, stream))),
            Workload::Loop(_) => return Ok(self.looped.as_mut().and_then(|looped| looped.transactions(wallet, stream))),
            Workload::ValueOnly => &mut self.value_only,
            Workload::PreviewLike => &mut self.preview_like,
            Workload::Empty | Workload::Mix(_) => &mut self.empty,
        };
        Ok(source.transactions(wallet, slot, stream))
    }
}
