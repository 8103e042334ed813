//! One who opens many connections and sends requests without waiting: what it gets, and what honest peers still get.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use serde_json::Value;
use slotmark_wire::handshake;
use slotmark_wire::mux::frame;
use slotmark_wire::protocols::{block_fetch, chain_sync, keep_alive};

use crate::bed::{Bed, DEADLINE, MAGIC, Node, Shape, wait_for, wait_for_agreement, wait_for_sockets};

const SHAPE: Shape = Shape { pools: 2, security_parameter: 40, active_slots: 0.5, epoch_slots: 800, slot_ms: 200 };
/// The pool whose node is attacked, and the other.
const VICTIM: usize = 0;
const HONEST: usize = 1;
/// The attack that was found: silent connections, this many, and requests of this many bytes over another one.
const IDLE: usize = 1_500;
const FLOOD_BYTES: usize = 2_400_000;

/// A connection from an address of this machine's own network, after its handshake; None where the node closes it.
fn knock(victim: SocketAddr, from: Ipv4Addr) -> Option<TcpStream> {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddr::from((from, 0))).unwrap();
    connect(&socket, &victim).ok()?;
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let mut wire = Vec::new();
    // Version 14, on this network, as one who only initiates.
    frame(&mut wire, handshake::NUMBER, false, &[&[0x82, 0, 0xa1, 14, 0x84, 0x18, MAGIC as u8, 0xf5, 0, 0xf4]]);
    stream.write_all(&wire).ok()?;
    let mut answer = [0; 64];
    match stream.read(&mut answer) {
        Ok(count) if count > 8 && answer[8..10] == [0x83, 1] => Some(stream),
        _ => None,
    }
}

/// An address of the attacker's own.
fn attacker(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 251, 1, number)
}

fn address(bed: &Bed, number: usize) -> SocketAddr {
    (bed.address(number), 3001).into()
}

/// Requests for headers from the origin on, of this many bytes in all.
fn requests(bytes: usize) -> Vec<u8> {
    let mut wire = Vec::new();
    frame(&mut wire, chain_sync::BETWEEN_NODES, false, &[&[0x82, 4, 0x81, 0x80]]);
    while wire.len() < bytes {
        frame(&mut wire, chain_sync::BETWEEN_NODES, false, &[&[0x81, 0].repeat(6_000)]);
    }
    wire
}

/// Returns whether the other end closes a connection in time; what it sends before is read.
fn is_closed(stream: &mut TcpStream) -> bool {
    let began = Instant::now();
    while began.elapsed() < DEADLINE {
        match stream.read(&mut [0; 65_536]) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == ErrorKind::ConnectionReset,
        }
    }
    false
}

/// The blocks that a node adopted, oldest first: hash, and time in ns since 1970.
fn adopted(node: &Node) -> Vec<(String, i64)> {
    times(node, |data| data["newtip"].as_str().map(|tip| tip[..64].to_owned()))
}

/// The blocks that a node forged.
fn forged(node: &Node) -> Vec<(String, i64)> {
    times(node, |data| (data["kind"] == "TraceForgedBlock").then(|| data["block"].as_str().unwrap_or_default().to_owned()))
}

fn times(node: &Node, block: impl Fn(&Value) -> Option<String>) -> Vec<(String, i64)> {
    let log = node.log();
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter_map(|line| Some((block(&line["data"])?, slotmark_tracelog::parse_time(line["at"].as_str()?.as_bytes())?))).collect()
}

fn pair(bed: &Bed, options: &[&str]) -> [Node; 2] {
    let mut nodes = [bed.start(VICTIM, &[HONEST], options), bed.start(HONEST, &[VICTIM], &[])];
    wait_for_agreement(5, &mut nodes);
    nodes
}

#[test]
fn connections_of_others_are_counted_and_those_of_the_topology_always_have_a_place() {
    let bed = Bed::new(SHAPE);
    let mut node = bed.start(VICTIM, &[HONEST], &["--max-connections", "6", "--max-connections-per-address", "4"]);
    wait_for_sockets(std::slice::from_mut(&mut node));
    let victim = address(&bed, VICTIM);
    let mut held: Vec<TcpStream> = (0..4).map(|_| knock(victim, attacker(1)).expect("a place")).collect();
    assert!(knock(victim, attacker(1)).is_none(), "a fifth from one address");
    held.extend((0..2).map(|_| knock(victim, attacker(2)).expect("a place")));
    assert!(knock(victim, attacker(3)).is_none(), "a seventh in all");
    wait_for("the reason", std::slice::from_mut(&mut node), |nodes| {
        nodes[0].errors().contains("connections are refused: 4 are open from 127.251.1.1, --max-connections-per-address").then_some(())
    });
    let mut nodes = [node, bed.start(HONEST, &[VICTIM], &[])];
    wait_for_agreement(3, &mut nodes);
    // A silent connection is closed, and its place is free again.
    assert!(held.iter_mut().all(is_closed));
    assert!(nodes[VICTIM].errors().contains("no message after the handshake within 5s"), "{}", nodes[VICTIM].errors());
    wait_for("a place", &mut nodes, |_| knock(victim, attacker(1)));
    nodes.into_iter().for_each(Node::stop);
}

