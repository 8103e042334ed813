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

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, VecDeque};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;
use minicbor::Decoder;
use parquet::errors::ParquetError;
use rayon::prelude::*;

use super::dialect::{Dialect, Reader, Taker, has_keys};
use super::entry::{Entry, Seen};
use crate::json::{Cursor, Value, is_text};
use crate::messages::{Block, Body, Connection, Message, Slot, Transactions, Version, connected, count, hash, number, slot, string};
use crate::reader::Line as TextLine;
use crate::reason::Reason;
use crate::time::line_time;

/// The lines that are read, by their text; by its beginning where that ends with a sign.
const LINES: [(&str, Line); 26] = [
    ("version: ", Line::Version),
    ("producing block", Line::Leader),
    ("forge check: not leader for slot", Line::NotLeader),
    ("successfully built block", Line::Forged),
    ("block proposal accepted by chain", Line::Forged),
    ("block produced successfully", Line::Forged),
    ("chain extended, new tip: ", Line::Extended),
    ("chain rolled back, new tip: ", Line::RolledBack),
    ("chainsync: header received", Line::Header),
    ("updated peer tip", Line::PeerTip),
    ("roll backward", Line::HeadersRolledBack),
    ("calling GetBlockRange(", Line::Asked),
    ("calling GetBlock(", Line::AskedOtherwise),
    ("calling RequestRange(", Line::AskedOtherwise),
    ("starting batch", Line::Started),
    ("block returned", Line::Returned),
    ("batch done", Line::Done),
    ("no blocks returned", Line::Done),
    ("calling RollForward", Line::Offered),
    ("calling RollBackward(", Line::OfferedLess),
    ("calling AwaitReply(", Line::AtTip),
    ("calling Block(", Line::Sent),
    ("connection closed", Line::Closed),
    ("added transaction", Line::Transaction(Message::MempoolAdded)),
    ("failed to add tx ", Line::Transaction(Message::MempoolRejected)),
    ("failed to add transaction to mempool: ", Line::Transaction(Message::MempoolRejected)),
];

#[derive(Clone, Copy)]
enum Line {
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
pub(super) struct Dingo;

impl Dialect for Dingo {
    fn node(&self) -> &'static str {
        "dingo"
    }

    fn has(&self, line: &[u8]) -> bool {
        has_keys(line, &["\"time\":", "\"level\":", "\"msg\":", "\"component\":"])
    }

    fn time(&self, line: &[u8]) -> Option<i64> {
        Some(read_line(line).ok()?.part?.ts_ns)
    }

    /// Rows are put together of several lines, in their order.
    fn can_be_split(&self) -> bool {
        false
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(Joins::default())
    }
}

impl Reader for Joins {
    /// What a line holds doesn't depend on others, and reading it takes most of the time: that is done in threads.
    fn read(&mut self, lines: &[TextLine<'_>], taker: &mut dyn Taker) -> Result<(), ParquetError> {
        let read: Vec<_> = lines.par_iter().with_min_len(LINES_OF_A_THREAD).map(|line| line.content().and_then(read_line)).collect();
        for (number, read) in read.into_iter().enumerate() {
            let place = taker.begin(number);
            match read {
                Ok(ReadLine { name, part: Some(part) }) => {
                    if taker.part(&name, part.ts_ns) {
                        self.take(&part, place, |entry, place| taker.row(entry, place))?;
                    }
                }
                Ok(ReadLine { name, part: None }) => taker.line(&Seen { name, entry: None }, place)?,
                Err(reason) => taker.reject(reason),
            }
        }
        Ok(())
    }

    fn finish(&mut self, taker: &mut dyn Taker) -> Result<(), ParquetError> {
        self.give_rest(|entry, place| taker.row(entry, place))
    }
}

/// A line that could be read.
#[derive(Debug, PartialEq)]
struct ReadLine<'a> {
    /// The name under which its messages are counted.
    name: Cow<'a, [u8]>,
    /// Its content; None where it is of no interest.
    part: Option<Part<'a>>,
}

/// A part of rows: the content of one line.
#[derive(Debug, PartialEq)]
struct Part<'a> {
    /// Time of the line, in ns since 1970, UTC.
    ts_ns: i64,
    content: Content<'a>,
}

