//! slotmark's own client as a target: buffered, pipelined, with our own decoder.

mod check;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::process::ExitCode;

use check::Check;
use serde_json::{Value, json};
use slotmark_chain::block::Header;
use slotmark_chain::{Block, Decoder, Digest};
use slotmark_target::{Fold, Job, Last, Mode, Records, Target, fetch_batches, follow_headers, main as contract};
use slotmark_wire::client::{Client, ClientError};

#[derive(Default)]
struct Native(Digest, Decoder);

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
        if job.check {
            return self.checked(client, job, records);
        }
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
                    let block = decode(&mut decoder, bytes)?;
                    let facts = block.facts();
                    self.0.decoded(&facts);
                    last = Some((facts.slot, facts.hash));
                    records.block(bytes.len(), self);
                    Ok(())
                })?;
                last
            }
            Mode::Headers => follow_headers(client, job.blocks, job.depth, |header, bytes| {
                self.0.header(header.slot, &header.hash);
                records.block(bytes, self);
                Ok(())
            })?,
            Mode::Fetch => fetch_batches(
                client,
                job.blocks,
                job.depth,
                |_| Ok(()),
                |block| {
                    self.0.raw(block.len() as u32, crc32fast::hash(block));
                    records.block(block.len(), self);
                    Ok(())
                },
            )?,
        };
        Ok(last.map(|(slot, hash)| (slot, hex::encode(hash))))
    }

    fn block(&mut self, mode: Mode, bytes: &[u8]) -> Result<Last, ClientError> {
        if mode != Mode::Decode {
            self.0.raw(bytes.len() as u32, crc32fast::hash(bytes));
            return Ok(None);
        }
        let facts = decode(&mut self.1, bytes)?.facts();
        self.0.decoded(&facts);
        Ok(Some((facts.slot, hex::encode(facts.hash))))
    }

    fn header(&mut self, header: &Header<'_>) {
        self.0.header(header.slot, &header.hash);
    }
}

impl Native {
    /// Does what the mode asks for, and checks every hash that there is on the way.
    fn checked(&mut self, client: &mut Client, job: &Job, records: &mut Records) -> Result<Last, ClientError> {
        let mut check = Check::after(&job.start);
        let mut decoder = Decoder::new();
        records.started();
        let last = match job.mode {
            Mode::Raw | Mode::Decode => {
                let mut last = None;
                client.blocks(job.blocks, job.depth, |bytes| {
                    let block = decode(&mut decoder, bytes)?;
                    check.block(&block).map_err(ClientError::WrongBytes)?;
                    let facts = block.facts();
                    match job.mode {
                        Mode::Raw => self.0.raw(bytes.len() as u32, crc32fast::hash(bytes)),
                        _ => self.0.decoded(&facts),
                    }
                    last = Some((facts.slot, facts.hash));
                    records.block(bytes.len(), self);
                    Ok(())
                })?;
                last
            }
            Mode::Headers => follow_headers(client, job.blocks, job.depth, |header, bytes| {
                check.header(header).map_err(ClientError::WrongBytes)?;
                self.0.header(header.slot, &header.hash);
                records.block(bytes, self);
                Ok(())
            })?,
            Mode::Fetch => {
                let announced = RefCell::new(VecDeque::new());
                fetch_batches(
                    client,
                    job.blocks,
                    job.depth,
                    |header| {
                        announced.borrow_mut().push_back(header.hash);
                        Ok(())
                    },
                    |bytes| {
                        let block = decode(&mut decoder, bytes)?;
                        let header = announced.borrow_mut().pop_front();
                        check.fetched(&block, header).map_err(ClientError::WrongBytes)?;
                        self.0.raw(bytes.len() as u32, crc32fast::hash(bytes));
                        records.block(bytes.len(), self);
                        Ok(())
                    },
                )?
            }
        };
        Ok(last.map(|(slot, hash)| (slot, hex::encode(hash))))
    }
}

fn decode<'d, 'a>(decoder: &'d mut Decoder, bytes: &'a [u8]) -> Result<Block<'d, 'a>, ClientError> {
    decoder.decode(bytes).map_err(|error| ClientError::WrongBytes(format!("a block that can't be decoded: {error}")))
}

fn main() -> ExitCode {
    contract(Native::default())
}
