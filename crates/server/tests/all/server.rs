//! The server and the client over real sockets: what a good client gets, and what becomes of the others. One file because all tests share the server and its raw client.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::ops::ControlFlow;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use slotmark_chain::block::Header as BlockHeader;
use slotmark_chain::{Chain, Point};
use slotmark_server::framing::FramedChain;
use slotmark_server::{Config, ConnectionReport, Server, ServerError};
use slotmark_synth::{Recipe, Workload, forge};
use slotmark_wire::client::{Client, ClientError, decode_wire_header};
use slotmark_wire::handshake::{self, Side, Terms};
use slotmark_wire::mux::{Header, frame};
use slotmark_wire::protocols::{block_fetch, chain_sync, keep_alive, local_state_query, tx_submission};
use tempfile::TempDir;

const MAGIC: u64 = 42;
const BLOCKS: usize = 300;

struct House {
    folder: TempDir,
    reports: Arc<Mutex<Vec<ConnectionReport>>>,
    server: Option<Server>,
}

impl House {
    fn with(change: impl FnOnce(&mut Config)) -> Self {
        let folder = TempDir::new().unwrap();
        let chain = folder.path().join("chain");
        let recipe = Recipe { seed: 3, security_parameter: 100, ..Recipe::new(Workload::PreviewLike, BLOCKS as u64) };
        forge(&recipe, &chain, &mut |_| ControlFlow::Continue(())).unwrap();
        let mut config = Config::new(FramedChain::new(Chain::open(&chain).unwrap(), 1 << 20).unwrap(), MAGIC);
        config.socket = Some(folder.path().join("node.socket"));
        config.listen = Some("127.0.0.1:0".into());
        change(&mut config);
        let reports = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&reports);
        let server = Server::start(config, move |report| sink.lock().unwrap().push(report)).unwrap();
        Self { folder, reports, server: Some(server) }
    }

    fn new() -> Self {
        Self::with(|_| ())
    }

    fn chain(&self) -> Chain {
        Chain::open(self.folder.path().join("chain")).unwrap()
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("node.socket")
    }

    fn address(&self) -> String {
        self.server.as_ref().unwrap().address().unwrap().to_string()
    }

    fn client(&self) -> Client {
        Client::connect_socket(&self.socket(), MAGIC).unwrap()
    }

    /// A connection with hands shaken, for saying things that our client wouldn't.
    fn raw(&self) -> UnixStream {
        let mut stream = UnixStream::connect(self.socket()).unwrap();
        shake_hands(&mut stream, Side::Client);
        stream
    }

    /// The reason of the connection that ends next after `count` have ended.
    fn reason_after(&self, count: usize) -> String {
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            if let Some(report) = self.reports.lock().unwrap().get(count) {
                return report.reason.clone();
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!("no connection ended within 20 s");
    }

    fn serves(&self) {
        let mut client = self.client();
        client.find_intersection(&Point::Origin).unwrap();
        let mut blocks = 0;
        client
            .blocks(50, 7, |_| {
                blocks += 1;
                Ok(())
            })
            .unwrap();
        assert_eq!(blocks, 50);
    }
}

fn shake_hands(stream: &mut (impl Read + Write), side: Side) {
    let (mut message, mut wire) = (Vec::new(), Vec::new());
    Terms::of(side, MAGIC).proposal().encode(&mut message, side);
    frame(&mut wire, handshake::NUMBER, false, &[&message]);
    stream.write_all(&wire).unwrap();
    let mut header = [0; 8];
    stream.read_exact(&mut header).unwrap();
    let mut answer = vec![0; usize::from(Header::decode(&header).unwrap().length)];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer[1], 1, "the handshake was accepted");
}

fn segment(protocol: u16, payload: &[u8]) -> Vec<u8> {
    let mut wire = Vec::new();
    frame(&mut wire, protocol, false, &[payload]);
    wire
}

