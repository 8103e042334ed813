//! The checks by our own crates, as `slotmark_praos::check::check_chain` does them.

use std::collections::HashMap;

use rayon::prelude::*;
use slotmark_chain::block::{Era, Header, OperationalCertificate, VrfCertificate, body_is_proven};
use slotmark_chain::hash::{blake2b_224, blake2b_256};
use slotmark_chain::{Chain, ChainError, Hash32};
use slotmark_praos::header::{Leader, check_header, check_proofs};
use slotmark_praos::lottery::{Draw, Purpose, praos_input, tpraos_input};
use slotmark_praos::rule::{Outcome, Rule};
use slotmark_praos::{certificate, kes, vrf};

use crate::Case;

/// The number of times that a certificate is verified that many headers have.
#[derive(Clone, Copy)]
pub enum Verify {
    /// Once.
    Once,
    /// For each header, as the other crates do.
    Each,
}

/// All fields of a certificate, and the cold key that is to have signed it.
type Identity<'a> = (&'a [u8; 32], &'a [u8; 32], u64, u64, &'a [u8; 64]);
type Read<'a> = (Header<'a>, Outcome);

fn signed_certificate<'a>(header: &Header<'a>) -> Option<(Identity<'a>, OperationalCertificate<'a>)> {
    let (issuer, certificate) = (header.issuer?, header.certificate?);
    Some(((issuer, certificate.hot_key, certificate.sequence, certificate.kes_period, certificate.signature), certificate))
}

/// Index entry, CRC, header hash, body hash and body size.
pub fn read<'a>(chain: &'a Chain, case: &Case<'_>) -> Result<Read<'a>, ChainError> {
    let header = chain.check_entry(case.index)?;
    let mut outcome = Outcome::default();
    outcome.note(Rule::BodyHash, body_is_proven(case.bytes, &header));
    outcome.note(Rule::BodySize, header.body_size == Some((case.bytes.len() - header.span.end as usize) as u64));
    Ok((header, outcome))
}

fn verified<'a>(headers: &[Read<'a>]) -> HashMap<Identity<'a>, bool> {
    let distinct: HashMap<_, _> = headers.iter().filter_map(|(header, _)| signed_certificate(header)).collect();
    distinct.into_par_iter().map(|(identity, certificate)| (identity, certificate::verify(identity.0, &certificate))).collect()
}

fn check(case: &Case<'_>, (header, outcome): &Read<'_>, verified: Option<&HashMap<Identity<'_>, bool>>) -> Outcome {
    let mut outcome = *outcome;
    match verified {
        Some(verified) => {
            outcome.merge(check_proofs(header, &case.surroundings));
            let valid = signed_certificate(header).is_some_and(|(identity, _)| verified.get(&identity) == Some(&true));
            outcome.note(Rule::CertificateSignature, valid);
        }
        None => outcome.merge(check_header(header, &case.surroundings)),
    }
    outcome
}

/// Every check of every case, on the threads of the pool that this runs in.
pub fn check_all(chain: &Chain, cases: &[Case<'_>], verify: Verify) -> Result<Vec<Outcome>, ChainError> {
    let headers: Vec<Read<'_>> = cases.par_iter().map(|case| read(chain, case)).collect::<Result<_, _>>()?;
    let verified = match verify {
        Verify::Once => Some(verified(&headers)),
        Verify::Each => None,
    };
    Ok(cases.par_iter().zip(&headers).map(|(case, header)| check(case, header, verified.as_ref())).collect())
}

/// Returns the number of different certificates of the cases.
pub fn distinct_certificates(chain: &Chain, cases: &[Case<'_>]) -> Result<usize, ChainError> {
    let headers: Vec<Read<'_>> = cases.iter().map(|case| read(chain, case)).collect::<Result<_, _>>()?;
    Ok(verified(&headers).len())
}

// Single checks, for the time that each takes.

/// The certificate's signature.
pub fn certificate(header: &Header<'_>) -> bool {
    header.issuer.zip(header.certificate).is_some_and(|(issuer, certificate)| certificate::verify(issuer, &certificate))
}

/// The KES period's range and the KES signature.
pub fn kes(case: &Case<'_>, header: &Header<'_>) -> bool {
    let (Some(periods), Some(certificate), Some(signed)) = (case.surroundings.kes, header.certificate, header.signed) else { return false };
    let Some(evolution) = (header.slot / periods.slots).checked_sub(certificate.kes_period) else { return false };
    let signature = header.signature.and_then(|signature| signature.try_into().ok());
    evolution < periods.max_evolutions
        && signature.is_some_and(|signature| kes::verify(certificate.hot_key, evolution as u32, signed, signature))
}

/// The VRF's proofs, and that the stated outputs are theirs.
pub fn vrf(case: &Case<'_>, header: &Header<'_>) -> bool {
    let Some(key) = header.vrf_key else { return false };
    let (slot, nonce) = (header.slot, case.surroundings.epoch_nonce);
    let holds = |stated: Option<VrfCertificate<'_>>, input: Hash32| {
        let proved = |stated: VrfCertificate<'_>| vrf::verify(key, &input, stated.proof.try_into().ok()?);
        stated.is_some_and(|stated| proved(stated).is_some_and(|output| output == stated.output))
    };
    let Some(nonce) = nonce else { return false };
    if header.era >= Era::Babbage {
        return holds(header.vrf[0], praos_input(slot, nonce));
    }
    holds(header.vrf[0], tpraos_input(slot, nonce, Purpose::Nonce)) && holds(header.vrf[1], tpraos_input(slot, nonce, Purpose::Leader))
}

/// The registered VRF key, and the threshold of the stake.
pub fn leads(case: &Case<'_>, header: &Header<'_>) -> bool {
    let Some(key_hash) = header.vrf_key.map(|key| blake2b_256(&[key])) else { return false };
    match case.surroundings.leader {
        Leader::Delegate(delegation) => {
            delegation.vrf_key_hash == key_hash && header.issuer.is_some_and(|issuer| blake2b_224(&[issuer]) == delegation.delegate)
        }
        Leader::Pool(pool) => {
            let praos = header.era >= Era::Babbage;
            let output = header.vrf[usize::from(!praos)].and_then(|stated| <vrf::Output>::try_from(stated.output).ok());
            let draw = output.map(|output| if praos { Draw::praos(&output) } else { Draw::tpraos(&output) });
            let leads = draw.zip(case.surroundings.active_slots).is_some_and(|(draw, slots)| slots.is_leader(&draw, pool.share));
            pool.vrf_key_hash == key_hash && leads
        }
        Leader::Unknown | Leader::Nobody | Leader::NotRegistered => false,
    }
}
