//! Reading the values of a message's members.

use super::{Block, Body, Members, Transactions, Version};
use crate::json::{Cursor, Value};
use crate::reason::Reason;

/// The fields of a resource message; the first ten are always there, the others count as 0 where they aren't.
pub(crate) const RESOURCES: [&str; 15] = [
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
const RESOURCES_REQUIRED: usize = 10;

pub(super) fn resources<'a>(members: &mut impl Members<'a>) -> Result<Option<Body<'a>>, Reason> {
    /// Places in [`RESOURCES`] in the order in which nodes write them: that of the alphabet.
    const WRITTEN: [usize; RESOURCES.len()] = [5, 8, 0, 1, 2, 13, 14, 3, 4, 10, 6, 11, 12, 7, 9];
    let mut values = [None; RESOURCES.len()];
    let mut written = WRITTEN.iter();
    members.each(|key, value| {
        let is = |place: usize| RESOURCES[place].as_bytes() == key;
        let place = written.next().copied().filter(|&place| is(place)).or_else(|| (0..RESOURCES.len()).find(|&place| is(place)));
        if let Some(place) = place {
            values[place] = Some(whole(RESOURCES[place], Some(value))?);
        }
        Ok(place.is_some())
    })?;
    if let Some(missing) = values[..RESOURCES_REQUIRED].iter().position(Option::is_none) {
        return Err(Reason::Missing(RESOURCES[missing]));
    }
    Ok(Some(Body::Resources(values.map(Option::unwrap_or_default))))
}

/// Tells of a header that was announced; not after it was sent, and not of going back.
pub(super) fn announced<'a>(members: &mut impl Members<'a>) -> Result<Option<Body<'a>>, Reason> {
    let (mut added, mut point, mut again, mut back) = (None, None, false, false);
    members.each(|key, value| {
        match key {
            b"addBlock" => added = Some(value),
            b"block" => point = Some(value),
            b"risingEdge" | b"blockingRead" => again |= value == Value::Bool(false),
            b"rollBackTo" => back = true,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    if again || back {
        return Ok(None);
    }
    Ok(Some(Body::Block(Block { block: hash("addBlock", added.or(point))?, ..Block::default() })))
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
    let rejected = failures.and_then(|failures| whole("ssFailures", Some(failures)).ok());
    Ok(Some(Body::Transactions(Transactions { count: Some(whole("ssTxSent", sent)?), accepted: None, rejected })))
}

pub(super) fn version<'a>(members: &mut impl Members<'a>) -> Result<Option<Body<'a>>, Reason> {
    let mut told = Version::default();
    members.each(|key, value| {
        let field = match key {
            b"applicationVersion" => &mut told.version,
            b"gitRevision" => &mut told.revision,
            b"compilerVersion" => &mut told.compiler,
            _ => return Ok(false),
        };
        *field = string(value).unwrap_or_default();
        Ok(true)
    })?;
    Ok(Some(Body::Version(told)))
}

pub(crate) fn string(value: Value<'_>) -> Option<&[u8]> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// A whole number that fits into 64 bits.
#[inline]
pub(super) fn whole(field: &'static str, value: Option<Value<'_>>) -> Result<i64, Reason> {
    let text = match value.ok_or(Reason::Missing(field))? {
        Value::Number(text) => text,
        Value::Whole(number) => return Ok(number),
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
            return rare_whole(field, text);
        }
        number = number * 10 + i64::from(digit);
    }
    match digits {
        [] => Err(Reason::Wrong(field)),
        _ => Ok(if negative { -number } else { number }),
    }
}

/// Nineteen digits, or written as 1e3.
#[cold]
fn rare_whole(field: &'static str, text: &[u8]) -> Result<i64, Reason> {
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(Reason::Wrong(field))
}

/// A whole number that may be missing, or null.
pub(super) fn maybe_whole(field: &'static str, value: Option<Value<'_>>) -> Result<Option<i64>, Reason> {
    match value {
        None | Some(Value::Null) => Ok(None),
        value => whole(field, value).map(Some),
    }
}

/// A length that is 1 where it is missing.
pub(super) fn length_or_one(field: &'static str, value: Option<Value<'_>>) -> Result<i64, Reason> {
    Ok(maybe_whole(field, value)?.unwrap_or(1))
}

/// The number before the one that is written: nodes write that of the block that is next.
#[inline]
pub(super) fn number_before(field: &'static str, value: Option<Value<'_>>) -> Result<i64, Reason> {
    whole(field, value)?.checked_sub(1).ok_or(Reason::Wrong(field))
}

/// `23`, or `{"unBlockNo": 23}`.
#[inline]
pub(super) fn wrapped_number(field: &'static str, value: Option<Value<'_>>) -> Result<i64, Reason> {
    let Some(Value::Object(wrapped)) = value else { return whole(field, value) };
    let mut inner = None;
    Cursor::new(wrapped).members(|key, value| {
        if key == b"unBlockNo" {
            inner = Some(value);
        }
        Ok::<(), Reason>(())
    })?;
    whole(field, inner)
}

/// A number, with a fraction or without.
pub(super) fn real(field: &'static str, value: Option<Value<'_>>) -> Result<f64, Reason> {
    let number = match value.ok_or(Reason::Missing(field))? {
        Value::Number(text) => std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok()),
        Value::Real(number) => Some(number),
        _ => None,
    };
    number.filter(|number| number.is_finite()).ok_or(Reason::Wrong(field))
}

/// A number that may be missing.
pub(super) fn maybe_real(field: &'static str, value: Option<Value<'_>>) -> Result<Option<f64>, Reason> {
    value.map(|number| real(field, Some(number))).transpose()
}

/// How many transactions a mempool has, out of its size: `{"bytes": 556, "numTxs": 1}`.
pub(super) fn mempool_transactions(field: &'static str, value: Option<Value<'_>>) -> Result<Option<i64>, Reason> {
    let size = match value {
        Some(Value::Object(size)) => size,
        Some(Value::Whole(_)) => return whole(field, value).map(Some),
        _ => return Ok(None),
    };
    let mut count = None;
    Cursor::new(size).members(|key, value| {
        if key == b"numTxs" {
            count = Some(whole("numTxs", Some(value))?);
        }
        Ok::<(), Reason>(())
    })?;
    Ok(count)
}

/// A hash, out of `hash`, `hash@slot`, and `HashHeader {unHashHeader = hash}`.
#[inline]
pub(super) fn hash<'a>(field: &'static str, value: Option<Value<'a>>) -> Result<&'a [u8], Reason> {
    let Value::String(text) = value.ok_or(Reason::Missing(field))? else { return Err(Reason::Wrong(field)) };
    let text = match text.strip_prefix(b"HashHeader {unHashHeader = ") {
        Some(inner) => inner.strip_suffix(b"}").ok_or(Reason::Wrong(field))?,
        None => text,
    };
    let end = text.iter().position(|&byte| byte == b'@').unwrap_or(text.len());
    if end == 0 || text.contains(&b'\\') {
        return Err(Reason::Wrong(field));
    }
    Ok(&text[..end])
}
