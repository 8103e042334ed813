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

/// How deep indefinite items may nest: each level is a call.
const MAX_DEPTH: u32 = 256;

const UINT: u8 = 0;
const BYTES: u8 = 2;
const ARRAY: u8 = 4;
const MAP: u8 = 5;
const TAG: u8 = 6;

type Result<T> = std::result::Result<T, DecodeError>;

#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// The head of an item: its major type, and its argument, None for indefinite length or a break.
struct Head {
    major: u8,
    argument: Option<u64>,
}

/// The items left in an array or map.
pub(crate) struct Items(Option<u64>);

impl Items {
    /// Whether another item comes; takes the break of an indefinite one.
    #[inline]
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

    /// Fails unless exactly `count` items are announced (or their number isn't).
    fn exactly(self, count: u64, at: usize, expected: &'static str) -> Result<Self> {
        if self.0.is_some_and(|left| left != count) { Err(DecodeError { offset: at, expected }) } else { Ok(self) }
    }

    /// Closes an array whose length was asked for with [`Cursor::array_of`], all of it read: takes the break of an indefinite one.
    #[inline]
    pub(crate) fn finish(self, cursor: &mut Cursor<'_>, expected: &'static str) -> Result<()> {
        if self.0.is_some() || cursor.take_break()? { Ok(()) } else { cursor.error(expected) }
    }

    /// Fails unless there's nothing left.
    pub(crate) fn end(&mut self, cursor: &mut Cursor<'_>, expected: &'static str) -> Result<()> {
        let at = cursor.at;
        if self.next(cursor)? { Err(DecodeError { offset: at, expected }) } else { Ok(()) }
    }
}

impl<'a> Cursor<'a> {
    #[inline]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    #[inline]
    pub(crate) fn span_from(&self, start: usize) -> Span {
        Span { start: start as u32, end: self.at as u32 }
    }

    #[inline]
    pub(crate) fn error<T>(&self, expected: &'static str) -> Result<T> {
        Err(DecodeError { offset: self.at, expected })
    }

    #[inline]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// The bytes from here on.
    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Goes to a place.
    #[inline]
    pub(crate) fn seek(&mut self, position: usize) {
        debug_assert!(position <= self.bytes.len());
        self.at = position;
    }

    /// Goes on by `count` bytes, which the caller has seen to be there.
    #[inline]
    pub(crate) fn advance(&mut self, count: usize) {
        debug_assert!(count <= self.bytes.len() - self.at);
        self.at += count;
    }

    #[inline]
    fn head(&mut self) -> Result<Head> {
        let Some(&initial) = self.bytes.get(self.at) else { return self.error("more bytes: the block ends too early") };
        let (major, info) = (initial >> 5, initial & 31);
        if info < 24 {
            self.at += 1;
            return Ok(Head { major, argument: Some(u64::from(info)) });
        }
        self.long_head(major, info)
    }

    fn long_head(&mut self, major: u8, info: u8) -> Result<Head> {
        let width = match info {
            24..=27 => 1usize << (info - 24),
            31 if matches!(major, 2..=5 | 7) => {
                self.at += 1;
                return Ok(Head { major, argument: None });
            }
            _ => return self.error("a well-formed item"),
        };
        let Some(bytes) = self.bytes.get(self.at + 1..self.at + 1 + width) else {
            return self.error("more bytes: the block ends too early");
        };
        let argument = bytes.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        self.at += 1 + width;
        Ok(Head { major, argument: Some(argument) })
    }

    #[inline]
    fn take_break(&mut self) -> Result<bool> {
        match self.peek() {
            Some(0xff) => {
                self.at += 1;
                Ok(true)
            }
            Some(_) => Ok(false),
            None => self.error("more bytes: the block ends too early"),
        }
    }

    /// Reads a head of one major type with a definite argument.
    #[inline]
    fn definite(&mut self, major: u8, expected: &'static str) -> Result<u64> {
        let at = self.at;
        match self.head()? {
            Head { major: found, argument: Some(argument) } if found == major => Ok(argument),
            _ => Err(DecodeError { offset: at, expected }),
        }
    }

    #[inline]
    fn container(&mut self, major: u8, expected: &'static str) -> Result<Items> {
        let at = self.at;
        match self.head()? {
            Head { major: found, argument } if found == major => Ok(Items(argument)),
            _ => Err(DecodeError { offset: at, expected }),
        }
    }

