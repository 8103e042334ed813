//! Lines that a host's log has more than once: a collector sent them again, or the pieces of a log overlap.

use std::collections::VecDeque;

use twox_hash::XxHash3_64;

/// A line repeats another of its file that begins at most this many bytes before it: more than collectors send at once.
pub(crate) const RECENT_BYTES: u64 = 4 << 20;
/// Lines that are kept or passed over together.
const GROUP: usize = 256;

/// The hash of a line: its time is a part of it, so that no two lines of a node are alike.
pub(crate) type LineHash = u64;

pub(crate) fn hash_line(line: &[u8]) -> LineHash {
    XxHash3_64::oneshot(line.trim_ascii())
}

/// The lines of a file that begin in the last [`RECENT_BYTES`].
pub(crate) struct Recent {
    groups: VecDeque<Group>,
    newest: i64,
}

/// Lines that follow each other.
struct Group {
    hashes: Vec<LineHash>,
    offsets: Vec<u64>,
    earliest: i64,
    latest: i64,
}

impl Default for Recent {
    fn default() -> Self {
        Self { groups: VecDeque::new(), newest: i64::MIN }
    }
}

impl Recent {
    /// Returns whether a line repeats one of the set, and adds it to the set. `offset` is where it begins, above those before.
    ///
    /// Lines mostly come in the order of their times: one that is later than all before it is new.
    #[inline]
    pub(crate) fn repeats(&mut self, hash: LineHash, ts_ns: i64, offset: u64) -> bool {
        let is_there = ts_ns <= self.newest && self.has(hash, ts_ns, offset);
        self.newest = self.newest.max(ts_ns);
        match self.groups.back_mut() {
            Some(group) if group.hashes.len() < GROUP => {
                group.hashes.push(hash);
                group.offsets.push(offset);
                (group.earliest, group.latest) = (group.earliest.min(ts_ns), group.latest.max(ts_ns));
            }
            _ => self.begin_group(hash, ts_ns, offset),
        }
        is_there
    }

    fn has(&self, hash: LineHash, ts_ns: i64, offset: u64) -> bool {
        let may_have = |group: &&Group| group.earliest <= ts_ns && ts_ns <= group.latest && group.hashes.contains(&hash);
        self.groups.iter().filter(may_have).any(|group| {
            let mut lines = group.hashes.iter().zip(&group.offsets);
            lines.any(|(&other, &before)| other == hash && before + RECENT_BYTES >= offset)
        })
    }

    /// Begins a group, with the room of one that lies too far back where there is one.
    fn begin_group(&mut self, hash: LineHash, ts_ns: i64, offset: u64) {
        let is_far = |group: &Group| group.offsets.last().is_some_and(|last| last + RECENT_BYTES < offset);
        let mut free = None;
        while self.groups.front().is_some_and(is_far) {
            free = self.groups.pop_front();
        }
        let (mut hashes, mut offsets) =
            free.map_or_else(|| (Vec::with_capacity(GROUP), Vec::with_capacity(GROUP)), |group| (group.hashes, group.offsets));
        hashes.clear();
        offsets.clear();
        hashes.push(hash);
        offsets.push(offset);
        self.groups.push_back(Group { hashes, offsets, earliest: ts_ns, latest: ts_ns });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_line_repeats_one_that_is_near_enough(
            lines in prop::collection::vec((0_u64..40, -20_i64..20, 1..RECENT_BYTES / 200), 0..2_000),
        ) {
            let mut recent = Recent::default();
            let (mut offset, mut before) = (0, Vec::new());
            for (place, (what, jitter, length)) in lines.into_iter().enumerate() {
                // The time is a part of the line, so the hash has it.
                let ts_ns = place as i64 / 8 + jitter;
                let hash = what | (ts_ns as u64) << 8;
                let near = before.iter().any(|&(other, at)| other == hash && at + RECENT_BYTES >= offset);
                prop_assert_eq!(recent.repeats(hash, ts_ns, offset), near);
                before.push((hash, offset));
                offset += length;
            }
        }
    }
}
