//! The time that a block travels: slow start, growth, and a window that falls back while the connection rests.

use crate::profile::Tcp;

/// The congestion window of one direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Window {
    /// Bytes that may be under way, when it was last used.
    bytes: f64,
    /// Time at which its last byte was sent.
    used_ns: u64,
}

/// The parameters in the units of the computation.
#[derive(Clone, Debug)]
pub(crate) struct TcpModel {
    initial: f64,
    segment: f64,
    growth: f64,
    max: f64,
    half_life_rtos: f64,
    rto_margin_ns: u64,
    round_pause_ns: u64,
    ns_per_byte: f64,
    loss: f64,
}

impl TcpModel {
    pub(crate) fn new(tcp: &Tcp, bits_per_s: u64, loss: f64) -> Self {
        let initial = (tcp.segment.0 * tcp.initial_window) as f64;
        Self {
            initial,
            segment: tcp.segment.0 as f64,
            growth: tcp.growth,
            max: (tcp.max_window.0 as f64).max(initial),
            half_life_rtos: tcp.idle_half_life_rtos,
            rto_margin_ns: tcp.rto_margin.0,
            round_pause_ns: tcp.round_pause.0,
            ns_per_byte: 8e9 / bits_per_s as f64,
            loss,
        }
    }

    pub(crate) fn cold(&self) -> Window {
        Window { bytes: self.initial, used_ns: 0 }
    }

    /// The window after a rest.
    fn rested(&self, window: Window, now_ns: u64, round_trip_ns: u64) -> f64 {
        let idle = now_ns.saturating_sub(window.used_ns) as f64;
        let half_life = self.half_life_rtos * (round_trip_ns + self.rto_margin_ns) as f64;
        if half_life <= 0.0 {
            return if idle > 0.0 { self.initial } else { window.bytes };
        }
        self.initial + (window.bytes - self.initial) * libm::exp2(-idle / half_life)
    }

    /// Sends blocks of `sizes` one behind the other from `start_ns` on. Gives, for each, when its first byte leaves and when
    /// its last one arrives; `latency_ns` is one way. `warm` doubles the window of a rested connection, `lost` decides for the
    /// n-th round, with its number of segments, whether one of them was lost.
    pub(crate) fn send(
        &self,
        window: &mut Window,
        start_ns: u64,
        latency_ns: u64,
        sizes: &[u64],
        warm: bool,
        mut lost: impl FnMut(u64, f64) -> bool,
    ) -> Vec<(u64, u64)> {
        let round_trip = 2 * latency_ns;
        let mut allowed = self.rested(*window, start_ns, round_trip);
        if warm {
            allowed = allowed.max(2.0 * self.initial);
        }
        allowed = allowed.min(self.max);
        let mut times = Vec::with_capacity(sizes.len());
        let (mut now, mut left_in_round, mut round) = (start_ns, allowed, 0_u64);
        let mut round_start = start_ns;
        for size in sizes {
            let first = now;
            let mut rest = *size as f64;
            loop {
                let part = rest.min(left_in_round);
                now += (part * self.ns_per_byte) as u64;
                rest -= part;
                left_in_round -= part;
                if rest <= 0.0 {
                    break;
                }
                // The window is used up: the next one opens when the first acknowledgement is back.
                round += 1;
                let mut wait = round_trip + self.round_pause_ns;
                if self.loss > 0.0 && lost(round, (allowed / self.segment).max(1.0)) {
                    wait += round_trip + self.rto_margin_ns;
                    allowed = (allowed / 2.0).max(self.initial);
                } else {
                    allowed = (allowed * self.growth).min(self.max);
                }
                now = now.max(round_start + wait);
                round_start = now;
                left_in_round = allowed;
            }
            let mut arrival = now + latency_ns;
            if self.loss > 0.0 && lost(u64::MAX - times.len() as u64, (*size as f64 / self.segment).clamp(1.0, allowed / self.segment)) {
                arrival += round_trip + self.rto_margin_ns;
            }
            times.push((first, arrival));
        }
        // What was used in the last round grows the window as well.
        *window = Window { bytes: (allowed + (allowed - left_in_round).max(0.0)).min(self.max), used_ns: now };
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::{Bytes, Span};

    fn model() -> TcpModel {
        let tcp = Tcp {
            segment: Bytes(1_448),
            initial_window: 10,
            growth: 2.0,
            max_window: Bytes(4_000_000),
            idle_half_life_rtos: 0.001,
            warm_share: 0.0,
            round_pause: Span(0),
            rto_margin: Span(200_000_000),
        };
        TcpModel::new(&tcp, 1_000_000_000_000, 0.0)
    }

    #[test]
    fn a_full_block_takes_three_rounds_and_a_small_one_takes_one() {
        let latency = 45_000_000;
        for (size, rounds) in [(88_960, 3), (3_000, 1), (14_480, 1), (14_481, 2), (43_440, 2)] {
            let model = model();
            let times = model.send(&mut model.cold(), 1_000_000_000, latency, &[size], false, |_, _| false);
            let travelled = times[0].1 - 1_000_000_000;
            let expected = latency + (rounds - 1) * 2 * latency;
            assert!(travelled.abs_diff(expected) < 10_000, "{size} bytes: {travelled} ns");
        }
    }

    #[test]
    fn a_window_just_used_is_wide_and_a_rested_one_is_not() {
        let model = model();
        let mut window = model.cold();
        let first = model.send(&mut window, 0, 45_000_000, &[88_960], false, |_, _| false)[0].1;
        let again = model.send(&mut window.clone(), first, 45_000_000, &[88_960], false, |_, _| false)[0].1 - first;
        assert!(again > 2 * 45_000_000, "the time between them is 45 half-lives");
        let at_once = window.used_ns;
        let again = model.send(&mut window.clone(), at_once, 45_000_000, &[40_000], false, |_, _| false)[0].1 - at_once;
        assert!(again < 46_000_000, "{again}");
    }
}
