//! The state of Conway's governance that certificates, withdrawals, votes and proposals have to fit: DReps, those who vote for accounts, and
//! proposals (rules GOVCERT, DELEG and GOV). Whether a proposal is ratified isn't followed, nor is the committee.

use imbl::OrdMap;
use slotmark_chain::block::{ActionId, Credential, DRep, GovernanceAction, Proposal, Vote, Voter};
use slotmark_network::conway;

/// From this major version on, governance is complete; before it, DReps only vote on what is proposed for information.
const FIRST_COMPLETE: u64 = 10;

/// A registration of a DRep.
#[derive(Clone)]
struct Registered {
    deposit: u64,
    /// Its number: votes that were given to an earlier registration don't count for a later one.
    number: u64,
}

/// Those who vote for an account.
#[derive(Clone, Copy)]
enum VotedBy {
    /// A DRep, by the number of its registration.
    Registered(Credential, u64),
    /// Nobody ever.
    Nobody,
}

/// A proposal that was made.
#[derive(Clone)]
struct Proposed {
    action: GovernanceAction,
    epoch: u64,
}

/// The state that acts of governance have to fit.
#[derive(Clone)]
pub(super) struct Governing {
    parameters: Option<conway::Parameters>,
    dreps: OrdMap<Credential, Registered>,
    registrations: u64,
    accounts: OrdMap<Credential, VotedBy>,
    proposals: OrdMap<ActionId, Proposed>,
}

impl Governing {
    /// The state of a genesis with these DReps, which nobody votes by.
    pub(super) fn new(parameters: Option<conway::Parameters>, dreps: &[conway::DRep]) -> Self {
        let mut governing = Self { parameters, dreps: OrdMap::new(), registrations: 0, accounts: OrdMap::new(), proposals: OrdMap::new() };
        for drep in dreps {
            governing.add(Credential { script: drep.script, hash: drep.hash }, drep.deposit);
        }
        governing
    }

    fn add(&mut self, drep: Credential, deposit: u64) {
        self.registrations += 1;
        self.dreps.insert(drep, Registered { deposit, number: self.registrations });
    }

    /// Registers a DRep. Returns whether that fits; None where the deposit that is due isn't known.
    pub(super) fn register(&mut self, drep: Credential, deposit: u64) -> Option<bool> {
        if self.has(&drep) {
            return Some(false);
        }
        self.add(drep, deposit);
        self.parameters.map(|parameters| parameters.drep_deposit == deposit)
    }

    /// Ends a DRep's registration. Returns whether that fits.
    pub(super) fn deregister(&mut self, drep: &Credential, refund: u64) -> bool {
        self.dreps.remove(drep).is_some_and(|registered| registered.deposit == refund)
    }

    /// Returns whether a DRep is registered.
    pub(super) fn has(&self, drep: &Credential) -> bool {
        self.dreps.contains_key(drep)
    }

    /// Has others vote for a registered account. Returns whether that fits.
    pub(super) fn delegate(&mut self, account: Credential, to: DRep, major: u64) -> bool {
        let by = match to {
            DRep::Registered(drep) => match self.dreps.get(&drep) {
                Some(registered) => VotedBy::Registered(drep, registered.number),
                None => return major < FIRST_COMPLETE,
            },
            DRep::Abstain | DRep::NoConfidence => VotedBy::Nobody,
        };
        self.accounts.insert(account, by);
        true
    }

    /// Forgets an account.
    pub(super) fn leave(&mut self, account: &Credential) {
        self.accounts.remove(account);
    }

    /// Returns whether an owner may withdraw: a key's votes have to be given to somebody.
    pub(super) fn may_withdraw(&self, owner: &Credential, major: u64) -> bool {
        major < FIRST_COMPLETE || owner.script || self.accounts.get(owner).is_some_and(|by| self.is_valid(by))
    }

    fn is_valid(&self, by: &VotedBy) -> bool {
        match by {
            VotedBy::Registered(drep, number) => self.dreps.get(drep).is_some_and(|registered| registered.number == *number),
            VotedBy::Nobody => true,
        }
    }

    /// Takes in a proposal, of which it is known whether there is an account for its deposit. Returns whether it fits; None where that
    /// isn't known: what is to be enacted depends on what was.
    pub(super) fn propose(&mut self, id: ActionId, proposal: &Proposal, has_account: bool, epoch: u64, major: u64) -> Option<bool> {
        use GovernanceAction::{HardFork, Info, Parameters};
        self.proposals.insert(id, Proposed { action: proposal.action, epoch });
        let is_complete = major >= FIRST_COMPLETE;
        let is_allowed = is_complete || matches!(proposal.action, Info | Parameters | HardFork);
        if !is_allowed || (is_complete && !has_account) {
            return Some(false);
        }
        let deposits = proposal.deposit == self.parameters?.gov_action_deposit;
        if deposits && proposal.action != Info { None } else { Some(deposits) }
    }

    /// Returns whether a vote fits; None where that isn't known. `is_pool` is true where it is that of a registered pool.
    pub(super) fn vote(&self, vote: &Vote, is_pool: bool, epoch: u64, major: u64) -> Option<bool> {
        use GovernanceAction::{Constitution, Info, Parameters, Withdrawals};
        let Some(Proposed { action, epoch: proposed }) = self.proposals.get(&vote.action) else { return Some(false) };
        let may = match &vote.voter {
            Voter::DRep(drep) => self.has(drep) && (major >= FIRST_COMPLETE || *action == Info),
            Voter::Pool(_) => is_pool && !matches!(action, Withdrawals | Constitution),
            Voter::Committee(_) => return None,
        };
        if !may || epoch > proposed.saturating_add(self.parameters?.gov_action_lifetime) {
            return Some(false);
        }
        // One that may be enacted may have gone; and pools vote on some parameters alone.
        let is_there = *action == Info || epoch == *proposed;
        let is_of_pools = *action == Parameters && matches!(vote.voter, Voter::Pool(_));
        (is_there && !is_of_pools).then_some(true)
    }
}
