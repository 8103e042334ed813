//! Accounts by hand: a transaction that doesn't fit, and the rewards of an epoch.

use super::*;

const OWNER: Credential = Credential { script: false, hash: [1; 28] };
const MEMBER: Credential = Credential { script: false, hash: [2; 28] };
const POOL: Hash28 = [9; 28];

fn terms(cost: u64) -> PoolTerms {
    PoolTerms { pledge: 100, cost, margin: (1, 10), account: OWNER, owners: vec![OWNER.hash] }
}

fn registration(pool: Hash28, cost: u64) -> Certificate {
    Certificate::PoolRegistration { pool, vrf_key_hash: [0; 32], terms: terms(cost) }
}

/// Accounts of an owner, who has rewards, and of a member, and a pool.
fn accounts() -> Accounts {
    let parameters = shelley::Parameters { min_pool_cost: 200, ..shelley::PARAMETERS };
    let genesis = shelley::Shelley { parameters, ..shelley::Shelley::stated(Default::default(), Default::default()) };
    let mut accounts = Accounts::new(&genesis, Ratio::new(1, 20).unwrap(), 500);
    let certificates = [
        Certificate::Registration { credential: OWNER, pool: None },
        Certificate::Registration { credential: MEMBER, pool: None },
        registration(POOL, 200),
    ];
    assert_eq!(accounts.apply(&moves(&[], &certificates)), Some(true));
    assert_eq!(accounts.pots().deposits, 2 * parameters.key_deposit + parameters.pool_deposit);
    accounts.accounts.get_mut(&OWNER).unwrap().rewards = 7;
    accounts
}

fn moves<'t>(withdrawals: &'t [(Credential, u64)], certificates: &'t [Certificate]) -> Moves<'t> {
    Moves { fee: 5, withdrawals, certificates, proposed: 0, governs: false }
}

#[test]
fn what_fits_is_taken_and_what_does_not_is_refused() {
    let stranger = Credential { script: true, ..OWNER };
    let last = shelley::PARAMETERS.e_max;
    let retirement = |pool, epoch| Certificate::PoolRetirement { pool, epoch };
    let leave = |credential| Certificate::Deregistration { credential };
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
        (vec![], vec![leave(MEMBER), Certificate::Registration { credential: MEMBER, pool: Some(POOL) }], Some(true)),
        (vec![], vec![Certificate::Registration { credential: MEMBER, pool: None }], Some(false)),
        (vec![], vec![Certificate::Registration { credential: stranger, pool: Some([8; 28]) }], Some(false)),
        (vec![], vec![delegation(MEMBER, POOL)], Some(true)),
        (vec![], vec![delegation(stranger, POOL)], Some(false)),
        (vec![], vec![delegation(MEMBER, [8; 28])], Some(false)),
        (vec![], vec![registration(POOL, 200), registration([8; 28], 200), delegation(MEMBER, [8; 28])], Some(true)),
        (vec![], vec![registration([8; 28], 199)], Some(false)),
        (vec![], vec![retirement(POOL, 1), retirement(POOL, last)], Some(true)),
        (vec![], vec![retirement(POOL, 0)], Some(false)),
        (vec![], vec![retirement(POOL, last + 1)], Some(false)),
        (vec![], vec![retirement([8; 28], 1)], Some(false)),
        (vec![], vec![Certificate::Governance { deposit: 7 }], None),
        (vec![(OWNER, 6)], vec![Certificate::Governance { deposit: -7 }], Some(false)),
    ] {
        let found = accounts().apply(&moves(&withdrawals, &certificates));
        assert_eq!(found, expected, "{withdrawals:?} {certificates:?}");
    }
}

#[test]
fn a_retired_pools_deposit_goes_to_its_account_or_else_to_the_treasury() {
    let deposit = shelley::PARAMETERS.pool_deposit;
    let mut there = accounts();
    there.begin_epoch(1, &[POOL], &shelley::PARAMETERS);
    assert_eq!((there.rewards(&OWNER), there.pots().treasury), (Some(7 + deposit), 0));
    let mut gone = accounts();
    gone.apply(&moves(&[(OWNER, 7)], &[Certificate::Deregistration { credential: OWNER }]));
    gone.begin_epoch(1, &[POOL], &shelley::PARAMETERS);
    assert_eq!((gone.rewards(&OWNER), gone.pots().treasury), (None, deposit));
    assert_eq!(gone.pots().deposits, shelley::PARAMETERS.key_deposit);
}

#[test]
fn rewards_are_those_worked_out_by_hand() {
    let ratio = |numerator, denominator| Ratio::new(numerator, denominator).unwrap();
    let parameters = shelley::Parameters { a0: Ratio::ZERO, n_opt: 1, rho: ratio(1, 100), tau: ratio(1, 10), ..shelley::PARAMETERS };
    let constants = Constants { max_lovelace: 1_000_500, epoch_slots: 200, active_slots: ratio(1, 20) };
    let stake = HashMap::from([(OWNER, (100, POOL)), (MEMBER, (300, POOL))]);
    let work_out = |blocks: u64, pledge: u64, eligible: Option<&HashSet<Credential>>| {
        let snapshot = Snapshot { stake: stake.clone(), pools: HashMap::from([(POOL, PoolTerms { pledge, ..terms(200) })]) };
        let blocks = BTreeMap::from([(POOL, blocks)]);
        let issue =
            Issue { parameters: &parameters, constants: &constants, blocks: &blocks, snapshot: &snapshot, reserves: 1_000_000, fees: 0 };
        let Update { treasury, issued, returned, rewards } = issue.work_out(eligible);
        (treasury, issued, returned, rewards.get(&OWNER).copied(), rewards.get(&MEMBER).copied())
    };
    // Issued 10,000, of which the treasury has a tenth. The pool has 400 of 500 in circulation, and so may earn four fifths of 9,000: 7,200. Its leader has
    // the cost of 200, and of the rest a tenth and a quarter of nine tenths: 2,275.
    assert_eq!(work_out(10, 100, None), (1_000, 10_000, 1_800, Some(2_475), Some(4_725)));
    assert_eq!(work_out(20, 100, None), (1_000, 10_000, 1_800, Some(2_475), Some(4_725)));
    // Half of the blocks expected: half of all.
    assert_eq!(work_out(5, 100, None), (500, 5_000, 900, Some(200 + 1_105), Some(2_295)));
    assert_eq!(work_out(10, 101, None), (1_000, 10_000, 9_000, None, None));
    assert_eq!(work_out(10, 100, Some(&HashSet::from([MEMBER]))), (1_000, 10_000, 9_000 - 4_725, None, Some(4_725)));
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
