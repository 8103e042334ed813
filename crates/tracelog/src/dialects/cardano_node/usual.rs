//! The short way: lines as new tracing writes them, in one pass.

use super::super::entry::Entry;
use crate::json::{Cursor, Value, is_text};
use crate::messages::{Members, Message, read, string};
use crate::reason::Reason;
use crate::scan::find;
use crate::time::line_time;

/// The head of a line as new tracing writes it: `{"at":"…","ns":"…"`.
pub(super) struct Head<'a> {
    at: &'a [u8],
    pub(super) name: &'a [u8],
    /// The place where the line goes on.
    pub(super) end: usize,
}

impl<'a> Head<'a> {
    #[inline]
    pub(super) fn of(line: &'a [u8]) -> Option<Self> {
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

/// Reads a message of interest as new tracing writes it: `data` follows the namespace, then the facts of the line.
///
/// Puts the same into `entry`, which is none, as [`read_whole`] gives. None where the line is written otherwise or has a fault: that function finds it.
#[inline]
pub(super) fn read_usual<'a>(line: &'a [u8], head: &Head<'a>, message: Message, entry: &mut Option<Entry<'a>>) -> Option<()> {
    const DATA: &[u8] = b",\"data\":";
    if !line[head.end..].starts_with(DATA) {
        return None;
    }
    let mut cursor = Cursor::from(line, head.end + DATA.len());
    let Ok(body) = read(message, &mut Outermost(&mut cursor)) else { return None };
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
    if !cursor.at_end() || !is_text(line) {
        return None;
    }
    if let Some(body) = body {
        *entry = Some(Entry { ts_ns: line_time("at", head.at).ok()?, host, thread, message, body });
    }
    Some(())
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

/// The members of `data` itself, which must not be one that legacy nodes wrap another in.
struct Outermost<'c, 'a>(&'c mut Cursor<'a>);

impl<'a> Members<'a> for Outermost<'_, 'a> {
    #[inline]
    fn each(&mut self, mut each: impl FnMut(&[u8], Value<'a>) -> Result<bool, Reason>) -> Result<(), Reason> {
        self.0.members(
            |key, value| if !each(key, value)? && (key == b"val" || key == b"credentials") { Err(Reason::NotJson) } else { Ok(()) },
        )
    }
}
