//! The state of a chain from block to block: its last header, counters, nonces, parameters and stake.

mod network;

use std::sync::{Arc, Mutex, PoisonError};

use slotmark_chain::block::{Block, DecodeError, Era, Header};
use slotmark_chain::hash::blake2b_224;
use slotmark_chain::{Hash32, Point, Tip};
use slotmark_ledger::{Environment, Resolved};
use slotmark_network::Parameters;

use self::network::Network;
use crate::accounts::Accounts;
use crate::certificate::{Counters, Sequence};
use crate::genesis::Genesis;
use crate::header::{Leader, Surroundings};
use crate::nonce::{Nonce, Nonces};
use crate::outputs::{Outputs, SettledTip};
use crate::rule::{Outcome, Rule};
use crate::stake::{Changes, Distribution, Stake};

/// An epoch's randomness and stake.
#[derive(Clone, Debug)]
pub struct Epoch {
    /// Counted from the network's beginning.
    pub number: u64,
    /// Its first slot.
    pub first_slot: u64,
    /// The nonce that its VRF proofs are for.
    pub nonce: Nonce,
    /// The stake that leads its slots; None where it isn't known.
    pub distribution: Option<Arc<Distribution>>,
}

/// One block against the blocks before it, and the state that its own proofs are to be checked against.
#[derive(Clone, Debug)]
pub struct Step {
    /// The rules that depend on the blocks before: link, limits, counters, inputs.
    pub outcome: Outcome,
    /// The epoch that it is in; None where that isn't known.
    pub epoch: Option<Arc<Epoch>>,
    /// The leader of its slot.
    pub leader: Leader,
    /// True where a part of the epoch's rewards was worked out before its transactions.
    pub pulses_rewards: bool,
    /// The outputs that each of its transactions refers to; empty without any, and in Byron.
    pub resolved: Vec<Resolved>,
    /// The protocol parameters that its transactions are under; None where they aren't known.
    pub parameters: Option<Arc<Parameters>>,
}

impl Step {
    /// Returns the state that the header is to be checked against.
    pub fn surroundings<'a>(&self, genesis: Option<&'a Genesis>) -> Surroundings<'a> {
        Surroundings {
            kes: genesis.map(Genesis::kes),
            active_slots: genesis.map(|genesis| &genesis.active_slots),
            epoch_nonce: self.epoch.as_ref().map(|epoch| epoch.nonce),
            leader: self.leader,
        }
    }

    /// Returns the state that the transactions of a block in this slot are to be checked against.
    pub fn environment(&self, genesis: Option<&Genesis>, slot: u64) -> Environment<'_> {
        let network = genesis.and_then(|genesis| Some(genesis.ledger.as_ref()?.network));
        Environment { slot, network, parameters: self.parameters.as_deref() }
    }
}

/// A chain's state before its next block.
pub struct ChainState {
    previous: Option<Previous>,
    /// True where the chain's very first block was seen: from then on nothing is missing.
    from_origin: bool,
    counters: Counters,
    network: Option<Network>,
    /// The state at the beginning of a later epoch without further blocks, which takes long to make, with that epoch's number.
    later: Mutex<Option<(u64, Arc<ChainState>)>>,
}

/// The changes of a block: enough to take it back.
pub struct Undo {
    before: ChainState,
    changes: Changes,
}

/// The conditions for making the next block.
#[derive(Clone)]
pub struct Outlook {
    /// The slot's epoch.
    pub epoch: Arc<Epoch>,
    /// Bytes that its body has at most.
    pub max_body_bytes: u64,
    /// Parameters for its transactions; None where they aren't known.
    pub parameters: Option<Arc<Parameters>>,
    /// Accounts before its transactions; None where they aren't followed.
    pub accounts: Option<Accounts>,
}

#[derive(Clone)]
struct Previous {
    number: u64,
    slot: u64,
    hash: Hash32,
    is_boundary: bool,
}

