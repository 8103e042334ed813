//! Stake, rebuilt from the transactions of a chain: unspent outputs, delegations and pools.
//!
//! After the rules DELEGS, POOL, SNAP and POOLREAP of the Shelley ledger. Rewards are left out: they hang on much more
//! than this. So stake is exact until the first rewards count, and approximate from then on, which each distribution says.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use slotmark_chain::Hash32;
use slotmark_chain::block::{Block, Certificate, Credential, DecodeError, Hash28, Output, Transaction};
use slotmark_chain::hash::blake2b_256;
use slotmark_ledger::{EncodedOutput, Resolved, encode_output};

use crate::genesis::Genesis;
use crate::header::{Leader, PoolStake};
use crate::ratio::Ratio;

/// The stake that counts for the lottery of an epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    pools: HashMap<Hash28, (u64, Hash32)>,
    total: u64,
    /// Whether nothing is missing in it.
    pub exact: bool,
}

impl Distribution {
    /// Exact stake: by pool its lovelace and the hash of its VRF key.
    pub fn of_pools(pools: impl IntoIterator<Item = (Hash28, (u64, Hash32))>) -> Self {
        let pools: HashMap<Hash28, (u64, Hash32)> = pools.into_iter().collect();
        let total = pools.values().fold(0u64, |total, (lovelace, _)| total.saturating_add(*lovelace));
        Self { pools, total, exact: true }
    }

    /// What the lottery holds for an issuer.
    pub fn leader(&self, issuer: &Hash28) -> Leader {
        let Some(&(lovelace, vrf_key_hash)) = self.pools.get(issuer) else { return Leader::NotRegistered };
        let share = Ratio::new(lovelace, self.total).unwrap_or(Ratio::ZERO);
        Leader::Pool(PoolStake { share, vrf_key_hash, exact: self.exact })
    }

    /// How many pools have stake in it.
    pub fn pools_with_stake(&self) -> usize {
        self.pools.values().filter(|(lovelace, _)| *lovelace > 0).count()
    }

    /// Lovelace delegated to its pools.
    pub fn total_lovelace(&self) -> u64 {
        self.total
    }
}

/// Where an output is: its transaction's id and its index.
type Place = (Hash32, u64);

struct Unspent {
    /// The account that its stake counts for.
    account: Option<u32>,
    lovelace: u64,
    encoded: EncodedOutput,
}

/// A stake credential.
struct Account {
    lovelace: u64,
    registered: bool,
    pool: Option<Hash28>,
}

/// What a block changed of the outputs and accounts, one change after the other.
#[derive(Default)]
pub(crate) struct Journal(Vec<Change>);

enum Change {
    Added(Place),
    Spent(Place, Unspent),
    /// An account as it was, by its number.
    Account(u32, bool, Option<Hash28>),
}

/// The ledger, as far as stake and unspent outputs go.
pub struct Stake {
    unspent: HashMap<Place, Unspent>,
    accounts: Vec<Account>,
    by_credential: HashMap<Credential, u32>,
    /// Registered pools, with the hash of their VRF key.
    pools: HashMap<Hash28, Hash32>,
    /// Changed pool parameters, adopted at the next epoch.
    changed_pools: HashMap<Hash28, Hash32>,
    /// Pools that retire at the beginning of an epoch.
    retiring: BTreeMap<Hash28, u64>,
    /// Stake at the beginning of the running epoch, which the next one uses.
    mark: Arc<Distribution>,
    /// Stake that the running epoch uses.
    current: Arc<Distribution>,
    /// Whether everything that counts has been seen.
    exact: bool,
    /// The epoch from whose beginning on stake lacks rewards.
    lacking_from: Option<u64>,
    /// What has changed since someone began to keep track.
    journal: Option<Journal>,
    /// Where outputs and accounts are left out: the distribution at the next boundary, as far as it is known.
    next_mark: Option<Arc<Distribution>>,
}

