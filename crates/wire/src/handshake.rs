//! The handshake: a client proposes versions with their data, the server takes the highest that both support.

use std::fmt;

use minicbor::Decoder;
use minicbor::data::Type;
use slotmark_chain::CborBuffer;

use crate::message::{Decoded, MessageError};

/// The handshake's number among the mini-protocols, at both sides.
pub const NUMBER: u16 = 0;

/// A side of a node: for clients or for other nodes.
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

/// The versions between nodes that are final: what our own node and load speak.
pub const FINAL_VERSIONS: std::ops::RangeInclusive<u64> = 14..=15;

impl fmt::Display for Side {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// The versions and data with which one side of a connection takes part in the handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The side of the node.
    pub side: Side,
    /// The versions that are spoken, as they stand on the wire.
    pub versions: std::ops::RangeInclusive<u64>,
    /// The network's magic.
    pub magic: u64,
    /// Node-to-node: whether this side answers nothing by itself.
    pub initiator_only: bool,
}

/// The data that a side gives with a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stated {
    /// The version.
    pub version: u64,
    /// The network's magic.
    pub magic: u64,
    /// Node-to-node: whether the side answers nothing by itself.
    pub initiator_only: bool,
    /// True where the client only asks for the versions.
    pub query: bool,
}

/// A client's proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Versions whose data have another form are left out.
    pub versions: Vec<Stated>,
}

/// A server's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The version that is spoken from here on, with what the server states of it.
    Accept(Stated),
    /// A refusal, and its reason.
    Refuse(String),
    /// The versions that there are, to one who only asked.
    Versions(Vec<u64>),
}

/// Reasons why an answer is no agreement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAgreed {
    /// It is a refusal, for this reason.
    #[error("the handshake was refused: {0}")]
    Refused(String),
    /// It accepts what was not proposed, in these words, or lists versions to one who didn't ask for them.
    #[error("{0}")]
    Wrong(String),
}

impl Terms {
    /// Returns the terms of a client or server of a node's side, with the versions of current nodes.
    pub fn of(side: Side, magic: u64) -> Self {
        Self { side, versions: side.versions(), magic, initiator_only: true }
    }

    /// Returns the data that belong to a version.
    fn state(&self, version: u64) -> Stated {
        Stated { version, magic: self.magic, initiator_only: self.initiator_only, query: false }
    }

    /// Returns a client's proposal.
    pub fn proposal(&self) -> Proposal {
        Proposal { versions: self.versions.clone().map(|version| self.state(version)).collect() }
    }

    /// Returns a server's answer: the highest version that both support.
    pub fn answer(&self, proposal: &Proposal) -> Answer {
        let best = proposal.versions.iter().filter(|stated| self.versions.contains(&stated.version)).max_by_key(|stated| stated.version);
        match best {
            None => {
                let proposed: Vec<u64> = proposal.versions.iter().map(|stated| stated.version).collect();
                let known: Vec<u64> = self.versions.clone().collect();
                Answer::Refuse(format!("none of the versions proposed, {proposed:?}, is among {known:?}"))
            }
            Some(stated) if stated.query => Answer::Versions(self.versions.clone().collect()),
            Some(&Stated { version, magic, .. }) if magic != self.magic => {
                Answer::Refuse(format!("version {version}: network magic {magic}, but this server's is {}", self.magic))
            }
            Some(stated) => Answer::Accept(self.state(stated.version)),
        }
    }

    /// Returns what a server accepted of a client's proposal.
    ///
    /// # Errors
    /// It refused, or its answer is none to the proposal.
    pub fn agreed(&self, answer: Answer) -> Result<Stated, NotAgreed> {
        let wrong = |what| Err(NotAgreed::Wrong(what));
        match answer {
            Answer::Refuse(why) => Err(NotAgreed::Refused(why)),
            Answer::Versions(versions) => wrong(format!("it only lists its versions, {versions:?}")),
            Answer::Accept(Stated { version, .. }) if !self.versions.contains(&version) => {
                wrong(format!("it accepted version {version}, which was not proposed"))
            }
            Answer::Accept(Stated { version, magic, .. }) if magic != self.magic => {
                wrong(format!("it accepted version {version} with network magic {magic} instead of {}", self.magic))
            }
            Answer::Accept(stated) => Ok(stated),
        }
    }
}

