//! Decides when to ask for more, and for how much.

use std::io::{self, Write};

use crate::mux::frame;

/// A request for the next block, as it goes over the wire.
const REQUEST_NEXT: [u8; 2] = [0x81, 0x00];

/// Asks for as many blocks as may be in flight at first, and for more when half of them are here: one write for many requests.
pub(super) struct Pacer {
    protocol: u16,
    unsent: u64,
    in_flight: u64,
    depth: u64,
    /// As many requests as are sent at once, at most.
    requests: Vec<u8>,
    wire: Vec<u8>,
}

impl Pacer {
    /// Paces this many requests in all, at most `depth` of them in flight.
    pub(super) fn new(protocol: u16, requests: u64, depth: u64) -> Self {
        let depth = depth.max(1);
        let at_once = REQUEST_NEXT.repeat(depth.min(requests) as usize);
        Self { protocol, unsent: requests, in_flight: 0, depth, requests: at_once, wire: Vec::new() }
    }

    /// Sends the requests that are due, if any are.
    #[inline]
    pub(super) fn ask(&mut self, bearer: &mut impl Write) -> io::Result<()> {
        if self.in_flight > self.depth / 2 || self.unsent == 0 {
            return Ok(());
        }
        let due = (self.depth - self.in_flight).min(self.unsent);
        self.unsent -= due;
        self.in_flight += due;
        self.wire.clear();
        frame(&mut self.wire, self.protocol, false, &[&self.requests[..REQUEST_NEXT.len() * due as usize]]);
        bearer.write_all(&self.wire)
    }

    /// One of them was answered.
    #[inline]
    pub(super) fn answered(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// Returns whether more than one reply is to come.
    #[inline]
    pub(super) fn several_in_flight(&self) -> bool {
        self.in_flight > 1
    }
}
