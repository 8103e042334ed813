//! A store alone: the batches of [`crate::batches`] done on it, each with a clock at hand.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Instant;

use serde::Serialize;

use crate::batches::{Batch, Batches, OF_A_BATCH};
use crate::error::ReplayError;
use crate::lookups::{Found, Lookups};
use crate::place::Place;
use crate::resources::{Counters, Used, page_cache_bytes};
use crate::store::{Backend, Entry, Store, StoreError, Tip};

/// Batches between two looks at the page cache.
const LOOK_EVERY: u64 = 128;

/// Deleted keys that are looked for in the end, at least.
const DELETED_LOOKED_FOR: u64 = 20_000;

/// The work on a store.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The store.
    pub backend: Backend,
    /// An empty folder for it.
    pub state: PathBuf,
    /// Entries before the first batch.
    pub entries: u64,
    /// Batches, of which there are at most [`Batches::most`].
    pub batches: u64,
    /// True where look-ups of a batch go on while the changes of the one before are written.
    pub pipelined: bool,
    /// Threads that look up; a store in memory has none.
    pub readers: usize,
    /// Seed of all keys, values and batches.
    pub seed: u64,
    /// True where the process is alone in its control group, so that the group's page cache is its own.
    pub grouped: bool,
}

/// Times of a batch, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Times {
    /// From the moment when its keys are asked for to that when its changes are written.
    pub latency_ns: u64,
    /// Waiting for its look-ups. In pipelined work, what of them isn't done when the batch before is written.
    pub lookups_ns: u64,
    /// Its inserts and deletes: taking them in and writing them.
    pub updates_ns: u64,
}

/// Times and resources of the work as a whole.
#[derive(Clone, Debug, Serialize)]
pub struct Done {
    /// Filling the set, in ns.
    pub load_ns: u64,
    /// From the first batch to the last, in ns. Making the next keys and comparing what was found are in it.
    pub elapsed_ns: u64,
    /// Entries in the end.
    pub entries: u64,
    /// Bytes that the set takes on disk; None where it isn't on disk.
    pub disk_bytes: Option<u64>,
    /// The largest part of the page cache that its control group had, as it was seen; None where it isn't alone in one.
    pub page_cache_bytes: Option<u64>,
    /// Resources from before the first batch to after the last one.
    #[serde(flatten)]
    pub used: Used,
}

/// Fills a store and does the batches on it; `each` is given the times of every batch.
///
/// # Errors
/// The store can't be used, `each` fails, or an answer is wrong.
pub fn work(settings: &Settings, each: &mut dyn FnMut(Times) -> Result<(), ReplayError>) -> Result<Done, ReplayError> {
    let at = |error: StoreError| error.at(&settings.state);
    let mut store = settings.backend.open(&settings.state)?;
    let load = Instant::now();
    store.fill(&mut Batches::new(settings.entries, settings.seed).first(), tip(0)).map_err(at)?;
    let load_ns = load.elapsed().as_nanos() as u64;
    let mut doing = Doing::start(settings, store.as_mut()).map_err(at)?;
    let counters = Counters::begin();
    let mut cached = None;
    let begin = Instant::now();
    for number in 1..=settings.batches {
        let times = doing.batch(number)?;
        each(times)?;
        if settings.grouped && (number % LOOK_EVERY == 0 || number == settings.batches) {
            cached = cached.max(page_cache_bytes());
        }
    }
    let elapsed_ns = begin.elapsed().as_nanos() as u64;
    let used = counters.used();
    drop(doing);
    let entries = store.entries();
    right(settings, entries == settings.entries, || format!("it counts {entries} entries"))?;
    look_for_deleted(settings, store.as_mut())?;
    Ok(Done { load_ns, elapsed_ns, entries, disk_bytes: store.disk_bytes(), page_cache_bytes: cached, used })
}

/// The tip after a batch, from 1; 0 is that of the filled set.
pub fn tip(batch: u64) -> Tip {
    Tip { slot: batch, hash: [0; 32] }
}

/// The state from batch to batch.
struct Doing<'w> {
    settings: &'w Settings,
    store: &'w mut dyn Store,
    lookups: Option<Lookups>,
    batches: Batches,
    /// In pipelined work, the batch whose look-ups are going on, and when they were asked for.
    ahead: Option<(Batch, Instant)>,
    /// In pipelined work, the changes of the batch before: what its snapshot may lack.
    before: HashMap<Place, Option<Entry>>,
}