fn follow(client: &mut Client, start: &Point, blocks: u64, depth: u64) -> Result<Vec<Vec<u8>>, ClientError> {
    client.find_intersection(start)?;
    let mut received = Vec::new();
    client.blocks(blocks, depth, |block| {
        received.push(block.to_vec());
        Ok(())
    })?;
    Ok(received)
}

fn expected(chain: &Chain, from: usize, count: usize) -> Vec<Vec<u8>> {
    (from..from + count).map(|index| chain.bytes(index).to_vec()).collect()
}

#[test]
fn every_depth_from_every_point_gives_the_chain_s_blocks() {
    let house = House::new();
    let chain = house.chain();
    for depth in [1, 2, 10, 1_000] {
        for first in [0, 1, 57, BLOCKS - 1] {
            let start = first.checked_sub(1).map_or(Point::Origin, |before| chain.point(before));
            let count = (BLOCKS - first).min(200);
            let received = follow(&mut house.client(), &start, count as u64, depth).unwrap();
            assert!(received == expected(&chain, first, count), "depth {depth} from {first}");
        }
    }
}

#[test]
fn a_client_may_intersect_again_and_go_on() {
    let house = House::new();
    let chain = house.chain();
    let mut client = house.client();
    assert!(follow(&mut client, &Point::Origin, 20, 5).unwrap() == expected(&chain, 0, 20));
    assert!(follow(&mut client, &chain.point(99), 20, 1).unwrap() == expected(&chain, 100, 20));
    let nowhere = Point::Block { slot: 1, hash: [7; 32] };
    assert!(matches!(client.find_intersection(&nowhere), Err(ClientError::NoIntersection(point)) if point == nowhere));
    assert!(follow(&mut client, &chain.point(9), 3, 9).unwrap() == expected(&chain, 10, 3));
}

#[test]
fn the_first_known_point_wins_and_the_first_answer_is_a_roll_backward() {
    let house = House::new();
    let chain = house.chain();
    let mut stream = house.raw();
    let mut message = Vec::new();
    chain_sync::Request::FindIntersect(vec![Point::Block { slot: 5, hash: [1; 32] }, chain.point(4), chain.point(9)]).encode(&mut message);
    let mut wire = segment(chain_sync::WITH_CLIENTS, &message);
    wire.extend(segment(chain_sync::WITH_CLIENTS, &[0x81, 0x00]));
    stream.write_all(&wire).unwrap();
    let mut replies = Vec::new();
    while replies.len() < 2 {
        let mut header = [0; 8];
        stream.read_exact(&mut header).unwrap();
        let mut payload = vec![0; usize::from(Header::decode(&header).unwrap().length)];
        stream.read_exact(&mut payload).unwrap();
        replies.push(payload);
    }
    let Point::Block { hash, .. } = chain.point(4) else { unreachable!() };
    assert_eq!(replies[0][..2], [0x83, 0x05]);
    assert_eq!(replies[1][..2], [0x83, 0x03]);
    for reply in replies {
        assert!(reply.windows(32).any(|bytes| bytes == hash));
    }
}

#[test]
fn at_the_tip_the_server_says_await_and_stays() {
    let house = House::new();
    let chain = house.chain();
    for depth in [1, 50] {
        let mut client = house.client();
        assert!(matches!(follow(&mut client, &chain.point(BLOCKS - 3), 9, depth), Err(ClientError::Tip { blocks: 2 })));
    }
    let mut floor = house.client();
    floor.find_intersection(&chain.point(BLOCKS - 3)).unwrap();
    assert!(matches!(floor.discard(9, 4, |_| ()), Err(ClientError::Tip { blocks: 2 })));
}

#[test]
fn the_floor_counts_what_the_client_receives() {
    let house = House::new();
    let chain = house.chain();
    for depth in [1, 3, 100] {
        let mut client = house.client();
        client.find_intersection(&chain.point(49)).unwrap();
        let mut seen = Vec::new();
        let bytes = client.discard(200, depth, |bytes| seen.push(bytes)).unwrap();
        let sizes: u64 = (50..250).map(|index| chain.bytes(index).len() as u64).sum();
        assert_eq!((bytes, seen.len(), seen.last().copied()), (sizes, 200, Some(sizes)));
    }
}

