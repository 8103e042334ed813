//! Blocks: bodies in parallel, then the headers that chain them.

use std::sync::Arc;

use slotmark_chain::{Hash32, NewBlock, Point};
use slotmark_network::shelley::ProtocolVersion;
use slotmark_praos::lottery::praos_contribution;
use slotmark_praos::nonce::{Nonce, Nonces};
use slotmark_praos::vrf;

use crate::assembly::{Body, HEADER_OFFSET, NewHeader, Transactions, assemble};
use crate::keys::Keys;
use crate::lottery::Leadership;
use crate::pools::{HotKey, HotKeys, Pool};
use crate::transaction::Draft;

/// A block that has its slot and its transactions.
pub(crate) struct UnsealedBlock {
    pub(crate) leadership: Leadership,
    pub(crate) transactions: Vec<Draft>,
}

/// A block that lacks only its header.
pub(crate) struct SealedBlock {
    leadership: Leadership,
    proof: vrf::Proof,
    pub(crate) transactions: usize,
    body: Body,
}

impl UnsealedBlock {
    /// Signs the transactions, encodes the body, and proves that its pool leads the slot.
    pub(crate) fn seal(self, keys: &Keys, pools: &[Pool]) -> SealedBlock {
        let mut transactions = Transactions::default();
        for draft in &self.transactions {
            transactions.push(draft.body(), |witnesses| draft.sign(keys, witnesses), draft.auxiliary(), true);
        }
        let proof = pools[self.leadership.pool].vrf.prove(&self.leadership.input);
        SealedBlock { leadership: self.leadership, proof, transactions: self.transactions.len(), body: transactions.body() }
    }
}

/// Puts headers before bodies, one block after the other.
pub(crate) struct Headers {
    pools: Arc<Vec<Pool>>,
    hot_keys: HotKeys,
    nonces: Nonces,
    /// True where the nonces have gone into an epoch since the last block: epochs without blocks change them once.
    between_epochs: bool,
    epoch_slots: u64,
    settling_slots: u64,
    version: ProtocolVersion,
    number: u64,
    previous: Option<Hash32>,
    block: Vec<u8>,
}

impl Headers {
    /// Those of a chain from its first block on, in epochs of `epoch_slots`; an epoch's last `settling_slots` don't count for the next one's nonce. Each states
    /// this version of the protocol.
    pub(crate) fn new(
        hot_keys: HotKeys,
        genesis_hash: Hash32,
        pools: &Arc<Vec<Pool>>,
        epoch_slots: u64,
        settling_slots: u64,
        version: ProtocolVersion,
    ) -> Self {
        Self {
            pools: Arc::clone(pools),
            hot_keys,
            nonces: Nonces::initial(genesis_hash),
            between_epochs: false,
            epoch_slots,
            settling_slots,
            version,
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
        let certificate = certificate.clone();
        let header = NewHeader {
            number: self.number,
            slot,
            previous: self.previous,
            cold_key: pool.cold_key(),
            vrf_key: pool.vrf.verification_key(),
            output: &output,
            proof: &sealed.proof,
            certificate: &certificate,
            version: self.version,
        };
        let (header_size, hash) = assemble(&mut self.block, &header, &sealed.body, |message| self.hot_keys.sign(number, message));
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
