//! A server and clients on pallas-network.

use std::net::{Ipv4Addr, TcpListener as Listener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use pallas_network::facades::{NodeClient, PeerClient, PeerServer};
use pallas_network::miniprotocols::blockfetch::BlockRequest;
use pallas_network::miniprotocols::chainsync::{BlockContent, ClientRequest, HeaderContent, NextResponse, Tip};
use pallas_network::miniprotocols::handshake::VersionTable;
use pallas_network::miniprotocols::handshake::n2n::VersionData;
use pallas_network::miniprotocols::{Point, blockfetch, chainsync};
use pallas_network::multiplexer::Bearer;
use slotmark_chain::block::decode_header;
use tokio::runtime::Builder;
use tokio::sync::watch;
use tokio::task::LocalSet;

use super::forks::{Forks, Seen};
use crate::bed::MAGIC;

/// A chain as it is served: whole blocks, and each one's header.
type Blocks = Arc<Vec<(Vec<u8>, Point, HeaderContent, u64)>>;

/// A server of the first fork, until [`Server::turn`].
pub struct Server {
    turn: watch::Sender<Blocks>,
    second: Blocks,
}

impl Server {
    /// Listens, and serves the first fork.
    pub fn start(address: (Ipv4Addr, u16), forks: &Forks) -> Self {
        let listener = Listener::bind(address).unwrap();
        listener.set_nonblocking(true).unwrap();
        let (turn, chain) = watch::channel(blocks(&forks.first));
        std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            LocalSet::new().block_on(&runtime, serve(listener, chain));
        });
        Self { turn, second: blocks(&forks.second) }
    }

    /// Serves the second fork from now on.
    pub fn turn(&self) {
        self.turn.send(Arc::clone(&self.second)).unwrap();
    }
}

fn blocks(blocks: &[Vec<u8>]) -> Blocks {
    let read = |block: &Vec<u8>| {
        let header = decode_header(block).unwrap();
        let content = HeaderContent { variant: 6, byron_prefix: None, cbor: header.span.of(block).to_vec() };
        (block.clone(), Point::Specific(header.slot, header.hash.to_vec()), content, header.block_no)
    };
    Arc::new(blocks.iter().map(read).collect())
}

/// Serves until the server is dropped.
async fn serve(listener: Listener, mut chain: watch::Receiver<Blocks>) {
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    loop {
        let bearer = tokio::select! {
            accepted = Bearer::accept_tcp(&listener) => accepted.unwrap().0,
            ended = async { while chain.changed().await.is_ok() {} } => return ended,
        };
        let mut server = PeerServer::new(bearer);
        // `PeerServer::accept` takes only a client that never serves.
        let data = VersionData::new(MAGIC, false, Some(0), Some(false));
        let versions = VersionTable { values: [(14, data.clone()), (15, data)].into() };
        if server.handshake().handshake(versions).await.is_ok_and(|accepted| accepted.is_some()) {
            tokio::task::spawn_local(converse(server, chain.clone()));
        }
    }
}

async fn converse(mut server: PeerServer, chain: watch::Receiver<Blocks>) {
    let _ = tokio::join!(
        announce(&mut server.chainsync, chain.clone()),
        hand_out(&mut server.blockfetch, chain),
        async { while server.keepalive.keepalive_roundtrip().await.is_ok() {} },
        server.txsubmission.wait_for_init(),
    );
}

