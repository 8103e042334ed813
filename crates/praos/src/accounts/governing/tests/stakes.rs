//! The stake that votes: DReps, pools, and accounts that aren't known.

use super::*;

#[test]
fn dreps_count_while_they_are_active() {
    let withdraws = |bed: &mut Bed, voter: u8| {
        bed.propose(voter, withdrawal(OWNERS[0], 1));
        bed.vote(Voter::Committee(HOT[0]), voter, Answer::Yes);
        bed.vote(Voter::Committee(HOT[1]), voter, Answer::Yes);
        bed.vote(Voter::DRep(DREPS[1]), voter, Answer::Yes);
        bed.epochs_of(voter) == 2
    };
    // The second DRep has 33 of 100; where the first one is expired, it has all.
    for (epochs, renews, expected) in [(0, false, false), (9, false, false), (10, false, true), (10, true, false)] {
        let mut bed = Bed::new(10);
        bed.propose(9, GovernanceAction::Info); // so that epochs count
        for _ in 0..epochs {
            bed.propose(9, GovernanceAction::Info);
            assert!(bed.next());
        }
        if renews {
            bed.act(&[Certificate::DRepUpdate { drep: DREPS[0] }], &[], &[]);
        }
        assert_eq!(withdraws(&mut bed, 1), expected, "{epochs} {renews}");
    }
    // Epochs without anything to vote on don't count, but where a DRep was expired before.
    let mut bed = Bed::new(10);
    (0..15).for_each(|_| assert!(bed.next()));
    assert_eq!(bed.accounts.governing.dormant, 15);
    assert!(!withdraws(&mut bed, 1));
    assert_eq!(bed.accounts.governing.dreps[&DREPS[0]].expiry, 25);
    // Who registers in such a time has the same number of epochs.
    let mut bed = Bed::new(10);
    (0..15).for_each(|_| assert!(bed.next()));
    bed.act(&[Certificate::DRepRegistration { drep: key(13), deposit: conway::PARAMETERS.drep_deposit }], &[], &[]);
    bed.propose(1, GovernanceAction::Info);
    assert_eq!((bed.accounts.governing.dreps[&key(13)].expiry, bed.accounts.governing.dormant), (25, 0));
}

#[test]
fn stake_is_that_of_outputs_rewards_and_deposits_and_of_no_one_who_abstains() {
    let delegate = |owner: Credential, to| Certificate::VoteDelegation { credential: owner, to };
    // The first DRep votes with 67,000 of 100,000 and more that somebody else has: `more` is his.
    for (certificates, answers, more, expected) in [
        (vec![], vec![Answer::Yes], 0, true),
        (vec![], vec![Answer::Yes, Answer::No], 0, true),
        (vec![], vec![Answer::Abstain, Answer::Yes], 0, true),
        (vec![], vec![Answer::No, Answer::Yes], 0, false),
        (vec![delegate(key(4), DRep::NoConfidence)], vec![Answer::Yes], 1, false),
        (vec![delegate(key(4), DRep::Abstain)], vec![Answer::Yes], 1_000_000, true),
        (vec![delegate(key(4), DRep::Registered(DREPS[0]))], vec![Answer::Yes], 1, true),
        (vec![delegate(key(4), DRep::Registered(DREPS[1]))], vec![Answer::Yes], 1, false),
        (vec![delegate(OWNERS[0], DRep::Registered(DREPS[1]))], vec![Answer::Yes], 0, false),
        // The deposit counts for the one who votes for its account.
        (vec![delegate(key(3), DRep::Registered(DREPS[1]))], vec![Answer::Yes], 0, false),
        (vec![delegate(key(3), DRep::Registered(DREPS[1]))], vec![Answer::Abstain, Answer::Yes], 0, true),
    ] {
        for in_rewards in [false, true] {
            let mut bed = Bed::new(10);
            let register = [3, 4].map(|number| Certificate::Registration { credential: key(number), pool: None, deposit: None });
            assert_eq!(bed.act(&[&register[..], &certificates].concat(), &[], &[]), Some(true));
            if in_rewards {
                bed.accounts.pay(&key(4), more);
            } else {
                bed.held.insert(key(4), more);
            }
            bed.propose(1, withdrawal(OWNERS[0], 1));
            for (drep, answer) in DREPS.into_iter().zip(&answers) {
                bed.vote(Voter::DRep(drep), 1, *answer);
            }
            for hot in [HOT[0], HOT[1]] {
                bed.vote(Voter::Committee(hot), 1, Answer::Yes);
            }
            assert_eq!(bed.epochs_of(1) == 2, expected, "{certificates:?} {answers:?} {more}");
        }
    }
}

#[test]
fn pools_that_do_not_vote_are_against_an_action_or_as_the_account_of_their_rewards() {
    let fork = || GovernanceAction::HardFork { previous: None, version: (11, 0) };
    let motion = || GovernanceAction::NoConfidence { previous: None };
    let change = || parameters(&OF_POOLS);
    for (major, action, to, pools, expected) in [
        (10, motion(), None, [50_999, 49_001], false),
        (10, motion(), Some(DRep::Abstain), [50_999, 49_001], true),
        (10, motion(), Some(DRep::NoConfidence), [1, 99_999], true),
        (10, change(), Some(DRep::NoConfidence), [50_999, 49_001], false),
        (10, change(), Some(DRep::Abstain), [1, 99_999], true),
        (10, fork(), Some(DRep::Abstain), [50_999, 49_001], false),
        (10, fork(), Some(DRep::Abstain), [51_000, 49_000], true),
        // Before version 10 DReps don't count, and pools that don't vote abstain.
        (9, parameters(&OF_POOLS), None, [1, 99_999], true),
        (9, GovernanceAction::HardFork { previous: None, version: (10, 0) }, None, [50_999, 49_001], false),
        (9, GovernanceAction::HardFork { previous: None, version: (10, 0) }, None, [51_000, 49_000], true),
    ] {
        let mut bed = Bed::new(major);
        bed.held.insert(OWNERS[0], 1_000_000);
        bed.pools = pools;
        if let Some(to) = to {
            assert_eq!(bed.act(&[Certificate::VoteDelegation { credential: OWNERS[1], to }], &[], &[]), Some(true));
            bed.held.insert(OWNERS[1], 0);
        }
        assert_eq!(bed.propose(1, action.clone()), Some(true));
        bed.agree(1);
        assert_eq!(bed.epochs_of(1) == 2, expected, "{major} {action:?} {to:?} {pools:?}");
        assert_eq!(bed.has_enacted(1), expected);
    }
}

#[test]
fn what_depends_on_an_account_that_is_not_stated_is_not_known() {
    for (pools, expected) in [([51_000, 49_000], true), ([50_999, 49_001], false)] {
        let mut bed = Bed::new(10);
        bed.held.insert(OWNERS[0], 1_000_000);
        bed.pools = pools;
        let pool = bed.accounts.pools.get_mut(&POOLS[1]).unwrap();
        Arc::make_mut(pool).is_stated = false;
        bed.propose(1, GovernanceAction::NoConfidence { previous: None });
        bed.agree(1);
        assert_eq!(bed.next(), expected, "{pools:?}");
    }
    // Nor is anything of a committee that isn't known.
    let mut bed = Bed::new(10);
    bed.accounts.governing = Governing::new(bed.parameters.conway, &[], None);
    assert!(bed.next());
    assert_eq!(bed.propose(1, withdrawal(OWNERS[0], 1)), None);
    assert_eq!(bed.act(&[Certificate::CommitteeResignation { cold: COLD[0] }], &[], &[]), None);
    assert!(!bed.next());
}
