//! Reading the values of a message's members.

use super::{Address, Block, Body, Connection, Members, Transactions, Version};
use crate::json::{Cursor, Value};
use crate::reason::Reason;
use crate::time::line_time;

/// The fields of a resource message; the first ten are always there.
pub(crate) const RESOURCES: [&str; RESOURCES_NEEDED + RESOURCES_OPTIONAL] = [
    "CentiCpu",
    "CentiGC",
    "CentiMut",
    "GcsMajor",
    "GcsMinor",
    "Alloc",
    "Live",
    "RSS",
    "CentiBlkIO",
    "Threads",
    "Heap",
    "NetRd",
    "NetWr",
    "FsRd",
    "FsWr",
];
pub(super) const RESOURCES_NEEDED: usize = 10;
pub(super) const RESOURCES_OPTIONAL: usize = 5;

pub(super) fn resources<'a>(members: &mut impl Members<'a>) -> Result<Option<Body<'a>>, Reason> {
    /// Places in [`RESOURCES`] in the order in which nodes write them: that of the alphabet.
    const WRITTEN: [usize; RESOURCES.len()] = [5, 8, 0, 1, 2, 13, 14, 3, 4, 10, 6, 11, 12, 7, 9];
    let mut values = [None; RESOURCES.len()];
    let mut written = WRITTEN.iter();
    members.each(|key, value| {
        let is = |place: usize| RESOURCES[place].as_bytes() == key;
        let place = written.next().copied().filter(|&place| is(place)).or_else(|| (0..RESOURCES.len()).find(|&place| is(place)));
        if let Some(place) = place {
            values[place] = Some(within(RESOURCES[place], Some(value), -MOST_COUNTED, MOST_COUNTED)?);
        }
        Ok(place.is_some())
    })?;
    let mut needed = [0; RESOURCES_NEEDED];
    for ((needed, value), name) in needed.iter_mut().zip(values).zip(RESOURCES) {
        *needed = value.ok_or(Reason::Missing(name))?;
    }
    let mut optional = [None; RESOURCES_OPTIONAL];
    optional.copy_from_slice(&values[RESOURCES_NEEDED..]);
    Ok(Some(Body::Resources(needed, optional)))
}

/// Reads a header that was announced; not after it was sent, and not of going back.
pub(super) fn announced<'a>(members: &mut impl Members<'a>) -> Result<Option<Body<'a>>, Reason> {
    let (mut added, mut point, mut peer, mut again, mut back) = (None, None, None, false, false);
    members.each(|key, value| {
        match key {
            b"addBlock" => added = Some(value),
            b"block" => point = Some(value),
            b"peer" => peer = Some(value),
            b"risingEdge" | b"blockingRead" => again |= value == Value::Bool(false),
            b"rollBackTo" => back = true,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    if again || back {
        return Ok(None);
    }
    let block = hash("addBlock", added.or(point))?;
    Ok(Some(Body::Block(Block { block, connection: connection("peer", peer)?, ..Block::default() })))
}

pub(super) fn generator_summary<'a>(members: &mut impl Members<'a>) -> Result<Option<Body<'a>>, Reason> {
    let mut summary = None;
    members.each(|key, value| {
        let is = key == b"summary";
        if is {
            summary = Some(value);
        }
        Ok(is)
    })?;
    let Some(Value::Object(summary)) = summary else { return Err(Reason::Missing("summary")) };
    let (mut sent, mut failures) = (None, None);
    Cursor::new(summary).members(|key, value| {
        match key {
            b"ssTxSent" => sent = Some(value),
            b"ssFailures" => failures = Some(value),
            _ => {}
        }
        Ok::<(), Reason>(())
    })?;
    let rejected = failures.and_then(|failures| count("ssFailures", Some(failures)).ok());
    Ok(Some(Body::Transactions(Transactions { count: Some(count("ssTxSent", sent)?), accepted: None, rejected })))
}

pub(super) fn version<'a>(members: &mut impl Members<'a>) -> Result<Option<Body<'a>>, Reason> {
    let mut version = Version::default();
    members.each(|key, value| {
        let field = match key {
            b"applicationVersion" => &mut version.version,
            b"gitRevision" => &mut version.revision,
            b"compilerVersion" => &mut version.compiler,
            _ => return Ok(false),
        };
        *field = string(value).unwrap_or_default();
        Ok(true)
    })?;
    Ok(Some(Body::Version(version)))
}

/// Reads the time of a line, in ns since 1970.
pub(crate) fn time(field: &'static str, value: Option<Value<'_>>) -> Result<i64, Reason> {
    match value.ok_or(Reason::Missing(field))? {
        Value::String(text) => line_time(field, text),
        _ => Err(Reason::Wrong(field)),
    }
}

/// Reads a text that must be there.
#[cfg(feature = "ingest")]
pub(crate) fn text<'a>(field: &'static str, value: Option<Value<'a>>) -> Result<&'a [u8], Reason> {
    string(value.ok_or(Reason::Missing(field))?).ok_or(Reason::Wrong(field))
}

