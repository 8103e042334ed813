//! Hosts and links: who follows whom, and how far apart they are.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::draws::{Draws, Purpose};
use crate::error::SimulationError;
use crate::profile::{Network, Node, Profile, TopologyRule};

/// A host of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name, which is also its folder's.
    pub name: String,
    /// The region it is in.
    pub region: String,
    /// By how many ns its clock is ahead.
    pub clock_ahead_ns: i64,
}

/// A connection over which one host follows another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The host that is followed: it announces headers and sends blocks.
    pub producer: u32,
    /// The host that follows.
    pub follower: u32,
    /// One-way latency in ns.
    pub latency_ns: u64,
}

/// The hosts and links of one simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// The hosts by number.
    pub hosts: Vec<Host>,
    /// All links, by follower, then producer.
    pub links: Vec<Link>,
}

#[derive(Deserialize)]
struct File {
    nodes: Vec<Node>,
}

/// The largest latency that a topology file may have, in ms.
const MOST_MS: f64 = 60_000.0;

impl Topology {
    /// The topology of a profile; what is random in it comes from the seed.
    pub fn of(profile: &Profile, seed: u64) -> Result<Self, SimulationError> {
        let network = &profile.network;
        if let TopologyRule::Nodes { file, nodes } = &network.topology {
            return Self::from_nodes(file, nodes, network);
        }
        let regions = &network.regions;
        let hosts: Vec<Host> = (0..network.hosts)
            .map(|n| Host { name: format!("node-{n}"), region: regions[n as usize % regions.len()].clone(), clock_ahead_ns: 0 })
            .collect();
        let draws = Draws::new(seed);
        let pairs = match &network.topology {
            TopologyRule::TorusDense => torus_dense(network.hosts, regions.len() as u32),
            TopologyRule::Line => line(network.hosts, false),
            TopologyRule::Ring => line(network.hosts, true),
            TopologyRule::Star => (1..network.hosts).flat_map(|host| [(0, host), (host, 0)]).collect(),
            TopologyRule::Complete => {
                (0..network.hosts).flat_map(|a| (0..network.hosts).map(move |b| (a, b))).filter(|(a, b)| a != b).collect()
            }
            TopologyRule::RandomRegular { degree } => random_regular(network.hosts, *degree, &draws)?,
            TopologyRule::Edges { edges } => edges.iter().copied().collect(),
            TopologyRule::File { .. } | TopologyRule::Nodes { .. } => BTreeSet::new(),
        };
        let pairs = without_edges_followed(network, pairs)?;
        let mut links = Vec::with_capacity(pairs.len());
        for (follower, producer) in pairs {
            if follower == producer || follower >= network.hosts || producer >= network.hosts {
                let message = format!("edge [{follower}, {producer}]: expected two different hosts below {}.", network.hosts);
                return Err(SimulationError::topology("edges", message));
            }
            let (from, to) = (&hosts[producer as usize].region, &hosts[follower as usize].region);
            let Some(rtt) = network.rtt.iter().find(|rtt| {
                let (a, b) = &rtt.between;
                (a == from && b == to) || (a == to && b == from)
            }) else {
                let message = format!("no network.rtt between {from} and {to}; add one to the profile.");
                return Err(SimulationError::topology("regions", message));
            };
            // Both directions of a pair get the same draw.
            let (low, high) = (follower.min(producer), follower.max(producer));
            let unit = (draws.bits(Purpose::LinkSpread, u64::from(low), u64::from(high)) >> 32) as i128 - (1 << 31);
            let offset = (i128::from(rtt.spread.0) * unit) >> 31;
            let round_trip = (i128::from(rtt.mean.0) + offset).max(0) as u64;
            links.push(Link { producer, follower, latency_ns: round_trip / 2 });
        }
        Ok(Self { hosts, links })
    }

