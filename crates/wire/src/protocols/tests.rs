//! Messages of all mini-protocols, and peers that keep to them or don't.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use slotmark_chain::{Point, Tip};

use super::local_state_query::Target;
use super::*;
use crate::limits::{LARGE_BYTES, SHORT};
use crate::message::length;

fn points() -> impl Strategy<Value = Point> {
    prop_oneof![Just(Point::Origin), (any::<u64>(), any::<[u8; 32]>()).prop_map(|(slot, hash)| Point::Block { slot, hash })]
}

#[test]
fn messages_of_tx_submission_come_back_and_are_not_whole_before_their_end() {
    for request in [
        tx_submission::Request::Ids { blocking: true, acknowledged: 0, requested: 3 },
        tx_submission::Request::Ids { blocking: false, acknowledged: 300, requested: 0 },
        tx_submission::Request::Transactions(vec![]),
        tx_submission::Request::Transactions(vec![[1; 32], [2; 32]]),
    ] {
        let mut wire = Vec::new();
        request.encode(&mut wire);
        assert_eq!(tx_submission::Request::decode(&wire), Ok((request, wire.len())));
        for length in 0..wire.len() {
            assert_eq!(tx_submission::Request::decode(&wire[..length]), Err(MessageError::Incomplete));
        }
    }
    for reply in [
        tx_submission::Reply::Init,
        tx_submission::Reply::Ids(vec![([1; 32], 300), ([2; 32], 70_000)]),
        tx_submission::Reply::Transactions(vec![&[0x84; 300], &[]]),
        tx_submission::Reply::Done,
    ] {
        let mut wire = Vec::new();
        reply.encode(&mut wire);
        assert_eq!(tx_submission::Reply::decode(&wire), Ok((reply, wire.len())));
        for length in 0..wire.len() {
            assert_eq!(tx_submission::Reply::decode(&wire[..length]), Err(MessageError::Incomplete));
        }
    }
    // Of definite length, as other nodes may write it; of another era; of no such message.
    let id = [&[0x82, 6, 0x58, 32][..], &[7; 32]].concat();
    let definite = [&[0x82, 2, 0x81][..], &id].concat();
    assert_eq!(tx_submission::Request::decode(&definite), Ok((tx_submission::Request::Transactions(vec![[7; 32]]), definite.len())));
    let babbage: Vec<u8> = definite.iter().enumerate().map(|(place, byte)| if place == 4 { 5 } else { *byte }).collect();
    assert!(matches!(tx_submission::Request::decode(&babbage), Err(MessageError::Malformed(what)) if what.contains("era 5")));
    assert!(matches!(tx_submission::Request::decode(&[0x82, 1, 0x80]), Err(MessageError::Malformed(_))));
}

proptest! {
    #[test]
    fn requests_come_back_and_every_cut_is_incomplete(points in proptest::collection::vec(points(), 0..5), a in points(), b in points()) {
        let mut wire = Vec::new();
        let request = chain_sync::Request::FindIntersect(points);
        request.encode(&mut wire);
        prop_assert_eq!(chain_sync::Request::decode(&wire), Ok((request, wire.len())));
        for cut in 0..wire.len() {
            prop_assert_eq!(chain_sync::Request::decode(&wire[..cut]), Err(MessageError::Incomplete));
        }
        let mut wire = Vec::new();
        let request = block_fetch::Request::Range(a, b);
        request.encode(&mut wire);
        prop_assert_eq!(block_fetch::Request::decode(&wire), Ok((request, wire.len())));
        let tip = Tip { point: b, block_no: 7 };
        for reply in [chain_sync::Reply::RollBackward(a), chain_sync::Reply::IntersectFound(b), chain_sync::Reply::IntersectNotFound, chain_sync::Reply::AwaitReply] {
            let mut wire = Vec::new();
            reply.encode(&mut wire, &tip);
            prop_assert_eq!(chain_sync::Reply::decode(&wire), Ok((reply.clone(), wire.len())));
            if let chain_sync::Reply::IntersectFound(_) | chain_sync::Reply::IntersectNotFound = reply {
                prop_assert_eq!(chain_sync::Reply::decode_tip(&wire), Ok((tip.point, wire.len())));
                for cut in 0..wire.len() {
                    prop_assert_eq!(chain_sync::Reply::decode_tip(&wire[..cut]), Err(MessageError::Incomplete));
                }
            }
        }
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = chain_sync::Request::decode(&bytes);
        let _ = chain_sync::Reply::decode(&bytes);
        let _ = chain_sync::Reply::decode_tip(&bytes);
        let _ = block_fetch::Request::decode(&bytes);
        let _ = keep_alive::Request::decode(&bytes);
        let _ = tx_submission::Request::decode(&bytes);
        let _ = tx_submission::Reply::decode(&bytes);
        let _ = crate::handshake::Proposal::decode(&bytes);
        let _ = crate::handshake::Answer::decode(&bytes);
    }
}

