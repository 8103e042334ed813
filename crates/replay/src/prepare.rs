//! What the headers and transactions of a chain are to be checked against, read off the chain before anything is timed.
//!
//! Nonces and stake follow from all blocks before, and rebuilding stake takes a set of unspent outputs of its own. That is done
//! here, once, and forgotten: only what each header needs is kept.

use std::collections::HashMap;
use std::sync::Arc;

use slotmark_chain::block::{Decoder, Header};
use slotmark_chain::{Chain, ChainError};
use slotmark_ledger::{Environment, Parameters};
use slotmark_praos::genesis::Genesis;
use slotmark_praos::header::{Leader, Surroundings, check_header};
use slotmark_praos::nonce::Nonce;
use slotmark_praos::rule::Outcome;
use slotmark_praos::state::ChainState;

/// What every header and transaction of a chain is to be checked against.
pub struct Expected {
    genesis: Arc<Genesis>,
    /// Nonces of the epochs that have a block; None for an epoch that isn't known.
    nonces: Vec<Option<Nonce>>,
    /// By block: the place of its epoch's nonce, and whose its slot is.
    blocks: Vec<(u32, Leader)>,
    /// Protocol parameters, each with the block from which on they are those of transactions; None where they aren't known.
    parameters: Vec<(usize, Option<Arc<Parameters>>)>,
    /// How many pools a transaction registers that weren't registered, by block and place; without those that register none.
    new_pools: HashMap<(usize, usize), u64>,
}

impl Expected {
    /// Reads a chain's first blocks, so many of them.
    ///
    /// # Errors
    /// The chain is damaged, or a block can't be decoded.
    pub fn of(chain: &Chain, genesis: &Arc<Genesis>, blocks: usize) -> Result<Self, ChainError> {
        let mut state = ChainState::new(Some(genesis));
        let mut decoder = Decoder::new();
        let mut expected = Self {
            genesis: genesis.clone(),
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
            if !block.transactions.is_empty() && expected.parameters.last().is_none_or(|(_, last)| *last != step.parameters) {
                expected.parameters.push((index, step.parameters));
            }
            expected.blocks.push(((expected.nonces.len() - 1) as u32, step.leader));
        }
        Ok(expected)
    }

    /// Checks the header of the block at an index by itself: certificate, KES signature, VRF proofs, leadership.
    pub fn check(&self, index: usize, header: &Header<'_>) -> Outcome {
        let (nonce, leader) = self.blocks[index];
        let surroundings = Surroundings {
            kes: Some(self.genesis.kes),
            active_slots: Some(&self.genesis.active_slots),
            epoch_nonce: self.nonces[nonce as usize],
            leader,
        };
        check_header(header, &surroundings)
    }

    /// Whether transactions can be held against rules: the genesis has what those need.
    pub fn has_rules(&self) -> bool {
        self.genesis.ledger.is_some()
    }

    /// What the transactions of the block at an index, in this slot, are to be checked against.
    pub fn environment(&self, index: usize, slot: u64) -> Environment<'_> {
        let after = self.parameters.partition_point(|(first, _)| *first <= index);
        let parameters = after.checked_sub(1).and_then(|place| self.parameters[place].1.as_deref());
        Environment { slot, network: self.genesis.ledger.as_ref().map(|ledger| ledger.network), parameters }
    }

    /// How many pools a transaction registers that weren't registered before.
    pub fn new_pools(&self, index: usize, place: usize) -> u64 {
        self.new_pools.get(&(index, place)).copied().unwrap_or(0)
    }
}
