//! The way of transactions: from peers and local clients into the mempool, and on to peers.

use std::collections::VecDeque;
use std::sync::Arc;

use slotmark_chain::Hash32;
use slotmark_tracelog::{AnyTransactions, MempoolSize, Peer, Transaction, forms};
use slotmark_wire::protocols::tx_submission::WINDOW;
use slotmark_wire::protocols::{Message, tx_submission};

use super::Core;
use crate::error::NodeError;
use crate::mempool::{Refused, transaction_id};

/// The transactions that this node offers a peer.
#[derive(Debug, Default)]
pub(super) struct Offering {
    /// The number of the last transaction that was offered.
    ticket: u64,
    /// Ids that aren't acknowledged, the oldest first.
    unacknowledged: VecDeque<Hash32>,
    /// Number of ids that the peer waits for.
    waits_for: u16,
}

/// The transactions that a peer offers this node.
#[derive(Debug, Default)]
pub(super) struct Offered {
    /// Ids of the last reply, which are to be acknowledged.
    ids: u16,
    /// Transactions that were asked for.
    wanted: Vec<Hash32>,
    /// Transactions that wait for room in the mempool.
    held: VecDeque<Arc<[u8]>>,
    accepted: i64,
    rejected: i64,
}

impl Core {
    /// A peer asks for ids or transactions.
    pub(super) fn offering_message(&mut self, peer: u32, request: tx_submission::Request) -> Result<(), String> {
        let Some(state) = self.peers.get_mut(&peer) else { return Ok(()) };
        let offering = &mut state.offering;
        match request {
            tx_submission::Request::Ids { blocking, acknowledged, requested } => {
                let before = offering.unacknowledged.len();
                if usize::from(acknowledged) > before {
                    return Err(format!("it acknowledged {acknowledged} transactions of {before}"));
                }
                let left = before - usize::from(acknowledged);
                if left + usize::from(requested) > usize::from(WINDOW) {
                    return Err(format!("it asked for {requested} more transactions beside {left}, where {WINDOW} are allowed"));
                }
                let is_right = if blocking { requested > 0 && left == 0 } else { (acknowledged > 0 || requested > 0) && left > 0 };
                if !is_right || offering.waits_for > 0 {
                    return Err("it asked for ids of transactions in a way that has no place here".into());
                }
                offering.unacknowledged.drain(..usize::from(acknowledged));
                offering.waits_for = requested;
                self.offer(peer, !blocking);
            }
            tx_submission::Request::Transactions(ids) => {
                // One that is asked for again and again would make answers of any size.
                if ids.len() > offering.unacknowledged.len() || ids.iter().any(|id| !offering.unacknowledged.contains(id)) {
                    return Err("it asked for other or more transactions than were offered".into());
                }
                let transactions = ids.iter().filter_map(|id| self.mempool.get(id)).map(|waiting| waiting.bytes.clone()).collect();
                state.send(tx_submission::Message::Transactions(transactions));
            }
        }
        Ok(())
    }

    /// Sends ids to a peer that waits for some; an empty list only where it doesn't wait for one at least.
    fn offer(&mut self, peer: u32, may_be_empty: bool) {
        let Some(state) = self.peers.get_mut(&peer) else { return };
        let offering = &mut state.offering;
        let next: Vec<(Hash32, u32, u64)> = self
            .mempool
            .after(offering.ticket)
            .take(usize::from(offering.waits_for))
            .map(|waiting| (waiting.id, waiting.bytes.len() as u32, waiting.ticket))
            .collect();
        if next.is_empty() && !may_be_empty {
            return;
        }
        offering.waits_for = 0;
        offering.ticket = next.last().map_or(offering.ticket, |(_, _, ticket)| *ticket);
        offering.unacknowledged.extend(next.iter().map(|(id, _, _)| *id));
        state.send(tx_submission::Message::Ids(next.into_iter().map(|(id, bytes, _)| (id, bytes)).collect()));
    }

    fn offer_to_all(&mut self) {
        self.peers_where(|peer| peer.offering.waits_for > 0).into_iter().for_each(|peer| self.offer(peer, false));
    }

