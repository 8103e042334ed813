//! Serving the chain: peers and local clients that follow it, each at a point of its own.

use slotmark_chain::{Hash32, Point, Tip};
use slotmark_tracelog::{Peer, Point as LogPoint, Tip as LogTip, forms};
use slotmark_wire::follower::{Follower, Reply, Source};
use slotmark_wire::protocols::chain_sync;

use super::Core;
use crate::chaindb::{ORIGIN, Switch, hash_of, slot_of};
use crate::log::Log;
use crate::store::StoredBlock;

/// The item behind a follower's point.
enum Next {
    Entry(Hash32),
    Settled(usize),
}

/// The chain as it is served to a peer or a local client.
struct Served<'c> {
    core: &'c Core,
    is_local: bool,
}

impl Source for Served<'_> {
    type Place = Point;
    type Block = chain_sync::Message;
    /// The block has just been forgotten, or can't be read: the follower's request waits.
    type Error = ();

    fn after(&self, at: Point) -> Result<Option<(chain_sync::Message, Point)>, ()> {
        match self.core.next_after(&at, !self.is_local) {
            None => Ok(None),
            Some(next) => self.core.forward(&next, self.is_local).map(Some).ok_or(()),
        }
    }
}

impl Core {
    pub(super) fn follow(&mut self, peer: u32, request: chain_sync::Request) -> Result<(), String> {
        match request {
            chain_sync::Request::RequestNext => {
                let Some(state) = self.peers.get_mut(&peer) else { return Ok(()) };
                state.follower.request();
                self.serve(peer);
            }
            chain_sync::Request::FindIntersect(points) => {
                let found = points.into_iter().find(|point| self.is_on_chain(point));
                let tip = self.tip();
                let Some(state) = self.peers.get_mut(&peer) else { return Ok(()) };
                match found {
                    Some(point) => {
                        state.follower.send_back(point);
                        state.send(chain_sync::Message::IntersectFound(point, tip));
                    }
                    None => state.send(chain_sync::Message::IntersectNotFound(tip)),
                }
            }
            chain_sync::Request::Done => {
                if let Some(state) = self.peers.get_mut(&peer) {
                    state.follower = Follower::new(Point::Origin);
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
        while let Some(state) = self.peers.get(&peer) {
            let (mut follower, is_local) = (state.follower, state.is_local);
            // cardano-node logs what it sends to those who wait at the tip, and to nodes alone under this name.
            let (tip, logged) = (self.tip(), follower.waits() && !is_local);
            let Ok(Some(reply)) = follower.reply(&Served { core: self, is_local }) else { return };
            let at = follower.at();
            let (message, is_forward) = match reply {
                Reply::Forward(message) => (message, true),
                Reply::Back(to) => (chain_sync::Message::RollBackward(to, tip), false),
                Reply::Wait => (chain_sync::Message::AwaitReply, false),
            };
            if logged && is_forward {
                self.log_instruction(peer, &at, tip, |log, peer, block, tip| log.line(forms::SendingHeader { peer, block, tip }));
            } else if logged {
                self.log_instruction(peer, &at, tip, |log, peer, to, tip| log.line(forms::RollingBack { peer, to, tip }));
            }
            let Some(state) = self.peers.get_mut(&peer) else { return };
            state.send(message);
            state.follower = follower;
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

    fn forward(&self, next: &Next, is_local: bool) -> Option<(chain_sync::Message, Point)> {
        let tip = self.tip();
        let stored = |block: &StoredBlock| {
            let message = if is_local {
                chain_sync::Message::RollForwardBlock(block.bytes.clone(), tip)
            } else {
                chain_sync::Message::RollForward(block.header().into(), tip)
            };
            (message, block.point())
        };
        match next {
            Next::Settled(place) => self.store.settled(*place).ok().flatten().as_ref().map(stored),
            Next::Entry(hash) if is_local => self.store.block(&self.db.point(hash)?).as_deref().map(stored),
            Next::Entry(hash) => {
                let header = self.db.entry(hash)?.header.clone();
                Some((chain_sync::Message::RollForward(header, tip), self.db.point(hash)?))
            }
        }
    }

    /// Announces a header whose block is about to be validated.
    pub(super) fn announce_tentatively(&mut self, hash: Hash32) {
        self.tentative = Some(hash);
        self.peers_where(|peer| !peer.is_local && peer.follower.waits()).into_iter().for_each(|peer| self.serve(peer));
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
        self.peers_where(|peer| peer.follower.waits()).into_iter().for_each(|peer| self.serve(peer));
    }

    /// Sends those who are at certain blocks back to a point.
    fn send_back(&mut self, is_gone: impl Fn(&Hash32) -> bool, to: Point) {
        let mut waiting = Vec::new();
        for (number, peer) in &mut self.peers {
            if is_gone(&hash_of(&peer.follower.at())) {
                peer.follower.send_back(to);
                if peer.follower.waits() {
                    waiting.push(*number);
                }
            }
        }
        waiting.into_iter().for_each(|peer| self.serve(peer));
    }
}
