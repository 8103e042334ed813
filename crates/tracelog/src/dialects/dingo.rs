//! Dingo's log as JSON (`DINGO_LOGGING_FORMAT=json`), level `debug`: `{"time":"…","level":"…","msg":"…",…}`.
//!
//! | line | what it gives |
//! | --- | --- |
//! | `producing block`, `forge check: not leader for slot` | `leader`, `not_leader` |
//! | `successfully built block`; else `block proposal accepted by chain`, `block produced successfully` | `forged` |
//! | `chainsync: header received` | `noticed`, by the next `calling GetBlockRange` of the connection that requests its slot |
//! | `updated peer tip` | the number of that header, where the header is the peer's tip |
//! | `calling GetBlockRange` | `requested`; its length by the headers of its slots, where `roll backward` isn't between them |
//! | `starting batch`, `block returned` | `fetched`: the range's first block, and its last at `batch done`; those between have no hash in the log |
//! | `calling RollForward` | `announced`, once `calling AwaitReply` shows that the header was that of the tip, whose hash the line has |
//! | `calling Block` | `sending`: hash, slot, number and size are those of the block that the line holds |
//! | `chain extended, new tip` | `self_adopted` of an own block, `switched` after `chain rolled back`, else `adopted` |
//! | `added transaction`, `failed to add tx`, `failed to add transaction to mempool` | `added`, `rejected` |
//! | `version` | the node's version |
//!
//! As written by gouroboros and Dingo of November 2026. Where the ledger took several blocks at once, the log has only the last as a
//! new tip. The line's `source` isn't read: it goes by the slot, so a rival of an own block is called `forged` too.

mod joins;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;
use minicbor::Decoder;

use super::parts::{self, OfParts, each_member, name_of};
use crate::json::{Cursor, Value, is_text};
use crate::messages::{Body, Connection, Message, Slot, Transactions, Version, connected, count, hash, number, slot, text, time};
use crate::reason::Reason;
use joins::Joins;

/// The lines that are read, by their text; by its beginning where that ends with a sign.
const LINES: [(&str, Kind); 26] = [
    ("version: ", Kind::Version),
    ("producing block", Kind::Leader),
    ("forge check: not leader for slot", Kind::NotLeader),
    ("successfully built block", Kind::Forged),
    ("block proposal accepted by chain", Kind::Forged),
    ("block produced successfully", Kind::Forged),
    ("chain extended, new tip: ", Kind::Extended),
    ("chain rolled back, new tip: ", Kind::RolledBack),
    ("chainsync: header received", Kind::Header),
    ("updated peer tip", Kind::PeerTip),
    ("roll backward", Kind::HeadersRolledBack),
    ("calling GetBlockRange(", Kind::Asked),
    ("calling GetBlock(", Kind::AskedOtherwise),
    ("calling RequestRange(", Kind::AskedOtherwise),
    ("starting batch", Kind::Started),
    ("block returned", Kind::Returned),
    ("batch done", Kind::Done),
    ("no blocks returned", Kind::Done),
    ("calling RollForward", Kind::Offered),
    ("calling RollBackward(", Kind::OfferedLess),
    ("calling AwaitReply(", Kind::AtTip),
    ("calling Block(", Kind::Sent),
    ("connection closed", Kind::Closed),
    ("added transaction", Kind::Transaction(Message::MempoolAdded)),
    ("failed to add tx ", Kind::Transaction(Message::MempoolRejected)),
    ("failed to add transaction to mempool: ", Kind::Transaction(Message::MempoolRejected)),
];

#[derive(Clone, Copy)]
enum Kind {
    Version,
    Leader,
    NotLeader,
    Forged,
    Extended,
    RolledBack,
    Header,
    PeerTip,
    HeadersRolledBack,
    Asked,
    AskedOtherwise,
    Started,
    Returned,
    Done,
    Offered,
    OfferedLess,
    AtTip,
    Sent,
    Closed,
    Transaction(Message),
}

