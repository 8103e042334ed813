//! Proof of a store: its answers are those of a map, also while it merges what it has, from its snapshots, and after its process was killed.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::alone::tip;
use crate::batches::{Batch, Batches, mixed};
use crate::changes::Changes;
use crate::error::ReplayError;
use crate::place::Place;
use crate::store::{Backend, Entry, Reader, Store, StoreError};

/// Changes of a batch, and look-ups.
const OF_A_BATCH: u64 = 64;

/// Parts of the work, after each of which the store merges what it has.
const PARTS: u64 = 16;

/// Keys that a snapshot is asked for.
const ASKED_OF_A_SNAPSHOT: u64 = 200;

/// Batches of the work in which processes are killed, the entries before them, and how many are done at most between two kills.
const BATCHES: u64 = 400;
const ENTRIES: u64 = 102_400;
const BETWEEN_KILLS: u64 = 90;

/// A proof that is asked for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The store.
    pub backend: Backend,
    /// An empty folder.
    pub state: PathBuf,
    /// Look-ups, inserts and deletes, together.
    pub operations: u64,
    /// Processes that are killed; a store in memory has nothing to show afterwards.
    pub kills: u64,
    /// Seed of all that is drawn.
    pub seed: u64,
    /// A program that takes what [`keep_on`] takes, as `batches --backend … --state … --seed …`.
    pub program: PathBuf,
}

/// A fault of a store, in words; or a failure to use it.
#[derive(Debug)]
enum Fault {
    Wrong(String),
    Store(StoreError),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

fn right(is: bool, what: impl FnOnce() -> String) -> Result<(), Fault> {
    if is { Ok(()) } else { Err(Fault::Wrong(what())) }
}

/// Proves a store.
///
/// # Errors
/// It gives a wrong answer, or it can't be used.
pub fn prove(settings: &Settings) -> Result<(), ReplayError> {
    let failed = |fault, path: &Path| match fault {
        Fault::Wrong(what) => ReplayError::Wrong { store: settings.backend.name(), what },
        Fault::Store(error) => error.at(path),
    };
    let answers = settings.state.join("answers");
    let open = || settings.backend.open(&answers).map_err(|error| Fault::Store(StoreError(error.to_string())));
    same_answers(&open, settings.backend, settings.operations, settings.seed).map_err(|fault| failed(fault, &answers))?;
    if settings.backend.is_on_disk && settings.kills > 0 {
        let killed = settings.state.join("killed");
        kill(settings, &killed).map_err(|fault| failed(fault, &killed))?;
    }
    Ok(())
}

/// A map to compare with: which value each key has, 0 for none. A key that comes back has another value.
struct Model {
    seed: u64,
    values: Vec<u32>,
    drawn: u64,
}

impl Model {
    fn draw(&mut self, below: u64) -> u64 {
        self.drawn += 1;
        mixed(self.seed, self.drawn, 0) % below
    }

    fn key(&mut self) -> usize {
        self.draw(self.values.len() as u64) as usize
    }

    fn place(&self, key: usize) -> Place {
        let mut bytes = [0; 34];
        let (words, _) = bytes[..32].as_chunks_mut::<8>();
        (1..).zip(words).for_each(|(place, word)| *word = mixed(self.seed, key as u64, place).to_be_bytes());
        Place(bytes)
    }

    /// The value of a key; its length follows from it too.
    fn entry(&self, key: usize) -> Option<Entry> {
        let value = self.values[key];
        let bytes = mixed(self.seed, key as u64, u64::from(value) + 9).to_be_bytes();
        (value > 0).then(|| bytes.iter().copied().cycle().take(40 + usize::from(bytes[0]) % 60).collect())
    }

    /// The changes of a batch, each of another key.
    fn changes(&mut self, batch: u32) -> Changes {
        let mut changes = Changes::default();
        let mut keys: Vec<usize> = (0..OF_A_BATCH).map(|_| self.key()).collect();
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let place = self.place(key);
            if self.values[key] > 0 {
                self.values[key] = 0;
                changes.spent.insert(place);
            } else {
                self.values[key] = batch;
                changes.made.push((place, self.entry(key).expect("a value")));
            }
        }
        changes
    }

    fn entries(&self) -> u64 {
        self.values.iter().filter(|value| **value > 0).count() as u64
    }

