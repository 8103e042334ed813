//! Files in, tables out: segments of logs in parallel, each writing parts of its own, and an account of every line.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::{ControlFlow, Range};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use parquet::errors::ParquetError;
use rayon::prelude::*;

use crate::account::{Account, DamagedFile, Ingested, LineTables, Rejection, SourceFacts, settle};
use crate::dialects::{CARDANO_NODE, DIALECTS, Dialect, Entry, Seen, Taker, dialect_of};
use crate::digest::SourceDigest;
use crate::reader::{Batch, Line, Packing, lines};
use crate::reason::Reason;
use crate::repeats::{LineHash, RECENT_BYTES, Recent, hash_line};
use crate::strings::Map;
use crate::tables::part_file;

/// A plain file is cut into segments of at least this many bytes.
const SEGMENT_BYTES: u64 = 64 << 20;
/// Nor is a segment less than this share of all bytes: a file that is cut is read once more for its digest, so those of a large cluster stay whole.
const SHARES: u64 = 32;
/// Bytes that are kept of each rejected line.
const KEPT_OF_A_LINE: usize = 300;
/// The file of a host is a number above this many bits of the place of a line.
const PLACE_BITS: u32 = 44;

/// A log file and whose it is.
#[derive(Clone, Debug)]
pub struct Source {
    /// The host's name.
    pub host: String,
    /// The file.
    pub path: PathBuf,
}

/// The source of a host's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostFrom {
    /// From where the file lies, as in [`Source`]. Lines aren't read for it.
    Path,
    /// From the field `host` of each line.
    Field,
}

/// The files to ingest, and the settings for it.
pub struct Plan {
    /// The files, in any order.
    pub sources: Vec<Source>,
    /// A folder that is there and empty: `NAME/part-NNNNN.parquet` are made in it.
    pub tables: PathBuf,
    /// Number of segments that are read at once.
    pub threads: usize,
    /// The source of host names.
    pub host_from: HostFrom,
}

/// Reasons why ingest failed. Bad lines are no failure; they are counted.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message is its documentation")]
pub enum IngestError {
    #[error("{path}: can't be read ({source}). Check the file, or leave it out.")]
    Read { path: PathBuf, source: io::Error },
    #[error("{first} and {second} are the same file twice. Remove one: a line would count double.")]
    Same { first: PathBuf, second: PathBuf },
    #[error("{path}: can't write this table ({source}). Nothing was kept; make room and run again.")]
    Write { path: PathBuf, source: ParquetError },
    #[error("{path}: was put in another's place or cut while it was read, as by logrotate. Ingest again, or ingest a copy.")]
    Changed { path: PathBuf },
    #[error("interrupted")]
    Interrupted,
}

/// A stretch of one file.
struct Segment {
    source: usize,
    packing: Packing,
    /// None where no line near the file's beginning is in any.
    dialect: Option<&'static dyn Dialect>,
    range: Range<u64>,
    /// The file's place among those of its host.
    turn: usize,
}

/// Ingests logs.
///
/// `progress` gets bytes done and bytes in all, from any thread, and may stop the work.
///
/// # Errors
/// A file can't be read or is there twice, a table can't be written, or it was stopped.
pub fn ingest(plan: &Plan, progress: &(dyn Fn(u64, u64) -> ControlFlow<()> + Sync)) -> Result<Ingested, IngestError> {
    ingest_cut(plan, SEGMENT_BYTES, progress)
}

