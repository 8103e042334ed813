//! The constitutional committee, and what enacted actions change beside parameters and lovelace (ENACT).

use std::sync::Arc;

use imbl::OrdMap;
use slotmark_chain::block::{ActionId, Answer, Credential, GovernanceAction, Hash28};
use slotmark_network::Ratio;

use super::proposals::{Purpose, purpose};

/// Members, and the share of their votes that an action takes.
#[derive(Clone)]
pub(super) struct Committee {
    /// By cold credential, each with the last epoch of its term.
    members: OrdMap<Credential, u64>,
    threshold: Ratio,
}

/// The one who votes for a member.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Seat {
    Hot(Credential),
    Resigned,
}

impl Committee {
    pub(super) fn new(members: impl IntoIterator<Item = (Credential, u64)>, threshold: Ratio) -> Self {
        Self { members: members.into_iter().collect(), threshold }
    }

    pub(super) fn has(&self, cold: &Credential) -> bool {
        self.members.contains_key(cold)
    }

    /// The number of members whose term isn't over and for whom somebody votes.
    pub(super) fn active(&self, seats: &OrdMap<Credential, Seat>, epoch: u64) -> u64 {
        self.voters(seats, epoch).count() as u64
    }

    /// Returns whether votes are as many as an action takes (`committeeAccepted`): who abstains doesn't count, and who doesn't vote is against it.
    pub(super) fn accepts(&self, votes: &OrdMap<Credential, Answer>, seats: &OrdMap<Credential, Seat>, epoch: u64) -> bool {
        let (mut yes, mut all) = (0, 0);
        for hot in self.voters(seats, epoch) {
            let answer = votes.get(&hot).copied().unwrap_or(Answer::No);
            yes += u64::from(answer == Answer::Yes);
            all += u64::from(answer != Answer::Abstain);
        }
        self.threshold.is_reached(yes, all)
    }

    /// Those who vote, each as often as for members whose terms aren't over.
    fn voters(&self, seats: &OrdMap<Credential, Seat>, epoch: u64) -> impl Iterator<Item = Credential> {
        self.members.iter().filter(move |(_, last)| epoch <= **last).filter_map(|(cold, _)| match seats.get(cold)? {
            Seat::Hot(hot) => Some(*hot),
            Seat::Resigned => None,
        })
    }
}

/// The state that enacted actions change, beside parameters and lovelace.
#[derive(Clone, Default)]
pub(super) struct Enacted {
    /// The last action of each purpose.
    last: [Option<ActionId>; 4],
    /// None after a motion of no confidence.
    pub(super) committee: Option<Arc<Committee>>,
    /// Hash of the constitution's script; None without one.
    pub(super) guardrails: Option<Hash28>,
}

impl Enacted {
    pub(super) fn new(committee: Committee, guardrails: Option<Hash28>) -> Self {
        Self { last: [None; 4], committee: Some(Arc::new(committee)), guardrails }
    }

    /// The last action of a purpose; None before the first one.
    pub(super) fn last(&self, purpose: Purpose) -> Option<ActionId> {
        self.last[purpose as usize]
    }

    /// Enacts an action.
    pub(super) fn enact(&mut self, id: ActionId, action: &GovernanceAction) {
        if let Some((purpose, _)) = purpose(action) {
            self.last[purpose as usize] = Some(id);
        }
        match action {
            GovernanceAction::NoConfidence { .. } => self.committee = None,
            GovernanceAction::Constitution { guardrails, .. } => self.guardrails = *guardrails,
            GovernanceAction::Committee { leaving, joining, threshold: (numerator, denominator), .. } => {
                let mut members = self.committee.as_ref().map(|committee| committee.members.clone()).unwrap_or_default();
                for cold in leaving {
                    members.remove(cold);
                }
                members.extend(joining.iter().copied());
                let threshold = Ratio::new(*numerator, *denominator).unwrap_or(Ratio::ONE);
                self.committee = Some(Arc::new(Committee { members, threshold }));
            }
            _ => {}
        }
    }
}
