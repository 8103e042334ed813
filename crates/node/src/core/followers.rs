//! Serving the chain: peers and local clients that follow it, each at a point of its own.

use slotmark_chain::{Hash32, Point, Tip};
use slotmark_tracelog::{Peer, Point as LogPoint, Tip as LogTip, forms};
use slotmark_wire::message::ChainSyncRequest;

use super::Core;
use crate::chaindb::{ORIGIN, Switch, hash_of, slot_of};
use crate::log::Log;
use crate::message::Message;
use crate::store::StoredBlock;

/// The position of a peer that follows the chain.
#[derive(Debug)]
pub(super) struct Follower {
    at: Point,
    /// True where it must be sent back to `at` first.
    goes_back: bool,
    /// Requests that aren't answered.
    requests: u32,
    /// True where it was sent the message to wait.
    waits: bool,
}

impl Default for Follower {
    fn default() -> Self {
        Self { at: Point::Origin, goes_back: true, requests: 0, waits: false }
    }
}

/// The item behind a follower's point.
enum Next {
    Entry(Hash32),
    Settled(usize),
}

impl Core {
    pub(super) fn follow(&mut self, peer: u32, request: ChainSyncRequest) -> Result<(), String> {
        match request {
            ChainSyncRequest::RequestNext => {
                let Some(state) = self.peers.get_mut(&peer) else { return Ok(()) };
                state.follower.requests += 1;
                self.serve(peer);
            }
            ChainSyncRequest::FindIntersect(points) => {
                let found = points.into_iter().find(|point| self.is_on_chain(point));
                let tip = self.tip();
                let Some(state) = self.peers.get_mut(&peer) else { return Ok(()) };
                match found {
                    Some(point) => {
                        (state.follower.at, state.follower.goes_back) = (point, true);
                        state.send(Message::IntersectFound(point, tip));
                    }
                    None => state.send(Message::IntersectNotFound(tip)),
                }
            }
            ChainSyncRequest::Done => {
                if let Some(state) = self.peers.get_mut(&peer) {
                    state.follower = Follower::default();
                }
            }
        }
        Ok(())
    }

    pub(super) fn is_on_chain(&self, point: &Point) -> bool {
        match point {
            Point::Origin => true,
            Point::Block { hash, .. } => {
                (self.db.on_chain(hash) && self.db.point(hash) == Some(*point)) || self.store.find_settled(point).is_some()
            }
        }
    }

    /// Returns the item behind a point of the chain.
    fn next_after(&self, at: &Point, with_tentative: bool) -> Option<Next> {
        let hash = hash_of(at);
        let chain = self.db.chain();
        let tentative = || self.tentative.filter(|_| with_tentative);
        if let Some(place) = self.db.place(&hash) {
            return chain.get(place + 1).copied().or_else(tentative).map(Next::Entry);
        }
        if hash == self.db.root() {
            return chain.front().copied().or_else(tentative).map(Next::Entry);
        }
        if hash == ORIGIN {
            return Some(Next::Settled(0));
        }
        let place = self.store.find_settled(at)?;
        Some(Next::Settled(place + 1))
    }

