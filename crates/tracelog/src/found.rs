//! Findings of ingest: facts of files and hosts, lines that were rejected, files that are damaged.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Facts of a file.
#[derive(Clone, Debug, Serialize)]
pub struct SourceFacts {
    /// As given.
    pub path: PathBuf,
    /// As it lies on the disk, packed or not.
    pub bytes: u64,
    /// Digest of the same bytes, with its algorithm before it, as [`crate::SourceDigest`] gives it.
    pub digest: String,
}

/// Facts of a host.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
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
    /// Lines of interest that were there before, byte by byte, and were left out.
    pub repeated: u64,
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
    /// The node that wrote its log; empty where that is not known.
    pub node: String,
    /// The node's version, where the log has it: that of the latest line that has one.
    pub version: String,
    /// Time of that line.
    pub version_ts_ns: Option<i64>,
    /// Its commit.
    pub revision: String,
    /// Its compiler's version.
    pub compiler: String,
    /// Hosts that its lines name.
    pub names: BTreeSet<String>,
    /// True where lines of several of these come at the same time: it is none of them alone.
    pub takes_turns: bool,
}

/// A line that couldn't be read.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Rejection {
    /// The host of the log that it is in.
    pub host: String,
    /// The file.
    pub file: String,
    /// Counted from 1.
    pub line: u64,
    /// Its start in the (unpacked) file.
    pub offset: u64,
    /// The reason.
    pub reason: String,
    /// The beginning of the line.
    pub text: String,
}

/// A packed file that can't be read to its end.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct DamagedFile {
    /// The host of the log.
    pub host: String,
    /// The file.
    pub file: String,
    /// The place in the file, as it is packed.
    pub at: u64,
    /// Its packed bytes from there on: what is in them is not known.
    pub unread_bytes: u64,
    /// The unpacker's error.
    pub what: String,
}

/// The results of an ingest.
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
    /// Number of them that couldn't be read.
    pub rejected: u64,
    /// Number of them by reason, the most frequent first.
    pub reasons: Vec<(String, u64)>,
    /// The first ones.
    pub first_rejections: Vec<Rejection>,
    /// Files that can't be read to their ends.
    pub damaged: Vec<DamagedFile>,
    /// Content bytes read, unpacked.
    pub bytes: u64,
}