impl Stake {
    /// The stake of a genesis.
    pub fn new(genesis: &Genesis) -> Self {
        let mut stake = Self {
            unspent: HashMap::with_capacity(genesis.funds.len()),
            accounts: Vec::new(),
            by_credential: HashMap::new(),
            pools: genesis.pools.iter().copied().collect(),
            changed_pools: HashMap::new(),
            retiring: BTreeMap::new(),
            mark: Arc::default(),
            current: Arc::default(),
            exact: genesis.has_all_funds,
            lacking_from: None,
            journal: None,
            next_mark: None,
        };
        for (address, lovelace) in &genesis.funds {
            let account = stake.account_of(address);
            stake.insert((blake2b_256(&[address]), 0), account, *lovelace, encode_output(address, *lovelace));
        }
        for (key, pool) in &genesis.delegators {
            let account = stake.account_mut(Credential { script: false, hash: *key });
            (account.registered, account.pool) = (true, Some(*pool));
        }
        stake.mark = Arc::new(stake.distribution());
        stake.current = stake.mark.clone();
        stake
    }

    /// All but outputs and accounts: enough for the distributions of this epoch and the next one, and with `next_mark`, the
    /// distribution as accounts now are, of later ones before whose beginning no further block comes.
    pub(crate) fn without_outputs(&self, next_mark: Option<Arc<Distribution>>) -> Self {
        Self {
            unspent: HashMap::new(),
            accounts: Vec::new(),
            by_credential: HashMap::new(),
            pools: self.pools.clone(),
            changed_pools: self.changed_pools.clone(),
            retiring: self.retiring.clone(),
            mark: self.mark.clone(),
            current: self.current.clone(),
            exact: self.exact,
            lacking_from: self.lacking_from,
            journal: None,
            next_mark: Some(next_mark.unwrap_or_else(|| self.mark.clone())),
        }
    }

    /// Keeps track of changes from here on.
    pub(crate) fn begin_journal(&mut self) {
        self.journal = Some(Journal::default());
    }

    /// What has changed since [`Stake::begin_journal`]; nothing is kept track of any longer.
    pub(crate) fn take_journal(&mut self) -> Journal {
        self.journal.take().unwrap_or_default()
    }

    /// Takes back what a journal has. `before` is the rest, as [`Stake::without_outputs`] gave it.
    pub(crate) fn undo(&mut self, before: Self, journal: Journal) {
        for change in journal.0.into_iter().rev() {
            match change {
                Change::Added(place) => drop(self.take(&place)),
                Change::Spent(place, unspent) => self.put(place, unspent),
                Change::Account(number, registered, pool) => {
                    let account = &mut self.accounts[number as usize];
                    (account.registered, account.pool) = (registered, pool);
                }
            }
        }
        // What `before` left out is here, and so is what stands for it there.
        let Self { unspent, accounts, by_credential, next_mark, .. } = std::mem::replace(self, before);
        (self.unspent, self.accounts, self.by_credential, self.next_mark) = (unspent, accounts, by_credential, next_mark);
    }

    /// How many outputs are unspent.
    pub fn unspent_outputs(&self) -> usize {
        self.unspent.len()
    }

    /// An unspent output by its transaction's id and its index.
    pub fn unspent(&self, transaction: &Hash32, index: u64) -> Option<&EncodedOutput> {
        self.unspent.get(&(*transaction, index)).map(|unspent| &unspent.encoded)
    }

    /// All unspent outputs, each with its transaction's id and its index, in no order.
    pub fn all_unspent(&self) -> impl Iterator<Item = (&Hash32, u64, &EncodedOutput)> {
        self.unspent.iter().map(|((id, index), unspent)| (id, *index, &unspent.encoded))
    }

    /// How many accounts delegate to a pool.
    pub fn delegations(&self) -> usize {
        self.accounts.iter().filter(|account| account.registered && account.pool.is_some()).count()
    }

    /// The distribution that the running epoch uses.
    pub fn current(&self) -> &Arc<Distribution> {
        &self.current
    }

