//! The times at which transactions are due.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use slotmark_synth::load::SignedTransaction;

use crate::record::now_ns;

/// Interval at which a waiting thread checks whether to stop.
const LOOK: Duration = Duration::from_millis(100);
/// Between the making of a schedule with a rate and its first transaction: all connections stand by then.
const LEAD: Duration = Duration::from_millis(500);

/// Transactions in their order, one due each 1/rate seconds.
pub struct Schedule {
    transactions: Vec<SignedTransaction>,
    /// Transactions a second; infinite for all at once.
    rate: f64,
    begin: Instant,
    begin_ns: u64,
    /// The first that was not taken.
    next: Mutex<usize>,
    stop: Arc<AtomicBool>,
}

impl Schedule {
    /// A schedule that begins in half a second, at this many transactions a second; now, and all at once, where `rate` is infinite.
    ///
    /// When `stop` becomes true, those that were not taken are left out.
    pub fn new(transactions: Vec<SignedTransaction>, rate: f64, stop: Arc<AtomicBool>) -> Self {
        let lead = if rate.is_finite() { LEAD } else { Duration::ZERO };
        let begin_ns = now_ns() + lead.as_nanos() as u64;
        Self { transactions, rate, begin: Instant::now() + lead, begin_ns, next: Mutex::new(0), stop }
    }

    /// The transaction at a place.
    pub fn transaction(&self, place: usize) -> &SignedTransaction {
        &self.transactions[place]
    }

    /// Returns the number of transactions.
    pub fn len(&self) -> usize {
        self.transactions.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.transactions.is_empty()
    }

    /// Returns when the transaction at a place is due, in ns since 1970.
    pub fn due_ns(&self, place: usize) -> u64 {
        self.begin_ns + self.after(place).as_nanos() as u64
    }

    /// Returns whether nothing is left to take, for ever.
    pub fn is_over(&self) -> bool {
        let next = *self.next.lock().unwrap_or_else(PoisonError::into_inner);
        next == self.end(next)
    }

    /// Returns how long it has lasted; None before it begins.
    fn elapsed(&self) -> Option<Duration> {
        Instant::now().checked_duration_since(self.begin)
    }

    fn after(&self, place: usize) -> Duration {
        if self.rate.is_finite() { Duration::from_secs_f64(place as f64 / self.rate) } else { Duration::ZERO }
    }

    /// Takes at most this many of those that are due and not taken yet; none where none is.
    pub fn take(&self, most: usize) -> Range<usize> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let (start, end) = (*next, self.end(*next));
        let elapsed = self.elapsed();
        while *next < end && *next - start < most && Some(self.after(*next)) <= elapsed {
            *next += 1;
        }
        start..*next
    }

    /// As [`Schedule::take`], but waits until one is due; None where nothing is left.
    pub fn wait(&self, most: usize) -> Option<Range<usize>> {
        loop {
            let taken = self.take(most);
            if !taken.is_empty() {
                return Some(taken);
            }
            if taken.start == self.end(taken.start) {
                return None;
            }
            thread::sleep((self.begin + self.after(taken.start)).saturating_duration_since(Instant::now()).min(LOOK));
        }
    }

    /// Returns the end of the transactions that may be taken, when the next is this one.
    fn end(&self, next: usize) -> usize {
        if self.stop.load(Ordering::Relaxed) { next } else { self.transactions.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(count: usize, rate: f64) -> Schedule {
        Schedule::new(vec![SignedTransaction { id: [0; 32], action: "value", bytes: Vec::new() }; count], rate, Arc::default())
    }

    #[test]
    fn all_at_once_are_taken_in_order() {
        let schedule = schedule(5, f64::INFINITY);
        assert_eq!(schedule.take(2), 0..2);
        assert_eq!(schedule.wait(10), Some(2..5));
        assert_eq!(schedule.take(10), 5..5);
        assert_eq!(schedule.wait(10), None);
    }

    #[test]
    fn none_is_taken_before_it_is_due() {
        let schedule = schedule(20, 200.0);
        let mut taken = Vec::new();
        while let Some(places) = schedule.wait(3) {
            assert!(places.len() <= 3);
            for place in places {
                assert!(now_ns() + 1_000_000 >= schedule.due_ns(place), "{place}");
                taken.push(place);
            }
        }
        assert_eq!(taken, (0..20).collect::<Vec<_>>());
        assert_eq!(schedule.due_ns(10) - schedule.due_ns(0), 50_000_000);
    }

    #[test]
    fn one_who_waits_goes_on_when_it_is_stopped() {
        let schedule = schedule(2, 1e-6);
        assert_eq!(schedule.wait(1), Some(0..1));
        thread::scope(|scope| {
            let waits = scope.spawn(|| schedule.wait(1));
            schedule.stop.store(true, Ordering::Relaxed);
            assert_eq!(waits.join().unwrap(), None);
        });
    }
}
