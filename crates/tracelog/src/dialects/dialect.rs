//! Which dialect a line is in.

use memchr::memmem;

use super::cardano_node::read_line;
use super::dingo;

/// How a node writes its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// cardano-node's, new and legacy tracing: a log may have both.
    CardanoNode,
    /// Dingo's, as JSON.
    Dingo,
}

impl Dialect {
    /// The dialect that a line is in; None where it is in none of them.
    #[must_use]
    pub fn of(line: &[u8]) -> Option<Self> {
        let line = line.trim_ascii();
        let has = |key: &str| memmem::find(line, key.as_bytes()).is_some();
        if line.first() != Some(&b'{') {
            None
        } else if has("\"at\":") && has("\"ns\":") {
            Some(Self::CardanoNode)
        } else if has("\"time\":") && has("\"level\":") && has("\"msg\":") && has("\"component\":") {
            Some(Self::Dingo)
        } else {
            None
        }
    }

    /// The node that writes it.
    #[must_use]
    pub const fn node(self) -> &'static str {
        match self {
            Self::CardanoNode => "cardano-node",
            Self::Dingo => "dingo",
        }
    }

    /// When a line of interest was written, in ns since 1970, UTC; None where it is of none, or can't be read.
    pub(crate) fn time(self, line: &[u8]) -> Option<i64> {
        match self {
            Self::CardanoNode => Some(read_line(line).ok()?.entry?.ts_ns),
            Self::Dingo => Some(dingo::read_line(line).ok()?.part?.ts_ns),
        }
    }
}
