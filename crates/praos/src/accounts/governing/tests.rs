//! Governance by hand: what fits, and for each action the boundary at which it takes effect, and what it takes.

mod acts;
mod stakes;
mod unknown;

use std::collections::HashMap;

use slotmark_chain::block::{Answer, Credential, Hash28, PoolTerms};
use slotmark_network::{Parameters, STATED, shelley};

use super::proposals::Purpose;
use super::*;
use crate::accounts::tests::{genesis_with, governance};
use crate::accounts::{Accounts, Moves, Pots};
use crate::governance::Ratified;
use crate::stake::Distribution;

const DEPOSIT: u64 = conway::PARAMETERS.gov_action_deposit;
const LIFETIME: u64 = 3;
const TREASURY: u64 = 1_000_000;
/// The stake of the first DRep, of 100,000 in all: exactly the 67 in 100 that most actions take.
const ENOUGH: u64 = 67_000;

const fn key(number: u8) -> Credential {
    Credential { script: false, hash: [number; 28] }
}

/// Two accounts, the DReps that vote for them, and the pools that they delegate to.
const OWNERS: [Credential; 2] = [key(1), key(2)];
const DREPS: [Credential; 2] = [key(11), key(12)];
const POOLS: [Hash28; 2] = [[21; 28], [22; 28]];
const COLD: [Credential; 3] = [key(31), key(32), key(33)];
const HOT: [Credential; 3] = [key(41), key(42), key(43)];

fn id(number: u8) -> ActionId {
    ActionId { transaction: [number; 32], place: 0 }
}

/// Accounts with governance, from one epoch to the next.
struct Bed {
    accounts: Accounts,
    parameters: Parameters,
    /// Lovelace in outputs.
    held: HashMap<Credential, u64>,
    pools: [u64; 2],
}

impl Bed {
    /// All of the committee, two thirds of which decide, have hot keys.
    fn new(major: u64) -> Self {
        Self::with(major, &[])
    }

    /// The same with DReps of the genesis, which nobody votes by.
    fn with(major: u64, dreps: &[conway::DRep]) -> Self {
        let mut parameters = STATED.clone();
        parameters.shelley.protocol_version = shelley::ProtocolVersion::of(major);
        let conway = parameters.conway.as_mut().unwrap();
        (conway.gov_action_lifetime, conway.drep_activity, conway.committee_min_size) = (LIFETIME, 10, 2);
        let mut accounts = Accounts::new(&genesis_with(parameters.shelley), 0);
        accounts.governing = Governing::new(parameters.conway, dreps, Some(&governance(&COLD)));
        accounts.pots.treasury = TREASURY;
        let mut certificates = Vec::new();
        for (place, owner) in OWNERS.into_iter().enumerate() {
            certificates.push(Certificate::DRepRegistration { drep: DREPS[place], deposit: conway::PARAMETERS.drep_deposit });
            certificates.push(Certificate::Registration { credential: owner, pool: None, deposit: None });
            certificates.push(Certificate::VoteDelegation { credential: owner, to: DRep::Registered(DREPS[place]) });
            let terms = PoolTerms { pledge: 0, cost: 0, margin: (0, 1), account: owner, owners: Vec::new() };
            certificates.push(Certificate::PoolRegistration { pool: POOLS[place], vrf_key_hash: [place as u8; 32], network: 0, terms });
        }
        certificates.extend((0..3).map(|place| Certificate::CommitteeHotKey { cold: COLD[place], hot: HOT[place] }));
        let held = HashMap::from([(OWNERS[0], ENOUGH), (OWNERS[1], 100_000 - ENOUGH)]);
        let mut bed = Self { accounts, parameters, held, pools: [51_000, 49_000] };
        assert_eq!(bed.act(&certificates, &[], &[]), Some(true));
        bed
    }

    fn act(&mut self, certificates: &[Certificate], proposals: &[(ActionId, GovernanceAction)], votes: &[Vote]) -> Option<bool> {
        let proposals = proposals
            .iter()
            .map(|(id, action)| (*id, Proposal { deposit: DEPOSIT, account: key(3), action: action.clone(), networks: vec![0] }));
        self.accounts.apply(&Moves {
            certificates: certificates.to_vec(),
            proposals: proposals.collect(),
            votes: votes.to_vec(),
            ..Moves::default()
        })
    }

