//! The protocol parameters as local clients ask for them. They are those of the genesis files: nothing changes them in Conway here.

use std::path::Path;

use serde::Deserialize;
use slotmark_ledger::{Parameters, Price, Units, genesis_beside};
use slotmark_praos::genesis::Genesis;

use crate::config::read_json;
use crate::error::NodeError;
use crate::message::{Put, PutResult, put, put_fraction};

/// What a Shelley genesis has beside the parameters that blocks are checked by.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShelleyParameters {
    e_max: u64,
    n_opt: u64,
    #[serde(deserialize_with = "slotmark_ledger::fraction")]
    a0: Price,
    #[serde(deserialize_with = "slotmark_ledger::fraction")]
    rho: Price,
    #[serde(deserialize_with = "slotmark_ledger::fraction")]
    tau: Price,
    protocol_version: ProtocolVersion,
    #[serde(default)]
    min_pool_cost: u64,
}

#[derive(Deserialize)]
struct ProtocolVersion {
    major: u64,
    minor: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConwayFile {
    pool_voting_thresholds: PoolThresholds,
    #[serde(rename = "dRepVotingThresholds")]
    drep_voting_thresholds: DrepThresholds,
    committee_min_size: u64,
    committee_max_term_length: u64,
    gov_action_lifetime: u64,
    gov_action_deposit: u64,
    #[serde(rename = "dRepDeposit")]
    drep_deposit: u64,
    #[serde(rename = "dRepActivity")]
    drep_activity: u64,
}

#[derive(Deserialize)]
struct Threshold(#[serde(deserialize_with = "slotmark_ledger::fraction")] Price);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PoolThresholds {
    motion_no_confidence: Threshold,
    committee_normal: Threshold,
    committee_no_confidence: Threshold,
    hard_fork_initiation: Threshold,
    pp_security_group: Threshold,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DrepThresholds {
    motion_no_confidence: Threshold,
    committee_normal: Threshold,
    committee_no_confidence: Threshold,
    update_to_constitution: Threshold,
    hard_fork_initiation: Threshold,
    pp_network_group: Threshold,
    pp_economic_group: Threshold,
    pp_technical_group: Threshold,
    pp_gov_group: Threshold,
    treasury_withdrawal: Threshold,
}

impl PoolThresholds {
    fn in_order(&self) -> [&Threshold; 5] {
        [
            &self.motion_no_confidence,
            &self.committee_normal,
            &self.committee_no_confidence,
            &self.hard_fork_initiation,
            &self.pp_security_group,
        ]
    }
}

impl DrepThresholds {
    fn in_order(&self) -> [&Threshold; 10] {
        [
            &self.motion_no_confidence,
            &self.committee_normal,
            &self.committee_no_confidence,
            &self.update_to_constitution,
            &self.hard_fork_initiation,
            &self.pp_network_group,
            &self.pp_economic_group,
            &self.pp_technical_group,
            &self.pp_gov_group,
            &self.treasury_withdrawal,
        ]
    }
}

/// The parameters of a network whose genesis has these, encoded as Conway's ledger has them; Conway's own are read beside the Shelley genesis file.
///
/// # Errors
/// A genesis file can't be read, or a parameter isn't there.
pub fn read(file: ShelleyParameters, shelley: &Path, genesis: &Genesis, parameters: &Parameters) -> Result<Vec<u8>, NodeError> {
    let conway: ConwayFile = read_json(&genesis_beside(shelley, "conway"), "a Conway genesis file")?;
    let mut out = Vec::new();
    put(&mut out, |e| {
        e.array(31)?.u64(parameters.fee_per_byte)?.u64(parameters.fee_constant)?;
        e.u64(genesis.parameters.max_body_bytes)?.u64(parameters.max_transaction_bytes)?.u64(genesis.parameters.max_header_bytes)?;
        e.u64(parameters.key_deposit)?.u64(parameters.pool_deposit)?.u64(file.e_max)?.u64(file.n_opt)?;
        [file.a0, file.rho, file.tau].into_iter().try_for_each(|share| price(e, share))?;
        e.array(2)?.u64(file.protocol_version.major)?.u64(file.protocol_version.minor)?;
        e.u64(file.min_pool_cost)?.u64(parameters.lovelace_per_output_byte)?;
        let models = (0u8..).zip(&parameters.cost_models).filter_map(|(language, model)| Some((language, model.as_ref()?)));
        let models: Vec<(u8, &Vec<i64>)> = models.collect();
        e.map(models.len() as u64)?;
        for (language, model) in models {
            e.u8(language)?.array(model.len() as u64)?;
            model.iter().try_for_each(|cost| e.i64(*cost)?.ok())?;
        }
        e.array(2)?;
        [parameters.memory_price, parameters.step_price].into_iter().try_for_each(|amount| price(e, amount))?;
        for Units { memory, steps } in [parameters.max_transaction_units, parameters.max_block_units] {
            e.array(2)?.u64(memory)?.u64(steps)?;
        }
        e.u64(parameters.max_value_bytes)?.u64(parameters.collateral_percent)?.u64(parameters.max_collateral_inputs)?;
        thresholds(e, &conway.pool_voting_thresholds.in_order())?;
        thresholds(e, &conway.drep_voting_thresholds.in_order())?;
        e.u64(conway.committee_min_size)?.u64(conway.committee_max_term_length)?.u64(conway.gov_action_lifetime)?;
        e.u64(conway.gov_action_deposit)?.u64(conway.drep_deposit)?.u64(conway.drep_activity)?;
        price(e, parameters.fee_per_script_byte.unwrap_or(Price(0, 1)))
    });
    Ok(out)
}

fn thresholds(e: &mut Put<'_>, thresholds: &[&Threshold]) -> PutResult {
    e.array(thresholds.len() as u64)?;
    thresholds.iter().try_for_each(|threshold| price(e, threshold.0))
}

fn price(e: &mut Put<'_>, Price(numerator, denominator): Price) -> PutResult {
    put_fraction(e, numerator, denominator)
}
