//! Unspent outputs and stake accounts: those of a [`Base`], or outputs of a set that is kept elsewhere, and the changes since.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use slotmark_chain::Hash32;
use slotmark_chain::block::{Credential, Hash28};
use slotmark_ledger::{EncodedOutput, encode_output};

use crate::base::Base;
use crate::outputs::{Outputs, SettledChanges, SettledTip, owner_of};

pub(crate) use crate::outputs::Place;

/// An unspent output.
struct Unspent {
    /// The account that its stake counts for.
    account: Option<u32>,
    lovelace: u64,
    encoded: EncodedOutput,
}

/// A stake credential's account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Account {
    /// Lovelace of the outputs that count for it.
    pub(crate) lovelace: u64,
    pub(crate) registered: bool,
    pub(crate) pool: Option<Hash28>,
}

/// The delegations of accounts to a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delegated {
    pub(crate) lovelace: u64,
    pub(crate) accounts: u64,
}

/// The owner of the stake of an output at an address (CIP-19).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Account(Credential),
    /// A pointer to a certificate, which isn't followed.
    Pointer,
    Nobody,
}

impl Owner {
    pub(crate) fn of(address: &[u8]) -> Self {
        match address.first().map(|first| first >> 4) {
            Some(kind @ 0..=3) => {
                let Some(hash) = address.get(29..57) else { return Self::Nobody };
                Self::Account(Credential { script: kind & 2 != 0, hash: hash.try_into().expect("28 bytes") })
            }
            Some(4 | 5) => Self::Pointer,
            _ => Self::Nobody,
        }
    }
}

/// The changes that a block made, in their order.
#[derive(Default)]
pub(crate) struct Journal(Vec<Change>);

enum Change {
    Added(Place, EncodedOutput),
    Spent(Place, Unspent),
    /// A credential has a number from here on.
    Numbered(Credential),
    /// An account as it was, by its number.
    Account(u32, bool, Option<Hash28>),
    /// A pool that accounts of the base had, and what they delegated to it.
    Left(Hash28, Delegated),
}

/// All unspent outputs and accounts.
#[derive(Default)]
pub(crate) struct Holdings {
    base: Option<Arc<Base>>,
    /// Keeps the outputs after the last settled block, in place of the base.
    set: Option<Arc<dyn Outputs>>,
    /// True where no outputs are kept at all, but only what they count for.
    counts_only: bool,
    /// Outputs of the set or the base that are spent.
    spent: HashSet<Place>,
    /// Outputs that neither has.
    unspent: HashMap<Place, Unspent>,
    /// Accounts that the base doesn't have, and those of the base that something was looked up for: they are kept here from then on.
    accounts: Vec<Account>,
    by_credential: HashMap<Credential, u32>,
    /// Delegations of all other accounts of the base, by pool.
    delegated: HashMap<Hash28, Delegated>,
    /// Changes since the record of them began; None without a record.
    journal: Option<Journal>,
}

impl Holdings {
    /// Makes the holdings of a base; empty without one.
    pub(crate) fn new(base: Option<Arc<Base>>) -> Self {
        let delegated = base.iter().flat_map(|base| base.delegated().iter().copied()).collect();
        Self { base, delegated, ..Self::default() }
    }

    /// Keeps track of changes from here on.
    pub(crate) fn begin_journal(&mut self) {
        self.journal = Some(Journal::default());
    }

    /// Takes the changes since [`Holdings::begin_journal`] and ends the record.
    pub(crate) fn take_journal(&mut self) -> Journal {
        self.journal.take().unwrap_or_default()
    }

    /// Takes back the last changes that are still in it.
    pub(crate) fn undo(&mut self, journal: Journal) {
        for change in journal.0.into_iter().rev() {
            match change {
                Change::Added(place, _) => drop(self.take(&place)),
                Change::Spent(place, unspent) => self.give_back(place, unspent),
                Change::Numbered(credential) => self.forget(&credential),
                Change::Account(number, registered, pool) => {
                    let account = &mut self.accounts[number as usize];
                    (account.registered, account.pool) = (registered, pool);
                }
                Change::Left(pool, delegated) => drop(self.delegated.insert(pool, delegated)),
            }
        }
    }