pub(crate) fn string(value: Value<'_>) -> Option<&[u8]> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// Slots, and so block numbers: 68 years of seconds. What is computed of them stays far within 64 bits.
const MOST_SLOTS: i64 = i32::MAX as i64;
/// Bytes, hundredths of a second, and whatever else a node counts from its start on.
const MOST_COUNTED: i64 = 1 << 53;

/// Characters of the longest name that a host can have.
const MOST_ADDRESS: usize = 253;

/// Characters of a hash: twice what 32 bytes have in hex.
const MOST_HASH: usize = 128;

/// A whole number that fits into 64 bits, within a range.
#[inline]
fn within(field: &'static str, value: Option<Value<'_>>, least: i64, most: i64) -> Result<i64, Reason> {
    let text = match value.ok_or(Reason::Missing(field))? {
        Value::Number(text) => text,
        Value::Whole(number) if (least..=most).contains(&number) => return Ok(number),
        Value::Whole(_) => return Err(Reason::OutOfRange(field)),
        _ => return Err(Reason::Wrong(field)),
    };
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let mut number = 0;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 || digits.len() > 18 {
            return Err(if digits.iter().all(u8::is_ascii_digit) { Reason::OutOfRange(field) } else { Reason::Wrong(field) });
        }
        number = number * 10 + i64::from(digit);
    }
    let number = if negative { -number } else { number };
    if (least..=most).contains(&number) { Ok(number) } else { Err(Reason::OutOfRange(field)) }
}

/// A slot.
#[inline]
pub(crate) fn slot(field: &'static str, value: Option<Value<'_>>) -> Result<i64, Reason> {
    within(field, value, 0, MOST_SLOTS)
}

/// A slot that may be missing, or null.
pub(super) fn maybe_slot(field: &'static str, value: Option<Value<'_>>) -> Result<Option<i64>, Reason> {
    maybe(slot, field, value)
}

/// A block's number; -1 before the first.
#[inline]
pub(crate) fn number(field: &'static str, value: Option<Value<'_>>) -> Result<i64, Reason> {
    within(field, value, -1, MOST_SLOTS)
}

/// Reads a count.
#[inline]
pub(crate) fn count(field: &'static str, value: Option<Value<'_>>) -> Result<i64, Reason> {
    within(field, value, 0, MOST_COUNTED)
}

/// Reads a count that may be missing, or null.
pub(super) fn maybe_count(field: &'static str, value: Option<Value<'_>>) -> Result<Option<i64>, Reason> {
    maybe(count, field, value)
}

fn maybe(
    read: fn(&'static str, Option<Value<'_>>) -> Result<i64, Reason>,
    field: &'static str,
    value: Option<Value<'_>>,
) -> Result<Option<i64>, Reason> {
    match value {
        None | Some(Value::Null) => Ok(None),
        value => read(field, value).map(Some),
    }
}

/// By how many blocks a chain grew; 1 where it is missing.
pub(super) fn growth(field: &'static str, value: Option<Value<'_>>) -> Result<i64, Reason> {
    let read = |field, value: Option<Value<'_>>| within(field, value, -MOST_SLOTS, MOST_SLOTS);
    Ok(maybe(read, field, value)?.unwrap_or(1))
}

/// The number before the one that is written: nodes write that of the block that is next.
#[inline]
pub(super) fn number_before(field: &'static str, value: Option<Value<'_>>) -> Result<i64, Reason> {
    Ok(within(field, value, 0, MOST_SLOTS)? - 1)
}

/// `23`, or `{"unBlockNo": 23}`.
#[inline]
pub(super) fn wrapped_number(field: &'static str, value: Option<Value<'_>>) -> Result<i64, Reason> {
    let Some(Value::Object(wrapped)) = value else { return number(field, value) };
    let mut inner = None;
    Cursor::new(wrapped).members(|key, value| {
        if key == b"unBlockNo" {
            inner = Some(value);
        }
        Ok::<(), Reason>(())
    })?;
    number(field, inner)
}

/// A share of the slots that have a block.
pub(super) fn density(field: &'static str, value: Option<Value<'_>>) -> Result<f64, Reason> {
    let number = match value.ok_or(Reason::Missing(field))? {
        Value::Number(text) => std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok()),
        Value::Real(number) => Some(number),
        _ => None,
    };
    // A little more than 1 where a node divides by the slots before its tip.
    let number = number.ok_or(Reason::Wrong(field))?;
    if (0.0..=2.0).contains(&number) { Ok(number) } else { Err(Reason::OutOfRange(field)) }
}

/// A density that may be missing.
pub(super) fn maybe_density(field: &'static str, value: Option<Value<'_>>) -> Result<Option<f64>, Reason> {
    value.map(|value| density(field, Some(value))).transpose()
}