/// Dingo's dialect.
pub(super) type Dingo = OfParts<Joins>;

const NODE: &str = "dingo";

/// The keys by which its lines are known.
const KEYS: &[&str] = &["\"time\":", "\"level\":", "\"msg\":", "\"component\":"];

type ReadLine<'a> = parts::ReadLine<'a, Content<'a>>;

type Part<'a> = parts::Part<Content<'a>>;

#[derive(Debug, PartialEq)]
pub(super) enum Content<'a> {
    Row(Message, Body<'a>),
    Forged { block: &'a [u8], slot: i64, block_no: Option<i64>, previous: Option<&'a [u8]> },
    Extended { block: &'a [u8], slot: i64 },
    RolledBack,
    Of(&'a [u8], On<'a>),
}

/// An event on a connection.
#[derive(Debug, PartialEq)]
pub(super) enum On<'a> {
    Header { slot: i64 },
    PeerTip { slot: i64, block_no: i64 },
    RolledBack,
    Asked { first: Point<'a>, last: Point<'a> },
    AskedOtherwise,
    Started,
    Returned,
    Done,
    Offered { block: Hash, slot: i64, block_no: i64, size_bytes: i64 },
    OfferedLess,
    AtTip,
    Sent { block: Hash, slot: i64, block_no: i64, size_bytes: i64 },
    Closed,
}

/// A block's hash, in hex.
pub(super) type Hash = Box<[u8]>;

const HASH_BYTES: usize = 32;

/// Reads a line, without its end.
fn read_line(line: &[u8]) -> Result<ReadLine<'_>, Reason> {
    let line = line.trim_ascii();
    if let Some(text) = usual_text(line)
        && kind_of(text).is_none()
    {
        return if line.ends_with(b"}") { Ok(ReadLine { name: name_of(text), part: None }) } else { Err(Reason::Cut) };
    }
    let mut fields = Fields::default();
    each_member(line, |key, value| fields.take(key, value))?;
    let msg = text("msg", fields.msg)?;
    let Some((begin, kind)) = kind_of(msg) else { return Ok(ReadLine { name: name_of(msg), part: None }) };
    if !is_text(line) {
        return Err(Reason::NotJson);
    }
    let name = Cow::Borrowed(begin.trim_end_matches([' ', ':', '(']).as_bytes());
    let Some(content) = fields.read(kind, &msg[begin.len()..])? else { return Ok(ReadLine { name, part: None }) };
    let ts_ns = time("time", fields.time)?;
    Ok(ReadLine { name, part: Some(Part { ts_ns, content }) })
}

/// The text of a line that begins as Dingo writes it.
fn usual_text(line: &[u8]) -> Option<&[u8]> {
    let mut cursor = Cursor::new(line);
    cursor.string_behind(b"{\"time\":\"")?;
    cursor.string_behind(b",\"level\":\"")?;
    cursor.string_behind(b",\"msg\":\"")
}

fn kind_of(text: &[u8]) -> Option<(&'static str, Kind)> {
    let is = |known: &str| {
        let goes_on = !known.ends_with(|sign: char| sign.is_alphanumeric());
        text == known.as_bytes() || goes_on && text.starts_with(known.as_bytes())
    };
    LINES.iter().find(|(known, _)| is(known)).copied()
}

/// The members of a line that are read.
#[derive(Default)]
struct Fields<'a> {
    time: Option<Value<'a>>,
    msg: Option<Value<'a>>,
    slot: Option<Value<'a>>,
    current_slot: Option<Value<'a>>,
    hash: Option<Value<'a>>,
    prev_hash: Option<Value<'a>>,
    block_number: Option<Value<'a>>,
    block_size: Option<Value<'a>>,
    tip_slot: Option<Value<'a>>,
    tip_hash: Option<Value<'a>>,
    tip_block_number: Option<Value<'a>>,
    connection_id: Option<Value<'a>>,
}

