//! Nodes with a set of unspent outputs of their own (`--ledger`), killed and started again: the set is that of the chain.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::bed::sets::{ON_DISK, folder, of_chain, of_set, refusal};
use crate::bed::wallet::{Wallet, submit};
use crate::bed::{Bed, Node, Shape, ingest, wait_for, wait_for_agreement, wait_for_sockets};

const SHAPE: Shape = Shape { pools: 2, security_parameter: 5, active_slots: 0.5, epoch_slots: 50, slot_ms: 100 };
/// Accounts that earn rewards where the end of an epoch is to take its time.
const DELEGATORS: u64 = 50_000;
/// Times that each node with a set on disk is killed.
const KILLS: u64 = 5;

#[test]
fn a_set_is_that_of_the_chain_wherever_the_node_is_killed() {
    let bed = Bed::new(SHAPE);
    // The second pool's node keeps its set in memory, and is never killed. The others: a producer and a follower.
    let places = [(0, "lsm", [1]), (2, "lmdb", [1])];
    let start = |(number, store, knows): (usize, &str, [usize; 1])| bed.start(number, &knows, &["--ledger", store]);
    let mut nodes = vec![bed.start(1, &[0], &["--ledger", "memory"]), start(places[0]), start(places[1])];
    wait_for_sockets(&mut nodes);
    let mut accepted = vec![Wallet::new(&bed, 1)];
    let mut draw = 0x9e37_79b9_7f4a_7c15u64;
    let (mut changed, mut tips) = (0, Vec::new());
    for _ in 0..KILLS {
        for (index, place) in places.iter().enumerate() {
            // A number of the generator by Marsaglia: some moments between blocks, some in the middle of work on one.
            draw ^= draw << 13;
            draw ^= draw >> 7;
            draw ^= draw << 17;
            for _ in 0..5 {
                submit(&nodes[0], &mut accepted);
                std::thread::sleep(Duration::from_micros(draw % 400_000));
            }
            nodes.remove(1 + index).kill();
            let (tip, digest) = of_set(&folder(&bed, place.0, place.1), place.1);
            if tip.hash != [0; 32] {
                let (expected, added) = of_chain(&bed, place.0, tip);
                assert_eq!(digest, expected, "node-{} at slot {}", place.0, tip.slot);
                changed = changed.max(added);
                tips.push((place.0, tip.slot, digest));
            }
            nodes.insert(1 + index, start(*place));
        }
    }
    assert!(changed > 0, "no transaction was settled");
    assert!(tips.windows(2).any(|two| two[0].2 != two[1].2), "all sets are the same: {tips:?}");
    let number = nodes[0].tip().unwrap().0;
    wait_for_agreement(number + 3, &mut nodes);
    let log = nodes[1].log();
    nodes.into_iter().for_each(Node::stop);
    for (number, store, _) in places {
        let (tip, digest) = of_set(&folder(&bed, number, store), store);
        assert_eq!(digest, of_chain(&bed, number, tip).0);
    }
    // A snapshot when it ends, and others before.
    assert!(log.contains(r#""ns":"ChainDB.LedgerEvent.Snapshot.TookSnapshot","data":{"enclosedTime":{"tag":"RisingEdge"}"#));
    ingest(&bed, &[0, 1, 2]);
}

/// A bed with so many delegators who earn rewards that the end of an epoch takes its time.
fn bed_of_long_boundaries() -> Bed {
    let bed = Bed::new(Shape { epoch_slots: 40, ..SHAPE });
    bed.change_genesis("shelley", |shelley| {
        (shelley["protocolParams"]["tau"], shelley["protocolParams"]["rho"]) = (json!(0.2), json!(0.003));
        let pool = shelley["staking"]["pools"].as_object().unwrap().keys().next().unwrap().clone();
        for number in 0..DELEGATORS {
            shelley["staking"]["stake"][format!("{number:056x}")] = json!(pool);
            shelley["initialFunds"][format!("00{number:056x}{number:056x}")] = json!(1_000_000_000);
        }
    });
    bed
}

/// The slot and the name of the last line of the leadership check.
fn last_check(node: &Node) -> Option<(u64, String)> {
    node.log().lines().rev().find_map(|line| {
        let line: Value = serde_json::from_str(line).ok()?;
        let name = line["ns"].as_str()?.strip_prefix("Forge.Loop.")?.to_owned();
        Some((line["data"]["slot"].as_u64()?, name))
    })
}

#[test]
fn a_set_is_that_of_the_chain_where_the_node_is_killed_in_the_middle_of_an_epoch_boundary() {
    let bed = bed_of_long_boundaries();
    let start = || bed.start(1, &[0], &["--ledger", "lsm"]);
    let mut nodes = vec![bed.start(0, &[1], &[]), start()];
    wait_for_sockets(&mut nodes);
    let epoch = |slot: u64| slot / 40;
    let mut hits = 0;
    for _ in 0..3 {
        // The state of the ledger is looked up before the end of the epoch is worked out, and its view is there behind it.
        let before = nodes[1].tip_slot().map_or(0, epoch);
        let reached = |nodes: &[Node]| last_check(&nodes[1]).filter(|(slot, name)| epoch(*slot) > before && name == "LedgerState");
        wait_for("the end of an epoch", &mut nodes, reached);
        let node = nodes.pop().unwrap();
        let log = node.folder.join("stdout");
        node.kill();
        hits += usize::from(fs::read_to_string(log).unwrap().lines().last().is_some_and(|line| line.contains("Forge.Loop.LedgerState")));
        let (tip, digest) = of_set(&folder(&bed, 1, "lsm"), "lsm");
        if tip.hash != [0; 32] {
            assert_eq!(digest, of_chain(&bed, 1, tip).0, "slot {}", tip.slot);
        }
        nodes.push(start());
        wait_for("the node to be back", &mut nodes, |nodes| nodes[1].tip_slot().filter(|slot| epoch(*slot) > before));
    }
    assert!(hits > 0, "no kill was in the middle of a boundary");
    let number = nodes[0].tip().unwrap().0;
    wait_for_agreement(number + 3, &mut nodes);
    assert!(nodes.iter().all(|node| !node.errors().contains("was refused")));
    nodes.into_iter().for_each(Node::stop);
}

#[test]
fn a_folder_that_is_no_set_of_this_chain_is_refused() {
    for store in ON_DISK {
        let bed = Bed::new(SHAPE);
        let mut nodes = vec![bed.start(1, &[], &["--ledger", store])];
        wait_for("a settled block", &mut nodes, |nodes| nodes[0].tip().filter(|tip| tip.0 > 8));
        nodes.remove(0).stop();
        let place = folder(&bed, 1, store);
        let saved = bed.folder.path().join("saved");
        copy(&place, &saved);
        let restore = || {
            fs::remove_dir_all(&place).unwrap();
            copy(&saved, &place);
        };
        // As it is, it is taken.
        let mut nodes = vec![bed.start(1, &[], &["--ledger", store])];
        wait_for_sockets(&mut nodes);
        nodes.remove(0).kill();
        restore();

        let marker = place.join("made-of.json");
        let text = fs::read_to_string(&marker).unwrap();
        let hash = hex::encode(bed.genesis().hash);
        fs::write(&marker, text.replace(&hash, &"0".repeat(64))).unwrap();
        assert!(refusal(&bed, store).contains("a set of unspent outputs of another bed"));
        fs::write(&marker, text.replace("\"schema\":1", "\"schema\":9")).unwrap();
        assert!(refusal(&bed, store).contains("a set of unspent outputs of version 9"));
        fs::write(&marker, &text[..text.len() / 2]).unwrap();
        assert!(refusal(&bed, store).contains("Remove the folder"));
        restore();
        // A file that is cut.
        let (path, bytes) = largest(&place.join("set"));
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(bytes / 2).unwrap();
        let line = refusal(&bed, store);
        assert!(line.contains("node-1/db/ledger") || line.contains("db/ledger"), "{line}");
        assert!(line.contains("Remove the folder"), "{line}");
        restore();
        // A chain that the set is ahead of.
        fs::remove_dir_all(bed.folder.path().join("node-1/db/immutable")).unwrap();
        fs::remove_dir_all(bed.folder.path().join("node-1/db/volatile")).unwrap();
        assert!(refusal(&bed, store).contains("which the chain doesn't have"));
        fs::remove_dir_all(&place).unwrap();
        let mut nodes = vec![bed.start(1, &[], &["--ledger", store])];
        wait_for_sockets(&mut nodes);
    }
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
}

/// The largest file of a folder that has something in it, and its bytes.
fn largest(folder: &Path) -> (PathBuf, u64) {
    let mut pending = vec![folder.to_path_buf()];
    let mut found = Vec::new();
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let entry = entry.unwrap();
            let facts = entry.metadata().unwrap();
            if facts.is_dir() { pending.push(entry.path()) } else { found.push((facts.len(), entry.path())) }
        }
    }
    let (bytes, path) = found.into_iter().max().unwrap();
    (path, bytes)
}
