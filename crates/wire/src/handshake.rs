//! The handshake: a client proposes versions with their data, the server takes the highest that both know.

use std::fmt;

use minicbor::data::Type;
use minicbor::{Decoder, Encoder};

use crate::message::{Decoded, MessageError};

/// Which side of a node is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Node-to-client, over a unix socket.
    Client,
    /// Node-to-node, over TCP.
    Node,
}

impl Side {
    /// The protocol's usual name.
    pub fn name(self) -> &'static str {
        match self {
            Side::Client => "node-to-client",
            Side::Node => "node-to-node",
        }
    }

    /// The versions of current nodes, as they stand on the wire.
    pub fn versions(self) -> std::ops::RangeInclusive<u64> {
        match self {
            Side::Client => 0x8000 + 16..=0x8000 + 23,
            Side::Node => 14..=16,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// What a client proposes: versions, each with the network's magic and whether it only asks what there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Version, magic, query; versions whose data have another form are left out.
    pub versions: Vec<(u64, u64, bool)>,
}

/// What a server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// This version it is.
    Accept(u64),
    /// No, because.
    Refuse(String),
    /// The versions that there are, to one who only asked.
    Versions(Vec<u64>),
}

impl Proposal {
    /// What our client proposes.
    pub fn of(side: Side, magic: u64) -> Self {
        Self { versions: side.versions().map(|version| (version, magic, false)).collect() }
    }

    /// Reads a proposal from the beginning of `bytes`.
    ///
    /// # Errors
    /// It isn't whole, or isn't one.
    pub fn decode(bytes: &[u8]) -> Decoded<Self> {
        let mut decoder = Decoder::new(bytes);
        if decoder.array()? != Some(2) || decoder.u64()? != 0 {
            return Err(MessageError::Malformed("a handshake begins with [0, versions]".into()));
        }
        let mut versions = Vec::new();
        let mut left = decoder.map()?;
        loop {
            match &mut left {
                Some(0) => break,
                Some(left) => *left -= 1,
                None if decoder.datatype()? == Type::Break => {
                    decoder.skip()?;
                    break;
                }
                None => {}
            }
            let version = decoder.u64()?;
            let start = decoder.position();
            decoder.skip()?;
            versions.extend(data(&bytes[start..decoder.position()]).map(|(magic, query)| (version, magic, query)));
        }
        Ok((Self { versions }, decoder.position()))
    }

    /// Appends the proposal.
    pub fn encode(&self, out: &mut Vec<u8>, side: Side) {
        let mut encoder = Encoder::new(out);
        let mut put = || {
            encoder.array(2)?.u8(0)?.map(self.versions.len() as u64)?;
            for &(version, magic, query) in &self.versions {
                encoder.u64(version)?;
                put_data(&mut encoder, side, magic, query)?;
            }
            Ok::<_, minicbor::encode::Error<std::convert::Infallible>>(())
        };
        put().expect("a Vec takes every byte");
    }

    /// What a server of this side and network answers.
    pub fn answer(&self, side: Side, magic: u64) -> Answer {
        let known: Vec<u64> = side.versions().collect();
        let best = self.versions.iter().filter(|(version, ..)| known.contains(version)).max();
        match best {
            None => {
                let proposed: Vec<u64> = self.versions.iter().map(|(version, ..)| *version).collect();
                Answer::Refuse(format!("none of the versions proposed, {proposed:?}, is among {known:?}"))
            }
            Some((_, _, true)) => Answer::Versions(known),
            Some(&(version, asked, _)) if asked != magic => {
                Answer::Refuse(format!("version {version}: network magic {asked}, but this server's is {magic}"))
            }
            Some(&(version, ..)) => Answer::Accept(version),
        }
    }
}

/// The magic and the query flag of version data: `[magic, query]`, `[magic, initiator only, peer sharing, query, …]`, or a bare magic.
fn data(bytes: &[u8]) -> Option<(u64, bool)> {
    let mut decoder = Decoder::new(bytes);
    if decoder.datatype().ok()? != Type::Array && decoder.datatype().ok()? != Type::ArrayIndef {
        return Some((decoder.u64().ok()?, false));
    }
    let length = decoder.array().ok()?;
    let magic = decoder.u64().ok()?;
    if length.is_some_and(|length| length >= 4) {
        decoder.skip().ok()?;
        decoder.skip().ok()?;
    }
    Some((magic, decoder.bool().unwrap_or(false)))
}

fn put_data<W: minicbor::encode::Write>(
    encoder: &mut Encoder<W>,
    side: Side,
    magic: u64,
    query: bool,
) -> Result<(), minicbor::encode::Error<W::Error>> {
    match side {
        Side::Client => encoder.array(2)?.u64(magic)?.bool(query)?,
        Side::Node => encoder.array(4)?.u64(magic)?.bool(true)?.u8(0)?.bool(query)?,
    };
    Ok(())
}

