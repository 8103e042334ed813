//! The floor: pipelines, finds the ends of messages, and throws everything away. Its proof is the number of blocks and bytes.

use std::process::ExitCode;

use serde_json::{Value, json};
use slotmark_target::{Fold, Job, Last, Mode, Records, Target, fetch_batches, follow_headers, main as contract};
use slotmark_wire::client::{Client, ClientError};

struct Floor;

impl Fold for Floor {
    fn digest(&self) -> Option<String> {
        None
    }
}

impl Target for Floor {
    fn describe() -> (&'static str, Value) {
        ("floor", json!({"raw": 10_000, "headers": 10_000, "fetch": 10_000}))
    }

    fn follow(&mut self, client: &mut Client, job: &Job, records: &mut Records) -> Result<Last, ClientError> {
        if job.check {
            return Err(ClientError::WrongBytes("the floor throws all away and checks nothing".into()));
        }
        records.started();
        match job.mode {
            Mode::Raw | Mode::Decode => {
                let mut before = 0;
                client.discard(job.blocks, job.depth, |bytes| {
                    records.block((bytes - before) as usize, &Floor);
                    before = bytes;
                })?;
            }
            Mode::Headers => drop(follow_headers(client, job.blocks, job.depth, |_, bytes| {
                records.block(bytes, &Floor);
                Ok(())
            })?),
            Mode::Fetch => drop(fetch_batches(
                client,
                job.blocks,
                job.depth,
                |_| Ok(()),
                |block| {
                    records.block(block.len(), &Floor);
                    Ok(())
                },
            )?),
        }
        Ok(None)
    }
}

fn main() -> ExitCode {
    contract(Floor)
}
