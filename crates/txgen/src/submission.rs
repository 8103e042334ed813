//! One connection: handshake, tx-submission and keep-alive, as the side that connects.

use std::collections::{BTreeSet, VecDeque};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use slotmark_chain::Hash32;
use slotmark_synth::load::SignedTransaction;
use slotmark_wire::handshake::{self, Answer, FINAL_VERSIONS, NotAgreed, Side, Terms};
use slotmark_wire::limits::{self, SMALL_BYTES};
use slotmark_wire::message::{Decoded, MessageError};
use slotmark_wire::mux::{HEADER_BYTES, Received, frame};
use slotmark_wire::protocols::tx_submission::WINDOW;
use slotmark_wire::protocols::{keep_alive, tx_submission};

use crate::record::{Record, now_ns};
use crate::schedule::Schedule;

/// Interval at which a waiting thread checks whether to go on.
const LOOK: Duration = Duration::from_millis(100);
/// Between the handshake and the beginning of tx-submission. A node that enters a connection in its books only after the handshake, as Dingo,
/// takes no notice of a beginning that comes before.
const BEFORE_INIT: Duration = Duration::from_millis(250);
/// Time that a target may take to ask for the first transactions: nodes ask at once.
const FIRST_REQUEST_LIMIT: Duration = Duration::from_secs(5);
/// The most connections, one after the other, to a target that never asks.
const MOST_CONNECTIONS: usize = 3;
/// Time that a target may ask for nothing at the end, when nothing is left to offer: it may still acknowledge what it has.
const END_GRACE: Duration = Duration::from_secs(10);
/// Interval of keep-alive messages: a node gives up after 97 s without one.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Reasons why a connection ended before all was submitted.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message is its documentation")]
pub enum SubmissionError {
    #[error("{target}: can't connect ({source}). Does a node listen there?")]
    Connect { target: SocketAddr, source: io::Error },
    #[error("{target}: the connection was lost ({source})")]
    Lost { target: SocketAddr, source: io::Error },
    #[error("{target}: refused the handshake, which offered versions 14 and 15 and network magic {magic}: {why}")]
    Refused { target: SocketAddr, magic: u32, why: String },
    #[error(
        "{target}: closed the connection during the handshake, which offered versions 14 and 15 and network magic {magic}. Is it a node of that network and age?"
    )]
    ClosedInHandshake { target: SocketAddr, magic: u32 },
    #[error("{target}: no answer to the handshake, which offered versions 14 and 15 and network magic {magic}, within {} s", limits::HANDSHAKE.as_secs())]
    NoHandshake { target: SocketAddr, magic: u32 },
    #[error(
        "{target}: never asked for transactions (tx-submission, MsgRequestTxIds): the handshake was accepted and MsgInit sent over {MOST_CONNECTIONS} connections, and {} s waited on each",
        FIRST_REQUEST_LIMIT.as_secs()
    )]
    NeverAsked { target: SocketAddr },
    #[error(
        "{target}: has asked for nothing more for {seconds} s (tx-submission, MsgRequestTxIds or MsgRequestTxs) and has not acknowledged {unacknowledged} transactions: it gave the connection up in silence, or its mempool is full. Look at its log"
    )]
    Silent { target: SocketAddr, seconds: u64, unacknowledged: usize },
    #[error("{target}: protocol {protocol}: {what}")]
    Protocol { target: SocketAddr, protocol: u16, what: String },
}

