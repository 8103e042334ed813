//! Byron bodies are checked against the proofs in their headers, on blocks of mainnet and of the first testnet.

use slotmark_chain::Decoder;
use slotmark_chain::block::{body_is_proven, header_hash};

/// `[era, block]` of a block as the chain has it, in hex.
fn block(era: u8, hex: &str) -> Vec<u8> {
    [vec![0x82, era], hex::decode(hex.trim()).unwrap()].concat()
}

fn is_proven(bytes: &[u8]) -> bool {
    Decoder::new().decode(bytes).is_ok_and(|block| body_is_proven(bytes, &block.header))
}

/// Flips one bit of each byte behind the header in turns; the places where that was not found.
fn missed(bytes: &[u8]) -> Vec<usize> {
    let begin = Decoder::new().decode(bytes).unwrap().header.span.end as usize;
    let flipped = |place: usize| {
        let mut bytes = bytes.to_vec();
        bytes[place] ^= 0x01;
        is_proven(&bytes)
    };
    (begin..bytes.len()).filter(|&place| flipped(place)).collect()
}

#[test]
fn a_body_with_transactions_is_proven_and_every_flipped_byte_is_found() {
    let bytes = block(1, include_str!("data/byron-mainnet-two-transactions.hex"));
    assert_eq!(Decoder::new().decode(&bytes).unwrap().transactions.len(), 2);
    assert!(is_proven(&bytes));
    // The shared seed computation, which no node checks: `[3, []]` in a set's tag.
    let seed = bytes.windows(6).rposition(|six| six == [0x82, 0x03, 0xd9, 0x01, 0x02, 0x80]).unwrap();
    assert!(missed(&bytes).iter().all(|place| (seed..seed + 6).contains(place)));
}

#[test]
fn a_body_without_transactions_is_proven() {
    let bytes = block(1, include_str!("data/byron-testnet-f38aa5e8.hex"));
    let decoded = Decoder::new().decode(&bytes).unwrap().header.hash;
    assert_eq!(hex::encode(decoded), "f38aa5e8cf0b47d1ffa8b2385aa2d43882282db2ffd5ac0e3dadec1a6f2ecf08");
    assert!(is_proven(&bytes));
}

#[test]
fn the_body_of_a_boundary_block_is_proven() {
    let body = [vec![0x9f, 0x58, 0x1c], vec![7; 28], vec![0xff]].concat();
    let hash = blake2b_simd::Params::new().hash_length(32).hash(&body);
    let header = [&[0x85, 0x01, 0x58, 0x20][..], &[0; 32], &[0x58, 0x20], hash.as_bytes(), &[0x82, 0x00, 0x81, 0x00, 0x81, 0xa0]].concat();
    let bytes = [&[0x82, 0x00, 0x83][..], &header, &body, &[0x81, 0xa0]].concat();
    let mut decoder = Decoder::new();
    let decoded = decoder.decode(&bytes).unwrap();
    assert_eq!(decoded.header.hash, header_hash(decoded.header.era, &header));
    assert!(is_proven(&bytes));
    let last = bytes.len() - 2;
    assert!(missed(&bytes).iter().all(|&place| place >= last), "only its extra data has no proof");
}
