//! Logs as cardano-node writes them on standard output: new tracing, one JSON object a line.
//!
//! Lines are formatted by hand into a large buffer: a cluster's logs are tens of GB, and what is slow here decides how long a
//! simulation takes.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::clock::date_of;
use crate::draws::{Draws, Purpose};
use crate::error::SimulationError;
use crate::event::{Block, Event, GENESIS_HASH, GENESIS_POINT, threads};
use crate::sink::{HostSink, Sink};
use crate::topology::Topology;
use crate::truth::SlotTruth;

const BUFFER_BYTES: usize = 192 << 10;
const HEX: &[u8; 16] = b"0123456789abcdef";

/// Writes `HOST/stdout` for each host into a directory, and `HOST/truth-slots.jsonl` beside it.
#[derive(Debug)]
pub struct LogFiles {
    directory: PathBuf,
    start_s: u64,
    addresses: Arc<[Vec<u8>]>,
}

impl LogFiles {
    /// Logs below a directory that exists; slot 0 is `start_s` seconds after 1970.
    pub fn below(directory: &Path, start_s: u64) -> Self {
        Self { directory: directory.to_path_buf(), start_s, addresses: Arc::default() }
    }
}

impl Sink for LogFiles {
    type Host = LogWriter;

    fn host(&mut self, topology: &Topology, host: u32) -> Result<LogWriter, SimulationError> {
        if self.addresses.is_empty() {
            self.addresses = addresses(topology);
        }
        let folder = self.directory.join(&topology.hosts[host as usize].name);
        std::fs::create_dir_all(&folder).map_err(SimulationError::io(&folder))?;
        let file = |name: &str| -> Result<Appended, SimulationError> {
            let path = folder.join(name);
            File::create_new(&path).map_err(SimulationError::io(&path))?;
            Ok(Appended { path, file: None })
        };
        let files = Some((file("stdout")?, file("truth-slots.jsonl")?));
        Ok(LogWriter::new(topology, host, self.start_s, Arc::clone(&self.addresses), files))
    }
}

/// A file that is only open while its host is told, so that a cluster may have more hosts than a process open files.
#[derive(Debug)]
struct Appended {
    path: PathBuf,
    file: Option<File>,
}

impl Appended {
    fn write(&mut self, bytes: &[u8]) -> Result<(), SimulationError> {
        let opened = match self.file.take() {
            Some(file) => Ok(file),
            None => File::options().append(true).open(&self.path),
        };
        let written = opened.and_then(|mut file| file.write_all(bytes).map(|()| file));
        self.file = Some(written.map_err(SimulationError::io(&self.path))?);
        Ok(())
    }
}

/// The log of one host.
#[derive(Debug)]
pub struct LogWriter {
    buffer: Vec<u8>,
    truth: Vec<u8>,
    /// The log's file, and that of what really happened.
    files: Option<(Appended, Appended)>,
    failed: Option<SimulationError>,
    written_bytes: u64,
    lines: u64,
    start_ns: i128,
    /// The second that `stamp` holds, and its text up to the seconds.
    second: i64,
    stamp: [u8; 19],
    /// `","host":"node-0"}` and the line's end.
    tail: Vec<u8>,
    /// What a line about a peer has before the peer's address.
    peer_head: Vec<u8>,
    /// Every host's address.
    addresses: Arc<[Vec<u8>]>,
    tx_names: Draws,
}

/// The hosts' addresses, `10.HOST:3001`: the same in every log.
fn addresses(topology: &Topology) -> Arc<[Vec<u8>]> {
    let hosts = 0..topology.hosts.len() as u32;
    hosts.map(|host| format!("10.{}.{}.{}:3001", host >> 16, host >> 8 & 255, host & 255).into_bytes()).collect()
}

