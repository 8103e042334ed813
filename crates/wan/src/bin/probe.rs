//! Hosts for the tests and the benchmark of `slotmark-wan`: what TCP and UDP meet in its network.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use hdrhistogram::Histogram;
use rustix::ioctl::{Getter, Opcode, ioctl};
use rustix::time::{ClockId, Timespec, clock_gettime};
use serde_json::json;

/// Gives the kernel's time of the last packet that a socket received (linux/sockios.h).
const SIOCGSTAMPNS: Opcode = 0x8907;

/// Hosts for the tests and the benchmark of slotmark-wan.
#[derive(Parser)]
enum Arguments {
    /// Serves TCP connections: a number of bytes is asked for (8 bytes, big-endian) and sent, again and again.
    Serve { listen: SocketAddr },
    /// Connects, and prints how long each connection took, in us.
    Connect {
        to: SocketAddr,
        #[arg(long, default_value_t = 1)]
        times: u32,
    },
    /// Fetches bytes over one connection, checks each, and prints how long each fetch took, in us.
    Fetch {
        to: SocketAddr,
        #[arg(long)]
        bytes: u64,
        #[arg(long, default_value_t = 1)]
        times: u32,
    },
    /// Receives datagrams until a TCP connection comes over the same way, and prints their numbers as a list.
    Receive { listen: SocketAddr },
    /// Sends numbered datagrams, then connects by TCP.
    Send {
        to: SocketAddr,
        #[arg(long)]
        count: u32,
    },
    /// Serves, and fetches a block from each peer in turn, with datagrams in between, until standard input ends; prints what it saw.
    Load {
        listen: SocketAddr,
        /// Peers: address, and one-way delay to it in us.
        #[arg(long, value_parser = peer)]
        peer: Vec<(SocketAddr, u32)>,
        #[arg(long)]
        bytes: u64,
        /// Time between two fetches from a peer, in ms.
        #[arg(long)]
        every_ms: u64,
    },
}

fn peer(text: &str) -> Result<(SocketAddr, u32), String> {
    let (address, delay) = text.split_once('=').ok_or("ADDRESS=DELAY_US is expected")?;
    Ok((address.parse().map_err(|error| format!("{error}"))?, delay.parse().map_err(|error| format!("{error}"))?))
}

fn main() -> ExitCode {
    let done = match Arguments::parse() {
        Arguments::Serve { listen } => TcpListener::bind(listen).and_then(|listener| {
            println!("ready");
            serve(&listener)
        }),
        Arguments::Connect { to, times } => (0..times).try_for_each(|_| {
            let started = Instant::now();
            TcpStream::connect(to)?;
            println!("{}", started.elapsed().as_micros());
            Ok(())
        }),
        Arguments::Fetch { to, bytes, times } => connect(to).and_then(|mut stream| {
            for _ in 0..times {
                println!("{}", fetch(&mut stream, bytes)?.as_micros());
            }
            Ok(())
        }),
        Arguments::Receive { listen } => receive(listen),
        Arguments::Send { to, count } => send(to, count),
        Arguments::Load { listen, peer, bytes, every_ms } => load(listen, &peer, bytes, Duration::from_millis(every_ms)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("slotmark-wan-probe: {error}");
            ExitCode::from(2)
        }
    }
}