    /// Registers the account that deposits go back to, which nobody votes for, and proposes an action.
    fn propose(&mut self, number: u8, action: GovernanceAction) -> Option<bool> {
        if self.accounts.rewards(&key(3)).is_none() {
            self.act(&[Certificate::Registration { credential: key(3), pool: None, deposit: None }], &[], &[]);
        }
        self.act(&[], &[(id(number), action)], &[])
    }

    fn vote(&mut self, voter: Voter, number: u8, answer: Answer) -> Option<bool> {
        self.act(&[], &[], &[Vote { voter, action: id(number), answer }])
    }

    /// The first DRep, the first pool and two members of the committee agree, as far as they may vote.
    fn agree(&mut self, number: u8) {
        for voter in [Voter::DRep(DREPS[0]), Voter::Pool(POOLS[0]), Voter::Committee(HOT[0]), Voter::Committee(HOT[1])] {
            let may = self
                .accounts
                .clone()
                .apply(&Moves { votes: vec![Vote { voter, action: id(number), answer: Answer::Yes }], ..Moves::default() });
            if may == Some(true) {
                self.vote(voter, number, Answer::Yes);
            }
        }
    }

    /// Goes into the next epoch; gives whether what waits could be decided on.
    fn next(&mut self) -> bool {
        self.next_by(true)
    }

    /// The same by stake that may lack something.
    fn next_by(&mut self, is_exact: bool) -> bool {
        let epoch = self.accounts.epoch + 1;
        self.accounts.begin_epoch(epoch, &[], &self.parameters.shelley);
        let vrf = [0; 32];
        let pools = Distribution::of_pools([(POOLS[0], (self.pools[0], vrf)), (POOLS[1], (self.pools[1], vrf))]);
        let held = |owner: &Credential| self.held.get(owner).copied().unwrap_or_default();
        let ratified = self.accounts.ratify(&self.parameters, is_exact, &held, &|_| None, &pools);
        if let Some(Ratified { parameters: Some(parameters), .. }) = &ratified {
            self.parameters = Parameters::clone(parameters); // which the next epoch begins with
        }
        ratified.is_some()
    }

    /// The same with one more action, the seventh, that all agree on.
    fn clone_with(&self, action: GovernanceAction) -> Self {
        let mut bed =
            Self { accounts: self.accounts.clone(), parameters: self.parameters.clone(), held: self.held.clone(), pools: self.pools };
        assert_eq!(bed.propose(7, action), Some(true));
        bed.agree(7);
        bed
    }

    fn waits(&self, number: u8) -> bool {
        self.accounts.governing.proposals.get(&id(number)).is_some()
    }

    /// The number of epochs until an action doesn't wait any more.
    fn epochs_of(&mut self, number: u8) -> u64 {
        let begun = self.accounts.epoch;
        while self.waits(number) {
            assert!(self.next());
        }
        self.accounts.epoch - begun
    }

    fn has_enacted(&self, number: u8) -> bool {
        [Purpose::Parameters, Purpose::HardFork, Purpose::Committee, Purpose::Constitution]
            .into_iter()
            .any(|purpose| self.accounts.governing.enacted.last(purpose) == Some(id(number)))
    }
}

fn parameters(encoded: &[u8]) -> GovernanceAction {
    GovernanceAction::Parameters { previous: None, update: encoded.to_vec(), guardrails: Some([9; 28]) }
}

fn withdrawal(owner: Credential, lovelace: u64) -> GovernanceAction {
    GovernanceAction::Withdrawals { amounts: vec![(owner, lovelace)], guardrails: Some([9; 28]) }
}

fn committee(previous: Option<ActionId>, leaving: &[Credential], joining: &[(Credential, u64)]) -> GovernanceAction {
    GovernanceAction::Committee { previous, leaving: leaving.to_vec(), joining: joining.to_vec(), threshold: (1, 2) }
}

fn constitution(previous: Option<ActionId>) -> GovernanceAction {
    GovernanceAction::Constitution { previous, guardrails: Some([8; 28]) }
}

/// A change of the fee per byte, on which pools vote, and of the deposit for a pool, on which they don't.
const OF_POOLS: [u8; 3] = [0xa1, 0x00, 0x07];
const NOT_OF_POOLS: [u8; 3] = [0xa1, 0x06, 0x07];