impl ChainState {
    /// The state before a chain's first block, with the content of its genesis.
    pub fn new(genesis: Option<&Arc<Genesis>>) -> Self {
        Self::before_all(genesis.map(Network::new))
    }

    fn before_all(network: Option<Network>) -> Self {
        Self { previous: None, from_origin: false, counters: Counters::default(), network, later: Mutex::default() }
    }

    /// As [`ChainState::new`], with accounts, pools and pots where the genesis has all that they depend on.
    pub fn with_accounts(genesis: Option<&Arc<Genesis>>) -> Self {
        let mut state = Self::new(genesis);
        if let (Some(stake), Some(genesis)) = (state.stake_mut(), genesis) {
            stake.follow_accounts(genesis, genesis.lovelace());
        }
        state
    }

    /// As [`ChainState::with_accounts`] where unspent outputs are kept elsewhere: `funds` are all addresses of the genesis that have one, each with its
    /// lovelace. Blocks go in by [`ChainState::step_header`], and then by [`ChainState::apply_resolved`].
    pub fn counting(genesis: &Arc<Genesis>, funds: impl Iterator<Item = (impl AsRef<[u8]>, u64)>) -> Self {
        Self::before_all(Some(Network::of_stake(genesis, Stake::counting(genesis, funds))))
    }

    /// Forgets unspent outputs, which are kept elsewhere from here on: the state is as one of [`ChainState::counting`].
    pub fn count_only(&mut self) {
        if let Some(stake) = self.stake_mut() {
            stake.count_only();
        }
    }

    /// Takes in the transactions of the block whose header came last. `resolved` is what each of them refers to, and learns what accounts
    /// and pools tell of it.
    ///
    /// # Errors
    /// A transaction can't be read.
    pub fn apply_resolved(&mut self, block: &Block<'_, '_>, resolved: &mut [Resolved]) -> Result<(), DecodeError> {
        self.later = Mutex::default();
        let from_origin = self.from_origin && block.header.issuer.is_some();
        let Some(network) = self.network.as_mut().filter(|_| from_origin) else { return Ok(()) };
        network.note_transactions(block)?;
        network.stake.as_mut().map_or(Ok(()), |stake| stake.apply_resolved(block, resolved))
    }

    /// Takes in the next block.
    ///
    /// # Errors
    /// A transaction can't be read.
    pub fn step(&mut self, block: &Block<'_, '_>) -> Result<Step, DecodeError> {
        let mut step = self.step_header(&block.header, block.body_bytes());
        if block.header.issuer.is_none() {
            return Ok(step);
        }
        let from_origin = self.from_origin;
        match self.network.as_mut().filter(|_| from_origin) {
            Some(network) => step.resolved = network.apply(block, &mut step.outcome)?,
            None => {
                step.outcome.note_unknown(Rule::InputsFound);
                step.resolved = unresolved(block)?;
            }
        }
        Ok(step)
    }

    /// Takes in the header of the next block, without its transactions. `body_bytes` is its body's length.
    pub fn step_header(&mut self, header: &Header<'_>, body_bytes: u64) -> Step {
        let mut outcome = Outcome::default();
        self.later = Mutex::default();
        self.check_link(header, &mut outcome);
        let mut step =
            Step { outcome, epoch: None, leader: Leader::Unknown, pulses_rewards: false, resolved: Vec::new(), parameters: None };
        let Some(issuer) = header.issuer else {
            // Byron's ledger isn't followed, and what comes out of it isn't known.
            if let Some(network) = &mut self.network {
                network.stake = None;
            }
            return step;
        };
        let issuer = blake2b_224(&[issuer]);
        self.check_counter(header, &issuer, &mut step.outcome);
        // Without the origin neither nonces nor stake are known.
        let from_origin = self.from_origin;
        let Some(network) = self.network.as_mut().filter(|_| from_origin) else {
            for rule in [Rule::HeaderLimit, Rule::BodyLimit] {
                step.outcome.note_unknown(rule);
            }
            return step;
        };
        let epoch = network.enter_epoch(header);
        network.check_limits(header, body_bytes, &mut step.outcome);
        step.leader = network.leader(header, &epoch, &issuer);
        step.pulses_rewards = network.note_block(header, &epoch, issuer, step.leader);
        network.evolve(header, &epoch);
        step.parameters = network.transactions().cloned();
        step.epoch = Some(epoch);
        step
    }

