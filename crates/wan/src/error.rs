//! Reasons why there is no network, or no process in it.

use std::io;
use std::net::SocketAddrV4;
use std::path::PathBuf;

/// A network that can't be made, or a process that can't be started in it.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message is its documentation")]
pub enum WanError {
    #[error("{path}: can't be read ({source}). Give the file of a topology.")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{path}: not a topology ({reason}). docs/wan.md describes its fields.")]
    Topology { path: PathBuf, reason: String },
    #[error(
        "no network namespace can be made here ({source}). Run as root, or allow unprivileged user namespaces (sysctl user.max_user_namespaces, \
         kernel.apparmor_restrict_unprivileged_userns); `--network loopback` needs neither."
    )]
    Namespace { source: io::Error },
    #[error(
        "/dev/net/tun: can't be opened ({source}). Load the kernel's module `tun`, and give the device to this container or user; `--network \
         loopback` does without it."
    )]
    NoTun { source: io::Error },
    #[error(
        "host {host}: the kernel refused {what} ({source}). The network needs TUN devices with IPv4 in its own namespaces; `--network loopback` does without them."
    )]
    Device { host: String, what: &'static str, source: io::Error },
    #[error(
        "{at}: packets of other machines can't be received there ({source}). Free that UDP port, or name another address of this machine."
    )]
    Elsewhere { at: SocketAddrV4, source: io::Error },
    #[error("the network of {hosts} hosts needs more open files than are allowed ({source}). Raise `ulimit -n`.")]
    OpenFiles { hosts: usize, source: io::Error },
    #[error("the router can't go on: {what} ({source}).")]
    Router { what: &'static str, source: io::Error },
    #[error("process {pid}: not a running slotmark-wan ({reason}). Give the id that `slotmark-wan run` printed.")]
    NoRouter { pid: u32, reason: String },
    #[error("process {pid}: can't be looked into ({source}). Run as the user that started slotmark-wan.")]
    NotPermitted { pid: u32, source: io::Error },
    #[error("host {host:?}: not in this network. Its hosts: {known}.")]
    NoHost { host: String, known: String },
    #[error("host {host}: can't be entered ({source}). Run as the user that started slotmark-wan.")]
    Enter { host: String, source: io::Error },
    #[error("{command}: can't be run ({source}). Give a program and its arguments after `--`.")]
    Command { command: String, source: io::Error },
}
