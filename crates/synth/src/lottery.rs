//! The leaders of an epoch's slots: every pool draws in every slot, as the protocol has it.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use slotmark_chain::Hash32;
use slotmark_network::Ratio;
use slotmark_network::shelley;
use slotmark_praos::header::Leader;
use slotmark_praos::lottery::{ActiveSlots, Draw, praos_input};
use slotmark_praos::nonce::Nonce;
use slotmark_praos::stake::Distribution;
use slotmark_praos::vrf;

use crate::pools::Pool;

/// Slots that are looked at in one go: enough to keep all cores busy, and few enough for a short chain.
const LEAST_SLOTS: u64 = 16;
const MOST_SLOTS: u64 = 8_192;

/// A slot that a pool leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leadership {
    pub(crate) slot: u64,
    pub(crate) pool: usize,
    /// The VRF's input of the slot, and its output.
    pub(crate) input: Hash32,
    pub(crate) output: vrf::Output,
}

/// The lottery of one epoch.
pub(crate) struct Lottery {
    pools: Arc<Vec<Pool>>,
    shares: Vec<Ratio>,
    active_slots: ActiveSlots,
    nonce: Nonce,
    /// Slots that are still to be looked at.
    slots: Range<u64>,
    found: VecDeque<Leadership>,
}

impl Lottery {
    pub(crate) fn new(pools: &Arc<Vec<Pool>>, stake: &Distribution, active_slots: &ActiveSlots, nonce: Nonce, slots: Range<u64>) -> Self {
        let share = |pool: &Pool| match stake.leader(&pool.id) {
            Leader::Pool(stake) => stake.share,
            _ => Ratio::ZERO,
        };
        let shares = pools.iter().map(share).collect();
        Self { pools: Arc::clone(pools), shares, active_slots: active_slots.clone(), nonce, slots, found: VecDeque::new() }
    }

    /// The next slot that has a leader; None where the epoch has no more. `wanted` more slots are needed, this one included.
    pub(crate) fn next(&mut self, wanted: u64) -> Option<Leadership> {
        while self.found.is_empty() && !self.slots.is_empty() {
            let count = wanted.saturating_mul(shelley::SLOTS_PER_BLOCK).clamp(LEAST_SLOTS, MOST_SLOTS);
            let end = self.slots.end.min(self.slots.start + count);
            let found: Vec<Leadership> = (self.slots.start..end).into_par_iter().filter_map(|slot| self.leader(slot)).collect();
            self.found.extend(found);
            self.slots.start = end;
        }
        self.found.pop_front()
    }

    /// The pool that makes a slot's block: of several that lead it the one with the lowest draw, as chain selection has it.
    fn leader(&self, slot: u64) -> Option<Leadership> {
        let input = praos_input(slot, self.nonce);
        let draw = |(pool, share): (usize, &Ratio)| {
            let output = self.pools[pool].vrf.evaluate(&input);
            let draw = Draw::praos(&output);
            self.active_slots.is_leader(&draw, *share).then_some((draw, Leadership { slot, pool, input, output }))
        };
        let leaders = self.shares.iter().enumerate().filter_map(draw);
        leaders.min_by(|(one, _), (other, _)| one.cmp(other)).map(|(_, leadership)| leadership)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pools::{DELEGATORS, pools};

    #[test]
    fn pools_lead_by_their_stake_and_one_slot_in_twenty_has_a_block() {
        let pools = Arc::new(pools(1, DELEGATORS));
        let stake = Distribution::of_pools(pools.iter().zip([1, 4]).map(|(pool, stake)| (pool.id, (stake, pool.vrf_key_hash()))));
        let active_slots = ActiveSlots::new(Ratio::new(1, shelley::SLOTS_PER_BLOCK).expect("a share"));
        let led = |wanted| {
            let mut lottery = Lottery::new(&pools, &stake, &active_slots, Some([9; 32]), 100..10_100);
            std::iter::from_fn(move || lottery.next(wanted)).collect::<Vec<_>>()
        };
        let found = led(1);
        assert_eq!(found, led(10_000)); // however many slots are looked at in one go
        assert!(found.is_sorted_by(|one, other| one.slot < other.slot));
        assert!((430..570).contains(&found.len()), "{}", found.len()); // 500 expected, standard deviation 22
        let first = found.iter().filter(|led| led.pool == 0).count();
        assert!((65..140).contains(&first), "{first}"); // 100 expected
    }
}