/// One action of each kind, with the DReps' threshold in hundredths, and whether the committee and pools have to agree.
fn actions() -> Vec<(GovernanceAction, u64, bool, bool)> {
    vec![
        (parameters(&OF_POOLS), 67, true, true),
        (parameters(&NOT_OF_POOLS), 67, true, false),
        (GovernanceAction::HardFork { previous: None, version: (11, 0) }, 60, true, true),
        (withdrawal(OWNERS[1], TREASURY), 67, true, false),
        (GovernanceAction::NoConfidence { previous: None }, 67, false, true),
        (committee(None, &[COLD[0]], &[(key(34), 50)]), 67, false, true),
        (constitution(None), 75, true, false),
    ]
}

#[test]
fn each_action_is_enacted_two_boundaries_later_by_exactly_the_votes_that_it_takes() {
    for (action, hundredths, of_committee, of_pools) in actions() {
        let expiry = LIFETIME + 2; // the last epoch to vote in, one that begins without votes, and the boundary at its end
        let enough = hundredths * 1_000;
        for (dreps, pools, members, is_enacted) in [
            (enough, 51_000, 2, true),
            (enough - 1, 51_000, 2, false),
            (enough, 50_999, 2, !of_pools),
            (enough, 51_000, 1, !of_committee),
            (enough, 0, 2, !of_pools),
        ] {
            let mut bed = Bed::new(10);
            bed.held = HashMap::from([(OWNERS[0], dreps), (OWNERS[1], 100_000 - dreps)]);
            bed.pools = [pools, 100_000 - pools];
            assert_eq!(bed.propose(1, action.clone()), Some(true), "{action:?}");
            bed.vote(Voter::DRep(DREPS[0]), 1, Answer::Yes);
            bed.vote(Voter::Pool(POOLS[0]), 1, Answer::Yes);
            for hot in &HOT[..members] {
                bed.vote(Voter::Committee(*hot), 1, Answer::Yes);
            }
            let before = (bed.parameters.clone(), bed.accounts.pots.deposits);
            assert!(bed.next() && bed.waits(1) && bed.accounts.pots.treasury == TREASURY && !bed.has_enacted(1));
            assert_eq!(bed.accounts.pots.deposits, before.1);
            let epochs = 1 + bed.epochs_of(1);
            assert_eq!(epochs, if is_enacted { 2 } else { expiry }, "{action:?} {dreps} {pools} {members}");
            // The deposit goes back either way.
            assert_eq!((bed.accounts.rewards(&key(3)), bed.accounts.pots.deposits), (Some(DEPOSIT), before.1 - DEPOSIT));
            let is_withdrawal = matches!(action, GovernanceAction::Withdrawals { .. });
            assert_eq!(bed.has_enacted(1), is_enacted && !is_withdrawal, "{action:?}");
            let withdrawn = if is_enacted && is_withdrawal { TREASURY } else { 0 };
            assert_eq!((bed.accounts.rewards(&OWNERS[1]), bed.accounts.pots.treasury), (Some(withdrawn), TREASURY - withdrawn));
            let changes = matches!(action, GovernanceAction::Parameters { .. } | GovernanceAction::HardFork { .. });
            assert_eq!(bed.parameters != before.0, is_enacted && changes, "{action:?}");
        }
    }
}

#[test]
fn enacted_actions_change_what_they_say() {
    let mut bed = Bed::new(10);
    bed.held.insert(OWNERS[0], 1_000_000);
    for (number, action) in (1..).zip([
        committee(None, &[COLD[0], COLD[1]], &[(key(34), 50)]),
        constitution(None),
        GovernanceAction::HardFork { previous: None, version: (11, 0) },
    ]) {
        assert_eq!(bed.propose(number, action), Some(true));
        bed.agree(number);
        assert_eq!(bed.epochs_of(number), 2);
        if number == 1 {
            let governing = &bed.accounts.governing;
            let now = governing.enacted.committee.as_ref().unwrap();
            assert_eq!([COLD[0], COLD[1], COLD[2], key(34)].map(|cold| now.has(&cold)), [false, false, true, true]);
            assert!(governing.seats.get(&COLD[0]).is_none() && governing.seats.get(&COLD[2]).is_some());
            let seats =
                [Certificate::CommitteeHotKey { cold: key(34), hot: HOT[1] }, Certificate::CommitteeHotKey { cold: COLD[2], hot: HOT[0] }];
            assert_eq!(bed.act(&seats, &[], &[]), Some(true));
        }
    }
    assert_eq!((bed.accounts.governing.enacted.guardrails, bed.parameters.shelley.protocol_version.major), (Some([8; 28]), 11));
    assert_eq!(bed.accounts.running.protocol_version.major, 11);
    // The constitution's script is another one now.
    assert_eq!(bed.propose(9, withdrawal(OWNERS[0], 1)), Some(false));
    bed.propose(10, GovernanceAction::NoConfidence { previous: Some(id(1)) });
    bed.agree(10);
    assert!(bed.epochs_of(10) == 2 && bed.accounts.governing.enacted.committee.is_none());
}

