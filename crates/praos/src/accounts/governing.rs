//! Conway's governance: DReps, those who vote for accounts, the committee, proposals and votes (rules GOVCERT, DELEG and GOV of cardano-ledger), and
//! at the ends of epochs ratification, enactment and expiry (RATIFY, ENACT and EPOCH).
//!
//! What waits at the beginning of an epoch is decided on by the votes and the stake of that moment, and takes effect at its end.

mod boundary;
mod committee;
mod proposals;
mod ratification;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use imbl::OrdMap;
use slotmark_chain::block::{ActionId, Certificate, Credential, DRep, GovernanceAction, Proposal, Vote, Voter};
use slotmark_network::{conway, shelley};

pub(super) use self::boundary::{Payments, RewardsOf, Stakes};
use self::committee::{Committee, Enacted, Seat};
use self::proposals::{Proposals, Proposed};
use self::ratification::Decided;
use crate::genesis::Genesis;

/// The first major version with governance.
const FIRST: u64 = 9;
/// From this major version on, governance is complete; before it, DReps only vote on what is proposed for information
/// (`hardforkConwayBootstrapPhase`).
const FIRST_COMPLETE: u64 = 10;
/// From this major version on, only elected members of the committee vote (`hardforkConwayDisallowUnelectedCommitteeFromVoting`).
const FIRST_ELECTED: u64 = 11;

/// The moment of an act of governance.
#[derive(Clone, Copy)]
pub(super) struct Now {
    pub(super) epoch: u64,
    pub(super) version: shelley::ProtocolVersion,
}

impl Now {
    fn is_complete(&self) -> bool {
        self.version.major >= FIRST_COMPLETE
    }
}

/// A registration of a DRep.
#[derive(Clone)]
struct Registered {
    deposit: u64,
    /// Its number: votes that were given to an earlier registration don't count for a later one.
    number: u64,
    /// The last epoch in which it counts, without epochs in which there was nothing to vote on.
    expiry: u64,
}

/// Those who vote for an account.
#[derive(Clone, Copy)]
enum VotedBy {
    /// A DRep, by the number of its registration.
    Registered(Credential, u64),
    /// A DRep that must be registered when governance becomes complete.
    Named(Credential),
    Abstain,
    NoConfidence,
}

/// The state of governance.
#[derive(Clone)]
pub(super) struct Governing {
    parameters: Option<conway::Parameters>,
    /// False where something isn't known that ratification depends on.
    is_known: bool,
    dreps: OrdMap<Credential, Registered>,
    registrations: u64,
    /// The number of DReps of the genesis, whose deposits nobody paid.
    of_genesis: u64,
    accounts: OrdMap<Credential, VotedBy>,
    /// True where a DRep left before governance was complete: who votes for others isn't known from then on, for cardano-ledger kept it wrong.
    is_unsure: bool,
    /// Epochs in a row without anything to vote on.
    dormant: u64,
    proposals: Proposals,
    enacted: Enacted,
    /// By cold credential.
    seats: OrdMap<Credential, Seat>,
    /// Results for the end of the running epoch; None where there are none.
    decided: Option<Arc<Decided>>,
}

impl Governing {
    /// The state of a genesis, with DReps that nobody votes by.
    pub(super) fn of(genesis: &Genesis) -> Self {
        let Some(ledger) = &genesis.ledger else { return Self::new(None, &[], None) };
        Self::new(ledger.parameters.conway, &ledger.dreps, ledger.governance.as_ref())
    }

    pub(super) fn new(parameters: Option<conway::Parameters>, dreps: &[conway::DRep], governance: Option<&conway::Governance>) -> Self {
        let enacted = governance
            .map(|begin| Enacted::new(Committee::new(begin.members.iter().copied(), begin.committee_threshold), begin.guardrails))
            .unwrap_or_default();
        let mut governing = Self {
            parameters,
            is_known: governance.is_some(),
            dreps: OrdMap::new(),
            registrations: 0,
            of_genesis: dreps.len() as u64,
            accounts: OrdMap::new(),
            is_unsure: false,
            dormant: 0,
            proposals: Proposals::default(),
            enacted,
            seats: OrdMap::new(),
            decided: None,
        };
        for drep in dreps {
            governing.add(Credential { script: drep.script, hash: drep.hash }, drep.deposit, drep.expiry);
        }
        governing
    }

    /// Returns whether something was proposed ever.
    pub(super) fn has_proposed(&self) -> bool {
        self.proposals.made() > 0
    }

    fn add(&mut self, drep: Credential, deposit: u64, expiry: u64) {
        self.registrations += 1;
        self.dreps.insert(drep, Registered { deposit, number: self.registrations, expiry });
    }

    /// The last epoch in which a DRep counts that is active now (`computeDRepExpiry`).
    fn expiry(&self, now: Now, dormant: u64) -> u64 {
        let activity = self.parameters.map_or(0, |parameters| parameters.drep_activity);
        now.epoch.saturating_add(activity).saturating_sub(dormant)
    }