impl<'w> Doing<'w> {
    fn start(settings: &'w Settings, store: &'w mut dyn Store) -> Result<Self, StoreError> {
        let lookups = Lookups::start(store, settings.readers)?;
        let batches = Batches::new(settings.entries, settings.seed);
        Ok(Self { settings, store, lookups, batches, ahead: None, before: HashMap::new() })
    }

    /// Does a batch, and gives its times.
    fn batch(&mut self, number: u64) -> Result<Times, ReplayError> {
        let at = |error: StoreError| error.at(&self.settings.state);
        let (batch, asked) = match self.ahead.take() {
            Some(ahead) => ahead,
            None => self.ask().map_err(at)?,
        };
        let waiting = Instant::now();
        let found = self.answers(&batch).map_err(at)?;
        let lookups = waiting.elapsed();
        let wrong = batch.wanted.iter().zip(&found).find(|(number, found)| found.as_ref() != Some(&self.batches.value(**number)));
        right(self.settings, wrong.is_none(), || {
            let answer = if wrong.is_some_and(|(_, found)| found.is_none()) { "isn't there" } else { "has another value" };
            format!("batch {number}: a key that was inserted and not deleted {answer}")
        })?;
        // A store that nothing reads from beside has its next look-ups when this batch is done.
        if self.settings.pipelined && self.lookups.is_some() && number < self.settings.batches {
            self.before = batch.made.iter().map(|(place, entry)| (*place, Some(entry.clone()))).collect();
            self.before.extend(batch.places.iter().map(|place| (*place, None)));
            self.ahead = Some(self.ask().map_err(at)?);
        }
        let changes = batch.changes();
        let updating = Instant::now();
        self.store.apply(changes);
        self.store.write(tip(number)).map_err(at)?;
        let updates = updating.elapsed();
        let latency = if self.settings.pipelined { asked.elapsed() } else { lookups + updates };
        let [latency_ns, lookups_ns, updates_ns] = [latency, lookups, updates].map(|time| time.as_nanos() as u64);
        Ok(Times { latency_ns, lookups_ns, updates_ns })
    }

    /// Makes the next batch, and asks for its keys where threads look them up.
    fn ask(&mut self) -> Result<(Batch, Instant), StoreError> {
        let mut batch = Batch::default();
        self.batches.next(&mut batch);
        let asked = Instant::now();
        if let Some(lookups) = &mut self.lookups {
            lookups.ask(&batch.places);
        }
        Ok((batch, asked))
    }

    /// Values at the batch's keys, put right by the changes that its look-ups may have been too early for.
    fn answers(&mut self, batch: &Batch) -> Result<Found, StoreError> {
        let Some(lookups) = &mut self.lookups else {
            return batch.places.iter().map(|place| self.store.get(place)).collect();
        };
        let mut found = lookups.answers()?;
        for (place, found) in batch.places.iter().zip(&mut found) {
            if let Some(change) = self.before.get(place) {
                found.clone_from(change);
            }
        }
        Ok(found)
    }
}

/// Looks for keys of batches over the whole of the work, all of which were deleted.
fn look_for_deleted(settings: &Settings, store: &mut dyn Store) -> Result<(), ReplayError> {
    let every = (settings.batches * OF_A_BATCH / DELETED_LOOKED_FOR).max(1);
    let (mut batches, mut batch, mut back, mut looked) = (Batches::new(settings.entries, settings.seed), Batch::default(), 0u64, 0u64);
    for number in 0..settings.batches {
        batches.next(&mut batch);
        if number % every == 0 {
            for place in &batch.places {
                looked += 1;
                back += u64::from(store.get(place).map_err(|error| error.at(&settings.state))?.is_some());
            }
        }
    }
    right(settings, back == 0, || format!("{back} of {looked} deleted keys are there again"))
}

fn right(settings: &Settings, is: bool, what: impl FnOnce() -> String) -> Result<(), ReplayError> {
    if is { Ok(()) } else { Err(ReplayError::Wrong { store: settings.backend.name(), what: what() }) }
}
