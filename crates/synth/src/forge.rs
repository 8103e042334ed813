//! From a recipe to a chain folder.
//!
//! Transactions are composed one after the other, since each spends what earlier ones made. Their ids don't depend on
//! signatures, so bodies are signed and VRF proofs made on all cores while the next batch is composed; headers come last, in
//! order. An epoch's nonce and stake need all that came before it, so batches end with their epoch.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use slotmark_chain::block::{Decoder, Era};
use slotmark_chain::{ChainWriter, Point};
use slotmark_network::Ratio;
use slotmark_network::shelley::{self, ProtocolVersion};
use slotmark_praos::genesis::Genesis;
use slotmark_praos::lottery::ActiveSlots;
use slotmark_praos::nonce::settling_slots;
use slotmark_praos::stake::Distribution;
use slotmark_praos::state::ChainState;

use crate::block::{Headers, SealedBlock, UnsealedBlock, point};
use crate::error::SynthError;
use crate::files;
use crate::keys::Keys;
use crate::lottery::Lottery;
use crate::plutus::Script;
use crate::pools::{DELEGATORS, HotKeys, Pool, pools};
use crate::random::Stream;
use crate::recipe::{Recipe, Workload};
use crate::wallet::Wallet;
use crate::workload::Sources;

/// A batch ends at this many bytes or blocks: enough to keep all cores busy, and little memory.
const BATCH_BYTES: usize = 4 << 20;
const BATCH_BLOCKS: usize = 512;

/// Progress of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Blocks written.
    pub blocks: u64,
    /// Blocks asked for.
    pub total: u64,
    /// Bytes written.
    pub bytes: u64,
}

/// The forged chain's facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forged {
    /// Blocks.
    pub blocks: u64,
    /// Bytes of the blocks.
    pub bytes: u64,
    /// Transactions.
    pub transactions: u64,
    /// The last block.
    pub tip: Point,
}

