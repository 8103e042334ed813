//! The files of logs: for each host, what it logged and what really happened.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use crate::error::SimulationError;
use crate::event::{Context, Event};
use crate::line::{Addresses, Lines, addresses};
use crate::sink::{HostSink, Sink};
use crate::topology::Topology;
use crate::truth::{Datum, Member, SlotTruth};

const BUFFER_BYTES: usize = 192 << 10;

/// Writes `HOST/stdout` for each host into a directory, and `HOST/truth-slots.jsonl` beside it.
#[derive(Debug)]
pub struct LogFiles {
    directory: PathBuf,
    start_s: u64,
    addresses: Addresses,
}

impl LogFiles {
    /// Logs below a directory that exists; slot 0 is `start_s` seconds after 1970.
    pub fn below(directory: &Path, start_s: u64) -> Self {
        Self { directory: directory.to_path_buf(), start_s, addresses: Arc::default() }
    }
}

impl Sink for LogFiles {
    type Host = LogWriter;

    fn host(&mut self, topology: &Topology, host: u32) -> Result<LogWriter, SimulationError> {
        if self.addresses.is_empty() {
            self.addresses = addresses(topology.hosts.len());
        }
        let folder = self.directory.join(&topology.hosts[host as usize].name);
        std::fs::create_dir_all(&folder).map_err(SimulationError::io(&folder))?;
        let file = |name: &str| -> Result<Appended, SimulationError> {
            let path = folder.join(name);
            File::create_new(&path).map_err(SimulationError::io(&path))?;
            Ok(Appended { path, file: None })
        };
        let files = (file("stdout")?, file("truth-slots.jsonl")?);
        Ok(LogWriter::new(topology, host, self.start_s, Arc::clone(&self.addresses), files))
    }
}

/// A file that is only open while its host is narrated, so that a cluster may have more hosts than a process open files.
#[derive(Debug)]
struct Appended {
    path: PathBuf,
    file: Option<File>,
}

impl Appended {
    fn write(&mut self, bytes: &[u8]) -> Result<(), SimulationError> {
        let opened = match self.file.take() {
            Some(file) => Ok(file),
            None => File::options().append(true).open(&self.path),
        };
        let written = opened.and_then(|mut file| file.write_all(bytes).map(|()| file));
        self.file = Some(written.map_err(SimulationError::io(&self.path))?);
        Ok(())
    }
}

/// The log of one host.
#[derive(Debug)]
pub struct LogWriter {
    lines: Lines,
    truth: Vec<u8>,
    /// The log's file, and that of what really happened.
    files: (Appended, Appended),
    failed: Option<SimulationError>,
    written_bytes: u64,
}

impl LogWriter {
    fn new(topology: &Topology, host: u32, start_s: u64, addresses: Addresses, files: (Appended, Appended)) -> Self {
        let lines = Lines::new(&topology.hosts[host as usize].name, host, start_s, addresses);
        Self { lines, truth: Vec::new(), files, failed: None, written_bytes: 0 }
    }

    /// Bytes and lines written so far.
    pub fn written(&self) -> (u64, u64) {
        (self.written_bytes + self.lines.text.len() as u64, self.lines.count)
    }

    fn write_out(&mut self) {
        if let Err(error) = self.files.0.write(&self.lines.text) {
            self.failed.get_or_insert(error);
        }
        self.written_bytes += self.lines.text.len() as u64;
        self.lines.text.clear();
    }
}

impl HostSink for LogWriter {
    fn event(&mut self, at_ns: i64, event: Event, context: &Context<'_>) {
        if self.lines.text.capacity() == 0 {
            self.lines.text.reserve_exact(BUFFER_BYTES + 16_384);
        }
        self.lines.line(at_ns, event, context);
        if self.lines.text.len() >= BUFFER_BYTES {
            self.write_out();
        }
    }

    fn slot(&mut self, truth: &SlotTruth) {
        let text = &mut self.truth;
        let mut before: &[u8] = b"{\"";
        truth.members("", &mut |name, member| {
            text.extend_from_slice(std::mem::replace(&mut before, b",\""));
            text.extend_from_slice(name.as_bytes());
            text.extend_from_slice(b"\":");
            match member {
                Member::Whole(Some(number)) => text.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()),
                Member::Whole(None) => text.extend_from_slice(b"null"),
                Member::Word(word) => text.extend_from_slice(json!(word).to_string().as_bytes()),
            }
        });
        text.extend_from_slice(b"}\n");
    }

    /// Writes out and gives the memory back: hosts that one thread narrates one after another take turns with one buffer.
    fn end_of_stretch(&mut self) -> Result<(), SimulationError> {
        self.write_out();
        let (log, truth) = &mut self.files;
        truth.write(&std::mem::take(&mut self.truth))?;
        (log.file, truth.file) = (None, None);
        self.lines.text = Vec::new();
        self.failed.take().map_or(Ok(()), Err)
    }

    fn finish(&mut self) -> Result<(), SimulationError> {
        self.end_of_stretch()
    }
}
