//! Rows of several lines, put together in the order of the lines: a block's hash by its slot, and the size of an own block.

use std::collections::BTreeMap;

use super::{Content, Named, Part, ReadLine};
use crate::dialects::entry::Entry;
use crate::dialects::own::OwnBlocks;
use crate::dialects::parts::{At, Joining};
use crate::messages::{Address, Block, Body, Connection, Message};
use crate::reason::Reason;

/// Most slots that are followed at once: far more than a node has between a request and the adoption of its blocks.
pub(super) const MOST_SLOTS: usize = 10_000;

/// Parts of rows from earlier lines that wait for the lines with the rest.
///
/// Lines are taken in their order; a row is given with the line that completes it, under the time and the place of its own line.
#[derive(Default)]
pub(in crate::dialects) struct Joins {
    slots: BTreeMap<i64, OfSlot>,
    own: OwnBlocks,
}

/// Lines of a slot that have no hash, and the block that was adopted there.
#[derive(Default)]
struct OfSlot {
    adopted: Adopted,
    asked: Waiting,
    fetched: Waiting,
}

/// The block of a slot that was adopted.
#[derive(Default)]
enum Adopted {
    #[default]
    None,
    One(Box<[u8]>),
    /// Two of one slot: lines without a hash may be about either.
    Several,
}

/// A line that waits for the hash of its block.
#[derive(Default)]
enum Waiting {
    #[default]
    None,
    /// The line, the number in it, and the peer's end.
    One(At, i64, Option<End>),
    /// Two lines: they may be about two blocks.
    Several,
}

impl Waiting {
    fn add(&mut self, at: At, number: i64, peer: Option<Connection<'_>>) {
        let end = |Connection { remote, .. }| End { host: remote.host.into(), port: remote.port.into() };
        *self = if let Self::None = self { Self::One(at, number, peer.map(end)) } else { Self::Several };
    }
}

/// The peer's end of a connection.
struct End {
    host: Box<[u8]>,
    port: Box<[u8]>,
}

impl End {
    fn connection(&self) -> Connection<'_> {
        Connection { local: None, remote: Address { host: &self.host, port: &self.port } }
    }
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
        match part.content {
            Content::Row(message, body) => give(&at.entry(message, body), place),
            Content::Forged(made) => {
                if self.own.has(made.block) {
                    return Ok(());
                }
                self.own.add(made.block, made.slot, Some(made.block_no), &mut give)?;
                give(&at.entry(Message::Forged, body(made)), place)
            }
            Content::OwnAdopted(made, announced) => {
                self.own_adopted(at, made, &mut give)?;
                if announced { give(&at.entry(Message::Announced, body(made)), place) } else { Ok(()) }
            }
            Content::Asked { last_slot, blocks, peer } => {
                self.slot(last_slot).asked.add(at, blocks, peer);
                Ok(())
            }
            Content::Fetched { slot, block_no, peer } => {
                self.slot(slot).fetched.add(at, block_no, peer);
                Ok(())
            }
            Content::Extended(adopted) => self.extended(at, adopted, &mut give),
            Content::Announced { slot, block_no } => match self.slots.get(&slot).map(|of| &of.adopted) {
                Some(Adopted::One(block)) => give(&at.entry(Message::Announced, body(Named { block, slot, block_no })), place),
                _ => Ok(()),
            },
            Content::Sent { block, slot, size_bytes } => {
                self.own.size(block, size_bytes, &mut give)?;
                let body = Block { block, slot: Some(slot), ..Block::default() };
                give(&at.entry(Message::Sending, Body::Block(body)), place)
            }
        }
    }

    fn give_rest<E>(&mut self, give: impl FnMut(&Entry<'_>, i64) -> Result<(), E>) -> Result<(), E> {
        self.own.give_rest(give)
    }
}

impl Joins {
    /// Takes the adoption of an own block, or of one that it had received: what was asked for and received in its slot before was this one.
    fn extended<E>(&mut self, at: At, adopted: Named<'_>, give: &mut impl FnMut(&Entry<'_>, i64) -> Result<(), E>) -> Result<(), E> {
        if self.own.has(adopted.block) {
            return self.own_adopted(at, adopted, give);
        }
        let of = self.slot(adopted.slot);
        let (asked, fetched) = (std::mem::take(&mut of.asked), std::mem::take(&mut of.fetched));
        of.adopt(adopted.block);
        let Named { block, slot, block_no } = adopted;
        if let Waiting::One(at, blocks, peer) = &asked {
            let connection = peer.as_ref().map(End::connection);
            let body = Block { block, length: Some(*blocks), connection, ..Block::default() };
            give(&at.entry(Message::Requested, Body::Block(body)), at.place)?;
        }
        if let Waiting::One(at, number, peer) = &fetched
            && *number == block_no
        {
            let connection = peer.as_ref().map(End::connection);
            let body = Block { block, slot: Some(slot), block_no: Some(block_no), connection, ..Block::default() };
            give(&at.entry(Message::Fetched, Body::Block(body)), at.place)?;
        }
        give(&at.entry(Message::Adopted, body(adopted)), at.place)
    }

    fn own_adopted<E>(&mut self, at: At, made: Named<'_>, give: &mut impl FnMut(&Entry<'_>, i64) -> Result<(), E>) -> Result<(), E> {
        if !self.own.has(made.block) {
            self.own.add(made.block, made.slot, Some(made.block_no), give)?;
        }
        self.slot(made.slot).adopt(made.block);
        self.own.adopt(made.block, at, None, give).map(|_| ())
    }

    fn slot(&mut self, slot: i64) -> &mut OfSlot {
        if self.slots.len() == MOST_SLOTS && !self.slots.contains_key(&slot) {
            self.slots.pop_first();
        }
        self.slots.entry(slot).or_default()
    }

    /// Returns whether no more waits than may.
    #[cfg(test)]
    pub(super) fn is_within_bounds(&self) -> bool {
        self.slots.len() <= MOST_SLOTS && self.own.is_within_bounds()
    }
}

impl OfSlot {
    fn adopt(&mut self, block: &[u8]) {
        match &self.adopted {
            Adopted::None => self.adopted = Adopted::One(block.into()),
            Adopted::One(known) if **known == *block => {}
            _ => self.adopted = Adopted::Several,
        }
    }
}

fn body(named: Named<'_>) -> Body<'_> {
    Body::Block(Block { block: named.block, slot: Some(named.slot), block_no: Some(named.block_no), ..Block::default() })
}
