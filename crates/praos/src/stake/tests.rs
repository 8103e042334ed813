//! Stake over a genesis that is held whole, and over a base.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::sync::Mutex;

use proptest::prelude::*;

use super::*;
use slotmark_chain::block::PoolTerms;
use slotmark_network::{Network, Ratio, STATED};

use crate::accounts::tests::genesis_with;
use crate::base::Base;
use crate::genesis::Ledger;
use crate::outputs::SettledChanges;

const NETWORK: Network = Network { id: 0, start_ms: 0, slot_ms: 1_000 };
const POOLS: u8 = 4;
const KEYS: u8 = 6;

/// An address: of an enterprise, with a key's stake, with a script's, or with a pointer.
fn address(kind: u8, payment: u8, key: u8) -> Vec<u8> {
    match kind % 8 {
        0 | 1 => [&[0x60][..], &[payment; 28]].concat(),
        2 => [&[0x20][..], &[payment; 28], &[key; 28]].concat(),
        3 if payment.is_multiple_of(8) => [&[0x40][..], &[payment; 28], &[1, 2, 3]].concat(),
        _ => [&[0x00][..], &[payment; 28], &[key; 28]].concat(),
    }
}

/// One change of a block.
#[derive(Clone, Debug)]
enum Step {
    /// A new output at an address, or one that the genesis has too.
    Add {
        kind: u8,
        payment: u8,
        key: u8,
        lovelace: u64,
    },
    /// An output of those that are or were there.
    Spend(prop::sample::Index),
    Certify {
        kind: u8,
        script: bool,
        key: u8,
        pool: u8,
        epochs: u64,
    },
    Epoch,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (any::<u8>(), 0..40u8, 0..KEYS, 0..1_000_000u64)
            .prop_map(|(kind, payment, key, lovelace)| Step::Add { kind, payment, key, lovelace }),
        3 => any::<prop::sample::Index>().prop_map(Step::Spend),
        4 => (0..5u8, any::<bool>(), 0..KEYS + 2, 0..POOLS + 1, 0..3u64)
            .prop_map(|(kind, script, key, pool, epochs)| Step::Certify { kind, script, key, pool, epochs }),
        1 => Just(Step::Epoch),
    ]
}

/// A genesis whose funds and delegators are drawn; the last pool that is delegated to isn't registered.
fn shelley(funds: &[(u8, u8, u8, u64)], delegators: &[(u8, u8)]) -> String {
    let funds: BTreeMap<String, u64> =
        funds.iter().map(|(kind, payment, key, lovelace)| (hex::encode(address(*kind, *payment, *key)), *lovelace)).collect();
    let stake: BTreeMap<String, String> =
        delegators.iter().map(|(key, pool)| (hex::encode([*key; 28]), hex::encode([*pool; 28]))).collect();
    let pools: BTreeMap<String, serde_json::Value> =
        (0..POOLS).map(|pool| (hex::encode([pool; 28]), serde_json::json!({"vrf": hex::encode([pool; 32])}))).collect();
    serde_json::json!({
        "activeSlotsCoeff": 0.05, "securityParam": 10, "epochLength": 100, "slotsPerKESPeriod": 50, "maxKESEvolutions": 60,
        "updateQuorum": 2, "genDelegs": {}, "initialFunds": funds, "staking": {"pools": pools, "stake": stake},
        "protocolParams": slotmark_network::shelley::PARAMETERS, "maxLovelaceSupply": 45_000_000_000_000_000_u64,
        "networkId": "Testnet", "networkMagic": 42, "slotLength": 1, "systemStart": "2022-07-07T09:33:35Z",
    })
    .to_string()
}

/// The same genesis, held whole and on a base.
fn both(shelley: &str) -> [Genesis; 2] {
    let folder = tempfile::tempdir().unwrap();
    let (path, base) = (folder.path().join("shelley-genesis.json"), folder.path().join("base"));
    fs::write(&path, shelley).unwrap();
    let mut byron = slotmark_network::byron::stated("", 10, 42, 0);
    byron["nonAvvmBalances"] = serde_json::json!({"2657WMsDfac6": "7"});
    fs::write(folder.path().join("byron-genesis.json"), byron.to_string()).unwrap();
    Base::make(&path, &base).unwrap();
    [Genesis::read(&path).unwrap(), Genesis::on_base(Base::open(&base).unwrap(), &path).unwrap()]
}