/// Ingests logs, cut into segments of at least this many bytes.
fn ingest_cut(plan: &Plan, segment_bytes: u64, progress: &(dyn Fn(u64, u64) -> ControlFlow<()> + Sync)) -> Result<Ingested, IngestError> {
    let read = |path: &Path| {
        let path = path.to_path_buf();
        move |source| IngestError::Read { path, source }
    };
    let facts: Vec<fs::Metadata> =
        plan.sources.iter().map(|source| fs::metadata(&source.path).map_err(read(&source.path))).collect::<Result<_, _>>()?;
    let sizes: Vec<u64> = facts.iter().map(fs::Metadata::len).collect();
    let packings: Vec<Packing> =
        plan.sources.iter().map(|source| Packing::of(&source.path).map_err(read(&source.path))).collect::<Result<_, _>>()?;
    let dialects: Vec<Option<&dyn Dialect>> = plan
        .sources
        .iter()
        .zip(packings.iter().zip(&sizes))
        .map(|(source, (&packing, &size))| dialect(&source.path, packing, size).map_err(read(&source.path)))
        .collect::<Result<_, _>>()?;
    let mut hashes = same_twice(&plan.sources, &sizes)?;
    let firsts = first_lines(&plan.sources, &packings, &dialects, &sizes)?;
    let turns = turns(&plan.sources, &firsts);
    let total: u64 = sizes.iter().sum();
    let segments = segments(&sizes, &packings, &dialects, &turns, segment_bytes);
    let done = AtomicU64::new(0);
    let step = |bytes: u64| match progress(done.fetch_add(bytes, Ordering::Relaxed) + bytes, total) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(IngestError::Interrupted),
    };
    // A file that is read in one piece is hashed on the way. The others are hashed first: that can't be divided.
    let whole = |segment: &Segment| segment.packing == Packing::Plain && segment.range == (0..u64::MAX);
    let pieces = segments.iter().filter(|segment| segment.range.start == 0 && !whole(segment) && !hashes.contains_key(&segment.source));
    let tasks: Vec<Task<'_>> = pieces
        .map(|segment| Task::Hash(segment.source))
        .chain(segments.iter().enumerate().map(|(part, segment)| Task::Read {
            part,
            segment,
            hash: whole(segment) && !hashes.contains_key(&segment.source),
        }))
        .collect();
    let heads = heads(&plan.sources, &firsts);
    let mut done = in_parallel(plan.threads, &tasks, |task| match *task {
        Task::Hash(source) => {
            let path = &plan.sources[source].path;
            Ok(Done::Hash(source, hash_file(path, sizes[source]).map_err(read(path))?))
        }
        Task::Read { part, segment, hash } => {
            let others = heads.get(plan.sources[segment.source].host.as_str()).map_or(Others::None, Others::FirstLines);
            Ok(Done::Read(Box::new(read_segment(plan, segment, part, hash, sizes[segment.source], others, &step)?)))
        }
    })?;
    let mut accounts = Vec::new();
    for done in done.drain(..) {
        match done {
            Done::Hash(source, digest) => drop(hashes.insert(source, digest)),
            Done::Read(account) => accounts.push(*account),
        }
    }
    for (segment, account) in segments.iter().zip(&mut accounts) {
        if let Some(digest) = account.digest.take() {
            hashes.insert(segment.source, digest);
        }
    }
    leave_out_overlaps(plan, &segments, &sizes, &mut accounts, &|| step(0))?;
    for (source, before) in plan.sources.iter().zip(&facts) {
        refuse_changed(&source.path, before)?;
    }
    number_lines(&segments, &mut accounts);
    let sources = plan.sources.iter().enumerate().map(|(index, source)| SourceFacts {
        path: source.path.clone(),
        bytes: sizes[index],
        digest: hashes.remove(&index).unwrap_or_default(),
    });
    settle(&plan.tables, sources.collect(), accounts).map_err(|source| IngestError::Write { path: plan.tables.clone(), source })
}

/// Refuses a file that isn't the one it was, or that is shorter: each of its pieces was read through its name. One that grew is as good as before,
/// since only what was there is read.
fn refuse_changed(path: &Path, before: &fs::Metadata) -> Result<(), IngestError> {
    let is_same = |now: fs::Metadata| (now.dev(), now.ino()) == (before.dev(), before.ino()) && now.len() >= before.len();
    if fs::metadata(path).is_ok_and(is_same) { Ok(()) } else { Err(IngestError::Changed { path: path.into() }) }
}

/// Does work in threads, a piece when one is free; returns the results in the order of the pieces.
fn in_parallel<T: Sync, R: Send>(
    threads: usize,
    pieces: &[T],
    work: impl Fn(&T) -> Result<R, IngestError> + Sync + Send,
) -> Result<Vec<R>, IngestError> {
    let all = || {
        let done = pieces.iter().enumerate().par_bridge().map(|(place, piece)| Ok((place, work(piece)?)));
        done.collect::<Result<Vec<_>, IngestError>>()
    };
    let mut done = match rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build() {
        Ok(pool) => pool.install(all)?,
        Err(_) => all()?,
    };
    done.sort_by_key(|(place, _)| *place);
    Ok(done.into_iter().map(|(_, done)| done).collect())
}

/// The next task of a thread.
enum Task<'a> {
    Hash(usize),
    Read { part: usize, segment: &'a Segment, hash: bool },
}

