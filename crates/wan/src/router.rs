//! The router: one thread that reads what hosts send, holds it, and hands it on.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::event::epoll;
use rustix::io::Errno;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime, timerfd_create, timerfd_settime,
};

use crate::WanError;
use crate::elsewhere::dropped;
use crate::namespace::Network;
use crate::pair::{Fate, Pair};
use crate::statistics::Statistics;
use crate::topology::Topology;

/// Packets read from one host before the others have their turn, and handed on before devices are looked at again.
const READ_AT_ONCE: usize = 64;
const WRITTEN_AT_ONCE: usize = 256;
/// The most bytes held. Beyond, packets are dropped and counted: the machine's memory belongs to its nodes.
const MOST_HELD_BYTES: usize = 1 << 30;
/// Buffers kept for the next packets, of those that are free.
const MOST_SPARE: usize = 4096;

const STOP: u64 = u64::MAX;
const INPUT: u64 = u64::MAX - 1;
const TIMER: u64 = u64::MAX - 2;
const ELSEWHERE: u64 = u64::MAX - 3;

/// A packet on its way. Ordered by when it is due, then by when it was read.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    due_ns: u64,
    number: u64,
    to: usize,
    packet: Vec<u8>,
}

/// Carries packets until `stop` can be read, or standard input ends where that is a pipe, a socket or a terminal.
///
/// Packets for hosts elsewhere leave by the socket, each in a datagram of its own, when they are due; those that come by it, from the routers
/// that the topology names, are handed on at once.
///
/// # Errors
/// [`WanError::Router`] where the operating system refuses what a router needs.
pub fn route(topology: &Topology, networks: &[Network], elsewhere: Option<&UdpSocket>, stop: &UnixStream) -> Result<Statistics, WanError> {
    let mut router =
        Router::new(topology, networks, elsewhere, stop).map_err(|source| WanError::Router { what: "its timer and events", source })?;
    router.run().map_err(|source| WanError::Router { what: "waiting for packets", source })?;
    let mut statistics = router.statistics;
    if let Some(socket) = elsewhere {
        statistics.own_drops.socket_queue =
            dropped(socket).map_err(|source| WanError::Router { what: "reading a socket's counters", source })?;
    }
    for network in networks {
        statistics.own_drops.device_queue +=
            network.dropped().map_err(|source| WanError::Router { what: "reading a device's counters", source })?;
    }
    Ok(statistics)
}

struct Router<'a> {
    networks: &'a [Network],
    elsewhere: Option<&'a UdpSocket>,
    /// The routers of receivers elsewhere, in the receivers' order.
    routers: Vec<SocketAddr>,
    known_routers: HashSet<SocketAddr>,
    by_address: HashMap<[u8; 4], usize>,
    pairs: Vec<Pair>,
    mtu: usize,
    events: OwnedFd,
    timer: OwnedFd,
    /// Time that the timer is set to, in ns.
    timer_ns: Option<u64>,
    held: BinaryHeap<Reverse<Held>>,
    held_bytes: usize,
    read: u64,
    spare: Vec<Vec<u8>>,
    statistics: Statistics,
}

impl<'a> Router<'a> {
    fn new(topology: &Topology, networks: &'a [Network], elsewhere: Option<&'a UdpSocket>, stop: &UnixStream) -> io::Result<Self> {
        let events = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        let watch = |file: &dyn AsFd, number| epoll::add(&events, file, epoll::EventData::new_u64(number), epoll::EventFlags::IN);
        for (number, network) in networks.iter().enumerate() {
            watch(&network.tun, number as u64)?;
        }
        if let Some(socket) = elsewhere {
            watch(socket, ELSEWHERE)?;
        }
        watch(&timer, TIMER)?;
        watch(&stop, STOP)?;
        match watch(&io::stdin(), INPUT) {
            Ok(()) | Err(Errno::PERM) => (), // PERM: a file or /dev/null, which has no end to wait for
            Err(error) => return Err(error.into()),
        }
        let pairs = topology.links_by_pair().into_iter().zip(0..).map(|(link, number)| Pair::new(link, topology.seed, number)).collect();
        let routers: Vec<_> = topology.elsewhere.iter().map(|host| SocketAddr::V4(host.at)).collect();
        Ok(Self {
            networks,
            elsewhere,
            known_routers: routers.iter().copied().collect(),
            routers,
            by_address: topology.receivers().enumerate().map(|(place, (_, address))| (Ipv4Addr::octets(&address), place)).collect(),
            pairs,
            mtu: usize::from(topology.mtu),
            events,
            timer,
            timer_ns: None,
            held: BinaryHeap::new(),
            held_bytes: 0,
            read: 0,
            spare: Vec::new(),
            statistics: Statistics::default(),
        })
    }

