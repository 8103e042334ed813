//! A network's topology: its hosts, and what a packet meets between each two of them.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;

use serde::Deserialize;

use crate::WanError;

/// The network that all addresses are from: 198.18.0.0/15, set aside for benchmarks (RFC 2544, RFC 6890).
pub const NETWORK: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
/// The length of its prefix.
pub const PREFIX: u8 = 15;
/// The most hosts of one network; each takes a network namespace and four open files.
pub const MOST_HOSTS: usize = 1000;
/// The longest name of a host, in bytes.
const LONGEST_NAME: usize = 64;
/// The longest delay, jitter and wait: one minute, far beyond what TCP is made for.
const LONGEST_US: u32 = 60_000_000;

/// A network as it is asked for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// Seed of jitter and loss: the same seed gives the n-th packet of a pair the same fate.
    #[serde(default)]
    pub seed: u64,
    /// The largest IP packet, in bytes.
    #[serde(default = "usual_mtu")]
    pub mtu: u16,
    /// The hosts; at least one.
    pub hosts: Vec<Host>,
    /// The address at which routers of other machines reach this one; needed with `elsewhere`.
    #[serde(default)]
    pub at: Option<SocketAddrV4>,
    /// Hosts of the network that are on other machines.
    #[serde(default)]
    pub elsewhere: Vec<Elsewhere>,
    /// The link of each pair that `links` leaves out.
    pub default: Link,
    /// The links that differ, by ordered pair of hosts.
    #[serde(default)]
    pub links: Vec<Between>,
}

/// One host: a network namespace.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Its name in the topology and for `exec`.
    pub name: String,
    /// Its address, in 198.18.0.0/15.
    pub address: Ipv4Addr,
}

/// One host on another machine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Elsewhere {
    /// Its name in the topology.
    pub name: String,
    /// Its address, in 198.18.0.0/15.
    pub address: Ipv4Addr,
    /// The address of its machine's router.
    pub at: SocketAddrV4,
}

/// Conditions for a packet one way between two hosts.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Time that each packet is held, in us.
    pub delay_us: u32,
    /// The most that a packet is held beyond that, in us, drawn evenly from 0 on. Packets of a pair keep their order.
    #[serde(default)]
    pub jitter_us: u32,
    /// Packets lost of a million.
    #[serde(default)]
    pub loss_ppm: u32,
    /// Bits per second, counted over whole IP packets; without it, as fast as the machine is.
    #[serde(default)]
    pub bandwidth_bits_per_s: Option<u64>,
    /// The longest wait for the bandwidth, in us; packets that would wait longer are lost, as in a full buffer.
    #[serde(default = "usual_queue_us")]
    pub queue_us: u32,
}

/// A link of one ordered pair of hosts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Between {
    /// The sender's name.
    pub from: String,
    /// The receiver's name.
    pub to: String,
    /// Conditions for its packets.
    pub link: Link,
}

fn usual_mtu() -> u16 {
    1500
}

fn usual_queue_us() -> u32 {
    100_000
}

impl Topology {
    /// The topology in a file.
    ///
    /// # Errors
    /// [`WanError`] where the file can't be read, or isn't a topology.
    pub fn read(path: &Path) -> Result<Self, WanError> {
        let text = fs::read_to_string(path).map_err(|source| WanError::Unreadable { path: path.into(), source })?;
        let refused = |reason| WanError::Topology { path: path.into(), reason };
        let topology: Self = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
        topology.check().map_err(refused)?;
        Ok(topology)
    }

    /// Names and addresses of all hosts, those elsewhere last: the order in which receivers are numbered.
    pub fn receivers(&self) -> impl Iterator<Item = (&str, Ipv4Addr)> {
        let here = self.hosts.iter().map(|host| (host.name.as_str(), host.address));
        here.chain(self.elsewhere.iter().map(|host| (host.name.as_str(), host.address)))
    }

