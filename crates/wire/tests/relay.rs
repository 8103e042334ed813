//! The relay between our client and our server, over real sockets, while the chain grows and rolls back.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use slotmark_chain::{Chain, Digest, Point};
use slotmark_server::framing::FramedChain;
use slotmark_server::{Config, Pace, Server};
use slotmark_synth::{Recipe, Workload, forge};
use slotmark_wire::client::{Client, ClientError, decode_wire_header};
use slotmark_wire::handshake::{self, Side, Terms};
use slotmark_wire::mux::{Header, frame};
use slotmark_wire::protocols::chain_sync;
use slotmark_wire::relay::{Account, Announced, Event, Mode, Relay, Route};
use tempfile::TempDir;

const MAGIC: u64 = 42;
const BLOCKS: u64 = 60;

struct House {
    folder: TempDir,
    server: Server,
}

impl House {
    /// A server whose chain has one block at first, and rolls back by two after every fifth.
    fn growing() -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("chain");
        let recipe = Recipe { seed: 3, security_parameter: 100, ..Recipe::new(Workload::PreviewLike, BLOCKS) };
        forge(&recipe, &path, &mut |_| ControlFlow::Continue(())).unwrap();
        let mut config = Config::new(FramedChain::new(Chain::open(&path).unwrap(), 1 << 20).unwrap(), MAGIC);
        config.socket = Some(folder.path().join("node.socket"));
        config.listen = Some("127.0.0.1:0".into());
        config.pace = Some(Pace { from: 1, every: Duration::from_millis(8), roll_back_every: Some(5) });
        Self { server: Server::start(config, |_| ()).unwrap(), folder }
    }

    fn chain(&self) -> Chain {
        Chain::open(self.folder.path().join("chain")).unwrap()
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("node.socket")
    }

    fn relay(&self) -> Relay {
        Relay::start(Route::Socket { node: self.socket(), relay: self.folder.path().join("relay.socket") }).unwrap()
    }
}

fn digest_of_all(events: &[Event]) -> Vec<&Announced> {
    events.iter().filter_map(|event| if let Event::Announced(announced) = event { Some(announced) } else { None }).collect()
}

#[test]
fn what_the_client_got_is_what_the_relay_saw() {
    let house = House::growing();
    let relay = house.relay();
    let mut client = Client::connect_socket(Path::new(&relay.place()), MAGIC).unwrap();
    assert!(matches!(client.tip().unwrap(), Point::Block { .. }));
    client.find_intersection(&Point::Origin).unwrap();
    let last = house.chain().point(BLOCKS as usize - 1).to_string();
    let (mut got, mut rolled_back, mut digest) = (Vec::new(), 0, Digest::new());
    let mut decoder = slotmark_chain::Decoder::new();
    while got.last().is_none_or(|(point, _): &(String, String)| *point != last) {
        let block = client.next_block(|bytes| {
            let facts = decoder.decode(bytes).map_err(|error| ClientError::WrongBytes(error.to_string()))?.facts();
            digest.decoded(&facts);
            Ok(Point::Block { slot: facts.slot, hash: facts.hash })
        });
        match block.unwrap() {
            Some(point) => got.push((point.to_string(), digest.hex())),
            None => rolled_back += 1,
        }
    }
    drop(client);

    let (mut account, mut events) = (Account::new(Mode::Decode), Vec::new());
    let deadline = Instant::now() + Duration::from_secs(20);
    while !matches!(events.last(), Some(Event::Ended { .. })) {
        assert!(Instant::now() < deadline, "{events:?}");
        events.extend(relay.enter(&mut account));
        thread::sleep(Duration::from_millis(5));
    }
    let announced = digest_of_all(&events);
    let seen: Vec<_> = announced.iter().map(|one| (format!("{}.{}", one.slot, one.hash), one.digest.clone())).collect();
    assert_eq!(seen, got);
    assert_eq!(events.iter().filter(|event| matches!(event, Event::RolledBack { .. })).count(), rolled_back);
    assert!(rolled_back > 3);
    let mut times = HashMap::<_, u32>::new();
    announced.iter().for_each(|one| *times.entry(&one.hash).or_default() += 1);
    assert!(times.values().any(|&times| times > 1), "blocks come again behind a roll-backward");
    assert!(announced.iter().all(|one| one.announced_ns <= one.arrived_ns));
    assert!(announced.iter().any(|one| one.awaited));
    // A block that is awaited comes right behind the answer that it is awaited.
    for pair in events.windows(2) {
        if let [before, Event::Announced(announced)] = pair {
            assert_eq!(announced.awaited, matches!(before, Event::Waits { .. }), "{pair:?}");
        }
    }
    assert!(matches!(events.last(), Some(Event::Ended { by_node: false, .. })));
}

