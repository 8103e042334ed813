//! Requests of local clients: transactions to submit, the state at the tip, and the content of the mempool.

use std::collections::VecDeque;
use std::sync::Arc;

use slotmark_chain::{Hash32, Point, Tip};
use slotmark_wire::protocols::local_state_query::Target;
use slotmark_wire::protocols::{Message, local_state_query, local_tx_monitor, local_tx_submission};

use super::Core;
use crate::clock::now_ns;
use crate::error::NodeError;
use crate::mempool::{Mempool, Refused};

const FROM_A_NODE: &str = "a message that only a node sends";

/// The state of a local client.
#[derive(Debug, Default)]
pub(super) struct LocalState {
    /// The tip when a state was acquired.
    acquired: Option<Option<Tip>>,
    mempool: Option<HeldMempool>,
    /// True while it waits for the mempool to change.
    waits: bool,
    /// A transaction that waits for room in the mempool.
    submitted: Option<Arc<[u8]>>,
}

impl LocalState {
    /// Returns whether a transaction waits for room.
    pub(super) fn submits(&self) -> bool {
        self.submitted.is_some()
    }
}

/// The mempool as a client holds it.
#[derive(Debug)]
struct HeldMempool {
    transactions: Vec<(Hash32, Arc<[u8]>)>,
    left: VecDeque<usize>,
    sizes: (u64, u64, u64),
}

impl Core {
    /// Deals with a message of transaction submission; the inner error is what the client did wrong.
    pub(super) fn submission_message(&mut self, peer: u32, message: local_tx_submission::Message) -> Result<Result<(), String>, NodeError> {
        use local_tx_submission::Message;
        let Some(state) = self.peers.get_mut(&peer) else { return Ok(Ok(())) };
        match message {
            Message::Submit(_) if state.local.submits() => {
                return Ok(Err("a transaction while another one waits for its answer".into()));
            }
            Message::Submit(bytes) => state.local.submitted = Some(bytes),
            Message::Done => {
                state.local.submitted = None;
                return Ok(Ok(()));
            }
            Message::Accepted | Message::Refused(_) => return Ok(Err(FROM_A_NODE.into())),
        }
        self.submit(peer).map(Ok)
    }

    /// Deals with a message of state queries; the inner error is what the client did wrong.
    pub(super) fn query_message(&mut self, peer: u32, message: local_state_query::Message) -> Result<Result<(), String>, NodeError> {
        use local_state_query::Message;
        let tip = self.tip();
        let reply = match message {
            Message::Acquire(target) => {
                let held = match target {
                    Target::Tip => Ok(()),
                    Target::At(point) if point == tip.map_or(Point::Origin, |tip| tip.point) => Ok(()),
                    // Only the tip's state is there.
                    Target::At(point) if !self.is_on_chain(&point) => Err(1),
                    Target::At(_) | Target::Immutable => Err(0),
                };
                let Some(state) = self.peers.get_mut(&peer) else { return Ok(Ok(())) };
                state.local.acquired = held.is_ok().then_some(tip);
                held.map_or_else(Message::NotAcquired, |()| Message::Acquired)
            }
            Message::Query(query) => {
                let acquired = self.peers.get(&peer).and_then(|state| state.local.acquired);
                let Some(acquired) = acquired else { return Ok(Err("a query without a state".into())) };
                match self.answer(&query, acquired) {
                    Ok(answer) => Message::Answer(answer),
                    Err(error) => return Ok(Err(format!("a query that is not answered here: {error}"))),
                }
            }
            Message::Release | Message::Done => {
                let Some(state) = self.peers.get_mut(&peer) else { return Ok(Ok(())) };
                state.local.acquired = None;
                return Ok(Ok(()));
            }
            Message::Acquired | Message::NotAcquired(_) | Message::Answer(_) => return Ok(Err(FROM_A_NODE.into())),
        };
        self.reply(peer, reply)
    }

