//! Files in, tables out, and an account of every line: in pieces, which can be read elsewhere, and a merge.
//!
//! 1. [`survey`] finds of each file what decides how all are cut.
//! 2. [`read`] reads one of any number of pieces: it writes parts of tables, and gives an account of the lines of each part.
//! 3. [`merge`] adds up the accounts of all pieces, and writes the tables with the result of all lines.
//!
//! Where logs are cut follows from the survey alone: tables are the same bytes for any number of pieces and threads. A segment of a file is
//! a part of every table; a piece is some segments (`cuts`).

mod cuts;
mod piece;
mod segment;
mod survey;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::errors::ParquetError;

use self::cuts::Cuts;
use self::piece::read_piece;
pub use self::survey::{Surveyed, survey};
use crate::account::{Account, settle};
use crate::found::{Ingested, SourceFacts};
use crate::log::{Elsewhere, Log};

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

/// Settings for the reading of logs.
#[derive(Clone, Debug)]
pub struct Reading {
    /// A folder that is there: `NAME/part-NNNNN.parquet` are made in it.
    pub tables: PathBuf,
    /// Number of segments that are read at once.
    pub threads: usize,
    /// The source of host names.
    pub host_from: HostFrom,
    /// The reader of files whose paths are URLs.
    pub elsewhere: Option<Arc<dyn Elsewhere>>,
}

impl Reading {
    /// A file that is read.
    fn log<'a>(&'a self, file: &'a Surveyed) -> Log<'a> {
        Log::new(&file.path, self.elsewhere.as_deref())
    }
}

/// Gets bytes done and bytes in all, from any thread, and may stop the work.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) -> ControlFlow<()> + Sync);

/// Reasons why ingest failed. Bad lines are no failure; they are counted.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message is its documentation")]
pub enum IngestError {
    #[error("{path}: can't be read ({source}). Check the file, or leave it out.")]
    Read { path: PathBuf, source: io::Error },
    #[error("{first} and {second} are the same file twice. Remove one: a line would count double.")]
    Same { first: PathBuf, second: PathBuf },
    #[error(
        "{first} and {second}: logs of one host on different machines that have lines in common, which would count double. Leave one out, or copy them to one place."
    )]
    Apart { first: PathBuf, second: PathBuf },
    #[error("{path}: can't write this table ({source}). Nothing was kept; make room and run again.")]
    Write { path: PathBuf, source: ParquetError },
    #[error("{path}: was put in another's place or cut while it was read, as by logrotate. Ingest again, or ingest a copy.")]
    Changed { path: PathBuf },
    #[error("the accounts of these logs' parts aren't those of {expected} parts, one of each. Read all pieces of the same survey again.")]
    Parts { expected: usize },
    #[error("interrupted")]
    Interrupted,
}

/// Ingests logs in one piece.
///
/// # Errors
/// A file can't be read or is there twice, a table can't be written, or it was stopped.
pub fn ingest(sources: &[Source], reading: &Reading, progress: Progress<'_>) -> Result<Ingested, IngestError> {
    let files: Vec<Surveyed> = sources.iter().map(|source| survey(source, reading.elsewhere.as_deref())).collect::<Result<_, _>>()?;
    merge(&files, read(&files, "", 0, 1, reading, progress)?, &reading.tables)
}

/// Reads one of `of` pieces of the logs that lie at a host, which are numbered from 0: writes its parts of tables, and gives an account of each part.
///
/// # Errors
/// A file can't be read or isn't the one that was surveyed, a table can't be written, or it was stopped.
pub fn read(
    files: &[Surveyed],
    at: &str,
    number: usize,
    of: usize,
    reading: &Reading,
    progress: Progress<'_>,
) -> Result<Vec<Account>, IngestError> {
    let cuts = Cuts::of(files, reading.host_from);
    read_piece(&cuts, cuts.piece(at, number, of), reading, progress)
}

/// Adds up the accounts of all pieces, in any order, and writes the tables with the result of all lines below the folder that has the parts.
///
/// # Errors
/// A file is there twice, the accounts aren't those of all parts, or a table can't be written.
pub fn merge(files: &[Surveyed], accounts: Vec<Account>, tables: &Path) -> Result<Ingested, IngestError> {
    // Segments are the same wherever hosts have their names from.
    merge_cut(&Cuts::of(files, HostFrom::Path), files, accounts, tables)
}

