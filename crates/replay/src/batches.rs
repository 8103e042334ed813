//! The work of the published benchmark of stores: batches of look-ups, inserts and deletes without any locality.
//!
//! Every key and value follows from a number and a seed, so that a process needs no memory for the keys that are there. Keys are as evenly
//! spread as hashes. Those that are there before the first batch have numbers from 0 on, in ascending order of keys: a set is filled
//! in that order. A batch looks up keys that are there, anywhere in the set, deletes the same ones and inserts new ones. No key
//! comes back. Source: bench/macro/utxo-bench.hs of lsm-tree, July 2025.

use crate::changes::Changes;
use crate::place::{PLACE_BYTES, Place};
use crate::store::Entry;

/// Look-ups of a batch, and its inserts, and its deletes: a block of 64 kB with transactions of 512 bytes, 2 inputs and 2 outputs each.
pub const OF_A_BATCH: u64 = 256;

/// Bytes of a value.
pub const VALUE_BYTES: usize = 60;

/// A bijection of the numbers below 2^bits that leaves no order among them.
#[derive(Clone, Copy, Debug)]
struct Shuffle {
    bits: u32,
    factors: [u64; 3],
}

impl Shuffle {
    fn of(least: u64, seed: u64) -> Self {
        let bits = (64 - least.saturating_sub(1).leading_zeros()).max(2);
        // An odd factor has an inverse.
        Self { bits, factors: [1, 2, 3].map(|place| mixed(seed, u64::MAX, place) | 1) }
    }

    fn at(&self, number: u64) -> u64 {
        let mask = u64::MAX >> (64 - self.bits);
        self.factors.iter().fold(number & mask, |at, factor| {
            let at = at.wrapping_mul(*factor) & mask;
            at ^ (at >> self.bits.div_ceil(2))
        })
    }
}

/// SplitMix64's mixing of a seed, a number and a place.
pub(crate) fn mixed(seed: u64, number: u64, place: u64) -> u64 {
    let mut z = seed.wrapping_add(number.wrapping_mul(0xd134_2543_de82_ef95)).wrapping_add(place.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    for factor in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        z = (z ^ (z >> 30)).wrapping_mul(factor);
    }
    z ^ (z >> 31)
}

/// A batch: keys that are there, which it looks up and then deletes, and what it inserts.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Numbers of the keys that it looks up and deletes.
    pub wanted: Vec<u64>,
    /// Their keys.
    pub places: Vec<Place>,
    /// New keys with their values.
    pub made: Vec<(Place, Entry)>,
}

impl Batch {
    /// Its inserts and deletes.
    pub fn changes(&self) -> Changes {
        Changes { spent: self.places.iter().copied().collect(), made: self.made.clone() }
    }
}

/// All batches of a piece of work, one after the other.
#[derive(Clone, Debug)]
pub struct Batches {
    entries: u64,
    seed: u64,
    shuffle: Shuffle,
    drawn: u64,
    made: u64,
}

impl Batches {
    /// The batches on a set of so many entries, up to [`Batches::most`].
    pub fn new(entries: u64, seed: u64) -> Self {
        Self { entries, seed, shuffle: Shuffle::of(2 * entries, seed), drawn: 0, made: 0 }
    }

    /// The largest number of batches for a set of so many entries: no key is looked up twice.
    pub fn most(entries: u64) -> u64 {
        entries / OF_A_BATCH
    }

    /// The entries before the first batch, in ascending order of keys.
    pub fn first(&self) -> impl Iterator<Item = (Place, Entry)> + use<> {
        let this = self.clone();
        (0..self.entries).map(move |number| (this.place(number), this.value(number)))
    }

    /// The key of a number.
    pub fn place(&self, number: u64) -> Place {
        let mut bytes = [0; PLACE_BYTES];
        let (words, _) = bytes[..32].as_chunks_mut::<8>();
        for (place, word) in (1u64..).zip(words.iter_mut()) {
            *word = mixed(self.seed, number, place).to_be_bytes();
        }
        if number < self.entries {
            // Its own stretch of all keys, and a place in it that nothing else depends on.
            let stretch = u64::MAX / self.entries;
            words[0] = (number * stretch + mixed(self.seed, number, 0) % stretch.max(1)).to_be_bytes();
        }
        Place(bytes)
    }

    /// The value of a number.
    pub fn value(&self, number: u64) -> Entry {
        let mut bytes = [0; VALUE_BYTES];
        for (place, word) in (16u64..).zip(bytes.chunks_mut(8)) {
            word.copy_from_slice(&mixed(self.seed, number, place).to_be_bytes()[..word.len()]);
        }
        Entry::from(bytes)
    }

    /// Writes the next batch over another.
    pub fn next(&mut self, batch: &mut Batch) {
        let there = self.entries + self.made;
        batch.wanted.clear();
        while batch.wanted.len() < OF_A_BATCH as usize {
            let number = self.shuffle.at(self.drawn);
            self.drawn += 1;
            // What isn't there yet is passed over for good.
            if number < there {
                batch.wanted.push(number);
            }
        }
        batch.places.clear();
        batch.places.extend(batch.wanted.iter().map(|number| self.place(*number)));
        batch.made.clear();
        batch.made.extend((there..there + OF_A_BATCH).map(|number| (self.place(number), self.value(number))));
        self.made += OF_A_BATCH;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_shuffle_takes_every_number_once() {
        for least in [1, 2, 3, 1_000, 4_097] {
            let shuffle = Shuffle::of(least, 9);
            let all: HashSet<u64> = (0..1 << shuffle.bits).map(|number| shuffle.at(number)).collect();
            assert!(1u64 << shuffle.bits >= least && all.len() == 1 << shuffle.bits && all.iter().all(|one| *one < 1 << shuffle.bits));
        }
    }

    #[test]
    fn a_batch_looks_up_what_is_there_and_nothing_twice_and_inserts_what_is_new() {
        let (entries, batches) = (20_000, Batches::most(20_000));
        let mut work = Batches::new(entries, 7);
        let mut there: HashSet<Place> = work.first().map(|(place, _)| place).collect();
        let (mut batch, mut ever, mut of_new) = (Batch::default(), there.clone(), 0);
        assert_eq!(there.len() as u64, entries);
        for _ in 0..batches {
            work.next(&mut batch);
            assert_eq!(batch.places.len() as u64, OF_A_BATCH);
            assert!(batch.places.iter().all(|place| there.remove(place)));
            assert!(batch.made.iter().all(|(place, _)| ever.insert(*place) && there.insert(*place)));
            of_new += batch.wanted.iter().filter(|number| **number >= entries).count();
        }
        assert!(of_new > 100, "batches look up what earlier ones inserted: {of_new}");
    }

    #[test]
    fn the_first_entries_ascend_and_all_keys_are_evenly_spread() {
        let mut work = Batches::new(10_000, 3);
        let first: Vec<Place> = work.first().map(|(place, _)| place).collect();
        assert!(first.is_sorted() && first.len() == 10_000);
        let (mut batch, mut tenths) = (Batch::default(), [[0usize; 10]; 2]);
        for _ in 0..20 {
            work.next(&mut batch);
            for (kind, places) in [batch.places.clone(), batch.made.iter().map(|(place, _)| *place).collect()].iter().enumerate() {
                places.iter().for_each(|place| tenths[kind][usize::from(place.0[0]) * 10 / 256] += 1);
            }
        }
        assert!(tenths.iter().flatten().all(|count| (380..650).contains(count)), "{tenths:?}");
    }
}
