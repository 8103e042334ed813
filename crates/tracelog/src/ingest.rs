//! Files in, tables out: segments of logs in parallel, each writing parts of its own, and an account of every line.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use rayon::prelude::*;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::line::{Body, Reason, read_line};
use crate::reader::{Packing, lines};
use crate::strings::{EndMap, Map};
use crate::tables::{Rows, Written};

/// A plain file is cut into segments of at least this many bytes.
const SEGMENT_BYTES: u64 = 64 << 20;
/// Of each rejected line, so much is kept.
const KEPT_OF_A_LINE: usize = 300;
/// Of each segment, so many rejected lines are kept; all are counted.
const KEPT_REJECTIONS: usize = 20_000;
/// A line may be this much older than one before it without being remarked on: threads write side by side.
const BACKWARDS_NS: i64 = 1_000_000_000;
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

/// Where a host's name comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostFrom {
    /// From where the file lies, as [`Source`] says. Lines aren't asked.
    Path,
    /// From the field `host` of each line.
    Field,
}

/// What to ingest.
pub struct Plan {
    /// The files, in any order.
    pub sources: Vec<Source>,
    /// A folder that is there and empty: `NAME/part-NNNNN.parquet` are made in it.
    pub tables: PathBuf,
    /// How many segments at once.
    pub threads: usize,
    /// Where host names come from.
    pub host_from: HostFrom,
}

/// Why nothing came of it. Bad lines are no reason; they are counted.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message is its documentation")]
pub enum IngestError {
    #[error("{path}: can't be read ({source}). Check the file, or leave it out.")]
    Read { path: PathBuf, source: io::Error },
    #[error("{first} and {second} are the same file twice. Remove one: a line would count double.")]
    Same { first: PathBuf, second: PathBuf },
    #[error("{path}: can't write this table ({source}). Nothing was kept; make room and run again.")]
    Write { path: PathBuf, source: ParquetError },
    #[error("interrupted")]
    Interrupted,
}

/// What is known of a file.
#[derive(Clone, Debug, Serialize)]
pub struct SourceFacts {
    /// As given.
    pub path: PathBuf,
    /// As it lies on the disk, packed or not.
    pub bytes: u64,
    /// Of the same bytes, in hex.
    pub sha256: String,
}

/// What is known of a host.
#[derive(Clone, Debug, Default, Serialize, PartialEq)]
pub struct HostFacts {
    /// Its name.
    pub host: String,
    /// Log files.
    pub files: u64,
    /// Lines, without empty ones.
    pub lines: u64,
    /// Lines that became rows.
    pub kept: u64,
    /// Lines that couldn't be read.
    pub rejected: u64,
    /// Lines of interest that are more than a second older than one before them.
    pub backwards: u64,
    /// Block hashes of less than 64 characters: blocks can't be followed with them.
    pub short_hashes: u64,
    /// Rows that came too late to stand in the order of their times.
    pub late: u64,
    /// Time of the first line of interest, ns since 1970.
    pub first_ts_ns: Option<i64>,
    /// Time of the last.
    pub last_ts_ns: Option<i64>,
    /// The node's version, where the log tells it.
    pub version: String,
    /// Its commit.
    pub revision: String,
    /// Its compiler's version.
    pub compiler: String,
}

/// A line that couldn't be read.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Rejection {
    /// Whose log it is in.
    pub host: String,
    /// The file.
    pub file: String,
    /// Counted from 1.
    pub line: u64,
    /// Where it begins in the (unpacked) file.
    pub offset: u64,
    /// Why.
    pub reason: String,
    /// How it begins.
    pub text: String,
}

/// What came of it.
#[derive(Debug, Serialize)]
pub struct Ingested {
    /// Rows of each table that was made.
    pub tables: BTreeMap<String, u64>,
    /// Every host, by name.
    pub hosts: Vec<HostFacts>,
    /// Every file, in the order given.
    pub sources: Vec<SourceFacts>,
    /// Lines in all, without empty ones.
    pub lines: u64,
    /// Of them, those that couldn't be read.
    pub rejected: u64,
    /// How many of them for which reason, the most frequent first.
    pub reasons: Vec<(String, u64)>,
    /// The first ones.
    pub first_rejections: Vec<Rejection>,
    /// Content bytes read, unpacked.
    pub bytes: u64,
}

/// A stretch of one file.
struct Segment {
    source: usize,
    packing: Packing,
    range: Range<u64>,
    /// The file's place among those of its host.
    turn: usize,
}

