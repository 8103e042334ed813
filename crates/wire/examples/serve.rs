//! Serves a chain folder until standard input ends:
//! `serve --chain DIR [--socket PATH] [--listen HOST:PORT] [--magic N] [--reply-delay-us N]`.
//!
//! Standard output gets a JSON line when it listens, and one for each connection that ended.

use std::collections::HashMap;
use std::io::Read;
use std::time::Duration;

use slotmark_chain::Chain;
use slotmark_wire::framing::FramedChain;
use slotmark_wire::server::{Config, Server};

const USAGE: &str = "usage: serve --chain DIR [--socket PATH] [--listen HOST:PORT] [--magic N] [--reply-delay-us N]";
const FRAMED_BYTES: usize = 4 << 30;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut options = options(std::env::args().skip(1))?;
    let number = |text: Option<String>, unless: u64| text.map_or(Ok(unless), |text| text.parse::<u64>());
    let chain = Chain::open(options.remove("--chain").ok_or(USAGE)?)?;
    let mut config = Config::new(FramedChain::new(chain, FRAMED_BYTES)?, number(options.remove("--magic"), 2)?);
    (config.socket, config.listen) = (options.remove("--socket").map(Into::into), options.remove("--listen"));
    config.reply_delay = Duration::from_micros(number(options.remove("--reply-delay-us"), 0)?);
    if let Some(unknown) = options.into_keys().next() {
        return Err(format!("{unknown} is no option; {USAGE}").into());
    }
    let server = Server::start(config, |report| println!("{}", serde_json::json!({"event": "ended", "connection": report})))?;
    println!("{}", serde_json::json!({"event": "listening", "address": server.address()}));
    std::io::stdin().read_to_end(&mut Vec::new())?;
    server.stop();
    Ok(())
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<HashMap<String, String>, String> {
    let mut options = HashMap::new();
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value; {USAGE}"))?;
        options.insert(name, value);
    }
    Ok(options)
}
