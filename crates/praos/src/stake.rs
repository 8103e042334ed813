//! Stake, rebuilt from the transactions of a chain: unspent outputs, delegations and pools.
//!
//! After the rules DELEGS, POOL, SNAP and POOLREAP of the Shelley ledger. With [`Stake::follow_accounts`] rewards count too, and stake
//! stays exact. Where they can't be followed, they are left out: stake is then exact until the first rewards count, and approximate from
//! then on, which each distribution records.

mod distribution;
mod new_epoch_state;
#[cfg(test)]
mod tests;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use slotmark_chain::Hash32;
use slotmark_chain::block::{Block, Certificate, Credential, DecodeError, Hash28, Output, Transaction, decode_output};
use slotmark_chain::hash::blake2b_256;
use slotmark_ledger::{EncodedOutput, Resolved, encode_output};
use slotmark_network::{Parameters, shelley};

pub use self::distribution::Distribution;
use crate::accounts::{Accounts, Moves};
use crate::genesis::Genesis;
use crate::governance::Ratified;
use crate::holdings::{Holdings, Journal, Owner, Place};
use crate::outputs::{Outputs, SettledTip};

/// The ledger, as far as stake and unspent outputs go.
pub struct Stake {
    holdings: Holdings,
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
    /// True where everything that counts has been seen.
    exact: bool,
    /// The epoch from whose beginning on stake lacks rewards, where accounts aren't followed.
    lacking_from: Option<u64>,
    /// Without outputs and accounts: the distribution at the next boundary, as far as it is known.
    next_mark: Option<Arc<Distribution>>,
    /// Accounts, pools and pots; None where they aren't followed here.
    accounts: Option<Box<Accounts>>,
    /// True where accounts are followed, here or in the stake that this is [`Stake::without_outputs`] of.
    follows_accounts: bool,
    /// True where all pools of the genesis state their terms, and all accounts are followed: others can't be paid rewards, of which they have none while
    /// tau is 1.
    has_terms: bool,
}

/// The changes of a block: enough to take it back.
#[derive(Default)]
pub(crate) struct Changes {
    holdings: Journal,
    /// Accounts, pools and pots before it.
    accounts: Option<Box<Accounts>>,
}

impl Stake {
    /// The stake of a genesis.
    pub fn new(genesis: &Genesis) -> Self {
        Self::of_funds(genesis, Holdings::new(genesis.base.clone()), genesis.funds.iter().map(|(address, lovelace)| (address, *lovelace)))
    }

    /// The stake of a genesis whose unspent outputs are kept elsewhere; these are all of them. Accounts are followed, where it has all that they depend on.
    pub(crate) fn counting(genesis: &Genesis, funds: impl Iterator<Item = (impl AsRef<[u8]>, u64)>) -> Self {
        let mut unspent = 0;
        let mut stake = Self::of_funds(genesis, Holdings::counting(), funds.inspect(|(_, lovelace)| unspent += lovelace));
        stake.follow_accounts(genesis, unspent);
        stake
    }

    fn of_funds(genesis: &Genesis, holdings: Holdings, funds: impl Iterator<Item = (impl AsRef<[u8]>, u64)>) -> Self {
        let mut stake = Self {
            holdings,
            pools: genesis.pools.iter().copied().collect(),
            changed_pools: HashMap::new(),
            retiring: BTreeMap::new(),
            mark: Arc::default(),
            current: Arc::default(),
            exact: genesis.has_all_funds && !genesis.base.as_ref().is_some_and(|base| base.has_pointers()),
            lacking_from: None,
            next_mark: None,
            accounts: None,
            follows_accounts: false,
            has_terms: false,
        };
        for (address, lovelace) in funds {
            let address = address.as_ref();
            let account = stake.account_of(address);
            let place = if stake.holdings.keeps_outputs() { (blake2b_256(&[address]), 0) } else { Place::default() };
            stake.holdings.add(place, account, lovelace, || encode_output(address, lovelace));
        }
        for (key, pool) in &genesis.delegators {
            let account = stake.holdings.account_mut(Credential { script: false, hash: *key });
            (account.registered, account.pool) = (true, Some(*pool));
        }
        stake.mark = Arc::new(stake.distribution());
        stake.current = stake.mark.clone();
        stake
    }

