//! Finding a message by one of its names, in a few instructions: most lines of a log are of no interest.

use super::Message;

/// Names of messages, found by a hash of their ends, by which they differ.
pub(super) struct Names<const COUNT: usize> {
    names: [(&'static str, Message); COUNT],
    /// Places among the names, plus 1, at a name's hash or in the next free slot behind. Most are 0: there is none.
    slots: [u8; SLOTS],
}

const SLOTS: usize = 512;

/// Returns the number of names in a table.
pub(super) const fn count(table: &[(Message, &[&str])]) -> usize {
    let (mut all, mut message) = (0, 0);
    while message < table.len() {
        all += table[message].1.len();
        message += 1;
    }
    all
}

impl<const COUNT: usize> Names<COUNT> {
    /// The names of a table that has `COUNT` of them.
    pub(super) const fn of(table: &[(Message, &[&'static str])]) -> Self {
        let mut names = [("", table[0].0); COUNT];
        let mut slots = [0; SLOTS];
        let (mut place, mut message) = (0, 0);
        while message < table.len() {
            let mut name = 0;
            while name < table[message].1.len() {
                names[place] = (table[message].1[name], table[message].0);
                let mut slot = hash(names[place].0.as_bytes());
                while slots[slot] != 0 {
                    slot = (slot + 1) % SLOTS;
                }
                place += 1;
                slots[slot] = place as u8;
                name += 1;
            }
            message += 1;
        }
        Self { names, slots }
    }

    /// The message of a name.
    #[inline]
    pub(super) fn find(&self, name: &[u8]) -> Option<Message> {
        let mut slot = hash(name);
        loop {
            let (known, message) = self.names[usize::from(self.slots[slot]).checked_sub(1)?];
            if known.as_bytes() == name {
                return Some(message);
            }
            slot = (slot + 1) % SLOTS;
        }
    }
}

#[inline]
const fn hash(name: &[u8]) -> usize {
    let Some(end) = name.last_chunk() else { return 0 };
    let mixed = (u64::from_le_bytes(*end) ^ name.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as usize % SLOTS
}