impl Proposal {
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
            versions.extend(data(version, &bytes[start..decoder.position()]));
        }
        Ok((Self { versions }, decoder.position()))
    }

    /// Appends the proposal.
    pub fn encode(&self, out: &mut Vec<u8>, side: Side) {
        out.array(2);
        out.uint(0);
        out.map(self.versions.len());
        self.versions.iter().for_each(|stated| put_stated(out, side, stated));
    }
}

/// Reads version data: `[magic, query]`, `[magic, initiator only, peer sharing, query, …]`, or a bare magic.
fn data(version: u64, bytes: &[u8]) -> Option<Stated> {
    let mut decoder = Decoder::new(bytes);
    let mut stated = Stated { version, magic: 0, initiator_only: false, query: false };
    if decoder.datatype().ok()? != Type::Array && decoder.datatype().ok()? != Type::ArrayIndef {
        return Some(Stated { magic: decoder.u64().ok()?, ..stated });
    }
    let length = decoder.array().ok()?;
    stated.magic = decoder.u64().ok()?;
    if length.is_some_and(|length| length >= 4) {
        stated.initiator_only = decoder.bool().ok()?;
        decoder.skip().ok()?;
    }
    Some(Stated { query: decoder.bool().unwrap_or(false), ..stated })
}

/// Appends a version and its data.
fn put_stated(out: &mut Vec<u8>, side: Side, stated: &Stated) {
    out.uint(stated.version);
    out.array(if side == Side::Client { 2 } else { 4 });
    out.uint(stated.magic);
    if side == Side::Node {
        out.bool(stated.initiator_only);
        out.uint(0); // peer sharing
    }
    out.bool(stated.query);
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
                let start = decoder.position();
                decoder.skip()?;
                let stated = data(version, &bytes[start..decoder.position()]);
                Self::Accept(stated.ok_or_else(|| MessageError::Malformed("version data that can't be read".into()))?)
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
    pub fn encode(&self, out: &mut Vec<u8>, terms: &Terms, proposal: &Proposal) {
        let versions = &terms.versions;
        match self {
            Self::Accept(stated) => {
                out.array(3);
                out.uint(1);
                put_stated(out, terms.side, stated);
            }
            Self::Refuse(text) => {
                let common = proposal.versions.iter().map(|stated| stated.version).filter(|version| versions.contains(version)).max();
                out.array(2);
                out.uint(2);
                match common {
                    Some(version) => {
                        out.array(3);
                        out.uint(2);
                        out.uint(version);
                        out.text(text);
                    }
                    None => {
                        out.array(2);
                        out.uint(0);
                        out.numbers(&versions.clone().collect::<Vec<_>>());
                    }
                }
            }
            Self::Versions(known) => {
                out.array(2);
                out.uint(3);
                out.map(known.len());
                known.iter().for_each(|version| put_stated(out, terms.side, &terms.state(*version)));
            }
        }
    }
}

