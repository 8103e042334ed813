//! Nodes follow accounts: rewards are paid and withdrawn, by exact amounts, over forks and the ends of epochs.

use std::sync::Arc;

use pallas_network::facades::NodeClient;
use pallas_network::miniprotocols::localtxsubmission::{EraTx, Response};
use slotmark_chain::block::Decoder;
use slotmark_praos::base::Base;
use slotmark_praos::genesis::Genesis;
use slotmark_praos::state::ChainState;

use crate::bed::wallet::{Act, Signed, Wallet};
use crate::bed::{Bed, MAGIC, Node, Shape, fetch_chain, ingest, run, wait_for, wait_for_agreement, wait_for_sockets};

/// Two pools that often make blocks of the same slot: the chain forks all the time, and blocks are taken back.
const SHAPE: Shape = Shape { pools: 2, security_parameter: 5, active_slots: 0.7, epoch_slots: 60, slot_ms: 100 };
const FEE: u64 = 200_000;
/// Withdrawals of rewards that a node is to take.
const WITH_REWARDS: usize = 3;

/// Offers a transaction to a node; gives whether it took it.
fn is_taken(node: &Node, transaction: &Signed) -> bool {
    run(async {
        let mut client = NodeClient::connect(node.folder.join("node.socket"), MAGIC).await.unwrap();
        matches!(client.submission().submit_tx(EraTx(6, transaction.bytes.clone())).await.unwrap(), Response::Accepted)
    })
}

/// Offers a transaction behind the last that was taken; gives whether it is, too.
fn offer(node: &Node, taken: &mut Vec<Wallet<'_>>, act: Act) -> bool {
    let mut next = taken[taken.len() - 1].clone();
    let is_taken = is_taken(node, &next.act(FEE, act));
    if is_taken {
        taken.push(next);
    }
    is_taken
}

/// The state after a node's chain, each of whose blocks is valid.
fn state_of(bed: &Bed, genesis: &Arc<Genesis>, number: usize) -> (ChainState, usize) {
    let mut state = ChainState::with_accounts(Some(genesis));
    let mut decoder = Decoder::new();
    let mut withdrawals = 0;
    for bytes in run(fetch_chain(bed, number)) {
        let block = decoder.decode(&bytes).unwrap();
        let step = state.step(&block).unwrap();
        step.outcome.result().unwrap();
        for (transaction, resolved) in block.transactions.iter().zip(&step.resolved) {
            assert_eq!(resolved.fits_accounts, Some(true), "slot {}", block.header.slot);
            withdrawals += block.withdrawals(transaction).unwrap().iter().filter(|(.., lovelace)| *lovelace > 0).count();
        }
    }
    (state, withdrawals)
}

#[test]
fn rewards_are_withdrawn_by_exact_amounts_over_forks_and_ends_of_epochs() {
    let bed = Bed::with_rewards(SHAPE);
    let genesis = bed.genesis();
    // One has the genesis, and one a base of it: both have to refuse the same.
    let base = bed.folder.path().join("base");
    Base::make(&bed.genesis_path(), &base).unwrap();
    let mut nodes = vec![bed.start(0, &[1], &[]), bed.start(1, &[0], &["--ledger-base", base.to_str().unwrap()])];
    wait_for_agreement(1, &mut nodes);
    // What was taken, each by the wallet behind it.
    let mut taken = vec![Wallet::new(&bed, 0)];
    let owner = taken[0].owner();
    // Nobody withdraws whose votes nobody has; and what waits in the mempool counts.
    for (act, expected) in [(Act::Withdrawal(0), false), (Act::Abstention, true), (Act::Withdrawal(0), true), (Act::Withdrawal(1), false)] {
        assert_eq!(offer(&nodes[0], &mut taken, act), expected);
    }

    // Something of no rewards always waits, so that the end of each epoch, which pays some, meets one that doesn't fit behind it. A fork
    // may take away what was taken: then it goes on from what was before.
    let mut with_rewards = 0;
    while with_rewards < WITH_REWARDS {
        let (state, _) = state_of(&bed, &genesis, 0);
        let rewards = state.stake().unwrap().accounts().expect("accounts that are followed").rewards(&owner).unwrap();
        assert!(!offer(&nodes[0], &mut taken, Act::Withdrawal(rewards + 1)), "{}", nodes[0].log());
        if rewards > 0 && offer(&nodes[0], &mut taken, Act::Withdrawal(rewards)) {
            with_rewards += 1;
        } else if ![Act::Withdrawal(0), Act::Abstention].into_iter().any(|act| offer(&nodes[0], &mut taken, act)) && taken.len() > 1 {
            taken.pop();
        }
        wait_for("nodes that run", &mut nodes, |_| Some(()));
    }
    let number = nodes[0].tip().unwrap().0;
    wait_for_agreement(number + 3, &mut nodes);
    for node in &nodes {
        let (_, withdrawals) = state_of(&bed, &genesis, node.number);
        assert!(withdrawals > 0, "no rewards were withdrawn");
        let errors = node.errors();
        assert!(!errors.contains("was refused"), "{errors}");
    }
    let forks = nodes.iter().filter(|node| node.log().contains("SwitchedToAFork")).count();
    assert!(forks > 0, "no block was taken back");
    nodes.into_iter().for_each(Node::stop);
    ingest(&bed, &[0, 1]);
}

#[test]
fn accounts_of_the_genesis_are_there_with_a_ledger_base_and_without() {
    let bed = Bed::new(SHAPE);
    let base = bed.folder.path().join("base");
    Base::make(&bed.genesis_path(), &base).unwrap();
    for (number, options) in [(2, vec![]), (3, vec!["--ledger-base", base.to_str().unwrap()])] {
        // It makes no blocks: what is taken stays in its mempool.
        let mut nodes = [bed.start(number, &[], &options)];
        wait_for_sockets(&mut nodes);
        let mut taken = vec![Wallet::new(&bed, 0)];
        for (act, expected) in [
            (Act::Withdrawal(0), false),
            (Act::Abstention, true),
            (Act::Withdrawal(1), false),
            (Act::Withdrawal(0), true),
            (Act::Deregistration, true),
            (Act::Deregistration, false),
            (Act::Withdrawal(0), false),
            (Act::Abstention, false),
            (Act::Metadata(0), true),
        ] {
            assert_eq!(offer(&nodes[0], &mut taken, act), expected, "{act:?} {options:?}: {}", nodes[0].errors());
        }
        let [node] = nodes;
        node.stop();
    }
}
