//! Proposals, votes and certificates that fit, and those that don't.

use super::*;

#[test]
fn proposals_fit_or_do_not() {
    let later = |action| (2, action);
    for (major, (after, action), expected) in [
        (10, (0, GovernanceAction::Info), Some(true)),
        (9, (0, GovernanceAction::Info), Some(true)),
        (9, (0, constitution(None)), Some(false)),
        (10, (0, constitution(Some(id(2)))), Some(false)),
        (10, later(constitution(Some(id(2)))), Some(true)),
        (10, later(committee(Some(id(2)), &[], &[])), Some(false)),
        (10, (0, withdrawal(OWNERS[0], 0)), Some(false)),
        (10, (0, withdrawal(key(5), 1)), Some(false)),
        (10, (0, GovernanceAction::Withdrawals { amounts: vec![(OWNERS[0], 1)], guardrails: None }), Some(false)),
        (10, (0, GovernanceAction::Parameters { previous: None, update: OF_POOLS.to_vec(), guardrails: None }), Some(false)),
        (9, (0, parameters(&OF_POOLS)), Some(true)),
        (10, (0, parameters(&[0xa0])), Some(false)),
        (10, (0, parameters(&[0xa1, 0x02, 0x00])), Some(false)),
        (10, (0, parameters(&[0xa1, 0x0c, 0x00])), None), // of no parameter of Conway
        (10, (0, committee(None, &[COLD[0]], &[(COLD[0], 9)])), Some(false)),
        (10, (0, committee(None, &[], &[(COLD[0], 0)])), Some(false)),
        (10, (0, committee(None, &[], &[(COLD[0], 1)])), Some(true)),
        (10, (0, GovernanceAction::HardFork { previous: None, version: (11, 0) }), Some(true)),
        (10, (0, GovernanceAction::HardFork { previous: None, version: (10, 1) }), Some(true)),
        (10, (0, GovernanceAction::HardFork { previous: None, version: (10, 0) }), Some(false)),
        (10, (0, GovernanceAction::HardFork { previous: None, version: (12, 0) }), Some(false)),
        (10, (0, GovernanceAction::HardFork { previous: None, version: (11, 1) }), Some(false)),
    ] {
        let mut bed = Bed::new(major);
        if after > 0 {
            assert_eq!(bed.propose(after, constitution(None)), Some(true));
        }
        assert_eq!(bed.propose(1, action.clone()), expected, "{action:?} {major}");
    }
    // The deposit, and the account that it goes back to.
    for (major, deposit, account, expected) in
        [(10, DEPOSIT, OWNERS[0], true), (10, DEPOSIT - 1, OWNERS[0], false), (10, DEPOSIT, key(5), false), (9, DEPOSIT, key(5), true)]
    {
        let proposal = Proposal { deposit, account, action: GovernanceAction::Info, networks: vec![0] };
        let moves = Moves { proposals: vec![(id(1), proposal)], ..Moves::default() };
        assert_eq!(Bed::new(major).accounts.apply(&moves), Some(expected), "{deposit} {account:?} {major}");
    }
}

