//! A run directory as the workbench of cardano-node leaves it behind, with what really happened beside it.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use slotmark_newfolder::NewFolder;
use slotmark_tracelog::{Ingested, SourceDigest, SourceFacts, date_of, settle};

use crate::clock::parse_start;
use crate::error::SimulationError;
use crate::logs::LogFiles;
use crate::profile::{Budget, Profile, is_first_version};
use crate::tables::{TableFiles, TableWriter};
use crate::topology::Topology;
use crate::truth::{Datum, Truth};
use crate::truth_tables::write_truth_tables;
use crate::{simulate, simulate_by_host};

/// The facts of a run directory.
#[derive(Clone, Debug)]
pub struct RunFacts {
    /// Hosts.
    pub hosts: usize,
    /// Slots.
    pub slots: u64,
    /// Blocks forged.
    pub blocks_forged: usize,
    /// Blocks on the chain at the end.
    pub blocks_chained: usize,
    /// Lines of log, all hosts; or what would be lines.
    pub lines: u64,
    /// Bytes of log, all hosts; 0 where no logs were written.
    pub bytes: u64,
}

/// Simulates a profile and writes its run directory: logs, `meta.json`, `profile.json`, `genesis/genesis.shelley.json`,
/// `topology.json`, `truth.jsonl` and a `truth-slots.jsonl` beside each log. The directory appears when it is complete.
pub fn write_run(
    profile: &Profile,
    seed: u64,
    directory: &Path,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<RunFacts, SimulationError> {
    let folder = NewFolder::create(directory).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => SimulationError::Exists(directory.to_path_buf()),
        _ => SimulationError::io(directory)(error),
    })?;
    let name = directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let facts = write_into(profile, seed, folder.path(), &name, progress)?;
    folder.finish().map_err(SimulationError::io(directory))?;
    Ok(facts)
}

fn write_into(
    profile: &Profile,
    seed: u64,
    directory: &Path,
    name: &str,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<RunFacts, SimulationError> {
    let start_s = parse_start(&profile.run.system_start).unwrap_or_default();
    let outcome = simulate(profile, seed, &mut LogFiles::below(directory, start_s), progress)?;
    write_description(profile, seed, directory, name, &outcome.topology)?;
    write_truth(&directory.join("truth.jsonl"), &outcome.truth, &outcome.topology)?;
    let (bytes, lines) = outcome.sinks.iter().map(crate::logs::LogWriter::written).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    Ok(facts(profile, &outcome.topology, &outcome.truth, lines, bytes))
}

/// Simulates a profile straight into tables, as [`slotmark_tracelog::ingest`] makes them of the logs, and those of the truth.
///
/// `tables` and `description` are folders that exist and are empty; what else a run directory holds goes into `description`.
/// `threads` hosts are narrated at once, as many as there are cores for 0. `progress` gets slots of hosts. The one source is the profile, with its seed as a last line.
pub fn write_tables(
    profile: &Profile,
    seed: u64,
    name: &str,
    tables: &Path,
    description: &Path,
    threads: usize,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<(RunFacts, Ingested), SimulationError> {
    let start_s = parse_start(&profile.run.system_start).unwrap_or_default();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|source| SimulationError::Threads { count: threads, source })?;
    let outcome = simulate_by_host(profile, seed, &mut TableFiles::below(tables, start_s), &pool, progress)?;
    write_description(profile, seed, description, name, &outcome.topology)?;
    let slots = outcome.sinks.iter().map(|sink| sink.slots).sum();
    let mut accounts: Vec<_> = outcome.sinks.into_iter().map(TableWriter::into_account).collect();
    accounts.sort_by_key(|(part, _)| *part);
    let accounts = accounts.into_iter().filter_map(|(_, account)| account).collect();
    let text = format!("{}\n# seed {seed}\n", profile.to_toml());
    let digest = SourceDigest::of(text.as_bytes());
    let source = SourceFacts { path: format!("simulated: {}, seed {seed}", profile.name).into(), bytes: text.len() as u64, digest };
    let mut ingested =
        settle(tables, vec![source], accounts).map_err(|source| SimulationError::Table { path: tables.to_path_buf(), source })?;
    ingested.tables.extend(write_truth_tables(tables, &outcome.truth, &outcome.topology)?);
    ingested.tables.insert("truth_slots".to_owned(), slots);
    let facts = facts(profile, &outcome.topology, &outcome.truth, ingested.lines, 0);
    Ok((facts, ingested))
}

/// Writes the files that describe a run directory.
fn write_description(profile: &Profile, seed: u64, directory: &Path, name: &str, topology: &Topology) -> Result<(), SimulationError> {
    fs::create_dir_all(directory.join("genesis")).map_err(SimulationError::io(directory))?;
    write_json(&directory.join("genesis/genesis.shelley.json"), &genesis(profile))?;
    let mut meta = meta(profile, "sim");
    meta["simulated"] =
        json!({"by": concat!("slotmark ", env!("CARGO_PKG_VERSION")), "seed": seed, "slots": profile.run.slots, "directory": name});
    write_profile(profile, meta, directory, topology, None)
}

/// Writes what the directory of a run on real nodes has beside genesis files and logs: `meta.json`, `profile.json`,
/// `topology.json` and `profile.toml`. The folder is there. `script` is what the workload's transactions run.
///
/// # Errors
/// A file can't be written.
pub fn write_live_description(
    profile: &Profile,
    directory: &Path,
    topology: &Topology,
    script: Option<&ScriptFacts>,
) -> Result<(), SimulationError> {
    write_profile(profile, meta(profile, "live"), directory, topology, script)
}

/// A script that transactions of a live cluster run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptFacts {
    /// The name of a loop, or of its file.
    pub name: String,
    /// Its hash, in hexadecimal digits.
    pub hash: String,
    /// Units that a run of it uses.
    pub used: Budget,
    /// The price of that, in lovelace.
    pub lovelace: u64,
}

