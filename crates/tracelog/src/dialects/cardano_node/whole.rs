//! The long way: any line, member by member.

use std::borrow::Cow;

use super::super::entry::{Entry, Seen};
#[cfg(feature = "ingest")]
use super::MOST_OF_A_NAME;
use crate::json::{Cursor, Value, is_text, joined, unescaped};
use crate::messages::{LEGACY_LOCAL_SERVER, Members, by_kind, by_namespace, read, string, time};
use crate::reason::Reason;

/// Text without escapes.
type Text<'a> = Cow<'a, [u8]>;

/// Reads a line member by member.
pub(super) fn read_whole(line: &[u8]) -> Result<Seen<'_>, Reason> {
    let (mut at, mut namespace, mut data, mut host, mut thread) = (None, None, None, None, None);
    let mut cursor = Cursor::new(line);
    cursor.members(|key, value| {
        match key {
            b"at" => at = Some(value),
            b"ns" => namespace = Some(value),
            b"data" => data = Some(value),
            b"host" => host = string(value),
            b"thread" => thread = string(value),
            _ => {}
        }
        Ok::<(), Reason>(())
    })?;
    if !cursor.at_end() {
        return Err(Reason::NotJson);
    }
    let namespace: Text<'_> = match namespace.ok_or(Reason::Missing("ns"))? {
        Value::String(name) => unescaped(name),
        Value::Array(parts) => Cow::Owned(joined(parts).ok_or(Reason::Wrong("ns"))?),
        _ => return Err(Reason::Wrong("ns")),
    };
    let Some(Value::Object(data)) = data else {
        // Some messages have no data worth an object; those that are read all have.
        return match by_namespace(&namespace) {
            Some(_) => Err(if data.is_none() { Reason::Missing("data") } else { Reason::Wrong("data") }),
            None => Ok(Seen { name: namespace, entry: None }),
        };
    };
    let (kind, data) = body(data)?;
    let message = by_namespace(&namespace).or_else(|| {
        let local = namespace.as_ref() == LEGACY_LOCAL_SERVER || namespace.starts_with(b"ChainSync.ServerBlock");
        kind.as_deref().and_then(by_kind).filter(|_| !local)
    });
    let name = match kind {
        Some(kind) if namespace.starts_with(b"cardano.node.") => Cow::Owned([&namespace, b":".as_slice(), &kind].concat()),
        _ => namespace,
    };
    let Some(message) = message else { return Ok(Seen { name, entry: None }) };
    if !is_text(line) {
        return Err(Reason::NotJson);
    }
    let Some(body) = read(message, &mut Cursor::new(data))? else { return Ok(Seen { name, entry: None }) };
    let ts_ns = time("at", at)?;
    Ok(Seen { name, entry: Some(Entry { ts_ns, host, thread, message, body }) })
}

/// The host that a line of any message names; None where it names none, or can't be read to its end.
#[cfg(feature = "ingest")]
pub(super) fn host_of(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii();
    let (mut cursor, mut host) = (Cursor::new(line), None);
    let read = cursor.members(|key, value| {
        if key == b"host" {
            host = string(value);
        }
        Ok::<(), Reason>(())
    });
    host.filter(|host| read.is_ok() && cursor.at_end() && is_text(host) && host.len() <= MOST_OF_A_NAME)
}

/// The kind of a message and the object that has its fields: `data` itself, or what legacy forge events wrap in it.
fn body(data: &[u8]) -> Result<(Option<Text<'_>>, &[u8]), Reason> {
    let (mut kind, mut credentials, mut wrapped) = (None, false, None);
    Cursor::new(data).members(|key, value| {
        match (key, value) {
            (b"kind", value) => kind = string(value).map(unescaped),
            (b"credentials", Value::String(_)) => credentials = true,
            (b"val", Value::Object(inner)) => wrapped = Some(inner),
            _ => {}
        }
        Ok::<(), Reason>(())
    })?;
    match wrapped {
        Some(inner) if kind.is_none() && credentials => {
            Cursor::new(inner).members(|key, value| {
                if key == b"kind" {
                    kind = string(value).map(unescaped);
                }
                Ok::<(), Reason>(())
            })?;
            Ok((kind, inner))
        }
        _ => Ok((kind, data)),
    }
}

impl<'a> Members<'a> for Cursor<'a> {
    #[inline]
    fn each(&mut self, mut each: impl FnMut(&[u8], Value<'a>) -> Result<bool, Reason>) -> Result<(), Reason> {
        self.members(|key, value| each(key, value).map(drop))
    }
}
