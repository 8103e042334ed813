//! Amaru's traces as JSON (`--with-json-traces`): `{"timestamp":"…","level":"…","fields":{"message":"…",…},"target":"amaru…","span":{"name":"…",…},…}`.
//!
//! | line | what it gives |
//! | --- | --- |
//! | the end of the span `store_header` | `noticed` |
//! | the end of the span `store_block` | `fetched` |
//! | the end of the span `roll_forward_chain` | `adopted` |
//! | `diffusion.forward_chain.new_tip` | `announced` |
//!
//! As version 0.1.2 writes them, with `AMARU_TRACE=info,amaru::stores::consensus=trace,amaru::consensus::forward_chain=trace`. It makes no blocks. No
//! line has the peer that a header or a block came from beside its hash, and none has a block's number.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use super::entry::Entry;
use super::parts::{At, Joining, OfParts, Part, ReadLine, each_member, members, name_of};
use crate::json::{Value, is_text};
use crate::messages::{Block, Body, Message, hash, string, text, time};
use crate::reason::Reason;

/// Amaru's dialect.
pub(super) type Amaru = OfParts<Rows>;

/// Spans that tell of a block when they end, and what.
const SPANS: [(&[u8], Message); 3] =
    [(b"store_header", Message::Header), (b"store_block", Message::Fetched), (b"roll_forward_chain", Message::Adopted)];
const NEW_TIP: &[u8] = b"diffusion.forward_chain.new_tip";

/// A block that a line tells of.
#[derive(Debug, PartialEq)]
pub(super) struct Told<'a> {
    message: Message,
    block: &'a [u8],
    slot: Option<i64>,
}

/// Rows of lines, each of one.
#[derive(Default)]
pub(super) struct Rows;

impl Joining for Rows {
    const NODE: &'static str = "amaru";
    const KEYS: &'static [&'static str] = &["\"timestamp\":", "\"level\":", "\"fields\":", "\"target\":\"amaru"];
    type Content<'a> = Told<'a>;

    fn read_line(line: &[u8]) -> Result<ReadLine<'_, Told<'_>>, Reason> {
        read_line(line)
    }

    fn take<E>(&mut self, part: &Part<Told<'_>>, place: i64, mut give: impl FnMut(&Entry<'_>, i64) -> Result<(), E>) -> Result<(), E> {
        let Told { message, block, slot } = part.content;
        let at = At { ts_ns: part.ts_ns, place };
        give(&at.entry(message, Body::Block(Block { block, slot, ..Block::default() })), place)
    }

    fn give_rest<E>(&mut self, _: impl FnMut(&Entry<'_>, i64) -> Result<(), E>) -> Result<(), E> {
        Ok(())
    }
}

/// Reads a line, without its end.
fn read_line(line: &[u8]) -> Result<ReadLine<'_, Told<'_>>, Reason> {
    let line = line.trim_ascii();
    let (mut timestamp, mut fields, mut span) = (None, None, None);
    each_member(line, |key, value| match key {
        b"timestamp" => timestamp = Some(value),
        b"fields" => fields = Some(value),
        b"span" => span = Some(value),
        _ => {}
    })?;
    let [message, point] = members("fields", fields, [b"message", b"point"])?;
    let message = text("message", message)?;
    if message == NEW_TIP {
        let (slot, block) = point_of(text("point", point)?)?;
        return told(line, timestamp, NEW_TIP, Told { message: Message::Announced, block, slot: Some(slot) });
    }
    if span.is_none() {
        return Ok(ReadLine { name: name_of(message), part: None });
    }
    let [name, block, slot] = members("span", span, [b"name", b"hash", b"slot"])?;
    let name = name.and_then(string).unwrap_or(message);
    let known = SPANS.iter().find(|(known, _)| *known == name && message == b"exit");
    let Some((name, message)) = known else { return Ok(ReadLine { name: name_of(name), part: None }) };
    let slot = slot.map(|slot| digits("slot", text("slot", Some(slot))?)).transpose()?;
    told(line, timestamp, name, Told { message: *message, block: hash("hash", block)?, slot })
}

fn told<'a>(line: &[u8], timestamp: Option<Value<'_>>, name: &'static [u8], content: Told<'a>) -> Result<ReadLine<'a, Told<'a>>, Reason> {
    if !is_text(line) {
        return Err(Reason::NotJson);
    }
    let ts_ns = time("timestamp", timestamp)?;
    Ok(ReadLine { name: Cow::Borrowed(name), part: Some(Part { ts_ns, content }) })
}

/// The slot and the hash of a point, as `SLOT.HASH`.
fn point_of(point: &[u8]) -> Result<(i64, &[u8]), Reason> {
    let dot = point.iter().position(|byte| *byte == b'.').ok_or(Reason::Wrong("point"))?;
    Ok((digits("point", &point[..dot])?, hash("point", Some(Value::String(&point[dot + 1..])))?))
}

/// A slot in digits, as text.
fn digits(field: &'static str, text: &[u8]) -> Result<i64, Reason> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return Err(Reason::Wrong(field));
    }
    let number: u32 = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(Reason::OutOfRange(field))?;
    i32::try_from(number).map(i64::from).map_err(|_| Reason::OutOfRange(field))
}
