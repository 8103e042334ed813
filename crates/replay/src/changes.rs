//! The unspent outputs that a block refers to, and its changes of them.

use std::sync::Arc;

use hashbrown::HashSet;
use slotmark_chain::block::{Block, Input, Output};
use slotmark_chain::hash::blake2b_256;
use slotmark_chain::{DecodeError, Hash32};
use slotmark_ledger::Resolved;

use crate::place::Place;
use crate::store::{Entry, Store, StoreError};

/// A block's changes of the unspent outputs. Outputs that it makes and spends itself are in neither list.
#[derive(Debug, Default)]
pub struct Changes {
    /// Unspent before, and spent by it.
    pub spent: HashSet<Place>,
    /// Made by it, and unspent after it.
    pub made: Vec<(Place, Entry)>,
}

/// Number of outputs that a block's transactions refer to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// Inputs, collateral and reference inputs that were looked up.
    pub up: u64,
    /// Number of them that weren't there.
    pub missing: u64,
}

/// A transaction with more outputs than the ledger can count.
#[derive(Debug)]
pub struct TooManyOutputs;

/// The ids of a block's transactions, into a buffer that is reused.
pub fn ids(block: &Block<'_, '_>, into: &mut Vec<Hash32>) {
    into.clear();
    into.extend(block.transactions.iter().map(|transaction| blake2b_256(&[transaction.body.of(block.bytes)])));
}

/// A failure of looking up: the store's, or the block's.
#[derive(Debug)]
pub enum ResolveError {
    /// The store can't be read.
    Store(StoreError),
    /// A set of inputs can't be read.
    Block(DecodeError),
    /// More outputs than there can be.
    Outputs(TooManyOutputs),
}

impl From<StoreError> for ResolveError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<DecodeError> for ResolveError {
    fn from(error: DecodeError) -> Self {
        Self::Block(error)
    }
}

/// The outputs that a block's transactions refer to, and the block's changes of the unspent outputs.
#[derive(Debug, Default)]
pub struct Work {
    /// Its changes.
    pub changes: Changes,
    /// Number of outputs that were looked up.
    pub looked: Looked,
    /// The outputs that each of its transactions refers to, in order. Pools that they register aren't in it.
    pub resolved: Vec<Resolved>,
}

/// Looks up all that a block's transactions refer to, in their order, and gives what it changes.
///
/// A transaction that failed phase 2 spends its collateral and makes its collateral return, behind the places of its outputs.
///
/// # Errors
/// The store can't be read, or the block has something that no ledger takes.
pub fn resolve(block: &Block<'_, '_>, ids: &[Hash32], store: &mut dyn Store) -> Result<Work, ResolveError> {
    let mut work = Resolving { store, bytes: block.bytes, work: Work::default() };
    for ((place, transaction), id) in (0u32..).zip(block.transactions).zip(ids) {
        let inputs = &block.inputs[transaction.inputs.start as usize..transaction.inputs.end as usize];
        let outputs = &block.outputs[transaction.outputs.start as usize..transaction.outputs.end as usize];
        let collateral = if transaction.collateral.count > 0 { block.inputs_in(&transaction.collateral)? } else { Vec::new() };
        let references = if transaction.reference_inputs.count > 0 { block.inputs_in(&transaction.reference_inputs)? } else { Vec::new() };
        let valid = !block.invalid.contains(&place);
        // Spent outputs are looked up last, so that the rest is as it was before.
        let references = work.look_up_all(&references)?;
        let (inputs, collateral) = if valid {
            let collateral = work.look_up_all(&collateral)?;
            (work.spend_all(inputs)?, collateral)
        } else {
            (work.look_up_all(inputs)?, work.spend_all(&collateral)?)
        };
        work.work.resolved.push(Resolved { inputs, collateral, references, new_pools: 0, older_deposits: 0, fits_accounts: None });
        if valid {
            for (index, output) in (0..).zip(outputs) {
                work.make(id, index, output)?;
            }
        } else if let Some(output) = &transaction.collateral_return {
            work.make(id, outputs.len() as u64, output)?;
        }
    }
    Ok(work.work)
}

struct Resolving<'w> {
    store: &'w mut dyn Store,
    bytes: &'w [u8],
    work: Work,
}

impl Resolving<'_> {
    fn place(&self, input: &Input) -> Option<Place> {
        let id = self.bytes[input.transaction as usize..].first_chunk::<32>()?;
        Place::new(id, input.index)
    }

    /// Returns the index of an output among those that this block made; few of those are looked up.
    fn made_here(&self, place: &Place) -> Option<usize> {
        self.work.changes.made.iter().rposition(|(made, _)| made == place)
    }

    /// An output that isn't spent yet, and where it is; None where there is none.
    fn look_up(&mut self, input: &Input) -> Result<Option<(Entry, Found)>, StoreError> {
        self.work.looked.up += 1;
        if let Some(place) = self.place(input) {
            if let Some(entry) = self.store.get(&place)?
                && !self.work.changes.spent.contains(&place)
            {
                return Ok(Some((entry, Found::Before(place))));
            }
            if let Some(index) = self.made_here(&place) {
                return Ok(Some((self.work.changes.made[index].1.clone(), Found::Here(index))));
            }
        }
        self.work.looked.missing += 1;
        Ok(None)
    }

    fn look_up_all(&mut self, inputs: &[Input]) -> Result<Vec<Option<Entry>>, StoreError> {
        inputs.iter().map(|input| Ok(self.look_up(input)?.map(|(entry, _)| entry))).collect()
    }

    fn spend_all(&mut self, inputs: &[Input]) -> Result<Vec<Option<Entry>>, StoreError> {
        let spend = |input: &Input| {
            let Some((entry, found)) = self.look_up(input)? else { return Ok(None) };
            match found {
                Found::Before(place) => drop(self.work.changes.spent.insert(place)),
                Found::Here(index) => drop(self.work.changes.made.swap_remove(index)),
            }
            Ok(Some(entry))
        };
        inputs.iter().map(spend).collect()
    }

    fn make(&mut self, id: &Hash32, index: u64, output: &Output) -> Result<(), ResolveError> {
        let place = Place::new(id, index).ok_or(ResolveError::Outputs(TooManyOutputs))?;
        self.work.changes.made.push((place, Arc::from(output.encoded.of(self.bytes))));
        Ok(())
    }
}

/// The place where an output was found.
enum Found {
    /// In the set, as it was before the block.
    Before(Place),
    /// Among what the block made, at this index.
    Here(usize),
}