/// What a segment gave, besides rows.
#[derive(Default)]
struct Account {
    hosts: Hosts,
    names: EndMap<Vec<u8>, u64>,
    reasons: BTreeMap<Reason, u64>,
    rejections: Vec<Rejection>,
    written: Vec<Written>,
    lines: u64,
    all_lines: u64,
    bytes: u64,
    sha256: Option<String>,
}

/// The hosts of a segment. Most have one, and lines of one host mostly follow each other.
#[derive(Default)]
struct Hosts {
    places: Map<Vec<u8>, usize>,
    facts: Vec<HostFacts>,
    last: usize,
}

impl Hosts {
    /// The place of a host, which gets one if it is new.
    #[inline]
    fn place(&mut self, name: &[u8]) -> usize {
        if self.facts.get(self.last).is_none_or(|facts| facts.host.as_bytes() != name) {
            self.last = match self.places.get(name) {
                Some(&place) => place,
                None => {
                    self.facts.push(HostFacts { host: String::from_utf8_lossy(name).into(), ..HostFacts::default() });
                    self.places.insert(name.to_vec(), self.facts.len() - 1);
                    self.facts.len() - 1
                }
            };
        }
        self.last
    }

    fn known(&mut self, name: &[u8]) -> Option<&mut HostFacts> {
        self.places.get(name).map(|&place| &mut self.facts[place])
    }
}

/// Ingests logs.
///
/// `progress` is told bytes done and bytes in all, from any thread, and may stop the work.
///
/// # Errors
/// A file can't be read or is there twice, a table can't be written, or it was stopped.
pub fn ingest(plan: &Plan, progress: &(dyn Fn(u64, u64) -> ControlFlow<()> + Sync)) -> Result<Ingested, IngestError> {
    let read = |path: &Path| {
        let path = path.to_path_buf();
        move |source| IngestError::Read { path, source }
    };
    let sizes: Vec<u64> = plan
        .sources
        .iter()
        .map(|source| fs::metadata(&source.path).map(|facts| facts.len()).map_err(read(&source.path)))
        .collect::<Result<_, _>>()?;
    let packings: Vec<Packing> =
        plan.sources.iter().map(|source| Packing::of(&source.path).map_err(read(&source.path))).collect::<Result<_, _>>()?;
    let mut hashes = same_twice(&plan.sources, &sizes)?;
    let turns = turns(&plan.sources, &packings)?;
    let total: u64 = sizes.iter().sum();
    let segments = segments(&sizes, &packings, &turns, plan.threads);
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
    let work = || {
        // One after the other, as threads get free.
        let done = tasks.iter().enumerate().par_bridge().map(|(turn, task)| {
            let done = match *task {
                Task::Hash(source) => {
                    let path = &plan.sources[source].path;
                    Done::Hash(source, hash_file(path).map_err(read(path))?)
                }
                Task::Read { part, segment, hash } => Done::Read(read_segment(plan, segment, part, hash, sizes[segment.source], &step)?),
            };
            Ok((turn, done))
        });
        done.collect::<Result<Vec<_>, IngestError>>()
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(plan.threads.max(1)).build();
    let mut done = match &pool {
        Ok(pool) => pool.install(work)?,
        Err(_) => work()?,
    };
    done.sort_by_key(|(turn, _)| *turn);
    let mut accounts = Vec::new();
    for (_, done) in done {
        match done {
            Done::Hash(source, sha256) => drop(hashes.insert(source, sha256)),
            Done::Read(account) => accounts.push(account),
        }
    }
    for (segment, account) in segments.iter().zip(&mut accounts) {
        if let Some(sha256) = account.sha256.take() {
            hashes.insert(segment.source, sha256);
        }
    }
    number_lines(&segments, &mut accounts);
    summarise(plan, &sizes, &hashes, accounts)
}

/// What a thread does next.
enum Task<'a> {
    Hash(usize),
    Read { part: usize, segment: &'a Segment, hash: bool },
}

/// What came of a [`Task`].
enum Done {
    Hash(usize, String),
    Read(Account),
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
            let hash = hash_file(path).map_err(|error| IngestError::Read { path: path.clone(), source: error })?;
            if let Some(&first) = seen.get(&hash) {
                return Err(IngestError::Same { first: sources[first].path.clone(), second: path.clone() });
            }
            seen.insert(hash.clone(), source);
            hashes.insert(source, hash);
        }
    }
    Ok(hashes)
}

