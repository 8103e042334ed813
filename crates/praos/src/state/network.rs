//! The facts of a network that headers and transactions are held against: nonces, parameters, stake and epochs, block by block.

use std::sync::Arc;

use slotmark_chain::block::{Block, Certificate, DecodeError, Era, GovernanceAction, Header};
use slotmark_ledger::Resolved;
use slotmark_network::Parameters;

use super::{Epoch, unresolved};
use crate::genesis::Genesis;
use crate::governance::{Governance, Ratified};
use crate::header::{Leader, contribution};
use crate::nonce::{Nonces, settling_slots};
use crate::overlay::{SlotOwner, slot_owner};
use crate::rule::{Outcome, Rule};
use crate::stake::Stake;
use crate::updates::Updates;

/// Slots of a Byron epoch, as a multiple of k.
const BYRON_EPOCH: u64 = 10;

/// Facts of a network from its genesis.
pub(super) struct Network {
    pub(super) genesis: Arc<Genesis>,
    pub(super) nonces: Nonces,
    pub(super) updates: Updates,
    /// None where it can't be rebuilt.
    pub(super) stake: Option<Stake>,
    pub(super) epoch: Option<Arc<Epoch>>,
    /// First slot and epoch after Byron.
    pub(super) after_byron: Option<(u64, u64)>,
    pub(super) governance: Governance,
    /// True where the delegates are still those of the genesis.
    pub(super) delegates_known: bool,
    /// True where pools may be rewarded: unless the genesis gives all to the treasury, and nothing was proposed that may change that.
    pub(super) may_have_rewards: bool,
}

impl Network {
    pub(super) fn new(genesis: &Arc<Genesis>) -> Self {
        Self::of_stake(genesis, Stake::new(genesis))
    }

    pub(super) fn of_stake(genesis: &Arc<Genesis>, stake: Stake) -> Self {
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
    pub(super) fn enter_epoch(&mut self, header: &Header<'_>) -> Arc<Epoch> {
        self.enter_epoch_of(header.era, header.slot, header.prev_hash.is_none())
    }

    /// Returns a number for the epoch of a slot, where that is a later one than the running, or than the first where none runs yet.
    pub(super) fn later_epoch(&self, slot: u64) -> Option<u64> {
        let (number, first_slot) = self.epoch.as_ref().map_or((0, 0), |running| (running.number, running.first_slot));
        let passed = slot.saturating_sub(first_slot) / self.genesis.shelley.epoch_slots;
        (passed > 0).then_some(number + passed)
    }

    pub(super) fn enter_epoch_of(&mut self, era: Era, slot: u64, is_first: bool) -> Arc<Epoch> {
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
                self.begin_epoch(epoch);
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

    /// Goes into the next epoch, of this number.
    fn begin_epoch(&mut self, epoch: u64) {
        self.updates.begin_epoch(epoch);
        let is_known = self.governance.leaves_parameters(epoch) && self.governance.lovelace_moves().is_none_or(|moves| epoch < moves);
        let parameters = self.updates.rewards().filter(|_| is_known);
        let Some(stake) = &mut self.stake else { return };
        stake.begin_epoch(epoch, parameters.as_ref());
        if let Some(parameters) = self.updates.transactions().filter(|_| is_known)
            && let Some(Ratified { parameters, waiting }) = stake.ratify(parameters)
        {
            self.governance = waiting;
            self.updates.decide(parameters);
        }
    }

    /// Returns whether the running epoch's parameters are known.
    fn parameters_are_known(&self) -> bool {
        self.epoch.as_ref().is_none_or(|epoch| self.governance.leaves_parameters(epoch.number))
    }

    /// The parameters of transactions in the running epoch; None where they aren't known.
    pub(super) fn transactions(&self) -> Option<&Arc<Parameters>> {
        self.updates.transactions().filter(|_| self.parameters_are_known())
    }

    pub(super) fn check_limits(&self, header: &Header<'_>, body_bytes: u64, outcome: &mut Outcome) {
        if !self.parameters_are_known() {
            return [Rule::HeaderLimit, Rule::BodyLimit].into_iter().for_each(|rule| outcome.note_unknown(rule));
        }
        let parameters = self.updates.headers();
        outcome.note(Rule::HeaderLimit, u64::from(header.span.end - header.span.start) <= parameters.max_header_bytes);
        outcome.note(Rule::BodyLimit, body_bytes <= parameters.max_body_bytes);
    }

    pub(super) fn leader(&self, header: &Header<'_>, epoch: &Epoch, issuer: &[u8; 28]) -> Leader {
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

    /// Takes in what a header changes of stake. Returns whether rewards were worked out.
    pub(super) fn note_block(&mut self, header: &Header<'_>, epoch: &Epoch, issuer: [u8; 28], leader: Leader) -> bool {
        let Some(stake) = &mut self.stake else { return false };
        // Rewards are worked out from here on, in every era (`randomnessStabilisationWindow`, 4k/f), and are to be there as many slots later.
        let settling = settling_slots(Era::Conway, self.genesis.shelley.security_parameter, self.genesis.active_slots.share());
        let begin = epoch.first_slot.saturating_add(settling);
        let pulses = header.slot > begin && stake.pulse_rewards(header.slot > begin.saturating_add(settling));
        match leader {
            Leader::Pool(_) | Leader::NotRegistered => stake.note_pool_block(issuer, epoch.number, self.may_have_rewards),
            Leader::Unknown => stake.leave_accounts(),
            Leader::Nobody | Leader::Delegate(_) => {}
        }
        pulses
    }

    pub(super) fn evolve(&mut self, header: &Header<'_>, epoch: &Epoch) {
        let Some(contribution) = contribution(header) else { return };
        let settling = settling_slots(header.era, self.genesis.shelley.security_parameter, self.genesis.active_slots.share());
        let next_epoch = epoch.first_slot.saturating_add(self.genesis.shelley.epoch_slots);
        self.nonces.apply(contribution, header.prev_hash, header.slot.saturating_add(settling) < next_epoch);
    }

    fn propose(&mut self, action: &GovernanceAction) {
        let running = self.epoch.as_ref().map_or(0, |epoch| epoch.number);
        let conway = self.updates.transactions().and_then(|parameters| parameters.conway.as_ref());
        self.governance.propose(action, running, conway.map_or(0, |parameters| parameters.gov_action_lifetime));
        self.may_have_rewards |= matches!(action, GovernanceAction::Parameters { .. }); // of which one says what the treasury gets
        if let (Some(stake), Some(moves)) = (&mut self.stake, self.governance.lovelace_moves()) {
            stake.lack_from(moves);
        }
    }

    /// Takes in what a block's transactions change beside stake: proposals, and delegates of genesis keys.
    pub(super) fn note_transactions(&mut self, block: &Block<'_, '_>) -> Result<(), DecodeError> {
        for (place, transaction) in (0u32..).zip(block.transactions) {
            if block.invalid.contains(&place) {
                continue;
            }
            self.updates.apply(block, transaction)?;
            self.may_have_rewards |= block.update(transaction)?.is_some();
            for proposal in block.proposals(transaction)? {
                self.propose(&proposal.action);
            }
            if block.header.era < Era::Babbage && transaction.certificates.count > 0 {
                let changes = |certificate: &Certificate| matches!(certificate, Certificate::GenesisDelegation { .. });
                self.delegates_known &= !block.certificates(transaction)?.iter().any(changes);
            }
        }
        Ok(())
    }

    pub(super) fn apply(&mut self, block: &Block<'_, '_>, outcome: &mut Outcome) -> Result<Vec<Resolved>, DecodeError> {
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
