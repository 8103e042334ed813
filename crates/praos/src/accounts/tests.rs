//! Accounts by hand: a transaction that doesn't fit, and the rewards of an epoch.

use slotmark_chain::block::DRep;
use slotmark_network::{Ratio, conway};

use super::rewards::Issue;
use super::*;
use crate::lottery::ActiveSlots;

const OWNER: Credential = Credential { script: false, hash: [1; 28] };
const MEMBER: Credential = Credential { script: false, hash: [2; 28] };
const POOL: Hash28 = [9; 28];

fn terms(cost: u64) -> PoolTerms {
    PoolTerms { pledge: 100, cost, margin: (1, 10), account: OWNER, owners: vec![OWNER.hash] }
}

fn registration(pool: Hash28, cost: u64) -> Certificate {
    Certificate::PoolRegistration { pool, vrf_key_hash: [0; 32], network: 0, terms: terms(cost) }
}

fn registration_with(pool: Hash28, vrf: u8) -> Certificate {
    Certificate::PoolRegistration { pool, vrf_key_hash: [vrf; 32], network: 0, terms: terms(200) }
}

/// A genesis without pools and accounts.
pub(crate) fn genesis_with(parameters: shelley::Parameters) -> Genesis {
    Genesis {
        hash: [0; 32],
        shelley: shelley::Shelley { parameters, ..shelley::Shelley::stated(Default::default(), Default::default()) },
        active_slots: ActiveSlots::new(Ratio::new(1, 20).unwrap()),
        delegations: Vec::new(),
        funds: Vec::new(),
        pools: Vec::new(),
        pool_terms: Vec::new(),
        delegators: Vec::new(),
        byron_hash: None,
        has_all_funds: true,
        ledger: None,
        base: None,
    }
}

/// A governance with these members of the committee, two thirds of which decide.
pub(super) fn governance(members: &[Credential]) -> conway::Governance {
    conway::Governance {
        members: members.iter().map(|cold| (*cold, 100)).collect(),
        committee_threshold: Ratio::new(2, 3).unwrap(),
        constitution_url: String::new(),
        constitution_hash: [0; 32],
        guardrails: Some([9; 28]),
        dreps: Vec::new(),
    }
}

/// Accounts of an owner, who has rewards, and of a member, and a pool.
fn accounts() -> Accounts {
    let parameters = shelley::Parameters { min_pool_cost: 200, ..shelley::PARAMETERS };
    let mut accounts = Accounts::new(&genesis_with(parameters), 500);
    accounts.governing = Governing::new(Some(conway::PARAMETERS), &[], Some(&governance(&[])));
    let certificates = [
        Certificate::Registration { credential: OWNER, pool: None, deposit: None },
        Certificate::Registration { credential: MEMBER, pool: None, deposit: None },
        registration(POOL, 200),
    ];
    assert_eq!(accounts.apply(&moves(&[], &certificates)), Some(true));
    assert_eq!(accounts.pots().deposits, 2 * parameters.key_deposit + parameters.pool_deposit);
    accounts.pay(&OWNER, 7);
    accounts
}

fn moves(withdrawals: &[(Credential, u64)], certificates: &[Certificate]) -> Moves {
    Moves { fee: 5, withdrawals: withdrawals.to_vec(), certificates: certificates.to_vec(), ..Moves::default() }
}

