//! Registered credentials, each with its account.

use std::sync::Arc;

use imbl::OrdMap;
use slotmark_chain::block::Credential;

use crate::base::Base;

/// The account of a registered credential.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Account {
    pub(super) rewards: u64,
    pub(super) deposit: u64,
}

/// All registered credentials. A copy costs nothing: it shares what both agree in.
#[derive(Clone)]
pub(super) struct Registered {
    /// Those of a genesis that nothing has changed, each with the deposit that it began with; none has rewards.
    base: Option<(Arc<Base>, u64)>,
    /// All others; None for one of the base that isn't registered any more.
    changed: OrdMap<Credential, Option<Account>>,
    count: usize,
}

impl Registered {
    /// Those of a base, if there is one, with this deposit each.
    pub(super) fn of(base: Option<Arc<Base>>, deposit: u64) -> Self {
        let count = base.iter().flat_map(|base| base.delegated()).map(|(_, delegated)| delegated.accounts as usize).sum();
        Self { base: base.map(|base| (base, deposit)), changed: OrdMap::new(), count }
    }

    /// Returns their number.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The account of a credential; None where it isn't registered.
    pub(super) fn get(&self, owner: &Credential) -> Option<Account> {
        match (self.changed.get(owner), &self.base) {
            (Some(account), _) => *account,
            (None, Some((base, deposit))) => {
                base.account(owner).filter(|account| account.registered).map(|_| Account { rewards: 0, deposit: *deposit })
            }
            (None, None) => None,
        }
    }

    /// Rewards of a credential that delegates to a pool; None where it isn't registered any more. One that nothing changed is as a base has it, which
    /// isn't asked: looking all of it up takes longer than all the rest of an epoch's end.
    pub(super) fn rewards_of_delegating(&self, owner: &Credential) -> Option<u64> {
        match self.changed.get(owner) {
            Some(account) => account.as_ref().map(|account| account.rewards),
            None => self.base.is_some().then_some(0),
        }
    }

    /// Those that aren't as a base has them, each with its account.
    pub(super) fn changed(&self) -> impl Iterator<Item = (&Credential, &Account)> {
        self.changed.iter().filter_map(|(owner, account)| Some((owner, account.as_ref()?)))
    }

    /// Registers a credential that isn't registered.
    pub(super) fn add(&mut self, owner: Credential, account: Account) {
        self.count += 1;
        self.put(owner, account);
    }

    /// Changes the account of one that is.
    pub(super) fn put(&mut self, owner: Credential, account: Account) {
        self.changed.insert(owner, Some(account));
    }

    /// Takes out one that is.
    pub(super) fn remove(&mut self, owner: &Credential) {
        self.count -= 1;
        if self.base.is_some() {
            self.changed.insert(*owner, None);
        } else {
            self.changed.remove(owner);
        }
    }

    /// Adds to the rewards of a credential; false where it isn't registered.
    pub(super) fn pay(&mut self, owner: &Credential, lovelace: u64) -> bool {
        let account = self.get(owner);
        self.add_rewards(owner, account, lovelace)
    }

    /// The same of one that delegated to a pool once, as [`Registered::rewards_of_delegating`] knows it.
    pub(super) fn pay_delegating(&mut self, owner: &Credential, lovelace: u64) -> bool {
        if let Some(Some(account)) = self.changed.get_mut(owner) {
            account.rewards += lovelace;
            return true;
        }
        let of_base = self.base.as_ref().filter(|_| !self.changed.contains_key(owner));
        let account = of_base.map(|(_, deposit)| Account { rewards: 0, deposit: *deposit });
        self.add_rewards(owner, account, lovelace)
    }

    fn add_rewards(&mut self, owner: &Credential, account: Option<Account>, lovelace: u64) -> bool {
        let Some(account) = account else { return false };
        self.put(*owner, Account { rewards: account.rewards + lovelace, ..account });
        true
    }
}
