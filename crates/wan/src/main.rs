//! A wide area network on one machine, in user space: docs/wan.md.

use std::ffi::OsString;
use std::io::Write;
use std::num::NonZeroU64;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, Subcommand};
use rustix::process::{Signal, nice, set_parent_process_death_signal};
use rustix::thread::set_current_timer_slack;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use slotmark_wan::directory::Directory;
use slotmark_wan::elsewhere::socket_at;
use slotmark_wan::exec::exec;
use slotmark_wan::namespace::make_networks;
use slotmark_wan::router::route;
use slotmark_wan::{Topology, WanError};

/// A wide area network on one machine: a network namespace per host, and a router in user space that holds packets for their latency.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Makes the network and carries its packets, until SIGINT, SIGTERM, or the end of standard input where that is a pipe.
    ///
    /// Prints a line of JSON when the hosts are there, and one with what it did at the end.
    Run {
        /// The network, as JSON.
        topology: PathBuf,
    },
    /// Runs a program as a host of a running network. It is killed when the network or its parent ends.
    Exec {
        /// The process id of `slotmark-wan run`.
        #[arg(long, value_name = "PID")]
        wan: u32,
        /// The host's name in the topology.
        #[arg(long)]
        host: String,
        /// The program and its arguments.
        #[arg(required = true, last = true)]
        command: Vec<OsString>,
    },
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Action::Run { topology } => run(&topology),
        Action::Exec { wan, host, command } => exec(wan, &host, &command).map(|never| match never {}),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("slotmark-wan: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(path: &Path) -> Result<(), WanError> {
    let topology = Topology::read(path)?;
    let refused = |what| move |source| WanError::Router { what, source };
    let (stop, stopped) = UnixStream::pair().map_err(refused("its signals"))?;
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let stopped = stopped.try_clone().map_err(refused("its signals"))?;
        signal_hook::low_level::pipe::register(signal, stopped).map_err(refused("its signals"))?;
    }
    // A parent that is killed closes its end of our standard input too, but it need not hold one.
    set_parent_process_death_signal(Some(Signal::TERM)).map_err(|error| refused("its signals")(error.into()))?;
    let elsewhere = topology.at.map(socket_at).transpose()?;
    let networks = make_networks(&topology.hosts, topology.mtu)?;
    let _directory = Directory::open(&topology.hosts, &networks).map_err(refused("its directory of hosts"))?;
    let _ = set_current_timer_slack(NonZeroU64::new(1)); // the kernel's 50 us otherwise
    run_before_nodes();
    print(&json!({"ready": {"pid": std::process::id(), "hosts": topology.hosts.len()}}))?;
    let started = Instant::now();
    let statistics = route(&topology, &networks, elsewhere.as_ref(), &stop)?;
    let duration_us = started.elapsed().as_micros() as u64;
    let cpu = clock_gettime(ClockId::ProcessCPUTime);
    let cpu_us = cpu.tv_sec as u64 * 1_000_000 + cpu.tv_nsec as u64 / 1_000;
    print(&json!({"statistics": statistics.summary(duration_us, cpu_us)}))
}

/// Lets the router run whenever packets are due, before nodes have had their turn; only root may.
///
/// A nice value alone isn't enough: a busy processor gives nodes whole slices in between. The kernel leaves 5 % of each processor to others,
/// whatever a real-time process does (sched_rt_runtime_us).
fn run_before_nodes() {
    let priority = libc::sched_param { sched_priority: 1 };
    // SAFETY: the call reads one struct, which lives until it returns.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, &raw const priority) } == -1 {
        let _ = nice(-20); // as where control groups keep real time from a process
    }
}

fn print(value: &serde_json::Value) -> Result<(), WanError> {
    let mut out = std::io::stdout();
    writeln!(out, "{value}").and_then(|()| out.flush()).map_err(|source| WanError::Router { what: "its output can't be written", source })
}