    /// The state without outputs and accounts, cheap to make: headers can be checked against it, for the epochs that its
    /// stake covers, which are the running one and the next.
    pub fn of_headers(&self) -> Self {
        self.outline(Stake::without_outputs)
    }

    /// As [`ChainState::of_headers`] for a header in a slot of an era that comes directly after this state: any number of epochs may lie
    /// between.
    pub fn of_next_header(&self, era: Era, slot: u64) -> Self {
        self.in_later_epoch(era, slot).map_or_else(|| self.of_headers(), |later| later.of_headers())
    }

    fn outline(&self, stake: impl Fn(&Stake) -> Stake) -> Self {
        let network = self.network.as_ref().map(|network| Network {
            genesis: network.genesis.clone(),
            nonces: network.nonces,
            updates: network.updates.clone(),
            stake: network.stake.as_ref().map(stake),
            epoch: network.epoch.clone(),
            ..*network
        });
        let (previous, counters) = (self.previous.clone(), self.counters.clone());
        Self { previous, from_origin: self.from_origin, counters, network, later: Mutex::default() }
    }

    /// The state without outputs at the beginning of a slot's epoch, where that is a later one than the running.
    fn in_later_epoch(&self, era: Era, slot: u64) -> Option<Arc<Self>> {
        let network = self.network.as_ref()?;
        let number = network.later_epoch(slot)?;
        let mut later = self.later.lock().unwrap_or_else(PoisonError::into_inner);
        match &*later {
            Some((known, state)) if *known == number => Some(state.clone()),
            _ => {
                let mut state = self.outline(Stake::counted);
                state.network.as_mut()?.enter_epoch_of(era, slot, self.previous.is_none());
                Some(later.insert((number, Arc::new(state))).1.clone())
            }
        }
    }

    /// As [`ChainState::step`], and what takes the block back. The state has changed even where there is an error.
    pub fn step_with_undo(&mut self, block: &Block<'_, '_>) -> (Result<Step, DecodeError>, Undo) {
        let before = self.of_headers();
        let begun = self.stake_mut().map(Stake::begin_changes).unwrap_or_default();
        let step = self.step(block);
        let changes = self.stake_mut().map(|stake| stake.end_changes(begun)).unwrap_or_default();
        (step, Undo { before, changes })
    }

    /// Takes back the last block that is still in it.
    pub fn undo(&mut self, undo: Undo) {
        let mut stake = self.network.as_mut().and_then(|network| network.stake.take());
        *self = undo.before;
        if let Some(network) = &mut self.network {
            let before = network.stake.take();
            if let (Some(stake), Some(before)) = (&mut stake, before) {
                stake.undo(before, undo.changes);
            }
            network.stake = stake;
        }
    }

    /// Has the unspent outputs as they are now kept in a set, which has exactly these.
    pub fn keep_outputs_in(&mut self, set: Arc<dyn Outputs>) {
        if let Some(stake) = self.stake_mut() {
            stake.keep_outputs_in(set);
        }
    }

    /// Settles a block, the first that isn't: it can't be taken back any more, and the set of outputs takes its changes in.
    pub fn settle(&mut self, tip: SettledTip, undo: Undo) {
        if let Some(stake) = self.stake_mut() {
            stake.settle(tip, undo.changes);
        }
    }

    /// The last block's point and number; None before the first one.
    pub fn tip(&self) -> Option<Tip> {
        self.previous.as_ref().map(|last| Tip { point: Point::Block { slot: last.slot, hash: last.hash }, block_no: last.number })
    }

