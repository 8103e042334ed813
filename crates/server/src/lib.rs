//! A server that replays a chain to any number of clients, over node-to-client and node-to-node: the program `slotmark-server`.

mod connection;
pub mod framing;
mod growth;
mod heard;

use std::collections::HashMap;
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::fs::Mode;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use slotmark_chain::ChainError;
use slotmark_wire::handshake::Side;
use slotmark_wire::limits::TimeLimits;
use slotmark_wire::stream::Stream;

use connection::{Connection, Manner};
use framing::{FramedChain, Framing};
use growth::Growth;
pub use growth::Pace;
use heard::Heard;

/// Settings of a server.
pub struct Config {
    /// The chain that it serves.
    pub chain: FramedChain,
    /// The network's magic.
    pub magic: u64,
    /// Path of the node-to-client socket.
    pub socket: Option<PathBuf>,
    /// Address of the node-to-node side, as `HOST:PORT`.
    pub listen: Option<String>,
    /// Wait so long, busily, before each reply.
    pub reply_delay: Duration,
    /// Look for a client's next request so long before going to sleep; for a server with a core of its own.
    pub look: Duration,
    /// Frame these blocks before listening.
    pub prepare: Option<Range<usize>>,
    /// The pace at which the chain grows while it is served; None where all of it is there.
    pub pace: Option<Pace>,
    /// Time limits of a client.
    pub limits: TimeLimits,
    /// The most clients at once; when there are more, one that has been silent for long gives way, or the new one is refused.
    pub max_connections: usize,
}

impl Config {
    /// A server of this chain and network, with the time limits of a node.
    pub fn new(chain: FramedChain, magic: u64) -> Self {
        Self {
            chain,
            magic,
            socket: None,
            listen: None,
            reply_delay: Duration::ZERO,
            look: Duration::ZERO,
            prepare: None,
            pace: None,
            limits: TimeLimits::default(),
            max_connections: 64,
        }
    }
}