fn merge_cut(cuts: &Cuts<'_>, files: &[Surveyed], mut accounts: Vec<Account>, tables: &Path) -> Result<Ingested, IngestError> {
    accounts.sort_by_key(|account| account.part);
    let expected = cuts.segments.len();
    if !accounts.iter().map(|account| account.part).eq(0..expected) {
        return Err(IngestError::Parts { expected });
    }
    let mut digests = vec![String::new(); files.len()];
    for (segment, account) in cuts.segments.iter().zip(&mut accounts) {
        if let Some(digest) = account.digest.take() {
            digests[segment.source] = digest;
        }
    }
    refuse_same(files, &digests)?;
    number_lines(cuts, &mut accounts);
    count_files(cuts, &mut accounts);
    note_turns(cuts, &mut accounts);
    let sources = files.iter().zip(digests).map(|(file, digest)| SourceFacts { path: file.place(), bytes: file.bytes, digest });
    settle(tables, sources.collect(), accounts).map_err(|source| IngestError::Write { path: tables.into(), source })
}

/// Refuses a file that is there twice.
fn refuse_same(files: &[Surveyed], digests: &[String]) -> Result<(), IngestError> {
    let mut seen: HashMap<&str, &Surveyed> = HashMap::new();
    for (file, digest) in files.iter().zip(digests).filter(|(file, _)| file.bytes > 0) {
        if let Some(first) = seen.insert(digest, file) {
            return Err(IngestError::Same { first: first.place(), second: file.place() });
        }
    }
    Ok(())
}

/// Line numbers were counted within segments; makes them those of the files.
fn number_lines(cuts: &Cuts<'_>, accounts: &mut [Account]) {
    let mut before = 0;
    for (segment, account) in cuts.segments.iter().zip(accounts) {
        if segment.range.start == 0 {
            before = 0;
        }
        for rejection in &mut account.rejections {
            rejection.line += before;
        }
        before += account.all_lines;
    }
}

/// Counts each file for the hosts whose lines it has, however it was cut.
fn count_files(cuts: &Cuts<'_>, accounts: &mut [Account]) {
    let mut known = HashSet::new();
    for (segment, account) in cuts.segments.iter().zip(accounts) {
        for facts in &mut account.hosts {
            facts.files = u64::from(known.insert((segment.source, facts.host.clone())));
        }
    }
}

/// A file's lines of a host.
struct OfFile {
    first_ts_ns: i64,
    last_ts_ns: i64,
    names: BTreeSet<String>,
}

