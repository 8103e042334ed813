//! Rows of several lines, put together in the order of the lines.

use std::collections::{BTreeSet, HashMap, VecDeque};

use super::{Content, Hash, On, Part, Point, ReadLine, ends};
use crate::dialects::entry::Entry;
use crate::dialects::own::OwnBlocks;
use crate::dialects::parts::{At, Joining};
use crate::messages::{Block, Body, Connection, Message};
use crate::reason::Reason;

/// Most connections that are followed at once, headers of all of them together, and ranges asked for on each: far more than a node has.
pub(super) const MOST_CONNECTIONS: usize = 1_000;
const MOST_HEADERS: usize = 20_000;
pub(super) const MOST_ASKED: usize = 100;
pub(super) const MOST_NUMBERS: usize = 10_000;

/// Parts of rows from earlier lines that wait for the lines with the rest.
///
/// Lines are taken in their order; a row is given with the line that completes it, under the time and the place of its own line.
#[derive(Default)]
pub(in crate::dialects) struct Joins {
    connections: HashMap<Box<[u8]>, Peer>,
    own: OwnBlocks,
    numbers: HashMap<Hash, i64>,
    tip: Option<i64>,
    rolled_back: bool,
}

/// A connection: what was received and asked for on it, and what was offered.
#[derive(Default)]
struct Peer {
    headers: VecDeque<Header>,
    /// Number of times that they were rolled back.
    rollbacks: u32,
    asked: VecDeque<Asked>,
    offered: Option<Offered>,
}

struct Header {
    at: At,
    slot: i64,
    block_no: Option<i64>,
    /// After how many rollbacks it came.
    rollbacks: u32,
}

/// A range of blocks that was asked for.
struct Asked {
    first: Hash,
    last: Hash,
    /// True once the peer began to send it.
    started: bool,
    /// The latest block that was returned.
    returned: Option<At>,
}

struct Offered {
    at: At,
    block: Hash,
    slot: i64,
    block_no: i64,
    size_bytes: i64,
}

impl Joining for Joins {
    const NODE: &'static str = super::NODE;
    const KEYS: &'static [&'static str] = super::KEYS;
    type Content<'a> = Content<'a>;

    fn read_line(line: &[u8]) -> Result<ReadLine<'_>, Reason> {
        super::read_line(line)
    }

    fn take<E>(&mut self, part: &Part<'_>, place: i64, mut give: impl FnMut(&Entry<'_>, i64) -> Result<(), E>) -> Result<(), E> {
        let at = At { ts_ns: part.ts_ns, place };
        match &part.content {
            Content::Row(message, body) => give(&at.entry(*message, *body), place),
            &Content::Forged { block, slot, block_no, previous } => self.forged(at, block, slot, block_no, previous, &mut give),
            &Content::Extended { block, slot } => self.extended(at, block, slot, &mut give),
            Content::RolledBack => {
                self.rolled_back = true;
                Ok(())
            }
            Content::Of(name, on) => self.on_connection(at, name, on, &mut give),
        }
    }

    fn give_rest<E>(&mut self, give: impl FnMut(&Entry<'_>, i64) -> Result<(), E>) -> Result<(), E> {
        self.own.give_rest(give)
    }
}

impl Joins {
    fn forged<E>(
        &mut self,
        at: At,
        block: &[u8],
        slot: i64,
        block_no: Option<i64>,
        previous: Option<&[u8]>,
        give: &mut impl FnMut(&Entry<'_>, i64) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.own.has(block) {
            return Ok(());
        }
        self.own.add(block, slot, None, give)?;
        if let Some(block_no) = block_no {
            self.number(block, block_no);
        }
        give(&at.entry(Message::Forged, Body::Block(Block { block, slot: Some(slot), block_no, previous, ..Block::default() })), at.place)
    }

