//! The input of a replay beside its chain: a genesis and its unspent outputs.
//!
//! A genesis may have millions of entries. A process of its own reads it and leaves it in a file whose unspent outputs are read one by
//! one: then no more of it is in the memory of the process that replays than the ledger has there.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use slotmark_chain::Hash32;
use slotmark_chain::hash::Hashing;
use slotmark_praos::genesis::Genesis;

use crate::error::ReplayError;

/// An unspent output of a genesis: its address, and its lovelace.
pub type Fund = (Vec<u8>, u64);

/// The longest address that a file may hold; Shelley's are shorter, and Byron's with all of their attributes too.
const MOST_ADDRESS_BYTES: usize = 1 << 16;

/// The input of a replay beside the chain.
pub struct Prepared {
    /// The genesis, without its unspent outputs.
    pub genesis: Arc<Genesis>,
    /// Number of its unspent outputs.
    pub funds: u64,
    source: Source,
}

/// The source of the first unspent outputs.
enum Source {
    Genesis(Vec<Fund>),
    /// A file, and where in it the first one begins.
    File(PathBuf, u64),
}

/// The head of a file, behind its length; the first unspent outputs follow, and then the hash of all that.
#[derive(Serialize, Deserialize)]
struct Head {
    version: String,
    genesis: Genesis,
    funds: u64,
}

impl Prepared {
    /// Reads a genesis.
    ///
    /// # Errors
    /// It is damaged.
    pub fn of(genesis: &Path) -> Result<Self, ReplayError> {
        let mut genesis = Genesis::read(genesis)?;
        let funds = std::mem::take(&mut genesis.funds);
        Ok(Self { genesis: Arc::new(genesis), funds: funds.len() as u64, source: Source::Genesis(funds) })
    }

    /// Writes it.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn write(self, path: &Path) -> Result<(), ReplayError> {
        let failed = |source: io::Error| ReplayError::Write { path: path.to_path_buf(), source };
        let encoded = |error: postcard::Error| failed(io::Error::other(error));
        let Self { genesis, funds, source: Source::Genesis(all) } = self else { return Ok(()) };
        let mut file = BufWriter::new(Hashing::new(File::create(path).map_err(failed)?));
        let head = Head { version: env!("CARGO_PKG_VERSION").to_owned(), genesis: Arc::unwrap_or_clone(genesis), funds };
        let head = postcard::to_stdvec(&head).map_err(encoded)?;
        file.write_all(&(head.len() as u64).to_be_bytes()).and_then(|()| file.write_all(&head)).map_err(failed)?;
        for fund in &all {
            postcard::to_io(fund, &mut file).map_err(encoded)?;
        }
        file.flush().map_err(failed)?;
        let hash = file.get_ref().hash();
        file.write_all(&hash).and_then(|()| file.flush()).map_err(failed)
    }

    /// Reads what was written.
    ///
    /// # Errors
    /// The file can't be read, is damaged, or is of another version.
    pub fn read(path: &Path) -> Result<Self, ReplayError> {
        let refused = |reason: String| ReplayError::Prepared { path: path.to_path_buf(), reason };
        let failed = |error: io::Error| refused(error.to_string());
        let mut file = File::open(path).map_err(failed)?;
        if !is_whole(&mut file).map_err(failed)? {
            return Err(refused("it is damaged: its hash isn't the one at its end".to_owned()));
        }
        let mut length = [0; 8];
        file.read_exact(&mut length).map_err(failed)?;
        let mut head = Vec::new();
        Read::by_ref(&mut file).take(u64::from_be_bytes(length)).read_to_end(&mut head).map_err(failed)?;
        let begin = (length.len() + head.len()) as u64;
        let (version, _) = postcard::take_from_bytes::<String>(&head).map_err(|error| refused(error.to_string()))?;
        if version != env!("CARGO_PKG_VERSION") {
            return Err(refused(format!("version {version} wrote it, and this is {}", env!("CARGO_PKG_VERSION"))));
        }
        let head: Head = postcard::from_bytes(&head).map_err(|error| refused(error.to_string()))?;
        Ok(Self { genesis: Arc::new(head.genesis), funds: head.funds, source: Source::File(path.to_path_buf(), begin) })
    }

    /// Reads the first unspent outputs, one by one.
    ///
    /// # Errors
    /// The file can't be read.
    pub fn first_outputs(&self) -> Result<Box<dyn Iterator<Item = Result<Fund, ReplayError>> + '_>, ReplayError> {
        let (path, begin) = match &self.source {
            Source::Genesis(all) => return Ok(Box::new(all.iter().cloned().map(Ok))),
            Source::File(path, begin) => (path, *begin),
        };
        let failed = |reason: String| ReplayError::Prepared { path: path.clone(), reason };
        let mut file = File::open(path).map_err(|error| failed(error.to_string()))?;
        file.seek(io::SeekFrom::Start(begin)).map_err(|error| failed(error.to_string()))?;
        let mut file = BufReader::new(file);
        let mut buffer = vec![0; MOST_ADDRESS_BYTES];
        Ok(Box::new((0..self.funds).map(move |_| {
            let (fund, _) = postcard::from_io((&mut file, &mut buffer)).map_err(|error| failed(error.to_string()))?;
            Ok(fund)
        })))
    }
}

/// Returns whether a file ends with the hash of all before that. Leaves the file at its beginning.
///
/// What isn't whole is never decoded: parts that don't belong together would be found only while blocks are replayed.
fn is_whole(file: &mut File) -> io::Result<bool> {
    let mut stated = Hash32::default();
    let length = file.metadata()?.len().saturating_sub(stated.len() as u64);
    let mut content = Hashing::new((&*file).take(length));
    io::copy(&mut content, &mut io::sink())?;
    let found = content.hash();
    file.read_exact(&mut stated)?;
    file.rewind()?;
    Ok(found == stated)
}
