//! Proposals of Conway's governance that wait: from which epoch on what they may change isn't known, unless it is decided before.
//!
//! Accounts decide on them where they are followed (see [`crate::accounts`]). Elsewhere, an action may be enacted at the end of the epoch after the one
//! that it is proposed in.

use std::sync::Arc;

use slotmark_chain::block::GovernanceAction;
use slotmark_network::Parameters;

/// The epochs up to which the proposals so far leave parameters and accounts known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Governance {
    /// The first epoch that may have other parameters.
    parameters_change: Option<u64>,
    /// The first epoch at whose beginning a deposit may go back, or the treasury may pay.
    lovelace_moves: Option<u64>,
}

impl Governance {
    /// Takes in a proposal that is made in an epoch; `lifetime` is for how many more it may be voted on.
    pub(crate) fn propose(&mut self, action: &GovernanceAction, epoch: u64, lifetime: u64) {
        // The votes at the beginning of the next epoch decide, and what they decide takes effect at its end.
        self.wait(action, epoch.saturating_add(2), epoch.saturating_add(lifetime));
    }

    /// Takes in a proposal that may be enacted at the beginning of an epoch at the earliest, and may be voted on until another one ends.
    pub(crate) fn wait(&mut self, action: &GovernanceAction, enacted: u64, expires_after: u64) {
        // What is proposed for information is never enacted. It expires in the first epoch that begins after its last one, and goes at its end.
        let ends = if *action == GovernanceAction::Info { expires_after.saturating_add(2).max(enacted) } else { enacted };
        earlier(&mut self.lovelace_moves, ends);
        if matches!(action, GovernanceAction::Parameters { .. } | GovernanceAction::HardFork { .. }) {
            earlier(&mut self.parameters_change, enacted);
        }
    }

    /// Returns whether an epoch has the parameters that were there before all proposals.
    pub(crate) fn leaves_parameters(&self, epoch: u64) -> bool {
        self.parameters_change.is_none_or(|first| epoch < first)
    }

    /// The first epoch at whose beginning a deposit may go back, or the treasury may pay; None where nothing is proposed.
    pub(crate) fn lovelace_moves(&self) -> Option<u64> {
        self.lovelace_moves
    }
}

/// Results for the end of an epoch that just began.
#[derive(Default)]
pub(crate) struct Ratified {
    /// Parameters from then on; None for the same.
    pub(crate) parameters: Option<Arc<Parameters>>,
    /// Proposals that wait still.
    pub(crate) waiting: Governance,
}

fn earlier(first: &mut Option<u64>, epoch: u64) {
    *first = Some(first.map_or(epoch, |first| first.min(epoch)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_proposal_may_change_is_known_until_it_may_take_effect() {
        use GovernanceAction::{Constitution, HardFork, Info, NoConfidence, Parameters, Withdrawals};
        for (action, parameters, lovelace) in [
            (Parameters { previous: None, update: vec![], guardrails: None }, Some(9), 9),
            (HardFork { previous: None, version: (11, 0) }, Some(9), 9),
            (Withdrawals { amounts: vec![], guardrails: None }, None, 9),
            (NoConfidence { previous: None }, None, 9),
            (Constitution { previous: None, guardrails: None }, None, 9),
            (Info, None, 39),
        ] {
            let mut governance = Governance::default();
            governance.propose(&action, 7, 30);
            governance.propose(&Info, 9, 30); // a later one changes nothing earlier
            assert_eq!(governance.lovelace_moves(), Some(lovelace), "{action:?}");
            assert!(governance.leaves_parameters(8) && governance.leaves_parameters(9) == parameters.is_none(), "{action:?}");
            assert_eq!(governance.leaves_parameters(u64::MAX), parameters.is_none());
        }
        let mut decided = Governance::default();
        decided.wait(&Info, 12, 9); // what is decided on already doesn't count
        assert_eq!(decided.lovelace_moves(), Some(12));
        assert!(Governance::default().leaves_parameters(u64::MAX) && Governance::default().lovelace_moves().is_none());
    }
}
