//! `slotmark-txgen`: a workload from a bed's funds, submitted to nodes.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use serde_json::{Value, json};
use signal_hook::consts::{SIGINT, SIGTERM};
use slotmark_chain::Hash32;
use slotmark_synth::bed::Bed;
use slotmark_synth::load::{Load, LoadKind, Referred, SignedTransaction, prepare};
use slotmark_synth::{Shares, SynthError};
use slotmark_txgen::{Ended, Place, Schedule, Summary, inclusions, now_ns, shared_out, submit, wait_for_inclusion};

/// Time that a transaction of the split may be in no block before it is offered again.
const OFFER_AGAIN: Duration = Duration::from_secs(20);
/// Interval at which a waiting thread checks whether to go on.
const LOOK: Duration = Duration::from_millis(100);
/// Time limit for reading a chain at the end.
const READ_LIMIT: Duration = Duration::from_secs(300);

/// Submits a workload's transactions from a bed's funds to nodes, at an asked rate, over node-to-node tx-submission.
///
/// First each fund is split by one transaction; when those are in blocks, the load begins. Records are JSON lines: one for each
/// transaction that was offered, with its times in ns since 1970. Standard output has a JSON line for each phase.
#[derive(Parser)]
#[command(
    version,
    after_help = "Example: slotmark-txgen --bed bed --target 127.0.0.1:30000 --socket node-0/node.socket --tps 8 --transactions 480 -o tx.jsonl"
)]
struct Options {
    /// The bed whose funds are spent.
    #[arg(long, value_name = "DIR")]
    bed: PathBuf,
    /// Address on which a node listens; again for more. Each transaction goes to one of them.
    #[arg(long = "target", value_name = "ADDRESS:PORT", required_unless_present = "places", conflicts_with = "places")]
    targets: Vec<SocketAddr>,
    /// Targets of one place, and its share of transactions, rate and funds; again for more. Each place spends funds of its own.
    #[arg(long = "place", value_name = "SHARE=ADDRESS:PORT,…")]
    places: Vec<Place>,
    /// Transactions a second, over all targets.
    #[arg(long)]
    tps: f64,
    /// Number of transactions.
    #[arg(long, value_name = "N")]
    transactions: u64,
    /// Kind of transactions.
    #[arg(long, value_enum, default_value_t = Workload::ValueOnly)]
    workload: Workload,
    /// Inputs of a transaction that moves value.
    #[arg(long, default_value_t = 2)]
    inputs: usize,
    /// Outputs of a transaction that moves value.
    #[arg(long, default_value_t = 2)]
    outputs: usize,
    /// Shares of actions in a mixed workload, as value=5,vote=1.
    #[arg(long)]
    shares: Option<Shares>,
    /// Bytes of payload, as metadata.
    #[arg(long, default_value_t = 100)]
    payload: usize,
    /// Unspent outputs of the bed's genesis that a transaction which moves value refers to, drawn among those that nothing spends.
    #[arg(long, value_name = "N", default_value_t = 0)]
    references: usize,
    /// Number that the loop script counts down from: as much as a transaction's budget allows unless given.
    #[arg(long)]
    count: Option<u64>,
    /// Decides the payload and who is paid.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A node's socket, from which its blocks are read until the split is in them; without it, --settle is waited for.
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Seconds that the split may take to be in blocks, and at the end the last transactions. Without --socket, the split is given that time in full.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    settle: u64,
    /// Path of the records.
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Path of the list, written at the end, of the block of --socket's chain that has each transaction. It ends when all are in blocks, when
    /// --settle is over, or by Ctrl-C.
    #[arg(long, value_name = "FILE", requires = "socket")]
    inclusions: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Workload {
    ValueOnly,
    PlutusLoop,
    /// The script of the bed.
    Script,
    /// Value, and by --shares what else the ledger knows.
    Mixed,
    /// Votes and what they need, beside value.
    Voting,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("slotmark-txgen: {message}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<ExitCode, String> {
    if !(options.tps.is_finite() && options.tps > 0.0) {
        return Err(format!("--tps {}: expected a number above 0.", options.tps));
    }
    let bed = Bed::read(&options.bed).map_err(|error| error.to_string())?;
    let funds = bed.funds(&options.bed).map_err(|error| error.to_string())?;
    let places = match options.places.as_slice() {
        [] => vec![Place { share: 1.0, targets: options.targets.clone() }],
        places => places.to_vec(),
    };
    let all_targets: Vec<SocketAddr> = places.iter().flat_map(|place| place.targets.clone()).collect();
    let kind = match options.workload {
        Workload::ValueOnly => LoadKind::ValueOnly { inputs: options.inputs, outputs: options.outputs },
        Workload::Mixed | Workload::Voting => {
            let usual = if matches!(options.workload, Workload::Voting) { Shares::VOTING } else { Shares::MIXED };
            LoadKind::Acting { inputs: options.inputs, outputs: options.outputs, shares: options.shares.unwrap_or(usual) }
        }
        Workload::PlutusLoop => LoadKind::PlutusLoop { count: options.count },
        Workload::Script => LoadKind::Script(bed.script.clone().ok_or_else(|| {
            format!("{}: has no script. Make a bed of a profile whose workload.script names a file.", options.bed.display())
        })?),
    };
    let stop = Arc::<AtomicBool>::default();
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(|error| format!("signals can't be handled ({error})."))?;
    }
    let file = File::create(&options.out).map_err(|error| format!("{}: can't be written ({error}).", options.out.display()))?;
    let mut records = BufWriter::new(file);
    let go_on = || if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let (mut funds, mut prepared_split, mut loads) = (funds.as_slice(), Vec::new(), Vec::new());
    let shares = shared_out(options.transactions, &places).into_iter().zip(shared_out(funds.len() as u64, &places));
    for ((number, place), (transactions, share)) in (0..).zip(&places).zip(shares) {
        // A place whose share is nothing gets nothing; where there are too few funds for it, it is an error.
        if transactions == 0 {
            continue;
        }
        let (own, rest) = funds.split_at(share as usize);
        funds = rest;
        let load = Load {
            kind: kind.clone(),
            transactions,
            payload_bytes: options.payload,
            seed: options.seed.wrapping_add(number),
            budget: bed.genesis.budgets.transaction,
            referred: Referred { each: options.references, entries: bed.genesis.utxo_entries, seed: bed.seed },
        };
        let prepared = match prepare(&load, own, &mut |_, _| go_on()) {
            Err(SynthError::Interrupted) => return Ok(ExitCode::from(130)),
            prepared => prepared.map_err(|error| error.to_string())?,
        };
        prepared_split.extend(prepared.split);
        let rate = options.tps * transactions as f64 / options.transactions as f64;
        loads.push(Offer { transactions: prepared.transactions, rate, targets: place.targets.clone() });
    }
    let magic = bed.genesis.network_magic;
    let load_ids: HashSet<_> = loads.iter().flat_map(|load| &load.transactions).map(|transaction| transaction.id).collect();
    tell("signed", json!({"split": prepared_split.len(), "transactions": load_ids.len()}));
    let at_once = |transactions| vec![Offer { transactions, rate: f64::INFINITY, targets: all_targets.clone() }];
    let (split, ended) = offer(at_once(prepared_split.clone()), options, magic, &stop, None)?;
    tell("split", json!({"summary": split, "lost": lost(&ended), "opened": opened(&ended)}));
    // Of those that were taken without an acknowledgement the chain shows the rest.
    if split.offered == 0 || options.socket.is_none() && split.acknowledged < split.transactions {
        return Err(format!(
            "only {} of {} transactions of the split were taken: {}",
            split.acknowledged,
            split.transactions,
            reasons(&ended)
        ));
    }
    if settle(options, magic, &prepared_split, &at_once, &stop, ended)?.is_break() {
        return Ok(ExitCode::from(130));
    }
    tell("begun", json!({"tps": options.tps, "targets": all_targets}));
    let (summary, ended) = offer(loads, options, magic, &stop, Some(&mut records))?;
    records.flush().map_err(|error| format!("{}: can't be written ({error}).", options.out.display()))?;
    let in_blocks = match (&options.inclusions, &options.socket) {
        (Some(out), Some(socket)) => Some(write_inclusions(out, socket, options, magic, load_ids, &stop)?),
        _ => None,
    };
    tell("ended", json!({"summary": summary, "in_blocks": in_blocks, "lost": lost(&ended), "opened": opened(&ended)}));
    for one in &ended {
        if let Some(error) = &one.error {
            eprintln!("slotmark-txgen: {error}");
        }
    }
    Ok(if ended.iter().all(|one| one.error.is_some()) { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

/// Transactions for some targets, at a rate; infinite for all at once.
struct Offer {
    transactions: Vec<SignedTransaction>,
    rate: f64,
    targets: Vec<SocketAddr>,
}

/// Offers transactions to their targets, until all are or a signal comes; each record goes to `out`.
fn offer(
    offers: Vec<Offer>,
    options: &Options,
    magic: u32,
    stop: &Arc<AtomicBool>,
    mut out: Option<&mut BufWriter<File>>,
) -> Result<(Summary, Vec<Ended>), String> {
    let rate: f64 = offers.iter().map(|offer| offer.rate).sum();
    let schedule = |offer: Offer| (Schedule::new(offer.transactions, offer.rate, Arc::clone(stop)), offer.targets);
    let schedules: Vec<_> = offers.into_iter().map(schedule).collect();
    let mut summary = Summary::new(schedules.iter().map(|(schedule, _)| schedule.len() as u64).sum(), rate);
    // What a target keeps of the split is offered again; of the load, it may wait for its mempool to have room.
    let patience = if rate.is_finite() { Duration::from_secs(options.settle).max(OFFER_AGAIN) } else { OFFER_AGAIN };
    let (sender, receiver) = mpsc::channel();
    let written = thread::scope(|scope| {
        let submitting: Vec<_> = schedules
            .iter()
            .map(|(schedule, targets)| {
                let sender = sender.clone();
                scope.spawn(move || submit(targets, magic, schedule, patience, &sender))
            })
            .collect();
        drop(sender);
        let mut failed = None;
        for record in receiver {
            summary.add(&record);
            let Some(out) = out.as_mut().filter(|_| failed.is_none()) else { continue };
            let written = serde_json::to_writer(&mut **out, &record).map_err(io::Error::from).and_then(|()| out.write_all(b"\n"));
            if let Err(error) = written {
                failed = Some(format!("{}: can't be written ({error}). Make room and run again.", options.out.display()));
                stop.store(true, Ordering::Relaxed);
            }
        }
        let ended = submitting.into_iter().map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        let ended = ended.flatten().collect();
        failed.map_or(Ok(ended), Err)
    });
    written.map(|ended| (summary, ended))
}

/// Writes which block has which transaction, once all are in one, or --settle is over, or a signal came; gives how many are in one.
fn write_inclusions(
    out: &Path,
    socket: &Path,
    options: &Options,
    magic: u32,
    ids: HashSet<Hash32>,
    stop: &AtomicBool,
) -> Result<usize, String> {
    let named = |error| format!("{}: {error}", socket.display());
    wait_for_inclusion(socket, magic, ids.iter().copied(), Duration::from_secs(options.settle), stop).map_err(named)?;
    let found = inclusions(socket, magic, ids, READ_LIMIT).map_err(named)?;
    let write = || {
        let mut file = BufWriter::new(File::create(out)?);
        for one in &found {
            serde_json::to_writer(&mut file, one)?;
            file.write_all(b"\n")?;
        }
        file.flush()
    };
    write().map_err(|error: io::Error| format!("{}: can't be written ({error}).", out.display()))?;
    Ok(found.len())
}

/// Waits until the split is in blocks; breaks off where a signal came before.
///
/// A transaction may be lost: its block by another one of the same slot, when the mempool no longer has it, or the mempool with its node. Those that
/// are in no block after a while are offered again.
fn settle(
    options: &Options,
    magic: u32,
    split: &[SignedTransaction],
    at_once: &dyn Fn(Vec<SignedTransaction>) -> Vec<Offer>,
    stop: &Arc<AtomicBool>,
    mut ended: Vec<Ended>,
) -> Result<ControlFlow<()>, String> {
    let end = Instant::now() + Duration::from_secs(options.settle);
    let Some(socket) = &options.socket else {
        while Instant::now() < end {
            if stop.load(Ordering::Relaxed) {
                return Ok(ControlFlow::Break(()));
            }
            thread::sleep(LOOK);
        }
        return Ok(ControlFlow::Continue(()));
    };
    let mut reported = String::new();
    loop {
        let ids: HashSet<_> = split.iter().map(|transaction| transaction.id).collect();
        let patience = OFFER_AGAIN.min(end.saturating_duration_since(Instant::now()));
        let found = wait_for_inclusion(socket, magic, ids.iter().copied(), patience, stop)
            .and_then(|_| inclusions(socket, magic, ids.clone(), READ_LIMIT));
        if stop.load(Ordering::Relaxed) {
            return Ok(ControlFlow::Break(()));
        }
        let there: HashSet<_> = found.iter().flatten().map(|one| one.id).collect();
        let missing: Vec<_> = split.iter().filter(|transaction| !there.contains(&transaction.id)).cloned().collect();
        if missing.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        if Instant::now() >= end {
            let left = missing.len();
            return Err(match &found {
                // A node that is started anew is away for a while.
                Err(error) => format!("{}: {error}", socket.display()),
                Ok(_) => {
                    format!(
                        "{left} transactions of the split are in no block after {} s ({}). Give more time: --settle, or --ready-within of `slotmark cluster run`.",
                        options.settle,
                        reasons(&ended)
                    )
                }
            });
        }
        if found.is_ok() {
            (_, ended) = offer(at_once(missing), options, magic, stop, None)?;
        } else if let Err(error) = found {
            let why = format!("{}: {error}", socket.display());
            if why != reported {
                eprintln!("slotmark-txgen: {why}; it is asked again, for {} s in all", options.settle);
                reported = why;
            }
            thread::sleep(LOOK);
        }
    }
}

fn lost(ended: &[Ended]) -> Vec<Value> {
    let one = |one: &Ended| one.error.as_ref().map(|error| json!({"target": one.target, "why": error.to_string()}));
    ended.iter().filter_map(one).collect()
}

/// Targets that began protocols of their own.
fn opened(ended: &[Ended]) -> Vec<Value> {
    let any = ended.iter().filter(|one| !one.opened.is_empty());
    any.map(|one| json!({"target": one.target, "protocols": one.opened})).collect()
}

fn reasons(ended: &[Ended]) -> String {
    let reasons: Vec<String> = ended.iter().filter_map(|one| one.error.as_ref().map(ToString::to_string)).collect();
    if reasons.is_empty() { "no connection was lost".to_owned() } else { reasons.join("; ") }
}

/// Prints a line about a phase.
fn tell(phase: &str, facts: Value) {
    let line = json!({"phase": phase, "at_ns": now_ns(), "facts": facts});
    // The reader may have left.
    let _ = writeln!(io::stdout(), "{line}");
}