    /// The set of the map, in the store that is in memory.
    fn in_memory(&self) -> Result<Box<dyn Store>, Fault> {
        let outputs = (0..self.values.len()).filter_map(|key| Some((self.place(key), self.entry(key)?)));
        in_memory(Changes { made: outputs.collect(), ..Changes::default() })
    }
}

fn in_memory(changes: Changes) -> Result<Box<dyn Store>, Fault> {
    let memory = <Backend as clap::ValueEnum>::value_variants().iter().find(|backend| !backend.is_on_disk).expect("a store in memory");
    let mut store = memory.open(Path::new("")).map_err(|error| StoreError(error.to_string()))?;
    store.apply(changes);
    Ok(store)
}

/// A reader with a snapshot of a store, and the answers that it must give for as long as it is there.
struct Snapshot {
    reader: Box<dyn Reader>,
    answers: Vec<(Place, Option<Entry>)>,
}

/// Does what is drawn with a store and with a map, and compares all answers.
fn same_answers(open: &dyn Fn() -> Result<Box<dyn Store>, Fault>, kind: Backend, operations: u64, seed: u64) -> Result<(), Fault> {
    let batches = (operations / (2 * OF_A_BATCH)).max(PARTS);
    let keys = (operations / 8).max(1_000) as usize;
    let mut model = Model { seed, values: vec![0; keys], drawn: 0 };
    let mut store = open()?;
    let mut reader = store.reader()?;
    let mut snapshot: Option<Snapshot> = None;
    for batch in 1..=batches {
        store.apply(model.changes(batch as u32));
        store.write(tip(batch))?;
        for number in 0..OF_A_BATCH {
            let key = model.key();
            let found = match &mut reader {
                Some(reader) if batch % 2 == 0 => {
                    if number == 0 {
                        reader.renew()?;
                    }
                    reader.get(&model.place(key))?
                }
                _ => store.get(&model.place(key))?,
            };
            right(found == model.entry(key), || differs(found.as_ref(), model.entry(key).as_ref(), batch))?;
        }
        if batch % (batches / PARTS) == 0 {
            store.compact()?;
            if let Some(before) = snapshot.take() {
                for (place, answer) in before.answers {
                    let found = before.reader.get(&place)?;
                    right(found == answer, || format!("a snapshot changed: {}", differs(found.as_ref(), answer.as_ref(), batch)))?;
                }
            }
            if kind.has_snapshots {
                let keys: Vec<usize> = (0..ASKED_OF_A_SNAPSHOT).map(|_| model.key()).collect();
                let answers = keys.into_iter().map(|key| (model.place(key), model.entry(key))).collect();
                snapshot = store.reader()?.map(|reader| Snapshot { reader, answers });
            }
        }
    }
    drop((snapshot, reader));
    let expected = model.in_memory()?.digest()?;
    right(store.entries() == model.entries(), || format!("it counts {} entries, expected {}", store.entries(), model.entries()))?;
    store.flush(Some(tip(batches)))?;
    right(store.digest()? == expected, || "all that it has isn't what was done to it".to_owned())?;
    if kind.is_on_disk {
        drop(store);
        let store = open()?;
        right(store.tip() == Some(tip(batches)), || format!("opened again, it is after another batch: {:?}", store.tip()))?;
        right(store.digest()? == expected, || "opened again, it has something else".to_owned())?;
    }
    Ok(())
}

fn differs(found: Option<&Entry>, expected: Option<&Entry>, batch: u64) -> String {
    let what = match (found, expected) {
        (Some(_), None) => "a key that was deleted, or never inserted, is there",
        (None, Some(_)) => "a key that was inserted isn't there",
        _ => "a key has another value",
    };
    format!("after batch {batch}, {what}")
}

/// Does the batches of a store that is to be killed: goes on behind the last one that it has, and gives the number of each that is done.
///
/// # Errors
/// The store can't be used.
pub fn keep_on(backend: Backend, state: &Path, seed: u64, done: &mut dyn FnMut(u64)) -> Result<(), ReplayError> {
    let mut store = backend.open(state)?;
    let at = |error: StoreError| error.at(state);
    let mut work = Batches::new(ENTRIES, seed);
    if store.tip().is_none() {
        store.fill(&mut work.first(), tip(0)).map_err(at)?;
    }
    let first = store.tip().map_or(0, |tip| tip.slot);
    let mut batch = Batch::default();
    for number in 1..=BATCHES {
        work.next(&mut batch);
        if number <= first {
            continue;
        }
        store.apply(batch.changes());
        store.write(tip(number)).map_err(at)?;
        done(number);
        if number.is_multiple_of(BETWEEN_KILLS / 2) {
            store.compact().map_err(at)?;
        }
    }
    Ok(())
}

