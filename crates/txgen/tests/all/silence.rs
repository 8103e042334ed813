//! Targets that fall silent, or that begin protocols of their own, over real sockets.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use slotmark_synth::Budgets;
use slotmark_synth::load::{Fund, Load, LoadKind, Referred, SignedTransaction, prepare};
use slotmark_txgen::{Ended, Record, Schedule, SubmissionError, submit};
use slotmark_wire::handshake::{self, Proposal, Side, Terms};
use slotmark_wire::mux::{HEADER_BYTES, Header, frame};
use slotmark_wire::protocols::{chain_sync, keep_alive, tx_submission};

const MAGIC: u32 = 42;

fn transactions(count: u64) -> Vec<SignedTransaction> {
    let load = Load {
        kind: LoadKind::ValueOnly { inputs: 1, outputs: 1 },
        transactions: count,
        payload_bytes: 10,
        seed: 1,
        budget: Budgets::PUBLIC.transaction,
        referred: Referred::default(),
    };
    prepare(&load, &[Fund::new(&[1; 32], 1_000_000_000_000_000)], &mut |_, _| ControlFlow::Continue(())).expect("a load").transactions
}

fn submitted(targets: &[SocketAddr], count: u64, patience: Duration) -> (Vec<Record>, Vec<Ended>) {
    let schedule = Schedule::new(transactions(count), f64::INFINITY, Arc::default());
    let (sender, receiver) = mpsc::channel();
    let ended = submit(targets, MAGIC, &schedule, patience, &sender);
    drop(sender);
    (receiver.into_iter().collect(), ended)
}

/// The target's end of a connection, hands shaken and begun.
struct Connection(TcpStream);

impl Connection {
    fn accept(listener: &TcpListener) -> Self {
        let mut connection = Self(listener.accept().expect("a connection").0);
        let (_, proposal) = connection.segment(handshake::NUMBER);
        let (proposal, _) = Proposal::decode(&proposal).expect("a proposal");
        let mut answer = Vec::new();
        let terms = Terms { versions: 14..=15, ..Terms::of(Side::Node, u64::from(MAGIC)) };
        terms.answer(&proposal).encode(&mut answer, &terms, &proposal);
        connection.send(handshake::NUMBER, true, &answer);
        connection.segment(tx_submission::NUMBER);
        connection
    }

    /// The next segment of a protocol; others are passed over.
    fn segment(&mut self, number: u16) -> (Header, Vec<u8>) {
        loop {
            let mut header = [0; HEADER_BYTES];
            self.0.read_exact(&mut header).expect("a header");
            let header = Header::decode(&header).expect("8 bytes");
            let mut payload = vec![0; usize::from(header.length)];
            self.0.read_exact(&mut payload).expect("a payload");
            if header.protocol == number {
                return (header, payload);
            }
        }
    }

    fn send(&mut self, number: u16, from_responder: bool, message: &[u8]) {
        let mut wire = Vec::new();
        frame(&mut wire, number, from_responder, &[message]);
        self.0.write_all(&wire).expect("sent");
    }

    /// The bytes of the reply to a request.
    fn ask(&mut self, request: &tx_submission::Request) -> Vec<u8> {
        let mut message = Vec::new();
        request.encode(&mut message);
        self.send(tx_submission::NUMBER, true, &message);
        let mut reply = Vec::new();
        loop {
            reply.extend(self.segment(tx_submission::NUMBER).1);
            if tx_submission::Reply::decode(&reply).is_ok() {
                return reply;
            }
        }
    }

    /// Takes transactions until there are no more, or this many; those of the last round stay without an acknowledgement. Gives how many.
    fn take(&mut self, most: usize) -> usize {
        let (mut taken, mut acknowledged) = (0, 0);
        while taken < most {
            let request = tx_submission::Request::Ids { blocking: true, acknowledged, requested: 2 };
            let reply = self.ask(&request);
            let Ok((tx_submission::Reply::Ids(ids), _)) = tx_submission::Reply::decode(&reply) else { return taken };
            let ids: Vec<_> = ids.iter().map(|(id, _)| *id).collect();
            let reply = self.ask(&tx_submission::Request::Transactions(ids));
            let Ok((tx_submission::Reply::Transactions(bodies), _)) = tx_submission::Reply::decode(&reply) else {
                panic!("expected transactions")
            };
            acknowledged = bodies.len() as u16;
            taken += bodies.len();
        }
        taken
    }

