//! Dugite's log as JSON (`--log-format json`): `{"timestamp":"…","level":"…","fields":{"message":"…",…},"target":"dugite_…"}`.
//!
//! | line | what it gives |
//! | --- | --- |
//! | `Slot leader check: ELECTED`, `Slot leader check: not elected` | `leader`, `not_leader` |
//! | `Block forged` | `forged` |
//! | `Announced forged block to peers` | `self_adopted`, with the size of `blockfetch server: serving block`; `announced` |
//! | `Forged block announced but NO peers` | `self_adopted`, in the same way |
//! | `BlockFetch: active fetcher, downloading blocks` | `requested`, where the last block's hash follows from its slot |
//! | `BlockFetch: block decoded` | `fetched`, in the same way |
//! | `Chain extended` | `adopted` |
//! | `live-tip: announced block to peers` | `announced`, where the block's hash follows from its slot |
//! | `blockfetch server: serving block` | `sending` |
//! | `Dugite Cardano Node starting` | the node's version |
//!
//! As read of version 1.1.0-alpha, of April 2026. What is received and announced has no hash: it is that of the block of its slot that the node
//! adopted. Where a slot has two of them, or was asked for or received twice before, such lines give no row.

mod joins;
#[cfg(test)]
mod tests;

use super::parts::{self, OfParts, each_member, name_of};
use crate::json::{Cursor, Value, is_text};
use crate::messages::{Body, Connection, Message, Slot, Version, connected_to, count, hash, number, slot, string, text, time};
use crate::reason::Reason;
use joins::Joins;

/// The lines that are read, by the beginning of their text.
const LINES: [(&str, Kind); 11] = [
    ("Dugite Cardano Node starting", Kind::Version),
    ("Slot leader check: not elected", Kind::Check(Message::NotLeader)),
    ("Slot leader check: ELECTED", Kind::Check(Message::Leader)),
    ("Block forged", Kind::Forged),
    ("Announced forged block to peers", Kind::OwnAnnounced),
    ("Forged block announced but NO peers", Kind::OwnAlone),
    ("BlockFetch: active fetcher, downloading blocks", Kind::Asked),
    ("BlockFetch: block decoded", Kind::Fetched),
    ("Chain extended", Kind::Extended),
    ("live-tip: announced block to peers", Kind::Announced),
    ("blockfetch server: serving block", Kind::Sent),
];

#[derive(Clone, Copy)]
enum Kind {
    Version,
    /// A leadership check.
    Check(Message),
    Forged,
    OwnAnnounced,
    OwnAlone,
    Asked,
    Fetched,
    Extended,
    Announced,
    Sent,
}

/// Dugite's dialect.
pub(super) type Dugite = OfParts<Joins>;

const NODE: &str = "dugite";

/// The keys by which its lines are known.
const KEYS: &[&str] = &["\"timestamp\":", "\"level\":", "\"fields\":", "\"target\":\"dugite_"];

type ReadLine<'a> = parts::ReadLine<'a, Content<'a>>;

type Part<'a> = parts::Part<Content<'a>>;

