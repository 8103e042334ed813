//! Faults of hosts and links.

use serde::{Deserialize, Serialize};

/// A fault and its time; times are slots, the end is not included.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Fault {
    /// A host does nothing, logs nothing and keeps only its database.
    HostDown {
        /// The host.
        host: u32,
        /// First slot.
        from: u64,
        /// The slot in which it is back.
        until: u64,
    },
    /// All stages of a host take longer.
    HostSlow {
        /// The host.
        host: u32,
        /// First slot.
        from: u64,
        /// The slot in which it is as before.
        until: u64,
        /// Factor of the time.
        factor: f64,
    },
    /// No message passes between two hosts, either way.
    LinkCut {
        /// The two hosts.
        between: (u32, u32),
        /// First slot.
        from: u64,
        /// The slot in which it is back.
        until: u64,
    },
    /// No message passes between these hosts and the others.
    Partition {
        /// The hosts on one side.
        hosts: Vec<u32>,
        /// First slot.
        from: u64,
        /// The slot in which it heals.
        until: u64,
    },
    /// A host's clock is wrong for the whole run.
    ClockSkew {
        /// The host.
        host: u32,
        /// By how many ms its clock is ahead; negative where it is behind.
        ahead_ms: f64,
    },
}

impl Fault {
    /// The slots in which hosts or links change when it begins and ends; `None` for one at whose ends none does.
    pub(crate) fn slots(&self) -> Option<(u64, u64)> {
        match self {
            Self::HostDown { from, until, .. } | Self::LinkCut { from, until, .. } | Self::Partition { from, until, .. } => {
                Some((*from, *until))
            }
            Self::HostSlow { .. } | Self::ClockSkew { .. } => None,
        }
    }
}