    #[inline]
    pub(crate) fn uint(&mut self, expected: &'static str) -> Result<u64> {
        self.definite(UINT, expected)
    }

    #[inline]
    pub(crate) fn array(&mut self, expected: &'static str) -> Result<Items> {
        self.container(ARRAY, expected)
    }

    /// An array of so many items.
    #[inline]
    pub(crate) fn array_of(&mut self, count: u64, expected: &'static str) -> Result<Items> {
        let at = self.at;
        self.container(ARRAY, expected)?.exactly(count, at, expected)
    }

    #[inline]
    pub(crate) fn map(&mut self, expected: &'static str) -> Result<Items> {
        self.container(MAP, expected)
    }

    /// An array, or one under tag 258, which marks a set.
    #[inline]
    pub(crate) fn set(&mut self, expected: &'static str) -> Result<Items> {
        if self.rest().starts_with(&[0xd9, 0x01, 0x02]) {
            self.at += 3;
        }
        self.array(expected)
    }

    #[inline]
    pub(crate) fn tag(&mut self, tag: u64, expected: &'static str) -> Result<()> {
        let at = self.at;
        if self.definite(TAG, expected)? == tag { Ok(()) } else { Err(DecodeError { offset: at, expected }) }
    }

    /// A byte string in one piece.
    #[inline]
    pub(crate) fn bytes(&mut self, expected: &'static str) -> Result<Span> {
        let length = self.definite(BYTES, expected)?;
        if length > (self.bytes.len() - self.at) as u64 {
            return self.error("more bytes: the block ends too early");
        }
        let start = self.at;
        self.at += length as usize;
        Ok(self.span_from(start))
    }

    /// A byte string of exactly `N` bytes, in one piece.
    #[inline]
    pub(crate) fn bytes_of<const N: usize>(&mut self, expected: &'static str) -> Result<&'a [u8; N]> {
        let at = self.at;
        let span = self.bytes(expected)?;
        span.of(self.bytes).try_into().map_err(|_| DecodeError { offset: at, expected })
    }

    /// Walks over one item of any kind, checking that it is well-formed.
    #[inline]
    pub(crate) fn skip(&mut self) -> Result<Span> {
        let start = self.at;
        self.skip_items(1, 0)?;
        Ok(self.span_from(start))
    }

    fn skip_items(&mut self, count: u64, depth: u32) -> Result<()> {
        let mut left = count;
        while left > 0 {
            left -= 1;
            let at = self.at;
            let head = self.head()?;
            let more = match (head.major, head.argument) {
                (0 | 1, _) | (7, Some(_)) => continue,
                (2 | 3, Some(length)) => {
                    if length > (self.bytes.len() - self.at) as u64 {
                        return self.error("more bytes: the block ends too early");
                    }
                    self.at += length as usize;
                    continue;
                }
                (4, Some(items)) => items,
                (5, Some(entries)) => entries.saturating_mul(2),
                (6, _) => 1,
                (major @ 2..=5, None) if depth < MAX_DEPTH => {
                    self.skip_indefinite(major, depth + 1)?;
                    continue;
                }
                (7, None) => return Err(DecodeError { offset: at, expected: "an item, not a break" }),
                _ => return Err(DecodeError { offset: at, expected: "items nested less deeply" }),
            };
            left = left.saturating_add(more);
            if left > (self.bytes.len() - self.at) as u64 {
                return self.error("more bytes: the block ends too early"); // an item has a byte at least
            }
        }
        Ok(())
    }

    fn skip_indefinite(&mut self, major: u8, depth: u32) -> Result<()> {
        while !self.take_break()? {
            match major {
                2 | 3 => {
                    let at = self.at;
                    match self.head()? {
                        Head { major: piece, argument: Some(length) }
                            if piece == major && length <= (self.bytes.len() - self.at) as u64 =>
                        {
                            self.at += length as usize;
                        }
                        _ => return Err(DecodeError { offset: at, expected: "a piece of a string" }),
                    }
                }
                4 => self.skip_items(1, depth)?,
                _ => self.skip_items(2, depth)?,
            }
        }
        Ok(())
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
}
