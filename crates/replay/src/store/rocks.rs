//! An LSM tree: RocksDB.

use std::path::Path;
use std::sync::Arc;

use rocksdb::{ColumnFamily, ColumnFamilyDescriptor, DB, Error, IteratorMode, Options, WriteBatch, WriteOptions};

use super::on_disk::{Change, Disk, OnDisk};
use super::{Backend, Entry, Reader, StoreError};
use crate::place::Place;

const OUTPUTS: &str = "outputs";
const KEPT: &[u8] = b"kept";

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        Self(error.into_string())
    }
}

pub(super) const STORE: Backend = Backend {
    name: "rocksdb",
    about: "An LSM tree: RocksDB",
    library: ("RocksDB by rocksdb", "rocksdb"),
    is_on_disk: true,
    has_snapshots: false,
    open: |folder| OnDisk::open(Rocks::open, folder),
};

/// Outputs are in a family of keys of their own; what is kept beside them is in the default one.
#[derive(Clone)]
struct Rocks(Arc<DB>);

impl Rocks {
    fn open(folder: &Path) -> Result<Self, StoreError> {
        let mut options = Options::default();
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        let outputs = ColumnFamilyDescriptor::new(OUTPUTS, Options::default());
        Ok(Self(Arc::new(DB::open_cf_descriptors(&options, folder, [outputs])?)))
    }

    fn outputs(&self) -> Result<&ColumnFamily, StoreError> {
        self.0.cf_handle(OUTPUTS).ok_or_else(|| StoreError(format!("it has no '{OUTPUTS}'")))
    }
}

impl Disk for Rocks {
    fn get(&self, place: &Place) -> Result<Option<Entry>, StoreError> {
        Ok(self.0.get_pinned_cf(self.outputs()?, place.0)?.map(|entry| Entry::from(&*entry)))
    }

    fn kept(&self) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.0.get(KEPT)?)
    }

    fn write(&mut self, changes: Vec<Change>, kept: &[u8], durable: bool) -> Result<(), StoreError> {
        let outputs = self.outputs()?;
        let mut batch = WriteBatch::default();
        for (place, change) in changes {
            match change {
                Some(entry) => batch.put_cf(outputs, place.0, &*entry),
                None => batch.delete_cf(outputs, place.0),
            }
        }
        batch.put(KEPT, kept);
        let mut options = WriteOptions::default();
        options.set_sync(durable);
        Ok(self.0.write_opt(batch, &options)?)
    }

    fn compact(&mut self) -> Result<(), StoreError> {
        self.0.compact_range_cf(self.outputs()?, None::<&[u8]>, None::<&[u8]>);
        Ok(())
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        Ok(Box::new(self.clone()))
    }

    fn each(&self, take: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), StoreError> {
        for item in self.0.iterator_cf(self.outputs()?, IteratorMode::Start) {
            let (place, entry) = item?;
            take(&place, &entry);
        }
        Ok(())
    }
}

/// Reads the set as it is: a snapshot of RocksDB can't outlive the call that takes it, by how the library is made.
impl Reader for Rocks {
    fn renew(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn get(&self, place: &Place) -> Result<Option<Entry>, StoreError> {
        Disk::get(self, place)
    }
}
