//! The short way: a line that is laid out as one before it.
//!
//! Most lines of a message differ only in the values of the same members. What stands between values is compared as a whole, so that
//! no key is looked for, and nothing is taken apart that no row has. Layouts are learned from lines that went the long way.

use super::super::entry::Entry;
use crate::json::{Broken, Cursor, Value, is_text};
use crate::messages::{Members, Message, read};
use crate::reason::Reason;
use crate::scan::{Wide, are_same, begins, find};
use crate::time::LineTimes;

/// Layouts of a message that are kept: of the messages in the table, none has more forms.
const MOST_LAYOUTS: usize = 4;
/// Lines of a message from which a layout is learned: where each line has another, that is no use.
const MOST_LEARNED: u32 = 64;
/// Values of a line with a layout.
const MOST_VALUES: usize = 32;

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
        if !line.starts_with(BEGIN) {
            return None;
        }
        let at_end = quote(line, BEGIN.len())?;
        if !line[at_end..].starts_with(BETWEEN) {
            return None;
        }
        let name_start = at_end + BETWEEN.len();
        let name_end = quote(line, name_start)?;
        Some(Self { at: &line[BEGIN.len()..at_end], name: &line[name_start..name_end], end: name_end + 1 })
    }
}

/// The place of the quote that ends a string of ASCII without escapes; None where it is another one, or has no end.
#[inline(always)]
fn quote(line: &[u8], from: usize) -> Option<usize> {
    let special = |wide: Wide| wide.is(b'"') | wide.is(b'\\') | wide.at_most(0x1f) | wide.is_not_ascii();
    find(line, from, special).filter(|&end| line[end] == b'"')
}

/// The layouts of all messages, as lines so far had them.
pub(super) struct Layouts {
    of_messages: [OfMessage; Message::COUNT],
    /// Those of the line that is being read.
    ends: [usize; MOST_VALUES + 1],
    times: LineTimes,
}

#[derive(Default)]
struct OfMessage {
    /// The one that a line had last comes first.
    layouts: Vec<Layout>,
    learned: u32,
}

impl Default for Layouts {
    fn default() -> Self {
        Self { of_messages: std::array::from_fn(|_| OfMessage::default()), ends: [0; MOST_VALUES + 1], times: LineTimes::default() }
    }
}

impl Layouts {
    /// Reads a line whose layout is known: puts the same into `entry`, which is none, as the long way gives.
    ///
    /// None where its layout isn't known, or it has a fault: the long way finds it.
    #[inline]
    pub(super) fn read<'a>(&mut self, line: &'a [u8], head: &Head<'a>, message: Message, entry: &mut Option<Entry<'a>>) -> Option<()> {
        let (layouts, ends) = (&mut self.of_messages[message as usize].layouts, &mut self.ends);
        ends[0] = head.end;
        let place = layouts.iter().position(|layout| layout.is_of(line, ends))?;
        if place > 0 {
            layouts[..=place].rotate_right(1);
        }
        let Some(body) = read(message, &mut Given { line, ends, members: &layouts[0].members }).ok()? else { return Some(()) };
        let text = |span: Option<Span>| span.map(|span| span.of(line, ends));
        let ts_ns = self.times.read("at", head.at).ok()?;
        *entry = Some(Entry { ts_ns, host: text(layouts[0].host), thread: text(layouts[0].thread), message, body });
        Some(())
    }

    /// Learns the layout of a line that was read the long way.
    #[cold]
    pub(super) fn learn(&mut self, line: &[u8], head: &Head<'_>, message: Message) {
        let of_message = &mut self.of_messages[message as usize];
        if of_message.learned < MOST_LEARNED {
            of_message.learned += 1;
            if let Some(layout) = Layout::of(line, head.end, message) {
                of_message.layouts.truncate(MOST_LAYOUTS - 1);
                of_message.layouts.insert(0, layout);
            }
        }
    }
}

/// Places in a line: where its first text begins, and where each of its values ends.
type Ends = [usize];

/// The parts that lines have in common, from behind the namespace on.
struct Layout {
    /// The text between values, one after the other.
    text: Vec<u8>,
    /// Values, in their order, each with the length of the text before it.
    values: Vec<(usize, Kind)>,
    /// The members that the message's row is made from: their keys and values.
    members: Vec<(Vec<u8>, Member)>,
    host: Option<Span>,
    thread: Option<Span>,
}

