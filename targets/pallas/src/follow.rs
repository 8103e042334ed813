//! Following a chain with Pallas' facades, one request after the other.

use std::path::Path;

use pallas_network::facades::{NodeClient, PeerClient};
use pallas_network::miniprotocols::Point;
use pallas_network::miniprotocols::chainsync::{HeaderContent, NextResponse};
use pallas_traverse::{MultiEraBlock, MultiEraHeader};

use crate::records::{self, Records, now_ns};
use crate::{Job, Mode, Outcome};

pub async fn run(job: &Job) -> Outcome<()> {
    match (job.mode, &job.socket, &job.address) {
        (Mode::Raw | Mode::Decode, Some(socket), _) => by_socket(job, socket).await,
        (Mode::Headers | Mode::Fetch, _, Some(address)) => by_address(job, address).await,
        _ => Err("raw and decode go with --socket, headers and fetch with --address".into()),
    }
}

async fn by_socket(job: &Job, socket: &Path) -> Outcome<()> {
    let began = now_ns();
    let mut client = NodeClient::connect(socket, job.magic)
        .await
        .map_err(|error| format!("{}, magic {}: {}", socket.display(), job.magic, crate::words(&error)))?;
    records::ready(began)?;
    let (found, _) = client.chainsync().find_intersect(vec![job.start.clone()]).await?;
    found.ok_or_else(|| no_intersection(job))?;
    let mut records = Records::started(job.progress_every);
    blocks(&mut client, job, &mut records).await?;
    records.finish()?;
    client.abort().await;
    Ok(())
}

async fn by_address(job: &Job, address: &str) -> Outcome<()> {
    let began = now_ns();
    let mut client = PeerClient::connect(address, job.magic)
        .await
        .map_err(|error| format!("{address}, magic {}: {}", job.magic, crate::words(&error)))?;
    records::ready(began)?;
    let (found, _) = client.chainsync().find_intersect(vec![job.start.clone()]).await?;
    found.ok_or_else(|| no_intersection(job))?;
    let mut records = Records::started(job.progress_every);
    headers(&mut client, job, &mut records).await?;
    records.finish()?;
    client.abort().await;
    Ok(())
}

fn no_intersection(job: &Job) -> String {
    match &job.start {
        Point::Origin => "the server does not find the origin".to_owned(),
        Point::Specific(slot, hash) => format!("the server does not have the point {slot}.{}", hex::encode(hash)),
    }
}

/// Takes an answer apart: Some for what came, None for the first roll-backward, to the intersection.
fn content<C>(answer: NextResponse<C>, received: u64, rolled_back: &mut bool) -> Outcome<Option<C>> {
    match answer {
        NextResponse::RollForward(content, _) => Ok(Some(content)),
        NextResponse::RollBackward(_, _) if !*rolled_back && received == 0 => {
            *rolled_back = true;
            Ok(None)
        }
        NextResponse::RollBackward(point, _) => {
            Err(format!("a roll-backward to slot {} after {received} blocks", point.slot_or_default()).into())
        }
        NextResponse::Await => Err(format!("the chain ended after {received} blocks: the server has no more").into()),
    }
}

async fn blocks(client: &mut NodeClient, job: &Job, records: &mut Records) -> Outcome<()> {
    let mut rolled_back = false;
    while records.blocks() < job.blocks {
        let answer = client.chainsync().request_next().await?;
        let Some(block) = content(answer, records.blocks(), &mut rolled_back)? else { continue };
        records.received();
        match job.mode {
            Mode::Decode => records.decoded(&MultiEraBlock::decode(&block)?),
            _ => records.raw(&block),
        }
        records.block(block.len());
    }
    Ok(())
}

async fn headers(client: &mut PeerClient, job: &Job, records: &mut Records) -> Outcome<()> {
    let mut rolled_back = false;
    let mut range: Vec<Point> = Vec::new();
    let mut received = 0;
    while received < job.blocks {
        let answer = client.chainsync().request_next().await?;
        let Some(header) = content(answer, received, &mut rolled_back)? else { continue };
        received += 1;
        if let Mode::Headers = job.mode {
            records.received();
            let (slot, hash) = point_of(&header)?;
            records.header(slot, hash);
            records.block(header.cbor.len());
            continue;
        }
        let (slot, hash) = point_of(&header)?;
        records.last(slot, hash);
        range.push(Point::Specific(slot, hash.to_vec()));
        if range.len() as u64 == job.depth || received == job.blocks {
            fetch(client, &range, records).await?;
            range.clear();
        }
    }
    Ok(())
}

async fn fetch(client: &mut PeerClient, range: &[Point], records: &mut Records) -> Outcome<()> {
    let (Some(first), Some(last)) = (range.first(), range.last()) else { return Ok(()) };
    let before = records.blocks();
    let blockfetch = client.blockfetch();
    blockfetch.request_range((first.clone(), last.clone())).await?.ok_or("the server has no blocks to its own headers")?;
    while let Some(block) = blockfetch.recv_while_streaming().await? {
        records.received();
        records.raw(&block);
        records.block(block.len());
    }
    let got = records.blocks() - before;
    if got != range.len() as u64 {
        return Err(format!("{got} blocks came for a range of {}", range.len()).into());
    }
    Ok(())
}

pub fn point_of(header: &HeaderContent) -> Outcome<(u64, [u8; 32])> {
    let header = MultiEraHeader::decode(header.variant, header.byron_prefix.map(|(kind, _)| kind), &header.cbor)?;
    Ok((header.slot(), *header.hash()))
}
