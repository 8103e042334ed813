//! A wide area network on one machine, without netem.
//!
//! Each host is a network namespace with a TUN device. One process reads every packet that a host sends, holds it for the latency of
//! its pair of hosts, and writes it to the receiver's device. TCP above is the kernel's own. What is in a topology: [`topology`]; how packets are
//! held: [`pair`] and [`router`]; how a process gets into a host: [`exec`]. docs/wan.md describes the program.

pub mod directory;
pub mod elsewhere;
pub mod error;
pub mod exec;
mod link;
pub mod namespace;
pub mod pair;
pub mod router;
pub mod statistics;
pub mod topology;
mod tun;

pub use error::WanError;
pub use topology::Topology;
