//! A chain's ledger work, block after block.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use slotmark_chain::block::{Block, Decoder, Span};
use slotmark_chain::hash::blake2b_256;
use slotmark_chain::rule::Outcome;
use slotmark_chain::{Chain, DecodeError, Hash32, Point};
use slotmark_ledger::{Resolved, block_units, encode_output, phase_one, phase_two};
use slotmark_praos::genesis::Genesis;
use slotmark_praos::header::check_header;
use slotmark_praos::state::{ChainState, Step};

use crate::changes::{self, Changes, Looked, ResolveError, ids, resolve};
use crate::error::ReplayError;
use crate::phase::{Laps, Phase};
use crate::place::Place;
use crate::prepare::Prepared;
use crate::record;
use crate::resources::Counters;
use crate::store::{Backend, Store, Tip};

/// Outputs of a genesis that are loaded between two flushes.
const LOADED_TOGETHER: usize = 10_000;

/// The settings of a replay.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The ImmutableDB folder.
    pub chain: PathBuf,
    /// The network's Shelley genesis file; without it headers aren't checked and the set begins empty.
    pub genesis: Option<PathBuf>,
    /// File that [`prepare`] wrote, in the place of the genesis file.
    pub prepared: Option<PathBuf>,
    /// The store of unspent outputs.
    pub backend: Backend,
    /// The folder for a set on disk. One that holds a set is gone on with.
    pub state: PathBuf,
    /// Blocks between two flushes; the last block ends with one too.
    pub flush_every: u64,
    /// Number of blocks of the chain, from its first one on; None for all.
    pub blocks: Option<u64>,
    /// Check no header and no transaction, as a node does with blocks that it has checked before.
    pub reapply: bool,
    /// Idle time before each block, as a node has: a processor that was idle takes longer.
    pub pause: Duration,
}

/// The result of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Blocks that were replayed by this process.
    pub blocks: u64,
    /// Unspent outputs in the end.
    pub entries: u64,
    /// Their digest.
    pub digest: Hash32,
    /// Inputs that weren't among the unspent outputs.
    pub missing: u64,
}

/// Replays a chain, and writes a line per block to `out`, which is made anew.
///
/// # Errors
/// The chain is damaged or breaks a rule of headers, the set's folder can't be used, or `out` can't be written. A set on disk is
/// then as the last flush left it.
pub fn replay(settings: &Settings, out: &Path) -> Result<Replay, ReplayError> {
    let chain = Chain::open(&settings.chain)?;
    let blocks = count(&chain, settings.blocks)?;
    let prepared = match (&settings.prepared, &settings.genesis) {
        (Some(file), _) => Some(Prepared::read(file)?),
        (None, Some(genesis)) => Some(Prepared::of(genesis)?),
        (None, None) => None,
    };
    let genesis_entries = prepared.as_ref().map_or(0, |prepared| prepared.funds);
    let mut lines = Lines::create(out)?;
    let counters = Counters::begin();
    let mut store = settings.backend.open(&settings.state)?;
    let first = continued(&chain, store.tip(), settings)?;
    let load = Instant::now();
    if let (None, Some(prepared)) = (store.tip(), &prepared) {
        load_first_outputs(prepared, store.as_mut(), settings)?;
    }
    let load_ns = load.elapsed().as_nanos() as u64;
    let ledger = prepared.map(|prepared| Ledger::at(prepared, &chain, first)).transpose()?;
    (0..chain.chunk_count()).for_each(|chunk| chain.forget_chunk(chunk));
    let timed = Phase::NAMED.into_iter().filter(|(phase, _)| match phase {
        Phase::Tick | Phase::Accounts => ledger.is_some(),
        Phase::HeaderCheck => ledger.is_some() && !settings.reapply,
        Phase::PhaseOne | Phase::PhaseTwo => ledger.as_ref().is_some_and(Ledger::has_rules) && !settings.reapply,
        Phase::Flush => settings.backend.is_on_disk,
        _ => true,
    });
    lines.write(&record::Process {
        record: "process",
        contract: record::CONTRACT,
        engine: env!("CARGO_PKG_NAME"),
        version: env!("CARGO_PKG_VERSION"),
        backend: settings.backend.name(),
        store: settings.backend.library(),
        mode: settings.reapply.then_some(record::REAPPLICATION),
        phases: timed.map(|(_, name)| name).collect(),
        genesis_entries,
        resumed_after: store.tip().map(|tip| tip.slot),
        flush_every: settings.flush_every,
    })?;
    let mut work = Work { chain: &chain, settings, ledger, store, decoder: Decoder::new(), ids: Vec::new(), last: blocks - 1 };
    let begin = Instant::now();
    let mut missing = 0;
    let mut paused = Duration::ZERO;
    for index in first..blocks {
        if !settings.pause.is_zero() {
            let idle = Instant::now();
            thread::sleep(settings.pause);
            paused += idle.elapsed();
        }
        let line = work.block(index)?;
        missing += line.missing;
        lines.write(&line)?;
        let chunk = chain.chunk_of(index);
        if index + 1 == chain.chunk_blocks(chunk).end {
            chain.forget_chunk(chunk);
        }
    }
    let elapsed_ns = (begin.elapsed() - paused).as_nanos() as u64;
    let mut used = counters.used();
    // What was written for this record isn't the set's.
    used.written_bytes = used.written_bytes.map(|bytes| bytes.saturating_sub(lines.bytes));
    let replayed = Replay {
        blocks: (blocks - first) as u64,
        entries: work.store.entries(),
        digest: work.store.digest().map_err(|error| error.at(&settings.state))?,
        missing,
    };
    lines.write(&record::End {
        record: "end",
        blocks: replayed.blocks,
        entries: replayed.entries,
        digest: hex::encode(replayed.digest),
        pots: work.ledger.as_ref().and_then(Ledger::pots),
        load_ns,
        elapsed_ns,
        disk_bytes: work.store.disk_bytes(),
        used,
    })?;
    lines.finish()?;
    Ok(replayed)
}

