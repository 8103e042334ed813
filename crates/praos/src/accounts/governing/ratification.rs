//! Ratification: which of the actions that wait at the beginning of an epoch are enacted at its end (RATIFY, ENACT and `DRepPulser` of cardano-ledger).
//!
//! A node works this out over the blocks of the epoch, from what there was at its beginning. Here it is done at once.

use std::collections::HashMap;

use imbl::OrdMap;
use slotmark_chain::block::{ActionId, Answer, Credential, GovernanceAction, Hash28};
use slotmark_network::{Parameters, Ratio, conway, shelley};

use super::committee::{Enacted, Seat};
use super::proposals::{Proposed, purpose};
use super::{FIRST_COMPLETE, VotedBy};

/// The vote of a pool that didn't vote (`defaultStakePoolVote`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Default {
    No,
    Abstain,
    /// As `No`, but for motions of no confidence.
    NoConfidence,
    /// One of these: the account that its rewards go to isn't known.
    Unknown,
}

impl Default {
    /// The vote of a pool whose rewards go to an account with these voters.
    pub(super) fn of(by: Option<&VotedBy>) -> Self {
        match by {
            Some(VotedBy::Abstain) => Self::Abstain,
            Some(VotedBy::NoConfidence) => Self::NoConfidence,
            _ => Self::No,
        }
    }
}

/// A pool's stake, and its vote where it doesn't vote.
pub(super) type PoolStake = (Hash28, u64, Default);

/// The stake that votes.
#[derive(std::default::Default)]
pub(super) struct Voters {
    /// Stake by DRep, without those that are expired.
    pub(super) dreps: HashMap<Credential, u64>,
    /// All of that.
    pub(super) all_dreps: u64,
    /// Stake that is given to no confidence.
    pub(super) no_confidence: u64,
    pub(super) pools: Vec<PoolStake>,
}

/// The state while actions are looked at, one after the other.
pub(super) struct Ratification<'r> {
    pub(super) epoch: u64,
    pub(super) voters: Voters,
    pub(super) seats: &'r OrdMap<Credential, Seat>,
    /// The state with the actions so far.
    pub(super) enacted: Enacted,
    pub(super) parameters: Parameters,
    pub(super) treasury: u64,
}

/// Results for the end of an epoch.
pub(super) struct Decided {
    /// Actions to be enacted, in their order.
    pub(super) enacted: Vec<ActionId>,
    pub(super) expired: Vec<ActionId>,
    /// Lovelace out of the treasury, by account.
    pub(super) withdrawals: Vec<(Credential, u64)>,
    /// The state behind them.
    pub(super) state: Enacted,
}