#[test]
fn a_refund_is_the_deposit_that_was_paid_and_a_deposit_the_one_that_holds_now() {
    let deposit = shelley::PARAMETERS.key_deposit;
    let leave = |refund| Certificate::Deregistration { credential: MEMBER, refund: Some(refund) };
    let come = |deposit| Certificate::Registration { credential: MEMBER, pool: None, deposit: Some(deposit) };
    for (certificates, expected) in [
        (vec![leave(deposit), come(deposit + 5), leave(deposit + 5)], true),
        (vec![leave(deposit + 5)], false),
        (vec![leave(deposit), come(deposit)], false),
    ] {
        let mut accounts = accounts();
        accounts.running.key_deposit += 5;
        assert_eq!(accounts.apply(&moves(&[], &certificates)), Some(expected), "{certificates:?}");
    }
    let unstated = [MEMBER, MEMBER, Credential { script: true, ..OWNER }];
    let certificates = unstated.map(|credential| Certificate::Deregistration { credential, refund: None });
    let mut accounts = accounts();
    assert_eq!(accounts.older_deposits(&certificates), 0);
    accounts.running.key_deposit += 5;
    assert_eq!(accounts.older_deposits(&certificates), -5);
    accounts.running.key_deposit -= 8;
    assert_eq!(accounts.older_deposits(&certificates), 3);
    assert_eq!(accounts.older_deposits(&[come(1), leave(2)]), 0);
}

#[test]
fn what_fits_is_taken_and_what_does_not_is_refused() {
    let stranger = Credential { script: true, ..OWNER };
    let last = shelley::PARAMETERS.e_max;
    let retirement = |pool, epoch| Certificate::PoolRetirement { pool, epoch };
    let leave = |credential| Certificate::Deregistration { credential, refund: None };
    let deposit = shelley::PARAMETERS.key_deposit;
    let come_for = |stated| Certificate::Registration { credential: stranger, pool: None, deposit: Some(stated) };
    let leave_for = |stated| Certificate::Deregistration { credential: MEMBER, refund: Some(stated) };
    let delegation = |credential, pool| Certificate::Delegation { credential, pool };
    for (withdrawals, certificates, expected) in [
        (vec![(OWNER, 7), (MEMBER, 0)], vec![leave(OWNER)], Some(true)),
        (vec![(OWNER, 6)], vec![], Some(false)),
        (vec![(OWNER, 8)], vec![], Some(false)),
        (vec![(OWNER, 0)], vec![], Some(false)),
        (vec![(stranger, 0)], vec![], Some(false)),
        (vec![], vec![leave(OWNER)], Some(false)),
        (vec![], vec![leave(stranger)], Some(false)),
        (vec![], vec![leave(MEMBER), leave(MEMBER)], Some(false)),
        (vec![], vec![leave(MEMBER), Certificate::Registration { credential: MEMBER, pool: Some(POOL), deposit: None }], Some(true)),
        (vec![], vec![Certificate::Registration { credential: MEMBER, pool: None, deposit: None }], Some(false)),
        (vec![], vec![Certificate::Registration { credential: stranger, pool: Some([8; 28]), deposit: None }], Some(false)),
        (vec![], vec![come_for(deposit), leave_for(deposit)], Some(true)),
        (vec![], vec![come_for(deposit + 1)], Some(false)),
        (vec![], vec![come_for(deposit - 1)], Some(false)),
        (vec![], vec![leave_for(deposit + 1)], Some(false)),
        (vec![], vec![leave_for(deposit - 1)], Some(false)),
        (vec![], vec![delegation(MEMBER, POOL)], Some(true)),
        (vec![], vec![delegation(stranger, POOL)], Some(false)),
        (vec![], vec![delegation(MEMBER, [8; 28])], Some(false)),
        (vec![], vec![registration(POOL, 200), registration([8; 28], 200), delegation(MEMBER, [8; 28])], Some(true)),
        (vec![], vec![registration([8; 28], 199)], Some(false)),
        (vec![], vec![retirement(POOL, 1), retirement(POOL, last)], Some(true)),
        (vec![], vec![retirement(POOL, 0)], Some(false)),
        (vec![], vec![retirement(POOL, last + 1)], Some(false)),
        (vec![], vec![retirement([8; 28], 1)], Some(false)),
        (vec![], vec![Certificate::InstantaneousRewards], None),
        (vec![(OWNER, 6)], vec![Certificate::InstantaneousRewards], Some(false)),
    ] {
        let mut accounts = accounts();
        assert_eq!(accounts.apply(&moves(&[], &[vote_for(OWNER, DRep::Abstain), vote_for(MEMBER, DRep::NoConfidence)])), Some(true));
        let found = accounts.apply(&moves(&withdrawals, &certificates));
        assert_eq!(found, expected, "{withdrawals:?} {certificates:?}");
    }
}