    /// The topology that nodes of a file make; errors name the file.
    fn from_nodes(file: &str, nodes: &[Node], network: &Network) -> Result<Self, SimulationError> {
        if nodes.len() != network.hosts as usize {
            let message = format!(
                "{} nodes: expected network.hosts = {} of them, numbered from 0; set hosts and pools to fit.",
                nodes.len(),
                network.hosts
            );
            return Err(SimulationError::topology(file, message));
        }
        let numbers: BTreeMap<&str, u32> = nodes.iter().map(|node| (node.name.as_str(), node.node_id)).collect();
        let mut links = Vec::new();
        for node in nodes {
            for (name, one_way_ms) in &node.producers {
                let Some(producer) = numbers.get(name.as_str()).copied() else {
                    let message = format!("node {} has a producer {name}, which is no node; add it or take it out.", node.name);
                    return Err(SimulationError::topology(file, message));
                };
                if producer == node.node_id {
                    let message = format!("node {name} is a producer of its own; take it out.");
                    return Err(SimulationError::topology(file, message));
                }
                if !(0.0..=MOST_MS).contains(one_way_ms) {
                    let message = format!(
                        "{one_way_ms} ms from {name} to {}: expected a one-way latency from 0 to {MOST_MS} ms; correct it.",
                        node.name
                    );
                    return Err(SimulationError::topology(file, message));
                }
                if network.is_edge(producer) {
                    return Err(followed(network, file, node.node_id, producer));
                }
                links.push(Link { producer, follower: node.node_id, latency_ns: (one_way_ms * 1e6 + 0.5) as u64 });
            }
        }
        links.sort_by_key(|link| (link.follower, link.producer));
        let host = |node: &Node| Host { name: format!("node-{}", node.node_id), region: node.cluster_name.clone(), clock_ahead_ns: 0 };
        Ok(Self { hosts: nodes.iter().map(host).collect(), links })
    }
}

/// The nodes of a topology file, by number.
pub(crate) fn read_nodes(path: &str) -> Result<TopologyRule, SimulationError> {
    let wanted = r#"expected JSON like {"nodes":[{"nodeId":0,"name":"node-0","producers":{"node-1":45.1}}]}, one-way latencies in ms"#;
    let text =
        std::fs::read_to_string(path).map_err(|error| SimulationError::topology(path, format!("can't be read ({error}); {wanted}.")))?;
    let File { mut nodes } =
        serde_json::from_str(&text).map_err(|error| SimulationError::topology(path, format!("{error}; {wanted}; mend it there.")))?;
    nodes.sort_by_key(|node| node.node_id);
    if nodes.iter().zip(0..).any(|(node, number)| node.node_id != number) {
        let message = format!("{} nodes: expected them to be numbered from 0, each once; correct nodeId.", nodes.len());
        return Err(SimulationError::topology(path, message));
    }
    let names: BTreeSet<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    if names.len() < nodes.len() {
        return Err(SimulationError::topology(path, "two nodes have one name: expected a name each; rename one."));
    }
    Ok(TopologyRule::Nodes { file: path.to_owned(), nodes })
}

/// The pairs of a rule but for those in which a host follows an edge host. Pairs that a profile lists are all meant: there one is an error.
fn without_edges_followed(network: &Network, pairs: BTreeSet<(u32, u32)>) -> Result<BTreeSet<(u32, u32)>, SimulationError> {
    if network.edge_hosts == 0 {
        return Ok(pairs);
    }
    let (kept, followed_edges): (BTreeSet<_>, BTreeSet<_>) = pairs.into_iter().partition(|(_, producer)| !network.is_edge(*producer));
    if let (TopologyRule::Edges { .. }, Some((follower, producer))) = (&network.topology, followed_edges.first()) {
        return Err(followed(network, "edges", *follower, *producer));
    }
    let inner = network.hosts - network.edge_hosts;
    let between: BTreeSet<(u32, u32)> = kept.iter().filter(|(follower, _)| *follower < inner).copied().collect();
    let alone = (inner..network.hosts).find(|edge| !kept.iter().any(|(follower, _)| follower == edge));
    let lost = match alone {
        Some(edge) => format!("node-{edge} would follow nobody"),
        None if !connected(inner, &between) => "the other hosts would fall apart".to_owned(),
        None => return Ok(kept),
    };
    let message = format!("{lost}: no host follows the last {}, network.edge_hosts; set fewer, or another rule.", network.edge_hosts);
    Err(SimulationError::topology("edge_hosts", message))
}

/// The error of a profile or file in which a host follows an edge host.
fn followed(network: &Network, place: &str, follower: u32, edge: u32) -> SimulationError {
    let message = format!(
        "node-{follower} follows node-{edge}, which is one of the last {}, network.edge_hosts, and no host follows those; take it out, or set fewer.",
        network.edge_hosts
    );
    SimulationError::topology(place, message)
}

/// Follower and producer pairs of the benchmark's topology: 6 a host with three regions.
fn torus_dense(hosts: u32, regions: u32) -> BTreeSet<(u32, u32)> {
    let members = |region: u32| hosts / regions + u32::from(region < hosts % regions);
    let mut pairs = BTreeSet::new();
    for host in 0..hosts {
        let (region, place) = (host % regions, host / regions);
        let size = members(region);
        for step in [1, size.saturating_sub(1), size / 3, 2 * size / 3] {
            let other = ((place + step) % size) * regions + region;
            if other != host {
                pairs.insert((host, other));
            }
        }
        for other in (0..regions).filter(|other| *other != region && members(*other) > 0) {
            pairs.insert((host, (place % members(other)) * regions + other));
        }
    }
    pairs
}

