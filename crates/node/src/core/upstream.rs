//! Peers whose chains come here: their headers, and the decision which blocks to ask whom for.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use slotmark_chain::block::{body_is_proven, decode_header};
use slotmark_chain::{Hash32, Point, Tip};
use slotmark_tracelog::{Peer, Point as LogPoint, SelectView, forms};
use slotmark_wire::protocols::{block_fetch, chain_sync};

use super::{Core, PeerState};
use crate::chaindb::{Adopted, ChainDb, HeaderFault, ORIGIN, Selection, View, hash_of};
use crate::clock::now_ns;
use crate::error::NodeError;
use crate::options::Stage;
use crate::store::StoredBlock;

/// Requests for headers that are on their way: refilled to the upper mark below the lower one (ouroboros-network).
const LOW_MARK: u32 = 200;
const HIGH_MARK: u32 = 300;
/// Bytes of blocks that are asked of one peer ahead of time.
const MAX_IN_FLIGHT_BYTES: u64 = 2 * 196_608;
/// Requests for blocks of one peer that aren't answered.
const MAX_REQUESTS: usize = 100;
/// Interval at which a peer without a block in common with ours is asked for an intersection.
const INTERSECT_EVERY: Duration = Duration::from_secs(1);
/// Headers that begin so much later by this clock are a breach; sooner ones wait (ouroboros-consensus, `InFutureCheck`).
const FUTURE_NS: i128 = 2_000_000_000;

/// A peer's chain, as far as it came.
#[derive(Debug, Default)]
pub(super) struct Upstream {
    /// The last header of its chain that is in the tree; None before an intersection is found.
    candidate: Option<Hash32>,
    /// Its tip by its last message.
    tip: Option<Tip>,
    /// Requests that aren't answered.
    requests: u32,
    /// Instructions that came and can't be looked at yet.
    held: VecDeque<Instruction>,
    /// Blocks that were asked for, in order; an empty place ends each request.
    expected: VecDeque<Option<Hash32>>,
    /// A candidate whose blocks the peer doesn't have.
    lacking: Option<Hash32>,
    /// The time since when its chain has had no block in common with ours: it may be about to catch up.
    unmatched: Option<Instant>,
}

#[derive(Clone, Debug)]
enum Instruction {
    Forward(Arc<[u8]>),
    Back(Point),
}

impl Upstream {
    pub(super) fn is_held(&self) -> bool {
        !self.held.is_empty()
    }

    fn requests_for_blocks(&self) -> usize {
        self.expected.iter().filter(|expected| expected.is_none()).count()
    }
}

impl PeerState {
    /// The last header of the peer's chain that is in the tree.
    fn candidate(&self) -> Option<&Hash32> {
        self.upstream.as_ref()?.candidate.as_ref()
    }
}

impl Core {
    pub(super) fn upstream_message(&mut self, peer: u32, message: chain_sync::Message) -> Result<(), String> {
        let Some(upstream) = self.upstream_mut(peer) else { return Ok(()) };
        match message {
            chain_sync::Message::IntersectFound(point, tip) => {
                (upstream.tip, upstream.candidate) = (tip, Some(hash_of(&point)));
                if self.db.point(&hash_of(&point)) != Some(point) {
                    return Err(format!("an intersection that was not asked for, {point}"));
                }
                self.ask_for_headers(peer);
            }
            chain_sync::Message::IntersectNotFound(_) => upstream.unmatched = Some(Instant::now()),
            chain_sync::Message::RollForward(header, tip) => {
                upstream.tip = tip;
                upstream.requests = upstream.requests.saturating_sub(1);
                upstream.held.push_back(Instruction::Forward(header));
                return self.look_at_headers(peer);
            }
            chain_sync::Message::RollBackward(point, tip) => {
                upstream.tip = tip;
                upstream.requests = upstream.requests.saturating_sub(1);
                upstream.held.push_back(Instruction::Back(point));
                return self.look_at_headers(peer);
            }
            _ => {}
        }
        Ok(())
    }

    /// Asks again those whose chain had no block in common with ours.
    pub(super) fn try_intersections(&mut self) {
        let points = self.points();
        for peer in self.peers.values_mut() {
            let Some(upstream) = &mut peer.upstream else { continue };
            if upstream.unmatched.is_some_and(|since| since.elapsed() > INTERSECT_EVERY) {
                upstream.unmatched = None;
                peer.send(chain_sync::Message::Request(chain_sync::Request::FindIntersect(points.clone())));
            }
        }
    }

    fn upstream_mut(&mut self, peer: u32) -> Option<&mut Upstream> {
        self.peers.get_mut(&peer)?.upstream.as_mut()
    }

