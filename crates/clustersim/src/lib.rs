//! A cluster of block producers in virtual time.
//!
//! [`Profile`] says what is simulated, [`simulate`] does it and hands what hosts log to a [`Sink`]; [`write_run`] writes a run
//! directory as real nodes leave it behind. One seed decides everything.
//!
//! The engine moves blocks in one heap of events; the narrator then tells, host by host and on all threads, what each host logs.
//! [`simulate`] does both in stretches of slots, so that memory does not grow with the length of a run but for the truth;
//! [`simulate_by_host`] tells all of a host at once, for sinks of which only a few may be open. [`write_tables`] is one: it writes
//! what reading the logs would give.

mod clock;
mod draws;
mod engine;
mod error;
mod event;
mod logs;
mod mempool;
mod narrator;
mod profile;
mod propagation;
mod quantity;
mod rundir;
mod sink;
mod tables;
mod tcp;
mod topology;
mod truth;
mod truth_tables;

use std::ops::ControlFlow;

use rayon::prelude::*;

pub use error::SimulationError;
pub use event::{Block, Event, ResourceSample};
pub use logs::{LogFiles, LogWriter};
pub use profile::{
    Component, Fault, Forging, Genesis, Network, Peer, Profile, Published, RegionRtt, Resources, Run, Stage, Target, Tcp, TopologyRule,
    Workload,
};
pub use propagation::{Propagation, Row, propagation};
pub use quantity::{BitRate, Bytes, Span};
pub use rundir::{RunFacts, write_run, write_tables};
pub use sink::{Collected, HostSink, InMemory, Kind, Nowhere, Sink};
pub use tables::{TableFiles, TableWriter};
pub use topology::{Host, Link, Topology};
pub use truth::{AdoptedBy, ForgingTimes, NEVER, Observation, SlotTruth, Truth};

use crate::engine::Engine;
use crate::narrator::{Narration, Narrator};

/// Slots that are simulated before what they made is told.
const STRETCH_SLOTS: u64 = 200;

/// A simulation that is over.
#[derive(Debug)]
pub struct Outcome<H> {
    /// Hosts and links.
    pub topology: Topology,
    /// What really happened.
    pub truth: Truth,
    /// The hosts' sinks, by number.
    pub sinks: Vec<H>,
}

/// What really happens in a profile, without telling what hosts log: the blocks alone, in a small part of the time.
pub fn simulate_truth(
    profile: &Profile,
    seed: u64,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Truth, SimulationError> {
    let topology = topology_of(profile, seed)?;
    let mut engine = Engine::new(profile, &topology, seed);
    let mut from = 0;
    while from < profile.run.slots {
        from = (from + STRETCH_SLOTS).min(profile.run.slots);
        engine.run_until(from * profile.genesis.slot_length.0 + behind_ns(&topology));
        engine.forget_journals();
        if progress(from, profile.run.slots).is_break() {
            return Err(SimulationError::Stopped);
        }
    }
    Ok(engine.into_truth())
}

fn topology_of(profile: &Profile, seed: u64) -> Result<Topology, SimulationError> {
    let mut topology = Topology::of(profile, seed)?;
    for (n, host) in topology.hosts.iter_mut().enumerate() {
        host.clock_ahead_ns = profile.clock_ahead_ns(n as u32);
    }
    Ok(topology)
}

/// By how much the clock that is most behind is behind: a host logs a slot when it is over for the others.
fn behind_ns(topology: &Topology) -> u64 {
    topology.hosts.iter().map(|host| (-host.clock_ahead_ns).max(0) as u64).max().unwrap_or_default()
}

/// Simulates a profile. `progress` is told slots done and slots in all, and may stop it.
pub fn simulate<S: Sink>(
    profile: &Profile,
    seed: u64,
    sink: &mut S,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Outcome<S::Host>, SimulationError> {
    let topology = topology_of(profile, seed)?;
    let mut hosts = tellers(profile, seed, &topology, sink)?;
    let mut engine = Engine::new(profile, &topology, seed);
    let narration = Narration::new(profile, seed);
    let slot_ns = profile.genesis.slot_length.0;
    let mut from = 0;
    while from < profile.run.slots {
        let until = (from + STRETCH_SLOTS).min(profile.run.slots);
        engine.run_until(until * slot_ns + behind_ns(&topology));
        let blocks = &engine.truth.blocks;
        let told: Result<(), SimulationError> = hosts
            .par_iter_mut()
            .zip(engine.journals.par_iter_mut())
            .map(|((sink, narrator), journal)| {
                narration.tell(narrator, journal, blocks, from, until, sink);
                sink.end_of_stretch()
            })
            .collect();
        told?;
        from = until;
        if progress(from, profile.run.slots).is_break() {
            return Err(SimulationError::Stopped);
        }
    }
    hosts.par_iter_mut().map(|(sink, _)| sink.finish()).collect::<Result<(), SimulationError>>()?;
    let truth = engine.into_truth();
    Ok(Outcome { topology, truth, sinks: hosts.into_iter().map(|(sink, _)| sink).collect() })
}

/// A host's sink and who tells it.
type Told<H> = (H, Narrator);

fn tellers<S: Sink>(profile: &Profile, seed: u64, topology: &Topology, sink: &mut S) -> Result<Vec<Told<S::Host>>, SimulationError> {
    let mut followed = vec![Vec::new(); topology.hosts.len()];
    for link in &topology.links {
        followed[link.follower as usize].push(link.producer);
    }
    let hosts =
        followed.into_iter().zip(0..).map(|(peers, host)| Ok((sink.host(topology, host)?, Narrator::new(profile, seed, host, peers))));
    hosts.collect()
}

/// Simulates a profile to its end, then tells all of one host after all of another, one a thread: what [`simulate`] tells.
///
/// Until a host is told, what its blocks and transactions did is kept, some ten bytes for each line of it. `progress` is told
/// slots of hosts, and may stop it.
pub fn simulate_by_host<S: Sink>(
    profile: &Profile,
    seed: u64,
    sink: &mut S,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Outcome<S::Host>, SimulationError> {
    let topology = topology_of(profile, seed)?;
    let mut hosts = tellers(profile, seed, &topology, sink)?;
    let mut engine = Engine::new(profile, &topology, seed);
    let slots = profile.run.slots;
    let total = slots * (1 + hosts.len() as u64);
    let mut step = |done| if progress(done, total).is_break() { Err(SimulationError::Stopped) } else { Ok(()) };
    let mut from = 0;
    while from < slots {
        from = (from + STRETCH_SLOTS).min(slots);
        engine.run_until(from * profile.genesis.slot_length.0 + behind_ns(&topology));
        step(from)?;
    }
    let narration = Narration::new(profile, seed);
    let mut journals = std::mem::take(&mut engine.journals);
    let truth = engine.into_truth();
    let threads = rayon::current_num_threads();
    let mut done = slots;
    for (hosts, journals) in hosts.chunks_mut(threads).zip(journals.chunks_mut(threads)) {
        let told = hosts.par_iter_mut().zip(journals.par_iter_mut()).map(|((sink, narrator), journal)| {
            let mut journal = std::mem::take(journal);
            narration.tell(narrator, &mut journal, &truth.blocks, 0, slots, sink);
            sink.finish()
        });
        told.collect::<Result<(), SimulationError>>()?;
        done += slots * hosts.len() as u64;
        step(done)?;
    }
    Ok(Outcome { topology, truth, sinks: hosts.into_iter().map(|(sink, _)| sink).collect() })
}
