//! cardano-node's log, new tracing and legacy: by the table of messages, which has the names and fields of both. A log may have lines of
//! both, and fields of either in the other.
//!
//! A line goes the short way where it is laid out as one before it (`layout`), else the long way, which reads any line and finds its
//! fault (`whole`).

mod layout;
mod whole;

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem;
#[cfg(feature = "ingest")]
use parquet::errors::ParquetError;

#[cfg(feature = "ingest")]
use super::dialect::{Dialect, HostOf, Reader, Taker, Times, has_keys};
use super::entry::{Entry, Seen};
use crate::messages::{by_kind, by_namespace};
#[cfg(feature = "ingest")]
use crate::reader::Line;
use crate::reason::Reason;
use layout::{Head, Layouts};
#[cfg(feature = "ingest")]
use whole::host_of;
use whole::read_whole;

/// Bytes of the longest name of a host or a thread.
const MOST_OF_A_NAME: usize = 256;

/// Reads a line by itself, as [`LineReader::read`] does.
///
/// # Errors
/// As there.
pub fn read_line(line: &[u8]) -> Result<Seen<'_>, Reason> {
    LineReader::default().read(line)
}

/// A reader of lines that follow one another. The lines before one make it faster to read, and change nothing in its content.
#[derive(Default)]
pub struct LineReader {
    layouts: Layouts,
}

impl LineReader {
    /// Reads a line, without its end.
    ///
    /// A line whose message is of no interest is only looked at for its namespace and its end.
    ///
    /// # Errors
    /// It is no JSON, cut, or a field of a message of interest is missing or of another type.
    pub fn read<'a>(&mut self, line: &'a [u8]) -> Result<Seen<'a>, Reason> {
        let mut seen = Seen { name: Cow::Borrowed(b""), entry: None };
        self.read_into(line, &mut seen)?;
        Ok(seen)
    }

    /// Does so into `seen`, which has no content: that is large, and moving it takes longer than some of its parts.
    fn read_into<'a>(&mut self, line: &'a [u8], seen: &mut Seen<'a>) -> Result<(), Reason> {
        let line = line.trim_ascii();
        if line.first() != Some(&b'{') {
            return Err(Reason::NotJson);
        }
        let Some(head) = Head::of(line) else { return read_long(line, seen) };
        match by_namespace(head.name) {
            Some(message) if self.layouts.read(line, &head, message, &mut seen.entry).is_some() => {
                seen.name = Cow::Borrowed(head.name);
                refuse_long_names(seen.entry.as_ref())
            }
            Some(message) => {
                read_long(line, seen)?;
                self.layouts.learn(line, &head, message);
                Ok(())
            }
            None if names_a_kind(line) => read_long(line, seen),
            None => {
                seen.name = Cow::Borrowed(head.name);
                if line.ends_with(b"}") { Ok(()) } else { Err(Reason::Cut) }
            }
        }
    }
}

/// Reads a line the long way.
fn read_long<'a>(line: &'a [u8], seen: &mut Seen<'a>) -> Result<(), Reason> {
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

    fn times(&self) -> Times {
        let mut lines = LineReader::default();
        Box::new(move |line| Some(lines.read(line).ok()?.entry?.ts_ns))
    }

    fn hosts(&self) -> Option<HostOf> {
        Some(host_of)
    }

    fn can_be_split(&self) -> bool {
        true
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(LineReader::default())
    }
}

