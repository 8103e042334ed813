//! The state that the headers and transactions of a chain are to be checked against, read off the chain before anything is timed.
//!
//! Nonces and stake follow from all blocks before, and rebuilding stake takes a set of unspent outputs of its own. That is done
//! here, once, and forgotten: only what each header needs is kept. A process of its own can do it, and leave it in a file with the
//! first unspent outputs: then nothing of it is in the memory of the process that replays.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use slotmark_chain::block::{Decoder, Header};
use slotmark_chain::hash::Hashing;
use slotmark_chain::{Chain, ChainError, Hash32};
use slotmark_ledger::Environment;
use slotmark_network::{Network, Parameters};
use slotmark_praos::genesis::Genesis;
use slotmark_praos::header::{KesPeriods, Leader, Surroundings, check_header};
use slotmark_praos::lottery::ActiveSlots;
use slotmark_praos::nonce::Nonce;
use slotmark_praos::rule::Outcome;
use slotmark_praos::state::ChainState;

use crate::error::ReplayError;

/// An unspent output of a genesis: its address, and its lovelace.
pub type Fund = (Vec<u8>, u64);

/// The longest address that a file may hold; Shelley's are shorter, and Byron's with all of their attributes too.
const MOST_ADDRESS_BYTES: usize = 1 << 16;

/// The input of a replay beside the chain.
pub struct Prepared {
    /// The state that headers and transactions are checked against.
    pub expected: Expected,
    /// Number of first unspent outputs.
    pub funds: u64,
    source: Source,
}

/// The source of the first unspent outputs.
enum Source {
    Genesis(Vec<Fund>),
    File(BufReader<File>),
}

/// The head of a file, behind its length; the first unspent outputs follow, and then the hash of all that.
#[derive(Serialize, Deserialize)]
struct Head {
    version: String,
    /// Number of blocks that it is for, and the last one's hash.
    blocks: u64,
    last: Hash32,
    expected: Expected,
    funds: u64,
}

impl Prepared {
    /// Reads a genesis and this many of a chain's first blocks.
    ///
    /// # Errors
    /// One of them is damaged.
    pub fn of(chain: &Chain, genesis: &Path, blocks: usize) -> Result<Self, ReplayError> {
        let genesis = Arc::new(Genesis::read(genesis)?);
        let expected = Expected::of(chain, &genesis, blocks)?;
        let genesis = Arc::unwrap_or_clone(genesis);
        Ok(Self { expected, funds: genesis.funds.len() as u64, source: Source::Genesis(genesis.funds) })
    }

    /// Writes it for this many of the chain's first blocks.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn write(self, chain: &Chain, blocks: usize, path: &Path) -> Result<(), ReplayError> {
        let failed = |source: io::Error| ReplayError::Write { path: path.to_path_buf(), source };
        let encoded = |error: postcard::Error| failed(io::Error::other(error));
        let Self { expected, funds, source: Source::Genesis(all) } = self else { return Ok(()) };
        let mut file = BufWriter::new(Hashing::new(File::create(path).map_err(failed)?));
        let last = chain.entry(blocks - 1).hash;
        let head = Head { version: env!("CARGO_PKG_VERSION").to_owned(), blocks: blocks as u64, last, expected, funds };
        let head = postcard::to_stdvec(&head).map_err(encoded)?;
        file.write_all(&(head.len() as u64).to_be_bytes()).and_then(|()| file.write_all(&head)).map_err(failed)?;
        for fund in &all {
            postcard::to_io(fund, &mut file).map_err(encoded)?;
        }
        file.flush().map_err(failed)?;
        let hash = file.get_ref().hash();
        file.write_all(&hash).and_then(|()| file.flush()).map_err(failed)
    }

    /// Reads what was written for this many of the chain's first blocks.
    ///
    /// # Errors
    /// The file can't be read, is damaged, or is for other blocks.
    pub fn read(chain: &Chain, blocks: usize, path: &Path) -> Result<Self, ReplayError> {
        let refused = |reason: String| ReplayError::Prepared { path: path.to_path_buf(), reason };
        let failed = |error: io::Error| refused(error.to_string());
        let mut file = File::open(path).map_err(failed)?;
        if !is_whole(&mut file).map_err(failed)? {
            return Err(refused("it is damaged: its hash isn't the one at its end".to_owned()));
        }
        let mut file = BufReader::new(file);
        let mut length = [0; 8];
        file.read_exact(&mut length).map_err(failed)?;
        let mut head = Vec::new();
        file.by_ref().take(u64::from_be_bytes(length)).read_to_end(&mut head).map_err(failed)?;
        let head: Head = postcard::from_bytes(&head).map_err(|error| refused(error.to_string()))?;
        if (head.version.as_str(), head.blocks, head.last) != (env!("CARGO_PKG_VERSION"), blocks as u64, chain.entry(blocks - 1).hash) {
            return Err(refused(format!("it is for {} blocks of another chain or version", head.blocks)));
        }
        Ok(Self { expected: head.expected, funds: head.funds, source: Source::File(file) })
    }

    /// The parts: what is checked against, and the first unspent outputs one by one.
    pub fn into_parts(self) -> (Expected, Box<dyn Iterator<Item = io::Result<Fund>>>) {
        let funds: Box<dyn Iterator<Item = io::Result<Fund>>> = match self.source {
            Source::Genesis(all) => Box::new(all.into_iter().map(Ok)),
            Source::File(mut file) => {
                let mut buffer = vec![0; MOST_ADDRESS_BYTES];
                Box::new((0..self.funds).map(move |_| {
                    let (fund, _) = postcard::from_io((&mut file, &mut buffer)).map_err(io::Error::other)?;
                    Ok(fund)
                }))
            }
        };
        (self.expected, funds)
    }
}

