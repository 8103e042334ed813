//! cardano-node's log, new tracing and legacy: by the table of messages, which has the names and fields of both. A log may have lines of
//! both, and fields of either in the other.
//!
//! A line is taken apart the short way where it is written as usual, else the long way, which finds its fault.

mod usual;
mod whole;

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem;
#[cfg(feature = "ingest")]
use parquet::errors::ParquetError;

#[cfg(feature = "ingest")]
use super::dialect::{Dialect, Reader, Taker, has_keys};
use super::entry::{Entry, Seen};
use crate::messages::{by_kind, by_namespace};
#[cfg(feature = "ingest")]
use crate::reader::Line;
use crate::reason::Reason;
use usual::{Head, read_usual};
use whole::read_whole;

/// Reads a line, without its end.
///
/// A line whose message is of no interest is only looked at for its namespace and its end.
///
/// # Errors
/// It is no JSON, cut, or a field of a message of interest is missing or of another type.
pub fn read_line(line: &[u8]) -> Result<Seen<'_>, Reason> {
    let mut seen = Seen { name: Cow::Borrowed(b""), entry: None };
    read_into(line, &mut seen)?;
    Ok(seen)
}

/// Does so into `seen`, which has no content: that is large, and moving it takes longer than some of its parts.
fn read_into<'a>(line: &'a [u8], seen: &mut Seen<'a>) -> Result<(), Reason> {
    let line = line.trim_ascii();
    if line.first() != Some(&b'{') {
        return Err(Reason::NotJson);
    }
    if let Some(head) = Head::of(line) {
        seen.name = Cow::Borrowed(head.name);
        if let Some(message) = by_namespace(head.name) {
            if read_usual(line, &head, message, &mut seen.entry).is_some() {
                return refuse_long_names(seen.entry.as_ref());
            }
        } else if !names_a_kind(line) {
            return if line.ends_with(b"}") { Ok(()) } else { Err(Reason::Cut) };
        }
    }
    *seen = read_whole(line)?;
    refuse_long_names(seen.entry.as_ref())
}

/// cardano-node's dialect.
#[cfg(feature = "ingest")]
pub(crate) struct CardanoNode;

#[cfg(feature = "ingest")]
impl Dialect for CardanoNode {
    fn node(&self) -> &'static str {
        "cardano-node"
    }

    fn has(&self, line: &[u8]) -> bool {
        has_keys(line, &["\"at\":", "\"ns\":"])
    }

    fn time(&self, line: &[u8]) -> Option<i64> {
        Some(read_line(line).ok()?.entry?.ts_ns)
    }

    fn can_be_split(&self) -> bool {
        true
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(CardanoNode)
    }
}

#[cfg(feature = "ingest")]
impl Reader for CardanoNode {
    fn read(&mut self, lines: &[Line<'_>], taker: &mut dyn Taker) -> Result<(), ParquetError> {
        for (number, line) in lines.iter().enumerate() {
            let place = taker.begin(number);
            let mut seen = Seen { name: Cow::Borrowed(b""), entry: None };
            match line.content().and_then(|text| read_into(text, &mut seen)) {
                Ok(()) => taker.line(&seen, place)?,
                Err(reason) => taker.reject(reason),
            }
        }
        Ok(())
    }
}

/// Refuses names that are kept for as long as a file is read and are longer than any that a node has.
fn refuse_long_names(entry: Option<&Entry<'_>>) -> Result<(), Reason> {
    const MOST_BYTES: usize = 256;
    let Some(entry) = entry else { return Ok(()) };
    for (field, name) in [("host", entry.host), ("thread", entry.thread)] {
        if name.is_some_and(|name| name.len() > MOST_BYTES) {
            return Err(Reason::OutOfRange(field));
        }
    }
    Ok(())
}

/// Returns whether a kind of interest may be anywhere in a line; false only where there is none for certain.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::messages::{NAMESPACES, RESOURCES};

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
        let names: Vec<&str> = NAMESPACES.iter().flat_map(|(_, names)| *names).copied().collect();
        (time, prop::sample::select(names), data(), tail)
            .prop_map(|(time, name, data, tail)| format!(r#"{{"at":"{time}","ns":"{name}","data":{data}{tail}}}"#))
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
            let mut entry = None;
            read_usual(line, &head, by_namespace(head.name).unwrap(), &mut entry).unwrap();
            assert!(entry.is_some());
            assert_eq!(entry, read_whole(line).unwrap().entry);
        }
    }
}