    /// Follows accounts, pools and pots from a genesis on, where it has all that they depend on.
    pub(crate) fn follow_accounts(&mut self, genesis: &Genesis, unspent: u64) {
        let no_rewards = genesis.shelley.parameters.tau.is_one();
        self.has_terms = Accounts::may_pay_rewards(genesis) && genesis.pool_terms.iter().all(Option::is_some);
        if !self.exact || genesis.ledger.is_none() || !(no_rewards || self.has_terms) {
            return;
        }
        let mut accounts = Accounts::new(genesis, unspent);
        accounts.begin(self.holdings.delegating());
        self.accounts = Some(Box::new(accounts));
        self.follows_accounts = true;
    }

    /// Forgets the outputs, which are kept elsewhere from here on.
    pub(crate) fn count_only(&mut self) {
        self.holdings.count_only();
    }

    /// Accounts, pools and pots; None where they aren't followed.
    pub fn accounts(&self) -> Option<&Accounts> {
        self.accounts.as_deref()
    }

    /// Goes on working rewards out where accounts are followed: see [`Accounts::pulse_rewards`].
    pub(crate) fn pulse_rewards(&mut self, is_late: bool) -> bool {
        self.accounts.as_mut().is_some_and(|accounts| accounts.pulse_rewards(is_late))
    }

    /// Follows accounts no longer: stake lacks what it would without them.
    pub(crate) fn leave_accounts(&mut self) {
        self.accounts = None;
        self.follows_accounts = false;
    }

    /// All but outputs and accounts, cheap to make: enough for the distributions of this epoch and the next one.
    pub(crate) fn without_outputs(&self) -> Self {
        self.with(Holdings::default(), Some(self.mark.clone()), None)
    }

    /// All but outputs: enough for the distributions of all epochs before whose beginning no further block comes.
    pub(crate) fn counted(&self) -> Self {
        self.with(self.holdings.counted(), self.next_mark.clone(), self.accounts.clone())
    }

    fn with(&self, holdings: Holdings, next_mark: Option<Arc<Distribution>>, accounts: Option<Box<Accounts>>) -> Self {
        Self {
            holdings,
            pools: self.pools.clone(),
            changed_pools: self.changed_pools.clone(),
            retiring: self.retiring.clone(),
            mark: self.mark.clone(),
            current: self.current.clone(),
            exact: self.exact,
            lacking_from: self.lacking_from,
            next_mark,
            accounts,
            follows_accounts: self.follows_accounts,
            has_terms: self.has_terms,
        }
    }

    /// Keeps track of changes from here on; gives what [`Stake::end_changes`] completes.
    pub(crate) fn begin_changes(&mut self) -> Changes {
        self.holdings.begin_journal();
        Changes { holdings: Journal::default(), accounts: self.accounts.clone() }
    }

    /// Ends the record of changes.
    pub(crate) fn end_changes(&mut self, begun: Changes) -> Changes {
        Changes { holdings: self.holdings.take_journal(), ..begun }
    }

    /// Takes back what these changes are, the last that are still in it. `before` is the rest, as [`Stake::without_outputs`] gave it.
    pub(crate) fn undo(&mut self, before: Self, changes: Changes) {
        self.holdings.undo(changes.holdings);
        // What `before` left out is here, and so is what stands for it there.
        let Self { holdings, next_mark, .. } = std::mem::replace(self, before);
        (self.holdings, self.next_mark, self.accounts) = (holdings, next_mark, changes.accounts);
    }

