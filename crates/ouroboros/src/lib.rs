//! The node's mini-protocols: a server that replays a chain at full speed, and a client that follows one.

pub mod client;
pub mod framing;
pub mod handshake;
pub mod message;
pub mod mux;
pub mod server;