#[derive(Debug, PartialEq)]
enum Content<'a> {
    Row(Message, Body<'a>),
    Forged { block: &'a [u8], slot: i64, block_no: Option<i64>, previous: Option<&'a [u8]> },
    Extended { block: &'a [u8], slot: i64 },
    RolledBack,
    Of(&'a [u8], On<'a>),
}

/// An event on a connection.
#[derive(Debug, PartialEq)]
enum On<'a> {
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
type Hash = Box<[u8]>;

const HASH_BYTES: usize = 32;

/// Reads a line, without its end.
fn read_line(line: &[u8]) -> Result<ReadLine<'_>, Reason> {
    let line = line.trim_ascii();
    if line.first() != Some(&b'{') {
        return Err(Reason::NotJson);
    }
    if let Some(text) = usual_text(line)
        && kind_of(text).is_none()
    {
        return if line.ends_with(b"}") { Ok(ReadLine { name: name_of(text), part: None }) } else { Err(Reason::Cut) };
    }
    let mut fields = Fields::default();
    let mut cursor = Cursor::new(line);
    cursor.members(|key, value| {
        fields.take(key, value);
        Ok::<(), Reason>(())
    })?;
    if !cursor.at_end() {
        return Err(Reason::NotJson);
    }
    let text = string(fields.msg.ok_or(Reason::Missing("msg"))?).ok_or(Reason::Wrong("msg"))?;
    let Some((begin, kind)) = kind_of(text) else { return Ok(ReadLine { name: name_of(text), part: None }) };
    if !is_text(line) {
        return Err(Reason::NotJson);
    }
    let name = Cow::Borrowed(begin.trim_end_matches([' ', ':', '(']).as_bytes());
    let Some(content) = fields.read(kind, &text[begin.len()..])? else { return Ok(ReadLine { name, part: None }) };
    let ts_ns = match fields.time.ok_or(Reason::Missing("time"))? {
        Value::String(time) => line_time("time", time)?,
        _ => return Err(Reason::Wrong("time")),
    };
    Ok(ReadLine { name, part: Some(Part { ts_ns, content }) })
}

/// The text of a line that begins as Dingo writes it.
fn usual_text(line: &[u8]) -> Option<&[u8]> {
    let mut cursor = Cursor::new(line);
    cursor.string_behind(b"{\"time\":\"")?;
    cursor.string_behind(b",\"level\":\"")?;
    cursor.string_behind(b",\"msg\":\"")
}

fn kind_of(text: &[u8]) -> Option<(&'static str, Line)> {
    let is = |known: &str| {
        let goes_on = !known.ends_with(|sign: char| sign.is_alphanumeric());
        text == known.as_bytes() || goes_on && text.starts_with(known.as_bytes())
    };
    LINES.iter().find(|(known, _)| is(known)).copied()
}

/// Returns the name under which lines of no interest are counted: their text up to the word with the first sign that differs from line to line.
fn name_of(text: &[u8]) -> Cow<'_, [u8]> {
    let varies = |byte: &u8| byte.is_ascii_digit() || b"([{\\=".contains(byte);
    let Some(end) = text.iter().position(varies) else { return Cow::Borrowed(text) };
    let words = if b"([{".contains(&text[end]) { end } else { text[..end].iter().rposition(|&byte| byte == b' ').unwrap_or(end) };
    Cow::Borrowed(text[..words].trim_ascii_end())
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
    fn read(&self, kind: Line, rest: &'a [u8]) -> Result<Option<Content<'a>>, Reason> {
        let row = |message, slot| Content::Row(message, Body::Slot(Slot { slot: Some(slot), block_no: None }));
        let on = match kind {
            Line::Version => return Ok(Some(Content::Row(Message::Version, Body::Version(version(rest))))),
            Line::Leader => return Ok(Some(row(Message::Leader, slot("slot", self.slot)?))),
            Line::NotLeader => return Ok(Some(row(Message::NotLeader, slot("current_slot", self.current_slot)?))),
            Line::Forged => {
                return Ok(Some(Content::Forged {
                    block: hash("hash", self.hash)?,
                    slot: slot("slot", self.slot)?,
                    block_no: self.block_number.map(|value| number("block_number", Some(value))).transpose()?,
                    previous: self.prev_hash.map(|value| hash("prev_hash", Some(value))).transpose()?,
                }));
            }
            Line::Transaction(message) => return Ok(Some(Content::Row(message, Body::Transactions(Transactions::default())))),
            Line::Extended => {
                let (block, slot) = tip(rest)?;
                return Ok(Some(Content::Extended { block, slot }));
            }
            Line::RolledBack => return Ok(Some(Content::RolledBack)),
            Line::Header => On::Header { slot: slot("slot", self.slot)? },
            Line::PeerTip => On::PeerTip { slot: slot("slot", self.slot)?, block_no: number("block_number", self.block_number)? },
            Line::HeadersRolledBack => On::RolledBack,
            Line::Asked => {
                let (first, last) = range(rest)?;
                On::Asked { first, last }
            }
            Line::AskedOtherwise => On::AskedOtherwise,
            Line::Started => On::Started,
            Line::Returned => On::Returned,
            Line::Done => On::Done,
            Line::Offered => On::Offered {
                block: hash_of_base64("tip_hash", self.tip_hash)?,
                slot: slot("tip_slot", self.tip_slot)?,
                block_no: number("tip_block_number", self.tip_block_number)?,
                size_bytes: count("block_size", self.block_size)?,
            },
            Line::OfferedLess => On::OfferedLess,
            Line::AtTip => On::AtTip,
            Line::Sent => match sent(rest)? {
                Some(sent) => sent,
                None => return Ok(None),
            },
            Line::Closed => On::Closed,
        };
        let name = string(self.connection_id.ok_or(Reason::Missing("connection_id"))?).ok_or(Reason::Wrong("connection_id"))?;
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
type Point<'a> = (i64, &'a [u8]);

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
    let text = string(value.ok_or(Reason::Missing(field))?).ok_or(Reason::Wrong(field))?;
    let bytes = STANDARD.decode(text).map_err(|_| Reason::Wrong(field))?;
    if bytes.len() == HASH_BYTES { Ok(hex::encode(bytes).into_bytes().into()) } else { Err(Reason::Wrong(field)) }
}

