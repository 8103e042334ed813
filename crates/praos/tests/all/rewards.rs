//! The real preview chain through its epoch boundaries: what it withdraws and who leads its slots follow from our accounts and rewards.

use std::sync::Arc;

use slotmark_chain::block::{Block, Certificate, Decoder, Transaction, decode_output};
use slotmark_network::{Ratio, shelley};
use slotmark_praos::accounts::Pots;
use slotmark_praos::genesis::Genesis;
use slotmark_praos::header::check_proofs;
use slotmark_praos::rule::Rule;
use slotmark_praos::state::ChainState;

use crate::shared::{genesis, preview};

/// Counts of a run over the chain.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    /// Blocks whose leader value was held against stake that is exact.
    leaders: u64,
    /// Those of pools that aren't registered, or whose value is above the threshold.
    leaders_broken: u64,
    /// Withdrawals of more than nothing.
    withdrawals: u64,
    /// Transactions that fit the accounts, that don't, and that can't be decided.
    transactions: [u64; 3],
    /// By epoch, what breaks: leaders and transactions.
    first_broken: Option<(u64, u64)>,
}

struct Run {
    counts: Counts,
    pots: Option<Pots>,
    rewards: u64,
    unspent: u64,
}

/// Goes over the chain; `change` may change a transaction of a slot before it is applied.
fn run(genesis: Genesis, mut change: impl FnMut(u64, &Block<'_, '_>, &mut Transaction)) -> Run {
    let chain = preview();
    let genesis = Arc::new(genesis);
    let mut state = ChainState::with_accounts(Some(&genesis));
    let mut counts = Counts::default();
    let mut decoder = Decoder::new();
    for index in 0..chain.len() {
        let block = decoder.decode(chain.bytes(index)).expect("a block");
        let mut transactions = block.transactions.to_vec();
        for transaction in &mut transactions {
            change(block.header.slot, &block, transaction);
            counts.withdrawals += block.withdrawals(transaction).unwrap().iter().filter(|(.., lovelace)| *lovelace > 0).count() as u64;
        }
        let block = Block { transactions: &transactions, ..block };
        let step = state.step(&block).expect("a block that can be read");
        let epoch = step.epoch.as_ref().unwrap().number;
        let outcome = check_proofs(&block.header, &step.surroundings(Some(&genesis)));
        let held = |rule| outcome.held.contains(rule);
        let broken = [Rule::LeaderThreshold, Rule::PoolRegistered].into_iter().any(|rule| outcome.broken.contains(rule));
        counts.leaders += u64::from(held(Rule::LeaderThreshold) || broken);
        counts.leaders_broken += u64::from(broken);
        let mut fits = true;
        for (transaction, resolved) in transactions.iter().zip(&step.resolved) {
            if transaction.certificates.count > 0 || transaction.withdrawals.count > 0 || transaction.update.is_some() {
                counts.transactions[match resolved.fits_accounts {
                    Some(true) => 0,
                    Some(false) => 1,
                    None => 2,
                }] += 1;
                fits &= resolved.fits_accounts != Some(false);
            }
        }
        if (broken || !fits) && counts.first_broken.is_none() {
            counts.first_broken = Some((epoch, block.header.slot));
        }
    }
    let stake = state.stake().unwrap();
    let unspent = stake.all_unspent().map(|(_, _, encoded)| decode_output(&encoded).unwrap().lovelace).sum();
    let accounts = stake.accounts();
    Run { counts, pots: accounts.map(|accounts| *accounts.pots()), rewards: accounts.map_or(0, |accounts| accounts.all_rewards()), unspent }
}

#[test]
#[ignore = "needs the shared data: the real chain and its genesis"]
fn what_preview_withdraws_and_who_leads_follow_from_rewards() {
    let found = run(genesis(), |_, _, _| {});
    println!("{:?} {:?}, rewards {} unspent {}", found.counts, found.pots, found.rewards, found.unspent);
    let pots = found.pots.expect("accounts that are followed to the end");
    let all = pots.treasury + pots.reserves + pots.deposits + pots.fees + pots.donations + found.rewards + found.unspent;
    assert_eq!(all, 45_000_000_000_000_000);
    let Counts { leaders, leaders_broken, withdrawals, transactions, .. } = found.counts;
    assert_eq!((leaders, leaders_broken), (50_675, 0));
    assert_eq!((withdrawals, transactions), (8, [1_038, 0, 5])); // five with proposals of genesis keys
}

fn ratio(numerator: u64, denominator: u64) -> Ratio {
    Ratio::new(numerator, denominator).unwrap()
}

/// The genesis with other parameters of rewards.
fn with_parameters(change: impl Fn(&mut shelley::Parameters)) -> Genesis {
    let mut genesis = genesis();
    change(&mut genesis.shelley.parameters);
    change(&mut genesis.ledger.as_mut().expect("parameters of transactions").parameters.shelley);
    genesis
}

#[test]
#[ignore = "needs the shared data: the real chain and its genesis"]
fn faults_in_rewards_and_certificates_are_found() {
    let faults: [fn(&mut shelley::Parameters); 6] = [
        |of| of.rho = ratio(4, 1_000),
        |of| of.tau = ratio(21, 100),
        |of| of.tau = Ratio::ONE,
        |of| of.a0 = ratio(31, 100),
        |of| of.n_opt = 151,
        |of| of.protocol_version.major = 7, // rewards of accounts that are gone go to the treasury
    ];
    for change in faults {
        let found = run(with_parameters(change), |_, _, _| {}).counts;
        // Every withdrawal is refused. Rewards are too small a part of stake to move a threshold past a leader.
        assert_eq!((found.transactions, found.leaders_broken), ([1_030, 8, 5], 0));
    }
    // Without one of its transactions' certificates.
    for (from, refused, leaders_broken) in [(0, 14, 49_189), (500_000, 13, 17)] {
        let mut skipped = false;
        let found = run(genesis(), |slot, block, transaction| {
            let certificates = block.certificates(transaction).unwrap();
            if !skipped && slot >= from && certificates.iter().any(|certificate| matches!(certificate, Certificate::Delegation { .. })) {
                transaction.certificates = Default::default();
                skipped = true;
            }
        });
        assert_eq!((found.counts.transactions[1], found.counts.leaders_broken), (refused, leaders_broken));
    }
}