/// Reads a genesis, and writes what a replay takes of it to `out`.
///
/// # Errors
/// The genesis is damaged, or `out` can't be written.
pub fn prepare(genesis: &Path, out: &Path) -> Result<(), ReplayError> {
    Prepared::of(genesis)?.write(out)
}

/// Returns the number of a chain's blocks to replay.
fn count(chain: &Chain, blocks: Option<u64>) -> Result<usize, ReplayError> {
    let count = blocks.map_or(chain.len(), |blocks| chain.len().min(usize::try_from(blocks).unwrap_or(usize::MAX)));
    if count == 0 { Err(slotmark_chain::ChainError::Empty { path: chain.path().to_path_buf() }.into()) } else { Ok(count) }
}

/// The index of the first block that a set on disk hasn't yet.
fn continued(chain: &Chain, tip: Option<Tip>, settings: &Settings) -> Result<usize, ReplayError> {
    let Some(tip) = tip else { return Ok(0) };
    chain.find(&Point::Block { slot: tip.slot, hash: tip.hash }).map(|index| index + 1).ok_or_else(|| ReplayError::OtherChain {
        path: settings.state.clone(),
        slot: tip.slot,
        hash: hex::encode(tip.hash),
    })
}

/// Loads the first unspent outputs: those of a genesis have the hash of their address as transaction, and index 0.
fn load_first_outputs(prepared: &Prepared, store: &mut dyn Store, settings: &Settings) -> Result<(), ReplayError> {
    let mut funds = prepared.first_outputs()?;
    loop {
        let mut changes = Changes::default();
        for fund in funds.by_ref().take(LOADED_TOGETHER) {
            let (address, lovelace) = fund?;
            let place = Place::new(&blake2b_256(&[&address]), 0).expect("an index of 0");
            changes.made.push((place, encode_output(&address, lovelace)));
        }
        if changes.made.is_empty() {
            return Ok(());
        }
        store.apply(changes);
        store.flush(None).map_err(|error| error.at(&settings.state))?;
    }
}

/// The state from block to block.
struct Work<'c> {
    chain: &'c Chain,
    settings: &'c Settings,
    /// None without a genesis.
    ledger: Option<Ledger>,
    store: Box<dyn Store>,
    decoder: Decoder,
    ids: Vec<Hash32>,
    last: usize,
}