    /// Answers a follower's requests, as far as there are answers.
    pub(super) fn serve(&mut self, peer: u32) {
        loop {
            let Some(state) = self.peers.get(&peer) else { return };
            let (follower, is_local) = (&state.follower, state.is_local);
            if follower.requests == 0 {
                return;
            }
            // cardano-node logs what it sends to those who wait at the tip, and to nodes alone under this name.
            let (tip, logged) = (self.tip(), follower.waits && !is_local);
            let (message, at) = if follower.goes_back {
                (Message::RollBackward(follower.at, tip), follower.at)
            } else {
                match self.next_after(&follower.at, !is_local) {
                    None => {
                        let Some(state) = self.peers.get_mut(&peer) else { return };
                        if !state.follower.waits {
                            state.follower.waits = true;
                            state.send(Message::AwaitReply);
                        }
                        return;
                    }
                    Some(next) => match self.forward(&next, is_local) {
                        Some(forward) => forward,
                        None => return,
                    },
                }
            };
            let is_forward = !matches!(message, Message::RollBackward(..));
            if logged && is_forward {
                self.log_instruction(peer, &at, tip, |log, peer, block, tip| log.line(forms::SendingHeader { peer, block, tip }));
            } else if logged {
                self.log_instruction(peer, &at, tip, |log, peer, to, tip| log.line(forms::RollingBack { peer, to, tip }));
            }
            let Some(state) = self.peers.get_mut(&peer) else { return };
            state.send(message);
            state.follower.at = at;
            (state.follower.goes_back, state.follower.waits) = (false, false);
            state.follower.requests -= 1;
            if logged && is_forward {
                self.log_instruction(peer, &at, tip, |log, peer, block, tip| log.line(forms::HeaderSent { peer, block, tip }));
            }
        }
    }

    /// Logs an instruction to a follower with its point and the tip.
    fn log_instruction(&self, peer: u32, at: &Point, tip: Option<Tip>, write: impl FnOnce(&Log, Peer, LogPoint<'_>, LogTip<'_>)) {
        let (text, tip_text) = (hex::encode(hash_of(at)), tip.map(|tip| hex::encode(hash_of(&tip.point))).unwrap_or_default());
        let point = LogPoint { block: (*at != Point::Origin).then(|| (text.as_bytes(), slot_of(at))) };
        let tip = LogTip { block: tip.map(|tip| (tip_text.as_bytes(), tip.block_no as i64, slot_of(&tip.point))) };
        write(&self.log, Peer(peer), point, tip);
    }

    fn forward(&self, next: &Next, is_local: bool) -> Option<(Message, Point)> {
        let tip = self.tip();
        let stored = |block: &StoredBlock| {
            let message = if is_local {
                Message::RollForwardBlock(block.bytes.clone(), tip)
            } else {
                Message::RollForward(block.header().into(), tip)
            };
            (message, block.point())
        };
        match next {
            Next::Settled(place) => self.store.settled(*place).ok().flatten().as_ref().map(stored),
            Next::Entry(hash) if is_local => self.store.block(&self.db.point(hash)?).as_deref().map(stored),
            Next::Entry(hash) => {
                let header = self.db.entry(hash)?.header.clone();
                Some((Message::RollForward(header, tip), self.db.point(hash)?))
            }
        }
    }

    /// Announces a header whose block is about to be validated.
    pub(super) fn announce_tentatively(&mut self, hash: Hash32) {
        self.tentative = Some(hash);
        self.peers_where(|peer| !peer.is_local && peer.follower.waits).into_iter().for_each(|peer| self.serve(peer));
    }

    /// Takes back a header that was announced and whose block was refused.
    pub(super) fn withdraw(&mut self, hash: &Hash32) {
        self.tentative = None;
        let Some(parent) = self.db.entry(hash).and_then(|entry| self.db.point(&entry.parent)) else { return };
        self.send_back(|at| at == hash, parent);
    }

    /// Sends a new chain to followers.
    pub(super) fn follow_switch(&mut self, switch: &Switch) {
        self.tentative = None;
        if !switch.left.is_empty()
            && let Some(fork) = self.db.point(&switch.fork)
        {
            self.send_back(|at| switch.left.contains(at), fork);
        }
        self.peers_where(|peer| peer.follower.waits).into_iter().for_each(|peer| self.serve(peer));
    }

    /// Sends those who are at certain blocks back to a point.
    fn send_back(&mut self, is_gone: impl Fn(&Hash32) -> bool, to: Point) {
        let mut waiting = Vec::new();
        for (number, peer) in &mut self.peers {
            if is_gone(&hash_of(&peer.follower.at)) {
                (peer.follower.at, peer.follower.goes_back) = (to, true);
                if peer.follower.waits {
                    waiting.push(*number);
                }
            }
        }
        waiting.into_iter().for_each(|peer| self.serve(peer));
    }
}