/// Reasons why a server can't start.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message is its documentation")]
pub enum ServerError {
    #[error("{0}")]
    Chain(#[from] ChainError),
    #[error("{path}: can't listen there ({source}). Choose another --socket.")]
    Socket { path: PathBuf, source: io::Error },
    #[error("{path}: another server listens there. End it, or choose another --socket.")]
    Taken { path: PathBuf },
    #[error("{path}: there is a file that isn't a socket. Choose another --socket.")]
    NotASocket { path: PathBuf },
    #[error("{address}: can't listen there ({source}). Choose another --listen, as 127.0.0.1:3001.")]
    Listen { address: String, source: io::Error },
}

/// A report on a connection that has ended.
#[derive(Debug, Clone, Serialize)]
pub struct ConnectionReport {
    /// Counted from 1.
    pub connection: u64,
    /// `node-to-client` or `node-to-node`.
    pub side: &'static str,
    /// The client's address, where it has one.
    pub peer: String,
    /// The negotiated version; None where it didn't come to that.
    pub version: Option<u64>,
    /// Requests for blocks or headers that were answered with one.
    pub replies: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// From the accepted connection to its end.
    pub duration_ns: u64,
    /// CPU time of the connection's thread.
    pub cpu_ns: u64,
    /// The reason why it ended.
    pub reason: String,
}

type Sink = dyn Fn(ConnectionReport) + Send + Sync;

struct Shared {
    config: Config,
    growth: Option<Growth>,
    sink: Box<Sink>,
    stopping: AtomicBool,
    counter: AtomicU64,
    looked_ns: AtomicU64,
    busy_ns: AtomicU64,
    open: Mutex<HashMap<u64, Open>>,
}

/// A connection as others see it.
struct Open {
    stream: Stream,
    heard: Arc<Heard>,
}

/// A server that listens. Dropping it stops it.
pub struct Server {
    shared: Arc<Shared>,
    listeners: Vec<JoinHandle<()>>,
    sockets: Vec<OwnedFd>,
    address: Option<SocketAddr>,
}

impl Server {
    /// Frames what is to be prepared, listens, and serves from threads of its own; `sink` gets each connection's end.
    ///
    /// # Errors
    /// A place to listen is taken or can't be made, or a block is damaged.
    pub fn start(config: Config, sink: impl Fn(ConnectionReport) + Send + Sync + 'static) -> Result<Self, ServerError> {
        if let Some(blocks) = config.prepare.clone().filter(|blocks| !blocks.is_empty()) {
            let framings: &[Framing] = match (&config.socket, &config.listen) {
                (Some(_), Some(_)) => &[Framing::Blocks, Framing::Headers, Framing::Bodies],
                (Some(_), None) => &[Framing::Blocks],
                _ => &[Framing::Headers, Framing::Bodies],
            };
            for &framing in framings {
                config.chain.prepare(framing, blocks.clone())?;
            }
        }
        let unix = config.socket.as_deref().map(bind_socket).transpose()?;
        let tcp = config
            .listen
            .as_deref()
            .map(|address| TcpListener::bind(address).map_err(|source| ServerError::Listen { address: address.to_owned(), source }))
            .transpose()?;
        let address = tcp.as_ref().and_then(|listener| listener.local_addr().ok());
        let growth = config.pace.map(|pace| Growth::new(pace.from));
        let shared = Arc::new(Shared {
            config,
            growth,
            sink: Box::new(sink),
            stopping: AtomicBool::new(false),
            counter: AtomicU64::new(0),
            looked_ns: AtomicU64::new(0),
            busy_ns: AtomicU64::new(0),
            open: Mutex::default(),
        });
        let sockets = [unix.as_ref().map(AsFd::as_fd), tcp.as_ref().map(AsFd::as_fd)];
        let sockets = sockets.into_iter().flatten().filter_map(|socket| socket.try_clone_to_owned().ok()).collect();
        let mut listeners = Vec::new();
        if let Some(listener) = unix {
            let shared = Arc::clone(&shared);
            listeners.push(thread::spawn(move || {
                shared.accept(Side::Client, || listener.accept().map(|(stream, _)| (Stream::Unix(stream), String::new())))
            }));
        }
        if let Some(listener) = tcp {
            let shared = Arc::clone(&shared);
            listeners.push(thread::spawn(move || {
                shared.accept(Side::Node, || {
                    let (stream, peer) = listener.accept()?;
                    stream.set_nodelay(true)?;
                    Ok((Stream::Tcp(stream), peer.to_string()))
                });
            }));
        }
        if let Some(pace) = shared.config.pace {
            let shared = Arc::clone(&shared);
            listeners.push(thread::spawn(move || shared.grow(&pace)));
        }
        Ok(Self { shared, listeners, sockets, address })
    }

    /// Returns the node-to-node address, with the port that was taken.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// CPU time of this process in ns, without that which the server used to look for requests; never less than before.
    pub fn busy_ns(&self) -> u64 {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        let busy = (cpu.tv_sec as u64 * 1_000_000_000 + cpu.tv_nsec as u64).saturating_sub(self.shared.looked_ns.load(Ordering::Relaxed));
        // A look that is under way counts as busy until it is over.
        self.shared.busy_ns.fetch_max(busy, Ordering::Relaxed).max(busy)
    }

