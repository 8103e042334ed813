//! Sets of unspent outputs.
//!
//! A store is a file here, its line in [`STORES`], and what it is built on in Cargo.toml. Those on disk keep changes in memory until they are
//! flushed, and a flush writes all of them with the tip in one step: after a crash the set is that of the last flush, whole.

mod lmdb;
mod locked;
mod lsm;
mod memory;
mod on_disk;
#[cfg(feature = "rocksdb")]
mod rocks;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use blake2b_simd::{Params, State};
use clap::builder::PossibleValue;
use slotmark_chain::Hash32;

use crate::changes::Changes;
use crate::error::ReplayError;
use crate::place::Place;

/// An unspent output as its transaction encodes it.
pub type Entry = Arc<[u8]>;

/// Reasons why a store can't be read or written, in the words of its library.
#[derive(Debug)]
pub struct StoreError(pub String);

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

impl StoreError {
    /// The same as an error of a replay with the set in this folder.
    pub fn at(self, folder: &Path) -> ReplayError {
        ReplayError::Store { path: folder.to_path_buf(), reason: self.0 }
    }
}

/// The block after which a set is what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tip {
    /// Its slot.
    pub slot: u64,
    /// Its hash.
    pub hash: Hash32,
}

/// A set of unspent outputs.
pub trait Store: Send {
    /// The output at a place; None where there is none.
    ///
    /// # Errors
    /// It can't be read.
    fn get(&mut self, place: &Place) -> Result<Option<Entry>, StoreError>;

    /// Takes a block's changes in. What is spent is in the set, and what is made isn't.
    fn apply(&mut self, changes: Changes);

    /// Makes all that was taken in durable, with the tip that it belongs to; None before the first block.
    ///
    /// # Errors
    /// It can't be written. The set on disk is then that of the flush before.
    fn flush(&mut self, tip: Option<Tip>) -> Result<(), StoreError>;

    /// Hands all that was taken in to the operating system, in one step with its tip: it is there when this process is killed, but needn't
    /// be when the machine stops.
    ///
    /// # Errors
    /// It can't be written.
    fn write(&mut self, tip: Tip) -> Result<(), StoreError>;

    /// Fills an empty set with outputs in ascending order of places, and makes them durable with their tip.
    ///
    /// # Errors
    /// It can't be written.
    fn fill(&mut self, outputs: &mut dyn Iterator<Item = (Place, Entry)>, tip: Tip) -> Result<(), StoreError>;

    /// Merges what a store has in several places, as it does by itself from time to time.
    ///
    /// # Errors
    /// It can't be written.
    fn compact(&mut self) -> Result<(), StoreError>;

    /// A reader of what was written; None where the store has none.
    ///
    /// # Errors
    /// It can't be read.
    fn reader(&self) -> Result<Option<Box<dyn Reader>>, StoreError>;

    /// The tip of the last flush that is on disk; None where there is none.
    fn tip(&self) -> Option<Tip>;

    /// Returns the number of outputs.
    fn entries(&self) -> u64;

    /// Bytes on disk; None for a set that isn't on disk.
    fn disk_bytes(&self) -> Option<u64>;

    /// BLAKE2b-256 over all outputs in ascending order of their places: place (34 bytes), length (u32, big endian), output.
    ///
    /// Everything must be flushed.
    ///
    /// # Errors
    /// It can't be read.
    fn digest(&self) -> Result<Hash32, StoreError> {
        let mut digest = Digest::new();
        self.each(&mut |place, entry| digest.add(place, entry))?;
        Ok(digest.finish())
    }

    /// Calls `take` with the bytes of every place and its output, in ascending order of places. Everything must be flushed or written.
    ///
    /// # Errors
    /// It can't be read.
    fn each(&self, take: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), StoreError>;
}

/// A reader of a set, for a thread of its own. Where the store has snapshots, it has one, which later writes don't change.
pub trait Reader: Send {
    /// Takes a new snapshot: what the last write left.
    ///
    /// # Errors
    /// It can't be read.
    fn renew(&mut self) -> Result<(), StoreError>;

    /// The output at a place, in the snapshot; None where there is none.
    ///
    /// # Errors
    /// It can't be read.
    fn get(&self, place: &Place) -> Result<Option<Entry>, StoreError>;
}

/// A store that was built.
#[derive(Clone, Copy, Debug)]
pub struct Backend {
    name: &'static str,
    about: &'static str,
    /// The library that it is built on, and the package of the lock file that has its version.
    library: (&'static str, &'static str),
    /// True where a set outlives its process.
    pub is_on_disk: bool,
    /// True where its readers have snapshots; those of others have the set as it is.
    pub has_snapshots: bool,
    open: fn(&Path) -> Result<Box<dyn Store>, ReplayError>,
}

/// The stores that were built.
static STORES: &[Backend] = &[
    memory::STORE,
    lsm::STORE,
    lmdb::STORE,
    #[cfg(feature = "rocksdb")]
    rocks::STORE,
];

impl Backend {
    /// Its name.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Returns the library that it is built on, with the version.
    pub fn library(self) -> String {
        let (words, package) = self.library;
        format!("{words} {}", locked::version(package))
    }

    /// Opens the set in a folder, which is made where it isn't there; a store in memory takes none.
    ///
    /// # Errors
    /// The folder can't be used, or what is in it is damaged.
    pub fn open(self, folder: &Path) -> Result<Box<dyn Store>, ReplayError> {
        (self.open)(folder)
    }
}

impl clap::ValueEnum for Backend {
    fn value_variants<'a>() -> &'a [Self] {
        STORES
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name).help(self.about))
    }
}

/// The digest of a set, taken in output by output in ascending order.
struct Digest(State);

impl Digest {
    fn new() -> Self {
        Self(Params::new().hash_length(32).to_state())
    }

    fn add(&mut self, place: &[u8], entry: &[u8]) {
        self.0.update(place).update(&(entry.len() as u32).to_be_bytes()).update(entry);
    }

    fn finish(&self) -> Hash32 {
        self.0.finalize().as_bytes().try_into().expect("32 bytes")
    }
}

/// Bytes that the files of a folder take on disk.
fn folder_bytes(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let mut pending: Vec<PathBuf> = vec![folder.to_path_buf()];
    let mut bytes = 0;
    while let Some(next) = pending.pop() {
        for entry in std::fs::read_dir(next).into_iter().flatten().flatten() {
            let Ok(facts) = entry.metadata() else { continue };
            if facts.is_dir() { pending.push(entry.path()) } else { bytes += facts.blocks() * 512 }
        }
    }
    bytes
}
