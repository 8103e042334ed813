//! A piece of the work: some segments, read side by side.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::cuts::{Cuts, Segment};
use super::segment::{Others, Step, note_lines, read_segment};
use super::survey::{Surveyed, Unchanged};
use super::{IngestError, Progress, Reading};
use crate::account::Account;
use crate::digest::SourceDigest;
use crate::log::Log;
use crate::strings::Map;
use crate::tables::part_file;

/// The next task of a thread.
enum Task<'a> {
    /// A file that isn't read as one segment is hashed by itself: that can't be divided.
    Hash(&'a Surveyed),
    Read(&'a Segment<'a>),
}

/// The result of a [`Task`].
enum Done {
    Hash(String),
    Read(Box<Account>),
}

/// Reads a piece: writes its parts of tables, and gives an account of each.
pub(super) fn read_piece(
    cuts: &Cuts<'_>,
    own: Vec<&Segment<'_>>,
    reading: &Reading,
    progress: Progress<'_>,
) -> Result<Vec<Account>, IngestError> {
    let unchanged = Unchanged::begin(reading, own.iter().map(|segment| segment.file))?;
    let total = own.iter().map(|segment| segment.bytes()).sum();
    let done = AtomicU64::new(0);
    let step = |bytes: u64| match progress(done.fetch_add(bytes, Ordering::Relaxed) + bytes, total) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(IngestError::Interrupted),
    };
    let cut: Vec<&Segment<'_>> = own.iter().copied().filter(|segment| segment.range.start == 0 && !segment.is_whole_file()).collect();
    let tasks: Vec<Task<'_>> =
        cut.iter().map(|segment| Task::Hash(segment.file)).chain(own.iter().map(|segment| Task::Read(segment))).collect();
    let results = in_parallel(reading.threads, &tasks, |task| match *task {
        Task::Hash(file) => {
            let hash = hash_file(reading.log(file), file.bytes);
            Ok(Done::Hash(hash.map_err(|source| IngestError::Read { path: file.place(), source })?))
        }
        Task::Read(segment) => {
            let others = cuts.heads.get(segment.owner).map_or(Others::None, Others::FirstLines);
            Ok(Done::Read(Box::new(read_segment(segment, reading, segment.is_whole_file(), others, &step)?)))
        }
    })?;
    let (mut hashes, mut accounts) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Done::Hash(hash) => hashes.push(hash),
            Done::Read(account) => accounts.push(*account),
        }
    }
    let places: HashMap<usize, usize> = own.iter().enumerate().map(|(place, segment)| (segment.part, place)).collect();
    for (segment, hash) in cut.iter().zip(hashes) {
        accounts[places[&segment.part]].digest = Some(hash);
    }
    leave_out_overlaps(cuts, &own, &places, reading, &mut accounts, &|_| step(0))?;
    unchanged.end()?;
    Ok(accounts)
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

fn hash_file(log: Log<'_>, bytes: u64) -> io::Result<String> {
    let (mut file, mut hash, mut buffer) = (log.open(0..bytes)?, SourceDigest::default(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.finish()),
            read => hash.update(&buffer[..read]),
        }
    }
}

/// Reads the files of those hosts again that overlap, without the lines that an earlier file has.
///
/// Files overlap where the first line of one is in another. That is found while they are read, and rare; so it costs nothing elsewhere.
fn leave_out_overlaps(
    cuts: &Cuts<'_>,
    segments: &[&Segment<'_>],
    places: &HashMap<usize, usize>,
    reading: &Reading,
    accounts: &mut [Account],
    step: Step<'_>,
) -> Result<(), IngestError> {
    let overlapping: BTreeSet<&str> =
        segments.iter().zip(&*accounts).filter(|(_, account)| !account.overlaps.is_empty()).map(|(segment, _)| segment.owner).collect();
    for whose in overlapping {
        let mut own: Vec<&Segment<'_>> = segments.iter().copied().filter(|segment| segment.owner == whose).collect();
        own.sort_by_key(|segment| (segment.turn, segment.part));
        for segment in &own {
            let others = &accounts[places[&segment.part]].overlaps;
            let apart = cuts.segments.iter().find(|other| others.contains(&other.source) && other.file.at != segment.file.at);
            if let Some(other) = apart {
                return Err(IngestError::Apart { first: segment.file.place(), second: other.file.place() });
            }
        }
        let mut first_turns = Map::default();
        for segment in &own {
            note_lines(segment, reading, &mut first_turns, step)?;
        }
        for segment in &own {
            remove_part(&reading.tables, segment.part)?;
        }
        let again = in_parallel(reading.threads, &own, |segment| read_segment(segment, reading, false, Others::Lines(&first_turns), step))?;
        for (segment, account) in own.into_iter().zip(again) {
            let before = &mut accounts[places[&segment.part]];
            let digest = before.digest.take();
            *before = account;
            before.digest = digest;
        }
    }
    Ok(())
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
