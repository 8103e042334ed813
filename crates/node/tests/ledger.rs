//! Nodes with a set of unspent outputs of their own (`--ledger`), killed and started again: the set is that of the chain.

mod bed;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use clap::ValueEnum as _;
use pallas_network::facades::NodeClient;
use pallas_network::miniprotocols::localtxsubmission::{EraTx, Response};
use serde_json::{Value, json};
use slotmark_chain::block::Decoder;
use slotmark_chain::{ChainAppender, Hash32, Point};
use slotmark_praos::state::ChainState;
use slotmark_replay::place::Place;
use slotmark_replay::{Backend, Tip};

use bed::wallet::Wallet;
use bed::{Bed, MAGIC, Node, Shape, ingest, run, wait_for, wait_for_agreement, wait_for_sockets};

const SHAPE: Shape = Shape { pools: 2, security_parameter: 5, active_slots: 0.5, epoch_slots: 50, slot_ms: 100 };
const STORES: [&str; 3] = ["memory", "lsm", "lmdb"];
/// Accounts that earn rewards where the end of an epoch is to take its time.
const DELEGATORS: u64 = 50_000;
/// Times that each node with a set on disk is killed.
const KILLS: u64 = 5;

fn backend(name: &str) -> Backend {
    Backend::from_str(name, false).unwrap()
}

fn folder(bed: &Bed, number: usize, store: &str) -> PathBuf {
    bed.folder.path().join(format!("node-{number}/db/ledger/{store}"))
}

/// The tip and the digest of a set on disk.
fn of_set(folder: &Path, store: &str) -> (Tip, Hash32) {
    let set = backend(store).open(&folder.join("set")).unwrap();
    (set.tip().unwrap(), set.digest().unwrap())
}

/// The digest of the unspent outputs that a node's settled blocks make of the genesis, all in memory, up to a tip; and their number without the genesis's.
fn of_chain(bed: &Bed, number: usize, tip: Tip) -> (Hash32, usize) {
    let genesis = bed.genesis();
    let mut state = ChainState::new(Some(&genesis));
    // As the node opens it: what a kill left at the end is cut off.
    let chain = ChainAppender::open(bed.folder.path().join(format!("node-{number}/db/immutable")), 10 * SHAPE.security_parameter).unwrap();
    let last = chain.find(&Point::Block { slot: tip.slot, hash: tip.hash }).expect("a settled block");
    let mut decoder = Decoder::new();
    for index in 0..=last {
        let bytes = chain.block(index).unwrap();
        let block = decoder.decode(&bytes).unwrap();
        let body_bytes = u64::from(block.body.end - block.body.start);
        state.step(&block.header, body_bytes, Some(&block)).unwrap().outcome.result().unwrap();
    }
    let mut outputs: Vec<_> =
        state.stake().unwrap().all_unspent().map(|(id, index, entry)| (Place::new(&id, index).unwrap(), entry)).collect();
    outputs.sort_by_key(|(place, _)| *place);
    let of_genesis: Vec<Hash32> = genesis.outputs().map(|(id, _)| id).collect();
    let added = outputs.iter().filter(|(place, _)| !of_genesis.contains(place.0.first_chunk().unwrap())).count();
    let mut set = backend("memory").open(Path::new("")).unwrap();
    set.fill(&mut outputs.into_iter(), tip).unwrap();
    (set.digest().unwrap(), added)
}

