//! Waiting until transactions are in a chain that a server hands out.

use std::ops::ControlFlow;
use std::time::Duration;

use slotmark_chain::hash::blake2b_256;
use slotmark_chain::{Chain, Decoder, Hash32};
use slotmark_ouroboros::framing::FramedChain;
use slotmark_ouroboros::server::{Config, Server};
use slotmark_synth::{Recipe, Workload, forge};
use slotmark_txgen::{Included, wait_for_inclusion};

#[test]
fn transactions_are_found_in_blocks_and_missed_where_they_are_in_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("chain");
    forge(&Recipe::new(Workload::ValueOnly, 3), &place, &mut |_| ControlFlow::Continue(())).expect("a chain");
    let chain = Chain::open(&place).expect("a chain");
    let mut decoder = Decoder::new();
    let mut ids: Vec<Hash32> = Vec::new();
    for index in 0..chain.len() {
        let block = decoder.decode(chain.bytes(index)).expect("a block");
        ids.extend(block.transactions.iter().map(|transaction| blake2b_256(&[transaction.body.of(block.bytes)])));
    }
    assert!(ids.len() > 400);
    let socket = folder.path().join("socket");
    let mut config = Config::new(FramedChain::new(chain, 1 << 30).expect("framed"), 42);
    config.socket = Some(socket.clone());
    let _server = Server::start(config, |_| {}).expect("a server");
    let wait = |ids: Vec<Hash32>, seconds| wait_for_inclusion(&socket, 42, ids, Duration::from_secs(seconds));
    assert!(matches!(wait(ids.clone(), 60), Ok(Included::All)));
    ids.extend([[1; 32], [2; 32]]);
    // The chain ends, and nothing more comes: the wait ends with the time.
    assert!(matches!(wait(ids, 2), Ok(Included::Missing(left)) if left >= 2));
    assert!(wait_for_inclusion(&folder.path().join("nobody"), 42, [[1; 32]], Duration::from_secs(1)).is_err());
}
