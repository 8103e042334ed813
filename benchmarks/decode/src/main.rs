//! Decoding blocks beside Pallas, in one process and one thread: `slotmark-benchmark-decode NAME CHAIN [FIRST BLOCKS]`.
//!
//! Each pass decodes every block of the window with each decoder, in an order that rotates from pass to pass, and the ratio is the
//! median of the passes' ratios. Before anything is timed, both decoders must give the same facts of every block.

use std::hint::black_box;
use std::time::{Duration, Instant};

use pallas_traverse::MultiEraBlock;
use slotmark_benchmark_decode::{machine, median};
use slotmark_chain::{BlockFacts, Chain, Decoder};

type Failure = Box<dyn std::error::Error>;

const PASSES: usize = 31;

fn pallas_facts(block: &MultiEraBlock<'_>) -> BlockFacts {
    let mut facts = BlockFacts { slot: block.slot(), hash: *block.hash(), transactions: 0, inputs: 0, outputs: 0, fees: 0 };
    for transaction in block.txs() {
        facts.transactions += 1;
        facts.inputs += transaction.inputs().len() as u32;
        facts.outputs += transaction.outputs().len() as u32;
        facts.fees += transaction.fee().unwrap_or(0);
    }
    facts
}

fn slotmark(blocks: &[&[u8]]) {
    let mut decoder = Decoder::new();
    for bytes in blocks {
        black_box(decoder.decode(bytes).expect("checked before").facts());
    }
}

fn pallas_decode(blocks: &[&[u8]]) {
    for bytes in blocks {
        black_box(MultiEraBlock::decode(bytes).expect("checked before"));
    }
}

fn pallas_with_facts(blocks: &[&[u8]]) {
    for bytes in blocks {
        black_box(pallas_facts(&MultiEraBlock::decode(bytes).expect("checked before")));
    }
}

fn well_formed(blocks: &[&[u8]]) {
    for bytes in blocks {
        minicbor::Decoder::new(bytes).skip().expect("checked before");
    }
}

/// A name, and what is done to all blocks.
type Work = (&'static str, fn(&[&[u8]]));

/// The work of each pass.
const WORK: [Work; 4] = [
    ("slotmark, whole block, hash and facts", slotmark),
    ("Pallas 1.4.0, MultiEraBlock::decode", pallas_decode),
    ("Pallas 1.4.0, decode, hash and facts", pallas_with_facts),
    ("minicbor skip: only walks over items", well_formed),
];

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (name, folder, window) = match arguments.as_slice() {
        [name, folder] => (name, folder, None),
        [name, folder, first, blocks] => (name, folder, Some((first.parse::<usize>()?, blocks.parse::<usize>()?))),
        _ => return Err("expected: NAME CHAIN [FIRST BLOCKS]".into()),
    };
    let chain = Chain::open(folder)?;
    let (first, count) = window.unwrap_or((0, chain.len()));
    if first + count > chain.len() {
        return Err(format!("{folder}: {} blocks, but blocks {first} to {} were asked for", chain.len(), first + count).into());
    }
    let blocks: Vec<&[u8]> = (first..first + count).map(|index| chain.bytes(index)).collect();
    let bytes: usize = blocks.iter().map(|block| block.len()).sum();

    let mut decoder = Decoder::new();
    for (block, index) in blocks.iter().zip(first..) {
        let (ours, theirs) =
            (decoder.decode(block)?.facts(), pallas_facts(&MultiEraBlock::decode(block).map_err(|error| error.to_string())?));
        if ours != theirs {
            return Err(format!("block {index}: {ours:?}, but Pallas has {theirs:?}").into());
        }
    }

    let mut times = [const { Vec::new() }; WORK.len()];
    for pass in 0..PASSES + 1 {
        for turn in 0..WORK.len() {
            let which = (pass + turn) % WORK.len();
            let start = Instant::now();
            WORK[which].1(black_box(&blocks));
            if pass > 0 {
                times[which].push(start.elapsed()); // the first pass warms up
            }
        }
    }
    println!("{name}: {count} blocks, {bytes} bytes, {} a block; {PASSES} passes; {}", bytes / count, machine());
    let ours = times[0].clone();
    for ((what, _), times) in WORK.iter().zip(&times) {
        let micros = median(times.iter().map(|time: &Duration| time.as_secs_f64() * 1e6 / count as f64));
        let ratio = median(times.iter().zip(&ours).map(|(theirs, ours)| theirs.as_secs_f64() / ours.as_secs_f64()));
        println!(
            "  {what:<40} {micros:9.3} us/block {:9.0} MB/s   {ratio:6.2} times slotmark's time",
            bytes as f64 / count as f64 / micros
        );
    }
    Ok(())
}
