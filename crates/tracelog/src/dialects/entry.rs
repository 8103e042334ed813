//! The content of a line.

use std::borrow::Cow;

use crate::messages::{Body, Message};

/// A line that could be read.
#[derive(Debug, PartialEq)]
pub struct Seen<'a> {
    /// Its namespace, parts joined by full stops; where that is only a legacy component, `component:kind`.
    pub name: Cow<'a, [u8]>,
    /// Its content; None where it is of no interest.
    pub entry: Option<Entry<'a>>,
}

/// The content of a line of interest.
#[derive(Debug, PartialEq)]
pub struct Entry<'a> {
    /// Time of the line, in ns since 1970, UTC.
    pub ts_ns: i64,
    /// The host, as the line itself has it.
    pub host: Option<&'a [u8]>,
    /// The thread, where it matters.
    pub thread: Option<&'a [u8]>,
    /// Its message.
    pub message: Message,
    /// Its row.
    pub body: Body<'a>,
}