/// Kills processes that change a store, and looks at what they leave.
fn kill(settings: &Settings, state: &Path) -> Result<(), Fault> {
    let failed = |error: std::io::Error| StoreError(format!("{}: {error}", settings.program.display()));
    let (mut work, mut batch, mut after, mut expected) = (Batches::new(ENTRIES, settings.seed), Batch::default(), 0, None);
    for kill in 1..=settings.kills {
        if after == BATCHES {
            std::fs::remove_dir_all(state).map_err(failed)?;
            (work, after, expected) = (Batches::new(ENTRIES, settings.seed), 0, None);
        }
        let mut process = Command::new(&settings.program)
            .args(["batches", "--backend", settings.backend.name(), "--seed", &settings.seed.to_string(), "--state"])
            .arg(state)
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let mut lines = BufReader::new(process.stdout.take().expect("a pipe"));
        let wanted = 1 + mixed(settings.seed, kill, 1) % BETWEEN_KILLS;
        let mut printed = String::new();
        for _ in 0..wanted {
            if lines.read_line(&mut printed).map_err(failed)? == 0 {
                break;
            }
        }
        process.kill().map_err(failed)?;
        lines.read_to_string(&mut printed).map_err(failed)?;
        process.wait().map_err(failed)?;
        // The last line may be cut: a number that is cut is smaller.
        let finished = printed.lines().filter_map(|line| line.parse().ok()).max().unwrap_or(after);
        let mut store = settings.backend.open(state).map_err(|error| StoreError(format!("opened after a kill: {error}")))?;
        let memory = match &mut expected {
            Some(memory) => memory,
            None => expected.insert(in_memory(Changes { made: work.first().collect(), ..Changes::default() })?),
        };
        let mut advance = |batches: u64, memory: &mut Box<dyn Store>| {
            for _ in 0..batches {
                work.next(&mut batch);
                memory.apply(batch.changes());
            }
        };
        let found = after_a_kill(store.as_ref(), finished)?;
        advance(found - after, memory);
        after = found;
        right(store.digest()? == memory.digest()?, || {
            format!("killed after batch {finished}, it has something else than batch {after} left")
        })?;
        store.compact()?;
        right(store.digest()? == memory.digest()?, || "what a kill left was merged to something else".to_owned())?;
    }
    Ok(())
}

