//! What blocks are filled with: one source of transactions a workload.

mod empty;
mod locked;
mod plutus_loop;
mod preview_like;
mod preview_sizes;
mod value_only;

use crate::random::Stream;
use crate::recipe::Workload;
use crate::transaction::Draft;
use crate::wallet::Wallet;

/// Makes the transactions of one block after the other.
pub(crate) trait TransactionSource: Send {
    /// The transactions of the next block, which is in this slot; None when there is nothing left to spend.
    fn transactions(&mut self, wallet: &mut Wallet, slot: u64, stream: &mut Stream) -> Option<Vec<Draft>>;
}

/// The sources of all kinds of blocks, which spend from one wallet.
#[derive(Default)]
pub(crate) struct Sources {
    empty: empty::Empty,
    plutus_loop: plutus_loop::PlutusLoop,
    preview_like: preview_like::PreviewLike,
    value_only: value_only::ValueOnly,
}

impl Sources {
    /// The source of a workload that is no mix.
    pub(crate) fn of(&mut self, workload: Workload) -> &mut dyn TransactionSource {
        match workload {
            Workload::ValueOnly => &mut self.value_only,
            Workload::PlutusLoop => &mut self.plutus_loop,
            Workload::PreviewLike => &mut self.preview_like,
            Workload::Empty | Workload::Mix(_) => &mut self.empty,
        }
    }
}
