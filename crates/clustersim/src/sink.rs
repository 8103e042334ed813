//! The takers of a simulation's events.

use crate::error::SimulationError;
use crate::event::{Context, Event};
use crate::topology::Topology;
use crate::truth::SlotTruth;

/// Takes the events of a whole cluster: makes one sink a host.
pub trait Sink {
    /// The taker of one host's events.
    type Host: HostSink;

    /// The sink of a host; asked once a host, in their order, before the first event.
    fn host(&mut self, topology: &Topology, host: u32) -> Result<Self::Host, SimulationError>;
}

/// Takes one host's events, in the order of their time; hosts may run on threads of their own.
pub trait HostSink: Send {
    /// An event; `at_ns` is the host's clock, in ns since slot 0, and `context` what it refers to.
    fn event(&mut self, at_ns: i64, event: Event, context: &Context<'_>);

    /// Takes the true events of a slot on the host, whatever blocks did: in the order of slots, none while the host is down.
    fn slot(&mut self, _truth: &SlotTruth) {}

    /// A stretch of slots is over: the time to write out, and to report errors since the last one.
    fn end_of_stretch(&mut self) -> Result<(), SimulationError> {
        Ok(())
    }

    /// All events are given.
    fn finish(&mut self) -> Result<(), SimulationError> {
        Ok(())
    }
}

/// Takes nothing: for the truth alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nowhere;

impl Sink for Nowhere {
    type Host = Self;

    fn host(&mut self, _: &Topology, _: u32) -> Result<Self, SimulationError> {
        Ok(Self)
    }
}

impl HostSink for Nowhere {
    fn event(&mut self, _: i64, _: Event, _: &Context<'_>) {}
}
