//! The benchmarking cluster's value-only workload: full blocks of transactions of one kind.
//!
//! Each transaction spends two outputs, taken at random from all that are unspent and owned by two keys, makes two at
//! random addresses of ours, carries 100 bytes of payload as metadata and pays 1,000,000 lovelace.

use super::TransactionSource;
use crate::keys::Owner;
use crate::random::Stream;
use crate::transaction::{Draft, NewOutput, Spec, payload};
use crate::wallet::{Coin, Wallet};

/// Lovelace.
const FEE: u64 = 1_000_000;
const PAYLOAD_BYTES: usize = 100;
/// The payload's metadata label.
const LABEL: u64 = 0;
/// Least lovelace of each output, well above the ledger's minimum.
const LEAST: u64 = 2_000_000;

/// cardano-node leaves so much of a block's body free, and counts so much for each transaction beyond its size.
const RESERVED_BYTES: u64 = 1_024;
const OVERHEAD_BYTES: usize = 4;

pub(crate) struct ValueOnly {
    /// Bytes of a block's body at most.
    pub(super) body_bytes: u64,
}

impl ValueOnly {
    /// Bytes of a block for transactions.
    pub(super) fn room(&self) -> usize {
        (self.body_bytes - RESERVED_BYTES) as usize
    }

    /// One transaction of this kind, with other auxiliary data than the payload where they aren't empty.
    pub(super) fn one(&self, wallet: &mut Wallet, auxiliary: &[u8], stream: &mut Stream) -> Option<Draft> {
        let first = wallet.take(stream)?;
        let second = wallet.take_of_another(first.owner, stream)?;
        let (draft, made) = Self::pay(wallet, [&first, &second], auxiliary, stream)?;
        made.into_iter().for_each(|coin| wallet.put(coin));
        Some(draft)
    }

    fn pay(wallet: &Wallet, spent: [&Coin; 2], auxiliary: &[u8], stream: &mut Stream) -> Option<(Draft, [Coin; 2])> {
        let left = (spent[0].lovelace + spent[1].lovelace).checked_sub(FEE + 2 * LEAST)?;
        let first = LEAST + (u128::from(left) * u128::from(stream.between(256..769)) / 1_024) as u64;
        let made = [first, left + 2 * LEAST - first].map(|lovelace| (Owner::any(stream), lovelace));
        let mut bytes = [0; PAYLOAD_BYTES];
        stream.fill(&mut bytes);
        let draft = Spec {
            inputs: spent.iter().map(|coin| coin.reference).collect(),
            outputs: made.iter().map(|&(owner, lovelace)| NewOutput::to(wallet.keys.address(owner), lovelace)).collect(),
            fee: FEE,
            auxiliary: if auxiliary.is_empty() { payload(LABEL, &bytes) } else { auxiliary.to_vec() },
            signers: spent.iter().map(|coin| coin.owner.payment).collect(),
            ..Spec::default()
        }
        .draft();
        let coin = |index: usize| Coin { reference: draft.output(index), owner: made[index].0, lovelace: made[index].1 };
        let coins = [coin(0), coin(1)];
        Some((draft, coins))
    }
}

impl TransactionSource for ValueOnly {
    fn transactions(&mut self, wallet: &mut Wallet, _slot: u64, stream: &mut Stream) -> Option<Vec<Draft>> {
        let mut room = self.room();
        let mut drafts = Vec::with_capacity(room / 512);
        loop {
            let first = wallet.take(stream)?;
            let second = wallet.take_of_another(first.owner, stream)?;
            let (draft, made) = Self::pay(wallet, [&first, &second], &[], stream)?;
            let size = draft.tx_bytes() + OVERHEAD_BYTES;
            if size > room {
                wallet.put(first);
                wallet.put(second);
                return Some(drafts);
            }
            room -= size;
            made.into_iter().for_each(|coin| wallet.put(coin));
            drafts.push(draft);
        }
    }
}
