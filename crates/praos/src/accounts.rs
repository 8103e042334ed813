//! Reward accounts, pools and pots: what blocks and the ends of epochs change beside the unspent outputs.
//!
//! After the rules DELEGS, DELPL, DELEG, POOL, NEWEPOCH, SNAP and POOLREAP of the Shelley ledger specification; `governing` has Conway's governance.
//! Instantaneous rewards aren't followed: where a transaction has one, whether it fits isn't known.

mod epochs;
mod governing;
mod registered;
mod rewards;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use imbl::OrdMap;
use slotmark_chain::Hash32;
use slotmark_chain::block::{
    ActionId, Block, Certificate, Credential, DecodeError, GovernanceAction, Hash28, PoolTerms, Proposal, Transaction, Vote, Voter,
};
use slotmark_chain::hash::blake2b_256;
use slotmark_network::{Ratio, shelley};

use self::governing::{Governing, Now};
use self::registered::{Account, Registered};
use self::rewards::Pulser;
use crate::genesis::Genesis;

/// The last version of the protocol in which pools may share a VRF key (`hardforkConwayDisallowDuplicatedVRFKeys`).
const LAST_WITH_SHARED_VRF_KEYS: u64 = 10;

/// Lovelace that isn't in unspent outputs or reward accounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pots {
    /// The treasury.
    pub treasury: u64,
    /// Lovelace that isn't issued yet.
    pub reserves: u64,
    /// Deposits for credentials, pools, DReps and proposals; without those of a genesis for DReps, which nobody paid.
    pub deposits: u64,
    /// Fees of the running epoch, and those of the one before, which aren't shared out yet.
    pub fees: u64,
    /// Donations of the running epoch, which the treasury gets at its end.
    pub donations: u64,
}

/// Stake and pools as they were at the beginning of an epoch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    /// Owners in their order, each once, with lovelace and the pool that it delegates to, which is registered.
    pub(crate) stake: Vec<(Credential, u64, Hash28)>,
    pub(crate) pools: HashMap<Hash28, PoolTerms>,
}

/// A registered pool.
#[derive(Clone)]
struct Pool {
    terms: PoolTerms,
    /// False where nobody stated the terms, and so not the account that its deposit goes back to.
    is_stated: bool,
    /// BLAKE2b-256 of its VRF key.
    vrf: Hash32,
    /// Terms and VRF key from the next epoch on.
    changed: Option<(PoolTerms, Hash32)>,
    deposit: u64,
}

impl Pool {
    /// Returns whether it has a VRF key, or has it from the next epoch on.
    fn has(&self, vrf: &Hash32) -> bool {
        self.vrf == *vrf || self.changed.as_ref().is_some_and(|(_, changed)| changed == vrf)
    }
}

/// The facts of a genesis that rewards depend on.
#[derive(Clone, Copy)]
struct Constants {
    max_lovelace: u64,
    epoch_slots: u64,
    active_slots: Ratio,
    security_parameter: u64,
}

/// A transaction, as far as it changes accounts and pots.
#[derive(Clone, Debug, Default)]
pub struct Moves {
    pub(crate) fee: u64,
    /// Lovelace for the treasury.
    pub(crate) donation: u64,
    /// The treasury, as it states it.
    pub(crate) treasury: Option<u64>,
    pub(crate) withdrawals: Vec<(Credential, u64)>,
    pub(crate) certificates: Vec<Certificate>,
    /// Its proposals, each with its id.
    pub(crate) proposals: Vec<(ActionId, Proposal)>,
    pub(crate) votes: Vec<Vote>,
    /// True where genesis keys propose other parameters in it.
    pub(crate) updates: bool,
}

impl Moves {
    /// Reads what a transaction of a block changes.
    ///
    /// # Errors
    /// A certificate, a withdrawal, a proposal or a vote can't be read.
    pub fn of(block: &Block<'_, '_>, transaction: &Transaction) -> Result<Self, DecodeError> {
        let proposals = block.proposals(transaction)?;
        // Most have none, and the id takes time.
        let id = if proposals.is_empty() { [0; 32] } else { blake2b_256(&[transaction.body.of(block.bytes)]) };
        Ok(Self {
            fee: transaction.fee,
            donation: transaction.donation.unwrap_or_default(),
            treasury: transaction.treasury,
            withdrawals: block.withdrawals(transaction)?.into_iter().map(|(_, owner, lovelace)| (owner, lovelace)).collect(),
            certificates: block.certificates(transaction)?,
            proposals: (0..).zip(proposals).map(|(place, proposal)| (ActionId { transaction: id, place }, proposal)).collect(),
            votes: block.votes(transaction)?,
            updates: transaction.update.is_some(),
        })
    }