    fn note(&mut self, change: Change) {
        if let Some(journal) = &mut self.journal {
            journal.0.push(change);
        }
    }

    /// Makes holdings that keep no outputs, but only what they count for.
    pub(crate) fn counting() -> Self {
        Self { counts_only: true, ..Self::default() }
    }

    /// Copies what outputs count for, without the outputs.
    pub(crate) fn counted(&self) -> Self {
        Self {
            base: self.base.clone(),
            counts_only: true,
            accounts: self.accounts.clone(),
            by_credential: self.by_credential.clone(),
            delegated: self.delegated.clone(),
            ..Self::default()
        }
    }

    /// Forgets the outputs, which are kept elsewhere from here on, but not what they count for.
    pub(crate) fn count_only(&mut self) {
        (self.spent, self.unspent) = (HashSet::new(), HashMap::new());
        self.counts_only = true;
    }

    /// Has the outputs of all changes so far kept in a set, which has exactly these.
    pub(crate) fn keep_in(&mut self, set: Arc<dyn Outputs>) {
        (self.spent, self.unspent) = (HashSet::new(), HashMap::new());
        self.set = Some(set);
    }

    /// Hands the changes of the first block that isn't settled to the set.
    pub(crate) fn settle(&mut self, tip: SettledTip, journal: Journal) {
        let Some(set) = &self.set else { return };
        let mut made: HashMap<Place, EncodedOutput> = HashMap::new();
        let mut spent = Vec::new();
        for change in journal.0 {
            match change {
                Change::Added(place, encoded) => {
                    // One that isn't unspent any more was spent since: in the set it is, and spent above it.
                    if self.unspent.remove(&place).is_none() {
                        self.spent.insert(place);
                    }
                    made.insert(place, encoded);
                }
                Change::Spent(place, _) => {
                    self.spent.remove(&place);
                    if made.remove(&place).is_none() {
                        spent.push(place);
                    }
                }
                Change::Numbered(_) | Change::Account(..) | Change::Left(..) => {}
            }
        }
        set.settle(tip, SettledChanges { spent, made: made.into_iter().collect() });
    }

    /// Returns the number of unspent outputs.
    pub(crate) fn len(&self) -> usize {
        let settled = match &self.set {
            Some(set) => set.count(),
            None => self.base.as_ref().map_or(0, |base| base.outputs()),
        };
        settled as usize - self.spent.len() + self.unspent.len()
    }

    /// An unspent output.
    pub(crate) fn output(&self, place: &Place) -> Option<EncodedOutput> {
        self.unspent.get(place).map(|unspent| unspent.encoded.clone()).or_else(|| self.settled_output(place))
    }

