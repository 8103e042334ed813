//! A small, honest Praos block producer with cardano-node's command line, logs and store: Conway from the first slot on.
//!
//! `core` is a thread that owns the chain and decides everything; `network` is a thread of connections, which only frames
//! messages and keeps the protocols' limits. They talk by events and commands. What both read is the `store` of blocks; what
//! both write is the `log`. `chaindb` is the tree of headers and the ledger at the chain's tip, `ledger` the set of unspent outputs below it, `mempool` what waits for a
//! block, `forge` makes one. `config`, `options` and `clock` are what a node is started with.

mod chaindb;
mod clock;
mod config;
mod core;
mod eras;
mod error;
mod forge;
mod inbox;
mod ledger;
mod log;
mod mempool;
mod network;
mod options;
mod resources;
mod store;

use std::io::stdout;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use slotmark_tracelog::forms;
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::LocalSet;

use chaindb::ChainDb;
use config::{Credentials, Settings, prepare, read_topology};
use core::{Core, Event};
use error::NodeError;
use inbox::{Events, Rank};
use ledger::LedgerSet;
use log::Log;
use network::{Bounds, Network};
use options::{Command, Leak, Options, Prepare, Run};
use store::Store;

/// Chunk files have this many times k slots.
const CHUNK_K: u64 = 10;

fn main() -> ExitCode {
    let done = match Options::parse().command {
        Command::Run(options) => run(Arc::new(*options)),
        Command::Prepare(Prepare { config, out }) => prepare(&config, &out),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("slotmark-node: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(options: Arc<Run>) -> Result<(), NodeError> {
    let settings = Arc::new(Settings::read(&options.config, options.ledger_base.as_deref())?);
    let neighbours = read_topology(&options.topology)?;
    let credentials = Credentials::read(&options)?;
    let log = Arc::new(Log::new(&settings.name, Box::new(stdout())));
    log.line(forms::NodeVersion { name: &b"slotmark-node"[..], version: env!("CARGO_PKG_VERSION").as_bytes() });
    let chunk_slots = CHUNK_K * settings.genesis.shelley.security_parameter;
    let (store, volatile) = Store::open(&options.database_path, settings.magic, chunk_slots)?;
    let store = Arc::new(store);
    resources::log_for_ever(&log, settings.resources_every);
    let set = match options.ledger {
        Some(backend) => Some(LedgerSet::open(&options.database_path, backend, &settings.genesis, &log, settings.snapshot_slots)?),
        None => None,
    };
    let db = ChainDb::open(Arc::clone(&settings.genesis), Arc::clone(&store), volatile, set, !options.no_scripts)?;
    if let Some(Leak(bytes)) = options.leak {
        leak(bytes);
    }

    let events = Events::default();
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let tasks = LocalSet::new();
    let address = SocketAddr::new(options.host_addr, options.port);
    let shared = (Arc::clone(&log), Arc::clone(&store));
    let network = Network::new(address, settings.magic, events.clone(), shared, settings.chain_sync_idle, Bounds::of(&options));
    let (started, stopped) = {
        let _runtime = runtime.enter();
        let _tasks = tasks.enter();
        network.start(neighbours)?;
        let socket = options.socket_path.as_deref().map(|path| network.start_local(path)).transpose()?;
        (socket, signals(events.clone())?)
    };
    let core = Core::new(settings, options, log, store, db, credentials);
    let deciding = std::thread::Builder::new().name("core".into()).spawn(move || core.run(&events))?;
    let (ended, over) = tokio::sync::oneshot::channel();
    let joining = std::thread::spawn(move || {
        let result = deciding.join();
        let _ = ended.send(());
        result
    });
    tasks.block_on(&runtime, async move {
        let _ = over.await;
    });
    drop((started, stopped));
    match joining.join() {
        Ok(Ok(result)) => result,
        // It panicked, and its message is out already.
        _ => Err(NodeError::Runtime(std::io::Error::other("the node ended by a fault of its own"))),
    }
}

/// Stops the core at SIGINT and SIGTERM.
fn signals(events: Events) -> Result<tokio::task::JoinHandle<()>, NodeError> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(tokio::task::spawn_local(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        events.send(Rank::First, Event::Stop);
    }))
}

/// Takes this many bytes a second and never gives them back.
fn leak(bytes_per_s: usize) {
    std::thread::spawn(move || {
        loop {
            // Written to, so that they count as resident.
            std::mem::forget(vec![1u8; bytes_per_s / 10]);
            std::thread::sleep(Duration::from_millis(100));
        }
    });
}
