//! The takers of a simulation's events.

use slotmark_tracelog::{Form, Message};

use crate::error::SimulationError;
use crate::event::{Event, Teller};
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
    /// An event; `at_ns` is the host's clock, in ns since slot 0.
    fn event(&mut self, at_ns: i64, event: &Event<'_>);

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
    fn event(&mut self, _: i64, _: &Event<'_>) {}
}

/// Keeps events in memory, as text of their debug form beside their time and block: for tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct InMemory;

/// The events of one host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collected {
    /// Time by the host's clock in ns since slot 0, message, and block's index where there is one.
    pub events: Vec<(i64, Message, Option<u32>)>,
}

impl Sink for InMemory {
    type Host = Collected;

    fn host(&mut self, _: &Topology, _: u32) -> Result<Collected, SimulationError> {
        Ok(Collected::default())
    }
}

impl HostSink for Collected {
    fn event(&mut self, at_ns: i64, event: &Event<'_>) {
        event.tell(&mut Noted { events: &mut self.events, at_ns, block: event.block().map(|block| block.index) });
    }
}

struct Noted<'e> {
    events: &'e mut Vec<(i64, Message, Option<u32>)>,
    at_ns: i64,
    block: Option<u32>,
}

impl Teller for Noted<'_> {
    fn form<'a, F: Form<'a>>(&mut self, _: F) {
        self.events.push((self.at_ns, F::MESSAGE, self.block));
    }
}
