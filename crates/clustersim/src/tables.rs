//! A run's tables without the text of logs in between: what `slotmark_tracelog` makes of the lines that `logs` would write.

use std::path::{Path, PathBuf};

use slotmark_tracelog::{Account, Body, Entry, LineTables, Message};

use crate::error::SimulationError;
use crate::event::{Block, Event, GENESIS_HASH, GENESIS_POINT, threads};
use crate::sink::{HostSink, Sink};
use crate::topology::Topology;
use crate::truth::SlotTruth;
use crate::truth_tables::write_slots;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Writes each host's part of the tables below a folder.
#[derive(Debug)]
pub struct TableFiles {
    tables: PathBuf,
    start_ns: i64,
}

impl TableFiles {
    /// Tables below a folder that exists and is empty; slot 0 is `start_s` seconds after 1970.
    pub fn below(tables: &Path, start_s: u64) -> Self {
        Self { tables: tables.to_path_buf(), start_ns: start_s as i64 * 1_000_000_000 }
    }
}

impl Sink for TableFiles {
    type Host = TableWriter;

    fn host(&mut self, topology: &Topology, host: u32) -> Result<TableWriter, SimulationError> {
        let name = &topology.hosts[host as usize].name;
        // Logs are read in the order of their hosts' names.
        let part = topology.hosts.iter().filter(|other| other.name < *name).count();
        let mut lines = LineTables::new(&self.tables, part);
        lines.host(name.as_bytes());
        Ok(TableWriter {
            lines: Some(lines),
            account: None,
            slots: 0,
            name: name.clone(),
            part,
            tables: self.tables.clone(),
            start_ns: self.start_ns,
            place: 0,
            truth: Vec::new(),
            failed: None,
        })
    }
}

/// One host's part of the tables.
pub struct TableWriter {
    lines: Option<LineTables>,
    account: Option<Account>,
    /// Rows of its part of `truth_slots`, once it is finished.
    pub(crate) slots: u64,
    name: String,
    part: usize,
    tables: PathBuf,
    start_ns: i64,
    /// Lines so far: what orders those of one time.
    place: i64,
    /// What really happened in each slot.
    truth: Vec<SlotTruth>,
    failed: Option<SimulationError>,
}

impl TableWriter {
    /// The number of its part, and once it is finished the account of its lines.
    pub fn into_account(self) -> (usize, Option<Account>) {
        (self.part, self.account)
    }
}

impl HostSink for TableWriter {
    fn event(&mut self, at_ns: i64, event: &Event<'_>) {
        let Some(lines) = &mut self.lines else { return };
        let (mut hash, mut previous, mut digits) = ([0; 64], [0; 64], itoa::Buffer::new());
        let (name, thread, body) = told(event, &mut hash, &mut previous, &mut digits);
        let entry = body.map(|body| Entry { ts_ns: self.start_ns + at_ns, host: None, thread, body });
        if let Err(source) = lines.line(self.name.as_bytes(), name.as_bytes(), entry.as_ref(), self.place) {
            self.failed.get_or_insert(SimulationError::Table { path: self.tables.clone(), source });
        }
        self.place += 1;
    }

    fn slot(&mut self, truth: &SlotTruth) {
        self.truth.push(*truth);
    }

    fn end_of_stretch(&mut self) -> Result<(), SimulationError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    fn finish(&mut self) -> Result<(), SimulationError> {
        self.end_of_stretch()?;
        if let Some(lines) = self.lines.take() {
            let account = lines.finish(self.name.as_bytes(), 1);
            self.account = Some(account.map_err(|source| SimulationError::Table { path: self.tables.clone(), source })?);
            self.slots = write_slots(&self.tables, self.part, &self.name, &std::mem::take(&mut self.truth))?;
        }
        Ok(())
    }
}

