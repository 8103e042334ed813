//! Snapshots of a forged chain with rewards: each state leads to the next one by the rewards that it states, and nothing is lost.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use pallas_codec::minicbor::data::Type;
use pallas_codec::minicbor::decode::Error;
use pallas_codec::minicbor::{Decode, Decoder};
use tempfile::TempDir;

const DELEGATORS: u64 = 50;

/// The owner of an account: whether it is a script, and the hash.
type Owner = (u8, Vec<u8>);

/// Rewards, deposit and pool.
type Account = (u64, u64, Option<Vec<u8>>);

/// The parts of a state that are read.
#[derive(Debug, Default)]
struct State {
    epoch: u64,
    blocks: [BTreeMap<Vec<u8>, u64>; 2],
    treasury: u64,
    reserves: u64,
    pools: usize,
    accounts: BTreeMap<Owner, Account>,
    outputs: usize,
    deposits: u64,
    fees: u64,
    parameters: usize,
    /// Lovelace that the epoch's end moves: into the treasury, out of the reserves, to accounts, out of the fees.
    update: (u64, u64, BTreeMap<Owner, u64>, u64),
}

fn owner(decoder: &mut Decoder<'_>) -> Result<Owner, Error> {
    assert_eq!(decoder.array()?, Some(2));
    Ok((decoder.u8()?, decoder.bytes()?.to_vec()))
}

fn map<K: Ord, V>(
    decoder: &mut Decoder<'_>,
    mut entry: impl FnMut(&mut Decoder<'_>) -> Result<(K, V), Error>,
) -> Result<BTreeMap<K, V>, Error> {
    let entries = decoder.map()?.expect("a length");
    let read: BTreeMap<K, V> = (0..entries).map(|_| entry(decoder)).collect::<Result<_, _>>()?;
    assert_eq!(read.len() as u64, entries, "a key twice");
    Ok(read)
}

/// One that may be missing: an array of it, or an empty one.
fn maybe<T>(decoder: &mut Decoder<'_>, read: impl FnOnce(&mut Decoder<'_>) -> Result<T, Error>) -> Result<Option<T>, Error> {
    if decoder.array()? == Some(0) { Ok(None) } else { read(decoder).map(Some) }
}

fn expect_array(decoder: &mut Decoder<'_>, items: u64) {
    assert_eq!(decoder.array().expect("an array"), Some(items));
}

fn skip(decoder: &mut Decoder<'_>, items: usize) -> Result<(), Error> {
    (0..items).try_for_each(|_| decoder.skip())
}

impl<'b, C> Decode<'b, C> for State {
    /// As cardano-ledger lays a `NewEpochState` out.
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, Error> {
        let mut state = Self::default();
        expect_array(d, 7);
        state.epoch = d.u64()?;
        for blocks in &mut state.blocks {
            *blocks = map(d, |d| Ok((d.bytes()?.to_vec(), d.u64()?)))?;
        }
        expect_array(d, 4);
        expect_array(d, 2);
        (state.treasury, state.reserves) = (d.u64()?, d.u64()?);
        expect_array(d, 2);
        expect_array(d, 3);
        expect_array(d, 3);
        skip(d, 3)?; // DReps, committee, epochs without proposals
        expect_array(d, 4);
        state.pools = map(d, |d| {
            let id = d.bytes()?.to_vec();
            expect_array(d, 9);
            assert_eq!(d.bytes()?, id);
            assert_eq!(d.bytes()?.len(), 32);
            skip(d, 3)?;
            assert_eq!((d.bytes()?.len(), d.array()?, d.array()?, d.datatype()?), (29, Some(0), Some(0), Type::Null));
            d.skip()?;
            Ok((id, ()))
        })?
        .len();
        skip(d, 3)?;
        expect_array(d, 4);
        expect_array(d, 2);
        state.accounts = map(d, |d| {
            let owner = owner(d)?;
            expect_array(d, 4);
            expect_array(d, 1);
            expect_array(d, 2);
            let (rewards, deposit) = (d.u64()?, d.u64()?);
            d.skip()?;
            let pool = maybe(d, |d| Ok(d.bytes()?.to_vec()))?;
            d.skip()?;
            Ok((owner, (rewards, deposit, pool)))
        })?;
        skip(d, 4)?;
        expect_array(d, 6);
        state.outputs = map(d, |d| {
            expect_array(d, 2);
            let place = (d.bytes()?.to_vec(), d.u64()?);
            d.skip()?;
            Ok((place, ()))
        })?
        .len();
        (state.deposits, state.fees) = (d.u64()?, d.u64()?);
        expect_array(d, 7);
        skip(d, 3)?;
        state.parameters = d.array()?.expect("a length") as usize;
        skip(d, state.parameters)?;
        skip(d, 3)?;
        skip(d, 2)?; // stake, donations
        skip(d, 2)?; // snapshots, likelihoods
        expect_array(d, 1);
        expect_array(d, 2);
        assert_eq!(d.u64()?, 1, "rewards that are complete");
        expect_array(d, 5);
        let (treasury, reserves) = (d.u64()?, d.u64()?);
        let rewards = map(d, |d| {
            let owner = owner(d)?;
            expect_array(d, 1);
            expect_array(d, 3);
            skip(d, 2)?;
            Ok((owner, d.u64()?))
        })?;
        state.update = (treasury, reserves, rewards, d.u64()?);
        skip(d, 3)?;
        Ok(state)
    }
}