    /// Looks again at what was held back.
    pub(super) fn look_again(&mut self) {
        for peer in self.peers_where(|peer| peer.upstream.as_ref().is_some_and(Upstream::is_held)) {
            if let Err(why) = self.look_at_headers(peer) {
                self.drop_peer(peer, why);
            }
        }
    }

    /// Takes in a peer's instructions in order, up to one that must wait.
    fn look_at_headers(&mut self, peer: u32) -> Result<(), String> {
        while let Some(instruction) = self.upstream_mut(peer).and_then(|upstream| upstream.held.front().cloned()) {
            match instruction {
                Instruction::Back(point) => {
                    let hash = hash_of(&point);
                    if self.db.point(&hash) != Some(point) {
                        return Err(format!("a roll-back to {point}, which is more than k blocks back or not on its chain"));
                    }
                    let Some(upstream) = self.upstream_mut(peer) else { return Ok(()) };
                    upstream.candidate = Some(hash);
                    upstream.held.pop_front();
                }
                Instruction::Forward(header) => {
                    let summary = ChainDb::read(&header).map_err(|fault| fault.to_string())?;
                    let ahead_ns = self.clock.start_of(summary.slot) - now_ns();
                    if ahead_ns > FUTURE_NS {
                        return Err(format!("a header of slot {}, which begins in {} ms", summary.slot, ahead_ns / 1_000_000));
                    }
                    if ahead_ns > 0 || !self.db.can_check(&summary) {
                        return Ok(());
                    }
                    let Some(upstream) = self.upstream_mut(peer) else { return Ok(()) };
                    upstream.held.pop_front();
                    if upstream.candidate != Some(summary.parent) {
                        return Err("a header that does not follow the one before it".into());
                    }
                    let text = hex::encode(summary.hash);
                    self.log.line(forms::DownloadedHeader {
                        peer: Peer(peer),
                        block: text.as_bytes(),
                        number: summary.number as i64,
                        slot: summary.slot as i64,
                    });
                    match self.db.add_header(&header) {
                        Ok(_) => {}
                        // Announced before its block was validated: the peer will go back itself.
                        Err(HeaderFault::BehindInvalid) if !self.options.no_pipelining && self.db.entry(&summary.hash).is_some() => {}
                        Err(fault) => return Err(fault.to_string()),
                    }
                    let Some(upstream) = self.upstream_mut(peer) else { return Ok(()) };
                    upstream.candidate = Some(summary.hash);
                }
            }
        }
        self.note_change();
        self.ask_for_headers(peer);
        Ok(())
    }

    /// Keeps requests for headers on their way: many while the peer is ahead, one at its tip.
    fn ask_for_headers(&mut self, peer: u32) {
        let Some(state) = self.peers.get_mut(&peer) else { return };
        let Some(upstream) = &mut state.upstream else { return };
        let Some(candidate) = upstream.candidate else { return };
        let number = self
            .db
            .entry(&candidate)
            .map(|entry| entry.view.number)
            .or_else(|| (candidate == self.db.root()).then(|| self.db.root_tip().map(|tip| tip.block_no)).flatten());
        let ahead = match (upstream.tip, number) {
            (Some(tip), Some(number)) => tip.block_no.saturating_sub(number),
            (Some(tip), None) => tip.block_no.saturating_add(1),
            (None, _) => 0,
        };
        let ahead = ahead.saturating_sub(upstream.held.len() as u64);
        let target = u32::try_from(ahead).unwrap_or(HIGH_MARK).clamp(1, HIGH_MARK);
        if upstream.requests == 0 || (upstream.requests < LOW_MARK && upstream.requests < target) {
            let more = target - upstream.requests;
            upstream.requests = target;
            for _ in 0..more {
                state.send(chain_sync::Message::Request(chain_sync::Request::RequestNext));
            }
        }
    }