#[test]
fn votes_fit_or_do_not() {
    let fork = || GovernanceAction::HardFork { previous: None, version: (10, 1) };
    let pool = Voter::Pool(POOLS[0]);
    let (drep, member) = (Voter::DRep(DREPS[0]), Voter::Committee(HOT[0]));
    for (major, action, voter, expected) in [
        (10, GovernanceAction::Info, drep, true),
        (10, GovernanceAction::Info, Voter::DRep(key(13)), false),
        (10, GovernanceAction::Info, pool, true),
        (10, GovernanceAction::Info, Voter::Pool([23; 28]), false),
        (10, GovernanceAction::Info, member, true),
        (10, GovernanceAction::Info, Voter::Committee(COLD[0]), false),
        (10, constitution(None), pool, false),
        (10, constitution(None), member, true),
        (10, withdrawal(OWNERS[0], 1), pool, false),
        (10, withdrawal(OWNERS[0], 1), drep, true),
        (10, parameters(&OF_POOLS), pool, true),
        (10, parameters(&NOT_OF_POOLS), pool, false),
        (10, committee(None, &[], &[]), member, false),
        (10, GovernanceAction::NoConfidence { previous: None }, member, false),
        (10, GovernanceAction::NoConfidence { previous: None }, pool, true),
        (10, fork(), member, true),
        (9, parameters(&OF_POOLS), drep, false),
        (9, parameters(&OF_POOLS), pool, true),
        (9, GovernanceAction::Info, drep, true),
    ] {
        let mut bed = Bed::new(major);
        assert_eq!(bed.propose(1, action.clone()), Some(true));
        assert_eq!(bed.vote(voter, 1, Answer::No), Some(expected), "{action:?} {voter:?} {major}");
        assert_eq!(bed.vote(voter, 2, Answer::No), Some(false), "there is no such action");
    }
    // From version 11 on only those vote who were elected.
    for (major, expected) in [(10, true), (11, false)] {
        let mut bed = Bed::new(major);
        bed.propose(1, committee(None, &[], &[(key(34), 50)]));
        assert_eq!(bed.act(&[Certificate::CommitteeHotKey { cold: key(34), hot: key(44) }], &[], &[]), Some(true));
        bed.propose(2, GovernanceAction::Info);
        assert_eq!(bed.vote(Voter::Committee(key(44)), 2, Answer::Yes), Some(expected), "{major}");
        assert_eq!(bed.vote(member, 2, Answer::Yes), Some(true));
        let seat = |cold| Certificate::CommitteeHotKey { cold, hot: key(45) };
        let resign = Certificate::CommitteeResignation { cold: COLD[0] };
        for (certificates, expected) in [
            (vec![seat(key(35))], false),
            (vec![seat(COLD[0])], true),
            (vec![resign.clone()], true),
            (vec![resign.clone(), seat(COLD[0])], false),
            (vec![resign.clone(), resign.clone()], false),
        ] {
            assert_eq!(
                bed.accounts.clone().apply(&Moves { certificates: certificates.clone(), ..Moves::default() }),
                Some(expected),
                "{certificates:?}"
            );
        }
    }
}

#[test]
fn a_drep_who_leaves_takes_its_votes_along() {
    let leave = Certificate::DRepDeregistration { drep: DREPS[0], refund: conway::PARAMETERS.drep_deposit };
    let register = Certificate::DRepRegistration { drep: DREPS[0], deposit: conway::PARAMETERS.drep_deposit };
    for (leaves, expected) in [(false, true), (true, false)] {
        let mut bed = Bed::new(10);
        bed.propose(1, withdrawal(OWNERS[0], 1));
        bed.agree(1);
        if leaves {
            let again = Certificate::VoteDelegation { credential: OWNERS[0], to: DRep::Registered(DREPS[0]) };
            assert_eq!(bed.act(&[leave.clone(), register.clone(), again], &[], &[]), Some(true));
        }
        assert_eq!(bed.epochs_of(1) == 2, expected);
    }
}

#[test]
fn delegations_to_dreps_that_are_not_there_end_when_governance_is_complete() {
    let mut bed = Bed::new(9);
    let stranger = key(13);
    assert_eq!(bed.act(&[Certificate::VoteDelegation { credential: OWNERS[1], to: DRep::Registered(stranger) }], &[], &[]), Some(true));
    bed.parameters.shelley.protocol_version.major = 10;
    for leaves in [false, true] {
        let mut bed = bed.clone_with(GovernanceAction::Info);
        if leaves {
            let left = Certificate::DRepDeregistration { drep: DREPS[1], refund: conway::PARAMETERS.drep_deposit };
            assert_eq!(bed.act(&[left], &[], &[]), Some(true));
        }
        assert_eq!(bed.next(), !leaves);
        let withdraws = OWNERS.map(|owner| bed.accounts.clone().apply(&Moves { withdrawals: vec![(owner, 0)], ..Moves::default() }));
        assert_eq!(withdraws, if leaves { [None; 2] } else { [Some(true), Some(false)] });
    }
}
