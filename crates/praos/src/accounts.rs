//! Reward accounts, pools and pots: what blocks and the ends of epochs change beside the unspent outputs.
//!
//! After the rules DELEGS, DELPL, DELEG, POOL, NEWEPOCH, SNAP and POOLREAP of the Shelley ledger specification. Governance and
//! instantaneous rewards aren't followed: where a transaction has one, whether it fits isn't known.

mod governing;
mod rewards;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use slotmark_chain::block::{ActionId, Certificate, Credential, Hash28, PoolTerms, Proposal, Vote, Voter};
use slotmark_network::{Ratio, conway, shelley};

use self::governing::Governing;
use self::rewards::{Issue, Update};

/// The last version of the protocol in which rewards are only worked out for accounts that are there then.
const LAST_WITH_EARLY_FILTER: u64 = 6;

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
}

/// Stake and pools as they were at the beginning of an epoch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    /// Lovelace by owner, and the pool that it delegates to, which is registered.
    pub(crate) stake: HashMap<Credential, (u64, Hash28)>,
    pub(crate) pools: HashMap<Hash28, PoolTerms>,
}

/// A registered credential.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    rewards: u64,
    deposit: u64,
}

/// A registered pool.
struct Pool {
    terms: PoolTerms,
    /// Terms from the next epoch on.
    changed: Option<PoolTerms>,
    deposit: u64,
}

/// The facts of a genesis that rewards depend on.
#[derive(Clone, Copy)]
struct Constants {
    max_lovelace: u64,
    epoch_slots: u64,
    active_slots: Ratio,
}

/// Lovelace that rewards move at the end of an epoch.
pub(crate) struct NextUpdate {
    /// Into the treasury.
    pub(crate) treasury: u64,
    /// Out of the reserves; negative where more of the fees goes into them than they issue.
    pub(crate) reserves: i64,
    /// Out of the fees.
    pub(crate) fees: u64,
    pub(crate) rewards: HashMap<Credential, u64>,
}

/// A transaction, as far as it changes accounts and pots.
pub(crate) struct Moves<'t> {
    pub(crate) fee: u64,
    pub(crate) withdrawals: &'t [(Credential, u64)],
    pub(crate) certificates: &'t [Certificate],
    /// Its proposals, each with its id.
    pub(crate) proposals: &'t [(ActionId, Proposal)],
    pub(crate) votes: &'t [Vote],
    /// True where genesis keys propose other parameters in it.
    pub(crate) updates: bool,
}

/// All accounts, pools and pots.
pub struct Accounts {
    constants: Constants,
    epoch: u64,
    accounts: HashMap<Credential, Account>,
    pools: HashMap<Hash28, Pool>,
    pots: Pots,
    /// Blocks by pool in the running epoch, without those of the overlay schedule.
    blocks: BTreeMap<Hash28, u64>,
    /// The same of the epoch before.
    blocks_before: BTreeMap<Hash28, u64>,
    /// The snapshots of the last boundary, the one before and the one before that.
    snapshots: [Arc<Snapshot>; 3],
    governing: Governing,
    /// Fees that the rewards of the running epoch are of.
    fees_to_share: u64,
    running: shelley::Parameters,
    /// The parameters of the epoch before.
    before: shelley::Parameters,
    /// The accounts when the running epoch's rewards began to be worked out; None before that.
    eligible: Option<HashSet<Credential>>,
}

impl Accounts {
    /// Without accounts and pools, and with this much in unspent outputs. `conway` is Conway's parameters, where they are known, and its
    /// first DReps.
    pub(crate) fn new(
        genesis: &shelley::Shelley,
        active_slots: Ratio,
        unspent: u64,
        conway: (Option<conway::Parameters>, &[conway::DRep]),
    ) -> Self {
        let governing = Governing::new(conway.0, conway.1);
        let max_lovelace = genesis.max_lovelace_supply;
        Self {
            constants: Constants { max_lovelace, epoch_slots: genesis.epoch_slots, active_slots },
            epoch: 0,
            accounts: HashMap::new(),
            pools: HashMap::new(),
            pots: Pots { reserves: max_lovelace.saturating_sub(unspent), ..Pots::default() },
            blocks: BTreeMap::new(),
            blocks_before: BTreeMap::new(),
            snapshots: Default::default(),
            governing,
            fees_to_share: 0,
            running: genesis.parameters,
            before: genesis.parameters,
            eligible: None,
        }
    }

    /// Adds an account of a genesis. Its deposit counts, although nobody paid it (`conwayRegisterInitialAccounts`).
    pub(crate) fn add_account(&mut self, owner: Credential) {
        let deposit = self.running.key_deposit;
        self.pots.deposits += deposit;
        self.accounts.insert(owner, Account { rewards: 0, deposit });
    }

