//! Finds the blocks that transactions are in, from a node's chain.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use slotmark_chain::hash::blake2b_256;
use slotmark_chain::{Block, Decoder, Hash32, Point};
use slotmark_wire::client::{Client, ClientError};

use crate::record::as_hex;

/// Interval at which a waiting thread checks whether to stop.
const LOOK: Duration = Duration::from_millis(100);

/// Time limit for a node's answers before it sends blocks: nodes answer at once.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);

/// The last request to a node, in words.
type Asked = Arc<Mutex<&'static str>>;

fn ask(asked: &Asked, what: &'static str) {
    *asked.lock().unwrap_or_else(PoisonError::into_inner) = what;
}

const HANDSHAKE: &str = "the node-to-client handshake";
const TIP: &str = "chain-sync MsgFindIntersect (for its tip)";
const INTERSECTION: &str = "chain-sync MsgFindIntersect (of the chain's beginning)";
const BLOCK: &str = "chain-sync MsgRequestNext";

/// The place of a transaction on a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Inclusion {
    /// Its id.
    #[serde(serialize_with = "as_hex")]
    pub id: Hash32,
    /// The block that it is in.
    #[serde(serialize_with = "as_hex")]
    pub block: Hash32,
    /// Slot of the block.
    pub slot: u64,
}

/// In which block of a node's chain each of these transactions is, in the order of the chain; those in none are left out.
///
/// The chain is read from its first block to the tip that the node has when it is asked.
///
/// # Errors
/// The node can't be followed, or the tip isn't reached within the limit.
pub fn inclusions(socket: &Path, magic: u32, ids: HashSet<Hash32>, limit: Duration) -> Result<Vec<Inclusion>, ClientError> {
    let (found, wait) = mpsc::channel();
    let (socket, asked) = (socket.to_owned(), Asked::new(Mutex::new(HANDSHAKE)));
    let asking = Arc::clone(&asked);
    // Left behind when the time is over, as below.
    thread::spawn(move || drop(found.send(read_to_tip(&socket, magic, &ids, &asking))));
    let no_answer = |limit: Duration| {
        let what = *asked.lock().unwrap_or_else(PoisonError::into_inner);
        ClientError::WrongBytes(format!("no answer to {what} within {} s", limit.as_secs()))
    };
    let first = ANSWER_LIMIT.min(limit);
    match wait.recv_timeout(first) {
        Ok(found) => return found,
        Err(RecvTimeoutError::Timeout) if *asked.lock().unwrap_or_else(PoisonError::into_inner) == BLOCK => {}
        Err(_) => return Err(no_answer(first)),
    }
    wait.recv_timeout(limit - first).unwrap_or_else(|_| Err(no_answer(limit)))
}

fn read_to_tip(socket: &Path, magic: u32, ids: &HashSet<Hash32>, asked: &Asked) -> Result<Vec<Inclusion>, ClientError> {
    let mut client = Client::connect_socket(socket, u64::from(magic))?;
    ask(asked, TIP);
    let Point::Block { slot: end, .. } = client.tip()? else { return Ok(Vec::new()) };
    ask(asked, INTERSECTION);
    client.find_intersection(&Point::Origin)?;
    ask(asked, BLOCK);
    let mut decoder = Decoder::new();
    // Each block with its own; blocks that the node rolled back are taken away when the next one doesn't follow them.
    let mut chain: Vec<(Hash32, Vec<Inclusion>)> = Vec::new();
    loop {
        let slot = client.next_block(|bytes| {
            let block = decoder.decode(bytes).map_err(|error| ClientError::WrongBytes(error.to_string()))?;
            while chain.last().is_some_and(|(last, _)| Some(*last) != block.header.prev_hash) {
                chain.pop();
            }
            let of_block = transactions(&block).filter(|id| ids.contains(id));
            let of_block = of_block.map(|id| Inclusion { id, block: block.header.hash, slot: block.header.slot }).collect();
            chain.push((block.header.hash, of_block));
            Ok(block.header.slot)
        })?;
        if slot.is_some_and(|slot| slot >= end) {
            return Ok(chain.into_iter().flat_map(|(_, of_block)| of_block).collect());
        }
    }
}

fn transactions<'b>(block: &'b Block<'_, '_>) -> impl Iterator<Item = Hash32> + 'b {
    block.transactions.iter().map(|transaction| blake2b_256(&[transaction.body.of(block.bytes)]))
}

/// The end of a wait for transactions.
#[derive(Debug)]
pub enum Included {
    /// All are in blocks.
    All,
    /// Number of transactions that aren't, and the time is over, or it was stopped.
    Missing(usize),
}

/// Waits until all transactions are in blocks of the node behind a socket, for so long at most, and not beyond `stop`.
///
/// # Errors
/// The node can't be followed.
pub fn wait_for_inclusion(
    socket: &Path,
    magic: u32,
    ids: impl IntoIterator<Item = Hash32>,
    limit: Duration,
    stop: &AtomicBool,
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
    let end = Instant::now() + limit;
    let mut left = all;
    while left > 0 && !stop.load(Ordering::Relaxed) {
        let rest = end.saturating_duration_since(Instant::now());
        match wait.recv_timeout(rest.min(LOOK)) {
            Ok(Ok(now)) => left = now,
            Ok(Err(error)) => return Err(error),
            Err(_) if rest.is_zero() => break,
            Err(_) => {}
        }
    }
    Ok(if left > 0 { Included::Missing(left) } else { Included::All })
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
            for id in transactions(&block) {
                missing.remove(&id);
            }
            Ok(())
        })?;
    }
    left(missing.len());
    Ok(())
}
