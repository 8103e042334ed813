//! Pallas as a target of slotmark: see docs/targets.md for the contract.

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use pallas_network::facades::{NodeClient, PeerClient};
use pallas_network::miniprotocols::Point;
use pallas_network::miniprotocols::chainsync::{HeaderContent, NextResponse};
use pallas_traverse::{MultiEraBlock, MultiEraHeader};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

type Outcome<T> = Result<T, Box<dyn Error>>;

#[derive(Parser)]
#[command(about = "Pallas as a target of slotmark; see docs/targets.md")]
struct Arguments {
    #[command(subcommand)]
    call: Call,
}

#[derive(Subcommand)]
enum Call {
    /// Say what this target is.
    Describe,
    /// Follow a chain.
    Run(Job),
}

#[derive(clap::Args)]
struct Job {
    /// Node-to-client socket.
    #[arg(long, required_unless_present = "address")]
    socket: Option<PathBuf>,
    /// Node-to-node address, HOST:PORT.
    #[arg(long)]
    address: Option<String>,
    /// The network's magic.
    #[arg(long)]
    magic: u64,
    /// The point before the first block, SLOT.HASH or origin.
    #[arg(long, value_parser = point)]
    start: Point,
    /// How many blocks.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    blocks: u64,
    /// What to do to each.
    #[arg(long)]
    mode: Mode,
    /// Requests in flight: only 1, and in fetch, blocks a range.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    depth: u64,
    /// Blocks between two progress records.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    progress_every: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Mode {
    Raw,
    Decode,
    Headers,
    Fetch,
}

fn point(text: &str) -> Result<Point, String> {
    if text == "origin" {
        return Ok(Point::Origin);
    }
    let expected = || format!("'{text}': expected SLOT.HASH or origin");
    let (slot, hash) = text.split_once('.').ok_or_else(expected)?;
    Ok(Point::Specific(slot.parse().map_err(|_| expected())?, hex::decode(hash).map_err(|_| expected())?))
}

fn main() -> ExitCode {
    let job = match Arguments::parse().call {
        Call::Describe => {
            let modes = json!({"raw": 1, "decode": 1, "headers": 1, "fetch": 1000});
            println!("{}", json!({"contract": 1, "name": "pallas", "version": "1.4.0", "language": "Rust", "modes": modes}));
            return ExitCode::SUCCESS;
        }
        Call::Run(job) => job,
    };
    let outcome = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Into::into).and_then(|runtime| {
        let outcome = runtime.block_on(run(&job));
        runtime.shutdown_background(); // pallas' keep-alive loop never ends
        outcome
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{}", json!({"event": "error", "message": words(error.as_ref())}));
            ExitCode::FAILURE
        }
    }
}

