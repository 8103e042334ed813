//! A set on disk, with the changes since the last flush in memory.

use std::fs;
use std::path::{Path, PathBuf};

use hashbrown::HashMap;

use super::{Entry, Reader, Store, StoreError, Tip, folder_bytes};
use crate::changes::Changes;
use crate::error::ReplayError;
use crate::place::Place;

/// Outputs that are written in one step where a set is filled.
const FILLED_TOGETHER: usize = 10_000;

/// Bytes of [`Kept`] as it is written.
const KEPT_BYTES: usize = 49;

/// A change since the last flush: the new output, or None for one that was spent.
pub(super) type Change = (Place, Option<Entry>);

/// Data that are written beside the outputs, in one step with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    /// None while the first outputs are being loaded.
    pub(super) tip: Option<Tip>,
    /// Number of outputs.
    pub(super) entries: u64,
}

impl Kept {
    pub(super) fn to_bytes(self) -> [u8; KEPT_BYTES] {
        let mut bytes = [0; KEPT_BYTES];
        bytes[..8].copy_from_slice(&self.entries.to_be_bytes());
        if let Some(tip) = self.tip {
            bytes[8] = 1;
            bytes[9..17].copy_from_slice(&tip.slot.to_be_bytes());
            bytes[17..].copy_from_slice(&tip.hash);
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; KEPT_BYTES] = bytes.try_into().ok()?;
        let number = |from: usize| u64::from_be_bytes(bytes[from..from + 8].try_into().expect("8 bytes"));
        let tip = Tip { slot: number(9), hash: bytes[17..].try_into().expect("32 bytes") };
        Some(Self { tip: (bytes[8] == 1).then_some(tip), entries: number(0) })
    }
}

/// Keys and values on disk that change in one step.
pub(super) trait Disk: Send {
    /// The output at a place.
    fn get(&self, place: &Place) -> Result<Option<Entry>, StoreError>;

    /// Returns the data written with the last change; None where there was none.
    fn kept(&self) -> Result<Option<Vec<u8>>, StoreError>;

    /// Makes all of these changes, given in ascending order of places, in one step, and with all before them durable where that is asked for.
    fn write(&mut self, changes: Vec<Change>, kept: &[u8], durable: bool) -> Result<(), StoreError>;

    /// Fills an empty folder with these outputs, given in ascending order of places. What isn't durable yet is by the next durable change.
    fn fill(&mut self, outputs: &mut dyn Iterator<Item = (Place, Entry)>) -> Result<(), StoreError> {
        loop {
            let changes: Vec<Change> = outputs.take(FILLED_TOGETHER).map(|(place, entry)| (place, Some(entry))).collect();
            if changes.is_empty() {
                return Ok(());
            }
            self.write(changes, &Kept::default().to_bytes(), false)?;
        }
    }

    /// Merges what is in several places.
    fn compact(&mut self) -> Result<(), StoreError>;

    /// A reader of what was written.
    fn reader(&self) -> Result<Box<dyn Reader>, StoreError>;

    /// Calls `take` with every place and output, in ascending order.
    fn each(&self, take: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), StoreError>;
}

/// A set on disk.
pub(super) struct OnDisk<D> {
    disk: D,
    folder: PathBuf,
    pending: HashMap<Place, Option<Entry>>,
    kept: Kept,
    /// True where the last change is durable.
    durable: bool,
    entries: u64,
}

impl<D: Disk> OnDisk<D> {
    fn change(&mut self, tip: Option<Tip>, durable: bool) -> Result<(), StoreError> {
        let kept = Kept { tip, entries: self.entries };
        if self.pending.is_empty() && kept == self.kept && self.durable {
            return Ok(());
        }
        let mut changes: Vec<Change> = self.pending.drain().collect();
        changes.sort_unstable_by_key(|(place, _)| *place);
        self.disk.write(changes, &kept.to_bytes(), durable)?;
        (self.kept, self.durable) = (kept, durable);
        Ok(())
    }
}