/// Returns whether a file ends with the hash of all before that. Leaves the file at its beginning.
///
/// What isn't whole is never decoded: parts that don't belong together would be found only while blocks are replayed.
fn is_whole(file: &mut File) -> io::Result<bool> {
    let mut stated = Hash32::default();
    let length = file.metadata()?.len().saturating_sub(stated.len() as u64);
    let mut content = Hashing::new((&*file).take(length));
    io::copy(&mut content, &mut io::sink())?;
    let found = content.hash();
    file.read_exact(&mut stated)?;
    file.rewind()?;
    Ok(found == stated)
}

/// The state that every header and transaction of a chain is to be checked against.
#[derive(Serialize, Deserialize)]
pub struct Expected {
    kes: KesPeriods,
    active_slots: ActiveSlots,
    /// None where the genesis has nothing that transactions are checked against.
    network: Option<Network>,
    /// Nonces of the epochs that have a block; None for an epoch that isn't known.
    nonces: Vec<Option<Nonce>>,
    /// By block: the place of its epoch's nonce, and whose its slot is.
    blocks: Vec<(u32, Leader)>,
    /// Protocol parameters, each with the block from which on they are those of transactions; None where they aren't known.
    parameters: Vec<(usize, Option<Parameters>)>,
    /// Number of pools that a transaction registers for the first time, by block and place; without those that register none.
    new_pools: HashMap<(usize, usize), u64>,
}

impl Expected {
    /// Reads this many of a chain's first blocks.
    ///
    /// # Errors
    /// The chain is damaged, or a block can't be decoded.
    pub fn of(chain: &Chain, genesis: &Arc<Genesis>, blocks: usize) -> Result<Self, ChainError> {
        let mut state = ChainState::new(Some(genesis));
        let mut decoder = Decoder::new();
        let mut expected = Self {
            kes: genesis.kes(),
            active_slots: genesis.active_slots.clone(),
            network: genesis.ledger.as_ref().map(|ledger| ledger.network),
            nonces: Vec::new(),
            blocks: Vec::with_capacity(blocks),
            parameters: Vec::new(),
            new_pools: HashMap::new(),
        };
        let mut epoch = None;
        for index in 0..blocks {
            let at = |source| chain.block_error(index, source);
            let block = decoder.decode(chain.bytes(index)).map_err(at)?;
            let body_bytes = u64::from(block.body.end - block.body.start);
            let step = state.step(&block.header, body_bytes, (!block.transactions.is_empty()).then_some(&block)).map_err(at)?;
            let number = step.epoch.as_ref().map(|epoch| epoch.number);
            if expected.nonces.is_empty() || number != epoch {
                epoch = number;
                expected.nonces.push(step.epoch.as_ref().map(|epoch| epoch.nonce));
            }
            for (place, resolved) in step.resolved.iter().enumerate().filter(|(_, resolved)| resolved.new_pools > 0) {
                expected.new_pools.insert((index, place), resolved.new_pools);
            }
            let parameters = step.parameters.as_deref();
            if !block.transactions.is_empty() && expected.parameters.last().is_none_or(|(_, last)| last.as_ref() != parameters) {
                expected.parameters.push((index, parameters.cloned()));
            }
            expected.blocks.push(((expected.nonces.len() - 1) as u32, step.leader));
        }
        Ok(expected)
    }

    /// Checks the header of the block at an index by itself: certificate, KES signature, VRF proofs, leadership.
    pub fn check(&self, index: usize, header: &Header<'_>) -> Outcome {
        let (nonce, leader) = self.blocks[index];
        let surroundings =
            Surroundings { kes: Some(self.kes), active_slots: Some(&self.active_slots), epoch_nonce: self.nonces[nonce as usize], leader };
        check_header(header, &surroundings)
    }

    /// Returns whether the block at an index is the first of an epoch, with blocks of another epoch before it.
    pub fn begins_epoch(&self, index: usize) -> bool {
        index.checked_sub(1).is_some_and(|before| self.blocks[before].0 != self.blocks[index].0)
    }

    /// Returns whether transactions can be checked against rules: the genesis has what those need.
    pub fn has_rules(&self) -> bool {
        self.network.is_some()
    }

    /// Returns the state that the transactions of the block at an index, in this slot, are to be checked against.
    pub fn environment(&self, index: usize, slot: u64) -> Environment<'_> {
        let after = self.parameters.partition_point(|(first, _)| *first <= index);
        let parameters = after.checked_sub(1).and_then(|place| self.parameters[place].1.as_ref());
        Environment { slot, network: self.network, parameters }
    }

    /// Returns the number of pools that a transaction registers for the first time.
    pub fn new_pools(&self, index: usize, place: usize) -> u64 {
        self.new_pools.get(&(index, place)).copied().unwrap_or(0)
    }
}
