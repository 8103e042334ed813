//! The same checks by the crates that others build on, one after the other. Only what no crate does is done here: parts of a block are
//! cut out of its bytes, inputs are put together, results are compared.

use std::ops::Neg;

use ed25519_dalek::{Signature, Verifier, VerifyingKey};
use pallas_codec::minicbor;
use pallas_crypto::hash::{Hash, Hasher};
use pallas_crypto::kes::common::PublicKey;
use pallas_crypto::kes::summed_kes::Sum6KesSig;
use pallas_crypto::kes::traits::KesSig;
use pallas_math::math::{ExpOrdering, FixedDecimal, FixedPrecision};
use pallas_traverse::MultiEraHeader;
use slotmark_network::Ratio;
use slotmark_praos::genesis::Genesis;
use slotmark_praos::header::{KesPeriods, Leader};
use vrf_dalek::vrf03::{PublicKey03, VrfProof03};

use crate::Case;

/// The crates that are measured.
pub const NAMES: &str =
    "pallas-traverse, pallas-crypto (BLAKE2b, KES) and pallas-math 1.4.0, ed25519-dalek 2, amaru-vrf-dalek 0.1.0, crc32fast 1";

/// Terms of the exponential's series at most, and the bound on its error as a multiple of the next term: the ledger's.
const MAX_TERMS: u64 = 1_000;
const BOUND: i64 = 3;
/// The era whose blocks are the first of Praos.
const BABBAGE: u8 = 6;

type Problem = String;

/// The parts that are the same for all headers, made once.
pub struct Network {
    kes: KesPeriods,
    /// ln(1 - f); None for f = 1, where every draw leads.
    log: Option<FixedDecimal>,
    nonce_seed: Hash<32>,
    leader_seed: Hash<32>,
}

impl Network {
    /// From the genesis.
    pub fn new(genesis: &Genesis) -> Self {
        let share = genesis.active_slots.share();
        let seed = |number: u64| Hasher::<256>::hash(&number.to_be_bytes());
        let log = (!share.is_one()).then(|| (&FixedDecimal::from(1u64) - &decimal(share)).ln());
        Self { kes: genesis.kes(), log, nonce_seed: seed(0), leader_seed: seed(1) }
    }
}

fn decimal(share: Ratio) -> FixedDecimal {
    &FixedDecimal::from(share.numerator()) / &FixedDecimal::from(share.denominator())
}

/// A block as far as its header's checks need it.
pub struct Decoded<'a> {
    era: u8,
    header: MultiEraHeader<'a>,
    /// The header's place in the block.
    place: (usize, usize),
    /// The bytes that the KES signature signs.
    signed: &'a [u8],
    /// Bodies, witnesses, auxiliary data, invalid transactions.
    parts: [&'a [u8]; 4],
}

/// The fields of a header.
pub struct Stated<'a> {
    slot: u64,
    issuer: &'a [u8],
    vrf_key: &'a [u8],
    /// Output and proof: the nonce's and the leader's in TPraos, one for both in Praos.
    vrf: Vec<(&'a [u8], &'a [u8])>,
    is_praos: bool,
    body_size: u64,
    body_hash: Hash<32>,
    hot_key: &'a [u8],
    sequence: u64,
    kes_period: u64,
    certificate_signature: &'a [u8],
    signed: &'a [u8],
    signature: &'a [u8],
}

fn item<'a>(decoder: &mut minicbor::Decoder<'a>) -> Result<&'a [u8], minicbor::decode::Error> {
    let start = decoder.position();
    decoder.skip()?;
    Ok(&decoder.input()[start..decoder.position()])
}

/// Cuts a block into its parts and decodes its header.
pub fn decode<'a>(case: &Case<'a>) -> Result<Decoded<'a>, Problem> {
    let (era, start, header, parts, signed) = cut(case.bytes).map_err(|error| error.to_string())?;
    let place = (start, start + header.len());
    // Headers count eras from Byron as 0, blocks have two numbers for Byron.
    let header = MultiEraHeader::decode(era - 1, None, header).map_err(|error| error.to_string())?;
    Ok(Decoded { era, header, place, signed, parts })
}