/// Submits what is scheduled to one target until nothing is left. Protocols that the target began by itself go to `opened`; nothing is
/// answered to them.
///
/// A target that never asks for anything on a connection is connected to anew, since it may have missed our beginning.
///
/// # Errors
/// The target can't be reached, refuses the handshake, breaks the protocol, asks for nothing for `patience`, or the connection is lost.
pub fn submit_to(
    target: SocketAddr,
    magic: u32,
    schedule: &Schedule,
    patience: Duration,
    records: &Sender<Record>,
    opened: &mut BTreeSet<u16>,
) -> Result<(), SubmissionError> {
    let mut connections = 1;
    loop {
        let ended = submit_over_one(target, magic, schedule, patience, records, opened);
        match ended {
            Err(SubmissionError::NeverAsked { .. }) if schedule.is_over() => return Ok(()),
            Err(SubmissionError::NeverAsked { .. }) if connections < MOST_CONNECTIONS => connections += 1,
            ended => return ended,
        }
    }
}

fn submit_over_one(
    target: SocketAddr,
    magic: u32,
    schedule: &Schedule,
    patience: Duration,
    records: &Sender<Record>,
    opened: &mut BTreeSet<u16>,
) -> Result<(), SubmissionError> {
    let stream = TcpStream::connect_timeout(&target, limits::HANDSHAKE).map_err(|source| SubmissionError::Connect { target, source })?;
    let lost = |source| SubmissionError::Lost { target, source };
    stream.set_nodelay(true).map_err(lost)?;
    stream.set_read_timeout(Some(LOOK)).map_err(lost)?;
    let writer = Mutex::new(stream.try_clone().map_err(lost)?);
    let mut connection = Connection { target, reader: stream, writer: &writer, received: Received::new(4096), held: Vec::new(), opened };
    connection.shake_hands(magic)?;
    thread::sleep(BEFORE_INIT);
    let (stop, stopped) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let writer = &writer;
        scope.spawn(move || keep_alive(writer, &stopped));
        let mut offers = Offers { target, schedule, records, unacknowledged: VecDeque::new() };
        let ended = connection.answer_requests(&mut offers, patience);
        drop(stop);
        offers.give_up();
        ended
    })
}