#[test]
fn the_treasury_gets_donations_at_the_end_of_the_epoch() {
    let mut accounts = accounts();
    accounts.pots.treasury = 30;
    let stating = |treasury, donation| Moves { treasury, donation, ..Moves::default() };
    assert!(!stating(Some(30), 0).only_pays() && !stating(None, 1).only_pays() && stating(None, 0).only_pays());
    assert_eq!(accounts.apply(&stating(Some(30), 4)), Some(true));
    assert_eq!(accounts.apply(&stating(None, 3)), Some(true));
    assert_eq!((accounts.pots().treasury, accounts.pots().donations), (30, 7));
    for wrong in [29, 31, 37] {
        assert_eq!(accounts.clone().apply(&stating(Some(wrong), 1)), Some(false), "{wrong}");
    }
    accounts.begin_epoch(1, &[], &shelley::PARAMETERS);
    assert_eq!((accounts.pots().treasury, accounts.pots().donations), (37, 0));
    assert_eq!(accounts.apply(&stating(Some(37), 0)), Some(true));
    assert_eq!(accounts.apply(&stating(Some(30), 0)), Some(false));
}

#[test]
fn a_retired_pools_deposit_goes_to_its_account_or_else_to_the_treasury() {
    let deposit = shelley::PARAMETERS.pool_deposit;
    let mut there = accounts();
    there.begin_epoch(1, &[POOL], &shelley::PARAMETERS);
    assert_eq!((there.rewards(&OWNER), there.pots().treasury), (Some(7 + deposit), 0));
    let mut gone = accounts();
    gone.apply(&moves(&[(OWNER, 7)], &[Certificate::Deregistration { credential: OWNER, refund: None }]));
    gone.begin_epoch(1, &[POOL], &shelley::PARAMETERS);
    assert_eq!((gone.rewards(&OWNER), gone.pots().treasury), (None, deposit));
    assert_eq!(gone.pots().deposits, shelley::PARAMETERS.key_deposit);
}

#[test]
fn rewards_are_those_worked_out_by_hand() {
    let ratio = |numerator, denominator| Ratio::new(numerator, denominator).unwrap();
    let parameters = shelley::Parameters { a0: Ratio::ZERO, n_opt: 1, rho: ratio(1, 100), tau: ratio(1, 10), ..shelley::PARAMETERS };
    let constants = constants();
    let work_out = |blocks: u64, pledge: u64, eligible: Option<Registered>| {
        let stake = vec![(OWNER, 100, POOL), (MEMBER, 300, POOL)];
        let snapshot = Arc::new(Snapshot { stake, pools: HashMap::from([(POOL, PoolTerms { pledge, ..terms(200) })]) });
        let blocks = OrdMap::unit(POOL, blocks);
        let issue =
            Issue { parameters: &parameters, constants: &constants, blocks: &blocks, snapshot: &snapshot, reserves: 1_000_000, fees: 0 };
        let mut pulser = issue.begin(eligible);
        pulser.complete();
        let moves = pulser.pot_moves();
        let rewards: HashMap<Credential, u64> = pulser.rewards().collect();
        (moves.treasury, moves.reserves, rewards.get(&OWNER).copied(), rewards.get(&MEMBER).copied())
    };
    // Issued 10,000, of which the treasury has a tenth. The pool has 400 of 500 in circulation, and so may earn four fifths of 9,000: 7,200. Its leader has
    // the cost of 200, and of the rest a tenth and a quarter of nine tenths: 2,275.
    assert_eq!(work_out(10, 100, None), (1_000, 8_200, Some(2_475), Some(4_725)));
    assert_eq!(work_out(20, 100, None), (1_000, 8_200, Some(2_475), Some(4_725)));
    // Half of the blocks expected: half of all.
    assert_eq!(work_out(5, 100, None), (500, 4_100, Some(200 + 1_105), Some(2_295)));
    assert_eq!(work_out(10, 101, None), (1_000, 1_000, None, None));
    let mut only_member = Registered::of(None, 0);
    only_member.add(MEMBER, Account::default());
    assert_eq!(work_out(10, 100, Some(only_member)), (1_000, 5_725, None, Some(4_725)));
}

