//! Messages as CBOR: what those of all mini-protocols are made of.

use minicbor::Decoder;
use minicbor::data::{Tag, Type};
use minicbor::decode::Error;
use slotmark_chain::{CborBuffer, Hash32, Point, Tip};

/// Reasons why bytes are no message, or not yet one.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The message goes on in bytes that aren't here.
    #[error("the message is not whole")]
    Incomplete,
    /// No message of the protocol begins like this.
    #[error("{0}")]
    Malformed(String),
}

impl From<Error> for MessageError {
    fn from(error: Error) -> Self {
        if error.is_end_of_input() { Self::Incomplete } else { Self::Malformed(error.to_string()) }
    }
}

/// A decoded message and how many bytes it took.
pub type Decoded<T> = Result<(T, usize), MessageError>;

/// The number of Conway among the eras that have transactions, from 0 for Byron on.
pub(crate) const CONWAY: u8 = 6;
/// The tag of CBOR inside CBOR.
const ENCODED: u64 = 24;

pub(crate) fn array(decoder: &mut Decoder<'_>, allowed: &[u64]) -> Result<Option<u64>, MessageError> {
    let length = decoder.array()?;
    if length.is_some_and(|length| !allowed.contains(&length)) {
        return Err(MessageError::Malformed(format!("an array of {} items, expected {allowed:?}", length.unwrap_or(0))));
    }
    Ok(length)
}

pub(crate) fn close(decoder: &mut Decoder<'_>, length: Option<u64>) -> Result<(), MessageError> {
    if length.is_none() {
        if decoder.datatype()? != Type::Break {
            return Err(MessageError::Malformed("an array that should end here".into()));
        }
        decoder.skip()?;
    }
    Ok(())
}

/// Reads a message from the beginning of `bytes`: an array of so many items, whose first is the number by which `content` knows it.
pub(crate) fn read<'b, T>(
    bytes: &'b [u8],
    lengths: &[u64],
    content: impl FnOnce(&mut Decoder<'b>, u64) -> Result<T, MessageError>,
) -> Decoded<T> {
    let mut decoder = Decoder::new(bytes);
    let length = array(&mut decoder, lengths)?;
    let tag = decoder.u64()?;
    let message = content(&mut decoder, tag)?;
    close(&mut decoder, length)?;
    Ok((message, decoder.position()))
}

pub(crate) fn unknown<T>(protocol: &str, tag: u64) -> Result<T, MessageError> {
    Err(MessageError::Malformed(format!("{protocol} has no message {tag} here")))
}

/// Reads a point: `[]` or `[slot, hash]`.
///
/// # Errors
/// It isn't whole, or isn't one.
pub fn point(decoder: &mut Decoder<'_>) -> Result<Point, MessageError> {
    let length = decoder.array()?;
    let empty = length == Some(0) || (length.is_none() && decoder.datatype()? == Type::Break);
    if empty {
        close(decoder, length)?;
        return Ok(Point::Origin);
    }
    if length.is_some_and(|length| length != 2) {
        return Err(MessageError::Malformed("a point of neither 0 nor 2 items".into()));
    }
    let slot = decoder.u64()?;
    let hash = hash(decoder)?;
    close(decoder, length)?;
    Ok(Point::Block { slot, hash })
}

/// Appends a point.
pub fn put_point(out: &mut Vec<u8>, point: &Point) {
    match point {
        Point::Origin => out.array(0),
        Point::Block { slot, hash } => {
            out.array(2);
            out.uint(*slot);
            out.bytes(hash);
        }
    }
}

/// Appends a tip: `[point, block number]`.
pub fn put_tip(out: &mut Vec<u8>, tip: &Tip) {
    out.array(2);
    put_point(out, &tip.point);
    out.uint(tip.block_no);
}

/// Reads CBOR inside CBOR.
///
/// # Errors
/// It isn't whole, or isn't that.
pub fn encoded<'b>(decoder: &mut Decoder<'b>) -> Result<&'b [u8], MessageError> {
    if decoder.tag()? != Tag::new(ENCODED) {
        return Err(MessageError::Malformed(format!("a tag other than {ENCODED}")));
    }
    Ok(decoder.bytes()?)
}

/// Reads a hash of 32 bytes.
///
/// # Errors
/// It isn't whole, or isn't one.
pub fn hash(decoder: &mut Decoder<'_>) -> Result<Hash32, MessageError> {
    decoder.bytes()?.try_into().map_err(|_| MessageError::Malformed("a hash that has not 32 bytes".into()))
}

pub(crate) fn unexpected<T>(name: &str) -> Result<T, MessageError> {
    Err(MessageError::Malformed(format!("{name} has no such message here")))
}

/// Reads a list of definite or indefinite length.
///
/// # Errors
/// It isn't whole, or isn't one.
pub fn list<'b, T>(
    decoder: &mut Decoder<'b>,
    mut item: impl FnMut(&mut Decoder<'b>) -> Result<T, MessageError>,
) -> Result<Vec<T>, MessageError> {
    let mut items = Vec::new();
    let mut left = decoder.array()?;
    loop {
        match &mut left {
            Some(0) => return Ok(items),
            Some(left) => *left -= 1,
            None if decoder.datatype()? == Type::Break => {
                decoder.skip()?;
                return Ok(items);
            }
            None => {}
        }
        items.push(item(decoder)?);
    }
}

/// Appends the head of a message, or of anything of an era: an array of so many items, and its first, a number.
pub(crate) fn begin(out: &mut Vec<u8>, items: usize, first: u8) {
    out.array(items);
    out.uint(u64::from(first));
}

/// Bytes of the message that bytes begin with; None where it isn't whole.
///
/// # Errors
/// It is no CBOR.
pub fn length(bytes: &[u8]) -> Result<Option<usize>, MessageError> {
    let mut decoder = Decoder::new(bytes);
    match decoder.skip() {
        Ok(()) => Ok(Some(decoder.position())),
        Err(error) if error.is_end_of_input() => Ok(None),
        Err(error) => Err(error.into()),
    }
}
