//! Taking one line apart.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem;

use crate::json::{Broken, Cursor, Value, joined};
use crate::messages::{LEGACY_LOCAL_SERVER, Message, by_kind, by_namespace};
use crate::scan::find;
use crate::time::parse_time;

/// Why a line can't be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// It doesn't begin as an object, or is no JSON.
    NotJson,
    /// It ends in the middle.
    Cut,
    /// A field that the message always has isn't there.
    Missing(&'static str),
    /// A field is of another type, or outside its range.
    Wrong(&'static str),
}

impl std::fmt::Display for Reason {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotJson => out.write_str("not JSON"),
            Self::Cut => out.write_str("cut in the middle"),
            Self::Missing(field) => write!(out, "no '{field}'"),
            Self::Wrong(field) => write!(out, "'{field}' is not what it should be"),
        }
    }
}

impl From<Broken> for Reason {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Cut => Self::Cut,
            Broken::Malformed => Self::NotJson,
        }
    }
}

/// A line that could be read.
#[derive(Debug, PartialEq)]
pub struct Seen<'a> {
    /// Its namespace, parts joined by full stops; where that is only a legacy component, `component:kind`.
    pub name: Cow<'a, [u8]>,
    /// What it tells; None where it is of no interest.
    pub entry: Option<Entry<'a>>,
}

/// What a line of interest tells.
#[derive(Debug, PartialEq)]
pub struct Entry<'a> {
    /// When, in ns since 1970, UTC.
    pub ts_ns: i64,
    /// Who says so, as the line itself has it.
    pub host: Option<&'a [u8]>,
    /// The thread, where it matters.
    pub thread: Option<&'a [u8]>,
    /// What.
    pub body: Body<'a>,
}

/// The fields of a message. Numbers are as in the log; None where a message hasn't the field.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "fields are named as the columns of the tables, which docs/tables.md explains")]
pub enum Body<'a> {
    Resources([i64; RESOURCES.len()]),
    Slot {
        message: Message,
        slot: Option<i64>,
        block_no: Option<i64>,
    },
    Ledger {
        started: bool,
        slot: i64,
        utxo_size: Option<i64>,
        chain_density: Option<f64>,
    },
    Block {
        message: Message,
        block: &'a [u8],
        slot: Option<i64>,
        block_no: Option<i64>,
        previous: Option<&'a [u8]>,
        size: Option<i64>,
        length: Option<i64>,
    },
    Transactions {
        message: Message,
        count: Option<i64>,
        accepted: Option<i64>,
        rejected: Option<i64>,
    },
    Version {
        version: &'a [u8],
        revision: &'a [u8],
        compiler: &'a [u8],
    },
}

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

/// Reads a line, without its end.
///
/// A line whose message is of no interest is only looked at for its namespace and its end.
///
/// # Errors
/// It is no JSON, cut, or a field of a message of interest is missing or of another type.
pub fn read_line(line: &[u8]) -> Result<Seen<'_>, Reason> {
    let line = line.trim_ascii();
    if line.first() != Some(&b'{') {
        return Err(Reason::NotJson);
    }
    if let Some(head) = Head::of(line) {
        if let Some(message) = by_namespace(head.name) {
            if let Some(entry) = read_usual(line, &head, message) {
                return Ok(Seen { name: Cow::Borrowed(head.name), entry });
            }
        } else if !names_a_kind(line) {
            return if line.ends_with(b"}") { Ok(Seen { name: Cow::Borrowed(head.name), entry: None }) } else { Err(Reason::Cut) };
        }
    }
    read_whole(line)
}

/// How a line begins that is as new tracing writes it: `{"at":"…","ns":"…"`.
struct Head<'a> {
    at: &'a [u8],
    name: &'a [u8],
    /// Where the line goes on.
    end: usize,
}