/// The byte at a place of everything that is served.
fn byte(place: u64) -> u8 {
    (place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

fn serve(listener: &TcpListener) -> io::Result<()> {
    for stream in listener.incoming() {
        let mut stream = stream?;
        thread::spawn(move || -> io::Result<()> {
            stream.set_nodelay(true)?;
            let mut asked = [0; 8];
            loop {
                stream.read_exact(&mut asked)?;
                stream.write_all(&(0..u64::from_be_bytes(asked)).map(byte).collect::<Vec<_>>())?;
            }
        });
    }
    Ok(())
}

fn connect(to: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(to)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn fetch(stream: &mut TcpStream, bytes: u64) -> io::Result<Duration> {
    let started = Instant::now();
    stream.write_all(&bytes.to_be_bytes())?;
    let mut buffer = vec![0; bytes as usize];
    stream.read_exact(&mut buffer)?;
    let took = started.elapsed();
    if let Some(place) = (0..bytes).find(|place| buffer[*place as usize] != byte(*place)) {
        return Err(io::Error::other(format!("byte {place} of {bytes} is another")));
    }
    Ok(took)
}

fn receive(listen: SocketAddr) -> io::Result<()> {
    let datagrams = UdpSocket::bind(listen)?;
    let listener = TcpListener::bind(listen)?;
    println!("ready");
    listener.accept()?;
    datagrams.set_nonblocking(true)?;
    let (mut numbers, mut number) = (Vec::new(), [0; 4]);
    loop {
        match datagrams.recv(&mut number) {
            Ok(_) => numbers.push(u32::from_be_bytes(number)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    println!("{}", json!(numbers));
    Ok(())
}

fn send(to: SocketAddr, count: u32) -> io::Result<()> {
    let datagrams = UdpSocket::bind("0.0.0.0:0")?;
    for number in 0..count {
        datagrams.send_to(&number.to_be_bytes(), to)?;
    }
    TcpStream::connect(to).map(drop)
}

/// The time of day by which the kernel stamps packets, in ns.
fn now_ns() -> i64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Measures how late datagrams were handed to this host's kernel: each carries when it was sent and how long its way is.
fn lateness(datagrams: &UdpSocket) -> io::Result<Histogram<u64>> {
    let mut late_us = Histogram::new_with_bounds(1, 100_000_000, 3).map_err(io::Error::other)?;
    let mut message = [0; 16];
    loop {
        let bytes = datagrams.recv(&mut message)?;
        let sent_ns = i64::from_be_bytes(message[..8].try_into().expect("eight bytes"));
        let delay_ns = i64::from_be_bytes(message[8..].try_into().expect("eight bytes"));
        if bytes < message.len() || sent_ns == 0 {
            return Ok(late_us); // the last one, from ourselves
        }
        // SAFETY: SIOCGSTAMPNS writes a timespec of this machine's own size.
        match unsafe { ioctl(datagrams, Getter::<SIOCGSTAMPNS, Timespec>::new()) } {
            Ok(at) => {
                let late_ns = at.tv_sec * 1_000_000_000 + at.tv_nsec - sent_ns - delay_ns;
                late_us.saturating_record((late_ns / 1_000).max(0) as u64);
            }
            Err(_) => continue, // the first one: stamps begin when they are asked for
        }
    }
}

/// Returns the point in its cycle at which a pair begins, so that fetches are spread over time: 0 to 1.
fn phase(a: SocketAddr, b: SocketAddr) -> f64 {
    let mut hasher = DefaultHasher::new();
    (a, b).hash(&mut hasher);
    (hasher.finish() >> 11) as f64 / (1_u64 << 53) as f64
}

fn load(listen: SocketAddr, peers: &[(SocketAddr, u32)], bytes: u64, every: Duration) -> io::Result<()> {
    let datagrams = UdpSocket::bind(listen)?;
    let listener = TcpListener::bind(listen)?;
    println!("ready");
    io::stdin().read_exact(&mut [0])?; // all hosts are there
    let receiver = datagrams.try_clone()?;
    let measured = thread::spawn(move || lateness(&receiver));
    thread::spawn(move || serve(&listener));
    let fetches = Arc::new(AtomicU64::new(0));
    for &(peer, delay_us) in peers {
        let (datagrams, fetches) = (datagrams.try_clone()?, Arc::clone(&fetches));
        thread::spawn(move || -> io::Result<()> {
            let mut stream = connect(peer)?;
            thread::sleep(every.mul_f64(phase(listen, peer)));
            loop {
                for _ in 0..4 {
                    thread::sleep(every / 4);
                    let mut message = now_ns().to_be_bytes().to_vec();
                    message.extend((i64::from(delay_us) * 1_000).to_be_bytes());
                    datagrams.send_to(&message, peer)?;
                }
                fetch(&mut stream, bytes)?;
                fetches.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    io::stdin().read_to_end(&mut Vec::new())?;
    datagrams.send_to(&[0; 16], listen)?;
    let late_us = measured.join().map_err(|_| io::Error::other("the receiver ended"))??;
    let buckets: Vec<(u64, u64)> = late_us.iter_recorded().map(|bucket| (bucket.value_iterated_to(), bucket.count_at_value())).collect();
    println!("{}", json!({"fetches": fetches.load(Ordering::Relaxed), "late_us": buckets}));
    Ok(())
}
