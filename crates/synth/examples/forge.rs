//! Forges one chain: `forge WORKLOAD BLOCKS SEED FOLDER`.

use std::ops::ControlFlow;
use std::time::Instant;

use slotmark_synth::{Recipe, forge};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [workload, blocks, seed, folder] = arguments.as_slice() else {
        return Err("expected: forge WORKLOAD BLOCKS SEED FOLDER".into());
    };
    let recipe = Recipe { seed: seed.parse()?, ..Recipe::new(workload.parse()?, blocks.parse()?) };
    let start = Instant::now();
    let forged = forge(&recipe, folder, &mut |_| ControlFlow::Continue(()))?;
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{folder}: {} blocks, {} transactions, {:.1} MB in {seconds:.1} s; tip {}",
        forged.blocks,
        forged.transactions,
        forged.bytes as f64 / 1e6,
        forged.tip
    );
    Ok(())
}
