//! The sending half of a connection: one segment of each protocol that has something to send, in turns.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

use slotmark_wire::handshake::Side;
use slotmark_wire::mux::{Header, MAX_SENT};
use slotmark_wire::protocols::Message;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Bytes that go to the socket at once.
const BATCH_BYTES: usize = 131_072;

/// Sends messages; copies of it share their queue.
#[derive(Clone)]
pub(super) struct Outbox {
    messages: UnboundedSender<(u16, bool, Vec<u8>)>,
    queued: Rc<AtomicUsize>,
    drained: Rc<Notify>,
    side: Side,
}

impl Outbox {
    /// Sends messages to `socket` from a task that ends with the last copy.
    pub(super) fn start(socket: impl AsyncWrite + Unpin + 'static, side: Side) -> (Self, tokio::task::AbortHandle) {
        let (messages, receiver) = unbounded_channel();
        let outbox = Self { messages, queued: Rc::default(), drained: Rc::default(), side };
        let (queued, drained) = (Rc::clone(&outbox.queued), Rc::clone(&outbox.drained));
        let task = tokio::task::spawn_local(write(socket, receiver, queued, drained));
        (outbox, task.abort_handle())
    }

    /// Sends a message.
    pub(super) fn send(&self, message: &Message) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        let (protocol, from_responder) = (message.number(self.side), message.is_from_responder());
        self.queued.fetch_add(bytes.len(), Ordering::Relaxed);
        // Where the task has ended, so does the connection.
        let _ = self.messages.send((protocol, from_responder, bytes));
    }

    /// Bytes that wait.
    pub(super) fn queued(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }

    /// Waits until fewer bytes wait than before.
    pub(super) async fn drained(&self) {
        self.drained.notified().await;
    }
}

/// The messages that one protocol has to send.
struct Lane {
    protocol: u16,
    from_responder: bool,
    messages: VecDeque<Vec<u8>>,
    /// Bytes of the first message that are sent.
    sent: usize,
}

async fn write(
    mut socket: impl AsyncWrite + Unpin,
    mut receiver: UnboundedReceiver<(u16, bool, Vec<u8>)>,
    queued: Rc<AtomicUsize>,
    drained: Rc<Notify>,
) {
    let mut lanes: Vec<Lane> = Vec::new();
    let mut batch = Vec::new();
    loop {
        if lanes.iter().all(|lane| lane.messages.is_empty()) {
            match receiver.recv().await {
                Some(message) => enqueue(&mut lanes, message),
                None => return,
            }
        }
        while let Ok(message) = receiver.try_recv() {
            enqueue(&mut lanes, message);
        }
        batch.clear();
        let mut payload = 0;
        'fill: loop {
            let mut any = false;
            for lane in &mut lanes {
                let sent = lane.segment(&mut batch);
                any |= sent > 0;
                payload += sent;
                if batch.len() >= BATCH_BYTES {
                    break 'fill;
                }
            }
            if !any {
                break;
            }
        }
        if socket.write_all(&batch).await.is_err() {
            // The reading half finds out.
            return;
        }
        queued.fetch_sub(payload, Ordering::Relaxed);
        drained.notify_waiters();
    }
}

fn enqueue(lanes: &mut Vec<Lane>, (protocol, from_responder, bytes): (u16, bool, Vec<u8>)) {
    match lanes.iter_mut().find(|lane| (lane.protocol, lane.from_responder) == (protocol, from_responder)) {
        Some(lane) => lane.messages.push_back(bytes),
        None => lanes.push(Lane { protocol, from_responder, messages: VecDeque::from([bytes]), sent: 0 }),
    }
}

impl Lane {
    /// Appends the next segment; gives its bytes, 0 where there is nothing to send.
    fn segment(&mut self, batch: &mut Vec<u8>) -> usize {
        let Some(message) = self.messages.front() else { return 0 };
        let rest = &message[self.sent..];
        let now = rest.len().min(MAX_SENT);
        batch.extend(Header { protocol: self.protocol, from_responder: self.from_responder, length: now as u16 }.encode());
        batch.extend_from_slice(&rest[..now]);
        self.sent += now;
        if self.sent == message.len() {
            self.messages.pop_front();
            self.sent = 0;
        }
        now
    }
}