fn write_profile(
    profile: &Profile,
    mut meta: Value,
    directory: &Path,
    topology: &Topology,
    script: Option<&ScriptFacts>,
) -> Result<(), SimulationError> {
    let mut content = profile_content(profile);
    if let Some(ScriptFacts { name, hash, used, lovelace }) = script {
        content["generator"]["plutus"] = json!({"type": "CustomCall", "script": name, "hash": hash, "units": used, "lovelace": lovelace});
    }
    meta["profile_content"] = content.clone();
    write_json(&directory.join("meta.json"), &json!({"meta": meta}))?;
    write_json(&directory.join("profile.json"), &content)?;
    write_json(&directory.join("topology.json"), &topology_json(topology, profile.network.pools))?;
    let path = directory.join("profile.toml");
    fs::write(&path, profile.to_toml()).map_err(SimulationError::io(&path))
}

fn facts(profile: &Profile, topology: &Topology, truth: &Truth, lines: u64, bytes: u64) -> RunFacts {
    RunFacts {
        hosts: topology.hosts.len(),
        slots: profile.run.slots,
        blocks_forged: truth.blocks.len() - 1,
        blocks_chained: truth.chain().len(),
        lines,
        bytes,
    }
}

fn write_json(path: &Path, value: &Value) -> Result<(), SimulationError> {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    fs::write(path, text).map_err(SimulationError::io(path))
}

/// The profile in the workbench's words.
fn profile_content(profile: &Profile) -> Value {
    let (genesis, workload) = (&profile.genesis, &profile.workload);
    let mut generator = json!({
        "add_tx_size": workload.payload.0,
        "inputs_per_tx": workload.inputs,
        "outputs_per_tx": workload.outputs,
        "tps": workload.tps,
        "tx_count": workload.tx_count,
        "era": profile.target.era,
    });
    if !workload.script.is_empty() {
        let kind = match workload.txs_per_block {
            0 => "LimitSaturationLoop".to_owned(),
            count => format!("LimitTxPerBlock_{count}"),
        };
        generator["plutus"] = json!({"type": kind, "script": workload.script});
    }
    if !workload.actions.is_empty() {
        generator["actions"] = json!(workload.actions);
    }
    if !workload.shares.is_empty() {
        generator["shares"] = json!(workload.shares);
    }
    let mut filters = vec![];
    if let Some(published) = &profile.published {
        filters.push(json!({"tag": "CSlot", "contents": {"tag": "EpochGEq", "contents": published.first_epoch}}));
        filters.push(json!({"tag": "CBlock", "contents": {"tag": "BFullnessGEq", "contents": published.min_fullness}}));
        if published.max_fullness < 1.0 {
            filters.push(json!({"tag": "CBlock", "contents": {"tag": "BFullnessLEq", "contents": published.max_fullness}}));
        }
        filters.push(json!({"tag": "CBlock", "contents": {"tag": "BMinimumAdoptions", "contents": profile.network.hosts - 1}}));
    }
    let mut stated = json!({
        "name": profile.name,
        "desc": profile.description,
        "era": profile.target.era,
        "composition": {"n_hosts": profile.network.hosts, "n_pools": profile.network.pools, "locations": profile.network.regions},
        "genesis": {
            "delegators": genesis.delegators,
            "utxo": genesis.utxo_entries,
            "dreps": genesis.dreps,
            "active_slots_coeff": genesis.active_slot_coefficient,
            "epoch_length": genesis.epoch_slots,
            "slot_duration": genesis.slot_length.0 as f64 / 1e9,
            "parameter_k": genesis.security_parameter,
            "network_magic": genesis.network_magic,
            "max_block_size": profile.largest_body_bytes(),
        },
        "generator": generator,
        "analysis": {"filters": [], "filter_exprs": filters},
    });
    if !is_first_version(&genesis.protocol_version) {
        stated["genesis"]["protocol_version"] = json!(genesis.protocol_version);
    }
    if !genesis.budgets.are_public() {
        stated["genesis"]["budgets"] = json!(genesis.budgets);
    }
    stated
}

