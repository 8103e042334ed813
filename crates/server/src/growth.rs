//! A chain that grows while it is served, as that of a node at its tip.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Interval at which a connection looks whether the chain has grown.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(2);
/// Blocks that a roll-backward takes off.
const ROLLED_BACK: usize = 2;

/// The pace at which a chain grows.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Blocks that are there from the beginning, at least 1.
    pub from: usize,
    /// Time between two blocks.
    pub every: Duration,
    /// After how many blocks the chain rolls back by two, which then come again; None for never.
    pub roll_back_every: Option<u64>,
}

/// The part of a chain that is there already.
pub(super) struct Growth(Mutex<State>);

struct State {
    blocks: usize,
    /// The most that there ever were.
    most: usize,
    released: u64,
    /// The number of blocks left by each roll-backward, in order.
    rolled_back: Vec<usize>,
}

impl Growth {
    pub(super) fn new(from: usize) -> Self {
        Self(Mutex::new(State { blocks: from, most: from, released: 0, rolled_back: Vec::new() }))
    }

    /// Returns the number of blocks that are there.
    pub(super) fn blocks(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).blocks
    }

    /// Returns the highest number of blocks so far: a node keeps those that it rolled back, and serves them.
    pub(super) fn most(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).most
    }

    /// Returns the number of roll-backwards so far, and the fewest blocks that any after the first `seen` left.
    pub(super) fn lowest_after(&self, seen: usize) -> (usize, Option<usize>) {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (state.rolled_back.len(), state.rolled_back.get(seen..).and_then(|later| later.iter().copied().min()))
    }

    /// Takes one step: a block more, or a roll-backward. False where all blocks of the chain are there.
    pub(super) fn step(&self, pace: &Pace, chain: usize) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let due = pace.roll_back_every.is_some_and(|every| state.released > 0 && state.released.is_multiple_of(every));
        if due && state.blocks > pace.from + ROLLED_BACK {
            state.blocks -= ROLLED_BACK;
            let left = state.blocks;
            state.rolled_back.push(left);
        }
        if state.blocks == chain {
            return false;
        }
        state.blocks += 1;
        state.most = state.most.max(state.blocks);
        state.released += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_grows_to_its_end_and_rolls_back_on_the_way() {
        let growth = Growth::new(1);
        let pace = Pace { from: 1, every: Duration::ZERO, roll_back_every: Some(4) };
        let (mut seen, mut most) = (Vec::new(), 1);
        while growth.step(&pace, 9) {
            seen.push(growth.blocks());
            most = most.max(growth.blocks());
            assert_eq!(growth.most(), most);
        }
        // Four blocks, two taken off, and so on: two steps forward each time.
        assert_eq!(seen, [2, 3, 4, 5, 4, 5, 6, 7, 6, 7, 8, 9, 8, 9]);
        assert_eq!(growth.lowest_after(0), (3, Some(3)));
        assert_eq!(growth.lowest_after(1), (3, Some(5)));
        assert_eq!(growth.lowest_after(3), (3, None));
    }
}