impl<'a> Fields<'a> {
    fn take(&mut self, key: &[u8], value: Value<'a>) {
        let field = match key {
            b"time" => &mut self.time,
            b"msg" => &mut self.msg,
            b"slot" => &mut self.slot,
            b"current_slot" => &mut self.current_slot,
            b"hash" => &mut self.hash,
            b"prev_hash" => &mut self.prev_hash,
            b"block_number" => &mut self.block_number,
            b"block_size" => &mut self.block_size,
            b"tip_slot" => &mut self.tip_slot,
            b"tip_hash" => &mut self.tip_hash,
            b"tip_block_number" => &mut self.tip_block_number,
            b"connection_id" => &mut self.connection_id,
            _ => return,
        };
        *field = Some(value);
    }

    /// Reads the line; `rest` is its text behind the words by which it is known. None where it is about a local client.
    fn read(&self, kind: Kind, rest: &'a [u8]) -> Result<Option<Content<'a>>, Reason> {
        let row = |message, slot| Content::Row(message, Body::Slot(Slot { slot: Some(slot), block_no: None }));
        let on = match kind {
            Kind::Version => return Ok(Some(Content::Row(Message::Version, Body::Version(version(rest))))),
            Kind::Leader => return Ok(Some(row(Message::Leader, slot("slot", self.slot)?))),
            Kind::NotLeader => return Ok(Some(row(Message::NotLeader, slot("current_slot", self.current_slot)?))),
            Kind::Forged => {
                return Ok(Some(Content::Forged {
                    block: hash("hash", self.hash)?,
                    slot: slot("slot", self.slot)?,
                    block_no: self.block_number.map(|value| number("block_number", Some(value))).transpose()?,
                    previous: self.prev_hash.map(|value| hash("prev_hash", Some(value))).transpose()?,
                }));
            }
            Kind::Transaction(message) => return Ok(Some(Content::Row(message, Body::Transactions(Transactions::default())))),
            Kind::Extended => {
                let (block, slot) = tip(rest)?;
                return Ok(Some(Content::Extended { block, slot }));
            }
            Kind::RolledBack => return Ok(Some(Content::RolledBack)),
            Kind::Header => On::Header { slot: slot("slot", self.slot)? },
            Kind::PeerTip => On::PeerTip { slot: slot("slot", self.slot)?, block_no: number("block_number", self.block_number)? },
            Kind::HeadersRolledBack => On::RolledBack,
            Kind::Asked => {
                let (first, last) = range(rest)?;
                On::Asked { first, last }
            }
            Kind::AskedOtherwise => On::AskedOtherwise,
            Kind::Started => On::Started,
            Kind::Returned => On::Returned,
            Kind::Done => On::Done,
            Kind::Offered => On::Offered {
                block: hash_of_base64("tip_hash", self.tip_hash)?,
                slot: slot("tip_slot", self.tip_slot)?,
                block_no: number("tip_block_number", self.tip_block_number)?,
                size_bytes: count("block_size", self.block_size)?,
            },
            Kind::OfferedLess => On::OfferedLess,
            Kind::AtTip => On::AtTip,
            Kind::Sent => match sent(rest)? {
                Some(sent) => sent,
                None => return Ok(None),
            },
            Kind::Closed => On::Closed,
        };
        let name = text("connection_id", self.connection_id)?;
        Ok(ends(name).map(|_| Content::Of(name, on)))
    }
}

/// `VERSION (commit COMMIT)`.
fn version(rest: &[u8]) -> Version<'_> {
    let (version, behind) = split(rest, b" (commit ").unwrap_or((rest, b""));
    Version { version, revision: behind.strip_suffix(b")").unwrap_or(behind), compiler: b"" }
}

/// `HASH at slot SLOT`.
fn tip(rest: &[u8]) -> Result<(&[u8], i64), Reason> {
    let (block, at) = split(rest, b" at slot ").ok_or(Reason::Wrong("msg"))?;
    Ok((hash("msg", Some(Value::String(block)))?, slot("msg", Some(Value::Number(at)))?))
}

