//! One header against what is known where it stands.
//!
//! After `validateKESSignature` and `doValidateVRFSignature` of ouroboros-consensus (Praos), and the rules OCERT and
//! OVERLAY of cardano-protocol-tpraos. The node stops at the first failure; here all are found, so that none hides another.

use serde::{Deserialize, Serialize};
use slotmark_chain::Hash32;
use slotmark_chain::block::{Era, Hash28, Header, OperationalCertificate, VrfCertificate};
use slotmark_chain::hash::{blake2b_224, blake2b_256};
use slotmark_network::Ratio;

use crate::certificate;
use crate::kes;
use crate::lottery::{ActiveSlots, Draw, Purpose, praos_contribution, praos_input, tpraos_contribution, tpraos_input};
use crate::nonce::Nonce;
use crate::overlay::Delegation;
use crate::rule::{Outcome, Rule};
use crate::vrf;

/// The periods in which KES keys are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KesPeriods {
    /// Slots of a KES period.
    pub slots: u64,
    /// KES periods that an operational certificate is good for.
    pub max_evolutions: u64,
}

/// The leader of a slot, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Leader {
    /// Not known.
    Unknown,
    /// No leader, by the overlay schedule.
    Nobody,
    /// A genesis key's delegate, by the overlay schedule.
    Delegate(Delegation),
    /// The winner of the lottery; the issuer is a pool.
    Pool(PoolStake),
    /// The winner of the lottery; the issuer isn't a registered pool.
    NotRegistered,
}

/// A pool in the stake distribution of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolStake {
    /// Its share of all stake that is delegated to pools.
    pub share: Ratio,
    /// BLAKE2b-256 of the VRF key that it registered.
    pub vrf_key_hash: Hash32,
    /// True where the share is exact; it is not once rewards were paid, as they are not counted.
    pub exact: bool,
}

/// The state that a header is checked against; None is what isn't known.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// KES periods, from the genesis.
    pub kes: Option<KesPeriods>,
    /// The share of slots with leaders, from the genesis.
    pub active_slots: Option<&'a ActiveSlots>,
    /// The nonce of the slot's epoch.
    pub epoch_nonce: Option<Nonce>,
    /// The leader of the slot.
    pub leader: Leader,
}

/// Checks what a header proves by itself: certificate, KES signature, VRF proofs, and that its issuer leads the slot.
///
/// What depends on the header before it (link, number, counter) isn't in it. Byron headers have none of this.
pub fn check_header(header: &Header<'_>, surroundings: &Surroundings<'_>) -> Outcome {
    let mut outcome = check_proofs(header, surroundings);
    if let (Some(issuer), Some(certificate)) = (header.issuer, &header.certificate) {
        outcome.note(Rule::CertificateSignature, certificate::verify(issuer, certificate));
    }
    outcome
}

/// The same but for the certificate's signature, which many headers have in common.
pub fn check_proofs(header: &Header<'_>, surroundings: &Surroundings<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    let (Some(issuer), Some(vrf_key), Some(certificate)) = (header.issuer, header.vrf_key, &header.certificate) else { return outcome };
    check_kes(header, certificate, surroundings.kes, &mut outcome);
    let draw = check_vrf(header, vrf_key, surroundings.epoch_nonce, &mut outcome);
    check_leader(&blake2b_224(&[issuer]), vrf_key, draw, surroundings, &mut outcome);
    outcome
}

