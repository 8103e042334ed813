//! slotmark's own client as a target: buffered, pipelined, with our own decoder.

use std::process::ExitCode;

use serde_json::{Value, json};
use slotmark_chain::{Decoder, Digest};
use slotmark_ouroboros::client::{Client, ClientError};
use slotmark_target::{Fold, Job, Last, Mode, Records, Target, fetch_batches, follow_headers, main as contract};

#[derive(Default)]
struct Native(Digest);

impl Fold for Native {
    fn digest(&self) -> Option<String> {
        Some(self.0.hex())
    }
}

impl Target for Native {
    fn describe() -> (&'static str, Value) {
        ("native", json!({"raw": 10_000, "decode": 10_000, "headers": 10_000, "fetch": 10_000}))
    }

    fn follow(&mut self, client: &mut Client, job: &Job, records: &mut Records) -> Result<Last, ClientError> {
        records.started();
        let last = match job.mode {
            Mode::Raw => {
                client.blocks(job.blocks, job.depth, |block| {
                    self.0.raw(block.len() as u32, crc32fast::hash(block));
                    records.block(block.len(), self);
                    Ok(())
                })?;
                None
            }
            Mode::Decode => {
                let mut decoder = Decoder::new();
                let mut last = None;
                client.blocks(job.blocks, job.depth, |bytes| {
                    let block = decoder
                        .decode(bytes)
                        .map_err(|error| ClientError::Protocol { protocol: 5, what: format!("a block that can't be decoded: {error}") })?;
                    let facts = block.facts();
                    self.0.decoded(&facts);
                    last = Some((facts.slot, facts.hash));
                    records.block(bytes.len(), self);
                    Ok(())
                })?;
                last
            }
            Mode::Headers => follow_headers(client, job.blocks, job.depth, |slot, hash, bytes| {
                self.0.header(slot, &hash);
                records.block(bytes, self);
            })?,
            Mode::Fetch => fetch_batches(client, job.blocks, job.depth, |block| {
                self.0.raw(block.len() as u32, crc32fast::hash(block));
                records.block(block.len(), self);
            })?,
        };
        Ok(last.map(|(slot, hash)| (slot, hex::encode(hash))))
    }
}

fn main() -> ExitCode {
    contract(Native::default())
}
