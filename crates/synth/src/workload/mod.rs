//! What blocks are filled with: one source of transactions a workload.

mod empty;
mod locked;
mod plutus_loop;
mod preview_like;
mod preview_sizes;
mod value_only;

use std::sync::Arc;

use crate::keys::Keys;
use crate::random::Stream;
use crate::recipe::Workload;
use crate::transaction::Draft;
use crate::wallet::Wallet;

/// Makes the transactions of one block after the other.
pub(crate) trait TransactionSource: Send {
    /// The transactions of the next block, which is in this slot; None when there is nothing left to spend.
    fn transactions(&mut self, slot: u64, stream: &mut Stream) -> Option<Vec<Draft>>;
}

/// The source of a workload.
pub(crate) fn source(workload: Workload, keys: &Arc<Keys>) -> Box<dyn TransactionSource> {
    let wallet = || Wallet::new(Arc::clone(keys));
    match workload {
        Workload::ValueOnly => Box::new(value_only::ValueOnly::new(wallet())),
        Workload::PlutusLoop => Box::new(plutus_loop::PlutusLoop::new(wallet())),
        Workload::Empty => Box::new(empty::Empty),
        Workload::PreviewLike => Box::new(preview_like::PreviewLike::new(wallet())),
    }
}