fn hash_file(path: &Path) -> io::Result<String> {
    let (mut file, mut hash, mut buffer) = (File::open(path)?, Sha256::new(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hash.finalize())),
            read => hash.update(&buffer[..read]),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Each file's place among those of its host, by the time of its first line.
fn turns(sources: &[Source], packings: &[Packing]) -> Result<Vec<usize>, IngestError> {
    let mut files = Vec::new();
    for (index, (source, &packing)) in sources.iter().zip(packings).enumerate() {
        let alone = sources.iter().filter(|other| other.host == source.host).count() == 1;
        let first = if alone {
            None
        } else {
            first_time(&source.path, packing).map_err(|error| IngestError::Read { path: source.path.clone(), source: error })?
        };
        files.push((&source.host, first.unwrap_or(i64::MAX), &source.path, index));
    }
    files.sort();
    let mut turns = vec![0; sources.len()];
    for pair in files.windows(2) {
        if pair[0].0 == pair[1].0 {
            turns[pair[1].3] = turns[pair[0].3] + 1;
        }
    }
    Ok(turns)
}

fn first_time(path: &Path, packing: Packing) -> io::Result<Option<i64>> {
    enum Stop {
        Found(i64),
        Failed(io::Error),
    }
    impl From<io::Error> for Stop {
        fn from(error: io::Error) -> Self {
            Self::Failed(error)
        }
    }
    let look = lines(
        path,
        packing,
        0..1 << 24,
        |line| match read_line(line.bytes) {
            Ok(seen) => seen.entry.map_or(Ok(()), |entry| Err(Stop::Found(entry.ts_ns))),
            Err(_) => Ok(()),
        },
        |_| Ok(()),
    );
    match look {
        Err(Stop::Found(time)) => Ok(Some(time)),
        Err(Stop::Failed(error)) if packing == Packing::Plain => Err(error),
        _ => Ok(None),
    }
}

/// Files cut so that all threads have work to the end. Packed files stay whole.
fn segments(sizes: &[u64], packings: &[Packing], turns: &[usize], threads: usize) -> Vec<Segment> {
    let total: u64 = sizes.iter().sum();
    let most = (total / (4 * threads.max(1) as u64)).max(SEGMENT_BYTES);
    let mut segments = Vec::new();
    for (source, ((&size, &packing), &turn)) in sizes.iter().zip(packings).zip(turns).enumerate() {
        if packing != Packing::Plain {
            segments.push(Segment { source, packing, range: 0..u64::MAX, turn });
            continue;
        }
        let pieces = size.div_ceil(most).max(1);
        for piece in 0..pieces {
            let end = if piece + 1 == pieces { u64::MAX } else { size * (piece + 1) / pieces };
            segments.push(Segment { source, packing, range: size * piece / pieces..end, turn });
        }
    }
    segments
}

/// Why a segment stops early.
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

fn read_segment(
    plan: &Plan,
    segment: &Segment,
    part: usize,
    hash: bool,
    size: u64,
    step: &(dyn Fn(u64) -> Result<(), IngestError> + Sync),
) -> Result<Account, IngestError> {
    let Source { host, path } = &plan.sources[segment.source];
    let plain = segment.packing == Packing::Plain;
    let mut account = Account::default();
    let mut rows = Rows::new(&plan.tables, part);
    let mut hash = hash.then(Sha256::new);
    let mut newest = i64::MIN;
    let whose = host.as_bytes();
    let by_path = (plan.host_from == HostFrom::Path).then(|| account.hosts.place(whose));
    let outcome = lines(
        path,
        segment.packing,
        segment.range.clone(),
        |line| {
            if line.bytes.trim_ascii().is_empty() {
                return Ok(());
            }
            account.lines += 1;
            let seen = read_line(line.bytes);
            let (place, named) = match (by_path, &seen) {
                (Some(place), _) => (place, whose),
                (None, seen) => {
                    let entry = seen.as_ref().ok().and_then(|seen| seen.entry.as_ref());
                    let named = entry.and_then(|entry| entry.host).unwrap_or(whose);
                    (account.hosts.place(named), named)
                }
            };
            let facts = &mut account.hosts.facts[place];
            facts.lines += 1;
            let entry = match seen {
                Ok(seen) => {
                    match account.names.get_mut(seen.name.as_ref()) {
                        Some(count) => *count += 1,
                        None => drop(account.names.insert(seen.name.into_owned(), 1)),
                    }
                    let Some(entry) = seen.entry else { return Ok(()) };
                    entry
                }
                Err(reason) => {
                    // The last line of a log that was cut: whatever it looks like, its end is missing.
                    let reason = if line.ended || reason == Reason::Cut { reason } else { Reason::Cut };
                    facts.rejected += 1;
                    *account.reasons.entry(reason).or_default() += 1;
                    if account.rejections.len() < KEPT_REJECTIONS {
                        account.rejections.push(Rejection {
                            host: host.clone(),
                            file: path.display().to_string(),
                            line: line.number + 1,
                            offset: line.offset,
                            reason: reason.to_string(),
                            text: String::from_utf8_lossy(&line.bytes[..line.bytes.len().min(KEPT_OF_A_LINE)]).into(),
                        });
                    }
                    return Ok(());
                }
            };
            facts.kept += 1;
            facts.backwards += u64::from(entry.ts_ns < newest.saturating_sub(BACKWARDS_NS));
            newest = newest.max(entry.ts_ns);
            facts.first_ts_ns = Some(facts.first_ts_ns.map_or(entry.ts_ns, |first| first.min(entry.ts_ns)));
            facts.last_ts_ns = Some(facts.last_ts_ns.map_or(entry.ts_ns, |last| last.max(entry.ts_ns)));
            if let Body::Version { version, revision, compiler } = entry.body {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                (facts.version, facts.revision, facts.compiler) = (text(version), text(revision), text(compiler));
            }
            let order = (segment.turn as i64) << PLACE_BITS | line.offset as i64;
            let before = rows.short_hashes;
            rows.push((place, named), &entry, order).map_err(Stop::Write)?;
            facts.short_hashes += rows.short_hashes - before;
            Ok(())
        },
        |bytes| {
            if let Some(hash) = &mut hash {
                hash.update(bytes);
            }
            account.bytes += bytes.len() as u64;
            if plain { step(bytes.len() as u64).map_err(Stop::Ingest) } else { step(0).map_err(Stop::Ingest) }
        },
    );
    let write = |source| IngestError::Write { path: plan.tables.clone(), source };
    match outcome {
        Ok(lines) => account.all_lines = lines,
        Err(Stop::Ingest(error)) => return Err(error),
        Err(Stop::Write(error)) => return Err(write(error)),
        Err(Stop::Read(source)) if plain => return Err(IngestError::Read { path: path.clone(), source }),
        // A packed file whose end is missing: what could be unpacked counts, and its end is one rejected line.
        Err(Stop::Read(source)) => {
            *account.reasons.entry(Reason::Cut).or_default() += 1;
            account.lines += 1;
            if let Some(facts) = account.hosts.known(whose) {
                facts.lines += 1;
                facts.rejected += 1;
            }
            let text = source.to_string();
            account.rejections.push(Rejection {
                host: host.clone(),
                file: path.display().to_string(),
                line: account.lines,
                offset: account.bytes,
                reason: Reason::Cut.to_string(),
                text,
            });
        }
    }
    if !plain {
        step(size)?;
    }
    account.sha256 = hash.map(|hash| hex(&hash.finalize()));
    account.written = rows.finish().map_err(write)?.into();
    if let Some(facts) = account.hosts.known(whose) {
        facts.late += account.written.iter().map(|written| written.late).sum::<u64>();
        facts.files += u64::from(segment.range.start == 0);
    }
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

fn summarise(plan: &Plan, sizes: &[u64], hashes: &HashMap<usize, String>, accounts: Vec<Account>) -> Result<Ingested, IngestError> {
    let mut hosts: BTreeMap<String, HostFacts> = BTreeMap::new();
    let (mut names, mut reasons, mut tables) =
        (BTreeMap::<(String, String), u64>::new(), BTreeMap::<String, u64>::new(), BTreeMap::<String, u64>::new());
    let (mut rejections, mut total_lines, mut bytes) = (Vec::new(), 0, 0);
    for account in accounts {
        let whose = account.hosts.facts.iter().map(|facts| facts.host.clone()).min().unwrap_or_default();
        for (name, count) in account.names {
            *names.entry((whose.clone(), String::from_utf8_lossy(&name).into())).or_default() += count;
        }
        for facts in account.hosts.facts {
            merge(hosts.entry(facts.host.clone()).or_insert_with(|| HostFacts { host: facts.host.clone(), ..HostFacts::default() }), facts);
        }
        for (reason, count) in account.reasons {
            *reasons.entry(reason.to_string()).or_default() += count;
        }
        for written in account.written {
            *tables.entry(written.table.to_owned()).or_default() += written.rows;
        }
        rejections.extend(account.rejections);
        total_lines += account.lines;
        bytes += account.bytes;
    }
    let hosts: Vec<HostFacts> = hosts.into_values().collect();
    let text = |values: Vec<&str>| Arc::new(StringArray::from(values)) as ArrayRef;
    let whole = |values: Vec<u64>| Arc::new(Int64Array::from_iter_values(values.into_iter().map(|value| value as i64))) as ArrayRef;
    let time = |values: Vec<Option<i64>>| Arc::new(Int64Array::from(values)) as ArrayRef;
    let mut write = |name: &str, columns: Vec<(&str, ArrayRef)>| {
        let rows = columns.first().map_or(0, |(_, column)| column.len() as u64);
        tables.insert(name.to_owned(), rows);
        write_table(&plan.tables.join(name), columns).map_err(|source| IngestError::Write { path: plan.tables.join(name), source })
    };
    let each = |get: fn(&HostFacts) -> u64| whole(hosts.iter().map(get).collect());
    write(
        "hosts",
        vec![
            ("host", text(hosts.iter().map(|facts| facts.host.as_str()).collect())),
            ("files", each(|facts| facts.files)),
            ("lines", each(|facts| facts.lines)),
            ("kept", each(|facts| facts.kept)),
            ("rejected", each(|facts| facts.rejected)),
            ("backwards", each(|facts| facts.backwards)),
            ("short_hashes", each(|facts| facts.short_hashes)),
            ("first_ts_ns", time(hosts.iter().map(|facts| facts.first_ts_ns).collect())),
            ("last_ts_ns", time(hosts.iter().map(|facts| facts.last_ts_ns).collect())),
            ("version", text(hosts.iter().map(|facts| facts.version.as_str()).collect())),
            ("revision", text(hosts.iter().map(|facts| facts.revision.as_str()).collect())),
            ("compiler", text(hosts.iter().map(|facts| facts.compiler.as_str()).collect())),
        ],
    )?;
    write(
        "trace_frequencies",
        vec![
            ("host", text(names.keys().map(|(host, _)| host.as_str()).collect())),
            ("message", text(names.keys().map(|(_, name)| name.as_str()).collect())),
            ("lines", whole(names.values().copied().collect())),
        ],
    )?;
    write(
        "rejected",
        vec![
            ("host", text(rejections.iter().map(|one: &Rejection| one.host.as_str()).collect())),
            ("file", text(rejections.iter().map(|one| one.file.as_str()).collect())),
            ("line", whole(rejections.iter().map(|one| one.line).collect())),
            ("offset", whole(rejections.iter().map(|one| one.offset).collect())),
            ("reason", text(rejections.iter().map(|one| one.reason.as_str()).collect())),
            ("text", text(rejections.iter().map(|one| one.text.as_str()).collect())),
        ],
    )?;
    let mut reasons: Vec<(String, u64)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let sources = plan.sources.iter().enumerate().map(|(index, source)| SourceFacts {
        path: source.path.clone(),
        bytes: sizes[index],
        sha256: hashes.get(&index).cloned().unwrap_or_default(),
    });
    Ok(Ingested {
        sources: sources.collect(),
        lines: total_lines,
        rejected: reasons.iter().map(|(_, count)| count).sum(),
        reasons,
        first_rejections: rejections.into_iter().take(10).collect(),
        bytes,
        hosts,
        tables,
    })
}

fn merge(into: &mut HostFacts, facts: HostFacts) {
    into.files += facts.files;
    into.lines += facts.lines;
    into.kept += facts.kept;
    into.rejected += facts.rejected;
    into.backwards += facts.backwards;
    into.short_hashes += facts.short_hashes;
    into.late += facts.late;
    into.first_ts_ns = [into.first_ts_ns, facts.first_ts_ns].into_iter().flatten().min();
    into.last_ts_ns = [into.last_ts_ns, facts.last_ts_ns].into_iter().flatten().max();
    if !facts.version.is_empty() {
        (into.version, into.revision, into.compiler) = (facts.version, facts.revision, facts.compiler);
    }
}

fn write_table(folder: &Path, columns: Vec<(&str, ArrayRef)>) -> Result<(), ParquetError> {
    fs::create_dir_all(folder)?;
    let batch = RecordBatch::try_from_iter(columns)?;
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
    let mut writer = ArrowWriter::try_new(File::create_new(folder.join("part-00000.parquet"))?, batch.schema(), Some(properties))?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(())
}
