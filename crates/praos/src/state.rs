//! The state of a chain from block to block: its last header, counters, nonces, parameters and stake.

use std::sync::Arc;

use slotmark_chain::block::{Block, Certificate, DecodeError, Era, GovernanceAction, Header};
use slotmark_chain::hash::blake2b_224;
use slotmark_chain::{Hash32, Point, Tip};
use slotmark_ledger::{Environment, Resolved};
use slotmark_network::Parameters;

use crate::certificate::{Counters, Sequence};
use crate::genesis::Genesis;
use crate::governance::Governance;
use crate::header::{Leader, Surroundings, contribution};
use crate::holdings::Journal;
use crate::nonce::{Nonce, Nonces, settling_slots};
use crate::outputs::{Outputs, SettledTip};
use crate::overlay::{SlotOwner, slot_owner};
use crate::rule::{Outcome, Rule};
use crate::stake::{Distribution, Stake};
use crate::updates::Updates;

/// Slots of a Byron epoch, as a multiple of k.
const BYRON_EPOCH: u64 = 10;

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
}

/// The changes of a block: enough to take it back.
pub struct Undo {
    before: ChainState,
    journal: Journal,
}

impl Undo {
    /// The state before the block, as far as headers go: see [`ChainState::of_headers`].
    pub fn before(&self) -> &ChainState {
        &self.before
    }
}

/// The conditions for making the next block.
#[derive(Clone, Debug)]
pub struct Outlook {
    /// The slot's epoch.
    pub epoch: Arc<Epoch>,
    /// Bytes that its body has at most.
    pub max_body_bytes: u64,
    /// Parameters for its transactions; None where they aren't known.
    pub parameters: Option<Arc<Parameters>>,
}

#[derive(Clone)]
struct Previous {
    number: u64,
    slot: u64,
    hash: Hash32,
    is_boundary: bool,
}

/// Facts of a network from its genesis.
struct Network {
    genesis: Arc<Genesis>,
    nonces: Nonces,
    updates: Updates,
    /// None where it can't be rebuilt.
    stake: Option<Stake>,
    epoch: Option<Arc<Epoch>>,
    /// First slot and epoch after Byron.
    after_byron: Option<(u64, u64)>,
    governance: Governance,
    /// True where the delegates are still those of the genesis.
    delegates_known: bool,
    /// True where pools may be rewarded: unless the genesis gives all to the treasury, and nothing was proposed that may change that.
    may_have_rewards: bool,
}

impl ChainState {
    /// The state before a chain's first block, with the content of its genesis.
    pub fn new(genesis: Option<&Arc<Genesis>>) -> Self {
        Self { previous: None, from_origin: false, counters: Counters::default(), network: genesis.map(Network::new) }
    }

    /// As [`ChainState::new`], with accounts, pools and pots where the genesis has all that they depend on. Blocks can't be taken back.
    pub fn with_accounts(genesis: Option<&Arc<Genesis>>) -> Self {
        let mut state = Self::new(genesis);
        if let (Some(stake), Some(genesis)) = (state.stake_mut(), genesis) {
            stake.follow_accounts(genesis, genesis.lovelace());
        }
        state
    }

    /// As [`ChainState::with_accounts`] where unspent outputs are kept elsewhere: `funds` are all addresses of the genesis that have one, each with its
    /// lovelace. Blocks go in by [`ChainState::step`] without transactions, and then by [`ChainState::apply_resolved`].
    pub fn counting(genesis: &Arc<Genesis>, funds: impl Iterator<Item = (impl AsRef<[u8]>, u64)>) -> Self {
        let network = Network::of_stake(genesis, Stake::counting(genesis, funds));
        Self { previous: None, from_origin: false, counters: Counters::default(), network: Some(network) }
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
        let from_origin = self.from_origin && block.header.issuer.is_some();
        let Some(network) = self.network.as_mut().filter(|_| from_origin) else { return Ok(()) };
        network.note_transactions(block)?;
        network.stake.as_mut().map_or(Ok(()), |stake| stake.apply_resolved(block, resolved))
    }

