//! Forged chains keep the ledger's rules, and the same recipe gives the same bytes.

mod ledger;

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use ledger::{Findings, check};
use proptest::prelude::*;
use slotmark_chain::{Chain, ChainError};
use slotmark_synth::{Forged, PREVIEW_CHUNK_SLOTS, Progress, Recipe, SynthError, Workload, forge};

fn recipe(workload: Workload, blocks: u64) -> Recipe {
    Recipe { workload, blocks, seed: 1, chunk_slots: PREVIEW_CHUNK_SLOTS }
}

fn forge_into(recipe: &Recipe, folder: &Path) -> Forged {
    forge(recipe, folder, &mut |_| ControlFlow::Continue(())).expect("a chain")
}

/// Forges a chain, checks it, and yields what it holds.
fn findings(recipe: &Recipe) -> Findings {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("chain");
    let forged = forge_into(recipe, &folder);
    let chain = Chain::open(&folder).expect("a chain");
    let findings = check(recipe, &chain);
    assert_eq!((forged.blocks, forged.blocks), (recipe.blocks, findings.blocks));
    assert_eq!(forged.transactions, findings.transactions);
    assert_eq!(forged.bytes, findings.sizes.iter().map(|&size| size as u64).sum::<u64>());
    assert_eq!(forged.tip, chain.tip().expect("a tip").point);
    findings
}

/// Every file of a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).expect("a file"))).collect()
}

#[test]
fn value_only_blocks_are_full_and_valid() {
    let findings = findings(&recipe(Workload::ValueOnly, 12));
    assert!(findings.sizes.iter().all(|size| (88_000..=90_112).contains(size)), "{:?}", findings.sizes);
    assert_eq!(findings.inputs, 2 * findings.transactions);
    assert_eq!(findings.signatures, 2 * findings.transactions);
    assert_eq!(findings.with_auxiliary, findings.transactions);
    assert_eq!(findings.fees, 1_000_000 * findings.transactions);
}

#[test]
fn plutus_loop_blocks_are_small_and_valid() {
    let findings = findings(&recipe(Workload::PlutusLoop, 300));
    assert!(findings.sizes[1..].iter().all(|size| (2_700..3_300).contains(size)), "{:?}", findings.sizes);
    assert_eq!(findings.scripts_run, findings.transactions - 1);
    assert_eq!(findings.transactions, 1 + 4 * 299);
}

#[test]
fn empty_blocks_are_valid() {
    let findings = findings(&recipe(Workload::Empty, 500));
    assert_eq!(findings.transactions, 0);
    assert!(findings.sizes[1..].iter().all(|size| (850..870).contains(size)), "{:?}", findings.sizes);
}

#[test]
fn preview_like_blocks_are_valid_and_distributed_like_the_real_ones() {
    let mut findings = findings(&recipe(Workload::PreviewLike, 6_000));
    assert!(findings.by_reference > 0 && findings.by_reference < findings.scripts_run);
    findings.sizes.sort_unstable();
    let quantile = |share: f64| findings.sizes[(share * 6_000.0) as usize];
    // The real chain has 860, 860, 1,860, 9,070, but for the older, longer header of its first blocks.
    assert!((850..870).contains(&quantile(0.05)) && (850..870).contains(&quantile(0.5)));
    assert!((1_780..1_900).contains(&quantile(0.9)), "{}", quantile(0.9));
    assert!((6_500..11_000).contains(&quantile(0.99)), "{}", quantile(0.99));
    let empty = findings.sizes.iter().filter(|&&size| size < 870).count();
    assert!((4_650..4_920).contains(&empty), "{empty}"); // 4,786 expected, standard deviation 31
}

#[test]
fn the_same_recipe_gives_the_same_bytes_on_any_number_of_threads() {
    let place = tempfile::tempdir().expect("a folder");
    for (workload, blocks) in [(Workload::ValueOnly, 3), (Workload::PlutusLoop, 20), (Workload::PreviewLike, 700), (Workload::Empty, 700)] {
        let recipe = recipe(workload, blocks);
        let forged = [1, 2, 2].map(|threads| {
            let folder = place.path().join("chain");
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| forge_into(&recipe, &folder));
            let forged = files(&folder);
            fs::remove_dir_all(&folder).expect("removed");
            forged
        });
        assert!(forged[0] == forged[1], "{workload}: one thread and two");
        assert!(forged[1] == forged[2], "{workload}: twice on two");
    }
}

#[test]
fn another_seed_gives_other_blocks() {
    let place = tempfile::tempdir().expect("a folder");
    for workload in Workload::ALL {
        let tips = [1, 2].map(|seed| {
            let folder = place.path().join(format!("{workload}-{seed}"));
            forge_into(&Recipe { seed, ..recipe(workload, 2) }, &folder).tip
        });
        assert_ne!(tips[0], tips[1], "{workload}");
    }
}

/// A tip's hash covers every byte before it: chains of published figures must be forged the same by later versions.
#[test]
fn recipes_keep_giving_the_chains_that_they_gave() {
    let place = tempfile::tempdir().expect("a folder");
    let tips = Workload::ALL.map(|workload| {
        let blocks = if workload == Workload::ValueOnly { 2 } else { 300 };
        forge_into(&recipe(workload, blocks), &place.path().join(workload.name())).tip.to_string()
    });
    assert_eq!(
        tips,
        [
            "8.a6998fa395172c79736d05c4a78b9f1b50c9cf2a7e1343ec2e9d988753912153",
            "5595.190eeb3b89f6cf11602047f0f9df3566eaa06ddd5a80109276ded21a62f6145f",
            "5595.fad6492f4413e237a92068b3ce5dce4db387707a5e6170584c29345561e0d4bd",
            "5595.b18b7285f67ec9ed62524b1c32fcb3e3d358b5e668c63f426dce4ddda66a868a",
        ]
    );
}

#[test]
fn an_interrupted_chain_leaves_nothing_behind() {
    let place = tempfile::tempdir().expect("a folder");
    let mut told = Vec::new();
    let error = forge(&recipe(Workload::Empty, 5_000), place.path().join("chain"), &mut |progress| {
        told.push(progress);
        if told.len() == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(error, Err(SynthError::Interrupted)));
    assert!(matches!(told[..], [Progress { blocks: 1.., total: 5_000, .. }, Progress { blocks: 2..5_000, .. }]), "{told:?}");
    assert_eq!(fs::read_dir(place.path()).expect("a folder").count(), 0);
}

#[test]
fn what_is_there_already_is_not_overwritten() {
    let place = tempfile::tempdir().expect("a folder");
    let error = forge(&recipe(Workload::Empty, 1), place.path(), &mut |_| ControlFlow::Continue(()));
    assert!(matches!(error, Err(SynthError::Chain(ChainError::Exists { .. }))));
    assert!(place.path().is_dir());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_recipe_gives_a_valid_chain(
        seed: u64,
        workload in prop::sample::select(Workload::ALL.to_vec()),
        blocks in 1_u64..40,
        chunk_slots in 20_u64..400,
    ) {
        let blocks = if workload == Workload::ValueOnly { blocks.min(2) } else { blocks };
        findings(&Recipe { workload, blocks, seed, chunk_slots });
    }
}