impl<D: Disk + 'static> OnDisk<D> {
    /// The set in a folder, which is made where it isn't there, as the last flush left it.
    ///
    /// The store's files are in `set`. Libraries can't open what was being made when its process was killed or its disk was full: a set is made in
    /// `set.partial` and put in place whole, so that one in its place that can't be opened is damaged. Of a set without a tip nothing counts, since some
    /// of its first outputs may be there: it is made anew.
    pub(super) fn open(open: impl Fn(&Path) -> Result<D, StoreError>, folder: &Path) -> Result<Box<dyn Store>, ReplayError> {
        let at = |error: StoreError| error.at(folder);
        let set = folder.join("set");
        let whole = || -> Result<(D, Kept), ReplayError> {
            let disk = open(&set).map_err(|error| ReplayError::Unopened { path: folder.to_path_buf(), reason: error.0 })?;
            let kept = disk.kept().map_err(at)?.and_then(|bytes| Kept::from_bytes(&bytes));
            let damaged = || ReplayError::Damaged { path: folder.to_path_buf(), what: "its tip can't be read".to_owned() };
            Ok((disk, kept.ok_or_else(damaged)?))
        };
        let found = if set.exists() { Some(whole()?).filter(|(_, kept)| kept.tip.is_some()) } else { None };
        let (disk, kept) = match found {
            Some(found) => found,
            None => {
                make(&open, &set, &folder.join("set.partial")).map_err(at)?;
                whole()?
            }
        };
        Ok(Box::new(Self { disk, folder: set, pending: HashMap::new(), entries: kept.entries, kept, durable: true }))
    }
}

/// Makes an empty set, in the place of one that is there.
fn make<D: Disk>(open: impl Fn(&Path) -> Result<D, StoreError>, set: &Path, partial: &Path) -> Result<(), StoreError> {
    if partial.exists() {
        fs::remove_dir_all(partial)?;
    }
    if set.exists() {
        // One that is removed in part must not be in its place.
        fs::rename(set, partial)?;
        fs::remove_dir_all(partial)?;
    }
    fs::create_dir_all(partial)?;
    open(partial)?.write(Vec::new(), &Kept::default().to_bytes(), true)?;
    Ok(fs::rename(partial, set)?)
}

impl<D: Disk> Store for OnDisk<D> {
    fn get(&mut self, place: &Place) -> Result<Option<Entry>, StoreError> {
        match self.pending.get(place) {
            Some(change) => Ok(change.clone()),
            None => self.disk.get(place),
        }
    }

    fn apply(&mut self, changes: Changes) {
        self.entries = self.entries + changes.made.len() as u64 - changes.spent.len() as u64;
        for place in changes.spent {
            // One that was made since the last flush never was on disk.
            if !matches!(self.pending.remove(&place), Some(Some(_))) {
                self.pending.insert(place, None);
            }
        }
        for (place, entry) in changes.made {
            self.pending.insert(place, Some(entry));
        }
    }

    fn flush(&mut self, tip: Option<Tip>) -> Result<(), StoreError> {
        self.change(tip, true)
    }

    fn write(&mut self, tip: Tip) -> Result<(), StoreError> {
        self.change(Some(tip), false)
    }

    fn fill(&mut self, outputs: &mut dyn Iterator<Item = (Place, Entry)>, tip: Tip) -> Result<(), StoreError> {
        let mut entries = 0;
        self.disk.fill(&mut outputs.inspect(|_| entries += 1))?;
        self.entries += entries;
        self.flush(Some(tip))
    }

    fn compact(&mut self) -> Result<(), StoreError> {
        self.disk.compact()
    }

    fn reader(&self) -> Result<Option<Box<dyn Reader>>, StoreError> {
        self.disk.reader().map(Some)
    }

    fn tip(&self) -> Option<Tip> {
        self.kept.tip
    }

    fn entries(&self) -> u64 {
        self.entries
    }

    fn disk_bytes(&self) -> Option<u64> {
        Some(folder_bytes(&self.folder))
    }

    fn each(&self, take: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), StoreError> {
        self.disk.each(take)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_as_it_was_written() {
        for kept in [Kept::default(), Kept { tip: Some(Tip { slot: 7, hash: [9; 32] }), entries: u64::MAX }] {
            assert_eq!(Kept::from_bytes(&kept.to_bytes()), Some(kept));
        }
        assert_eq!(Kept::from_bytes(&[0; 48]), None);
    }
}
