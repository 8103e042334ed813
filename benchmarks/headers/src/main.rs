//! Header checks beside the crates that others build on, in one process: `slotmark-benchmark-headers NAME CHAIN SHELLEY-GENESIS`.
//!
//! One walk over the chain gives what each header is checked against (nonce, stake, whose the slot is); it isn't timed, and the same for
//! both. Then both must find that all checks hold of every header. The passes take headers that are spread evenly over the chain, in
//! an order of ways that rotates from pass to pass, and the ratio is the median of the passes' ratios.

mod ours;
mod peers;

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use rayon::{ThreadPool, ThreadPoolBuilder, prelude::*};
use slotmark_benchmark_decode::{machine, median};
use slotmark_chain::block::Decoder;
use slotmark_chain::{BlockEntry, Chain};
use slotmark_praos::genesis::Genesis;
use slotmark_praos::header::{Leader, Surroundings};
use slotmark_praos::state::ChainState;

use ours::Verify;
use peers::Network;

type Failure = Box<dyn std::error::Error>;

const PASSES: usize = 9;
/// Headers per pass, at most.
const SAMPLE: usize = 4_000;

/// A block, and the state that its header is checked against.
pub struct Case<'a> {
    index: usize,
    bytes: &'a [u8],
    entry: BlockEntry,
    surroundings: Surroundings<'a>,
}

/// Every block of the chain with its surroundings.
fn walk<'a>(chain: &'a Chain, genesis: &'a Arc<Genesis>) -> Result<Vec<Case<'a>>, Failure> {
    let (mut state, mut decoder) = (ChainState::new(Some(genesis)), Decoder::new());
    let mut cases = Vec::with_capacity(chain.len());
    for index in 0..chain.len() {
        let bytes = chain.bytes(index);
        let block = decoder.decode(bytes)?;
        let step = state.step(&block.header, u64::from(block.body.end - block.body.start), Some(&block))?;
        if matches!(step.leader, Leader::Unknown) || !step.outcome.broken.is_empty() {
            return Err(format!("block {index}: its leader isn't known, or it doesn't follow from the chain: {:?}", step.outcome).into());
        }
        cases.push(Case { index, bytes, entry: chain.entry(index), surroundings: step.surroundings(Some(genesis)) });
    }
    Ok(cases)
}

/// Fails unless all checks hold of every header, by our crates and by the others.
fn agree(chain: &Chain, cases: &[Case<'_>], network: &Network) -> Result<(), Failure> {
    let theirs =
        cases.par_iter().try_for_each(|case| peers::check(case, network).map_err(|error| format!("block {}: {error}", case.index)));
    theirs.map_err(|error| format!("the other crates: {error}"))?;
    for verify in [Verify::Once, Verify::Each] {
        for (case, outcome) in cases.iter().zip(ours::check_all(chain, cases, verify)?) {
            if !outcome.broken.is_empty() || !outcome.unknown.is_empty() {
                return Err(format!("block {}: {outcome:?}", case.index).into());
            }
        }
    }
    Ok(())
}

/// The code that does the checks in a pass.
#[derive(Clone, Copy)]
enum Way {
    /// Our crates, on this many threads.
    Ours { all_cores: bool, verify: Verify },
    /// The other crates, header by header on one thread.
    Peers,
}

/// The peers come last, and all ratios are to them.
const WAYS: [(&str, Way); 5] = [
    ("slotmark, all cores", Way::Ours { all_cores: true, verify: Verify::Once }),
    ("slotmark, all cores, each certificate", Way::Ours { all_cores: true, verify: Verify::Each }),
    ("slotmark, one core", Way::Ours { all_cores: false, verify: Verify::Once }),
    ("slotmark, one core, each certificate", Way::Ours { all_cores: false, verify: Verify::Each }),
    ("other crates, one by one", Way::Peers),
];

struct Bench<'a> {
    chain: &'a Chain,
    cases: Vec<Case<'a>>,
    network: Network,
    all_cores: ThreadPool,
    one_core: ThreadPool,
}