/// All that can be asked.
fn facts(stake: &Stake, places: &BTreeSet<Place>) -> impl PartialEq + std::fmt::Debug + use<> {
    let mut all: Vec<_> = stake.all_unspent().collect();
    all.sort();
    let addresses = (0..8).flat_map(|kind| (0..40).map(move |payment| address(kind, payment, payment % KEYS))).collect();
    let mut at: Vec<_> = stake.unspent_at(&addresses).collect();
    at.sort();
    let each: Vec<_> = places.iter().map(|(id, index)| stake.unspent(id, *index)).collect();
    assert_eq!(all.len(), stake.unspent_outputs());
    let of_pools = (stake.distribution(), stake.mark.clone(), stake.current.clone(), stake.delegations(), stake.exact);
    (all, at, each, of_pools)
}

/// Applies a step, of this number in all.
fn apply(stake: &mut Stake, step: &Step, number: u64, epoch: &mut u64, places: &mut BTreeSet<Place>) {
    match step {
        Step::Add { kind, payment, key, lovelace } => {
            let address = address(*kind, *payment, *key);
            let place = (blake2b_256(&[&number.to_le_bytes(), &address]), 0);
            places.insert(place);
            let account = stake.account_of(&address);
            stake.holdings.add(place, account, *lovelace, || encode_output(&address, *lovelace));
        }
        Step::Spend(index) => {
            let place = places.iter().nth(index.index(places.len().max(1)));
            let known = place.is_some_and(|place| stake.holdings.spend(place));
            assert!(place.is_none_or(|(id, index)| stake.unspent(id, *index).is_none()));
            stake.exact &= known;
        }
        Step::Certify { kind, script, key, pool, epochs } => {
            let (credential, pool) = (Credential { script: *script, hash: [*key; 28] }, [*pool; 28]);
            stake.certify(match kind {
                0 => Certificate::Registration { credential, pool: Some(pool), deposit: None },
                1 => Certificate::Deregistration { credential, refund: None },
                2 => Certificate::Delegation { credential, pool },
                3 => {
                    let terms = PoolTerms { pledge: 0, cost: 0, margin: (0, 1), account: credential, owners: Vec::new() };
                    Certificate::PoolRegistration { pool, vrf_key_hash: [number as u8; 32], network: 0, terms }
                }
                _ => Certificate::PoolRetirement { pool, epoch: *epoch + epochs },
            });
        }
        Step::Epoch => {
            *epoch += 1;
            stake.begin_epoch(*epoch, None);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_genesis_on_a_base_gives_the_answers_of_one_that_is_held_whole(
        funds in prop::collection::vec((any::<u8>(), 0..40u8, 0..KEYS, 0..1_000_000u64), 0..60),
        delegators in prop::collection::vec((0..KEYS + 2, 0..POOLS + 2), 0..8),
        blocks in prop::collection::vec((prop::collection::vec(step(), 0..6), 0..4usize), 0..30),
    ) {
        let genesis = both(&shelley(&funds, &delegators));
        let mut stakes = [Stake::new(&genesis[0]), Stake::new(&genesis[1])];
        let mut places: BTreeSet<Place> = stakes[0].all_unspent().map(|(id, index, _)| (id, index)).collect();
        prop_assert_eq!(facts(&stakes[0], &places), facts(&stakes[1], &places));
        prop_assert_eq!(genesis[0].lovelace(), genesis[1].lovelace());
        let (mut epoch, mut undos) = (0, Vec::new());
        for (number, (steps, back)) in (0..).zip(&blocks) {
            let before = facts(&stakes[0], &places);
            let known = places.clone();
            let epoch_before = epoch;
            let mut undo = Vec::new();
            for stake in &mut stakes {
                (epoch, places) = (epoch_before, known.clone());
                let outline = stake.without_outputs();
                let begun = stake.begin_changes();
                (100 * number..).zip(steps).for_each(|(number, step)| apply(stake, step, number, &mut epoch, &mut places));
                undo.push((outline, stake.end_changes(begun)));
            }
            prop_assert_eq!(facts(&stakes[0], &places), facts(&stakes[1], &places));
            undos.push((undo, epoch_before, known, before));
            for _ in 0..back.saturating_sub(1).min(undos.len()) {
                let (undo, epoch_then, known, then) = undos.pop().unwrap();
                stakes.iter_mut().zip(undo).for_each(|(stake, (outline, journal))| stake.undo(outline, journal));
                epoch = epoch_then;
                let found = [facts(&stakes[0], &known), facts(&stakes[1], &known)];
                prop_assert_eq!(&found[0], &then);
                prop_assert_eq!(&found[1], &then);
            }
        }
        prop_assert!(genesis[1].sound().is_ok());
    }
}

/// A set in memory, as a node's.
#[derive(Default)]
struct Kept(Mutex<BTreeMap<Place, EncodedOutput>>);

impl Outputs for Kept {
    fn get(&self, place: &Place) -> Option<EncodedOutput> {
        self.0.lock().unwrap().get(place).cloned()
    }

    fn count(&self) -> u64 {
        self.0.lock().unwrap().len() as u64
    }

    fn each(&self, take: &mut dyn FnMut(Place, &[u8])) {
        self.0.lock().unwrap().iter().for_each(|(place, encoded)| take(*place, encoded));
    }

    fn settle(&self, _: SettledTip, changes: SettledChanges) {
        let mut kept = self.0.lock().unwrap();
        changes.spent.iter().for_each(|place| assert!(kept.remove(place).is_some(), "spent, and not there"));
        changes.made.into_iter().for_each(|(place, encoded)| assert!(kept.insert(place, encoded).is_none(), "made, and there"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn outputs_in_a_set_are_those_of_a_ledger_in_memory_whatever_is_settled_or_taken_back(
        funds in prop::collection::vec((any::<u8>(), 0..40u8, 0..KEYS, 0..1_000_000u64), 0..60),
        delegators in prop::collection::vec((0..KEYS + 2, 0..POOLS + 2), 0..8),
        blocks in prop::collection::vec((prop::collection::vec(step(), 0..6), 0..4usize, 0..3usize), 0..30),
    ) {
        let genesis = both(&shelley(&funds, &delegators));
        let mut stakes = [Stake::new(&genesis[0]), Stake::new(&genesis[1])];
        let set = Arc::new(Kept(Mutex::new(genesis[1].outputs().map(|(id, encoded)| ((id, 0), encoded)).collect())));
        stakes[1].keep_outputs_in(set.clone());
        let mut places: BTreeSet<Place> = stakes[0].all_unspent().map(|(id, index, _)| (id, index)).collect();
        prop_assert_eq!(facts(&stakes[0], &places), facts(&stakes[1], &places));
        let (mut epoch, mut undos) = (0, VecDeque::new());
        for (number, (steps, back, settled)) in (0..).zip(&blocks) {
            let (known, epoch_before) = (places.clone(), epoch);
            let mut undo = Vec::new();
            for stake in &mut stakes {
                (epoch, places) = (epoch_before, known.clone());
                let outline = stake.without_outputs();
                let begun = stake.begin_changes();
                (100 * number..).zip(steps).for_each(|(number, step)| apply(stake, step, number, &mut epoch, &mut places));
                undo.push((outline, stake.end_changes(begun)));
            }
            prop_assert_eq!(facts(&stakes[0], &places), facts(&stakes[1], &places));
            undos.push_back((undo, epoch_before, known));
            for _ in 0..back.saturating_sub(1).min(undos.len()) {
                let (undo, epoch_then, known) = undos.pop_back().unwrap();
                stakes.iter_mut().zip(undo).for_each(|(stake, (outline, journal))| stake.undo(outline, journal));
                epoch = epoch_then;
                prop_assert_eq!(facts(&stakes[0], &known), facts(&stakes[1], &known));
            }
            for _ in 0..(*settled).min(undos.len()) {
                let (mut undo, ..) = undos.pop_front().unwrap();
                stakes[1].settle(SettledTip { slot: number, hash: [0; 32] }, undo.pop().unwrap().1);
                prop_assert_eq!(facts(&stakes[0], &places), facts(&stakes[1], &places));
            }
        }
    }
}

#[test]
fn a_key_that_delegates_twice_counts_for_the_last_pool_alone() {
    let mut text: serde_json::Value = serde_json::from_str(&shelley(&[(4, 2, 0xab, 7)], &[])).unwrap();
    let (key, pools) = (hex::encode([0xab; 28]), [1, 0].map(|pool| hex::encode([pool; 28])));
    text["staking"]["stake"] = serde_json::json!({key.to_uppercase(): pools[0], key: pools[1]});
    let stakes = both(&text.to_string()).map(|genesis| Stake::new(&genesis));
    let none = BTreeSet::new();
    assert_eq!(facts(&stakes[0], &none), facts(&stakes[1], &none));
    let of_pools: Vec<_> = stakes[1].distribution().pools().into_iter().map(|(_, lovelace, _)| lovelace).collect();
    assert_eq!((of_pools, stakes[1].delegations()), (vec![7, 0, 0, 0], 1));
}

#[test]
fn what_lies_beside_a_base_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("shelley-genesis.json"), folder.path().join("base.partial"));
    fs::write(&path, shelley(&[], &[])).unwrap();
    fs::write(&other, "kept").unwrap();
    Base::make(&path, &folder.path().join("base.1")).unwrap();
    assert_eq!(fs::read(&other).unwrap(), b"kept");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}

#[test]
fn a_base_that_is_cut_or_damaged_anywhere_is_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let (path, whole, base) = (folder.path().join("shelley-genesis.json"), folder.path().join("whole"), folder.path().join("base"));
    fs::write(&path, shelley(&[(0, 1, 0, 5), (4, 2, 1, 7), (4, 3, 2, 9)], &[(1, 1), (5, 2)])).unwrap();
    Base::make(&path, &whole).unwrap();
    let bytes = fs::read(&whole).unwrap();
    let found_out = |bytes: &[u8], what: String| {
        fs::write(&base, bytes).unwrap();
        let error = Base::open(&base).and_then(|base| {
            let genesis = Genesis::on_base(base, &path).unwrap();
            let mut stake = Stake::new(&genesis);
            let places: Vec<_> = stake.all_unspent().map(|(id, index, _)| (id, index)).collect();
            places.iter().for_each(|place| assert!(stake.holdings.spend(place) || genesis.sound().is_err()));
            for key in 0..KEYS {
                stake.holdings.account(Credential { script: false, hash: [key; 28] });
            }
            stake.distribution();
            genesis.sound()
        });
        let error = error.expect_err(&what).to_string();
        assert!(error.starts_with(&format!("{}: ", base.display())) && !error.contains('\n'), "{what}: {error}");
    };
    (0..bytes.len()).for_each(|length| found_out(&bytes[..length], format!("cut at {length}")));
    found_out(&[&bytes[..], &[0]].concat(), "one byte more".to_owned());
    for place in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[place] ^= 0x10;
        found_out(&damaged, format!("damaged at {place} of {}", bytes.len()));
    }
    let error = Base::make(&folder.path().join("none"), &base).unwrap_err().to_string();
    assert!(error.starts_with(&folder.path().join("none").display().to_string()) && !error.contains('\n'), "{error}");
}

#[test]
fn accounts_are_followed_until_there_are_rewards_that_depend_on_what_a_genesis_lacks() {
    let terms =
        |pool| PoolTerms { pledge: 0, cost: 0, margin: (0, 1), account: Credential { script: false, hash: pool }, owners: Vec::new() };
    let without = shelley::PARAMETERS;
    let with = shelley::Parameters { tau: Ratio::new(1, 5).unwrap(), ..without };
    assert!(without.tau.is_one());
    for (is_stated, parameters, is_followed) in [
        (true, Some(&with), true),
        (true, Some(&without), true),
        (false, Some(&without), true),
        (false, Some(&with), false),
        (true, None, false),
    ] {
        let genesis = Genesis {
            pools: vec![([1; 28], [2; 32])],
            pool_terms: vec![is_stated.then(|| terms([1; 28]))],
            ledger: Some(Ledger { network: NETWORK, parameters: STATED.clone(), dreps: Vec::new(), governance: None }),
            ..genesis_with(without)
        };
        let mut stake = Stake::new(&genesis);
        stake.follow_accounts(&genesis, 0);
        assert!(stake.accounts().is_some());
        stake.begin_epoch(1, parameters);
        assert_eq!(stake.accounts().is_some(), is_followed, "{is_stated} {parameters:?}");
    }
}
