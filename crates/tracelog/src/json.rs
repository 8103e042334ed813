//! Walking over the members of a JSON object without building anything.
//!
//! Values that nobody asks for are checked only as far as finding their end takes: strings, brackets that match, literals.

use crate::scan::{brackets, find};

/// What stands at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// What is between the quotes, escapes as they are.
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

/// Why bytes are no JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// They end in the middle.
    Cut,
    /// Something else stands where a value, a key or a sign is expected.
    Malformed,
}

type Result<T> = std::result::Result<T, Broken>;

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
    #[inline(always)]
    pub(crate) fn passes(&mut self, bytes: &[u8]) -> bool {
        let found = self.bytes[self.at..].starts_with(bytes);
        self.at += if found { bytes.len() } else { 0 };
        found
    }

    /// The string that comes next behind these bytes, the last of which is its quote.
    #[inline(always)]
    pub(crate) fn string_behind(&mut self, bytes: &[u8]) -> Option<&'a [u8]> {
        if self.passes(bytes) { self.string().ok() } else { None }
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

    /// What is between quotes; the cursor stands behind the first.
    #[inline]
    fn string(&mut self) -> Result<&'a [u8]> {
        let start = self.at;
        let mut at = start;
        loop {
            at = find(self.bytes, at, |wide| wide.is(b'"') | wide.is(b'\\')).ok_or(Broken::Cut)?;
            if self.bytes[at] == b'"' {
                self.at = at + 1;
                return Ok(&self.bytes[start..at]);
            }
            at += 2;
        }
    }

    /// The value that comes next.
    #[inline]
    pub(crate) fn value(&mut self) -> Result<Value<'a>> {
        let start = self.at;
        match self.peek() {
            Some(b'"') => {
                self.at += 1;
                Ok(Value::String(self.string()?))
            }
            Some(b'0'..=b'9' | b'-') => {
                self.at += 1;
                while matches!(self.peek(), Some(b'0'..=b'9')) {
                    self.at += 1;
                }
                while matches!(self.peek(), Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')) {
                    self.at += 1;
                }
                Ok(Value::Number(&self.bytes[start..self.at]))
            }
            Some(b'{') => Ok(Value::Object(self.nested()?)),
            Some(b'[') => Ok(Value::Array(self.nested()?)),
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

    /// Everything from one bracket to the one that closes it.
    fn nested(&mut self) -> Result<&'a [u8]> {
        let start = self.at;
        let mut levels = Levels::default();
        loop {
            if let Some(chunk) = self.bytes[self.at..].first_chunk()
                && let Some(mut found) = brackets(chunk)
            {
                while found.all != 0 {
                    let place = found.all.trailing_zeros();
                    let end = self.at + place as usize + 1;
                    if levels.pass(self.bytes[end - 1], found.open >> place & 1 == 1)? {
                        self.at = end;
                        return Ok(&self.bytes[start..end]);
                    }
                    found.all &= found.all - 1;
                }
                self.at += chunk.len();
                if found.cut_string {
                    self.string()?;
                }
                continue;
            }
            self.at = find(self.bytes, self.at, |wide| {
                let curly = wide.with(b'{' ^ b'[');
                wide.is(b'"') | curly.is(b'{') | curly.is(b'}')
            })
            .ok_or(Broken::Cut)?;
            let found = self.bytes[self.at];
            self.at += 1;
            if found == b'"' {
                self.string()?;
            } else if levels.pass(found, matches!(found, b'{' | b'['))? {
                return Ok(&self.bytes[start..self.at]);
            }
        }
    }

    /// Calls `each` with every member of the object that begins here.
    #[inline]
    pub(crate) fn members<E: From<Broken>>(
        &mut self,
        mut each: impl FnMut(&'a [u8], Value<'a>) -> std::result::Result<(), E>,
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
        mut each: impl FnMut(&'a [u8], Value<'a>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        while !self.closes()? {
            self.member(&mut each)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn member<E: From<Broken>>(
        &mut self,
        each: &mut impl FnMut(&'a [u8], Value<'a>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.sign(b'"')?;
        let key = self.string()?;
        self.skip_blanks();
        self.sign(b':')?;
        self.skip_blanks();
        let value = self.value()?;
        each(key, value)
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

    /// Whether nothing but blanks is left.
    pub(crate) fn at_end(&mut self) -> bool {
        self.skip_blanks();
        self.at == self.bytes.len()
    }
}

/// The brackets that are open.
#[derive(Default)]
struct Levels {
    depth: u32,
    /// One bit a level, set for an object: the depth of a log line is far below what fits.
    objects: u128,
}

impl Levels {
    /// Passes a bracket; whether it closes the first one.
    #[inline(always)]
    fn pass(&mut self, bracket: u8, opens: bool) -> Result<bool> {
        if opens {
            self.depth += 1;
            self.objects = self.objects << 1 | u128::from(bracket == b'{');
            return if self.depth > 127 { Err(Broken::Malformed) } else { Ok(false) };
        }
        if (self.objects & 1 == 1) != (bracket == b'}') {
            return Err(Broken::Malformed);
        }
        self.objects >>= 1;
        self.depth -= 1;
        Ok(self.depth == 0)
    }
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
                joined.extend_from_slice(part);
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