    /// Returns the number of open connections.
    pub fn open_connections(&self) -> usize {
        self.shared.open.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Ends every connection and stops listening.
    pub fn stop(mut self) {
        self.stop_now();
    }

    fn stop_now(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        for open in self.shared.open.lock().unwrap_or_else(PoisonError::into_inner).values() {
            open.stream.shutdown();
        }
        // A listener waits in accept, which ends when its socket is shut down.
        for socket in &self.sockets {
            let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Both);
        }
        for listener in self.listeners.drain(..) {
            let _ = listener.join();
        }
        if let Some(path) = &self.shared.config.socket {
            let _ = fs::remove_file(path);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !self.listeners.is_empty() {
            self.stop_now();
        }
    }
}

impl Shared {
    /// Lets the chain grow to its end, or until the server is stopped.
    fn grow(&self, pace: &Pace) {
        let chain = self.config.chain.chain().len();
        let mut due = Instant::now();
        let mut grows = true;
        while grows {
            due += pace.every;
            while let Some(left) = due.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
                if self.stopping.load(Ordering::SeqCst) {
                    return;
                }
                thread::sleep(left.min(Duration::from_millis(50)));
            }
            grows = self.growth.as_ref().is_some_and(|growth| growth.step(pace, chain));
        }
    }

    fn accept(self: &Arc<Self>, side: Side, mut next: impl FnMut() -> io::Result<(Stream, String)>) {
        while !self.stopping.load(Ordering::SeqCst) {
            let Ok((stream, peer)) = next() else {
                thread::sleep(Duration::from_millis(10)); // out of file descriptors, most likely: others have to close first
                continue;
            };
            if self.stopping.load(Ordering::SeqCst) {
                return;
            }
            let number = self.counter.fetch_add(1, Ordering::SeqCst) + 1;
            let twin = stream.try_clone();
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if open.len() >= self.config.max_connections && !make_room(&mut open, self.config.limits.spare) {
                drop(open);
                (self.sink)(refused(number, side, peer, self.config.max_connections));
                continue;
            }
            let Ok(twin) = twin else { continue };
            let heard = Arc::new(Heard::new());
            open.insert(number, Open { stream: twin, heard: Arc::clone(&heard) });
            drop(open);
            let shared = Arc::clone(self);
            thread::spawn(move || {
                let Config { chain, magic, limits, reply_delay, look, .. } = &shared.config;
                let manner = Manner { limits: *limits, delay: *reply_delay, look: *look };
                let mut report =
                    Connection::new(chain, shared.growth.as_ref(), side, *magic, stream, manner, &shared.looked_ns, &heard).serve();
                (report.connection, report.peer) = (number, peer);
                if shared.stopping.load(Ordering::SeqCst) {
                    report.reason = "the server was stopped".into();
                }
                shared.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
                (shared.sink)(report);
            });
        }
    }
}

/// Ends the connection that has been silent for longest, where that is long enough.
fn make_room(open: &mut HashMap<u64, Open>, spare: Duration) -> bool {
    let longest = open.iter().map(|(number, open)| (open.heard.silent_for(), *number)).max();
    let Some((_, number)) = longest.filter(|(silent, _)| *silent >= spare) else {
        return false;
    };
    if let Some(gone) = open.remove(&number) {
        gone.heard.give_way();
        gone.stream.shutdown();
    }
    true
}

fn refused(connection: u64, side: Side, peer: String, most: usize) -> ConnectionReport {
    let reason = format!("refused: {most} connections are open already");
    ConnectionReport { connection, side: side.name(), peer, version: None, replies: 0, bytes: 0, duration_ns: 0, cpu_ns: 0, reason }
}

/// Binds a unix socket, in the place of one without a listener.
fn bind_socket(path: &Path) -> Result<UnixListener, ServerError> {
    if let Ok(there) = fs::symlink_metadata(path) {
        if !there.file_type().is_socket() {
            return Err(ServerError::NotASocket { path: path.to_path_buf() });
        }
        if UnixStream::connect(path).is_ok() {
            return Err(ServerError::Taken { path: path.to_path_buf() });
        }
        let _ = fs::remove_file(path);
    }
    // Only for this user, from its first moment on; no thread of the server's is there yet to make a file meanwhile.
    let before = rustix::process::umask(Mode::RWXG | Mode::RWXO);
    let bound = UnixListener::bind(path);
    rustix::process::umask(before);
    bound.map_err(|source| ServerError::Socket { path: path.to_path_buf(), source })
}
