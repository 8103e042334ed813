//! A unix or TCP stream.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use rustix::time::{ClockId, clock_gettime};

/// Either kind of stream that a server accepts.
pub enum Stream {
    /// Node-to-client.
    Unix(UnixStream),
    /// Node-to-node.
    Tcp(TcpStream),
}

impl Stream {
    /// The same connection again, as of [`UnixStream::try_clone`].
    ///
    /// # Errors
    /// Those of the system.
    pub fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Unix(stream) => stream.try_clone().map(Self::Unix),
            Self::Tcp(stream) => stream.try_clone().map(Self::Tcp),
        }
    }

    /// Ends both directions.
    pub fn shutdown(&self) {
        let _ = match self {
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
        };
    }

    /// Sets the time after which a read gives up.
    ///
    /// # Errors
    /// Those of the system.
    pub fn read_within(&self, limit: Duration) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_read_timeout(Some(limit)),
            Self::Tcp(stream) => stream.set_read_timeout(Some(limit)),
        }
    }

    /// Sets the time after which a write gives up.
    ///
    /// # Errors
    /// Those of the system.
    pub fn write_within(&self, limit: Duration) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_write_timeout(Some(limit)),
            Self::Tcp(stream) => stream.set_write_timeout(Some(limit)),
        }
    }

    /// Looks for what comes in without going to sleep, for so long at most; adds the CPU time that it took to `looked_ns`.
    ///
    /// A client that waits for each reply is then answered at once, and doesn't pay for waking this thread up.
    ///
    /// # Errors
    /// Those of the system.
    pub fn look(&self, buffer: &mut [u8], most: Duration, looked_ns: &AtomicU64) -> io::Result<Option<usize>> {
        let (began, used) = (Instant::now(), thread_cpu_ns());
        loop {
            let found = match recv(self.descriptor(), &mut *buffer, RecvFlags::DONTWAIT) {
                Ok((read, _)) => Some(Ok(Some(read))),
                Err(Errno::AGAIN | Errno::INTR) => None,
                Err(error) => Some(Err(error.into())),
            };
            if found.is_some() || began.elapsed() > most {
                // By the CPU's clock: while others had the core, this thread used nothing that could be taken off.
                looked_ns.fetch_add(thread_cpu_ns() - used, Ordering::Relaxed);
                return found.unwrap_or(Ok(None));
            }
            std::hint::spin_loop();
        }
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
        }
    }

    /// Asks for a larger send buffer; what the system allows is good enough.
    pub fn widen(&self) {
        const BYTES: usize = 1 << 20;
        let _ = match self {
            Self::Unix(stream) => rustix::net::sockopt::set_socket_send_buffer_size(stream, BYTES),
            Self::Tcp(_) => Ok(()), // TCP tunes its own
        };
    }
}

/// CPU time of the calling thread.
pub fn thread_cpu_ns() -> u64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