impl LogWriter {
    fn new(topology: &Topology, host: u32, start_s: u64, addresses: Arc<[Vec<u8>]>, files: Option<(Appended, Appended)>) -> Self {
        let peer_head = [b"\"peer\":{\"connectionId\":\"", addresses[host as usize].as_slice(), b" "].concat();
        Self {
            buffer: Vec::new(),
            truth: Vec::new(),
            files,
            failed: None,
            written_bytes: 0,
            lines: 0,
            start_ns: i128::from(start_s) * 1_000_000_000,
            second: i64::MIN,
            stamp: [0; 19],
            tail: format!("\",\"host\":\"{}\"}}\n", topology.hosts[host as usize].name).into_bytes(),
            peer_head,
            addresses,
            tx_names: Draws::new(0),
        }
    }

    /// A writer that keeps everything in memory.
    pub fn in_memory(topology: &Topology, host: u32, start_s: u64) -> Self {
        Self::new(topology, host, start_s, addresses(topology), None)
    }

    /// What was written and is still in memory.
    pub fn text(&self) -> &[u8] {
        &self.buffer
    }

    /// Bytes and lines written so far.
    pub fn written(&self) -> (u64, u64) {
        (self.written_bytes + self.buffer.len() as u64, self.lines)
    }

    fn write_out(&mut self) {
        if let Some((log, _)) = &mut self.files {
            if let Err(error) = log.write(&self.buffer) {
                self.failed.get_or_insert(error);
            }
            self.written_bytes += self.buffer.len() as u64;
            self.buffer.clear();
        }
    }

    fn put(&mut self, text: &[u8]) {
        self.buffer.extend_from_slice(text);
    }

    fn number(&mut self, value: impl itoa::Integer) {
        self.buffer.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    }