    fn run(&mut self) -> io::Result<()> {
        let mut ready = Vec::with_capacity(self.networks.len() + 3);
        loop {
            self.set_timer()?;
            ready.clear();
            match epoll::wait(&self.events, rustix::buffer::spare_capacity(&mut ready), None) {
                Ok(_) => (),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            self.statistics.rounds += 1;
            // Queues of devices first: the kernel drops what doesn't fit in one. What is due waits no longer than that takes.
            for event in &ready {
                match event.data.u64() {
                    STOP => return Ok(()),
                    INPUT => {
                        if io::stdin().read(&mut [0; 64])? == 0 {
                            return Ok(());
                        }
                    }
                    ELSEWHERE => self.take_from_elsewhere()?,
                    TIMER => self.timer_ns = None, // set anew each time, which also makes it unreadable
                    from => self.take_from(from as usize)?,
                }
            }
            self.hand_on()?;
        }
    }

    /// Sets the timer to when the next packet is due; off where none is held.
    fn set_timer(&mut self) -> io::Result<()> {
        let next_ns = self.held.peek().map(|Reverse(held)| held.due_ns);
        if next_ns == self.timer_ns && next_ns.is_some() {
            return Ok(());
        }
        let ns = next_ns.unwrap_or(0);
        let value = Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once)?;
        self.timer_ns = next_ns;
        Ok(())
    }

    fn take_from(&mut self, from: usize) -> io::Result<()> {
        for _ in 0..READ_AT_ONCE {
            let mut packet = self.spare.pop().unwrap_or_default();
            packet.resize(self.mtu, 0);
            match rustix::io::read(&self.networks[from].tun, &mut packet[..]) {
                Ok(bytes) => packet.truncate(bytes),
                Err(Errno::AGAIN) => {
                    self.keep_spare(packet);
                    return Ok(());
                }
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            self.take(from, packet);
        }
        Ok(())
    }

    /// Hands packets on that come from other machines' routers: those have held them as long as is meant.
    fn take_from_elsewhere(&mut self) -> io::Result<()> {
        let Some(socket) = self.elsewhere else { return Ok(()) };
        for _ in 0..READ_AT_ONCE {
            let mut packet = self.spare.pop().unwrap_or_default();
            packet.resize(self.mtu, 0);
            let from = match socket.recv_from(&mut packet) {
                Ok((bytes, from)) => {
                    packet.truncate(bytes);
                    from
                }
                Err(error) => {
                    self.keep_spare(packet);
                    match error.kind() {
                        io::ErrorKind::WouldBlock => return Ok(()),
                        io::ErrorKind::Interrupted => continue,
                        _ => return Err(error),
                    }
                }
            };
            match self.receiver(&packet).and_then(|to| self.networks.get(to)) {
                Some(network) if self.known_routers.contains(&from) => {
                    match rustix::io::retry_on_intr(|| rustix::io::write(&network.tun, &packet)) {
                        Ok(_) => self.statistics.from_elsewhere += 1,
                        Err(_) => self.statistics.own_drops.refused += 1,
                    }
                }
                _ => self.statistics.not_for_a_host += 1,
            }
            self.keep_spare(packet);
        }
        Ok(())
    }

    /// The number of the receiver whose address a packet has; none where that is no host's.
    fn receiver(&self, packet: &[u8]) -> Option<usize> {
        match packet.first_chunk::<20>() {
            Some(header) if header[0] >> 4 == 4 => self.by_address.get(&header[16..20]).copied(),
            _ => None,
        }
    }

    fn take(&mut self, from: usize, packet: Vec<u8>) {
        let Some(to) = self.receiver(&packet) else {
            self.statistics.not_for_a_host += 1;
            return self.keep_spare(packet);
        };
        match self.pairs[from * self.by_address.len() + to].fate(now_ns(), packet.len()) {
            Fate::Lost => self.statistics.lost += 1,
            Fate::QueueFull => self.statistics.queue_full += 1,
            Fate::Due(_) if self.held_bytes + packet.capacity() > MOST_HELD_BYTES => self.statistics.own_drops.memory += 1,
            Fate::Due(due_ns) => {
                self.held_bytes += packet.capacity();
                self.read += 1;
                self.held.push(Reverse(Held { due_ns, number: self.read, to, packet }));
                self.statistics.most_held = self.statistics.most_held.max(self.held.len());
                return;
            }
        }
        self.keep_spare(packet);
    }

    fn hand_on(&mut self) -> io::Result<()> {
        for _ in 0..WRITTEN_AT_ONCE {
            let now = now_ns();
            match self.held.peek() {
                Some(Reverse(held)) if held.due_ns <= now => (),
                _ => return Ok(()),
            }
            let Some(Reverse(Held { due_ns, to, packet, .. })) = self.held.pop() else { return Ok(()) };
            self.held_bytes -= packet.capacity();
            if self.gave(to, &packet) {
                self.statistics.deliver(packet.len(), now - due_ns);
            } else {
                self.statistics.own_drops.refused += 1;
            }
            self.keep_spare(packet);
        }
        Ok(())
    }

    /// Gives a packet to its receiver's device, or sends it to its receiver's router. Returns whether that took it.
    fn gave(&self, to: usize, packet: &[u8]) -> bool {
        match (self.networks.get(to), self.elsewhere) {
            (Some(network), _) => rustix::io::retry_on_intr(|| rustix::io::write(&network.tun, packet)).is_ok(),
            (None, Some(socket)) => socket.send_to(packet, self.routers[to - self.networks.len()]).is_ok(),
            (None, None) => false,
        }
    }

    fn keep_spare(&mut self, packet: Vec<u8>) {
        if self.spare.len() < MOST_SPARE {
            self.spare.push(packet);
        }
    }
}

/// The time of the clock that the timer goes by.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
