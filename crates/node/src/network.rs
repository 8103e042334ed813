//! Connections: listening, dialling, and what goes on in one of them.

mod bounds;
mod connection;
mod writer;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener, lookup_host};
use tokio::sync::Notify;

use crate::config::Neighbour;
use crate::error::NodeError;
use crate::inbox::Events;
use crate::log::Log;
use crate::store::Store;

use bounds::Door;

pub use bounds::Bounds;

/// Waits between attempts to reach a peer.
const FIRST_WAIT: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// A connection that lived so long was a good one.
const GOOD: Duration = Duration::from_secs(10);
/// Longest time that a peer may take to answer a dial.
const DIAL_LIMIT: Duration = Duration::from_secs(10);

/// The parts that all connections share.
pub struct Network {
    /// The address to listen on and to dial from.
    pub address: SocketAddr,
    /// The network's number.
    pub magic: u32,
    /// The queue for events of peers.
    pub events: Events,
    /// The node's log.
    pub log: Arc<Log>,
    /// The node's blocks.
    pub store: Arc<Store>,
    /// Longest time that a peer may ask for no header; None for no limit.
    pub chain_sync_idle: Option<Duration>,
    /// Limits for others.
    pub bounds: Bounds,
    state: State,
}

#[derive(Default)]
struct State {
    ids: Cell<u32>,
    /// Peers of the topology by the address they listen on, and whether they may be silent.
    neighbours: RefCell<HashMap<SocketAddr, bool>>,
    /// Connections by the other end's address; each is notified when it ends.
    open: RefCell<HashMap<SocketAddr, Rc<Notify>>>,
    door: RefCell<Door>,
}

/// The origin of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Dialled,
    Accepted,
}

impl Network {
    /// No peer is connected yet.
    pub fn new(
        address: SocketAddr,
        magic: u32,
        events: Events,
        (log, store): (Arc<Log>, Arc<Store>),
        chain_sync_idle: Option<Duration>,
        bounds: Bounds,
    ) -> Rc<Self> {
        Rc::new(Self { address, magic, events, log, store, chain_sync_idle, bounds, state: State::default() })
    }

    /// Listens for peers, and dials those of the topology, from a task for each.
    ///
    /// # Errors
    /// The address is taken.
    pub fn start(self: &Rc<Self>, neighbours: Vec<Neighbour>) -> Result<(), NodeError> {
        let listen = |source| NodeError::Listen { address: self.address.to_string(), source };
        let listener = self.socket(self.address).and_then(|socket| socket.listen(1_024)).map_err(listen)?;
        let network = Rc::clone(self);
        tokio::task::spawn_local(async move {
            // Who dials first must be known for a neighbour.
            for neighbour in &neighbours {
                network.resolve(neighbour).await;
            }
            for neighbour in neighbours {
                tokio::task::spawn_local(Rc::clone(&network).keep_dialling(neighbour));
            }
            network.accept(listener).await;
        });
        Ok(())
    }

    /// A neighbour's address; None where its name can't be resolved now.
    async fn resolve(&self, neighbour: &Neighbour) -> Option<SocketAddr> {
        let place = (neighbour.access_point.address.as_str(), neighbour.access_point.port);
        let address = lookup_host(place).await.ok()?.find(|found| found.is_ipv4() == self.address.is_ipv4())?;
        self.state.neighbours.borrow_mut().insert(address, neighbour.trustable);
        Some(address)
    }