/// Sends a keep-alive every now and then until the connection ends. Answers are read with all else, and nothing depends on them.
fn keep_alive(writer: &Mutex<TcpStream>, stopped: &mpsc::Receiver<()>) {
    for cookie in 0.. {
        let mut message = Vec::new();
        keep_alive::Request::Ping(cookie).encode(&mut message);
        // That the connection is lost is noticed where it is read.
        if send(writer, keep_alive::NUMBER, &message).is_err() || stopped.recv_timeout(KEEP_ALIVE) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

fn send(writer: &Mutex<TcpStream>, number: u16, message: &[u8]) -> io::Result<()> {
    let mut wire = Vec::with_capacity(message.len() + HEADER_BYTES);
    frame(&mut wire, number, false, &[message]);
    writer.lock().unwrap_or_else(PoisonError::into_inner).write_all(&wire)
}

struct Connection<'c> {
    target: SocketAddr,
    reader: TcpStream,
    writer: &'c Mutex<TcpStream>,
    received: Received,
    /// Bytes of an incomplete message of the protocol that is waited for.
    held: Vec<u8>,
    opened: &'c mut BTreeSet<u16>,
}

impl Connection<'_> {
    fn protocol_error(&self, number: u16, what: impl ToString) -> SubmissionError {
        SubmissionError::Protocol { target: self.target, protocol: number, what: what.to_string() }
    }

    fn send(&self, number: u16, message: &[u8]) -> Result<(), SubmissionError> {
        send(self.writer, number, message).map_err(|source| SubmissionError::Lost { target: self.target, source })
    }

    /// Adds what comes next of a protocol to what is held of it; false where nothing came within [`LOOK`].
    fn more(&mut self, number: u16) -> Result<bool, SubmissionError> {
        loop {
            while let Some((header, payload)) = self.received.payload() {
                match header.protocol {
                    own if !header.from_responder => drop(self.opened.insert(own)),
                    own if own == number => {
                        self.held.extend_from_slice(payload);
                        return Ok(true);
                    }
                    keep_alive::NUMBER if number != handshake::NUMBER => {}
                    other if number == handshake::NUMBER => {
                        return Err(self.protocol_error(other, "a segment before the handshake was over"));
                    }
                    other => return Err(self.protocol_error(other, "an unrequested segment")),
                }
            }
            match self.reader.read(self.received.room()) {
                Ok(0) => return Err(SubmissionError::Lost { target: self.target, source: io::ErrorKind::UnexpectedEof.into() }),
                Ok(count) => self.received.filled(count),
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(SubmissionError::Lost { target: self.target, source }),
            }
        }
    }

    /// The next message of a protocol. `wait` is given how long nothing has come of it, and ends the wait with false or an error.
    fn message<T>(
        &mut self,
        number: u16,
        decode: impl Fn(&[u8]) -> Decoded<T>,
        mut wait: impl FnMut(Duration) -> Result<bool, SubmissionError>,
    ) -> Result<Option<T>, SubmissionError> {
        let mut since = Instant::now();
        loop {
            match decode(&self.held) {
                Ok((message, bytes)) => {
                    self.held.drain(..bytes);
                    return Ok(Some(message));
                }
                Err(MessageError::Incomplete) if self.held.len() <= SMALL_BYTES => {}
                Err(error) => return Err(self.protocol_error(number, error)),
            }
            if self.more(number)? {
                since = Instant::now();
            }
            if !wait(since.elapsed())? {
                return Ok(None);
            }
        }
    }

    fn shake_hands(&mut self, magic: u32) -> Result<(), SubmissionError> {
        self.ask_for_handshake(magic).map_err(|error| match error {
            // Nodes on gouroboros leave before what they refuse it for.
            SubmissionError::Lost { target, .. } => SubmissionError::ClosedInHandshake { target, magic },
            error => error,
        })
    }

    fn ask_for_handshake(&mut self, magic: u32) -> Result<(), SubmissionError> {
        let mut message = Vec::new();
        let terms = Terms { versions: FINAL_VERSIONS, ..Terms::of(Side::Node, u64::from(magic)) };
        terms.proposal().encode(&mut message, Side::Node);
        self.send(handshake::NUMBER, &message)?;
        let (target, number, begun) = (self.target, handshake::NUMBER, Instant::now());
        let answer = self.message(number, Answer::decode, |_| Ok(begun.elapsed() < limits::HANDSHAKE))?;
        match terms.agreed(answer.ok_or(SubmissionError::NoHandshake { target, magic })?) {
            Ok(_) => Ok(()),
            Err(NotAgreed::Refused(why)) => Err(SubmissionError::Refused { target, magic, why }),
            Err(NotAgreed::Wrong(what)) => Err(self.protocol_error(number, what)),
        }
    }

    fn answer_requests(&mut self, offers: &mut Offers<'_>, patience: Duration) -> Result<(), SubmissionError> {
        let mut message = Vec::new();
        tx_submission::Reply::Init.encode(&mut message);
        self.send(tx_submission::NUMBER, &message)?;
        let mut asked = false;
        loop {
            let Some(request) = self.request(asked, offers, patience)? else { return Ok(()) };
            asked = true;
            message.clear();
            let go_on = offers.reply(&request, &mut message).map_err(|what| self.protocol_error(tx_submission::NUMBER, what))?;
            self.send(tx_submission::NUMBER, &message)?;
            if !go_on {
                return Ok(());
            }
        }
    }

    /// The next request of tx-submission; None where nothing is left to offer and none comes.
    fn request(&mut self, asked: bool, offers: &Offers<'_>, patience: Duration) -> Result<Option<tx_submission::Request>, SubmissionError> {
        let (target, mut over) = (self.target, None);
        self.message(tx_submission::NUMBER, tx_submission::Request::decode, |silent| {
            if !asked && silent >= FIRST_REQUEST_LIMIT {
                return Err(SubmissionError::NeverAsked { target });
            }
            if silent >= patience {
                let unacknowledged = offers.unacknowledged.len();
                return Err(SubmissionError::Silent { target, seconds: patience.as_secs(), unacknowledged });
            }
            Ok(!offers.schedule.is_over() || over.get_or_insert_with(Instant::now).elapsed() < END_GRACE)
        })
    }
}

