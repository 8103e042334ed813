//! A node's topology file, in the P2P form.

use serde::Deserialize;

/// A topology file, of which the peers are read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Topology {
    /// Groups of peers that the node follows.
    pub local_roots: Vec<Group>,
    /// Groups of peers from which it finds others.
    #[serde(default)]
    pub public_roots: Vec<Group>,
}

/// A group of peers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// The peers' addresses.
    pub access_points: Vec<AccessPoint>,
    /// True where they may be silent for any time.
    #[serde(default)]
    pub trustable: bool,
    /// Number of them that the node follows.
    pub valency: Option<u64>,
    /// The same by its newer name.
    pub hot_valency: Option<u64>,
}

/// The address of a peer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
pub struct AccessPoint {
    /// An IP address or a name.
    pub address: String,
    /// Its port.
    pub port: u16,
}
