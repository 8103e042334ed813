//! The socket that a client reads from and writes to.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::ClientError;

/// Number of looks for more input before going to sleep: about as long as a sleep and a wake-up take.
const MOST_LOOKS: u32 = 32;

enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// A stream socket that can be set to expect more.
///
/// With many requests in flight the next reply is a microsecond away, and sleeping until it is here would cost both ends
/// more than looking again. How often that is tried follows from how well it went before, so that behind a slow node,
/// or on one core, it soon isn't tried at all.
pub(super) struct Bearer {
    socket: Socket,
    more_expected: bool,
    looks: u32,
}

impl Bearer {
    pub(super) fn unix(path: &Path) -> Result<Self, ClientError> {
        let stream = UnixStream::connect(path).map_err(|source| ClientError::Connect { address: path.display().to_string(), source })?;
        Ok(Self::new(Socket::Unix(stream)))
    }

    pub(super) fn tcp(address: &str) -> Result<Self, ClientError> {
        let stream = TcpStream::connect(address).map_err(|source| ClientError::Connect { address: address.to_owned(), source })?;
        stream.set_nodelay(true)?;
        Ok(Self::new(Socket::Tcp(stream)))
    }

    fn new(socket: Socket) -> Self {
        Self { socket, more_expected: false, looks: 1 }
    }

    /// Sets whether there are replies to come besides the one that is waited for.
    pub(super) fn expect_more(&mut self, more_expected: bool) {
        self.more_expected = more_expected;
    }

    /// Sets the longest time that a read may take from now on; None sets no limit.
    pub(super) fn read_within(&self, limit: Option<Duration>) -> io::Result<()> {
        match &self.socket {
            Socket::Unix(stream) => stream.set_read_timeout(limit),
            Socket::Tcp(stream) => stream.set_read_timeout(limit),
        }
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Unix(stream) => stream.as_fd(),
            Socket::Tcp(stream) => stream.as_fd(),
        }
    }

    /// Reads what is here, without waiting for it.
    fn look(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        for _ in 0..self.looks {
            match recv(self.descriptor(), &mut *buffer, RecvFlags::DONTWAIT) {
                Ok((read, _)) => {
                    self.looks = (self.looks * 2).min(MOST_LOOKS);
                    return Ok(Some(read));
                }
                Err(Errno::AGAIN | Errno::INTR) => std::hint::spin_loop(),
                Err(error) => return Err(error.into()),
            }
        }
        self.looks = (self.looks / 2).max(1);
        Ok(None)
    }
}

impl Read for Bearer {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.more_expected
            && let Some(read) = self.look(buffer)?
        {
            return Ok(read);
        }
        match &mut self.socket {
            Socket::Unix(stream) => stream.read(buffer),
            Socket::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for Bearer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.socket {
            Socket::Unix(stream) => stream.write(bytes),
            Socket::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