    /// The link of each ordered pair of a host and a receiver: sender times number of receivers plus receiver.
    #[must_use]
    pub fn links_by_pair(&self) -> Vec<Link> {
        let places: HashMap<&str, usize> = self.receivers().enumerate().map(|(place, (name, _))| (name, place)).collect();
        let mut links = vec![self.default; self.hosts.len() * places.len()];
        for Between { from, to, link } in &self.links {
            links[places[from.as_str()] * places.len() + places[to.as_str()]] = *link;
        }
        links
    }

    fn check(&self) -> Result<(), String> {
        let hosts = self.hosts.len() + self.elsewhere.len();
        if self.hosts.is_empty() || hosts > MOST_HOSTS {
            return Err(format!("it has {hosts} hosts, and a network has 1 to {MOST_HOSTS}"));
        }
        if !self.elsewhere.is_empty() && self.at.is_none() {
            return Err("it has hosts elsewhere, and no address `at` which their machines reach this one".into());
        }
        if !(576..=9000).contains(&self.mtu) {
            return Err(format!("mtu is {}, and can be 576 to 9000 bytes", self.mtu));
        }
        let (mut names, mut addresses) = (HashSet::new(), HashSet::new());
        for (name, address) in self.receivers() {
            if name.is_empty() || name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
                return Err(format!("{name:?} is no name of a host: 1 to {LONGEST_NAME} bytes without control characters"));
            }
            if !names.insert(name) {
                return Err(format!("host {name:?} is there twice"));
            }
            let beyond = address.to_bits().wrapping_sub(NETWORK.to_bits());
            if beyond == 0 || beyond >= (1 << (32 - PREFIX)) - 1 {
                return Err(format!("address {address} of host {name:?} isn't one of 198.18.0.1 to 198.19.255.254"));
            }
            if !addresses.insert(address) {
                return Err(format!("address {address} is there twice"));
            }
        }
        self.default.check("default")?;
        let mut pairs = HashSet::new();
        for Between { from, to, link } in &self.links {
            let pair = format!("link from {from:?} to {to:?}");
            for name in [from, to] {
                if !names.contains(name.as_str()) {
                    return Err(format!("{pair}: there is no host {name:?}"));
                }
            }
            if !self.hosts.iter().any(|host| host.name == *from) {
                return Err(format!("{pair}: packets of {from:?} are held where it is"));
            }
            if from == to {
                return Err(format!("{pair}: packets to itself never leave a host"));
            }
            if !pairs.insert((from, to)) {
                return Err(format!("{pair}: it is there twice"));
            }
            link.check(&pair)?;
        }
        Ok(())
    }
}

