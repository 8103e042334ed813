//! The cuts of logs: in segments, which are the parts of tables, and in pieces, which are segments that one reader takes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::HostFrom;
use super::survey::Surveyed;
use crate::dialects::Dialect;
use crate::reader::Packing;
use crate::repeats::LineHash;
use crate::strings::Map;

/// A plain file is cut into segments of at least this many bytes.
const SEGMENT_BYTES: u64 = 64 << 20;
/// Nor is a segment less than this share of all bytes: a file that is cut is read once more for its digest, so those of a large cluster stay whole.
const SHARES: u64 = 32;

/// A stretch of one file.
pub(super) struct Segment<'a> {
    /// The number of its parts of tables.
    pub(super) part: usize,
    /// The file's place among all.
    pub(super) source: usize,
    pub(super) file: &'a Surveyed,
    /// The host whose lines may be in several files, of which this is one; all hosts where lines name their own.
    pub(super) owner: &'a str,
    /// None where no line near the file's beginning is in any.
    pub(super) dialect: Option<&'static dyn Dialect>,
    pub(super) range: Range<u64>,
    /// The file's place among those of its owner.
    pub(super) turn: usize,
}

impl Segment<'_> {
    /// Bytes of the file that are in it.
    pub(super) fn bytes(&self) -> u64 {
        self.range.end.min(self.file.bytes).saturating_sub(self.range.start)
    }

    /// True where it is a plain file from beginning to end.
    pub(super) fn is_whole_file(&self) -> bool {
        self.file.packing == Packing::Plain && self.range == (0..u64::MAX)
    }
}

/// All segments of some files: the same for any number of readers, since rows, parts and what is kept of rejected lines follow from them.
pub(super) struct Cuts<'a> {
    pub(super) segments: Vec<Segment<'a>>,
    /// The files that begin with each line, of owners that have several.
    pub(super) heads: HashMap<&'a str, Map<LineHash, Vec<usize>>>,
    /// Number of files of each owner.
    files: HashMap<&'a str, usize>,
}

impl<'a> Cuts<'a> {
    /// Cuts files.
    pub(super) fn of(files: &'a [Surveyed], host_from: HostFrom) -> Self {
        Self::at_least(files, host_from, SEGMENT_BYTES)
    }

    /// Cuts files into segments of at least this many bytes. Packed files stay whole, and those whose dialect can't be split.
    pub(super) fn at_least(files: &'a [Surveyed], host_from: HostFrom, segment_bytes: u64) -> Self {
        let owner = |file: &'a Surveyed| if host_from == HostFrom::Path { file.host.as_str() } else { "" };
        let total: u64 = files.iter().map(|file| file.bytes).sum();
        let most = segment_bytes.max(total / SHARES);
        let mut segments = Vec::new();
        for (source, (file, turn)) in files.iter().zip(turns(files, owner)).enumerate() {
            let (size, dialect) = (file.bytes, file.dialect());
            let can_be_cut = file.packing == Packing::Plain && dialect.is_none_or(|dialect| dialect.can_be_split());
            let pieces = if can_be_cut { size.div_ceil(most).max(1) } else { 1 };
            for piece in 0..pieces {
                let end = if piece + 1 == pieces { u64::MAX } else { size * (piece + 1) / pieces };
                let range = size * piece / pieces..end;
                segments.push(Segment { part: segments.len(), source, file, owner: owner(file), dialect, range, turn });
            }
        }
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for file in files {
            *counts.entry(owner(file)).or_default() += 1;
        }
        let mut heads: HashMap<&str, Map<LineHash, Vec<usize>>> = HashMap::new();
        for (source, file) in files.iter().enumerate().filter(|(_, file)| counts[owner(file)] > 1) {
            if let Some(first) = file.first {
                heads.entry(owner(file)).or_default().entry(first.hash).or_default().push(source);
            }
        }
        Self { segments, heads, files: counts }
    }

    /// The segments of one of `of` pieces of the files that lie at a host, which have about as many bytes each.
    ///
    /// All files of an owner that has several are in one piece: they may overlap, which is found, and mended, where all of them are.
    pub(super) fn piece(&self, at: &str, number: usize, of: usize) -> Vec<&Segment<'a>> {
        let mut units: BTreeMap<(&str, usize), Vec<&Segment<'a>>> = BTreeMap::new();
        for segment in self.segments.iter().filter(|segment| segment.file.at == at) {
            let own = if self.files[segment.owner] > 1 { 0 } else { segment.part };
            units.entry((segment.owner, own)).or_default().push(segment);
        }
        let mut units: Vec<_> = units.into_values().collect();
        let bytes = |unit: &[&Segment<'_>]| unit.iter().map(|segment| segment.bytes()).sum::<u64>();
        units.sort_by_key(|unit| (Reverse(bytes(unit)), unit[0].part));
        let mut pieces = vec![(0, Vec::new()); of.max(1)];
        for unit in units {
            let Some((sum, piece)) = pieces.iter_mut().min_by_key(|(sum, _)| *sum) else { break };
            *sum += bytes(&unit);
            piece.extend(unit);
        }
        let mut own = pieces.swap_remove(number).1;
        own.sort_by_key(|segment| segment.part);
        own
    }
}

/// Each file's place among those of its owner, by the time of its first line.
fn turns<'a>(files: &'a [Surveyed], owner: impl Fn(&'a Surveyed) -> &'a str) -> Vec<usize> {
    let mut ordered: Vec<_> = files
        .iter()
        .enumerate()
        .map(|(source, file)| (owner(file), file.first.map_or(i64::MAX, |first| first.ts_ns), &file.path, source))
        .collect();
    ordered.sort();
    let mut turns = vec![0; files.len()];
    for pair in ordered.windows(2) {
        if pair[0].0 == pair[1].0 {
            turns[pair[1].3] = turns[pair[0].3] + 1;
        }
    }
    turns
}
