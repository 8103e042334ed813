//! From a recipe to a chain folder.
//!
//! Transactions are planned one after the other, since each spends what earlier ones made. Their ids don't depend on
//! signatures, so bodies are signed on all cores while the next batch is planned; headers come last, in order.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use slotmark_chain::{ChainWriter, Point};

use crate::block::{Headers, PlannedBlock, SealedBlock, point};
use crate::error::SynthError;
use crate::keys::Keys;
use crate::leaders::Schedule;
use crate::random::Stream;
use crate::recipe::Recipe;
use crate::workload::{TransactionSource, source};

/// A batch ends at so many bytes or blocks: enough to keep all cores busy, and little memory.
const BATCH_BYTES: usize = 4 << 20;
const BATCH_BLOCKS: usize = 512;

/// How far the work has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Blocks written.
    pub blocks: u64,
    /// Blocks asked for.
    pub total: u64,
    /// Bytes written.
    pub bytes: u64,
}

/// What was forged.
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

/// Forges a chain into a new folder, which is there only when it is whole.
///
/// The same recipe gives the same bytes, whatever the number of threads. `progress` is called several times a second
/// and stops the work with `Break`; nothing is left behind then.
///
/// # Errors
/// The recipe can't be followed, the folder is there already or can't be written, or `progress` said `Break`
/// ([`SynthError::Interrupted`]).
pub fn forge(
    recipe: &Recipe,
    folder: impl AsRef<Path>,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Forged, SynthError> {
    recipe.check()?;
    let mut writer = ChainWriter::create(folder, recipe.chunk_slots)?;
    let keys = Arc::new(Keys::new(recipe.seed));
    let mut planner = Planner::new(recipe, &keys);
    let mut headers = Headers::new(recipe.seed);
    let mut forged = Forged { blocks: 0, bytes: 0, transactions: 0, tip: Point::Origin };
    let mut batch = planner.batch()?;
    while !batch.is_empty() {
        let (sealed, next) = rayon::join(|| seal(batch, &keys), || planner.batch());
        for body in &sealed {
            let block = headers.link(body);
            writer.append(&block)?;
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
    writer.finish()?;
    Ok(forged)
}

fn seal(batch: Vec<PlannedBlock>, keys: &Keys) -> Vec<SealedBlock> {
    batch.into_par_iter().map(|block| block.seal(keys)).collect()
}

/// Decides slots and transactions.
struct Planner {
    recipe: Recipe,
    schedule: Schedule,
    source: Box<dyn TransactionSource>,
    planned: u64,
}

impl Planner {
    fn new(recipe: &Recipe, keys: &Arc<Keys>) -> Self {
        Self { recipe: *recipe, schedule: Schedule::new(recipe.seed), source: source(recipe.workload, keys), planned: 0 }
    }

    /// The next blocks; none when the recipe is done.
    fn batch(&mut self) -> Result<Vec<PlannedBlock>, SynthError> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while self.planned < self.recipe.blocks && batch.len() < BATCH_BLOCKS && bytes < BATCH_BYTES {
            let leadership = self.schedule.next();
            let mut stream = Stream::new(self.recipe.seed, self.recipe.workload.name(), self.planned);
            let transactions = self.source.transactions(leadership.slot, &mut stream).ok_or(SynthError::Funds { block: self.planned })?;
            bytes += transactions.iter().map(|draft| draft.block_bytes()).sum::<usize>();
            batch.push(PlannedBlock { leadership, transactions });
            self.planned += 1;
        }
        Ok(batch)
    }
}