    /// A peer offers ids or transactions; the inner error is what it did wrong.
    pub(super) fn offered_message(&mut self, peer: u32, message: tx_submission::Message) -> Result<Result<(), String>, NodeError> {
        let Some(state) = self.peers.get_mut(&peer) else { return Ok(Ok(())) };
        match message {
            tx_submission::Message::Init => self.ask_for_ids(peer),
            tx_submission::Message::Ids(ids) => {
                state.offered.ids = ids.len() as u16;
                let wanted: Vec<Hash32> = ids.into_iter().map(|(id, _)| id).filter(|id| !self.mempool.has(id)).collect();
                if wanted.is_empty() {
                    self.ask_for_ids(peer);
                } else {
                    state.offered.wanted = wanted.clone();
                    state.send(tx_submission::Message::Request(tx_submission::Request::Transactions(wanted)));
                }
            }
            tx_submission::Message::Transactions(transactions) => {
                if transactions.len() > state.offered.wanted.len() {
                    let wanted = state.offered.wanted.len();
                    return Ok(Err(format!("it sent {} transactions, {wanted} were asked for", transactions.len())));
                }
                self.log.line(forms::TxInboundCollected { peer: Peer(peer), count: transactions.len() as i64 });
                (state.offered.accepted, state.offered.rejected) = (0, 0);
                state.offered.held.extend(transactions);
                return self.take_transactions(peer);
            }
            _ => {}
        }
        Ok(Ok(()))
    }

    fn ask_for_ids(&mut self, peer: u32) {
        let Some(state) = self.peers.get_mut(&peer) else { return };
        let acknowledged = std::mem::take(&mut state.offered.ids);
        state.send(Message::TxSubmission(tx_submission::Message::Request(tx_submission::Request::Ids {
            blocking: true,
            acknowledged,
            requested: WINDOW,
        })));
    }

    /// Offers a peer's transactions to the mempool, for as long as there is room; the inner error is what the peer did wrong.
    fn take_transactions(&mut self, peer: u32) -> Result<Result<(), String>, NodeError> {
        while let Some(bytes) = self.peers.get_mut(&peer).and_then(|state| state.offered.held.front().cloned()) {
            let added = self.add_transaction(&bytes)?;
            if added == Err(Refused::Full) {
                return Ok(Ok(())); // goes on where a block makes room
            }
            let Some(state) = self.peers.get_mut(&peer) else { return Ok(Ok(())) };
            state.offered.held.pop_front();
            match added {
                Ok(id) if !state.offered.wanted.contains(&id) => return Ok(Err("it sent a transaction that was not asked for".into())),
                Ok(_) => state.offered.accepted += 1,
                Err(_) => state.offered.rejected += 1,
            }
        }
        let Some(state) = self.peers.get_mut(&peer) else { return Ok(Ok(())) };
        let (accepted, rejected) = (state.offered.accepted, state.offered.rejected);
        self.log.line(forms::TxInboundProcessed { peer: Peer(peer), accepted, rejected });
        self.mempool_grew();
        self.ask_for_ids(peer);
        Ok(Ok(()))
    }

    /// Offers a transaction to the mempool; the inner error is why it isn't taken.
    pub(super) fn add_transaction(&mut self, bytes: &[u8]) -> Result<Result<Hash32, Refused>, NodeError> {
        let added = self.with_mempool(|mempool, rules, max_body_bytes| mempool.add(bytes, rules, max_body_bytes))?;
        let added = added.unwrap_or_else(|| Err(Refused::Invalid("the ledger is not known".into())));
        match &added {
            Ok(id) => {
                let transaction = Transaction(short(id));
                self.log.line(forms::AddedTx { mempool: self.mempool_size(), transaction });
            }
            Err(Refused::Invalid(_)) => {
                let transaction = Transaction(short(&transaction_id(bytes)));
                self.log.line(forms::RejectedTx { mempool: self.mempool_size(), transaction });
            }
            Err(Refused::Known | Refused::Full) => {}
        }
        Ok(added)
    }

    /// Passes on what the mempool took in: to peers, and to local clients that wait for a change of it.
    pub(super) fn mempool_grew(&mut self) {
        self.offer_to_all();
        self.mempool_changed();
    }

    fn mempool_size(&self) -> MempoolSize {
        MempoolSize { bytes: self.mempool.bytes(), transactions: self.mempool.len() as u32 }
    }

    /// Takes out of the mempool what a new tip made invalid, and goes on with what waited for room.
    pub(super) fn refresh_mempool(&mut self) -> Result<(), NodeError> {
        if !self.mempool.is_empty() {
            let left = self.with_mempool(|mempool, rules, _| mempool.revalidate(rules))?.unwrap_or_default();
            if !left.is_empty() {
                let numbers: Vec<u32> = left.iter().map(short).collect();
                self.log.line(forms::RemoveTxs { mempool: self.mempool_size(), transactions: AnyTransactions(&numbers) });
            }
        }
        // Local clients first, who wait with one transaction each: a peer with many could take all room again and again.
        for peer in self.peers_where(|peer| peer.local.submits()) {
            self.submit(peer)?;
        }
        for peer in self.peers_where(|peer| !peer.offered.held.is_empty()) {
            if let Err(why) = self.take_transactions(peer)? {
                self.drop_peer(peer, why);
            }
        }
        self.mempool_changed();
        Ok(())
    }
}

/// Returns a transaction's id as log lines have it.
fn short(id: &Hash32) -> u32 {
    u32::from_be_bytes([id[0], id[1], id[2], id[3]])
}