#[test]
fn headers_and_ranges_over_tcp_are_the_chain_s() {
    let house = House::new();
    let chain = house.chain();
    let mut client = Client::connect_address(&house.address(), MAGIC).unwrap();
    client.find_intersection(&chain.point(9)).unwrap();
    let mut points = Vec::new();
    client
        .headers(100, 30, |header| {
            let BlockHeader { slot, hash, .. } = decode_wire_header(&header)?;
            points.push(Point::Block { slot, hash });
            Ok(())
        })
        .unwrap();
    assert_eq!(points, (10..110).map(|index| chain.point(index)).collect::<Vec<_>>());
    let mut bodies = Vec::new();
    client
        .fetch(&points[0], &points[99], |block| {
            bodies.push(block.to_vec());
            Ok(())
        })
        .unwrap();
    assert!(bodies == expected(&chain, 10, 100));
    let nowhere = Point::Block { slot: 1, hash: [7; 32] };
    assert!(matches!(client.fetch(&nowhere, &points[9], |_| Ok(())), Err(ClientError::NoBlocks(..))));
    assert!(matches!(client.fetch(&points[9], &points[0], |_| Ok(())), Err(ClientError::NoBlocks(..))));
}

#[test]
fn keep_alive_is_answered_and_greetings_are_let_be() {
    let house = House::new();
    let mut stream = TcpStream::connect(house.address()).unwrap();
    shake_hands(&mut stream, Side::Node);
    let mut wire = segment(tx_submission::NUMBER, &[0x81, 0x06]);
    wire.extend(segment(keep_alive::NUMBER, &[0x82, 0x00, 0x19, 0xab, 0xcd]));
    stream.write_all(&wire).unwrap();
    let mut answer = [0; 13];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer, [0, 0, 0, 0, 0x80, 8, 0, 5, 0x82, 0x01, 0x19, 0xab, 0xcd]);
}

#[test]
fn many_clients_at_once_get_the_same_chain() {
    let house = House::new();
    let all = expected(&house.chain(), 0, BLOCKS);
    thread::scope(|scope| {
        for depth in [1, 5, 50, 100, 1, 7] {
            let (house, all) = (&house, &all);
            scope.spawn(move || assert!(follow(&mut house.client(), &Point::Origin, BLOCKS as u64, depth).unwrap() == *all));
        }
    });
}

/// Passes bytes on in pieces of odd sizes, so that every boundary falls somewhere else.
fn split(from: &mut impl Read, to: &mut impl Write, mut seed: u64) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(read) = from.read(&mut buffer) {
        if read == 0 {
            break;
        }
        let mut rest = &buffer[..read];
        while !rest.is_empty() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let most = if seed >> 62 == 0 { 11 } else { 9_000 };
            let now = (1 + (seed >> 33) as usize % most).min(rest.len());
            if to.write_all(&rest[..now]).is_err() {
                return;
            }
            rest = &rest[now..];
        }
    }
}

#[test]
fn any_split_of_the_stream_gives_the_same_messages() {
    let house = House::new();
    let chain = house.chain();
    for seed in 0..6 {
        let place = house.folder.path().join(format!("proxy-{seed}"));
        let listener = UnixListener::bind(&place).unwrap();
        let server = house.socket();
        let proxy = thread::spawn(move || {
            let (mut near, _) = listener.accept().unwrap();
            let mut far = UnixStream::connect(server).unwrap();
            let (mut near_in, mut far_out) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            let up = thread::spawn(move || {
                split(&mut near_in, &mut far_out, seed);
                let _ = far_out.shutdown(Shutdown::Both);
            });
            split(&mut far, &mut near, seed ^ 0xabcd);
            let _ = near.shutdown(Shutdown::Both);
            let _ = up.join();
        });
        let mut client = Client::connect_socket(&place, MAGIC).unwrap();
        if seed % 2 == 0 {
            assert!(follow(&mut client, &chain.point(4), 250, 1 + 13 * seed).unwrap() == expected(&chain, 5, 250));
        } else {
            client.find_intersection(&chain.point(4)).unwrap();
            let bytes = client.discard(250, 1 + 13 * seed, |_| ()).unwrap();
            assert_eq!(bytes, expected(&chain, 5, 250).concat().len() as u64);
        }
        drop(client);
        house.reports.lock().unwrap().clear();
        let _ = proxy.join();
    }
}