/// The result of a [`Task`].
enum Done {
    Hash(usize, String),
    Read(Box<Account>),
}

/// Refuses a file that is there twice; returns the hashes that finding out took.
fn same_twice(sources: &[Source], sizes: &[u64]) -> Result<HashMap<usize, String>, IngestError> {
    let mut by_size: HashMap<u64, Vec<usize>> = HashMap::new();
    for (source, &size) in sizes.iter().enumerate() {
        by_size.entry(size).or_default().push(source);
    }
    let mut hashes = HashMap::new();
    let mut alike: Vec<_> = by_size.into_iter().filter(|(size, sources)| *size > 0 && sources.len() > 1).collect();
    alike.sort_unstable();
    for (_, alike) in alike {
        let mut seen: HashMap<String, usize> = HashMap::new();
        for source in alike {
            let path = &sources[source].path;
            let hash = hash_file(path, sizes[source]).map_err(|error| IngestError::Read { path: path.clone(), source: error })?;
            if let Some(&first) = seen.get(&hash) {
                return Err(IngestError::Same { first: sources[first].path.clone(), second: path.clone() });
            }
            seen.insert(hash.clone(), source);
            hashes.insert(source, hash);
        }
    }
    Ok(hashes)
}

fn hash_file(path: &Path, bytes: u64) -> io::Result<String> {
    let (mut file, mut hash, mut buffer) = (File::open(path)?.take(bytes), SourceDigest::default(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.finish()),
            read => hash.update(&buffer[..read]),
        }
    }
}

/// Returns the files that begin with each line, by host.
fn heads<'a>(sources: &'a [Source], firsts: &[Option<FirstLine>]) -> HashMap<&'a str, Map<LineHash, Vec<usize>>> {
    let mut heads: HashMap<&str, Map<LineHash, Vec<usize>>> = HashMap::new();
    for (index, (source, first)) in sources.iter().zip(firsts).enumerate() {
        if let Some(first) = first {
            heads.entry(&source.host).or_default().entry(first.hash).or_default().push(index);
        }
    }
    heads
}

/// Reads the files of those hosts again whose pieces overlap, without the lines that an earlier piece has.
///
/// Pieces overlap where the first line of one is in another. That is found while they are read, and rare; so it costs nothing elsewhere.
fn leave_out_overlaps(
    plan: &Plan,
    segments: &[Segment],
    sizes: &[u64],
    accounts: &mut [Account],
    step: &(dyn Fn() -> Result<(), IngestError> + Sync),
) -> Result<(), IngestError> {
    let host = |segment: &Segment| plan.sources[segment.source].host.as_str();
    let overlapping: BTreeSet<&str> =
        segments.iter().zip(&*accounts).filter(|(_, account)| account.overlaps).map(|(segment, _)| host(segment)).collect();
    for whose in overlapping {
        let mut own: Vec<(usize, &Segment)> = segments.iter().enumerate().filter(|(_, segment)| host(segment) == whose).collect();
        own.sort_by_key(|(part, segment)| (segment.turn, *part));
        let mut first_turns = Map::default();
        for (_, segment) in &own {
            note_lines(&plan.sources[segment.source].path, segment, sizes[segment.source], &mut first_turns, step)?;
        }
        for (part, _) in &own {
            remove_part(&plan.tables, *part)?;
        }
        let again = in_parallel(plan.threads, &own, |&(part, segment)| {
            let others = Others::Lines(&first_turns);
            read_segment(plan, segment, part, false, sizes[segment.source], others, &|_| step())
        })?;
        for ((part, _), account) in own.into_iter().zip(again) {
            accounts[part] = account;
        }
    }
    Ok(())
}

/// Notes of each line of interest the turn of the first file that has it. Files are given in their turns.
fn note_lines(
    path: &Path,
    segment: &Segment,
    size: u64,
    first_turns: &mut Map<LineHash, usize>,
    step: &(dyn Fn() -> Result<(), IngestError> + Sync),
) -> Result<(), IngestError> {
    let noted = lines(
        path,
        segment.packing,
        size,
        segment.range.clone(),
        |line| {
            if !line.too_long && time(segment.dialect, line.bytes).is_some() {
                first_turns.entry(hash_line(line.bytes)).or_insert(segment.turn);
            }
            Ok(())
        },
        |_| step().map_err(Stop::Ingest),
    );
    match noted {
        Ok(_) => Ok(()),
        Err(Stop::Ingest(error)) => Err(error),
        Err(Stop::Read(source)) => Err(IngestError::Read { path: path.into(), source }),
        Err(Stop::Write(source)) => Err(IngestError::Write { path: path.into(), source }),
    }
}

