//! The lines of one segment, as parts of tables and an account.

use std::collections::BTreeSet;
use std::io;

use parquet::errors::ParquetError;

use super::cuts::Segment;
use super::survey::times;
use super::{HostFrom, IngestError, Reading};
use crate::account::{Account, LineTables};
use crate::dialects::{CARDANO_NODE, Entry, HostOf, Seen, Taker};
use crate::digest::SourceDigest;
use crate::found::{DamagedFile, Rejection};
use crate::reader::{Batch, Line, Packing, lines};
use crate::reason::Reason;
use crate::repeats::{LineHash, RECENT_BYTES, Recent, hash_line};
use crate::scan::are_same;
use crate::strings::Map;

/// Bytes that are kept of each rejected line.
const KEPT_OF_A_LINE: usize = 300;
/// Names of hosts in a log that are kept.
const MOST_NAMED: usize = 100;
/// The file of a host is a number above this many bits of the place of a line.
const PLACE_BITS: u32 = 44;

/// Called with bytes that are done; may stop the work.
pub(super) type Step<'a> = &'a (dyn Fn(u64) -> Result<(), IngestError> + Sync);

/// Facts of the other files of a host, for the one that is being read.
#[derive(Clone, Copy)]
pub(super) enum Others<'a> {
    /// There are none.
    None,
    /// The files that begin with each line.
    FirstLines(&'a Map<LineHash, Vec<usize>>),
    /// The turn of the first file that has a line.
    Lines(&'a Map<LineHash, usize>),
}

/// Reasons why a segment stops early.
enum Stop {
    Read(io::Error),
    Write(ParquetError),
    Ingest(IngestError),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

impl Stop {
    fn of(self, segment: &Segment<'_>, reading: &Reading) -> IngestError {
        match self {
            Self::Ingest(error) => error,
            Self::Read(source) => IngestError::Read { path: segment.file.place(), source },
            Self::Write(source) => IngestError::Write { path: reading.tables.clone(), source },
        }
    }
}

/// The hosts that lines name, one after the other.
#[derive(Default)]
struct Named {
    last: Vec<u8>,
    /// Those that there were, up to [`MOST_NAMED`].
    all: BTreeSet<Vec<u8>>,
    /// True where one came again after another: a node that was moved, or a container that was made anew, has a new name and keeps it.
    take_turns: bool,
}

impl Named {
    #[inline(always)]
    fn note(&mut self, host: &[u8]) {
        if !are_same(&self.last, host) {
            self.another(host);
        }
    }

    #[cold]
    fn another(&mut self, host: &[u8]) {
        self.take_turns |= self.all.contains(host);
        if self.all.len() < MOST_NAMED {
            self.all.insert(host.to_vec());
        }
        self.last.clear();
        self.last.extend_from_slice(host);
    }
}

/// Takes the content of a segment's lines, without those that were there before.
struct Taking<'a> {
    segment: &'a Segment<'a>,
    others: Others<'a>,
    /// The host that the file is of.
    whose: &'a [u8],
    /// Returns the host of a line of no interest, or that can't be read, where lines name their own.
    host_of: Option<HostOf>,
    named: Named,
    tables: LineTables,
    recent: Recent,
    /// Other files whose first line is in it.
    overlaps: BTreeSet<usize>,
}

impl Taking<'_> {
    /// Returns whether a line of interest was there before.
    fn repeats(&mut self, line: &Line<'_>, ts_ns: i64) -> bool {
        let hash = hash_line(line.bytes);
        let elsewhere = match self.others {
            Others::None => false,
            Others::FirstLines(files) => {
                if let Some(files) = files.get(&hash) {
                    self.overlaps.extend(files.iter().filter(|&&file| file != self.segment.source));
                }
                false
            }
            Others::Lines(first_turns) => first_turns.get(&hash).is_some_and(|&turn| turn < self.segment.turn),
        };
        self.recent.repeats(hash, ts_ns, line.offset) || elsewhere
    }
}

