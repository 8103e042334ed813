//! The node's mini-protocols: what a server of them needs, a client that follows a chain, and a relay that notes when a node announces
//! blocks.

pub mod client;
pub mod follower;
pub mod handshake;
pub mod ingress;
pub mod limits;
pub mod message;
pub mod mux;
pub mod protocols;
pub mod relay;
pub mod stream;
