//! Forged chains keep the ledger's rules, and the same recipe gives the same bytes.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::ledger::{Findings, check};
use proptest::prelude::*;
use slotmark_chain::{Chain, ChainError};
use slotmark_synth::{Forged, Progress, Recipe, SynthError, Workload, forge};

fn recipe(workload: Workload, blocks: u64) -> Recipe {
    Recipe::new(workload, blocks)
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

/// Every file below a folder.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    paths
        .flat_map(|path| if path.is_dir() { files(&path) } else { BTreeMap::from([(path.clone(), fs::read(path).expect("a file"))]) })
        .collect()
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
    let findings = findings(&recipe(Workload::PLUTUS_LOOP, 100));
    assert!(findings.sizes[1..].iter().all(|size| (2_700..3_300).contains(size)), "{:?}", findings.sizes);
    assert_eq!(findings.scripts_run, findings.transactions - 1);
    assert_eq!(findings.transactions, 1 + 4 * 99);
}

#[test]
fn empty_blocks_are_valid() {
    let findings = findings(&recipe(Workload::Empty, 100));
    assert_eq!(findings.transactions, 0);
    assert!(findings.sizes[1..].iter().all(|size| (850..870).contains(size)), "{:?}", findings.sizes);
}

#[test]
fn preview_like_blocks_are_valid_and_distributed_like_the_real_ones() {
    let mut findings = findings(&recipe(Workload::PreviewLike, 2_500));
    assert!(findings.by_reference > 0 && findings.by_reference < findings.scripts_run);
    findings.sizes.sort_unstable();
    let quantile = |share: f64| findings.sizes[(share * 2_500.0) as usize];
    // The real chain has 860, 860, 1,860, 9,070, but for the older, longer header of its first blocks.
    assert!((850..870).contains(&quantile(0.05)) && (850..870).contains(&quantile(0.5)));
    assert!((1_780..1_900).contains(&quantile(0.9)), "{}", quantile(0.9));
    assert!((6_000..12_000).contains(&quantile(0.99)), "{}", quantile(0.99));
    let empty = findings.sizes.iter().filter(|&&size| size < 870).count();
    assert!((1_920..2_070).contains(&empty), "{empty}"); // 1,994 expected, standard deviation 20
}

#[test]
fn the_same_recipe_gives_the_same_bytes_on_any_number_of_threads() {
    let place = tempfile::tempdir().expect("a folder");
    for (workload, blocks) in [(Workload::ValueOnly, 3), (Workload::PLUTUS_LOOP, 20), (Workload::PreviewLike, 120), (Workload::Empty, 120)]
    {
        let recipe = Recipe { security_parameter: 5, utxo: 100, ..recipe(workload, blocks) };
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
    for workload in Workload::KINDS {
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
    let tips = Workload::KINDS.map(|workload| {
        let blocks = if workload == Workload::ValueOnly { 2 } else { 100 };
        forge_into(&recipe(workload, blocks), &place.path().join(workload.to_string())).tip.to_string()
    });
    assert_eq!(
        tips,
        [
            "73.934fc61aede6772069e31bcd34864da8a6f5418a74c3301c35a239b66ceb8a4d",
            "1721.ad58c6a7257b1049665a3a5eca40dd19aec58bab5b421e61ad37c52ad9b4d6e1",
            "1721.c2211cf6b2d4bd34a1175c4f2cc22ff1aa45ad9a5c2c3dd0601f9394b40f8012",
            "1721.97125fa8fb4118cb055c6e6215e9fce54980c60c2bed775713e49c4c447d0abb",
        ]
    );
}

#[test]
fn an_interrupted_chain_leaves_nothing_behind() {
    let place = tempfile::tempdir().expect("a folder");
    let mut steps = Vec::new();
    let error = forge(&recipe(Workload::Empty, 2_000), place.path().join("chain"), &mut |progress| {
        steps.push(progress);
        if steps.len() == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(error, Err(SynthError::Interrupted)));
    assert!(matches!(steps[..], [Progress { blocks: 1.., total: 2_000, .. }, Progress { blocks: 2..2_000, .. }]), "{steps:?}");
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
        workload in prop::sample::select(Workload::KINDS.to_vec()),
        blocks in 1_u64..40,
        security_parameter in 2_u64..40,
        utxo in 0_u64..5_000,
    ) {
        let blocks = if workload == Workload::ValueOnly { blocks.min(2) } else { blocks };
        findings(&Recipe { seed, security_parameter, utxo, ..Recipe::new(workload, blocks) });
    }
}
