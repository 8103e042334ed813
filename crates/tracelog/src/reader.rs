//! A stretch of a log file, line by line: plain, gzip or zstd.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use memchr::{memchr, memrchr};

/// How much is read at once: little enough to stay near the CPU until it was hashed and taken apart.
const READ_BYTES: usize = 256 << 10;
/// A line longer than this is no log line.
const MOST_BYTES: usize = 64 << 20;

/// How a file is packed, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let mut start = [0; 4];
        let mut read = 0;
        let mut file = File::open(path)?;
        while read < start.len() {
            match file.read(&mut start[read..])? {
                0 => break,
                more => read += more,
            }
        }
        Ok(match start {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd] => Self::Zstd,
            _ => Self::Plain,
        })
    }
}

/// Opens a file's content from an offset on; only plain files have other offsets than 0.
fn open(path: &Path, packing: Packing, from: u64) -> io::Result<Box<dyn Read>> {
    let mut file = File::open(path)?;
    Ok(match packing {
        Packing::Plain => {
            file.seek(SeekFrom::Start(from))?;
            Box::new(file)
        }
        Packing::Gzip => Box::new(MultiGzDecoder::new(io::BufReader::with_capacity(READ_BYTES, file))),
        Packing::Zstd => Box::new(zstd::Decoder::new(file)?),
    })
}

/// A line that `each` of [`lines`] is told.
pub(crate) struct Line<'a> {
    /// Without its end.
    pub(crate) bytes: &'a [u8],
    /// Where it begins in the file's (unpacked) content.
    pub(crate) offset: u64,
    /// Counted from 0 in the stretch.
    pub(crate) number: u64,
    /// Whether a line end follows; the last line of a file may be without.
    pub(crate) ended: bool,
}

/// Calls `each` for all lines that begin in `range` of a file's content; returns how many there were.
///
/// Where packed content is damaged, what came before it has been told, and the error is returned.
pub(crate) fn lines<E: From<io::Error>>(
    path: &Path,
    packing: Packing,
    range: Range<u64>,
    mut each: impl FnMut(Line<'_>) -> Result<(), E>,
    mut told: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<u64, E> {
    // A range that doesn't begin with the file begins behind the first line end at or after the byte before it.
    let from = range.start.saturating_sub(1);
    let mut source = open(path, packing, from)?;
    let mut buffer = vec![0; READ_BYTES];
    let (mut held, mut offset, mut number) = (0, from, 0);
    let mut skipping = range.start > 0;
    loop {
        if held == buffer.len() {
            if held >= MOST_BYTES {
                return Err(
                    io::Error::new(io::ErrorKind::InvalidData, format!("a line longer than {MOST_BYTES} bytes at byte {offset}")).into()
                );
            }
            buffer.resize(2 * held, 0);
        }
        let read = match source.read(&mut buffer[held..]) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        told(&buffer[held..held + read])?;
        let filled = held + read;
        let ended = read == 0;
        // Only what is new can hold the next line end.
        let whole = if ended { filled } else { memrchr(b'\n', &buffer[held..filled]).map_or(0, |at| held + at + 1) };
        let mut rest = &buffer[..whole];
        while !rest.is_empty() {
            let (bytes, length, has_end) = match memchr(b'\n', rest) {
                Some(at) => (&rest[..at], at + 1, true),
                None => (rest, rest.len(), false),
            };
            if skipping {
                skipping = false;
            } else if offset >= range.end {
                return Ok(number);
            } else {
                each(Line { bytes, offset, number, ended: has_end })?;
                number += 1;
            }
            rest = &rest[length..];
            offset += length as u64;
        }
        if ended {
            return Ok(number);
        }
        buffer.copy_within(whole..filled, 0);
        held = filled - whole;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(path: &Path, range: Range<u64>) -> Vec<(u64, Vec<u8>)> {
        let mut found = Vec::new();
        lines(
            path,
            Packing::Plain,
            range,
            |line| {
                found.push((line.offset, line.bytes.to_vec()));
                Ok::<(), io::Error>(())
            },
            |_| Ok(()),
        )
        .unwrap();
        found
    }

    proptest! {
        #[test]
        fn stretches_of_a_file_have_each_line_once(text in "[ab\n]{0,200}", cuts in prop::collection::vec(0_u64..200, 0..4)) {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), &text).unwrap();
            let length = text.len() as u64;
            let mut bounds: Vec<u64> = cuts.into_iter().map(|cut| cut.min(length)).chain([0, length]).collect();
            bounds.sort_unstable();
            let parts: Vec<_> = bounds.windows(2).flat_map(|pair| if pair[0] < pair[1] { all(file.path(), pair[0]..pair[1]) } else { Vec::new() }).collect();
            let whole = all(file.path(), 0..length);
            prop_assert_eq!(&parts, &whole);
            let expected: Vec<_> = text.split_inclusive('\n').map(|line| line.trim_end_matches('\n').as_bytes().to_vec()).collect();
            prop_assert_eq!(whole.into_iter().map(|(_, line)| line).collect::<Vec<_>>(), expected);
        }
    }
}