/// `LOCAL:PORT<->REMOTE:PORT`; None of a local client's socket.
fn ends(name: &[u8]) -> Option<Connection<'_>> {
    let (local, remote) = split(name, b"<->")?;
    connected(local, remote)
}

/// Fewer lines aren't worth another thread.
const LINES_OF_A_THREAD: usize = 200;
/// Most connections that are followed at once, headers of all of them together, ranges asked for on each, and own blocks: far more than a node has.
const MOST_CONNECTIONS: usize = 1_000;
const MOST_HEADERS: usize = 20_000;
const MOST_ASKED: usize = 100;
const MOST_OWN: usize = 100;
const MOST_NUMBERS: usize = 10_000;

/// Parts of rows from earlier lines that wait for the lines with the rest.
///
/// Lines are taken in their order; a row is given with the line that completes it, under the time and the place of its own line.
#[derive(Default)]
struct Joins {
    connections: HashMap<Box<[u8]>, Peer>,
    own: VecDeque<Own>,
    numbers: HashMap<Hash, i64>,
    tip: Option<i64>,
    rolled_back: bool,
}

/// A line that waits: its time and its place.
#[derive(Clone, Copy)]
struct At {
    ts_ns: i64,
    place: i64,
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

/// A block of this node.
struct Own {
    block: Hash,
    slot: i64,
    size_bytes: Option<i64>,
    /// The time of its adoption, and by how much the chain grew.
    adopted: Option<(At, Option<i64>)>,
}

impl Joins {
    /// Takes a line, and gives the rows that it completes, each with its place.
    fn take<E>(&mut self, part: &Part<'_>, place: i64, mut give: impl FnMut(&Entry<'_>, i64) -> Result<(), E>) -> Result<(), E> {
        let at = At { ts_ns: part.ts_ns, place };
        match &part.content {
            Content::Row(message, body) => give(&entry(at, *message, *body), place),
            &Content::Forged { block, slot, block_no, previous } => self.forged(at, block, slot, block_no, previous, &mut give),
            &Content::Extended { block, slot } => self.extended(at, block, slot, &mut give),
            Content::RolledBack => {
                self.rolled_back = true;
                Ok(())
            }
            Content::Of(name, on) => self.on_connection(at, name, on, &mut give),
        }
    }