/// Takes the content of lines that are read at once.
struct OfLines<'l, 'a> {
    segment: &'l mut Taking<'a>,
    lines: &'l [Line<'l>],
    /// The number of the one whose content comes.
    at: usize,
}

impl Taker for OfLines<'_, '_> {
    fn begin(&mut self, line: usize) -> i64 {
        self.at = line;
        (self.segment.segment.turn as i64) << PLACE_BITS | self.lines[line].offset as i64
    }

    fn reject(&mut self, reason: Reason) {
        let line = &self.lines[self.at];
        // The last line of a log that was cut: whatever it looks like, its end is missing.
        let reason = if line.ended || reason == Reason::TooLong { reason } else { Reason::Cut };
        let Taking { segment, whose, host_of, tables, .. } = &mut *self.segment;
        let host = host_of.map_or(Some(*whose), |host_of| host_of(line.bytes));
        tables.reject(host, reason, || Rejection {
            host: segment.file.host.clone(),
            file: segment.file.place().display().to_string(),
            line: line.number + 1,
            offset: line.offset,
            reason: reason.to_string(),
            text: String::from_utf8_lossy(&line.bytes[..line.bytes.len().min(KEPT_OF_A_LINE)]).into(),
        });
    }

    fn line(&mut self, seen: &Seen<'_>, place: i64) -> Result<(), ParquetError> {
        let entry = seen.entry.as_ref();
        let named = match (self.segment.host_of, entry) {
            (None, _) => Some(self.segment.whose),
            (Some(_), Some(entry)) => Some(entry.host.unwrap_or(self.segment.whose)),
            (Some(host_of), None) => host_of(self.lines[self.at].bytes),
        };
        let Some(named) = named else {
            self.segment.tables.unnamed(&seen.name);
            return Ok(());
        };
        if entry.is_some_and(|entry| self.segment.repeats(&self.lines[self.at], entry.ts_ns)) {
            self.segment.tables.repeat(named);
            return Ok(());
        }
        // Where lines name their own hosts, all of them are counted rightly.
        if self.segment.host_of.is_none()
            && let Some(host) = entry.and_then(|entry| entry.host)
        {
            self.segment.named.note(host);
        }
        self.segment.tables.line(named, &seen.name, entry, place)
    }

    fn part(&mut self, name: &[u8], ts_ns: i64) -> bool {
        let is_new = !self.segment.repeats(&self.lines[self.at], ts_ns);
        if is_new {
            self.segment.tables.part(self.segment.whose, name, ts_ns)
        } else {
            self.segment.tables.repeat(self.segment.whose)
        }
        is_new
    }

    fn row(&mut self, entry: &Entry<'_>, place: i64) -> Result<(), ParquetError> {
        self.segment.tables.row(self.segment.whose, entry, place)
    }
}

