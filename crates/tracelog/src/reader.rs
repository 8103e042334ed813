//! A stretch of a log file, line by line: plain, gzip or zstd.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;
use memchr::{memchr, memrchr};
use serde::{Deserialize, Serialize};

use crate::log::Log;
use crate::reason::Reason;

/// Bytes that are read at once: few enough to stay near the CPU until they were hashed and parsed.
const READ_BYTES: usize = 256 << 10;
/// A line longer than this is no log line.
const MOST_BYTES: usize = 64 << 20;
/// Bytes of lines that are read together, where several threads look at them.
const BATCH_BYTES: usize = 2 << 20;
/// Bytes that are kept of a line that is too long.
const KEPT_BYTES: usize = 1 << 10;

/// The packing of a file: by its first bytes, or by its name where those are of no packing, so that damage there is found.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Packing {
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    pub(crate) fn of(log: Log<'_>, bytes: u64) -> io::Result<Self> {
        let mut start = [0; 4];
        let mut read = 0;
        let mut file = log.open(0..bytes.min(4))?;
        while read < start.len() {
            match file.read(&mut start[read..])? {
                0 => break,
                more => read += more,
            }
        }
        Ok(match start {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd] => Self::Zstd,
            _ if read == 0 => Self::Plain,
            _ => match log.extension() {
                Some("gz") => Self::Gzip,
                Some("zst") => Self::Zstd,
                _ => Self::Plain,
            },
        })
    }
}

/// The bytes that were taken out of a packed file.
#[derive(Default)]
struct Taken {
    bytes: Cell<u64>,
    /// True where the file itself couldn't be read: what came before that is not all that there is.
    failed: Cell<bool>,
}

/// Counts the packed bytes that were taken out of a file.
struct Counted<'a> {
    file: BufReader<Box<dyn Read + 'a>>,
    taken: Rc<Taken>,
}

impl Counted<'_> {
    fn note(&self, taken: u64) {
        self.taken.bytes.set(self.taken.bytes.get() + taken);
    }
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer).inspect_err(|_| self.taken.failed.set(true))?;
        self.note(read as u64);
        Ok(read)
    }
}

impl BufRead for Counted<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.file.fill_buf().inspect_err(|_| self.taken.failed.set(true))
    }

    fn consume(&mut self, amount: usize) {
        self.note(amount as u64);
        self.file.consume(amount);
    }
}

/// Opens a file's content from an offset on; only plain files have other offsets than 0. `taken` counts packed bytes.
fn open<'a>(log: Log<'a>, packing: Packing, bytes: u64, from: u64, taken: &Rc<Taken>) -> io::Result<Box<dyn Read + 'a>> {
    let counted = |file| Counted { file: BufReader::with_capacity(READ_BYTES, file), taken: Rc::clone(taken) };
    Ok(match packing {
        Packing::Plain => log.open(from..bytes)?,
        Packing::Gzip => Box::new(MultiGzDecoder::new(counted(log.open(0..bytes)?))),
        Packing::Zstd => Box::new(zstd::Decoder::with_buffer(counted(log.open(0..bytes)?))?),
    })
}

/// Damage in a packed file: it can't be read further.
#[derive(Debug)]
pub(crate) struct Damage {
    /// The place in the packed file.
    pub(crate) at: u64,
    /// The unpacker's error.
    pub(crate) error: io::Error,
}

/// The part of a stretch that could be read.
pub(crate) struct Extent {
    /// Its lines.
    pub(crate) lines: u64,
    /// The damage that ended it early.
    pub(crate) damage: Option<Damage>,
}

/// A line that `each` of [`lines`] gets.
pub(crate) struct Line<'a> {
    /// Without its end; only the beginning of one that is too long.
    pub(crate) bytes: &'a [u8],
    /// True where it is longer than 64 MiB.
    pub(crate) too_long: bool,
    /// Its start in the file's (unpacked) content.
    pub(crate) offset: u64,
    /// Counted from 0 in the stretch.
    pub(crate) number: u64,
    /// True where a line end follows; the last line of a file may be without.
    pub(crate) ended: bool,
}

impl<'a> Line<'a> {
    /// Returns whether there is nothing in it.
    #[inline]
    pub(crate) fn is_blank(&self) -> bool {
        self.bytes.iter().all(u8::is_ascii_whitespace) && !self.too_long
    }

