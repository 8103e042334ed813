//! The queue of the core: events of neighbours and local clients, and behind them those of all others.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::core::Event;

/// The rank by which events are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// Neighbours of the topology, local clients, and the node itself.
    First,
    /// All others.
    Later,
}

/// The sender of events; copies of it share the queues. Events of one rank stay in their order.
#[derive(Clone, Default)]
pub struct Events(Arc<Shared>);

#[derive(Default)]
struct Shared {
    queues: Mutex<Queues>,
    filled: Condvar,
}

#[derive(Default)]
struct Queues {
    first: VecDeque<Event>,
    later: VecDeque<Event>,
}

impl Events {
    /// Adds an event.
    pub fn send(&self, rank: Rank, event: Event) {
        let mut queues = self.lock();
        match rank {
            Rank::First => queues.first.push_back(event),
            Rank::Later => queues.later.push_back(event),
        }
        self.0.filled.notify_one();
    }

    /// The next event; waits for one as long as `wait` gives, which is only asked where there is none.
    pub fn next(&self, wait: impl FnOnce() -> Duration) -> Option<Event> {
        if let Some(event) = self.lock().pop() {
            return Some(event);
        }
        let empty = |queues: &mut Queues| queues.first.is_empty() && queues.later.is_empty();
        let waited = self.0.filled.wait_timeout_while(self.lock(), wait(), empty);
        waited.unwrap_or_else(PoisonError::into_inner).0.pop()
    }

    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.0.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queues {
    fn pop(&mut self) -> Option<Event> {
        self.first.pop_front().or_else(|| self.later.pop_front())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_neighbours_come_before_those_of_others() {
        let events = Events::default();
        assert!(events.next(|| Duration::ZERO).is_none());
        for peer in 0..4 {
            events.send(if peer % 2 == 0 { Rank::Later } else { Rank::First }, Event::Disconnected(peer));
        }
        let order: Vec<u32> = (0..4)
            .map(|_| match events.next(|| panic!("there are events")) {
                Some(Event::Disconnected(peer)) => peer,
                _ => panic!("an event"),
            })
            .collect();
        assert_eq!(order, [1, 3, 0, 2]);
    }
}