    /// Goes into the next epoch, of this number.
    pub fn begin_epoch(&mut self, epoch: u64) {
        if self.lacking_from.is_some_and(|from| epoch >= from) {
            self.exact = false;
        }
        // The snapshot comes first: changes and retirements that the boundary brings aren't in it.
        let mark = self.next_mark.clone().unwrap_or_else(|| Arc::new(self.distribution()));
        self.current = std::mem::replace(&mut self.mark, mark);
        self.pools.extend(self.changed_pools.drain());
        let retired: Vec<Hash28> = self.retiring.iter().filter(|(_, at)| **at <= epoch).map(|(pool, _)| *pool).collect();
        for pool in retired {
            self.retiring.remove(&pool);
            self.pools.remove(&pool);
            for number in 0..self.accounts.len() as u32 {
                if self.accounts[number as usize].pool == Some(pool) {
                    self.note_account(number);
                    self.accounts[number as usize].pool = None;
                }
            }
            self.lack_from(epoch + 1); // its deposit is now among the rewards
        }
    }

    /// Notes that a pool made a block in an epoch: its rewards count from the beginning of the next epoch but one.
    pub fn note_pool_block(&mut self, epoch: u64) {
        self.lack_from(epoch.saturating_add(2));
    }

    fn lack_from(&mut self, epoch: u64) {
        self.lacking_from = Some(self.lacking_from.map_or(epoch, |from| from.min(epoch)));
    }

    /// Applies a block's transactions; yields what each of them refers to, as it was before it.
    ///
    /// # Errors
    /// A certificate can't be read.
    pub fn apply(&mut self, block: &Block<'_, '_>) -> Result<Vec<Resolved>, DecodeError> {
        let apply = |(place, transaction): (u32, &Transaction)| self.apply_transaction(block, transaction, !block.invalid.contains(&place));
        (0..).zip(block.transactions).map(apply).collect()
    }

    fn apply_transaction(&mut self, block: &Block<'_, '_>, transaction: &Transaction, valid: bool) -> Result<Resolved, DecodeError> {
        let certificates = block.certificates(transaction)?;
        let find = |id: &Hash32, index| self.unspent.get(&(*id, index)).map(|unspent| unspent.encoded.clone());
        let mut resolved = Resolved::of(block, transaction, self.new_pools(&certificates), find)?;
        let (spent, outputs) = if valid {
            (block.inputs[transaction.inputs.start as usize..transaction.inputs.end as usize].to_vec(), &mut resolved.inputs)
        } else {
            (block.inputs_in(&transaction.collateral)?, &mut resolved.collateral)
        };
        for (input, output) in spent.iter().zip(outputs) {
            let id = block.bytes[input.transaction as usize..][..32].try_into().expect("32 bytes");
            if !self.spend(&(id, input.index)) {
                *output = None; // an input that is there twice is spent once
            }
        }
        let id = blake2b_256(&[transaction.body.of(block.bytes)]);
        let outputs = &block.outputs[transaction.outputs.start as usize..transaction.outputs.end as usize];
        if !valid {
            if let Some(output) = &transaction.collateral_return {
                self.add(block, (id, outputs.len() as u64), output);
            }
            return Ok(resolved);
        }
        for (index, output) in (0..).zip(outputs) {
            self.add(block, (id, index), output);
        }
        certificates.into_iter().for_each(|certificate| self.certify(certificate));
        Ok(resolved)
    }

    /// How many pools these certificates register that aren't registered.
    fn new_pools(&self, certificates: &[Certificate]) -> u64 {
        let new = certificates.iter().filter_map(|certificate| match certificate {
            Certificate::PoolRegistration { pool, .. } if !self.pools.contains_key(pool) => Some(pool),
            _ => None,
        });
        new.collect::<HashSet<_>>().len() as u64
    }

    fn add(&mut self, block: &Block<'_, '_>, place: Place, output: &Output) {
        let account = self.account_of(output.address.of(block.bytes));
        self.insert(place, account, output.lovelace, output.encoded.of(block.bytes).into());
    }