impl Work<'_> {
    /// Does one block's work, and gives its line.
    fn block(&mut self, index: usize) -> Result<record::Block, ReplayError> {
        let mut laps = Laps::start();
        let bytes = self.chain.checked_bytes(index)?;
        laps.end(Phase::Read);
        let mut decoder = std::mem::take(&mut self.decoder);
        let line = self.decoded(index, bytes, &mut decoder, laps);
        self.decoder = decoder;
        line
    }

    fn decoded(&mut self, index: usize, bytes: &[u8], decoder: &mut Decoder, mut laps: Laps) -> Result<record::Block, ReplayError> {
        let undecodable = |source: DecodeError| self.chain.block_error(index, source);
        let block = decoder.decode(bytes).map_err(undecodable)?;
        ids(&block, &mut self.ids);
        laps.end(Phase::Decode);
        let checks = !self.settings.reapply;
        let ticked = self.ledger.as_mut().map(|ledger| ledger.tick(&block));
        if let (Some(ledger), Some((step, _))) = (&self.ledger, &ticked) {
            laps.end(Phase::Tick);
            if checks {
                let mut outcome = step.outcome;
                outcome.merge(check_header(&block.header, &step.surroundings(Some(&ledger.genesis))));
                self.refuse_broken(index, block.header.slot, outcome)?;
                laps.end(Phase::HeaderCheck);
            }
        }
        let changes::Work { changes, looked, mut resolved } =
            resolve(&block, &self.ids, self.store.as_mut()).map_err(|error| self.unresolved(index, error))?;
        laps.end(Phase::Resolve);
        if let (Some(ledger), Some((step, _))) = (&mut self.ledger, &ticked) {
            ledger.state.apply_resolved(&block, &mut resolved).map_err(undecodable)?;
            laps.end(Phase::Accounts);
            if checks {
                self.check_transactions(index, &block, step, &resolved, &mut laps)?;
            }
        }
        self.store.apply(changes);
        laps.end(Phase::Apply);
        if self.settings.backend.is_on_disk && (index == self.last || (index as u64 + 1).is_multiple_of(self.settings.flush_every)) {
            let tip = Tip { slot: self.chain.entry(index).slot, hash: block.header.hash };
            self.store.flush(Some(tip)).map_err(|error| error.at(&self.settings.state))?;
        }
        if self.settings.backend.is_on_disk {
            laps.end(Phase::Flush);
        }
        let marks = ticked.map(|(step, begins_epoch)| (u64::from(begins_epoch), u64::from(step.pulses_rewards))).unzip();
        Ok(line(&block, marks, looked, laps))
    }

    /// Holds a block's transactions against the rules of the ledger, and runs their scripts, where the genesis has what that takes.
    fn check_transactions(
        &self,
        index: usize,
        block: &Block<'_, '_>,
        step: &Step,
        resolved: &[Resolved],
        laps: &mut Laps,
    ) -> Result<(), ReplayError> {
        let Some(ledger) = self.ledger.as_ref().filter(|ledger| ledger.has_rules()) else { return Ok(()) };
        let undecodable = |source: DecodeError| self.chain.block_error(index, source);
        let environment = step.environment(Some(&ledger.genesis), block.header.slot);
        let auxiliary: HashMap<u32, Span> = match block.transactions {
            [] => HashMap::new(),
            _ => block.auxiliary_data().map_err(undecodable)?.into_iter().collect(),
        };
        let of = |place: u32| auxiliary.get(&place).map(|span| span.of(block.bytes));
        let mut outcome = block_units(block, &environment);
        for ((place, transaction), resolved) in (0u32..).zip(block.transactions).zip(resolved) {
            outcome.merge(phase_one(block, transaction, resolved, of(place), &environment).map_err(undecodable)?);
        }
        laps.end(Phase::PhaseOne);
        for ((place, transaction), resolved) in (0u32..).zip(block.transactions).zip(resolved) {
            let valid = !block.invalid.contains(&place);
            outcome.merge(phase_two(block, transaction, valid, resolved, of(place), &environment).0);
        }
        laps.end(Phase::PhaseTwo);
        self.refuse_broken(index, block.header.slot, outcome)
    }

    fn refuse_broken(&self, index: usize, slot: u64, outcome: Outcome) -> Result<(), ReplayError> {
        outcome.result().map_err(|rule| ReplayError::Invalid { path: self.chain.block_path(index), slot, rule: rule.name() })
    }

    fn unresolved(&self, index: usize, error: ResolveError) -> ReplayError {
        match error {
            ResolveError::Store(error) => error.at(&self.settings.state),
            ResolveError::Block(source) => self.chain.block_error(index, source).into(),
            ResolveError::Outputs(_) => ReplayError::Outputs { path: self.chain.block_path(index), slot: self.chain.entry(index).slot },
        }
    }
}

