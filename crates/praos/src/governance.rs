//! Proposals of Conway's governance. Whether one is ratified isn't followed: from the first epoch on in which it may count, what it may
//! have changed isn't known.

use slotmark_chain::block::GovernanceAction;

/// The epochs up to which the proposals so far leave parameters and accounts known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Governance {
    /// The first epoch that may have other parameters.
    parameters_change: Option<u64>,
    /// The first epoch at whose beginning a deposit may go back, or the treasury may pay.
    lovelace_moves: Option<u64>,
}

impl Governance {
    /// Takes in a proposal that is made in an epoch; `lifetime` is how many epochs one may wait for its ratification.
    pub(crate) fn propose(&mut self, action: GovernanceAction, epoch: u64, lifetime: u64) {
        let next = epoch.saturating_add(1);
        // What is proposed for information is never enacted: it ends with its lifetime.
        let ends = if action == GovernanceAction::Info { next.saturating_add(lifetime) } else { next };
        earlier(&mut self.lovelace_moves, ends);
        if matches!(action, GovernanceAction::Parameters | GovernanceAction::HardFork) {
            earlier(&mut self.parameters_change, next);
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

fn earlier(first: &mut Option<u64>, epoch: u64) {
    *first = Some(first.map_or(epoch, |first| first.min(epoch)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_proposal_may_change_is_known_until_it_may_count() {
        use GovernanceAction::{Committee, Constitution, HardFork, Info, NoConfidence, Parameters, Withdrawals};
        for (action, parameters, lovelace) in [
            (Parameters, Some(8), 8),
            (HardFork, Some(8), 8),
            (Withdrawals, None, 8),
            (NoConfidence, None, 8),
            (Committee, None, 8),
            (Constitution, None, 8),
            (Info, None, 38),
        ] {
            let mut governance = Governance::default();
            governance.propose(action, 7, 30);
            governance.propose(Info, 9, 30); // a later one changes nothing earlier
            assert_eq!(governance.lovelace_moves(), Some(lovelace), "{action:?}");
            assert!(governance.leaves_parameters(7) && governance.leaves_parameters(8) == parameters.is_none(), "{action:?}");
            assert_eq!(governance.leaves_parameters(u64::MAX), parameters.is_none());
        }
        assert!(Governance::default().leaves_parameters(u64::MAX) && Governance::default().lovelace_moves().is_none());
    }
}
