//! Full blocks of transactions that move value, and of others that do what else the ledger knows.
//!
//! The first block begins with the transactions that give each actor its thread.

use super::TransactionSource;
use super::value_only::ValueOnly;
use crate::actions::{Action, Actor, Shares};
use crate::random::Stream;
use crate::transaction::{Draft, NewOutput, Spec, payload, settle};
use crate::wallet::Wallet;

/// Number of actors.
const ACTORS: usize = 64;
/// Least lovelace of a coin that becomes a thread.
const LEAST: u64 = 1_000_000_000_000;
/// The metadata's label, and its bytes.
const LABEL: u64 = 0;
const METADATA_BYTES: usize = 1_000;
/// Bytes of a transaction beyond its size.
const OVERHEAD_BYTES: usize = 4;

pub(crate) struct Acting {
    shares: Shares,
    value: ValueOnly,
    actors: Vec<Actor>,
    epoch_slots: u64,
}

impl Acting {
    pub(crate) fn new(shares: Shares, value: ValueOnly, epoch_slots: u64) -> Self {
        Self { shares, value, actors: Vec::new(), epoch_slots }
    }

    /// The transactions that make all actors; each has a coin of its own.
    fn begin(&mut self, wallet: &mut Wallet, stream: &mut Stream) -> Option<Vec<Draft>> {
        let mut drafts = Vec::with_capacity(ACTORS);
        let mut signers = Vec::new();
        while drafts.len() < ACTORS {
            let coin = wallet.take_of(LEAST, stream)?;
            let signer = coin.owner.payment;
            if signers.contains(&signer) {
                wallet.put(coin);
                continue;
            }
            signers.push(signer);
            let key = wallet.keys.payment_hash(signer);
            let mut actor = Actor::new(signer, key, coin.reference, coin.lovelace);
            let (draft, left) = settle(|fee| {
                let left = coin.lovelace.checked_sub(fee)?;
                let outputs = vec![NewOutput::to(actor.address(), left)];
                Some((Spec { inputs: vec![coin.reference], outputs, fee, signers: vec![signer], ..Spec::default() }, left))
            })?;
            actor.begin(draft.output(0), left);
            self.actors.push(actor);
            drafts.push(draft);
        }
        Some(drafts)
    }
}

impl TransactionSource for Acting {
    fn transactions(&mut self, wallet: &mut Wallet, slot: u64, stream: &mut Stream) -> Option<Vec<Draft>> {
        if self.actors.is_empty() {
            return self.begin(wallet, stream);
        }
        let mut room = self.value.room();
        let mut drafts = Vec::with_capacity(room / 512);
        // No transaction is larger than metadata and all else together; what is left below that is the block's slack.
        while room > 2 * METADATA_BYTES {
            let draft = match self.shares.draw(stream) {
                Action::Value => self.value.one(wallet, &[], stream)?,
                Action::Metadata => {
                    let mut bytes = [0; METADATA_BYTES];
                    stream.fill(&mut bytes);
                    self.value.one(wallet, &payload(LABEL, &bytes), stream)?
                }
                action => {
                    let place = stream.below(self.actors.len() as u64) as usize;
                    self.actors[place].act(action, slot / self.epoch_slots, &[], stream)?
                }
            };
            room = room.saturating_sub(draft.tx_bytes() + OVERHEAD_BYTES);
            drafts.push(draft);
        }
        Some(drafts)
    }
}
