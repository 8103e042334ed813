//! Cases in which it is not known what fits, and numbers that no valid transaction has.

use super::*;

#[test]
fn stake_that_lacks_something_decides_on_nothing() {
    let mut bed = Bed::new(10);
    assert_eq!(bed.propose(1, GovernanceAction::Info), Some(true));
    assert!(bed.next_by(false), "no stake is asked for");
    assert_eq!(bed.propose(2, withdrawal(OWNERS[1], 1)), Some(true));
    bed.agree(2);
    assert!(!bed.next_by(false));
    assert!(bed.next() && bed.next() && !bed.waits(2));
}

#[test]
fn a_deposit_goes_back_out_of_the_pot_where_somebody_paid_it() {
    const OF_GENESIS: conway::DRep = conway::DRep { script: false, hash: [52; 28], expiry: 100, deposit: 700 };
    let mut bed = Bed::with(10, &[OF_GENESIS]);
    for (drep, refund) in [(key(52), OF_GENESIS.deposit), (DREPS[0], conway::PARAMETERS.drep_deposit)] {
        let before = bed.accounts.pots.deposits;
        assert_eq!(bed.act(&[Certificate::DRepDeregistration { drep, refund }], &[], &[]), Some(true));
        let paid = if drep == DREPS[0] { refund } else { 0 };
        assert_eq!(bed.accounts.pots.deposits, before - paid);
    }
}

#[test]
fn without_the_governance_of_a_genesis_it_is_not_known_what_fits() {
    let withdraws = Moves { withdrawals: vec![(OWNERS[0], 0)], ..Moves::default() };
    let ends = |drep| Moves { certificates: vec![Certificate::DRepDeregistration { drep, refund: 500 }], ..Moves::default() };
    let votes_by = |drep| Moves {
        certificates: vec![Certificate::VoteDelegation { credential: OWNERS[0], to: DRep::Registered(drep) }],
        ..Moves::default()
    };
    let renews = |drep| Moves { certificates: vec![Certificate::DRepUpdate { drep }], ..Moves::default() };
    let bed = Bed::new(10);
    // It is there, there without the delegations of its DReps, and not there.
    let (parameters, begin) = (bed.parameters.conway, governance(&COLD));
    for (parameters, begin, withdrawal, other) in
        [(parameters, Some(&begin), Some(false), Some(false)), (parameters, None, None, Some(false)), (None, None, None, None)]
    {
        let mut accounts = bed.accounts.clone();
        accounts.governing = Governing::new(parameters, &[], begin);
        assert_eq!(accounts.clone().apply(&withdraws), withdrawal);
        for moves in [ends(DREPS[0]), votes_by(DREPS[0]), renews(DREPS[0])] {
            assert_eq!(accounts.clone().apply(&moves), other, "{moves:?}");
        }
    }
}

#[test]
fn numbers_that_no_transaction_has_end_at_the_largest() {
    const MOST: u64 = u64::MAX;
    let mut bed = Bed::new(10);
    let fork = |number: u8, previous, version| (id(number), proposal(MOST, GovernanceAction::HardFork { previous, version }));
    let certificates = vec![Certificate::DRepRegistration { drep: key(51), deposit: MOST }];
    let proposals = vec![fork(1, None, (MOST, 0)), fork(2, Some(id(1)), (0, 0)), fork(3, Some(id(1)), (MOST, 1))];
    let moves = Moves { fee: MOST, donation: MOST, certificates, proposals, ..Moves::default() };
    assert_eq!(bed.accounts.apply(&moves), Some(false));
    assert_eq!(bed.accounts.apply(&Moves { certificates: Vec::new(), ..moves }), Some(false));
    let Pots { fees, donations, deposits, .. } = *bed.accounts.pots();
    assert_eq!((fees, donations, deposits), (MOST, MOST, MOST));
}

fn proposal(deposit: u64, action: GovernanceAction) -> Proposal {
    Proposal { deposit, account: OWNERS[0], action, networks: vec![0] }
}