/// Returns the batch after which a killed process left a store, which must be the last one that it finished or the one that it was at.
fn after_a_kill(store: &dyn Store, finished: u64) -> Result<u64, Fault> {
    let found = store.tip().map(|tip| tip.slot);
    right(found.is_some_and(|found| (finished..=finished + 1).contains(&found)), || {
        let found = found.map_or_else(|| "nothing".to_owned(), |found| format!("batch {found}"));
        format!("killed after batch {finished}, it has {found} as the last one")
    })?;
    Ok(found.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::{Arc, Mutex};

    use clap::ValueEnum as _;

    use super::*;
    use crate::store::Tip;

    /// Faults of a store that is otherwise right.
    #[derive(Clone, Copy, Debug)]
    enum Planted {
        Nothing,
        DeletedComesBack,
        LosesOne,
        OldValue,
        SnapshotChanges,
        LosesAll,
    }

    /// A store in memory with a fault.
    struct Faulty {
        store: Box<dyn Store>,
        planted: Planted,
        deleted: Vec<(Place, Entry)>,
        /// The set as it is, which its readers have.
        read: Arc<Mutex<HashMap<Place, Entry>>>,
    }

    impl Store for Faulty {
        fn get(&mut self, place: &Place) -> Result<Option<Entry>, StoreError> {
            self.store.get(place)
        }

        fn apply(&mut self, mut changes: Changes) {
            for place in changes.spent.iter().take(1) {
                self.deleted.extend(self.store.get(place).unwrap().map(|entry| (*place, entry)));
            }
            if matches!(self.planted, Planted::LosesOne) {
                changes.made.pop();
            }
            if let (Planted::OldValue, Some((_, entry))) = (self.planted, changes.made.last_mut()) {
                *entry = Entry::from([7]);
            }
            let mut read = self.read.lock().unwrap();
            read.retain(|place, _| !changes.spent.contains(place));
            read.extend(changes.made.clone());
            drop(read);
            self.store.apply(changes);
        }

        fn flush(&mut self, tip: Option<Tip>) -> Result<(), StoreError> {
            self.store.flush(tip)
        }

        fn write(&mut self, tip: Tip) -> Result<(), StoreError> {
            self.store.write(tip)
        }

        fn fill(&mut self, outputs: &mut dyn Iterator<Item = (Place, Entry)>, tip: Tip) -> Result<(), StoreError> {
            self.store.fill(outputs, tip)
        }

        fn compact(&mut self) -> Result<(), StoreError> {
            if matches!(self.planted, Planted::DeletedComesBack) {
                let made = self.deleted.split_off(self.deleted.len().saturating_sub(9));
                self.store.apply(Changes { made, ..Changes::default() });
            }
            Ok(())
        }

        fn reader(&self) -> Result<Option<Box<dyn Reader>>, StoreError> {
            let reads = matches!(self.planted, Planted::SnapshotChanges);
            Ok(reads.then(|| Box::new(AsItIs(self.read.clone())) as Box<dyn Reader>))
        }

        fn tip(&self) -> Option<Tip> {
            match self.planted {
                Planted::LosesAll => None,
                _ => Some(tip(6)),
            }
        }

        fn entries(&self) -> u64 {
            self.store.entries()
        }

        fn disk_bytes(&self) -> Option<u64> {
            None
        }

        fn each(&self, take: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), StoreError> {
            self.store.each(take)
        }
    }

    struct AsItIs(Arc<Mutex<HashMap<Place, Entry>>>);

    impl Reader for AsItIs {
        fn renew(&mut self) -> Result<(), StoreError> {
            Ok(())
        }

        fn get(&self, place: &Place) -> Result<Option<Entry>, StoreError> {
            Ok(self.0.lock().unwrap().get(place).cloned())
        }
    }

    fn memory() -> Backend {
        Backend::from_str("memory", false).expect("a store")
    }

    fn faulty(planted: Planted) -> Box<dyn Store> {
        Box::new(Faulty { store: memory().open(Path::new("")).unwrap(), planted, deleted: Vec::new(), read: Arc::default() })
    }

    fn found(planted: Planted) -> String {
        let mut kind = memory();
        kind.has_snapshots = matches!(planted, Planted::SnapshotChanges);
        match same_answers(&|| Ok(faulty(planted)), kind, 20_000, 5) {
            Ok(()) => String::new(),
            Err(Fault::Wrong(what)) => what,
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn planted_faults_are_found_and_named_and_a_right_store_has_none() {
        assert_eq!(found(Planted::Nothing), "");
        assert!(
            found(Planted::DeletedComesBack).contains("was deleted, or never inserted, is there"),
            "{}",
            found(Planted::DeletedComesBack)
        );
        assert!(found(Planted::LosesOne).contains("a key that was inserted isn't there"));
        assert!(found(Planted::OldValue).contains("another value"));
        assert!(found(Planted::SnapshotChanges).contains("a snapshot changed"));
    }

    #[test]
    fn what_a_kill_left_must_be_the_last_batch_or_the_one_that_went_on() {
        let wrong = |planted, finished| after_a_kill(faulty(planted).as_ref(), finished).is_err();
        assert!([(5, false), (6, false), (4, true), (7, true)].iter().all(|(finished, is)| wrong(Planted::Nothing, *finished) == *is));
        assert!(wrong(Planted::LosesAll, 0));
    }

    #[test]
    fn every_store_gives_the_answers_of_a_map() {
        for backend in Backend::value_variants() {
            let folder = tempfile::tempdir().unwrap();
            let (state, program) = (folder.path().to_path_buf(), PathBuf::new());
            prove(&Settings { backend: *backend, state, operations: 100_000, kills: 0, seed: 3, program }).unwrap();
        }
    }
}
