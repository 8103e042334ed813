//! Attacks the server and the chain reader with inputs made from a seed: `attack [--inputs N] [--chains N] [--seed N] [--unharmed 1]
//! [--plant FAULT]`.
//!
//! Prints a line for each attack, `NAME: N tried, M failed`, and exits 1 where any input failed. An input fails where a thread
//! panics, where a connection outlives its limits, where the server no longer serves the chain afterwards, or where a damaged
//! chain folder gives bytes that are not the chain's without an error.
//!
//! Controls: with `--unharmed 1` sessions are sound and chain folders whole, and each must pass with what is expected; with `--plant` the
//! server or the reader has a fault that must be found.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::ops::ControlFlow;
use std::os::unix::net::{UnixListener, UnixStream};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use slotmark_chain::{Chain, ChainError, Decoder, Point, summarise};
use slotmark_server::framing::{FramedChain, Framing};
use slotmark_server::{Config, Server};
use slotmark_synth::{Recipe, Workload, forge};
use slotmark_wire::client::Client;
use slotmark_wire::handshake::{self, Side, Terms};
use slotmark_wire::mux::{Header, frame};
use slotmark_wire::protocols::{block_fetch, chain_sync, keep_alive};

const MAGIC: u64 = 2;
const BLOCKS: u64 = 60;

static PANICS: AtomicU64 = AtomicU64::new(0);

fn main() -> ExitCode {
    let option = |name: &str, unless: u64| {
        let mut arguments = std::env::args().skip_while(|argument| argument != name).skip(1);
        arguments.next().map_or(unless, |text| text.parse().unwrap_or_else(|_| panic!("{name} {text}: expected a number")))
    };
    let control = Control {
        unharmed: option("--unharmed", 0) > 0,
        planted: std::env::args().skip_while(|argument| argument != "--plant").nth(1).unwrap_or_default(),
    };
    let failed = attack(option("--inputs", 20_000), option("--chains", 3_000), option("--seed", 1), &control);
    if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Shows that an attack can pass, and that it can fail.
#[derive(Default)]
pub struct Control {
    /// Inputs are left as they are.
    pub unharmed: bool,
    /// The word of a fault in what is attacked; empty for none.
    pub planted: String,
}

impl Control {
    fn has(&self, fault: &str) -> bool {
        self.planted == fault
    }
}

/// Tries this many wire inputs and damaged chain folders; returns how many failed.
pub fn attack(inputs: u64, chains: u64, seed: u64, control: &Control) -> u64 {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let chain = folder.path().join("chain");
    let recipe = Recipe { seed: 11, security_parameter: 30, ..Recipe::new(Workload::PreviewLike, BLOCKS) };
    forge(&recipe, &chain, &mut |_| ControlFlow::Continue(())).expect("a chain");
    panic::set_hook(Box::new(|why| {
        PANICS.fetch_add(1, Ordering::SeqCst);
        eprintln!("{why}");
    }));
    let mut failed = 0;
    if inputs > 0 {
        failed += report("wire inputs of the server", inputs, attack_server(&chain, folder.path(), inputs, seed, control));
    }
    if chains > 0 {
        failed += report("damaged chain folders", chains, attack_reader(&chain, folder.path(), chains, seed, control));
    }
    failed
}

fn report(name: &str, tried: u64, failed: u64) -> u64 {
    println!("{name}: {tried} tried, {failed} failed");
    failed
}

/// Numbers from a seed: SplitMix64.
struct Draw(u64);

impl Draw {
    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.number() % limit.max(1) as u64) as usize
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.number() as u8).collect()
    }

    /// Changes, takes out, puts in or repeats some bytes.
    fn mutate(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            match self.below(5) {
                0 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
                1 if !bytes.is_empty() => bytes[at] = [0x00, 0x5f, 0x7f, 0x9b, 0x9f, 0xbb, 0xbf, 0xff][self.below(8)],
                2 => bytes.truncate(at),
                3 => {
                    let length = self.below(20);
                    let more = self.bytes(length);
                    bytes.splice(at..at, more);
                }
                _ => {
                    let end = (at + self.below(60)).min(bytes.len());
                    let again = bytes[at.min(end)..end].to_vec();
                    bytes.splice(at..at, again);
                }
            }
        }
    }
}

