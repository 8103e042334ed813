//! A relay between a client and a node: passes bytes on at once, and notes when the node's messages arrived.
//!
//! The client under test connects to the relay instead of the node. A message is stamped with the monotonic clock of the system when
//! the read that its first byte was in returned, before anything else is done to it. Reading what the bytes mean comes after they were
//! passed on.

mod account;
mod watch;

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rustix::time::{ClockId, clock_gettime};

use crate::stream::Stream;
pub use account::{Account, Announced, Event, Mode};
use watch::{Watch, What};

const READ_BYTES: usize = 256 << 10;

/// Addresses of the node and of the relay that its client connects to.
#[derive(Clone, Debug)]
pub enum Route {
    /// From a socket of the relay's own to the node's, node-to-client.
    Socket {
        /// The node's.
        node: PathBuf,
        /// The relay's, which is made.
        relay: PathBuf,
    },
    /// From a port of this machine that the relay takes to the node's `HOST:PORT`, node-to-node.
    Address(String),
}

/// A message that the relay saw, not yet decoded.
struct Seen {
    connection: u64,
    what: What,
}

struct Shared {
    route: Route,
    stopping: AtomicBool,
    seen: Mutex<Vec<Seen>>,
    open: Mutex<Vec<Stream>>,
}

/// A relay that listens. Dropping it ends its connections.
pub struct Relay {
    shared: Arc<Shared>,
    listening: OwnedFd,
    address: Option<SocketAddr>,
    listener: Option<JoinHandle<()>>,
}

impl Relay {
    /// Listens, and relays from threads of its own.
    ///
    /// # Errors
    /// There is no place to listen.
    pub fn start(route: Route) -> io::Result<Self> {
        let shared = Arc::new(Shared { route, stopping: AtomicBool::new(false), seen: Mutex::default(), open: Mutex::default() });
        let twin = Arc::clone(&shared);
        let (listening, address, listener) = match &shared.route {
            Route::Socket { relay, .. } => {
                let listener = UnixListener::bind(relay)?;
                let listening = listener.as_fd().try_clone_to_owned()?;
                (listening, None, thread::spawn(move || twin.accept(|| Ok(Stream::Unix(listener.accept()?.0)))))
            }
            Route::Address(_) => {
                let listener = TcpListener::bind("127.0.0.1:0")?;
                let (listening, address) = (listener.as_fd().try_clone_to_owned()?, listener.local_addr()?);
                let accept = move || {
                    let stream = listener.accept()?.0;
                    stream.set_nodelay(true)?;
                    Ok(Stream::Tcp(stream))
                };
                (listening, Some(address), thread::spawn(move || twin.accept(accept)))
            }
        };
        Ok(Self { shared, listening, address, listener: Some(listener) })
    }

    /// Returns the address that a client connects to: the path of a socket, or `HOST:PORT`.
    pub fn place(&self) -> String {
        match (&self.shared.route, self.address) {
            (Route::Socket { relay, .. }, _) => relay.display().to_string(),
            (Route::Address(_), address) => address.map(|address| address.to_string()).unwrap_or_default(),
        }
    }

    /// Enters what was seen since the last call into an account; gives what follows from it, in order.
    pub fn enter(&self, account: &mut Account) -> Vec<Event> {
        let seen = std::mem::take(&mut *self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner));
        let mut events = Vec::with_capacity(seen.len());
        for Seen { connection, what } in seen {
            events.extend(account.enter(connection, what));
        }
        events
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // The listener waits in accept, which ends when its socket is shut down.
        let _ = rustix::net::shutdown(&self.listening, rustix::net::Shutdown::Both);
        self.shared.open.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(Stream::shutdown);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
        if let Route::Socket { relay, .. } = &self.shared.route {
            let _ = std::fs::remove_file(relay);
        }
    }
}

impl Shared {
    fn accept(self: Arc<Self>, next: impl Fn() -> io::Result<Stream>) {
        let mut connection = 0;
        let mut pumps = Vec::new();
        while !self.stopping.load(Ordering::SeqCst) {
            let Ok(client) = next() else {
                thread::sleep(std::time::Duration::from_millis(10)); // out of file descriptors, most likely: others have to close first
                continue;
            };
            connection += 1;
            match self.connect(&client) {
                Ok(streams) => pumps.extend(self.pump(connection, client, streams)),
                Err(error) => {
                    self.tell(connection, What::Unreadable { at_ns: now_ns(), why: format!("can't connect ({error})") });
                    client.shutdown();
                }
            }
        }
        self.open.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(Stream::shutdown);
        for pump in pumps {
            let _ = pump.join();
        }
    }

    /// The node's stream, and twins of both for the way back.
    fn connect(&self, client: &Stream) -> io::Result<[Stream; 3]> {
        let node = match &self.route {
            Route::Socket { node, .. } => Stream::Unix(UnixStream::connect(node)?),
            Route::Address(address) => {
                let stream = TcpStream::connect(address)?;
                stream.set_nodelay(true)?;
                Stream::Tcp(stream)
            }
        };
        client.widen(); // a whole block goes in at once
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.extend([client.try_clone()?, node.try_clone()?]);
        Ok([node.try_clone()?, node, client.try_clone()?])
    }

    fn pump(
        self: &Arc<Self>,
        connection: u64,
        client: Stream,
        [mut from_node, mut to_node, mut to_client]: [Stream; 3],
    ) -> [JoinHandle<()>; 2] {
        let shared = Arc::clone(self);
        // When the client closed; 0 while it didn't. Only the way down reports an end, behind all that came before it.
        let closed_ns = Arc::new(AtomicU64::new(0));
        let client_closed_ns = Arc::clone(&closed_ns);
        let down = thread::spawn(move || {
            let mut watch = Watch::default();
            let mut buffer = vec![0; READ_BYTES];
            let (by_node, why) = loop {
                let read = match from_node.read(&mut buffer) {
                    Ok(0) => break (true, "it closed the connection".to_owned()),
                    Ok(read) => read,
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(error) => break (true, format!("the connection was lost ({})", error.kind())),
                };
                let read_ns = now_ns();
                if let Err(error) = to_client.write_all(&buffer[..read]) {
                    break (false, format!("the connection was lost ({})", error.kind()));
                }
                let passed_ns = now_ns();
                watch.bytes(&buffer[..read], read_ns, passed_ns, &mut |what| shared.tell(connection, what));
            };
            // Reported before the other side is closed: the side that closed first ended it.
            let ended = match client_closed_ns.load(Ordering::SeqCst) {
                0 => What::Ended { at_ns: now_ns(), by_node, why },
                at_ns => What::Ended { at_ns, by_node: false, why: "it closed the connection".into() },
            };
            shared.tell(connection, ended);
            to_client.shutdown();
            from_node.shutdown();
        });
        let mut from_client = client;
        let up = thread::spawn(move || {
            let mut buffer = vec![0; READ_BYTES];
            loop {
                match from_client.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(read) if to_node.write_all(&buffer[..read]).is_err() => return, // the node's end is found on the way down
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
            closed_ns.store(now_ns(), Ordering::SeqCst);
            to_node.shutdown();
        });
        [down, up]
    }

    fn tell(&self, connection: u64, what: What) {
        if !self.stopping.load(Ordering::SeqCst) {
            self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(Seen { connection, what });
        }
    }
}

/// The system's monotonic clock, which is the same for all processes of a machine.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
