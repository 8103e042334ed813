//! An LSM tree: fjall.

use std::fs;
use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, LsmError, PersistMode};

use super::on_disk::{Change, Disk, OnDisk};
use super::{Backend, Entry, StoreError};
use crate::place::Place;

const KEPT: &[u8] = b"kept";

impl From<fjall::Error> for StoreError {
    fn from(error: fjall::Error) -> Self {
        Self(match error {
            fjall::Error::Io(error) | fjall::Error::Storage(LsmError::Io(error)) => error.to_string(),
            other => format!("{other:?}"),
        })
    }
}

pub(super) const STORE: Backend = Backend {
    name: "lsm",
    about: "An LSM tree: fjall",
    library: ("fjall", "fjall"),
    is_on_disk: true,
    open: |folder| OnDisk::open(Lsm::open, folder),
};

struct Lsm {
    database: Database,
    outputs: Keyspace,
    facts: Keyspace,
}

impl Lsm {
    fn open(folder: &Path) -> Result<Self, StoreError> {
        let place = folder.join("set");
        if !place.exists() {
            // fjall doesn't open again what was being made when its process was killed: a whole one is put in place.
            let partial = folder.join("set.partial");
            if partial.exists() {
                fs::remove_dir_all(&partial)?;
            }
            drop(Self::open_at(&partial)?);
            fs::rename(&partial, &place)?;
        }
        Self::open_at(&place)
    }

    fn open_at(place: &Path) -> Result<Self, StoreError> {
        let database = Database::builder(place).open()?;
        // Nearly every output that is looked up is there: filters of the last level, which hold most keys, aren't needed.
        let outputs = database.keyspace("outputs", || KeyspaceCreateOptions::default().expect_point_read_hits(true))?;
        let facts = database.keyspace("facts", KeyspaceCreateOptions::default)?;
        database.persist(PersistMode::SyncAll)?;
        Ok(Self { database, outputs, facts })
    }
}

impl Disk for Lsm {
    fn get(&self, place: &Place) -> Result<Option<Entry>, StoreError> {
        Ok(self.outputs.get(place.0)?.map(|entry| Entry::from(&*entry)))
    }

    fn kept(&self) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.facts.get(KEPT)?.map(|bytes| bytes.to_vec()))
    }

    fn write(&mut self, changes: Vec<Change>, kept: &[u8]) -> Result<(), StoreError> {
        let mut batch = self.database.batch().durability(Some(PersistMode::SyncData));
        for (place, change) in changes {
            match change {
                Some(entry) => batch.insert(&self.outputs, place.0, &*entry),
                None => batch.remove(&self.outputs, place.0),
            }
        }
        batch.insert(&self.facts, KEPT, kept);
        Ok(batch.commit()?)
    }

    fn each(&self, take: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), StoreError> {
        for item in self.outputs.iter() {
            let (place, entry) = item.into_inner()?;
            take(&place, &entry);
        }
        Ok(())
    }
}