impl Ratification<'_> {
    /// Decides on all proposals, which come in the order in which they were made. Gives the parameters behind them too; None where it isn't
    /// known.
    pub(super) fn decide(mut self, mut proposals: Vec<(ActionId, &Proposed)>) -> Option<(Decided, Parameters)> {
        proposals.sort_by_key(|(_, proposed)| priority(proposed.action()));
        let (mut enacted, mut expired, mut withdrawals) = (Vec::new(), Vec::new(), Vec::new());
        let mut is_delayed = false;
        for (id, proposed) in proposals {
            let action = proposed.action();
            if !is_delayed && self.is_ratified(proposed)? {
                enacted.push(id);
                is_delayed = delays(action);
                self.enacted.enact(id, action);
                match action {
                    GovernanceAction::Parameters { .. } => self.parameters.enact(proposed.update.as_ref()?),
                    GovernanceAction::HardFork { version: (major, minor), .. } => {
                        self.parameters.shelley.protocol_version = shelley::ProtocolVersion { major: *major, minor: *minor };
                    }
                    GovernanceAction::Withdrawals { amounts, .. } => {
                        self.treasury -= total(amounts);
                        withdrawals.extend(amounts.iter().copied());
                    }
                    _ => {}
                }
            } else if proposed.expires_after < self.epoch {
                expired.push(id);
            }
        }
        Some((Decided { enacted, expired, withdrawals, state: self.enacted }, self.parameters))
    }

    /// Returns whether an action is ratified where none delays it; None where that isn't known.
    fn is_ratified(&self, proposed: &Proposed) -> Option<bool> {
        let action = proposed.action();
        let parameters = self.parameters.conway?;
        let is_next = purpose(action).is_none_or(|(purpose, previous)| self.enacted.last(purpose) == previous);
        let may_be_enacted = match action {
            GovernanceAction::Info => false,
            GovernanceAction::Committee { joining, .. } => {
                let last = self.epoch.saturating_add(parameters.committee_max_term_length);
                joining.iter().all(|(_, term)| *term <= last)
            }
            GovernanceAction::Withdrawals { amounts, .. } => total(amounts) <= self.treasury,
            _ => true,
        };
        if !is_next || !may_be_enacted || !self.committee_accepts(proposed, &parameters) || !self.dreps_accept(proposed, &parameters)? {
            return Some(false);
        }
        self.pools_accept(proposed, &parameters)
    }

    fn is_complete(&self) -> bool {
        self.parameters.shelley.protocol_version.major >= FIRST_COMPLETE
    }

    /// Returns whether the committee agrees (`votingCommitteeThreshold`): one that is too small doesn't, but for what concerns itself.
    fn committee_accepts(&self, proposed: &Proposed, parameters: &conway::Parameters) -> bool {
        if matches!(proposed.action(), GovernanceAction::NoConfidence { .. } | GovernanceAction::Committee { .. }) {
            return true;
        }
        let Some(committee) = &self.enacted.committee else { return false };
        let is_large_enough = !self.is_complete() || committee.active(self.seats, self.epoch) >= parameters.committee_min_size;
        is_large_enough && committee.accepts(&proposed.committee, self.seats, self.epoch)
    }

    /// Returns whether DReps agree (`dRepAcceptedRatio`): of the stake of those who aren't expired and don't abstain. None where a change of
    /// parameters can't be read.
    fn dreps_accept(&self, proposed: &Proposed, parameters: &conway::Parameters) -> Option<bool> {
        let thresholds = &parameters.drep_thresholds;
        let threshold = match proposed.action() {
            _ if !self.is_complete() => Ratio::ZERO,
            GovernanceAction::NoConfidence { .. } => thresholds.motion_no_confidence,
            GovernanceAction::Committee { .. } if self.enacted.committee.is_some() => thresholds.committee_normal,
            GovernanceAction::Committee { .. } => thresholds.committee_no_confidence,
            GovernanceAction::Constitution { .. } => thresholds.update_to_constitution,
            GovernanceAction::HardFork { .. } => thresholds.hard_fork_initiation,
            GovernanceAction::Parameters { .. } => proposed.update.as_ref()?.drep_threshold(thresholds),
            GovernanceAction::Withdrawals { .. } => thresholds.treasury_withdrawal,
            GovernanceAction::Info => return Some(false),
        };
        let Voters { dreps, all_dreps, no_confidence, .. } = &self.voters;
        let is_motion = matches!(proposed.action(), GovernanceAction::NoConfidence { .. });
        let mut yes = if is_motion { *no_confidence } else { 0 };
        let mut all = all_dreps.saturating_add(*no_confidence);
        for (drep, answer) in &proposed.dreps {
            let stake = dreps.get(drep).copied().unwrap_or_default();
            match answer {
                Answer::Yes => yes = yes.saturating_add(stake),
                Answer::Abstain => all = all.saturating_sub(stake),
                Answer::No => {}
            }
        }
        Some(threshold.is_reached(yes, all))
    }

    /// Returns whether pools agree (`spoAcceptedRatio`); None where that depends on votes that aren't known.
    fn pools_accept(&self, proposed: &Proposed, parameters: &conway::Parameters) -> Option<bool> {
        let (action, thresholds) = (proposed.action(), &parameters.pool_thresholds);
        let threshold = match action {
            GovernanceAction::NoConfidence { .. } => thresholds.motion_no_confidence,
            GovernanceAction::Committee { .. } if self.enacted.committee.is_some() => thresholds.committee_normal,
            GovernanceAction::Committee { .. } => thresholds.committee_no_confidence,
            GovernanceAction::HardFork { .. } => thresholds.hard_fork_initiation,
            GovernanceAction::Parameters { .. } if proposed.update.as_ref()?.is_of_pools() => thresholds.pp_security_group,
            _ => return Some(true),
        };
        let is_motion = matches!(action, GovernanceAction::NoConfidence { .. });
        let reaches = |unknown: Answer| {
            let (mut yes, mut all) = (0u64, 0u64);
            for (pool, stake, default) in &self.voters.pools {
                let answer = match (proposed.pools.get(pool), default) {
                    (Some(answer), _) => *answer,
                    (None, _) if matches!(action, GovernanceAction::HardFork { .. }) => Answer::No,
                    (None, _) if !self.is_complete() => Answer::Abstain,
                    (None, Default::Abstain) => Answer::Abstain,
                    (None, Default::NoConfidence) if is_motion => Answer::Yes,
                    (None, Default::Unknown) => unknown,
                    (None, Default::NoConfidence | Default::No) => Answer::No,
                };
                yes = yes.saturating_add(if answer == Answer::Yes { *stake } else { 0 });
                all = all.saturating_add(if answer == Answer::Abstain { 0 } else { *stake });
            }
            threshold.is_reached(yes, all)
        };
        // What isn't known lies between these.
        let (least, most) = (reaches(Answer::No), reaches(if is_motion { Answer::Yes } else { Answer::Abstain }));
        (least == most).then_some(least)
    }
}

fn total(amounts: &[(Credential, u64)]) -> u64 {
    amounts.iter().fold(0, |sum: u64, (_, lovelace)| sum.saturating_add(*lovelace))
}

/// The order in which actions are looked at (`actionPriority`).
fn priority(action: &GovernanceAction) -> u8 {
    match action {
        GovernanceAction::NoConfidence { .. } => 0,
        GovernanceAction::Committee { .. } => 1,
        GovernanceAction::Constitution { .. } => 2,
        GovernanceAction::HardFork { .. } => 3,
        GovernanceAction::Parameters { .. } => 4,
        GovernanceAction::Withdrawals { .. } => 5,
        GovernanceAction::Info => 6,
    }
}

/// Returns whether no other action is enacted behind it at the same time (`delayingAction`).
fn delays(action: &GovernanceAction) -> bool {
    matches!(
        action,
        GovernanceAction::NoConfidence { .. }
            | GovernanceAction::Committee { .. }
            | GovernanceAction::Constitution { .. }
            | GovernanceAction::HardFork { .. }
    )
}
