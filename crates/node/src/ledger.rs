//! The node's own set of unspent outputs (`--ledger`): all outputs after the last settled block, in one of the stores of `slotmark-replay`.
//!
//! `DATABASE/ledger/STORE/` is the set's folder: `made-of.json` states its store and its genesis, `set` is the store's. It is filled from the genesis once, and then takes
//! each settled block in, in one step with its place in the chain. Changes of later blocks are in memory (`slotmark_praos::outputs`). A set
//! in memory has no folder: it is filled at each start, and the settled blocks are applied again.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use slotmark_praos::genesis::Genesis;
use slotmark_praos::outputs::{Outputs, Place, SettledChanges, SettledTip};
use slotmark_replay::changes::Changes;
use slotmark_replay::store::{Entry, StoreError};
use slotmark_replay::{Backend, ReplayError, Store, Tip, place};
use slotmark_tracelog::{EnclosedTime, Snapshot, forms};

use crate::chaindb::ORIGIN;
use crate::error::NodeError;
use crate::log::Log;

/// Version of the folder.
const SCHEMA: u32 = 1;

/// Tip of a set that has the genesis alone.
const AT_GENESIS: Tip = Tip { slot: 0, hash: ORIGIN };

/// The content of `made-of.json`.
#[derive(Serialize, Deserialize, PartialEq, Eq)]
struct MadeOf {
    schema: u32,
    /// The store and its library, with the version by which the files are.
    store: String,
    library: String,
    /// BLAKE2b-256 of the Shelley genesis file.
    genesis: String,
}

/// The set of unspent outputs after the last settled block.
pub struct LedgerSet {
    set: Mutex<Set>,
    folder: PathBuf,
    log: Arc<Log>,
    /// Slots between snapshots.
    snapshot_slots: u64,
    on_disk: bool,
    fault: OnceLock<String>,
}

struct Set {
    store: Box<dyn Store>,
    tip: Tip,
    /// Slot of the last snapshot.
    snapshot_slot: u64,
}

impl LedgerSet {
    /// Opens the set of a database folder; fills it from the genesis where it isn't there yet.
    ///
    /// # Errors
    /// It can't be read or written, is damaged, or belongs to another genesis or another version.
    pub fn open(database: &Path, backend: Backend, genesis: &Genesis, log: &Arc<Log>, snapshot_slots: u64) -> Result<Arc<Self>, NodeError> {
        let folder = database.join("ledger").join(backend.name());
        let store = if backend.is_on_disk { open_on_disk(&folder, backend, genesis)? } else { filled(&folder, backend, genesis)? };
        let tip = store.tip().unwrap_or(AT_GENESIS);
        let set = Mutex::new(Set { store, tip, snapshot_slot: tip.slot });
        Ok(Arc::new(Self { set, folder, log: Arc::clone(log), snapshot_slots, on_disk: backend.is_on_disk, fault: OnceLock::new() }))
    }

    /// The last block that was taken in; None where the set is that of the genesis.
    pub fn tip(&self) -> Option<SettledTip> {
        let tip = self.lock().tip;
        (tip.hash != ORIGIN).then_some(SettledTip { slot: tip.slot, hash: tip.hash })
    }

    /// The error of a set that isn't what the chain makes it.
    pub fn damaged(&self, what: impl Into<String>, expected: &str) -> NodeError {
        NodeError::content(
            &self.folder,
            what.into(),
            format!("{expected}. Remove the folder: it is then made anew, from the genesis and the chain"),
        )
    }

    /// Checks that all operations so far were done. An output that couldn't be read was treated as missing: what was decided since the last check
    /// must then be thrown away.
    ///
    /// # Errors
    /// One wasn't.
    pub fn sound(&self) -> Result<(), NodeError> {
        match self.fault.get() {
            None => Ok(()),
            Some(reason) => Err(NodeError::Set { path: self.folder.clone(), reason: reason.clone() }),
        }
    }

