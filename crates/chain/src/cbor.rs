//! A cursor over CBOR (RFC 8949) that copies nothing.

/// Bytes that aren't what was expected at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}: expected {expected}")]
pub struct DecodeError {
    /// From the beginning of the block.
    pub offset: usize,
    /// What should have been there.
    pub expected: &'static str,
}

/// A stretch of a block's bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Its first byte, from the beginning of the block.
    pub start: u32,
    /// The byte after its last.
    pub end: u32,
}

impl Span {
    /// The bytes themselves.
    pub fn of<'a>(&self, block: &'a [u8]) -> &'a [u8] {
        &block[self.start as usize..self.end as usize]
    }
}

/// How deep indefinite items may nest: more than fits into the largest block that any network allows.
const MAX_DEPTH: usize = 1 << 16;

const UINT: u8 = 0;
const BYTES: u8 = 2;
const ARRAY: u8 = 4;
const MAP: u8 = 5;
const TAG: u8 = 6;
const BREAK: u8 = 0xff;

const TOO_EARLY: &str = "more bytes: the block ends too early";

type Result<T> = std::result::Result<T, DecodeError>;

pub(crate) struct Cursor<'a> {
    whole: &'a [u8],
    rest: &'a [u8],
    /// What waits for the end of an indefinite item; kept, so that deep Plutus data needn't allocate for each block.
    open: Vec<Level>,
}

/// The items left in an array or map.
pub(crate) struct Items(Option<u64>);

impl Items {
    /// Whether another item comes; takes the break of an indefinite one.
    #[inline(always)]
    pub(crate) fn next(&mut self, cursor: &mut Cursor<'_>) -> Result<bool> {
        match &mut self.0 {
            Some(0) => Ok(false),
            Some(left) => {
                *left -= 1;
                Ok(true)
            }
            None => cursor.take_break().map(|ended| !ended),
        }
    }

    /// Closes an array whose length was asked for with [`Cursor::array_of`], all of it read: takes the break of an indefinite one.
    #[inline(always)]
    pub(crate) fn finish(self, cursor: &mut Cursor<'_>, expected: &'static str) -> Result<()> {
        if self.0.is_some() || cursor.take_break()? { Ok(()) } else { cursor.error(expected) }
    }

    /// Fails unless there's nothing left.
    pub(crate) fn end(&mut self, cursor: &mut Cursor<'_>, expected: &'static str) -> Result<()> {
        let at = cursor.position();
        if self.next(cursor)? { Err(DecodeError { offset: at, expected }) } else { Ok(()) }
    }
}

/// What a walk over items does at an initial byte.
#[derive(Clone, Copy)]
struct Step {
    /// Bytes to go on by; 0 where that hangs on more than the initial byte.
    advance: u8,
    /// Items that come on top.
    more: u8,
}

/// Steps over heads that say all by themselves.
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

/// An item that a walk has begun: the items before it that are left, and what kind it is.
#[derive(Clone, Copy)]
struct Level {
    left: u64,
    kind: Kind,
}

/// What a walk is in.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// The outermost level: ends with the last item.
    Definite,
    Array,
    /// A map, with an even number of items behind it.
    Map,
    /// A map, with a key behind it that lacks its value.
    MapValue,
}

