//! Pallas as a target of slotmark: see docs/targets.md for the contract.

mod follow;
mod records;
mod tip;

use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use pallas_network::miniprotocols::Point;
use serde_json::json;

/// The longest block-fetch range that `fetch` asks for.
const LONGEST_RANGE: u64 = 1000;

/// The result of a step; an error goes into one line of the `error` record, and is not handled otherwise.
type Outcome<T> = Result<T, Box<dyn Error>>;

#[derive(Parser)]
#[command(name = "slotmark-target-pallas", about = "Pallas as a target of slotmark; see docs/targets.md")]
struct Arguments {
    #[command(subcommand)]
    call: Call,
}

#[derive(Subcommand)]
enum Call {
    /// Say what this target is.
    Describe,
    /// Follow a chain over a number of blocks.
    Run(Job),
    /// Follow a chain at its tip until standard input ends.
    Follow(AtTip),
}

/// The arguments of `run`.
#[derive(clap::Args)]
struct Job {
    /// Node-to-client socket; with raw and decode.
    #[arg(long, required_unless_present = "address")]
    socket: Option<PathBuf>,
    /// Node-to-node address, HOST:PORT; with headers and fetch.
    #[arg(long)]
    address: Option<String>,
    /// The network's magic.
    #[arg(long)]
    magic: u64,
    /// The point before the first block, SLOT.HASH or origin.
    #[arg(long, value_parser = point)]
    start: Point,
    /// Number of blocks.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    blocks: u64,
    /// The work on each.
    #[arg(long)]
    mode: Mode,
    /// Requests in flight: only 1; in fetch, blocks a range.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    depth: u64,
    /// Blocks between two progress records.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    progress_every: u64,
}

/// The arguments of `follow`.
#[derive(clap::Args)]
struct AtTip {
    /// Node-to-client socket; with raw and decode.
    #[arg(long, required_unless_present = "address")]
    socket: Option<PathBuf>,
    /// Node-to-node address, HOST:PORT; with headers and fetch.
    #[arg(long)]
    address: Option<String>,
    /// The network's magic.
    #[arg(long)]
    magic: u64,
    /// The point before the first block, SLOT.HASH or origin.
    #[arg(long, value_parser = point)]
    start: Point,
    /// The work on each.
    #[arg(long)]
    mode: Mode,
}

#[derive(Clone, Copy, ValueEnum)]
enum Mode {
    Raw,
    Decode,
    Headers,
    Fetch,
}

impl Mode {
    fn deepest(self) -> u64 {
        match self {
            Mode::Fetch => LONGEST_RANGE,
            Mode::Raw | Mode::Decode | Mode::Headers => 1,
        }
    }
}

fn point(text: &str) -> Result<Point, String> {
    if text == "origin" {
        return Ok(Point::Origin);
    }
    let expected = || "expected SLOT.HASH, the hash in 64 hex digits, or origin".to_owned();
    let (slot, hash) = text.split_once('.').ok_or_else(expected)?;
    let mut bytes = [0; 32];
    hex::decode_to_slice(hash, &mut bytes).map_err(|_| expected())?;
    Ok(Point::Specific(slot.parse().map_err(|_| expected())?, bytes.to_vec()))
}

fn main() -> ExitCode {
    match Arguments::parse().call {
        Call::Describe => {
            let modes = json!({"raw": 1, "decode": 1, "headers": 1, "fetch": LONGEST_RANGE});
            let follow = ["raw", "decode", "headers", "fetch"];
            println!(
                "{}",
                json!({"contract": 1, "name": "pallas", "version": "1.4.0", "language": "Rust", "modes": modes, "follow": follow})
            );
            ExitCode::SUCCESS
        }
        Call::Run(job) if job.depth > job.mode.deepest() => {
            let message = format!("--depth {}: this mode takes {} at most", job.depth, job.mode.deepest());
            Arguments::command().error(ErrorKind::ValueValidation, message).exit()
        }
        Call::Run(job) => ended(follow::run(&job)),
        Call::Follow(job) => ended(tip::follow(&job)),
    }
}

fn ended(work: impl Future<Output = Outcome<()>>) -> ExitCode {
    let outcome = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Into::into).and_then(|runtime| {
        let outcome = runtime.block_on(work);
        runtime.shutdown_background(); // pallas' keep-alive loop never ends
        outcome
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Where the reader has left, only the exit code remains.
            let _ = writeln!(io::stdout(), "{}", json!({"event": "error", "message": words(error.as_ref())}));
            ExitCode::FAILURE
        }
    }
}

/// An error and its causes in one line.
fn words(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