impl<'a> Head<'a> {
    #[inline]
    fn of(line: &'a [u8]) -> Option<Self> {
        const BEGIN: &[u8] = b"{\"at\":\"";
        const BETWEEN: &[u8] = b"\",\"ns\":\"";
        let quote = |from| find(line, from, |wide| wide.is(b'"') | wide.is(b'\\')).filter(|&at| line[at] == b'"');
        if !line.starts_with(BEGIN) {
            return None;
        }
        let at_end = quote(BEGIN.len())?;
        if !line[at_end..].starts_with(BETWEEN) {
            return None;
        }
        let name_start = at_end + BETWEEN.len();
        let name_end = quote(name_start)?;
        Some(Self { at: &line[BEGIN.len()..at_end], name: &line[name_start..name_end], end: name_end + 1 })
    }
}

/// Reads a message of interest as new tracing writes it: `data` follows the namespace, then what is said about the line.
///
/// What it tells is what [`read_whole`] tells; None where the line is written otherwise or has a fault: that one knows why.
#[inline]
fn read_usual<'a>(line: &'a [u8], head: &Head<'a>, message: Message) -> Option<Option<Entry<'a>>> {
    const DATA: &[u8] = b",\"data\":";
    if !line[head.end..].starts_with(DATA) {
        return None;
    }
    let mut cursor = Cursor::from(line, head.end + DATA.len());
    let body = fields::<true>(message, &mut cursor).ok()?;
    let (mut host, mut thread) = (None, None);
    if let Some((usual_thread, usual_host)) = usual_tail(&mut cursor) {
        (host, thread) = (Some(usual_host), Some(usual_thread));
    } else {
        let tail = cursor.further_members(|key, value| {
            match key {
                b"host" => host = string(value),
                b"thread" => thread = string(value),
                b"at" | b"ns" | b"data" => return Err(Reason::NotJson), // twice: the later one counts
                _ => {}
            }
            Ok(())
        });
        tail.ok()?;
    }
    if !cursor.at_end() {
        return None;
    }
    let Some(body) = body else { return Some(None) };
    Some(Some(Entry { ts_ns: parse_time(head.at)?, host, thread, body }))
}

/// Thread and host where a line ends as new tracing writes it; else the cursor stays.
#[inline]
fn usual_tail<'a>(cursor: &mut Cursor<'a>) -> Option<(&'a [u8], &'a [u8])> {
    let mut ahead = *cursor;
    ahead.string_behind(b",\"sev\":\"")?;
    let thread = ahead.string_behind(b",\"thread\":\"")?;
    let host = ahead.string_behind(b",\"host\":\"")?;
    ahead.passes(b"}").then_some(())?;
    *cursor = ahead;
    Some((thread, host))
}

/// Whether a kind of interest may be anywhere in a line; false only where there is none for certain.
fn names_a_kind(line: &[u8]) -> bool {
    const KEY: &[u8] = b"\"kind\"";
    static KIND: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(KEY));
    KIND.find_iter(line).any(|at| {
        let rest = line[at + KEY.len()..].trim_ascii_start();
        let Some(rest) = rest.strip_prefix(b":").map(<[u8]>::trim_ascii_start).and_then(|rest| rest.strip_prefix(b"\"")) else {
            return true;
        };
        let Some(length) = rest.iter().position(|&byte| byte == b'"' || byte == b'\\') else { return true };
        rest[length] == b'\\' || by_kind(&rest[..length]).is_some()
    })
}

/// Reads a line member by member.
pub(crate) fn read_whole(line: &[u8]) -> Result<Seen<'_>, Reason> {
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
    let namespace: Cow<'_, [u8]> = match namespace.ok_or(Reason::Missing("ns"))? {
        Value::String(name) => Cow::Borrowed(name),
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
        kind.and_then(by_kind).filter(|_| !local)
    });
    let name = match kind {
        Some(kind) if namespace.starts_with(b"cardano.node.") => Cow::Owned([&namespace, b":".as_slice(), kind].concat()),
        _ => namespace,
    };
    let Some(body) = message.map(|message| fields::<false>(message, &mut Cursor::new(data))).transpose()?.flatten() else {
        return Ok(Seen { name, entry: None });
    };
    let ts_ns = match at.ok_or(Reason::Missing("at"))? {
        Value::String(text) => parse_time(text).ok_or(Reason::Wrong("at"))?,
        _ => return Err(Reason::Wrong("at")),
    };
    Ok(Seen { name, entry: Some(Entry { ts_ns, host, thread, body }) })
}