#[cfg(feature = "ingest")]
impl Reader for LineReader {
    fn read(&mut self, lines: &[Line<'_>], taker: &mut dyn Taker) -> Result<(), ParquetError> {
        for (number, line) in lines.iter().enumerate() {
            let place = taker.begin(number);
            let mut seen = Seen { name: Cow::Borrowed(b""), entry: None };
            match line.content().and_then(|text| self.read_into(text, &mut seen)) {
                Ok(()) => taker.line(&seen, place)?,
                Err(reason) => taker.reject(reason),
            }
        }
        Ok(())
    }
}

/// Refuses names that are kept for as long as a file is read and are longer than any that a node has.
fn refuse_long_names(entry: Option<&Entry<'_>>) -> Result<(), Reason> {
    let Some(entry) = entry else { return Ok(()) };
    for (field, name) in [("host", entry.host), ("thread", entry.thread)] {
        if name.is_some_and(|name| name.len() > MOST_OF_A_NAME) {
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

    /// A member of a message's data in two lines: mostly one that some message has, mostly of the right type.
    fn member() -> impl Strategy<Value = [String; 2]> {
        let number = any::<i64>().prop_map(|number| number.to_string());
        let hash = "[0-9a-f]{64}(@[0-9]{1,9})?".prop_map(|hash| format!("\"{hash}\""));
        let text = r#"([ -!#-\[\]-~é]|\\\\["\\nu]){0,40}"#.prop_map(|text| format!("\"{text}\""));
        let other = prop::sample::select(
            &["true", "false", "null", "[]", "{}", "0.25", "1e3", r#"[{"a":"}"},["]"]]"#, r#"{"numTxs":3,"bytes":9}"#][..],
        );
        let wrong = prop_oneof![number.clone(), hash.clone(), text, other.prop_map(str::to_owned)].boxed();
        fn twice(keys: &'static [&str], value: BoxedStrategy<String>) -> BoxedStrategy<[String; 2]> {
            (prop::sample::select(keys), value.clone(), value)
                .prop_map(|(key, one, other)| [one, other].map(|value| format!("\"{key}\":{value}")))
                .boxed()
        }
        let whole = twice(
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
            ],
            prop_oneof![9 => number.boxed(), 1 => wrong.clone()].boxed(),
        );
        let block = twice(
            &["block", "blockPrev", "head", "addBlock", "newtip", "blockHash", "block hash"],
            prop_oneof![9 => hash.boxed(), 1 => wrong.clone()].boxed(),
        );
        let rest =
            twice(&["kind", "risingEdge", "rollBackTo", "mempoolSize", "credentials", "val", "peer", "applicationVersion", "Alloc"], wrong);
        prop_oneof![whole, block, rest]
    }

    /// The data of two lines that have the same members.
    fn data() -> impl Strategy<Value = [String; 2]> {
        let resources = prop::collection::vec([0..1_000_000_i64, 0..1_000_000_i64], RESOURCES.len())
            .prop_map(|values| RESOURCES.iter().zip(values).map(|(name, two)| two.map(|value| format!("\"{name}\":{value}"))).collect());
        let members = prop_oneof![9 => prop::collection::vec(member(), 0..9).boxed(), 1 => resources.boxed()];
        (members, prop::sample::select(&["", " ", "\t "][..])).prop_map(|(members, blank): (Vec<[String; 2]>, _)| {
            [0, 1].map(|line| {
                let members: Vec<&str> = members.iter().map(|two| two[line].as_str()).collect();
                format!("{{{}}}", members.join(&format!("{blank},{blank}")))
            })
        })
    }

    /// Two lines of a message that have the same members.
    fn two_lines() -> impl Strategy<Value = [String; 2]> {
        let time = || prop_oneof![9 => "2025-12-0[1-3]T07:06:4[0-3](\\.[0-9]{1,9})?Z", 1 => "[0-9T:\\-]{0,30}"];
        let tail = prop::sample::select(
            &[
                r#","sev":"Info","thread":"12","host":"node-0""#,
                r#","host":"a","host":"b""#,
                r#", "thread" : "1""#,
                r#","host":7,"sev":null"#,
                r#","host":"a","host":7"#,
                r#","ns":"Resources""#,
                r#","data":{"slot":1}"#,
                "",
            ][..],
        );
        let names: Vec<&str> = NAMESPACES.iter().flat_map(|(_, names)| *names).copied().collect();
        ([time(), time()], prop::sample::select(names), data(), tail).prop_map(|(times, name, data, tail)| {
            [0, 1].map(|line| format!(r#"{{"at":"{}","ns":"{name}","data":{}{tail}}}"#, times[line], data[line]))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, max_global_rejects: 1 << 20, max_local_rejects: 1 << 20, ..ProptestConfig::default() })]

        #[test]
        fn lines_give_the_same_after_any_others(pairs in prop::collection::vec(two_lines(), 1..4)) {
            let mut lines = LineReader::default();
            for line in pairs.iter().flatten().chain(pairs.iter().flatten()) {
                prop_assert_eq!(lines.read(line.as_bytes()), read_whole(line.as_bytes()));
            }
        }

        #[test]
        fn a_damaged_line_is_refused_although_its_layout_was_known(
            [line, other] in two_lines(), place in any::<prop::sample::Index>(), byte in any::<u8>(),
        ) {
            let mut lines = LineReader::default();
            let _ = (lines.read(line.as_bytes()), lines.read(other.as_bytes()));
            let mut bytes = line.into_bytes();
            // Where the namespace is damaged, the line may become one of no interest, which is not read to its end.
            let from = Head::of(&bytes).map_or(bytes.len() - 1, |head| head.end);
            let place = from + place.index(bytes.len() - from);
            let more = [&bytes[..place], &[byte], &bytes[place..]].concat();
            let behind = [&bytes, &[byte][..]].concat();
            bytes[place] = byte;
            for damaged in [&bytes, &bytes[..place], &more, &behind] {
                prop_assert_eq!(lines.read(damaged), read_whole(damaged.trim_ascii()));
            }
        }
    }

    /// Entry that the short way gives.
    fn short<'a>(layouts: &mut Layouts, line: &'a str) -> Option<Entry<'a>> {
        let head = Head::of(line.as_bytes()).unwrap();
        let mut entry = None;
        layouts.read(line.as_bytes(), &head, by_namespace(head.name).unwrap(), &mut entry)?;
        Some(entry.unwrap())
    }

    fn learn(layouts: &mut Layouts, line: &str) {
        let head = Head::of(line.as_bytes()).unwrap();
        layouts.learn(line.as_bytes(), &head, by_namespace(head.name).unwrap());
    }

    #[test]
    fn a_line_goes_the_short_way_once_its_layout_is_known() {
        const HASH: &str = "30536f56af017d743bac1167522fae6a1ba9ccda5ba29eda3cd573cca916cf98";
        let mut layouts = Layouts::default();
        for (name, data) in [
            (
                "Resources",
                r#"{"Alloc":1,"CentiBlkIO":2,"CentiCpu":3,"CentiGC":4,"CentiMut":5,"FsRd":6,"FsWr":7,"GcsMajor":8,"GcsMinor":9,"Heap":10,"Live":11,"NetRd":12,"NetWr":13,"RSS":14,"Threads":15,"kind":"ResourceStats"}"#,
            ),
            ("Forge.Loop.NodeNotLeader", r#"{"kind":"TraceNodeNotLeader","slot":1}"#),
            (
                "ChainSync.ServerHeader.Update",
                r#"{"addBlock":"HASH@13","blockingRead":true,"kind":"ChainSyncServer.Update","peer":{"connectionId":"127.0.0.1:30000 127.0.0.1:30001"},"tip":{"block":"genesis","blockNo":-1,"slot":0}}"#,
            ),
            ("Mempool.RemoveTxs", r#"{"kind":"TraceMempoolRemoveTxs","mempoolSize":{"bytes":5,"numTxs":1},"txs":[{"tx":{"txid":"a"}}]}"#),
        ] {
            let line = |data: &str, second: u32, host: &str| {
                let data = data.replace("HASH", HASH);
                format!(
                    r#"{{"at":"2025-12-01T07:06:{second}.5Z","ns":"{name}","data":{data},"sev":"Info","thread":"1{second}","host":"{host}"}}"#
                )
            };
            let first = line(data, 46, "h");
            assert_eq!(short(&mut layouts, &first), None, "{name}: nothing is known yet");
            learn(&mut layouts, &first);
            let others = data.replace(":1,", ":1234567,").replace(":1}", ":1234567}").replace("127.0.0.1:30001", "[2001:db8::1]:3001");
            for line in [first, line(&others, 47, "node-10"), line(&others.replace(r#"[{"tx":{"txid":"a"}}]"#, "[]"), 47, "h")] {
                assert_eq!(short(&mut layouts, &line), read_whole(line.as_bytes()).unwrap().entry, "{line}");
            }
            // One more member, one less, and a number in the place of a text.
            for other in
                [data.replace('}', r#","more":1}"#), data.replacen(r#""kind":"#, r#""kin":"#, 1), data.replace(r#""HASH@13""#, "13")]
            {
                assert_eq!(other == data, short(&mut layouts, &line(&other, 46, "h")).is_some(), "{other}");
            }
        }
    }

    #[test]
    fn some_layouts_of_a_message_are_kept_and_no_more() {
        let mut layouts = Layouts::default();
        let line = |member: usize| {
            format!(r#"{{"at":"2025-12-01T07:06:46Z","ns":"Forge.Loop.NodeNotLeader","data":{{"slot":1,"member-{member}":0}},"host":"h"}}"#)
        };
        let known = |layouts: &mut Layouts| (0..9).filter(|&member| short(layouts, &line(member)).is_some()).collect::<Vec<_>>();
        (0..4).for_each(|member| learn(&mut layouts, &line(member)));
        assert_eq!(known(&mut layouts), [0, 1, 2, 3]);
        learn(&mut layouts, &line(4));
        assert_eq!(known(&mut layouts), [1, 2, 3, 4], "the one that was of use longest ago goes");
        (0..1_000).for_each(|_| learn(&mut layouts, &line(5)));
        assert_eq!(known(&mut layouts).last(), Some(&5));
        learn(&mut layouts, &line(6));
        assert!(!known(&mut layouts).contains(&6), "nothing is learned of a message that has so many");
    }
}
