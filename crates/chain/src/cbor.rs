//! A cursor over CBOR (RFC 8949) that copies nothing: heads and items of a kind that is expected. `walk` passes over any item, `write`
//! is the other direction.

mod walk;
mod write;

pub use self::write::CborBuffer;

/// Bytes that aren't what was expected at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}: expected {expected}")]
pub struct DecodeError {
    /// From the beginning of the block.
    pub offset: usize,
    /// The item that was expected.
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
    /// Levels that wait for the end of an indefinite item; kept, so that deep Plutus data needn't allocate for each block.
    open: Vec<Level>,
}

/// The items left in an array or map.
pub(crate) struct Items(Option<u64>);

impl Items {
    /// Returns whether another item comes; takes the break of an indefinite one.
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

/// An item that a walk has begun: the items before it that are left, and what kind it is.
#[derive(Clone, Copy)]
struct Level {
    left: u64,
    kind: Kind,
}

/// The kind of item that a walk is in.
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

    /// A cursor at the beginning of a span, whose places are counted from the beginning of `bytes`; None for an empty span.
    pub(crate) fn at(bytes: &'a [u8], span: Span) -> Option<Self> {
        let (start, end) = (span.start as usize, span.end as usize);
        (start < end).then(|| Self { whole: &bytes[..end], rest: &bytes[start..end], open: Vec::new() })
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

    /// An array of this many items.
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

    /// An array of two numbers.
    pub(crate) fn pair(&mut self, expected: &'static str) -> Result<(u64, u64)> {
        let pair = self.array_of(2, expected)?;
        let numbers = (self.uint(expected)?, self.uint(expected)?);
        pair.finish(self, expected)?;
        Ok(numbers)
    }

    /// A rational number from 0 to 1, as numerator and denominator; `expected` is for one that is larger, too.
    pub(crate) fn share(&mut self, expected: &'static str) -> Result<(u64, u64)> {
        self.tag(30, expected)?;
        let share = self.pair(expected)?;
        if share.0 > share.1 || share.1 == 0 { self.error(expected) } else { Ok(share) }
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
}

/// The same items with arrays and maps of indefinite length.
#[cfg(test)]
pub(crate) fn indefinite(bytes: &[u8]) -> Vec<u8> {
    fn item(cursor: &mut Cursor<'_>, out: &mut Vec<u8>) {
        let before = cursor.rest();
        let major = before[0] >> 5;
        if matches!(major, ARRAY | MAP) {
            let count = cursor.definite(major, "a definite length").unwrap();
            out.push(major << 5 | 31);
            (0..count * u64::from(major - 3)).for_each(|_| item(cursor, out));
            out.push(BREAK);
        } else if major == TAG {
            cursor.definite(TAG, "a tag").unwrap();
            out.extend_from_slice(&before[..before.len() - cursor.rest().len()]);
            item(cursor, out);
        } else {
            out.extend_from_slice(cursor.skip().unwrap().of(cursor.whole));
        }
    }
    let (mut cursor, mut out) = (Cursor::new(bytes), Vec::new());
    item(&mut cursor, &mut out);
    assert!(cursor.rest().is_empty(), "one item");
    out
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