/// Notes hosts with several files whose lines name other hosts at the same time: files of one name that are several hosts', as `*/node.log`.
fn note_turns(cuts: &Cuts<'_>, accounts: &mut [Account]) {
    let mut hosts: HashMap<String, BTreeMap<usize, OfFile>> = HashMap::new();
    for (segment, account) in cuts.segments.iter().zip(&*accounts) {
        for facts in &account.hosts {
            let (Some(first), Some(last)) = (facts.first_ts_ns, facts.last_ts_ns) else { continue };
            let files = hosts.entry(facts.host.clone()).or_default();
            let new = || OfFile { first_ts_ns: first, last_ts_ns: last, names: BTreeSet::new() };
            let file = files.entry(segment.source).or_insert_with(new);
            (file.first_ts_ns, file.last_ts_ns) = (file.first_ts_ns.min(first), file.last_ts_ns.max(last));
            file.names.extend(facts.names.iter().cloned());
        }
    }
    let are_apart = |one: &OfFile, other: &OfFile| {
        one.first_ts_ns < other.last_ts_ns
            && other.first_ts_ns < one.last_ts_ns
            && ![one, other].iter().any(|file| file.names.is_empty())
            && one.names.is_disjoint(&other.names)
    };
    hosts.retain(|_, files| {
        let files: Vec<&OfFile> = files.values().collect();
        files.iter().enumerate().any(|(place, one)| files[place + 1..].iter().any(|other| are_apart(one, other)))
    });
    for facts in accounts.iter_mut().flat_map(|account| &mut account.hosts) {
        facts.takes_turns |= hosts.contains_key(&facts.host);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::{BufWriter, Write};
    use std::sync::Mutex;

    use super::*;
    use crate::log::tests::Memory;

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

    fn all_files(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { all_files(&path, found) } else { drop(found.insert(path.clone(), fs::read(&path).unwrap())) }
        }
    }

    /// The results of a few pieces, each read by so many threads, in an order of their own: results, rejected lines, and all files.
    fn ingested(
        sources: &[Source],
        tables: &Path,
        of: usize,
        order: impl Fn(usize) -> usize,
        threads: usize,
    ) -> (String, u64, BTreeMap<PathBuf, Vec<u8>>) {
        fs::create_dir(tables).unwrap();
        let files: Vec<Surveyed> = sources.iter().map(|source| survey(source, None).unwrap()).collect();
        // Less than a share of the 700 kB: the shares decide, as they do for large logs.
        let cuts = Cuts::at_least(&files, HostFrom::Path, 1_000);
        let reading = Reading { tables: tables.into(), threads, host_from: HostFrom::Path, elsewhere: None };
        let mut accounts: Vec<Account> = Vec::new();
        for number in (0..of).map(order) {
            let piece = read_piece(&cuts, cuts.piece("", number, of), &reading, &|_, _| ControlFlow::Continue(())).unwrap();
            accounts.extend(piece.iter().map(|account| serde_json::from_str(&serde_json::to_string(account).unwrap()).unwrap()));
        }
        let done = merge_cut(&cuts, &files, accounts, tables).unwrap();
        let mut found = BTreeMap::new();
        all_files(tables, &mut found);
        fs::remove_dir_all(tables).unwrap();
        (serde_json::to_string(&done).unwrap(), done.rejected, found)
    }

    /// Logs of three hosts, of which the last one's is in files, that overlap if so asked.
    fn logs(folder: &Path, overlap: bool) -> Vec<Source> {
        let source = |(host, slots): (usize, u64)| {
            let path = folder.join(format!("h{host}.log"));
            write_log(&path, host, slots);
            Source { host: format!("h{host}"), path }
        };
        let mut sources: Vec<Source> = [3_000, 50, 1_700].into_iter().enumerate().map(source).collect();
        let text = fs::read_to_string(&sources[2].path).unwrap();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for (number, range) in [0..600, if overlap { 550 } else { 600 }..1_700].into_iter().enumerate() {
            let path = folder.join(format!("h2.{number}.log"));
            fs::write(&path, lines[range].concat()).unwrap();
            sources.push(Source { host: "h2".into(), path });
        }
        sources.remove(2);
        sources
    }

    #[test]
    fn all_parts_are_the_same_bytes_for_any_number_of_threads_and_pieces_in_any_order() {
        for overlap in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let (sources, tables) = (logs(folder.path(), overlap), folder.path().join("tables"));
            let alone = ingested(&sources, &tables, 1, |number| number, 1);
            assert_eq!((alone.1, alone.0.contains(r#""repeated":45"#)), (475 + if overlap { 5 } else { 0 }, overlap));
            assert!(alone.2.keys().filter(|path| path.starts_with(tables.join("slot_events"))).count() > 32, "{:?}", alone.2.keys());
            assert!(alone == ingested(&sources, &tables, 1, |number| number, 8));
            assert!(alone == ingested(&sources, &tables, 2, |number| 1 - number, 2));
            assert!(alone == ingested(&sources, &tables, 7, |number| 3 * number % 7, 1));
            assert!(alone == ingested(&sources, &tables, 90, |number| 89 - number, 1));
        }
    }

    #[test]
    fn pieces_have_each_segment_once_about_as_many_bytes_and_all_files_of_a_host() {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<Surveyed> = logs(folder.path(), false).iter().map(|source| survey(source, None).unwrap()).collect();
        let cuts = Cuts::at_least(&files, HostFrom::Path, 1_000);
        for of in [1, 2, 3] {
            let pieces: Vec<Vec<usize>> =
                (0..of).map(|number| cuts.piece("", number, of).iter().map(|segment| segment.part).collect()).collect();
            let mut parts = pieces.concat();
            parts.sort_unstable();
            assert!(parts.into_iter().eq(0..cuts.segments.len()));
            let bytes = |piece: &Vec<usize>| piece.iter().map(|&part| cuts.segments[part].bytes()).sum::<u64>();
            let sizes: Vec<u64> = pieces.iter().map(bytes).collect();
            // The host with two files has more than a third of all.
            assert!(*sizes.iter().max().unwrap() < sizes.iter().sum::<u64>() * 11 / if of == 3 { 25 } else { 10 * of as u64 }, "{sizes:?}");
            let of_host = |piece: &Vec<usize>| piece.iter().any(|&part| cuts.segments[part].file.host == "h2");
            assert_eq!(pieces.iter().filter(|piece| of_host(piece)).count(), 1);
        }
    }

    #[test]
    fn files_of_a_host_that_overlap_are_mended_where_they_are_and_refused_between_machines() {
        let folder = tempfile::tempdir().unwrap();
        let mut files: Vec<Surveyed> = logs(folder.path(), true).iter().map(|source| survey(source, None).unwrap()).collect();
        let later = folder.path().join("later.log");
        let text = fs::read_to_string(folder.path().join("h2.1.log")).unwrap();
        let (own, other) = text.split_at(text.rfind("2026-01-01 00:20").unwrap() - r#"{"at":""#.len());
        fs::write(&later, other).unwrap();
        let mut last = survey(&Source { host: "h2".into(), path: later }, None).unwrap();
        last.at = "elsewhere".into();
        let go_on: Progress<'_> = &|_, _| ControlFlow::Continue(());
        let read_here = |files: &[Surveyed]| {
            let tables = tempfile::tempdir().unwrap();
            let reading = Reading { tables: tables.path().into(), threads: 1, host_from: HostFrom::Path, elsewhere: None };
            read(files, "", 0, 1, &reading, go_on)
        };
        files.push(last);
        let Err(IngestError::Apart { first, second }) = read_here(&files) else { panic!("lines of two machines count double") };
        assert!(first.ends_with("h2.1.log") && second.ends_with("later.log"), "{first:?} {second:?}");
        // The first two files still overlap, and no line of theirs is elsewhere.
        fs::write(folder.path().join("h2.1.log"), own).unwrap();
        files[3] = survey(&Source { host: "h2".into(), path: folder.path().join("h2.1.log") }, None).unwrap();
        let accounts = read_here(&files).unwrap();
        let repeated: u64 = accounts.iter().flat_map(|account| &account.hosts).map(|facts| facts.repeated).sum();
        assert_eq!(repeated, 45);
    }

    #[test]
    fn what_is_not_of_the_survey_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<Surveyed> = logs(folder.path(), false).iter().map(|source| survey(source, None).unwrap()).collect();
        let reading = Reading { tables: folder.path().join("tables"), threads: 1, host_from: HostFrom::Path, elsewhere: None };
        fs::create_dir(&reading.tables).unwrap();
        let go_on: Progress<'_> = &|_, _| ControlFlow::Continue(());
        let accounts = |number| read(&files, "", number, 2, &reading, go_on).unwrap();
        assert!(matches!(merge(&files, accounts(0), &reading.tables), Err(IngestError::Parts { expected: 4 })));
        let stopped = read(&files, "", 1, 2, &reading, &|_, _| ControlFlow::Break(()));
        assert!(matches!(stopped, Err(IngestError::Interrupted)));
        fs::write(&files[0].path, fs::read_to_string(&files[0].path).unwrap().replacen("2026", "2027", 1)).unwrap();
        let changed = (0..2).filter_map(|number| read(&files, "", number, 2, &reading, go_on).err());
        assert!(changed.into_iter().any(|error| matches!(error, IngestError::Changed { .. })));
    }

    #[test]
    fn logs_that_are_elsewhere_give_the_same_and_what_fails_there_is_no_damage() {
        let folder = tempfile::tempdir().unwrap();
        let here = logs(folder.path(), true);
        let mut store = Memory::default();
        let mut there = Vec::new();
        for Source { host, path } in &here {
            let name = format!("s3://bucket/{}", path.file_name().unwrap().to_str().unwrap());
            store.files.lock().unwrap().insert(name.clone(), fs::read(path).unwrap());
            there.push(Source { host: host.clone(), path: name.into() });
        }
        let go_on: Progress<'_> = &|_, _| ControlFlow::Continue(());
        let all = |sources: &[Source], elsewhere: Option<Arc<dyn Elsewhere>>| {
            let tables = tempfile::tempdir().unwrap();
            let done = ingest(sources, &Reading { tables: tables.path().into(), threads: 2, host_from: HostFrom::Path, elsewhere }, go_on);
            let mut found = BTreeMap::new();
            all_files(tables.path(), &mut found);
            done.map(|done| {
                let places = |path: &str| path.replace("s3://bucket", folder.path().to_str().unwrap());
                let files: Vec<_> =
                    found.into_iter().map(|(path, bytes)| (path.strip_prefix(tables.path()).unwrap().to_owned(), bytes)).collect();
                (places(&serde_json::to_string(&done).unwrap()), files)
            })
        };
        let expected = all(&here, None).unwrap();
        let whole = Memory { files: Mutex::new(store.files.lock().unwrap().clone()), fails: 0..0 };
        let (found, files) = all(&there, Some(Arc::new(whole))).unwrap();
        assert_eq!(found, expected.0);
        // What is kept of rejected lines names their files.
        assert!(files.iter().zip(&expected.1).all(|(one, other)| one == other || one.0.starts_with("rejected")));
        let packed = |bytes: &Vec<u8>| {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        };
        let name = there[0].path.to_str().unwrap().to_owned();
        // Bytes that hardly pack, so that the middle of the file lies behind what a look at it asks for.
        let mut noise = 1_u64;
        let chance: String = (0..8_u32 << 20)
            .map(|place| {
                noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                if place % 200 == 0 { '\n' } else { char::from(b' ' + (noise >> 33) as u8 % 94) }
            })
            .collect();
        let text = [store.files.lock().unwrap()[&name].clone(), chance.into_bytes()].concat();
        let content = packed(&text);
        store.fails = 2 << 20..content.len() as u64 - (1 << 20);
        assert!(!store.fails.is_empty());
        store.files.lock().unwrap().insert(name, content);
        let failing: Arc<dyn Elsewhere> = Arc::new(store);
        assert!(survey(&there[0], Some(&*failing)).is_ok());
        assert!(matches!(all(&there[..1], Some(failing)), Err(IngestError::Read { .. })));
    }
}