    /// Its certificates, in their order.
    pub fn certificates(&self) -> &[Certificate] {
        &self.certificates
    }

    /// Returns whether it changes no more than the fees: such a one fits everywhere.
    pub fn only_pays(&self) -> bool {
        self.withdrawals.is_empty()
            && self.certificates.is_empty()
            && self.proposals.is_empty()
            && self.votes.is_empty()
            && !self.updates
            && self.donation == 0
            && self.treasury.is_none()
    }
}

/// All accounts, pools and pots.
///
/// What is large is shared between copies for as long as they agree, so that a copy costs nothing: a node keeps one per block that it may
/// have to take back, and its mempool one that is ahead of the chain.
#[derive(Clone)]
pub struct Accounts {
    constants: Constants,
    epoch: u64,
    registered: Registered,
    /// False over a ledger base of which nobody has rewards, since its genesis gives all to the treasury: snapshots are of no use, and would take a
    /// copy of all its accounts.
    takes_snapshots: bool,
    pools: OrdMap<Hash28, Arc<Pool>>,
    pots: Pots,
    /// Blocks by pool in the running epoch, without those of the overlay schedule.
    blocks: OrdMap<Hash28, u64>,
    /// The same of the epoch before.
    blocks_before: OrdMap<Hash28, u64>,
    /// The snapshots of the last boundary, the one before and the one before that.
    snapshots: [Arc<Snapshot>; 3],
    governing: Governing,
    /// Fees that the rewards of the running epoch are of.
    fees_to_share: u64,
    running: shelley::Parameters,
    /// The parameters of the epoch before.
    before: shelley::Parameters,
    /// The running epoch's rewards, as far as they are worked out; None before that begins.
    pulser: Option<Pulser>,
}

impl Accounts {
    /// The accounts and pools of a genesis, with this much in unspent outputs.
    pub(crate) fn new(genesis: &Genesis, unspent: u64) -> Self {
        let (parameters, max_lovelace) = (genesis.shelley.parameters, genesis.shelley.max_lovelace_supply);
        let registered = Registered::of(genesis.base.clone(), parameters.key_deposit);
        // Their deposits count, although nobody paid them (`conwayRegisterInitialAccounts`).
        let deposits = registered.len() as u64 * parameters.key_deposit;
        let mut accounts = Self {
            constants: Constants {
                max_lovelace,
                epoch_slots: genesis.shelley.epoch_slots,
                active_slots: genesis.active_slots.share(),
                security_parameter: genesis.shelley.security_parameter,
            },
            epoch: 0,
            registered,
            takes_snapshots: Self::may_pay_rewards(genesis),
            pools: OrdMap::new(),
            pots: Pots { reserves: max_lovelace.saturating_sub(unspent), deposits, ..Pots::default() },
            blocks: OrdMap::new(),
            blocks_before: OrdMap::new(),
            snapshots: Default::default(),
            governing: Governing::of(genesis),
            fees_to_share: 0,
            running: parameters,
            before: parameters,
            pulser: None,
        };
        for (place, (pool, vrf)) in genesis.pools.iter().enumerate() {
            accounts.add_pool(*pool, *vrf, genesis.pool_terms.get(place).cloned().flatten());
        }
        genesis.delegators.iter().for_each(|(key, _)| accounts.add_account(Credential { script: false, hash: *key }));
        accounts
    }

    /// Returns whether rewards may be paid over a genesis: snapshots, which they are of, are taken.
    pub(crate) fn may_pay_rewards(genesis: &Genesis) -> bool {
        genesis.base.is_none() || !genesis.shelley.parameters.tau.is_one()
    }

    fn add_account(&mut self, owner: Credential) {
        let deposit = self.running.key_deposit;
        self.pots.deposits += deposit;
        self.registered.add(owner, Account { rewards: 0, deposit });
    }

    fn add_pool(&mut self, pool: Hash28, vrf: Hash32, terms: Option<PoolTerms>) {
        let is_stated = terms.is_some();
        let account = Credential { script: false, hash: pool };
        let terms = terms.unwrap_or(PoolTerms { pledge: 0, cost: 0, margin: (0, 1), account, owners: Vec::new() });
        let deposit = self.running.pool_deposit;
        self.pots.deposits += deposit;
        self.pools.insert(pool, Arc::new(Pool { terms, is_stated, vrf, changed: None, deposit }));
    }

    /// Takes the first snapshot, which the rewards of epoch 1 are of, from what a genesis has in outputs by owner, with the pool that each
    /// delegates to (`resetStakeDistribution`).
    pub(crate) fn begin(&mut self, held: impl Iterator<Item = (Credential, u64, Hash28)>) {
        if self.takes_snapshots {
            self.snapshots[0] = Arc::new(self.snapshot(held));
        }
    }