#[test]
fn abuse_ends_the_connection_with_its_reason_and_the_server_lives_on() {
    let house = House::with(|config| {
        config.limits.handshake = Duration::from_millis(300);
        config.limits.write = Duration::from_millis(300);
    });
    let mut long_list = vec![0x82, 0x04, 0x9f];
    long_list.extend([0x80].repeat(90_000));
    let backwards = Header { protocol: chain_sync::WITH_CLIENTS, from_responder: true, length: 2 }.encode();
    let cases: [(&str, Vec<u8>); 7] = [
        ("unknown protocol number 77", segment(77, b"hello")),
        ("protocol 7 is not served", segment(local_state_query::NUMBER, &[0x81, 0x05])),
        ("wrong direction", backwards.to_vec()),
        ("malformed message in protocol 5", segment(chain_sync::WITH_CLIENTS, &[0x81, 0x18, 0x63])),
        ("malformed message in protocol 5", segment(chain_sync::WITH_CLIENTS, b"\xff\xff\xff")),
        ("not whole within", segment(chain_sync::WITH_CLIENTS, &long_list)),
        ("unknown protocol number 0", segment(handshake::NUMBER, &[0x82, 0x00, 0xa0])),
    ];
    let mut ended = 0;
    for (reason, wire) in cases {
        let mut stream = house.raw();
        let _ = stream.write_all(&wire);
        assert!(house.reason_after(ended).contains(reason), "{reason}: {}", house.reason_after(ended));
        ended += 1;
        house.serves();
        house.reason_after(ended);
        ended += 1;
    }

    let mut before_handshake = UnixStream::connect(house.socket()).unwrap();
    before_handshake.write_all(&segment(chain_sync::WITH_CLIENTS, &[0x81, 0x00])).unwrap();
    assert!(house.reason_after(ended).contains("before the handshake"));
    let silent = UnixStream::connect(house.socket()).unwrap();
    assert!(house.reason_after(ended + 1).contains("no handshake within"));
    drop(silent);
    assert!(matches!(Client::connect_socket(&house.socket(), 1), Err(ClientError::Refused { why, .. }) if why.contains("is 42")));
    assert!(house.reason_after(ended + 2).contains("refused"));

    // Asks for everything, many times over, and reads nothing.
    let mut deaf = house.raw();
    let mut greedy = segment(chain_sync::WITH_CLIENTS, &{
        let mut message = Vec::new();
        chain_sync::Request::FindIntersect(vec![Point::Origin]).encode(&mut message);
        message
    });
    greedy.extend(segment(chain_sync::WITH_CLIENTS, &[0x81, 0x00].repeat(BLOCKS)));
    let _ = deaf.write_all(&greedy.repeat(20));
    assert!(house.reason_after(ended + 3).contains("unread"), "{}", house.reason_after(ended + 3));
    drop(deaf);

    // Dies in the middle of a request.
    let mut dying = house.raw();
    dying.write_all(&segment(chain_sync::WITH_CLIENTS, &[0x82, 0x04])[..9]).unwrap();
    drop(dying);
    let reason = house.reason_after(ended + 4);
    assert!(reason.contains("closed the connection") || reason.contains("went away"), "{reason}");
    house.serves();
}

#[test]
fn a_block_fetch_client_that_lies_about_its_range_is_told_no() {
    let house = House::new();
    let mut stream = TcpStream::connect(house.address()).unwrap();
    shake_hands(&mut stream, Side::Node);
    let mut message = Vec::new();
    block_fetch::Request::Range(Point::Origin, Point::Origin).encode(&mut message);
    stream.write_all(&segment(block_fetch::NUMBER, &message)).unwrap();
    let mut answer = [0; 10];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer[8..], [0x81, 0x03]);
}

