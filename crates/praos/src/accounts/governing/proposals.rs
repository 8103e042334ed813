//! Proposals that wait for their ratification, with their votes: a tree for each purpose (`Proposals` of cardano-ledger).

use std::collections::HashSet;
use std::sync::Arc;

use imbl::OrdMap;
use slotmark_chain::block::{ActionId, Answer, Credential, GovernanceAction, Hash28, Proposal, Vote, Voter};
use slotmark_network::Update;

use super::committee::Enacted;

/// A purpose whose actions are enacted one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Parameters,
    HardFork,
    Committee,
    Constitution,
}

/// The purpose of an action, and the one before it; None where each stands for itself.
pub(super) fn purpose(action: &GovernanceAction) -> Option<(Purpose, Option<ActionId>)> {
    match action {
        GovernanceAction::Parameters { previous, .. } => Some((Purpose::Parameters, *previous)),
        GovernanceAction::HardFork { previous, .. } => Some((Purpose::HardFork, *previous)),
        GovernanceAction::NoConfidence { previous } | GovernanceAction::Committee { previous, .. } => Some((Purpose::Committee, *previous)),
        GovernanceAction::Constitution { previous, .. } => Some((Purpose::Constitution, *previous)),
        GovernanceAction::Withdrawals { .. } | GovernanceAction::Info => None,
    }
}

/// A proposal that waits.
#[derive(Clone)]
pub(super) struct Proposed {
    pub(super) proposal: Arc<Proposal>,
    /// The change of parameters that it is; None where it is another action, or can't be read.
    pub(super) update: Option<Arc<Update>>,
    /// Its place in the order in which proposals were made.
    number: u64,
    /// The last epoch in which it may be voted on.
    pub(super) expires_after: u64,
    /// Votes of the committee, by hot credential.
    pub(super) committee: OrdMap<Credential, Answer>,
    pub(super) dreps: OrdMap<Credential, Answer>,
    pub(super) pools: OrdMap<Hash28, Answer>,
}

impl Proposed {
    pub(super) fn action(&self) -> &GovernanceAction {
        &self.proposal.action
    }
}

/// All proposals that wait.
#[derive(Clone, Default)]
pub(super) struct Proposals {
    waiting: OrdMap<ActionId, Proposed>,
    /// The number of proposals that were ever made.
    made: u64,
}

impl Proposals {
    pub(super) fn get(&self, id: &ActionId) -> Option<&Proposed> {
        self.waiting.get(id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn made(&self) -> u64 {
        self.made
    }

    /// All, in the order of their ids.
    pub(super) fn all(&self) -> impl Iterator<Item = &Proposed> {
        self.waiting.values()
    }

    /// All, in the order in which they were made.
    pub(super) fn in_order(&self) -> Vec<(ActionId, &Proposed)> {
        let mut all: Vec<_> = self.waiting.iter().map(|(id, proposed)| (*id, proposed)).collect();
        all.sort_unstable_by_key(|(_, proposed)| proposed.number);
        all
    }

    /// Adds one. Returns whether the action that it names comes before it: the last enacted one of its purpose, or one that waits.
    pub(super) fn add(&mut self, id: ActionId, proposal: &Proposal, expires_after: u64, enacted: &Enacted) -> bool {
        let is_linked = purpose(&proposal.action).is_none_or(|(wanted, previous)| {
            let of_purpose = |proposed: &Proposed| purpose(proposed.action()).is_some_and(|(found, _)| found == wanted);
            previous == enacted.last(wanted) || previous.and_then(|id| self.waiting.get(&id)).is_some_and(of_purpose)
        });
        let update = match &proposal.action {
            GovernanceAction::Parameters { update, .. } => Update::read(update).map(Arc::new),
            _ => None,
        };
        let (number, proposal) = (self.made, Arc::new(proposal.clone()));
        let (committee, dreps, pools) = Default::default();
        self.waiting.insert(id, Proposed { proposal, update, number, expires_after, committee, dreps, pools });
        self.made += 1;
        is_linked
    }

    /// Takes in a vote: a later one of the same voter replaces an earlier one.
    pub(super) fn vote(&mut self, vote: &Vote) {
        let Some(proposed) = self.waiting.get_mut(&vote.action) else { return };
        match vote.voter {
            Voter::Committee(hot) => proposed.committee.insert(hot, vote.answer),
            Voter::DRep(drep) => proposed.dreps.insert(drep, vote.answer),
            Voter::Pool(pool) => proposed.pools.insert(pool, vote.answer),
        };
    }

    /// Forgets the votes of DReps who left.
    pub(super) fn forget(&mut self, dreps: &[Credential]) {
        let voted = self.waiting.iter().filter(|(_, proposed)| dreps.iter().any(|drep| proposed.dreps.contains_key(drep)));
        let voted: Vec<ActionId> = voted.map(|(id, _)| *id).collect();
        for id in voted {
            let proposed = self.waiting.get_mut(&id).expect("a proposal");
            for drep in dreps {
                proposed.dreps.remove(drep);
            }
        }
    }

    /// Removes those that expired with all that were to come after them, and those that are enacted with their competitors: siblings, with all
    /// that were to come after them (`proposalsApplyEnactment`). Gives all that were removed.
    pub(super) fn remove(&mut self, enacted: &[ActionId], expired: &[ActionId]) -> Vec<Proposed> {
        let mut removed = self.take(expired.iter().copied().collect());
        for id in enacted {
            let Some(proposed) = self.waiting.remove(id) else { continue };
            if let Some(link) = purpose(proposed.action()) {
                let siblings = self.waiting.iter().filter(|(_, other)| purpose(other.action()) == Some(link)).map(|(id, _)| *id);
                let siblings = siblings.collect();
                removed.extend(self.take(siblings));
            }
            removed.push(proposed);
        }
        removed
    }

    /// Takes these out, and all that were to come after one of them, which were made later.
    fn take(&mut self, mut ids: HashSet<ActionId>) -> Vec<Proposed> {
        if ids.is_empty() {
            return Vec::new();
        }
        let mut places = Vec::new();
        for (id, proposed) in self.in_order() {
            let previous = purpose(proposed.action()).and_then(|(_, previous)| previous);
            if ids.contains(&id) || previous.is_some_and(|previous| ids.contains(&previous)) {
                ids.insert(id);
                places.push(id);
            }
        }
        places.iter().filter_map(|id| self.waiting.remove(id)).collect()
    }
}