/// The kind of a message and the object that has its fields: `data` itself, or what legacy forge events wrap in it.
fn body(data: &[u8]) -> Result<(Option<&[u8]>, &[u8]), Reason> {
    let (mut kind, mut credentials, mut wrapped) = (None, false, None);
    Cursor::new(data).members(|key, value| {
        match (key, value) {
            (b"kind", value) => kind = string(value),
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
                    kind = string(value);
                }
                Ok::<(), Reason>(())
            })?;
            Ok((kind, inner))
        }
        _ => Ok((kind, data)),
    }
}

/// Lets each field be what stands in an object under one of its keys, as the last one has it; None where there is none.
///
/// Where the object is `DATA` itself, it must not be one that legacy nodes wrap another in.
macro_rules! take {
    ($cursor:ident) => {
        $cursor.members(|key, _| if DATA && may_wrap(key) { Err(Reason::NotJson) } else { Ok(()) })?;
    };
    ($cursor:ident, $($field:ident: $($key:literal)|+),*) => {
        $(let mut $field = None;)*
        $cursor.members(|key, value| {
            match key {
                $($($key)|+ => $field = Some(value),)*
                _ if DATA && may_wrap(key) => return Err(Reason::NotJson),
                _ => {}
            }
            Ok(())
        })?;
    };
}

/// Whether a key is one of those by which legacy forge events are known.
#[inline]
fn may_wrap(key: &[u8]) -> bool {
    key == b"val" || key == b"credentials"
}