/// Returns the longest time that a connection may go on after the last input; shorter where a fault is planted, as many connections wait for it.
fn patience(control: &Control) -> Duration {
    Duration::from_secs(if control.planted.is_empty() { 30 } else { 1 })
}

/// A socket in front of the server's, with a fault.
fn faulty(folder: &Path, server: PathBuf, planted: String) -> PathBuf {
    let front = folder.join("faulty.socket");
    let listener = UnixListener::bind(&front).expect("a socket");
    thread::spawn(move || {
        for (number, client) in listener.incoming().map_while(Result::ok).enumerate() {
            if planted == "ends" && number > 10 {
                return;
            }
            let (server, panics, stays) = (server.clone(), planted == "panics" && number > 10, planted == "stays");
            thread::spawn(move || {
                assert!(!panics, "planted");
                let upstream = UnixStream::connect(server).expect("the server");
                let (mut from, mut to) = (client.try_clone().expect("a handle"), upstream.try_clone().expect("a handle"));
                thread::spawn(move || {
                    let _ = io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Write);
                });
                let _ = io::copy(&mut &upstream, &mut &client);
                if stays {
                    thread::sleep(Duration::from_secs(60)); // the client's connection is left open
                }
            });
        }
    });
    front
}

fn attack_server(chain: &Path, folder: &Path, inputs: u64, seed: u64, control: &Control) -> u64 {
    let blocks = Chain::open(chain).expect("a chain");
    let points: Vec<Point> = (0..blocks.len()).map(|index| blocks.point(index)).collect();
    let mut config = Config::new(FramedChain::new(blocks, 1 << 20).expect("a chain"), MAGIC);
    let socket = folder.join("node.socket");
    (config.socket, config.listen) = (Some(socket.clone()), Some("127.0.0.1:0".into()));
    for limit in [&mut config.limits.handshake, &mut config.limits.segment, &mut config.limits.write] {
        *limit = Duration::from_millis(500);
    }
    let server = Server::start(config, |_| ()).expect("a server");
    let address = server.address().expect("an address").to_string();
    let socket = if control.planted.is_empty() { socket } else { faulty(folder, socket, control.planted.clone()) };
    let patience = patience(control);

    let threads = 8;
    let failed: u64 = thread::scope(|scope| {
        let attackers: Vec<_> = (0..threads)
            .map(|thread| {
                let (socket, address, points) = (&socket, &address, &points);
                scope.spawn(move || {
                    let mut failed = 0;
                    for number in (thread..inputs).step_by(threads as usize) {
                        let mut draw = Draw(seed << 32 | number);
                        let side = if draw.below(2) == 0 { Side::Client } else { Side::Node };
                        let wire = if control.unharmed { sound(side) } else { input(&mut draw, side, points) };
                        let ended = match side {
                            Side::Client => UnixStream::connect(socket).map(|mut stream| {
                                let _ = stream.set_read_timeout(Some(patience));
                                let _ = stream.write_all(&wire);
                                let _ = stream.shutdown(Shutdown::Write);
                                drained(&mut stream, patience)
                            }),
                            Side::Node => TcpStream::connect(address).map(|mut stream| {
                                let _ = stream.set_read_timeout(Some(patience));
                                let _ = stream.write_all(&wire);
                                let _ = stream.shutdown(Shutdown::Write);
                                drained(&mut stream, patience)
                            }),
                        };
                        // The bytes of 20 blocks, at the least, where they were asked for.
                        let ended = ended.map(|ended| ended.filter(|&bytes| !control.unharmed || bytes > 2_000));
                        let serves = number % 200 != 0 || served(socket);
                        if !matches!(ended, Ok(Some(_))) || !serves {
                            eprintln!("input {number} of seed {seed}: ended {ended:?}, serves {serves}");
                            failed += 1;
                        }
                    }
                    failed
                })
            })
            .collect();
        attackers.into_iter().map(|attacker| attacker.join().unwrap_or(inputs)).sum()
    });
    let deadline = Instant::now() + Duration::from_secs(10);
    while server.open_connections() > 0 && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(20));
    }
    failed + server.open_connections() as u64 + PANICS.swap(0, Ordering::SeqCst) + u64::from(!served(&socket))
}