/// Submits a transaction to a node: one that spends what the newest of the accepted ones made, or, where a fork took that away, an earlier one.
/// Accepted are the wallets that spent them, from the genesis's on; as they were where the node takes nothing or can't be reached.
fn submit(node: &Node, accepted: &mut Vec<Wallet<'_>>) {
    run(async {
        let Ok(mut client) = NodeClient::connect(node.folder.join("node.socket"), MAGIC).await else { return };
        for kept in (1..=accepted.len()).rev() {
            let mut next = accepted[kept - 1].clone();
            match client.submission().submit_tx(EraTx(6, next.spend(200_000, 0).bytes)).await {
                Ok(Response::Accepted) => {
                    accepted.truncate(kept);
                    accepted.push(next);
                    return;
                }
                Ok(_) => {}
                Err(_) => return,
            }
        }
    });
}

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
    let path = bed.genesis_path();
    let mut shelley: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    (shelley["protocolParams"]["tau"], shelley["protocolParams"]["rho"]) = (json!(0.2), json!(0.003));
    let pool = shelley["staking"]["pools"].as_object().unwrap().keys().next().unwrap().clone();
    for number in 0..DELEGATORS {
        shelley["staking"]["stake"][format!("{number:056x}")] = json!(pool);
        shelley["initialFunds"][format!("00{number:056x}{number:056x}")] = json!(1_000_000_000);
    }
    fs::write(&path, shelley.to_string()).unwrap();
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

/// Runs a node that can't start; gives its line.
fn refusal(bed: &Bed, store: &str) -> String {
    let mut node = bed.start(1, &[], &["--ledger", store]);
    let status = node.child.wait().unwrap();
    assert_eq!(status.code(), Some(2), "{}", node.errors());
    let errors = node.errors();
    errors.lines().last().unwrap_or_default().replace(&format!("{}/", bed.folder.path().display()), "")
}

#[test]
fn a_folder_that_is_no_set_of_this_chain_is_refused() {
    for store in &STORES[1..] {
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

#[test]
fn a_full_disk_ends_a_node_with_a_line_and_loses_nothing() {
    for store in &STORES[1..] {
        let bed = Bed::new(SHAPE);
        let place = bed.folder.path().join("node-1/db/ledger");
        fs::create_dir_all(&place).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=100m", "none"]).arg(&place).status();
        if !mounted.is_ok_and(|status| status.success()) {
            eprintln!("skipped: no file system can be mounted here");
            return;
        }
        let _mount = Mount(&place);
        let filler = place.join("filler");
        let fill = || assert!(std::io::copy(&mut std::io::repeat(7), &mut fs::File::create(&filler).unwrap()).is_err());
        // Full from the beginning on.
        fill();
        let line = refusal(&bed, store);
        assert!(line.starts_with(&format!("slotmark-node: db/ledger/{store}")) && line.contains("No space left"), "{line}");
        fs::remove_file(&filler).unwrap();
        let mut nodes = vec![bed.start(1, &[], &["--ledger", store])];
        wait_for("a settled block", &mut nodes, |nodes| nodes[0].tip().filter(|tip| tip.0 > 8));
        let mut node = nodes.remove(0);
        fill();
        // An LSM tree grows with each block. LMDB takes up the pages again that it has, and may go on.
        let goes_on = |node: &mut Node| {
            let from = node.tip().map_or(0, |tip| tip.0);
            loop {
                match (node.child.try_wait().unwrap(), node.tip()) {
                    (Some(status), _) => return Err(status),
                    (None, Some(tip)) if *store != "lsm" && tip.0 > from + 12 => return Ok(()),
                    _ => thread::sleep(Duration::from_millis(50)),
                }
            }
        };
        let ended = goes_on(&mut node);
        fs::remove_file(&filler).unwrap();
        if let Err(status) = ended {
            assert_eq!(status.code(), Some(2), "{store}: {status}: {}", node.errors());
            let errors = node.errors();
            let line = errors.lines().last().unwrap_or_default();
            assert!(line.starts_with(&format!("slotmark-node: db/ledger/{store}: the set of unspent outputs can't be")), "{errors}");
            let mut nodes = vec![bed.start(1, &[], &["--ledger", store])];
            wait_for_sockets(&mut nodes);
            node = nodes.remove(0);
        }
        node.stop();
        let (tip, digest) = of_set(&folder(&bed, 1, store), store);
        assert_eq!(digest, of_chain(&bed, 1, tip).0, "{store}");
    }
}

/// A file system that goes with this.
struct Mount<'p>(&'p Path);

impl Drop for Mount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
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