    /// The nonces after the last block; None without a genesis.
    pub fn nonces(&self) -> Option<&Nonces> {
        self.network.as_ref().map(|network| &network.nonces)
    }

    /// The parameters that the next transactions of this epoch are under; None where they aren't known.
    pub fn parameters(&self) -> Option<&Parameters> {
        self.network.as_ref()?.transactions().map(Arc::as_ref)
    }

    /// Unspent outputs and stake; None where they can't be rebuilt.
    pub fn stake(&self) -> Option<&Stake> {
        self.network.as_ref()?.stake.as_ref()
    }

    fn stake_mut(&mut self) -> Option<&mut Stake> {
        self.network.as_mut()?.stake.as_mut()
    }

    /// Returns the conditions for a block of a later slot, in an era; None without a genesis.
    pub fn outlook(&self, era: Era, slot: u64) -> Option<Outlook> {
        let later = self.in_later_epoch(era, slot);
        let state = later.as_deref().unwrap_or(self);
        let mut network = state.of_headers().network?;
        let epoch = network.enter_epoch_of(era, slot, self.previous.is_none());
        Some(Outlook {
            epoch,
            max_body_bytes: network.updates.headers().max_body_bytes,
            parameters: network.transactions().cloned(),
            accounts: state.stake().and_then(Stake::accounts).cloned(),
        })
    }

    fn check_link(&mut self, header: &Header<'_>, outcome: &mut Outcome) {
        let is_boundary = header.era == Era::ByronBoundary;
        match &self.previous {
            Some(previous) => {
                outcome.note(Rule::PreviousHash, header.prev_hash == Some(previous.hash));
                // An epoch boundary block shares its number with the block before it, and its slot with the one after it.
                let number = if is_boundary { Some(previous.number) } else { previous.number.checked_add(1) };
                outcome.note(Rule::BlockNumber, number == Some(header.block_no));
                outcome.note(Rule::SlotOrder, header.slot > previous.slot || (previous.is_boundary && header.slot == previous.slot));
            }
            None => {
                self.from_origin = header.prev_hash.is_none() || (is_boundary && header.slot == 0);
                if self.from_origin {
                    outcome.note(Rule::PreviousHash, true);
                    outcome.note(Rule::BlockNumber, header.block_no == 0);
                    outcome.note(Rule::SlotOrder, true);
                } else {
                    [Rule::PreviousHash, Rule::BlockNumber, Rule::SlotOrder].into_iter().for_each(|rule| outcome.note_unknown(rule));
                }
            }
        }
        self.previous = Some(Previous { number: header.block_no, slot: header.slot, hash: header.hash, is_boundary });
    }

    fn check_counter(&mut self, header: &Header<'_>, issuer: &[u8; 28], outcome: &mut Outcome) {
        let Some(certificate) = &header.certificate else { return };
        // An issuer's first certificate counts from 0, where it is known to be the first.
        match self.counters.last(issuer).or(self.from_origin.then_some(0)) {
            Some(last) => note_counter(last, certificate.sequence, outcome),
            None => [Rule::CounterLowerBound, Rule::CounterUpperBound].into_iter().for_each(|rule| outcome.note_unknown(rule)),
        }
        self.counters.note(*issuer, certificate.sequence);
    }
}

/// Returns each transaction's references as unknown: there are no unspent outputs to look them up in.
fn unresolved(block: &Block<'_, '_>) -> Result<Vec<Resolved>, DecodeError> {
    block.transactions.iter().map(|transaction| Resolved::of(block, transaction, 0, |_, _| None)).collect()
}

/// Notes how a certificate's number compares with its issuer's last one.
pub fn note_counter(last: u64, sequence: u64, outcome: &mut Outcome) {
    let found = Sequence::after(last, sequence);
    outcome.note(Rule::CounterLowerBound, found != Sequence::TooSmall);
    outcome.note(Rule::CounterUpperBound, found != Sequence::TooFarAhead);
}
