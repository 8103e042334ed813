//! The survey of a log: what of each file decides how all are cut. It takes the beginnings and ends of files.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use super::{IngestError, Reading, Source};
use crate::dialects::{CARDANO_NODE, DIALECTS, Dialect, Times, dialect_of};
use crate::log::{Elsewhere, Facts, Log};
use crate::reader::{Packing, lines};
use crate::repeats::{LineHash, hash_line};

/// Lines of a file from which its dialect is known begin in its first bytes.
const DIALECT_BYTES: u64 = 1 << 20;
/// So does a file's first line of interest.
const FIRST_LINE_BYTES: u64 = 16 << 20;
/// Lines in one dialect that are enough to know it.
const DIALECT_LINES: u32 = 1_000;
/// Bytes at each end of a file by which it is known again.
const EDGE_BYTES: u64 = 64 << 10;

/// The facts of a log file that decide how logs are cut. They can be written down.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Surveyed {
    /// The host's name.
    pub host: String,
    /// The file.
    pub path: PathBuf,
    /// The host that it lies at, where only that one can read it; else empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub at: String,
    /// Its size, as it lies on the disk. What it grows by later isn't read.
    pub bytes: u64,
    pub(super) packing: Packing,
    /// The node that writes lines as most are near the beginning; None where no line is in any dialect.
    node: Option<String>,
    pub(super) first: Option<FirstLine>,
    /// Digest of the first and the last bytes.
    edges: u64,
    /// A text that another object of its name in a store doesn't have; empty of a file of this machine.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    object: String,
    /// When it was last changed, in ns since 1970: other content of the same size has another time. 0 of what is in a store.
    #[serde(default, skip_serializing_if = "is_zero")]
    modified_ns: i64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// The first line of interest of a file.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub(super) struct FirstLine {
    pub(super) ts_ns: i64,
    pub(super) hash: LineHash,
}

/// Looks at a file, of this machine or one whose path is a URL.
///
/// # Errors
/// It can't be read.
pub fn survey(source: &Source, elsewhere: Option<&dyn Elsewhere>) -> Result<Surveyed, IngestError> {
    let Source { host, path } = source;
    let log = Log::new(path, elsewhere);
    let look = || {
        let Facts { bytes, identity, modified_ns } = log.facts()?;
        let object = if log.is_elsewhere() { identity } else { String::new() };
        let packing = Packing::of(log, bytes)?;
        let dialect = dialect(log, packing, bytes)?;
        let first = first_line(log, packing, bytes, dialect)?;
        let node = dialect.map(|dialect| dialect.node().to_owned());
        let (host, path, at, edges) = (host.clone(), path.clone(), String::new(), edges(log, bytes)?);
        Ok(Surveyed { host, path, at, bytes, packing, node, first, edges, object, modified_ns })
    };
    look().map_err(|source| IngestError::Read { path: path.clone(), source })
}

impl Surveyed {
    /// The place of the file, for people.
    pub(super) fn place(&self) -> PathBuf {
        if self.at.is_empty() { self.path.clone() } else { format!("{}:{}", self.at, self.path.display()).into() }
    }

    /// The dialect of its lines; None where no line near its beginning is in any.
    pub(super) fn dialect(&self) -> Option<&'static dyn Dialect> {
        self.node.as_ref().and_then(|node| DIALECTS.into_iter().find(|dialect| dialect.node() == node))
    }
}

/// Files as they were when their reading began.
pub(super) struct Unchanged<'a> {
    reading: &'a Reading,
    files: BTreeMap<&'a Path, (&'a Surveyed, Facts)>,
}

impl<'a> Unchanged<'a> {
    /// Refuses files that aren't those that were surveyed.
    pub(super) fn begin(reading: &'a Reading, files: impl Iterator<Item = &'a Surveyed>) -> Result<Self, IngestError> {
        let mut found = BTreeMap::new();
        for file in files {
            let log = reading.log(file);
            let failed = |source| IngestError::Read { path: file.place(), source };
            let facts = log.facts().map_err(failed)?;
            let is_other = !file.object.is_empty() && file.object != facts.identity;
            if is_other || facts.bytes < file.bytes || edges(log, file.bytes).map_err(failed)? != file.edges {
                return Err(IngestError::Changed { path: file.place() });
            }
            found.insert(file.path.as_path(), (file, facts));
        }
        Ok(Self { reading, files: found })
    }