/// The facts of a network in which 1,000,500 lovelace can exist, with k of 3.
fn constants() -> Constants {
    Constants { max_lovelace: 1_000_500, epoch_slots: 200, active_slots: Ratio::new(1, 20).unwrap(), security_parameter: 3 }
}

fn member(number: u8) -> Credential {
    Credential { script: number.is_multiple_of(2), hash: [number; 28] }
}

/// Accounts in an epoch whose rewards are of two pools, whose leader is one of the 30 members; k is 3.
fn accounts_with_rewards() -> Accounts {
    let pools = [POOL, [8; 28]];
    let leader = PoolTerms { pledge: 0, account: member(51), owners: vec![member(51).hash], ..terms(200) };
    let stake = (40..70).map(|number| (member(number), u64::from(number), pools[usize::from(number) % 2])).collect();
    let snapshot = Arc::new(Snapshot { stake, pools: pools.iter().map(|pool| (*pool, leader.clone())).collect() });
    let rho = Ratio::new(1, 100).unwrap();
    let parameters = shelley::Parameters { a0: Ratio::ZERO, n_opt: 1, rho, tau: Ratio::new(1, 10).unwrap(), ..shelley::PARAMETERS };
    let mut accounts = Accounts::new(&genesis_with(parameters), 500);
    (40..70).for_each(|number| accounts.add_account(member(number)));
    accounts.constants = constants();
    accounts.pots = Pots { reserves: 990_000, fees: 70, ..accounts.pots };
    accounts.fees_to_share = 70;
    accounts.snapshots = [Arc::default(), Arc::default(), snapshot];
    accounts.blocks_before = pools.iter().map(|pool| (*pool, 5u64)).collect();
    accounts
}

/// All that rewards change.
fn paid(mut accounts: Accounts) -> (Pots, Vec<(Credential, u64)>) {
    accounts.pay_rewards();
    assert!(accounts.pulser.is_none());
    (*accounts.pots(), accounts.with_rewards().map(|(owner, lovelace)| (*owner, lovelace)).collect())
}

#[test]
fn rewards_are_the_same_in_however_many_pulses_they_are_worked_out() {
    let fresh = accounts_with_rewards();
    let expected = paid(fresh.clone());
    assert_eq!(expected.1.len(), 30);
    let all: u64 = expected.1.iter().map(|(_, lovelace)| lovelace).sum();
    assert_eq!(expected.0.reserves + expected.0.treasury + expected.0.fees + all, 990_070);
    // The first block begins, and of the 30 owners each pulse has 3: those of 4k pulses would be 36.
    let mut accounts = fresh.clone();
    let mut copies = vec![fresh];
    for block in 0..13 {
        assert_eq!(accounts.pulse_rewards(false), block < 11, "{block}");
        copies.push(accounts.clone());
    }
    // A copy is what it was, and goes on from there: in the next block, in one that is late, or at the end of the epoch.
    for (blocks, copy) in copies.into_iter().enumerate() {
        let left = copy.pulser.clone().map_or(30, |mut pulser| pulser.complete());
        assert_eq!(left, 30 - 3 * blocks.saturating_sub(1).min(10), "after {blocks}");
        let mut late = copy.clone();
        assert_eq!([true, true, false].map(|is_late| late.pulse_rewards(is_late)), [left > 0, false, false], "late after {blocks}");
        let update = copy.next_update();
        assert_eq!(update.rewards, expected.1.iter().copied().collect::<HashMap<_, _>>());
        assert_eq!(paid(late), expected, "late after {blocks}");
        assert_eq!(paid(copy), expected, "after {blocks}");
    }
}

