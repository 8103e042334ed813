//! The node's mini-protocols: a server that replays a chain at full speed, a client that follows one, and a relay that notes when
//! a node announces blocks.

pub mod client;
pub mod follower;
pub mod framing;
pub mod handshake;
pub mod ingress;
pub mod limits;
pub mod message;
pub mod mux;
pub mod relay;
pub mod server;