/// `start: {Slot: SLOT, Hash: HASH}, end: {Slot: SLOT, Hash: HASH})`.
fn range(rest: &[u8]) -> Result<(Point<'_>, Point<'_>), Reason> {
    let inside = rest.strip_prefix(b"start: ").and_then(|rest| rest.strip_suffix(b")"));
    let (first, last) = inside.and_then(|inside| split(inside, b", end: ")).ok_or(Reason::Wrong("msg"))?;
    Ok((point(first)?, point(last)?))
}

/// A slot, and the hash of its block.
pub(super) type Point<'a> = (i64, &'a [u8]);

/// `{Slot: SLOT, Hash: HASH}`.
fn point(text: &[u8]) -> Result<Point<'_>, Reason> {
    let inside = text.strip_prefix(b"{Slot: ").and_then(|text| text.strip_suffix(b"}"));
    let (at, block) = inside.and_then(|inside| split(inside, b", Hash: ")).ok_or(Reason::Wrong("msg"))?;
    Ok((slot("msg", Some(Value::Number(at)))?, hash("msg", Some(Value::String(block)))?))
}

/// `blockType: +TYPE, blockData: BLOCK)`, the block in hex. None for a block of Byron, whose header is another.
fn sent(rest: &[u8]) -> Result<Option<On<'static>>, Reason> {
    /// More than any header has.
    const MOST_OF_A_HEADER: usize = 4 << 10;
    let inside = rest.strip_prefix(b"blockType: +").and_then(|rest| rest.strip_suffix(b")"));
    let (kind, digits) = inside.and_then(|inside| split(inside, b", blockData: ")).ok_or(Reason::Wrong("msg"))?;
    if matches!(kind, b"0" | b"1") {
        return Ok(None);
    }
    let begin = &digits[..digits.len().min(2 * MOST_OF_A_HEADER)];
    let begin = hex::decode(begin).map_err(|_| Reason::Wrong("msg"))?;
    let (header, at, block_no) = header(&begin).ok_or(Reason::Wrong("msg"))?;
    let (at, block_no) = (i64::try_from(at), i64::try_from(block_no));
    Ok(Some(On::Sent {
        block: hex::encode(blake2b_simd::Params::new().hash_length(HASH_BYTES).hash(header)).into_bytes().into(),
        slot: slot("msg", at.ok().map(Value::Whole))?,
        block_no: number("msg", block_no.ok().map(Value::Whole))?,
        size_bytes: count("msg", Some(Value::Whole(digits.len() as i64 / 2)))?,
    }))
}

/// The header at the beginning of a block of Shelley or later, its slot and its block number.
fn header(block: &[u8]) -> Option<(&[u8], u64, u64)> {
    let mut decoder = Decoder::new(block);
    decoder.array().ok()?;
    let start = decoder.position();
    let mut inside = decoder.clone();
    decoder.skip().ok()?;
    inside.array().ok()?;
    inside.array().ok()?;
    let (block_no, slot) = (inside.u64().ok()?, inside.u64().ok()?);
    Some((&block[start..decoder.position()], slot, block_no))
}

/// The two parts of a text, before and behind what stands between them.
fn split<'a>(text: &'a [u8], between: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = memmem::find(text, between)?;
    Some((&text[..at], &text[at + between.len()..]))
}

fn hash_of_base64(field: &'static str, value: Option<Value<'_>>) -> Result<Hash, Reason> {
    let bytes = STANDARD.decode(text(field, value)?).map_err(|_| Reason::Wrong(field))?;
    if bytes.len() == HASH_BYTES { Ok(hex::encode(bytes).into_bytes().into()) } else { Err(Reason::Wrong(field)) }
}

/// `LOCAL:PORT<->REMOTE:PORT`; None of a local client's socket.
fn ends(name: &[u8]) -> Option<Connection<'_>> {
    let (local, remote) = split(name, b"<->")?;
    connected(local, remote)
}
