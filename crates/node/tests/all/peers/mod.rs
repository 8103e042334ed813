//! Other implementations on both sides of a node. It follows the chain of a server on pallas-network or gouroboros, which turns
//! to another fork, and their clients follow the node, between nodes and on its socket.

mod forks;
mod gouroboros;
mod pallas;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use serde_json::{Value, json};
use slotmark_chain::Chain;
use slotmark_chain::hash::blake2b_256;
use slotmark_praos::check::check_chain;

use crate::bed::{Node, fetch_chain, run, wait_for, wait_for_sockets};
use forks::Forks;
use gouroboros::Programs;

/// The node, and its peer's number in addresses.
const NODE: usize = 0;
const PEER: usize = 1;

/// Waits until a node's tip is the last of these blocks.
fn wait_for_tip(nodes: &mut [Node; 1], blocks: &[Vec<u8>]) {
    let header = slotmark_chain::block::decode_header(blocks.last().unwrap()).unwrap();
    let expected = Some((header.block_no as i64, hex::encode(header.hash)));
    wait_for("the peer's tip", nodes, |nodes| (nodes[0].tip() == expected).then_some(()));
}

/// Checks that a node that has ended keeps this chain: what it settled, and all that it serves when it is started again.
fn check_kept(forks: &Forks, chain: &[Vec<u8>]) {
    let bed = &forks.bed;
    let settled = Chain::open(bed.folder.path().join(format!("node-{NODE}/db/immutable"))).unwrap();
    let report = check_chain(&settled, Some(&bed.genesis()), &mut |_, _| ControlFlow::Continue(())).unwrap();
    assert_eq!((report.failed_blocks, report.failures), (0, vec![]));
    assert_eq!(settled.len(), chain.len() - bed.shape.security_parameter as usize);
    assert!((0..settled.len()).all(|index| settled.bytes(index) == chain[index]));
    drop(settled);
    let mut nodes = [bed.start(NODE, &[], &[])];
    wait_for_sockets(&mut nodes);
    assert!(run(fetch_chain(bed, NODE)) == chain);
    nodes.into_iter().for_each(Node::stop);
}

#[test]
fn a_server_and_clients_on_pallas_agree_with_the_node() {
    let forks = Forks::new();
    let server = pallas::Server::start((forks.bed.address(PEER), 3001), &forks);
    let mut nodes = [forks.bed.start(NODE, &[PEER], &[])];
    wait_for_sockets(&mut nodes);
    let clients = [
        pallas::Client::between_nodes(format!("{}:3001", forks.bed.address(NODE))),
        pallas::Client::local(nodes[0].folder.join("node.socket")),
    ];
    wait_for_tip(&mut nodes, &forks.first);
    for client in &clients {
        wait_for("a client at the first fork's tip", &mut nodes, |_| client.has(forks.first.last().unwrap()).then_some(()));
    }
    server.turn();
    wait_for_tip(&mut nodes, &forks.second);
    for client in &clients {
        wait_for("a client at the second fork's tip", &mut nodes, |_| client.has(forks.second.last().unwrap()).then_some(()));
    }
    assert_eq!(nodes[0].errors(), "");
    nodes.into_iter().for_each(Node::stop);
    let expected = forks.seen();
    for client in clients {
        assert!(client.end() == expected);
    }
    drop(server);
    check_kept(&forks, &forks.second);
}

#[test]
fn a_server_and_clients_on_gouroboros_agree_with_the_node() {
    let Some(programs) = Programs::build() else {
        println!("SKIPPED: go is not here");
        return;
    };
    let forks = Forks::new();
    let mut server = programs.serve((forks.bed.address(PEER), 3001), &forks);
    let mut nodes = [forks.bed.start(NODE, &[PEER], &[])];
    wait_for_sockets(&mut nodes);
    let socket = nodes[0].folder.join("node.socket");
    let clients = [
        programs.follow(&["--mode", "fetch", "--address", &format!("{}:3001", forks.bed.address(NODE))]),
        programs.follow(&["--mode", "raw", "--socket", socket.to_str().unwrap()]),
    ];
    let expected = forks.digests();
    wait_for_tip(&mut nodes, &forks.first);
    for client in &clients {
        wait_for("a client at the first fork's tip", &mut nodes, |_| (client.blocks() >= forks.first.len()).then_some(()));
    }
    server.turn();
    wait_for_tip(&mut nodes, &forks.second);
    for client in &clients {
        wait_for("a client at the second fork's tip", &mut nodes, |_| (client.blocks() >= expected.len()).then_some(()));
    }
    let unspent = forks.unspent();
    let answers = programs.ask(&socket, &unspent.0);
    assert_eq!(nodes[0].errors(), "");
    for client in clients {
        assert_eq!(client.end(), expected);
    }
    assert_eq!(server.end(), "");
    nodes.into_iter().for_each(Node::stop);
    check_answers(&forks, &unspent, &answers);
    check_kept(&forks, &forks.second);
}

