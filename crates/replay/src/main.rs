//! Replays a chain's ledger work, timed phase by phase: docs/replay.md.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use slotmark_replay::{Backend, Settings, replay};

/// Replays a chain's ledger work, timed phase by phase.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The ImmutableDB folder.
    #[arg(long)]
    chain: PathBuf,
    /// Where to write JSON lines.
    #[arg(long)]
    out: PathBuf,
    /// Where unspent outputs are kept.
    #[arg(long, value_enum)]
    backend: Backend,
    /// The folder for a set on disk; one that holds a set is gone on with.
    #[arg(long)]
    state: PathBuf,
    /// The network's Shelley genesis file, with byron-genesis.json beside it.
    #[arg(long)]
    genesis: Option<PathBuf>,
    /// Blocks between two flushes.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    flush_every: u64,
    /// How many blocks, from the chain's first one on; all by default.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    blocks: Option<u64>,
}

fn main() -> ExitCode {
    let Arguments { chain, out, backend, state, genesis, flush_every, blocks } = Arguments::parse();
    match replay(&Settings { chain, genesis, backend, state, flush_every, blocks }, &out) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("slotmark-replay: {error}");
            ExitCode::from(2)
        }
    }
}