    /// Returns the line's text, without its end.
    pub(crate) fn content(&self) -> Result<&'a [u8], Reason> {
        if self.too_long { Err(Reason::TooLong) } else { Ok(self.bytes) }
    }
}

/// Lines that are read together, copied.
#[derive(Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    /// Lines, each with where it ends in `bytes` in place of its text.
    lines: Vec<(usize, Line<'static>)>,
}

impl Batch {
    /// Adds a line; returns whether it is time to read them.
    pub(crate) fn push(&mut self, line: &Line<'_>) -> bool {
        self.bytes.extend_from_slice(line.bytes);
        let Line { too_long, offset, number, ended, .. } = *line;
        self.lines.push((self.bytes.len(), Line { bytes: &[], too_long, offset, number, ended }));
        self.bytes.len() >= BATCH_BYTES
    }

    /// Calls `read` with the lines, and forgets them.
    pub(crate) fn drain<R>(&mut self, read: impl FnOnce(&[Line<'_>]) -> R) -> R {
        let mut from = 0;
        let lines = self.lines.drain(..).map(|(end, line)| {
            let bytes = &self.bytes[from..end];
            from = end;
            Line { bytes, ..line }
        });
        let lines: Vec<_> = lines.collect();
        let result = read(&lines);
        self.bytes.clear();
        result
    }
}

/// Calls `each` for all lines that begin in `range` of a file's content, and `seen` for all bytes that are read.
///
/// Of the file its first `bytes` are read: a log may grow meanwhile. Where packed content is damaged, what came before it is given, the part
/// of a line before it too.
pub(crate) fn lines<E: From<io::Error>>(
    log: Log<'_>,
    packing: Packing,
    bytes: u64,
    range: Range<u64>,
    mut each: impl FnMut(Line<'_>) -> Result<(), E>,
    mut seen: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<Extent, E> {
    // A range that doesn't begin with the file begins behind the first line end at or after the byte before it.
    let from = range.start.saturating_sub(1);
    let taken = Rc::new(Taken::default());
    let mut damage = None;
    let mut source = open(log, packing, bytes, from, &taken)?;
    let mut buffer = vec![0; READ_BYTES];
    let (mut held, mut offset, mut number) = (0, from, 0);
    let mut skipping = range.start > 0;
    // A line that is too long: its beginning, and how much of it is no longer held.
    let (mut beginning, mut left_out) = (Vec::new(), 0_u64);
    loop {
        if held == buffer.len() {
            if held >= MOST_BYTES {
                if left_out == 0 {
                    beginning = buffer[..KEPT_BYTES].to_vec();
                }
                left_out += held as u64;
                held = 0;
            } else {
                buffer.resize(2 * held, 0);
            }
        }
        let read = match source.read(&mut buffer[held..]) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if packing == Packing::Plain || taken.failed.get() => return Err(error.into()),
            Err(error) => {
                damage = Some(Damage { at: taken.bytes.get(), error });
                0
            }
        };
        seen(&buffer[held..held + read])?;
        let filled = held + read;
        let ended = read == 0;
        // Only what is new can hold the next line end.
        let whole = if ended { filled } else { memrchr(b'\n', &buffer[held..filled]).map_or(0, |at| held + at + 1) };
        let mut rest = &buffer[..whole];
        while !rest.is_empty() || (ended && left_out > 0) {
            let (bytes, length, has_end) = match memchr(b'\n', rest) {
                Some(at) => (&rest[..at], at + 1, true),
                None => (rest, rest.len(), false),
            };
            let (bytes, too_long) = if left_out > 0 { (beginning.as_slice(), true) } else { (bytes, false) };
            if skipping {
                skipping = false;
            } else if offset >= range.end {
                return Ok(Extent { lines: number, damage });
            } else {
                each(Line { bytes, too_long, offset, number, ended: has_end })?;
                number += 1;
            }
            rest = &rest[length..];
            offset += left_out + length as u64;
            left_out = 0;
        }
        if ended {
            return Ok(Extent { lines: number, damage });
        }
        buffer.copy_within(whole..filled, 0);
        held = filled - whole;
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use proptest::prelude::*;

    fn all(path: &Path, range: Range<u64>) -> Vec<(u64, Vec<u8>)> {
        let mut found = Vec::new();
        lines(
            Log::new(path, None),
            Packing::Plain,
            u64::MAX,
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
