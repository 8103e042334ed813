//! The handshake between nodes: versions 14 and 15, over a connection that both sides may use.

use minicbor::Decoder;
use slotmark_wire::message::MessageError;

use crate::message::put;

/// The versions that this node speaks.
const VERSIONS: [u64; 2] = [14, 15];

/// What a side states of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stated {
    version: u64,
    magic: u64,
    initiator_only: bool,
    query: bool,
}

/// A message of the handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shake {
    /// Versions that a side speaks.
    Proposal(Vec<Stated>),
    /// The version that is spoken, with what its side states of it.
    Accepted(Stated),
    /// No.
    Refused,
}

/// What comes of a proposal.
pub(super) enum Outcome {
    /// Both sides can go on; whether the other side only initiates.
    Agreed { initiator_only: bool },
    /// The proposal is refused or was only a question; the text says so.
    Ended(String),
}

/// What this node proposes.
pub(super) fn proposal(magic: u32) -> Vec<u8> {
    let mut message = Vec::new();
    put(&mut message, |e| {
        e.array(2)?.u8(0)?.map(VERSIONS.len() as u64)?;
        for version in VERSIONS {
            e.u64(version)?.array(4)?.u32(magic)?.bool(false)?.u8(0)?.bool(false)?;
        }
        e.ok()
    });
    message
}

/// Takes the highest version in common, and appends the answer to a proposal.
pub(super) fn answer(proposed: &[Stated], magic: u32, out: &mut Vec<u8>) -> Outcome {
    let common = proposed.iter().filter(|stated| VERSIONS.contains(&stated.version)).max_by_key(|stated| stated.version);
    let Some(stated) = common else {
        put(out, |e| {
            e.array(2)?.u8(2)?.array(2)?.u8(0)?.array(VERSIONS.len() as u64)?;
            for version in VERSIONS {
                e.u64(version)?;
            }
            e.ok()
        });
        return Outcome::Ended("it proposed no version that is spoken here (14, 15)".into());
    };
    if stated.query {
        put(out, |e| {
            e.array(2)?.u8(3)?.map(VERSIONS.len() as u64)?;
            for version in VERSIONS {
                e.u64(version)?.array(4)?.u32(magic)?.bool(false)?.u8(0)?.bool(false)?;
            }
            e.ok()
        });
        return Outcome::Ended("it only asked which versions there are".into());
    }
    if stated.magic != u64::from(magic) {
        let text = format!("version data mismatch: network magic {} instead of {magic}", stated.magic);
        put(out, |e| e.array(2)?.u8(2)?.array(3)?.u8(2)?.u64(stated.version)?.str(&text)?.ok());
        return Outcome::Ended(text);
    }
    put(out, |e| e.array(3)?.u8(1)?.u64(stated.version)?.array(4)?.u32(magic)?.bool(false)?.u8(0)?.bool(false)?.ok());
    Outcome::Agreed { initiator_only: stated.initiator_only }
}

/// Holds the version that a peer accepted against what was proposed; gives whether its side only initiates.
pub(super) fn confirm(accepted: Stated, magic: u32) -> Result<bool, String> {
    let Stated { version, magic: other, initiator_only, .. } = accepted;
    if !VERSIONS.contains(&version) {
        return Err(format!("it accepted version {version}, which was not proposed"));
    }
    if other != u64::from(magic) {
        return Err(format!("it accepted version {version} with network magic {other} instead of {magic}"));
    }
    Ok(initiator_only)
}

/// Reads a message of the handshake.
pub(super) fn decode(bytes: &[u8]) -> Result<Shake, MessageError> {
    let mut decoder = Decoder::new(bytes);
    decoder.array()?;
    match decoder.u64()? {
        0 => {
            let mut stated = Vec::new();
            let entries = decoder.map()?.ok_or_else(|| MessageError::Malformed("a map of versions of indefinite length".into()))?;
            for _ in 0..entries {
                let version = decoder.u64()?;
                let start = decoder.position();
                decoder.skip()?;
                // Data of another form belong to versions that aren't spoken here.
                stated.extend(data(version, &bytes[start..decoder.position()]).ok());
            }
            Ok(Shake::Proposal(stated))
        }
        1 => {
            let version = decoder.u64()?;
            Ok(Shake::Accepted(data(version, &bytes[decoder.position()..])?))
        }
        2 => Ok(Shake::Refused),
        _ => Err(MessageError::Malformed("no message of a handshake".into())),
    }
}

fn data(version: u64, bytes: &[u8]) -> Result<Stated, MessageError> {
    let mut decoder = Decoder::new(bytes);
    decoder.array()?;
    let (magic, initiator_only) = (decoder.u64()?, decoder.bool()?);
    decoder.skip()?;
    Ok(Stated { version, magic, initiator_only, query: decoder.bool()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_of_us_agree_on_the_highest_version_and_both_ways() {
        let Shake::Proposal(stated) = decode(&proposal(42)).unwrap() else { panic!("a proposal") };
        assert_eq!(stated.len(), 2);
        let mut out = Vec::new();
        assert!(matches!(answer(&stated, 42, &mut out), Outcome::Agreed { initiator_only: false }));
        assert_eq!(decode(&out), Ok(Shake::Accepted(stated[1])));
        assert_eq!(confirm(stated[1], 42), Ok(false));
        assert!(confirm(stated[1], 43).is_err() && confirm(Stated { version: 16, ..stated[1] }, 42).is_err());
        out.clear();
        assert!(matches!(answer(&stated, 43, &mut out), Outcome::Ended(_)));
        assert_eq!(decode(&out), Ok(Shake::Refused));
        assert_eq!(out[..5], [0x82, 0x02, 0x83, 0x02, 15]);
        out.clear();
        assert!(matches!(answer(&[Stated { version: 13, ..stated[0] }], 42, &mut out), Outcome::Ended(_)));
        assert_eq!(out, [0x82, 0x02, 0x82, 0x00, 0x82, 14, 15]);
    }
}