    /// Decides which peers to ask for which blocks, where that is due.
    pub(super) fn decide(&mut self) {
        if self.undecided.is_none_or(|since| Instant::now() < self.decision_at(since)) {
            return;
        }
        self.undecided = None;
        self.last_decision = Instant::now();
        let current = self.db.entry(&self.db.tip_hash()).map(|entry| entry.view);
        let mut candidates: Vec<(View, Hash32)> = Vec::new();
        for peer in self.peers.values() {
            let Some(hash) = peer.candidate() else { continue };
            let Some(entry) = self.db.entry(hash) else { continue };
            let is_better = current.is_none_or(|current| entry.view.is_preferred_to(&current));
            if is_better && !entry.invalid && !candidates.iter().any(|(_, known)| known == hash) {
                candidates.push((entry.view, *hash));
            }
        }
        candidates.sort_by(|(one, _), (other, _)| other.number.cmp(&one.number).then(one.vrf.cmp(&other.vrf)));
        for (_, candidate) in candidates {
            let mut missing = Vec::new();
            let mut hash = candidate;
            while !self.db.on_chain(&hash) {
                let Some(entry) = self.db.entry(&hash) else { break };
                if !entry.has_block && !self.in_flight.contains_key(&hash) {
                    missing.push((hash, entry.body_bytes));
                }
                hash = entry.parent;
            }
            missing.reverse();
            self.ask_for_blocks(&candidate, &missing);
        }
    }

    fn ask_for_blocks(&mut self, candidate: &Hash32, mut missing: &[(Hash32, u64)]) {
        while let Some((first, _)) = missing.first() {
            // Blocks that follow each other, as much as one peer may have on its way.
            let may_take = |peer: &PeerState| -> Option<u64> {
                let upstream = peer.upstream.as_ref()?;
                let own = upstream.candidate.filter(|own| upstream.lacking != Some(*own))?;
                let expected = upstream.expected.iter().flatten().filter_map(|hash| self.db.entry(hash));
                let in_flight: u64 = expected.map(|entry| entry.body_bytes).sum();
                let is_free = in_flight < MAX_IN_FLIGHT_BYTES && upstream.requests_for_blocks() < MAX_REQUESTS;
                (is_free && self.descends(&own, candidate, first)).then_some(in_flight)
            };
            let best =
                self.peers.iter().filter_map(|(number, peer)| Some(((peer.rtt, *number), may_take(peer)?))).min_by_key(|(order, _)| *order);
            let Some(((_, peer), mut in_flight)) = best else { return };
            let mut range: Vec<Hash32> = Vec::new();
            for (hash, bytes) in missing {
                let follows = range.last().is_none_or(|last| self.db.entry(hash).is_some_and(|entry| entry.parent == *last));
                let has = self.peers[&peer].candidate().is_some_and(|own| self.descends(own, candidate, hash));
                if !follows || !has || (in_flight > 0 && in_flight + bytes > MAX_IN_FLIGHT_BYTES) {
                    break;
                }
                in_flight += bytes;
                range.push(*hash);
            }
            let (Some(from), Some(to)) = (range.first(), range.last()) else { return };
            let (Some(from), Some(to_point)) = (self.db.point(from), self.db.point(to)) else { return };
            let head = hex::encode(to);
            self.log.line(forms::SendFetchRequest { peer: Peer(peer), head: head.as_bytes(), length: range.len() as i64 });
            missing = &missing[range.len()..];
            for hash in &range {
                self.in_flight.insert(*hash, peer);
            }
            if let Some(state) = self.peers.get_mut(&peer) {
                state.send(block_fetch::Message::Request(block_fetch::Request::Range(from, to_point)));
                if let Some(upstream) = &mut state.upstream {
                    upstream.expected.extend(range.into_iter().map(Some));
                    upstream.expected.push_back(None);
                }
            }
        }
    }

    /// Returns whether a peer's chain, which ends in `own`, has a block that is on the way to `candidate`.
    fn descends(&self, own: &Hash32, candidate: &Hash32, block: &Hash32) -> bool {
        if own == candidate {
            return true;
        }
        let Some(number) = self.db.entry(block).map(|entry| entry.view.number) else { return false };
        let mut hash = *own;
        while let Some(entry) = self.db.entry(&hash) {
            if entry.view.number <= number {
                return hash == *block;
            }
            hash = entry.parent;
        }
        false
    }

    /// A batch has ended, or there was none. Blocks of it that didn't come are not the peer's: it has gone over to another chain.
    pub(super) fn batch_done(&mut self, peer: u32) {
        let Some(upstream) = self.upstream_mut(peer) else { return };
        let mut missing = Vec::new();
        while let Some(Some(hash)) = upstream.expected.pop_front() {
            missing.push(hash);
        }
        if !missing.is_empty() {
            upstream.lacking = upstream.candidate;
        }
        for hash in missing {
            self.in_flight.remove(&hash);
        }
        self.note_change();
    }

