//! From a profile to a chain: its workload, the limit of its blocks, and its budgets.

use slotmark_clustersim::Profile;
use slotmark_synth::{Loop, Recipe, Shares, SynthError, Workload};

use crate::bed::budgets;

/// Inputs, outputs and bytes of payload of a chain's value-only transactions.
const VALUE_ONLY: (u32, u32, u64) = (2, 2, 100);

/// The shares of a profile's actions.
///
/// # Errors
/// There is no such action, or a share that is too large, or a script beside them.
pub(crate) fn shares(profile: &Profile) -> Result<Shares, SynthError> {
    let load = &profile.workload;
    if !load.script.is_empty() {
        let message = format!("profile {}: workload has actions and a script: expected one of them. Leave one out.", profile.name);
        return Err(SynthError::Refused(message));
    }
    let text: Vec<String> = load.actions.iter().filter(|(_, share)| **share > 0).map(|(name, share)| format!("{name}={share}")).collect();
    text.join(",").parse::<Shares>().map_err(|error| SynthError::Refused(format!("profile {}: workload.actions: {error}.", profile.name)))
}

/// The recipe for blocks of a profile's workload, as full as its genesis allows. Slots and epochs are those of any forged chain.
///
/// # Errors
/// Chains don't have such a workload, or a budget is too small or too large.
pub(crate) fn of_profile(profile: &Profile, blocks: u64) -> Result<Recipe, SynthError> {
    let load = &profile.workload;
    let workload = match Loop::named(&load.script) {
        _ if !load.actions.is_empty() => Workload::Acting(shares(profile)?),
        Some(one) => Workload::Loop(one),
        None if !load.script.is_empty() => Workload::Script,
        None if (load.inputs, load.outputs, load.payload.0) == VALUE_ONLY => Workload::ValueOnly,
        None => {
            let (inputs, outputs, payload) = VALUE_ONLY;
            return Err(SynthError::Refused(format!(
                "profile {}: workload has {} inputs, {} outputs and {} of payload: chains have {inputs}, {outputs} and {payload}B. Give those with --set, or \
                 another profile.",
                profile.name, load.inputs, load.outputs, load.payload
            )));
        }
    };
    Ok(Recipe {
        max_block_body_bytes: profile.largest_body_bytes(),
        protocol_version: profile.genesis.protocol_version,
        budgets: budgets(profile)?,
        txs_per_block: load.txs_per_block,
        ..Recipe::new(workload, blocks)
    })
}
