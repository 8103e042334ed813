//! The socket by which routers of a network's machines have each other's packets.

use std::io;
use std::net::{SocketAddrV4, UdpSocket};
use std::os::fd::AsRawFd;

use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_recv_buffer_size_force};

use crate::WanError;

/// Bytes that wait for the router at most: some thousand packets, as a device's queue has. The kernel allows less to who isn't root.
const QUEUE_BYTES: usize = 16 << 20;
/// Counters of a socket's memory, and the place of the packets that it dropped among them (linux/sock_diag.h).
const MEMINFO_VALUES: usize = 9;
const MEMINFO_DROPS: usize = 8;

/// A socket at an address of this machine, made before the process goes into namespaces: it stays in the machine's own network.
///
/// # Errors
/// [`WanError::Elsewhere`] where it can't be had.
pub fn socket_at(at: SocketAddrV4) -> Result<UdpSocket, WanError> {
    let refused = |source| WanError::Elsewhere { at, source };
    let socket = UdpSocket::bind(at).map_err(refused)?;
    socket.set_nonblocking(true).map_err(refused)?;
    if set_socket_recv_buffer_size_force(&socket, QUEUE_BYTES).is_err() {
        set_socket_recv_buffer_size(&socket, QUEUE_BYTES).map_err(|error| refused(error.into()))?;
    }
    Ok(socket)
}

/// Packets that came and didn't fit in the socket's queue.
pub(crate) fn dropped(socket: &UdpSocket) -> io::Result<u64> {
    let mut values = [0_u32; MEMINFO_VALUES];
    let mut size = size_of_val(&values) as libc::socklen_t;
    // SAFETY: the kernel writes no more than `size` bytes, which the array has.
    let done =
        unsafe { libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_MEMINFO, values.as_mut_ptr().cast(), &raw mut size) };
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(u64::from(values[MEMINFO_DROPS])) }
}
