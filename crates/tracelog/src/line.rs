//! Taking one line apart.

use std::borrow::Cow;

use memchr::memmem;

use crate::json::{Broken, Cursor, Value, joined};
use crate::messages::{LEGACY_LOCAL_SERVER, Message, by_kind, by_namespace};
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
    if let Some(name) = namespace_at_its_usual_place(line)
        && by_namespace(name).is_none()
        && !names_a_kind(line)
    {
        return if line.ends_with(b"}") { Ok(Seen { name: Cow::Borrowed(name), entry: None }) } else { Err(Reason::Cut) };
    }
    read_whole(line)
}

/// The namespace of a line that begins as new tracing writes it: `{"at":"…","ns":"…"`.
#[inline]
fn namespace_at_its_usual_place(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"{\"at\":\"")?;
    let rest = &rest[rest.iter().take(40).position(|&byte| byte == b'"')?..];
    let rest = rest.strip_prefix(b"\",\"ns\":\"")?;
    let length = rest.iter().take(120).position(|&byte| byte == b'"' || byte == b'\\')?;
    (rest[length] == b'"').then_some(&rest[..length])
}

/// Whether a kind of interest may be anywhere in a line; false only where there is none for certain.
fn names_a_kind(line: &[u8]) -> bool {
    const KEY: &[u8] = b"\"kind\"";
    memmem::find_iter(line, KEY).any(|at| {
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
    let Some(body) = message.map(|message| fields(message, data)).transpose()?.flatten() else {
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

/// Every field that any message has, as it stands there.
#[derive(Default)]
struct Fields<'a> {
    slot: Option<Value<'a>>,
    current_slot: Option<Value<'a>>,
    tip_block_no: Option<Value<'a>>,
    block_no: Option<Value<'a>>,
    block: Option<Value<'a>>,
    previous: Option<Value<'a>>,
    head: Option<Value<'a>>,
    length: Option<Value<'a>>,
    add_block: Option<Value<'a>>,
    new_tip: Option<Value<'a>>,
    block_hash: Option<Value<'a>>,
    block_size: Option<Value<'a>>,
    chain_length_delta: Option<Value<'a>>,
    rising_edge: Option<Value<'a>>,
    blocking_read: Option<Value<'a>>,
    roll_back_to: Option<Value<'a>>,
    utxo_size: Option<Value<'a>>,
    chain_density: Option<Value<'a>>,
    count: Option<Value<'a>>,
    accepted: Option<Value<'a>>,
    rejected: Option<Value<'a>>,
    mempool_size: Option<Value<'a>>,
    summary: Option<Value<'a>>,
}

impl<'a> Fields<'a> {
    fn of(data: &'a [u8]) -> Result<Self, Reason> {
        let mut fields = Self::default();
        Cursor::new(data).members(|key, value| {
            let field = match key {
                b"slot" => &mut fields.slot,
                b"current slot" => &mut fields.current_slot,
                b"tipBlockNo" => &mut fields.tip_block_no,
                b"blockNo" => &mut fields.block_no,
                b"block" => &mut fields.block,
                b"blockPrev" => &mut fields.previous,
                b"head" => &mut fields.head,
                b"length" => &mut fields.length,
                b"addBlock" => &mut fields.add_block,
                b"newtip" => &mut fields.new_tip,
                b"blockHash" | b"block hash" => &mut fields.block_hash,
                b"blockSize" => &mut fields.block_size,
                b"chainLengthDelta" => &mut fields.chain_length_delta,
                b"risingEdge" => &mut fields.rising_edge,
                b"blockingRead" => &mut fields.blocking_read,
                b"rollBackTo" => &mut fields.roll_back_to,
                b"utxoSize" => &mut fields.utxo_size,
                b"chainDensity" => &mut fields.chain_density,
                b"count" => &mut fields.count,
                b"accepted" => &mut fields.accepted,
                b"rejected" => &mut fields.rejected,
                b"mempoolSize" => &mut fields.mempool_size,
                b"summary" => &mut fields.summary,
                _ => return Ok(()),
            };
            *field = Some(value);
            Ok::<(), Reason>(())
        })?;
        Ok(fields)
    }
}

/// The fields of a message; None where this one is of no interest after all.
fn fields<'a>(message: Message, data: &'a [u8]) -> Result<Option<Body<'a>>, Reason> {
    if message == Message::Resources {
        return resources(data).map(Some);
    }
    if message == Message::Version {
        return version(data).map(Some);
    }
    let fields = Fields::of(data)?;
    let slot = || integer("slot", fields.slot);
    let block = |block, slot, block_no| Body::Block { message, block, slot, block_no, previous: None, size: None, length: None };
    let transactions = |count, accepted, rejected| Body::Transactions { message, count, accepted, rejected };
    Ok(Some(match message {
        Message::Resources | Message::Version => return Ok(None),
        Message::Started => Body::Ledger {
            started: true,
            slot: slot()?,
            utxo_size: optional("utxoSize", fields.utxo_size)?,
            chain_density: fields.chain_density.map(|density| float("chainDensity", Some(density))).transpose()?,
        },
        Message::LedgerMetrics => Body::Ledger {
            started: false,
            slot: slot()?,
            utxo_size: Some(integer("utxoSize", fields.utxo_size)?),
            chain_density: Some(float("chainDensity", fields.chain_density)?),
        },
        Message::BlockContext => Body::Slot {
            message,
            slot: Some(integer("current slot", fields.current_slot)?),
            // Nodes write the number of the block that is next.
            block_no: Some(integer("tipBlockNo", fields.tip_block_no)? - 1),
        },
        Message::LedgerState | Message::LedgerView | Message::Leader | Message::NotLeader | Message::Ticked | Message::MempoolSnapshot => {
            Body::Slot { message, slot: Some(slot()?), block_no: None }
        }
        Message::LedgerSnapshot => Body::Slot { message, slot: None, block_no: None },
        Message::Forged => Body::Block {
            message,
            block: hash("block", fields.block)?,
            slot: Some(slot()?),
            block_no: Some(integer("blockNo", fields.block_no)?),
            previous: Some(hash("blockPrev", fields.previous)?),
            size: None,
            length: None,
        },
        Message::Header => block(hash("block", fields.block)?, Some(slot()?), Some(block_number(fields.block_no)?)),
        Message::Requested => Body::Block {
            message,
            block: hash("head", fields.head)?,
            slot: None,
            block_no: None,
            previous: None,
            size: None,
            length: Some(integer("length", fields.length)?),
        },
        Message::Fetched | Message::Sending => block(hash("block", fields.block)?, None, None),
        Message::Announced => {
            let no = Some(Value::Bool(false));
            if fields.rising_edge == no || fields.blocking_read == no || fields.roll_back_to.is_some() {
                return Ok(None);
            }
            block(hash("addBlock", fields.add_block.or(fields.block))?, None, None)
        }
        Message::Adopted | Message::Switched => Body::Block {
            message,
            block: hash("newtip", fields.new_tip)?,
            slot: None,
            block_no: None,
            previous: None,
            size: None,
            length: Some(optional("chainLengthDelta", fields.chain_length_delta)?.unwrap_or(1)),
        },
        Message::SelfAdopted => Body::Block {
            message,
            block: hash("blockHash", fields.block_hash)?,
            slot: optional("slot", fields.slot)?,
            block_no: None,
            previous: None,
            size: optional("blockSize", fields.block_size)?,
            length: Some(1),
        },
        Message::Collected => transactions(Some(integer("count", fields.count)?), None, None),
        Message::Processed => transactions(None, Some(integer("accepted", fields.accepted)?), Some(integer("rejected", fields.rejected)?)),
        Message::MempoolAdded | Message::MempoolRemoved | Message::MempoolRejected => {
            transactions(mempool_transactions(fields.mempool_size)?, None, None)
        }
        Message::Acknowledged => transactions(None, None, None),
        Message::GeneratorSummary => {
            let Some(Value::Object(summary)) = fields.summary else { return Err(Reason::Missing("summary")) };
            let (mut sent, mut failures) = (None, None);
            Cursor::new(summary).members(|key, value| {
                match key {
                    b"ssTxSent" => sent = Some(value),
                    b"ssFailures" => failures = Some(value),
                    _ => {}
                }
                Ok::<(), Reason>(())
            })?;
            transactions(
                Some(integer("ssTxSent", sent)?),
                None,
                failures.and_then(|value| match value {
                    Value::Number(_) => integer("ssFailures", Some(value)).ok(),
                    _ => None,
                }),
            )
        }
    }))
}

fn resources<'a>(data: &'a [u8]) -> Result<Body<'a>, Reason> {
    let mut values = [None; RESOURCES.len()];
    Cursor::new(data).members(|key, value| {
        if let Some(place) = RESOURCES.iter().position(|name| name.as_bytes() == key) {
            values[place] = Some(integer(RESOURCES[place], Some(value))?);
        }
        Ok::<(), Reason>(())
    })?;
    if let Some(missing) = values[..RESOURCES_REQUIRED].iter().position(Option::is_none) {
        return Err(Reason::Missing(RESOURCES[missing]));
    }
    Ok(Body::Resources(values.map(Option::unwrap_or_default)))
}

fn version<'a>(data: &'a [u8]) -> Result<Body<'a>, Reason> {
    let (mut version, mut revision, mut compiler) = (&b""[..], &b""[..], &b""[..]);
    Cursor::new(data).members(|key, value| {
        match (key, value) {
            (b"applicationVersion", Value::String(text)) => version = text,
            (b"gitRevision", Value::String(text)) => revision = text,
            (b"compilerVersion", Value::String(text)) => compiler = text,
            _ => {}
        }
        Ok::<(), Reason>(())
    })?;
    Ok(Body::Version { version, revision, compiler })
}

fn string(value: Value<'_>) -> Option<&[u8]> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// A whole number that fits into 64 bits.
fn integer(field: &'static str, value: Option<Value<'_>>) -> Result<i64, Reason> {
    let Value::Number(text) = value.ok_or(Reason::Missing(field))? else { return Err(Reason::Wrong(field)) };
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
        // Nineteen digits, or written as 1e3: rare enough to leave to the library.
        return std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(Reason::Wrong(field));
    }
    let number = digits.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    Ok(if negative { -number } else { number })
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
