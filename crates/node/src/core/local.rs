//! What local clients ask: transactions to submit, the state at the tip, and what is in the mempool.

use std::collections::VecDeque;
use std::sync::Arc;

use minicbor::Decoder;
use minicbor::data::Tag;
use slotmark_chain::block::decode_output;
use slotmark_chain::{Hash32, Point, Tip};
use slotmark_ouroboros::message::{MessageError, list, put_point};
use slotmark_praos::stake::Stake;
use slotmark_tracelog::date_of;

use super::Core;
use crate::chaindb::slot_of;
use crate::clock::now_ns;
use crate::local::{Local, Target};
use crate::mempool::{Mempool, Refused};
use crate::message::{Message, hash, put};

/// The era of all queries: Conway.
const ERA: u64 = 6;
/// Picoseconds a millisecond.
const PICOS: u64 = 1_000_000_000;
const DAY_MS: u64 = 86_400_000;

/// What a local client holds.
#[derive(Debug, Default)]
pub(super) struct LocalState {
    /// The tip when a state was acquired.
    acquired: Option<Option<Tip>>,
    mempool: Option<HeldMempool>,
    /// Whether it waits for the mempool to change.
    waits: bool,
    /// A transaction that waits for room in the mempool.
    submitted: Option<Arc<[u8]>>,
}

impl LocalState {
    /// Whether a transaction waits for room.
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
    pub(super) fn local_message(&mut self, peer: u32, message: Local) -> Result<(), String> {
        let tip = self.tip();
        let reply = match message {
            Local::Submit(bytes) => {
                let Some(state) = self.peers.get_mut(&peer) else { return Ok(()) };
                if state.local.submits() {
                    return Err("a transaction while another one waits for its answer".into());
                }
                state.local.submitted = Some(bytes);
                self.submit(peer);
                return Ok(());
            }
            Local::Acquire(target) => {
                let held = match target {
                    Target::Tip => Ok(()),
                    Target::At(point) if point == tip.map_or(Point::Origin, |tip| tip.point) => Ok(()),
                    // Only the tip's state is there.
                    Target::At(point) if !self.is_on_chain(&point) => Err(1),
                    Target::At(_) | Target::Immutable => Err(0),
                };
                let Some(state) = self.peers.get_mut(&peer) else { return Ok(()) };
                state.local.acquired = held.is_ok().then_some(tip);
                held.map_or_else(Local::NotAcquired, |()| Local::Acquired)
            }
            Local::Release => {
                let Some(state) = self.peers.get_mut(&peer) else { return Ok(()) };
                state.local.acquired = None;
                return Ok(());
            }
            Local::Query(query) => {
                let acquired = self.peers.get(&peer).and_then(|state| state.local.acquired);
                let Some(acquired) = acquired else { return Err("a query without a state".into()) };
                Local::Answer(self.answer(&query, acquired).map_err(|error| format!("a query that is not known here: {error}"))?)
            }
            Local::AcquireMempool => {
                let held = self.peers.get(&peer).and_then(|state| state.local.mempool.as_ref());
                let ids: Option<Vec<Hash32>> = held.map(|held| held.transactions.iter().map(|(id, _)| *id).collect());
                if ids.is_some_and(|ids| self.mempool.after(0).map(|waiting| waiting.id).eq(ids)) {
                    if let Some(state) = self.peers.get_mut(&peer) {
                        state.local.waits = true;
                    }
                    return Ok(());
                }
                self.hold_mempool(peer);
                return Ok(());
            }
            Local::Done(_) => {
                if let Some(state) = self.peers.get_mut(&peer) {
                    state.local = LocalState::default();
                }
                return Ok(());
            }
            Local::ReleaseMempool => {
                if let Some(state) = self.peers.get_mut(&peer) {
                    (state.local.mempool, state.local.waits) = (None, false);
                }
                return Ok(());
            }
            Local::NextTx | Local::HasTx(_) | Local::GetSizes => {
                let held = self.peers.get_mut(&peer).and_then(|state| state.local.mempool.as_mut());
                let Some(held) = held else { return Err("a question about a mempool that it does not hold".into()) };
                match message {
                    Local::NextTx => Local::Tx(held.left.pop_front().map(|place| held.transactions[place].1.clone())),
                    Local::HasTx(id) => Local::Has(held.transactions.iter().any(|(known, _)| *known == id)),
                    _ => Local::Sizes(held.sizes.0, held.sizes.1, held.sizes.2),
                }
            }
            _ => return Err("a message that only a node sends".into()),
        };
        if let Some(state) = self.peers.get(&peer) {
            state.send(Message::Local(reply));
        }
        Ok(())
    }

