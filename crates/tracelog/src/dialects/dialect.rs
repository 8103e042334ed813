//! The interface of a dialect, and the table of dialects.

use memchr::memmem;
use parquet::errors::ParquetError;

use super::amaru::Amaru;
use super::cardano_node::CardanoNode;
use super::dingo::Dingo;
use super::dugite::Dugite;
use super::entry::{Entry, Seen};
use crate::reader::Line;
use crate::reason::Reason;

/// The dialects; of two that have as many lines of a file, the first is taken.
pub(crate) static DIALECTS: [&dyn Dialect; 4] = [&CARDANO_NODE, &Dingo::new(), &Dugite::new(), &Amaru::new()];

/// The dialect of a file that is in none: its lines are rejected.
pub(crate) static CARDANO_NODE: CardanoNode = CardanoNode;

/// The log format of one kind of node.
pub(crate) trait Dialect: Sync {
    /// The node that writes it.
    fn node(&self) -> &'static str;

    /// Returns whether a line, which is an object of JSON, is in it.
    fn has(&self, line: &[u8]) -> bool;

    /// A function that returns when a line of interest was written, in ns since 1970, UTC; None where it is of none, or can't be read.
    fn times(&self) -> Times;

    /// A function that returns the host that a whole line names; None where no line of the dialect does.
    fn hosts(&self) -> Option<HostOf> {
        None
    }

    /// Returns whether a file may be read in pieces: no row takes more than one line. Lines of the others are looked at in threads
    /// and joined to rows by one.
    fn can_be_split(&self) -> bool;

    /// A reader of the lines of a file, or of a piece of one, from first to last.
    fn reader(&self) -> Box<dyn Reader>;
}

/// Returns the time of each line of interest.
pub(crate) type Times = Box<dyn FnMut(&[u8]) -> Option<i64>>;

/// Returns the host that a line names; None where it names none, or isn't whole.
pub(crate) type HostOf = for<'a> fn(&'a [u8]) -> Option<&'a [u8]>;

/// Reads lines in their order.
pub(crate) trait Reader {
    /// Reads the next lines and gives their content, line by line. How many come at once makes no difference to it.
    fn read(&mut self, lines: &[Line<'_>], taker: &mut dyn Taker) -> Result<(), ParquetError>;

    /// Gives the rows that are still incomplete, behind the last line.
    fn finish(&mut self, _: &mut dyn Taker) -> Result<(), ParquetError> {
        Ok(())
    }
}

/// Takes the content of lines.
pub(crate) trait Taker {
    /// Goes on to one of the lines, by its number among those that are read at once: what follows is its content. Returns its place,
    /// which orders the rows of one time.
    fn begin(&mut self, line: usize) -> i64;

    /// Takes a line that can't be read.
    fn reject(&mut self, reason: Reason);

    /// Takes a line that is a row by itself, or of no interest.
    fn line(&mut self, seen: &Seen<'_>, place: i64) -> Result<(), ParquetError>;

    /// Takes a line that is a part of rows, by its name and time; returns whether it wasn't there before.
    fn part(&mut self, name: &[u8], ts_ns: i64) -> bool;

    /// Takes a row whose lines were taken as parts.
    fn row(&mut self, entry: &Entry<'_>, place: i64) -> Result<(), ParquetError>;
}

/// The place of the dialect that a line is in; None where it is in none of them.
pub(crate) fn dialect_of(line: &[u8]) -> Option<usize> {
    let line = line.trim_ascii();
    if line.first() == Some(&b'{') { DIALECTS.iter().position(|dialect| dialect.has(line)) } else { None }
}

/// Returns whether a line is in a dialect.
#[must_use]
pub fn is_log_line(line: &[u8]) -> bool {
    dialect_of(line).is_some()
}

/// Returns whether a line has all of these keys, each with its quotation marks and colon, anywhere.
pub(super) fn has_keys(line: &[u8], keys: &[&str]) -> bool {
    keys.iter().all(|key| memmem::find(line, key.as_bytes()).is_some())
}
