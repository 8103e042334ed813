//! Blocks without transactions: headers are all the work.

use super::TransactionSource;
use crate::random::Stream;
use crate::transaction::Draft;
use crate::wallet::Wallet;

#[derive(Default)]
pub(crate) struct Empty;

impl TransactionSource for Empty {
    fn transactions(&mut self, _wallet: &mut Wallet, _slot: u64, _stream: &mut Stream) -> Option<Vec<Draft>> {
        Some(Vec::new())
    }
}