/// What a message tells in the object that begins at the cursor; None where this one is of no interest after all.
///
/// `DATA`: the object is the line's `data`, not one wrapped in it.
#[inline]
fn fields<'a, const DATA: bool>(message: Message, cursor: &mut Cursor<'a>) -> Result<Option<Body<'a>>, Reason> {
    let block = |block, slot, block_no| Body::Block { message, block, slot, block_no, previous: None, size: None, length: None };
    let with_length =
        |block, length| Body::Block { message, block, slot: None, block_no: None, previous: None, size: None, length: Some(length) };
    let transactions = |count, accepted, rejected| Body::Transactions { message, count, accepted, rejected };
    Ok(Some(match message {
        Message::Resources => return resources::<DATA>(cursor).map(Some),
        Message::Started => {
            take!(cursor, slot: b"slot", size: b"utxoSize", density: b"chainDensity");
            Body::Ledger {
                started: true,
                slot: integer("slot", slot)?,
                utxo_size: optional("utxoSize", size)?,
                chain_density: density.map(|density| float("chainDensity", Some(density))).transpose()?,
            }
        }
        Message::LedgerMetrics => {
            take!(cursor, slot: b"slot", size: b"utxoSize", density: b"chainDensity");
            Body::Ledger {
                started: false,
                slot: integer("slot", slot)?,
                utxo_size: Some(integer("utxoSize", size)?),
                chain_density: Some(float("chainDensity", density)?),
            }
        }
        Message::BlockContext => {
            take!(cursor, slot: b"current slot", next: b"tipBlockNo");
            let slot = Some(integer("current slot", slot)?);
            // Nodes write the number of the block that is next.
            let block_no = Some(integer("tipBlockNo", next)?.checked_sub(1).ok_or(Reason::Wrong("tipBlockNo"))?);
            Body::Slot { message, slot, block_no }
        }
        Message::LedgerState | Message::LedgerView | Message::Leader | Message::NotLeader | Message::Ticked | Message::MempoolSnapshot => {
            take!(cursor, slot: b"slot");
            Body::Slot { message, slot: Some(integer("slot", slot)?), block_no: None }
        }
        Message::LedgerSnapshot => {
            take!(cursor);
            Body::Slot { message, slot: None, block_no: None }
        }
        Message::Forged => {
            take!(cursor, block: b"block", slot: b"slot", block_no: b"blockNo", previous: b"blockPrev");
            Body::Block {
                message,
                block: hash("block", block)?,
                slot: Some(integer("slot", slot)?),
                block_no: Some(integer("blockNo", block_no)?),
                previous: Some(hash("blockPrev", previous)?),
                size: None,
                length: None,
            }
        }
        Message::Header => {
            take!(cursor, header: b"block", slot: b"slot", block_no: b"blockNo");
            block(hash("block", header)?, Some(integer("slot", slot)?), Some(block_number(block_no)?))
        }
        Message::Requested => {
            take!(cursor, head: b"head", length: b"length");
            with_length(hash("head", head)?, integer("length", length)?)
        }
        Message::Fetched | Message::Sending => {
            take!(cursor, point: b"block");
            block(hash("block", point)?, None, None)
        }
        Message::Announced => {
            take!(
                cursor, added: b"addBlock", point: b"block", rising_edge: b"risingEdge", blocking_read: b"blockingRead",
                roll_back_to: b"rollBackTo"
            );
            let no = Some(Value::Bool(false));
            if rising_edge == no || blocking_read == no || roll_back_to.is_some() {
                return Ok(None);
            }
            block(hash("addBlock", added.or(point))?, None, None)
        }
        Message::Adopted | Message::Switched => {
            take!(cursor, tip: b"newtip", delta: b"chainLengthDelta");
            with_length(hash("newtip", tip)?, optional("chainLengthDelta", delta)?.unwrap_or(1))
        }
        Message::SelfAdopted => {
            take!(cursor, block: b"blockHash" | b"block hash", slot: b"slot", size: b"blockSize");
            Body::Block {
                message,
                block: hash("blockHash", block)?,
                slot: optional("slot", slot)?,
                block_no: None,
                previous: None,
                size: optional("blockSize", size)?,
                length: Some(1),
            }
        }
        Message::Collected => {
            take!(cursor, count: b"count");
            transactions(Some(integer("count", count)?), None, None)
        }
        Message::Processed => {
            take!(cursor, accepted: b"accepted", rejected: b"rejected");
            transactions(None, Some(integer("accepted", accepted)?), Some(integer("rejected", rejected)?))
        }
        Message::MempoolAdded | Message::MempoolRemoved | Message::MempoolRejected => {
            take!(cursor, size: b"mempoolSize");
            transactions(mempool_transactions(size)?, None, None)
        }
        Message::Acknowledged => {
            take!(cursor);
            transactions(None, None, None)
        }
        Message::GeneratorSummary => {
            take!(cursor, summary: b"summary");
            let Some(Value::Object(summary)) = summary else { return Err(Reason::Missing("summary")) };
            generator_summary(message, &mut Cursor::new(summary))?
        }
        Message::Version => {
            take!(cursor, version: b"applicationVersion", revision: b"gitRevision", compiler: b"compilerVersion");
            let text = |value: Option<Value<'a>>| value.and_then(string).unwrap_or_default();
            Body::Version { version: text(version), revision: text(revision), compiler: text(compiler) }
        }
    }))
}

fn generator_summary<'a>(message: Message, summary: &mut Cursor<'a>) -> Result<Body<'a>, Reason> {
    const DATA: bool = false;
    take!(summary, sent: b"ssTxSent", failures: b"ssFailures");
    let rejected = failures.and_then(|failures| integer("ssFailures", Some(failures)).ok());
    Ok(Body::Transactions { message, count: Some(integer("ssTxSent", sent)?), accepted: None, rejected })
}

fn resources<'a, const DATA: bool>(cursor: &mut Cursor<'a>) -> Result<Body<'a>, Reason> {
    /// Places in [`RESOURCES`] in the order in which nodes write them: that of the alphabet.
    const WRITTEN: [usize; RESOURCES.len()] = [5, 8, 0, 1, 2, 13, 14, 3, 4, 10, 6, 11, 12, 7, 9];
    let mut values = [None; RESOURCES.len()];
    let mut written = WRITTEN.iter();
    cursor.members(|key, value| {
        let is = |place: usize| RESOURCES[place].as_bytes() == key;
        let place = written.next().copied().filter(|&place| is(place)).or_else(|| (0..RESOURCES.len()).find(|&place| is(place)));
        if let Some(place) = place {
            values[place] = Some(integer(RESOURCES[place], Some(value))?);
        } else if DATA && may_wrap(key) {
            return Err(Reason::NotJson);
        }
        Ok(())
    })?;
    if let Some(missing) = values[..RESOURCES_REQUIRED].iter().position(Option::is_none) {
        return Err(Reason::Missing(RESOURCES[missing]));
    }
    Ok(Body::Resources(values.map(Option::unwrap_or_default)))
}

