//! Whether transactions are in blocks, from a node's chain.

use std::collections::HashSet;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use slotmark_chain::hash::blake2b_256;
use slotmark_chain::{Decoder, Hash32, Point};
use slotmark_ouroboros::client::{Client, ClientError};

/// How a wait for transactions ended.
#[derive(Debug)]
pub enum Included {
    /// All are in blocks.
    All,
    /// So many aren't, and the time is over.
    Missing(usize),
}

/// Waits until all transactions are in blocks of the node behind a socket, for so long at most.
///
/// # Errors
/// The node can't be followed.
pub fn wait_for_inclusion(
    socket: &Path,
    magic: u32,
    ids: impl IntoIterator<Item = Hash32>,
    limit: Duration,
) -> Result<Included, ClientError> {
    let mut missing: HashSet<Hash32> = ids.into_iter().collect();
    let all = missing.len();
    let (found, wait) = mpsc::channel();
    let socket = socket.to_owned();
    // Left behind when the time is over: it waits for a block that may never come, and ends with the process.
    thread::spawn(move || {
        let ended = follow(&socket, magic, &mut missing, &|left| found.send(Ok(left)).is_ok());
        if let Err(error) = ended {
            let _ = found.send(Err(error));
        }
    });
    let end = std::time::Instant::now() + limit;
    let mut left = all;
    while left > 0 {
        match wait.recv_timeout(end.saturating_duration_since(std::time::Instant::now())) {
            Ok(Ok(now)) => left = now,
            Ok(Err(error)) => return Err(error),
            Err(_) => return Ok(Included::Missing(left)),
        }
    }
    Ok(Included::All)
}

/// Follows the chain until all are found, or `left` returns false.
fn follow(socket: &Path, magic: u32, missing: &mut HashSet<Hash32>, left: &dyn Fn(usize) -> bool) -> Result<(), ClientError> {
    let mut client = Client::connect_socket(socket, u64::from(magic))?;
    client.find_intersection(&Point::Origin)?;
    let mut decoder = Decoder::new();
    while !missing.is_empty() && left(missing.len()) {
        // A roll-backward is passed over: what was found comes again in a block of the other fork, or waits in the mempool.
        client.next_block(|bytes| {
            let block = decoder.decode(bytes).map_err(|error| ClientError::WrongBytes(error.to_string()))?;
            for transaction in block.transactions {
                missing.remove(&blake2b_256(&[transaction.body.of(block.bytes)]));
            }
            Ok(())
        })?;
    }
    left(missing.len());
    Ok(())
}
