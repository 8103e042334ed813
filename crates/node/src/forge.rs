//! Making blocks: the leadership check, and the block itself.

use slotmark_chain::Hash32;
use slotmark_praos::genesis::Genesis;
use slotmark_praos::header::Leader;
use slotmark_praos::lottery::{Draw, praos_input};
use slotmark_praos::state::Outlook;
use slotmark_praos::vrf;
use slotmark_synth::assembly::{Body, NewHeader, assemble};

use crate::config::Credentials;

/// A slot that is led.
pub struct Leadership {
    slot: u64,
    input: Hash32,
    output: vrf::Output,
}

impl Credentials {
    /// Returns the proof that the pool leads a slot, under the conditions for its block; None where it doesn't.
    pub fn leads(&self, slot: u64, outlook: &Outlook, genesis: &Genesis) -> Option<Leadership> {
        let Leader::Pool(pool) = outlook.epoch.distribution.as_ref()?.leader(&self.pool) else { return None };
        let input = praos_input(slot, outlook.epoch.nonce);
        let output = self.vrf.evaluate(&input);
        genesis.active_slots.is_leader(&Draw::praos(&output), pool.share).then_some(Leadership { slot, input, output })
    }

    /// A whole block; None where the KES key isn't good for its slot.
    pub fn block(&mut self, leads: &Leadership, number: u64, previous: Option<Hash32>, body: &Body, genesis: &Genesis) -> Option<Vec<u8>> {
        let period = leads.slot / genesis.shelley.kes_period_slots;
        let evolution =
            period.checked_sub(self.certificate.kes_period).filter(|evolution| *evolution < genesis.shelley.max_kes_evolutions)?;
        if !self.kes.evolve_to(u32::try_from(evolution).ok()?) {
            return None;
        }
        let header = NewHeader {
            number,
            slot: leads.slot,
            previous,
            cold_key: self.cold_key,
            vrf_key: self.vrf.verification_key(),
            output: &leads.output,
            proof: &self.vrf.prove(&leads.input),
            certificate: &self.certificate,
            version: genesis.shelley.parameters.protocol_version,
        };
        let mut block = Vec::with_capacity(1_024 + body.size_bytes());
        assemble(&mut block, &header, body, |message| self.kes.sign(message));
        Some(block)
    }
}
