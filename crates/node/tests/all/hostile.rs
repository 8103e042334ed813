//! Peers that break rules, against a real node over real sockets: the node drops them, and stays with honest ones.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use ed25519_dalek::SigningKey;
use pallas_network::facades::NodeClient;
use pallas_network::miniprotocols::localstate::queries_v16;
use pallas_network::miniprotocols::localtxsubmission::{EraTx, Response};
use slotmark_chain::block::decode_header;
use slotmark_chain::{ChainAppender, NewBlock};
use slotmark_network::shelley::ProtocolVersion;
use slotmark_praos::base::Base;
use slotmark_praos::certificate::Certificate;
use slotmark_praos::{kes, vrf};
use slotmark_synth::assembly::{HEADER_OFFSET, NewHeader, Transactions, assemble};
use slotmark_wire::handshake;
use slotmark_wire::mux::frame;
use slotmark_wire::protocols::{chain_sync, local_state_query, tx_submission};

use crate::bed::peer::{Peer, listen};
use crate::bed::wallet::Wallet;
use crate::bed::{Bed, DEADLINE, MAGIC, Node, Shape, fetch_chain, run, wait_for, wait_for_agreement, wait_for_sockets};

const SHAPE: Shape = Shape { pools: 1, security_parameter: 20, active_slots: 0.5, epoch_slots: 400, slot_ms: 200 };
/// Numbers of the nodes: the one pool's, one that makes no blocks, and a peer that the test plays.
const POOL: usize = 0;
const NODE: usize = 1;
const PEER: usize = 2;

/// A change that a peer makes to a block.
type Spoil = fn(&[u8]) -> Vec<u8>;

/// Waits until a node's standard error has some words.
fn wait_for_words(words: &str, node: &mut Node) {
    wait_for(words, std::slice::from_mut(node), |nodes| nodes[0].errors().contains(words).then_some(()));
}

/// A block whose signatures are right, of an unknown pool, in slot 0.
fn block_of_a_stranger(number: u64, previous: Option<[u8; 32]>) -> Vec<u8> {
    let cold = SigningKey::from_bytes(&[77; 32]);
    let (vrf, kes) = (vrf::SigningKey::from_seed(&[77; 32]), kes::SigningKey::from_seed(&[77; 32]));
    let header = NewHeader {
        number,
        slot: 0,
        previous,
        cold_key: cold.verifying_key().to_bytes(),
        vrf_key: vrf.verification_key(),
        output: &vrf.evaluate(&[0; 32]),
        proof: &vrf.prove(&[0; 32]),
        certificate: &Certificate::sign(&cold, kes.verification_key(), 0, 0),
        version: ProtocolVersion { major: 10, minor: 0 },
    };
    let mut block = Vec::new();
    assemble(&mut block, &header, &Transactions::default().body(), |message| kes.sign(message));
    block
}

#[test]
fn a_header_that_states_the_origin_as_a_hash_is_refused() {
    let bed = Bed::new(SHAPE);
    let listener = listen(&bed, PEER);
    let mut node = bed.start(NODE, &[POOL, PEER], &[]);
    for (previous, words) in [
        // Behind no block at all nothing could be checked.
        (Some([0; 32]), "a header that breaks the rule previous-hash"),
        (None, "a header that breaks the rule block-number"),
        (Some([1; 32]), "a header that does not follow the one before it"),
    ] {
        let peer = Peer::accept(&listener, 14, MAGIC as u8);
        assert_eq!(peer.serve(&[block_of_a_stranger(1_000, previous)], <[u8]>::to_vec), 0);
        wait_for_words(words, &mut node);
    }
    let mut nodes = [bed.start(POOL, &[], &[]), node];
    wait_for_agreement(3, &mut nodes);
    nodes.into_iter().for_each(Node::stop);
}

#[test]
fn what_is_added_to_a_block_on_its_way_is_not_held_against_the_block() {
    let bed = Bed::new(SHAPE);
    let mut nodes = [bed.start(POOL, &[], &[])];
    wait_for_agreement(3, &mut nodes);
    let blocks = run(fetch_chain(&bed, POOL));
    nodes.into_iter().for_each(Node::stop);

    // The pool's node is away: there is only the peer to ask.
    let listener = listen(&bed, PEER);
    let mut node = bed.start(NODE, &[POOL, PEER], &[]);
    let spoil: [Spoil; 4] = [
        |block| [block, &[0]].concat(),
        |block| [&[0x82, 0x06], &block[2..]].concat(),
        |block| [&[0x83], &block[1..], &[0]].concat(),
        |block| [&[0x82, 0x07, 0x9f], &block[3..], &[0xff]].concat(),
    ];
    for (times, spoil) in (1..).zip(spoil) {
        let asked = Peer::accept(&listener, 14, MAGIC as u8).serve(&blocks, spoil);
        assert!(asked > 0);
        wait_for("the peer to be dropped", std::slice::from_mut(&mut node), |nodes| {
            (nodes[0].errors().matches("a block that can't be read").count() == times).then_some(())
        });
    }
    assert!(!node.errors().contains("was refused"), "{}", node.errors());
    drop(listener);
    let number = blocks.len() as i64;
    let mut nodes = [bed.start(POOL, &[], &[]), node];
    wait_for_agreement(number + 2, &mut nodes);
    nodes.into_iter().for_each(Node::stop);
}