/// Runs the program; every line of its progress gets an answer.
fn forge(words: &[&str]) -> Output {
    let program = Command::new(env!("CARGO_BIN_EXE_slotmark-forge")).args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut program = program.expect("the program");
    program.stdin.as_mut().expect("a pipe").write_all(&b"\n".repeat(1_000)).expect("written");
    program.wait_with_output().expect("its end")
}

struct Place {
    folder: TempDir,
    chain: PathBuf,
}

impl Place {
    fn forged(blocks: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let chain = folder.path().join("chain");
        let delegators = DELEGATORS.to_string();
        // Epochs of 400 slots.
        let words = ["forge-chain", "--workload", "empty", "--blocks", blocks, "--seed", "1", "--security-parameter", "2", "--utxo", "0"];
        let made = forge(&[&words[..], &["--delegators", &delegators, "--out", chain.to_str().expect("a path")]].concat());
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stdout));
        Self { folder, chain }
    }

    fn snapshots(&self, out: &Path, more: &[&str]) -> String {
        let genesis = self.chain.join("genesis/shelley-genesis.json");
        let [chain, genesis, out] = [&self.chain, &genesis, out].map(|path| path.to_str().expect("a path"));
        let made = forge(&[&["snapshot-chain", "--chain", chain, "--genesis", genesis, "--out", out][..], more].concat());
        String::from_utf8(made.stdout).expect("text")
    }
}

#[test]
fn each_state_leads_to_the_next_by_the_rewards_that_it_states() {
    let place = Place::forged("130");
    let out = place.folder.path().join("snapshots");
    let said = place.snapshots(&out, &[]);
    assert!(said.contains(r#""made":"#), "{said}");
    let mut states: Vec<(u64, State)> = Vec::new();
    for entry in fs::read_dir(&out).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "cbor") {
            let stem = path.file_stem().expect("a name").to_str().expect("text").to_owned();
            let slot = stem.split_once('.').expect("a slot").0.parse().expect("a slot");
            let encoded = fs::read(&path).expect("a file");
            let mut decoder = Decoder::new(&encoded);
            states.push((slot, decoder.decode().expect("a state")));
            assert_eq!(decoder.position(), encoded.len(), "{stem}");
            assert!(out.join(format!("history.{stem}.json")).is_file());
        }
    }
    states.sort_by_key(|(slot, _)| *slot);
    assert_eq!(states.len(), 3);
    for (slot, state) in &states {
        assert_eq!(state.epoch, slot / 400);
        assert_eq!((state.pools, state.parameters, state.outputs as u64), (2, 31, 16_384 + DELEGATORS));
        assert_eq!((state.accounts.len() as u64, state.deposits), (16 + DELEGATORS, (16 + DELEGATORS) * 2_000_000 + 2 * 500_000_000));
        assert!(state.accounts.values().all(|(_, deposit, pool)| *deposit == 2_000_000 && pool.is_some()));
        let held = 16_384 * 1_600_000_000_000 + DELEGATORS * 500_000_000;
        let rewards: u64 = state.accounts.values().map(|(rewards, ..)| rewards).sum();
        assert_eq!(held + rewards + state.treasury + state.reserves + state.fees, 45_000_000_000_000_000);
    }
    for pair in states.windows(2) {
        let [(_, one), (_, next)] = pair else { unreachable!("windows of two") };
        let (treasury, reserves, rewards, fees) = &one.update;
        assert!(!rewards.is_empty());
        assert_eq!(next.epoch, one.epoch + 1);
        assert_eq!(next.blocks[0], one.blocks[1]);
        assert_eq!((next.treasury, next.reserves, next.fees), (one.treasury + treasury, one.reserves - reserves, one.fees - fees));
        for (owner, (before, ..)) in &one.accounts {
            assert_eq!(next.accounts[owner].0, before + rewards.get(owner).unwrap_or(&0));
        }
    }
    // The header of the last block of each of the last two epochs, and nonces at the last one.
    let headers = fs::read_dir(out.join("headers")).expect("a folder").count();
    let nonces: serde_json::Value = serde_json::from_slice(&fs::read(out.join("nonces.json")).expect("a file")).expect("JSON");
    let at = nonces["at"].as_str().expect("a point");
    assert!(headers == 2 && out.join(format!("headers/{at}.cbor")).is_file() && out.join(format!("{at}.cbor")).is_file());
    let tail = nonces["tail"].as_str().expect("a hash");
    let is_there = fs::read_dir(out.join("headers")).expect("a folder").any(|entry| {
        let name = entry.expect("an entry").file_name();
        name.to_str().expect("text").contains(tail)
    });
    assert!(is_there, "{tail}");
}