/// Returns the value of `meta` in `meta.json`, but for the profile; `kind` ends the tag.
fn meta(profile: &Profile, kind: &str) -> Value {
    let target = &profile.target;
    let start_s = parse_start(&profile.run.system_start).unwrap_or_default();
    let manifest: serde_json::Map<String, Value> = target
        .components
        .iter()
        .map(|(name, component)| {
            let value = json!({"name": name, "version": component.version, "commit": component.commit, "branch": "", "status": ""});
            (name.clone(), value)
        })
        .collect();
    json!({
        "tag": tag(profile, start_s, kind),
        "batch": target.batch,
        "profile": profile.name,
        "era": target.era,
        "ident": target.ident,
        "node_ghc_version": target.ghc_version,
        "manifest": manifest,
        "timing": {"start": start_s, "start_human": profile.run.system_start, "earliest_start": start_s},
    })
}

/// The tag of the workbench: `YYYY-MM-DD-HH-MM-COMMIT-BATCH-PROFILE-ERA-KIND`.
fn tag(profile: &Profile, start_s: u64, kind: &str) -> String {
    let (year, month, day) = date_of(start_s / 86_400);
    let (hour, minute) = (start_s % 86_400 / 3_600, start_s % 3_600 / 60);
    let commit = profile.target.components.get("cardano-node").map_or("unknown", |node| &node.commit);
    let cut = |text: &str, length: usize| text.chars().take(length).collect::<String>();
    let (commit, batch, era) = (cut(commit, 5), cut(&profile.target.batch, 12), cut(&profile.target.era, 4));
    format!("{year:04}-{month:02}-{day:02}-{hour:02}-{minute:02}-{commit}-{batch}-{}-{era}-{kind}", profile.name)
}

fn genesis(profile: &Profile) -> Value {
    let genesis = &profile.genesis;
    json!({
        "activeSlotsCoeff": genesis.active_slot_coefficient,
        "epochLength": genesis.epoch_slots,
        "maxKESEvolutions": 62,
        "maxLovelaceSupply": 45_000_000_000_000_000_u64,
        "networkId": "Testnet",
        "networkMagic": genesis.network_magic,
        "protocolParams": {
            "maxBlockBodySize": profile.largest_body_bytes(),
            "maxBlockHeaderSize": 1_100,
            "maxTxSize": 16_384,
            "protocolVersion": {"major": genesis.protocol_version, "minor": 0},
        },
        "securityParam": genesis.security_parameter,
        "slotLength": genesis.slot_length.0 as f64 / 1e9,
        "slotsPerKESPeriod": 129_600,
        "systemStart": profile.run.system_start,
        "updateQuorum": 1,
    })
}

fn topology_json(topology: &Topology, pools: u32) -> Value {
    let nodes: Vec<Value> = topology
        .hosts
        .iter()
        .enumerate()
        .map(|(n, host)| {
            let producers: Vec<&str> = topology
                .links
                .iter()
                .filter(|link| link.follower as usize == n)
                .map(|link| topology.hosts[link.producer as usize].name.as_str())
                .collect();
            json!({"nodeId": n, "name": host.name, "org": "IOHK", "region": host.region, "producers": producers, "stakePool": n < pools as usize})
        })
        .collect();
    json!({"coreNodes": nodes, "relayNodes": []})
}

/// One line per host, then one per block, then one per (block, host).
fn write_truth(path: &Path, truth: &Truth, topology: &Topology) -> Result<(), SimulationError> {
    let file = File::create(path).map_err(SimulationError::io(path))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    truth_lines(&mut out, truth, topology).and_then(|()| out.flush()).map_err(SimulationError::io(PathBuf::from(path)))
}

fn truth_lines(out: &mut impl Write, truth: &Truth, topology: &Topology) -> std::io::Result<()> {
    for (host, facts) in topology.hosts.iter().enumerate() {
        let tip = truth.tips[host];
        let line = json!({"kind": "host", "host": facts.name, "region": facts.region, "clock_ahead_ns": facts.clock_ahead_ns, "tip": truth.hash(tip)});
        writeln!(out, "{line}")?;
    }
    let chain: std::collections::HashSet<u32> = truth.chain().into_iter().collect();
    for (block, times) in truth.blocks.iter().zip(&truth.forging).skip(1) {
        let mut line = json!({
            "kind": "block", "block": truth.hash(block.index), "slot": block.slot, "number": block.number(),
            "parent": truth.hash(block.parent), "forger": topology.hosts[block.forger as usize].name, "size_bytes": block.size_bytes,
            "txs": block.txs, "vrf": block.vrf, "on_chain": chain.contains(&block.index),
            "forged_ns": block.forged_ns,
        });
        add(&mut line, *times);
        writeln!(out, "{line}")?;
    }
    for block in truth.blocks.iter().skip(1) {
        let hash = truth.hash(block.index);
        for (host, facts) in topology.hosts.iter().enumerate() {
            let mut line = json!({"kind": "observation", "block": hash, "host": facts.name});
            add(&mut line, truth.observation(host, block.index));
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

/// Adds the members of a part of the truth to a line.
fn add(line: &mut Value, truth: impl Datum) {
    truth.members("", &mut |name, member| line[name] = member.into());
}
