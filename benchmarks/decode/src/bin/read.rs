//! Reading a whole chain beside pallas-hardano, in one process: `read CHAIN`. Blocks are read in one thread; ours opens the folder on all cores.
//!
//! Each pass opens the folder anew and reads every block, in an order that rotates from pass to pass; files are in the page cache after the
//! first. Ours holds each block against the CRC-32 of its index entry, and reads all blocks; how many the other gives is printed.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use pallas_hardano::storage::immutable::read_blocks;
use pallas_traverse::MultiEraBlock;
use slotmark_benchmark_decode::{machine, median};
use slotmark_chain::{Chain, Decoder};

type Failure = Box<dyn std::error::Error>;

const PASSES: usize = 9;

/// Number of blocks that were read, and their bytes.
type Read = (usize, usize);

fn slotmark(folder: &Path, decode: bool) -> Result<Read, Failure> {
    let chain = Chain::open(folder)?;
    let (mut decoder, mut bytes) = (Decoder::new(), 0);
    for index in 0..chain.len() {
        let block = black_box(chain.checked_bytes(index)?);
        if decode {
            black_box(decoder.decode(block)?.facts());
        }
        bytes += block.len();
    }
    Ok((chain.len(), bytes))
}

fn hardano(folder: &Path, decode: bool) -> Result<Read, Failure> {
    let (mut blocks, mut bytes) = (0, 0);
    for block in read_blocks(folder).map_err(|error| error.to_string())? {
        let block = black_box(block.map_err(|error| error.to_string())?);
        if decode {
            black_box(MultiEraBlock::decode(&block).map_err(|error| error.to_string())?.hash());
        }
        bytes += block.len();
        blocks += 1;
    }
    Ok((blocks, bytes))
}

/// A name, how blocks are read, and whether they are decoded too.
type Work = (&'static str, fn(&Path, bool) -> Result<Read, Failure>, bool);

const WORK: [Work; 4] = [
    ("slotmark, read, CRC held", slotmark, false),
    ("slotmark, read, CRC held, decoded", slotmark, true),
    ("pallas-hardano 1.4.0, read", hardano, false),
    ("pallas-hardano 1.4.0, read, decoded", hardano, true),
];

fn main() -> Result<(), Failure> {
    let folder = std::env::args().nth(1).ok_or("expected: CHAIN")?;
    let folder = Path::new(&folder);
    let mut times = [const { Vec::<Duration>::new() }; WORK.len()];
    let mut found = [(0, 0); WORK.len()];
    for pass in 0..=PASSES {
        for turn in 0..WORK.len() {
            let which = (pass + turn) % WORK.len();
            let start = Instant::now();
            let (_, read, decode) = WORK[which];
            found[which] = read(folder, decode)?;
            if pass > 0 {
                times[which].push(start.elapsed()); // the first pass warms up
            }
        }
    }
    println!("{}: {PASSES} passes; {}", folder.display(), machine());
    let rate = |which: usize| median(times[which].iter().map(|time| found[which].1 as f64 / 1e6 / time.as_secs_f64()));
    for (which, (what, ..)) in WORK.iter().enumerate() {
        println!(
            "  {what:<40} {:>9} blocks {:9.0} MB/s   {:6.2} of slotmark's",
            found[which].0,
            rate(which),
            rate(which) / rate(which % 2)
        );
    }
    Ok(())
}