async fn announce(server: &mut chainsync::N2NServer, mut chain: watch::Receiver<Blocks>) -> Result<(), chainsync::ServerError> {
    // What the client has, and whether it must be sent back to the end of that.
    let (mut has, mut back) = (Vec::new(), false);
    let tip = |blocks: &Blocks| blocks.last().map(|(_, point, _, number)| Tip(point.clone(), *number)).unwrap();
    while let Some(request) = server.recv_while_idle().await? {
        let blocks = chain.borrow_and_update().clone();
        match request {
            ClientRequest::Intersect(points) => {
                let found = points.into_iter().find_map(|point| match point {
                    Point::Origin => Some((0, point)),
                    point => Some((1 + blocks.iter().position(|(_, known, ..)| *known == point)?, point)),
                });
                match found {
                    Some((count, point)) => {
                        has = blocks[..count].iter().map(|(_, point, ..)| point.clone()).collect();
                        back = true;
                        server.send_intersect_found(point, tip(&blocks)).await?;
                    }
                    None => server.send_intersect_not_found(tip(&blocks)).await?,
                }
            }
            ClientRequest::RequestNext => {
                let mut blocks = blocks;
                if !back && has.len() == blocks.len() && has.last() == blocks.last().map(|(_, point, ..)| point) {
                    server.send_await_reply().await?;
                    if chain.changed().await.is_err() {
                        return Ok(());
                    }
                    blocks = chain.borrow_and_update().clone();
                }
                let common = has.iter().zip(blocks.iter()).take_while(|(had, (_, point, ..))| *had == point).count();
                if std::mem::take(&mut back) || common < has.len() {
                    has.truncate(common);
                    server.send_roll_backward(has.last().cloned().unwrap_or(Point::Origin), tip(&blocks)).await?;
                } else {
                    let (_, point, header, _) = &blocks[common];
                    has.push(point.clone());
                    server.send_roll_forward(header.clone(), tip(&blocks)).await?;
                }
            }
        }
    }
    Ok(())
}

async fn hand_out(server: &mut blockfetch::Server, chain: watch::Receiver<Blocks>) -> Result<(), blockfetch::ServerError> {
    while let Some(BlockRequest((from, to))) = server.recv_while_idle().await? {
        let blocks = chain.borrow().clone();
        let place = |wanted: &Point| blocks.iter().position(|(_, point, ..)| point == wanted);
        let asked =
            place(&from).zip(place(&to)).map(|(first, last)| blocks[first..=last].iter().map(|(block, ..)| block.clone()).collect());
        server.send_block_range(asked.unwrap_or_default()).await?;
    }
    Ok(())
}

/// A client that follows a node until the node ends.
pub struct Client {
    seen: Arc<Mutex<Vec<Seen>>>,
    thread: JoinHandle<()>,
}

impl Client {
    /// Follows headers over TCP, and fetches each one's block.
    pub fn between_nodes(address: String) -> Self {
        Self::start(async move |seen| {
            let mut peer = PeerClient::connect(&address, MAGIC).await.unwrap();
            peer.chainsync().intersect_origin().await.unwrap();
            while let Ok(next) = peer.chainsync().request_or_await_next().await {
                let more = match next {
                    NextResponse::RollForward(HeaderContent { cbor, .. }, _) => {
                        let header = slotmark_chain::block::decode_header_alone(slotmark_chain::block::Era::Conway, &cbor).unwrap();
                        let point = Point::Specific(header.slot, header.hash.to_vec());
                        Seen::Block(peer.blockfetch().fetch_single(point).await.unwrap())
                    }
                    NextResponse::RollBackward(point, _) => Seen::Back(own(&point)),
                    NextResponse::Await => continue,
                };
                seen.lock().unwrap().push(more);
            }
        })
    }

    /// Follows blocks on the node's socket.
    pub fn local(socket: PathBuf) -> Self {
        Self::start(async move |seen| {
            let mut client = NodeClient::connect(&socket, MAGIC).await.unwrap();
            client.chainsync().intersect_origin().await.unwrap();
            while let Ok(next) = client.chainsync().request_or_await_next().await {
                let more = match next {
                    NextResponse::RollForward(BlockContent(block), _) => Seen::Block(block),
                    NextResponse::RollBackward(point, _) => Seen::Back(own(&point)),
                    NextResponse::Await => continue,
                };
                seen.lock().unwrap().push(more);
            }
        })
    }

    fn start(follow: impl AsyncFnOnce(Arc<Mutex<Vec<Seen>>>) + Send + 'static) -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let its = Arc::clone(&seen);
        let thread = std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(follow(its));
        });
        Self { seen, thread }
    }

    /// Returns whether a block is the last one that it received.
    pub fn has(&self, block: &[u8]) -> bool {
        matches!(self.seen.lock().unwrap().last(), Some(Seen::Block(last)) if last == block)
    }

    /// All that it saw.
    pub fn end(self) -> Vec<Seen> {
        self.thread.join().unwrap();
        self.seen.lock().unwrap().clone()
    }
}

fn own(point: &Point) -> slotmark_chain::Point {
    match point {
        Point::Origin => slotmark_chain::Point::Origin,
        Point::Specific(slot, hash) => slotmark_chain::Point::Block { slot: *slot, hash: hash.as_slice().try_into().unwrap() },
    }
}
