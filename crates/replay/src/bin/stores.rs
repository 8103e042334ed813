//! Measures stores of unspent outputs alone, and proves them: docs/stores.md.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use serde_json::json;
use slotmark_replay::alone::{self, Times};
use slotmark_replay::batches::Batches;
use slotmark_replay::disk::random_reads;
use slotmark_replay::prove::{self, keep_on, prove};
use slotmark_replay::{Backend, ReplayError};

/// Measures stores of unspent outputs alone, and proves them.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Fill a store, and do batches on it.
    Work(Work),
    /// Compare a store's answers with those of a map, kill processes that change it, and look at what they leave.
    Prove(Prove),
    /// Do batches until the end, or until this process is killed, and print the number of each that is done.
    Batches(Kept),
    /// Read blocks of 4 KiB at random, past the page cache, and print how many.
    Disk(Disk),
}

#[derive(Args)]
struct Kept {
    #[arg(long, value_enum)]
    backend: Backend,
    /// The store's folder.
    #[arg(long)]
    state: PathBuf,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Args)]
struct Work {
    #[command(flatten)]
    kept: Kept,
    /// Path of the JSON lines.
    #[arg(long)]
    out: PathBuf,
    /// Entries before the first batch.
    #[arg(long)]
    entries: u64,
    /// Batches of 256 look-ups, inserts and deletes; at most as many as the entries allow.
    #[arg(long)]
    batches: u64,
    /// Look up while the changes of the batch before are written.
    #[arg(long)]
    pipelined: bool,
    /// Threads that look up.
    #[arg(long, default_value_t = 1)]
    readers: usize,
    /// This process is alone in its control group: count its page cache.
    #[arg(long)]
    grouped: bool,
}

#[derive(Args)]
struct Prove {
    #[command(flatten)]
    kept: Kept,
    /// Look-ups, inserts and deletes, together.
    #[arg(long)]
    operations: u64,
    /// Processes to kill.
    #[arg(long)]
    kills: u64,
}

#[derive(Args)]
struct Disk {
    /// A folder on that disk.
    #[arg(long)]
    place: PathBuf,
    /// Size of the file that is read.
    #[arg(long)]
    bytes: u64,
    /// Time at each queue depth, in ms.
    #[arg(long)]
    each: u64,
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Work(given) => work(&given),
        Command::Prove(Prove { kept, operations, kills }) => program().and_then(|program| {
            let Kept { backend, state, seed } = kept;
            prove(&prove::Settings { backend, state, operations, kills, seed, program }).map_err(|error| error.to_string())
        }),
        Command::Batches(Kept { backend, state, seed }) => keep_on(backend, &state, seed, &mut |number| {
            // The reader of a process that is to be killed needn't be there.
            let _ = writeln!(io::stdout(), "{number}");
        })
        .map_err(|error| error.to_string()),
        Command::Disk(Disk { place, bytes, each }) => disk(&place, bytes, each),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("slotmark-stores: {error}");
            ExitCode::from(2)
        }
    }
}

fn program() -> Result<PathBuf, String> {
    std::env::current_exe().map_err(|error| format!("its own program can't be found ({error})"))
}

fn work(given: &Work) -> Result<(), String> {
    let (Kept { backend, state, seed }, entries, batches) = (&given.kept, given.entries, given.batches);
    if batches > Batches::most(entries) {
        return Err(format!("--batches {batches}: at most {} for {entries} entries: no key is looked up twice.", Batches::most(entries)));
    }
    let settings = alone::Settings {
        backend: *backend,
        state: state.clone(),
        entries,
        batches,
        pipelined: given.pipelined,
        readers: given.readers,
        seed: *seed,
        grouped: given.grouped,
    };
    let written = |source: io::Error| ReplayError::Write { path: given.out.clone(), source };
    let done = File::create(&given.out).map_err(written).and_then(|file| {
        let mut lines = BufWriter::new(file);
        let process = json!({
            "record": "process", "program": "slotmark-stores", "version": env!("CARGO_PKG_VERSION"), "backend": backend.name(),
            "store": backend.library(),
        });
        writeln!(lines, "{process}").map_err(written)?;
        let mut bytes = 0;
        let mut each = |Times { latency_ns, lookups_ns, updates_ns }: Times| {
            let line =
                format!("{{\"record\":\"batch\",\"latency_ns\":{latency_ns},\"lookups_ns\":{lookups_ns},\"updates_ns\":{updates_ns}}}\n");
            bytes += line.len() as u64;
            lines.write_all(line.as_bytes()).map_err(written)
        };
        let mut done = alone::work(&settings, &mut each)?;
        // What was written for this record isn't the set's.
        done.used.written_bytes = done.used.written_bytes.map(|all| all.saturating_sub(bytes));
        let mut end = serde_json::to_value(&done).map_err(|error| written(error.into()))?;
        end["record"] = "end".into();
        end["batches"] = batches.into();
        writeln!(lines, "{end}").and_then(|()| lines.flush()).map_err(written)
    });
    done.map_err(|error| error.to_string())
}

fn disk(place: &Path, bytes: u64, each: u64) -> Result<(), String> {
    let found = random_reads(place, bytes, Duration::from_millis(each))
        .map_err(|error| format!("{}: no random reads of this disk can be measured ({error})", place.display()))?;
    println!("{}", json!(found));
    Ok(())
}