impl Answer {
    /// Reads an answer from the beginning of `bytes`.
    ///
    /// # Errors
    /// It isn't whole, or isn't one.
    pub fn decode(bytes: &[u8]) -> Decoded<Self> {
        let mut decoder = Decoder::new(bytes);
        decoder.array()?;
        let answer = match decoder.u64()? {
            1 => {
                let version = decoder.u64()?;
                decoder.skip()?;
                Self::Accept(version)
            }
            2 => {
                let start = decoder.position();
                decoder.skip()?;
                Self::Refuse(reason(&bytes[start..decoder.position()]))
            }
            3 => {
                let start = decoder.position();
                decoder.skip()?;
                let mut table = Decoder::new(&bytes[start..]);
                let mut versions = Vec::new();
                for _ in 0..table.map()?.unwrap_or(0) {
                    versions.push(table.u64()?);
                    table.skip()?;
                }
                Self::Versions(versions)
            }
            tag => return Err(MessageError::Malformed(format!("a handshake has no answer {tag}"))),
        };
        Ok((answer, decoder.position()))
    }

    /// Appends the answer; `proposal` decides which version a refusal speaks of.
    pub fn encode(&self, out: &mut Vec<u8>, side: Side, magic: u64, proposal: &Proposal) {
        let mut encoder = Encoder::new(out);
        let mut put = || {
            match self {
                Self::Accept(version) => {
                    encoder.array(3)?.u8(1)?.u64(*version)?;
                    put_data(&mut encoder, side, magic, false)?;
                }
                Self::Refuse(text) => {
                    let common =
                        proposal.versions.iter().map(|(version, ..)| *version).filter(|version| side.versions().contains(version)).max();
                    encoder.array(2)?.u8(2)?;
                    match common {
                        Some(version) => drop(encoder.array(3)?.u8(2)?.u64(version)?.str(text)?),
                        None => {
                            encoder.array(2)?.u8(0)?.array(side.versions().count() as u64)?;
                            for version in side.versions() {
                                encoder.u64(version)?;
                            }
                        }
                    }
                }
                Self::Versions(versions) => {
                    encoder.array(2)?.u8(3)?.map(versions.len() as u64)?;
                    for &version in versions {
                        encoder.u64(version)?;
                        put_data(&mut encoder, side, magic, false)?;
                    }
                }
            }
            Ok::<_, minicbor::encode::Error<std::convert::Infallible>>(())
        };
        put().expect("a Vec takes every byte");
    }
}

/// A refusal in words: `[0, versions]`, `[1, version, text]` or `[2, version, text]`.
fn reason(bytes: &[u8]) -> String {
    let mut decoder = Decoder::new(bytes);
    let mut read = || {
        decoder.array()?;
        if decoder.u8()? == 0 {
            let versions = decoder.array_iter::<u64>()?.collect::<Result<Vec<_>, _>>()?;
            return Ok(format!("the server only knows the versions {versions:?}"));
        }
        decoder.u64()?;
        decoder.str().map(str::to_owned)
    };
    read().unwrap_or_else(|_: minicbor::decode::Error| "for a reason that can't be read".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proposal_is_answered_with_the_highest_common_version() {
        for (side, highest) in [(Side::Client, 0x8017), (Side::Node, 16)] {
            let proposal = Proposal::of(side, 2);
            let mut wire = Vec::new();
            proposal.encode(&mut wire, side);
            assert_eq!(Proposal::decode(&wire), Ok((proposal.clone(), wire.len())));
            assert_eq!(proposal.answer(side, 2), Answer::Accept(highest));
            assert!(matches!(proposal.answer(side, 1), Answer::Refuse(text) if text.contains("magic 2")));
            for answer in [proposal.answer(side, 2), proposal.answer(side, 1), Answer::Versions(side.versions().collect())] {
                let mut wire = Vec::new();
                answer.encode(&mut wire, side, 2, &proposal);
                assert_eq!(Answer::decode(&wire), Ok((answer, wire.len())));
            }
        }
    }

    #[test]
    fn old_versions_are_refused_with_those_that_there_are() {
        // Version 9 of node-to-client, whose data is a bare magic.
        let proposal = Proposal::decode(&[0x82, 0, 0xa1, 0x19, 0x80, 0x09, 2]).unwrap().0;
        assert_eq!(proposal.versions, [(0x8009, 2, false)]);
        let answer = proposal.answer(Side::Client, 2);
        let mut wire = Vec::new();
        answer.encode(&mut wire, Side::Client, 2, &proposal);
        assert!(matches!(Answer::decode(&wire), Ok((Answer::Refuse(text), _)) if text.contains("32784")));
    }
}