/// The transactions that one target was offered, and those that it may ask for.
struct Offers<'c> {
    target: SocketAddr,
    schedule: &'c Schedule,
    records: &'c Sender<Record>,
    /// In the order in which they were offered, which is that of acknowledgements.
    unacknowledged: VecDeque<(usize, Record)>,
}

impl<'c> Offers<'c> {
    /// Appends the reply to a request; false where it is the last.
    fn reply(&mut self, request: &tx_submission::Request, reply: &mut Vec<u8>) -> Result<bool, String> {
        match request {
            tx_submission::Request::Ids { blocking, acknowledged, requested } => {
                self.acknowledge(usize::from(*acknowledged))?;
                let (left, requested) = (self.unacknowledged.len(), usize::from(*requested));
                if left + requested > usize::from(WINDOW) {
                    return Err(format!("{requested} ids were asked for with {left} unacknowledged: expected {WINDOW} in all at most"));
                }
                let places = match (*blocking, left) {
                    (true, 0) if requested > 0 => self.schedule.wait(requested),
                    (true, _) => return Err(format!("a blocking request for {requested} ids with {left} unacknowledged")),
                    (false, 0) => return Err("a request that doesn't block, with nothing unacknowledged".to_owned()),
                    (false, _) if requested == 0 && *acknowledged == 0 => return Err("a request for nothing".to_owned()),
                    (false, _) => Some(self.schedule.take(requested)),
                };
                let Some(places) = places else {
                    tx_submission::Reply::Done.encode(reply);
                    return Ok(false);
                };
                let sized = |place| {
                    let transaction = self.schedule.transaction(place);
                    (transaction.id, transaction.bytes.len() as u32)
                };
                tx_submission::Reply::Ids(places.clone().map(sized).collect()).encode(reply);
                let offered_ns = now_ns();
                self.unacknowledged.extend(places.map(|place| {
                    let (SignedTransaction { id, action, .. }, due_ns) = (self.schedule.transaction(place), self.schedule.due_ns(place));
                    let (id, target) = (*id, self.target);
                    (place, Record { id, action, target, due_ns, offered_ns, requested_ns: None, acknowledged_ns: None })
                }));
            }
            tx_submission::Request::Transactions(ids) => {
                let asked_ns = now_ns();
                let mut bodies = Vec::with_capacity(ids.len());
                for id in ids {
                    bodies.push(self.body(id, asked_ns)?);
                }
                tx_submission::Reply::Transactions(bodies).encode(reply);
            }
        }
        Ok(true)
    }

    fn body(&mut self, id: &Hash32, asked_ns: u64) -> Result<&'c [u8], String> {
        let offered = self.unacknowledged.iter_mut().find(|(_, record)| record.id == *id);
        let (place, record) = offered.ok_or_else(|| format!("transaction {} was asked for, which wasn't offered", hex::encode(id)))?;
        record.requested_ns.get_or_insert(asked_ns);
        Ok(&self.schedule.transaction(*place).bytes)
    }

    fn acknowledge(&mut self, count: usize) -> Result<(), String> {
        if count > self.unacknowledged.len() {
            return Err(format!("{count} ids were acknowledged of {} that were offered", self.unacknowledged.len()));
        }
        let acknowledged_ns = Some(now_ns());
        for (_, record) in self.unacknowledged.drain(..count) {
            // The records have no reader any more where all is over.
            let _ = self.records.send(Record { acknowledged_ns, ..record });
        }
        Ok(())
    }

    /// Records what was never acknowledged.
    fn give_up(&mut self) {
        for (_, record) in self.unacknowledged.drain(..) {
            let _ = self.records.send(record);
        }
    }
}