#[test]
fn messages_come_back_as_they_were_written() {
    let at = Point::Block { slot: 5, hash: [7; 32] };
    let tip = Some(Tip { point: at, block_no: 3 });
    let bytes: Arc<[u8]> = vec![0x80; 300].into();
    let other = Arc::clone(&bytes);
    let between_nodes: [Message; 22] = [
        chain_sync::Message::Request(chain_sync::Request::RequestNext).into(),
        chain_sync::Message::Request(chain_sync::Request::FindIntersect(vec![at, Point::Origin])).into(),
        chain_sync::Message::AwaitReply.into(),
        chain_sync::Message::RollForward(bytes.clone(), tip).into(),
        chain_sync::Message::RollBackward(Point::Origin, None).into(),
        chain_sync::Message::RollBackward(at, tip).into(),
        chain_sync::Message::IntersectFound(at, tip).into(),
        chain_sync::Message::IntersectNotFound(tip).into(),
        block_fetch::Message::Request(block_fetch::Request::Range(at, at)).into(),
        block_fetch::Message::StartBatch.into(),
        block_fetch::Message::NoBlocks.into(),
        block_fetch::Message::Block(bytes.clone()).into(),
        block_fetch::Message::BatchDone.into(),
        tx_submission::Message::Init.into(),
        tx_submission::Message::Request(tx_submission::Request::Ids { blocking: true, acknowledged: 3, requested: 10 }).into(),
        tx_submission::Message::Ids(vec![([1; 32], 300), ([2; 32], 70_000)]).into(),
        tx_submission::Message::Ids(vec![]).into(),
        tx_submission::Message::Request(tx_submission::Request::Transactions(vec![[1; 32]])).into(),
        tx_submission::Message::Transactions(vec![bytes.clone(), bytes]).into(),
        tx_submission::Message::Done.into(),
        keep_alive::Message::Request(keep_alive::Request::Ping(77)).into(),
        keep_alive::Message::Alive(77).into(),
    ];
    let of_clients: [Message; 15] = [
        chain_sync::Message::Request(chain_sync::Request::RequestNext).into(),
        local_tx_submission::Message::Submit(other).into(),
        local_tx_submission::Message::Done.into(),
        local_state_query::Message::Acquire(Target::At(at)).into(),
        local_state_query::Message::Acquire(Target::Tip).into(),
        local_state_query::Message::Acquire(Target::Immutable).into(),
        local_state_query::Message::Query(vec![0x81, 0x00]).into(),
        local_state_query::Message::Release.into(),
        local_state_query::Message::Done.into(),
        local_tx_monitor::Message::Acquire.into(),
        local_tx_monitor::Message::NextTx.into(),
        local_tx_monitor::Message::HasTx([3; 32]).into(),
        local_tx_monitor::Message::GetSizes.into(),
        local_tx_monitor::Message::Release.into(),
        local_tx_monitor::Message::Done.into(),
    ];
    let between_nodes = between_nodes.into_iter().map(|message| (Side::Node, message));
    for (side, message) in between_nodes.chain(of_clients.into_iter().map(|message| (Side::Client, message))) {
        let mut wire = Vec::new();
        message.encode(&mut wire);
        let number = message.number(side);
        assert!(Message::is_spoken(side, number), "{message:?}");
        assert_eq!(length(&wire), Ok(Some(wire.len())), "{message:?}");
        assert_eq!(Message::decode(side, number, message.is_from_responder(), &wire), Ok(message));
        for cut in 0..wire.len() {
            assert_eq!(length(&wire[..cut]), Ok(None));
        }
    }
}

