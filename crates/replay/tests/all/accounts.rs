//! Accounts and pots after a replay, which keeps unspent outputs in its store, against those of a state that keeps all by itself.

use std::collections::HashSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum as _;
use serde_json::{Value, json};
use slotmark_chain::Chain;
use slotmark_chain::block::{Decoder, decode_output};
use slotmark_praos::base::Base;
use slotmark_praos::check::check_chain;
use slotmark_praos::genesis::Genesis;
use slotmark_praos::state::ChainState;
use slotmark_replay::{Backend, Settings, replay};
use slotmark_synth::{Recipe, Shares, Workload, forge};

const DELEGATORS: u64 = 500;

struct Place {
    folder: tempfile::TempDir,
    chain: PathBuf,
    genesis: PathBuf,
}

impl Place {
    /// A chain of some ten epochs with rewards.
    fn forged() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let chain = folder.path().join("chain");
        let recipe = Recipe { security_parameter: 2, delegators: DELEGATORS, ..Recipe::new(Workload::ValueOnly, 180) };
        forge(&recipe, &chain, &mut |_| ControlFlow::Continue(())).unwrap();
        Self { genesis: chain.join("genesis/shelley-genesis.json"), chain, folder }
    }

    /// All lines of a replay.
    fn replay(&self, backend: &str, blocks: Option<u64>, reapply: bool) -> Vec<Value> {
        let out = self.folder.path().join("out");
        let settings = Settings {
            chain: self.chain.clone(),
            genesis: Some(self.genesis.clone()),
            prepared: None,
            backend: Backend::from_str(backend, false).expect("a store"),
            state: self.folder.path().join(format!("state of {backend}")),
            flush_every: 7,
            blocks,
            reapply,
            pause: Duration::ZERO,
        };
        assert_eq!(replay(&settings, &out).unwrap().missing, 0);
        fs::read_to_string(&out).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// The pots of a last line.
fn pots(lines: &[Value]) -> Value {
    let end = lines.last().expect("a last line");
    let names = ["accounts", "rewards", "treasury", "reserves", "deposits", "fees", "donations"];
    names.into_iter().map(|name| (name.to_owned(), end[name].clone())).collect::<serde_json::Map<_, _>>().into()
}

/// The same of a state that keeps unspent outputs itself, and all lovelace that there is in it.
fn followed(chain: &Path, genesis: &Path, blocks: usize) -> (Value, u64) {
    let (chain, genesis) = (Chain::open(chain).unwrap(), Arc::new(Genesis::read(genesis).unwrap()));
    let mut state = ChainState::with_accounts(Some(&genesis));
    let mut decoder = Decoder::new();
    for index in 0..blocks.min(chain.len()) {
        let block = decoder.decode(chain.bytes(index)).unwrap();
        state.step(&block).unwrap();
    }
    let stake = state.stake().unwrap();
    let accounts = stake.accounts().expect("accounts that are followed");
    let (pots, rewards) = (accounts.pots(), accounts.all_rewards());
    let unspent: u64 = stake.all_unspent().map(|(_, _, encoded)| decode_output(&encoded).unwrap().lovelace).sum();
    let all = unspent + rewards + pots.treasury + pots.reserves + pots.deposits + pots.fees + pots.donations;
    let pots = json!({
        "accounts": accounts.registered(), "rewards": rewards, "treasury": pots.treasury, "reserves": pots.reserves,
        "deposits": pots.deposits, "fees": pots.fees, "donations": pots.donations,
    });
    (pots, all)
}

#[test]
fn every_store_ends_with_the_same_accounts_and_pots_as_a_state_that_keeps_all_itself() {
    let place = Place::forged();
    let (expected, all) = followed(&place.chain, &place.genesis, usize::MAX);
    assert_eq!(expected["accounts"], 16 + DELEGATORS);
    assert!(expected["rewards"].as_u64() > Some(0), "{expected}");
    // Those of a genesis have a deposit that nobody paid.
    assert_eq!(all, 45_000_000_000_000_000 + (16 + DELEGATORS) * 2_000_000 + 2 * 500_000_000);
    for backend in ["memory", "lmdb", "lsm"] {
        let lines = place.replay(backend, None, false);
        assert_eq!(pots(&lines), expected, "{backend}");
        let boundaries = lines.iter().filter(|line| line["first_of_epoch"] == 1).count();
        assert!(boundaries >= 5, "{boundaries}");
        assert!(lines[1..lines.len() - 1].iter().all(|line| line["tick_ns"].is_u64() && line["accounts_ns"].is_u64()));
    }
    assert_eq!(pots(&place.replay("memory", None, true)), expected, "reapplied");
    // Pots at other places are others: what is compared above could differ.
    let earlier = followed(&place.chain, &place.genesis, 150).0;
    assert_ne!(earlier, expected);
    assert_eq!(pots(&place.replay("memory", Some(150), false)), earlier);
}

#[test]
fn rewards_are_worked_out_in_pulses_from_four_tenths_of_an_epoch_on() {
    let place = Place::forged();
    let lines = place.replay("memory", None, false);
    // An epoch has 400 slots, of which 4k/f are 160. There are 4k pulses of a part of the owners each, but none in the last fifth of the epoch, before
    // which all is done. In the first two epochs no snapshot is old enough.
    let pulse = (16 + DELEGATORS).div_ceil(8);
    let (mut left, mut running, mut late) = (None, 0, 0);
    for line in &lines[1..lines.len() - 1] {
        let slot = line["slot"].as_u64().unwrap();
        if slot / 400 != running {
            (running, left) = (slot / 400, None);
        }
        let (is_early, is_late) = (slot % 400 <= 160, slot % 400 > 320);
        let next = match left {
            _ if is_early || running < 2 => None,
            _ if is_late => Some(0),
            None => Some(16 + DELEGATORS),
            Some(left) => Some(u64::saturating_sub(left, pulse)),
        };
        assert_eq!(line["reward_pulse"], u64::from(next != left), "slot {slot}");
        late += u64::from(is_late && next != left);
        left = next;
    }
    assert!(late > 0 && running > 5, "{late} epochs of {running} were late");
}

#[test]
fn a_replay_that_goes_on_has_the_accounts_of_one_that_was_not_disturbed() {
    let place = Place::forged();
    let whole = place.replay("memory", None, false);
    place.replay("lmdb", Some(93), false);
    let rest = place.replay("lmdb", None, false);
    assert!(rest[0]["resumed_after"].is_u64());
    assert_eq!(rest.len(), whole.len() - 93);
    assert_eq!(pots(&rest), pots(&whole));
    let marks = |lines: &[Value]| lines.iter().filter_map(|line| line["first_of_epoch"].as_u64()).collect::<Vec<_>>();
    assert_eq!(marks(&rest), marks(&whole)[93..]);
}

#[test]
fn accounts_over_a_base_are_those_of_a_genesis_that_is_held_whole_even_where_each_block_is_taken_back() {
    let recipe = Recipe { security_parameter: 2, utxo: 1_000, ..Recipe::new(Workload::Acting(Shares::MIXED), 120) };
    let [registered, epochs, rewards] = different_over_a_base(&recipe);
    assert!(registered > 5 && epochs > 3 && rewards == 1, "{registered} {epochs} {rewards}");
}

#[test]
fn rewards_over_a_base_are_those_of_a_genesis_that_is_held_whole() {
    let recipe = Recipe { delegators: DELEGATORS, ..Recipe::new(Workload::ValueOnly, 180) };
    let [_, epochs, rewards] = different_over_a_base(&Recipe { security_parameter: 2, utxo: 1_000, ..recipe });
    assert!(epochs > 5 && rewards > 3, "{epochs} {rewards}");
}

/// Goes over a chain with a genesis that is held whole and with its base, and takes each block back once in the latter. Returns the numbers of
/// different counts of registered credentials, of epochs, and of different sums of rewards.
fn different_over_a_base(recipe: &Recipe) -> [usize; 3] {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("chain");
    forge(recipe, &place, &mut |_| ControlFlow::Continue(())).unwrap();
    let (path, base) = (place.join("genesis/shelley-genesis.json"), folder.path().join("base"));
    Base::make(&path, &base).unwrap();
    let genesis = [Genesis::read(&path).unwrap(), Genesis::on_base(Base::open(&base).unwrap(), &path).unwrap()].map(Arc::new);
    let mut states = [0, 1].map(|one| ChainState::with_accounts(Some(&genesis[one])));
    let chain = Chain::open(&place).unwrap();
    let mut decoder = Decoder::new();
    let (mut registered, mut epochs, mut rewards) = (HashSet::new(), HashSet::new(), HashSet::new());
    for index in 0..chain.len() {
        let block = decoder.decode(chain.bytes(index)).unwrap();
        let (_, undo) = states[1].step_with_undo(&block);
        states[1].undo(undo);
        let found = [0, 1].map(|one| {
            let state = &mut states[one];
            let next = state.of_next_header(block.header.era, block.header.slot).step_header(&block.header, block.body_bytes());
            let step = state.step(&block).unwrap();
            assert_eq!(next.epoch.unwrap().distribution, step.epoch.as_ref().unwrap().distribution);
            let stake = state.stake().unwrap();
            let accounts = stake.accounts().expect("accounts that are followed");
            let fits: Vec<_> = step.resolved.iter().map(|resolved| resolved.fits_accounts).collect();
            assert!(fits.iter().all(|fits| *fits == Some(true)), "{fits:?}");
            let epoch = step.epoch.unwrap();
            epochs.insert(epoch.number);
            registered.insert(accounts.registered());
            rewards.insert(accounts.all_rewards());
            (
                fits,
                *accounts.pots(),
                accounts.registered(),
                accounts.all_rewards(),
                epoch.distribution.clone().unwrap(),
                stake.distribution(),
            )
        });
        assert_eq!(found[0], found[1], "block {index}");
    }
    genesis[1].sound().unwrap();
    [registered.len(), epochs.len(), rewards.len()]
}

/// Deposits of proposals in transactions that are at most so many epochs old at the end, and all others.
fn proposed(place: &Place, epochs: u64) -> [u64; 2] {
    let chain = Chain::open(&place.chain).unwrap();
    let last = chain.entry(chain.len() - 1).slot / 400;
    let mut decoder = Decoder::new();
    let mut found = [0; 2];
    for index in 0..chain.len() {
        let block = decoder.decode(chain.bytes(index)).unwrap();
        for transaction in block.transactions {
            let deposits: u64 = block.proposals(transaction).unwrap().iter().map(|proposal| proposal.deposit).sum();
            found[usize::from(last - block.header.slot / 400 > epochs)] += deposits;
        }
    }
    found
}

#[test]
fn proposals_expire_and_deposits_go_back_over_a_chain_of_votes() {
    let folder = tempfile::tempdir().unwrap();
    let chain = folder.path().join("chain");
    let shares: Shares = "value=300,registration=6,withdrawal=6,drep=4,proposal=6,vote=40".parse().unwrap();
    let recipe = Recipe { security_parameter: 2, max_block_body_bytes: 16_384, ..Recipe::new(Workload::Acting(shares), 850) };
    forge(&recipe, &chain, &mut |_| ControlFlow::Continue(())).unwrap();
    let place = Place { genesis: chain.join("genesis/shelley-genesis.json"), chain, folder };
    // One waits for the 30 epochs behind its own, for one in which it expires, and goes at the end of that.
    let [waiting, gone] = proposed(&place, 31);
    assert!(waiting > 0 && gone > 0, "{waiting} {gone}");
    let genesis = Arc::new(Genesis::read(&place.genesis).unwrap());
    let opened = Chain::open(&place.chain).unwrap();
    let report = check_chain(&opened, Some(&genesis), &mut |_, _| ControlFlow::Continue(())).unwrap();
    for counts in &report.rules {
        assert_eq!((counts.unknown, counts.approximate, counts.broken), (0, 0, 0), "{}: {:?}", counts.rule, report.failures.first());
    }
    let of_state = report.rules.iter().find(|counts| counts.rule == "ledger-state").expect("transactions with certificates");
    assert!(of_state.held > 1_000, "{}", of_state.held);
    let (expected, all) = followed(&place.chain, &place.genesis, usize::MAX);
    // Pools and keys of the genesis have deposits that nobody paid.
    assert_eq!(all, 45_000_000_000_000_000 + 16 * 2_000_000 + 2 * 500_000_000);
    let deposits = expected["deposits"].as_u64().unwrap();
    assert!((waiting..waiting + 2_000_000_000_000).contains(&deposits), "{deposits} of {waiting}");
    // Of what went back some is withdrawn, some is in accounts, and what had no account is in the treasury.
    assert!(expected["rewards"].as_u64() > Some(0) && expected["treasury"].as_u64() > Some(0), "{expected}");
    for backend in ["memory", "lsm"] {
        assert_eq!(pots(&place.replay(backend, None, false)), expected, "{backend}");
    }
}

#[test]
#[ignore = "needs the shared data: the real chain and its genesis"]
fn the_real_chain_ends_with_the_same_pots() {
    let shared = std::env::var_os("SLOTMARK_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let place = Place {
        folder: tempfile::tempdir().unwrap(),
        chain: std::env::var_os("SLOTMARK_PREVIEW_CHAIN").expect("SLOTMARK_PREVIEW_CHAIN names the real chain's folder").into(),
        genesis: shared.join("data/preview-genesis/shelley-genesis.json"),
    };
    let (expected, all) = followed(&place.chain, &place.genesis, usize::MAX);
    assert_eq!(all, 45_000_000_000_000_000);
    assert_eq!(pots(&place.replay("memory", None, false)), expected);
}