    /// All unspent outputs, in no order.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = (Hash32, u64, EncodedOutput)> {
        let of_base = self.base.iter().filter(|_| self.set.is_none()).flat_map(|base| base.all_outputs());
        let of_base = of_base.filter(|(id, ..)| !self.spent.contains(&(*id, 0)));
        let of_base = of_base.map(|(id, address, lovelace)| (id, 0, encode_output(&address, lovelace)));
        self.added_outputs().chain(of_base).chain(self.outputs_of_set(|_| true))
    }

    /// Returns the unspent outputs that neither the set nor the base has.
    pub(crate) fn added_outputs(&self) -> impl Iterator<Item = (Hash32, u64, EncodedOutput)> {
        self.unspent.iter().map(|((id, index), unspent)| (*id, *index, unspent.encoded.clone()))
    }

    /// Returns the unspent outputs of the set that are wanted; none without a set.
    pub(crate) fn outputs_of_set(&self, is_wanted: impl Fn(&[u8]) -> bool) -> Vec<(Hash32, u64, EncodedOutput)> {
        let mut found = Vec::new();
        if let Some(set) = &self.set {
            set.each(&mut |place, encoded| {
                if is_wanted(encoded) && !self.spent.contains(&place) {
                    found.push((place.0, place.1, encoded.into()));
                }
            });
        }
        found
    }

    /// Returns whether a set keeps the outputs.
    pub(crate) fn has_set(&self) -> bool {
        self.set.is_some()
    }

    /// An output of the set or the base that isn't spent.
    pub(crate) fn settled_output(&self, place: &Place) -> Option<EncodedOutput> {
        if self.spent.contains(place) {
            return None;
        }
        if let Some(set) = &self.set {
            return set.get(place);
        }
        let (address, lovelace) = self.base.as_ref().filter(|_| place.1 == 0)?.output(&place.0)?;
        Some(encode_output(&address, lovelace))
    }

    /// Adds an output, whose stake counts for an account.
    pub(crate) fn add(&mut self, place: Place, account: Option<u32>, lovelace: u64, encoded: impl FnOnce() -> EncodedOutput) {
        if self.counts_only {
            return self.count(account, lovelace);
        }
        let encoded = encoded();
        self.note(Change::Added(place, encoded.clone()));
        let unspent = Unspent { account, lovelace, encoded };
        self.count(account, lovelace);
        self.unspent.insert(place, unspent);
    }

    /// Takes out an output that is kept elsewhere; false where it can't be read.
    pub(crate) fn spend_counted(&mut self, encoded: &[u8]) -> bool {
        let Some((owner, lovelace)) = owner_of(encoded) else { return false };
        if let Owner::Account(credential) = owner {
            let account = self.account(credential);
            self.discount(account, lovelace);
        }
        true
    }

    /// Takes an output out; false where it isn't there.
    pub(crate) fn spend(&mut self, place: &Place) -> bool {
        let Some(unspent) = self.take(place) else { return false };
        self.note(Change::Spent(*place, unspent));
        true
    }

    fn take(&mut self, place: &Place) -> Option<Unspent> {
        let unspent = match self.unspent.remove(place) {
            Some(unspent) => unspent,
            None => {
                let encoded = self.settled_output(place)?;
                let (owner, lovelace) = owner_of(&encoded)?;
                self.spent.insert(*place);
                let account = match owner {
                    Owner::Account(credential) => Some(self.account(credential)),
                    Owner::Pointer | Owner::Nobody => None,
                };
                Unspent { account, lovelace, encoded }
            }
        };
        if let Some(account) = unspent.account {
            self.discount(account, unspent.lovelace);
        }
        Some(unspent)
    }

    fn give_back(&mut self, place: Place, unspent: Unspent) {
        self.count(unspent.account, unspent.lovelace);
        if !self.spent.remove(&place) {
            self.unspent.insert(place, unspent);
        }
    }

    fn count(&mut self, account: Option<u32>, lovelace: u64) {
        if let Some(account) = account {
            let sum = &mut self.accounts[account as usize].lovelace;
            *sum = sum.saturating_add(lovelace);
        }
    }

    fn discount(&mut self, account: u32, lovelace: u64) {
        let sum = &mut self.accounts[account as usize].lovelace;
        *sum = sum.saturating_sub(lovelace);
    }

    /// Returns whether outputs are kept.
    pub(crate) fn keeps_outputs(&self) -> bool {
        !self.counts_only
    }

    /// The pool that a registered credential delegates to.
    pub(crate) fn pool_of(&self, owner: &Credential) -> Option<Hash28> {
        let account = match self.by_credential.get(owner) {
            Some(number) => self.accounts[*number as usize],
            None => self.base.as_ref()?.account(owner)?,
        };
        let pool = account.pool.filter(|_| account.registered)?;
        // One of the base may have retired since; the accounts of others were told.
        (self.by_credential.contains_key(owner) || self.delegated.contains_key(&pool)).then_some(pool)
    }

    /// Lovelace in the outputs of an owner that count.
    pub(crate) fn lovelace_of(&self, owner: &Credential) -> u64 {
        match self.by_credential.get(owner) {
            Some(number) => self.accounts[*number as usize].lovelace,
            None => self.base.as_ref().and_then(|base| base.account(owner)).map_or(0, |account| account.lovelace),
        }
    }

    /// The number of a credential's account.
    pub(crate) fn account(&mut self, credential: Credential) -> u32 {
        let number = self.accounts.len() as u32;
        match self.by_credential.entry(credential) {
            Entry::Occupied(known) => return *known.get(),
            Entry::Vacant(place) => place.insert(number),
        };
        let mut account = self.base.as_ref().and_then(|base| base.account(&credential)).unwrap_or_default();
        // A pool that has retired since is no longer there.
        account.pool = account.pool.filter(|pool| self.delegated.contains_key(pool));
        if let Some(delegated) = account.pool.and_then(|pool| self.delegated.get_mut(&pool)) {
            delegated.lovelace = delegated.lovelace.saturating_sub(account.lovelace);
            delegated.accounts = delegated.accounts.saturating_sub(1);
        }
        self.accounts.push(account);
        self.note(Change::Numbered(credential));
        number
    }

    /// Takes back the last [`Holdings::account`] that gave a new number.
    fn forget(&mut self, credential: &Credential) {
        self.by_credential.remove(credential);
        let account = self.accounts.pop().unwrap_or_default();
        if let Some(delegated) = account.pool.and_then(|pool| self.delegated.get_mut(&pool)) {
            delegated.lovelace += account.lovelace;
            delegated.accounts += 1;
        }
    }

    /// A credential's account, to be changed.
    pub(crate) fn account_mut(&mut self, credential: Credential) -> &mut Account {
        let number = self.account(credential);
        self.note_account(number);
        &mut self.accounts[number as usize]
    }

    /// Notes an account as it is before it changes.
    fn note_account(&mut self, number: u32) {
        let account = self.accounts[number as usize];
        self.note(Change::Account(number, account.registered, account.pool));
    }

    /// Takes a pool from all accounts that delegate to it.
    pub(crate) fn leave(&mut self, pool: &Hash28) {
        for number in 0..self.accounts.len() as u32 {
            if self.accounts[number as usize].pool == Some(*pool) {
                self.note_account(number);
                self.accounts[number as usize].pool = None;
            }
        }
        if let Some(delegated) = self.delegated.remove(pool) {
            self.note(Change::Left(*pool, delegated));
        }
    }

    /// Returns the accounts that the base doesn't have, or that something was looked up for, each with its owner.
    pub(crate) fn accounts(&self) -> impl Iterator<Item = (Credential, &Account)> {
        self.by_credential.iter().map(|(owner, number)| (*owner, &self.accounts[*number as usize]))
    }

    /// Owners that delegate, each with the lovelace of its outputs and its pool. All accounts of the base are read.
    pub(crate) fn delegating(&self) -> impl Iterator<Item = (Credential, u64, Hash28)> {
        let of_base = self.base.iter().flat_map(|base| base.all_accounts());
        // A pool that has retired since is no longer there.
        let of_base = of_base.filter(|(owner, account)| {
            !self.by_credential.contains_key(owner) && account.pool.is_some_and(|pool| self.delegated.contains_key(&pool))
        });
        let all = self.accounts().map(|(owner, account)| (owner, *account)).chain(of_base);
        all.filter(|(_, account)| account.registered).filter_map(|(owner, account)| Some((owner, account.lovelace, account.pool?)))
    }

    /// Returns pools with the delegation of one account, or of several together; a pool may come more than once.
    pub(crate) fn delegated(&self) -> impl Iterator<Item = (Hash28, Delegated)> {
        let of_accounts = self.accounts.iter().filter(|account| account.registered);
        let of_accounts = of_accounts.filter_map(|account| Some((account.pool?, Delegated { lovelace: account.lovelace, accounts: 1 })));
        self.delegated.iter().map(|(pool, delegated)| (*pool, *delegated)).chain(of_accounts)
    }
}