    /// Gives the rows that are still incomplete.
    fn give_rest<E>(&mut self, mut give: impl FnMut(&Entry<'_>, i64) -> Result<(), E>) -> Result<(), E> {
        while let Some(own) = self.own.pop_front() {
            own.give_without_size(&mut give)?;
        }
        Ok(())
    }

    fn forged<E>(
        &mut self,
        at: At,
        block: &[u8],
        slot: i64,
        block_no: Option<i64>,
        previous: Option<&[u8]>,
        give: &mut impl FnMut(&Entry<'_>, i64) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.own.iter().any(|own| *own.block == *block) {
            return Ok(());
        }
        if self.own.len() == MOST_OWN
            && let Some(oldest) = self.own.pop_front()
        {
            oldest.give_without_size(give)?;
        }
        self.own.push_back(Own { block: block.into(), slot, size_bytes: None, adopted: None });
        if let Some(block_no) = block_no {
            self.number(block, block_no);
        }
        give(&entry(at, Message::Forged, Body::Block(Block { block, slot: Some(slot), block_no, previous, ..Block::default() })), at.place)
    }

    fn extended<E>(&mut self, at: At, block: &[u8], slot: i64, give: &mut impl FnMut(&Entry<'_>, i64) -> Result<(), E>) -> Result<(), E> {
        let block_no = self.numbers.get(block).copied();
        let length = block_no.zip(self.tip).map(|(block_no, tip)| block_no - tip);
        self.tip = block_no;
        let message = if std::mem::take(&mut self.rolled_back) { Message::Switched } else { Message::Adopted };
        match self.own.iter_mut().find(|own| *own.block == *block) {
            Some(own) if own.adopted.is_none() => {
                own.adopted = Some((at, length));
                if own.size_bytes.is_some() { own.give(give) } else { Ok(()) }
            }
            _ => give(&entry(at, message, Body::Block(Block { block, slot: Some(slot), length, ..Block::default() })), at.place),
        }
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
            self.size(block, *size_bytes, give)?;
            let body = Block { block, slot: Some(*slot), block_no: Some(*block_no), connection, ..Block::default() };
            return give(&entry(at, Message::Sending, Body::Block(body)), at.place);
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
                    give(&entry(header.at, Message::Header, Body::Block(body)), header.at.place)?;
                }
                let body = Block { block: last.1, length, connection, ..Block::default() };
                return give(&entry(at, Message::Requested, Body::Block(body)), at.place);
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
                    self.size(&block, size_bytes, give)?;
                    let body = Block { block: &block, slot: Some(slot), block_no: Some(block_no), connection, ..Block::default() };
                    return give(&entry(at, Message::Announced, Body::Block(body)), at.place);
                }
            }
            On::Closed | On::Sent { .. } => {}
        }
        Ok(())
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

    /// Takes the size of a block; where it is an own one that was adopted, its row is complete.
    fn size<E>(&mut self, block: &[u8], size_bytes: i64, give: &mut impl FnMut(&Entry<'_>, i64) -> Result<(), E>) -> Result<(), E> {
        match self.own.iter_mut().find(|own| *own.block == *block && own.size_bytes.is_none()) {
            Some(own) => {
                own.size_bytes = Some(size_bytes);
                own.give(give)
            }
            None => Ok(()),
        }
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

impl Own {
    /// Gives the row of its adoption where it still waits for the size.
    fn give_without_size<E>(&self, give: &mut impl FnMut(&Entry<'_>, i64) -> Result<(), E>) -> Result<(), E> {
        if self.size_bytes.is_none() { self.give(give) } else { Ok(()) }
    }

    /// Gives the row of its adoption, where it was adopted.
    fn give<E>(&self, give: &mut impl FnMut(&Entry<'_>, i64) -> Result<(), E>) -> Result<(), E> {
        let Some((at, length)) = self.adopted else { return Ok(()) };
        let body = Block { block: &self.block, slot: Some(self.slot), size_bytes: self.size_bytes, length, ..Block::default() };
        give(&entry(at, Message::SelfAdopted, Body::Block(body)), at.place)
    }
}

fn fetched<'a>(at: At, block: &'a [u8], connection: Option<Connection<'a>>) -> Entry<'a> {
    entry(at, Message::Fetched, Body::Block(Block { block, connection, ..Block::default() }))
}

fn entry(at: At, message: Message, body: Body<'_>) -> Entry<'_> {
    Entry { ts_ns: at.ts_ns, host: None, thread: None, message, body }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "aa00000000000000000000000000000000000000000000000000000000000001";
    const SECOND: &str = "bb00000000000000000000000000000000000000000000000000000000000002";
    const TO_A_PEER: &str = "10.0.0.1:3001<->10.0.0.2:40000";

    /// A line at this many ms into a second.
    fn line(ms: u32, msg: &str, members: &str) -> String {
        format!(r#"{{"time":"2026-01-01T00:00:07.{ms:03}Z","level":"DEBUG","msg":"{msg}","component":"network"{members}}}"#)
    }

    fn on(connection: &str, members: &str) -> String {
        format!(r#","connection_id":"{connection}"{members}"#)
    }

    fn asked(ms: u32, first: (u32, &str), last: (u32, &str)) -> String {
        let msg =
            format!("calling GetBlockRange(start: {{Slot: {}, Hash: {}}}, end: {{Slot: {}, Hash: {}}})", first.0, first.1, last.0, last.1);
        line(ms, &msg, &on(TO_A_PEER, ""))
    }

    fn offered(ms: u32, tip: (u32, &str), size_bytes: u32) -> String {
        let hash = STANDARD.encode(hex::decode(tip.1).unwrap());
        let members = format!(r#","block_size":{size_bytes},"tip_slot":{},"tip_hash":"{hash}","tip_block_number":3"#, tip.0);
        line(ms, "calling RollForward", &on(TO_A_PEER, &members))
    }

    /// The rows of a log: ms, message, and of blocks the first two digits of the hash; slots otherwise.
    fn rows(log: &[String]) -> Vec<(i64, Message, String)> {
        let (mut joins, mut rows) = (Joins::default(), Vec::new());
        let mut give = |entry: &Entry<'_>, place: i64| {
            let ms = entry.ts_ns / 1_000_000 % 1_000;
            assert!(log[place as usize].contains(&format!("07.{ms:03}Z")), "a row has the place of its own line");
            let what = match entry.body {
                Body::Block(block) => String::from_utf8_lossy(&block.block[..2]).into_owned(),
                Body::Slot(slot) => slot.slot.unwrap().to_string(),
                _ => String::new(),
            };
            rows.push((ms, entry.message, what));
            Ok::<(), ()>(())
        };
        for (place, line) in log.iter().enumerate() {
            let read = read_line(line.as_bytes()).unwrap_or_else(|reason| panic!("{line}: {reason}"));
            if let Some(part) = &read.part {
                joins.take(part, place as i64, &mut give).unwrap();
            }
        }
        joins.give_rest(&mut give).unwrap();
        rows
    }

    /// A row of a block: message, slot, block number, size and length.
    type BlockRow = (Message, Option<i64>, Option<i64>, Option<i64>, Option<i64>);

    /// The rows of blocks of a log, in full.
    fn blocks(log: &[String]) -> Vec<BlockRow> {
        let (mut joins, mut rows) = (Joins::default(), Vec::new());
        let mut give = |entry: &Entry<'_>, _: i64| {
            if let Body::Block(block) = entry.body {
                rows.push((entry.message, block.slot, block.block_no, block.size_bytes, block.length));
            }
            Ok::<(), ()>(())
        };
        for line in log {
            if let Some(part) = &read_line(line.as_bytes()).unwrap().part {
                joins.take(part, 0, &mut give).unwrap();
            }
        }
        joins.give_rest(&mut give).unwrap();
        rows
    }

    fn reason(line: &str) -> Option<Reason> {
        read_line(line.as_bytes()).err()
    }

    #[test]
    fn a_header_gets_its_hash_from_the_range_that_asks_for_its_slot() {
        let header = |ms, slot| line(ms, "chainsync: header received", &on(TO_A_PEER, &format!(r#","slot":{slot},"tip_slot":9"#)));
        let elsewhere = line(9, "chainsync: header received", &on("10.0.0.1:3001<->10.0.0.3:40000", r#","slot":7"#));
        let log = [
            elsewhere,
            header(10, 7),
            line(11, "updated peer tip", &on(TO_A_PEER, r#","slot":7,"block_number":3"#)),
            header(12, 8),
            header(13, 9),
            asked(15, (7, FIRST), (9, SECOND)),
            line(16, "block returned", &on(TO_A_PEER, "")),
            line(17, "block returned", &on(TO_A_PEER, "")),
            line(18, "block returned", &on(TO_A_PEER, "")),
            line(19, "batch done", &on(TO_A_PEER, "")),
            asked(20, (7, FIRST), (7, FIRST)),
            line(21, "no blocks returned", &on(TO_A_PEER, "")),
            line(22, "block returned", &on(TO_A_PEER, "")),
        ];
        // The block between the first and the last has no hash in the log; what was asked for again was noticed before.
        let wanted = [
            (10, Message::Header, "aa"),
            (13, Message::Header, "bb"),
            (15, Message::Requested, "bb"),
            (16, Message::Fetched, "aa"),
            (18, Message::Fetched, "bb"),
            (20, Message::Requested, "aa"),
        ];
        assert_eq!(rows(&log), wanted.map(|(ms, message, block)| (ms, message, block.to_owned())));
        let rows = blocks(&log);
        assert_eq!(rows[0], (Message::Header, Some(7), Some(3), None, None));
        assert_eq!(rows[1], (Message::Header, Some(9), None, None, None));
        assert_eq!(rows[2], (Message::Requested, None, None, None, Some(3)));
        assert_eq!(rows[5], (Message::Requested, None, None, None, Some(1)));
    }

    #[test]
    fn a_range_has_a_length_where_its_headers_are_of_one_chain() {
        let header = |slot| line(10, "chainsync: header received", &on(TO_A_PEER, &format!(r#","slot":{slot}"#)));
        let back = line(11, "roll backward", &on(TO_A_PEER, ""));
        let length = |log: &[String]| blocks(log).into_iter().find(|row| row.0 == Message::Requested).unwrap().4;
        let range = || asked(15, (7, FIRST), (9, SECOND));
        assert_eq!(length(&[header(6), header(7), header(8), header(9), header(12), range()]), Some(3));
        assert_eq!(length(&[header(7), header(8), back.clone(), header(9), range()]), None);
        assert_eq!(length(&[header(7), header(8), back, header(7), header(9), range()]), Some(2));
        assert_eq!(length(&[header(8), header(9), range()]), None);
    }

    #[test]
    fn blocks_are_those_of_their_range_though_lines_are_missing() {
        let on_peer = |ms, msg: &str| line(ms, msg, &on(TO_A_PEER, ""));
        let log = [
            asked(10, (7, FIRST), (7, FIRST)),
            asked(11, (8, SECOND), (8, SECOND)),
            on_peer(12, "starting batch"),
            on_peer(13, "block returned"),
            // Its "batch done" is missing.
            on_peer(14, "starting batch"),
            on_peer(15, "block returned"),
            on_peer(16, "batch done"),
            asked(20, (9, FIRST), (9, FIRST)),
            on_peer(21, "calling GetBlock(point: {Slot: 5, Hash: aa})"),
            on_peer(22, "starting batch"),
            on_peer(23, "block returned"),
            on_peer(24, "batch done"),
            asked(30, (9, FIRST), (9, FIRST)),
            on_peer(31, "calling RequestRange(start: {Slot: 5, Hash: aa}, end: {Slot: 5, Hash: aa})"),
            on_peer(32, "block returned"),
            asked(40, (9, SECOND), (9, SECOND)),
            on_peer(41, "starting batch"),
            on_peer(42, "block returned"),
        ];
        let fetched: Vec<_> = rows(&log).into_iter().filter(|row| row.1 == Message::Fetched).map(|(ms, _, block)| (ms, block)).collect();
        assert_eq!(fetched, [(13, "aa"), (15, "bb"), (42, "bb")].map(|(ms, block)| (ms, block.to_owned())));
    }

    #[test]
    fn a_header_is_announced_once_it_is_sure_to_be_the_tips() {
        let at_tip = |ms| line(ms, "calling AwaitReply()", &on(TO_A_PEER, ""));
        let back = line(40, "calling RollBackward(point: {Slot: 7, Hash: aa}, tip: {})", &on(TO_A_PEER, ""));
        let log = [
            offered(10, (9, SECOND), 5),
            offered(11, (9, SECOND), 6),
            at_tip(12),
            at_tip(13),
            offered(14, (7, FIRST), 7),
            back,
            at_tip(41),
        ];
        assert_eq!(rows(&log), [(11, Message::Announced, "bb".to_owned())]);
        assert_eq!(blocks(&log), [(Message::Announced, Some(9), Some(3), None, None)]);
    }

    #[test]
    fn an_own_block_is_forged_once_and_adopted_with_its_size() {
        let of = |hash: &str, rest: &str| format!(r#","slot":7,"hash":"{hash}"{rest}"#);
        let log = [
            line(0, "producing block", r#","slot":7"#),
            line(10, "successfully built block", &of(FIRST, &format!(r#","block_number":3,"prev_hash":"{SECOND}","block_size":0"#))),
            line(11, "block proposal accepted by chain", &of(FIRST, r#","block_number":3"#)),
            line(12, "block produced successfully", &of(FIRST, "")),
            offered(13, (7, FIRST), 853),
            line(20, &format!("chain extended, new tip: {FIRST} at slot 7"), r#","source":"forged""#),
            line(50, "calling AwaitReply()", &on(TO_A_PEER, "")),
            line(60, &format!("chain rolled back, new tip: {SECOND} at slot 5"), ""),
            line(70, &format!("chain extended, new tip: {SECOND} at slot 8"), r#","source":"forged""#),
            line(90, "forge check: not leader for slot", r#","current_slot":9,"tip_slot":8"#),
        ];
        let wanted = [
            (0, Message::Leader, "7"),
            (10, Message::Forged, "aa"),
            (20, Message::SelfAdopted, "aa"),
            (13, Message::Announced, "aa"),
            (70, Message::Switched, "bb"),
            (90, Message::NotLeader, "9"),
        ];
        assert_eq!(rows(&log), wanted.map(|(ms, message, block)| (ms, message, block.to_owned())));
        let rows = blocks(&log);
        assert_eq!(rows[0], (Message::Forged, Some(7), Some(3), None, None));
        assert_eq!(rows[1], (Message::SelfAdopted, Some(7), None, Some(853), None));
    }

    #[test]
    fn a_log_without_debug_lines_still_tells_of_forging_and_adoption() {
        let log = [
            line(11, "block proposal accepted by chain", &format!(r#","slot":7,"hash":"{FIRST}","block_number":3"#)),
            line(12, "block produced successfully", &format!(r#","slot":7,"hash":"{FIRST}""#)),
            line(20, &format!("chain extended, new tip: {FIRST} at slot 7"), ""),
            line(30, "block produced successfully", &format!(r#","slot":8,"hash":"{SECOND}""#)),
        ];
        let rows = blocks(&log);
        let messages: Vec<_> = rows.iter().map(|row| row.0).collect();
        assert_eq!(messages, [Message::Forged, Message::Forged, Message::SelfAdopted]);
        assert_eq!((rows[0].2, rows[1].2, rows[2].3), (Some(3), None, None));
    }

    #[test]
    fn a_block_that_is_sent_is_known_by_its_header() {
        // [[[3, 7, null], h'01'], [], [], {}, []]
        let block = "858283030 7f64101 8080a080".replace(' ', "");
        let sent = |block: &str, kind: u32| line(30, &format!("calling Block(blockType: +{kind}, blockData: {block})"), &on(TO_A_PEER, ""));
        let sent_block = |line: &str| match read_line(line.as_bytes()).unwrap().part {
            Some(Part { content: Content::Of(_, On::Sent { block, slot, block_no, size_bytes }), .. }) => {
                Some((String::from_utf8_lossy(&block).into_owned(), slot, block_no, size_bytes))
            }
            _ => None,
        };
        let header = blake2b_simd::Params::new().hash_length(32).hash(&hex::decode("8283030 7f64101".replace(' ', "")).unwrap());
        assert_eq!(sent_block(&sent(&block, 7)), Some((header.to_hex().to_string(), 7, 3, 12)));
        assert_eq!(sent_block(&sent(&block, 1)), None, "Byron");
        for cut in 1..block.len() - 8 {
            assert!(reason(&sent(&block[..cut], 7)).is_none_or(|reason| reason == Reason::Wrong("msg")), "cut at {cut}");
        }
        assert_eq!(reason(&sent("85828303", 7)), Some(Reason::Wrong("msg")));
        assert_eq!(reason(&sent("zz", 7)), Some(Reason::Wrong("msg")));
        assert_eq!(reason(&sent(&"9f".repeat(100_000), 7)), Some(Reason::Wrong("msg")));
        assert_eq!(reason(&sent("8582831affffffff07f64101", 7)), Some(Reason::OutOfRange("msg")));
    }

    #[test]
    fn what_is_wrong_with_a_line_is_told() {
        let leader = line(0, "producing block", r#","slot":7"#);
        assert_eq!(reason(&leader), None);
        assert_eq!(reason(&leader.replace("\"slot\":7", "\"slot\":\"7\"")), Some(Reason::Wrong("slot")));
        assert_eq!(reason(&leader.replace("\"slot\":7", "\"slot\":1e99")), Some(Reason::Wrong("slot")));
        assert_eq!(reason(&leader.replace("\"slot\":7", "\"slot\":99999999999")), Some(Reason::OutOfRange("slot")));
        assert_eq!(reason(&leader.replace(",\"slot\":7", "")), Some(Reason::Missing("slot")));
        assert_eq!(reason(&leader.replace("2026-01", "2026-13")), Some(Reason::Wrong("time")));
        assert_eq!(reason(&leader.replace("2026", "1996")), Some(Reason::OutOfRange("time")));
        assert_eq!(reason(&leader.replace("\"slot\":7", "\"slot\":7]")), Some(Reason::NotJson));
        assert_eq!(reason(&leader.replace("\"time\"", "\"when\"")), Some(Reason::Missing("time")));
        assert_eq!(reason(&leader.replace("\"msg\"", "\"message\"")), Some(Reason::Missing("msg")));
        assert_eq!(reason("time=2026-01-01 msg=x"), Some(Reason::NotJson));
        for length in 1..leader.len() {
            assert_eq!(reason(&leader[..length]), Some(Reason::Cut), "cut at {length}");
        }
        assert_eq!(reason(&line(0, "calling GetBlockRange(start: 7)", &on(TO_A_PEER, ""))), Some(Reason::Wrong("msg")));
        assert_eq!(reason(&line(0, "chain extended, new tip: at slot 7", "")), Some(Reason::Wrong("msg")));
        assert_eq!(reason(&line(0, "block returned", "")), Some(Reason::Missing("connection_id")));
        assert_eq!(reason(&line(0, "block returned", r#","connection_id":7"#)), Some(Reason::Wrong("connection_id")));
        assert_eq!(reason(&offered(0, (7, FIRST), 7).replace("tip_hash\":\"", "tip_hash\":\"?")), Some(Reason::Wrong("tip_hash")));
        let client = line(0, "calling AwaitReply()", &on("/bed/n1/node.socket<->unix@5", ""));
        assert_eq!(read_line(client.as_bytes()).unwrap().part, None, "a local client");
    }

    #[test]
    fn lines_of_no_interest_are_counted_by_what_they_have_in_common() {
        for (msg, name) in [
            ("tx-submission: client message for 127.0.0.1:50334", "tx-submission: client message for"),
            ("failed to add tx aa53d4 to mempool: x", "failed to add tx"),
            ("calling RequestTxs(txIds: [aa])", "calling RequestTxs"),
            (r#"bad \"thing\""#, "bad"),
            ("batch done, checking for more headers", "batch done, checking for more headers"),
            ("7", ""),
            ("", ""),
            ("chain extended, new tip: ab at slot 1", "chain extended, new tip"),
        ] {
            let line = line(0, msg, "");
            assert_eq!(String::from_utf8_lossy(&read_line(line.as_bytes()).unwrap().name), name, "{msg}");
        }
    }

    #[test]
    fn what_waits_for_the_rest_of_its_row_stays_within_bounds() {
        let mut joins = Joins::default();
        let nothing = |_: &Entry<'_>, _: i64| Ok::<(), ()>(());
        let mut take = |line: &str| match read_line(line.as_bytes()).unwrap().part {
            Some(part) => joins.take(&part, 0, nothing).unwrap(),
            _ => panic!("{line}"),
        };
        for number in 0..3 * MOST_CONNECTIONS {
            take(&line(
                0,
                "chainsync: header received",
                &on(&format!("10.0.0.1:3001<->10.0.{}.{}:1", number / 250, number % 250), r#","slot":7"#),
            ));
        }
        for number in 0..2 * MOST_NUMBERS + 100 {
            take(&line(0, "chainsync: header received", &on(TO_A_PEER, &format!(r#","slot":{number}"#))));
            take(&line(0, "block produced successfully", &format!(r#","slot":7,"hash":"{number:064x}""#)));
            take(&offered(0, (7, &format!("{number:064x}")), 7));
            if number < 2 * MOST_ASKED {
                take(&asked(0, (0, FIRST), (0, SECOND)));
            }
        }
        assert!(joins.connections.len() <= MOST_CONNECTIONS && joins.own.len() <= MOST_OWN && joins.numbers.len() <= MOST_NUMBERS);
        assert!(joins.connections.values().map(|peer| peer.headers.len()).sum::<usize>() <= MOST_HEADERS);
        assert!(joins.connections.values().all(|peer| peer.asked.len() <= MOST_ASKED));
    }
}