/// The kind of a value that lines may differ in.
#[derive(Clone, Copy)]
enum Kind {
    /// Without its quotes.
    String,
    Number,
    Array,
}

/// The value of a member.
#[derive(Clone, Copy)]
enum Member {
    String(Span),
    Number(Span),
    Object(Span),
    Array(Span),
    Bool(bool),
    Null,
}

/// Some bytes of a line.
#[derive(Clone, Copy)]
struct Span {
    from: Place,
    to: Place,
}

/// A place in the text between values: how many values are before it, and its distance from the end of the last one.
#[derive(Clone, Copy)]
struct Place {
    values: usize,
    distance: usize,
}

impl Place {
    #[inline(always)]
    fn of(self, ends: &Ends) -> usize {
        ends[self.values] + self.distance
    }
}

impl Span {
    #[inline(always)]
    fn of<'a>(self, line: &'a [u8], ends: &Ends) -> &'a [u8] {
        &line[self.from.of(ends)..self.to.of(ends)]
    }
}

impl Member {
    #[inline(always)]
    fn of<'a>(self, line: &'a [u8], ends: &Ends) -> Value<'a> {
        match self {
            Self::String(span) => Value::String(span.of(line, ends)),
            Self::Number(span) => Value::Number(span.of(line, ends)),
            Self::Object(span) => Value::Object(span.of(line, ends)),
            Self::Array(span) => Value::Array(span.of(line, ends)),
            Self::Bool(value) => Value::Bool(value),
            Self::Null => Value::Null,
        }
    }

    /// The text of a member that has one.
    fn string(self) -> Option<Span> {
        match self {
            Self::String(span) => Some(span),
            _ => None,
        }
    }
}

impl Layout {
    /// The layout of a line without faults; None where it is none that is worth keeping.
    fn of(line: &[u8], from: usize, message: Message) -> Option<Self> {
        if !is_text(line) {
            return None;
        }
        let mut learner = Learner { line, ends: vec![from], values: Vec::new(), text: Vec::new() };
        let (mut members, mut host, mut thread) = (None, None, None);
        let learned = Cursor::from(line, from).further_members(|key, value| {
            match (key, value) {
                (b"data", Value::Object(data)) if members.is_none() => members = Some(learner.members(data)?),
                (b"at" | b"ns" | b"data", _) => return Err(NoLayout), // twice: the later one counts
                (b"host", value) => host = learner.member(key, value)?.string(),
                (b"thread", value) => thread = learner.member(key, value)?.string(),
                (key, value) => drop(learner.member(key, value)?),
            }
            Ok(())
        });
        learned.ok()?;
        learner.text_until(line.len());
        let members = taken(message, line, &learner.ends, members?)?;
        Some(Self { text: learner.text, values: learner.values, members, host, thread })
    }

    /// Returns whether a line has this layout. Puts down where its values end; where the first text begins stands there.
    #[inline]
    fn is_of(&self, line: &[u8], ends: &mut Ends) -> bool {
        let (mut at, mut text) = (ends[0], self.text.as_slice());
        for ((length, kind), end) in self.values.iter().zip(&mut ends[1..]) {
            let (before, rest) = text.split_at(*length);
            if !begins(&line[at..], before) {
                return false;
            }
            let Some(behind) = kind.end(line, at + length) else { return false };
            (at, text, *end) = (behind, rest, behind);
        }
        are_same(&line[at..], text)
    }
}

impl Kind {
    /// The end of a value of this kind that begins at a place; None where there is none, or the long way has to look at it.
    #[inline(always)]
    fn end(self, line: &[u8], at: usize) -> Option<usize> {
        let mut cursor = Cursor::from(line, at);
        match self {
            Self::String => quote(line, at),
            Self::Number => cursor.number().is_ok().then(|| cursor.place()),
            Self::Array => matches!(cursor.value(), Ok(Value::Array(array)) if is_text(array)).then(|| cursor.place()),
        }
    }
}

/// The line, or what is in it, is none that a layout is learned from.
struct NoLayout;

impl From<Broken> for NoLayout {
    fn from(_: Broken) -> Self {
        Self
    }
}

/// Takes a line apart into what is the same in lines of its layout, and values.
struct Learner<'l> {
    line: &'l [u8],
    /// Those of the line, as far as it was taken apart.
    ends: Vec<usize>,
    values: Vec<(usize, Kind)>,
    text: Vec<u8>,
}