    /// Offers a client's transaction to the mempool, and answers the client; not yet where there is no room.
    pub(super) fn submit(&mut self, peer: u32) {
        let Some(bytes) = self.peers.get(&peer).and_then(|state| state.local.submitted.clone()) else { return };
        let reply = match self.add_transaction(&bytes) {
            Ok(_) => Local::Accepted,
            Err(Refused::Known) => Local::Refused("the transaction is in the mempool already".into()),
            Err(Refused::Full) => return,
            Err(Refused::Invalid(why)) => Local::Refused(why),
        };
        if let Some(state) = self.peers.get_mut(&peer) {
            state.local.submitted = None;
            state.send(Message::Local(reply));
        }
        self.mempool_grew();
    }

    fn hold_mempool(&mut self, peer: u32) {
        let slot = self.clock.slot_at(now_ns()).unwrap_or(0);
        let max_body_bytes = self.db.genesis().parameters.max_body_bytes;
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

    /// The result of a query, as encoded.
    fn answer(&self, query: &[u8], acquired: Option<Tip>) -> Result<Vec<u8>, MessageError> {
        let unknown = || Err(MessageError::Malformed(format!("query {}", hex::encode(&query[..query.len().min(64)]))));
        let mut decoder = Decoder::new(query);
        decoder.array()?;
        let mut out = Vec::new();
        match decoder.u64()? {
            0 => {
                decoder.array()?;
                match decoder.u64()? {
                    // The era of the tip.
                    2 => {
                        decoder.array()?;
                        if decoder.u64()? != 1 {
                            return unknown();
                        }
                        put(&mut out, |e| e.u64(ERA)?.ok());
                    }
                    0 => {
                        decoder.array()?;
                        let era = decoder.u64()?;
                        if era != ERA {
                            put(&mut out, |e| e.array(2)?.array(2)?.u64(era)?.str(era_name(era))?.array(2)?.u64(ERA)?.str("Conway")?.ok());
                            return Ok(out);
                        }
                        out.push(0x81);
                        decoder.array()?;
                        match decoder.u64()? {
                            1 => {
                                let epoch = acquired.map_or(0, |tip| slot_of(&tip.point)) / self.db.genesis().epoch_slots;
                                put(&mut out, |e| e.u64(epoch)?.ok());
                            }
                            6 => {
                                let addresses = set(&mut decoder, |decoder| Ok(decoder.bytes()?.to_vec()))?;
                                self.put_unspent(&mut out, |_, _, address| addresses.iter().any(|known| known == address));
                            }
                            15 => {
                                let places = set(&mut decoder, |decoder| {
                                    decoder.array()?;
                                    Ok((hash(decoder)?, decoder.u64()?))
                                })?;
                                self.put_unspent(&mut out, |id, index, _| places.contains(&(*id, index)));
                            }
                            _ => return unknown(),
                        }
                    }
                    _ => return unknown(),
                }
            }
            // Year, day of the year, picoseconds of the day.
            1 => {
                let start_ms = self.settings.network.start_ms;
                let days = start_ms / DAY_MS;
                let (year, ..) = date_of(days);
                // The days from 1 January to this one.
                let day = (0..=days).rev().take_while(|day| date_of(*day).0 == year).count() as u64;
                put(&mut out, |e| e.array(3)?.u64(year)?.u64(day)?.u64(start_ms % DAY_MS * PICOS)?.ok());
            }
            2 => match acquired {
                Some(tip) => put(&mut out, |e| e.array(2)?.u8(1)?.u64(tip.block_no)?.ok()),
                None => put(&mut out, |e| e.array(1)?.u8(0)?.ok()),
            },
            3 => put_point(&mut out, &acquired.map_or(Point::Origin, |tip| tip.point)),
            _ => return unknown(),
        }
        Ok(out)
    }

    /// Appends a map of unspent outputs.
    fn put_unspent(&self, out: &mut Vec<u8>, wanted: impl Fn(&Hash32, u64, &[u8]) -> bool) {
        let address = |encoded: &[u8]| decode_output(encoded).map(|output| output.address.of(encoded).to_vec()).unwrap_or_default();
        let all = self.db.ledger().stake().into_iter().flat_map(Stake::all_unspent);
        let mut found: Vec<_> = all.filter(|(id, index, encoded)| wanted(id, *index, &address(encoded))).collect();
        found.sort_by_key(|(id, index, _)| (**id, *index));
        put(out, |e| e.map(found.len() as u64)?.ok());
        for (id, index, encoded) in found {
            put(out, |e| e.array(2)?.bytes(id)?.u64(index)?.ok());
            out.extend_from_slice(encoded);
        }
    }
}

/// Reads a set, with its tag or without.
fn set<T>(decoder: &mut Decoder<'_>, item: impl FnMut(&mut Decoder<'_>) -> Result<T, MessageError>) -> Result<Vec<T>, MessageError> {
    if decoder.datatype()? == minicbor::data::Type::Tag && decoder.tag()? != Tag::new(258) {
        return Err(MessageError::Malformed("a tag other than 258".into()));
    }
    list(decoder, item)
}

fn era_name(era: u64) -> &'static str {
    ["Byron", "Shelley", "Allegra", "Mary", "Alonzo", "Babbage"].get(era as usize).copied().unwrap_or("Dijkstra")
}
