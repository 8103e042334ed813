//! Walking over items of any kind, checking that they are well-formed.

use super::{Cursor, Kind, Level, Result, Span, TOO_EARLY};

/// Deepest nesting of indefinite items: more than fits into the largest block that any network allows.
const MAX_DEPTH: usize = 1 << 16;

/// The step of a walk over items at an initial byte.
#[derive(Clone, Copy)]
struct Step {
    /// Bytes to go on by; 0 where that hangs on more than the initial byte.
    advance: u8,
    /// Items that come on top.
    more: u8,
}

/// Steps over heads that are complete items.
const STEPS: [Step; 256] = {
    let mut steps = [Step { advance: 0, more: 0 }; 256];
    let mut initial = 0;
    while initial < 256 {
        let (major, info) = (initial >> 5, initial as u8 & 31);
        if info < 24 {
            steps[initial] = match major {
                2 | 3 => Step { advance: 1 + info, more: 0 },
                4 => Step { advance: 1, more: info },
                5 => Step { advance: 1, more: 2 * info },
                6 => Step { advance: 1, more: 1 },
                _ => Step { advance: 1, more: 0 },
            };
        } else if info < 28 && matches!(major, 0 | 1 | 6 | 7) {
            steps[initial] = Step { advance: 1 + (1 << (info - 24)), more: (major == 6) as u8 };
        }
        initial += 1;
    }
    steps
};