impl Link {
    fn check(&self, place: &str) -> Result<(), String> {
        for (name, value) in [("delay_us", self.delay_us), ("jitter_us", self.jitter_us), ("queue_us", self.queue_us)] {
            if value > LONGEST_US {
                return Err(format!("{place}: {name} is {value}, and can be {LONGEST_US} at most"));
            }
        }
        if self.loss_ppm > 1_000_000 {
            return Err(format!("{place}: loss_ppm is {}, and can be 1000000 at most", self.loss_ppm));
        }
        if self.bandwidth_bits_per_s.is_some_and(|bits| !(1_000..=1_000_000_000_000).contains(&bits)) {
            return Err(format!("{place}: bandwidth_bits_per_s can be 1000 to 1000000000000; leave it out for no limit"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str) -> Result<Topology, String> {
        let topology: Topology = serde_json::from_str(text).map_err(|error| error.to_string())?;
        topology.check().map(|()| topology)
    }

    const TWO: &str = r#"{"name": "a", "address": "198.18.0.1"}, {"name": "b", "address": "198.18.0.2"}"#;

    const B: &str = r#""elsewhere": [{"name": "b", "address": "198.18.0.2", "at": "10.0.0.2:30001"}]"#;

    #[test]
    fn a_pair_has_its_own_link_and_all_others_have_the_default() {
        let topology = checked(&format!(
            r#"{{"hosts": [{TWO}], "default": {{"delay_us": 5}}, "links": [{{"from": "b", "to": "a", "link": {{"delay_us": 7, "loss_ppm": 9}}}}]}}"#
        ))
        .unwrap();
        let links = topology.links_by_pair();
        assert_eq!(links[1], topology.default, "a to b");
        assert_eq!((links[2].delay_us, links[2].loss_ppm, links[2].queue_us), (7, 9, 100_000), "b to a");
        assert_eq!(topology.mtu, 1500);
    }

    #[test]
    fn a_topology_that_can_not_be_is_refused_with_its_place() {
        for (hosts, rest, reason) in [
            ("", r#""default": {"delay_us": 5}"#, "it has 0 hosts"),
            (r#"{"name": "a", "address": "198.18.0.1"}"#, &format!(r#"{B}, "default": {{"delay_us": 5}}"#), "no address `at`"),
            (TWO, &format!(r#""at": "127.0.0.1:1", {B}, "default": {{"delay_us": 5}}"#), "host \"b\" is there twice"),
            (
                r#"{"name": "a", "address": "198.18.0.1"}"#,
                &format!(
                    r#""at": "127.0.0.1:1", {B}, "default": {{"delay_us": 5}}, "links": [{{"from": "b", "to": "a", "link": {{"delay_us": 1}}}}]"#
                ),
                "are held where it is",
            ),
            (TWO, r#""default": {}"#, "missing field `delay_us`"),
            (TWO, r#""default": {"delay_us": -1}"#, "invalid value"),
            (TWO, r#""default": {"delay_us": 70000000}"#, "default: delay_us is 70000000"),
            (TWO, r#""default": {"delay_us": 5, "speed": 1}"#, "unknown field `speed`"),
            (TWO, r#""default": {"delay_us": 5}, "mtu": 100"#, "mtu is 100"),
            (TWO, r#""default": {"delay_us": 5, "loss_ppm": 1000001}"#, "loss_ppm is 1000001"),
            (TWO, r#""default": {"delay_us": 5, "bandwidth_bits_per_s": 1}"#, "bandwidth_bits_per_s can be"),
            (r#"{"name": "a", "address": "10.0.0.1"}"#, r#""default": {"delay_us": 5}"#, "address 10.0.0.1 of host"),
            (r#"{"name": "a", "address": "198.18.0.0"}"#, r#""default": {"delay_us": 5}"#, "address 198.18.0.0 of host"),
            (r#"{"name": "a", "address": "198.19.255.255"}"#, r#""default": {"delay_us": 5}"#, "address 198.19.255.255"),
            (r#"{"name": "a", "address": "198.17.255.255"}"#, r#""default": {"delay_us": 5}"#, "address 198.17.255.255"),
            (r#"{"name": "", "address": "198.18.0.1"}"#, r#""default": {"delay_us": 5}"#, "is no name"),
            (&format!("{TWO}, {TWO}"), r#""default": {"delay_us": 5}"#, "host \"a\" is there twice"),
            (TWO, r#""default": {"delay_us": 5}, "links": [{"from": "a", "to": "c", "link": {"delay_us": 1}}]"#, "there is no host \"c\""),
            (TWO, r#""default": {"delay_us": 5}, "links": [{"from": "a", "to": "a", "link": {"delay_us": 1}}]"#, "never leave"),
            (
                TWO,
                r#""default": {"delay_us": 5}, "links": [{"from": "a", "to": "b", "link": {"delay_us": 1, "x": 1}}]"#,
                "unknown field `x`",
            ),
        ] {
            let error = checked(&format!(r#"{{"hosts": [{hosts}], {rest}}}"#)).expect_err(reason);
            assert!(error.contains(reason), "{error:?} has not {reason:?}");
        }
    }
}