    /// Has the outputs as they are now kept in a set, which has exactly these.
    pub(crate) fn keep_outputs_in(&mut self, set: Arc<dyn Outputs>) {
        self.holdings.keep_in(set);
    }

    /// Hands the changes of the first block that isn't settled to the set of outputs.
    pub(crate) fn settle(&mut self, tip: SettledTip, changes: Changes) {
        self.holdings.settle(tip, changes.holdings);
    }

    /// Returns the number of unspent outputs.
    pub fn unspent_outputs(&self) -> usize {
        self.holdings.len()
    }

    /// An unspent output by its transaction's id and its index.
    pub fn unspent(&self, transaction: &Hash32, index: u64) -> Option<EncodedOutput> {
        self.holdings.output(&(*transaction, index))
    }

    /// All unspent outputs, each with its transaction's id and its index, in no order.
    pub fn all_unspent(&self) -> impl Iterator<Item = (Hash32, u64, EncodedOutput)> {
        self.holdings.outputs()
    }

    /// As [`Stake::all_unspent`], those at these addresses alone.
    pub fn unspent_at(&self, addresses: &HashSet<Vec<u8>>) -> impl Iterator<Item = (Hash32, u64, EncodedOutput)> {
        let is_wanted = |encoded: &[u8]| decode_output(encoded).is_ok_and(|output| addresses.contains(output.address.of(encoded)));
        let added = self.holdings.added_outputs().filter(move |(.., encoded)| is_wanted(encoded));
        // A genesis has an address once, and the output's place follows from it. A set is looked through.
        let of_base = addresses.iter().filter(|_| !self.holdings.has_set()).filter_map(|address| {
            let id = blake2b_256(&[address]);
            Some((id, 0, self.holdings.settled_output(&(id, 0))?))
        });
        added.chain(of_base).chain(self.holdings.outputs_of_set(is_wanted))
    }

    /// Returns the number of accounts that delegate to a pool.
    pub fn delegations(&self) -> usize {
        self.holdings.delegated().map(|(_, delegated)| delegated.accounts as usize).sum()
    }

    /// The distribution that the running epoch uses.
    pub fn current(&self) -> &Arc<Distribution> {
        &self.current
    }

    /// Goes into the next epoch, of this number, with the parameters that it has; None where they aren't known.
    pub fn begin_epoch(&mut self, epoch: u64, parameters: Option<&shelley::Parameters>) {
        let can_pay = |parameters: &shelley::Parameters| parameters.tau.is_one() || self.has_terms;
        if !parameters.is_some_and(can_pay) {
            self.leave_accounts();
        }
        match &mut self.accounts {
            Some(accounts) => accounts.pay_rewards(),
            None if self.follows_accounts => {}
            None => self.exact &= self.lacking_from.is_none_or(|from| epoch < from),
        }
        // The snapshot comes first: changes and retirements that the boundary brings aren't in it.
        let snapshot = self.accounts.as_mut().and_then(|accounts| accounts.take_snapshot(self.holdings.delegating()));
        let mark = match (snapshot, &self.next_mark) {
            (Some(snapshot), _) => Arc::new(self.summed(snapshot.stake.iter().map(|(_, lovelace, pool)| (*pool, *lovelace)))),
            (None, Some(mark)) => mark.clone(),
            (None, None) => Arc::new(self.distribution()),
        };
        self.current = std::mem::replace(&mut self.mark, mark);
        self.pools.extend(self.changed_pools.drain());
        let retired: Vec<Hash28> = self.retiring.iter().filter(|(_, at)| **at <= epoch).map(|(pool, _)| *pool).collect();
        if self.accounts.as_ref().is_some_and(|accounts| !retired.iter().all(|pool| accounts.knows_account_of(pool))) {
            self.leave_accounts();
        }
        for pool in &retired {
            self.retiring.remove(pool);
            self.pools.remove(pool);
            self.holdings.leave(pool);
            self.lack_from(epoch + 1); // its deposit is now among the rewards
        }
        if let (Some(accounts), Some(parameters)) = (&mut self.accounts, parameters) {
            accounts.begin_epoch(epoch, &retired, parameters);
        }
    }

