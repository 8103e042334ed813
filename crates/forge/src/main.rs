//! `slotmark-forge`: forges and checks chains and beds. slotmark's own commands start it; `conversation` has how they talk.

mod bed;
mod conversation;

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
use slotmark_synth::{Recipe, Script, SynthError, Workload, forge_with};

use crate::conversation::{Failure, Progress};

/// Forges and checks chains and beds, for slotmark's commands: `chain synth`, `chain check`, `cluster create`, `cluster check`.
///
/// Progress and the result are JSON lines on standard output; each line of progress waits for a line on standard input, whose end
/// stops the work.
#[derive(Parser)]
#[command(version)]
enum Arguments {
    /// Forges a chain into a new folder.
    ForgeChain {
        /// The content of its blocks.
        #[arg(long)]
        workload: String,
        #[arg(long)]
        blocks: u64,
        /// Decides everything that is random.
        #[arg(long)]
        seed: u64,
        #[arg(long)]
        security_parameter: u64,
        /// Unspent outputs in the genesis beyond those that are always there.
        #[arg(long)]
        utxo: u64,
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
    /// Makes a bed in a new folder; the first line of standard input is JSON with the profile and what was changed of it.
    CreateBed {
        /// Decides all keys.
        #[arg(long)]
        seed: u64,
        /// Unspent outputs of the workload.
        #[arg(long)]
        funds: u32,
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
    fn read(&self) -> Result<Option<Script>, SynthError> {
        match (&self.script, &self.datum, &self.redeemer) {
            (Some(script), Some(datum), Some(redeemer)) => Script::read(script, datum, redeemer).map(Some),
            _ => Ok(None),
        }
    }
}

/// The parts of a bed beside the options: too long for one.
#[derive(Deserialize)]
struct Plan {
    /// TOML.
    profile: String,
    /// Parameter to the profile's value and the bed's.
    changed: BTreeMap<String, (Value, Value)>,
}

fn main() -> ExitCode {
    // Where it can't be written, the reader has left.
    match conversation::end(&run(Arguments::parse(), &mut Progress::default())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Returns the result as JSON.
fn run(arguments: Arguments, progress: &mut Progress) -> Result<String, Failure> {
    match arguments {
        Arguments::ForgeChain { workload, blocks, seed, security_parameter, utxo, script, out } => {
            let workload: Workload = workload.parse().map_err(Failure::of("ArgumentError"))?;
            let recipe = Recipe { seed, security_parameter, utxo, ..Recipe::new(workload, blocks) };
            let script = script.read().map_err(Failure::of("ArgumentError"))?;
            let forged = forge_with(&recipe, script.as_ref(), out, &mut |step| progress.step(step.blocks, step.total));
            let forged = forged
                .map_err(|error| Failure::of(if matches!(error, SynthError::NoScript) { "ArgumentError" } else { "ChainError" })(error))?;
            let facts = json!({
                "blocks": forged.blocks,
                "bytes": forged.bytes,
                "transactions": forged.transactions,
                "tip": forged.tip.to_string(),
                "script": script.map(|script| script.hash_text()),
            });
            Ok(facts.to_string())
        }
        Arguments::CheckChain { chain, genesis } => {
            let genesis = genesis.map(|path| Genesis::read(&path).map(Arc::new)).transpose().map_err(Failure::of("ChainError"))?;
            let report =
                Chain::open(&chain).and_then(|chain| check_chain(&chain, genesis.as_ref(), &mut |done, total| progress.step(done, total)));
            serde_json::to_string(&report.map_err(Failure::of("ChainError"))?).map_err(Failure::of("ChainError"))
        }
        Arguments::CreateBed { seed, funds, script, out } => {
            let script = script.read().map_err(Failure::of("BedError"))?;
            let line = conversation::read().map_err(Failure::of("BedError"))?;
            let Plan { profile, changed } = serde_json::from_str(&line).map_err(Failure::of("BedError"))?;
            let profile = Profile::from_layers(&[&profile], &[]).map_err(Failure::of("SimulationError"))?;
            let made = bed::create(&profile, seed, funds, changed, script, &out, &mut |done, total| progress.step(done, total));
            serde_json::to_string(&made.map_err(Failure::of("BedError"))?).map_err(Failure::of("BedError"))
        }
        Arguments::CheckBed { bed } => {
            let faults = slotmark_synth::bed::check(&bed).map_err(Failure::of("BedError"))?;
            serde_json::to_string(&faults).map_err(Failure::of("BedError"))
        }
        Arguments::StampBed { bed, into, start, loopback } => {
            let addresses = if loopback { Addresses::Loopback } else { Addresses::OwnNetworks };
            slotmark_synth::bed::stamp(&bed, &into, start, addresses).map_err(Failure::of("BedError"))?;
            Ok("null".to_owned())
        }
    }
}
