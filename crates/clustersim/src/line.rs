//! Lines as cardano-node writes them on standard output: new tracing, one JSON object each.
//!
//! They are formatted by hand into a large buffer: a cluster's logs are tens of GB, and what is slow here decides how long a
//! simulation takes. What a line has is in the table of messages.

use std::io::Write as _;
use std::sync::Arc;

use slotmark_tracelog::{Form, Out, Peer, Stamp, hex};

use crate::draws::{Draws, Purpose};
use crate::event::{Context, Event, Teller};

/// Every host's address.
pub(crate) type Addresses = Arc<[Vec<u8>]>;

/// The addresses of this many hosts, `10.HOST:3001`: the same in every log.
pub(crate) fn addresses(hosts: usize) -> Addresses {
    (0..hosts).map(|host| format!("10.{}.{}.{}:3001", host >> 16, host >> 8 & 255, host & 255).into_bytes()).collect()
}

/// Writes who is connected with whom: `LOCAL:PORT REMOTE:PORT`.
#[inline]
pub(crate) fn write_connection(text: &mut Vec<u8>, own: &[u8], peer: &[u8]) {
    text.extend_from_slice(own);
    text.push(b' ');
    text.extend_from_slice(peer);
}

/// The lines of one host.
#[derive(Debug)]
pub(crate) struct Lines {
    /// The text that was written and is still here.
    pub(crate) text: Vec<u8>,
    /// Lines written so far.
    pub(crate) count: u64,
    start_ns: i128,
    stamp: Stamp,
    /// `","host":"node-0"}` and the line's end.
    tail: Vec<u8>,
    host: usize,
    addresses: Addresses,
    names: Draws,
}

impl Lines {
    /// Lines of a host, by its name and number; slot 0 is `start_s` seconds after 1970.
    pub(crate) fn new(name: &str, host: u32, start_s: u64, addresses: Addresses) -> Self {
        Self {
            text: Vec::new(),
            count: 0,
            start_ns: i128::from(start_s) * 1_000_000_000,
            stamp: Stamp::default(),
            tail: format!("\",\"host\":\"{name}\"}}\n").into_bytes(),
            host: host as usize,
            addresses,
            names: Draws::new(0),
        }
    }

    /// Writes the line of an event at a time by the host's clock, in ns since slot 0.
    pub(crate) fn line(&mut self, at_ns: i64, event: Event, context: &Context<'_>) {
        self.at(at_ns);
        event.tell(at_ns, context, self);
        self.count += 1;
    }

    fn at(&mut self, at_ns: i64) {
        self.stamp.begin_line(&mut self.text, self.start_ns + i128::from(at_ns));
    }
}

impl Teller for Lines {
    #[inline]
    fn form<'a, F: Form<'a>>(&mut self, form: F) {
        form.write(self);
        self.text.extend_from_slice(&self.tail);
    }
}

impl Out for Lines {
    #[inline]
    fn put(&mut self, text: &[u8]) {
        self.text.extend_from_slice(text);
    }

    #[inline]
    fn whole(&mut self, number: i64) {
        self.text.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    }

    fn real(&mut self, number: f64) {
        let _ = write!(self.text, "{number}");
    }

    #[inline]
    fn connection(&mut self, peer: Peer) {
        write_connection(&mut self.text, &self.addresses[self.host], &self.addresses[peer.0 as usize]);
    }

    fn transaction(&mut self, number: u32) {
        let mut name = [0; 8];
        hex(&(self.names.bits(Purpose::TxId, u64::from(number), 0) as u32).to_be_bytes(), &mut name);
        self.put(&name);
    }

    fn issuer(&mut self, host: u32) {
        let mut hash = [0; 16];
        hex(&self.names.bits(Purpose::Vrf, u64::from(host), 1).to_be_bytes(), &mut hash);
        for _ in 0..3 {
            self.put(&hash);
        }
        self.put(&hash[..8]);
    }
}
