//! The protocol parameters of a network in Conway: those that the genesis files of Shelley, Alonzo and Conway state, as updates change them.

use std::path::Path;
use std::sync::LazyLock;

use pallas_codec::minicbor;
use pallas_primitives::babbage::ProtocolParamUpdate;
use serde::{Deserialize, Serialize};
use slotmark_chain::CborBuffer;

use crate::alonzo::Alonzo;
use crate::conway::{Beginning, Conway};
use crate::cost_models::{PLUTUS_V1_COST_MODEL, PLUTUS_V2_COST_MODEL, PLUTUS_V3_COST_MODEL};
use crate::error::{GenesisError, genesis_beside, read_json};
use crate::ratio::Ratio;
use crate::{alonzo, conway, shelley};

/// Scripts that are referred to cost more by a fifth for each further stretch of this many bytes (Conway).
const SCRIPT_FEE_STRETCH_BYTES: u64 = 25_600;
/// Bytes that an output counts beside its own (Babbage, `utxoEntrySize`).
const OUTPUT_OVERHEAD_BYTES: u64 = 160;

/// Cost models of Plutus V1 to V3, in the ledger's order.
pub type CostModels = [Option<Vec<i64>>; 3];

/// Protocol parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameters {
    /// Parameters of Shelley's genesis.
    pub shelley: shelley::Parameters,
    /// Parameters of Alonzo's genesis.
    pub alonzo: alonzo::Parameters,
    /// Parameters of Conway's genesis; None where they aren't known.
    pub conway: Option<conway::Parameters>,
    /// Costs of the instructions of scripts.
    pub cost_models: CostModels,
}

/// Units of scripts: what they use, or may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Units {
    /// Memory units.
    #[serde(rename = "exUnitsMem", alias = "memory")]
    pub memory: u64,
    /// Steps.
    #[serde(rename = "exUnitsSteps", alias = "steps")]
    pub steps: u64,
}

impl Units {
    /// The sum, or the largest number where that is too large.
    pub fn plus(self, other: Self) -> Self {
        Self { memory: self.memory.saturating_add(other.memory), steps: self.steps.saturating_add(other.steps) }
    }

    /// Returns whether neither kind is above the limit's.
    pub fn within(self, limit: Self) -> bool {
        self.memory <= limit.memory && self.steps <= limit.steps
    }
}

/// The parameters of forged networks, with the cost models of all languages.
pub static STATED: LazyLock<Parameters> = LazyLock::new(|| Parameters {
    shelley: shelley::PARAMETERS,
    alonzo: alonzo::PARAMETERS,
    conway: Some(conway::PARAMETERS),
    cost_models: [&PLUTUS_V1_COST_MODEL[..], &PLUTUS_V2_COST_MODEL, &PLUTUS_V3_COST_MODEL].map(|model| Some(model.to_vec())),
});

impl Parameters {
    /// The parameters of Shelley's genesis with those of Alonzo's beside it, and of Conway's where there is one (see [`genesis_beside`]).
    /// None without Alonzo's: there are no rules of scripts without it. With them comes what Conway's genesis has beside
    /// parameters.
    ///
    /// # Errors
    /// A file can't be read or isn't a genesis file; the message names file and field.
    pub fn read(parameters: &shelley::Parameters, shelley: &Path) -> Result<Option<(Self, Beginning)>, GenesisError> {
        let path = genesis_beside(shelley, "alonzo");
        let Some(alonzo) = read_json::<Alonzo>(&path, "Alonzo")? else { return Ok(None) };
        let mut cost_models = alonzo.cost_models(&path)?;
        let (mut conway, mut beginning) = (None, Beginning::default());
        let path = genesis_beside(shelley, "conway");
        if let Some(file) = read_json::<Conway>(&path, "Conway")? {
            let dreps = file
                .dreps()
                .ok_or_else(|| GenesisError::field(&path, "initialDReps", "DReps by their names, each with expiry and deposit"))?;
            beginning = Beginning { dreps, governance: file.governance() };
            // What Alonzo's genesis has for later eras holds instead of theirs.
            cost_models[2].get_or_insert(file.plutus_v3_cost_model);
            conway = Some(file.parameters);
        }
        Ok(Some((Self { shelley: *parameters, alonzo: alonzo.parameters, conway, cost_models }, beginning)))
    }

