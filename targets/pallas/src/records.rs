//! The records of one run, held back until it is over, and the digest that proves it.

use std::io::{self, BufRead, Write};

use pallas_traverse::MultiEraBlock;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::Outcome;

pub struct Records {
    every: u64,
    digest: Sha256,
    blocks: u64,
    bytes: u64,
    last: Option<(u64, [u8; 32])>,
    started_ns: u64,
    first_ns: Option<u64>,
    progress: Vec<Value>,
}

impl Records {
    /// Takes the `started` time.
    pub fn started(every: u64) -> Self {
        let progress = Vec::with_capacity(64);
        Self { every, digest: Sha256::new(), blocks: 0, bytes: 0, last: None, started_ns: now_ns(), first_ns: None, progress }
    }

    /// Blocks so far; headers in mode `headers`.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// A block has come, and nothing was done to it yet.
    pub fn received(&mut self) {
        self.first_ns.get_or_insert_with(now_ns);
    }

    pub fn raw(&mut self, block: &[u8]) {
        self.digest.update((block.len() as u32).to_be_bytes());
        self.digest.update(crc32fast::hash(block).to_be_bytes());
    }

    /// Reads what was decoded in its place: `MultiEraBlock::txs` would clone every transaction of the block.
    pub fn decoded(&mut self, block: &MultiEraBlock<'_>) {
        let (mut inputs, mut outputs, mut fees) = (0, 0, 0u64);
        macro_rules! sum {
            ($bodies:expr) => {
                for body in $bodies.iter() {
                    inputs += body.inputs.len() as u32;
                    outputs += body.outputs.len() as u32;
                    fees += body.fee;
                }
            };
        }
        match block {
            MultiEraBlock::AlonzoCompatible(block, _) => sum!(block.transaction_bodies),
            MultiEraBlock::Babbage(block) => sum!(block.transaction_bodies),
            MultiEraBlock::Conway(block) => sum!(block.transaction_bodies),
            MultiEraBlock::Byron(block) => {
                for payload in block.body.tx_payload.iter() {
                    inputs += payload.transaction.inputs.len() as u32;
                    outputs += payload.transaction.outputs.len() as u32;
                }
            }
            _ => {} // an epoch boundary block has no transactions
        }
        self.header(block.slot(), *block.hash());
        self.digest.update((block.tx_count() as u32).to_be_bytes());
        self.digest.update(inputs.to_be_bytes());
        self.digest.update(outputs.to_be_bytes());
        self.digest.update(fees.to_be_bytes());
    }

    pub fn header(&mut self, slot: u64, hash: [u8; 32]) {
        self.digest.update(slot.to_be_bytes());
        self.digest.update(hash);
        self.last(slot, hash);
    }

    pub fn last(&mut self, slot: u64, hash: [u8; 32]) {
        self.last = Some((slot, hash));
    }

    /// A block of this many bytes is done with.
    pub fn block(&mut self, bytes: usize) {
        self.blocks += 1;
        self.bytes += bytes as u64;
        if self.blocks.is_multiple_of(self.every) {
            let digest = hex::encode(self.digest.clone().finalize());
            self.progress
                .push(json!({"event": "progress", "blocks": self.blocks, "bytes": self.bytes, "at_ns": now_ns(), "digest": digest}));
        }
    }

    /// Prints a `block` record of the last block, with the time at which it was done with.
    pub fn at_tip(&self) -> Outcome<()> {
        let at_ns = now_ns();
        let (slot, hash) = self.last.map(|(slot, hash)| (slot, hex::encode(hash))).unzip();
        let digest = hex::encode(self.digest.clone().finalize());
        let mut out = io::stdout().lock();
        writeln!(out, "{}", json!({"event": "block", "at_ns": at_ns, "slot": slot, "hash": hash, "digest": digest}))?;
        Ok(out.flush()?)
    }

    /// Takes the time of the end, prints everything, and waits for standard input to end.
    pub fn finish(self) -> Outcome<()> {
        let at_ns = now_ns();
        let (slot, hash) = self.last.map(|(slot, hash)| (slot, hex::encode(hash))).unzip();
        let digest = hex::encode(self.digest.finalize());
        let mut out = io::stdout().lock();
        writeln!(out, "{}", json!({"event": "started", "at_ns": self.started_ns}))?;
        writeln!(out, "{}", json!({"event": "first", "at_ns": self.first_ns}))?;
        for record in &self.progress {
            writeln!(out, "{record}")?;
        }
        let done = json!({
            "event": "done", "blocks": self.blocks, "bytes": self.bytes, "at_ns": at_ns, "slot": slot, "hash": hash, "digest": digest,
        });
        writeln!(out, "{done}")?;
        out.flush()?;
        io::copy(&mut io::stdin().lock(), &mut io::sink())?;
        Ok(())
    }
}

/// Prints `ready` and waits for the word to start. The facade hides the negotiated version.
pub fn ready(began_ns: u64) -> Outcome<()> {
    let at_ns = now_ns();
    writeln!(io::stdout(), "{}", json!({"event": "ready", "at_ns": at_ns, "connect_ns": at_ns - began_ns, "version": Value::Null}))?;
    match io::stdin().lock().read_line(&mut String::new())? {
        0 => Err("standard input ended before the word to start".into()),
        _ => Ok(()),
    }
}

pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