    /// Decides on the actions of governance that wait, at the beginning of an epoch with these parameters; None where that isn't known.
    pub(crate) fn ratify(&mut self, parameters: &Parameters) -> Option<Ratified> {
        let holdings = &self.holdings;
        self.accounts.as_mut()?.ratify(
            parameters,
            self.exact,
            &|owner| holdings.lovelace_of(owner),
            &|owner| holdings.pool_of(owner),
            &self.mark,
        )
    }

    /// Notes that a pool made a block in an epoch: its rewards, where it may have any, count from the beginning of the next epoch but one.
    pub fn note_pool_block(&mut self, pool: Hash28, epoch: u64, may_have_rewards: bool) {
        if let Some(accounts) = &mut self.accounts {
            accounts.count_block(pool);
        }
        if may_have_rewards {
            self.lack_from(epoch.saturating_add(2));
        }
    }

    /// Notes that stake isn't exact from the beginning of an epoch on where accounts aren't followed.
    pub(crate) fn lack_from(&mut self, epoch: u64) {
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

    /// Applies a block's transactions where outputs are kept elsewhere; `resolved` is what they refer to, and learns what accounts and
    /// pools tell of them.
    ///
    /// # Errors
    /// A certificate can't be read.
    pub(crate) fn apply_resolved(&mut self, block: &Block<'_, '_>, resolved: &mut [Resolved]) -> Result<(), DecodeError> {
        for ((place, transaction), resolved) in (0..).zip(block.transactions).zip(resolved) {
            self.take_in(block, transaction, !block.invalid.contains(&place), resolved)?;
        }
        Ok(())
    }

    fn apply_transaction(&mut self, block: &Block<'_, '_>, transaction: &Transaction, valid: bool) -> Result<Resolved, DecodeError> {
        let mut resolved = Resolved::of(block, transaction, 0, |id, index| self.unspent(id, index))?;
        self.take_in(block, transaction, valid, &mut resolved)?;
        Ok(resolved)
    }

    fn take_in(
        &mut self,
        block: &Block<'_, '_>,
        transaction: &Transaction,
        valid: bool,
        resolved: &mut Resolved,
    ) -> Result<(), DecodeError> {
        let moves = Moves::of(block, transaction)?;
        resolved.new_pools = self.new_pools(&moves.certificates).len() as u64;
        if let Some(accounts) = &mut self.accounts {
            if valid {
                resolved.older_deposits = accounts.older_deposits(&moves.certificates);
                resolved.fits_accounts = accounts.apply(&moves);
            } else {
                let returned = transaction.collateral_return.as_ref().map_or(0, |output| output.lovelace);
                accounts.collect(lovelace(&resolved.collateral)?.saturating_sub(returned));
            }
        }
        let (spent, outputs) = if valid {
            (block.inputs[transaction.inputs.start as usize..transaction.inputs.end as usize].to_vec(), &mut resolved.inputs)
        } else {
            (block.inputs_in(&transaction.collateral)?, &mut resolved.collateral)
        };
        for (input, output) in spent.iter().zip(outputs) {
            let id = block.bytes[input.transaction as usize..][..32].try_into().expect("32 bytes");
            let is_there = match output {
                _ if self.holdings.keeps_outputs() => self.holdings.spend(&(id, input.index)),
                Some(encoded) => self.holdings.spend_counted(encoded),
                None => false,
            };
            if !is_there {
                self.exact = false;
                *output = None; // an input that is there twice is spent once
            }
        }
        // Where outputs are kept elsewhere, their places are too.
        let id = if self.holdings.keeps_outputs() { blake2b_256(&[transaction.body.of(block.bytes)]) } else { Hash32::default() };
        let outputs = &block.outputs[transaction.outputs.start as usize..transaction.outputs.end as usize];
        if !valid {
            if let Some(output) = &transaction.collateral_return {
                self.add(block, (id, outputs.len() as u64), output);
            }
            return Ok(());
        }
        for (index, output) in (0..).zip(outputs) {
            self.add(block, (id, index), output);
        }
        moves.certificates.into_iter().for_each(|certificate| self.certify(certificate));
        Ok(())
    }

    /// The pools that these certificates register for the first time.
    pub fn new_pools(&self, certificates: &[Certificate]) -> HashSet<Hash28> {
        let new = certificates.iter().filter_map(|certificate| match certificate {
            Certificate::PoolRegistration { pool, .. } if !self.pools.contains_key(pool) => Some(*pool),
            _ => None,
        });
        new.collect()
    }

    fn add(&mut self, block: &Block<'_, '_>, place: Place, output: &Output) {
        let account = self.account_of(output.address.of(block.bytes));
        self.holdings.add(place, account, output.lovelace, || output.encoded.of(block.bytes).into());
    }

    /// The account that an output at an address counts for.
    fn account_of(&mut self, address: &[u8]) -> Option<u32> {
        match Owner::of(address) {
            Owner::Account(credential) => Some(self.holdings.account(credential)),
            Owner::Pointer => {
                self.exact = false;
                None
            }
            Owner::Nobody => None,
        }
    }

    fn certify(&mut self, certificate: Certificate) {
        match certificate {
            Certificate::Registration { credential, pool, .. } => {
                let account = self.holdings.account_mut(credential);
                account.registered = true;
                account.pool = pool.or(account.pool);
            }
            Certificate::Deregistration { credential, .. } => {
                let account = self.holdings.account_mut(credential);
                (account.registered, account.pool) = (false, None);
            }
            Certificate::Delegation { credential, pool } => self.holdings.account_mut(credential).pool = Some(pool),
            Certificate::PoolRegistration { pool, vrf_key_hash, .. } => {
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
            Certificate::GenesisDelegation { .. }
            | Certificate::VoteDelegation { .. }
            | Certificate::DRepRegistration { .. }
            | Certificate::DRepDeregistration { .. }
            | Certificate::DRepUpdate { .. }
            | Certificate::CommitteeHotKey { .. }
            | Certificate::CommitteeResignation { .. } => {}
        }
    }

    /// The stake as it is now, with rewards where accounts are followed.
    pub fn distribution(&self) -> Distribution {
        let of_outputs = self.holdings.delegated().map(|(pool, delegated)| (pool, delegated.lovelace));
        let rewards = self.accounts.iter().flat_map(|accounts| accounts.with_rewards());
        self.summed(of_outputs.chain(rewards.filter_map(|(owner, lovelace)| Some((self.holdings.pool_of(owner)?, lovelace)))))
    }

    /// The stake of registered pools of whose lovelace these are parts.
    fn summed(&self, parts: impl Iterator<Item = (Hash28, u64)>) -> Distribution {
        let mut pools: HashMap<Hash28, (u64, Hash32)> = self.pools.iter().map(|(pool, vrf_key_hash)| (*pool, (0, *vrf_key_hash))).collect();
        for (pool, lovelace) in parts {
            if let Some((sum, _)) = pools.get_mut(&pool) {
                *sum = sum.saturating_add(lovelace);
            }
        }
        let mut summed = Distribution::of_pools(pools);
        summed.exact = self.exact;
        summed
    }
}

/// Lovelace of all these outputs that are there.
fn lovelace(outputs: &[Option<EncodedOutput>]) -> Result<u64, DecodeError> {
    outputs.iter().flatten().try_fold(0, |sum, encoded| Ok(decode_output(encoded)?.lovelace.saturating_add(sum)))
}
