//! The outputs that keys of ours can spend.

use std::sync::Arc;

use crate::genesis;
use crate::keys::{Keys, Owner};
use crate::random::Stream;
use crate::transaction::OutputReference;

/// An unspent output at an address of ours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coin {
    pub(crate) reference: OutputReference,
    pub(crate) owner: Owner,
    pub(crate) lovelace: u64,
}

/// All unspent outputs at addresses of ours.
pub(crate) struct Wallet {
    pub(crate) keys: Arc<Keys>,
    coins: Vec<Coin>,
}

impl Wallet {
    /// What the genesis holds.
    pub(crate) fn new(keys: Arc<Keys>) -> Self {
        let coins = genesis::outputs(&keys)
            .map(|(owner, output)| Coin {
                reference: OutputReference { transaction: output.transaction, index: output.index },
                owner,
                lovelace: output.lovelace,
            })
            .collect();
        Self { keys, coins }
    }

    /// Takes any coin out.
    pub(crate) fn take(&mut self, stream: &mut Stream) -> Option<Coin> {
        if self.coins.is_empty() {
            return None;
        }
        let place = stream.below(self.coins.len() as u64) as usize;
        Some(self.coins.swap_remove(place))
    }

    /// Takes any coin out that another key owns.
    pub(crate) fn take_of_another(&mut self, owner: Owner, stream: &mut Stream) -> Option<Coin> {
        let coin = self.take(stream)?;
        if coin.owner.payment != owner.payment {
            return Some(coin);
        }
        let other = self.take_of_another(owner, stream);
        self.put(coin);
        other
    }

    /// Any coin, which stays.
    pub(crate) fn any(&self, stream: &mut Stream) -> Option<&Coin> {
        self.coins.get(stream.below(self.coins.len() as u64) as usize)
    }

    pub(crate) fn put(&mut self, coin: Coin) {
        self.coins.push(coin);
    }
}