#[test]
fn accounts_that_may_have_rewards_are_those_when_the_pulses_begin_up_to_version_6() {
    for (major, expected) in [(6, 0), (7, 1)] {
        let mut accounts = accounts_with_rewards();
        accounts.before.protocol_version.major = major;
        // One comes after the beginning, and one goes: what the latter has is the treasury's.
        accounts.registered.remove(&member(40));
        accounts.pulse_rewards(false);
        accounts.add_account(member(40));
        accounts.registered.remove(&member(41));
        let treasury = accounts.next_update().treasury;
        let lost = accounts.next_update().rewards[&member(41)];
        accounts.pay_rewards();
        let found = accounts.with_rewards().filter(|(owner, _)| **owner == member(40)).count();
        assert_eq!((found, accounts.rewards(&member(41)), accounts.pots.treasury), (expected, None, treasury + lost), "{major}");
    }
}

#[test]
fn fees_that_nobody_earns_go_into_the_reserves() {
    let mut accounts = accounts();
    accounts.before.tau = Ratio::new(1, 10).unwrap();
    (accounts.pots.fees, accounts.fees_to_share) = (1_003, 1_000);
    let before = *accounts.pots();
    // No block was made: nothing is issued, the treasury has its tenth of the fees, and no pool earns the rest.
    let update = accounts.next_update();
    assert_eq!((update.treasury, update.reserves, update.fees, update.rewards.len()), (100, -900, 1_000, 0));
    accounts.pay_rewards();
    assert_eq!(*accounts.pots(), Pots { treasury: 100, reserves: before.reserves + 900, fees: 3, ..before });
}

const DREP: Credential = Credential { script: false, hash: [21; 28] };

fn vote_for(credential: Credential, to: DRep) -> Certificate {
    Certificate::VoteDelegation { credential, to }
}

/// Takes in certificates, as one transaction.
fn certified(accounts: &mut Accounts, certificates: &[Certificate]) -> Option<bool> {
    accounts.apply(&moves(&[], certificates))
}

/// Accounts under a major version: OWNER's votes are given to nobody.
fn of_version(major: u64) -> Accounts {
    let mut accounts = accounts();
    accounts.running.protocol_version.major = major;
    assert_eq!(accounts.apply(&moves(&[], &[vote_for(OWNER, DRep::Abstain)])), Some(true));
    accounts
}

#[test]
fn pools_have_vrf_keys_of_their_own_from_version_11_on() {
    const OTHER: Hash28 = [8; 28];
    for (certificates, expected, boundary) in [
        (vec![registration_with(OTHER, 1)], Some(true), false),
        (vec![registration_with(OTHER, 0)], Some(false), false),
        (vec![registration_with(POOL, 0)], Some(true), false),
        (vec![registration_with(POOL, 1)], Some(true), false),
        // What a pool has from the next epoch on is taken too, and until then what it had.
        (vec![registration_with(POOL, 1), registration_with(OTHER, 1)], Some(false), false),
        (vec![registration_with(POOL, 1), registration_with(OTHER, 0)], Some(false), false),
        (vec![registration_with(POOL, 1), registration_with(OTHER, 1)], Some(false), true),
        (vec![registration_with(POOL, 1), registration_with(OTHER, 0)], Some(true), true),
        (vec![registration_with(POOL, 1), registration_with(POOL, 2), registration_with(OTHER, 1)], Some(true), false),
        (vec![registration_with(OTHER, 1), registration_with(OTHER, 0)], Some(false), false),
        (vec![registration_with(POOL, 1), registration_with(POOL, 1)], None, false),
    ] {
        for major in [10, 11] {
            let mut accounts = of_version(major);
            let parameters = accounts.running;
            let mut last = None;
            for certificate in &certificates {
                if boundary && matches!(certificate, Certificate::PoolRegistration { pool: OTHER, .. }) {
                    accounts.begin_epoch(1, &[], &parameters);
                }
                last = accounts.apply(&moves(&[], std::slice::from_ref(certificate)));
            }
            assert_eq!(last, if major == 10 { Some(true) } else { expected }, "{certificates:?} {major}");
        }
    }
}