    /// Listens for local clients on a unix socket. One without a listener is replaced.
    ///
    /// # Errors
    /// The socket can't be made.
    pub fn start_local(self: &Rc<Self>, path: &Path) -> Result<LocalSocket, NodeError> {
        let error = |source| NodeError::Socket { path: path.to_path_buf(), source };
        if path.exists() && std::os::unix::net::UnixStream::connect(path).is_err() {
            std::fs::remove_file(path).map_err(error)?;
        }
        let listener = UnixListener::bind(path).map_err(error)?;
        let network = Rc::clone(self);
        tokio::task::spawn_local(async move {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => drop(tokio::task::spawn_local(connection::serve_local(Rc::clone(&network), stream))),
                    Err(error) => network.wait_after(&error).await,
                }
            }
        });
        Ok(LocalSocket(path.to_path_buf()))
    }

    /// A number for a new connection.
    fn next_id(&self) -> u32 {
        let id = self.state.ids.get();
        self.state.ids.set(id.wrapping_add(1));
        id
    }

    /// A socket that is bound to an address which others of ours are bound to as well.
    fn socket(&self, address: SocketAddr) -> io::Result<TcpSocket> {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        socket.set_reuseport(true)?;
        socket.bind(address)?;
        Ok(socket)
    }

    async fn wait_after(&self, error: &io::Error) {
        // Too many open files, as a rule: it passes.
        eprintln!("slotmark-node: a connection could not be accepted: {error}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }

    async fn accept(self: Rc<Self>, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, address)) => {
                    // Those of the topology always have a place.
                    let is_known = self.state.neighbours.borrow().contains_key(&address);
                    if !is_known && let Err(why) = self.state.door.borrow_mut().enter(address.ip(), &self.bounds, Instant::now()) {
                        let _ = stream.set_zero_linger();
                        if let Some(why) = why {
                            eprintln!("slotmark-node: {why}");
                        }
                        continue;
                    }
                    let network = Rc::clone(&self);
                    tokio::task::spawn_local(async move {
                        network.run(stream, address, Origin::Accepted).await;
                        if !is_known {
                            network.state.door.borrow_mut().leave(address.ip());
                        }
                    });
                }
                Err(error) => self.wait_after(&error).await,
            }
        }
    }

    async fn keep_dialling(self: Rc<Self>, neighbour: Neighbour) {
        let mut wait = FIRST_WAIT;
        loop {
            if let Some(address) = self.resolve(&neighbour).await {
                let open = self.state.open.borrow().get(&address).cloned();
                if let Some(open) = open {
                    open.notified().await;
                    continue;
                }
                let began = Instant::now();
                if let Ok(Ok(stream)) = tokio::time::timeout(DIAL_LIMIT, self.dial(address)).await {
                    self.run(stream, address, Origin::Dialled).await;
                    if began.elapsed() > GOOD {
                        wait = FIRST_WAIT;
                    }
                }
                if self.state.open.borrow().contains_key(&address) {
                    continue; // the peer was quicker
                }
            }
            tokio::time::sleep(wait).await;
            wait = (2 * wait).min(LONGEST_WAIT);
        }
    }

    /// Dials from the port that the node listens on, so that one connection serves both ways; else from another one.
    async fn dial(&self, address: SocketAddr) -> io::Result<TcpStream> {
        match self.socket(self.address) {
            Ok(socket) => match socket.connect(address).await {
                Err(error) if matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable) => {
                    // The pair of addresses rests from a connection before, or the peer is just dialling.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    if self.state.open.borrow().contains_key(&address) {
                        return Err(error);
                    }
                    let mut other = self.address;
                    other.set_port(0);
                    self.socket(other)?.connect(address).await
                }
                connected => connected,
            },
            Err(error) => Err(error),
        }
    }

    /// Sees to a connection until it ends.
    async fn run(self: &Rc<Self>, stream: TcpStream, address: SocketAddr, origin: Origin) {
        let ended = Rc::new(Notify::new());
        {
            let mut open = self.state.open.borrow_mut();
            if open.contains_key(&address) {
                return; // one connection for each pair of addresses
            }
            open.insert(address, Rc::clone(&ended));
        }
        let trustable = self.state.neighbours.borrow().get(&address).copied();
        if let Err(why) = connection::run(Rc::clone(self), stream, address, origin, trustable).await {
            eprintln!("slotmark-node: connection with {address} ended: {why}");
        }
        self.state.open.borrow_mut().remove(&address);
        ended.notify_waiters();
    }
}

/// The socket for local clients, which goes when this is dropped.
pub struct LocalSocket(PathBuf);

impl Drop for LocalSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