    /// Lovelace that is neither in unspent outputs nor in reward accounts.
    pub fn pots(&self) -> &Pots {
        &self.pots
    }

    /// Lovelace of an owner's reward account; None where it isn't registered.
    pub fn rewards(&self, owner: &Credential) -> Option<u64> {
        self.registered.get(owner).map(|account| account.rewards)
    }

    /// Lovelace in all reward accounts.
    pub fn all_rewards(&self) -> u64 {
        self.with_rewards().map(|(_, lovelace)| lovelace).sum()
    }

    /// Owners whose reward accounts hold something, each with its lovelace.
    pub(crate) fn with_rewards(&self) -> impl Iterator<Item = (&Credential, u64)> {
        self.registered.changed().map(|(owner, account)| (owner, account.rewards)).filter(|(_, lovelace)| *lovelace > 0)
    }

    /// The number of registered credentials.
    pub fn registered(&self) -> usize {
        self.registered.len()
    }

    /// The running epoch.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Blocks by pool: of the epoch before, and of the running one.
    pub(crate) fn blocks(&self) -> [&OrdMap<Hash28, u64>; 2] {
        [&self.blocks_before, &self.blocks]
    }

    /// Registered credentials, each with the lovelace of its reward account and its deposit; without those of a base that nothing changed.
    pub(crate) fn registrations(&self) -> impl Iterator<Item = (Credential, (u64, u64))> {
        self.registered.changed().map(|(owner, account)| (*owner, (account.rewards, account.deposit)))
    }

    /// The terms of pools: those that hold now, or those that some have from the next epoch on.
    pub(crate) fn pool_terms(&self, changed: bool) -> impl Iterator<Item = (Hash28, &PoolTerms)> {
        self.pools.iter().filter_map(move |(id, pool)| Some((*id, if changed { &pool.changed.as_ref()?.0 } else { &pool.terms })))
    }

    /// Counts a block of a pool.
    pub(crate) fn count_block(&mut self, pool: Hash28) {
        *self.blocks.entry(pool).or_insert(0) += 1;
    }

    /// Takes in the fees that a transaction which failed phase 2 pays with its collateral.
    pub(crate) fn collect(&mut self, collateral: u64) {
        self.pots.fees = self.pots.fees.saturating_add(collateral);
    }

    /// Lovelace that credentials which leave by these certificates, without a stated refund, paid above the deposit that holds now.
    pub fn older_deposits(&self, certificates: &[Certificate]) -> i128 {
        let mut met = HashSet::new(); // one that comes again pays, and gets, the deposit that holds now
        let older = certificates.iter().map(|certificate| match certificate {
            Certificate::Deregistration { credential, refund } if met.insert(*credential) && refund.is_none() => {
                let paid = self.registered.get(credential).map_or(self.running.key_deposit, |account| account.deposit);
                i128::from(paid) - i128::from(self.running.key_deposit)
            }
            _ => 0,
        });
        older.sum()
    }

    /// Takes in a transaction. Returns whether it fits; None where that isn't known.
    pub fn apply(&mut self, moves: &Moves) -> Option<bool> {
        self.pots.fees = self.pots.fees.saturating_add(moves.fee); // it may be any number where a rule is broken
        let (mut fits, mut known) = (true, !moves.updates);
        let mut note = |holds: Option<bool>| match holds {
            Some(holds) => fits &= holds,
            None => known = false,
        };
        // The treasury gets donations at the end of the epoch: they don't count yet.
        note(Some(moves.treasury.is_none_or(|stated| stated == self.pots.treasury)));
        self.pots.donations = self.pots.donations.saturating_add(moves.donation);
        let now = self.now();
        self.governing.note_activity(!moves.proposals.is_empty(), &moves.votes, now);
        // Withdrawals come before certificates (DELEGS), and these before governance (GOV).
        for (owner, amount) in &moves.withdrawals {
            note(self.governing.may_withdraw(owner, now));
            let account = self.registered.get(owner);
            note(Some(account.is_some_and(|account| account.rewards == *amount)));
            if let Some(account) = account.filter(|account| account.rewards > 0) {
                self.registered.put(*owner, Account { rewards: 0, ..account });
            }
        }
        for certificate in &moves.certificates {
            note(self.certify(certificate));
        }
        for (id, proposal) in &moves.proposals {
            self.pots.deposits = self.pots.deposits.saturating_add(proposal.deposit);
            let has_accounts = self.has_accounts_of(proposal);
            note(self.governing.propose(*id, proposal, has_accounts, now));
        }
        for vote in &moves.votes {
            let is_pool = matches!(vote.voter, Voter::Pool(pool) if self.pools.contains_key(&pool));
            note(self.governing.vote(vote, is_pool, now));
        }
        self.governing.forget_voters(&moves.certificates);
        if fits && !known { None } else { Some(fits) }
    }