    /// Takes in a certificate of a DRep or of the committee. Returns whether it fits; None where that isn't known.
    pub(super) fn certify(&mut self, certificate: &Certificate, now: Now) -> Option<bool> {
        match certificate {
            Certificate::DRepRegistration { drep, deposit } => {
                if self.has(drep) {
                    return Some(false);
                }
                let dormant = if now.is_complete() { self.dormant } else { 0 };
                self.add(*drep, *deposit, self.expiry(now, dormant));
                self.parameters.map(|parameters| parameters.drep_deposit == *deposit)
            }
            Certificate::DRepDeregistration { drep, refund } => {
                self.is_unsure |= !now.is_complete();
                let fits = self.dreps.remove(drep).is_some_and(|registered| registered.deposit == *refund);
                self.parameters.map(|_| fits)
            }
            Certificate::DRepUpdate { drep } => {
                let is_there = self.renew(drep, now);
                self.parameters.map(|_| is_there)
            }
            Certificate::CommitteeHotKey { cold, hot } => self.seat(*cold, Seat::Hot(*hot)),
            Certificate::CommitteeResignation { cold } => self.seat(*cold, Seat::Resigned),
            _ => None,
        }
    }

    fn has(&self, drep: &Credential) -> bool {
        self.dreps.contains_key(drep)
    }

    /// Returns the deposit that was paid for a DRep; 0 where it isn't registered, or is of the genesis.
    pub(super) fn deposit(&self, drep: &Credential) -> u64 {
        self.dreps.get(drep).filter(|registered| registered.number > self.of_genesis).map_or(0, |registered| registered.deposit)
    }

    /// Notes that a DRep is active. Returns whether it is registered.
    fn renew(&mut self, drep: &Credential, now: Now) -> bool {
        let expiry = self.expiry(now, self.dormant);
        self.dreps.get_mut(drep).map(|registered| registered.expiry = expiry).is_some()
    }

    /// Says who votes for a member of the committee, who hasn't resigned: for one that is there, or that joins by a proposal.
    fn seat(&mut self, cold: Credential, seat: Seat) -> Option<bool> {
        let joins = |proposed: &Proposed| match proposed.action() {
            GovernanceAction::Committee { joining, .. } => joining.iter().any(|(member, _)| *member == cold),
            _ => false,
        };
        let is_member = self.enacted.committee.as_ref().is_some_and(|committee| committee.has(&cold)) || self.proposals.all().any(joins);
        let before = self.seats.insert(cold, seat);
        self.is_known.then_some(is_member && before != Some(Seat::Resigned))
    }

    /// Has others vote for a registered account. Returns whether that fits; None where that isn't known.
    pub(super) fn delegate(&mut self, account: Credential, to: DRep, now: Now) -> Option<bool> {
        let by = match to {
            DRep::Registered(drep) if !now.is_complete() => VotedBy::Named(drep),
            DRep::Registered(drep) => match self.dreps.get(&drep) {
                Some(registered) => VotedBy::Registered(drep, registered.number),
                None => return self.parameters.map(|_| false),
            },
            DRep::Abstain => VotedBy::Abstain,
            DRep::NoConfidence => VotedBy::NoConfidence,
        };
        self.accounts.insert(account, by);
        Some(true)
    }

    /// Forgets an account.
    pub(super) fn leave(&mut self, account: &Credential) {
        self.accounts.remove(account);
    }

    /// Returns whether an owner may withdraw: a key's votes have to be given to somebody. None where that isn't known.
    pub(super) fn may_withdraw(&self, owner: &Credential, now: Now) -> Option<bool> {
        if !now.is_complete() || owner.script {
            return Some(true);
        }
        (self.is_known && !self.is_unsure).then(|| self.accounts.get(owner).is_some_and(|by| self.is_valid(by)))
    }

    fn is_valid(&self, by: &VotedBy) -> bool {
        match by {
            VotedBy::Registered(drep, number) => self.dreps.get(drep).is_some_and(|registered| registered.number == *number),
            VotedBy::Named(drep) => self.has(drep),
            VotedBy::Abstain | VotedBy::NoConfidence => true,
        }
    }

    /// Takes in, before a transaction's certificates, what its proposals and votes change of DReps (CERTS, and LEDGER from version 11 on): a proposal
    /// ends the time without anything to vote on, which doesn't count for DReps that weren't expired in it, and who votes is active.
    pub(super) fn note_activity(&mut self, proposes: bool, votes: &[Vote], now: Now) {
        if proposes && self.dormant > 0 {
            let dormant = std::mem::take(&mut self.dormant);
            let later = |(drep, registered): (&Credential, &Registered)| {
                let expiry = registered.expiry.saturating_add(dormant);
                (expiry >= now.epoch).then(|| (*drep, Registered { expiry, ..registered.clone() }))
            };
            let renewed: Vec<_> = self.dreps.iter().filter_map(later).collect();
            self.dreps.extend(renewed);
        }
        for vote in votes {
            if let Voter::DRep(drep) = &vote.voter {
                self.renew(drep, now);
            }
        }
    }

