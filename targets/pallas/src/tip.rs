//! Following a node at its tip with Pallas' facades: each block as it is announced, until standard input ends.

use std::io;
use std::thread;

use pallas_network::facades::{NodeClient, PeerClient};
use pallas_network::miniprotocols::Point;
use pallas_network::miniprotocols::chainsync::NextResponse;
use pallas_traverse::MultiEraBlock;

use crate::follow::point_of;
use crate::records::{self, Records, now_ns};
use crate::{AtTip, Mode, Outcome};

pub async fn follow(job: &AtTip) -> Outcome<()> {
    let began = now_ns();
    match (job.mode, &job.socket, &job.address) {
        (Mode::Raw | Mode::Decode, Some(socket), _) => {
            let client = NodeClient::connect(socket, job.magic).await;
            let mut client = client.map_err(|error| format!("{}, magic {}: {}", socket.display(), job.magic, crate::words(&error)))?;
            ready(began)?;
            let (found, _) = client.chainsync().find_intersect(vec![job.start.clone()]).await?;
            found.ok_or("the server does not have the point to start at")?;
            blocks(&mut client, job.mode).await
        }
        (Mode::Headers | Mode::Fetch, _, Some(address)) => {
            let client = PeerClient::connect(address, job.magic).await;
            let mut client = client.map_err(|error| format!("{address}, magic {}: {}", job.magic, crate::words(&error)))?;
            ready(began)?;
            let (found, _) = client.chainsync().find_intersect(vec![job.start.clone()]).await?;
            found.ok_or("the server does not have the point to start at")?;
            headers(&mut client, job.mode).await
        }
        _ => Err("raw and decode go with --socket, headers and fetch with --address".into()),
    }
}

/// Prints `ready`, waits for the line to start, and from then on ends with standard input.
fn ready(began_ns: u64) -> Outcome<()> {
    records::ready(began_ns)?;
    thread::spawn(|| {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        std::process::exit(0);
    });
    Ok(())
}

async fn blocks(client: &mut NodeClient, mode: Mode) -> Outcome<()> {
    let mut records = Records::started(u64::MAX);
    loop {
        let chainsync = client.chainsync();
        let answer = if chainsync.has_agency() { chainsync.request_next().await? } else { chainsync.recv_while_must_reply().await? };
        let NextResponse::RollForward(block, _) = answer else { continue };
        match mode {
            Mode::Decode => records.decoded(&MultiEraBlock::decode(&block)?),
            _ => records.raw(&block),
        }
        records.at_tip()?;
    }
}

async fn headers(client: &mut PeerClient, mode: Mode) -> Outcome<()> {
    let mut records = Records::started(u64::MAX);
    loop {
        let chainsync = client.chainsync();
        let answer = if chainsync.has_agency() { chainsync.request_next().await? } else { chainsync.recv_while_must_reply().await? };
        let NextResponse::RollForward(header, _) = answer else { continue };
        let (slot, hash) = point_of(&header)?;
        if let Mode::Headers = mode {
            records.header(slot, hash);
        } else {
            records.last(slot, hash);
            records.raw(&client.blockfetch().fetch_single(Point::Specific(slot, hash.to_vec())).await?);
        }
        records.at_tip()?;
    }
}