    /// Takes in the next block. `block` is its transactions; None where it has none. `body_bytes` is its body's length.
    ///
    /// # Errors
    /// A transaction can't be read.
    pub fn step(&mut self, header: &Header<'_>, body_bytes: u64, block: Option<&Block<'_, '_>>) -> Result<Step, DecodeError> {
        let mut outcome = Outcome::default();
        self.check_link(header, &mut outcome);
        let mut step = Step { outcome, epoch: None, leader: Leader::Unknown, resolved: Vec::new(), parameters: None };
        let Some(issuer) = header.issuer else {
            // Byron's ledger isn't followed, and what comes out of it isn't known.
            if let Some(network) = &mut self.network {
                network.stake = None;
            }
            return Ok(step);
        };
        let issuer = blake2b_224(&[issuer]);
        self.check_counter(header, &issuer, &mut step.outcome);
        // Without the origin neither nonces nor stake are known.
        let from_origin = self.from_origin;
        let Some(network) = self.network.as_mut().filter(|_| from_origin) else {
            for rule in [Rule::HeaderLimit, Rule::BodyLimit] {
                step.outcome.note_unknown(rule);
            }
            if let Some(block) = block {
                step.outcome.note_unknown(Rule::InputsFound);
                step.resolved = unresolved(block)?;
            }
            return Ok(step);
        };
        let epoch = network.enter_epoch(header);
        network.check_limits(header, body_bytes, &mut step.outcome);
        step.leader = network.leader(header, &epoch, &issuer);
        network.note_block(header, &epoch, issuer, step.leader);
        network.evolve(header, &epoch);
        step.parameters = network.transactions().cloned();
        if let Some(block) = block {
            step.resolved = network.apply(block, &mut step.outcome)?;
        }
        step.epoch = Some(epoch);
        Ok(step)
    }

    /// The state without outputs and accounts, cheap to make: headers can be checked against it, for the epochs that its
    /// stake covers, which are the running one and the next.
    pub fn of_headers(&self) -> Self {
        self.outline(None)
    }

    /// As [`ChainState::of_headers`] for a header in a slot that comes directly after this state: any number of epochs may lie
    /// between.
    pub fn of_next_header(&self, slot: u64) -> Self {
        let network = self.network.as_ref();
        let runs = network.and_then(|network| Some((network.epoch.as_ref()?, network.genesis.shelley.epoch_slots)));
        let is_later = runs.is_none_or(|(epoch, slots)| slot >= epoch.first_slot.saturating_add(slots));
        let stake = network.and_then(|network| network.stake.as_ref()).filter(|_| is_later);
        self.outline(stake.map(|stake| Arc::new(stake.distribution())))
    }

    fn outline(&self, next_mark: Option<Arc<Distribution>>) -> Self {
        let network = self.network.as_ref().map(|network| Network {
            genesis: network.genesis.clone(),
            nonces: network.nonces,
            updates: network.updates.clone(),
            stake: network.stake.as_ref().map(|stake| stake.without_outputs(next_mark)),
            epoch: network.epoch.clone(),
            ..*network
        });
        Self { previous: self.previous.clone(), from_origin: self.from_origin, counters: self.counters.clone(), network }
    }

    /// As [`ChainState::step`], and what takes the block back. The state has changed even where there is an error.
    pub fn step_with_undo(
        &mut self,
        header: &Header<'_>,
        body_bytes: u64,
        block: Option<&Block<'_, '_>>,
    ) -> (Result<Step, DecodeError>, Undo) {
        let before = self.of_headers();
        if let Some(stake) = self.stake_mut() {
            stake.begin_journal();
        }
        let step = self.step(header, body_bytes, block);
        let journal = self.stake_mut().map(Stake::take_journal).unwrap_or_default();
        (step, Undo { before, journal })
    }