#[test]
fn dreps_register_once_with_their_deposit_and_leave_with_it() {
    let deposit = conway::PARAMETERS.drep_deposit;
    let register = |deposit| Certificate::DRepRegistration { drep: DREP, deposit };
    let leave = |refund| Certificate::DRepDeregistration { drep: DREP, refund };
    let update = Certificate::DRepUpdate { drep: DREP };
    for (certificates, expected) in [
        (vec![register(deposit)], true),
        (vec![register(deposit - 1)], false),
        (vec![register(deposit), register(deposit)], false),
        (vec![register(deposit), update.clone(), leave(deposit), register(deposit)], true),
        (vec![register(deposit), leave(deposit - 1)], false),
        (vec![leave(deposit)], false),
        (vec![update.clone()], false),
        (vec![register(deposit), leave(deposit), update], false),
        (vec![vote_for(OWNER, DRep::Registered(DREP))], false),
        (vec![register(deposit), vote_for(OWNER, DRep::Registered(DREP))], true),
        (vec![register(deposit), vote_for(DREP, DRep::Abstain)], false),
    ] {
        let mut accounts = of_version(10);
        let before = accounts.pots().deposits;
        assert_eq!(certified(&mut accounts, &certificates), Some(expected), "{certificates:?}");
        let stays = certificates.iter().filter(|one| matches!(one, Certificate::DRepRegistration { .. })).count() as u64
            > certificates.iter().filter(|one| matches!(one, Certificate::DRepDeregistration { .. })).count() as u64;
        assert!(!expected || accounts.pots().deposits == before + if stays { deposit } else { 0 }, "{certificates:?}");
    }
    assert_eq!(certified(&mut of_version(9), &[vote_for(OWNER, DRep::Registered(DREP))]), Some(true), "before version 10");
}

#[test]
fn who_withdraws_has_given_the_votes_of_a_key_to_somebody() {
    let deposit = conway::PARAMETERS.drep_deposit;
    let register = Certificate::DRepRegistration { drep: DREP, deposit };
    let leave = Certificate::DRepDeregistration { drep: DREP, refund: deposit };
    let to_drep = vote_for(MEMBER, DRep::Registered(DREP));
    for (major, certificates, expected) in [
        (10, vec![], false),
        (9, vec![], true),
        (10, vec![vote_for(MEMBER, DRep::NoConfidence)], true),
        (10, vec![register.clone(), to_drep.clone()], true),
        (10, vec![register.clone(), to_drep.clone(), leave.clone()], false),
        (10, vec![register.clone(), to_drep, leave, register], false), // the votes were given to the one before
        (
            10,
            vec![
                Certificate::Deregistration { credential: MEMBER, refund: None },
                Certificate::Registration { credential: MEMBER, pool: None, deposit: None },
            ],
            false,
        ),
    ] {
        let mut accounts = of_version(major);
        assert!(certificates.is_empty() || certified(&mut accounts, &certificates) == Some(true), "{certificates:?}");
        assert_eq!(accounts.apply(&moves(&[(MEMBER, 0)], &[])), Some(expected), "{certificates:?}");
        let in_one = of_version(10).apply(&moves(&[(MEMBER, 0)], &[vote_for(MEMBER, DRep::Abstain)]));
        assert_eq!(in_one, Some(false), "withdrawals come first");
    }
}
