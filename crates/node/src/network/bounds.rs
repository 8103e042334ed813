//! Limits on what others may use of the node: connections, and the work of each.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use slotmark_wire::protocols::{Message, keep_alive};

use crate::options::Run;

/// Requests for headers that a peer may have unanswered: cardano-node pipelines 300 at most.
const PIPELINED: u32 = 1_000;
/// Number of these that are at the core at the same time.
const AT_CORE: u32 = 16;
/// Requests for blocks that a peer may have unanswered: cardano-node's clients have 100 at most.
const RANGES: u32 = 100;
/// Messages in what is read from a peer at once, 64 KiB at most.
const MESSAGES: u32 = 2_000;
/// Ends of protocols in what is read at once: there are four of them.
const ENDS: u32 = 4;
/// Bytes that wait for a peer that doesn't read them.
const UNREAD_BYTES: usize = 8 << 20;
/// Interval at which refused connections are logged.
const LOG_EVERY: Duration = Duration::from_secs(1);

/// Limits on what others may use.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Connections that others opened, beside those of the topology's peers.
    pub connections: usize,
    /// Number of these from one address.
    pub per_address: usize,
    /// Requests for headers that a peer may have unanswered.
    pub pipelined: u32,
    /// Number of these that are at the core.
    pub at_core: u32,
    /// Requests for blocks that a peer may have unanswered.
    pub ranges: u32,
    /// Messages and ends of protocols in what is read at once.
    pub messages: u32,
    pub ends: u32,
    /// Bytes that wait for a peer that doesn't read them.
    pub unread_bytes: usize,
    /// True where neighbours come first, and a silent connection is dropped.
    pub is_strict: bool,
}

impl Bounds {
    /// Returns the limits for the options of a node.
    pub fn of(options: &Run) -> Self {
        let all = usize::MAX;
        if options.no_limits {
            let (pipelined, at_core, ranges, messages, ends) = (u32::MAX, u32::MAX, u32::MAX, u32::MAX, u32::MAX);
            return Self {
                connections: all,
                per_address: all,
                pipelined,
                at_core,
                ranges,
                messages,
                ends,
                unread_bytes: all,
                is_strict: false,
            };
        }
        Self {
            connections: options.max_connections,
            per_address: options.max_connections_per_address,
            pipelined: PIPELINED,
            at_core: AT_CORE,
            ranges: RANGES,
            messages: MESSAGES,
            ends: ENDS,
            unread_bytes: UNREAD_BYTES,
            is_strict: true,
        }
    }
}

/// Connections that others opened, beside those of the topology's peers.
#[derive(Default)]
pub(super) struct Door {
    by_address: HashMap<IpAddr, usize>,
    all: usize,
    logged: Option<Instant>,
}

impl Door {
    /// Counts a connection, if there is room for it; else gives why not, but not each time.
    pub(super) fn enter(&mut self, address: IpAddr, bounds: &Bounds, now: Instant) -> Result<(), Option<String>> {
        let from_there = self.by_address.get(&address).copied().unwrap_or_default();
        let why = if self.all >= bounds.connections {
            format!("{} are open, --max-connections", self.all)
        } else if from_there >= bounds.per_address {
            format!("{from_there} are open from {address}, --max-connections-per-address")
        } else {
            *self.by_address.entry(address).or_default() += 1;
            self.all += 1;
            return Ok(());
        };
        let due = self.logged.is_none_or(|logged| now - logged >= LOG_EVERY);
        Err(due.then(|| {
            self.logged = Some(now);
            format!("connections are refused: {why}")
        }))
    }

    /// Counts a connection no longer.
    pub(super) fn leave(&mut self, address: IpAddr) {
        self.all -= 1;
        if let Some(count) = self.by_address.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&address);
            }
        }
    }
}

/// The messages of a peer from one read.
#[derive(Default)]
pub(super) struct Turn {
    messages: u32,
    ends: u32,
    pings: u32,
}

impl Turn {
    /// Counts a message.
    ///
    /// # Errors
    /// A peer that keeps to the protocols doesn't send more.
    pub(super) fn note(&mut self, message: &Message, bounds: &Bounds) -> Result<(), String> {
        self.messages += 1;
        if self.messages > bounds.messages {
            return Err(format!("more than {} messages at once", bounds.messages));
        }
        if message.is_done() {
            self.ends += 1;
        } else if let Message::KeepAlive(keep_alive::Message::Request(_)) = message {
            self.pings += 1;
        }
        if self.ends > bounds.ends {
            return Err("protocols that end and begin without a pause".into());
        }
        if self.pings > 1 && bounds.is_strict {
            return Err("a request of keep-alive before the answer to the last".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use slotmark_wire::protocols::chain_sync;

    use super::*;

    const BOUNDS: Bounds = Bounds {
        connections: 3,
        per_address: 2,
        pipelined: 10,
        at_core: 2,
        ranges: 2,
        messages: 5,
        ends: 2,
        unread_bytes: 100,
        is_strict: true,
    };

    #[test]
    fn connections_are_counted_in_all_and_by_address() {
        let (mut door, now) = (Door::default(), Instant::now());
        let [one, other]: [IpAddr; 2] = [[127, 0, 0, 1].into(), [127, 0, 0, 2].into()];
        assert!(door.enter(one, &BOUNDS, now).is_ok() && door.enter(one, &BOUNDS, now).is_ok());
        let why = door.enter(one, &BOUNDS, now).unwrap_err();
        assert!(why.is_some_and(|why| why.contains("2 are open from 127.0.0.1")));
        assert_eq!(door.enter(one, &BOUNDS, now), Err(None), "not logged each time");
        assert!(door.enter(other, &BOUNDS, now).is_ok());
        let why = door.enter(other, &BOUNDS, now + LOG_EVERY).unwrap_err();
        assert!(why.is_some_and(|why| why.contains("3 are open, --max-connections")));
        door.leave(one);
        assert!(door.enter(other, &BOUNDS, now).is_ok());
    }

    #[test]
    fn what_comes_at_once_is_bounded() {
        let ping = Message::KeepAlive(keep_alive::Message::Request(keep_alive::Request::Ping(1)));
        let (next, done) = (
            Message::ChainSync(chain_sync::Message::Request(chain_sync::Request::RequestNext)),
            Message::ChainSync(chain_sync::Message::Request(chain_sync::Request::Done)),
        );
        for (message, allowed) in [(ping, 1), (next, 5), (done, 2)] {
            let mut turn = Turn::default();
            assert!((0..allowed).all(|_| turn.note(&message, &BOUNDS).is_ok()));
            assert!(turn.note(&message, &BOUNDS).is_err());
        }
    }
}
