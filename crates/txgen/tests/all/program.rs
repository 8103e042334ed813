//! The program: from a bed to records, and how it ends where it can't go on.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Output};

use pallas_network::facades::PeerServer;
use pallas_network::miniprotocols::txsubmission::Reply;
use serde_json::Value;
use slotmark_synth::bed::Bed;
use tempfile::TempDir;
use tokio::net::TcpListener;

fn bed() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let mut bed = Bed::small(&[1.0]);
    bed.genesis.funds = 3;
    bed.write(folder.path(), &mut |_, _| ControlFlow::Continue(())).expect("a bed");
    folder
}

/// Takes all transactions of one connection, ten at a time. Gives how many.
async fn take_all(listener: &TcpListener) -> usize {
    let mut peer = PeerServer::accept(listener, 42).await.expect("a peer");
    let server = peer.txsubmission();
    server.wait_for_init().await.expect("init");
    let (mut acknowledge, mut taken) = (0, 0);
    loop {
        server.acknowledge_and_request_tx_ids(true, acknowledge, 10).await.expect("sent");
        let Reply::TxIds(ids) = server.receive_next_reply().await.expect("a reply") else { return taken };
        server.request_txs(ids.iter().map(|offer| offer.0.clone()).collect()).await.expect("sent");
        let Reply::Txs(bodies) = server.receive_next_reply().await.expect("a reply") else { panic!("expected transactions") };
        acknowledge = ids.len() as u16;
        taken += bodies.len();
    }
}

fn run(bed: &Path, target: SocketAddr, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_slotmark-txgen"))
        .args(["--bed", &bed.display().to_string(), "--target", &target.to_string(), "--settle", "0"])
        .args(["-o", &bed.join("tx.jsonl").display().to_string()])
        .args(more)
        .output()
        .expect("run")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_split_comes_first_and_each_transaction_of_the_load_has_a_record() {
    let bed = bed();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let target = listener.local_addr().expect("an address");
    // A connection for the split, and one for the load.
    let node = tokio::spawn(async move { [take_all(&listener).await, take_all(&listener).await] });
    let place = bed.path().to_owned();
    let ended = tokio::task::spawn_blocking(move || run(&place, target, &["--tps", "400", "--transactions", "80"])).await.expect("run");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    assert_eq!(node.await.expect("a node"), [3, 80]);
    let lines = |text: &str| text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect::<Vec<Value>>();
    let phases = lines(&String::from_utf8(ended.stdout).expect("text"));
    assert_eq!(
        phases.iter().map(|line| line["phase"].as_str().expect("a phase")).collect::<Vec<_>>(),
        ["signed", "split", "begun", "ended"]
    );
    assert_eq!(phases[3]["facts"]["summary"]["acknowledged"], 80);
    let records = lines(&fs::read_to_string(bed.path().join("tx.jsonl")).expect("records"));
    assert_eq!(records.len(), 80);
    for record in &records {
        let time = |name: &str| record[name].as_u64().expect("a time");
        assert!(time("offered_ns") <= time("requested_ns") && time("requested_ns") <= time("acknowledged_ns"));
        assert_eq!(record["id"].as_str().map(str::len), Some(64));
        assert_eq!(record["target"], target.to_string());
        assert_eq!(record["action"], "value");
    }
}

#[test]
fn what_cannot_be_is_refused_in_a_line() {
    let bed = bed();
    let nobody = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    let refused = |more: &[&str]| {
        let ended = run(bed.path(), nobody, more);
        let message = String::from_utf8(ended.stderr).expect("text");
        assert_eq!((ended.status.code(), message.lines().count()), (Some(2), 1), "{message}");
        message
    };
    assert!(refused(&["--tps", "0", "--transactions", "1"]).contains("--tps 0: expected a number above 0"));
    assert!(refused(&["--tps", "1", "--transactions", "1"]).contains("127.0.0.1:1: can't connect"));
    assert!(refused(&["--tps", "1", "--transactions", "1", "--inputs", "0"]).contains("without inputs or outputs"));
    fs::remove_file(bed.path().join("genesis/utxo-keys/utxo2/utxo.skey")).expect("removed");
    assert!(refused(&["--tps", "1", "--transactions", "1"]).contains("utxo2/utxo.skey: can't be read"));
}
