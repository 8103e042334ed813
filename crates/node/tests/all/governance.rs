//! Nodes follow governance: actions are proposed, voted on and enacted at the ends of epochs, over forks.

use pallas_network::facades::NodeClient;
use pallas_network::miniprotocols::localtxsubmission::EraTx;
use serde_json::json;
use slotmark_chain::block::Decoder;
use slotmark_chain::hash::{blake2b_224, blake2b_256};
use slotmark_praos::state::ChainState;

use crate::bed::wallet::{Act, Voter, Wallet};
use crate::bed::{Bed, MAGIC, Node, Shape, fetch_chain, run, staking_key, wait_for, wait_for_agreement};

/// Two pools that often make blocks of the same slot: the chain forks all the time, and blocks are taken back.
const SHAPE: Shape = Shape { pools: 2, security_parameter: 5, active_slots: 0.7, epoch_slots: 60, slot_ms: 100 };
const FEE: u64 = 300_000;
const DEPOSIT: u64 = 1_000_000;
const WITHDRAWN: u64 = 7_000_000;
const KEY_DEPOSIT: u64 = 2_500_000;

/// A hard fork, another deposit for keys, a withdrawal from the treasury, and one that nobody votes for.
const ACTIONS: [&[u8]; 4] = [
    &[0x83, 0x01, 0xf6, 0x82, 0x0b, 0x00],
    &[0x84, 0x00, 0xf6, 0xa1, 0x05, 0x1a, 0x00, 0x26, 0x25, 0xa0, 0xf6],
    &withdrawal(),
    &[0x81, 0x06],
];

const VOTES: [&[Voter]; 3] =
    [&[Voter::Committee, Voter::DRep, Voter::Pool], &[Voter::Committee, Voter::DRep], &[Voter::Committee, Voter::DRep]];

/// `[2, {account: WITHDRAWN}, null]`, with the account to be put in.
const fn withdrawal() -> [u8; 40] {
    let mut action = [0xff; 40];
    let (begin, end) = ([0x83, 0x02, 0xa1, 0x58, 0x1d], [0x1a, 0x00, 0x6a, 0xcf, 0xc0, 0xf6]);
    let mut place = 0;
    while place < end.len() {
        if place < begin.len() {
            action[place] = begin[place];
        }
        action[begin.len() + 29 + place] = end[place];
        place += 1;
    }
    action
}

/// A bed in which one pool and its owner decide: the owner is all of the committee, and the only DRep.
fn bed() -> Bed {
    let bed = Bed::with_rewards(SHAPE);
    let owner = hex::encode(blake2b_224(&[staking_key(0).verifying_key().as_bytes()]));
    bed.change_genesis("conway", |conway| {
        conway["committee"] = json!({"members": {format!("keyHash-{owner}"): 200}, "threshold": {"numerator": 1, "denominator": 1}});
        conway["govActionDeposit"] = json!(DEPOSIT);
        conway["dRepDeposit"] = json!(DEPOSIT);
        conway["govActionLifetime"] = json!(2);
        for threshold in conway["poolVotingThresholds"].as_object_mut().unwrap().values_mut() {
            *threshold = json!(0.25);
        }
    });
    bed
}

/// Offers a node what the wallet does next until it is in the chain of all, where forks may take it away; gives the transaction's id.
fn settle(bed: &Bed, nodes: &mut [Node], wallet: &mut Wallet<'_>, act: Act) -> [u8; 32] {
    let mut next = wallet.clone();
    let transaction = next.act(FEE, act);
    wait_for("a transaction in the chain", nodes, |nodes| {
        // It is refused where it is there already.
        run(async {
            let mut client = NodeClient::connect(nodes[0].folder.join("node.socket"), MAGIC).await.ok()?;
            client.submission().submit_tx(EraTx(6, transaction.bytes.clone())).await.ok()
        })?;
        (ids(bed)?.iter().rev().skip(5).any(|ids| ids.contains(&transaction.id))).then_some(())
    });
    *wallet = next;
    transaction.id
}

