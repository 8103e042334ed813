//! An LSM tree: fjall.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fjall::compaction::Leveled;
use fjall::config::{BlockSizePolicy, PinningPolicy};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, LsmError, PersistMode, Readable as _, Snapshot};

use super::on_disk::{Change, Disk, OnDisk};
use super::{Backend, Entry, Reader, StoreError};
use crate::place::Place;

const KEPT: &[u8] = b"kept";

/// Changes that the journal may have without being synchronised. fjall synchronises it where it begins to write out what is in memory, and no
/// change is taken in meanwhile: the less is left to do then, the shorter the longest wait.
const MOST_UNSYNCED: usize = 8_192;

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
    has_snapshots: true,
    open: |folder| OnDisk::open(Lsm::open, folder),
};

/// Bytes of a block of outputs. A look-up reads the pages that its block lies in: about 1.5 of them, and 2 where a block is as large as a page.
const BLOCK: u32 = 2 << 10;

/// Bytes of changes that are kept in memory, and of a table on disk.
const WRITTEN_TOGETHER: u64 = 16 << 20;

struct Lsm {
    place: PathBuf,
    /// None while the set is opened again, and where that failed.
    opened: Option<Opened>,
    /// Changes in the journal since it was synchronised.
    unsynced: usize,
}

/// The set, open.
struct Opened {
    database: Database,
    outputs: Keyspace,
    facts: Keyspace,
}

impl Lsm {
    fn open(place: &Path) -> Result<Self, StoreError> {
        Ok(Self { opened: Some(Opened::at(place)?), place: place.to_path_buf(), unsynced: 0 })
    }

    fn opened(&self) -> &Opened {
        self.opened.as_ref().expect("the set is open")
    }
}

impl Opened {
    fn at(place: &Path) -> Result<Self, StoreError> {
        let database = Database::builder(place).open()?;
        let outputs = database.keyspace("outputs", options)?;
        let facts = database.keyspace("facts", KeyspaceCreateOptions::default)?;
        database.persist(PersistMode::SyncAll)?;
        Ok(Self { database, outputs, facts })
    }
}

/// Settings of the outputs, measured in docs/stores.md. They are kept with a set, so that one that was made before keeps its own.
fn options() -> KeyspaceCreateOptions {
    KeyspaceCreateOptions::default()
        // Nearly every output that is looked up is there: filters of the last level, which hold most keys, aren't needed.
        .expect_point_read_hits(true)
        // All indexes and filters stay in memory: a look-up reads one block, and takes no place in the cache from another.
        .index_block_pinning_policy(PinningPolicy::all(true))
        .index_block_partitioning_policy(PinningPolicy::all(false))
        .filter_block_pinning_policy(PinningPolicy::all(true))
        .filter_block_partitioning_policy(PinningPolicy::all(false))
        .data_block_size_policy(BlockSizePolicy::all(BLOCK))
        // What is written out or merged at a time is what others may have to wait for.
        .max_memtable_size(WRITTEN_TOGETHER)
        .compaction_strategy(Arc::new(Leveled::default().with_table_target_size(WRITTEN_TOGETHER)))
}

impl Disk for Lsm {
    fn get(&self, place: &Place) -> Result<Option<Entry>, StoreError> {
        Ok(self.opened().outputs.get(place.0)?.map(|entry| Entry::from(&*entry)))
    }

    fn kept(&self) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.opened().facts.get(KEPT)?.map(|bytes| bytes.to_vec()))
    }

    fn write(&mut self, changes: Vec<Change>, kept: &[u8], durable: bool) -> Result<(), StoreError> {
        self.unsynced += changes.len();
        let mode = if durable || self.unsynced > MOST_UNSYNCED { PersistMode::SyncData } else { PersistMode::Buffer };
        if mode == PersistMode::SyncData {
            self.unsynced = 0;
        }
        let Opened { database, outputs, facts } = self.opened();
        let mut batch = database.batch().durability(Some(mode));
        for (place, change) in changes {
            match change {
                Some(entry) => batch.insert(outputs, place.0, &*entry),
                None => batch.remove(outputs, place.0),
            }
        }
        batch.insert(facts, KEPT, kept);
        Ok(batch.commit()?)
    }

    fn fill(&mut self, outputs: &mut dyn Iterator<Item = (Place, Entry)>) -> Result<(), StoreError> {
        let mut ingestion = self.opened().outputs.start_ingestion()?;
        for (place, entry) in outputs {
            ingestion.write(place.0, &*entry)?;
        }
        ingestion.finish()?;
        // fjall reads the indexes and filters of tables that it was filled with at each look-up, until they are opened again.
        self.opened = None;
        self.opened = Some(Opened::at(&self.place)?);
        Ok(())
    }

    fn compact(&mut self) -> Result<(), StoreError> {
        let outputs = &self.opened().outputs;
        outputs.rotate_memtable_and_wait()?;
        Ok(outputs.major_compact()?)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        let (database, outputs) = (self.opened().database.clone(), self.opened().outputs.clone());
        Ok(Box::new(Reading { snapshot: database.snapshot(), database, outputs }))
    }

    fn each(&self, take: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), StoreError> {
        for item in self.opened().outputs.iter() {
            let (place, entry) = item.into_inner()?;
            take(&place, &entry);
        }
        Ok(())
    }
}

struct Reading {
    database: Database,
    outputs: Keyspace,
    snapshot: Snapshot,
}

impl Reader for Reading {
    fn renew(&mut self) -> Result<(), StoreError> {
        self.snapshot = self.database.snapshot();
        Ok(())
    }

    fn get(&self, place: &Place) -> Result<Option<Entry>, StoreError> {
        Ok(self.snapshot.get(&self.outputs, place.0)?.map(|entry| Entry::from(&*entry)))
    }
}