    /// Deals with a message of the mempool's monitor; the inner error is what the client did wrong.
    pub(super) fn monitor_message(&mut self, peer: u32, message: local_tx_monitor::Message) -> Result<Result<(), String>, NodeError> {
        use local_tx_monitor::Message;
        let Some(state) = self.peers.get_mut(&peer) else { return Ok(Ok(())) };
        let held = state.local.mempool.as_mut().ok_or("a question about a mempool that it does not hold");
        let reply = match (message, held) {
            (Message::Acquire, held) => {
                let ids = held.ok().map(|held| held.transactions.iter().map(|(id, _)| *id));
                if ids.is_some_and(|ids| self.mempool.after(0).map(|waiting| waiting.id).eq(ids)) {
                    state.local.waits = true;
                } else {
                    self.hold_mempool(peer);
                }
                return Ok(Ok(()));
            }
            (Message::Release | Message::Done, _) => {
                (state.local.mempool, state.local.waits) = (None, false);
                return Ok(Ok(()));
            }
            (Message::Acquired(_) | Message::Tx(_) | Message::Has(_) | Message::Sizes(..), _) => return Ok(Err(FROM_A_NODE.into())),
            (_, Err(why)) => return Ok(Err(why.into())),
            (Message::NextTx, Ok(held)) => Message::Tx(held.left.pop_front().map(|place| held.transactions[place].1.clone())),
            (Message::HasTx(id), Ok(held)) => Message::Has(held.transactions.iter().any(|(known, _)| *known == id)),
            (Message::GetSizes, Ok(held)) => Message::Sizes(held.sizes.0, held.sizes.1, held.sizes.2),
        };
        self.reply(peer, reply)
    }

    fn reply(&self, peer: u32, reply: impl Into<Message>) -> Result<Result<(), String>, NodeError> {
        self.db.sound()?; // what couldn't be looked up is missing from an answer
        if let Some(state) = self.peers.get(&peer) {
            state.send(reply);
        }
        Ok(Ok(()))
    }

    /// Offers a client's transaction to the mempool, and answers the client; not yet where there is no room.
    pub(super) fn submit(&mut self, peer: u32) -> Result<(), NodeError> {
        let Some(bytes) = self.peers.get(&peer).and_then(|state| state.local.submitted.clone()) else { return Ok(()) };
        let reply = match self.add_transaction(&bytes)? {
            Ok(_) => local_tx_submission::Message::Accepted,
            Err(Refused::Known) => local_tx_submission::Message::Refused("the transaction is in the mempool already".into()),
            Err(Refused::Full) => return Ok(()),
            Err(Refused::Invalid(why)) => local_tx_submission::Message::Refused(why),
        };
        if let Some(state) = self.peers.get_mut(&peer) {
            state.local.submitted = None;
            state.send(reply);
        }
        self.mempool_grew();
        Ok(())
    }

    fn hold_mempool(&mut self, peer: u32) {
        let slot = self.clock.slot_at(now_ns()).unwrap_or(0);
        let max_body_bytes = self.db.genesis().shelley.parameters.max_body_bytes;
        let transactions: Vec<(Hash32, Arc<[u8]>)> = self.mempool.after(0).map(|waiting| (waiting.id, waiting.bytes.clone())).collect();
        let sizes = (Mempool::capacity(max_body_bytes), self.mempool.bytes(), transactions.len() as u64);
        let Some(state) = self.peers.get_mut(&peer) else { return };
        let left = (0..transactions.len()).collect();
        state.local.mempool = Some(HeldMempool { transactions, left, sizes });
        state.local.waits = false;
        state.send(local_tx_monitor::Message::Acquired(slot));
    }

    /// Goes on with clients that wait for a change of the mempool.
    pub(super) fn mempool_changed(&mut self) {
        let ids: Vec<Hash32> = self.mempool.after(0).map(|waiting| waiting.id).collect();
        let changed = |held: &HeldMempool| !held.transactions.iter().map(|(id, _)| id).eq(&ids);
        let waiting = self.peers_where(|peer| peer.local.waits && peer.local.mempool.as_ref().is_some_and(changed));
        waiting.into_iter().for_each(|peer| self.hold_mempool(peer));
    }
}
