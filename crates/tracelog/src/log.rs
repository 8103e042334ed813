//! Log files: of this machine, or elsewhere and read by ranges.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Bytes that are first asked for of a file that is elsewhere; each time twice as many, up to [`MOST_ASKED_BYTES`].
const FIRST_ASKED_BYTES: u64 = 1 << 20;
const MOST_ASKED_BYTES: u64 = 8 << 20;

/// Files that are elsewhere, as in an object store.
pub trait Elsewhere: Debug + Send + Sync {
    /// The size of a file, and a text that another file of its name doesn't have.
    ///
    /// # Errors
    /// There is none, or it can't be asked.
    fn facts(&self, name: &str) -> io::Result<(u64, String)>;

    /// The bytes of a file in a range that lies in it.
    ///
    /// # Errors
    /// They can't be had, all of them.
    fn range(&self, name: &str, range: Range<u64>) -> io::Result<Vec<u8>>;
}

/// A log file.
#[derive(Clone, Copy)]
pub(crate) struct Log<'a> {
    path: &'a Path,
    elsewhere: Option<(&'a dyn Elsewhere, &'a str)>,
}

/// The facts that distinguish a file from another one that takes its place.
#[derive(PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) bytes: u64,
    /// A text that another file of its name doesn't have.
    pub(crate) identity: String,
    /// When it was last changed, in ns since 1970; 0 where that isn't known.
    pub(crate) modified_ns: i64,
}

impl Facts {
    /// True where it is the same file, which may have grown.
    pub(crate) fn is_still(&self, before: &Self) -> bool {
        self.identity == before.identity && self.bytes >= before.bytes
    }
}

impl<'a> Log<'a> {
    /// A file by its path, or by its URL where something reads those. No path that is normalised has `://` in it.
    pub(crate) fn new(path: &'a Path, elsewhere: Option<&'a dyn Elsewhere>) -> Self {
        let url = path.to_str().filter(|text| text.contains("://"));
        Self { path, elsewhere: elsewhere.zip(url) }
    }

    /// The end of its name.
    pub(crate) fn extension(&self) -> Option<&str> {
        self.path.extension().and_then(|extension| extension.to_str())
    }

    /// True where it isn't of this machine.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.elsewhere.is_some()
    }

    /// Its size, and what it is known by.
    pub(crate) fn facts(&self) -> io::Result<Facts> {
        if let Some((store, name)) = self.elsewhere {
            let (bytes, identity) = store.facts(name)?;
            return Ok(Facts { bytes, identity, modified_ns: 0 });
        }
        let found = fs::metadata(self.path)?;
        let modified_ns = found.mtime().saturating_mul(1_000_000_000).saturating_add(found.mtime_nsec());
        Ok(Facts { bytes: found.len(), identity: format!("{}:{}", found.dev(), found.ino()), modified_ns })
    }

    /// Its content in a range, as far as there is any.
    pub(crate) fn open(&self, range: Range<u64>) -> io::Result<Box<dyn Read + 'a>> {
        if let Some((store, name)) = self.elsewhere {
            return Ok(Box::new(Ranges { store, name, range, asked: FIRST_ASKED_BYTES, held: Vec::new(), at: 0 }));
        }
        let mut file = File::open(self.path)?;
        file.seek(SeekFrom::Start(range.start))?;
        Ok(Box::new(file.take(range.end.saturating_sub(range.start))))
    }
}

/// The content of a file that is elsewhere, asked for as it is read.
struct Ranges<'a> {
    store: &'a dyn Elsewhere,
    name: &'a str,
    /// The part that wasn't asked for yet.
    range: Range<u64>,
    asked: u64,
    held: Vec<u8>,
    at: usize,
}

impl Read for Ranges<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.held.len() && self.range.start < self.range.end {
            let end = self.range.end.min(self.range.start + self.asked);
            let wanted = self.range.start..end;
            self.held = self.store.range(self.name, wanted.clone())?;
            if self.held.len() as u64 != end - wanted.start {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "an answer that is shorter than what was asked for"));
            }
            (self.at, self.range.start, self.asked) = (0, end, MOST_ASKED_BYTES.min(2 * self.asked));
        }
        let read = (&self.held[self.at..]).read(buffer)?;
        self.at += read;
        Ok(read)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::HashMap;
    use std::sync::Mutex;

    use super::*;

    /// Files in memory, of which a part may fail.
    #[derive(Debug, Default)]
    pub(crate) struct Memory {
        pub(crate) files: Mutex<HashMap<String, Vec<u8>>>,
        /// No range that begins in this one is given.
        pub(crate) fails: Range<u64>,
    }

    impl Elsewhere for Memory {
        fn facts(&self, name: &str) -> io::Result<(u64, String)> {
            let files = self.files.lock().unwrap();
            let content = files.get(name).ok_or(io::ErrorKind::NotFound)?;
            Ok((content.len() as u64, format!("{:?}", content.get(..9))))
        }

        fn range(&self, name: &str, range: Range<u64>) -> io::Result<Vec<u8>> {
            if self.fails.contains(&range.start) {
                return Err(io::Error::other("the store failed"));
            }
            Ok(self.files.lock().unwrap()[name][range.start as usize..range.end as usize].to_vec())
        }
    }

    #[test]
    fn a_file_that_is_elsewhere_has_the_content_of_one_that_is_here() {
        let content: Vec<u8> = (0..20_000_000_u32).map(|byte| (byte % 251) as u8).collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), &content).unwrap();
        let store = Memory { files: Mutex::new([("s3://b/x".to_owned(), content)].into()), fails: 0..0 };
        for range in [0..20_000_000, 0..0, 5..1_048_581, 1_000_000..19_999_999] {
            let all = |log: Log<'_>| {
                let mut read = Vec::new();
                log.open(range.clone()).unwrap().read_to_end(&mut read).unwrap();
                read
            };
            assert!(all(Log::new(file.path(), Some(&store))) == all(Log::new(Path::new("s3://b/x"), Some(&store))), "{range:?}");
        }
    }
}
