//! When to ask for more, and for how much.

use std::io::{self, Write};

use crate::mux::{Header, MAX_SENT};

/// A request for the next block, as it goes over the wire.
const REQUEST_NEXT: [u8; 2] = [0x81, 0x00];

/// Asks for as many blocks as may be in flight at first, and for more when half of them are here: one write for many requests.
pub(super) struct Pacer {
    protocol: u16,
    unsent: u64,
    in_flight: u64,
    depth: u64,
    wire: Vec<u8>,
}

impl Pacer {
    /// For so many requests in all, at most `depth` of them in flight.
    pub(super) fn new(protocol: u16, requests: u64, depth: u64) -> Self {
        Self { protocol, unsent: requests, in_flight: 0, depth: depth.max(1), wire: Vec::new() }
    }

    /// Sends the requests that are due, if any are.
    #[inline]
    pub(super) fn ask(&mut self, bearer: &mut impl Write) -> io::Result<()> {
        if self.in_flight > self.depth / 2 || self.unsent == 0 {
            return Ok(());
        }
        let mut left = (self.depth - self.in_flight).min(self.unsent);
        self.unsent -= left;
        self.in_flight += left;
        self.wire.clear();
        while left > 0 {
            let now = left.min((MAX_SENT / REQUEST_NEXT.len()) as u64);
            let length = now as u16 * REQUEST_NEXT.len() as u16;
            self.wire.extend(Header { protocol: self.protocol, from_responder: false, length }.encode());
            self.wire.extend(std::iter::repeat_n(REQUEST_NEXT, now as usize).flatten());
            left -= now;
        }
        bearer.write_all(&self.wire)
    }

    /// One of them was answered.
    #[inline]
    pub(super) fn answered(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// Whether more than one reply is to come.
    #[inline]
    pub(super) fn several_in_flight(&self) -> bool {
        self.in_flight > 1
    }
}