/// Reads the number of transactions in a mempool, out of its size: `{"bytes": 556, "numTxs": 1}`.
pub(super) fn mempool_transactions(field: &'static str, value: Option<Value<'_>>) -> Result<Option<i64>, Reason> {
    let size = match value {
        Some(Value::Object(size)) => size,
        Some(Value::Whole(_)) => return count(field, value).map(Some),
        _ => return Ok(None),
    };
    let mut transactions = None;
    Cursor::new(size).members(|key, value| {
        if key == b"numTxs" {
            transactions = Some(count("numTxs", Some(value))?);
        }
        Ok::<(), Reason>(())
    })?;
    Ok(transactions)
}

/// A connection, out of `{"connectionId": "LOCAL:PORT REMOTE:PORT"}`, that text alone, and what legacy nodes write:
/// `{"local": {"addr": …, "port": …}, "remote": …}`. None where it is missing or written otherwise: the rest of the line still counts.
#[allow(clippy::unnecessary_wraps, reason = "one of the functions that read values, which may fail")]
pub(super) fn connection<'a>(_: &'static str, value: Option<Value<'a>>) -> Result<Option<Connection<'a>>, Reason> {
    let members = match value {
        Some(Value::Object(members)) => members,
        Some(Value::String(text)) => return Ok(both_ends(text)),
        _ => return Ok(None),
    };
    let (mut both, mut local, mut remote) = (None, None, None);
    let read = Cursor::new(members).members(|key, value| {
        match (key, value) {
            (b"connectionId", Value::String(text)) => both = both_ends(text),
            (b"local", Value::Object(end)) => local = address(end),
            (b"remote", Value::Object(end)) => remote = address(end),
            _ => {}
        }
        Ok::<(), Reason>(())
    });
    let ends = local.zip(remote).map(|(local, remote)| Connection { local: Some(local), remote });
    Ok(read.ok().and(both.or(ends)))
}

/// `LOCAL:PORT REMOTE:PORT`.
fn both_ends<'a>(text: &'a [u8]) -> Option<Connection<'a>> {
    let blank = text.iter().position(|&byte| byte == b' ')?;
    connected(&text[..blank], &text[blank + 1..])
}

/// A connection, out of its two ends, each `HOST:PORT`.
pub(crate) fn connected<'a>(local: &'a [u8], remote: &'a [u8]) -> Option<Connection<'a>> {
    Some(Connection { local: Some(end(local)?), remote: end(remote)? })
}

/// A connection of which only the peer's end is known, `HOST:PORT`.
#[cfg(feature = "ingest")]
pub(crate) fn connected_to(remote: &[u8]) -> Option<Connection<'_>> {
    Some(Connection { local: None, remote: end(remote)? })
}

/// `HOST:PORT`.
fn end(text: &[u8]) -> Option<Address<'_>> {
    let colon = text.iter().rposition(|&byte| byte == b':')?;
    checked(&text[..colon], &text[colon + 1..])
}

/// `"addr": …, "port": …`, the members of an object.
fn address(members: &[u8]) -> Option<Address<'_>> {
    let (mut host, mut port) = (None, None);
    let read = Cursor::new(members).members(|key, value| {
        match (key, value) {
            (b"addr", Value::String(text)) => host = Some(text),
            (b"port", Value::String(text) | Value::Number(text)) => port = Some(text),
            _ => {}
        }
        Ok::<(), Reason>(())
    });
    read.ok()?;
    checked(host?, port?)
}

/// An end with a host of some bytes, none of which is a blank or escaped, and a port in digits.
fn checked<'a>(host: &'a [u8], port: &'a [u8]) -> Option<Address<'a>> {
    let is_host = (1..=MOST_ADDRESS).contains(&host.len()) && host.iter().all(|&byte| byte.is_ascii_graphic() && byte != b'\\');
    let is_port = (1..=5).contains(&port.len()) && port.iter().all(u8::is_ascii_digit);
    (is_host && is_port).then_some(Address { host, port })
}

/// A hash, out of `hash`, `hash@slot`, and `HashHeader {unHashHeader = hash}`.
#[inline]
pub(crate) fn hash<'a>(field: &'static str, value: Option<Value<'a>>) -> Result<&'a [u8], Reason> {
    let Value::String(text) = value.ok_or(Reason::Missing(field))? else { return Err(Reason::Wrong(field)) };
    let text = match text.strip_prefix(b"HashHeader {unHashHeader = ") {
        Some(inner) => inner.strip_suffix(b"}").ok_or(Reason::Wrong(field))?,
        None => text,
    };
    let end = text.iter().position(|&byte| byte == b'@').unwrap_or(text.len());
    if end == 0 || text.contains(&b'\\') {
        return Err(Reason::Wrong(field));
    }
    if end > MOST_HASH {
        return Err(Reason::OutOfRange(field));
    }
    Ok(&text[..end])
}