    /// Takes over an update as genesis keys propose it up to Babbage: a map by number of parameter, encoded.
    ///
    /// `in_words`: whether outputs are priced in words, as before Babbage.
    ///
    /// # Errors
    /// The update can't be read; nothing is taken over then.
    pub fn adopt(&mut self, encoded: &[u8], in_words: bool) -> Result<(), minicbor::decode::Error> {
        let update: ProtocolParamUpdate = minicbor::decode(encoded)?;
        self.shelley.adopt(&update);
        self.alonzo.adopt(&update, in_words);
        if let Some(models) = update.cost_models_for_script_languages {
            for (model, update) in self.cost_models.iter_mut().zip([models.plutus_v1, models.plutus_v2]) {
                *model = update.or(model.take());
            }
        }
        Ok(())
    }

    /// The parameters as Conway's ledger encodes them for local clients; None where Conway's aren't known.
    pub fn encode(&self) -> Option<Vec<u8>> {
        let conway = self.conway?;
        let mut out = Vec::new();
        out.array(shelley::Parameters::ENCODED + alonzo::Parameters::ENCODED + conway::Parameters::ENCODED);
        self.shelley.encode(&mut out);
        self.alonzo.encode(&self.cost_models, &mut out);
        conway.encode(&mut out);
        Some(out)
    }

    /// The least fee of a transaction in lovelace: of its size, of the bytes of scripts that it refers to, and of the units it may use.
    /// None where it is too large a number, or the price of scripts that are referred to isn't known.
    pub fn least_fee(&self, bytes: u64, script_bytes: u64, units: Units) -> Option<u128> {
        let size = u128::from(self.shelley.fee_constant) + u128::from(self.shelley.fee_per_byte) * u128::from(bytes);
        let over = |price: Ratio| u128::from(price.denominator());
        let times = |units: u64, price: Ratio| u128::from(units).checked_mul(u128::from(price.numerator()));
        let alonzo::Prices { memory, steps } = self.alonzo.prices;
        let of_memory = times(units.memory, memory)?.checked_mul(over(steps))?;
        let of_steps = times(units.steps, steps)?.checked_mul(over(memory))?;
        let run = of_memory.checked_add(of_steps)?.div_ceil(over(memory) * over(steps));
        let referred = if script_bytes == 0 { 0 } else { self.script_fee(script_bytes)? };
        size.checked_add(run)?.checked_add(referred)
    }

    /// Returns the fee for scripts that are referred to (`tierRefScriptFee`): rounded down, over all of them.
    fn script_fee(&self, script_bytes: u64) -> Option<u128> {
        let price = self.conway?.fee_per_script_byte;
        // As a fraction over the price's denominator * 5^stretches; there are 200 kB of scripts in a transaction at most, eight stretches.
        let (mut sum, mut times, mut over, mut left) =
            (0u128, u128::from(price.numerator()), u128::from(price.denominator()), script_bytes);
        loop {
            let stretch = left.min(SCRIPT_FEE_STRETCH_BYTES);
            sum = sum.checked_add(times.checked_mul(u128::from(stretch))?)?;
            left -= stretch;
            if left == 0 {
                return Some(sum / over);
            }
            (sum, times, over) = (sum.checked_mul(5)?, times.checked_mul(6)?, over.checked_mul(5)?);
        }
    }

    /// Returns the least lovelace of an output, from the size of its encoding (Babbage).
    pub fn least_lovelace(&self, output_bytes: u64) -> u64 {
        self.alonzo.lovelace_per_byte().saturating_mul(OUTPUT_OVERHEAD_BYTES + output_bytes)
    }
}

/// Appends a fraction in its lowest terms.
pub fn put_ratio(out: &mut Vec<u8>, ratio: Ratio) {
    let ratio = ratio.reduced();
    out.tag(30);
    out.array(2);
    out.uint(ratio.numerator());
    out.uint(ratio.denominator());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fees_are_those_of_the_ledger() {
        let parameters = &*STATED;
        let fee = |bytes, script_bytes, memory, steps| parameters.least_fee(bytes, script_bytes, Units { memory, steps }).unwrap();
        assert_eq!(fee(300, 0, 0, 0), 168_581);
        // 14,000,000 x 0.0577 + 10,000,000,000 x 0.0000721
        assert_eq!(fee(0, 100, 14_000_000, 10_000_000_000), 155_381 + 1_500 + 807_800 + 721_000);
        assert_eq!(fee(0, 0, 1, 1), 155_382); // rounded up once
        assert_eq!(parameters.least_lovelace(65), 969_750); // of an output at a base address
    }
}