/// The bytes that the server sent before it ended the connection; none where it didn't end it.
fn drained(stream: &mut impl Read, patience: Duration) -> Option<usize> {
    let mut buffer = vec![0; 1 << 16];
    let deadline = Instant::now() + patience;
    let mut sent = 0;
    while Instant::now() < deadline {
        match stream.read(&mut buffer) {
            Ok(0) => return Some(sent),
            Ok(more) => sent += more,
            Err(error) => return (error.kind() == io::ErrorKind::ConnectionReset).then_some(sent),
        }
    }
    None
}

/// A session without a fault: a client asks for 20 blocks from the chain's beginning, and leaves.
fn sound(side: Side) -> Vec<u8> {
    let mut wire = Vec::new();
    let mut message = Vec::new();
    Terms::of(side, MAGIC).proposal().encode(&mut message, side);
    frame(&mut wire, handshake::NUMBER, false, &[&message]);
    let chain_sync = if side == Side::Client { chain_sync::WITH_CLIENTS } else { chain_sync::BETWEEN_NODES };
    let mut message = Vec::new();
    chain_sync::Request::FindIntersect(vec![Point::Origin]).encode(&mut message);
    message.extend([0x81, 0x00].repeat(21)); // the first answer is the roll-backward to where they meet
    chain_sync::Request::Done.encode(&mut message);
    frame(&mut wire, chain_sync, false, &[&message]);
    wire
}

fn served(socket: &Path) -> bool {
    let mut blocks = 0;
    let followed = Client::connect_socket(socket, MAGIC).and_then(|mut client| {
        client.find_intersection(&Point::Origin)?;
        client.blocks(20, 5, |_| {
            blocks += 1;
            Ok(())
        })
    });
    followed.is_ok() && blocks == 20
}

/// Makes input that a client might send: a valid session, mostly damaged in some places, or noise.
fn input(draw: &mut Draw, side: Side, points: &[Point]) -> Vec<u8> {
    if draw.below(20) == 0 {
        let length = draw.below(3_000);
        return draw.bytes(length);
    }
    let mut wire = Vec::new();
    let mut message = Vec::new();
    Terms::of(side, MAGIC).proposal().encode(&mut message, side);
    if draw.below(10) == 0 {
        draw.mutate(&mut message);
    }
    frame(&mut wire, handshake::NUMBER, false, &[&message]);
    let chain_sync = if side == Side::Client { chain_sync::WITH_CLIENTS } else { chain_sync::BETWEEN_NODES };
    for _ in 0..draw.below(12) {
        let mut message = Vec::new();
        let mut number = chain_sync;
        match draw.below(8) {
            0 | 1 => {
                let some: Vec<Point> = (0..draw.below(6)).map(|_| points[draw.below(points.len())]).collect();
                chain_sync::Request::FindIntersect(some).encode(&mut message);
            }
            2 | 3 => message = [0x81, 0x00].repeat(1 + draw.below(100)),
            4 => {
                number = block_fetch::NUMBER;
                block_fetch::Request::Range(points[draw.below(points.len())], points[draw.below(points.len())]).encode(&mut message);
            }
            5 => {
                number = keep_alive::NUMBER;
                message = vec![0x82, 0x00, 0x19, 0x12, 0x34];
            }
            6 => chain_sync::Request::Done.encode(&mut message),
            _ => {
                number = draw.below(12) as u16;
                let length = draw.below(400);
                message = draw.bytes(length);
            }
        }
        if draw.below(3) == 0 {
            draw.mutate(&mut message);
        }
        // In segments of any length, also of none.
        let mut rest = message.as_slice();
        while !rest.is_empty() {
            let most = if draw.below(4) == 0 { 3 } else { 12_288 };
            let (now, later) = rest.split_at(draw.below(most.min(rest.len()) + 1));
            let from_responder = draw.below(400) == 0;
            wire.extend(Header { protocol: number, from_responder, length: now.len() as u16 }.encode());
            wire.extend_from_slice(now);
            rest = later;
        }
    }
    if draw.below(8) == 0 {
        draw.mutate(&mut wire);
    }
    wire
}