    fn insert(&mut self, place: Place, account: Option<u32>, lovelace: u64, encoded: EncodedOutput) {
        if let Some(journal) = &mut self.journal {
            journal.0.push(Change::Added(place));
        }
        self.put(place, Unspent { account, lovelace, encoded });
    }

    fn put(&mut self, place: Place, unspent: Unspent) {
        if let Some(account) = unspent.account {
            let sum = &mut self.accounts[account as usize].lovelace;
            *sum = sum.saturating_add(unspent.lovelace);
        }
        self.unspent.insert(place, unspent);
    }

    /// Takes an output out; false where it isn't there.
    fn spend(&mut self, place: &Place) -> bool {
        let Some(unspent) = self.take(place) else {
            self.exact = false;
            return false;
        };
        if let Some(journal) = &mut self.journal {
            journal.0.push(Change::Spent(*place, unspent));
        }
        true
    }

    fn take(&mut self, place: &Place) -> Option<Unspent> {
        let unspent = self.unspent.remove(place)?;
        if let Some(account) = unspent.account {
            let sum = &mut self.accounts[account as usize].lovelace;
            *sum = sum.saturating_sub(unspent.lovelace);
        }
        Some(unspent)
    }

    /// The account that an output at an address counts for (CIP-19).
    fn account_of(&mut self, address: &[u8]) -> Option<u32> {
        match address.first()? >> 4 {
            kind @ 0..=3 => {
                let hash = address.get(29..57)?.try_into().expect("28 bytes");
                Some(self.account(Credential { script: kind & 2 != 0, hash }))
            }
            4 | 5 => {
                self.exact = false; // a pointer to a certificate, which isn't followed
                None
            }
            _ => None,
        }
    }

    fn account(&mut self, credential: Credential) -> u32 {
        let next = self.accounts.len() as u32;
        let account = *self.by_credential.entry(credential).or_insert(next);
        if account == next {
            self.accounts.push(Account { lovelace: 0, registered: false, pool: None });
        }
        account
    }

    fn certify(&mut self, certificate: Certificate) {
        match certificate {
            Certificate::Registration { credential, pool } => {
                let account = self.account_mut(credential);
                account.registered = true;
                account.pool = pool.or(account.pool);
            }
            Certificate::Deregistration { credential } => {
                let account = self.account_mut(credential);
                (account.registered, account.pool) = (false, None);
            }
            Certificate::Delegation { credential, pool } => self.account_mut(credential).pool = Some(pool),
            Certificate::PoolRegistration { pool, vrf_key_hash } => {
                self.retiring.remove(&pool);
                match self.pools.entry(pool) {
                    Entry::Occupied(_) => {
                        self.changed_pools.insert(pool, vrf_key_hash);
                    }
                    Entry::Vacant(place) => {
                        place.insert(vrf_key_hash);
                    }
                }
            }
            Certificate::PoolRetirement { pool, epoch } => {
                self.retiring.insert(pool, epoch);
            }
            Certificate::InstantaneousRewards => self.exact = false,
            Certificate::GenesisDelegation { .. } | Certificate::Governance => {}
        }
    }

    fn account_mut(&mut self, credential: Credential) -> &mut Account {
        let number = self.account(credential);
        self.note_account(number);
        &mut self.accounts[number as usize]
    }

    /// Notes an account as it is before it changes.
    fn note_account(&mut self, number: u32) {
        if let Some(journal) = &mut self.journal {
            let account = &self.accounts[number as usize];
            journal.0.push(Change::Account(number, account.registered, account.pool));
        }
    }

    pub(crate) fn distribution(&self) -> Distribution {
        let mut pools: HashMap<Hash28, (u64, Hash32)> = self.pools.iter().map(|(pool, vrf_key_hash)| (*pool, (0, *vrf_key_hash))).collect();
        for account in self.accounts.iter().filter(|account| account.registered) {
            if let Some((sum, _)) = account.pool.and_then(|pool| pools.get_mut(&pool)) {
                *sum = sum.saturating_add(account.lovelace);
            }
        }
        Distribution { exact: self.exact, ..Distribution::of_pools(pools) }
    }
}
