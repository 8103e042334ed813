//! Replays a chain's ledger work, timed phase by phase: docs/replay.md.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use slotmark_replay::{Backend, Settings, prepare, replay};

/// Replays a chain's ledger work, timed phase by phase.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The ImmutableDB folder.
    #[arg(long, required_unless_present = "prepare")]
    chain: Option<PathBuf>,
    /// Path of the JSON lines.
    #[arg(long)]
    out: PathBuf,
    /// The store of unspent outputs.
    #[arg(long, value_enum, required_unless_present = "prepare")]
    backend: Option<Backend>,
    /// The folder for a set on disk; one that holds a set is gone on with.
    #[arg(long, required_unless_present = "prepare")]
    state: Option<PathBuf>,
    /// Replay nothing: only read the genesis, and write what --prepared takes to --out.
    #[arg(long, requires = "genesis", conflicts_with_all = ["chain", "backend", "state", "blocks"])]
    prepare: bool,
    /// File that --prepare wrote, in the place of the genesis file.
    #[arg(long, conflicts_with_all = ["prepare", "genesis"])]
    prepared: Option<PathBuf>,
    /// The network's Shelley genesis file, with byron-genesis.json beside it.
    #[arg(long)]
    genesis: Option<PathBuf>,
    /// Blocks between two flushes.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    flush_every: u64,
    /// Number of blocks, from the chain's first one on; all by default.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    blocks: Option<u64>,
    /// Check no header and no transaction, as a node does with blocks that it has checked before.
    #[arg(long, conflicts_with = "prepare")]
    reapply: bool,
    /// Microseconds to be idle before each block, as a node is; that time is part of nothing.
    #[arg(long, default_value_t = 0, conflicts_with = "prepare")]
    pause_us: u64,
}

fn main() -> ExitCode {
    let Arguments { chain, out, backend, state, prepare: _, prepared, genesis, flush_every, blocks, reapply, pause_us } =
        Arguments::parse();
    let pause = Duration::from_micros(pause_us);
    let done = match (chain, backend, state, &genesis) {
        (Some(chain), Some(backend), Some(state), _) => {
            replay(&Settings { chain, genesis, prepared, backend, state, flush_every, blocks, reapply, pause }, &out).map(|_| ())
        }
        (.., Some(genesis)) => prepare(genesis, &out),
        _ => unreachable!("clap requires them"),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("slotmark-replay: {error}");
            ExitCode::from(2)
        }
    }
}
