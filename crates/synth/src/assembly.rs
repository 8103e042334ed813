//! Putting a Conway block together from its transactions, its keys and its place in the chain.

use slotmark_chain::Hash32;
use slotmark_chain::hash::blake2b_256;
use slotmark_praos::certificate::Certificate;
use slotmark_praos::{kes, vrf};

use slotmark_chain::CborBuffer;
use slotmark_network::shelley::ProtocolVersion;

/// Conway's tag.
const ERA: u64 = 7;
/// Bytes before a block's header: `[7, [` .
pub const HEADER_OFFSET: usize = 3;
/// Bytes before what the KES key signs, which is the header without its signature: the head of an array of two.
const SIGNED_OFFSET: usize = HEADER_OFFSET + 1;

/// A block's transactions as they are collected, each part encoded.
#[derive(Clone, Debug, Default)]
pub struct Transactions {
    count: usize,
    bodies: Vec<u8>,
    witnesses: Vec<u8>,
    auxiliary: Vec<u8>,
    with_auxiliary: usize,
    invalid: Vec<u8>,
    invalid_count: usize,
}

impl Transactions {
    /// Adds a transaction. `witnesses` appends its witness set; `auxiliary` is empty where it has none; `valid` is whether its
    /// scripts succeed.
    pub fn push(&mut self, body: &[u8], witnesses: impl FnOnce(&mut Vec<u8>), auxiliary: &[u8], valid: bool) {
        self.bodies.extend_from_slice(body);
        witnesses(&mut self.witnesses);
        if !auxiliary.is_empty() {
            self.auxiliary.uint(self.count as u64);
            self.auxiliary.extend_from_slice(auxiliary);
            self.with_auxiliary += 1;
        }
        if !valid {
            self.invalid.uint(self.count as u64);
            self.invalid_count += 1;
        }
        self.count += 1;
    }

    /// Encodes them as the parts of a block that come after its header.
    pub fn body(&self) -> Body {
        let mut bytes = Vec::with_capacity(self.bodies.len() + self.witnesses.len() + self.auxiliary.len() + self.invalid.len() + 16);
        let mut hashes = [[0; 32]; 4];
        for (part, hash) in hashes.iter_mut().enumerate() {
            let start = bytes.len();
            match part {
                0 => bytes.listing(self.count, &self.bodies),
                1 => bytes.listing(self.count, &self.witnesses),
                2 => bytes.mapping(self.with_auxiliary, &self.auxiliary),
                _ => bytes.listing(self.invalid_count, &self.invalid),
            }
            *hash = blake2b_256(&[&bytes[start..]]);
        }
        // The body's hash is over the hashes of its parts, from Alonzo on.
        Body { bytes, hash: blake2b_256(&[&hashes[0], &hashes[1], &hashes[2], &hashes[3]]) }
    }
}

/// The four parts of a block after its header, encoded, and the hash that stands for them.
#[derive(Clone, Debug)]
pub struct Body {
    bytes: Vec<u8>,
    hash: Hash32,
}

impl Body {
    /// Bytes of the four parts.
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// A block with this body whose header states nothing: one to decode transactions from.
    pub fn behind_blank_header(&self) -> Vec<u8> {
        let header = NewHeader {
            number: 0,
            slot: 0,
            previous: None,
            cold_key: [0; 32],
            vrf_key: [0; 32],
            output: &[0; vrf::OUTPUT_BYTES],
            proof: &[0; vrf::PROOF_BYTES],
            certificate: &Certificate { hot_key: [0; 32], sequence: 0, kes_period: 0, signature: [0; 64] },
            version: ProtocolVersion { major: 0, minor: 0 },
        };
        let mut block = Vec::with_capacity(1_024 + self.bytes.len());
        assemble(&mut block, &header, self, |_| [0; kes::SIGNATURE_BYTES]);
        block
    }
}

/// The fields of a header, beside its body.
#[derive(Clone, Copy, Debug)]
pub struct NewHeader<'h> {
    /// Number of the block.
    pub number: u64,
    /// Its slot.
    pub slot: u64,
    /// Hash of the header before it; None for the first block.
    pub previous: Option<Hash32>,
    /// The pool's cold key.
    pub cold_key: [u8; 32],
    /// The pool's VRF key.
    pub vrf_key: [u8; 32],
    /// The output of the VRF for the slot.
    pub output: &'h vrf::Output,
    /// The proof of it.
    pub proof: &'h vrf::Proof,
    /// The cold key's word for the hot key.
    pub certificate: &'h Certificate,
    /// The version of the protocol.
    pub version: ProtocolVersion,
}

/// Writes a whole block, `[7, [header, …]]`, into `block`, over what is there; gives its header's length and hash.
/// `sign` is the hot key's signature of a message.
pub fn assemble(block: &mut Vec<u8>, header: &NewHeader<'_>, body: &Body, sign: impl FnOnce(&[u8]) -> kes::Signature) -> (usize, Hash32) {
    block.clear();
    block.array(2);
    block.uint(ERA);
    block.array(5);

    block.array(2);
    block.array(10);
    block.uint(header.number);
    block.uint(header.slot);
    match &header.previous {
        Some(hash) => block.bytes(hash),
        None => block.null(),
    }
    block.bytes(&header.cold_key);
    block.bytes(&header.vrf_key);
    block.array(2);
    block.bytes(header.output);
    block.bytes(header.proof);
    block.uint(body.bytes.len() as u64);
    block.bytes(&body.hash);
    block.array(4);
    block.bytes(&header.certificate.hot_key);
    block.uint(header.certificate.sequence);
    block.uint(header.certificate.kes_period);
    block.bytes(&header.certificate.signature);
    block.array(2);
    block.uint(header.version.major);
    block.uint(header.version.minor);
    let signature = sign(&block[SIGNED_OFFSET..]);
    block.bytes(&signature);

    let header_size = block.len() - HEADER_OFFSET;
    let hash = blake2b_256(&[&block[HEADER_OFFSET..]]);
    block.extend_from_slice(&body.bytes);
    (header_size, hash)
}