    fn now(&self) -> Now {
        Now { epoch: self.epoch, version: self.running.protocol_version }
    }

    /// Returns whether there are accounts for what a proposal deposits and withdraws.
    fn has_accounts_of(&self, proposal: &Proposal) -> bool {
        let is_there = |owner: &Credential| self.registered.get(owner).is_some();
        is_there(&proposal.account)
            && match &proposal.action {
                GovernanceAction::Withdrawals { amounts, .. } => amounts.iter().all(|(owner, _)| is_there(owner)),
                _ => true,
            }
    }

    /// Returns whether something was proposed to governance ever.
    pub(crate) fn has_proposals(&self) -> bool {
        self.governing.has_proposed()
    }

    fn certify(&mut self, certificate: &Certificate) -> Option<bool> {
        let (parameters, now) = (self.running, self.now());
        Some(match certificate {
            Certificate::Registration { credential, pool, deposit } => {
                let is_new = self.registered.get(credential).is_none();
                if is_new {
                    self.add_account(*credential);
                }
                // Conway states the deposit, and registers and delegates in one.
                is_new
                    && deposit.is_none_or(|stated| stated == parameters.key_deposit)
                    && pool.is_none_or(|pool| self.pools.contains_key(&pool))
            }
            Certificate::Deregistration { credential, refund } => match self.registered.get(credential) {
                Some(account) => {
                    self.registered.remove(credential);
                    self.governing.leave(credential);
                    self.give_back(account.deposit);
                    account.rewards == 0 && refund.is_none_or(|stated| stated == account.deposit)
                }
                None => false,
            },
            Certificate::Delegation { credential, pool } => self.registered.get(credential).is_some() && self.pools.contains_key(pool),
            Certificate::PoolRegistration { pool, vrf_key_hash: vrf, terms, .. } => {
                let fits = self.may_have(pool, vrf).map(|may| may && terms.cost >= parameters.min_pool_cost);
                match self.pools.get_mut(pool) {
                    Some(known) => Arc::make_mut(known).changed = Some((terms.clone(), *vrf)),
                    None => self.add_pool(*pool, *vrf, Some(terms.clone())),
                }
                return fits;
            }
            Certificate::PoolRetirement { pool, epoch } => {
                let last = self.epoch.saturating_add(parameters.e_max);
                self.pools.contains_key(pool) && (self.epoch + 1..=last).contains(epoch)
            }
            Certificate::VoteDelegation { credential, to } => {
                self.registered.get(credential).is_some() && self.governing.delegate(*credential, *to, now)?
            }
            Certificate::DRepRegistration { deposit, .. } => {
                self.pots.deposits = self.pots.deposits.saturating_add(*deposit);
                return self.governing.certify(certificate, now);
            }
            Certificate::DRepDeregistration { drep, .. } => {
                self.give_back(self.governing.deposit(drep));
                return self.governing.certify(certificate, now);
            }
            Certificate::DRepUpdate { .. } | Certificate::CommitteeHotKey { .. } | Certificate::CommitteeResignation { .. } => {
                return self.governing.certify(certificate, now);
            }
            Certificate::GenesisDelegation { .. } | Certificate::InstantaneousRewards => return None,
        })
    }

    /// Takes a deposit out of the pot. Behind a broken transaction that may hold less.
    fn give_back(&mut self, deposit: u64) {
        self.pots.deposits = self.pots.deposits.saturating_sub(deposit);
    }

    /// Pays an account; the treasury where it isn't there.
    fn pay(&mut self, owner: &Credential, lovelace: u64) {
        if !self.registered.pay(owner, lovelace) {
            self.pots.treasury += lovelace;
        }
    }

    /// Returns whether a pool may be registered with a VRF key: from version 11 on, with none that another pool has. None where a pool states again the
    /// key that it has from the next epoch on: releases of cardano-ledger differ in that.
    fn may_have(&self, pool: &Hash28, vrf: &Hash32) -> Option<bool> {
        if self.running.protocol_version.major <= LAST_WITH_SHARED_VRF_KEYS {
            return Some(true);
        }
        if self.pools.iter().any(|(id, other)| id != pool && other.has(vrf)) {
            return Some(false);
        }
        let is_pending = self.pools.get(pool).is_some_and(|own| own.vrf != *vrf && own.has(vrf));
        (!is_pending).then_some(true)
    }
}