#[test]
fn more_clients_than_allowed_are_turned_away() {
    let house = House::with(|config| {
        config.max_connections = 2;
        config.limits.spare = Duration::from_secs(3_600);
    });
    let (first, second) = (house.client(), house.client());
    assert!(Client::connect_socket(&house.socket(), MAGIC).is_err());
    assert!(house.reason_after(0).contains("2 connections are open"));
    drop((first, second));
    house.reason_after(2);
    house.serves();
}

#[test]
fn a_reply_delay_holds_every_reply_back() {
    let house = House::with(|config| config.reply_delay = Duration::from_millis(2));
    let began = Instant::now();
    follow(&mut house.client(), &Point::Origin, 50, 50).unwrap();
    assert!(began.elapsed() >= Duration::from_millis(100)); // a lower bound that holds on any machine: the server waits by the clock
}

#[test]
fn places_to_listen_are_taken_with_care() {
    let house = House::new();
    let chain = || FramedChain::new(house.chain(), 1 << 20).unwrap();
    let start = |socket: &Path| {
        let mut config = Config::new(chain(), MAGIC);
        config.socket = Some(socket.to_path_buf());
        Server::start(config, |_| ())
    };
    assert!(matches!(start(&house.socket()), Err(ServerError::Taken { .. })));
    let file = house.folder.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    assert!(matches!(start(&file), Err(ServerError::NotASocket { .. })));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    let stale = house.folder.path().join("stale");
    drop(UnixListener::bind(&stale).unwrap());
    start(&stale).unwrap().stop();
    assert!(!stale.exists());
    assert!(matches!(start(&house.folder.path().join("no/such/folder")), Err(ServerError::Socket { .. })));
}

#[test]
fn a_damaged_chunk_ends_the_connection_that_meets_it() {
    let house = House::new();
    let chain = house.chain();
    let second = chain.chunk_blocks(1).start;
    let file = chain.block_path(second);
    drop(chain);
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[100] ^= 1;
    // In place, as damage comes: the server has the file mapped.
    let mut open = std::fs::OpenOptions::new().write(true).open(&file).unwrap();
    open.write_all(&bytes).unwrap();
    let error = follow(&mut house.client(), &Point::Origin, BLOCKS as u64, 100).unwrap_err();
    assert!(matches!(error, ClientError::Closed { .. } | ClientError::Lost(_)), "{error}");
    assert!(house.reason_after(0).contains("CRC-32"), "{}", house.reason_after(0));
    assert!(follow(&mut house.client(), &Point::Origin, second as u64, 10).is_ok());
}

/// The CPU time of one connection that sends a message of this many points, one byte in each segment.
fn cpu_of_single_bytes(points: usize) -> Duration {
    let house = House::new();
    let mut stream = house.raw();
    let message = [vec![0x82, 0x04, 0x9f], vec![0x80; points], vec![0xff]].concat();
    let wire: Vec<u8> = message.iter().flat_map(|byte| segment(chain_sync::WITH_CLIENTS, &[*byte])).collect();
    stream.write_all(&wire).unwrap();
    let mut header = [0; 8];
    stream.read_exact(&mut header).unwrap(); // the answer: the whole message was understood
    let mut answer = vec![0; usize::from(Header::decode(&header).unwrap().length)];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer[..2], [0x83, 0x05]);
    drop(stream);
    house.reason_after(0);
    let cpu = house.reports.lock().unwrap()[0].cpu_ns;
    Duration::from_nanos(cpu)
}

#[test]
fn a_message_in_single_bytes_is_answered() {
    for points in [5_000, 10_000, 20_000, 60_000] {
        println!("{points} points in as many segments: {:?}", cpu_of_single_bytes(points));
    }
}

