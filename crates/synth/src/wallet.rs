//! The outputs that keys of ours can spend, and the stake that they carry.

use std::sync::Arc;

use crate::genesis;
use crate::keys::{Keys, Owner, STAKE_KEYS};
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
    /// Lovelace by stake key, of those that delegate.
    stake: [u64; STAKE_KEYS as usize],
}

impl Wallet {
    /// Makes the wallet of the genesis, with extra entries.
    pub(crate) fn new(keys: Arc<Keys>, extra: u64) -> Self {
        let mut wallet = Self { coins: Vec::new(), stake: [0; STAKE_KEYS as usize], keys: Arc::clone(&keys) };
        for (owner, output) in genesis::outputs(&keys, extra) {
            let reference = OutputReference { transaction: output.transaction, index: output.index };
            wallet.put(Coin { reference, owner, lovelace: output.lovelace });
        }
        wallet
    }

    /// Takes any coin out.
    pub(crate) fn take(&mut self, stream: &mut Stream) -> Option<Coin> {
        self.take_of(0, stream)
    }

    /// Takes any coin out that holds so much at least.
    pub(crate) fn take_of(&mut self, least: u64, stream: &mut Stream) -> Option<Coin> {
        let place = self.place_of(least, stream)?;
        let coin = self.coins.swap_remove(place);
        if let Some(stake) = self.stake.get_mut(coin.owner.stake as usize) {
            *stake -= coin.lovelace;
        }
        Some(coin)
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

    /// Any coin that holds so much at least; it stays.
    pub(crate) fn any_of(&self, least: u64, stream: &mut Stream) -> Option<&Coin> {
        self.place_of(least, stream).map(|place| &self.coins[place])
    }

    /// The first place from a random one on with a coin that holds enough.
    fn place_of(&self, least: u64, stream: &mut Stream) -> Option<usize> {
        let start = stream.below(self.coins.len() as u64) as usize;
        let mut places = (start..self.coins.len()).chain(0..start);
        places.find(|&place| self.coins[place].lovelace >= least)
    }

    pub(crate) fn put(&mut self, coin: Coin) {
        self.set_aside(coin.owner, coin.lovelace);
        self.coins.push(coin);
    }

    /// Notes an output of ours that is never spent.
    pub(crate) fn set_aside(&mut self, owner: Owner, lovelace: u64) {
        if let Some(stake) = self.stake.get_mut(owner.stake as usize) {
            *stake += lovelace;
        }
    }

    /// Lovelace by stake key.
    pub(crate) fn stake(&self) -> &[u64] {
        &self.stake
    }
}
