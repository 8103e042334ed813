//! Nonces: how the VRF outputs of an epoch become the randomness of the next one.
//!
//! After `updateChainDepState` and `tickChainDepState` of ouroboros-consensus (Praos) and the rules UPDN and TICKN of
//! cardano-protocol-tpraos.

use slotmark_chain::Hash32;
use slotmark_chain::block::Era;
use slotmark_chain::hash::blake2b_256;

use slotmark_network::Ratio;

/// Blocks count for the next nonce until this many times k/f slots before their epoch ends.
const SETTLING_FROM_SHELLEY: u64 = 3;
const SETTLING_FROM_CONWAY: u64 = 4;

/// A nonce; None is the neutral one, which changes nothing that it is combined with.
pub type Nonce = Option<Hash32>;

/// Both nonces in one: the hash of the two, or the other one where one is neutral.
pub fn combine(one: Nonce, other: Nonce) -> Nonce {
    match (one, other) {
        (Some(one), Some(other)) => Some(blake2b_256(&[&one, &other])),
        (one, other) => one.or(other),
    }
}

/// Returns how many slots before an epoch's end blocks no longer count for the next nonce: 3k/f, from Conway on 4k/f.
pub fn settling_slots(era: Era, security_parameter: u64, active_slots: Ratio) -> u64 {
    let multiple = if era >= Era::Conway { SETTLING_FROM_CONWAY } else { SETTLING_FROM_SHELLEY };
    active_slots.ceil_div(security_parameter.saturating_mul(multiple))
}

/// The nonces at some point of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonces {
    /// The one that VRF proofs of this epoch are for.
    pub epoch: Nonce,
    /// The nonce of all outputs so far.
    pub evolving: Nonce,
    /// The nonce of the outputs that count for the next epoch.
    pub candidate: Nonce,
    /// The hash in the last block of its predecessor.
    pub previous_hash: Nonce,
    /// `previous_hash` at the end of the epoch before.
    pub last_epoch_hash: Nonce,
}

impl Nonces {
    /// The nonces before the first block after Byron, from the hash of the Shelley genesis file.
    pub fn initial(genesis_hash: Hash32) -> Self {
        let nonce = Some(genesis_hash);
        Self { epoch: nonce, evolving: nonce, candidate: nonce, previous_hash: None, last_epoch_hash: None }
    }

    /// Goes into a new epoch, which is done once even if epochs without blocks lie between. Extra entropy is TPraos's alone.
    pub fn begin_epoch(&mut self, extra_entropy: Nonce) {
        self.epoch = combine(combine(self.candidate, self.last_epoch_hash), extra_entropy);
        self.last_epoch_hash = self.previous_hash;
    }

    /// Takes in a block: what its VRF output contributes, and its predecessor's hash.
    ///
    /// `counts` is whether the block is far enough from the epoch's end to count for the next epoch.
    pub fn apply(&mut self, contribution: Hash32, previous_hash: Nonce, counts: bool) {
        self.evolving = combine(self.evolving, Some(contribution));
        if counts {
            self.candidate = self.evolving;
        }
        self.previous_hash = previous_hash;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_uses_the_hash_noted_two_epochs_before() {
        let mut nonces = Nonces::initial([1; 32]);
        nonces.apply([2; 32], Some([3; 32]), true);
        let one = blake2b_256(&[&[1; 32], &[2; 32]]);
        assert_eq!((nonces.evolving, nonces.candidate), (Some(one), Some(one)));
        nonces.apply([4; 32], Some([5; 32]), false);
        assert_eq!((nonces.evolving, nonces.candidate), (Some(blake2b_256(&[&one, &[4; 32]])), Some(one)));
        nonces.begin_epoch(None);
        assert_eq!(nonces.epoch, Some(one)); // no hash was noted before epoch 0
        nonces.begin_epoch(Some([6; 32]));
        assert_eq!(nonces.epoch, Some(blake2b_256(&[&blake2b_256(&[&one, &[5; 32]]), &[6; 32]])));
    }
}