/// Holds answers to gouroboros's client against the chain, its genesis files and its recipe.
fn check_answers(forks: &Forks, (address, lovelace): &(Vec<u8>, u64), answers: &Value) {
    let tip = slotmark_chain::block::decode_header(forks.second.last().unwrap()).unwrap();
    assert_eq!((&answers["era"], &answers["number"]), (&json!(6), &json!(tip.block_no)));
    assert_eq!(answers["epoch"], json!(tip.slot / forks.bed.shape.epoch_slots));
    assert_eq!(answers["point"]["Slot"], json!(tip.slot));
    // slotmark_network::shelley::SYSTEM_START is 2025-01-01T00:00:00Z.
    assert_eq!(answers["start"], json!({"year": "2025", "day": 1, "picoseconds": "0"}));

    // 3k/f slots behind the tip are safe, and the epoch that they end in.
    let history = answers["history"].as_array().unwrap();
    let (epoch, stability) = (forks.bed.shape.epoch_slots, 3 * 12 * 20);
    let end = (tip.slot + 1 + stability).div_ceil(epoch);
    let bound = |epochs: u64| json!({"Timespan": epochs * epoch * 1_000_000_000_000, "SlotNo": epochs * epoch, "EpochNo": epochs});
    let parameters = |epoch: u64, slot: u64, safe: u64| {
        let zone = json!({"Dummy1": 0, "Value": safe, "Dummy2": [0]});
        json!({"EpochLength": epoch, "SlotLength": slot, "SlotsPerKESPeriod": zone, "Unknown": safe})
    };
    let era = |end: u64, parameters: Value| json!({"Begin": bound(0), "End": bound(end), "Params": parameters});
    let later = parameters(epoch, 1_000, stability);
    let mut expected = vec![era(0, later.clone()); 5];
    expected.insert(0, era(0, parameters(10 * 12, 20_000, 2 * 12)));
    expected.push(era(end, later));
    assert_eq!(*history, expected);

    let parameters = &answers["parameters"];
    assert_eq!((&parameters["MinFeeA"], &parameters["MinFeeB"]), (&json!(44), &json!(155_381)));
    assert_eq!((&parameters["MaxBlockBodySize"], &parameters["AdaPerUtxoByte"]), (&json!(90_112), &json!(4_310)));
    assert_eq!(parameters["MaxTxExUnits"], json!({"memory": 14_000_000, "steps": 10_000_000_000_u64}));
    assert_eq!((&parameters["ProtocolVersion"], &parameters["DRepInactivityPeriod"]), (&json!({"Major": 10, "Minor": 0}), &json!(20)));

    let place = format!("{}#0", hex::encode(blake2b_256(&[address])));
    assert_eq!((&answers["at address"], &answers["by input"]), (&json!({&place: lovelace.to_string()}), &answers["at address"]));

    let pools: BTreeSet<String> = forks.bed.genesis().pools.iter().map(|(id, _)| hex::encode(id)).collect();
    let stake = answers["stake"].as_object().unwrap();
    assert_eq!(stake.keys().cloned().collect::<BTreeSet<_>>(), pools);
    let shares = stake.values().map(|share| {
        let (numerator, denominator) = share.as_str().unwrap().split_once('/').unwrap();
        numerator.parse::<f64>().unwrap() / denominator.parse::<f64>().unwrap()
    });
    // Nearly all of it delegates.
    let sum: f64 = shares.sum();
    assert!((0.99..=1.0).contains(&sum), "{stake:?}");
}