#[test]
fn what_nobody_ratifies_expires_and_its_deposit_goes_back() {
    for (is_there, votes) in [(true, true), (true, false), (false, false)] {
        let mut bed = Bed::new(10);
        assert_eq!(bed.propose(1, GovernanceAction::Info), Some(true));
        if votes {
            bed.agree(1);
        }
        for epoch in 1..=LIFETIME + 1 {
            assert!(bed.next() && bed.waits(1));
            let fits = bed.accounts.clone().apply(&Moves {
                votes: vec![Vote { voter: Voter::DRep(DREPS[1]), action: id(1), answer: Answer::No }],
                ..Moves::default()
            });
            assert_eq!(fits, Some(epoch <= LIFETIME), "{epoch}");
        }
        if !is_there {
            assert_eq!(bed.act(&[Certificate::Deregistration { credential: key(3), refund: None }], &[], &[]), Some(true));
        }
        let deposits = bed.accounts.pots.deposits;
        assert!(bed.next() && !bed.waits(1));
        assert_eq!(bed.accounts.pots.deposits, deposits - DEPOSIT);
        let to_treasury = if is_there { 0 } else { DEPOSIT };
        assert_eq!((bed.accounts.rewards(&key(3)), bed.accounts.pots.treasury), (is_there.then_some(DEPOSIT), TREASURY + to_treasury));
        assert_eq!(bed.vote(Voter::DRep(DREPS[0]), 1, Answer::Yes), Some(false));
    }
}

#[test]
fn actions_are_enacted_in_their_order_and_some_delay_all_others() {
    let mut bed = Bed::new(10);
    bed.held.insert(OWNERS[0], 1_000_000);
    // The treasury has enough for one: the one that was proposed first.
    for (number, lovelace) in [(1, 600_000), (2, 500_000), (3, 400_000)] {
        bed.propose(number, withdrawal(OWNERS[0], lovelace));
        bed.agree(number);
    }
    bed.propose(4, parameters(&NOT_OF_POOLS));
    bed.agree(4);
    bed.propose(5, GovernanceAction::Parameters { previous: Some(id(4)), update: vec![0xa1, 0x06, 0x08], guardrails: Some([9; 28]) });
    bed.agree(5);
    bed.propose(6, parameters(&[0xa1, 0x06, 0x09]));
    bed.agree(6);
    let joins = committee(None, &[], &[(key(34), 50)]);
    let fork = GovernanceAction::HardFork { previous: None, version: (11, 0) };
    let delayed = [constitution(None), joins, fork, GovernanceAction::NoConfidence { previous: None }].map(|action| bed.clone_with(action));
    assert!(bed.next() && bed.next());
    assert_eq!([1, 2, 3, 4, 5, 6].map(|number| bed.waits(number)), [false, true, false, false, false, false]);
    assert_eq!((bed.accounts.rewards(&OWNERS[0]), bed.accounts.pots.treasury), (Some(1_000_000), 0));
    // One after the other in one epoch; a competitor of the first goes.
    assert_eq!((bed.parameters.shelley.pool_deposit, bed.accounts.running.pool_deposit), (8, 8));
    assert_eq!(bed.accounts.rewards(&key(3)), Some(5 * DEPOSIT));
    // Others delay them by an epoch; without a committee they aren't ratified then.
    for (mut bed, is_last) in delayed.into_iter().zip([false, false, false, true]) {
        assert!(bed.next() && bed.next());
        assert!(!bed.waits(7) && [1, 2, 3, 4, 5, 6].into_iter().all(|number| bed.waits(number)) && bed.has_enacted(7));
        assert!(bed.next());
        let waiting = if is_last { [true; 6] } else { [false, true, false, false, false, false] };
        assert_eq!([1, 2, 3, 4, 5, 6].map(|number| bed.waits(number)), waiting);
    }
}

