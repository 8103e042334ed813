//! The target contract of `docs/targets.md`: arguments in, records out.

use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use slotmark_chain::Point;
use slotmark_chain::block::Header;
use slotmark_wire::client::{Client, ClientError, decode_wire_header};

/// The work on each block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Receive the bytes of blocks.
    Raw,
    /// Decode whole blocks.
    Decode,
    /// Receive headers, decode them as far as their point.
    Headers,
    /// Headers, then the blocks by block-fetch.
    Fetch,
}

#[derive(Parser)]
#[command(about = "A target of slotmark; see docs/targets.md")]
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
#[derive(clap::Args, Clone, Debug)]
pub struct Job {
    /// Node-to-client socket.
    #[arg(long, required_unless_present = "address")]
    pub socket: Option<PathBuf>,
    /// Node-to-node address, HOST:PORT.
    #[arg(long)]
    pub address: Option<String>,
    /// The network's magic.
    #[arg(long)]
    pub magic: u64,
    /// The point before the first block.
    #[arg(long)]
    pub start: Point,
    /// Number of blocks.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub blocks: u64,
    /// The work on each.
    #[arg(long, value_enum)]
    pub mode: Mode,
    /// Requests in flight.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub depth: u64,
    /// Blocks between two progress records.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub progress_every: u64,
    /// Check that headers follow each other and that bodies are those of their headers; not part of the contract, and not timed.
    #[arg(long)]
    pub check: bool,
}

/// The arguments of `follow`.
#[derive(clap::Args, Clone, Debug)]
pub struct AtTip {
    /// Node-to-client socket.
    #[arg(long, required_unless_present = "address")]
    pub socket: Option<PathBuf>,
    /// Node-to-node address, HOST:PORT.
    #[arg(long)]
    pub address: Option<String>,
    /// The network's magic.
    #[arg(long)]
    pub magic: u64,
    /// The point before the first block.
    #[arg(long)]
    pub start: Point,
    /// The work on each.
    #[arg(long, value_enum)]
    pub mode: Mode,
}

/// The part of each block that a target folds into its digest.
pub trait Fold {
    /// The digest so far; None for a target that folds nothing.
    fn digest(&self) -> Option<String>;
}

/// The records of one run, held back until it is over.
pub struct Records {
    every: u64,
    blocks: u64,
    bytes: u64,
    held: Vec<Value>,
}

impl Records {
    fn new(every: u64) -> Self {
        Self { every, blocks: 0, bytes: 0, held: Vec::with_capacity(64) }
    }

    /// The time just before the first request.
    pub fn started(&mut self) {
        self.held.push(json!({"event": "started", "at_ns": now_ns()}));
    }

    /// A block of this many bytes is here, and folded.
    #[inline]
    pub fn block(&mut self, bytes: usize, fold: &impl Fold) {
        if self.blocks == 0 {
            self.held.push(json!({"event": "first", "at_ns": now_ns()}));
        }
        self.blocks += 1;
        self.bytes += bytes as u64;
        if self.blocks.is_multiple_of(self.every) {
            self.held
                .push(json!({"event": "progress", "blocks": self.blocks, "bytes": self.bytes, "at_ns": now_ns(), "digest": fold.digest()}));
        }
    }

    fn done(mut self, at_ns: u64, last: Option<(u64, String)>, fold: &impl Fold) -> io::Result<()> {
        let (slot, hash) = last.unzip();
        self.held.push(
            json!({"event": "done", "blocks": self.blocks, "bytes": self.bytes, "at_ns": at_ns, "slot": slot, "hash": hash, "digest": fold.digest()}),
        );
        let mut out = io::stdout().lock();
        for record in self.held {
            writeln!(out, "{record}")?;
        }
        out.flush()
    }
}

/// The end of a run: the last block's slot and hash in hex, where they are known.
pub type Last = Option<(u64, String)>;

/// A target in Rust on our own client.
pub trait Target: Fold {
    /// Returns its answer to `describe`: its name and the modes with their greatest depths.
    fn describe() -> (&'static str, Value);

    /// Follows the chain; the intersection is to be found first, then [`Records::started`] called.
    ///
    /// # Errors
    /// Whatever the client meets.
    fn follow(&mut self, client: &mut Client, job: &Job, records: &mut Records) -> Result<Last, ClientError>;

    /// Takes one block at the tip, `[era, block]`, in a mode with blocks; returns which it is where it decodes it. By default throws it away.
    ///
    /// # Errors
    /// It can't be decoded.
    fn block(&mut self, _mode: Mode, _block: &[u8]) -> Result<Last, ClientError> {
        Ok(None)
    }

    /// Takes one decoded header at the tip, in mode `headers`. By default throws it away.
    fn header(&mut self, _header: &Header<'_>) {}
}

/// The program: answers `describe`, or runs.
pub fn main<T: Target>(mut target: T) -> ExitCode {
    match Arguments::parse().call {
        Call::Describe => {
            let (name, modes) = T::describe();
            let version = env!("CARGO_PKG_VERSION");
            let follow = modes.as_object().map(|modes| modes.keys().cloned().collect::<Vec<_>>());
            println!("{}", json!({"contract": 1, "name": name, "version": version, "language": "Rust", "modes": modes, "follow": follow}));
            ExitCode::SUCCESS
        }
        Call::Run(job) => ended(run(&mut target, &job)),
        Call::Follow(job) => ended(follow(&mut target, &job)),
    }
}

fn ended(outcome: Result<(), Box<dyn std::error::Error>>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{}", json!({"event": "error", "message": error.to_string()}));
            ExitCode::FAILURE
        }
    }
}

