//! Submitting to a node of another implementation: pallas-network as the side that asks.

use std::collections::{HashMap, HashSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use pallas_network::facades::PeerServer;
use pallas_network::miniprotocols::txsubmission::{EraTxId, Reply};
use slotmark_synth::Budgets;
use slotmark_synth::load::{Fund, Load, LoadKind, Referred, SignedTransaction, prepare};
use slotmark_txgen::{Record, Schedule, SubmissionError, Summary, submit};
use tokio::net::TcpListener;

const MAGIC: u32 = 42;

/// Signed transactions, as a workload has them.
fn transactions(count: u64) -> Vec<SignedTransaction> {
    let load = Load {
        kind: LoadKind::ValueOnly { inputs: 2, outputs: 2 },
        transactions: count,
        payload_bytes: 100,
        seed: 1,
        budget: Budgets::PUBLIC.transaction,
        referred: Referred::default(),
    };
    let funds = [Fund::new(&[1; 32], 1_000_000_000_000_000), Fund::new(&[2; 32], 1_000_000_000_000_000)];
    prepare(&load, &funds, &mut |_, _| std::ops::ControlFlow::Continue(())).expect("a load").transactions
}

/// The transactions that a node received.
type Received = HashMap<Vec<u8>, Vec<u8>>;

/// Accepts one connection, and takes transactions until there are no more: at first it waits for them, then it asks for more
/// while some are unacknowledged, as nodes do.
async fn node(listener: TcpListener, magic: u64) -> Received {
    let mut peer = PeerServer::accept(&listener, magic).await.expect("a peer");
    let server = peer.txsubmission();
    server.wait_for_init().await.expect("init");
    let mut received = Received::new();
    let mut acknowledge = 0;
    loop {
        server.acknowledge_and_request_tx_ids(true, acknowledge, 3).await.expect("sent");
        let mut offered = match server.receive_next_reply().await.expect("a reply") {
            Reply::TxIds(ids) => ids,
            Reply::Done => return received,
            Reply::Txs(_) => panic!("transactions without a request"),
        };
        assert!((1..=3).contains(&offered.len()));
        server.acknowledge_and_request_tx_ids(false, 0, 5).await.expect("sent");
        match server.receive_next_reply().await.expect("a reply") {
            Reply::TxIds(more) => offered.extend(more),
            _ => panic!("expected ids"),
        }
        let ids: Vec<EraTxId> = offered.iter().map(|offer| offer.0.clone()).collect();
        server.request_txs(ids.clone()).await.expect("sent");
        let Reply::Txs(bodies) = server.receive_next_reply().await.expect("a reply") else { panic!("expected transactions") };
        assert_eq!(bodies.len(), ids.len());
        for ((id, body), offer) in ids.iter().zip(bodies).zip(&offered) {
            assert_eq!((id.0, body.0), (6, 6));
            assert_eq!(body.1.len(), offer.1 as usize);
            received.insert(id.1.clone(), body.1);
        }
        acknowledge = offered.len() as u16;
    }
}

fn submitted(targets: &[SocketAddr], schedule: &Schedule) -> (Vec<Record>, Vec<slotmark_txgen::Ended>) {
    let (sender, receiver) = mpsc::channel();
    let ended = submit(targets, MAGIC, schedule, Duration::from_secs(60), &sender);
    drop(sender);
    (receiver.into_iter().collect(), ended)
}

async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_transaction_reaches_one_node_and_its_times_are_in_order() {
    let signed = transactions(200);
    let ((first, at), (second, also_at)) = (listen().await, listen().await);
    let nodes = [tokio::spawn(node(first, u64::from(MAGIC))), tokio::spawn(node(second, u64::from(MAGIC)))];
    let schedule = Schedule::new(signed.clone(), 1_000.0, Arc::default());
    let (records, ended) = tokio::task::spawn_blocking(move || submitted(&[at, also_at], &schedule)).await.expect("submitted");
    assert!(ended.iter().all(|one| one.error.is_none()), "{ended:?}");
    let mut received = Received::new();
    for node in nodes {
        for (id, body) in node.await.expect("a node") {
            assert!(received.insert(id, body).is_none(), "sent to both");
        }
    }
    assert_eq!(received.len(), signed.len());
    for transaction in &signed {
        assert_eq!(received[&transaction.id[..]], transaction.bytes);
    }
    let mut summary = Summary::new(200, 1_000.0);
    for record in &records {
        let (requested, acknowledged) = (record.requested_ns.expect("asked for"), record.acknowledged_ns.expect("acknowledged"));
        assert!(
            record.due_ns <= record.offered_ns + 1_000_000 && record.offered_ns <= requested && requested <= acknowledged,
            "{record:?}"
        );
        assert!([at, also_at].contains(&record.target));
        summary.add(record);
    }
    let ids: HashSet<_> = records.iter().map(|record| record.id).collect();
    assert_eq!((ids.len(), summary.acknowledged), (200, 200));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_is_stopped_ends_with_what_was_offered() {
    let (listener, at) = listen().await;
    let node = tokio::spawn(node(listener, u64::from(MAGIC)));
    let stop = Arc::<AtomicBool>::default();
    // The second one is due in many days.
    let schedule = Schedule::new(transactions(2), 1e-6, Arc::clone(&stop));
    let submitting = tokio::task::spawn_blocking(move || submitted(&[at], &schedule));
    tokio::time::sleep(Duration::from_millis(200)).await;
    stop.store(true, Ordering::Relaxed);
    let (records, ended) = submitting.await.expect("submitted");
    assert!(ended[0].error.is_none(), "{ended:?}");
    assert!(records.len() <= 1);
    assert_eq!(node.await.expect("a node").len(), records.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_of_another_network_refuses_and_one_that_is_not_there_is_named() {
    let (listener, at) = listen().await;
    let node = tokio::spawn(async move { PeerServer::accept(&listener, 7).await.is_err() });
    let gone = {
        let (listener, at) = listen().await;
        drop(listener);
        at
    };
    let schedule = Schedule::new(transactions(1), f64::INFINITY, Arc::default());
    let (records, ended) = tokio::task::spawn_blocking(move || submitted(&[at, gone], &schedule)).await.expect("submitted");
    assert!(records.is_empty());
    let _ = node.await;
    assert!(ended[0].error.is_some(), "{ended:?}");
    assert!(matches!(&ended[1].error, Some(SubmissionError::Connect { target, .. }) if *target == gone), "{ended:?}");
}