/// Removes what was written of a part.
fn remove_part(tables: &Path, part: usize) -> Result<(), IngestError> {
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |error: io::Error| IngestError::Write { path, source: error.into() }
    };
    for folder in fs::read_dir(tables).map_err(failed(tables))? {
        let file = part_file(&folder.map_err(failed(tables))?.path(), part);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(&file)(error)),
            _ => {}
        }
    }
    Ok(())
}

/// The first line of interest of a file that isn't its host's only one.
#[derive(Clone, Copy)]
struct FirstLine {
    ts_ns: i64,
    hash: LineHash,
}

fn first_lines(
    sources: &[Source],
    packings: &[Packing],
    dialects: &[Option<&'static dyn Dialect>],
    sizes: &[u64],
) -> Result<Vec<Option<FirstLine>>, IngestError> {
    let mut files: HashMap<&str, usize> = HashMap::new();
    for source in sources {
        *files.entry(&source.host).or_default() += 1;
    }
    let first = |place: usize| {
        let source: &Source = &sources[place];
        if files[source.host.as_str()] == 1 {
            return Ok(None);
        }
        first_line(&source.path, packings[place], sizes[place], dialects[place])
            .map_err(|error| IngestError::Read { path: source.path.clone(), source: error })
    };
    (0..sources.len()).map(first).collect()
}

/// Each file's place among those of its host, by the time of its first line.
fn turns(sources: &[Source], firsts: &[Option<FirstLine>]) -> Vec<usize> {
    let mut files: Vec<_> = sources
        .iter()
        .zip(firsts)
        .enumerate()
        .map(|(index, (source, first))| (&source.host, first.map_or(i64::MAX, |first| first.ts_ns), &source.path, index))
        .collect();
    files.sort();
    let mut turns = vec![0; sources.len()];
    for pair in files.windows(2) {
        if pair[0].0 == pair[1].0 {
            turns[pair[1].3] = turns[pair[0].3] + 1;
        }
    }
    turns
}

fn first_line(path: &Path, packing: Packing, bytes: u64, dialect: Option<&dyn Dialect>) -> io::Result<Option<FirstLine>> {
    first_that(path, packing, bytes, 0..1 << 24, |line| Some(FirstLine { ts_ns: time(dialect, line)?, hash: hash_line(line) }))
}

/// The dialect that most lines near a file's beginning are in; None where no line is in any.
fn dialect(path: &Path, packing: Packing, bytes: u64) -> io::Result<Option<&'static dyn Dialect>> {
    let mut counts = DIALECTS.map(|_| 0);
    let count = |line: Line<'_>| {
        if let Some(place) = dialect_of(line.bytes) {
            counts[place] += 1;
        }
        Ok(())
    };
    lines(path, packing, bytes, 0..1 << 20, count, |_| Ok::<_, io::Error>(()))?;
    let most = DIALECTS.into_iter().zip(counts).rev().filter(|(_, count)| *count > 0).max_by_key(|(_, count)| *count);
    Ok(most.map(|(dialect, _)| dialect))
}

/// Returns the result of `look` for the first line of a stretch that has one.
fn first_that<T>(path: &Path, packing: Packing, bytes: u64, range: Range<u64>, look: impl Fn(&[u8]) -> Option<T>) -> io::Result<Option<T>> {
    enum Stop<T> {
        Found(T),
        Failed(io::Error),
    }
    impl<T> From<io::Error> for Stop<T> {
        fn from(error: io::Error) -> Self {
            Self::Failed(error)
        }
    }
    match lines(path, packing, bytes, range, |line| look(line.bytes).map_or(Ok(()), |found| Err(Stop::Found(found))), |_| Ok(())) {
        Err(Stop::Found(found)) => Ok(Some(found)),
        Err(Stop::Failed(error)) => Err(error),
        Ok(_) => Ok(None),
    }
}

/// Returns when a line of interest was written. A file that is in no dialect is read as cardano-node's: its lines are rejected.
fn time(dialect: Option<&dyn Dialect>, line: &[u8]) -> Option<i64> {
    dialect.unwrap_or(&CARDANO_NODE).time(line)
}

