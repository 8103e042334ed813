//! The way of transactions through real nodes: from a local client of one, over others, into the blocks of the one that forges.

use std::collections::BTreeSet;

use ed25519_dalek::SigningKey;
use pallas_network::facades::NodeClient;
use pallas_network::miniprotocols::localtxsubmission::{EraTx, Response};
use serde_json::Value;
use slotmark_chain::block::Decoder;
use slotmark_chain::hash::blake2b_256;

use crate::bed::wallet::{Signed, Wallet};
use crate::bed::{Bed, MAGIC, Node, Shape, fetch_chain, ingest, run, wait_for, wait_for_sockets};

const SHAPE: Shape = Shape { pools: 2, security_parameter: 20, active_slots: 0.5, epoch_slots: 400, slot_ms: 200 };
/// Nodes in the order in which transactions pass them: each is followed by the next one.
const FORGER: usize = 0;
const RELAY: usize = 2;
const ENTRY: usize = 3;
/// Bytes of a body, from the genesis of the bed, and how many blocks' worth a mempool holds.
const MAX_BODY_BYTES: u64 = 90_112;
const CAPACITY: u64 = 2 * MAX_BODY_BYTES;
/// A large transaction: its fee and its lines of metadata. Eleven of them and a few small ones fill a mempool.
const LARGE: (u64, usize) = (1_000_000, 240);
const SMALL: (u64, usize) = (200_000, 0);

async fn client(node: &Node) -> NodeClient {
    NodeClient::connect(node.folder.join("node.socket"), MAGIC).await.unwrap()
}

async fn submit(client: &mut NodeClient, transaction: &Signed) -> bool {
    matches!(client.submission().submit_tx(EraTx(6, transaction.bytes.clone())).await.unwrap(), Response::Accepted)
}

/// Returns a transaction's id as log lines have it.
fn short(transaction: &Signed) -> String {
    hex::encode(&transaction.id[..4])
}

fn short_ids<'t>(transactions: impl IntoIterator<Item = &'t Signed>) -> Vec<String> {
    transactions.into_iter().map(short).collect()
}

/// A node's lines with a name, parsed: what they have under `data`.
fn lines(node: &Node, name: &str) -> Vec<Value> {
    let log = node.log();
    let whole = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    whole.filter(|line| line["ns"] == name).map(|mut line| line["data"].take()).collect()
}

/// The short ids in a node's lines of the mempool with a name, in order.
fn ids_in(node: &Node, name: &str) -> Vec<String> {
    lines(node, name).iter().map(|data| data["tx"]["txid"].as_str().unwrap().to_owned()).collect()
}

fn wait_for_added(node: &mut [Node; 2], at: usize, expected: &[String]) {
    wait_for("transactions in the mempool", node, |nodes| (ids_in(&nodes[at], "Mempool.AddedTx") == expected).then_some(()));
}