#[derive(Debug, PartialEq)]
pub(super) enum Content<'a> {
    Row(Message, Body<'a>),
    Forged(Named<'a>),
    /// An own block that became the tip; whether a peer was there to announce it to.
    OwnAdopted(Named<'a>, bool),
    /// A number of blocks up to that of a slot.
    Asked {
        last_slot: i64,
        blocks: i64,
        peer: Option<Connection<'a>>,
    },
    Fetched {
        slot: i64,
        block_no: i64,
        peer: Option<Connection<'a>>,
    },
    Extended(Named<'a>),
    Announced {
        slot: i64,
        block_no: i64,
    },
    Sent {
        block: &'a [u8],
        slot: i64,
        size_bytes: i64,
    },
}

/// A block whose hash the line has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Named<'a> {
    block: &'a [u8],
    slot: i64,
    block_no: i64,
}

/// Reads a line, without its end.
fn read_line(line: &[u8]) -> Result<ReadLine<'_>, Reason> {
    let line = line.trim_ascii();
    if let Some(text) = usual_text(line)
        && kind_of(text).is_none()
    {
        return if line.ends_with(b"}") { Ok(ReadLine { name: name_of(text), part: None }) } else { Err(Reason::Cut) };
    }
    let (mut timestamp, mut fields) = (None, None);
    each_member(line, |key, value| match key {
        b"timestamp" => timestamp = Some(value),
        b"fields" => fields = Some(value),
        _ => {}
    })?;
    let Value::Object(members) = fields.ok_or(Reason::Missing("fields"))? else { return Err(Reason::Wrong("fields")) };
    let mut fields = Fields::default();
    Cursor::new(members).members(|key, value| {
        fields.take(key, value);
        Ok::<(), Reason>(())
    })?;
    let message = text("message", fields.message)?;
    let Some((begin, kind)) = kind_of(message) else { return Ok(ReadLine { name: name_of(message), part: None }) };
    if !is_text(line) {
        return Err(Reason::NotJson);
    }
    let content = fields.read(kind)?;
    let ts_ns = time("timestamp", timestamp)?;
    Ok(ReadLine { name: begin.as_bytes().into(), part: Some(Part { ts_ns, content }) })
}

/// The text of a line that begins as Dugite writes it.
fn usual_text(line: &[u8]) -> Option<&[u8]> {
    let mut cursor = Cursor::new(line);
    cursor.string_behind(b"{\"timestamp\":\"")?;
    cursor.string_behind(b",\"level\":\"")?;
    cursor.string_behind(b",\"fields\":{\"message\":\"")
}

fn kind_of(text: &[u8]) -> Option<(&'static str, Kind)> {
    LINES.iter().find(|(known, _)| text.starts_with(known.as_bytes())).copied()
}

/// The members of a line's `fields` that are read.
#[derive(Default)]
struct Fields<'a> {
    message: Option<Value<'a>>,
    addr: Option<Value<'a>>,
    version: Option<Value<'a>>,
    slot: Option<Value<'a>>,
    block: Option<Value<'a>>,
    block_no: Option<Value<'a>>,
    block_number: Option<Value<'a>>,
    hash: Option<Value<'a>>,
    header_hash: Option<Value<'a>>,
    last_slot: Option<Value<'a>>,
    count: Option<Value<'a>>,
    cbor_len: Option<Value<'a>>,
}

impl<'a> Fields<'a> {
    fn take(&mut self, key: &[u8], value: Value<'a>) {
        let field = match key {
            b"message" => &mut self.message,
            b"addr" => &mut self.addr,
            b"version" => &mut self.version,
            b"slot" => &mut self.slot,
            b"block" => &mut self.block,
            b"block_no" => &mut self.block_no,
            b"block_number" => &mut self.block_number,
            b"hash" => &mut self.hash,
            b"header_hash" => &mut self.header_hash,
            b"last_slot" => &mut self.last_slot,
            b"count" => &mut self.count,
            b"cbor_len" => &mut self.cbor_len,
            _ => return,
        };
        *field = Some(value);
    }

    fn read(&self, kind: Kind) -> Result<Content<'a>, Reason> {
        let at = || slot("slot", self.slot);
        let named = || Ok::<_, Reason>(Named { block: hash("hash", self.hash)?, slot: at()?, block_no: number("block", self.block)? });
        let peer = self.addr.and_then(string).and_then(connected_to);
        Ok(match kind {
            Kind::Version => {
                Content::Row(Message::Version, Body::Version(Version { version: text("version", self.version)?, ..Version::default() }))
            }
            Kind::Check(message) => Content::Row(message, Body::Slot(Slot { slot: Some(at()?), block_no: None })),
            Kind::Forged => Content::Forged(Named {
                block: hash("header_hash", self.header_hash)?,
                slot: at()?,
                block_no: number("block_number", self.block_number)?,
            }),
            Kind::OwnAnnounced => Content::OwnAdopted(named()?, true),
            Kind::OwnAlone => Content::OwnAdopted(named()?, false),
            Kind::Asked => Content::Asked { last_slot: slot("last_slot", self.last_slot)?, blocks: count("count", self.count)?, peer },
            Kind::Fetched => Content::Fetched { slot: at()?, block_no: number("block_no", self.block_no)?, peer },
            Kind::Extended => Content::Extended(named()?),
            Kind::Announced => Content::Announced { slot: at()?, block_no: number("block", self.block)? },
            Kind::Sent => Content::Sent { block: hash("hash", self.hash)?, slot: at()?, size_bytes: count("cbor_len", self.cbor_len)? },
        })
    }
}