    fn extended<E>(&mut self, at: At, block: &[u8], slot: i64, give: &mut impl FnMut(&Entry<'_>, i64) -> Result<(), E>) -> Result<(), E> {
        let block_no = self.numbers.get(block).copied();
        let length = block_no.zip(self.tip).map(|(block_no, tip)| block_no - tip);
        self.tip = block_no;
        let message = if std::mem::take(&mut self.rolled_back) { Message::Switched } else { Message::Adopted };
        if self.own.adopt(block, at, length, give)? {
            return Ok(());
        }
        give(&at.entry(message, Body::Block(Block { block, slot: Some(slot), length, ..Block::default() })), at.place)
    }

    fn on_connection<E>(
        &mut self,
        at: At,
        name: &[u8],
        on: &On<'_>,
        give: &mut impl FnMut(&Entry<'_>, i64) -> Result<(), E>,
    ) -> Result<(), E> {
        let connection = ends(name);
        if let On::Closed = on {
            self.connections.remove(name);
            return Ok(());
        }
        if let On::Sent { block, slot, block_no, size_bytes } = on {
            self.number(block, *block_no);
            self.own.size(block, *size_bytes, give)?;
            let body = Block { block, slot: Some(*slot), block_no: Some(*block_no), connection, ..Block::default() };
            return give(&at.entry(Message::Sending, Body::Block(body)), at.place);
        }
        if self.connections.len() == MOST_CONNECTIONS && !self.connections.contains_key(name) {
            self.connections.clear();
        }
        if let On::Header { .. } = on {
            self.make_room_for_a_header();
        }
        let peer = self.connections.entry(name.into()).or_default();
        match on {
            &On::Header { slot } => {
                peer.headers.push_back(Header { at, slot, block_no: None, rollbacks: peer.rollbacks });
            }
            &On::PeerTip { slot, block_no } => {
                if let Some(header) = peer.headers.back_mut().filter(|header| header.slot == slot) {
                    header.block_no = Some(block_no);
                }
            }
            On::RolledBack => peer.rollbacks = peer.rollbacks.wrapping_add(1),
            &On::Asked { first, last } => {
                let (length, noticed) = peer.asked(first, last);
                for (block, header) in &noticed {
                    if let Some(block_no) = header.block_no {
                        self.number(block, block_no);
                    }
                    let body = Block { block, slot: Some(header.slot), block_no: header.block_no, connection, ..Block::default() };
                    give(&header.at.entry(Message::Header, Body::Block(body)), header.at.place)?;
                }
                let body = Block { block: last.1, length, connection, ..Block::default() };
                return give(&at.entry(Message::Requested, Body::Block(body)), at.place);
            }
            // Which blocks these answers have isn't read: they must not count as those of a range.
            On::AskedOtherwise => peer.asked.clear(),
            On::Started => {
                // Ranges are answered one after the other: of one that was begun before, the end isn't in the log.
                if peer.asked.front().is_some_and(|asked| asked.started || asked.returned.is_some()) {
                    peer.asked.pop_front();
                }
                if let Some(asked) = peer.asked.front_mut() {
                    asked.started = true;
                }
            }
            On::Returned => {
                if let Some(asked) = peer.asked.front_mut() {
                    let is_first = asked.returned.is_none();
                    asked.returned = Some(at);
                    if is_first {
                        return give(&fetched(at, &asked.first, connection), at.place);
                    }
                }
            }
            On::Done => {
                if let Some(Asked { first, last, returned: Some(at), .. }) = peer.asked.pop_front()
                    && first != last
                {
                    return give(&fetched(at, &last, connection), at.place);
                }
            }
            On::Offered { block, slot, block_no, size_bytes } => {
                let offered = Offered { at, block: block.clone(), slot: *slot, block_no: *block_no, size_bytes: *size_bytes };
                peer.offered = Some(offered);
                self.number(block, *block_no);
            }
            On::OfferedLess => peer.offered = None,
            On::AtTip => {
                if let Some(Offered { at, block, slot, block_no, size_bytes }) = peer.offered.take() {
                    self.own.size(&block, size_bytes, give)?;
                    let body = Block { block: &block, slot: Some(slot), block_no: Some(block_no), connection, ..Block::default() };
                    return give(&at.entry(Message::Announced, Body::Block(body)), at.place);
                }
            }
            On::Closed | On::Sent { .. } => {}
        }
        Ok(())
    }

    /// Returns whether no more waits than may.
    #[cfg(test)]
    pub(super) fn is_within_bounds(&self) -> bool {
        let peers = || self.connections.values();
        peers().len() <= MOST_CONNECTIONS
            && self.own.is_within_bounds()
            && self.numbers.len() <= MOST_NUMBERS
            && peers().map(|peer| peer.headers.len()).sum::<usize>() <= MOST_HEADERS
            && peers().all(|peer| peer.asked.len() <= MOST_ASKED)
    }

    /// Removes the oldest header of the connection with the most, where as many headers wait as may.
    fn make_room_for_a_header(&mut self) {
        if self.connections.values().map(|peer| peer.headers.len()).sum::<usize>() == MOST_HEADERS
            && let Some((_, peer)) =
                self.connections.iter_mut().max_by(|(a, one), (b, other)| (one.headers.len(), a).cmp(&(other.headers.len(), b)))
        {
            peer.headers.pop_front();
        }
    }

    fn number(&mut self, block: &[u8], block_no: i64) {
        if self.numbers.len() == MOST_NUMBERS {
            self.numbers.clear();
        }
        self.numbers.insert(block.into(), block_no);
    }
}

impl Peer {
    /// Notes that a range is asked for; gives how many blocks it has, and its first and its last one with their headers, as far as that is
    /// known. Headers of a connection follow each other on a chain until it is rolled back: where it has those of both ends and none came
    /// in between, it has all between.
    fn asked(&mut self, first: Point<'_>, last: Point<'_>) -> (Option<i64>, Vec<(Hash, Header)>) {
        let branch = |slot| self.headers.iter().rfind(|header| header.slot == slot).map(|header| header.rollbacks);
        let length = if first == last {
            Some(1)
        } else {
            branch(first.0).filter(|&one| branch(last.0) == Some(one)).map(|one| {
                let between = self.headers.iter().filter(|header| header.rollbacks == one && (first.0..=last.0).contains(&header.slot));
                between.map(|header| header.slot).collect::<BTreeSet<_>>().len() as i64
            })
        };
        if self.asked.len() == MOST_ASKED {
            self.asked.pop_front();
        }
        self.asked.push_back(Asked { first: first.1.into(), last: last.1.into(), started: false, returned: None });
        let mut noticed = Vec::new();
        // Of two headers of one slot, the later one took the earlier one's place.
        for (slot, block) in [Some(first), Some(last).filter(|last| *last != first)].into_iter().flatten() {
            if let Some(place) = self.headers.iter().rposition(|header| header.slot == slot)
                && let Some(header) = self.headers.remove(place)
            {
                noticed.push((block.into(), header));
            }
        }
        self.headers.retain(|header| header.slot > last.0);
        (length, noticed)
    }
}

fn fetched<'a>(at: At, block: &'a [u8], connection: Option<Connection<'a>>) -> Entry<'a> {
    at.entry(Message::Fetched, Body::Block(Block { block, connection, ..Block::default() }))
}