    /// As [`Accounts::add_account`], a pool; one without terms is that of a genesis that has no rewards.
    pub(crate) fn add_pool(&mut self, pool: Hash28, terms: Option<PoolTerms>) {
        let account = Credential { script: false, hash: pool };
        let terms = terms.unwrap_or(PoolTerms { pledge: 0, cost: 0, margin: (0, 1), account, owners: Vec::new() });
        let deposit = self.running.pool_deposit;
        self.pots.deposits += deposit;
        self.pools.insert(pool, Pool { terms, changed: None, deposit });
    }

    /// Takes the first snapshot, which the rewards of epoch 1 are of, from what a genesis has in outputs by owner, with the pool that each
    /// delegates to (`resetStakeDistribution`).
    pub(crate) fn begin(&mut self, held: impl Iterator<Item = (Credential, u64, Hash28)>) {
        self.snapshots[0] = Arc::new(self.snapshot(held));
    }

    /// Lovelace that is neither in unspent outputs nor in reward accounts.
    pub fn pots(&self) -> &Pots {
        &self.pots
    }

    /// Lovelace of an owner's reward account; None where it isn't registered.
    pub fn rewards(&self, owner: &Credential) -> Option<u64> {
        self.accounts.get(owner).map(|account| account.rewards)
    }

    /// Lovelace in all reward accounts.
    pub fn all_rewards(&self) -> u64 {
        self.accounts.values().map(|account| account.rewards).sum()
    }

    /// The number of registered credentials.
    pub fn registered(&self) -> usize {
        self.accounts.len()
    }

    /// The running epoch.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Blocks by pool: of the epoch before, and of the running one.
    pub(crate) fn blocks(&self) -> [&BTreeMap<Hash28, u64>; 2] {
        [&self.blocks_before, &self.blocks]
    }

    /// Registered credentials, each with the lovelace of its reward account and its deposit.
    pub(crate) fn registrations(&self) -> impl Iterator<Item = (Credential, (u64, u64))> {
        self.accounts.iter().map(|(owner, account)| (*owner, (account.rewards, account.deposit)))
    }

    /// The terms of pools: those that hold now, or those that some have from the next epoch on.
    pub(crate) fn pool_terms(&self, changed: bool) -> impl Iterator<Item = (Hash28, &PoolTerms)> {
        self.pools.iter().filter_map(move |(id, pool)| Some((*id, if changed { pool.changed.as_ref()? } else { &pool.terms })))
    }

    /// The changes that the end of the running epoch makes by rewards.
    pub(crate) fn next_update(&self) -> NextUpdate {
        let issue = Issue {
            parameters: &self.before,
            constants: &self.constants,
            blocks: &self.blocks_before,
            snapshot: &self.snapshots[2],
            reserves: self.pots.reserves,
            fees: self.fees_to_share,
        };
        let Update { treasury, issued, returned, rewards } = issue.work_out(self.eligible.as_ref());
        NextUpdate { treasury, reserves: issued as i64 - returned as i64, fees: self.fees_to_share, rewards }
    }

    /// Counts a block of a pool.
    pub(crate) fn count_block(&mut self, pool: Hash28) {
        *self.blocks.entry(pool).or_default() += 1;
    }

    /// Notes that rewards begin to be worked out, before the first block that is further into its epoch than nonces take to settle.
    pub(crate) fn begin_rewards(&mut self) {
        if self.eligible.is_none() && self.before.protocol_version.major <= LAST_WITH_EARLY_FILTER {
            self.eligible = Some(self.accounts.keys().copied().collect());
        }
    }

    /// Takes in the fees that a transaction which failed phase 2 pays with its collateral.
    pub(crate) fn collect(&mut self, collateral: u64) {
        self.pots.fees += collateral;
    }

    /// Takes in a transaction. Returns whether it fits; None where that isn't known.
    pub(crate) fn apply(&mut self, moves: &Moves<'_>) -> Option<bool> {
        self.pots.fees += moves.fee;
        let (mut fits, mut known) = (true, !moves.updates);
        let mut note = |holds: Option<bool>| match holds {
            Some(holds) => fits &= holds,
            None => known = false,
        };
        let major = self.running.protocol_version.major;
        // Withdrawals come before certificates (DELEGS), and these before governance (GOV).
        for (owner, amount) in moves.withdrawals {
            note(Some(self.governing.may_withdraw(owner, major)));
            match self.accounts.get_mut(owner) {
                Some(account) => note(Some(std::mem::take(&mut account.rewards) == *amount)),
                None => note(Some(false)),
            }
        }
        for certificate in moves.certificates {
            note(self.certify(certificate));
        }
        for (id, proposal) in moves.proposals {
            self.pots.deposits += proposal.deposit;
            note(self.governing.propose(*id, proposal, self.accounts.contains_key(&proposal.account), self.epoch, major));
        }
        for vote in moves.votes {
            let is_pool = matches!(vote.voter, Voter::Pool(pool) if self.pools.contains_key(&pool));
            note(self.governing.vote(vote, is_pool, self.epoch, major));
        }
        if fits && !known { None } else { Some(fits) }
    }

