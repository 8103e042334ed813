//! The blocks that a node keeps: settled ones in an ImmutableDB, the rest in memory and in a log on disk.
//!
//! `immutable/` is cardano-node's format. `volatile/N.log` holds blocks in the order in which they came, each behind its
//! length and CRC-32; a log goes when all its blocks are settled or too old. Both survive the end of the process at any moment:
//! what isn't whole is cut off when they are opened.

use std::collections::{HashMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use slotmark_chain::block::decode_header;
use slotmark_chain::{ChainAppender, ChainError, Hash32, NewBlock, Point};
use slotmark_synth::assembly::HEADER_OFFSET;
use slotmark_wire::message::length;

use crate::error::NodeError;

/// A log is followed by a new one at this many bytes.
const LOG_BYTES: u64 = 8 << 20;
/// Bytes before a block in a log: its length and its CRC-32.
const RECORD_HEAD: usize = 8;
/// The first bytes of a block of Conway: `[7, [`, the second of five items.
const BLOCK_HEAD: [u8; HEADER_OFFSET] = [0x82, 0x07, 0x85];
/// The most bytes that a block may have.
const MAX_BLOCK_BYTES: usize = 2_500_000;

/// A block and its place in the tree of blocks.
#[derive(Clone, Debug)]
pub struct StoredBlock {
    /// Its header's hash.
    pub hash: Hash32,
    /// The hash of the block before it; None for the first one.
    pub parent: Option<Hash32>,
    /// Its slot.
    pub slot: u64,
    /// Its number.
    pub number: u64,
    /// The whole block.
    pub bytes: Arc<[u8]>,
    /// The header's length.
    pub header_size: usize,
}

impl StoredBlock {
    /// Reads a block's place off its header; None where it has none that can be read, or the bytes are not those of one block
    /// of Conway alone.
    ///
    /// The body's hash covers neither what stands before the header nor what comes behind the body. A peer that passes a block on
    /// could change those, and a block that its producer made well would be refused for it.
    pub fn new(bytes: Arc<[u8]>) -> Option<Self> {
        if !bytes.starts_with(&BLOCK_HEAD) || length(&bytes) != Ok(Some(bytes.len())) {
            return None;
        }
        let header = decode_header(&bytes).ok()?;
        let (hash, parent, slot, number) = (header.hash, header.prev_hash, header.slot, header.block_no);
        let header_size = (header.span.end - header.span.start) as usize;
        Some(Self { hash, parent, slot, number, bytes, header_size })
    }

    /// Its header.
    pub fn header(&self) -> &[u8] {
        &self.bytes[HEADER_OFFSET..][..self.header_size]
    }

    /// Its point.
    pub fn point(&self) -> Point {
        Point::Block { slot: self.slot, hash: self.hash }
    }
}

/// All blocks, for those who serve them and for the one who decides which are the chain.
pub struct Store {
    blocks: Mutex<Blocks>,
    folder: PathBuf,
}

struct Blocks {
    settled: ChainAppender,
    volatile: HashMap<Hash32, Arc<StoredBlock>>,
    logs: VecDeque<Log>,
    folder: PathBuf,
}

struct Log {
    number: u64,
    file: File,
    bytes: u64,
    /// The latest slot of its blocks.
    last_slot: u64,
}

impl Store {
    /// Opens a database folder, which is made where it isn't there; with the blocks of its logs, in the order in which they came.
    ///
    /// # Errors
    /// Files can't be read or written, or belong to another network.
    pub fn open(folder: &Path, magic: u32, chunk_slots: u64) -> Result<(Self, Vec<Arc<StoredBlock>>), NodeError> {
        let volatile = folder.join("volatile");
        fs::create_dir_all(&volatile).map_err(NodeError::write(&volatile))?;
        let marker = folder.join("protocolMagicId");
        match fs::read_to_string(&marker) {
            Ok(found) if found.trim() == magic.to_string() => {}
            Ok(found) => return Err(NodeError::content(&marker, format!("network {}", found.trim()), format!("{magic}, the genesis's"))),
            Err(_) => fs::write(&marker, magic.to_string()).map_err(NodeError::write(&marker))?,
        }
        let settled = ChainAppender::open(folder.join("immutable"), chunk_slots)?;
        let mut blocks = Blocks { settled, volatile: HashMap::new(), logs: VecDeque::new(), folder: volatile };
        let read = blocks.read_logs()?;
        Ok((Self { blocks: Mutex::new(blocks), folder: folder.to_path_buf() }, read))
    }

    /// The database folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn lock(&self) -> MutexGuard<'_, Blocks> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a block that may become part of the chain.
    ///
    /// # Errors
    /// It can't be written.
    pub fn put(&self, block: &Arc<StoredBlock>) -> Result<(), NodeError> {
        self.lock().put(block)
    }

    /// Settles a block: the next one of the ImmutableDB.
    ///
    /// # Errors
    /// It can't be written, or there is no such block.
    pub fn settle(&self, hash: &Hash32) -> Result<(), NodeError> {
        self.lock().settle(hash)
    }

    /// Forgets a block that can't become part of the chain any more.
    pub fn forget(&self, hash: &Hash32) {
        self.lock().volatile.remove(hash);
    }

    /// The settled block at a place, counted from 0.
    ///
    /// # Errors
    /// Its chunk can't be read.
    pub fn settled(&self, index: usize) -> Result<Option<StoredBlock>, ChainError> {
        let blocks = self.lock();
        if index >= blocks.settled.len() {
            return Ok(None);
        }
        Ok(StoredBlock::new(blocks.settled.block(index)?.into()))
    }

    /// Returns the number of settled blocks.
    pub fn settled_len(&self) -> usize {
        self.lock().settled.len()
    }

    /// The place of a settled block.
    pub fn find_settled(&self, point: &Point) -> Option<usize> {
        self.lock().settled.find(point)
    }

    /// The block at a point, settled or not.
    pub fn block(&self, point: &Point) -> Option<Arc<StoredBlock>> {
        let Point::Block { hash, .. } = point else { return None };
        let blocks = self.lock();
        if let Some(block) = blocks.volatile.get(hash) {
            return Some(Arc::clone(block));
        }
        let bytes = blocks.settled.block(blocks.settled.find(point)?).ok()?;
        StoredBlock::new(bytes.into()).map(Arc::new)
    }

    /// The points from one block to another one that descends from it, both included, where all of them are here.
    pub fn range(&self, from: &Point, to: &Point) -> Option<Vec<Point>> {
        let (Point::Block { slot: first, hash: first_hash }, Point::Block { hash: last_hash, .. }) = (from, to) else { return None };
        let blocks = self.lock();
        let mut points = Vec::new();
        let mut settled_to = blocks.settled.find(to);
        if settled_to.is_none() {
            let mut block = blocks.volatile.get(last_hash)?;
            if block.point() != *to {
                return None;
            }
            loop {
                points.push(block.point());
                if block.hash == *first_hash || block.slot <= *first {
                    break;
                }
                let parent = block.parent?;
                match blocks.volatile.get(&parent) {
                    Some(parent) => block = parent,
                    None => {
                        settled_to = blocks.settled.len().checked_sub(1);
                        let last = settled_to.and_then(|last| blocks.settled.point(last))?;
                        if !matches!(last, Point::Block { hash, .. } if hash == parent) {
                            return None;
                        }
                        break;
                    }
                }
            }
        }
        if points.last() != Some(from) {
            let (start, end) = (blocks.settled.find(from)?, settled_to?);
            if start > end {
                return None;
            }
            points.extend((start..=end).rev().filter_map(|index| blocks.settled.point(index)));
        }
        points.reverse();
        (points.first() == Some(from)).then_some(points)
    }
}

impl Blocks {
    fn log_path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number:08}.log"))
    }

    fn read_logs(&mut self) -> Result<Vec<Arc<StoredBlock>>, NodeError> {
        let listing = fs::read_dir(&self.folder).map_err(NodeError::read(&self.folder))?;
        let names = listing.filter_map(|file| file.ok()?.file_name().into_string().ok());
        let mut numbers: Vec<u64> = names.filter_map(|name| name.strip_suffix(".log")?.parse().ok()).collect();
        numbers.sort_unstable();
        let mut read = Vec::new();
        for number in numbers {
            let path = self.log_path(number);
            let bytes = fs::read(&path).map_err(NodeError::read(&path))?;
            let (mut end, mut last_slot) = (0, 0);
            while let Some(block) = record(&bytes[end..]) {
                let Some(stored) = StoredBlock::new(block.into()) else { break };
                end += RECORD_HEAD + block.len();
                last_slot = last_slot.max(stored.slot);
                let stored = Arc::new(stored);
                if self.settled.find(&stored.point()).is_none() && self.volatile.insert(stored.hash, Arc::clone(&stored)).is_none() {
                    read.push(stored);
                }
            }
            let file = OpenOptions::new().append(true).open(&path).map_err(NodeError::write(&path))?;
            file.set_len(end as u64).map_err(NodeError::write(&path))?;
            self.logs.push_back(Log { number, file, bytes: end as u64, last_slot });
        }
        Ok(read)
    }

    fn put(&mut self, block: &Arc<StoredBlock>) -> Result<(), NodeError> {
        if self.volatile.insert(block.hash, Arc::clone(block)).is_some() {
            return Ok(());
        }
        if self.logs.back().is_none_or(|log| log.bytes >= LOG_BYTES) {
            let number = self.logs.back().map_or(0, |log| log.number + 1);
            let path = self.log_path(number);
            let file = OpenOptions::new().append(true).create(true).open(&path).map_err(NodeError::write(&path))?;
            self.logs.push_back(Log { number, file, bytes: 0, last_slot: 0 });
        }
        let folder = &self.folder;
        let log = self.logs.back_mut().expect("made above");
        let mut record = Vec::with_capacity(RECORD_HEAD + block.bytes.len());
        record.extend((block.bytes.len() as u32).to_be_bytes());
        record.extend(crc32fast::hash(&block.bytes).to_be_bytes());
        record.extend_from_slice(&block.bytes);
        log.file.write_all(&record).map_err(NodeError::write(folder))?;
        log.bytes += record.len() as u64;
        log.last_slot = log.last_slot.max(block.slot);
        Ok(())
    }

    fn settle(&mut self, hash: &Hash32) -> Result<(), NodeError> {
        let missing = || NodeError::content(&self.folder, format!("no block {}", hex::encode(hash)), "the chain's next block");
        let block = self.volatile.get(hash).cloned().ok_or_else(missing)?;
        self.settled.append(&NewBlock {
            bytes: &block.bytes,
            header_offset: HEADER_OFFSET as u16,
            header_size: block.header_size as u16,
            slot: block.slot,
            hash: block.hash,
        })?;
        self.volatile.remove(hash);
        // Blocks up to a settled one's slot are settled themselves or on a fork that is too old.
        while self.logs.len() > 1 && self.logs[0].last_slot <= block.slot {
            let Some(log) = self.logs.pop_front() else { break };
            let path = self.log_path(log.number);
            fs::remove_file(&path).map_err(NodeError::write(&path))?;
        }
        Ok(())
    }
}

/// The block of the record that bytes begin with; None where it isn't whole.
fn record(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (crc, rest) = rest.split_first_chunk()?;
    let length = u32::from_be_bytes(*length) as usize;
    let block = rest.get(..length).filter(|_| length <= MAX_BLOCK_BYTES)?;
    (crc32fast::hash(block) == u32::from_be_bytes(*crc)).then_some(block)
}
