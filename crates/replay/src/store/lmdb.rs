//! A B+ tree in a memory-mapped file: LMDB.

use std::fs;
use std::io::Write;
use std::path::Path;

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, FlagSetMode, RoTxn, WithoutTls};

use super::on_disk::{Change, Disk, OnDisk};
use super::{Backend, Entry, Reader, StoreError};
use crate::place::Place;

/// Addresses that are set aside for the file: more than the largest set takes; none of it is memory until it is used.
const MAP_BYTES: usize = 256 << 30;
const KEPT: &[u8] = b"kept";
/// Bytes of LMDB's table of 126 readers, its default.
const LOCK_BYTES: usize = 8 << 10;
/// Pages at the end of a file that may be missing.
const UNWRITTEN_PAGES: u64 = 4;

impl From<heed::Error> for StoreError {
    fn from(error: heed::Error) -> Self {
        Self(error.to_string())
    }
}

pub(super) const STORE: Backend = Backend {
    name: "lmdb",
    about: "A B+ tree in a memory-mapped file: LMDB",
    library: ("LMDB by heed", "heed"),
    is_on_disk: true,
    has_snapshots: true,
    open: |folder| OnDisk::open(Lmdb::open, folder),
};

struct Lmdb {
    environment: Env<WithoutTls>,
    outputs: Database<Bytes, Bytes>,
    facts: Database<Bytes, Bytes>,
    /// The view for reads until the next change: the set as the last flush left it.
    view: Option<RoTxn<'static, WithoutTls>>,
}

impl Lmdb {
    fn open(folder: &Path) -> Result<Self, StoreError> {
        reserve_lock(&folder.join("lock.mdb"))?;
        let mut options = EnvOpenOptions::new().read_txn_without_tls();
        options.map_size(MAP_BYTES).max_dbs(2);
        // Outputs are looked up at random: where memory is short, pages that the kernel reads ahead push out those that are used.
        // SAFETY: the flag changes how the kernel reads the file, and nothing else.
        unsafe { options.flags(EnvFlags::NO_READ_AHEAD) };
        // SAFETY: the file is changed through LMDB alone, which locks it against other processes.
        let environment = unsafe { options.open(folder) }?;
        check_length(&environment, &folder.join("data.mdb"))?;
        let mut writing = environment.write_txn()?;
        let outputs = environment.create_database(&mut writing, Some("outputs"))?;
        let facts = environment.create_database(&mut writing, Some("facts"))?;
        writing.commit()?;
        let view = Some(environment.clone().static_read_txn()?);
        Ok(Self { environment, outputs, facts, view })
    }

    fn view(&self) -> Result<&RoTxn<'static, WithoutTls>, StoreError> {
        self.view.as_ref().ok_or_else(|| StoreError("a change to it failed before".to_owned()))
    }
}

/// Has the pages of LMDB's table of readers on the disk before it maps them for the first time: where the disk has no room for a page of a mapped file,
/// the kernel ends the process that writes to it. Data aren't written through a mapping. A table that is there may be in use, and stays.
fn reserve_lock(path: &Path) -> Result<(), StoreError> {
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    if file.metadata()?.len() < LOCK_BYTES as u64 {
        file.write_all(&[0; LOCK_BYTES])?;
    }
    Ok(())
}

/// Checks that a file has all pages that it states: the kernel ends a process that reads beyond the end of a mapped file.
///
/// A few pages at the end may never have been written, since the change that took them gave them back: they are added, empty.
fn check_length(environment: &Env<WithoutTls>, path: &Path) -> Result<(), StoreError> {
    let (info, page) = (environment.info(), rustix::param::page_size() as u64);
    let expected = (info.last_page_number as u64 + 1) * page;
    let bytes = fs::metadata(path)?.len();
    // One that was just made has nothing yet.
    if bytes >= expected || info.last_txn_id == 0 {
        return Ok(());
    }
    if expected - bytes > UNWRITTEN_PAGES * page {
        return Err(StoreError(format!("data.mdb is cut: {bytes} bytes, expected {expected}")));
    }
    Ok(fs::OpenOptions::new().write(true).open(path)?.set_len(expected)?)
}

impl Disk for Lmdb {
    fn get(&self, place: &Place) -> Result<Option<Entry>, StoreError> {
        Ok(self.outputs.get(self.view()?, &place.0)?.map(Entry::from))
    }

    fn kept(&self) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.facts.get(self.view()?, KEPT)?.map(<[u8]>::to_vec))
    }

    fn write(&mut self, changes: Vec<Change>, kept: &[u8], durable: bool) -> Result<(), StoreError> {
        self.view = None; // a view that stays keeps LMDB from using the pages again that it reads
        let unsynced = if durable { FlagSetMode::Disable } else { FlagSetMode::Enable };
        // SAFETY: no other thread changes flags. Without synchronising, a stop of the machine may damage the file, not one of the process.
        unsafe { self.environment.set_flags(EnvFlags::NO_SYNC, unsynced) }?;
        let mut writing = self.environment.write_txn()?;
        for (place, change) in &changes {
            match change {
                Some(entry) => self.outputs.put(&mut writing, &place.0, entry)?,
                None => drop(self.outputs.delete(&mut writing, &place.0)?),
            }
        }
        self.facts.put(&mut writing, KEPT, kept)?;
        writing.commit()?;
        self.view = Some(self.environment.clone().static_read_txn()?);
        Ok(())
    }

    fn compact(&mut self) -> Result<(), StoreError> {
        Ok(()) // it has everything in one place
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        let view = Some(self.environment.clone().static_read_txn()?);
        Ok(Box::new(Reading { environment: self.environment.clone(), outputs: self.outputs, view }))
    }

    fn each(&self, take: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), StoreError> {
        for item in self.outputs.iter(self.view()?)? {
            let (place, entry) = item?;
            take(place, entry);
        }
        Ok(())
    }
}

struct Reading {
    environment: Env<WithoutTls>,
    outputs: Database<Bytes, Bytes>,
    /// None after it could not be taken anew.
    view: Option<RoTxn<'static, WithoutTls>>,
}

impl Reader for Reading {
    fn renew(&mut self) -> Result<(), StoreError> {
        self.view = None; // gives its place in the table of readers back
        self.view = Some(self.environment.clone().static_read_txn()?);
        Ok(())
    }

    fn get(&self, place: &Place) -> Result<Option<Entry>, StoreError> {
        let Some(view) = &self.view else { return Err(StoreError("no view of it could be had".to_owned())) };
        Ok(self.outputs.get(view, &place.0)?.map(Entry::from))
    }
}