impl<'a> Cursor<'a> {
    #[inline]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { whole: bytes, rest: bytes, open: Vec::new() }
    }

    /// A cursor that uses a buffer of an earlier one.
    #[inline]
    pub(crate) fn with_buffer(bytes: &'a [u8], buffer: Buffer) -> Self {
        Self { whole: bytes, rest: bytes, open: buffer.0 }
    }

    /// Its buffer, for another one.
    #[inline]
    pub(crate) fn into_buffer(self) -> Buffer {
        Buffer(self.open)
    }

    #[inline(always)]
    pub(crate) fn position(&self) -> usize {
        self.whole.len() - self.rest.len()
    }

    #[inline(always)]
    pub(crate) fn span_from(&self, start: usize) -> Span {
        Span { start: start as u32, end: self.position() as u32 }
    }

    #[cold]
    pub(crate) fn error<T>(&self, expected: &'static str) -> Result<T> {
        Err(DecodeError { offset: self.position(), expected })
    }

    /// The error where the bytes from `rest` on are too few.
    #[cold]
    fn cut<T>(&mut self, rest: &'a [u8]) -> Result<T> {
        self.rest = rest;
        self.error(TOO_EARLY)
    }

    /// The error where no head of the expected kind is: a wrong one, or one that is cut.
    #[cold]
    fn no_head<T>(&self, expected: &'static str) -> Result<T> {
        let length = match self.rest.first().map(|initial| initial & 31) {
            None => 1,
            Some(info @ 24..=27) => 1 + (1 << (info - 24)),
            Some(_) => 1,
        };
        self.error(if self.rest.len() < length { TOO_EARLY } else { expected })
    }

    #[inline(always)]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// The bytes from here on.
    #[inline(always)]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Goes on by `count` bytes, which the caller has seen to be there.
    #[inline(always)]
    pub(crate) fn advance(&mut self, count: usize) {
        self.rest = &self.rest[count..];
    }

    /// Reads a head of one major type with a definite argument; takes nothing where there is none.
    #[inline(always)]
    fn argument(&mut self, major: u8) -> Option<u64> {
        let Some(window) = self.rest.first_chunk::<9>() else { return self.argument_near_end(major) };
        let info = window[0].wrapping_sub(major << 5); // 32 and more for every other major type
        let (value, length) = argument(window, info)?;
        self.rest = &self.rest[length..];
        Some(value)
    }

    #[cold]
    fn argument_near_end(&mut self, major: u8) -> Option<u64> {
        let mut window = [0; 9];
        window[..self.rest.len()].copy_from_slice(self.rest);
        let info = self.peek()?.wrapping_sub(major << 5);
        let (value, length) = argument(&window, info)?;
        self.rest = self.rest.get(length..)?;
        Some(value)
    }

    #[inline(always)]
    fn take_break(&mut self) -> Result<bool> {
        match self.rest {
            [BREAK, rest @ ..] => {
                self.rest = rest;
                Ok(true)
            }
            [] => self.error(TOO_EARLY),
            _ => Ok(false),
        }
    }

    /// Reads a head of one major type with a definite argument.
    #[inline(always)]
    fn definite(&mut self, major: u8, expected: &'static str) -> Result<u64> {
        match self.argument(major) {
            Some(argument) => Ok(argument),
            None => self.no_head(expected),
        }
    }

    #[inline(always)]
    fn container(&mut self, major: u8, expected: &'static str) -> Result<Items> {
        if let [initial, rest @ ..] = self.rest {
            let info = initial.wrapping_sub(major << 5);
            if info < 24 {
                self.rest = rest;
                return Ok(Items(Some(u64::from(info))));
            }
            if info == 31 {
                self.rest = rest;
                return Ok(Items(None));
            }
        }
        self.definite(major, expected).map(|count| Items(Some(count)))
    }

    #[inline(always)]
    pub(crate) fn uint(&mut self, expected: &'static str) -> Result<u64> {
        self.definite(UINT, expected)
    }

    #[inline(always)]
    pub(crate) fn array(&mut self, expected: &'static str) -> Result<Items> {
        self.container(ARRAY, expected)
    }

    /// An array of so many items.
    #[inline(always)]
    pub(crate) fn array_of(&mut self, count: u64, expected: &'static str) -> Result<Items> {
        let at = self.position();
        let items = self.container(ARRAY, expected)?;
        if items.0.is_some_and(|found| found != count) { Err(DecodeError { offset: at, expected }) } else { Ok(items) }
    }

    #[inline(always)]
    pub(crate) fn map(&mut self, expected: &'static str) -> Result<Items> {
        self.container(MAP, expected)
    }

    /// An array, or one under tag 258, which marks a set.
    #[inline(always)]
    pub(crate) fn set(&mut self, expected: &'static str) -> Result<Items> {
        if let [0xd9, 0x01, 0x02, rest @ ..] = self.rest {
            self.rest = rest;
        }
        self.array(expected)
    }

    #[inline]
    pub(crate) fn tag(&mut self, tag: u64, expected: &'static str) -> Result<()> {
        let at = self.position();
        if self.definite(TAG, expected)? == tag { Ok(()) } else { Err(DecodeError { offset: at, expected }) }
    }

    /// A byte string in one piece.
    #[inline(always)]
    pub(crate) fn bytes(&mut self, expected: &'static str) -> Result<Span> {
        let length = self.definite(BYTES, expected)?;
        let start = self.position();
        match usize::try_from(length).ok().and_then(|length| self.rest.get(length..)) {
            Some(rest) => self.rest = rest,
            None => return self.error(TOO_EARLY),
        }
        Ok(self.span_from(start))
    }

    /// Goes into a byte string in one piece; gives the place behind it.
    pub(crate) fn open_bytes(&mut self, expected: &'static str) -> Result<usize> {
        let length = self.definite(BYTES, expected)?;
        match usize::try_from(length).ok().filter(|&length| length <= self.rest.len()) {
            Some(length) => Ok(self.position() + length),
            None => self.error(TOO_EARLY),
        }
    }

    /// A byte string of exactly `N` bytes, in one piece.
    #[inline(always)]
    pub(crate) fn bytes_of<const N: usize>(&mut self, expected: &'static str) -> Result<&'a [u8; N]> {
        if let [0x58, length, rest @ ..] = self.rest
            && usize::from(*length) == N
            && let Some((bytes, rest)) = rest.split_first_chunk::<N>()
        {
            self.rest = rest;
            return Ok(bytes);
        }
        self.other_bytes_of(expected)
    }

    #[cold]
    fn other_bytes_of<const N: usize>(&mut self, expected: &'static str) -> Result<&'a [u8; N]> {
        let at = self.position();
        let span = self.bytes(expected)?;
        span.of(self.whole).try_into().map_err(|_| DecodeError { offset: at, expected })
    }

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

/// Memory that cursors use one after the other.
#[derive(Default)]
pub(crate) struct Buffer(Vec<Level>);

/// The argument of a head whose additional information is `info`, and the head's length; None where it has none.
#[inline(always)]
fn argument(window: &[u8; 9], info: u8) -> Option<(u64, usize)> {
    if info < 24 {
        return Some((u64::from(info), 1));
    }
    if info > 27 {
        return None;
    }
    let width = 1usize << (info - 24);
    let [_, argument @ ..] = window;
    Some((u64::from_be_bytes(*argument) >> (64 - 8 * width), 1 + width))
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

    #[test]
    fn heads_are_read_at_every_distance_from_the_end() {
        for (text, value) in [("17", 23), ("1818", 24), ("190100", 256), ("1a00010000", 65_536), ("1bffffffffffffffff", u64::MAX)] {
            let bytes = hex::decode(text).unwrap();
            for behind in 0..10 {
                let mut padded = bytes.clone();
                padded.resize(bytes.len() + behind, 0xee);
                let mut cursor = Cursor::new(&padded);
                assert_eq!((cursor.uint("a number"), cursor.position()), (Ok(value), bytes.len()), "{text} and {behind} bytes");
            }
            for cut in 0..bytes.len() {
                assert_eq!(Cursor::new(&bytes[..cut]).uint("a number"), Err(DecodeError { offset: 0, expected: TOO_EARLY }));
            }
            assert_eq!(Cursor::new(&bytes).map("a map").err(), Some(DecodeError { offset: 0, expected: "a map" }));
        }
    }
}
