//! Look-ups of a batch by several threads: reads from a disk wait side by side.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use crate::place::Place;
use crate::store::{Entry, Reader, Store, StoreError};

/// Values found at places, in their order.
pub type Found = Vec<Option<Entry>>;

/// A stretch of the places of a batch, and where it begins.
struct Asked {
    places: Arc<[Place]>,
    from: usize,
    to: usize,
}

type Answer = Result<(usize, Found), StoreError>;

/// Threads that look places up, each with a reader of its own.
pub struct Lookups {
    threads: Vec<(Sender<Asked>, JoinHandle<()>)>,
    answers: Receiver<Answer>,
    /// Answers that are to come, and how many places were asked for.
    waiting: usize,
    places: usize,
}

impl Lookups {
    /// So many threads over a store; None where it has no readers: what is in memory waits for nothing.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn start(store: &dyn Store, threads: usize) -> Result<Option<Self>, StoreError> {
        let (answer, answers) = channel();
        let mut started = Vec::new();
        for _ in 0..threads.max(1) {
            let Some(reader) = store.reader()? else { return Ok(None) };
            let (ask, asked) = channel();
            let answer = answer.clone();
            started.push((ask, std::thread::spawn(move || look_up_all(reader, &asked, &answer))));
        }
        Ok(Some(Self { threads: started, answers, waiting: 0, places: 0 }))
    }

    /// Begins to look up places, in the set as the last write left it or as one that is going on will. Answers to what was asked before were taken.
    pub fn ask(&mut self, places: &[Place]) {
        let (all, each) = (Arc::<[Place]>::from(places), places.len().div_ceil(self.threads.len()).max(1));
        (self.waiting, self.places) = (0, places.len());
        for ((ask, _), from) in self.threads.iter().zip((0..places.len()).step_by(each)) {
            let to = places.len().min(from + each);
            // A thread that is gone has left its error among the answers.
            self.waiting += usize::from(ask.send(Asked { places: all.clone(), from, to }).is_ok());
        }
    }

    /// Waits for the answers.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn answers(&mut self) -> Result<Found, StoreError> {
        let mut found = vec![None; self.places];
        for _ in 0..std::mem::take(&mut self.waiting) {
            let gone = || StoreError("a thread that reads it ended".to_owned());
            let (from, entries) = self.answers.recv().map_err(|_| gone())??;
            found[from..from + entries.len()].clone_from_slice(&entries);
        }
        Ok(found)
    }
}

impl Drop for Lookups {
    fn drop(&mut self) {
        for (ask, thread) in self.threads.drain(..) {
            drop(ask);
            drop(thread.join());
        }
    }
}

fn look_up_all(mut reader: Box<dyn Reader>, asked: &Receiver<Asked>, answer: &Sender<Answer>) {
    for Asked { places, from, to } in asked {
        let found = reader.renew().and_then(|()| places[from..to].iter().map(|place| reader.get(place)).collect());
        if answer.send(found.map(|found| (from, found))).is_err() {
            return;
        }
    }
}
