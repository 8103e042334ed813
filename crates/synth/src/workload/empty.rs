//! Blocks without transactions: headers are all the work.

use super::TransactionSource;
use crate::random::Stream;
use crate::transaction::Draft;

pub(super) struct Empty;

impl TransactionSource for Empty {
    fn transactions(&mut self, _slot: u64, _stream: &mut Stream) -> Option<Vec<Draft>> {
        Some(Vec::new())
    }
}
