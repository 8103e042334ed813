//! Requests of local clients: transactions to submit, the state at the tip, and the content of the mempool.

use std::collections::VecDeque;
use std::sync::Arc;

use slotmark_chain::{Hash32, Point, Tip};
use slotmark_wire::message::{Local, Message, Target};

use super::Core;
use crate::clock::now_ns;
use crate::error::NodeError;
use crate::mempool::{Mempool, Refused};

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
    /// Deals with a local client's message; the inner error is what the client did wrong.
    pub(super) fn local_message(&mut self, peer: u32, message: Local) -> Result<Result<(), String>, NodeError> {
        let tip = self.tip();
        let reply = match message {
            Local::Submit(bytes) => {
                let Some(state) = self.peers.get_mut(&peer) else { return Ok(Ok(())) };
                if state.local.submits() {
                    return Ok(Err("a transaction while another one waits for its answer".into()));
                }
                state.local.submitted = Some(bytes);
                return self.submit(peer).map(Ok);
            }
            Local::Acquire(target) => {
                let held = match target {
                    Target::Tip => Ok(()),
                    Target::At(point) if point == tip.map_or(Point::Origin, |tip| tip.point) => Ok(()),
                    // Only the tip's state is there.
                    Target::At(point) if !self.is_on_chain(&point) => Err(1),
                    Target::At(_) | Target::Immutable => Err(0),
                };
                let Some(state) = self.peers.get_mut(&peer) else { return Ok(Ok(())) };
                state.local.acquired = held.is_ok().then_some(tip);
                held.map_or_else(Local::NotAcquired, |()| Local::Acquired)
            }
            Local::Release => {
                let Some(state) = self.peers.get_mut(&peer) else { return Ok(Ok(())) };
                state.local.acquired = None;
                return Ok(Ok(()));
            }
            Local::Query(query) => {
                let acquired = self.peers.get(&peer).and_then(|state| state.local.acquired);
                let Some(acquired) = acquired else { return Ok(Err("a query without a state".into())) };
                match self.answer(&query, acquired) {
                    Ok(answer) => Local::Answer(answer),
                    Err(error) => return Ok(Err(format!("a query that is not answered here: {error}"))),
                }
            }
            Local::AcquireMempool => {
                let held = self.peers.get(&peer).and_then(|state| state.local.mempool.as_ref());
                let ids: Option<Vec<Hash32>> = held.map(|held| held.transactions.iter().map(|(id, _)| *id).collect());
                if ids.is_some_and(|ids| self.mempool.after(0).map(|waiting| waiting.id).eq(ids)) {
                    if let Some(state) = self.peers.get_mut(&peer) {
                        state.local.waits = true;
                    }
                    return Ok(Ok(()));
                }
                self.hold_mempool(peer);
                return Ok(Ok(()));
            }
            Local::Done(_) => {
                if let Some(state) = self.peers.get_mut(&peer) {
                    state.local = LocalState::default();
                }
                return Ok(Ok(()));
            }
            Local::ReleaseMempool => {
                if let Some(state) = self.peers.get_mut(&peer) {
                    (state.local.mempool, state.local.waits) = (None, false);
                }
                return Ok(Ok(()));
            }
            Local::NextTx | Local::HasTx(_) | Local::GetSizes => {
                let held = self.peers.get_mut(&peer).and_then(|state| state.local.mempool.as_mut());
                let Some(held) = held else { return Ok(Err("a question about a mempool that it does not hold".into())) };
                match message {
                    Local::NextTx => Local::Tx(held.left.pop_front().map(|place| held.transactions[place].1.clone())),
                    Local::HasTx(id) => Local::Has(held.transactions.iter().any(|(known, _)| *known == id)),
                    _ => Local::Sizes(held.sizes.0, held.sizes.1, held.sizes.2),
                }
            }
            _ => return Ok(Err("a message that only a node sends".into())),
        };
        self.db.sound()?; // what couldn't be looked up is missing from an answer
        if let Some(state) = self.peers.get(&peer) {
            state.send(Message::Local(reply));
        }
        Ok(Ok(()))
    }

    /// Offers a client's transaction to the mempool, and answers the client; not yet where there is no room.
    pub(super) fn submit(&mut self, peer: u32) -> Result<(), NodeError> {
        let Some(bytes) = self.peers.get(&peer).and_then(|state| state.local.submitted.clone()) else { return Ok(()) };
        let reply = match self.add_transaction(&bytes)? {
            Ok(_) => Local::Accepted,
            Err(Refused::Known) => Local::Refused("the transaction is in the mempool already".into()),
            Err(Refused::Full) => return Ok(()),
            Err(Refused::Invalid(why)) => Local::Refused(why),
        };
        if let Some(state) = self.peers.get_mut(&peer) {
            state.local.submitted = None;
            state.send(Message::Local(reply));
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
        state.send(Message::Local(Local::MempoolAcquired(slot)));
    }

    /// Goes on with clients that wait for a change of the mempool.
    pub(super) fn mempool_changed(&mut self) {
        let ids: Vec<Hash32> = self.mempool.after(0).map(|waiting| waiting.id).collect();
        let changed = |held: &HeldMempool| !held.transactions.iter().map(|(id, _)| id).eq(&ids);
        let waiting = self.peers_where(|peer| peer.local.waits && peer.local.mempool.as_ref().is_some_and(changed));
        waiting.into_iter().for_each(|peer| self.hold_mempool(peer));
    }
}
