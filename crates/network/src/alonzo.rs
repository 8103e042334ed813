//! Alonzo's genesis file, all of which is protocol parameters.

use std::collections::BTreeMap;
use std::path::Path;

use pallas_primitives::babbage::ProtocolParamUpdate;
use serde::{Deserialize, Serialize};
use slotmark_chain::CborBuffer;

use crate::error::GenesisError;
use crate::parameters::{CostModels, Units, put_ratio};
use crate::ratio::Ratio;

/// Bytes of a word, in which outputs were priced before Babbage.
pub(crate) const WORD_BYTES: u64 = 8;
const LANGUAGES: [&str; 3] = ["PlutusV1", "PlutusV2", "PlutusV3"];

/// The parameters of forged networks, which are those of the public networks.
pub const PARAMETERS: Parameters = Parameters {
    collateral_percent: 150,
    prices: Prices { memory: Ratio::new(577, 10_000).expect("a fraction"), steps: Ratio::new(721, 10_000_000).expect("a fraction") },
    lovelace_per_word: 34_482,
    max_block_units: Units { memory: 62_000_000, steps: 40_000_000_000 },
    max_collateral_inputs: 3,
    max_transaction_units: Units { memory: 14_000_000, steps: 10_000_000_000 },
    max_value_bytes: 5_000,
};

/// An Alonzo genesis file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Alonzo {
    /// The parameters that are numbers.
    #[serde(flatten)]
    pub parameters: Parameters,
    cost_models: BTreeMap<String, CostModel>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    extra_config: Option<ExtraConfig>,
}

/// The initial state for later eras than Alonzo.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExtraConfig {
    #[serde(default)]
    cost_models: BTreeMap<String, CostModel>,
}

/// By name of parameter, where the ledger's order is that of the names; or in that order at once.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum CostModel {
    ByName(BTreeMap<String, i64>),
    InOrder(Vec<i64>),
}

impl Alonzo {
    /// The genesis with the cost model of Plutus V1, and those of V2 and V3 where they are wanted: Alonzo itself has neither, so that they are
    /// there for later eras, V3's in the place of that in Conway's genesis.
    pub fn stated(parameters: Parameters, v1: &[i64], later: [Option<&[i64]>; 2]) -> Self {
        let model = |language: &str, model: &[i64]| (language.to_owned(), CostModel::InOrder(model.to_vec()));
        let cost_models: BTreeMap<_, _> =
            LANGUAGES[1..].iter().zip(later).filter_map(|(language, costs)| Some(model(language, costs?))).collect();
        let extra_config = (!cost_models.is_empty()).then_some(ExtraConfig { cost_models });
        Self { parameters, cost_models: BTreeMap::from([model(LANGUAGES[0], v1)]), extra_config }
    }

    /// The cost models by version of Plutus.
    ///
    /// # Errors
    /// There is one of another language.
    pub fn cost_models(&self, path: &Path) -> Result<CostModels, GenesisError> {
        let mut by_version = CostModels::default();
        for (language, model) in self.cost_models.iter().chain(self.extra_config.iter().flat_map(|extra| &extra.cost_models)) {
            let version = LANGUAGES.iter().position(|name| name == language);
            let version = version.ok_or_else(|| GenesisError::field(path, "costModels", "models of PlutusV1 to PlutusV3"))?;
            by_version[version] = Some(match model {
                CostModel::ByName(costs) => costs.values().copied().collect(),
                CostModel::InOrder(costs) => costs.clone(),
            });
        }
        Ok(by_version)
    }
}

/// Protocol parameters that Alonzo's genesis states; amounts are in lovelace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parameters {
    /// Collateral as a percentage of the fee.
    #[serde(rename = "collateralPercentage")]
    pub collateral_percent: u64,
    /// Prices of what scripts use.
    #[serde(rename = "executionPrices")]
    pub prices: Prices,
    /// Least amount in an output, for each word of 8 bytes; what counts is the amount per byte, rounded down.
    #[serde(rename = "lovelacePerUTxOWord")]
    pub lovelace_per_word: u64,
    /// Units of a block's scripts at most.
    #[serde(rename = "maxBlockExUnits")]
    pub max_block_units: Units,
    /// Collateral inputs at most.
    pub max_collateral_inputs: u64,
    /// Units of a transaction's scripts at most.
    #[serde(rename = "maxTxExUnits")]
    pub max_transaction_units: Units,
    /// Bytes of an output's value at most.
    #[serde(rename = "maxValueSize")]
    pub max_value_bytes: u64,
}

/// Prices of units of scripts, in lovelace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prices {
    /// Price of a memory unit.
    #[serde(rename = "prMem")]
    pub memory: Ratio,
    /// Price of a step.
    #[serde(rename = "prSteps")]
    pub steps: Ratio,
}

impl Parameters {
    /// Least amount in an output, for each byte (Babbage).
    pub fn lovelace_per_byte(&self) -> u64 {
        self.lovelace_per_word / WORD_BYTES
    }

    /// Takes over what an update has of them. `in_words`: whether it prices outputs in words, as before Babbage.
    pub(crate) fn adopt(&mut self, update: &ProtocolParamUpdate, in_words: bool) {
        let set = |parameter: &mut u64, update: Option<u64>| *parameter = update.unwrap_or(*parameter);
        let per_word = update.ada_per_utxo_byte.map(|price| if in_words { price } else { price.saturating_mul(WORD_BYTES) });
        set(&mut self.lovelace_per_word, per_word);
        set(&mut self.max_value_bytes, update.max_value_size.map(u64::from));
        set(&mut self.collateral_percent, update.collateral_percentage.map(u64::from));
        set(&mut self.max_collateral_inputs, update.max_collateral_inputs.map(u64::from));
        if let Some(prices) = &update.execution_costs {
            let [memory, steps] =
                [&prices.mem_price, &prices.step_price].map(|price| Ratio::new(price.numerator, price.denominator.max(1)));
            self.prices = Prices { memory: memory.unwrap_or(self.prices.memory), steps: steps.unwrap_or(self.prices.steps) };
        }
        for (limit, update) in
            [(&mut self.max_transaction_units, update.max_tx_ex_units), (&mut self.max_block_units, update.max_block_ex_units)]
        {
            *limit = update.map_or(*limit, |units| Units { memory: units.mem, steps: units.steps });
        }
    }

    /// Their number in [`crate::Parameters::encode`], with the cost models.
    pub(crate) const ENCODED: usize = 8;

    pub(crate) fn encode(&self, cost_models: &CostModels, out: &mut Vec<u8>) {
        out.uint(self.lovelace_per_byte());
        let models = (0u64..).zip(cost_models).filter_map(|(language, model)| Some((language, model.as_ref()?)));
        out.map(models.clone().count());
        for (language, model) in models {
            out.uint(language);
            out.array(model.len());
            model.iter().for_each(|cost| out.int(*cost));
        }
        out.array(2);
        [self.prices.memory, self.prices.steps].into_iter().for_each(|price| put_ratio(out, price));
        for Units { memory, steps } in [self.max_transaction_units, self.max_block_units] {
            out.array(2);
            out.uint(memory);
            out.uint(steps);
        }
        [self.max_value_bytes, self.collateral_percent, self.max_collateral_inputs].into_iter().for_each(|number| out.uint(number));
    }
}
