//! The set in a hash map.

use hashbrown::HashMap;

use super::{Backend, Entry, Reader, Store, StoreError, Tip};
use crate::changes::Changes;
use crate::place::Place;

pub(super) const STORE: Backend = Backend {
    name: "memory",
    about: "A hash map",
    library: ("hashbrown", "hashbrown"),
    is_on_disk: false,
    has_snapshots: false,
    open: |_| Ok(Box::new(Memory::default())),
};

/// A hash map; nothing of it is on disk.
#[derive(Default)]
struct Memory(HashMap<Place, Entry>);

impl Store for Memory {
    fn get(&mut self, place: &Place) -> Result<Option<Entry>, StoreError> {
        Ok(self.0.get(place).cloned())
    }

    fn apply(&mut self, changes: Changes) {
        for place in &changes.spent {
            self.0.remove(place);
        }
        self.0.extend(changes.made);
    }

    fn flush(&mut self, _: Option<Tip>) -> Result<(), StoreError> {
        Ok(())
    }

    fn write(&mut self, _: Tip) -> Result<(), StoreError> {
        Ok(())
    }

    fn fill(&mut self, outputs: &mut dyn Iterator<Item = (Place, Entry)>, _: Tip) -> Result<(), StoreError> {
        self.0.extend(outputs);
        Ok(())
    }

    fn compact(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn reader(&self) -> Result<Option<Box<dyn Reader>>, StoreError> {
        Ok(None)
    }

    fn tip(&self) -> Option<Tip> {
        None
    }

    fn entries(&self) -> u64 {
        self.0.len() as u64
    }

    fn disk_bytes(&self) -> Option<u64> {
        None
    }

    fn each(&self, take: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), StoreError> {
        let mut entries: Vec<_> = self.0.iter().collect();
        entries.sort_unstable_by_key(|(place, _)| **place);
        entries.into_iter().for_each(|(place, entry)| take(&place.0, entry));
        Ok(())
    }
}