#[test]
fn a_version_that_was_not_proposed_is_refused() {
    let bed = Bed::new(SHAPE);
    let listener = listen(&bed, PEER);
    let mut node = bed.start(NODE, &[PEER], &[]);
    for (version, magic, words) in [
        (13, MAGIC as u8, "it accepted version 13, which was not proposed"),
        (14, 43, "it accepted version 14 with network magic 43 instead of 42"),
    ] {
        assert_eq!(Peer::accept(&listener, version, magic).next(), None);
        wait_for_words(words, &mut node);
    }
    assert!(Peer::accept(&listener, 14, MAGIC as u8).next().is_some());
    node.stop();
}

#[test]
fn a_tip_of_the_highest_number_is_a_number_like_any_other() {
    let bed = Bed::new(SHAPE);
    let listener = listen(&bed, PEER);
    let node = bed.start(NODE, &[PEER], &[]);
    let mut peer = Peer::accept(&listener, 14, MAGIC as u8);
    let (mut requests, mut intersect) = (0, true);
    while requests < 300 {
        let (number, message) = peer.next().expect("requests for headers");
        if number == chain_sync::BETWEEN_NODES {
            if std::mem::take(&mut intersect) {
                let mut reply = vec![0x83, 5, 0x80, 0x82, 0x82, 0, 0x58, 32];
                reply.extend([7; 32]);
                reply.extend([&[0x1b][..], &[0xff; 8]].concat());
                peer.send(number, &reply);
            } else {
                assert_eq!(message, [0x81, 0]);
                requests += 1;
            }
        }
    }
    node.stop();
}

#[test]
fn one_transaction_is_not_sent_twice_for_one_request() {
    let bed = Bed::new(SHAPE);
    let listener = listen(&bed, PEER);
    let mut node = bed.start(NODE, &[PEER], &[]);
    let socket = node.folder.join("node.socket");
    wait_for_sockets(std::slice::from_mut(&mut node));
    let transaction = Wallet::new(&bed, POOL).spend(200_000, 0);
    let answer = run(async {
        let mut client = NodeClient::connect(&socket, MAGIC).await.unwrap();
        client.submission().submit_tx(EraTx(6, transaction.bytes.clone())).await.unwrap()
    });
    assert_eq!(answer, Response::Accepted);

    let mut peer = Peer::accept(&listener, 14, MAGIC as u8);
    let ask = |peer: &mut Peer, request: &tx_submission::Request| {
        let mut message = Vec::new();
        request.encode(&mut message);
        peer.send(tx_submission::NUMBER, &message);
    };
    ask(&mut peer, &tx_submission::Request::Ids { blocking: true, acknowledged: 0, requested: 10 });
    while let Some((number, message)) = peer.next() {
        if number == tx_submission::NUMBER
            && let tx_submission::Reply::Ids(ids) = tx_submission::Reply::decode(&message).unwrap().0
        {
            assert_eq!(ids, [(transaction.id, transaction.bytes.len() as u32)]);
            ask(&mut peer, &tx_submission::Request::Transactions(vec![transaction.id; 2]));
        }
    }
    wait_for_words("it asked for other or more transactions than were offered", &mut node);
    node.stop();
}

#[test]
fn a_local_client_without_a_handshake_is_hung_up_on() {
    let bed = Bed::new(SHAPE);
    let mut node = bed.start(NODE, &[], &[]);
    let socket = node.folder.join("node.socket");
    wait_for_sockets(std::slice::from_mut(&mut node));
    let mut client = UnixStream::connect(&socket).unwrap();
    client.set_read_timeout(Some(DEADLINE)).unwrap();
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    node.stop();
}

#[test]
fn a_settled_block_of_another_era_ends_the_node_with_its_place() {
    let bed = Bed::new(SHAPE);
    let database = bed.folder.path().join("node-1/db");
    std::fs::create_dir_all(&database).unwrap();
    let mut bytes = block_of_a_stranger(0, None);
    bytes[1] = 6;
    let header = decode_header(&bytes).unwrap();
    let header_size = (header.span.end - header.span.start) as u16;
    let (slot, hash) = (header.slot, header.hash);
    let block = NewBlock { bytes: &bytes, header_offset: HEADER_OFFSET as u16, header_size, slot, hash };
    ChainAppender::open(database.join("immutable"), 10 * SHAPE.security_parameter).unwrap().append(&block).unwrap();
    let mut node = bed.start(NODE, &[], &[]);
    assert_eq!(node.child.wait().unwrap().code(), Some(2));
    assert_eq!(
        node.errors(),
        "slotmark-node: db: settled block 0, counted from 0: expected a Conway block that fits the genesis; \
         remove the database folder to fetch the chain anew.\n"
    );
}

