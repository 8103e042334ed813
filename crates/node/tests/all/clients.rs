//! Clients of another implementation, pallas-network, against real nodes: between nodes, and over the socket for local clients.

use std::collections::BTreeMap;
use std::time::Duration;

use pallas_network::facades::{NodeClient, PeerClient};
use pallas_network::miniprotocols::Point;
use pallas_network::miniprotocols::chainsync::NextResponse;
use pallas_network::miniprotocols::localstate::queries_v16::{self, BlockQuery, LedgerQuery, RationalNumber, Request};
use pallas_network::miniprotocols::localtxsubmission::{EraTx, Response, SMaybe};
use slotmark_chain::hash::blake2b_256;

use crate::bed::wallet::Wallet;
use crate::bed::{Bed, FUNDS, MAGIC, Node, Shape, run, wait_for, wait_for_agreement};

const SHAPE: Shape = Shape { pools: 2, security_parameter: 20, active_slots: 0.5, epoch_slots: 400, slot_ms: 200 };
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
        let by_input = queries_v16::get_utxo_by_txin(query, 6, [place_of(&bed, 0)].into()).await.unwrap();
        assert_eq!(by_input, unspent);
        assert_eq!(queries_v16::get_utxo_whole(query, 6).await.unwrap().len(), bed.funds.len());
        check_parameters(&queries_v16::get_current_pparams(query, 6).await.unwrap());
        let stake = queries_v16::get_stake_distribution(query, 6).await.unwrap();
        let half = RationalNumber { numerator: 1, denominator: 2 };
        assert_eq!(stake.iter().map(|(_, pool)| pool.stakes.clone()).collect::<Vec<_>>(), [half.clone(), half.clone()]);
        for asked in [BlockQuery::GetStakeDistribution2, BlockQuery::GetPoolDistr2(SMaybe::None)] {
            // As cardano-ledger has it (`PoolDistr`); pallas has a type of its own for the older form only.
            type Pools = BTreeMap<queries_v16::Addr, (RationalNumber, u64, queries_v16::Addr)>;
            let asked = Request::LedgerQuery(LedgerQuery::BlockQuery(6, asked));
            let ((pools, all),): ((Pools, u64),) = query.query(asked).await.unwrap();
            let entry = |(id, key): &([u8; 28], [u8; 32])| (id.to_vec().into(), (half.clone(), FUNDS, key.to_vec().into()));
            assert_eq!((pools, all), (bed.genesis().pools.iter().map(entry).collect(), 2 * FUNDS));
        }
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

/// Returns the place of a pool's funds in the genesis.
fn place_of(bed: &Bed, pool: usize) -> queries_v16::TransactionInput {
    queries_v16::TransactionInput { transaction_id: blake2b_256(&[&bed.funds[pool].0]).into(), index: 0 }
}

/// Holds parameters against the genesis files, which have a chain's that is forged.
fn check_parameters(found: &queries_v16::ProtocolParam) {
    use slotmark_network::{PLUTUS_V1_COST_MODEL, PLUTUS_V3_COST_MODEL};
    let share = |numerator, denominator| Some(RationalNumber { numerator, denominator });
    let coin = |found: &Option<queries_v16::Coin>| found.as_ref().map(u64::from);
    assert_eq!((found.minfee_a, found.minfee_b), (Some(44), Some(155_381)));
    assert_eq!(found.max_block_body_size, Some(90_112));
    assert_eq!((found.max_transaction_size, found.max_block_header_size), (Some(16_384), Some(1_100)));
    assert_eq!((coin(&found.key_deposit), coin(&found.pool_deposit)), (Some(2_000_000), Some(500_000_000)));
    assert_eq!((found.maximum_epoch, found.desired_number_of_stake_pools), (Some(18), Some(500)));
    assert_eq!((&found.pool_pledge_influence, &found.expansion_rate), (&share(3, 10), &share(3, 1_000)));
    assert_eq!((&found.treasury_growth_rate, found.protocol_version), (&share(1, 1), Some((10, 0))));
    assert_eq!((coin(&found.min_pool_cost), coin(&found.ada_per_utxo_byte)), (Some(0), Some(4_310)));
    let models = found.cost_models_for_script_languages.as_ref().unwrap();
    assert_eq!(models.plutus_v1.as_deref(), Some(&PLUTUS_V1_COST_MODEL[..]));
    assert_eq!((models.plutus_v2.as_deref(), models.plutus_v3.as_deref()), (None, Some(&PLUTUS_V3_COST_MODEL[..])));
    let prices = found.execution_costs.clone().unwrap();
    assert_eq!((Some(prices.mem_price), Some(prices.step_price)), (share(577, 10_000), share(721, 10_000_000)));
    let units = |units: &Option<queries_v16::ExUnits>| units.as_ref().map(|units| (units.mem, units.steps));
    assert_eq!(units(&found.max_tx_ex_units), Some((14_000_000, 10_000_000_000)));
    assert_eq!(units(&found.max_block_ex_units), Some((62_000_000, 40_000_000_000)));
    assert_eq!((found.max_value_size, found.collateral_percentage, found.max_collateral_inputs), (Some(5_000), Some(150), Some(3)));
    let pools = found.pool_voting_thresholds.clone().unwrap();
    assert_eq!((Some(pools.motion_no_confidence), Some(pools.pp_security_group)), (share(51, 100), share(51, 100)));
    let dreps = found.drep_voting_thresholds.clone().unwrap();
    assert_eq!((Some(dreps.motion_no_confidence), Some(dreps.committee_no_confidence)), (share(67, 100), share(3, 5)));
    assert_eq!((Some(dreps.update_to_constitution), Some(dreps.hard_fork_initiation)), (share(3, 4), share(3, 5)));
    assert_eq!((Some(dreps.pp_gov_group), Some(dreps.treasury_withdrawal)), (share(3, 4), share(67, 100)));
    assert_eq!((found.min_committee_size, found.committee_term_limit), (Some(0), Some(365)));
    assert_eq!((found.governance_action_validity_period, coin(&found.governance_action_deposit)), (Some(30), Some(100_000_000_000)));
    assert_eq!((coin(&found.drep_deposit), found.drep_inactivity_period), (Some(500_000_000), Some(20)));
    assert_eq!(found.minfee_refscript_cost_per_byte, share(15, 1));
}