    fn certify(&mut self, certificate: &Certificate) -> Option<bool> {
        let parameters = &self.running;
        Some(match certificate {
            Certificate::Registration { credential, pool } => {
                let is_new = !self.accounts.contains_key(credential);
                if is_new {
                    self.accounts.insert(*credential, Account { rewards: 0, deposit: parameters.key_deposit });
                    self.pots.deposits += parameters.key_deposit;
                }
                // Conway registers and delegates in one.
                is_new && pool.is_none_or(|pool| self.pools.contains_key(&pool))
            }
            Certificate::Deregistration { credential } => match self.accounts.remove(credential) {
                Some(account) => {
                    self.governing.leave(credential);
                    self.pots.deposits -= account.deposit;
                    account.rewards == 0
                }
                None => false,
            },
            Certificate::Delegation { credential, pool } => self.accounts.contains_key(credential) && self.pools.contains_key(pool),
            Certificate::PoolRegistration { pool, terms, .. } => {
                let cost_is_enough = terms.cost >= parameters.min_pool_cost;
                match self.pools.get_mut(pool) {
                    Some(known) => known.changed = Some(terms.clone()),
                    None => {
                        let deposit = parameters.pool_deposit;
                        self.pots.deposits += deposit;
                        self.pools.insert(*pool, Pool { terms: terms.clone(), changed: None, deposit });
                    }
                }
                cost_is_enough
            }
            Certificate::PoolRetirement { pool, epoch } => {
                let last = self.epoch.saturating_add(parameters.e_max);
                self.pools.contains_key(pool) && (self.epoch + 1..=last).contains(epoch)
            }
            Certificate::VoteDelegation { credential, to } => {
                self.accounts.contains_key(credential) && self.governing.delegate(*credential, *to, parameters.protocol_version.major)
            }
            Certificate::DRepRegistration { drep, deposit } => {
                self.pots.deposits += deposit;
                return self.governing.register(*drep, *deposit);
            }
            Certificate::DRepDeregistration { drep, refund } => {
                self.pots.deposits = self.pots.deposits.saturating_sub(*refund);
                self.governing.deregister(drep, *refund)
            }
            Certificate::DRepUpdate { drep } => self.governing.has(drep),
            Certificate::GenesisDelegation { .. } | Certificate::InstantaneousRewards | Certificate::Committee => return None,
        })
    }

    /// Pays the rewards that the epoch that ends worked out, those of the one before it (NEWEPOCH).
    pub(crate) fn pay_rewards(&mut self) {
        self.begin_rewards();
        let NextUpdate { treasury, reserves, fees, rewards } = self.next_update();
        self.eligible = None;
        self.pots.treasury += treasury;
        self.pots.reserves = self.pots.reserves.saturating_add_signed(-reserves);
        self.pots.fees -= fees;
        for (owner, lovelace) in rewards {
            match self.accounts.get_mut(&owner) {
                Some(account) => account.rewards += lovelace,
                None => self.pots.treasury += lovelace,
            }
        }
    }

    /// Takes the snapshot of the boundary (SNAP): lovelace in outputs by owner, and the pool that each delegates to.
    pub(crate) fn take_snapshot(&mut self, held: impl Iterator<Item = (Credential, u64, Hash28)>) -> Arc<Snapshot> {
        let mark = Arc::new(self.snapshot(held));
        self.snapshots.rotate_right(1);
        self.snapshots[0] = mark.clone();
        self.fees_to_share = self.pots.fees;
        mark
    }

    fn snapshot(&self, held: impl Iterator<Item = (Credential, u64, Hash28)>) -> Snapshot {
        let stake = held.filter_map(|(owner, lovelace, pool)| {
            let total = self.accounts.get(&owner)?.rewards.saturating_add(lovelace);
            (total > 0 && self.pools.contains_key(&pool)).then_some((owner, (total, pool)))
        });
        let stake = stake.collect();
        let pools = self.pools.iter().map(|(id, pool)| (*id, pool.terms.clone())).collect();
        Snapshot { stake, pools }
    }

    /// Ends the boundary: pools change and retire (POOLREAP), parameters are adopted, and the count of blocks begins again.
    pub(crate) fn begin_epoch(&mut self, epoch: u64, retired: &[Hash28], parameters: &shelley::Parameters) {
        self.epoch = epoch;
        for pool in self.pools.values_mut() {
            if let Some(terms) = pool.changed.take() {
                pool.terms = terms;
            }
        }
        for pool in retired.iter().filter_map(|pool| self.pools.remove(pool)) {
            self.pots.deposits -= pool.deposit;
            match self.accounts.get_mut(&pool.terms.account) {
                Some(account) => account.rewards += pool.deposit,
                None => self.pots.treasury += pool.deposit,
            }
        }
        self.before = std::mem::replace(&mut self.running, *parameters);
        self.blocks_before = std::mem::take(&mut self.blocks);
    }
}