#[test]
fn who_does_not_wait_for_answers_is_dropped_and_honest_peers_are_served_in_between() {
    let bed = Bed::new(SHAPE);
    let mut nodes = pair(&bed, &[]);
    let victim = address(&bed, VICTIM);
    let find = [0x82, 4, 0x81, 0x80];
    let ranges = [&[0x83, 0, 0x80, 0x80][..]; 200].concat();
    for (number, message, words) in [
        (chain_sync::BETWEEN_NODES, [0x81, 0].repeat(1_500), "more than 1000 requests for headers without waiting for answers"),
        (chain_sync::BETWEEN_NODES, [find, find].concat(), "a request for an intersection before the answer to the last"),
        (chain_sync::BETWEEN_NODES, [0x81, 7].repeat(10), "protocols that end and begin without a pause"),
        (block_fetch::NUMBER, ranges, "more than 100 requests for blocks without waiting for answers"),
        (keep_alive::NUMBER, [0x82, 0, 1].repeat(2), "a request of keep-alive before the answer to the last"),
    ] {
        let mut stream = knock(victim, attacker(1)).expect("a place");
        let mut wire = Vec::new();
        frame(&mut wire, number, false, &[&message]);
        stream.write_all(&wire).unwrap();
        assert!(is_closed(&mut stream), "{words}");
        wait_for(words, &mut nodes[..1], |nodes| nodes[0].errors().contains(words).then_some(()));
    }
    // As many as an honest client has are answered, all of them: the headers of the chain, however few of them are at the core at once.
    let mut stream = knock(victim, attacker(2)).expect("a place");
    let mut wire = Vec::new();
    frame(&mut wire, chain_sync::BETWEEN_NODES, false, &[&find, &[0x81, 0].repeat(300)]);
    stream.write_all(&wire).unwrap();
    let mut answered = 0;
    while answered < 20 * 800 {
        answered += stream.read(&mut [0; 65_536]).expect("headers");
    }
    // Meanwhile others flood.
    let floods: Vec<_> = (3..13)
        .map(|number| {
            std::thread::spawn(move || {
                for _ in 0..20 {
                    let Some(mut stream) = knock(victim, attacker(number)) else { continue };
                    let _ = stream.write_all(&requests(FLOOD_BYTES / 10));
                    is_closed(&mut stream);
                }
            })
        })
        .collect();
    let (number, _) = nodes[HONEST].tip().unwrap();
    wait_for_agreement(number + 10, &mut nodes);
    floods.into_iter().for_each(|flood| flood.join().unwrap());
    nodes.into_iter().for_each(Node::stop);
}

/// Returns how long blocks of one node took to be adopted by the other in this time, in ms: the typical and the longest, both ways.
fn delays(nodes: &mut [Node; 2], work: impl FnOnce() -> Vec<TcpStream>) -> [(f64, f64); 2] {
    let known = [forged(&nodes[0]).len(), forged(&nodes[1]).len()];
    let held = work();
    std::thread::sleep(Duration::from_secs(20));
    let until = [forged(&nodes[0]), forged(&nodes[1])];
    drop(held);
    let (number, _) = nodes[HONEST].tip().unwrap();
    wait_for_agreement(number + 5, nodes);
    [(VICTIM, HONEST), (HONEST, VICTIM)].map(|(from, to)| {
        let there = adopted(&nodes[to]);
        let delay =
            |(hash, at): &(String, i64)| there.iter().find(|(other, _)| other == hash).map(|(_, adopted)| (adopted - at) as f64 / 1e6);
        let mut delays: Vec<f64> = until[from][known[from]..].iter().filter_map(delay).collect();
        delays.sort_by(f64::total_cmp);
        (delays.get(delays.len() / 2).copied().unwrap_or(f64::NAN), delays.last().copied().unwrap_or(f64::NAN))
    })
}

/// The attack from one address and from 50, with the node's limits and, as a control, without them.
fn attack(victim: SocketAddr, addresses: usize) -> Vec<TcpStream> {
    let mut held: Vec<TcpStream> = (0..IDLE).filter_map(|place| knock(victim, attacker((place % addresses) as u8 + 1))).collect();
    println!("  {} of {IDLE} idle connections are open", held.len());
    if let Some(mut stream) = knock(victim, attacker(200)) {
        stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
        let sent = stream.write_all(&requests(FLOOD_BYTES));
        println!(
            "  {FLOOD_BYTES} bytes of requests: {}",
            sent.map_or_else(|error| format!("not all were taken ({error})"), |()| "sent".into())
        );
        held.push(stream);
    }
    held
}

#[test]
#[ignore = "a measurement: cargo test --release -p slotmark-node --test all delay_of_adoption_under_attack -- --ignored --nocapture"]
fn delay_of_adoption_under_attack() {
    for options in [&[][..], &["--no-limits"]] {
        let bed = Bed::new(SHAPE);
        // SLOTMARK_LIMITLESS: for programs of versions without the option.
        if !options.is_empty() && std::env::var_os("SLOTMARK_LIMITLESS").is_some() {
            continue;
        }
        let mut nodes = pair(&bed, options);
        println!("limits: {}", if options.is_empty() { "as they are" } else { "none" });
        for addresses in [0, 1, 50] {
            println!(" {}", if addresses == 0 { "no attack".to_owned() } else { format!("attack from {addresses} addresses") });
            let work = || if addresses == 0 { Vec::new() } else { attack(address(&bed, VICTIM), addresses) };
            let found = delays(&mut nodes, work);
            for ((typical, longest), what) in found.into_iter().zip(["its blocks at the honest peer", "the honest peer's blocks at it"]) {
                println!("  {what}: median {typical:.1} ms, longest {longest:.1} ms");
            }
        }
        nodes.into_iter().for_each(Node::stop);
    }
}
