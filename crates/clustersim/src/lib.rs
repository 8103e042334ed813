//! A cluster of block producers in virtual time.
//!
//! [`Profile`] has what is simulated, [`simulate`] does it and hands what hosts log to a [`Sink`]; [`write_run`] writes a run
//! directory as real nodes leave it behind. One seed decides everything.
//!
//! The engine moves blocks in one heap of events; the narrator then gives, host by host and on all threads, what each host logs.
//! [`simulate`] does both in stretches of slots, so that memory does not grow with the length of a run but for the truth;
//! [`simulate_by_host`] gives all of a host at once, for sinks of which only a few may be open. [`write_tables`] is one: it writes
//! what reading the logs would give.

mod clock;
mod draws;
mod engine;
mod error;
mod event;
mod line;
mod logs;
mod mempool;
mod narrator;
mod profile;
mod propagation;
mod quantity;
mod rundir;
mod sink;
mod stages;
mod tables;
mod tcp;
mod topology;
mod truth;
mod truth_tables;

use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use rayon::ThreadPool;
use rayon::prelude::*;

pub use error::SimulationError;
pub use event::{Block, Context, Event};
pub use logs::{LogFiles, LogWriter};
pub use profile::{
    Budget, Budgets, Component, Fault, Forging, Genesis, Network, Node, Peer, Profile, Published, Reach, RegionRtt, Resources, Run, Stage,
    Target, Tcp, TopologyRule, Workload, reach,
};
pub use propagation::{METRICS, Propagation, Row, propagation};
pub use quantity::{BitRate, Bytes, Kind as QuantityKind, Quantity, Span};
pub use rundir::{RunFacts, ScriptFacts, write_live_description, write_run, write_tables};
pub use sink::{HostSink, Nowhere, Sink};
pub use tables::{TableFiles, TableWriter};
pub use topology::{Host, Link, Topology};
pub use truth::{AdoptedBy, ForgingTimes, NEVER, Observation, ResourceSample, SlotTruth, Truth};

use crate::engine::Engine;
use crate::narrator::{Narration, Narrator};
use crate::stages::Stages;

/// Slots that are simulated before their events are handed on.
const STRETCH_SLOTS: u64 = 200;

/// A simulation that is over.
#[derive(Debug)]
pub struct Outcome<H> {
    /// Hosts and links.
    pub topology: Topology,
    /// The true events.
    pub truth: Truth,
    /// The hosts' sinks, by number.
    pub sinks: Vec<H>,
}

/// Gets what is done and what there is to do, and may stop a simulation.
type Progress<'a> = &'a mut dyn FnMut(u64, u64) -> ControlFlow<()>;

/// Returns the true events of a profile without the hosts' logs: the blocks alone, in a small part of the time. `progress` gets slots.
pub fn simulate_truth(profile: &Profile, seed: u64, progress: Progress<'_>) -> Result<Truth, SimulationError> {
    let topology = topology_of(profile, seed)?;
    let stages = Stages::new(profile);
    let engine = in_stretches(profile, &stages, &topology, seed, |engine, slots| {
        engine.forget_journals();
        step(progress, slots.end, profile.run.slots)
    })?;
    Ok(engine.into_truth())
}

/// Simulates a profile and gives what hosts log stretch by stretch, all hosts of one at a time. `progress` gets slots.
pub fn simulate<S: Sink>(profile: &Profile, seed: u64, sink: &mut S, progress: Progress<'_>) -> Result<Outcome<S::Host>, SimulationError> {
    let topology = topology_of(profile, seed)?;
    let mut hosts = tellers(profile, seed, &topology, sink)?;
    let stages = Stages::new(profile);
    let narration = Narration::new(profile, &stages, seed);
    let engine = in_stretches(profile, &stages, &topology, seed, |engine, slots| {
        let blocks = &engine.truth.blocks;
        let narrated = hosts.par_iter_mut().zip(engine.journals.par_iter_mut()).map(|((sink, narrator), journal)| {
            narration.tell(narrator, journal, blocks, slots.clone(), sink);
            sink.end_of_stretch()
        });
        narrated.collect::<Result<(), SimulationError>>()?;
        step(progress, slots.end, profile.run.slots)
    })?;
    hosts.par_iter_mut().map(|(sink, _)| sink.finish()).collect::<Result<(), SimulationError>>()?;
    Ok(outcome(topology, engine.into_truth(), hosts))
}