    fn hex(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.buffer.extend_from_slice(&[HEX[(byte >> 4) as usize], HEX[(byte & 15) as usize]]);
        }
    }

    fn hash(&mut self, block: &Block) {
        self.hex(&block.hash);
    }

    /// `HASH@SLOT`, or what a node says for genesis.
    fn point(&mut self, block: &Block) {
        if block.is_genesis() {
            self.put(GENESIS_POINT.as_bytes());
        } else {
            self.hash(block);
            self.put(b"@");
            self.number(block.slot);
        }
    }

    fn peer(&mut self, peer: u32) {
        self.buffer.extend_from_slice(&self.peer_head);
        self.buffer.extend_from_slice(&self.addresses[peer as usize]);
        self.put(b"\"}");
    }

    fn tip(&mut self, tip: &Block) {
        if tip.is_genesis() {
            self.put(b"\"tip\":{\"block\":\"genesis\",\"blockNo\":-1,\"slot\":0}");
        } else {
            self.put(b"\"tip\":{\"block\":\"");
            self.hash(tip);
            self.put(b"\",\"blockNo\":");
            self.number(tip.number());
            self.put(b",\"slot\":");
            self.number(tip.slot);
            self.put(b"}");
        }
    }

    fn tx_name(&mut self, tx: u32) {
        let bytes = (self.tx_names.bits(Purpose::TxId, u64::from(tx), 0) as u32).to_be_bytes();
        self.hex(&bytes);
    }

    fn mempool(&mut self, txs: u32, bytes: u64) {
        self.put(b"\"mempoolSize\":{\"bytes\":");
        self.number(bytes);
        self.put(b",\"numTxs\":");
        self.number(txs);
        self.put(b"}");
    }

    fn at(&mut self, at_ns: i64) {
        let absolute = self.start_ns + i128::from(at_ns);
        let second = (absolute / 1_000_000_000) as i64;
        let fraction = (absolute % 1_000_000_000) as u32;
        if second != self.second {
            self.second = second;
            let (year, month, day) = date_of(second as u64 / 86_400);
            let of_day = second as u64 % 86_400;
            let two = |value: u64| [b'0' + (value / 10) as u8, b'0' + (value % 10) as u8];
            let stamp = &mut self.stamp;
            stamp[0..2].copy_from_slice(&two(year / 100));
            stamp[2..4].copy_from_slice(&two(year % 100));
            stamp[4] = b'-';
            stamp[5..7].copy_from_slice(&two(month));
            stamp[7] = b'-';
            stamp[8..10].copy_from_slice(&two(day));
            stamp[10] = b'T';
            stamp[11..13].copy_from_slice(&two(of_day / 3_600));
            stamp[13] = b':';
            stamp[14..16].copy_from_slice(&two(of_day / 60 % 60));
            stamp[16] = b':';
            stamp[17..19].copy_from_slice(&two(of_day % 60));
        }
        self.put(b"{\"at\":\"");
        let stamp = self.stamp;
        self.put(&stamp);
        if fraction > 0 {
            let mut digits = *b".000000000";
            let mut rest = fraction;
            for place in (1..10).rev() {
                digits[place] = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
            let mut length = 10;
            while digits[length - 1] == b'0' {
                length -= 1;
            }
            self.put(&digits[..length]);
        }
        self.put(b"Z\",\"ns\":\"");
    }

    /// `SLOT,"kind":...` for the steps of the forge loop that tell only their slot.
    fn forge_step(&mut self, head: &[u8], slot: u64, debug: bool) {
        self.put(head);
        self.number(slot);
        self.end(if debug { b"},\"sev\":\"Debug\",\"thread\":\"52" } else { b"},\"sev\":\"Info\",\"thread\":\"52" });
    }

    fn end(&mut self, closing: &[u8]) {
        self.put(closing);
        let tail = &self.tail;
        self.buffer.extend_from_slice(tail);
    }

    /// The end of a line by a thread that serves one peer.
    fn end_of_peer(&mut self, severity: &[u8], first_thread: u32, peer: u32) {
        self.put(severity);
        self.number(first_thread + peer);
        self.end(b"");
    }

    fn selected(&mut self, head: &[u8], block: &Block) {
        self.put(head);
        self.number(block.number());
        self.put(b",\"issueNo\":0,\"issuerHash\":\"");
        let issuer = self.tx_names.bits(Purpose::Vrf, u64::from(block.forger), 1).to_be_bytes();
        for _ in 0..3 {
            self.hex(&issuer);
        }
        self.hex(&issuer[..4]);
        self.put(b"\",\"kind\":\"PraosTiebreakerView\",\"slotNo\":");
        self.number(block.slot);
        self.put(b",\"tieBreakVRF\":\"");
        let vrf = block.vrf.to_be_bytes();
        for _ in 0..8 {
            self.hex(&vrf);
        }
        self.put(b"\"},\"newtip\":\"");
        self.point(block);
        self.end(b"\"},\"sev\":\"Notice\",\"thread\":\"20");
    }
}

