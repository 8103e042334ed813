//! Times forging into a folder: `speed FOLDER`.

use std::error::Error;
use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use aws_lc_rs::signature::Ed25519KeyPair;
use rayon::prelude::*;
use slotmark_synth::{Forged, Recipe, Workload, forge};

/// Full blocks, enough that the genesis is a small part of the time.
const BLOCKS: u64 = 2_000;
const OUTPUTS: u64 = 1_000_000;
const SIGNATURES_A_TRANSACTION: u64 = 2;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("expected: speed FOLDER")?;
    let folder = Path::new(&folder);
    let (forged, seconds) = timed(&Recipe::new(Workload::ValueOnly, BLOCKS), &folder.join("value-only"))?;
    let signatures = forged.transactions * SIGNATURES_A_TRANSACTION;
    let alone = signing(signatures);
    println!(
        "value-only: {:.0} blocks/s, {:.1} MB/s; {signatures} signatures alone take {:.2} of the time",
        BLOCKS as f64 / seconds,
        forged.bytes as f64 / 1e6 / seconds,
        alone / seconds
    );
    let (_, seconds) = timed(&Recipe { utxo: OUTPUTS, ..Recipe::new(Workload::Empty, 1) }, &folder.join("utxo"))?;
    println!("genesis with {OUTPUTS} extra outputs: {seconds:.1} s");
    Ok(())
}

fn timed(recipe: &Recipe, folder: &Path) -> Result<(Forged, f64), Box<dyn Error>> {
    let start = Instant::now();
    let forged = forge(recipe, folder, &mut |_| ControlFlow::Continue(()))?;
    Ok((forged, start.elapsed().as_secs_f64()))
}

/// Seconds that this many signatures of 32 bytes take on all cores.
fn signing(count: u64) -> f64 {
    let key = Ed25519KeyPair::from_seed_unchecked(&[1; 32]).expect("any 32 bytes are a seed");
    let start = Instant::now();
    (0..count).into_par_iter().for_each(|number| {
        let mut message = [0; 32];
        message[..8].copy_from_slice(&number.to_be_bytes());
        black_box(key.sign(&message));
    });
    start.elapsed().as_secs_f64()
}