/// Forges a chain into a new folder, which is there only when it is whole. Its network is in [`GENESIS_FOLDER`](crate::GENESIS_FOLDER).
///
/// The same recipe gives the same bytes, whatever the number of threads. `progress` is called several times a second
/// and stops the work with `Break`; nothing is left behind then.
///
/// # Errors
/// The recipe can't be followed, the folder is there already or can't be written, or `progress` gave `Break`
/// ([`SynthError::Interrupted`]).
pub fn forge(
    recipe: &Recipe,
    folder: impl AsRef<Path>,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Forged, SynthError> {
    forge_with(recipe, None, folder, progress)
}

/// As [`forge`]; `script` is what [`Workload::Script`] runs.
///
/// # Errors
/// As [`forge`]'s; a script is missing, or there without being asked for, or doesn't succeed.
pub fn forge_with(
    recipe: &Recipe,
    script: Option<&Script>,
    folder: impl AsRef<Path>,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Forged, SynthError> {
    recipe.check()?;
    if (recipe.workload == Workload::Script) != script.is_some() {
        return Err(SynthError::NoScript);
    }
    let sources = Sources::new(recipe, script)?;
    let mut writer = ChainWriter::create(folder, recipe.chunk_slots())?;
    let keys = Arc::new(Keys::new(recipe.seed));
    let pools = Arc::new(pools(recipe.seed, DELEGATORS));
    let genesis_hash = files::write_genesis(writer.folder(), recipe, script, &keys, &pools)?;
    let active_slots = ActiveSlots::new(Ratio::new(1, shelley::SLOTS_PER_BLOCK).expect("a share"));
    let hot_keys = HotKeys::new(recipe.seed, recipe.kes_periods(), &pools);
    let settling_slots = settling_slots(Era::Conway, recipe.security_parameter, active_slots.share());
    let mut headers =
        Headers::new(hot_keys, genesis_hash, &pools, recipe.epoch_slots(), settling_slots, ProtocolVersion::of(recipe.protocol_version));
    let mut composer = Composer::new(recipe, sources, &keys, &pools);
    let mut rewarded = match recipe.delegators {
        0 => None,
        _ => Some(Rewarded::of(&writer.folder().join(files::GENESIS_FOLDER).join("shelley-genesis.json"))?),
    };
    let mut forged = Forged { blocks: 0, bytes: 0, transactions: 0, tip: Point::Origin };
    for epoch in 0.. {
        composer.begin_epoch(epoch);
        if let Some(rewarded) = &rewarded {
            composer.stake = rewarded.stake(epoch * recipe.epoch_slots());
        }
        let nonce = headers.begin_epoch(epoch);
        let slots = epoch * recipe.epoch_slots()..(epoch + 1) * recipe.epoch_slots();
        let mut lottery = Lottery::new(&pools, &composer.stake, &active_slots, nonce, slots);
        let mut batch = composer.batch(&mut lottery)?;
        while !batch.is_empty() {
            let (sealed, next) = rayon::join(|| seal(batch, &keys, &pools), || composer.batch(&mut lottery));
            for body in &sealed {
                let block = headers.link(body);
                writer.append(&block)?;
                if let Some(rewarded) = &mut rewarded {
                    rewarded.take_in(block.bytes);
                }
                forged.blocks += 1;
                forged.bytes += block.bytes.len() as u64;
                forged.transactions += body.transactions as u64;
                forged.tip = point(&block);
            }
            if progress(Progress { blocks: forged.blocks, total: recipe.blocks, bytes: forged.bytes }).is_break() {
                return Err(SynthError::Interrupted);
            }
            batch = next?;
        }
        if forged.blocks == recipe.blocks {
            break;
        }
    }
    files::write_keys(writer.folder(), recipe, &pools, headers.hot_keys())?;
    writer.finish()?;
    Ok(forged)
}

fn seal(batch: Vec<UnsealedBlock>, keys: &Keys, pools: &[Pool]) -> Vec<SealedBlock> {
    batch.into_par_iter().map(|block| block.seal(keys, pools)).collect()
}

/// The ledger of a chain with rewards, which stake depends on.
struct Rewarded {
    state: ChainState,
    decoder: Decoder,
}

impl Rewarded {
    /// The ledger before the first block, from the genesis that was written.
    fn of(genesis: &Path) -> Result<Self, SynthError> {
        let genesis = Genesis::read(genesis).map_err(|error| SynthError::Refused(error.to_string()))?;
        Ok(Self { state: ChainState::with_accounts(Some(&Arc::new(genesis))), decoder: Decoder::new() })
    }

    fn take_in(&mut self, block: &[u8]) {
        let block = self.decoder.decode(block).expect("a block that was just made");
        self.state.step(&block).expect("transactions that were just made");
    }

    /// The stake that the epoch of a slot uses.
    fn stake(&self, slot: u64) -> Arc<Distribution> {
        let outlook = self.state.outlook(Era::Conway, slot).expect("a state with a genesis");
        outlook.epoch.distribution.clone().expect("stake that is followed from the genesis on")
    }
}

/// Decides slots and transactions.
struct Composer {
    recipe: Recipe,
    pools: Arc<Vec<Pool>>,
    wallet: Wallet,
    sources: Sources,
    composed: u64,
    /// Stake at the beginning of the running epoch, which the next one uses.
    mark: Arc<Distribution>,
    /// Stake that the running epoch uses.
    stake: Arc<Distribution>,
}

impl Composer {
    fn new(recipe: &Recipe, sources: Sources, keys: &Arc<Keys>, pools: &Arc<Vec<Pool>>) -> Self {
        let wallet = Wallet::new(Arc::clone(keys), recipe.utxo);
        let mark = Arc::new(distribution(pools, &wallet));
        Self { recipe: *recipe, pools: Arc::clone(pools), wallet, sources, composed: 0, stake: Arc::clone(&mark), mark }
    }

    /// Epoch 0 and 1 use the genesis's stake, each later one what stood at the end of the last but one before it.
    fn begin_epoch(&mut self, epoch: u64) {
        if epoch > 0 {
            let mark = Arc::new(distribution(&self.pools, &self.wallet));
            self.stake = std::mem::replace(&mut self.mark, mark);
        }
    }

    /// The next blocks of the epoch; none when the epoch or the recipe is done.
    fn batch(&mut self, lottery: &mut Lottery) -> Result<Vec<UnsealedBlock>, SynthError> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while self.composed < self.recipe.blocks && batch.len() < BATCH_BLOCKS && bytes < BATCH_BYTES {
            let Some(leadership) = lottery.next(self.recipe.blocks - self.composed) else { break };
            let kind = self.recipe.workload.pick(&mut Stream::new(self.recipe.seed, "mix", self.composed));
            let mut stream = Stream::new(self.recipe.seed, &kind.to_string(), self.composed);
            let transactions = self.sources.transactions(kind, &mut self.wallet, leadership.slot, &mut stream)?;
            let transactions = transactions.ok_or(SynthError::Funds { block: self.composed })?;
            bytes += transactions.iter().map(|draft| draft.block_bytes()).sum::<usize>();
            batch.push(UnsealedBlock { leadership, transactions });
            self.composed += 1;
        }
        Ok(batch)
    }
}

fn distribution(pools: &[Pool], wallet: &Wallet) -> Distribution {
    let stake = |pool: &Pool| pool.delegators.clone().map(|key| wallet.stake()[key as usize]).sum();
    Distribution::of_pools(pools.iter().map(|pool| (pool.id, (stake(pool), pool.vrf_key_hash()))))
}