impl HostSink for LogWriter {
    fn event(&mut self, at_ns: i64, event: &Event<'_>) {
        if self.buffer.capacity() == 0 {
            self.buffer.reserve_exact(BUFFER_BYTES + 16_384);
        }
        self.at(at_ns);
        self.lines += 1;
        match *event {
            Event::StartLeadershipCheck { slot } => {
                self.forge_step(
                    b"Forge.Loop.StartLeadershipCheck\",\"data\":{\"kind\":\"TraceStartLeadershipCheck\",\"slot\":",
                    slot,
                    false,
                );
            }
            Event::LedgerState { slot } => {
                self.forge_step(b"Forge.Loop.LedgerState\",\"data\":{\"kind\":\"TraceLedgerState\",\"slot\":", slot, true);
            }
            Event::LedgerView { slot } => {
                self.forge_step(b"Forge.Loop.LedgerView\",\"data\":{\"kind\":\"TraceLedgerView\",\"slot\":", slot, true);
            }
            Event::NodeIsLeader { slot } => {
                self.forge_step(b"Forge.Loop.NodeIsLeader\",\"data\":{\"kind\":\"TraceNodeIsLeader\",\"slot\":", slot, false);
            }
            Event::NodeNotLeader { slot } => {
                self.forge_step(b"Forge.Loop.NodeNotLeader\",\"data\":{\"kind\":\"TraceNodeNotLeader\",\"slot\":", slot, false);
            }
            Event::BlockContext { slot, tip } => {
                self.put(b"Forge.Loop.BlockContext\",\"data\":{\"current slot\":");
                self.number(slot);
                self.put(b",\"kind\":\"TraceBlockContext\",\"tip\":\"");
                self.point(tip);
                self.put(b"\",\"tipBlockNo\":");
                self.number(tip.height);
                self.end(b"},\"sev\":\"Debug\",\"thread\":\"52");
            }
            Event::TickedLedgerState { slot, tip } => {
                self.put(b"Forge.Loop.ForgeTickedLedgerState\",\"data\":{\"kind\":\"TraceForgeTickedLedgerState\",\"prev\":\"");
                self.point(tip);
                self.put(b"\",\"slot\":");
                self.number(slot);
                self.end(b"},\"sev\":\"Debug\",\"thread\":\"52");
            }
            Event::MempoolSnapshot { slot, tip } => {
                self.put(b"Forge.Loop.ForgingMempoolSnapshot\",\"data\":{\"kind\":\"TraceForgingMempoolSnapshot\",\"mempoolHash\":\"");
                if tip.is_genesis() {
                    self.put(GENESIS_HASH.as_bytes());
                } else {
                    self.hash(tip);
                }
                self.put(b"\",\"mempoolSlot\":");
                self.number(tip.slot);
                self.put(b",\"prev\":\"");
                self.point(tip);
                self.put(b"\",\"slot\":");
                self.number(slot);
                self.end(b"},\"sev\":\"Debug\",\"thread\":\"52");
            }
            Event::ForgedBlock { block, parent } => {
                self.put(b"Forge.Loop.ForgedBlock\",\"data\":{\"block\":\"");
                self.hash(block);
                self.put(b"\",\"blockNo\":");
                self.number(block.number());
                self.put(b",\"blockPrev\":\"");
                if parent.is_genesis() {
                    self.put(GENESIS_HASH.as_bytes());
                } else {
                    self.hash(parent);
                }
                self.put(b"\",\"kind\":\"TraceForgedBlock\",\"slot\":");
                self.number(block.slot);
                self.end(b"},\"sev\":\"Info\",\"thread\":\"52");
            }
            Event::AdoptedBlock { block } => {
                self.put(b"Forge.Loop.AdoptedBlock\",\"data\":{\"blockHash\":\"");
                self.hash(block);
                self.put(b"\",\"blockSize\":");
                self.number(block.size_bytes);
                self.put(b",\"kind\":\"TraceAdoptedBlock\",\"slot\":");
                self.number(block.slot);
                self.end(b"},\"sev\":\"Info\",\"thread\":\"52");
            }
            Event::DownloadedHeader { peer, block } => {
                self.put(b"ChainSync.Client.DownloadedHeader\",\"data\":{\"block\":\"");
                self.hash(block);
                self.put(b"\",\"blockNo\":");
                self.number(block.number());
                self.put(b",\"kind\":\"DownloadedHeader\",");
                self.peer(peer);
                self.put(b",\"slot\":");
                self.number(block.slot);
                self.end_of_peer(b"},\"sev\":\"Info\",\"thread\":\"", 200, peer);
            }
            Event::SendFetchRequest { peer, head, length } => {
                self.put(b"BlockFetch.Client.SendFetchRequest\",\"data\":{\"head\":\"");
                self.hash(head);
                self.put(b"\",\"kind\":\"SendFetchRequest\",\"length\":");
                self.number(length);
                self.put(b",");
                self.peer(peer);
                self.end_of_peer(b"},\"sev\":\"Info\",\"thread\":\"", 2_200, peer);
            }
            Event::CompletedBlockFetch { peer, block, delay_ns } => {
                self.put(b"BlockFetch.Client.CompletedBlockFetch\",\"data\":{\"block\":\"");
                self.hash(block);
                self.put(b"\",\"delay\":");
                let _ = write!(self.buffer, "{}", delay_ns as f64 / 1e9);
                self.put(b",\"kind\":\"CompletedBlockFetch\",");
                self.peer(peer);
                self.put(b",\"size\":");
                self.number(block.size_bytes);
                self.end_of_peer(b"},\"sev\":\"Info\",\"thread\":\"", 2_200, peer);
            }
            Event::HeaderSent { peer, block, tip, rising } => {
                self.put(b"ChainSync.ServerHeader.Update\",\"data\":{\"addBlock\":\"");
                self.point(block);
                self.put(b"\",\"blockingRead\":true,\"kind\":\"ChainSyncServer.Update\",");
                self.peer(peer);
                self.put(if rising { b",\"risingEdge\":true," as &[u8] } else { b"," });
                self.tip(tip);
                let severity: &[u8] = if rising { b"},\"sev\":\"Info\",\"thread\":\"" } else { b"},\"sev\":\"Debug\",\"thread\":\"" };
                self.end_of_peer(severity, 4_200, peer);
            }
            Event::RolledBack { peer, to, tip } => {
                self.put(b"ChainSync.ServerHeader.Update\",\"data\":{\"blockingRead\":true,\"kind\":\"ChainSyncServer.Update\",");
                self.peer(peer);
                self.put(b",\"risingEdge\":true,\"rollBackTo\":\"");
                self.point(to);
                self.put(b"\",");
                self.tip(tip);
                self.end_of_peer(b"},\"sev\":\"Info\",\"thread\":\"", 4_200, peer);
            }
            Event::SendBlock { peer, block } => {
                self.put(b"BlockFetch.Server.SendBlock\",\"data\":{\"block\":\"");
                self.hash(block);
                self.put(b"\",\"kind\":\"BlockFetchServer\",");
                self.peer(peer);
                self.end_of_peer(b"},\"sev\":\"Info\",\"thread\":\"", 6_200, peer);
            }
            Event::AddedToCurrentChain { block } => {
                self.selected(b"ChainDB.AddBlockEvent.AddedToCurrentChain\",\"data\":{\"kind\":\"AddedToCurrentChain\",\"newTipSelectView\":{\"blockNo\":", block);
            }
            Event::SwitchedToAFork { block } => {
                self.selected(b"ChainDB.AddBlockEvent.SwitchedToAFork\",\"data\":{\"kind\":\"TraceAddBlockEvent.SwitchedToAFork\",\"newTipSelectView\":{\"blockNo\":", block);
            }
            Event::Resources(sample) => {
                self.put(b"Resources\",\"data\":{\"Alloc\":");
                self.number(sample.alloc_bytes);
                self.put(b",\"CentiBlkIO\":0,\"CentiCpu\":");
                self.number(sample.cpu_centi);
                self.put(b",\"CentiGC\":");
                self.number(sample.gc_centi);
                self.put(b",\"CentiMut\":");
                self.number(sample.mutator_centi);
                self.put(b",\"FsRd\":0,\"FsWr\":");
                self.number(sample.fs_written_bytes);
                self.put(b",\"GcsMajor\":");
                self.number(sample.gcs_major);
                self.put(b",\"GcsMinor\":");
                self.number(sample.gcs_minor);
                self.put(b",\"Heap\":");
                self.number(sample.heap_bytes);
                self.put(b",\"Live\":");
                self.number(sample.live_bytes);
                self.put(b",\"NetRd\":0,\"NetWr\":0,\"RSS\":");
                self.number(sample.rss_bytes);
                self.put(b",\"Threads\":");
                self.number(sample.threads);
                self.end(b",\"kind\":\"ResourceStats\"},\"sev\":\"Info\",\"thread\":\"13");
            }
            Event::LedgerMetrics { slot, utxo, density, delegations } => {
                self.put(b"LedgerMetrics\",\"data\":{\"chainDensity\":");
                let _ = write!(self.buffer, "{density}");
                self.put(b",\"delegMapSize\":");
                self.number(delegations);
                self.put(b",\"kind\":\"LedgerMetrics\",\"slot\":");
                self.number(slot);
                self.put(b",\"utxoSize\":");
                self.number(utxo);
                self.end(b"},\"sev\":\"Info\",\"thread\":\"17");
            }
            Event::TxsCollected { peer, count } => {
                self.put(b"TxSubmission.TxInbound.Collected\",\"data\":{\"count\":");
                self.number(count);
                self.end_of_peer(
                    b",\"kind\":\"TraceTxSubmissionCollected\"},\"sev\":\"Debug\",\"thread\":\"",
                    threads::TX_SUBMISSION,
                    peer,
                );
            }
            Event::TxsProcessed { peer, accepted, rejected } => {
                self.put(b"TxSubmission.TxInbound.Processed\",\"data\":{\"accepted\":");
                self.number(accepted);
                self.put(b",\"kind\":\"TraceTxSubmissionProcessed\",\"rejected\":");
                self.number(rejected);
                self.end_of_peer(b"},\"sev\":\"Debug\",\"thread\":\"", threads::TX_SUBMISSION, peer);
            }
            Event::AddedTx { tx, mempool_txs, mempool_bytes } => {
                self.put(b"Mempool.AddedTx\",\"data\":{\"kind\":\"TraceMempoolAddedTx\",");
                self.mempool(mempool_txs, mempool_bytes);
                self.put(b",\"tx\":{\"txid\":\"");
                self.tx_name(tx);
                self.put(b"\"}},\"sev\":\"Info\",\"thread\":\"");
                self.end(threads::MEMPOOL_ADD.as_bytes());
            }
            Event::RejectedTx { tx, mempool_txs, mempool_bytes } => {
                self.put(b"Mempool.RejectedTx\",\"data\":{\"kind\":\"TraceMempoolRejectedTx\",");
                self.mempool(mempool_txs, mempool_bytes);
                self.put(b",\"tx\":{\"txid\":\"");
                self.tx_name(tx);
                self.put(b"\"}},\"sev\":\"Info\",\"thread\":\"");
                self.end(threads::MEMPOOL_ADD.as_bytes());
            }
            Event::RemoveTxs { tx, count, mempool_txs, mempool_bytes } => {
                self.put(b"Mempool.RemoveTxs\",\"data\":{\"kind\":\"TraceMempoolRemoveTxs\",");
                self.mempool(mempool_txs, mempool_bytes);
                self.put(b",\"txs\":[");
                for n in 0..count {
                    self.put(if n == 0 { b"{\"tx\":{\"txid\":\"" as &[u8] } else { b",{\"tx\":{\"txid\":\"" });
                    self.tx_name(tx + n);
                    self.put(b"\"}}");
                }
                self.put(b"]},\"sev\":\"Info\",\"thread\":\"");
                self.end(threads::MEMPOOL_REMOVE.as_bytes());
            }
        }
        if self.buffer.len() >= BUFFER_BYTES {
            self.write_out();
        }
    }

    fn slot(&mut self, truth: &SlotTruth) {
        for (n, (name, value)) in SlotTruth::FIELDS.iter().zip(truth.values()).enumerate() {
            self.truth.extend_from_slice(if n == 0 { b"{\"" } else { b",\"" });
            self.truth.extend_from_slice(name.as_bytes());
            self.truth.extend_from_slice(b"\":");
            match value {
                Some(value) => self.truth.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
                None => self.truth.extend_from_slice(b"null"),
            }
        }
        self.truth.extend_from_slice(b"}\n");
    }

    /// Writes out and gives the memory back: hosts that are told one after another by one thread take turns with one buffer.
    fn end_of_stretch(&mut self) -> Result<(), SimulationError> {
        self.write_out();
        if let Some((log, truth)) = &mut self.files {
            truth.write(&std::mem::take(&mut self.truth))?;
            (log.file, truth.file) = (None, None);
            self.buffer = Vec::new();
        }
        self.failed.take().map_or(Ok(()), Err)
    }

    fn finish(&mut self) -> Result<(), SimulationError> {
        self.end_of_stretch()
    }
}
