//! Real nodes on this machine, over real sockets: they agree on a chain, and the chain is valid.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

use ed25519_dalek::SigningKey;
use serde_json::Value;
use slotmark_chain::Chain;
use slotmark_chain::hash::blake2b_224;
use slotmark_praos::check::check_chain;

use crate::bed::{Bed, Node, Shape, certificate_number, ingest, wait_for, wait_for_agreement};

const SHAPE: Shape = Shape { pools: 3, security_parameter: 20, active_slots: 0.5, epoch_slots: 400, slot_ms: 200 };

/// Checks what a node settled, whole; gives each block's slot and hash.
fn check_settled(bed: &Bed, number: usize) -> Vec<(u64, [u8; 32])> {
    let chain = Chain::open(bed.folder.path().join(format!("node-{number}/db/immutable"))).unwrap();
    let report = check_chain(&chain, Some(&bed.genesis()), &mut |_, _| ControlFlow::Continue(())).unwrap();
    assert_eq!((report.failed_blocks, report.failures), (0, vec![]));
    (0..chain.len()).map(|index| (chain.entry(index).slot, chain.entry(index).hash)).collect()
}

#[test]
fn three_nodes_agree_on_a_valid_chain_over_the_ends_of_epochs() {
    // As short as epochs can be: an epoch has more than 4k/f slots, here 96.
    let bed = Bed::new(Shape { security_parameter: 12, epoch_slots: 100, slot_ms: 100, ..SHAPE });
    let mut nodes = bed.start_all(&[]);
    let second_end = 2 * bed.shape.epoch_slots;
    let number = wait_for("a block behind the end of the second epoch", &mut nodes, |nodes| {
        let node = nodes.iter().find(|node| node.tip_slot().is_some_and(|slot| slot >= second_end))?;
        Some(node.tip()?.0)
    });
    // Enough more that the third epoch has settled blocks on every fork that there may be.
    wait_for_agreement(number + bed.shape.security_parameter as i64 + 10, &mut nodes);
    check_certificate_numbers(&nodes);
    nodes.into_iter().for_each(Node::stop);
    let settled: Vec<Vec<(u64, [u8; 32])>> = (0..3).map(|number| check_settled(&bed, number)).collect();
    let least = settled.iter().map(Vec::len).min().unwrap();
    assert!(settled.iter().all(|chain| chain[..least] == settled[0][..least]));
    let epochs: BTreeSet<u64> = settled[0][..least].iter().map(|(slot, _)| slot / bed.shape.epoch_slots).collect();
    assert!(epochs.is_superset(&BTreeSet::from([0, 1, 2])), "{epochs:?}");
    ingest(&bed, &[0, 1, 2]);
}

/// Checks that each line of a selection has the number of the certificate of the pool that made the tip.
fn check_certificate_numbers(nodes: &[Node]) {
    let numbers = (1..=SHAPE.pools as u8).map(|pool| {
        let cold_key = SigningKey::from_bytes(&[pool; 32]).verifying_key().to_bytes();
        (hex::encode(blake2b_224(&[&cold_key])), certificate_number(pool))
    });
    let numbers: HashMap<String, u64> = numbers.collect();
    for line in nodes.iter().map(Node::log).collect::<String>().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let view = &line["data"]["newTipSelectView"];
        if let Some(issuer) = view["issuerHash"].as_str() {
            assert_eq!(view["issueNo"].as_u64(), Some(numbers[issuer]), "{line}");
        }
    }
}

#[test]
fn a_killed_node_comes_back_with_its_chain() {
    let bed = Bed::new(SHAPE);
    let mut nodes = bed.start_all(&[]);
    wait_for_agreement(30, &mut nodes);
    nodes.remove(0).kill();
    let (number, _) = nodes[0].tip().unwrap();
    wait_for("ten more blocks of the others", &mut nodes, |nodes| {
        nodes.iter().all(|node| node.tip().unwrap().0 >= number + 10).then_some(())
    });
    // Torn ends, as a process that is killed while it writes leaves them.
    let db = bed.folder.path().join("node-0/db");
    for folder in ["immutable", "volatile"] {
        let mut files: Vec<_> = std::fs::read_dir(db.join(folder)).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        let last = files.iter().rev().find(|path| path.extension().is_some_and(|kind| kind == "chunk" || kind == "log")).unwrap();
        let mut bytes = std::fs::read(last).unwrap();
        bytes.extend([0, 0, 1, 0, 0x82, 0x07]);
        std::fs::write(last, bytes).unwrap();
    }
    std::fs::remove_file(bed.folder.path().join("node-0/stdout")).unwrap();
    nodes.push(bed.start(0, &[1, 2], &[]));
    let reached = wait_for_agreement(number + 15, &mut nodes);
    // It asked for no block that it had.
    let fetched = nodes[2].log().lines().filter(|line| line.contains("CompletedBlockFetch")).count() as i64;
    assert!(fetched <= reached - 30 + 1 + 20, "{fetched} blocks fetched up to block {reached}");
    nodes.into_iter().for_each(Node::stop);
    check_settled(&bed, 0);
    ingest(&bed, &[0, 1, 2]);
}

#[test]
fn a_fork_is_resolved_when_its_sides_meet() {
    // So large a k that nothing is settled on either side, however long the sides are apart.
    let bed = Bed::new(Shape { pools: 4, security_parameter: 2_000, epoch_slots: 40_000, ..SHAPE });
    let mut nodes = vec![bed.start(0, &[1], &[]), bed.start(1, &[0], &[]), bed.start(2, &[3], &[]), bed.start(3, &[2], &[])];
    wait_for("a fork of five blocks on each side", &mut nodes, |nodes| {
        let tips: Vec<_> = nodes.iter().map(Node::tip).collect::<Option<_>>()?;
        (tips.iter().all(|tip| tip.0 >= 5) && tips[0] == tips[1] && tips[2] == tips[3] && tips[0] != tips[2]).then_some(())
    });
    // A node that makes no blocks joins the sides.
    nodes.push(bed.start(4, &[0, 2], &[]));
    nodes.remove(1).kill();
    nodes.push(bed.start(1, &[0, 4], &[]));
    nodes.remove(1).kill();
    nodes.push(bed.start(2, &[3, 4], &[]));
    let number = nodes.iter().filter_map(Node::tip).map(|(number, _)| number).max().unwrap();
    wait_for_agreement(number + 5, &mut nodes);
    nodes.into_iter().for_each(Node::stop);
    ingest(&bed, &[0, 1, 2, 3, 4]);
}

#[test]
fn planted_faults_do_not_break_the_chain() {
    let bed = Bed::new(SHAPE);
    let mut nodes = bed.start_all(&[
        "--delay",
        "adopt=5ms",
        "--delay",
        "fetch=5ms",
        "--delay",
        "forge=5ms",
        "--drop-block",
        "30%",
        "--leak",
        "64KiB/s",
    ]);
    wait_for_agreement(30, &mut nodes);
    nodes.into_iter().for_each(Node::stop);
    check_settled(&bed, 1);
}
