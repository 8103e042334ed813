//! Folders of a network's files.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use slotmark_chain::hash::Hashing;
use slotmark_chain::{ChainError, Hash32};
use slotmark_praos::envelope::{Envelope, Enveloped};

use crate::error::SynthError;

/// A folder that files are written into; it is made with the first of them.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The folder in it with this name.
    pub(crate) fn below(&self, name: impl AsRef<Path>) -> Self {
        Self(self.0.join(name))
    }

    /// Writes a file, and gives its hash.
    pub(crate) fn file(&self, name: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<Hash32, SynthError> {
        let written = || {
            DirBuilder::new().recursive(true).create(&self.0)?;
            let mut file = Hashing::new(BufWriter::with_capacity(1 << 16, File::create(self.0.join(name))?));
            write(&mut file)?;
            file.flush()?;
            Ok(file.hash())
        };
        written().map_err(|source| self.error(name, source))
    }

    /// Writes a file of JSON with its keys in order.
    pub(crate) fn json(&self, name: &str, value: &impl Serialize) -> Result<Hash32, SynthError> {
        self.file(name, |file| writeln!(file, "{:#}", serde_json::to_value(value)?))
    }

    pub(crate) fn envelope(&self, name: &str, content: &impl Enveloped) -> Result<(), SynthError> {
        self.file(name, |file| file.write_all(Envelope::of(content).text().as_bytes())).map(drop)
    }

    /// Both halves of a key. Others may not read the secret one: cardano-node refuses a VRF key that they may.
    pub(crate) fn pair(&self, name: &str, signing: &impl Enveloped, verification: &impl Enveloped) -> Result<(), SynthError> {
        self.envelope(&format!("{name}.vkey"), verification)?;
        let name = format!("{name}.skey");
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(self.0.join(&name));
        let written = file.and_then(|mut file| file.write_all(Envelope::of(signing).text().as_bytes()));
        written.map_err(|source| self.error(&name, source))
    }

    fn error(&self, name: &str, source: io::Error) -> SynthError {
        SynthError::Chain(ChainError::Write { path: self.0.join(name), source })
    }
}