/// Reads a segment and writes its parts; `hash` asks for the digest of its bytes.
pub(super) fn read_segment(
    segment: &Segment<'_>,
    reading: &Reading,
    hash: bool,
    others: Others<'_>,
    step: Step<'_>,
) -> Result<Account, IngestError> {
    let file = segment.file;
    let plain = file.packing == Packing::Plain;
    let mut tables = LineTables::new(&reading.tables, segment.part);
    let mut hash = hash.then(SourceDigest::default);
    let whose = file.host.as_bytes();
    tables.written_by(segment.dialect);
    if reading.host_from == HostFrom::Path {
        tables.host(whose);
    }
    let mut bytes_read = 0;
    let dialect = segment.dialect.unwrap_or(&CARDANO_NODE);
    let (mut reader, mut batch) = (dialect.reader(), Batch::default());
    let recent = lines_before(segment, reading).map_err(|source| IngestError::Read { path: file.place(), source })?;
    let host_of = if reading.host_from == HostFrom::Field { dialect.hosts() } else { None };
    let mut taking = Taking { segment, others, whose, host_of, named: Named::default(), tables, recent, overlaps: BTreeSet::new() };
    let mut read = |lines: &[Line<'_>]| reader.read(lines, &mut OfLines { segment: &mut taking, lines, at: 0 });
    let outcome = lines(
        reading.log(file),
        file.packing,
        file.bytes,
        segment.range.clone(),
        |line| {
            if line.is_blank() {
                return Ok(());
            }
            if dialect.can_be_split() {
                return read(&[line]).map_err(Stop::Write);
            }
            if batch.push(&line) { batch.drain(&mut read).map_err(Stop::Write) } else { Ok(()) }
        },
        |bytes| {
            if let Some(hash) = &mut hash {
                hash.update(bytes);
            }
            bytes_read += bytes.len() as u64;
            step(if plain { bytes.len() as u64 } else { 0 }).map_err(Stop::Ingest)
        },
    );
    let extent = outcome.map_err(|stop| stop.of(segment, reading))?;
    let write = |source| IngestError::Write { path: reading.tables.clone(), source };
    if !plain {
        step(file.bytes)?;
    }
    batch.drain(&mut read).map_err(write)?;
    reader.finish(&mut OfLines { segment: &mut taking, lines: &[], at: 0 }).map_err(write)?;
    let names = taking.named.all.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    taking.tables.names(whose, names, taking.named.take_turns);
    let mut account = taking.tables.finish(whose, 0).map_err(write)?;
    (account.bytes, account.all_lines, account.overlaps) = (bytes_read, extent.lines, taking.overlaps);
    account.damage = extent.damage.map(|damage| DamagedFile {
        host: file.host.clone(),
        file: file.place().display().to_string(),
        at: damage.at,
        unread_bytes: file.bytes.saturating_sub(damage.at),
        what: damage.error.to_string(),
    });
    account.digest = hash.map(|hash| hash.finish());
    Ok(account)
}

/// The lines of interest that a segment's first ones may repeat: those before it in its file.
fn lines_before(segment: &Segment<'_>, reading: &Reading) -> io::Result<Recent> {
    let mut recent = Recent::default();
    if segment.range.start > 0 {
        let before = segment.range.start.saturating_sub(RECENT_BYTES)..segment.range.start;
        each_of_interest(
            segment,
            reading,
            before,
            |line, ts_ns| {
                recent.repeats(hash_line(line.bytes), ts_ns, line.offset);
            },
            |_| Ok::<_, io::Error>(()),
        )?;
    }
    Ok(recent)
}

/// Notes of each line of interest the turn of the first file that has it. Segments are given in the turns of their files.
pub(super) fn note_lines(
    segment: &Segment<'_>,
    reading: &Reading,
    first_turns: &mut Map<LineHash, usize>,
    step: Step<'_>,
) -> Result<(), IngestError> {
    let note = |line: &Line<'_>, _: i64| {
        first_turns.entry(hash_line(line.bytes)).or_insert(segment.turn);
    };
    each_of_interest(segment, reading, segment.range.clone(), note, |_| step(0).map_err(Stop::Ingest))
        .map_err(|stop| stop.of(segment, reading))
}

/// Calls `each` for the lines of interest in a range of a segment's file, and `seen` for all bytes that are read.
fn each_of_interest<E: From<io::Error>>(
    segment: &Segment<'_>,
    reading: &Reading,
    range: std::ops::Range<u64>,
    mut each: impl FnMut(&Line<'_>, i64),
    seen: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let file = segment.file;
    let mut times = times(segment.dialect);
    let look = |line: Line<'_>| {
        if !line.too_long
            && let Some(ts_ns) = times(line.bytes)
        {
            each(&line, ts_ns);
        }
        Ok(())
    };
    lines(reading.log(file), file.packing, file.bytes, range, look, seen).map(drop)
}
