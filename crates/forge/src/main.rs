//! `slotmark-forge`: forges and checks chains and beds. slotmark's own commands start it; `conversation` has how they talk.

mod bed;
mod conversation;
mod recipe;
mod snapshots;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Parser};
use serde::Deserialize;
use serde_json::{Value, json};
use slotmark_chain::Chain;
use slotmark_clustersim::Profile;
use slotmark_praos::check::check_chain;
use slotmark_praos::genesis::Genesis;
use slotmark_synth::bed::Addresses;
use slotmark_synth::{Budget, Recipe, Script, SynthError, forge_with};

use crate::conversation::{Failure, Progress};
use crate::snapshots::Until;

/// Forges and checks chains and beds, for slotmark's commands: `chain synth`, `chain check`, `cluster create`, `cluster check`.
///
/// Progress and the result are JSON lines on standard output; each line of progress waits for a line on standard input, whose end
/// stops the work.
#[derive(Parser)]
#[command(version)]
enum Arguments {
    /// Forges a chain into a new folder; with --profile, the first line of standard input is JSON with the profile.
    ForgeChain {
        /// The content of its blocks.
        #[arg(long, required_unless_present = "profile", conflicts_with = "profile")]
        workload: Option<String>,
        /// The workload is the profile's, and so are limits of blocks and budgets.
        #[arg(long)]
        profile: bool,
        #[arg(long)]
        blocks: u64,
        /// Decides everything that is random.
        #[arg(long)]
        seed: u64,
        #[arg(long)]
        security_parameter: u64,
        /// The major version of the protocol; the profile's, or 10, where it isn't given.
        #[arg(long)]
        protocol_version: Option<u64>,
        /// Unspent outputs in the genesis beyond those that are always there.
        #[arg(long)]
        utxo: u64,
        /// Stake keys in the genesis beyond those that are always there.
        #[arg(long)]
        delegators: u64,
        #[command(flatten)]
        script: ScriptFiles,
        /// The new folder.
        #[arg(long)]
        out: PathBuf,
    },
    /// Checks every block of a chain against the rules.
    CheckChain {
        #[arg(long)]
        chain: PathBuf,
        /// The network's Shelley genesis file.
        #[arg(long)]
        genesis: Option<PathBuf>,
    },
    /// Writes what amaru begins with: states of the ledger at the ends of a chain's last epochs, nonces and headers.
    SnapshotChain {
        #[arg(long)]
        chain: PathBuf,
        /// The network's Shelley genesis file.
        #[arg(long)]
        genesis: PathBuf,
        /// The newest epoch whose end is taken; the last that has ended by default.
        #[arg(long)]
        until: Option<u64>,
        /// The chain's last epoch has ended too, though no block follows.
        #[arg(long)]
        ended: bool,
        /// The new folder.
        #[arg(long)]
        out: PathBuf,
    },
    /// Makes a bed in a new folder; the first line of standard input is JSON with the profile and what was changed of it.
    CreateBed {
        /// Decides all keys.
        #[arg(long)]
        seed: u64,
        /// Unspent outputs of the workload.
        #[arg(long)]
        funds: u32,
        /// Epochs that have ended when a run begins.
        #[arg(long)]
        past_epochs: u64,
        #[command(flatten)]
        script: ScriptFiles,
        /// The new folder.
        #[arg(long)]
        out: PathBuf,
    },
    /// Lists what is wrong with a bed.
    CheckBed {
        #[arg(long)]
        bed: PathBuf,
    },
    /// Copies a bed into a folder that is there, with another system start.
    StampBed {
        #[arg(long)]
        bed: PathBuf,
        #[arg(long)]
        into: PathBuf,
        /// Start of slot 0, in seconds since 1970.
        #[arg(long)]
        start: u64,
        /// Slots before the first one in which no pool is to lead: nodes are started in them.
        #[arg(long)]
        quiet_slots: u64,
        /// All hosts are at 127.0.0.1.
        #[arg(long)]
        loopback: bool,
    },
}

/// A script with its datum and its redeemer: all three or none.
#[derive(Args)]
struct ScriptFiles {
    #[arg(long, requires_all = ["datum", "redeemer"])]
    script: Option<PathBuf>,
    #[arg(long, requires = "script")]
    datum: Option<PathBuf>,
    #[arg(long, requires = "script")]
    redeemer: Option<PathBuf>,
}

impl ScriptFiles {
    /// The script, whose transactions may use as much as the budget, under a major version of the protocol.
    fn read(&self, most: Budget, major: u64) -> Result<Option<Script>, SynthError> {
        match (&self.script, &self.datum, &self.redeemer) {
            (Some(script), Some(datum), Some(redeemer)) => Script::read(script, datum, redeemer, most, major).map(Some),
            _ => Ok(None),
        }
    }
}

/// The line of standard input with what is too long for an option.
#[derive(Deserialize)]
struct ProfileLine {
    /// TOML.
    profile: String,
    /// Parameter to the profile's value and the bed's.
    #[serde(default)]
    changed: BTreeMap<String, (Value, Value)>,
}