fn attack_reader(whole: &Path, folder: &Path, chains: u64, seed: u64, control: &Control) -> u64 {
    let original = Chain::open(whole).expect("a chain");
    // The chain's files; the folder `genesis` beside them is not read with the chain.
    let names: Vec<_> = fs::read_dir(whole)
        .expect("a folder")
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.file_type().expect("a type").is_file())
        .map(|entry| entry.file_name())
        .collect();
    let damaged = folder.join("damaged");
    let other = folder.join("other");
    if control.has("takes-any-block") {
        // What a reader would give that took any block for the chain's.
        let recipe = Recipe { seed: 12, security_parameter: 30, ..Recipe::new(Workload::PreviewLike, BLOCKS) };
        forge(&recipe, &other, &mut |_| ControlFlow::Continue(())).expect("a chain");
    }
    let mut failed = 0;
    for number in 0..chains {
        let mut draw = Draw(seed << 32 | 1 << 31 | number);
        let _ = fs::remove_dir_all(&damaged);
        fs::create_dir(&damaged).expect("a folder");
        let victim = draw.below(names.len());
        for (place, name) in names.iter().enumerate() {
            let mut bytes = fs::read(whole.join(name)).expect("a file");
            if place == victim && !control.unharmed {
                match draw.below(10) {
                    0 => continue, // the file is gone
                    1 => bytes.clear(),
                    _ => draw.mutate(&mut bytes),
                }
            }
            fs::write(damaged.join(name), bytes).expect("a file");
        }
        let read = panic::catch_unwind(AssertUnwindSafe(|| match (control.planted.as_str(), read_all(&damaged, &original)) {
            ("takes-any-block", Err(_)) => read_all(&other, &original),
            ("panics", Err(_)) => panic!("planted"),
            ("refuses", _) => Chain::open(Path::new("nowhere")).map(|_| None),
            (_, read) => read,
        }));
        match read {
            Ok(Err(error)) if control.unharmed => {
                eprintln!("refused: {error}");
                failed += 1;
            }
            Ok(Ok(None) | Err(_)) => {}
            Ok(Ok(Some(what))) => {
                eprintln!("chain {number} of seed {seed}, {}: {what}", names[victim].to_string_lossy());
                failed += 1;
            }
            Err(_) => {
                eprintln!("chain {number} of seed {seed}, {}: a panic", names[victim].to_string_lossy());
                failed += 1;
            }
        }
    }
    failed
}

/// Reads, decodes and frames a chain in every way; returns what was wrongly taken for the chain's.
fn read_all(folder: &Path, original: &Chain) -> Result<Option<String>, ChainError> {
    let chain = Chain::open(folder)?;
    let summary = summarise(&chain, 0..chain.len(), &|_, _| ControlFlow::Continue(()));
    let mut decoder = Decoder::new();
    for index in 0..chain.len() {
        let _ = decoder.decode(chain.bytes(index));
    }
    let whole = chain.len();
    let point = chain.point(whole / 2);
    let _ = (chain.find(&point), chain.window(&point, Some(3)).map(|window| chain.identity(&window)));
    let (same, blocks) = ((0..whole).all(|index| index < original.len() && chain.bytes(index) == original.bytes(index)), whole);
    let framed = FramedChain::new(chain, 1 << 20)?;
    for framing in [Framing::Blocks, Framing::Headers, Framing::Bodies] {
        framed.prepare(framing, 0..blocks)?;
    }
    summary?;
    Ok((!same || blocks != original.len()).then(|| format!("{blocks} blocks passed, of {}; same bytes: {same}", original.len())))
}
