//! Nodes: what they answer, and the relay between one and a client.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use slotmark_wire::client::Client;
use slotmark_wire::relay::{self, Account, Mode, Route};

use crate::{os_error, slotmark_error};

/// The client's request waits at the tip.
#[pyclass(frozen, get_all, module = "slotmark._core")]
pub(crate) struct Waits {
    /// Time of the node's answer.
    at_ns: u64,
}

/// A block that the node announced; times by the monotonic clock.
#[pyclass(frozen, get_all, module = "slotmark._core")]
pub(crate) struct Announced {
    /// The read returned that the roll-forward's first byte was in.
    announced_ns: u64,
    /// The read returned that the last byte was in of what the client works on: of the roll-forward, in `fetch` of the block.
    arrived_ns: u64,
    /// The longest time that bytes of it were in the relay.
    held_ns: u64,
    /// True where the client's request waited for it at the tip.
    awaited: bool,
    /// Size of the block; of the header in `headers`.
    bytes: u64,
    /// Absolute slot.
    slot: u64,
    /// Header hash, in hex.
    hash: String,
    /// The client's digest up to this block, in hex.
    digest: String,
}

/// The node rolled back.
#[pyclass(frozen, get_all, module = "slotmark._core")]
pub(crate) struct RolledBack {
    /// Time of the client's message.
    at_ns: u64,
    /// To which point, `SLOT.HASH` or `origin`.
    to: String,
}

/// Nothing is known of the connection from here on.
#[pyclass(frozen, get_all, module = "slotmark._core")]
pub(crate) struct Ended {
    /// Time of the event.
    at_ns: u64,
    /// True where the node ended it, or sent an invalid message; false where the client did.
    by_node: bool,
    /// In words.
    why: String,
}

/// An event between a node and a client.
#[derive(IntoPyObject)]
pub(crate) enum Event {
    Waits(Waits),
    Announced(Announced),
    RolledBack(RolledBack),
    Ended(Ended),
}

impl From<relay::Event> for Event {
    fn from(event: relay::Event) -> Self {
        match event {
            relay::Event::Waits { at_ns } => Self::Waits(Waits { at_ns }),
            relay::Event::Announced(relay::Announced { announced_ns, arrived_ns, held_ns, awaited, bytes, slot, hash, digest }) => {
                Self::Announced(Announced { announced_ns, arrived_ns, held_ns, awaited, bytes, slot, hash, digest })
            }
            relay::Event::RolledBack { at_ns, to } => Self::RolledBack(RolledBack { at_ns, to }),
            relay::Event::Ended { at_ns, by_node, why } => Self::Ended(Ended { at_ns, by_node, why }),
        }
    }
}

/// The tip of the node at a socket or, node-to-node, at HOST:PORT: SLOT.HASH or origin. Raises ServerError.
#[pyfunction]
pub(crate) fn node_tip(py: Python<'_>, place: String, node_to_node: bool, magic: u64) -> PyResult<String> {
    let tip = py.detach(|| {
        let mut client =
            if node_to_node { Client::connect_address(&place, magic)? } else { Client::connect_socket(Path::new(&place), magic)? };
        client.tip()
    });
    tip.map(|point| point.to_string()).map_err(|error| slotmark_error("ServerError", format!("{place}: {error}")))
}

/// The version that the node at HOST:PORT agrees to in a node-to-node handshake for this network. Raises ServerError.
#[pyfunction]
pub(crate) fn node_version(py: Python<'_>, address: String, magic: u64) -> PyResult<u64> {
    let client = py.detach(|| Client::connect_address(&address, magic));
    client.map(|client| client.version()).map_err(|error| slotmark_error("ServerError", error))
}

/// A relay between one client and a node, which notes when the node's messages arrive; threads of its own, from when it is made until it is stopped.
#[pyclass(frozen, module = "slotmark._core")]
pub(crate) struct Relay {
    relay: Mutex<Option<relay::Relay>>,
    account: Mutex<Account>,
    /// The address that the client connects to: the path of a socket, or HOST:PORT.
    #[pyo3(get)]
    place: String,
}

#[pymethods]
impl Relay {
    /// Listens: on a socket for a node's socket, on a free port of this machine for a node's HOST:PORT. Raises OSError.
    #[new]
    #[pyo3(signature = (node, own_socket, mode))]
    fn new(node: String, own_socket: Option<PathBuf>, mode: &str) -> PyResult<Self> {
        let mode = match mode {
            "raw" => Mode::Raw,
            "decode" => Mode::Decode,
            "headers" => Mode::Headers,
            "fetch" => Mode::Fetch,
            _ => return Err(slotmark_error("ArgumentError", format!("mode '{mode}': expected raw, decode, headers or fetch."))),
        };
        let route = match own_socket {
            Some(relay) => Route::Socket { node: node.into(), relay },
            None => Route::Address(node),
        };
        let relay = relay::Relay::start(route).map_err(os_error)?;
        let place = relay.place();
        Ok(Self { relay: Mutex::new(Some(relay)), account: Mutex::new(Account::new(mode)), place })
    }

    /// Returns the events since the last call, in order.
    fn events(&self, py: Python<'_>) -> Vec<Event> {
        let events = py.detach(|| {
            let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
            let relay = self.relay.lock().unwrap_or_else(PoisonError::into_inner);
            relay.as_ref().map(|relay| relay.enter(&mut account)).unwrap_or_default()
        });
        events.into_iter().map(Event::from).collect()
    }

    /// Ends the client's connection and stops listening.
    fn stop(&self, py: Python<'_>) {
        let relay = self.relay.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(relay));
    }
}