/// Connects, prints `ready`, and waits for the line to start.
fn ready(mode: Mode, socket: Option<&Path>, address: Option<&str>, magic: u64) -> Result<Client, Box<dyn std::error::Error>> {
    let began = now_ns();
    let client = match (mode, socket, address) {
        (Mode::Raw | Mode::Decode, Some(socket), _) => Client::connect_socket(socket, magic)?,
        (Mode::Headers | Mode::Fetch, _, Some(address)) => Client::connect_address(address, magic)?,
        _ => return Err("raw and decode go with --socket, headers and fetch with --address".into()),
    };
    let at_ns = now_ns();
    println!("{}", json!({"event": "ready", "at_ns": at_ns, "connect_ns": at_ns - began, "version": client.version()}));
    io::stdin().lock().read_line(&mut String::new())?;
    Ok(client)
}

fn follow(target: &mut impl Target, job: &AtTip) -> Result<(), Box<dyn std::error::Error>> {
    let mut client = ready(job.mode, job.socket.as_deref(), job.address.as_deref(), job.magic)?;
    std::thread::spawn(|| {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        std::process::exit(0);
    });
    client.find_intersection(&job.start)?;
    let mut blocks = 0;
    loop {
        let taken = one_at_tip(target, &mut client, job.mode).map_err(|error| match error {
            ClientError::Closed { .. } => ClientError::Closed { blocks },
            other => other,
        })?;
        let Some(last) = taken else { continue };
        let at_ns = now_ns();
        blocks += 1;
        let (slot, hash) = last.unzip();
        let mut out = io::stdout().lock();
        writeln!(out, "{}", json!({"event": "block", "at_ns": at_ns, "slot": slot, "hash": hash, "digest": target.digest()}))?;
        out.flush()?;
    }
}

/// Waits for the next block, and takes it as the mode says; None where the chain rolled back.
fn one_at_tip(target: &mut impl Target, client: &mut Client, mode: Mode) -> Result<Option<Last>, ClientError> {
    if matches!(mode, Mode::Raw | Mode::Decode) {
        return client.next_block(|block| target.block(mode, block));
    }
    let header = client.next_header(|header| {
        let decoded = decode_wire_header(&header)?;
        if mode == Mode::Headers {
            target.header(&decoded);
        }
        Ok((decoded.slot, decoded.hash))
    })?;
    let Some((slot, hash)) = header else { return Ok(None) };
    if mode == Mode::Fetch {
        let point = Point::Block { slot, hash };
        client.fetch(&point, &point, |block| target.block(mode, block).map(drop))?;
    }
    Ok(Some(Some((slot, hex::encode(hash)))))
}

fn run(target: &mut impl Target, job: &Job) -> Result<(), Box<dyn std::error::Error>> {
    let mut client = ready(job.mode, job.socket.as_deref(), job.address.as_deref(), job.magic)?;
    let mut records = Records::new(job.progress_every);
    client.find_intersection(&job.start)?;
    let last = target.follow(&mut client, job, &mut records)?;
    records.done(now_ns(), last, target)?;
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    Ok(())
}

/// Follows headers, and reports each with its point; what `headers` and `fetch` of every target of ours do.
///
/// # Errors
/// Whatever the client meets.
pub fn follow_headers(
    client: &mut Client,
    headers: u64,
    depth: u64,
    mut each: impl FnMut(&Header<'_>, usize) -> Result<(), ClientError>,
) -> Result<Option<(u64, [u8; 32])>, ClientError> {
    let mut last = None;
    client.headers(headers, depth, |header| {
        let decoded = decode_wire_header(&header)?;
        each(&decoded, header.bytes.len())?;
        last = Some((decoded.slot, decoded.hash));
        Ok(())
    })?;
    Ok(last)
}

/// Follows headers in batches of `depth`, and fetches the blocks of each batch by one range; reports each header and each block.
///
/// # Errors
/// Whatever the client meets.
pub fn fetch_batches(
    client: &mut Client,
    blocks: u64,
    depth: u64,
    mut seen: impl FnMut(&Header<'_>) -> Result<(), ClientError>,
    mut each: impl FnMut(&[u8]) -> Result<(), ClientError>,
) -> Result<Option<(u64, [u8; 32])>, ClientError> {
    let mut left = blocks;
    let mut last = None;
    while left > 0 {
        let batch = depth.min(left);
        let mut first = None;
        last = follow_headers(client, batch, batch, |header, _| {
            first.get_or_insert(Point::Block { slot: header.slot, hash: header.hash });
            seen(header)
        })?;
        if let (Some(from), Some((slot, hash))) = (first, last) {
            client.fetch(&from, &Point::Block { slot, hash }, &mut each)?;
        }
        left -= batch;
    }
    Ok(last)
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