/// Files cut so that all threads have work to the end, the same for any number of them: rows, parts and what is kept of rejected lines follow
/// from where files are cut. Packed files stay whole, and those whose dialect can't be split.
fn segments(
    sizes: &[u64],
    packings: &[Packing],
    dialects: &[Option<&'static dyn Dialect>],
    turns: &[usize],
    segment_bytes: u64,
) -> Vec<Segment> {
    let total: u64 = sizes.iter().sum();
    let most = segment_bytes.max(total / SHARES);
    let mut segments = Vec::new();
    for (source, ((&size, &packing), &turn)) in sizes.iter().zip(packings).zip(turns).enumerate() {
        let dialect = dialects[source];
        if packing != Packing::Plain {
            segments.push(Segment { source, packing, dialect, range: 0..u64::MAX, turn });
            continue;
        }
        let can_be_split = dialect.is_none_or(|dialect| dialect.can_be_split());
        let pieces = if can_be_split { size.div_ceil(most).max(1) } else { 1 };
        for piece in 0..pieces {
            let end = if piece + 1 == pieces { u64::MAX } else { size * (piece + 1) / pieces };
            segments.push(Segment { source, packing, dialect, range: size * piece / pieces..end, turn });
        }
    }
    segments
}

/// Facts of the other files of a host, for the one that is being read.
#[derive(Clone, Copy)]
enum Others<'a> {
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

/// Takes the content of a segment's lines, without those that were there before.
struct Taking<'a> {
    plan: &'a Plan,
    segment: &'a Segment,
    others: Others<'a>,
    /// The host that the file is of.
    whose: &'a [u8],
    tables: LineTables,
    recent: Recent,
    /// True where the first line of another file is in it.
    overlaps: bool,
}

