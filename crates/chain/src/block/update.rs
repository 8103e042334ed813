//! Updates of protocol parameters, as genesis keys propose them up to Babbage.

use super::certificate::Hash28;
use crate::cbor::{Cursor, DecodeError, Span};
use crate::point::Hash32;

/// A proposed change of parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The epoch at whose end it is to be decided.
    pub epoch: u64,
    /// Each genesis key's proposal.
    pub proposals: Vec<(Hash28, ParameterUpdate)>,
}

/// The parameters of one proposal that decide which headers are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterUpdate {
    /// All that is proposed, as encoded: a map by number of parameter.
    pub encoded: Span,
    /// Bytes that a block's body has at most.
    pub max_body_bytes: Option<u64>,
    /// Bytes that a header has at most.
    pub max_header_bytes: Option<u64>,
    /// The decentralisation parameter, as numerator and denominator.
    pub decentralisation: Option<(u64, u64)>,
    /// Extra entropy for the next epoch's nonce; inside None: none any more.
    pub extra_entropy: Option<Option<Hash32>>,
}

type Result<T> = std::result::Result<T, DecodeError>;

/// `[{genesis key hash: parameters}, epoch]`.
pub(super) fn update(bytes: &[u8], span: Span) -> Result<Update> {
    let expected = "an update, as [proposals, epoch]";
    let Some(mut cursor) = Cursor::at(bytes, span) else { return Cursor::new(bytes).error(expected) };
    let cursor = &mut cursor;
    let pair = cursor.array_of(2, expected)?;
    let mut items = cursor.map("proposals by genesis key")?;
    let mut proposals = Vec::new();
    while items.next(cursor)? {
        let key = *cursor.bytes_of("the hash of a genesis key")?;
        proposals.push((key, parameters(cursor)?));
    }
    let epoch = cursor.uint("an epoch")?;
    pair.finish(cursor, expected)?;
    Ok(Update { epoch, proposals })
}

fn parameters(cursor: &mut Cursor<'_>) -> Result<ParameterUpdate> {
    let start = cursor.position();
    let mut found = ParameterUpdate {
        encoded: Span::default(),
        max_body_bytes: None,
        max_header_bytes: None,
        decentralisation: None,
        extra_entropy: None,
    };
    let mut items = cursor.map("parameters")?;
    while items.next(cursor)? {
        match cursor.uint("the number of a parameter")? {
            2 => found.max_body_bytes = Some(cursor.uint("bytes of a body")?),
            4 => found.max_header_bytes = Some(cursor.uint("bytes of a header")?),
            12 => {
                found.decentralisation = Some(cursor.share("the decentralisation parameter, as a rational number from 0 to 1")?);
            }
            13 => {
                let expected = "extra entropy, as [0] or [1, 32 bytes]";
                let mut fields = cursor.array(expected)?;
                if !fields.next(cursor)? {
                    return cursor.error(expected);
                }
                let entropy = match cursor.uint(expected)? {
                    0 => None,
                    1 if fields.next(cursor)? => Some(*cursor.bytes_of(expected)?),
                    _ => return cursor.error(expected),
                };
                fields.end(cursor, expected)?;
                found.extra_entropy = Some(entropy);
            }
            _ => drop(cursor.skip()?),
        }
    }
    found.encoded = cursor.span_from(start);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Update> {
        let bytes = hex::decode(text).unwrap();
        update(&bytes, Span { start: 0, end: bytes.len() as u32 })
    }

    #[test]
    fn proposals_are_read() {
        let key = "581c".to_owned() + &"01".repeat(28);
        let entropy = "5820".to_owned() + &"05".repeat(32);
        let text = format!("82a1{key}a50018 2c02 1a00010000 04190450 0cd81e820105 0d8201{entropy}03").replace(' ', "");
        let read_update = read(&text).unwrap();
        assert_eq!(read_update.epoch, 3);
        let [(by, proposal)] = read_update.proposals[..] else { panic!("one proposal") };
        assert_eq!(by, [1; 28]);
        assert_eq!((proposal.max_body_bytes, proposal.max_header_bytes), (Some(65_536), Some(1_104)));
        assert_eq!((proposal.decentralisation, proposal.extra_entropy), (Some((1, 5)), Some(Some([5; 32]))));
        assert_eq!((proposal.encoded.start, proposal.encoded.end), (32, text.len() as u32 / 2 - 1));
        let neutral = read(&format!("82a1{key}a10d810003")).unwrap();
        assert_eq!(neutral.proposals[0].1.extra_entropy, Some(None));
        for damaged in ["a10cd81e820201", "a10cd81e820000", "a10d8102", "a10d820000", "a1"] {
            assert!(read(&format!("82a1{key}{damaged}03")).is_err(), "{damaged}");
        }
    }
}
