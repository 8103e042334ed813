//! From a profile to a bed: the simulator's topology and description, and the genesis, keys and configurations of `slotmark-synth`.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use serde_json::Value;
use slotmark_clustersim::{Profile, ScriptFacts, SimulationError, Topology, write_live_description};
use slotmark_newfolder::NewFolder;
use slotmark_synth::bed::{BED_SCHEMA, Bed, BedGenesis, BedHost, BedLink};
use slotmark_synth::{Budget, Budgets, Loop, Script, SynthError};

/// Reasons why a bed couldn't be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BedError {
    #[error(transparent)]
    Profile(#[from] SimulationError),
    #[error(transparent)]
    Files(#[from] SynthError),
    #[error("{path}: exists already; name another folder or remove it.")]
    Exists { path: String },
    #[error("{path}: can't be written ({source}). Nothing was kept; make room or choose another place, and run again.")]
    Folder { path: String, source: io::Error },
    #[error("{0}")]
    Json(#[from] serde_json::Error),
}

/// The part of a profile that is of live runs alone.
pub(crate) struct Live {
    /// Unspent outputs of the workload.
    pub(crate) funds: u32,
    /// Epochs that have ended when a run begins.
    pub(crate) past_epochs: u64,
}

/// Makes the bed of a profile in a new folder, which is there only when it is whole. `script` is what the profile's workload names as a file.
pub(crate) fn create(
    profile: &Profile,
    seed: u64,
    live: Live,
    changed: BTreeMap<String, (Value, Value)>,
    script: Option<Script>,
    out: &Path,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Bed, BedError> {
    let topology = Topology::of(profile, seed)?;
    let (script, facts) = match run_by(profile, script)? {
        Some((script, used)) => {
            let facts = ScriptFacts {
                name: script.name().to_owned(),
                hash: script.hash_text(),
                used: slotmark_clustersim::Budget { memory: used.memory, steps: used.steps },
                lovelace: used.price(),
            };
            (Some(script), Some(facts))
        }
        None => (None, None),
    };
    let bed = Bed { script, ..bed(profile, &topology, seed, live, changed)? };
    let path = out.display().to_string();
    let folder = NewFolder::create(out).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => BedError::Exists { path: path.clone() },
        _ => BedError::Folder { path: path.clone(), source },
    })?;
    bed.write(folder.path(), progress)?;
    write_live_description(profile, folder.path(), &topology, facts.as_ref())?;
    folder.finish().map_err(|source| BedError::Folder { path, source })?;
    Ok(bed)
}

/// The budgets of a profile's network.
///
/// # Errors
/// One is too small or too large.
pub(crate) fn budgets(profile: &Profile) -> Result<Budgets, SynthError> {
    let of = |budget: slotmark_clustersim::Budget| Budget { memory: budget.memory, steps: budget.steps };
    let budgets = Budgets { transaction: of(profile.genesis.budgets.transaction), block: of(profile.genesis.budgets.block) };
    budgets.check()?;
    Ok(budgets)
}

/// The script that transactions of a profile run, and what a run uses; None where they run none. `file` is what the profile names as a file.
fn run_by(profile: &Profile, file: Option<Script>) -> Result<Option<(Script, Budget)>, SynthError> {
    let (budgets, workload) = (budgets(profile)?, &profile.workload);
    if !workload.actions.is_empty() {
        crate::recipe::shares(profile)?;
    }
    match Loop::named(&workload.script) {
        Some(one) => {
            let calibrated = one.within(budgets.share(workload.txs_per_block), profile.genesis.protocol_version)?;
            Ok(Some((calibrated.script, calibrated.used)))
        }
        None if workload.txs_per_block > 0 => Err(SynthError::Refused(format!(
            "workload.txs_per_block is {}: only a loop of slotmark can be run for a share of a block's budget. Give 0.",
            workload.txs_per_block
        ))),
        None => file.map(|script| script.used(budgets.transaction).map(|used| (script, used))).transpose(),
    }
}

fn bed(profile: &Profile, topology: &Topology, seed: u64, live: Live, changed: BTreeMap<String, (Value, Value)>) -> Result<Bed, BedError> {
    let (genesis, network) = (&profile.genesis, &profile.network);
    let magic = u32::try_from(genesis.network_magic)
        .map_err(|_| SynthError::Refused(format!("genesis.network_magic is {}: expected {} at most.", genesis.network_magic, u32::MAX)))?;
    let hosts = (0..).zip(&topology.hosts).map(|(number, host)| {
        let stake = network.stake.get(number as usize).copied().unwrap_or(1.0);
        let new = BedHost::new(number, host.region.clone(), (number < network.pools).then_some(stake));
        BedHost { edge: network.is_edge(number), ..new }
    });
    let links = topology.links.iter();
    Ok(Bed {
        schema: BED_SCHEMA,
        seed,
        genesis: BedGenesis {
            network_magic: magic,
            slot_length_ns: genesis.slot_length.0,
            active_slot_coefficient: genesis.active_slot_coefficient,
            security_parameter: genesis.security_parameter,
            epoch_slots: genesis.epoch_slots,
            max_block_body_bytes: profile.largest_body_bytes(),
            protocol_version: genesis.protocol_version,
            budgets: budgets(profile)?,
            delegators: genesis.delegators,
            utxo_entries: genesis.utxo_entries,
            dreps: genesis.dreps,
            funds: live.funds,
            first_slot: live.past_epochs.saturating_mul(genesis.epoch_slots),
        },
        concurrency: profile.peer.concurrency,
        hosts: hosts.collect(),
        links: links.map(|link| BedLink { follower: link.follower, producer: link.producer, latency_ns: link.latency_ns }).collect(),
        changed,
        profile: serde_json::to_value(profile)?,
        script: None,
    })
}