impl Cursor<'_> {
    /// Walks over one item of any kind, checking that it is well-formed.
    #[inline(always)]
    pub(crate) fn skip(&mut self) -> Result<Span> {
        let start = self.position();
        self.walk(1)?;
        Ok(self.span_from(start))
    }

    /// Walks over `count` items.
    fn walk(&mut self, count: u64) -> Result<()> {
        let (mut left, mut rest) = (count, self.rest);
        while left > 0 {
            let [initial, tail @ ..] = rest else { return self.cut(rest) };
            let step = STEPS[usize::from(*initial)];
            if step.advance > 0 {
                let Some(behind) = rest.get(usize::from(step.advance)..) else { return self.cut(rest) };
                rest = behind;
                left = left - 1 + u64::from(step.more);
            } else if let (0x58 | 0x78, [length, tail @ ..]) = (*initial, tail) {
                let Some(behind) = tail.get(usize::from(*length)..) else { return self.cut(rest) };
                rest = behind;
                left -= 1;
            } else {
                self.rest = rest;
                left = left - 1 + self.walk_unusual(*initial)?;
                rest = self.rest;
            }
        }
        self.rest = rest;
        Ok(())
    }

    /// Walks over what isn't in [`STEPS`]: long containers and strings, and indefinite items; gives the items that come on top.
    fn walk_unusual(&mut self, initial: u8) -> Result<u64> {
        match (initial >> 5, initial & 31) {
            (major @ 2..=3, 24..=27) => self.take_string(major).map(|()| 0),
            (major @ 4..=5, 24..=27) => {
                let items = self.definite(major, TOO_EARLY)?;
                if items > self.rest.len() as u64 {
                    return self.error(TOO_EARLY); // an item has a byte at least; and so no count of items overflows
                }
                Ok(items * u64::from(major - 3))
            }
            (2..=5, 31) => self.walk_indefinite().map(|()| 0),
            _ => self.error("a well-formed item"),
        }
    }

    /// Walks over a string in one piece.
    fn take_string(&mut self, major: u8) -> Result<()> {
        let length = self.definite(major, "a piece of a string")?;
        match usize::try_from(length).ok().and_then(|length| self.rest.get(length..)) {
            Some(rest) => self.rest = rest,
            None => return self.error(TOO_EARLY),
        }
        Ok(())
    }

    /// Walks over one indefinite item, with all that is in it.
    fn walk_indefinite(&mut self) -> Result<()> {
        self.open.clear();
        let mut level = Level { left: 1, kind: Kind::Definite };
        loop {
            if level.left == 0 {
                // Between the items of the innermost indefinite one, or at the end.
                let next = match level.kind {
                    Kind::Definite => return Ok(()),
                    Kind::Array => Kind::Array,
                    Kind::Map => Kind::MapValue,
                    Kind::MapValue => Kind::Map,
                };
                if level.kind != Kind::MapValue && self.take_break()? {
                    let Some(outer) = self.open.pop() else { return Ok(()) };
                    level = outer;
                    continue;
                }
                level = Level { left: 1, kind: next };
            }
            let Some(&initial) = self.rest.first() else { return self.error(TOO_EARLY) };
            let step = STEPS[usize::from(initial)];
            if step.advance > 0 {
                let Some(rest) = self.rest.get(usize::from(step.advance)..) else { return self.error(TOO_EARLY) };
                self.rest = rest;
                level.left = level.left - 1 + u64::from(step.more);
                continue;
            }
            let kind = match initial {
                0x5f | 0x7f => {
                    self.advance(1);
                    while !self.take_break()? {
                        self.take_string(initial >> 5)?;
                    }
                    level.left -= 1;
                    continue;
                }
                0x9f => Kind::Array,
                0xbf => Kind::Map,
                _ => {
                    level.left = level.left - 1 + self.walk_unusual(initial)?;
                    continue;
                }
            };
            if self.open.len() == MAX_DEPTH {
                return self.error("items nested less deeply");
            }
            self.advance(1);
            self.open.push(Level { left: level.left - 1, kind: level.kind });
            level = Level { left: 0, kind };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skip(bytes: &[u8]) -> Result<Span> {
        Cursor::new(bytes).skip()
    }

    #[test]
    fn well_formed_items_are_walked_over() {
        for text in [
            "00",
            "3903e7",
            "40",
            "43010203",
            "5f42010241ffff",
            "80",
            "9f0102ff",
            "a10102",
            "bf0102ff",
            "d9010280",
            "f6",
            "fb3ff0000000000000",
            "9f9f9fffffff",
        ] {
            let bytes = hex::decode(text).unwrap();
            assert_eq!(skip(&bytes), Ok(Span { start: 0, end: bytes.len() as u32 }), "{text}");
            for cut in 0..bytes.len() {
                assert!(skip(&bytes[..cut]).is_err(), "{text} cut at {cut}");
            }
        }
    }

    #[test]
    fn malformed_items_are_refused() {
        for text in
            ["ff", "1c", "1f", "5f01ff", "5f5f4100ffff", "bf01ff", "9bffffffffffffffff", "bbffffffffffffffff", "5bffffffffffffffff", "df"]
        {
            assert!(skip(&hex::decode(text).unwrap()).is_err(), "{text}");
        }
        assert!(skip(&[0x9f; 100_000]).is_err());
        assert!(skip(&[0x81; 100_000]).is_err());
    }

    #[test]
    fn nesting_costs_no_stack() {
        for (open, close) in [(0x81, None), (0x9f, Some(0xff)), (0xc6, None)] {
            let depth = MAX_DEPTH - 1;
            let mut bytes = vec![open; depth];
            bytes.push(0);
            bytes.extend(close.map_or(Vec::new(), |close| vec![close; depth]));
            assert_eq!(skip(&bytes).map(|span| span.end as usize), Ok(bytes.len()), "{open:x}");
        }
    }

    #[test]
    fn the_walk_agrees_with_another_reader() {
        // Any bytes: where the first item ends, or that there is none, as a plain recursive reader has it.
        fn plain(bytes: &[u8], at: usize, depth: u32) -> Option<usize> {
            let initial = *bytes.get(at)?;
            let (major, info) = (initial >> 5, initial & 31);
            if depth > 400 {
                return None;
            }
            let (argument, mut at) = match info {
                0..=23 => (Some(u64::from(info)), at + 1),
                24..=27 => {
                    let width = 1 << (info - 24);
                    let argument = bytes.get(at + 1..at + 1 + width)?;
                    (Some(argument.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))), at + 1 + width)
                }
                31 if (2..=5).contains(&major) => (None, at + 1),
                _ => return None,
            };
            match (major, argument) {
                (0 | 1 | 7, _) => Some(at),
                (2 | 3, Some(length)) => at.checked_add(usize::try_from(length).ok()?).filter(|&end| end <= bytes.len()),
                (2 | 3, None) => loop {
                    match *bytes.get(at)? {
                        0xff => break Some(at + 1),
                        piece if piece >> 5 == major && piece & 31 != 31 => at = plain(bytes, at, depth + 1)?,
                        _ => break None,
                    }
                },
                (4..=6, Some(count)) => {
                    let items = match major {
                        4 => count,
                        5 => count.checked_mul(2)?,
                        _ => 1,
                    };
                    (0..items).try_fold(at, |at, _| plain(bytes, at, depth + 1))
                }
                _ => {
                    let mut items = 0;
                    while *bytes.get(at)? != 0xff {
                        at = plain(bytes, at, depth + 1)?;
                        items += 1;
                    }
                    (major == 4 || items % 2 == 0).then_some(at + 1)
                }
            }
        }
        let config = proptest::test_runner::Config { cases: 20_000, failure_persistence: None, ..Default::default() };
        let huge_map = [0x81, 0xbb, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x82, 0, 0];
        assert_eq!((skip(&huge_map).ok(), plain(&huge_map, 0, 0)), (None, None));
        proptest::proptest!(config, |(
            bytes in proptest::collection::vec(proptest::prop_oneof![
                proptest::prelude::any::<u8>(),
                proptest::sample::select(vec![0x9f, 0xbf, 0xff, 0xff, 0x5f, 0x41, 0x81, 0x82, 0xa1, 0x58, 0x02, 0xd8, 0x98, 0xb8])
            ], 0..40)
        )| {
            proptest::prop_assert_eq!(skip(&bytes).ok().map(|span| span.end as usize), plain(&bytes, 0, 0));
        });
    }
}