    /// Takes in a proposal. `has_accounts`: whether there are accounts for its deposit and for what it withdraws. Returns whether it fits; None where that
    /// isn't known.
    pub(super) fn propose(&mut self, id: ActionId, proposal: &Proposal, has_accounts: bool, now: Now) -> Option<bool> {
        use GovernanceAction::{HardFork, Info, Parameters};
        let is_allowed = now.is_complete() || matches!(proposal.action, Info | Parameters { .. } | HardFork { .. });
        let follows = self.follows(&proposal.action, now);
        let lifetime = self.parameters.map_or(0, |parameters| parameters.gov_action_lifetime);
        let is_linked = self.proposals.add(id, proposal, now.epoch.saturating_add(lifetime), &self.enacted);
        if !is_allowed || (now.is_complete() && !has_accounts) || proposal.deposit != self.parameters?.gov_action_deposit {
            return Some(false);
        }
        let is_formed = self.is_well_formed(self.proposals.get(&id)?, now);
        if proposal.action == Info { Some(true) } else { self.is_known.then_some(follows && is_linked && is_formed?) }
    }

    /// Returns whether a hard fork is to a version that follows the one before it; true for other actions.
    fn follows(&self, action: &GovernanceAction, now: Now) -> bool {
        let GovernanceAction::HardFork { previous, version } = action else { return true };
        let before = match previous.and_then(|id| self.proposals.get(&id)).map(Proposed::action) {
            Some(GovernanceAction::HardFork { version, .. }) => *version,
            _ => (now.version.major, now.version.minor),
        };
        [before.0.checked_add(1).map(|major| (major, 0)), before.1.checked_add(1).map(|minor| (before.0, minor))].contains(&Some(*version))
    }

    /// Returns whether an action is well-formed by itself; None where it can't be read.
    fn is_well_formed(&self, proposed: &Proposed, now: Now) -> Option<bool> {
        Some(match proposed.action() {
            GovernanceAction::Parameters { guardrails, .. } => {
                proposed.update.as_ref()?.is_well_formed(now.version.major) && *guardrails == self.enacted.guardrails
            }
            GovernanceAction::Withdrawals { amounts, guardrails } => {
                amounts.iter().any(|(_, lovelace)| *lovelace > 0) && *guardrails == self.enacted.guardrails
            }
            GovernanceAction::Committee { leaving, joining, .. } => {
                joining.iter().all(|(member, last)| *last > now.epoch && !leaving.contains(member))
            }
            _ => true,
        })
    }

    /// Takes in a vote. Returns whether it fits; None where that isn't known. `is_pool` is true where it is that of a registered pool.
    pub(super) fn vote(&mut self, vote: &Vote, is_pool: bool, now: Now) -> Option<bool> {
        let Some(proposed) = self.proposals.get(&vote.action) else { return Some(false) };
        let fits = self.may_vote(&vote.voter, proposed, is_pool, now).map(|may| may && now.epoch <= proposed.expires_after);
        self.proposals.vote(vote);
        self.parameters.and(fits)
    }

    /// Returns whether somebody may vote on a proposal whose time isn't over.
    fn may_vote(&self, voter: &Voter, proposed: &Proposed, is_pool: bool, now: Now) -> Option<bool> {
        use GovernanceAction::{Committee, Constitution, HardFork, Info, NoConfidence, Parameters, Withdrawals};
        let action = proposed.action();
        let is_allowed = now.is_complete() || matches!(action, Info | Parameters { .. } | HardFork { .. });
        Some(match voter {
            Voter::DRep(drep) => self.has(drep) && (now.is_complete() || *action == Info),
            Voter::Pool(_) => {
                let is_of_pools = match action {
                    Withdrawals { .. } | Constitution { .. } => false,
                    Parameters { .. } => proposed.update.as_ref()?.is_of_pools(),
                    _ => true,
                };
                is_pool && is_of_pools && is_allowed
            }
            Voter::Committee(_) if matches!(action, NoConfidence { .. } | Committee { .. }) || !is_allowed => false,
            Voter::Committee(hot) => {
                let committee = self.enacted.committee.as_ref();
                let is_elected = |cold| now.version.major < FIRST_ELECTED || committee.is_some_and(|committee| committee.has(cold));
                let is_seat = self.seats.iter().any(|(cold, seat)| *seat == Seat::Hot(*hot) && is_elected(cold));
                return self.is_known.then_some(is_seat);
            }
        })
    }

    /// Forgets the votes of DReps that a transaction's certificates took the registration from.
    pub(super) fn forget_voters(&mut self, certificates: &[Certificate]) {
        let left = certificates.iter().filter_map(|certificate| match certificate {
            Certificate::DRepDeregistration { drep, .. } => Some(*drep),
            _ => None,
        });
        let left: Vec<Credential> = left.collect();
        if !left.is_empty() {
            self.proposals.forget(&left);
        }
    }
}