type Cut<'a> = (u8, usize, &'a [u8], [&'a [u8]; 4], &'a [u8]);

fn cut(bytes: &[u8]) -> Result<Cut<'_>, minicbor::decode::Error> {
    let mut decoder = minicbor::Decoder::new(bytes);
    decoder.array()?;
    let era = decoder.u8()?;
    decoder.array()?;
    let start = decoder.position();
    let header = item(&mut decoder)?;
    let parts = [item(&mut decoder)?, item(&mut decoder)?, item(&mut decoder)?, item(&mut decoder)?];
    let mut inside = minicbor::Decoder::new(header);
    inside.array()?;
    Ok((era, start, header, parts, item(&mut inside)?))
}

/// Returns the fields of a block's header.
pub fn stated<'a>(decoded: &'a Decoded<'_>) -> Result<Stated<'a>, Problem> {
    if let Some(header) = decoded.header.as_babbage() {
        let (body, certificate) = (&header.header_body, &header.header_body.operational_cert);
        return Ok(Stated {
            slot: body.slot,
            issuer: &body.issuer_vkey,
            vrf_key: &body.vrf_vkey,
            vrf: vec![(&body.vrf_result.0, &body.vrf_result.1)],
            is_praos: true,
            body_size: body.block_body_size,
            body_hash: body.block_body_hash,
            hot_key: &certificate.operational_cert_hot_vkey,
            sequence: certificate.operational_cert_sequence_number,
            kes_period: certificate.operational_cert_kes_period,
            certificate_signature: &certificate.operational_cert_sigma,
            signed: decoded.signed,
            signature: &header.body_signature,
        });
    }
    let header = decoded.header.as_alonzo().ok_or("a header before Shelley")?;
    let body = &header.header_body;
    Ok(Stated {
        slot: body.slot,
        issuer: &body.issuer_vkey,
        vrf_key: &body.vrf_vkey,
        vrf: vec![(&body.nonce_vrf.0, &body.nonce_vrf.1), (&body.leader_vrf.0, &body.leader_vrf.1)],
        is_praos: false,
        body_size: body.block_body_size,
        body_hash: body.block_body_hash,
        hot_key: &body.operational_cert_hot_vkey,
        sequence: body.operational_cert_sequence_number,
        kes_period: body.operational_cert_kes_period,
        certificate_signature: &body.operational_cert_sigma,
        signed: decoded.signed,
        signature: &header.body_signature,
    })
}

/// Every check of one header; the error names the one that doesn't hold.
pub fn check(case: &Case<'_>, network: &Network) -> Result<(), Problem> {
    let decoded = decode(case)?;
    let stated = stated(&decoded)?;
    let held = |holds: bool, what: &str| if holds { Ok(()) } else { Err(format!("{what} doesn't hold")) };
    held(hashes_hold(case, &decoded, &stated), "index entry, CRC, header hash, body hash or size")?;
    held(certificate(&stated), "the certificate's signature")?;
    held(kes(&stated, network), "the KES period or signature")?;
    held(vrf(case, &stated, network), "a VRF proof or its output")?;
    held(leads(case, &stated, network), "the registered VRF key or the leader threshold")
}

/// Index entry, CRC, header hash, body hash and body size.
pub fn hashes_hold(case: &Case<'_>, decoded: &Decoded<'_>, stated: &Stated<'_>) -> bool {
    let (entry, (start, end)) = (&case.entry, decoded.place);
    let mut body = Hasher::<256>::new();
    for part in decoded.parts {
        body.input(Hasher::<256>::hash(part).as_ref());
    }
    let size: usize = decoded.parts.iter().map(|part| part.len()).sum();
    crc32fast::hash(case.bytes) == entry.crc32
        && *decoded.header.hash() == entry.hash
        && (start, end - start) == (usize::from(entry.header_offset), usize::from(entry.header_size))
        && stated.slot == entry.slot
        && stated.is_praos == (decoded.era >= BABBAGE)
        && stated.body_size == size as u64
        && stated.body_hash == body.finalize()
}

