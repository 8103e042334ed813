//! Statistics of the router: delays, packets that were carried, and packets that were lost.

use hdrhistogram::Histogram;
use serde::Serialize;

/// The longest lateness that is distinguished: 100 s.
const LONGEST_NS: u64 = 100_000_000_000;

/// Counts of one network, from its start on.
#[derive(Debug)]
pub struct Statistics {
    /// Packets given to their receivers.
    pub delivered: u64,
    /// Their bytes, IP headers included.
    pub delivered_bytes: u64,
    /// Packets that their links lost, as asked.
    pub lost: u64,
    /// Packets that found the buffer before their link's bandwidth full, as asked.
    pub queue_full: u64,
    /// Packets that are for no host of the network, such as those of IPv6.
    pub not_for_a_host: u64,
    /// Packets that came from routers of other machines and were given to their receivers.
    pub from_elsewhere: u64,
    /// Packets that the router should have carried and lost itself.
    pub own_drops: OwnDrops,
    /// Number of times that the router looked for work.
    pub rounds: u64,
    /// The most packets held at one time.
    pub most_held: usize,
    lateness_ns: Histogram<u64>,
}

/// Packets that no link was asked to lose, by cause.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct OwnDrops {
    /// A device's queue was full before the router read it.
    pub device_queue: u64,
    /// The receiver's device refused it.
    pub refused: u64,
    /// The router held too much already.
    pub memory: u64,
    /// The queue of packets from other machines was full before the router read it.
    pub socket_queue: u64,
}

/// The summary of [`Statistics`] that is printed at the end.
#[derive(Debug, Serialize)]
pub struct Summary {
    duration_us: u64,
    cpu_us: u64,
    packets: u64,
    bytes: u64,
    lost_as_planned: u64,
    queue_full_as_planned: u64,
    not_for_a_host: u64,
    from_elsewhere: u64,
    own_drops: OwnDrops,
    rounds: u64,
    most_held: usize,
    /// From when a packet was due to when it was handed to the receiver's device; null where there was none.
    lateness_us: Option<Lateness>,
}

#[derive(Debug, Serialize)]
struct Lateness {
    median: f64,
    p99: f64,
    max: f64,
}

impl Default for Statistics {
    fn default() -> Self {
        let lateness_ns = Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("its bounds are in order");
        Self {
            delivered: 0,
            delivered_bytes: 0,
            lost: 0,
            queue_full: 0,
            not_for_a_host: 0,
            from_elsewhere: 0,
            own_drops: OwnDrops::default(),
            rounds: 0,
            most_held: 0,
            lateness_ns,
        }
    }
}

impl Statistics {
    /// A packet handed over so long after it was due.
    pub fn deliver(&mut self, bytes: usize, lateness_ns: u64) {
        self.delivered += 1;
        self.delivered_bytes += bytes as u64;
        self.lateness_ns.saturating_record(lateness_ns);
    }

    /// The figures of a network that lasted so long, with the CPU time that its router took.
    #[must_use]
    pub fn summary(&self, duration_us: u64, cpu_us: u64) -> Summary {
        let us = |ns: u64| ns as f64 / 1_000.0;
        let lateness = &self.lateness_ns;
        Summary {
            duration_us,
            cpu_us,
            packets: self.delivered,
            bytes: self.delivered_bytes,
            lost_as_planned: self.lost,
            queue_full_as_planned: self.queue_full,
            not_for_a_host: self.not_for_a_host,
            from_elsewhere: self.from_elsewhere,
            own_drops: self.own_drops,
            rounds: self.rounds,
            most_held: self.most_held,
            lateness_us: (!lateness.is_empty()).then(|| Lateness {
                median: us(lateness.value_at_quantile(0.5)),
                p99: us(lateness.value_at_quantile(0.99)),
                max: us(lateness.max()),
            }),
        }
    }
}