fn main() -> ExitCode {
    // Where it can't be written, the reader has left.
    match conversation::end(&run(Arguments::parse(), &mut Progress::default())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// The loop that a chain's transactions run, with its hash, the number of its rounds, and what they use and cost.
fn run_of(recipe: &Recipe) -> Result<Option<Value>, SynthError> {
    let Some(one) = recipe.workload.of_loop() else { return Ok(None) };
    let calibrated = one.within(recipe.budgets.share(recipe.txs_per_block), recipe.protocol_version)?;
    Ok(Some(json!({
        "name": one.name(),
        "hash": calibrated.script.hash_text(),
        "rounds": calibrated.rounds,
        "units": calibrated.used,
        "lovelace": calibrated.used.price(),
    })))
}

/// Returns the result as JSON.
fn run(arguments: Arguments, progress: &mut Progress) -> Result<String, Failure> {
    match arguments {
        Arguments::ForgeChain {
            workload,
            profile: _,
            blocks,
            seed,
            security_parameter,
            protocol_version,
            utxo,
            delegators,
            script,
            out,
        } => {
            let recipe = match workload {
                Some(workload) => Recipe::new(workload.parse().map_err(Failure::of("ArgumentError"))?, blocks),
                None => {
                    let line = conversation::read().map_err(Failure::of("ArgumentError"))?;
                    let ProfileLine { profile, .. } = serde_json::from_str(&line).map_err(Failure::of("ArgumentError"))?;
                    let profile = Profile::from_layers(&[&profile], &[]).map_err(Failure::of("SimulationError"))?;
                    recipe::of_profile(&profile, blocks).map_err(Failure::of("ArgumentError"))?
                }
            };
            let protocol_version = protocol_version.unwrap_or(recipe.protocol_version);
            let recipe = Recipe { seed, security_parameter, protocol_version, utxo, delegators, ..recipe };
            let script = script.read(recipe.budgets.transaction, recipe.protocol_version).map_err(Failure::of("ArgumentError"))?;
            let of_loop = run_of(&recipe).map_err(Failure::of("ArgumentError"))?;
            let forged = forge_with(&recipe, script.as_ref(), out, &mut |step| progress.step(step.blocks, step.total));
            let forged = forged
                .map_err(|error| Failure::of(if matches!(error, SynthError::NoScript) { "ArgumentError" } else { "ChainError" })(error))?;
            let facts = json!({
                "blocks": forged.blocks,
                "bytes": forged.bytes,
                "transactions": forged.transactions,
                "tip": forged.tip.to_string(),
                "script": script.map(|script| script.hash_text()),
                "loop": of_loop,
            });
            Ok(facts.to_string())
        }
        Arguments::CheckChain { chain, genesis } => {
            let genesis = genesis.map(|path| Genesis::read(&path).map(Arc::new)).transpose().map_err(Failure::of("ChainError"))?;
            let report =
                Chain::open(&chain).and_then(|chain| check_chain(&chain, genesis.as_ref(), &mut |done, total| progress.step(done, total)));
            serde_json::to_string(&report.map_err(Failure::of("ChainError"))?).map_err(Failure::of("ChainError"))
        }
        Arguments::SnapshotChain { chain, genesis, until, ended, out } => {
            let made =
                snapshots::write(&chain, &genesis, Until { epoch: until, ended }, &out, &mut |done, total| progress.step(done, total));
            let made = made.map_err(Failure::of("ChainError"))?;
            let tip = format!("{}.{}", made.slot, hex::encode(made.hash));
            Ok(json!({"epochs": made.epochs, "tip": tip, "blocks_after": made.blocks_after}).to_string())
        }
        Arguments::CreateBed { seed, funds, past_epochs, script, out } => {
            let line = conversation::read().map_err(Failure::of("BedError"))?;
            let ProfileLine { profile, changed } = serde_json::from_str(&line).map_err(Failure::of("BedError"))?;
            let profile = Profile::from_layers(&[&profile], &[]).map_err(Failure::of("SimulationError"))?;
            let budgets = bed::budgets(&profile).map_err(Failure::of("BedError"))?;
            let script = script.read(budgets.transaction, profile.genesis.protocol_version).map_err(Failure::of("BedError"))?;
            let live = bed::Live { funds, past_epochs };
            let made = bed::create(&profile, seed, live, changed, script, &out, &mut |done, total| progress.step(done, total));
            serde_json::to_string(&made.map_err(Failure::of("BedError"))?).map_err(Failure::of("BedError"))
        }
        Arguments::CheckBed { bed } => {
            let faults = slotmark_synth::bed::check(&bed).map_err(Failure::of("BedError"))?;
            serde_json::to_string(&faults).map_err(Failure::of("BedError"))
        }
        Arguments::StampBed { bed, into, start, quiet_slots, loopback } => {
            let addresses = if loopback { Addresses::Loopback } else { Addresses::OwnNetworks };
            slotmark_synth::bed::stamp(&bed, &into, start, quiet_slots, addresses).map_err(Failure::of("BedError"))?;
            Ok("null".to_owned())
        }
    }
}
