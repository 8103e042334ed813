//! Directory of the hosts of a running network: a file without a name that the router keeps open.
//!
//! Nothing of a network has a name in the file system or in an address space of sockets, so that nothing can be left behind. Who may look at
//! the router's open files, may enter its hosts: the kernel decides both by the same rule.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use serde::{Deserialize, Serialize};

use crate::WanError;
use crate::namespace::Network;
use crate::topology::Host;

/// The name that the kernel shows of the file.
const NAME: &str = "slotmark-wan";
/// The most bytes of a directory: those of the most hosts with the longest names.
const LONGEST: u64 = 1 << 20;

/// The files that a router keeps open for others.
pub struct Directory {
    _file: File,
    _alive: (OwnedFd, OwnedFd),
}

/// The router's open files, by number.
#[derive(Deserialize, Serialize)]
struct Entries {
    hosts: BTreeMap<String, RawFd>,
    /// The reading end of a pipe that only the router can write to: its end is the router's.
    alive: RawFd,
}

/// A host of a running network, open.
pub struct Entrance {
    /// The network namespace.
    pub namespace: File,
    /// Ends when the router does; inherited by a program that is run.
    pub alive: File,
}

impl Directory {
    /// Keeps the hosts open for others, until this is dropped.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn open(hosts: &[Host], networks: &[Network]) -> io::Result<Self> {
        let alive = pipe_with(PipeFlags::CLOEXEC)?;
        let hosts = hosts.iter().zip(networks).map(|(host, network)| (host.name.clone(), network.namespace.as_raw_fd())).collect();
        let entries = Entries { hosts, alive: alive.0.as_raw_fd() };
        let mut file = File::from(memfd_create(NAME, MemfdFlags::CLOEXEC)?);
        file.write_all(&serde_json::to_vec(&entries)?)?;
        Ok(Self { _file: file, _alive: alive })
    }
}

/// The entrance of a host of the network that a process routes.
///
/// # Errors
/// [`WanError`] where there is no such network or host, or this user may not enter it.
pub fn entrance(pid: u32, host: &str) -> Result<Entrance, WanError> {
    let failed = |source: io::Error| match Errno::from_io_error(&source) {
        Some(Errno::ACCESS | Errno::PERM) => WanError::NotPermitted { pid, source },
        _ => WanError::NoRouter { pid, reason: source.to_string() },
    };
    let files = PathBuf::from(format!("/proc/{pid}/fd"));
    let mut directory = None;
    for entry in fs::read_dir(&files).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        // A file that was closed meanwhile has no target; it isn't the one we look for.
        if fs::read_link(&path).is_ok_and(|target| target.as_os_str() == format!("/memfd:{NAME} (deleted)").as_str()) {
            directory = Some(path);
        }
    }
    let Some(directory) = directory else {
        return Err(WanError::NoRouter { pid, reason: "it has no network".into() });
    };
    let mut text = String::new();
    File::open(directory).map_err(failed)?.take(LONGEST).read_to_string(&mut text).map_err(failed)?;
    let entries: Entries = serde_json::from_str(&text).map_err(|error| failed(error.into()))?;
    let Some(namespace) = entries.hosts.get(host) else {
        let known = entries.hosts.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        return Err(WanError::NoHost { host: host.into(), known });
    };
    let open = |number: RawFd| File::open(files.join(number.to_string())).map_err(failed);
    Ok(Entrance { namespace: open(*namespace)?, alive: open(entries.alive)? })
}