    /// Sends nothing more, until the other side leaves.
    fn fall_silent(mut self) {
        let _ = self.0.read_to_end(&mut Vec::new());
    }
}

fn target<T: Send + 'static>(serve: impl FnOnce(TcpListener) -> T + Send + 'static) -> (SocketAddr, JoinHandle<T>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    (listener.local_addr().expect("an address"), thread::spawn(move || serve(listener)))
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_target_that_missed_the_beginning_is_connected_to_anew() {
    let (at, node) = target(|listener| {
        Connection::accept(&listener).fall_silent();
        Connection::accept(&listener).take(usize::MAX)
    });
    let (records, ended) = submitted(&[at], 6, LONG);
    assert!(ended[0].error.is_none(), "{ended:?}");
    assert_eq!(node.join().expect("a node"), 6);
    assert!(records.len() == 6 && records.iter().all(|record| record.acknowledged_ns.is_some()));
}

#[test]
fn a_target_that_never_asks_is_named_with_the_query() {
    let (at, _node) = target(|listener| {
        loop {
            Connection::accept(&listener).fall_silent();
        }
    });
    let (records, ended) = submitted(&[at], 2, LONG);
    assert!(records.is_empty());
    let error = ended[0].error.as_ref().expect("an error");
    assert!(matches!(error, SubmissionError::NeverAsked { target } if *target == at), "{error}");
    assert!(error.to_string().contains("never asked for transactions (tx-submission, MsgRequestTxIds)"), "{error}");
}

#[test]
fn a_target_that_leaves_in_the_handshake_is_named_with_it() {
    let (at, _node) = target(|listener| {
        let mut connection = listener.accept().expect("a connection").0;
        connection.read_exact(&mut [0; HEADER_BYTES]).expect("a header");
    });
    let (records, ended) = submitted(&[at], 2, LONG);
    assert!(records.is_empty());
    let error = ended[0].error.as_ref().expect("an error");
    assert!(matches!(error, SubmissionError::ClosedInHandshake { target, magic: MAGIC } if *target == at), "{error}");
}

#[test]
fn a_target_that_falls_silent_is_named_with_the_query_and_what_it_has_is_recorded() {
    let (at, node) = target(|listener| {
        let mut connection = Connection::accept(&listener);
        assert_eq!(connection.take(4), 4);
        connection.fall_silent();
    });
    let (records, ended) = submitted(&[at], 9, Duration::from_secs(1));
    node.join().expect("a node");
    let error = ended[0].error.as_ref().expect("an error");
    assert!(matches!(error, SubmissionError::Silent { seconds: 1, unacknowledged: 2, .. }), "{error}");
    assert!(error.to_string().contains("MsgRequestTxIds or MsgRequestTxs"), "{error}");
    assert_eq!(records.iter().map(|record| record.acknowledged_ns.is_some()).collect::<Vec<_>>(), [true, true, false, false]);
}

#[test]
fn the_rest_goes_to_the_other_targets_and_a_silent_one_holds_nothing_up() {
    let (silent, _) = target(|listener| Connection::accept(&listener).fall_silent());
    let (at, node) = target(|listener| Connection::accept(&listener).take(usize::MAX));
    let (records, ended) = submitted(&[silent, at], 7, LONG);
    assert!(ended.iter().all(|one| one.error.is_none()), "{ended:?}");
    assert_eq!((node.join().expect("a node"), records.len()), (7, 7));
}

#[test]
fn the_load_goes_on_where_a_target_begins_protocols_of_its_own() {
    let (at, node) = target(|listener| {
        let mut connection = Connection::accept(&listener);
        for number in [chain_sync::BETWEEN_NODES, keep_alive::NUMBER, chain_sync::BETWEEN_NODES] {
            connection.send(number, false, &[0x82, 0x00, 0x01]);
        }
        connection.take(usize::MAX)
    });
    let (records, ended) = submitted(&[at], 5, LONG);
    assert!(ended[0].error.is_none(), "{ended:?}");
    assert_eq!(ended[0].opened, BTreeSet::from([chain_sync::BETWEEN_NODES, keep_alive::NUMBER]));
    assert_eq!((node.join().expect("a node"), records.len()), (5, 5));
}