/// Simulates a profile to its end, then gives all of one host after all of another, one a thread of `pool`: what [`simulate`]
/// gives.
///
/// Until a host's turn, what its blocks and transactions did is kept, some ten bytes for each line of it. `progress` gets
/// slots of hosts, on the caller's thread.
pub fn simulate_by_host<S: Sink>(
    profile: &Profile,
    seed: u64,
    sink: &mut S,
    pool: &ThreadPool,
    progress: Progress<'_>,
) -> Result<Outcome<S::Host>, SimulationError> {
    let topology = topology_of(profile, seed)?;
    let mut hosts = tellers(profile, seed, &topology, sink)?;
    let stages = Stages::new(profile);
    let narration = Narration::new(profile, &stages, seed);
    let slots = profile.run.slots;
    let total = slots * (1 + hosts.len() as u64);
    let mut engine = in_stretches(profile, &stages, &topology, seed, |_, stretch| step(progress, stretch.end, total))?;
    let mut journals = std::mem::take(&mut engine.journals);
    let truth = engine.into_truth();
    let blocks = &truth.blocks;
    let stopped = AtomicBool::new(false);
    pool.in_place_scope_fifo(|scope| {
        let (finished, all_finished) = mpsc::channel();
        for ((sink, narrator), journal) in hosts.iter_mut().zip(&mut journals) {
            let (narration, stopped, finished) = (&narration, &stopped, finished.clone());
            scope.spawn_fifo(move |_| {
                if !stopped.load(Ordering::Relaxed) {
                    narration.tell(narrator, &mut std::mem::take(journal), blocks, 0..slots, sink);
                    let _ = finished.send(sink.finish()); // unless nobody waits for it any more
                }
            });
        }
        drop(finished);
        let mut done = slots;
        let narrated = all_finished.into_iter().try_for_each(|host| {
            host?;
            done += slots;
            step(progress, done, total)
        });
        stopped.store(narrated.is_err(), Ordering::Relaxed);
        narrated
    })?;
    Ok(outcome(topology, truth, hosts))
}

fn topology_of(profile: &Profile, seed: u64) -> Result<Topology, SimulationError> {
    let mut topology = Topology::of(profile, seed)?;
    for (n, host) in topology.hosts.iter_mut().enumerate() {
        host.clock_ahead_ns = profile.clock_ahead_ns(n as u32);
    }
    for fault in &profile.fault {
        if let Fault::LinkCut { between: (a, b), .. } = fault
            && !topology.links.iter().any(|link| [(*a, *b), (*b, *a)].contains(&(link.follower, link.producer)))
        {
            let message = format!("a fault cuts the link between hosts {a} and {b}, and there is none; name two hosts with a link.");
            return Err(SimulationError::profile(&profile.name, message));
        }
    }
    Ok(topology)
}

/// Lets blocks happen from the first slot to the last; `each` is called when all that hosts log in some slots has happened.
fn in_stretches<'p>(
    profile: &'p Profile,
    stages: &'p Stages,
    topology: &Topology,
    seed: u64,
    mut each: impl FnMut(&mut Engine<'p>, Range<u64>) -> Result<(), SimulationError>,
) -> Result<Engine<'p>, SimulationError> {
    let mut engine = Engine::new(profile, stages, topology, seed);
    // The clock that is most behind: its host logs a slot when it is over for the others.
    let behind_ns = topology.hosts.iter().map(|host| (-host.clock_ahead_ns).max(0) as u64).max().unwrap_or_default();
    let mut from = 0;
    while from < profile.run.slots {
        let until = (from + STRETCH_SLOTS).min(profile.run.slots);
        engine.run_until(until * profile.genesis.slot_length.0 + behind_ns);
        each(&mut engine, from..until)?;
        from = until;
    }
    Ok(engine)
}

fn step(progress: Progress<'_>, done: u64, total: u64) -> Result<(), SimulationError> {
    if progress(done, total).is_break() { Err(SimulationError::Stopped) } else { Ok(()) }
}

/// A host's sink and its narrator.
type Narrated<H> = (H, Narrator);

fn tellers<S: Sink>(profile: &Profile, seed: u64, topology: &Topology, sink: &mut S) -> Result<Vec<Narrated<S::Host>>, SimulationError> {
    let mut followed = vec![Vec::new(); topology.hosts.len()];
    for link in &topology.links {
        followed[link.follower as usize].push(link.producer);
    }
    let hosts =
        followed.into_iter().zip(0..).map(|(peers, host)| Ok((sink.host(topology, host)?, Narrator::new(profile, seed, host, peers))));
    hosts.collect()
}

fn outcome<H>(topology: Topology, truth: Truth, hosts: Vec<Narrated<H>>) -> Outcome<H> {
    Outcome { topology, truth, sinks: hosts.into_iter().map(|(sink, _)| sink).collect() }
}
