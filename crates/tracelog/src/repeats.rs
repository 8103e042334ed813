//! Lines that a host's log has more than once: a collector sent them again, or the pieces of a log overlap.

use std::collections::VecDeque;

use twox_hash::XxHash3_128;

use crate::strings::Map;

/// A line repeats another of its file that begins at most so many bytes before it: more than collectors send at once.
pub(crate) const RECENT_BYTES: u64 = 4 << 20;

/// What stands for a line: its time is a part of it, so that two lines of a node aren't alike.
pub(crate) type LineHash = u128;

pub(crate) fn hash_line(line: &[u8]) -> LineHash {
    XxHash3_128::oneshot(line.trim_ascii())
}

/// The lines of a file that begin in the last [`RECENT_BYTES`].
#[derive(Default)]
pub(crate) struct Recent {
    last: Map<LineHash, u64>,
    order: VecDeque<(u64, LineHash)>,
}

impl Recent {
    /// Whether a line that begins at an offset repeats one of them; it is one of them from now on.
    #[inline]
    pub(crate) fn repeats(&mut self, hash: LineHash, offset: u64) -> bool {
        while let Some(&(before, old)) = self.order.front()
            && before + RECENT_BYTES < offset
        {
            self.order.pop_front();
            if self.last.get(&old) == Some(&before) {
                self.last.remove(&old);
            }
        }
        self.order.push_back((offset, hash));
        self.last.insert(hash, offset).is_some()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_line_repeats_one_that_is_near_enough(lines in prop::collection::vec((0_u128..8, 1_u64..2 * RECENT_BYTES / 3), 0..60)) {
            let mut recent = Recent::default();
            let (mut offset, mut before) = (0, Vec::new());
            for (hash, length) in lines {
                let near = before.iter().any(|&(other, at)| other == hash && at + RECENT_BYTES >= offset);
                prop_assert_eq!(recent.repeats(hash, offset), near);
                before.push((hash, offset));
                offset += length;
            }
        }
    }
}