#[test]
fn what_a_damaged_record_of_the_base_is_needed_for_is_not_answered_and_the_node_ends() {
    let bed = Bed::new(SHAPE);
    let base = bed.folder.path().join("base");
    Base::make(&bed.genesis_path(), &base).unwrap();
    let address = &bed.funds[POOL].0;
    let mut bytes = std::fs::read(&base).unwrap();
    let place = bytes.windows(address.len()).position(|window| window == address).unwrap();
    bytes[place] ^= 0x10;
    std::fs::write(&base, bytes).unwrap();

    let transaction = Wallet::new(&bed, POOL).spend(200_000, 0);
    for submits in [false, true] {
        let mut node = bed.start(NODE, &[], &["--ledger-base", base.to_str().unwrap()]);
        let socket = node.folder.join("node.socket");
        wait_for_sockets(std::slice::from_mut(&mut node));
        run(async {
            let mut client = NodeClient::connect(&socket, MAGIC).await.unwrap();
            if submits {
                assert!(client.submission().submit_tx(EraTx(6, transaction.bytes.clone())).await.is_err());
            } else {
                let query = client.statequery();
                query.acquire(None).await.unwrap();
                assert!(queries_v16::get_utxo_by_address(query, 6, vec![address.clone().into()]).await.is_err());
            }
        });
        assert_eq!(node.child.wait().unwrap().code(), Some(2));
        assert!(node.errors().contains("a record that is damaged, 0 of 1"), "{}", node.errors());
        assert!(!node.log().contains("Mempool.RejectedTx"), "{}", node.log());
    }
}

/// A local client behind its handshake, with the state at the tip acquired.
fn local_client(node: &Node) -> UnixStream {
    let mut client = UnixStream::connect(node.folder.join("node.socket")).unwrap();
    client.set_read_timeout(Some(DEADLINE)).unwrap();
    let mut wire = Vec::new();
    // Version 16, with the network's number and without the query flag.
    frame(&mut wire, handshake::NUMBER, false, &[&[0x82, 0, 0xa1, 0x19, 0x80, 0x10, 0x82, 0x18, MAGIC as u8, 0xf4]]);
    frame(&mut wire, local_state_query::NUMBER, false, &[&[0x81, 8]]);
    client.write_all(&wire).unwrap();
    client
}

/// Sends a message of state queries, and reads until the node closes the connection.
fn ask_until_closed(client: &mut UnixStream, message: &[u8]) {
    let mut wire = Vec::new();
    for piece in message.chunks(10_000) {
        frame(&mut wire, local_state_query::NUMBER, false, &[piece]);
    }
    let _ = client.write_all(&wire);
    let mut answers = Vec::new();
    match client.read_to_end(&mut answers) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "the connection stays open"),
    }
}

#[test]
fn a_query_before_the_answer_of_the_last_and_one_that_is_too_large_close_the_connection() {
    let bed = Bed::new(SHAPE);
    let mut node = bed.start(NODE, &[], &[]);
    wait_for_sockets(std::slice::from_mut(&mut node));
    // Two queries for the system start in one segment.
    ask_until_closed(&mut local_client(&node), &[0x82, 3, 0x81, 1, 0x82, 3, 0x81, 1]);
    wait_for_words("a message of state queries before the answer of a query", &mut node);
    // Outputs at 10,001 addresses: [3, [0, [0, [6, [6, {addresses}]]]]].
    let mut large = vec![0x82, 3, 0x82, 0, 0x82, 0, 0x82, 6, 0x82, 6, 0x99];
    large.extend(10_001u16.to_be_bytes());
    large.extend([0x41, 0x60].repeat(10_001));
    ask_until_closed(&mut local_client(&node), &large);
    wait_for_words("10001 items, where 10000 are allowed", &mut node);
    node.stop();
}

#[test]
fn all_unspent_outputs_are_not_answered_where_there_are_too_many() {
    let bed = Bed::new(SHAPE);
    bed.change_genesis("shelley", |shelley| {
        let funds = shelley["initialFunds"].as_object_mut().unwrap();
        (0..100_000u32).for_each(|number| drop(funds.insert(format!("60{number:056x}"), 1_000_000.into())));
    });
    let mut node = bed.start(NODE, &[], &[]);
    wait_for_sockets(std::slice::from_mut(&mut node));
    ask_until_closed(&mut local_client(&node), &[0x82, 3, 0x82, 0, 0x82, 0, 0x82, 6, 0x81, 7]);
    wait_for_words("its answer would have more than 100000 outputs", &mut node);
    node.stop();
}
