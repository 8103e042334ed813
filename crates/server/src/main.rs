//! `slotmark-server`: replays a chain folder to any client. `slotmark chainsync serve` and sessions of `chainsync run` start it.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clap::Parser;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde::Serialize;
use serde_json::json;
use signal_hook::consts::{SIGINT, SIGTERM};
use slotmark_chain::{Chain, ChainError};
use slotmark_server::framing::FramedChain;
use slotmark_server::{Config, Pace, Server, ServerError};

/// Bytes of framed chain that are kept at most.
const FRAMED_BYTES: usize = 4 << 30;

/// Replays a chain folder to any client, until SIGINT or SIGTERM, or the end of standard input where that is asked for.
///
/// Standard output has a line of JSON for each connection that has ended.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The ImmutableDB folder.
    #[arg(long)]
    chain: PathBuf,
    /// Path of the node-to-client socket.
    #[arg(long, required_unless_present = "listen")]
    socket: Option<PathBuf>,
    /// Address of the node-to-node side, as HOST:PORT; port 0 takes a free one.
    #[arg(long)]
    listen: Option<String>,
    /// The network's magic.
    #[arg(long)]
    magic: u64,
    /// Wait so long before each reply.
    #[arg(long, default_value_t = 0.0)]
    reply_delay_us: f64,
    /// Look for a client's next request so long before going to sleep.
    #[arg(long, default_value_t = 0.0)]
    look_us: f64,
    /// Frame the window after this point before listening: SLOT.HASH, `origin` or `densest`.
    #[arg(long)]
    start: Option<String>,
    /// The window's length; all the rest by default.
    #[arg(long)]
    blocks: Option<u64>,
    /// Let the chain grow by a block so often, from --start on, or the first block.
    #[arg(long)]
    pace_us: Option<f64>,
    /// Roll back by two after every so many blocks, which then come again.
    #[arg(long, requires = "pace_us")]
    roll_back_every: Option<u64>,
    /// Stop when standard input ends, and answer each line on it with the CPU time so far.
    #[arg(long)]
    until_stdin_ends: bool,
    /// Print as a first line of JSON where it listens.
    #[arg(long)]
    json: bool,
}

/// Reasons why nothing is served.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}")]
    Server(#[from] ServerError),
    #[error("{0}")]
    Chain(#[from] ChainError),
    #[error("signals can't be handled ({0}).")]
    Signals(io::Error),
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("slotmark-server: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let stops = Stops::new().map_err(Failure::Signals)?;
    let (until_stdin_ends, as_json, socket) = (arguments.until_stdin_ends, arguments.json, arguments.socket.clone());
    let server = Server::start(config(arguments)?, |report| print(&report))?;
    let places = (socket.map(|path| path.display().to_string()), server.address().map(|address| address.to_string()));
    if as_json {
        print(&json!({"socket": places.0, "address": places.1}));
    } else {
        let places: Vec<String> = [places.0, places.1].into_iter().flatten().collect();
        eprintln!("listening on {}; Ctrl-C stops", places.join(" and "));
    }
    let code = stops.wait(until_stdin_ends, || print(&json!({"busy_ns": server.busy_ns()}))).map_err(Failure::Signals)?;
    server.stop();
    Ok(ExitCode::from(code))
}

fn config(arguments: Arguments) -> Result<Config, Failure> {
    let us = |us: f64| Duration::from_nanos((us * 1e3) as u64);
    let chain = Chain::open(&arguments.chain)?;
    let window = arguments.start.map(|start| chain.window_from(&start, arguments.blocks)).transpose()?.map(|window| window.range);
    let mut config = Config::new(FramedChain::new(chain, FRAMED_BYTES)?, arguments.magic);
    config.pace = arguments.pace_us.map(|pace| Pace {
        from: window.as_ref().map_or(1, |window| window.start.max(1)),
        every: us(pace),
        roll_back_every: arguments.roll_back_every,
    });
    config.prepare = window.filter(|_| config.pace.is_none());
    (config.socket, config.listen) = (arguments.socket, arguments.listen);
    (config.reply_delay, config.look) = (us(arguments.reply_delay_us), us(arguments.look_us));
    Ok(config)
}

/// Prints a line of JSON. The reader may have left, and others are served all the same.
fn print(line: &impl Serialize) {
    let Ok(mut line) = serde_json::to_vec(line) else { return };
    line.push(b'\n');
    let mut out = io::stdout().lock();
    let _ = out.write_all(&line).and_then(|()| out.flush());
}

/// The signals that stop the program.
struct Stops {
    came: UnixStream,
    which: Arc<AtomicUsize>,
}

impl Stops {
    fn new() -> io::Result<Self> {
        let (came, sender) = UnixStream::pair()?;
        let which = Arc::<AtomicUsize>::default();
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register_usize(signal, Arc::clone(&which), signal as usize)?;
            signal_hook::low_level::pipe::register(signal, sender.try_clone()?)?;
        }
        Ok(Self { came, which })
    }

    /// Waits for a signal or, where that is asked for, the end of standard input; calls `answer` for each line on it. Returns the exit code.
    fn wait(&self, until_stdin_ends: bool, answer: impl Fn()) -> io::Result<u8> {
        let stdin = io::stdin();
        let (mut buffer, watched) = ([0; 4096], 1 + usize::from(until_stdin_ends));
        loop {
            let mut ready = [PollFd::new(&self.came, PollFlags::IN), PollFd::new(&stdin, PollFlags::IN)];
            match poll(&mut ready[..watched], None) {
                Err(Errno::INTR) => continue,
                found => found?,
            };
            if !ready[0].revents().is_empty() {
                return Ok(128 + self.which.load(Ordering::Relaxed) as u8);
            }
            let read = match rustix::io::read(&stdin, &mut buffer) {
                Err(Errno::INTR) => continue,
                read => read?,
            };
            if read == 0 {
                return Ok(0);
            }
            buffer[..read].iter().filter(|byte| **byte == b'\n').for_each(|_| answer());
        }
    }
}
