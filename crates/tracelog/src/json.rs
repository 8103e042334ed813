//! Walking over the members of a JSON object (RFC 8259) without building anything, and refusing all that is none.
//!
//! A cursor does not look at whether text is UTF-8: [`is_text`] does, for a whole line at once.

use std::borrow::Cow;

use crate::scan::find;

/// A value in JSON.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// The bytes between the quotes, escapes as they are.
    String(&'a [u8]),
    /// As it is written.
    Number(&'a [u8]),
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
    /// With its brackets.
    Object(&'a [u8]),
    /// With its brackets.
    Array(&'a [u8]),
    /// A whole number that was never text.
    Whole(i64),
    /// A number that was never text.
    Real(f64),
}

/// Reasons why bytes are no JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// They end in the middle.
    Cut,
    /// Something else stands where a value, a key or a sign is expected.
    Malformed,
}

type Result<T> = std::result::Result<T, Broken>;

/// Objects and arrays may stand in each other so deep: far deeper than in any log line.
const MOST_LEVELS: u32 = 127;

#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Begins at an offset.
    pub(crate) fn from(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// Passes these bytes, if they come next.
    #[cfg(feature = "ingest")]
    #[inline(always)]
    pub(crate) fn passes(&mut self, bytes: &[u8]) -> bool {
        let found = self.bytes[self.at..].starts_with(bytes);
        self.at += if found { bytes.len() } else { 0 };
        found
    }

    /// The string that comes next behind these bytes, the last of which is its quote.
    #[cfg(feature = "ingest")]
    #[inline(always)]
    pub(crate) fn string_behind(&mut self, bytes: &[u8]) -> Option<&'a [u8]> {
        if self.passes(bytes) { self.string().ok() } else { None }
    }

    /// The place up to which it has passed.
    pub(crate) fn place(&self) -> usize {
        self.at
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    #[inline]
    fn sign(&mut self, sign: u8) -> Result<()> {
        match self.peek() {
            Some(found) if found == sign => {
                self.at += 1;
                Ok(())
            }
            Some(_) => Err(Broken::Malformed),
            None => Err(Broken::Cut),
        }
    }

    /// Reads the bytes between quotes; the cursor stands behind the first.
    #[inline]
    fn string(&mut self) -> Result<&'a [u8]> {
        let start = self.at;
        let end = find(self.bytes, start, |wide| wide.is(b'"') | wide.is(b'\\') | wide.at_most(0x1f)).ok_or(Broken::Cut)?;
        if self.bytes[end] == b'"' {
            self.at = end + 1;
            return Ok(&self.bytes[start..end]);
        }
        self.escaped_string(start, end)
    }

    /// The rest of a string from the first escape, or a byte that must not be there, on.
    #[cold]
    fn escaped_string(&mut self, start: usize, mut at: usize) -> Result<&'a [u8]> {
        loop {
            match self.bytes[at] {
                b'"' => {
                    self.at = at + 1;
                    return Ok(&self.bytes[start..at]);
                }
                b'\\' => match self.bytes.get(at + 1).ok_or(Broken::Cut)? {
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => at += 2,
                    b'u' => {
                        let digits = &self.bytes[at + 2..self.bytes.len().min(at + 6)];
                        if !digits.iter().all(u8::is_ascii_hexdigit) {
                            return Err(Broken::Malformed);
                        }
                        at += 6;
                    }
                    _ => return Err(Broken::Malformed),
                },
                _ => return Err(Broken::Malformed),
            }
            at = find(self.bytes, at, |wide| wide.is(b'"') | wide.is(b'\\') | wide.at_most(0x1f)).ok_or(Broken::Cut)?;
        }
    }

    /// The value that comes next.
    #[inline]
    pub(crate) fn value(&mut self) -> Result<Value<'a>> {
        self.value_in(0)
    }

    /// The value that comes next, inside this many others.
    #[inline]
    fn value_in(&mut self, levels: u32) -> Result<Value<'a>> {
        let start = self.at;
        match self.peek() {
            Some(b'"') => {
                self.at += 1;
                Ok(Value::String(self.string()?))
            }
            Some(b'0'..=b'9' | b'-') => {
                self.number()?;
                Ok(Value::Number(&self.bytes[start..self.at]))
            }
            Some(b'{') => {
                self.object(levels)?;
                Ok(Value::Object(&self.bytes[start..self.at]))
            }
            Some(b'[') => {
                self.array(levels)?;
                Ok(Value::Array(&self.bytes[start..self.at]))
            }
            Some(b't') => self.literal(b"true", Value::Bool(true)),
            Some(b'f') => self.literal(b"false", Value::Bool(false)),
            Some(b'n') => self.literal(b"null", Value::Null),
            Some(_) => Err(Broken::Malformed),
            None => Err(Broken::Cut),
        }
    }

    fn literal(&mut self, word: &[u8], value: Value<'a>) -> Result<Value<'a>> {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(word) {
            self.at += word.len();
            return Ok(value);
        }
        Err(if word.starts_with(rest) { Broken::Cut } else { Broken::Malformed })
    }

    /// Passes a number.
    #[inline]
    pub(crate) fn number(&mut self) -> Result<()> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let zero = self.peek() == Some(b'0');
        if self.digits()? > 1 && zero {
            return Err(Broken::Malformed);
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    /// Passes digits, one at the least, and counts them.
    #[inline]
    fn digits(&mut self) -> Result<usize> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        match (self.at - start, self.peek()) {
            (0, None) => Err(Broken::Cut),
            (0, Some(_)) => Err(Broken::Malformed),
            (count, _) => Ok(count),
        }
    }

    /// Passes an object inside this many other values.
    fn object(&mut self, levels: u32) -> Result<()> {
        if levels == MOST_LEVELS {
            return Err(Broken::Malformed);
        }
        self.at += 1;
        self.skip_blanks();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.key()?;
            self.value_in(levels + 1)?;
            if self.closes()? {
                return Ok(());
            }
        }
    }

    /// Passes an array inside this many other values.
    fn array(&mut self, levels: u32) -> Result<()> {
        if levels == MOST_LEVELS {
            return Err(Broken::Malformed);
        }
        self.at += 1;
        self.skip_blanks();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value_in(levels + 1)?;
            self.skip_blanks();
            let found = self.peek().ok_or(Broken::Cut)?;
            self.at += 1;
            match found {
                b',' => self.skip_blanks(),
                b']' => return Ok(()),
                _ => return Err(Broken::Malformed),
            }
        }
    }

    /// A key, and what is between it and its value.
    #[inline(always)]
    fn key(&mut self) -> Result<&'a [u8]> {
        self.sign(b'"')?;
        let key = self.string()?;
        self.skip_blanks();
        self.sign(b':')?;
        self.skip_blanks();
        Ok(key)
    }

    /// Calls `each` with every member of the object that begins here.
    #[inline]
    pub(crate) fn members<E: From<Broken>>(
        &mut self,
        mut each: impl FnMut(&[u8], Value<'a>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.sign(b'{')?;
        self.skip_blanks();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.member(&mut each)?;
            if self.closes()? {
                return Ok(());
            }
        }
    }

    /// As [`Cursor::members`], from behind a value of an object on.
    #[inline]
    pub(crate) fn further_members<E: From<Broken>>(
        &mut self,
        mut each: impl FnMut(&[u8], Value<'a>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        while !self.closes()? {
            self.member(&mut each)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn member<E: From<Broken>>(
        &mut self,
        each: &mut impl FnMut(&[u8], Value<'a>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let key = self.key()?;
        let value = self.value()?;
        if key.contains(&b'\\') { each(&unescaped(key), value) } else { each(key, value) }
    }

    /// Behind a value of an object: whether it closes here; else a key is next.
    #[inline]
    fn closes(&mut self) -> Result<bool> {
        self.skip_blanks();
        let found = self.peek().ok_or(Broken::Cut)?;
        self.at += 1;
        match found {
            b',' => {
                self.skip_blanks();
                Ok(false)
            }
            b'}' => Ok(true),
            _ => Err(Broken::Malformed),
        }
    }

    /// Returns whether nothing but blanks is left.
    pub(crate) fn at_end(&mut self) -> bool {
        self.skip_blanks();
        self.at == self.bytes.len()
    }
}

/// Returns whether bytes are UTF-8; nearly always they are ASCII.
#[inline]
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    bytes.is_ascii() || std::str::from_utf8(bytes).is_ok()
}

/// Returns the text of a string that was passed, with its escapes replaced.
pub(crate) fn unescaped(string: &[u8]) -> Cow<'_, [u8]> {
    if !string.contains(&b'\\') {
        return Cow::Borrowed(string);
    }
    let (mut text, mut rest, mut high) = (Vec::with_capacity(string.len()), string, None::<u32>);
    while let Some((&byte, behind)) = rest.split_first() {
        let (unit, behind) = match (byte, behind) {
            (b'\\', [b'u', behind @ ..]) => {
                let digits = behind.get(..4).and_then(|digits| std::str::from_utf8(digits).ok());
                let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(0xfffd);
                (Some(unit), behind.get(4..).unwrap_or_default())
            }
            (b'\\', [sign, behind @ ..]) => {
                let sign = match sign {
                    b'b' => 8,
                    b'f' => 12,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    other => *other,
                };
                (Some(u32::from(sign)), behind)
            }
            _ => (None, behind),
        };
        rest = behind;
        let mut put = |letter: u32| {
            let letter = char::from_u32(letter).unwrap_or(char::REPLACEMENT_CHARACTER);
            text.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
        };
        // Two units of UTF-16 may stand for one letter.
        match (high.take(), unit) {
            (Some(first), Some(second @ 0xdc00..=0xdfff)) => {
                put(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00));
                continue;
            }
            (Some(first), _) => put(first),
            (None, _) => {}
        }
        match unit {
            Some(first @ 0xd800..=0xdbff) => high = Some(first),
            Some(unit) => put(unit),
            None => text.push(byte),
        }
    }
    if high.is_some() {
        text.extend_from_slice("\u{fffd}".as_bytes());
    }
    Cow::Owned(text)
}

/// The strings of an array, joined by full stops; None where it holds anything else.
pub(crate) fn joined(array: &[u8]) -> Option<Vec<u8>> {
    let mut cursor = Cursor { bytes: array, at: 1 };
    let mut joined = Vec::new();
    loop {
        cursor.skip_blanks();
        match cursor.value().ok()? {
            Value::String(part) => {
                if !joined.is_empty() {
                    joined.push(b'.');
                }
                joined.extend_from_slice(&unescaped(part));
            }
            _ => return None,
        }
        cursor.skip_blanks();
        match cursor.peek()? {
            b',' => cursor.at += 1,
            b']' => return Some(joined),
            _ => return None,
        }
    }
}
