//! Where a simulation's events go.

use crate::error::SimulationError;
use crate::event::{Block, Event};
use crate::topology::Topology;
use crate::truth::SlotTruth;

/// Takes the events of a whole cluster: makes one sink a host.
pub trait Sink {
    /// What takes one host's events.
    type Host: HostSink;

    /// The sink of a host; asked once a host, in their order, before the first event.
    fn host(&mut self, topology: &Topology, host: u32) -> Result<Self::Host, SimulationError>;
}

/// Takes one host's events, in the order of their time; hosts may run on threads of their own.
pub trait HostSink: Send {
    /// An event; `at_ns` is the host's clock, in ns since slot 0.
    fn event(&mut self, at_ns: i64, event: &Event<'_>);

    /// What really happened on the host in a slot, whatever blocks did: told in the order of slots, none while the host is down.
    fn slot(&mut self, _truth: &SlotTruth) {}

    /// A stretch of slots is over: the time to write out, and to say what went wrong since the last one.
    fn end_of_stretch(&mut self) -> Result<(), SimulationError> {
        Ok(())
    }

    /// All is told.
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
    /// Time by the host's clock in ns since slot 0, kind, and block's index where there is one.
    pub events: Vec<(i64, Kind, Option<u32>)>,
}

/// The kind of an event, without its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names are those of Event")]
pub enum Kind {
    StartLeadershipCheck,
    BlockContext,
    LedgerState,
    LedgerView,
    NodeIsLeader,
    NodeNotLeader,
    TickedLedgerState,
    MempoolSnapshot,
    ForgedBlock,
    AdoptedBlock,
    DownloadedHeader,
    SendFetchRequest,
    CompletedBlockFetch,
    HeaderSent,
    RolledBack,
    SendBlock,
    AddedToCurrentChain,
    SwitchedToAFork,
    Resources,
    LedgerMetrics,
    TxsCollected,
    TxsProcessed,
    AddedTx,
    RemoveTxs,
    RejectedTx,
}

impl Event<'_> {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Event::StartLeadershipCheck { .. } => Kind::StartLeadershipCheck,
            Event::BlockContext { .. } => Kind::BlockContext,
            Event::LedgerState { .. } => Kind::LedgerState,
            Event::LedgerView { .. } => Kind::LedgerView,
            Event::NodeIsLeader { .. } => Kind::NodeIsLeader,
            Event::NodeNotLeader { .. } => Kind::NodeNotLeader,
            Event::TickedLedgerState { .. } => Kind::TickedLedgerState,
            Event::MempoolSnapshot { .. } => Kind::MempoolSnapshot,
            Event::ForgedBlock { .. } => Kind::ForgedBlock,
            Event::AdoptedBlock { .. } => Kind::AdoptedBlock,
            Event::DownloadedHeader { .. } => Kind::DownloadedHeader,
            Event::SendFetchRequest { .. } => Kind::SendFetchRequest,
            Event::CompletedBlockFetch { .. } => Kind::CompletedBlockFetch,
            Event::HeaderSent { .. } => Kind::HeaderSent,
            Event::RolledBack { .. } => Kind::RolledBack,
            Event::SendBlock { .. } => Kind::SendBlock,
            Event::AddedToCurrentChain { .. } => Kind::AddedToCurrentChain,
            Event::SwitchedToAFork { .. } => Kind::SwitchedToAFork,
            Event::Resources(_) => Kind::Resources,
            Event::LedgerMetrics { .. } => Kind::LedgerMetrics,
            Event::TxsCollected { .. } => Kind::TxsCollected,
            Event::TxsProcessed { .. } => Kind::TxsProcessed,
            Event::AddedTx { .. } => Kind::AddedTx,
            Event::RemoveTxs { .. } => Kind::RemoveTxs,
            Event::RejectedTx { .. } => Kind::RejectedTx,
        }
    }

    /// The block it is about.
    pub fn block(&self) -> Option<&Block> {
        match self {
            Event::BlockContext { tip: block, .. }
            | Event::TickedLedgerState { tip: block, .. }
            | Event::MempoolSnapshot { tip: block, .. }
            | Event::ForgedBlock { block, .. }
            | Event::AdoptedBlock { block }
            | Event::DownloadedHeader { block, .. }
            | Event::SendFetchRequest { head: block, .. }
            | Event::CompletedBlockFetch { block, .. }
            | Event::HeaderSent { block, .. }
            | Event::RolledBack { to: block, .. }
            | Event::SendBlock { block, .. }
            | Event::AddedToCurrentChain { block }
            | Event::SwitchedToAFork { block } => Some(block),
            _ => None,
        }
    }
}

impl Sink for InMemory {
    type Host = Collected;

    fn host(&mut self, _: &Topology, _: u32) -> Result<Collected, SimulationError> {
        Ok(Collected::default())
    }
}

impl HostSink for Collected {
    fn event(&mut self, at_ns: i64, event: &Event<'_>) {
        self.events.push((at_ns, event.kind(), event.block().map(|block| block.index)));
    }
}