    /// A block that was asked for is here.
    pub(super) fn block(&mut self, peer: u32, bytes: Arc<[u8]>) -> Result<Result<(), String>, NodeError> {
        let Some(block) = StoredBlock::new(bytes).map(Arc::new) else { return Ok(Err("a block that can't be read".into())) };
        // A body that isn't its header's is the peer's fault, and shows nothing about the header.
        if !decode_header(&block.bytes).is_ok_and(|header| body_is_proven(&block.bytes, &header)) {
            return Ok(Err(format!("a block whose body is not its header's, {}", block.point())));
        }
        let Some(upstream) = self.upstream_mut(peer) else { return Ok(Ok(())) };
        if upstream.expected.front() != Some(&Some(block.hash)) {
            return Ok(Err(format!("a block that was not asked for, {}", block.point())));
        }
        upstream.expected.pop_front();
        self.in_flight.remove(&block.hash);
        let text = hex::encode(block.hash);
        self.log.line(forms::CompletedBlockFetch {
            peer: Peer(peer),
            block: text.as_bytes(),
            delay_s: (now_ns() - self.clock.start_of(block.slot)) as f64 / 1e9,
            size_bytes: block.bytes.len() as i64,
        });
        if let Some(share) = self.options.drop_block {
            let drawn = u32::from_be_bytes([block.hash[0], block.hash[1], block.hash[2], block.hash[3]]);
            if f64::from(drawn) < share.0 * 4_294_967_296.0 && self.dropped.insert(block.hash) {
                self.note_change();
                return Ok(Ok(()));
            }
        }
        if self.db.entry(&block.hash).is_none() {
            return Ok(Ok(())); // its fork was given up meanwhile
        }
        let refused = self.add_block(&block)?;
        // A peer that announces a header before its block is validated may send one bad block; not one that is built upon.
        for hash in refused {
            let is_guilty = |own: &Hash32| self.descends(own, &ORIGIN, &hash) && (self.options.no_pipelining || *own != hash);
            for peer in self.peers_where(|peer| peer.candidate().is_some_and(is_guilty)) {
                self.drop_peer(peer, format!("its chain has the block {}, which is not valid", hex::encode(hash)));
            }
        }
        Ok(Ok(()))
    }

    /// Takes a block into the tree, and goes over to the chain that it makes the best one; gives the blocks that were refused.
    pub(super) fn add_block(&mut self, block: &Arc<StoredBlock>) -> Result<Vec<Hash32>, NodeError> {
        self.store.put(block)?;
        self.db.note_block(block);
        let view = self.db.entry(&block.hash).map(|entry| entry.view);
        let extends = block.parent.unwrap_or(ORIGIN) == self.db.tip_hash();
        if let Some(view) = view.filter(|_| extends && !self.options.no_pipelining)
            && self.trap.is_none_or(|trap| {
                view.number > trap.number || (view.number == trap.number && (view.issuer, view.sequence) != (trap.issuer, trap.sequence))
            })
        {
            self.announce_tentatively(block.hash);
        }
        wait(self.options.delay(Stage::Adopt));
        let selection = self.db.select(block.hash)?;
        if let Some(tentative) = self.tentative
            && selection.refused.iter().any(|(hash, _)| *hash == tentative)
        {
            self.trap = self.db.entry(&tentative).map(|entry| entry.view);
            self.withdraw(&tentative);
        }
        self.selected(selection)
    }

    /// Passes on a change of the chain; gives the blocks that were refused.
    fn selected(&mut self, selection: Selection) -> Result<Vec<Hash32>, NodeError> {
        for (hash, why) in &selection.refused {
            eprintln!("slotmark-node: block {} was refused: {why}", hex::encode(hash));
        }
        if let Some(switch) = &selection.switch {
            // A switch is logged with its new tip alone.
            let is_fork = !switch.left.is_empty();
            let logged = if is_fork { switch.joined.len().saturating_sub(1) } else { 0 };
            for Adopted { hash, view } in &switch.joined[logged..] {
                let text = hex::encode(hash);
                let tip = LogPoint { block: Some((text.as_bytes(), view.slot)) };
                let select_view =
                    SelectView { block_no: view.number as i64, slot: view.slot, certificate_no: view.sequence, issuer: 0, vrf: 0 };
                if is_fork {
                    self.log.line_of_selection(view.issuer, view.vrf, forms::SwitchedToAFork { view: select_view, tip });
                } else {
                    self.log.line_of_selection(view.issuer, view.vrf, forms::AddedToCurrentChain { view: select_view, tip });
                }
            }
            self.follow_switch(switch);
            self.refresh_mempool()?;
            self.look_again();
            self.note_change();
        }
        Ok(selection.refused.into_iter().map(|(hash, _)| hash).collect())
    }
}

/// A planted wait.
pub(super) fn wait(time: Duration) {
    if !time.is_zero() {
        std::thread::sleep(time);
    }
}
