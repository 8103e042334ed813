//! Blocks: bodies in parallel, then the headers that chain them.

use std::sync::Arc;

use slotmark_chain::block::Era;
use slotmark_chain::hash::blake2b_256;
use slotmark_chain::{Hash32, NewBlock, Point};
use slotmark_praos::lottery::{ActiveSlots, praos_contribution};
use slotmark_praos::nonce::{Nonce, Nonces, settling_slots};
use slotmark_praos::vrf;

use crate::cbor::CborBuffer;
use crate::keys::Keys;
use crate::lottery::Leadership;
use crate::parameters::PROTOCOL_VERSION;
use crate::pools::{HotKey, HotKeys, Pool};
use crate::recipe::Recipe;
use crate::transaction::Draft;

/// Conway's tag.
const ERA: u64 = 7;
/// Bytes before the header: `[7, [` .
const HEADER_OFFSET: usize = 3;
/// Bytes before what the KES key signs, which is the header without its signature: the head of an array of two.
const SIGNED_OFFSET: usize = HEADER_OFFSET + 1;

/// A block that has its slot and its transactions.
pub(crate) struct PlannedBlock {
    pub(crate) leadership: Leadership,
    pub(crate) transactions: Vec<Draft>,
}

/// A block that lacks only its header.
pub(crate) struct SealedBlock {
    leadership: Leadership,
    proof: vrf::Proof,
    pub(crate) transactions: usize,
    /// The four parts after the header, encoded.
    body: Vec<u8>,
    body_hash: Hash32,
}

impl PlannedBlock {
    /// Signs the transactions, encodes the body, and proves that its pool leads the slot.
    pub(crate) fn seal(self, keys: &Keys, pools: &[Pool]) -> SealedBlock {
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
        let proof = pools[self.leadership.pool].vrf.prove(&self.leadership.input);
        SealedBlock { leadership: self.leadership, proof, transactions: count, body, body_hash }
    }
}

/// Puts headers before bodies, one block after the other.
pub(crate) struct Headers {
    pools: Arc<Vec<Pool>>,
    hot_keys: HotKeys,
    nonces: Nonces,
    /// Whether the nonces have gone into an epoch since the last block: epochs without blocks change them once.
    between_epochs: bool,
    epoch_slots: u64,
    settling_slots: u64,
    number: u64,
    previous: Option<Hash32>,
    block: Vec<u8>,
}

impl Headers {
    pub(crate) fn new(recipe: &Recipe, genesis_hash: Hash32, pools: &Arc<Vec<Pool>>, active_slots: &ActiveSlots) -> Self {
        Self {
            pools: Arc::clone(pools),
            hot_keys: HotKeys::new(recipe.seed, recipe.kes_periods(), pools),
            nonces: Nonces::initial(genesis_hash),
            between_epochs: false,
            epoch_slots: recipe.epoch_slots(),
            settling_slots: settling_slots(Era::Conway, recipe.security_parameter, active_slots.share()),
            number: 0,
            previous: None,
            block: Vec::new(),
        }
    }

    /// Goes into an epoch, and gives its nonce.
    pub(crate) fn begin_epoch(&mut self, epoch: u64) -> Nonce {
        if epoch > 0 && !self.between_epochs {
            self.nonces.begin_epoch(None);
            self.between_epochs = true;
        }
        self.nonces.epoch
    }

    /// The pools' hot keys as the last block left them.
    pub(crate) fn hot_keys(&self) -> &[HotKey] {
        self.hot_keys.last()
    }

    /// The next block of the chain, whole.
    pub(crate) fn link(&mut self, sealed: &SealedBlock) -> NewBlock<'_> {
        let Leadership { slot, pool: number, output, .. } = sealed.leadership;
        let pool = &self.pools[number];
        let certificate = self.hot_keys.enter(slot, number, pool);
        let block = &mut self.block;
        block.clear();
        block.array(2);
        block.uint(ERA);
        block.array(5);

        block.array(2);
        block.array(10);
        block.uint(self.number);
        block.uint(slot);
        match &self.previous {
            Some(hash) => block.bytes(hash),
            None => block.null(),
        }
        block.bytes(&pool.cold_key());
        block.bytes(&pool.vrf.verification_key());
        block.array(2);
        block.bytes(&output);
        block.bytes(&sealed.proof);
        block.uint(sealed.body.len() as u64);
        block.bytes(&sealed.body_hash);
        block.array(4);
        block.bytes(&certificate.hot_key);
        block.uint(certificate.sequence);
        block.uint(certificate.kes_period);
        block.bytes(&certificate.signature);
        block.array(2);
        block.uint(PROTOCOL_VERSION.0);
        block.uint(PROTOCOL_VERSION.1);
        let signature = self.hot_keys.sign(number, &block[SIGNED_OFFSET..]);
        block.bytes(&signature);

        let header_size = block.len() - HEADER_OFFSET;
        let hash = blake2b_256(&[&block[HEADER_OFFSET..]]);
        block.extend_from_slice(&sealed.body);
        let counts = slot % self.epoch_slots + self.settling_slots < self.epoch_slots;
        self.nonces.apply(praos_contribution(&output), self.previous, counts);
        self.between_epochs = false;
        self.number += 1;
        self.previous = Some(hash);
        NewBlock { bytes: &self.block, header_offset: HEADER_OFFSET as u16, header_size: header_size as u16, slot, hash }
    }
}

/// The point of a block.
pub(crate) fn point(block: &NewBlock<'_>) -> Point {
    Point::Block { slot: block.slot, hash: block.hash }
}
