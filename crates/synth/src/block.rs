//! Blocks: bodies in parallel, then the headers that chain them.

use slotmark_chain::hash::blake2b_256;
use slotmark_chain::{Hash32, NewBlock, Point};

use crate::cbor::CborBuffer;
use crate::keys::Keys;
use crate::leaders::{Leadership, Pools};
use crate::parameters::PROTOCOL_VERSION;
use crate::random::Stream;
use crate::transaction::Draft;

/// Conway's tag.
const ERA: u64 = 7;
/// Bytes before the header: `[7, [` .
const HEADER_OFFSET: usize = 3;
/// Bytes of a KES signature (Sum6KES over Ed25519).
const KES_SIGNATURE_BYTES: usize = 448;
const VRF_OUTPUT_BYTES: usize = 64;
const VRF_PROOF_BYTES: usize = 80;

/// A block that has its slot and its transactions.
pub(crate) struct PlannedBlock {
    pub(crate) leadership: Leadership,
    pub(crate) transactions: Vec<Draft>,
}

/// A block that lacks only its header.
pub(crate) struct SealedBlock {
    leadership: Leadership,
    pub(crate) transactions: usize,
    /// The four parts after the header, encoded.
    body: Vec<u8>,
    body_hash: Hash32,
}

impl PlannedBlock {
    /// Signs the transactions and encodes the body.
    pub(crate) fn seal(self, keys: &Keys) -> SealedBlock {
        let count = self.transactions.len();
        let total: usize = self.transactions.iter().map(|draft| draft.block_bytes() + 3).sum();
        let mut body = Vec::with_capacity(total + 8);
        let mut hashes = [[0; 32]; 4];
        let (mut bodies, mut witnesses, mut auxiliary, mut with_auxiliary) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for (place, draft) in self.transactions.iter().enumerate() {
            bodies.extend_from_slice(draft.body());
            draft.sign(keys, &mut witnesses);
            if !draft.auxiliary().is_empty() {
                auxiliary.uint(place as u64);
                auxiliary.extend_from_slice(draft.auxiliary());
                with_auxiliary += 1;
            }
        }
        for (part, hash) in hashes.iter_mut().enumerate() {
            let start = body.len();
            match part {
                0 => body.listing(count, &bodies),
                1 => body.listing(count, &witnesses),
                2 => body.mapping(with_auxiliary, &auxiliary),
                _ => body.array(0), // no transaction fails phase 2
            }
            *hash = blake2b_256(&[&body[start..]]);
        }
        // The body's hash is over the hashes of its parts, from Alonzo on.
        let body_hash = blake2b_256(&[&hashes[0], &hashes[1], &hashes[2], &hashes[3]]);
        SealedBlock { leadership: self.leadership, transactions: count, body, body_hash }
    }
}

/// Puts headers before bodies, one block after the other.
pub(crate) struct Headers {
    seed: u64,
    pools: Pools,
    number: u64,
    previous: Option<Hash32>,
    block: Vec<u8>,
}

impl Headers {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, pools: Pools::new(seed), number: 0, previous: None, block: Vec::new() }
    }

    /// The next block of the chain, whole.
    pub(crate) fn link(&mut self, sealed: &SealedBlock) -> NewBlock<'_> {
        let issuer = self.pools.issuer(sealed.leadership);
        let mut proofs = Stream::new(self.seed, "proofs", self.number);
        let mut proof = |length| {
            let mut bytes = vec![0; length];
            proofs.fill(&mut bytes);
            bytes
        };
        let block = &mut self.block;
        block.clear();
        block.array(2);
        block.uint(ERA);
        block.array(5);

        block.array(2);
        block.array(10);
        block.uint(self.number);
        block.uint(sealed.leadership.slot);
        match &self.previous {
            Some(hash) => block.bytes(hash),
            None => block.null(),
        }
        block.bytes(&issuer.cold_key);
        block.bytes(&issuer.vrf_key);
        block.array(2);
        block.bytes(&proof(VRF_OUTPUT_BYTES));
        block.bytes(&proof(VRF_PROOF_BYTES));
        block.uint(sealed.body.len() as u64);
        block.bytes(&sealed.body_hash);
        block.array(4);
        block.bytes(&issuer.certificate.hot_key);
        block.uint(issuer.certificate.sequence);
        block.uint(issuer.certificate.kes_period);
        block.bytes(&issuer.certificate.signature);
        block.array(2);
        block.uint(PROTOCOL_VERSION.0);
        block.uint(PROTOCOL_VERSION.1);
        block.bytes(&proof(KES_SIGNATURE_BYTES));

        let header_size = block.len() - HEADER_OFFSET;
        let hash = blake2b_256(&[&block[HEADER_OFFSET..]]);
        block.extend_from_slice(&sealed.body);
        self.number += 1;
        self.previous = Some(hash);
        NewBlock {
            bytes: &self.block,
            header_offset: HEADER_OFFSET as u16,
            header_size: header_size as u16,
            slot: sealed.leadership.slot,
            hash,
        }
    }
}

/// The point of a block.
pub(crate) fn point(block: &NewBlock<'_>) -> Point {
    Point::Block { slot: block.slot, hash: block.hash }
}