#[test]
fn a_header_is_held_until_its_block_is_fetched() {
    let house = House::growing();
    let relay = Relay::start(Route::Address(house.server.address().unwrap().to_string())).unwrap();
    let mut client = Client::connect_address(&relay.place(), MAGIC).unwrap();
    client.find_intersection(&Point::Origin).unwrap();
    let mut lengths = Vec::new();
    while lengths.len() < 12 {
        let point = client.next_header(|header| {
            let header = decode_wire_header(&header)?;
            Ok(Point::Block { slot: header.slot, hash: header.hash })
        });
        let Some(point) = point.unwrap() else { continue };
        client
            .fetch(&point, &point, |block| {
                lengths.push(block.len() as u64);
                Ok(())
            })
            .unwrap();
    }
    let (mut account, mut events) = (Account::new(Mode::Fetch), Vec::new());
    let deadline = Instant::now() + Duration::from_secs(20);
    while digest_of_all(&events).len() < 12 && Instant::now() < deadline {
        events.extend(relay.enter(&mut account));
        thread::sleep(Duration::from_millis(5));
    }
    let announced = digest_of_all(&events);
    assert_eq!(announced.iter().map(|one| one.bytes).collect::<Vec<_>>(), lengths);
    assert!(announced.iter().all(|one| one.announced_ns < one.arrived_ns), "the body comes after the header");
}

#[test]
fn the_end_of_the_node_is_told_as_the_nodes() {
    let house = House::growing();
    let relay = house.relay();
    let mut client = Client::connect_socket(Path::new(&relay.place()), MAGIC).unwrap();
    client.find_intersection(&Point::Origin).unwrap();
    client.next_block(|_| Ok(())).unwrap();
    house.server.stop();
    let met = loop {
        if let Err(error) = client.next_block(|_| Ok(())) {
            break error;
        }
    };
    assert!(matches!(met, ClientError::Closed { .. } | ClientError::Lost(_)), "{met}");
    let mut account = Account::new(Mode::Decode);
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut events = Vec::new();
    while !events.iter().any(|event| matches!(event, Event::Ended { .. })) && Instant::now() < deadline {
        events.extend(relay.enter(&mut account));
        thread::sleep(Duration::from_millis(5));
    }
    assert!(matches!(events.last(), Some(Event::Ended { by_node: true, .. })), "{events:?}");
}

#[test]
fn pipelined_requests_that_wait_at_the_tip_are_all_answered() {
    const ASKED: usize = 25;
    let house = House::growing();
    let mut stream = UnixStream::connect(house.socket()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let (mut wire, mut proposal, mut intersect) = (Vec::new(), Vec::new(), Vec::new());
    Terms::of(Side::Client, MAGIC).proposal().encode(&mut proposal, Side::Client);
    frame(&mut wire, handshake::NUMBER, false, &[&proposal]);
    chain_sync::Request::FindIntersect(vec![Point::Origin]).encode(&mut intersect);
    frame(&mut wire, chain_sync::WITH_CLIENTS, false, &[&intersect, &[0x81, 0x00].repeat(ASKED)]);
    stream.write_all(&wire).unwrap();
    let (mut chain_sync, mut replies, mut waits) = (Vec::new(), 0, 0);
    while replies < ASKED {
        let mut header = [0; 8];
        stream.read_exact(&mut header).unwrap();
        let header = Header::decode(&header).unwrap();
        let mut payload = vec![0; usize::from(header.length)];
        stream.read_exact(&mut payload).unwrap();
        if header.protocol == chain_sync::WITH_CLIENTS {
            chain_sync.extend(payload);
        }
        loop {
            let mut decoder = minicbor::Decoder::new(&chain_sync);
            if chain_sync.is_empty() || decoder.skip().is_err() {
                break;
            }
            let end = decoder.position();
            match chain_sync[1] {
                0x01 => waits += 1,
                0x02 | 0x03 => replies += 1,
                0x05 => {}
                other => panic!("message {other}"),
            }
            chain_sync.drain(..end);
        }
    }
    assert!(waits >= 1, "the chain had one block, so requests had to wait");
}
