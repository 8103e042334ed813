//! Submits signed transactions to nodes at an asked rate, over node-to-node tx-submission.
//!
//! A [`Schedule`] decides when each transaction is due; the connections to all targets take from it, so that a transaction goes to
//! one target, whichever asks first. Each [`Record`] has the times of one transaction.

mod inclusion;
mod place;
mod record;
mod schedule;
mod submission;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

pub use inclusion::{Included, Inclusion, inclusions, wait_for_inclusion};
pub use place::{Place, shared_out};
pub use record::{Record, Summary, now_ns};
pub use schedule::Schedule;
pub use submission::{SubmissionError, submit_to};

/// The end of one target's connection.
#[derive(Debug)]
pub struct Ended {
    /// The target.
    pub target: SocketAddr,
    /// The reason why it ended before all was submitted, if it did.
    pub error: Option<SubmissionError>,
    /// Protocols that the target began as the side that asks, though it was agreed that only we do.
    pub opened: BTreeSet<u16>,
}

/// Submits what is scheduled to all targets, each over a connection of its own, until nothing is left or all connections are lost.
///
/// Every transaction that was offered is sent to `records` once: when it was acknowledged, or when its connection ended. A target that asks
/// for nothing for `patience` is given up.
pub fn submit(targets: &[SocketAddr], magic: u32, schedule: &Schedule, patience: Duration, records: &Sender<Record>) -> Vec<Ended> {
    thread::scope(|scope| {
        let connections = targets.iter().map(|&target| {
            let records = records.clone();
            scope.spawn(move || {
                let mut opened = BTreeSet::new();
                let error = submit_to(target, magic, schedule, patience, &records, &mut opened).err();
                Ended { target, error, opened }
            })
        });
        let connections: Vec<_> = connections.collect();
        connections.into_iter().map(|connection| connection.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}
