//! All stores that were built against a model, with the same changes in the same order.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use clap::ValueEnum as _;
use proptest::prelude::*;
use slotmark_replay::changes::Changes;
use slotmark_replay::place::Place;
use slotmark_replay::store::{Entry, Store};
use slotmark_replay::{Backend, Tip};

/// A step on a set: blocks that make and spend outputs, flushes, and opening it again.
#[derive(Clone, Debug)]
enum Step {
    Block { made: Vec<u8>, spent: Vec<prop::sample::Index> },
    Flush,
    Open,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let block = (prop::collection::vec(any::<u8>(), 0..6), prop::collection::vec(any::<prop::sample::Index>(), 0..4));
    let step = prop_oneof![
        6 => block.prop_map(|(made, spent)| Step::Block { made, spent }),
        2 => Just(Step::Flush),
        1 => Just(Step::Open),
    ];
    prop::collection::vec(step, 1..40)
}

type Model = BTreeMap<Place, Entry>;

fn block(number: u64, made: &[u8], spent: &[prop::sample::Index], model: &mut Model) -> Changes {
    let mut changes = Changes::default();
    for index in spent {
        if let Some(place) = model.keys().nth(index.index(model.len().max(1))).copied() {
            model.remove(&place);
            changes.spent.insert(place);
        }
    }
    for (index, length) in (0..).zip(made) {
        let mut id = [*length; 32];
        id[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
        let (place, entry) = (Place::new(&id, index).unwrap(), Entry::from(vec![*length; usize::from(*length) + 1]));
        model.insert(place, entry.clone());
        changes.made.push((place, entry));
    }
    changes
}

fn same(store: &mut dyn Store, model: &Model) -> Result<(), TestCaseError> {
    prop_assert_eq!(store.entries(), model.len() as u64);
    for (place, entry) in model {
        let found = store.get(place).unwrap();
        prop_assert_eq!(found.as_ref(), Some(entry));
    }
    prop_assert_eq!(store.get(&Place::new(&[7; 32], 9).unwrap()).unwrap(), None);
    Ok(())
}

fn tip(slot: u64) -> Tip {
    Tip { slot, hash: [slot as u8; 32] }
}

fn follow(backend: Backend, folder: &Path, steps: &[Step]) -> Result<[u8; 32], TestCaseError> {
    let mut store = backend.open(folder).unwrap();
    let (mut model, mut flushed, mut slot, mut kept) = (Model::new(), Model::new(), 0, None);
    for step in steps {
        match step {
            Step::Block { made, spent } => {
                slot += 1;
                store.apply(block(slot, made, spent, &mut model));
            }
            Step::Flush if slot > 0 => {
                store.flush(Some(tip(slot))).unwrap();
                (flushed, kept) = (model.clone(), Some(tip(slot)));
            }
            Step::Open if backend.is_on_disk => {
                drop(store);
                store = backend.open(folder).unwrap();
                prop_assert_eq!(store.tip(), kept);
                model.clone_from(&flushed);
                same(store.as_mut(), &model)?;
            }
            Step::Flush | Step::Open => {}
        }
    }
    same(store.as_mut(), &model)?;
    store.flush(Some(tip(slot))).unwrap();
    Ok(store.digest().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_set_is_what_was_done_to_it_and_after_opening_it_again_what_was_flushed(steps in steps()) {
        for backend in Backend::value_variants() {
            let folder = tempfile::tempdir().unwrap();
            follow(*backend, folder.path(), &steps)?;
        }
    }

    #[test]
    fn all_stores_have_the_same_digest_of_the_same_set(steps in steps()) {
        let steps: Vec<Step> = steps.into_iter().filter(|step| !matches!(step, Step::Open)).collect();

        let mut digests = Vec::new();
        for backend in Backend::value_variants() {
            let folder = tempfile::tempdir().unwrap();
            digests.push(follow(*backend, folder.path(), &steps)?);
        }
        prop_assert!(digests.iter().all(|digest| *digest == digests[0]));
    }
}

#[test]
fn the_digest_is_the_documented_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Backend::from_str("memory", false).unwrap().open(folder.path()).unwrap();
    let mut expected = blake2b_simd::Params::new().hash_length(32).to_state();
    let mut changes = Changes::default();
    for index in [3u64, 1, 2] {
        changes.made.push((Place::new(&[5; 32], index).unwrap(), Entry::from(vec![index as u8; 4])));
    }
    store.apply(changes);
    for index in 1u8..=3 {
        expected.update(&[5; 32]).update(&[0, index]).update(&[0, 0, 0, 4]).update(&[index; 4]);
    }
    assert_eq!(store.digest().unwrap(), expected.finalize().as_bytes());
}

/// Stores on disk that were built.
fn on_disk() -> impl Iterator<Item = Backend> {
    Backend::value_variants().iter().copied().filter(|backend| backend.is_on_disk)
}

fn outputs() -> Changes {
    block(1, &[3; 20], &[], &mut Model::new())
}

#[test]
fn first_outputs_that_were_loaded_in_part_count_once() {
    for backend in on_disk() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = backend.open(folder.path()).unwrap();
        store.apply(outputs());
        store.flush(None).unwrap();
        drop(store);
        let mut store = backend.open(folder.path()).unwrap();
        assert_eq!((store.tip(), store.entries()), (None, 0), "{}", backend.name());
        store.apply(outputs());
        store.flush(Some(tip(1))).unwrap();
        drop(store);
        assert_eq!(backend.open(folder.path()).unwrap().entries(), 20, "{}", backend.name());
    }
}

#[test]
fn a_set_that_was_whole_and_is_damaged_is_refused() {
    type Damage = fn(&Path);
    let damaged: [(&str, Damage); 5] = [
        ("without its files", |set| {
            fs::remove_dir_all(set).unwrap();
            fs::create_dir(set).unwrap();
        }),
        ("empty", |set| cut(set, 0)),
        ("its first page", |set| cut(set, 4_096)),
        ("cut", |set| cut(set, 9_000)),
        ("zeros", |set| fs::write(set.join("data.mdb"), [0; 8_192]).unwrap()),
    ];
    for backend in on_disk() {
        for (what, damage) in &damaged[..if backend.name() == "lmdb" { damaged.len() } else { 1 }] {
            let folder = tempfile::tempdir().unwrap();
            let mut store = backend.open(folder.path()).unwrap();
            store.apply(outputs());
            store.flush(Some(tip(1))).unwrap();
            drop(store);
            damage(&folder.path().join("set"));
            for _ in 0..2 {
                let refused = backend.open(folder.path()).err().map(|error| error.to_string());
                assert!(refused.is_some_and(|line| line.contains("emove")), "{} {what}", backend.name());
            }
        }
    }
}

fn cut(set: &Path, bytes: u64) {
    fs::OpenOptions::new().write(true).open(set.join("data.mdb")).unwrap().set_len(bytes).unwrap();
}