fn words(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

async fn run(job: &Job) -> Outcome<()> {
    let began = now_ns();
    let mut records =
        Records { every: job.progress_every, digest: Sha256::new(), blocks: 0, bytes: 0, last: None, held: Vec::with_capacity(64) };
    match (job.mode, &job.socket, &job.address) {
        (Mode::Raw | Mode::Decode, Some(socket), _) => {
            let mut client = NodeClient::connect(socket, job.magic).await?;
            ready(began)?;
            let (point, _) = client.chainsync().find_intersect(vec![job.start.clone()]).await?;
            point.ok_or("the intersection was not found")?;
            records.started();
            blocks(&mut client, job, &mut records).await?;
            finish(records)?;
            client.abort().await;
        }
        (Mode::Headers | Mode::Fetch, _, Some(address)) => {
            let mut client = PeerClient::connect(address.as_str(), job.magic).await?;
            ready(began)?;
            let (point, _) = client.chainsync().find_intersect(vec![job.start.clone()]).await?;
            point.ok_or("the intersection was not found")?;
            records.started();
            headers(&mut client, job, &mut records).await?;
            finish(records)?;
            client.abort().await;
        }
        _ => return Err("raw and decode go with --socket, headers and fetch with --address".into()),
    }
    Ok(())
}

async fn blocks(client: &mut NodeClient, job: &Job, records: &mut Records) -> Outcome<()> {
    while records.blocks < job.blocks {
        let block = match client.chainsync().request_next().await? {
            NextResponse::RollForward(block, _) => block,
            NextResponse::RollBackward(_, _) if records.blocks == 0 => continue,
            NextResponse::RollBackward(point, _) => return Err(format!("a roll-backward to {point:?}").into()),
            NextResponse::Await => return Err("the chain ended: the server has no more".into()),
        };
        match job.mode {
            Mode::Decode => {
                let decoded = MultiEraBlock::decode(&block)?;
                records.decoded(&decoded);
            }
            _ => records.raw(&block),
        }
        records.block(block.len());
    }
    Ok(())
}

async fn headers(client: &mut PeerClient, job: &Job, records: &mut Records) -> Outcome<()> {
    let mut range: Vec<Point> = Vec::new();
    let mut received = 0;
    while records.blocks < job.blocks {
        let header = match client.chainsync().request_next().await? {
            NextResponse::RollForward(header, _) => header,
            NextResponse::RollBackward(_, _) if received == 0 => continue,
            NextResponse::RollBackward(point, _) => return Err(format!("a roll-backward to {point:?}").into()),
            NextResponse::Await => return Err("the chain ended: the server has no more".into()),
        };
        received += 1;
        let (slot, hash) = point_of(&header)?;
        if let Mode::Headers = job.mode {
            records.digest.update(slot.to_be_bytes());
            records.digest.update(hash);
            records.last = Some((slot, hash));
            records.block(header.cbor.len());
            continue;
        }
        records.last = Some((slot, hash));
        range.push(Point::Specific(slot, hash.to_vec()));
        if range.len() as u64 == job.depth || received == job.blocks {
            let (from, to) = (range[0].clone(), range[range.len() - 1].clone());
            range.clear();
            let blockfetch = client.blockfetch();
            blockfetch.request_range((from, to)).await?.ok_or("the server has no blocks for its own headers")?;
            while let Some(block) = blockfetch.recv_while_streaming().await? {
                records.raw(&block);
                records.block(block.len());
            }
        }
    }
    Ok(())
}

fn point_of(header: &HeaderContent) -> Outcome<(u64, [u8; 32])> {
    let header = MultiEraHeader::decode(header.variant, header.byron_prefix.map(|(kind, _)| kind), &header.cbor)?;
    Ok((header.slot(), *header.hash()))
}

struct Records {
    every: u64,
    digest: Sha256,
    blocks: u64,
    bytes: u64,
    last: Option<(u64, [u8; 32])>,
    held: Vec<Value>,
}

impl Records {
    fn started(&mut self) {
        self.held.push(json!({"event": "started", "at_ns": now_ns()}));
    }

    fn raw(&mut self, block: &[u8]) {
        self.digest.update((block.len() as u32).to_be_bytes());
        self.digest.update(crc32fast::hash(block).to_be_bytes());
    }

    fn decoded(&mut self, block: &MultiEraBlock<'_>) {
        let (slot, hash) = (block.slot(), *block.hash());
        let (mut transactions, mut inputs, mut outputs, mut fees) = (0u32, 0u32, 0u32, 0u64);
        for transaction in block.txs() {
            transactions += 1;
            inputs += transaction.inputs().len() as u32;
            outputs += transaction.outputs().len() as u32;
            fees += transaction.fee().unwrap_or(0);
        }
        self.digest.update(slot.to_be_bytes());
        self.digest.update(hash);
        self.digest.update(transactions.to_be_bytes());
        self.digest.update(inputs.to_be_bytes());
        self.digest.update(outputs.to_be_bytes());
        self.digest.update(fees.to_be_bytes());
        self.last = Some((slot, hash));
    }

    fn block(&mut self, bytes: usize) {
        if self.blocks == 0 {
            self.held.push(json!({"event": "first", "at_ns": now_ns()}));
        }
        self.blocks += 1;
        self.bytes += bytes as u64;
        if self.blocks.is_multiple_of(self.every) {
            let digest = hex::encode(self.digest.clone().finalize());
            self.held.push(json!({"event": "progress", "blocks": self.blocks, "bytes": self.bytes, "at_ns": now_ns(), "digest": digest}));
        }
    }
}

fn ready(began: u64) -> Outcome<()> {
    let at_ns = now_ns();
    println!("{}", json!({"event": "ready", "at_ns": at_ns, "connect_ns": at_ns - began, "version": Value::Null}));
    io::stdin().lock().read_line(&mut String::new())?;
    Ok(())
}

fn finish(mut records: Records) -> Outcome<()> {
    let at_ns = now_ns();
    let (slot, hash) = records.last.map(|(slot, hash)| (slot, hex::encode(hash))).unzip();
    let digest = hex::encode(records.digest.finalize());
    let done = json!({"event": "done", "blocks": records.blocks, "bytes": records.bytes, "at_ns": at_ns, "slot": slot, "hash": hash, "digest": digest});
    records.held.push(done);
    let mut out = io::stdout().lock();
    for record in &records.held {
        writeln!(out, "{record}")?;
    }
    out.flush()?;
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    Ok(())
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