#[test]
fn a_chains_last_epoch_has_ended_where_that_is_said() {
    let place = Place::forged("48");
    let out = place.folder.path().join("snapshots");
    let said = place.snapshots(&out, &[]);
    assert!(said.contains("2 epochs have ended in it: expected 3 at least") && said.contains("or give --ended"), "{said}");
    let said = place.snapshots(&out, &["--ended"]);
    assert!(said.contains(r#""blocks_after":0,"epochs":[0,1,2]"#), "{said}");
}

#[test]
fn what_cannot_be_done_is_told_and_leaves_nothing() {
    let place = Place::forged("40");
    let out = place.folder.path().join("snapshots");
    let said = place.snapshots(&out, &[]);
    assert!(said.contains("epochs have ended in it: expected 3 at least"), "{said}");
    assert!(!out.exists());
    fs::create_dir(&out).expect("a folder");
    let longer = Place::forged("130");
    assert!(longer.snapshots(&out, &[]).contains("it is there already"), "{said}");
    assert_eq!(fs::read_dir(&out).expect("a folder").count(), 0);
    let conway = longer.chain.join("genesis/conway-genesis.json");
    let text = fs::read_to_string(&conway).expect("a file");
    let member = format!(r#""members": {{"keyHash-{}": 5}}"#, "00".repeat(28));
    let with_members = text.replace(r#""members": {}"#, &member);
    assert_ne!(with_members, text);
    fs::write(&conway, with_members).expect("written");
    let said = longer.snapshots(&place.folder.path().join("others"), &[]);
    assert!(said.contains("expected a genesis of Conway beside it without a committee's members"), "{said}");
}

/// A file system in memory, which goes with this.
struct Disk(PathBuf);

impl Disk {
    /// Mounts one; None where that can't be done.
    fn mounted(place: PathBuf, options: &str) -> Option<Self> {
        fs::create_dir_all(&place).expect("a folder");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "none"]).arg(&place).status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self(place));
        }
        eprintln!("skipped: no file system can be mounted here");
        None
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// The files of a folder and of the folders in it, each with its length: outputs are in no order.
fn content(folder: &Path) -> BTreeMap<PathBuf, u64> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(content(&path));
        } else {
            found.insert(path.file_name().expect("a name").into(), path.metadata().expect("a file").len());
        }
    }
    found
}

#[test]
fn snapshots_are_whole_or_absent_wherever_the_disk_is_full() {
    let place = Place::forged("130");
    let out = place.folder.path().join("snapshots");
    assert!(place.snapshots(&out, &[]).contains(r#""made":"#));
    let whole = content(&out);
    let bytes: u64 = whole.values().sum();
    for (part, of) in [(1, "nr_inodes"), (bytes / 6, "size")] {
        let mut refused = 0;
        // Room for one file more each time, and for a sixth more of the bytes, until it is enough.
        for parts in 1.. {
            let Some(disk) = Disk::mounted(place.folder.path().join("disk"), &format!("{of}={}", part * parts)) else { return };
            let said = place.snapshots(&disk.0.join("snapshots"), &[]);
            if said.contains(r#""made":"#) {
                assert_eq!(content(&disk.0.join("snapshots")), whole, "{of} {parts}");
                break;
            }
            assert!(
                said.contains("can't be written (No space left on device (os error 28)). Make room or choose another place."),
                "{said}"
            );
            assert!(said.contains(disk.0.to_str().expect("a path")), "{said}");
            assert_eq!(fs::read_dir(&disk.0).expect("a folder").count(), 0, "{of} {parts}");
            refused += 1;
        }
        assert!(refused >= 5, "{of}: {refused}");
    }
}
