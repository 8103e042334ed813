//! Measures how fast a store takes in blocks, with a set of a given size, for `benchmarks/replay/run`.
//!
//! A set is filled with this many outputs. Then blocks spend outputs anywhere in it and make as many, as value-only blocks of 90 kB do:
//! 600 of each. Places are hashes, so that neighbours in time are anywhere in the set. Prints one JSON object.

use std::path::PathBuf;
use std::time::Instant;

use clap::Parser;
use serde_json::json;
use slotmark_chain::hash::blake2b_256;
use slotmark_replay::changes::Changes;
use slotmark_replay::place::Place;
use slotmark_replay::resources::Counters;
use slotmark_replay::store::{Entry, StoreError};
use slotmark_replay::{Backend, Tip};

const LOADED_TOGETHER: u64 = 100_000;
const OF_A_BLOCK: u64 = 600;
/// Bytes of an output with two credentials and lovelace in eight bytes.
const OUTPUT_BYTES: usize = 69;

#[derive(Parser)]
struct Arguments {
    #[arg(long, value_enum)]
    backend: Backend,
    #[arg(long)]
    entries: u64,
    #[arg(long)]
    blocks: u64,
    #[arg(long)]
    flush_every: u64,
    /// A folder that is removed by its owner.
    #[arg(long)]
    state: PathBuf,
}

fn output(number: u64) -> (Place, Entry) {
    let id = blake2b_256(&[&number.to_le_bytes()]);
    let mut bytes = [0u8; OUTPUT_BYTES];
    bytes[3..35].copy_from_slice(&id);
    (Place::new(&id, 0).expect("an index of 0"), Entry::from(bytes))
}

/// SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn main() {
    let arguments = Arguments::parse();
    if let Err(StoreError(reason)) = measure(&arguments) {
        eprintln!("stores: {}: {reason}", arguments.state.display());
        std::process::exit(2);
    }
}

fn measure(arguments: &Arguments) -> Result<(), StoreError> {
    let mut store = arguments.backend.open(&arguments.state).map_err(|error| StoreError(error.to_string()))?;
    let counters = Counters::begin();
    let begin = Instant::now();
    let mut live: Vec<u64> = (0..arguments.entries).collect();
    for first in (0..arguments.entries).step_by(LOADED_TOGETHER as usize) {
        let last = arguments.entries.min(first + LOADED_TOGETHER);
        store.apply(Changes { made: (first..last).map(output).collect(), ..Changes::default() });
        store.flush(None)?;
    }
    let load_s = begin.elapsed().as_secs_f64();
    let (mut draws, mut made) = (7, arguments.entries);
    let mut times_ns = Vec::with_capacity(arguments.blocks as usize);
    for block in 1..=arguments.blocks {
        let mut changes = Changes::default();
        let mut wanted = Vec::with_capacity(OF_A_BLOCK as usize);
        for _ in 0..OF_A_BLOCK {
            let index = (next(&mut draws) % live.len() as u64) as usize;
            wanted.push(output(live.swap_remove(index)).0);
        }
        for _ in 0..OF_A_BLOCK {
            changes.made.push(output(made));
            live.push(made);
            made += 1;
        }
        let begin = Instant::now();
        for place in wanted {
            assert!(store.get(&place)?.is_some(), "an output of the set");
            changes.spent.insert(place);
        }
        store.apply(changes);
        if block.is_multiple_of(arguments.flush_every) || block == arguments.blocks {
            store.flush(Some(Tip { slot: block, hash: [0; 32] }))?;
        }
        times_ns.push(begin.elapsed().as_nanos() as u64);
    }
    let used = counters.used();
    assert_eq!(store.entries(), arguments.entries);
    let total_ns: u64 = times_ns.iter().sum();
    times_ns.sort_unstable();
    let at = |share: f64| times_ns[((times_ns.len() - 1) as f64 * share) as usize];
    let figures = json!({
        "backend": arguments.backend.name(),
        "entries": arguments.entries,
        "per_s": (2 * OF_A_BLOCK * arguments.blocks) as f64 * 1e9 / total_ns as f64,
        "block_median_us": at(0.5) as f64 / 1e3,
        "block_p99_us": at(0.99) as f64 / 1e3,
        "block_worst_us": at(1.0) as f64 / 1e3,
        "load_s": load_s,
        "disk_bytes": store.disk_bytes(),
        "used": used,
    });
    println!("{figures}");
    Ok(())
}