// Long because it is one story of three nodes, which take seconds to start: each step needs what the steps before it left.
#[test]
fn transactions_of_a_local_client_land_in_blocks_of_another_node() {
    let bed = Bed::new(SHAPE);
    let (mut alice, mut bob) = (Wallet::new(&bed, 0), Wallet::new(&bed, 1));
    // The forger isn't there yet, so that nothing leaves the mempools.
    let mut nodes = [bed.start(RELAY, &[FORGER], &[]), bed.start(ENTRY, &[RELAY], &[])];
    wait_for_sockets(&mut nodes);

    // One that spends what another one in the mempool makes; a fee that is too small; one that spends the same again, and the
    // first one itself once more.
    let mut transactions: Vec<Signed> = Vec::new();
    run(async {
        let mut entry = client(&nodes[1]).await;
        for _ in 0..2 {
            transactions.push(alice.spend(SMALL.0, SMALL.1));
            assert!(submit(&mut entry, &transactions[transactions.len() - 1]).await);
        }
        let (cheap, twice) = (alice.clone().spend(1, 0), Wallet::new(&bed, 0).spend(300_000, 0));
        for refused in [&cheap, &twice, &transactions[0]] {
            assert!(!submit(&mut entry, refused).await);
        }
        assert_eq!(ids_in(&nodes[1], "Mempool.RejectedTx"), short_ids([&cheap, &twice]));
    });
    wait_for_added(&mut nodes, 0, &short_ids(&transactions));

    // Who watches the relay's mempool hears of what comes from its peer.
    run(async {
        let (mut entry, mut watching) = (client(&nodes[1]).await, client(&nodes[0]).await);
        watching.monitor().acquire().await.unwrap();
        assert_eq!(watching.monitor().query_size_and_capacity().await.unwrap().number_of_txs, 2);
        transactions.push(alice.spend(SMALL.0, SMALL.1));
        let (acquired, taken) = tokio::join!(watching.monitor().acquire(), submit(&mut entry, &transactions[2]));
        assert!(acquired.is_ok() && taken);
        let sizes = watching.monitor().query_size_and_capacity().await.unwrap();
        assert_eq!((sizes.number_of_txs, u64::from(sizes.capacity_in_bytes)), (3, CAPACITY));
    });

    // The relay's mempool is filled by its own client, whose last transaction waits for room. What comes from its peer waits too.
    let fitting: Vec<Signed> = (0..11).map(|_| bob.spend(LARGE.0, LARGE.1)).collect();
    let waiting = bob.spend(LARGE.0, LARGE.1);
    let held: Vec<Signed> = (0..12).map(|_| alice.spend(LARGE.0, LARGE.1)).collect();
    let of_bob: Vec<[u8; 32]> = fitting.iter().chain([&waiting]).map(|transaction| transaction.id).collect();
    let forger = run(async {
        let (mut entry, mut filling) = (client(&nodes[1]).await, client(&nodes[0]).await);
        for transaction in &fitting {
            assert!(submit(&mut filling, transaction).await);
        }
        filling.submission().send_submit_tx(EraTx(6, waiting.bytes.clone())).await.unwrap();
        let (last, first) = held.split_last().unwrap();
        for transaction in &first[..10] {
            assert!(submit(&mut entry, transaction).await);
        }
        transactions.extend(fitting.iter().cloned());
        wait_for("transactions that the relay has no room for", &mut nodes, |nodes| {
            let collected = lines(&nodes[0], "TxSubmission.TxInbound.Collected");
            (collected.iter().map(|data| data["count"].as_u64().unwrap()).sum::<u64>() > 3).then_some(())
        });
        assert_eq!(ids_in(&nodes[0], "Mempool.AddedTx"), short_ids(&transactions));
        // With the forger there are blocks, and room.
        let forger = bed.start(FORGER, &[], &[]);
        assert!(matches!(filling.submission().recv_submit_tx_response().await.unwrap(), Response::Accepted));
        assert!(submit(&mut entry, &first[10]).await);
        assert!(submit(&mut entry, last).await);
        forger
    });
    transactions.push(waiting);
    transactions.extend(held);
    let [relay, entry] = nodes;
    let mut nodes = [forger, relay, entry];
    let of_alice: Vec<Signed> = transactions.iter().filter(|transaction| !of_bob.contains(&transaction.id)).cloned().collect();
    let expected = [short_ids(&transactions), short_ids(&transactions), short_ids(&of_alice)];
    let expected = expected.map(|ids| ids.into_iter().collect::<BTreeSet<String>>());
    wait_for("all transactions in blocks", &mut nodes, |nodes| {
        let left = |node: &Node| -> BTreeSet<String> {
            let removed = lines(node, "Mempool.RemoveTxs");
            let ids = removed.iter().flat_map(|data| data["txs"].as_array().unwrap());
            ids.map(|tx| tx["tx"]["txid"].as_str().unwrap().to_owned()).collect()
        };
        nodes.iter().zip(&expected).all(|(node, expected)| left(node) == *expected).then_some(())
    });

    // The chain has each once, in blocks of the forger that are no larger than blocks may be.
    let blocks = run(fetch_chain(&bed, RELAY));
    let cold_key = SigningKey::from_bytes(&[1 + FORGER as u8; 32]).verifying_key().to_bytes();
    let mut decoder = Decoder::new();
    let mut found = Vec::new();
    for bytes in &blocks {
        let block = decoder.decode(bytes).unwrap();
        assert_eq!(block.header.issuer, Some(&cold_key));
        assert!(block.body_bytes() <= MAX_BODY_BYTES);
        found.extend(block.transactions.iter().map(|transaction| blake2b_256(&[transaction.body.of(bytes)])));
    }
    found.sort_unstable();
    let mut ids: Vec<[u8; 32]> = transactions.iter().map(|transaction| transaction.id).collect();
    ids.sort_unstable();
    assert_eq!(found, ids);

    for (node, expected) in nodes.iter().zip(&expected) {
        let added = lines(node, "Mempool.AddedTx");
        assert_eq!(added.len(), expected.len());
        assert!(added.iter().all(|data| data["mempoolSize"]["bytes"].as_u64().unwrap() <= CAPACITY), "{added:#?}");
    }
    let slots = |name| -> Vec<u64> { lines(&nodes[0], name).iter().map(|data| data["slot"].as_u64().unwrap()).collect() };
    let forged = slots("Forge.Loop.ForgedBlock");
    assert!(slots("Forge.Loop.ForgingMempoolSnapshot").starts_with(&forged) && forged.len() >= blocks.len());
    nodes.into_iter().for_each(Node::stop);
    ingest(&bed, &[FORGER, RELAY, ENTRY]);
}