#[test]
fn what_comes_unasked_or_late_is_refused() {
    let now = Instant::now();
    let header = Message::ChainSync(chain_sync::Message::RollForward(vec![0x80].into(), None));
    let idle = TimeLimits { chain_sync_idle: Some(Duration::from_secs(100)), ..TimeLimits::default() };
    let mut limits = PeerLimits::new(false, idle);
    assert!(limits.received(&header, now).is_err());
    limits.sent(&Message::ChainSync(chain_sync::Message::Request(chain_sync::Request::RequestNext)), now);
    assert!(limits.check(now + SHORT).is_ok() && limits.check(now + 2 * SHORT).is_err());
    assert!(limits.received(&Message::ChainSync(chain_sync::Message::AwaitReply), now).is_ok());
    assert!(limits.received(&Message::ChainSync(chain_sync::Message::AwaitReply), now).is_err());
    assert!(limits.check(now + Duration::from_secs(600)).is_ok() && limits.check(now + Duration::from_secs(912)).is_err());
    assert!(limits.received(&header, now).is_ok() && limits.received(&header, now).is_err());

    assert!(limits.received(&Message::BlockFetch(block_fetch::Message::StartBatch), now).is_err());
    limits.sent(&Message::BlockFetch(block_fetch::Message::Request(block_fetch::Request::Range(Point::Origin, Point::Origin))), now);
    assert_eq!(limits.max_bytes(block_fetch::NUMBER, true), SMALL_BYTES);
    assert!(limits.received(&Message::BlockFetch(block_fetch::Message::BatchDone), now).is_err());
    assert!(limits.received(&Message::BlockFetch(block_fetch::Message::StartBatch), now).is_ok());
    assert_eq!(limits.max_bytes(block_fetch::NUMBER, true), LARGE_BYTES);
    assert!(limits.received(&Message::BlockFetch(block_fetch::Message::BatchDone), now).is_ok());
    assert!(limits.received(&Message::BlockFetch(block_fetch::Message::Block(vec![].into())), now).is_err());

    assert!(limits.received(&Message::TxSubmission(tx_submission::Message::Ids(vec![])), now).is_err());
    assert!(
        limits.received(&Message::TxSubmission(tx_submission::Message::Init), now).is_ok()
            && limits.received(&Message::TxSubmission(tx_submission::Message::Init), now).is_err()
    );
    limits.sent(
        &Message::TxSubmission(tx_submission::Message::Request(tx_submission::Request::Ids {
            blocking: true,
            acknowledged: 0,
            requested: 1,
        })),
        now,
    );
    assert!(limits.received(&Message::TxSubmission(tx_submission::Message::Ids(vec![([0; 32], 1), ([1; 32], 1)])), now).is_err());

    assert!(limits.check(now + Duration::from_secs(900)).is_ok());
    assert!(limits.received(&Message::ChainSync(chain_sync::Message::Request(chain_sync::Request::RequestNext)), now).is_ok());
    limits.sent(&header, now);
    assert!(limits.check(now + Duration::from_secs(99)).is_ok() && limits.check(now + Duration::from_secs(101)).is_err());
}