/// A refusal in words: `[0, versions]`, `[1, version, text]` or `[2, version, text]`.
fn reason(bytes: &[u8]) -> String {
    let mut decoder = Decoder::new(bytes);
    let mut read = || {
        decoder.array()?;
        if decoder.u8()? == 0 {
            let versions = decoder.array_iter::<u64>()?.collect::<Result<Vec<_>, _>>()?;
            return Ok(format!("the server only supports the versions {versions:?}"));
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
    fn only_what_was_proposed_is_agreed_on() {
        let terms = Terms { versions: FINAL_VERSIONS, ..Terms::of(Side::Node, 2) };
        let wrong = |version, magic| terms.agreed(Answer::Accept(Stated { magic, ..terms.state(version) })).unwrap_err().to_string();
        assert_eq!(terms.agreed(terms.answer(&terms.proposal())), Ok(terms.state(15)));
        assert_eq!(wrong(13, 2), "it accepted version 13, which was not proposed");
        assert_eq!(wrong(14, 3), "it accepted version 14 with network magic 3 instead of 2");
        assert_eq!(terms.agreed(Answer::Refuse("no".into())), Err(NotAgreed::Refused("no".into())));
        assert!(matches!(terms.agreed(Answer::Versions(vec![14])), Err(NotAgreed::Wrong(_))));
    }

    #[test]
    fn a_proposal_is_answered_with_the_highest_common_version() {
        for (side, highest) in [(Side::Client, 0x8017), (Side::Node, 16)] {
            let (terms, others) = (Terms::of(side, 2), Terms::of(side, 1));
            let proposal = terms.proposal();
            let mut wire = Vec::new();
            proposal.encode(&mut wire, side);
            let (read, taken) = Proposal::decode(&wire).unwrap();
            assert_eq!((read.versions.len(), taken), (proposal.versions.len(), wire.len()));
            assert!(matches!(terms.answer(&read), Answer::Accept(Stated { version, .. }) if version == highest));
            assert!(matches!(others.answer(&read), Answer::Refuse(text) if text.contains("magic 2")));
            for answer in [terms.answer(&proposal), others.answer(&proposal), Answer::Versions(side.versions().collect())] {
                let mut wire = Vec::new();
                answer.encode(&mut wire, &terms, &proposal);
                let (read, taken) = Answer::decode(&wire).unwrap();
                assert_eq!((std::mem::discriminant(&read), taken), (std::mem::discriminant(&answer), wire.len()));
            }
        }
    }

    #[test]
    fn two_nodes_agree_on_the_highest_version_and_both_ways() {
        let terms = Terms { side: Side::Node, versions: 14..=15, magic: 42, initiator_only: false };
        let mut wire = Vec::new();
        terms.proposal().encode(&mut wire, Side::Node);
        let (proposal, _) = Proposal::decode(&wire).unwrap();
        assert_eq!(proposal, terms.proposal());
        let accepted = Answer::Accept(Stated { version: 15, magic: 42, initiator_only: false, query: false });
        assert_eq!(terms.answer(&proposal), accepted);
        let answered = |terms: &Terms, proposal: &Proposal| {
            let mut wire = Vec::new();
            terms.answer(proposal).encode(&mut wire, terms, proposal);
            wire
        };
        assert_eq!(Answer::decode(&answered(&terms, &proposal)).unwrap().0, accepted);
        assert_eq!(answered(&Terms { magic: 43, ..terms.clone() }, &proposal)[..5], [0x82, 0x02, 0x83, 0x02, 15]);
        let older = Proposal { versions: vec![Stated { version: 13, ..proposal.versions[0] }] };
        assert_eq!(answered(&terms, &older), [0x82, 0x02, 0x82, 0x00, 0x82, 14, 15]);
        let asking = Proposal { versions: vec![Stated { query: true, ..proposal.versions[0] }] };
        assert_eq!(terms.answer(&asking), Answer::Versions(vec![14, 15]));
    }

    #[test]
    fn old_versions_are_refused_with_those_that_there_are() {
        // Version 9 of node-to-client, whose data is a bare magic.
        let proposal = Proposal::decode(&[0x82, 0, 0xa1, 0x19, 0x80, 0x09, 2]).unwrap().0;
        assert_eq!(proposal.versions, [Stated { version: 0x8009, magic: 2, initiator_only: false, query: false }]);
        let (terms, mut wire) = (Terms::of(Side::Client, 2), Vec::new());
        terms.answer(&proposal).encode(&mut wire, &terms, &proposal);
        assert!(matches!(Answer::decode(&wire), Ok((Answer::Refuse(text), _)) if text.contains("32784")));
    }
}