#[test]
fn what_comes_after_one_that_goes_goes_with_it() {
    let mut bed = Bed::new(10);
    bed.held.insert(OWNERS[0], 1_000_000);
    bed.propose(1, constitution(None));
    assert!(bed.next());
    bed.propose(2, constitution(None));
    for (number, previous) in [(3, 1), (4, 3), (5, 2)] {
        assert_eq!(bed.propose(number, constitution(Some(id(previous)))), Some(true));
    }
    let others = bed.clone_with(GovernanceAction::Info);
    // By a sibling that is enacted.
    bed.agree(2);
    assert!(bed.next() && bed.next());
    assert_eq!([1, 2, 3, 4, 5].map(|number| bed.waits(number)), [false, false, false, false, true]);
    assert_eq!(bed.accounts.rewards(&key(3)), Some(4 * DEPOSIT));
    // By expiry, an epoch before their own.
    let mut bed = others;
    (0..LIFETIME + 1).for_each(|_| assert!(bed.next()));
    assert_eq!([1, 2, 3, 4, 5].map(|number| bed.waits(number)), [false, true, false, false, true]);
    assert!(bed.next());
    assert!([2, 5].into_iter().all(|number| !bed.waits(number)) && bed.accounts.rewards(&key(3)) == Some(6 * DEPOSIT));
}

#[test]
fn a_committee_counts_members_whose_terms_are_not_over_and_who_did_not_resign() {
    let resign = |place: usize| Certificate::CommitteeResignation { cold: COLD[place] };
    for (certificates, votes, epoch, threshold_of, expected) in [
        (vec![], vec![(0, Answer::Yes), (1, Answer::Yes)], 0, 2, true),
        (vec![], vec![(0, Answer::Yes)], 0, 2, false),
        (vec![], vec![(0, Answer::Yes), (1, Answer::No)], 0, 2, false),
        (vec![], vec![(0, Answer::Yes), (1, Answer::Abstain), (2, Answer::Abstain)], 0, 2, true),
        (vec![], vec![(0, Answer::Yes), (1, Answer::Abstain)], 0, 2, false),
        // Whoever resigned counts no more: of two, one is too little, and one alone is too small a committee.
        (vec![resign(2)], vec![(0, Answer::Yes)], 0, 2, false),
        (vec![resign(2)], vec![(0, Answer::Yes), (1, Answer::Abstain)], 0, 2, true),
        (vec![resign(1), resign(2)], vec![(0, Answer::Yes)], 0, 2, false),
        (vec![resign(1), resign(2)], vec![(0, Answer::Yes)], 0, 1, true),
        // The terms end with epoch 100.
        (vec![], vec![(0, Answer::Yes), (1, Answer::Yes)], 99, 2, true),
        (vec![], vec![(0, Answer::Yes), (1, Answer::Yes)], 100, 2, false),
        (vec![], vec![(0, Answer::Yes), (1, Answer::Yes)], 100, 0, false),
    ] {
        let mut bed = Bed::new(10);
        let conway = bed.parameters.conway.as_mut().unwrap();
        (conway.committee_min_size, conway.drep_activity) = (threshold_of, 1_000);
        bed.accounts.epoch = epoch;
        assert!(bed.accounts.apply(&Moves { certificates: certificates.clone(), ..Moves::default() }) == Some(true));
        bed.accounts.governing.parameters = bed.parameters.conway;
        bed.act(&DREPS.map(|drep| Certificate::DRepUpdate { drep }), &[], &[]);
        bed.propose(1, withdrawal(OWNERS[0], 1));
        assert_eq!(bed.vote(Voter::DRep(DREPS[0]), 1, Answer::Yes), Some(true));
        for (member, answer) in &votes {
            bed.vote(Voter::Committee(HOT[*member]), 1, *answer);
        }
        bed.epochs_of(1);
        assert_eq!(bed.accounts.rewards(&OWNERS[0]) == Some(1), expected, "{certificates:?} {votes:?} {epoch} {threshold_of}");
    }
}