impl Taking<'_> {
    /// Returns whether a line of interest was there before.
    fn repeats(&mut self, line: &Line<'_>, ts_ns: i64) -> bool {
        let hash = hash_line(line.bytes);
        let elsewhere = match self.others {
            Others::None => false,
            Others::FirstLines(files) => {
                self.overlaps |= files.get(&hash).is_some_and(|files| files.iter().any(|&file| file != self.segment.source));
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
        let Taking { plan, segment, whose, tables, .. } = &mut *self.segment;
        let Source { host, path } = &plan.sources[segment.source];
        tables.reject(whose, reason, || Rejection {
            host: host.clone(),
            file: path.display().to_string(),
            line: line.number + 1,
            offset: line.offset,
            reason: reason.to_string(),
            text: String::from_utf8_lossy(&line.bytes[..line.bytes.len().min(KEPT_OF_A_LINE)]).into(),
        });
    }

    fn line(&mut self, seen: &Seen<'_>, place: i64) -> Result<(), ParquetError> {
        let entry = seen.entry.as_ref();
        let named = match self.segment.plan.host_from {
            HostFrom::Field => entry.and_then(|entry| entry.host).unwrap_or(self.segment.whose),
            HostFrom::Path => self.segment.whose,
        };
        if entry.is_some_and(|entry| self.segment.repeats(&self.lines[self.at], entry.ts_ns)) {
            self.segment.tables.repeat(named);
            return Ok(());
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

fn read_segment(
    plan: &Plan,
    segment: &Segment,
    part: usize,
    hash: bool,
    size: u64,
    others: Others<'_>,
    step: &(dyn Fn(u64) -> Result<(), IngestError> + Sync),
) -> Result<Account, IngestError> {
    let Source { host, path } = &plan.sources[segment.source];
    let plain = segment.packing == Packing::Plain;
    let mut tables = LineTables::new(&plan.tables, part);
    let mut hash = hash.then(SourceDigest::default);
    let whose = host.as_bytes();
    tables.written_by(segment.dialect);
    if plan.host_from == HostFrom::Path {
        tables.host(whose);
    }
    let mut bytes_read = 0;
    let dialect = segment.dialect.unwrap_or(&CARDANO_NODE);
    let (mut reader, mut batch) = (dialect.reader(), Batch::default());
    let mut recent = Recent::default();
    if segment.range.start > 0 {
        let before = segment.range.start.saturating_sub(RECENT_BYTES)..segment.range.start;
        lines(
            path,
            segment.packing,
            size,
            before,
            |line| {
                if !line.too_long
                    && let Some(ts_ns) = time(segment.dialect, line.bytes)
                {
                    recent.repeats(hash_line(line.bytes), ts_ns, line.offset);
                }
                Ok::<(), io::Error>(())
            },
            |_| Ok(()),
        )
        .map_err(|source| IngestError::Read { path: path.clone(), source })?;
    }
    let mut taking = Taking { plan, segment, others, whose, tables, recent, overlaps: false };
    let mut read = |lines: &[Line<'_>]| reader.read(lines, &mut OfLines { segment: &mut taking, lines, at: 0 });
    let outcome = lines(
        path,
        segment.packing,
        size,
        segment.range.clone(),
        |line| {
            if line.bytes.trim_ascii().is_empty() && !line.too_long {
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
            if plain { step(bytes.len() as u64).map_err(Stop::Ingest) } else { step(0).map_err(Stop::Ingest) }
        },
    );
    let write = |source| IngestError::Write { path: plan.tables.clone(), source };
    let extent = match outcome {
        Ok(extent) => extent,
        Err(Stop::Ingest(error)) => return Err(error),
        Err(Stop::Write(error)) => return Err(write(error)),
        Err(Stop::Read(source)) => return Err(IngestError::Read { path: path.clone(), source }),
    };
    if !plain {
        step(size)?;
    }
    batch.drain(&mut read).map_err(write)?;
    reader.finish(&mut OfLines { segment: &mut taking, lines: &[], at: 0 }).map_err(write)?;
    let mut account = taking.tables.finish(whose, u64::from(segment.range.start == 0)).map_err(write)?;
    (account.bytes, account.all_lines, account.overlaps) = (bytes_read, extent.lines, taking.overlaps);
    account.damage = extent.damage.map(|damage| DamagedFile {
        host: host.clone(),
        file: path.display().to_string(),
        at: damage.at,
        unread_bytes: size.saturating_sub(damage.at),
        what: damage.error.to_string(),
    });
    account.digest = hash.map(|hash| hash.finish());
    Ok(account)
}

/// Line numbers were counted within segments; makes them those of the files.
fn number_lines(segments: &[Segment], accounts: &mut [Account]) {
    let mut before = 0;
    for (place, segment) in segments.iter().enumerate() {
        if segment.range.start == 0 {
            before = 0;
        }
        for rejection in &mut accounts[place].rejections {
            rejection.line += before;
        }
        before += accounts[place].all_lines;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::{BufWriter, Write};

    use super::*;

    /// A log of slots that a host looks at; each tenth line can't be read.
    fn write_log(path: &Path, host: usize, slots: u64) {
        let mut file = BufWriter::new(File::create(path).unwrap());
        for slot in 0..slots {
            let at = format!("2026-01-01 00:{:02}:{:02}.{host:03}000000Z", slot / 60 % 60, slot % 60);
            let data = if slot % 10 == 0 { r#"{"slot":"none"}"#.to_owned() } else { format!(r#"{{"slot":{slot}}}"#) };
            writeln!(
                file,
                r#"{{"at":"{at}","ns":"Forge.Loop.StartLeadershipCheck","data":{data},"sev":"Info","thread":"52","host":"h{host}"}}"#
            )
            .unwrap();
        }
    }

    fn files(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { files(&path, found) } else { drop(found.insert(path.clone(), fs::read(&path).unwrap())) }
        }
    }

    #[test]
    fn all_parts_are_the_same_bytes_for_any_number_of_threads() {
        let folder = tempfile::tempdir().unwrap();
        let source = |(host, slots): (usize, u64)| {
            let path = folder.path().join(format!("h{host}.log"));
            write_log(&path, host, slots);
            Source { host: format!("h{host}"), path }
        };
        let sources: Vec<Source> = [3_000, 50, 1_700].into_iter().enumerate().map(source).collect();
        let tables = folder.path().join("tables");
        let ingested = |threads| {
            fs::create_dir(&tables).unwrap();
            let plan = Plan { sources: sources.clone(), tables: tables.clone(), threads, host_from: HostFrom::Path };
            // Less than a share of the 700 kB: the shares decide, as they do for large logs.
            let done = ingest_cut(&plan, 1_000, &|_, _| ControlFlow::Continue(())).unwrap();
            let mut found = BTreeMap::new();
            files(&tables, &mut found);
            fs::remove_dir_all(&tables).unwrap();
            (serde_json::to_string(&done).unwrap(), done.rejected, found)
        };
        let alone = ingested(1);
        assert_eq!(alone.1, 475);
        assert!(alone.2.keys().filter(|path| path.starts_with(tables.join("slot_events"))).count() > 32, "{:?}", alone.2.keys());
        assert!(alone == ingested(8));
    }
}