/// The name of an event's message, its thread where that matters, and what its line tells; None where that is of no interest.
fn told<'a>(
    event: &Event<'_>,
    hash: &'a mut [u8; 64],
    previous: &'a mut [u8; 64],
    digits: &'a mut itoa::Buffer,
) -> (&'static str, Option<&'a [u8]>, Option<Body<'a>>) {
    let step = |message, slot: u64| Some(Body::Slot { message, slot: Some(slot as i64), block_no: None });
    let block = |message, block| Body::Block { message, block, slot: None, block_no: None, previous: None, size: None, length: None };
    let transactions = |message, count: Option<u32>, accepted: Option<u32>, rejected: Option<u32>| {
        let [count, accepted, rejected] = [count, accepted, rejected].map(|number| number.map(i64::from));
        Some(Body::Transactions { message, count, accepted, rejected })
    };
    let mut thread = None;
    let (name, body) = match *event {
        Event::StartLeadershipCheck { slot } => {
            let body = Body::Ledger { started: true, slot: slot as i64, utxo_size: None, chain_density: None };
            ("Forge.Loop.StartLeadershipCheck", Some(body))
        }
        Event::BlockContext { slot, tip } => {
            let body = Body::Slot { message: Message::BlockContext, slot: Some(slot as i64), block_no: Some(tip.number()) };
            ("Forge.Loop.BlockContext", Some(body))
        }
        Event::LedgerState { slot } => ("Forge.Loop.LedgerState", step(Message::LedgerState, slot)),
        Event::LedgerView { slot } => ("Forge.Loop.LedgerView", step(Message::LedgerView, slot)),
        Event::NodeIsLeader { slot } => ("Forge.Loop.NodeIsLeader", step(Message::Leader, slot)),
        Event::NodeNotLeader { slot } => ("Forge.Loop.NodeNotLeader", step(Message::NotLeader, slot)),
        Event::TickedLedgerState { slot, .. } => ("Forge.Loop.ForgeTickedLedgerState", step(Message::Ticked, slot)),
        Event::MempoolSnapshot { slot, .. } => ("Forge.Loop.ForgingMempoolSnapshot", step(Message::MempoolSnapshot, slot)),
        Event::ForgedBlock { block, parent } => {
            let body = Body::Block {
                message: Message::Forged,
                block: hex(block, hash),
                slot: Some(block.slot as i64),
                block_no: Some(block.number()),
                previous: Some(if parent.is_genesis() { GENESIS_HASH.as_bytes() } else { hex(parent, previous) }),
                size: None,
                length: None,
            };
            ("Forge.Loop.ForgedBlock", Some(body))
        }
        Event::AdoptedBlock { block } => {
            let body = Body::Block {
                message: Message::SelfAdopted,
                block: hex(block, hash),
                slot: Some(block.slot as i64),
                block_no: None,
                previous: None,
                size: Some(block.size_bytes as i64),
                length: Some(1),
            };
            ("Forge.Loop.AdoptedBlock", Some(body))
        }
        Event::DownloadedHeader { block, .. } => {
            let body = Body::Block {
                message: Message::Header,
                block: hex(block, hash),
                slot: Some(block.slot as i64),
                block_no: Some(block.number()),
                previous: None,
                size: None,
                length: None,
            };
            ("ChainSync.Client.DownloadedHeader", Some(body))
        }
        Event::SendFetchRequest { head, length, .. } => {
            let body = Body::Block {
                message: Message::Requested,
                block: hex(head, hash),
                slot: None,
                block_no: None,
                previous: None,
                size: None,
                length: Some(i64::from(length)),
            };
            ("BlockFetch.Client.SendFetchRequest", Some(body))
        }
        Event::CompletedBlockFetch { block: fetched, .. } => {
            ("BlockFetch.Client.CompletedBlockFetch", Some(block(Message::Fetched, hex(fetched, hash))))
        }
        Event::HeaderSent { block: sent, .. } => ("ChainSync.ServerHeader.Update", Some(block(Message::Announced, point(sent, hash)))),
        Event::RolledBack { .. } => ("ChainSync.ServerHeader.Update", None),
        Event::SendBlock { block: sent, .. } => ("BlockFetch.Server.SendBlock", Some(block(Message::Sending, hex(sent, hash)))),
        Event::AddedToCurrentChain { block } => {
            ("ChainDB.AddBlockEvent.AddedToCurrentChain", Some(selected(Message::Adopted, point(block, hash))))
        }
        Event::SwitchedToAFork { block } => {
            ("ChainDB.AddBlockEvent.SwitchedToAFork", Some(selected(Message::Switched, point(block, hash))))
        }
        Event::Resources(sample) => {
            let body = Body::Resources(
                [
                    sample.cpu_centi,
                    sample.gc_centi,
                    sample.mutator_centi,
                    sample.gcs_major,
                    sample.gcs_minor,
                    sample.alloc_bytes,
                    sample.live_bytes,
                    sample.rss_bytes,
                    0,
                    sample.threads,
                    sample.heap_bytes,
                    0,
                    0,
                    0,
                    sample.fs_written_bytes,
                ]
                .map(|value| value as i64),
            );
            ("Resources", Some(body))
        }
        Event::LedgerMetrics { slot, utxo, density, .. } => {
            let body = Body::Ledger { started: false, slot: slot as i64, utxo_size: Some(utxo as i64), chain_density: Some(density) };
            ("LedgerMetrics", Some(body))
        }
        Event::TxsCollected { peer, count } => {
            thread = Some(digits.format(threads::TX_SUBMISSION + peer).as_bytes());
            ("TxSubmission.TxInbound.Collected", transactions(Message::Collected, Some(count), None, None))
        }
        Event::TxsProcessed { peer, accepted, rejected } => {
            thread = Some(digits.format(threads::TX_SUBMISSION + peer).as_bytes());
            ("TxSubmission.TxInbound.Processed", transactions(Message::Processed, None, Some(accepted), Some(rejected)))
        }
        Event::AddedTx { mempool_txs, .. } => {
            thread = Some(threads::MEMPOOL_ADD.as_bytes());
            ("Mempool.AddedTx", transactions(Message::MempoolAdded, Some(mempool_txs), None, None))
        }
        Event::RejectedTx { mempool_txs, .. } => {
            thread = Some(threads::MEMPOOL_ADD.as_bytes());
            ("Mempool.RejectedTx", transactions(Message::MempoolRejected, Some(mempool_txs), None, None))
        }
        Event::RemoveTxs { mempool_txs, .. } => {
            thread = Some(threads::MEMPOOL_REMOVE.as_bytes());
            ("Mempool.RemoveTxs", transactions(Message::MempoolRemoved, Some(mempool_txs), None, None))
        }
    };
    (name, thread, body)
}

fn selected(message: Message, block: &[u8]) -> Body<'_> {
    Body::Block { message, block, slot: None, block_no: None, previous: None, size: None, length: Some(1) }
}

/// The hash of a block as a log's points have it.
fn point<'a>(block: &Block, text: &'a mut [u8; 64]) -> &'a [u8] {
    if block.is_genesis() { GENESIS_POINT.as_bytes() } else { hex(block, text) }
}

fn hex<'a>(block: &Block, text: &'a mut [u8; 64]) -> &'a [u8] {
    for (two, byte) in text.chunks_exact_mut(2).zip(block.hash) {
        two.copy_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
    }
    text
}