    /// Takes back the last block that is still in it.
    pub fn undo(&mut self, undo: Undo) {
        let mut stake = self.network.as_mut().and_then(|network| network.stake.take());
        *self = undo.before;
        if let Some(network) = &mut self.network {
            let before = network.stake.take();
            if let (Some(stake), Some(before)) = (&mut stake, before) {
                stake.undo(before, undo.journal);
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
            stake.settle(tip, undo.journal);
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

    /// Returns the conditions for a block of a later slot, in the era of the last blocks; None without a genesis.
    pub fn outlook(&self, era: Era, slot: u64) -> Option<Outlook> {
        let mut network = self.of_next_header(slot).network?;
        let epoch = network.enter_epoch_of(era, slot, self.previous.is_none());
        let parameters = network.transactions().cloned();
        Some(Outlook { epoch, max_body_bytes: network.updates.headers().max_body_bytes, parameters })
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

impl Network {
    fn new(genesis: &Arc<Genesis>) -> Self {
        Self::of_stake(genesis, Stake::new(genesis))
    }

    fn of_stake(genesis: &Arc<Genesis>, stake: Stake) -> Self {
        Self {
            nonces: Nonces::initial(genesis.hash),
            updates: Updates::new(
                genesis.shelley.parameters,
                genesis.ledger.as_ref().map(|ledger| ledger.parameters.clone()),
                genesis.shelley.update_quorum,
            ),
            stake: Some(stake),
            epoch: None,
            after_byron: None,
            governance: Governance::default(),
            delegates_known: true,
            may_have_rewards: !genesis.shelley.parameters.tau.is_one(),
            genesis: genesis.clone(),
        }
    }

    /// The epoch of a header, with all that changes where it is a new one.
    fn enter_epoch(&mut self, header: &Header<'_>) -> Arc<Epoch> {
        self.enter_epoch_of(header.era, header.slot, header.prev_hash.is_none())
    }

    fn enter_epoch_of(&mut self, era: Era, slot: u64, is_first: bool) -> Arc<Epoch> {
        let (first_slot, first_epoch) = *self.after_byron.get_or_insert_with(|| {
            // A chain that begins after Byron has epoch 0 from slot 0 on, as if Byron had none.
            if is_first {
                return (0, 0);
            }
            let epoch = slot / self.genesis.shelley.security_parameter.saturating_mul(BYRON_EPOCH);
            (epoch * self.genesis.shelley.security_parameter * BYRON_EPOCH, epoch)
        });
        let slots = self.genesis.shelley.epoch_slots;
        let passed = slot.saturating_sub(first_slot) / slots;
        let number = first_epoch + passed;
        let running = self.epoch.as_ref().map_or(first_epoch, |epoch| epoch.number);
        if number > running {
            // Of many epochs without blocks only the first and last ones change anything.
            let (first, last) = (running + 1..=number.min(running + 2), (running + 3).max(number.saturating_sub(2))..=number);
            if !last.is_empty()
                && *last.start() > first.end() + 1
                && let Some(stake) = &mut self.stake
            {
                stake.leave_accounts(); // for which every epoch counts
            }
            for epoch in first.chain(last) {
                self.updates.begin_epoch(epoch);
                let is_known =
                    self.governance.leaves_parameters(epoch) && self.governance.lovelace_moves().is_none_or(|moves| epoch < moves);
                let parameters = self.updates.rewards().filter(|_| is_known);
                if let Some(stake) = &mut self.stake {
                    stake.begin_epoch(epoch, parameters.as_ref());
                }
            }
            let entropy = if era < Era::Babbage { self.updates.headers().extra_entropy } else { None };
            self.nonces.begin_epoch(entropy);
        }
        match &self.epoch {
            Some(epoch) if number <= running => epoch.clone(),
            _ => {
                let distribution = self.stake.as_ref().map(|stake| stake.current().clone());
                let epoch = Epoch { number, first_slot: first_slot + passed * slots, nonce: self.nonces.epoch, distribution };
                self.epoch.insert(Arc::new(epoch)).clone()
            }
        }
    }

    /// Returns whether the running epoch's parameters are known.
    fn parameters_are_known(&self) -> bool {
        self.epoch.as_ref().is_none_or(|epoch| self.governance.leaves_parameters(epoch.number))
    }

    /// The parameters of transactions in the running epoch; None where they aren't known.
    fn transactions(&self) -> Option<&Arc<Parameters>> {
        self.updates.transactions().filter(|_| self.parameters_are_known())
    }

    fn check_limits(&self, header: &Header<'_>, body_bytes: u64, outcome: &mut Outcome) {
        if !self.parameters_are_known() {
            return [Rule::HeaderLimit, Rule::BodyLimit].into_iter().for_each(|rule| outcome.note_unknown(rule));
        }
        let parameters = self.updates.headers();
        outcome.note(Rule::HeaderLimit, u64::from(header.span.end - header.span.start) <= parameters.max_header_bytes);
        outcome.note(Rule::BodyLimit, body_bytes <= parameters.max_body_bytes);
    }

    fn leader(&self, header: &Header<'_>, epoch: &Epoch, issuer: &[u8; 28]) -> Leader {
        let parameters = self.updates.headers();
        if header.era < Era::Babbage && !parameters.decentralisation.is_zero() {
            if !self.delegates_known {
                return Leader::Unknown;
            }
            let slot = header.slot.saturating_sub(epoch.first_slot);
            match slot_owner(slot, parameters.decentralisation, self.genesis.active_slots.share(), &self.genesis.delegations) {
                SlotOwner::Delegate(delegation) => return Leader::Delegate(delegation),
                SlotOwner::Nobody => return Leader::Nobody,
                SlotOwner::Pools => {}
            }
        }
        epoch.distribution.as_ref().map_or(Leader::Unknown, |distribution| distribution.leader(issuer))
    }

    /// Takes in what a header changes of stake.
    fn note_block(&mut self, header: &Header<'_>, epoch: &Epoch, issuer: [u8; 28], leader: Leader) {
        let Some(stake) = &mut self.stake else { return };
        // Rewards are worked out from here on, in every era (`randomnessStabilisationWindow`, 4k/f).
        let settling = settling_slots(Era::Conway, self.genesis.shelley.security_parameter, self.genesis.active_slots.share());
        if header.slot > epoch.first_slot.saturating_add(settling) {
            stake.begin_rewards();
        }
        match leader {
            Leader::Pool(_) | Leader::NotRegistered => stake.note_pool_block(issuer, epoch.number, self.may_have_rewards),
            Leader::Unknown => stake.leave_accounts(),
            Leader::Nobody | Leader::Delegate(_) => {}
        }
    }

    fn evolve(&mut self, header: &Header<'_>, epoch: &Epoch) {
        let Some(contribution) = contribution(header) else { return };
        let settling = settling_slots(header.era, self.genesis.shelley.security_parameter, self.genesis.active_slots.share());
        let next_epoch = epoch.first_slot.saturating_add(self.genesis.shelley.epoch_slots);
        self.nonces.apply(contribution, header.prev_hash, header.slot.saturating_add(settling) < next_epoch);
    }

    fn propose(&mut self, action: GovernanceAction) {
        let running = self.epoch.as_ref().map_or(0, |epoch| epoch.number);
        let conway = self.updates.transactions().and_then(|parameters| parameters.conway.as_ref());
        self.governance.propose(action, running, conway.map_or(0, |parameters| parameters.gov_action_lifetime));
        self.may_have_rewards |= action == GovernanceAction::Parameters; // of which one says what the treasury gets
        if let (Some(stake), Some(moves)) = (&mut self.stake, self.governance.lovelace_moves()) {
            stake.lack_from(moves);
        }
    }

    /// Takes in what a block's transactions change beside stake: proposals, and delegates of genesis keys.
    fn note_transactions(&mut self, block: &Block<'_, '_>) -> Result<(), DecodeError> {
        for (place, transaction) in (0u32..).zip(block.transactions) {
            if block.invalid.contains(&place) {
                continue;
            }
            self.updates.apply(block, transaction)?;
            self.may_have_rewards |= block.update(transaction)?.is_some();
            for proposal in block.proposals(transaction)? {
                self.propose(proposal.action);
            }
            if block.header.era < Era::Babbage && transaction.certificates.count > 0 {
                let changes = |certificate: &Certificate| matches!(certificate, Certificate::GenesisDelegation { .. });
                self.delegates_known &= !block.certificates(transaction)?.iter().any(changes);
            }
        }
        Ok(())
    }

    fn apply(&mut self, block: &Block<'_, '_>, outcome: &mut Outcome) -> Result<Vec<Resolved>, DecodeError> {
        self.note_transactions(block)?;
        let Some(stake) = &mut self.stake else {
            outcome.note_unknown(Rule::InputsFound);
            return unresolved(block);
        };
        let resolved = stake.apply(block)?;
        let all_found = resolved.iter().flat_map(Resolved::all).all(|output| output.is_some());
        if !all_found && !self.genesis.has_all_funds {
            outcome.note_unknown(Rule::InputsFound);
        } else {
            outcome.note(Rule::InputsFound, all_found);
        }
        Ok(resolved)
    }
}
