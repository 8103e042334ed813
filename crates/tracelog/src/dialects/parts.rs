//! Lines that are only parts of rows: they are looked at in threads, and put together by one in their order.

use std::borrow::Cow;

use parquet::errors::ParquetError;
use rayon::prelude::*;

use super::dialect::Taker;
use super::entry::{Entry, Seen};
use crate::messages::{Body, Message};
use crate::reader::Line;
use crate::reason::Reason;

/// A line that could be read.
#[derive(Debug, PartialEq)]
pub(super) struct ReadLine<'a, C> {
    /// The name under which its messages are counted.
    pub name: Cow<'a, [u8]>,
    /// Its content; None where it is of no interest.
    pub part: Option<Part<C>>,
}

/// A part of rows: the content of one line.
#[derive(Debug, PartialEq)]
pub(super) struct Part<C> {
    /// Time of the line, in ns since 1970, UTC.
    pub ts_ns: i64,
    pub content: C,
}

/// A line that waits: its time and its place.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub ts_ns: i64,
    pub place: i64,
}

impl At {
    /// A row under this line's time.
    pub fn entry(self, message: Message, body: Body<'_>) -> Entry<'_> {
        Entry { ts_ns: self.ts_ns, host: None, thread: None, message, body }
    }
}

/// Fewer lines aren't worth another thread.
const LINES_OF_A_THREAD: usize = 200;

/// Reads lines in threads, since a line's content doesn't depend on others and reading it takes most of the time; then joins them in their order.
pub(super) fn read_parts<'a, C: Send>(
    lines: &[Line<'a>],
    taker: &mut dyn Taker,
    read_line: impl Fn(&'a [u8]) -> Result<ReadLine<'a, C>, Reason> + Sync,
    mut join: impl FnMut(&Part<C>, i64, &mut dyn Taker) -> Result<(), ParquetError>,
) -> Result<(), ParquetError> {
    let read: Vec<_> = lines.par_iter().with_min_len(LINES_OF_A_THREAD).map(|line| line.content().and_then(&read_line)).collect();
    for (number, read) in read.into_iter().enumerate() {
        let place = taker.begin(number);
        match read {
            Ok(ReadLine { name, part: Some(part) }) => {
                if taker.part(&name, part.ts_ns) {
                    join(&part, place, taker)?;
                }
            }
            Ok(ReadLine { name, part: None }) => taker.line(&Seen { name, entry: None }, place)?,
            Err(reason) => taker.reject(reason),
        }
    }
    Ok(())
}

/// Returns the name under which lines of no interest are counted: their text up to the word with the first sign that differs from line to line.
pub(super) fn name_of(text: &[u8]) -> Cow<'_, [u8]> {
    let varies = |byte: &u8| byte.is_ascii_digit() || b"([{\\=".contains(byte);
    let Some(end) = text.iter().position(varies) else { return Cow::Borrowed(text) };
    let words = if b"([{".contains(&text[end]) { end } else { text[..end].iter().rposition(|&byte| byte == b' ').unwrap_or(end) };
    Cow::Borrowed(text[..words].trim_ascii_end())
}