    /// Refuses a file that isn't the one it was, or that is shorter: each of its segments was read through its name. One that grew is as good
    /// as before, since only what was there is read.
    pub(super) fn end(&self) -> Result<(), IngestError> {
        for (file, before) in self.files.values() {
            if !self.reading.log(file).facts().is_ok_and(|now| now.is_still(before)) {
                return Err(IngestError::Changed { path: file.place() });
            }
        }
        Ok(())
    }
}

/// The hash of the first and the last of a file's first `bytes`.
fn edges(log: Log<'_>, bytes: u64) -> io::Result<u64> {
    let mut read = Vec::new();
    log.open(0..bytes.min(EDGE_BYTES))?.read_to_end(&mut read)?;
    log.open(EDGE_BYTES.max(bytes.saturating_sub(EDGE_BYTES))..bytes)?.read_to_end(&mut read)?;
    Ok(XxHash3_64::oneshot(&read))
}

fn first_line(log: Log<'_>, packing: Packing, bytes: u64, dialect: Option<&dyn Dialect>) -> io::Result<Option<FirstLine>> {
    let mut times = times(dialect);
    first_that(log, packing, bytes, 0..FIRST_LINE_BYTES, |line| Some(FirstLine { ts_ns: times(line)?, hash: hash_line(line) }))
}

/// The dialect that most lines near a file's beginning are in; None where no line is in any.
fn dialect(log: Log<'_>, packing: Packing, bytes: u64) -> io::Result<Option<&'static dyn Dialect>> {
    let mut counts = DIALECTS.map(|_| 0);
    first_that(log, packing, bytes, 0..DIALECT_BYTES, |line| {
        let count = &mut counts[dialect_of(line)?];
        *count += 1;
        (*count == DIALECT_LINES).then_some(())
    })?;
    let most = DIALECTS.into_iter().zip(counts).rev().filter(|(_, count)| *count > 0).max_by_key(|(_, count)| *count);
    Ok(most.map(|(dialect, _)| dialect))
}

/// Returns the result of `look` for the first line of a stretch that has one.
fn first_that<T>(
    log: Log<'_>,
    packing: Packing,
    bytes: u64,
    range: Range<u64>,
    mut look: impl FnMut(&[u8]) -> Option<T>,
) -> io::Result<Option<T>> {
    enum Stop<T> {
        Found(T),
        Failed(io::Error),
    }
    impl<T> From<io::Error> for Stop<T> {
        fn from(error: io::Error) -> Self {
            Self::Failed(error)
        }
    }
    match lines(log, packing, bytes, range, |line| look(line.bytes).map_or(Ok(()), |found| Err(Stop::Found(found))), |_| Ok(())) {
        Err(Stop::Found(found)) => Ok(Some(found)),
        Err(Stop::Failed(error)) => Err(error),
        Ok(_) => Ok(None),
    }
}

/// The times of a dialect's lines of interest. A file that is in no dialect is read as cardano-node's: its lines are rejected.
pub(super) fn times(dialect: Option<&dyn Dialect>) -> Times {
    dialect.unwrap_or(&CARDANO_NODE).times()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_known_again_by_its_ends_whatever_it_grew_by() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for bytes in [0, 1, EDGE_BYTES, EDGE_BYTES + 1, 2 * EDGE_BYTES, 3 * EDGE_BYTES] {
            let content = vec![b'a'; bytes as usize];
            let of = |content: &[u8]| {
                fs::write(file.path(), content).unwrap();
                edges(Log::new(file.path(), None), bytes).unwrap()
            };
            let known = of(&content);
            assert_eq!(of(&[&content[..], b"more"].concat()), known);
            for place in [0, content.len().saturating_sub(1)].into_iter().filter(|_| bytes > 0) {
                let mut other = content.clone();
                other[place] = b'b';
                assert_ne!(of(&other), known, "byte {place} of {bytes}");
            }
        }
    }
}
