//! The boundary between epochs: what was decided on is enacted, and what waits is decided on for the next one (EPOCH, HARDFORK).

use std::collections::HashMap;
use std::sync::Arc;

use slotmark_chain::block::{Credential, GovernanceAction, Hash28};
use slotmark_network::Parameters;

use super::ratification::{Decided, Default as DefaultVote, Ratification, Voters};
use super::{FIRST, FIRST_COMPLETE, Governing, VotedBy};
use crate::governance::{Governance, Ratified};

/// The stake of those who vote, at the beginning of an epoch.
pub(crate) struct Stakes<'s> {
    /// Lovelace of an account: in outputs and rewards.
    pub(crate) of: &'s dyn Fn(&Credential) -> u64,
    /// The pool that an account delegates to.
    pub(crate) pool_of: &'s dyn Fn(&Credential) -> Option<Hash28>,
    /// Pools with their stake, each with the account that its rewards go to.
    pub(crate) pools: &'s dyn Fn() -> Vec<(Hash28, u64, RewardsOf)>,
    /// False where stake or the treasury lack something.
    pub(crate) is_exact: bool,
}

/// The account that a pool's rewards go to.
#[derive(Clone, Copy)]
pub(crate) enum RewardsOf {
    Account(Credential),
    /// The pool isn't registered any more.
    Nobody,
    /// The genesis doesn't state it.
    Unknown,
}

/// Lovelace that enacted and expired actions move.
pub(in crate::accounts) struct Payments {
    /// Out of the treasury, by account.
    pub(in crate::accounts) withdrawals: Vec<(Credential, u64)>,
    /// Deposits that go back, by account.
    pub(in crate::accounts) deposits: Vec<(Credential, u64)>,
}

impl Governing {
    /// Enacts what was decided on, and forgets what expired.
    pub(in crate::accounts) fn enact(&mut self) -> Option<Payments> {
        let decided: Arc<Decided> = self.decided.take()?;
        self.enacted = decided.state.clone();
        let removed = self.proposals.remove(&decided.enacted, &decided.expired);
        let deposits = removed.iter().map(|removed| (removed.proposal.account, removed.proposal.deposit)).collect();
        Some(Payments { withdrawals: decided.withdrawals.clone(), deposits })
    }

    /// Goes from one major version to another: when governance becomes complete, votes that were given to nobody are taken back.
    pub(in crate::accounts) fn fork(&mut self, before: u64, major: u64) {
        if before >= FIRST_COMPLETE || major < FIRST_COMPLETE {
            return;
        }
        self.is_known &= !self.is_unsure;
        let named: Vec<_> =
            self.accounts.iter().filter(|(_, by)| matches!(by, VotedBy::Named(_))).map(|(owner, by)| (*owner, *by)).collect();
        for (owner, by) in named {
            let VotedBy::Named(drep) = by else { continue };
            match self.dreps.get(&drep) {
                Some(registered) => self.accounts.insert(owner, VotedBy::Registered(drep, registered.number)),
                None => self.accounts.remove(&owner),
            };
        }
    }

    /// Decides, at the beginning of an epoch with these parameters and this much in the treasury, on all that waits. None where that isn't known.
    pub(in crate::accounts) fn ratify(
        &mut self,
        epoch: u64,
        parameters: &Parameters,
        treasury: u64,
        stakes: &Stakes<'_>,
    ) -> Option<Ratified> {
        self.parameters = parameters.conway;
        if parameters.shelley.protocol_version.major < FIRST {
            return Some(Ratified::default());
        }
        if !self.proposals.all().any(|proposed| epoch <= proposed.expires_after) {
            self.dormant += 1;
        }
        let committee = self.enacted.committee.as_deref();
        let gone: Vec<_> = self.seats.keys().filter(|cold| !committee.is_some_and(|committee| committee.has(cold))).copied().collect();
        for cold in &gone {
            self.seats.remove(cold);
        }
        if self.proposals.is_empty() {
            return Some(Ratified::default());
        }
        if !self.is_known {
            return None;
        }
        // What is proposed for information is never ratified.
        let is_voted_on = self.proposals.all().any(|proposed| *proposed.action() != GovernanceAction::Info);
        if is_voted_on && !stakes.is_exact {
            return None;
        }
        let ratification = Ratification {
            epoch,
            voters: if is_voted_on { self.voters(epoch, stakes) } else { Voters::default() },
            seats: &self.seats,
            enacted: self.enacted.clone(),
            parameters: parameters.clone(),
            treasury,
        };
        let (decided, new) = ratification.decide(self.proposals.in_order())?;
        let mut waiting = Governance::default();
        for proposed in self.proposals.all() {
            // All that is decided on at this boundary takes effect at the next one: what may come after that isn't known yet.
            waiting.wait(proposed.action(), epoch.saturating_add(2), proposed.expires_after);
        }
        self.decided = Some(Arc::new(decided));
        Some(Ratified { parameters: (new != *parameters).then(|| Arc::new(new)), waiting })
    }

    /// The stake that votes: that of accounts, and deposits for their proposals (`computeDRepDistr`).
    fn voters(&self, epoch: u64, stakes: &Stakes<'_>) -> Voters {
        let mut deposits: HashMap<Credential, u64> = HashMap::new();
        for proposed in self.proposals.all() {
            add(deposits.entry(proposed.proposal.account).or_default(), proposed.proposal.deposit);
        }
        let mut voters = Voters::default();
        for (owner, by) in self.accounts.iter().filter(|(_, by)| self.is_valid(by)) {
            let counted = match by {
                VotedBy::Registered(drep, _) | VotedBy::Named(drep) => {
                    // Of one that is expired nothing counts.
                    let is_active = self.dreps.get(drep).is_some_and(|registered| epoch <= registered.expiry);
                    is_active.then(|| voters.dreps.entry(*drep).or_default())
                }
                VotedBy::NoConfidence => Some(&mut voters.no_confidence),
                VotedBy::Abstain => None,
            };
            if let Some(counted) = counted {
                add(counted, (stakes.of)(owner));
                add(counted, deposits.get(owner).copied().unwrap_or_default());
            }
        }
        voters.all_dreps = voters.dreps.values().fold(0, |sum, stake| sum.saturating_add(*stake));
        let mut to_pools: HashMap<Hash28, u64> = HashMap::new();
        for (owner, deposit) in &deposits {
            if let Some(pool) = (stakes.pool_of)(owner) {
                add(to_pools.entry(pool).or_default(), *deposit);
            }
        }
        // Deposits count for pools that have stake without them.
        let with_stake = (stakes.pools)().into_iter().filter(|(_, stake, _)| *stake > 0);
        voters.pools = with_stake
            .map(|(pool, stake, rewards)| {
                (pool, stake.saturating_add(to_pools.get(&pool).copied().unwrap_or_default()), self.default_vote(rewards))
            })
            .collect();
        voters
    }

    fn default_vote(&self, rewards: RewardsOf) -> DefaultVote {
        match rewards {
            RewardsOf::Account(account) => DefaultVote::of(self.accounts.get(&account)),
            RewardsOf::Unknown if !self.accounts.is_empty() => DefaultVote::Unknown,
            RewardsOf::Unknown | RewardsOf::Nobody => DefaultVote::No,
        }
    }
}

/// Adds stake. A deposit may be any number where a proposal breaks a rule.
fn add(sum: &mut u64, lovelace: u64) {
    *sum = sum.saturating_add(lovelace);
}