    /// Makes the set durable: a snapshot. Nothing for a set in memory.
    pub fn snapshot(&self) {
        let mut set = self.lock();
        if !self.on_disk || set.tip == AT_GENESIS || self.fault.get().is_some() {
            return;
        }
        let text = format!("RealPoint (SlotNo {}) {}", set.tip.slot, hex::encode(set.tip.hash));
        let line = |time| self.log.line(forms::TookSnapshot { time, snapshot: Snapshot, tip: text.as_bytes() });
        line(EnclosedTime::Begin);
        let begin = Instant::now();
        let tip = set.tip;
        if self.done(set.store.flush(Some(tip))).is_some() {
            set.snapshot_slot = tip.slot;
            line(EnclosedTime::End(begin.elapsed().as_secs_f64()));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Set> {
        self.set.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The result of an operation; None where it failed, which is noted.
    fn done<T>(&self, result: Result<T, StoreError>) -> Option<T> {
        result.map_err(|error| self.fault.get_or_init(|| error.0)).ok()
    }
}

impl Outputs for LedgerSet {
    fn get(&self, place: &Place) -> Option<Entry> {
        let found = self.lock().store.get(&place::Place::new(&place.0, place.1)?);
        self.done(found).flatten()
    }

    fn count(&self) -> u64 {
        self.lock().store.entries()
    }

    fn each(&self, take: &mut dyn FnMut(Place, &[u8])) {
        let done = self.lock().store.each(&mut |place, entry| {
            if let Some((id, index)) = place.split_first_chunk::<32>()
                && let Ok(index) = index.try_into()
            {
                take((*id, u64::from(u16::from_be_bytes(index))), entry);
            }
        });
        self.done(done);
    }

    fn settle(&self, tip: SettledTip, changes: SettledChanges) {
        let of = |(id, index): &Place| place::Place::new(id, *index);
        let mut set = self.lock();
        let made = changes.made.into_iter().filter_map(|(place, entry)| Some((of(&place)?, entry))).collect();
        set.store.apply(Changes { spent: changes.spent.iter().filter_map(of).collect(), made });
        set.tip = Tip { slot: tip.slot, hash: tip.hash };
        let tip = set.tip;
        let written = set.store.write(tip);
        let due = tip.slot >= set.snapshot_slot.saturating_add(self.snapshot_slots);
        drop(set);
        if self.done(written).is_some() && due {
            self.snapshot();
        }
    }
}

/// A set on disk, which is made where it isn't there or wasn't made whole.
fn open_on_disk(folder: &Path, backend: Backend, genesis: &Genesis) -> Result<Box<dyn Store>, NodeError> {
    let expected =
        MadeOf { schema: SCHEMA, store: backend.name().to_owned(), library: backend.library(), genesis: hex::encode(genesis.hash) };
    let marker = folder.join("made-of.json");
    let found = match fs::read(&marker) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(NodeError::read(&marker)(error)),
    };
    let remedy = "Remove the folder: it is then made anew, from the genesis and the chain";
    let place = folder.join("set");
    if let Some(found) = found {
        let found: MadeOf = serde_json::from_slice(&found)
            .map_err(|error| NodeError::content(&marker, error, format!("what a set is made of. {remedy}")))?;
        if found.genesis != expected.genesis {
            let what = format!("a set of unspent outputs of another bed, whose genesis has the hash {}", found.genesis);
            return Err(NodeError::content(folder, what, format!("{}. {remedy}", expected.genesis)));
        }
        if found != expected {
            let what = format!("a set of unspent outputs of version {} by {} ({})", found.schema, found.store, found.library);
            return Err(NodeError::content(
                folder,
                what,
                format!("version {SCHEMA} by {} ({}). {remedy}", expected.store, expected.library),
            ));
        }
        if !place.is_dir() {
            return Err(NodeError::content(folder, "no folder 'set'", format!("one. {remedy}")));
        }
        let store = backend
            .open(&place)
            .map_err(|error| NodeError::content(folder, reason(error), format!("a whole set. Check that the disk isn't full. {remedy}")))?;
        if store.tip().is_none() {
            return Err(NodeError::content(folder, "a set without its place in the chain", format!("a whole set. {remedy}")));
        }
        return Ok(store);
    }
    // What is there without a marker wasn't made whole.
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(NodeError::write(folder))?;
    }
    fs::create_dir_all(&place).map_err(NodeError::write(folder))?;
    let store = filled(&place, backend, genesis)?;
    let partial = folder.join("made-of.json.partial");
    let text = serde_json::to_vec(&expected).expect("JSON of texts");
    fs::write(&partial, text).and_then(|()| fs::rename(&partial, &marker)).map_err(NodeError::write(&marker))?;
    Ok(store)
}

/// The reason why a set can't be opened.
fn reason(error: ReplayError) -> String {
    match error {
        ReplayError::Store { reason, .. } | ReplayError::Unopened { reason, .. } | ReplayError::Damaged { what: reason, .. } => reason,
        other => other.to_string(),
    }
}

/// A new set, with the outputs of a genesis.
fn filled(folder: &Path, backend: Backend, genesis: &Genesis) -> Result<Box<dyn Store>, NodeError> {
    let error = |reason: String| NodeError::Set { path: folder.to_path_buf(), reason };
    let mut store = backend.open(folder).map_err(|failed| error(reason(failed)))?;
    let mut outputs = genesis.outputs().map(|(id, entry)| (place::Place::new(&id, 0).expect("an index of 0"), entry));
    store.fill(&mut outputs, AT_GENESIS).map_err(|failed| error(failed.0))?;
    genesis.sound()?;
    Ok(store)
}