impl<'l> Learner<'l> {
    /// The members of an object.
    fn members(&mut self, object: &'l [u8]) -> Result<Vec<(Vec<u8>, Member)>, NoLayout> {
        let mut members = Vec::new();
        Cursor::new(object).members(|key, value| {
            members.push((key.to_vec(), self.member(key, value)?));
            Ok::<(), NoLayout>(())
        })?;
        Ok(members)
    }

    fn member(&mut self, key: &[u8], value: Value<'l>) -> Result<Member, NoLayout> {
        Ok(match value {
            // Nodes write the same under these in all lines of a message.
            Value::String(text) if key == b"kind" || key == b"sev" => {
                let (from, to) = self.bounds(text);
                Member::String(Span { from: self.place(from), to: self.place(to) })
            }
            Value::String(text) => Member::String(self.value(text, Kind::String)?),
            Value::Number(number) => Member::Number(self.value(number, Kind::Number)?),
            Value::Array(array) => Member::Array(self.value(array, Kind::Array)?),
            Value::Object(object) => {
                let (from, to) = self.bounds(object);
                let from = self.place(from);
                self.members(object)?;
                Member::Object(Span { from, to: self.place(to) })
            }
            Value::Bool(value) => Member::Bool(value),
            Value::Null => Member::Null,
            Value::Whole(_) | Value::Real(_) => return Err(NoLayout),
        })
    }

    /// Notes a value in which lines may differ.
    fn value(&mut self, value: &[u8], kind: Kind) -> Result<Span, NoLayout> {
        if self.values.len() == MOST_VALUES {
            return Err(NoLayout);
        }
        let (from, to) = self.bounds(value);
        let span_from = self.place(from);
        self.text_until(from);
        self.values.push((span_from.distance, kind));
        self.ends.push(to);
        Ok(Span { from: span_from, to: self.place(to) })
    }

    /// Adds the text from behind the last value on.
    fn text_until(&mut self, end: usize) {
        self.text.extend_from_slice(&self.line[self.last_end()..end]);
    }

    /// The place of a byte that is in no value so far.
    fn place(&self, at: usize) -> Place {
        Place { values: self.values.len(), distance: at - self.last_end() }
    }

    fn last_end(&self) -> usize {
        self.ends[self.values.len()]
    }

    /// The beginning and the end of a part of the line.
    fn bounds(&self, part: &[u8]) -> (usize, usize) {
        let from = part.as_ptr().addr() - self.line.as_ptr().addr();
        (from, from + part.len())
    }
}

/// The members of a line that has a layout.
struct Given<'l, 'a> {
    line: &'a [u8],
    ends: &'l Ends,
    members: &'l [(Vec<u8>, Member)],
}

impl<'a> Members<'a> for Given<'_, 'a> {
    #[inline]
    fn each(&mut self, mut each: impl FnMut(&[u8], Value<'a>) -> Result<bool, Reason>) -> Result<(), Reason> {
        self.members.iter().try_for_each(|(key, value)| each(key, value.of(self.line, self.ends)).map(drop))
    }
}

/// Those of a line's members that its message's row is made from; None where the message may be wrapped in another, as legacy nodes do.
fn taken(message: Message, line: &[u8], ends: &Ends, members: Vec<(Vec<u8>, Member)>) -> Option<Vec<(Vec<u8>, Member)>> {
    let mut taking = Taking { given: Given { line, ends, members: &members }, taken: Vec::new() };
    read(message, &mut taking).ok()?;
    let taken = taking.taken;
    let is_wrapped = |((key, _), taken): (&(Vec<u8>, Member), &bool)| !taken && (key == b"val" || key == b"credentials");
    if members.iter().zip(&taken).any(is_wrapped) {
        return None;
    }
    Some(members.into_iter().zip(taken).filter_map(|(member, taken)| taken.then_some(member)).collect())
}

/// Notes which members are taken.
struct Taking<'l, 'a> {
    given: Given<'l, 'a>,
    taken: Vec<bool>,
}

impl<'a> Members<'a> for Taking<'_, 'a> {
    fn each(&mut self, mut each: impl FnMut(&[u8], Value<'a>) -> Result<bool, Reason>) -> Result<(), Reason> {
        let taken = &mut self.taken;
        self.given.each(|key, value| each(key, value).inspect(|&is_taken| taken.push(is_taken)))
    }
}
