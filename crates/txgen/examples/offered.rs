//! Measures how many transactions a second are signed, and offered to a target that asks without pause: pallas-network's server in this process.
//!
//! Prints one JSON line per round: transactions, seconds of signing, of submitting at once, and the rate reached where 1,000 a second are asked
//! for, with the CPU time of it.

use std::net::{Ipv4Addr, SocketAddr};
use std::ops::ControlFlow;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use pallas_network::facades::PeerServer;
use pallas_network::miniprotocols::txsubmission::Reply;
use serde_json::json;
use slotmark_synth::Budgets;
use slotmark_synth::load::{Fund, Load, LoadKind, Referred, SignedTransaction, prepare};
use slotmark_txgen::{Schedule, Summary, submit};
use tokio::net::TcpListener;

const MAGIC: u32 = 42;
const ASKED_TPS: f64 = 1_000.0;

/// Takes ten transactions at a time until there are no more.
async fn take_all(listener: &TcpListener) {
    let mut peer = PeerServer::accept(listener, u64::from(MAGIC)).await.expect("a peer");
    let server = peer.txsubmission();
    server.wait_for_init().await.expect("init");
    let mut acknowledge = 0;
    loop {
        server.acknowledge_and_request_tx_ids(true, acknowledge, 10).await.expect("sent");
        let Reply::TxIds(ids) = server.receive_next_reply().await.expect("a reply") else { return };
        server.request_txs(ids.iter().map(|offer| offer.0.clone()).collect()).await.expect("sent");
        let Reply::Txs(_) = server.receive_next_reply().await.expect("a reply") else { panic!("expected transactions") };
        acknowledge = ids.len() as u16;
    }
}

/// Submits all at this rate; gives the rate that was reached.
fn submitted(runtime: &tokio::runtime::Runtime, transactions: &[SignedTransaction], tps: f64) -> f64 {
    let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).expect("a port");
    let target: SocketAddr = listener.local_addr().expect("an address");
    let node = runtime.spawn(async move { take_all(&listener).await });
    let schedule = Schedule::new(transactions.to_vec(), tps, Arc::default());
    let (sender, receiver) = mpsc::channel();
    let ended = submit(&[target], MAGIC, &schedule, Duration::from_secs(60), &sender);
    drop(sender);
    assert!(ended.iter().all(|one| one.error.is_none()), "{ended:?}");
    let mut summary = Summary::new(transactions.len() as u64, tps);
    receiver.into_iter().for_each(|record| summary.add(&record));
    runtime.block_on(node).expect("a node");
    assert_eq!(summary.acknowledged, transactions.len() as u64);
    summary.tps_offered.expect("two transactions")
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>().expect("a number"));
    let (count, rounds) = (arguments.next().unwrap_or(5_000), arguments.next().unwrap_or(5));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let funds: Vec<Fund> = (1..=100).map(|number| Fund::new(&[number; 32], 1_000_000_000_000_000)).collect();
    for round in 1..=rounds {
        let load = Load {
            kind: LoadKind::ValueOnly { inputs: 2, outputs: 2 },
            transactions: count,
            payload_bytes: 100,
            seed: round,
            budget: Budgets::PUBLIC.transaction,
            referred: Referred::default(),
        };
        let began = Instant::now();
        let transactions = prepare(&load, &funds, &mut |_, _| ControlFlow::Continue(())).expect("a load").transactions;
        let signed_tps = count as f64 / began.elapsed().as_secs_f64();
        let at_once_tps = submitted(&runtime, &transactions, f64::INFINITY);
        let before = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let began = Instant::now();
        let reached_tps = submitted(&runtime, &transactions, ASKED_TPS);
        let after = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let cpu_s = (after.tv_sec - before.tv_sec) as f64 + (after.tv_nsec - before.tv_nsec) as f64 / 1e9;
        let cores = cpu_s / began.elapsed().as_secs_f64();
        println!(
            "{}",
            json!({"round": round, "transactions": count, "signed_tps": signed_tps.round(), "at_once_tps": at_once_tps.round(),
                   "asked_tps": ASKED_TPS, "reached_tps": reached_tps, "cores": cores})
        );
    }
}