/// The certificate's signature.
pub fn certificate(stated: &Stated<'_>) -> bool {
    let (Ok(cold_key), Ok(hot_key), Ok(signature)) =
        (<[u8; 32]>::try_from(stated.issuer), <[u8; 32]>::try_from(stated.hot_key), Signature::from_slice(stated.certificate_signature))
    else {
        return false;
    };
    let mut message = [0; 48];
    message[..32].copy_from_slice(&hot_key);
    message[32..40].copy_from_slice(&stated.sequence.to_be_bytes());
    message[40..].copy_from_slice(&stated.kes_period.to_be_bytes());
    VerifyingKey::from_bytes(&cold_key).is_ok_and(|key| key.verify(&message, &signature).is_ok())
}

/// The KES period's range and the KES signature.
pub fn kes(stated: &Stated<'_>, network: &Network) -> bool {
    let Some(evolution) = (stated.slot / network.kes.slots).checked_sub(stated.kes_period) else { return false };
    let (Ok(key), Ok(signature)) = (PublicKey::from_bytes(stated.hot_key), Sum6KesSig::from_bytes(stated.signature)) else { return false };
    evolution < network.kes.max_evolutions && signature.verify(evolution as u32, &key, stated.signed).is_ok()
}

/// The VRF's proofs, and that the stated outputs are theirs.
pub fn vrf(case: &Case<'_>, stated: &Stated<'_>, network: &Network) -> bool {
    let (Some(nonce), Ok(key)) = (case.surroundings.epoch_nonce, <&[u8; 32]>::try_from(stated.vrf_key)) else { return false };
    let mut hasher = Hasher::<256>::new();
    hasher.input(&stated.slot.to_be_bytes());
    hasher.input(nonce.as_ref().map_or(&[], |nonce| &nonce[..]));
    let (base, key) = (hasher.finalize(), PublicKey03::from_bytes(key));
    let input = |which: usize| -> [u8; 32] {
        let seed = if which == 0 { &network.nonce_seed } else { &network.leader_seed };
        if stated.is_praos { *base } else { std::array::from_fn(|byte| base[byte] ^ seed[byte]) }
    };
    let holds = |(which, (output, proof)): (usize, &(&[u8], &[u8]))| {
        let Ok(Ok(proof)) = <&[u8; 80]>::try_from(*proof).map(VrfProof03::from_bytes) else { return false };
        proof.verify(&key, &input(which)).is_ok_and(|proved| proved == *output)
    };
    stated.vrf.iter().enumerate().all(holds)
}

/// The issuer, the registered VRF key, and the threshold of the stake.
pub fn leads(case: &Case<'_>, stated: &Stated<'_>, network: &Network) -> bool {
    let key_hash = Hasher::<256>::hash(stated.vrf_key);
    match case.surroundings.leader {
        Leader::Delegate(delegation) => *Hasher::<224>::hash(stated.issuer) == delegation.delegate && *key_hash == delegation.vrf_key_hash,
        Leader::Pool(pool) => *key_hash == pool.vrf_key_hash && is_below_threshold(stated, pool.share, network),
        Leader::Unknown | Leader::Nobody | Leader::NotRegistered => false,
    }
}

/// 1 / (1 - p) against e^(-stake ln(1 - f)), as the ledger has it.
fn is_below_threshold(stated: &Stated<'_>, stake: Ratio, network: &Network) -> bool {
    let (Some(log), Some((output, _))) = (&network.log, stated.vrf.last()) else { return network.log.is_none() };
    let hashed;
    let drawn: &[u8] = if stated.is_praos {
        let mut hasher = Hasher::<256>::new();
        hasher.input(b"L");
        hasher.input(output);
        hashed = hasher.finalize();
        hashed.as_ref()
    } else {
        output
    };
    let mut limit = vec![0; drawn.len() + 1];
    limit[0] = 1;
    let limit = FixedDecimal::from(&limit[..]);
    let compared = &limit / &(&limit - &FixedDecimal::from(drawn));
    let exponent = (&decimal(stake) * log).neg();
    exponent.exp_cmp(MAX_TERMS, BOUND, &compared).estimation == ExpOrdering::LT
}