impl Bench<'_> {
    fn run(&self, way: Way) -> f64 {
        let start = Instant::now();
        match way {
            Way::Ours { all_cores, verify } => {
                let pool = if all_cores { &self.all_cores } else { &self.one_core };
                black_box(pool.install(|| ours::check_all(self.chain, &self.cases, verify)).expect("checked before"));
            }
            Way::Peers => self.cases.iter().for_each(|case| peers::check(black_box(case), &self.network).expect("checked before")),
        }
        start.elapsed().as_secs_f64() * 1e6 / self.cases.len() as f64
    }

    /// Microseconds per header of each way, by pass; the order of ways rotates, and the first pass warms up.
    fn ways(&self) -> [Vec<f64>; WAYS.len()] {
        let mut micros = [const { Vec::new() }; WAYS.len()];
        for pass in 0..=PASSES {
            for turn in 0..WAYS.len() {
                let which = (pass + turn) % WAYS.len();
                let taken = self.run(WAYS[which].1);
                if pass > 0 {
                    micros[which].push(taken);
                }
            }
        }
        micros
    }

    /// Prints what each check takes on one core: headers are decoded before, but for the first row.
    fn print_parts(&self) {
        let theirs: Vec<_> = self.cases.iter().map(|case| peers::decode(case).expect("checked before")).collect();
        let theirs: Vec<_> = theirs.iter().map(|decoded| peers::stated(decoded).expect("checked before")).collect();
        let ours: Vec<_> = self.cases.iter().map(|case| self.chain.check_entry(case.index).expect("checked before")).collect();
        let time = |part: &dyn Fn(usize) -> bool| {
            let start = Instant::now();
            assert!((0..self.cases.len()).all(part), "checked before");
            start.elapsed().as_secs_f64() * 1e6 / self.cases.len() as f64
        };
        let of = |index: usize| &self.cases[index];
        type Part<'p> = (&'static str, Box<dyn Fn(usize) -> bool + 'p>, Box<dyn Fn(usize) -> bool + 'p>);
        let parts: [Part<'_>; 5] = [
            (
                "index entry, CRC, hashes",
                Box::new(|index| ours::read(self.chain, of(index)).is_ok_and(|(_, outcome)| outcome.broken.is_empty())),
                Box::new(|index| {
                    let decoded = peers::decode(of(index));
                    decoded
                        .is_ok_and(|decoded| peers::stated(&decoded).is_ok_and(|stated| peers::hashes_hold(of(index), &decoded, &stated)))
                }),
            ),
            ("certificate, each", Box::new(|index| ours::certificate(&ours[index])), Box::new(|index| peers::certificate(&theirs[index]))),
            (
                "KES period and signature",
                Box::new(|index| ours::kes(of(index), &ours[index])),
                Box::new(|index| peers::kes(&theirs[index], &self.network)),
            ),
            (
                "VRF proofs and outputs",
                Box::new(|index| ours::vrf(of(index), &ours[index])),
                Box::new(|index| peers::vrf(of(index), &theirs[index], &self.network)),
            ),
            (
                "VRF key, leader",
                Box::new(|index| ours::leads(of(index), &ours[index])),
                Box::new(|index| peers::leads(of(index), &theirs[index], &self.network)),
            ),
        ];
        println!("  {:<38} {:>10} {:>12} {:>18}", "one core, us per header", "slotmark", "other crates", "others / slotmark");
        for (what, ours, theirs) in &parts {
            let (mut first, mut second) = (Vec::new(), Vec::new());
            for pass in 0..=PASSES {
                let swapped = pass % 2 == 1;
                let (one, other) = if swapped { (time(theirs), time(ours)) } else { (time(ours), time(theirs)) };
                if pass > 0 {
                    first.push(if swapped { other } else { one });
                    second.push(if swapped { one } else { other });
                }
            }
            let ratio = median(second.iter().zip(&first).map(|(theirs, ours)| theirs / ours));
            println!("    {what:<36} {:10.1} {:12.1} {ratio:18.2}", median(first), median(second));
        }
    }
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, folder, genesis] = arguments.as_slice() else { return Err("expected: NAME CHAIN SHELLEY-GENESIS".into()) };
    let (chain, genesis) = (Chain::open(folder)?, Arc::new(Genesis::read(Path::new(genesis))?));
    let network = Network::new(&genesis);
    let mut cases = walk(&chain, &genesis)?;
    agree(&chain, &cases, &network)?;
    let every = cases.len().div_ceil(SAMPLE);
    cases.retain(|case| case.index % every == 0);

    let pool = |threads| ThreadPoolBuilder::new().num_threads(threads).build();
    let bench = Bench { chain: &chain, cases, network, all_cores: pool(0)?, one_core: pool(1)? };
    println!(
        "{name}: all checks hold of {} headers, by all ways; {} of them timed; {PASSES} passes; {}",
        chain.len(),
        bench.cases.len(),
        machine()
    );
    println!("  Other crates: {}.", peers::NAMES);
    let certificates = ours::distinct_certificates(&chain, &bench.cases)?;
    println!(
        "  Ours verifies each of {certificates} distinct certificates once, as `slotmark chain check` does, and decodes no bodies; \"each certificate\": per header."
    );
    let micros = bench.ways();
    let peers = &micros[WAYS.len() - 1];
    for ((what, _), taken) in WAYS.iter().zip(&micros) {
        let ratio = median(peers.iter().zip(taken).map(|(theirs, taken)| theirs / taken));
        let taken = median(taken.iter().copied());
        println!("  {what:<38} {taken:9.1} us/header {:9.0} headers/s   {ratio:6.2} times the rate of other crates", 1e6 / taken);
    }
    bench.print_parts();
    Ok(())
}
