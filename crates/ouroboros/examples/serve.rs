//! Serves a chain folder: `serve CHAIN SOCKET [HOST:PORT] [MAGIC]`, until standard input ends.

use std::io::Read;

use slotmark_chain::Chain;
use slotmark_ouroboros::framing::FramedChain;
use slotmark_ouroboros::server::{Config, Server};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [chain, socket, rest @ ..] = arguments.as_slice() else { return Err("usage: serve CHAIN SOCKET [HOST:PORT] [MAGIC]".into()) };
    let chain = FramedChain::new(Chain::open(chain)?, 4 << 30)?;
    let mut config = Config::new(chain, rest.get(1).map_or(Ok(2), |magic| magic.parse())?);
    config.socket = Some(socket.into());
    config.listen = rest.first().cloned();
    config.prepare = Some(0..config.chain.chain().len());
    let server = Server::start(config, |report| eprintln!("{report:?}"))?;
    eprintln!("listening on {socket} and {:?}", server.address());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    server.stop();
    Ok(())
}