/// The ledger beside the unspent outputs: headers, parameters, stake, accounts and pots.
struct Ledger {
    genesis: Arc<Genesis>,
    state: ChainState,
    /// The epoch of the last block; None where it isn't known.
    epoch: Option<u64>,
}

impl Ledger {
    /// The ledger before the block at an index. What comes before it is followed with a set of unspent outputs of its own.
    fn at(prepared: Prepared, chain: &Chain, first: usize) -> Result<Self, ReplayError> {
        if first == 0 {
            let mut failed = None;
            let funds = prepared.first_outputs()?.map_while(|fund| fund.map_err(|error| failed = Some(error)).ok());
            let state = ChainState::counting(&prepared.genesis, funds);
            return failed.map_or(Ok(Self { genesis: prepared.genesis, state, epoch: None }), Err);
        }
        let funds = prepared.first_outputs()?.collect::<Result<_, _>>()?;
        let genesis = Arc::new(Genesis { funds, ..Genesis::clone(&prepared.genesis) });
        let mut ledger = Self { state: ChainState::with_accounts(Some(&genesis)), genesis: prepared.genesis, epoch: None };
        let mut decoder = Decoder::new();
        for index in 0..first {
            let at = |source| chain.block_error(index, source);
            let block = decoder.decode(chain.bytes(index)).map_err(at)?;
            let step = ledger.state.step(&block).map_err(at)?;
            ledger.epoch = step.epoch.map(|epoch| epoch.number);
        }
        ledger.state.count_only();
        Ok(ledger)
    }

    /// Takes in the header of the next block. Gives too whether it is the first one of an epoch, with blocks of another epoch before it.
    fn tick(&mut self, block: &Block<'_, '_>) -> (Step, bool) {
        let step = self.state.step_header(&block.header, block.body_bytes());
        let epoch = step.epoch.as_ref().map(|epoch| epoch.number);
        let before = std::mem::replace(&mut self.epoch, epoch);
        let begins = before.is_some() && before != epoch;
        (step, begins)
    }

    /// Returns whether transactions can be checked against rules: the genesis has what those need.
    fn has_rules(&self) -> bool {
        self.genesis.ledger.is_some()
    }

    fn pots(&self) -> Option<record::Pots> {
        let accounts = self.state.stake()?.accounts()?;
        let pots = accounts.pots();
        Some(record::Pots {
            accounts: accounts.registered() as u64,
            rewards: accounts.all_rewards(),
            treasury: pots.treasury,
            reserves: pots.reserves,
            deposits: pots.deposits,
            fees: pots.fees,
            donations: pots.donations,
        })
    }
}

fn line(block: &Block<'_, '_>, (first_of_epoch, reward_pulse): (Option<u64>, Option<u64>), looked: Looked, laps: Laps) -> record::Block {
    record::Block {
        record: "block",
        slot: block.header.slot,
        block_no: block.header.block_no,
        hash: hex::encode(block.header.hash),
        era: block.header.era as u64,
        first_of_epoch,
        reward_pulse,
        block_bytes: block.bytes.len() as u64,
        transactions: block.transactions.len() as u64,
        inputs: block.inputs.len() as u64,
        outputs: block.outputs.len() as u64,
        script_memory: block.redeemers.iter().fold(0, |sum, redeemer| sum.saturating_add(redeemer.memory)),
        script_steps: block.redeemers.iter().fold(0, |sum, redeemer| sum.saturating_add(redeemer.steps)),
        missing: looked.missing,
        laps,
    }
}

/// JSON lines that go to a file.
struct Lines {
    path: PathBuf,
    file: BufWriter<File>,
    bytes: u64,
}

impl Lines {
    fn create(path: &Path) -> Result<Self, ReplayError> {
        let file = File::create(path).map_err(|source| ReplayError::Write { path: path.to_path_buf(), source })?;
        Ok(Self { path: path.to_path_buf(), file: BufWriter::with_capacity(1 << 16, file), bytes: 0 })
    }

    fn write(&mut self, line: &impl Serialize) -> Result<(), ReplayError> {
        let mut text = serde_json::to_vec(line).map_err(|error| self.failed(error.into()))?;
        text.push(b'\n');
        self.bytes += text.len() as u64;
        self.file.write_all(&text).map_err(|source| self.failed(source))
    }

    fn finish(mut self) -> Result<(), ReplayError> {
        self.file.flush().map_err(|source| self.failed(source))
    }

    fn failed(&self, source: std::io::Error) -> ReplayError {
        ReplayError::Write { path: self.path.clone(), source }
    }
}