#[test]
fn clients_that_say_nothing_after_the_handshake_do_not_lock_others_out() {
    let house = House::with(|config| {
        config.max_connections = 64;
        config.limits.spare = Duration::ZERO;
    });
    let idle: Vec<_> = (0..64).map(|_| house.raw()).collect();
    house.serves();
    // Two connections have ended, in either order: the one that gave way, and the one that was served.
    let reasons = [house.reason_after(0), house.reason_after(1)];
    assert!(reasons.iter().any(|reason| reason.contains("gave way to another client")), "{reasons:?}");
    drop(idle);
}

#[test]
fn each_state_of_a_node_s_peer_has_its_limit() {
    let short = Duration::from_millis(200);
    let ended = |change: fn(&mut Config, Duration), wire: &[u8]| {
        let house = House::with(|config| change(config, short));
        let mut stream = TcpStream::connect(house.address()).unwrap();
        shake_hands(&mut stream, Side::Node);
        stream.write_all(wire).unwrap();
        house.reason_after(0)
    };
    let mut find = Vec::new();
    chain_sync::Request::FindIntersect(vec![Point::Origin]).encode(&mut find);
    let find = segment(chain_sync::BETWEEN_NODES, &find);
    let reason = ended(|config, short| config.limits.first_message = short, &[]);
    assert_eq!(reason, "no message after the handshake within 200ms");
    let reason = ended(|config, short| config.limits.chain_sync_idle = Some(short), &find);
    assert_eq!(reason, "no chain-sync request within 200ms");
    let reason = ended(|config, short| config.limits.keep_alive = short, &segment(keep_alive::NUMBER, &[0x82, 0x00, 0x01]));
    assert_eq!(reason, "no keep-alive within 200ms");
    let reason = ended(|config, short| config.limits.segment = short, &find[..find.len() - 1]);
    assert_eq!(reason, "no end of a segment within 200ms");
}

#[test]
fn a_local_client_may_be_silent_and_one_that_waits_at_the_tip_too() {
    let house = House::with(|config| config.limits.chain_sync_idle = Some(Duration::from_millis(200)));
    let local = house.raw();
    let mut waiting = TcpStream::connect(house.address()).unwrap();
    shake_hands(&mut waiting, Side::Node);
    let mut find = Vec::new();
    chain_sync::Request::FindIntersect(vec![house.chain().point(BLOCKS - 1)]).encode(&mut find);
    waiting.write_all(&segment(chain_sync::BETWEEN_NODES, &[find, [0x81, 0x00].repeat(2)].concat())).unwrap();
    thread::sleep(Duration::from_millis(600));
    let reports = house.reports.lock().unwrap();
    assert!(reports.is_empty(), "{reports:?}");
    drop(local);
}

#[test]
fn a_socket_is_for_its_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let house = House::new();
    assert_eq!(std::fs::metadata(house.socket()).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn busy_time_never_goes_back() {
    let house = House::with(|config| config.look = Duration::from_millis(5));
    let server = house.server.as_ref().unwrap();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| follow(&mut house.client(), &Point::Origin, BLOCKS as u64, 1).unwrap());
        }
        let mut before = 0;
        for _ in 0..2_000 {
            let busy = server.busy_ns();
            assert!(busy >= before);
            before = busy;
        }
    });
}

/// Returns our client's error for a server that answers the handshake with these bytes and then closes.
fn said_of(answer: &'static [u8]) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut proposal = [0; 64];
        let read = stream.read(&mut proposal).unwrap();
        assert!(read > 8);
        stream.write_all(answer).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let _ = stream.read(&mut proposal);
    });
    let error = Client::connect_address(&address, 7).err().unwrap().to_string();
    server.join().unwrap();
    error
}

#[test]
fn a_server_that_is_no_node_of_this_network_is_told_apart() {
    let closed = said_of(b"");
    assert!(closed.contains("closed the connection during the handshake, which offered network magic 7"), "{closed}");
    assert!(closed.contains("node-to-node versions 14 to 16"), "{closed}");
    let http = said_of(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    assert!(http.contains("is no node-to-node") && http.contains("HTTP/1.1 400 Bad Request"), "{http}");
}
