//! Headers that the Haskell consensus code made, valid and mutated, each with the outcome that it expects.

use serde::Deserialize;
use slotmark_chain::block::{Era, decode_header_alone};
use slotmark_chain::hash::blake2b_224;
use slotmark_network::Ratio;
use slotmark_praos::certificate::Counters;
use slotmark_praos::header::{KesPeriods, Leader, PoolStake, Surroundings, check_header};
use slotmark_praos::lottery::{ActiveSlots, praos_input};
use slotmark_praos::rule::{Outcome, Rule};
use slotmark_praos::state::note_counter;
use slotmark_praos::{kes, vrf};

use crate::shared::shared;

#[derive(Deserialize)]
struct Case {
    title: String,
    context: Context,
    header: String,
    expected: Expected,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Context {
    active_slot_coeff: f64,
    kes_sign_key: String,
    nonce: String,
    ocert_counters: std::collections::HashMap<String, u64>,
    #[serde(rename = "praosMaxKESEvo")]
    max_kes_evolutions: u64,
    #[serde(rename = "praosSlotsPerKESPeriod")]
    slots_per_kes_period: u64,
    vrf_sign_key: String,
    #[serde(rename = "vrfVKeyHash")]
    vrf_key_hash: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Expected {
    Pass(String),
    Fail { error: String },
}

fn cases() -> Vec<Case> {
    let path = shared("praos/header-test-cases.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("the cases")
}

fn bytes<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    hex::decode_to_slice(text, &mut bytes).expect("hex");
    bytes
}

/// Everything about a case's header; its issuer has all stake.
fn outcome(case: &Case, header: &[u8]) -> Outcome {
    let context = &case.context;
    let header = decode_header_alone(Era::Babbage, header).expect("a header");
    let active_slots = ActiveSlots::new(Ratio::from_decimal(context.active_slot_coeff).expect("a share"));
    let surroundings = Surroundings {
        kes: Some(KesPeriods { slots: context.slots_per_kes_period, max_evolutions: context.max_kes_evolutions }),
        active_slots: Some(&active_slots),
        epoch_nonce: Some(Some(bytes(&context.nonce))),
        leader: Leader::Pool(PoolStake { share: Ratio::ONE, vrf_key_hash: bytes(&context.vrf_key_hash), exact: true }),
    };
    let mut outcome = check_header(&header, &surroundings);
    let counters = Counters::new(context.ocert_counters.iter().map(|(issuer, last)| (bytes(issuer), *last)));
    let issuer = blake2b_224(&[header.issuer.expect("an issuer")]);
    let sequence = header.certificate.expect("a certificate").sequence;
    note_counter(counters.last(&issuer).unwrap_or(0), sequence, &mut outcome);
    outcome
}

#[test]
#[ignore = "needs the shared data: header cases of the Haskell consensus code"]
fn every_case_has_its_expected_outcome() {
    let cases = cases();
    assert_eq!(cases.len(), 70);
    let mut passed = 0;
    for case in &cases {
        let outcome = outcome(case, &hex::decode(&case.header).expect("hex"));
        assert!(outcome.unknown.is_empty() && outcome.approximate.is_empty());
        let expected = match &case.expected {
            Expected::Pass(word) => {
                assert_eq!(word, "pass");
                assert!(outcome.broken.is_empty(), "{}: {:?}", case.title, outcome.broken.iter().collect::<Vec<_>>());
                passed += 1;
                continue;
            }
            Expected::Fail { error } => match error.as_str() {
                // A period before the certificate's start is "too large" a certificate period, one after its end "too old".
                "OpCertKesPeriodTooLarge" => Rule::KesPeriodStart,
                "OpCertKesPeriodTooOld" => Rule::KesPeriodEnd,
                "InvalidSignature" => Rule::CertificateSignature,
                "InvalidKesSignature" => Rule::KesSignature,
                "SequenceNumberTooSmall" => Rule::CounterLowerBound,
                "SequenceNumberTooFarAhead" => Rule::CounterUpperBound,
                other => panic!("{}: unknown outcome {other}", case.title),
            },
        };
        assert!(outcome.broken.contains(expected), "{}: {:?}", case.title, outcome.broken.iter().collect::<Vec<_>>());
    }
    assert_eq!(passed, 29);
}

#[test]
#[ignore = "needs the shared data: header cases of the Haskell consensus code"]
fn proofs_and_signatures_are_the_ones_that_the_haskell_code_made() {
    let (mut proofs, mut signatures) = (0, 0);
    for case in cases() {
        let raw = hex::decode(&case.header).expect("hex");
        let header = decode_header_alone(Era::Babbage, &raw).expect("a header");
        let stated = header.vrf[0].expect("a VRF certificate");
        let key = vrf::SigningKey::from_bytes(&bytes(&case.context.vrf_sign_key)).expect("a VRF key");
        assert_eq!(key.verification_key(), *header.vrf_key.expect("a VRF key"), "{}", case.title);
        let proof = key.prove(&praos_input(header.slot, Some(bytes(&case.context.nonce))));
        assert_eq!(proof, stated.proof, "{}", case.title);
        assert_eq!(vrf::output(&proof).expect("an output"), stated.output);
        proofs += 1;

        let Expected::Pass(_) = case.expected else { continue };
        let mut key = kes::SigningKey::from_bytes(&bytes(&case.context.kes_sign_key), 0).expect("a KES key");
        let certificate = header.certificate.expect("a certificate");
        assert_eq!(key.verification_key(), *certificate.hot_key, "{}", case.title);
        let evolution = header.slot / case.context.slots_per_kes_period - certificate.kes_period;
        assert!(key.evolve_to(evolution as u32));
        assert_eq!(key.sign(header.signed.expect("a body")), *header.signature.expect("a signature"), "{}", case.title);
        signatures += 1;
    }
    assert_eq!((proofs, signatures), (70, 29));
}

#[test]
#[ignore = "needs the shared data: header cases of the Haskell consensus code"]
fn a_flipped_bit_in_any_proof_or_signature_is_refused() {
    for case in cases().iter().filter(|case| matches!(case.expected, Expected::Pass(_))).take(5) {
        let raw = hex::decode(&case.header).expect("hex");
        let header = decode_header_alone(Era::Babbage, &raw).expect("a header");
        let place = |part: &[u8]| part.as_ptr() as usize - raw.as_ptr() as usize;
        let (proof, output) = (header.vrf[0].expect("a proof").proof, header.vrf[0].expect("an output").output);
        let certificate = header.certificate.expect("a certificate");
        for (part, rule) in [
            (proof, Rule::VrfProof),
            (output, Rule::VrfProof),
            (&certificate.signature[..], Rule::CertificateSignature),
            (&certificate.hot_key[..], Rule::CertificateSignature),
            (header.signature.expect("a signature"), Rule::KesSignature),
            (header.body_hash.expect("a body hash"), Rule::KesSignature),
            (header.vrf_key.expect("a VRF key"), Rule::VrfKey),
        ] {
            for byte in [0, part.len() / 2, part.len() - 1] {
                let mut damaged = raw.clone();
                damaged[place(part) + byte] ^= 0x10;
                let outcome = outcome(case, &damaged);
                assert!(outcome.broken.contains(rule), "{} {rule} at {byte}", case.title);
            }
        }
    }
}
