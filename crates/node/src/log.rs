//! The node's log on standard output: cardano-node's lines, as the table of messages has them.
//!
//! What went wrong with a peer goes to standard error, in words.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use slotmark_tracelog::{Form, Out, Peer, Stamp, hex};

use crate::clock::now_ns;

/// Writes lines, each at once and with the time at which it is written.
pub struct Log(Mutex<Writer>);

struct Writer {
    out: Box<dyn Write + Send>,
    stamp: Stamp,
    text: Vec<u8>,
    /// `","host":"node-0"}` and the line's end.
    tail: Vec<u8>,
    /// Addresses of both ends of the connection with each peer, by its number.
    connections: HashMap<u32, String>,
    issuer: [u8; 28],
    vrf: [u8; 64],
}

impl Log {
    /// A log of a host, by its name.
    pub fn new(host: &str, out: Box<dyn Write + Send>) -> Self {
        let tail = format!("\",\"host\":{}}}\n", serde_json::Value::from(host)).into_bytes();
        Self(Mutex::new(Writer {
            out,
            stamp: Stamp::default(),
            text: Vec::with_capacity(1_024),
            tail,
            connections: HashMap::new(),
            issuer: [0; 28],
            vrf: [0; 64],
        }))
    }

    /// Writes a line.
    pub fn line<'a>(&self, form: impl Form<'a>) {
        self.with(|writer| writer.line(form));
    }

    /// Writes a line of a block that was selected, by its issuer and its VRF output.
    pub fn line_of_selection<'a>(&self, issuer: [u8; 28], vrf: [u8; 64], form: impl Form<'a>) {
        self.with(|writer| {
            (writer.issuer, writer.vrf) = (issuer, vrf);
            writer.line(form);
        });
    }

    /// Notes the addresses of a connection, `FROM:PORT TO:PORT`.
    pub fn connected(&self, peer: u32, addresses: String) {
        self.with(|writer| drop(writer.connections.insert(peer, addresses)));
    }

    /// Forgets a connection.
    pub fn disconnected(&self, peer: u32) {
        self.with(|writer| drop(writer.connections.remove(&peer)));
    }

    fn with(&self, run: impl FnOnce(&mut Writer)) {
        run(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Writer {
    fn line<'a>(&mut self, form: impl Form<'a>) {
        self.text.clear();
        self.stamp.begin_line(&mut self.text, now_ns());
        form.write(self);
        self.text.extend_from_slice(&self.tail);
        // The reader may have left, which is no reason to stop.
        let _ = self.out.write_all(&self.text).and_then(|()| self.out.flush());
    }

    fn put_hex(&mut self, bytes: &[u8]) {
        let mut digits = [0; 128];
        let digits = &mut digits[..2 * bytes.len()];
        hex(bytes, digits);
        self.text.extend_from_slice(digits);
    }
}

impl Out for Writer {
    fn put(&mut self, text: &[u8]) {
        self.text.extend_from_slice(text);
    }

    fn whole(&mut self, number: i64) {
        self.text.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    }

    fn real(&mut self, number: f64) {
        let _ = write!(self.text, "{number}");
    }

    fn connection(&mut self, peer: Peer) {
        let addresses = self.connections.get(&peer.0).map(String::as_bytes).unwrap_or_default();
        self.text.extend_from_slice(addresses);
    }

    fn transaction(&mut self, number: u32) {
        self.put_hex(&number.to_be_bytes());
    }

    fn issuer(&mut self, _: u32) {
        let issuer = self.issuer;
        self.put_hex(&issuer);
    }

    fn tie_break(&mut self, _: u64) {
        let vrf = self.vrf;
        self.put_hex(&vrf);
    }
}