fn string(value: Value<'_>) -> Option<&[u8]> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// A whole number that fits into 64 bits.
#[inline]
fn integer(field: &'static str, value: Option<Value<'_>>) -> Result<i64, Reason> {
    let Value::Number(text) = value.ok_or(Reason::Missing(field))? else { return Err(Reason::Wrong(field)) };
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let mut number = 0;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 || digits.len() > 18 {
            return rare_integer(field, text);
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
fn rare_integer(field: &'static str, text: &[u8]) -> Result<i64, Reason> {
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(Reason::Wrong(field))
}

fn optional(field: &'static str, value: Option<Value<'_>>) -> Result<Option<i64>, Reason> {
    match value {
        None | Some(Value::Null) => Ok(None),
        value => integer(field, value).map(Some),
    }
}

fn float(field: &'static str, value: Option<Value<'_>>) -> Result<f64, Reason> {
    let Value::Number(text) = value.ok_or(Reason::Missing(field))? else { return Err(Reason::Wrong(field)) };
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok());
    number.filter(|number| number.is_finite()).ok_or(Reason::Wrong(field))
}

/// `23`, or `{"unBlockNo": 23}`.
fn block_number(value: Option<Value<'_>>) -> Result<i64, Reason> {
    let Some(Value::Object(wrapped)) = value else { return integer("blockNo", value) };
    let mut inner = None;
    Cursor::new(wrapped).members(|key, value| {
        if key == b"unBlockNo" {
            inner = Some(value);
        }
        Ok::<(), Reason>(())
    })?;
    integer("blockNo", inner)
}

fn mempool_transactions(value: Option<Value<'_>>) -> Result<Option<i64>, Reason> {
    let Some(Value::Object(size)) = value else { return Ok(None) };
    let mut count = None;
    Cursor::new(size).members(|key, value| {
        if key == b"numTxs" {
            count = Some(integer("numTxs", Some(value))?);
        }
        Ok::<(), Reason>(())
    })?;
    Ok(count)
}

/// A hash, out of `hash`, `hash@slot`, and `HashHeader {unHashHeader = hash}`.
fn hash<'a>(field: &'static str, value: Option<Value<'a>>) -> Result<&'a [u8], Reason> {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A member of a message's data: mostly one that some message has, mostly of the right type.
    fn member() -> impl Strategy<Value = String> {
        let number = any::<i64>().prop_map(|number| number.to_string());
        let hash = "[0-9a-f]{64}(@[0-9]{1,9})?".prop_map(|hash| format!("\"{hash}\""));
        let text = r#"([ -!#-\[\]-~é]|\\\\["\\nu]){0,40}"#.prop_map(|text| format!("\"{text}\""));
        let other = prop::sample::select(
            &["true", "false", "null", "[]", "{}", "0.25", "1e3", r#"[{"a":"}"},["]"]]"#, r#"{"numTxs":3,"bytes":9}"#][..],
        );
        let wrong = prop_oneof![number.clone(), hash.clone(), text, other.prop_map(str::to_owned)].boxed();
        let whole = (
            prop::sample::select(
                &[
                    "slot",
                    "current slot",
                    "tipBlockNo",
                    "blockNo",
                    "length",
                    "blockSize",
                    "count",
                    "accepted",
                    "rejected",
                    "utxoSize",
                    "chainDensity",
                ][..],
            ),
            prop_oneof![9 => number.boxed(), 1 => wrong.clone()],
        );
        let block = (
            prop::sample::select(&["block", "blockPrev", "head", "addBlock", "newtip", "blockHash", "block hash"][..]),
            prop_oneof![9 => hash.boxed(), 1 => wrong.clone()],
        );
        let rest = (
            prop::sample::select(
                &["kind", "risingEdge", "rollBackTo", "mempoolSize", "credentials", "val", "peer", "applicationVersion", "Alloc"][..],
            ),
            wrong,
        );
        prop_oneof![whole, block, rest].prop_map(|(key, value)| format!("\"{key}\":{value}"))
    }

    fn data() -> impl Strategy<Value = String> {
        let resources = prop::collection::vec(0..1_000_000_i64, RESOURCES.len())
            .prop_map(|values| RESOURCES.iter().zip(values).map(|(name, value)| format!("\"{name}\":{value}")).collect::<Vec<_>>());
        let members = prop_oneof![9 => prop::collection::vec(member(), 0..9).boxed(), 1 => resources.boxed()];
        (members, prop::sample::select(&["", " ", "\t "][..]))
            .prop_map(|(members, blank)| format!("{{{}}}", members.join(&format!("{blank},{blank}"))))
    }

    fn line() -> impl Strategy<Value = String> {
        let time = prop_oneof![9 => "2025-12-0[1-9]T07:06:4[0-9](\\.[0-9]{1,9})?Z", 1 => "[0-9T:\\\\-]{0,30}"];
        let tail = prop::sample::select(
            &[
                r#","sev":"Info","thread":"12","host":"node-0""#,
                r#","host":"a","host":"b""#,
                r#", "thread" : "1""#,
                r#","host":7,"sev":null"#,
                r#","ns":"Resources""#,
                r#","data":{"slot":1}"#,
                "",
            ][..],
        );
        (time, 0..crate::messages::NAMESPACES.len(), data(), tail).prop_map(|(time, name, data, tail)| {
            let name = String::from_utf8_lossy(crate::messages::NAMESPACES[name].0);
            format!(r#"{{"at":"{time}","ns":"{name}","data":{data}{tail}}}"#)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, max_global_rejects: 1 << 20, max_local_rejects: 1 << 20, ..ProptestConfig::default() })]

        #[test]
        fn the_short_way_tells_what_the_long_way_tells(line in line()) {
            prop_assert_eq!(read_line(line.as_bytes()), read_whole(line.as_bytes()));
        }

        #[test]
        fn the_short_way_refuses_a_damaged_line_as_the_long_way_does(line in line(), place in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = line.into_bytes();
            // Where the namespace is damaged, the line may become one of no interest, which is not read to its end.
            let from = Head::of(&bytes).map_or(bytes.len() - 1, |head| head.end);
            let place = from + place.index(bytes.len() - from);
            bytes[place] = byte;
            prop_assert_eq!(read_line(&bytes), read_whole(bytes.trim_ascii()));
            prop_assert_eq!(read_line(&bytes[..place]), read_whole(bytes[..place].trim_ascii()));
        }
    }

    #[test]
    fn most_lines_go_the_short_way() {
        for (name, data) in [
            (
                "Resources",
                r#"{"Alloc":1,"CentiBlkIO":2,"CentiCpu":3,"CentiGC":4,"CentiMut":5,"FsRd":6,"FsWr":7,"GcsMajor":8,"GcsMinor":9,"Heap":10,"Live":11,"NetRd":12,"NetWr":13,"RSS":14,"Threads":15,"kind":"ResourceStats"}"#,
            ),
            ("Forge.Loop.NodeNotLeader", r#"{"kind":"TraceNodeNotLeader","slot":1}"#),
            (
                "ChainSync.ServerHeader.Update",
                r#"{"addBlock":"30536f56@13","blockingRead":true,"kind":"ChainSyncServer.Update","peer":{"connectionId":"127.0.0.1:30000 127.0.0.1:30001"},"tip":{"block":"genesis","blockNo":-1,"slot":0}}"#,
            ),
        ] {
            let line = format!(r#"{{"at":"2025-12-01T07:06:46.5Z","ns":"{name}","data":{data},"sev":"Info","thread":"1","host":"h"}}"#);
            let line = line.as_bytes();
            let head = Head::of(line).unwrap();
            let entry = read_usual(line, &head, by_namespace(head.name).unwrap()).unwrap();
            assert!(entry.is_some());
            assert_eq!(entry, read_whole(line).unwrap().entry);
        }
    }
}