/// The ids of the transactions of each block of the first node's chain.
fn ids(bed: &Bed) -> Option<Vec<Vec<[u8; 32]>>> {
    let mut decoder = Decoder::new();
    let ids = |bytes: Vec<u8>| {
        let block = decoder.decode(&bytes).ok()?;
        Some(block.transactions.iter().map(|transaction| blake2b_256(&[transaction.body.of(block.bytes)])).collect())
    };
    run(fetch_chain(bed, 0)).into_iter().map(ids).collect()
}

#[test]
fn actions_are_enacted_over_forks_and_ends_of_epochs() {
    let bed = bed();
    let genesis = bed.genesis();
    let mut nodes = vec![bed.start(0, &[1], &[]), bed.start(1, &[0], &[])];
    wait_for_agreement(1, &mut nodes);
    let mut wallet = Wallet::new(&bed, 0);
    let owner = wallet.owner();
    settle(&bed, &mut nodes, &mut wallet, Act::Seats(DEPOSIT));
    let proposal = settle(&bed, &mut nodes, &mut wallet, Act::Proposals(DEPOSIT, &ACTIONS));
    settle(&bed, &mut nodes, &mut wallet, Act::Votes(proposal, &VOTES));
    let voted = nodes[0].tip_slot().unwrap() / SHAPE.epoch_slots;
    // The hard fork comes first, the others an epoch later, and what nobody votes for expires.
    let until = (voted + 6) * SHAPE.epoch_slots;
    wait_for("the epochs of all of it", &mut nodes, |nodes| nodes[0].tip_slot().filter(|slot| *slot > until));
    let number = nodes[0].tip().unwrap().0;
    wait_for_agreement(number + 3, &mut nodes);

    let mut decoder = Decoder::new();
    for node in &nodes {
        let mut state = ChainState::with_accounts(Some(&genesis));
        // By epoch: major version, deposit for keys, deposits, and what the treasury is.
        let mut found: Vec<(u64, u64, u64, u64)> = Vec::new();
        let mut transactions = 0;
        for bytes in run(fetch_chain(&bed, node.number)) {
            let block = decoder.decode(&bytes).unwrap();
            let step = state.step(&block).unwrap();
            step.outcome.result().unwrap();
            assert!(step.resolved.iter().all(|resolved| resolved.fits_accounts == Some(true)), "slot {}", block.header.slot);
            transactions += step.resolved.len();
            let parameters = step.parameters.expect("parameters that are known").shelley;
            let pots = state.stake().unwrap().accounts().expect("accounts that are followed").pots();
            let facts = (parameters.protocol_version.major, parameters.key_deposit, pots.deposits, pots.treasury);
            if found.last().is_none_or(|last| (last.0, last.1, last.2) != (facts.0, facts.1, facts.2)) {
                found.push(facts);
            }
        }
        assert_eq!(transactions, 3);
        let begin = found[0].2;
        let steps: Vec<_> =
            found.iter().map(|(major, key_deposit, deposits, _)| (*major, *key_deposit, (deposits - begin) / DEPOSIT)).collect();
        assert_eq!(
            steps,
            [(10, 2_000_000, 0), (10, 2_000_000, 1), (10, 2_000_000, 5), (11, 2_000_000, 4), (11, KEY_DEPOSIT, 2), (11, KEY_DEPOSIT, 1)]
        );
        let accounts = state.stake().unwrap().accounts().unwrap();
        assert!(accounts.rewards(&owner).unwrap() >= WITHDRAWN + 4 * DEPOSIT);
        let errors = node.errors();
        assert!(!errors.contains("was refused"), "{errors}");
    }
    let forks = nodes.iter().filter(|node| node.log().contains("SwitchedToAFork")).count();
    assert!(forks > 0, "no block was taken back");
    nodes.into_iter().for_each(Node::stop);
}
