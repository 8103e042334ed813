//! The namespaces of a network: one of users where that is needed, and a network namespace per host.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType, socket};
use rustix::process::{Resource, Rlimit, getgid, getrlimit, getuid, setrlimit};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::WanError;
use crate::link::Links;
use crate::topology::{Host, PREFIX};
use crate::tun::{self, make_device, open_tun};

/// Packets that a device holds until the router reads them. The kernel drops what comes beyond; its own 500 are less than one window.
const QUEUE_PACKETS: u32 = 20_000;
/// The index of the loopback device in every network namespace (the kernel's LOOPBACK_IFINDEX).
const LOOPBACK: u32 = 1;

/// A host that is there: its namespace and its device, both of which go when this is dropped and no process is in them.
pub struct Network {
    pub(crate) namespace: File,
    pub(crate) tun: OwnedFd,
    links: Links,
    device: u32,
}

impl Network {
    /// Packets that were sent and didn't fit in the device's queue.
    pub(crate) fn dropped(&self) -> io::Result<u64> {
        self.links.dropped(self.device)
    }
}

/// Makes a namespace for each host, with its device and address. The thread is in the last one afterwards, and where it isn't
/// privileged, in a user namespace of its own, in which it is the same user. Must be called by a process of one thread.
///
/// # Errors
/// [`WanError`] where the machine doesn't allow it.
pub fn make_networks(hosts: &[Host], mtu: u16) -> Result<Vec<Network>, WanError> {
    let most = getrlimit(Resource::Nofile).maximum;
    let _ = setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most });
    match new_network_namespace() {
        Err(Errno::PERM) => {
            own_users().map_err(|source| WanError::Namespace { source })?;
            hosts.iter().map(|host| network(host, mtu, hosts.len())).collect()
        }
        _ => hosts.iter().map(|host| network(host, mtu, hosts.len())).collect(),
    }
}

fn new_network_namespace() -> Result<(), Errno> {
    // SAFETY: no file descriptors are unshared.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }
}

/// Goes into a user namespace in which this user is itself and may do all with the network namespaces that it makes.
fn own_users() -> io::Result<()> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    // SAFETY: no file descriptors are unshared.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER)? };
    fs::write("/proc/self/setgroups", "deny")?; // without it the kernel takes no group map from an unprivileged process
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

fn network(host: &Host, mtu: u16, hosts: usize) -> Result<Network, WanError> {
    let too_many = |source: io::Error| match Errno::from_io_error(&source) {
        Some(Errno::MFILE | Errno::NFILE) => Err(WanError::OpenFiles { hosts, source }),
        _ => Ok(source),
    };
    let refused = |what| {
        move |source: io::Error| match too_many(source) {
            Ok(source) => WanError::Device { host: host.name.clone(), what, source },
            Err(error) => error,
        }
    };
    new_network_namespace().map_err(|error| WanError::Namespace { source: error.into() })?;
    let namespace = File::open("/proc/thread-self/ns/net").map_err(refused("to open its namespace"))?;
    let tun = open_tun().map_err(|source| match too_many(source) {
        Ok(source) => WanError::NoTun { source },
        Err(error) => error,
    })?;
    make_device(&tun).map_err(refused("a TUN device"))?;
    let links = Links::here().map_err(refused("a netlink socket"))?;
    let device = socket(AddressFamily::INET, SocketType::DGRAM, None)
        .and_then(|any| name_to_index(any, tun::NAME))
        .map_err(|error| refused("the index of its device")(error.into()))?;
    links.switch_on(LOOPBACK, None).map_err(refused("to switch on loopback"))?;
    links.add_address(device, host.address, PREFIX).map_err(refused("an address"))?;
    links.switch_on(device, Some((u32::from(mtu), QUEUE_PACKETS))).map_err(refused("to switch on its device"))?;
    Ok(Network { namespace, tun, links, device })
}
