//! Reasons why lines are rejected.

use crate::json::Broken;

/// Reasons why a line can't be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// It doesn't begin as an object, or is no JSON.
    NotJson,
    /// It ends in the middle.
    Cut,
    /// A field that the message always has isn't there.
    Missing(&'static str),
    /// A field is of another type.
    Wrong(&'static str),
    /// A field has a value that no node can mean.
    OutOfRange(&'static str),
    /// It is longer than any line of a log.
    TooLong,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotJson => out.write_str("not JSON"),
            Self::Cut => out.write_str("cut in the middle"),
            Self::Missing(field) => write!(out, "no '{field}'"),
            Self::Wrong(field) => write!(out, "'{field}' is not what it should be"),
            Self::OutOfRange(field) => write!(out, "'{field}' is out of range"),
            Self::TooLong => out.write_str("longer than 64 MiB"),
        }
    }
}

impl From<Broken> for Reason {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Cut => Self::Cut,
            Broken::Malformed => Self::NotJson,
        }
    }
}