fn line(hosts: u32, closed: bool) -> BTreeSet<(u32, u32)> {
    let mut pairs = BTreeSet::new();
    let last = if closed { hosts } else { hosts.saturating_sub(1) };
    for host in 0..last {
        let next = (host + 1) % hosts;
        if next != host {
            pairs.insert((host, next));
            pairs.insert((next, host));
        }
    }
    pairs
}

/// A connected graph in which every host has `degree` neighbours: a ring and random cycles or a matching on top, drawn until they don't clash.
fn random_regular(hosts: u32, degree: u32, draws: &Draws) -> Result<BTreeSet<(u32, u32)>, SimulationError> {
    if degree < 2 || degree >= hosts || hosts * degree % 2 == 1 {
        let message = format!("degree {degree} with {hosts} hosts: expected 2 or more, fewer than the hosts, and an even product.");
        return Err(SimulationError::topology("random-regular", message));
    }
    for attempt in 0..200_u32 {
        // Stubs are paired at random; a clash is mended by exchanging partners with a random other pair.
        let mut stream = draws.stream(Purpose::Topology, u64::from(attempt), u64::from(degree));
        let mut stubs: Vec<u32> = (0..hosts).flat_map(|host| (0..degree).map(move |_| host)).collect();
        for last in (1..stubs.len()).rev() {
            stubs.swap(last, (stream.bits() % (last as u64 + 1)) as usize);
        }
        let edge = |stubs: &[u32], n: usize| (stubs[2 * n].min(stubs[2 * n + 1]), stubs[2 * n].max(stubs[2 * n + 1]));
        let count = stubs.len() / 2;
        for _ in 0..200 {
            let mut seen = BTreeSet::new();
            let clashes: Vec<usize> = (0..count)
                .filter(|n| {
                    let (a, b) = edge(&stubs, *n);
                    a == b || !seen.insert((a, b))
                })
                .collect();
            if clashes.is_empty() {
                break;
            }
            for n in clashes {
                stubs.swap(2 * n + 1, 2 * (stream.bits() % count as u64) as usize);
            }
        }
        let undirected: BTreeSet<(u32, u32)> = (0..count).map(|n| edge(&stubs, n)).filter(|(a, b)| a != b).collect();
        if undirected.len() == count && connected(hosts, &undirected) {
            return Ok(undirected.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]).collect());
        }
    }
    Err(SimulationError::topology("random-regular", format!("no connected graph of degree {degree} found; take a smaller degree.")))
}

fn connected(hosts: u32, edges: &BTreeSet<(u32, u32)>) -> bool {
    let mut neighbours = vec![Vec::new(); hosts as usize];
    for (a, b) in edges {
        neighbours[*a as usize].push(*b);
        neighbours[*b as usize].push(*a);
    }
    let (mut seen, mut open) = (vec![false; hosts as usize], vec![0_u32]);
    seen[0] = true;
    let mut count = 1;
    while let Some(host) = open.pop() {
        for other in &neighbours[host as usize] {
            if !std::mem::replace(&mut seen[*other as usize], true) {
                count += 1;
                open.push(*other);
            }
        }
    }
    count == hosts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_regular_graph_gives_every_host_its_degree() {
        for seed in 0..20 {
            let pairs = random_regular(52, 6, &Draws::new(seed)).unwrap();
            for host in 0..52 {
                assert_eq!(pairs.iter().filter(|(follower, _)| *follower == host).count(), 6);
            }
        }
    }

    #[test]
    fn the_benchmarks_topology_has_four_links_inside_a_region_and_one_to_each_other() {
        let pairs = torus_dense(52, 3);
        for host in 0..52 {
            let producers: Vec<u32> = pairs.iter().filter(|(follower, _)| *follower == host).map(|(_, producer)| *producer).collect();
            assert_eq!(producers.len(), 6, "{host}: {producers:?}");
            assert_eq!(producers.iter().filter(|producer| *producer % 3 == host % 3).count(), 4);
        }
        assert!(pairs.contains(&(51, 1)) && pairs.contains(&(51, 2)) && pairs.contains(&(0, 18)) && pairs.contains(&(1, 34)));
    }
}
