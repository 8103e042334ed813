//! Lines that are only parts of rows: they are looked at in threads, and put together by one in their order.

use std::borrow::Cow;
use std::marker::PhantomData;

use parquet::errors::ParquetError;
use rayon::prelude::*;

use super::dialect::{Dialect, Reader, Taker, Times, has_keys};
use super::entry::{Entry, Seen};
use crate::json::{Cursor, Value};
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

/// Joins the parts of rows: keeps what waits for the rest of its row, within bounds.
pub(super) trait Joining: Default + 'static {
    /// The node that writes the lines.
    const NODE: &'static str;
    /// The keys by which its lines are known, with quotation marks and colon.
    const KEYS: &'static [&'static str];
    /// The content of a line.
    type Content<'a>: Send;

    /// Reads a line, without its end.
    fn read_line(line: &[u8]) -> Result<ReadLine<'_, Self::Content<'_>>, Reason>;

    /// Takes a line, and gives the rows that it completes, each with its place.
    fn take<E>(&mut self, part: &Part<Self::Content<'_>>, place: i64, give: impl FnMut(&Entry<'_>, i64) -> Result<(), E>) -> Result<(), E>;

    /// Gives the rows that are still incomplete.
    fn give_rest<E>(&mut self, give: impl FnMut(&Entry<'_>, i64) -> Result<(), E>) -> Result<(), E>;
}

/// A dialect whose lines are parts of rows.
pub(super) struct OfParts<J>(PhantomData<fn() -> J>);

impl<J> OfParts<J> {
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<J: Joining> Dialect for OfParts<J> {
    fn node(&self) -> &'static str {
        J::NODE
    }

    fn has(&self, line: &[u8]) -> bool {
        has_keys(line, J::KEYS)
    }

    fn times(&self) -> Times {
        Box::new(|line| Some(J::read_line(line).ok()?.part?.ts_ns))
    }

    /// Rows are put together of several lines, in their order.
    fn can_be_split(&self) -> bool {
        false
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(Joined(J::default()))
    }
}

struct Joined<J>(J);

impl<J: Joining> Reader for Joined<J> {
    /// Reads lines in threads: a line's content doesn't depend on others, and reading it takes most of the time.
    fn read(&mut self, lines: &[Line<'_>], taker: &mut dyn Taker) -> Result<(), ParquetError> {
        let read: Vec<_> = lines.par_iter().with_min_len(LINES_OF_A_THREAD).map(|line| line.content().and_then(J::read_line)).collect();
        for (number, read) in read.into_iter().enumerate() {
            let place = taker.begin(number);
            match read {
                Ok(ReadLine { name, part: Some(part) }) => {
                    if taker.part(&name, part.ts_ns) {
                        self.0.take(&part, place, |entry, place| taker.row(entry, place))?;
                    }
                }
                Ok(ReadLine { name, part: None }) => taker.line(&Seen { name, entry: None }, place)?,
                Err(reason) => taker.reject(reason),
            }
        }
        Ok(())
    }

    fn finish(&mut self, taker: &mut dyn Taker) -> Result<(), ParquetError> {
        self.0.give_rest(|entry, place| taker.row(entry, place))
    }
}

/// Takes each member of a line, which is one object of JSON, without its end.
pub(super) fn each_member<'a>(line: &'a [u8], mut take: impl FnMut(&[u8], Value<'a>)) -> Result<(), Reason> {
    if line.first() != Some(&b'{') {
        return Err(Reason::NotJson);
    }
    let mut cursor = Cursor::new(line);
    cursor.members(|key, value| {
        take(key, value);
        Ok::<(), Reason>(())
    })?;
    if cursor.at_end() { Ok(()) } else { Err(Reason::NotJson) }
}

/// Returns the values of these members of an object that is the value of a field.
pub(super) fn members<'a, const N: usize>(
    field: &'static str,
    value: Option<Value<'a>>,
    names: [&[u8]; N],
) -> Result<[Option<Value<'a>>; N], Reason> {
    let Value::Object(object) = value.ok_or(Reason::Missing(field))? else { return Err(Reason::Wrong(field)) };
    let mut found = [const { None }; N];
    Cursor::new(object).members(|key, value| {
        if let Some(place) = names.iter().position(|name| *name == key) {
            found[place] = Some(value);
        }
        Ok::<(), Reason>(())
    })?;
    Ok(found)
}

/// Returns the name under which lines of no interest are counted: their text up to the word with the first sign that differs from line to line.
pub(super) fn name_of(text: &[u8]) -> Cow<'_, [u8]> {
    let varies = |byte: &u8| byte.is_ascii_digit() || b"([{\\=".contains(byte);
    let Some(end) = text.iter().position(varies) else { return Cow::Borrowed(text) };
    let words = if b"([{".contains(&text[end]) { end } else { text[..end].iter().rposition(|&byte| byte == b' ').unwrap_or(end) };
    Cow::Borrowed(text[..words].trim_ascii_end())
}
