//! Clients of another implementation, pallas-network, against real nodes: between nodes, and over the socket for local clients.

mod bed;

use std::time::Duration;

use pallas_network::facades::{NodeClient, PeerClient};
use pallas_network::miniprotocols::Point;
use pallas_network::miniprotocols::chainsync::NextResponse;
use pallas_network::miniprotocols::localstate::queries_v16;
use pallas_network::miniprotocols::localtxsubmission::{EraTx, Response};
use slotmark_chain::hash::blake2b_256;

use bed::wallet::Wallet;
use bed::{Bed, MAGIC, Node, Shape, run, wait_for, wait_for_agreement};

const SHAPE: Shape = Shape { pools: 2, security_parameter: 20, active_slots: 0.5, slot_ms: 200 };
#[test]
fn a_peer_follows_the_chain_and_fetches_its_blocks() {
    let bed = Bed::new(SHAPE);
    let mut nodes = bed.start_all(&[]);
    wait_for_agreement(25, &mut nodes);
    let address = format!("{}:3001", bed.address(0));
    run(async {
        let mut peer = PeerClient::connect(&address, MAGIC).await.unwrap();
        let (found, tip) = peer.chainsync().find_intersect(vec![Point::Origin]).await.unwrap();
        assert_eq!(found, Some(Point::Origin));
        assert!(tip.1 >= 25);
        assert!(matches!(peer.chainsync().request_next().await.unwrap(), NextResponse::RollBackward(Point::Origin, _)));
        let mut points = Vec::new();
        let mut previous = None;
        while points.len() < 24 {
            match peer.chainsync().request_next().await.unwrap() {
                NextResponse::RollForward(header, _) => {
                    assert_eq!(header.variant, 6);
                    let read = slotmark_chain::block::decode_header_alone(slotmark_chain::block::Era::Conway, &header.cbor).unwrap();
                    assert_eq!((read.prev_hash, read.block_no), (previous, points.len() as u64));
                    previous = Some(read.hash);
                    points.push(Point::Specific(read.slot, read.hash.to_vec()));
                }
                other => panic!("block {}: {other:?}", points.len()),
            }
        }
        let blocks = peer.blockfetch().fetch_range((points[0].clone(), points[23].clone())).await.unwrap();
        let hashes: Vec<Point> = blocks
            .iter()
            .map(|block| {
                let header = slotmark_chain::block::decode_header(block).unwrap();
                Point::Specific(header.slot, header.hash.to_vec())
            })
            .collect();
        assert_eq!(hashes, points);
        // A range whose ends don't belong together is no range.
        assert!(peer.blockfetch().fetch_range((points[5].clone(), points[4].clone())).await.is_err());
        assert!(peer.blockfetch().fetch_range((Point::Specific(1, vec![7; 32]), points[4].clone())).await.is_err());
        peer.abort().await;
        assert!(PeerClient::connect(&address, MAGIC + 1).await.is_err());
    });
    nodes.into_iter().for_each(Node::stop);
}

#[test]
fn a_local_client_follows_asks_and_submits() {
    let bed = Bed::new(SHAPE);
    let mut nodes = bed.start_all(&[]);
    wait_for_agreement(3, &mut nodes);
    let socket = bed.folder.path().join("node-0/node.socket");
    let transaction = Wallet::new(&bed, 0).spend(200_000, 0);
    run(async {
        let mut client = NodeClient::connect(&socket, MAGIC).await.unwrap();
        client.chainsync().intersect_origin().await.unwrap();
        let mut numbers = Vec::new();
        while numbers.len() < 3 {
            match client.chainsync().request_or_await_next().await.unwrap() {
                NextResponse::RollForward(block, _) => numbers.push(slotmark_chain::block::decode_header(&block.0).unwrap().block_no),
                NextResponse::RollBackward(..) => numbers.clear(),
                NextResponse::Await => {}
            }
        }
        assert_eq!(numbers, [0, 1, 2]);

        let query = client.statequery();
        query.acquire(None).await.unwrap();
        assert_eq!(queries_v16::get_current_era(query).await.unwrap(), 6);
        let start = queries_v16::get_system_start(query).await.unwrap();
        assert!((1..=366).contains(&start.day_of_year));
        assert!(matches!(queries_v16::get_chain_point(query).await.unwrap(), Point::Specific(..)));
        assert!(queries_v16::get_chain_block_no(query).await.unwrap().block_number >= 2);
        let addresses = vec![bed.funds[0].0.clone().into()];
        let unspent = queries_v16::get_utxo_by_address(query, 6, addresses.clone()).await.unwrap();
        assert_eq!(unspent.iter().map(|(place, _)| place.transaction_id.to_vec()).collect::<Vec<_>>(), [blake2b_256(&[&bed.funds[0].0])]);
        query.send_release().await.unwrap();

        // Too small a fee, then enough.
        let cheap = Wallet::new(&bed, 0).spend(1, 0);
        let refused = client.submission().submit_tx(EraTx(6, cheap.bytes)).await.unwrap();
        assert!(matches!(refused, Response::Rejected(_)), "{refused:?}");
        assert_eq!(client.submission().submit_tx(EraTx(6, transaction.bytes)).await.unwrap(), Response::Accepted);

        loop {
            let query = client.statequery();
            query.acquire(None).await.unwrap();
            let unspent = queries_v16::get_utxo_by_address(query, 6, addresses.clone()).await.unwrap();
            query.send_release().await.unwrap();
            if unspent.iter().any(|(place, _)| place.transaction_id.to_vec() == transaction.id) {
                assert_eq!(unspent.len(), 1);
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let size = {
            client.monitor().acquire().await.unwrap();
            client.monitor().query_size_and_capacity().await.unwrap()
        };
        assert_eq!((size.size_in_bytes, size.number_of_txs), (0, 0));
        client.abort().await;
    });
    wait_for("the transaction to leave the mempool", &mut nodes, |nodes| nodes[0].log().contains("Mempool.RemoveTxs").then_some(()));
    nodes.into_iter().for_each(Node::stop);
}
