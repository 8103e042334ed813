//! The boundary between epochs: the snapshot of stake, pools that retire, and actions of governance that take effect (SNAP, POOLREAP, EPOCH).

use std::sync::Arc;

use slotmark_chain::block::{Credential, Hash28};
use slotmark_network::{Parameters, shelley};

use super::governing::{Payments, RewardsOf, Stakes};
use super::{Accounts, Snapshot};
use crate::governance::Ratified;
use crate::stake::Distribution;

impl Accounts {
    /// Takes the snapshot of the boundary (SNAP): lovelace in outputs by owner, and the pool that each delegates to. None where nobody has
    /// rewards and none is needed.
    pub(crate) fn take_snapshot(&mut self, held: impl Iterator<Item = (Credential, u64, Hash28)>) -> Option<Arc<Snapshot>> {
        self.fees_to_share = self.pots.fees;
        if !self.takes_snapshots {
            return None;
        }
        let mark = Arc::new(self.snapshot(held));
        self.snapshots.rotate_right(1);
        self.snapshots[0] = mark.clone();
        Some(mark)
    }

    pub(super) fn snapshot(&self, held: impl Iterator<Item = (Credential, u64, Hash28)>) -> Snapshot {
        let stake = held.filter_map(|(owner, lovelace, pool)| {
            let total = self.registered.rewards_of_delegating(&owner)?.saturating_add(lovelace);
            (total > 0 && self.pools.contains_key(&pool)).then_some((owner, total, pool))
        });
        let mut stake: Vec<_> = stake.collect();
        // In the order in which accounts lie, so that paying their rewards goes through memory once.
        stake.sort_unstable_by_key(|(owner, ..)| *owner);
        let pools = self.pools.iter().map(|(id, pool)| (*id, pool.terms.clone())).collect();
        Snapshot { stake, pools }
    }

    /// Returns whether it is known where the deposit of a pool goes back to.
    pub(crate) fn knows_account_of(&self, pool: &Hash28) -> bool {
        self.pools.get(pool).is_none_or(|pool| pool.is_stated || pool.changed.is_some())
    }

    /// Ends the boundary: pools change and retire (POOLREAP), actions of governance are enacted, parameters are adopted, and the count of blocks begins again.
    pub(crate) fn begin_epoch(&mut self, epoch: u64, retired: &[Hash28], parameters: &shelley::Parameters) {
        self.epoch = epoch;
        let changed: Vec<Hash28> = self.pools.iter().filter(|(_, pool)| pool.changed.is_some()).map(|(id, _)| *id).collect();
        for id in &changed {
            let pool = Arc::make_mut(self.pools.get_mut(id).expect("a pool"));
            (pool.terms, pool.vrf) = pool.changed.take().expect("changed terms");
            pool.is_stated = true;
        }
        for id in retired {
            let Some(pool) = self.pools.remove(id) else { continue };
            self.give_back(pool.deposit);
            self.pay(&pool.terms.account, pool.deposit);
        }
        self.enact();
        self.pots.treasury += std::mem::take(&mut self.pots.donations);
        self.governing.fork(self.running.protocol_version.major, parameters.protocol_version.major);
        self.before = std::mem::replace(&mut self.running, *parameters);
        self.blocks_before = std::mem::take(&mut self.blocks);
    }

    /// Enacts actions of governance: lovelace goes out of the treasury to accounts that are there, and deposits go back.
    fn enact(&mut self) {
        let Some(Payments { withdrawals, deposits }) = self.governing.enact() else { return };
        for (owner, lovelace) in withdrawals {
            if self.registered.get(&owner).is_some() {
                self.pots.treasury -= lovelace;
                self.pay(&owner, lovelace);
            }
        }
        for (owner, lovelace) in deposits {
            self.give_back(lovelace);
            self.pay(&owner, lovelace);
        }
    }

    /// Decides on the actions of governance that wait, at the beginning of the running epoch: `held` is the lovelace of an owner in outputs, `pool_of` the
    /// pool that it delegates to, and `pools` the stake of pools; `is_exact` is false where some of that lacks something. None where it isn't known.
    pub(crate) fn ratify(
        &mut self,
        parameters: &Parameters,
        is_exact: bool,
        held: &dyn Fn(&Credential) -> u64,
        pool_of: &dyn Fn(&Credential) -> Option<Hash28>,
        pools: &Distribution,
    ) -> Option<Ratified> {
        let mut governing = self.governing.clone();
        let rewards_of = |pool: &Hash28| match self.pools.get(pool) {
            Some(pool) if pool.is_stated => RewardsOf::Account(pool.terms.account),
            Some(_) => RewardsOf::Unknown,
            None => RewardsOf::Nobody,
        };
        let stakes = Stakes {
            of: &|owner| held(owner) + self.registered.get(owner).map_or(0, |account| account.rewards),
            pool_of,
            pools: &|| pools.pools().into_iter().map(|(pool, stake, _)| (*pool, stake, rewards_of(pool))).collect(),
            is_exact,
        };
        let ratified = governing.ratify(self.epoch, parameters, self.pots.treasury, &stakes);
        self.governing = governing;
        ratified
    }
}
