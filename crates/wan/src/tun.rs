//! TUN devices: what a namespace sends through one is read from its file, one IP packet a read.

use std::ffi::{c_char, c_int, c_short};
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, open};
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};

/// Attaches an open `/dev/net/tun` to a device (linux/if_tun.h); a crate for TUN devices would be a dependency for this one request.
const TUNSETIFF: Opcode = opcode::write::<c_int>(b'T', 202);

/// The name of the device in each namespace.
pub(crate) const NAME: &str = "wan0";

/// The file that TUN devices are made through.
pub(crate) fn open_tun() -> io::Result<OwnedFd> {
    Ok(open("/dev/net/tun", OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?)
}

/// Makes the device, in the namespace that the thread was in when the file was opened. It goes when the file is closed.
pub(crate) fn make_device(tun: &OwnedFd) -> io::Result<()> {
    // SAFETY: an ifreq is plain numbers, for which zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(NAME.bytes()) {
        *to = from as c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as c_short;
    // SAFETY: TUNSETIFF reads an ifreq, although its number was made of an int.
    unsafe { ioctl(tun, Setter::<TUNSETIFF, libc::ifreq>::new(request))? };
    Ok(())
}