fn check_kes(header: &Header<'_>, certificate: &OperationalCertificate<'_>, periods: Option<KesPeriods>, outcome: &mut Outcome) {
    let Some(periods) = periods else {
        return [Rule::KesPeriodStart, Rule::KesPeriodEnd, Rule::KesSignature].into_iter().for_each(|rule| outcome.note_unknown(rule));
    };
    let period = header.slot / periods.slots;
    outcome.note(Rule::KesPeriodStart, certificate.kes_period <= period);
    outcome.note(Rule::KesPeriodEnd, period < certificate.kes_period.saturating_add(periods.max_evolutions));
    // As the node does before the certificate's start: its first evolution.
    let evolution = u32::try_from(period.saturating_sub(certificate.kes_period)).unwrap_or(u32::MAX);
    let signed = header.signed.zip(header.signature.and_then(|signature| signature.try_into().ok()));
    let holds = signed.is_some_and(|(signed, signature)| kes::verify(certificate.hot_key, evolution, signed, signature));
    outcome.note(Rule::KesSignature, holds);
}

/// Checks the VRF's proofs; gives what the lottery drew, where the header states an output for it.
fn check_vrf(header: &Header<'_>, vrf_key: &[u8; 32], epoch_nonce: Option<Nonce>, outcome: &mut Outcome) -> Option<Draw> {
    let mut check = |rule, stated: Option<VrfCertificate<'_>>, input: &dyn Fn(Nonce) -> Hash32| {
        let Some(nonce) = epoch_nonce else { return outcome.note_unknown(rule) };
        let proved = stated.and_then(|stated| Some((stated.output, vrf::verify(vrf_key, &input(nonce), stated.proof.try_into().ok()?)?)));
        outcome.note(rule, proved.is_some_and(|(stated, proved)| stated == proved));
    };
    let output = |stated: Option<VrfCertificate<'_>>| stated.and_then(|stated| <vrf::Output>::try_from(stated.output).ok());
    if header.era >= Era::Babbage {
        check(Rule::VrfProof, header.vrf[0], &|nonce| praos_input(header.slot, nonce));
        output(header.vrf[0]).map(|output| Draw::praos(&output))
    } else {
        check(Rule::VrfNonceProof, header.vrf[0], &|nonce| tpraos_input(header.slot, nonce, Purpose::Nonce));
        check(Rule::VrfLeaderProof, header.vrf[1], &|nonce| tpraos_input(header.slot, nonce, Purpose::Leader));
        output(header.vrf[1]).map(|output| Draw::tpraos(&output))
    }
}

fn check_leader(issuer: &Hash28, vrf_key: &[u8; 32], draw: Option<Draw>, surroundings: &Surroundings<'_>, outcome: &mut Outcome) {
    match surroundings.leader {
        Leader::Unknown => {
            [Rule::PoolRegistered, Rule::VrfKey, Rule::LeaderThreshold].into_iter().for_each(|rule| outcome.note_unknown(rule));
        }
        Leader::Nobody => outcome.note(Rule::OverlaySlot, false),
        Leader::Delegate(delegation) => {
            outcome.note(Rule::OverlaySlot, true);
            outcome.note(Rule::OverlayDelegate, delegation.delegate == *issuer);
            outcome.note(Rule::OverlayVrfKey, delegation.vrf_key_hash == blake2b_256(&[vrf_key]));
        }
        Leader::NotRegistered => outcome.note(Rule::PoolRegistered, false),
        Leader::Pool(pool) => {
            let mut note = |rule, holds| if pool.exact { outcome.note(rule, holds) } else { outcome.note_approximate(rule, holds) };
            note(Rule::PoolRegistered, !pool.share.is_zero());
            match surroundings.active_slots {
                Some(active_slots) => note(Rule::LeaderThreshold, draw.is_some_and(|draw| active_slots.is_leader(&draw, pool.share))),
                None => outcome.note_unknown(Rule::LeaderThreshold),
            }
            outcome.note(Rule::VrfKey, pool.vrf_key_hash == blake2b_256(&[vrf_key]));
        }
    }
}

/// Returns the block's contribution to the nonce; None in Byron.
pub fn contribution(header: &Header<'_>) -> Option<Hash32> {
    let stated = header.vrf[0]?;
    Some(if header.era >= Era::Babbage { praos_contribution(stated.output) } else { tpraos_contribution(stated.output) })
}
