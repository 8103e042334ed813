//! The protocol parameters that the rules of transactions depend on, and the network that they belong to.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use pallas_codec::minicbor;
use pallas_primitives::babbage::ProtocolParamUpdate;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// Bytes of a word, in which outputs were priced before Babbage.
const WORD_BYTES: u64 = 8;

/// A genesis file that can't be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message is its documentation")]
pub enum GenesisError {
    #[error("{path}: {source}. Check that it is there and that you may read it.")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{path}: {source}. Expected a genesis file as cardano-node reads it.")]
    Json { path: PathBuf, source: serde_json::Error },
    #[error("{path}: {field}: expected {expected}.")]
    Field { path: PathBuf, field: &'static str, expected: &'static str },
}

/// What transactions depend on from a network's beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Genesis {
    /// The network itself.
    pub network: Network,
    /// Its first parameters.
    pub parameters: Parameters,
}

/// A network, as far as its transactions depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// What addresses hold: 1 for mainnet, 0 for test networks.
    pub id: u8,
    /// When slot 0 begins, in ms after 1970-01-01 UTC.
    pub start_ms: u64,
    /// How long a slot is, in ms.
    pub slot_ms: u64,
}

/// A number that isn't negative, as numerator and denominator; the denominator isn't 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price(pub u64, pub u64);

impl Price {
    /// A decimal number as it was written.
    fn from_decimal(number: f64) -> Option<Self> {
        let text = format!("{number}");
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let denominator = 10u64.checked_pow(fraction.len() as u32)?;
        Some(Self(format!("{whole}{fraction}").parse().ok()?, denominator))
    }
}

/// Units of scripts: what they use, or may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Units {
    /// Memory units.
    pub memory: u64,
    /// Steps.
    pub steps: u64,
}

impl Units {
    /// The sum, or the largest number where that is too large.
    pub fn plus(self, other: Self) -> Self {
        Self { memory: self.memory.saturating_add(other.memory), steps: self.steps.saturating_add(other.steps) }
    }

    /// Whether neither kind is above another's.
    pub fn within(self, limit: Self) -> bool {
        self.memory <= limit.memory && self.steps <= limit.steps
    }
}

/// Protocol parameters; amounts are in lovelace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameters {
    /// Major protocol version, which decides what scripts may use.
    pub protocol_version: u64,
    /// Least fee of a transaction.
    pub fee_constant: u64,
    /// Least fee, for each byte.
    pub fee_per_byte: u64,
    /// Least fee, for each byte of a script that is referred to (Conway); None where it isn't known.
    pub fee_per_script_byte: Option<Price>,
    /// Bytes of a transaction at most.
    pub max_transaction_bytes: u64,
    /// Deposit for a stake credential.
    pub key_deposit: u64,
    /// Deposit for a pool.
    pub pool_deposit: u64,
    /// Least amount in an output, for each byte (Babbage).
    pub lovelace_per_output_byte: u64,
    /// Bytes of an output's value at most.
    pub max_value_bytes: u64,
    /// Price of a memory unit.
    pub memory_price: Price,
    /// Price of a step.
    pub step_price: Price,
    /// Units of a transaction's scripts at most.
    pub max_transaction_units: Units,
    /// Units of a block's scripts at most.
    pub max_block_units: Units,
    /// Collateral as a percentage of the fee.
    pub collateral_percent: u64,
    /// Collateral inputs at most.
    pub max_collateral_inputs: u64,
    /// Cost models of Plutus V1 to V3, in the ledger's order.
    pub cost_models: [Option<Vec<i64>>; 3],
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ShelleyFile {
    network_id: String,
    system_start: String,
    slot_length: f64,
    protocol_params: ShelleyParameters,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ShelleyParameters {
    protocol_version: ProtocolVersion,
    min_fee_a: u64,
    min_fee_b: u64,
    max_tx_size: u64,
    key_deposit: u64,
    pool_deposit: u64,
}

#[derive(Deserialize)]
struct ProtocolVersion {
    major: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AlonzoFile {
    #[serde(rename = "lovelacePerUTxOWord")]
    lovelace_per_word: u64,
    execution_prices: Prices,
    max_tx_ex_units: FileUnits,
    max_block_ex_units: FileUnits,
    max_value_size: u64,
    collateral_percentage: u64,
    max_collateral_inputs: u64,
    cost_models: BTreeMap<String, CostModel>,
    #[serde(default)]
    extra_config: Option<ExtraConfig>,
}

/// What later eras than Alonzo begin with.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExtraConfig {
    #[serde(default)]
    cost_models: BTreeMap<String, CostModel>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Prices {
    pr_steps: FilePrice,
    pr_mem: FilePrice,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum FilePrice {
    Decimal(f64),
    Fraction { numerator: u64, denominator: u64 },
}

impl FilePrice {
    fn exact(&self) -> Option<Price> {
        let price = match *self {
            Self::Decimal(number) => Price::from_decimal(number),
            Self::Fraction { numerator, denominator } => Some(Price(numerator, denominator)),
        };
        price.filter(|price| price.1 > 0)
    }
}

#[derive(Deserialize)]
struct FileUnits {
    #[serde(rename = "exUnitsMem", alias = "memory")]
    memory: u64,
    #[serde(rename = "exUnitsSteps", alias = "steps")]
    steps: u64,
}

/// By name of parameter, where the ledger's order is that of the names; or in that order at once.
#[derive(Deserialize)]
#[serde(untagged)]
enum CostModel {
    ByName(BTreeMap<String, i64>),
    InOrder(Vec<i64>),
}

impl CostModel {
    fn in_order(self) -> Vec<i64> {
        match self {
            Self::ByName(parameters) => parameters.into_values().collect(),
            Self::InOrder(parameters) => parameters,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConwayFile {
    min_fee_ref_script_cost_per_byte: FilePrice,
    #[serde(rename = "plutusV3CostModel")]
    plutus_v3_cost_model: Vec<i64>,
}

/// Where an era's genesis file is beside Shelley's: at the same name with the other era in it, as `genesis.alonzo.json` beside
/// `genesis.shelley.json`; else at `alonzo-genesis.json`.
pub fn genesis_beside(shelley: &Path, era: &str) -> PathBuf {
    let name = shelley.file_name().and_then(|name| name.to_str()).filter(|name| name.contains("shelley"));
    shelley.with_file_name(name.map_or_else(|| format!("{era}-genesis.json"), |name| name.replacen("shelley", era, 1)))
}

impl Genesis {
    /// Reads what transactions depend on from the text of a Shelley genesis file, Alonzo's file beside it, and Conway's where there is one
    /// (see [`genesis_beside`]). None without Alonzo's: there are no rules of scripts without it.
    ///
    /// # Errors
    /// A file can't be read or isn't a genesis file; the message names file and field.
    pub fn read(text: impl Read, shelley: &Path) -> Result<Option<Self>, GenesisError> {
        let (alonzo_path, conway_path) = (genesis_beside(shelley, "alonzo"), genesis_beside(shelley, "conway"));
        let Some(alonzo) = read_json::<AlonzoFile>(&alonzo_path)? else { return Ok(None) };
        let conway = read_json::<ConwayFile>(&conway_path)?;
        let file: ShelleyFile = from_reader(text, shelley)?;
        let start = chrono::DateTime::parse_from_rfc3339(&file.system_start).ok();
        let start_ms = start.and_then(|start| u64::try_from(start.timestamp_millis()).ok());
        let slot_ms = (file.slot_length * 1_000.0).round();
        let network = Network {
            id: u8::from(file.network_id == "Mainnet"),
            start_ms: start_ms.ok_or_else(|| field(shelley, "systemStart", "a time as 2022-10-25T00:00:00Z"))?,
            slot_ms: if slot_ms >= 1.0 { slot_ms as u64 } else { return Err(field(shelley, "slotLength", "seconds, 0.001 at least")) },
        };
        let mut cost_models = [None, None, None];
        for (language, model) in alonzo.cost_models.into_iter().chain(alonzo.extra_config.unwrap_or_default().cost_models) {
            let place = ["PlutusV1", "PlutusV2", "PlutusV3"].iter().position(|name| *name == language);
            let place = place.ok_or_else(|| field(&alonzo_path, "costModels", "models of PlutusV1 to PlutusV3"))?;
            cost_models[place] = Some(model.in_order());
        }
        let mut fee_per_script_byte = None;
        if let Some(conway) = conway {
            cost_models[2] = Some(conway.plutus_v3_cost_model);
            fee_per_script_byte = Some(price(&conway_path, "minFeeRefScriptCostPerByte", &conway.min_fee_ref_script_cost_per_byte)?);
        }
        let shelley = file.protocol_params;
        let parameters = Parameters {
            protocol_version: shelley.protocol_version.major,
            fee_constant: shelley.min_fee_b,
            fee_per_byte: shelley.min_fee_a,
            fee_per_script_byte,
            max_transaction_bytes: shelley.max_tx_size,
            key_deposit: shelley.key_deposit,
            pool_deposit: shelley.pool_deposit,
            lovelace_per_output_byte: alonzo.lovelace_per_word / WORD_BYTES,
            max_value_bytes: alonzo.max_value_size,
            memory_price: price(&alonzo_path, "executionPrices", &alonzo.execution_prices.pr_mem)?,
            step_price: price(&alonzo_path, "executionPrices", &alonzo.execution_prices.pr_steps)?,
            max_transaction_units: units(&alonzo.max_tx_ex_units),
            max_block_units: units(&alonzo.max_block_ex_units),
            collateral_percent: alonzo.collateral_percentage,
            max_collateral_inputs: alonzo.max_collateral_inputs,
            cost_models,
        };
        Ok(Some(Self { network, parameters }))
    }
}

/// What is wanted of a file, which is read piece by piece: a Shelley genesis may have millions of entries that aren't.
fn read_json<T: for<'f> Deserialize<'f>>(path: &Path) -> Result<Option<T>, GenesisError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(GenesisError::Io { path: path.to_path_buf(), source }),
    };
    from_reader(file, path).map(Some)
}

fn from_reader<T: for<'f> Deserialize<'f>>(reader: impl Read, path: &Path) -> Result<T, GenesisError> {
    serde_json::from_reader(BufReader::with_capacity(1 << 16, reader)).map_err(|source| {
        let path = path.to_path_buf();
        if source.is_io() { GenesisError::Io { path, source: source.into() } } else { GenesisError::Json { path, source } }
    })
}

fn field(path: &Path, field: &'static str, expected: &'static str) -> GenesisError {
    GenesisError::Field { path: path.to_path_buf(), field, expected }
}

const FRACTIONS: &str = "numbers from 0 on, as decimals or fractions";

fn price(path: &Path, name: &'static str, price: &FilePrice) -> Result<Price, GenesisError> {
    price.exact().ok_or_else(|| field(path, name, FRACTIONS))
}

/// Reads a number that isn't negative as genesis files have it: a decimal, or numerator and denominator by name.
///
/// # Errors
/// It is none.
pub fn fraction<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Price, D::Error> {
    FilePrice::deserialize(deserializer)?.exact().ok_or_else(|| D::Error::custom(format_args!("expected {FRACTIONS}")))
}

fn units(units: &FileUnits) -> Units {
    Units { memory: units.memory, steps: units.steps }
}

impl Parameters {
    /// Takes over an update as genesis keys propose it up to Babbage: a map by number of parameter, encoded.
    ///
    /// `in_words`: whether outputs are priced in words, as before Babbage.
    ///
    /// # Errors
    /// The update can't be read; nothing is taken over then.
    pub fn adopt(&mut self, encoded: &[u8], in_words: bool) -> Result<(), minicbor::decode::Error> {
        let update: ProtocolParamUpdate = minicbor::decode(encoded)?;
        let set = |parameter: &mut u64, update: Option<u64>| *parameter = update.unwrap_or(*parameter);
        set(&mut self.protocol_version, update.protocol_version.map(|version| version.0));
        set(&mut self.fee_constant, update.minfee_b.map(u64::from));
        set(&mut self.fee_per_byte, update.minfee_a.map(u64::from));
        set(&mut self.max_transaction_bytes, update.max_transaction_size.map(u64::from));
        set(&mut self.key_deposit, update.key_deposit);
        set(&mut self.pool_deposit, update.pool_deposit);
        let per_byte = update.ada_per_utxo_byte.map(|price| if in_words { price / WORD_BYTES } else { price });
        set(&mut self.lovelace_per_output_byte, per_byte);
        set(&mut self.max_value_bytes, update.max_value_size.map(u64::from));
        set(&mut self.collateral_percent, update.collateral_percentage.map(u64::from));
        set(&mut self.max_collateral_inputs, update.max_collateral_inputs.map(u64::from));
        if let Some(prices) = update.execution_costs {
            let [memory, steps] = [prices.mem_price, prices.step_price].map(|price| Price(price.numerator, price.denominator.max(1)));
            (self.memory_price, self.step_price) = (memory, steps);
        }
        for (limit, update) in
            [(&mut self.max_transaction_units, update.max_tx_ex_units), (&mut self.max_block_units, update.max_block_ex_units)]
        {
            *limit = update.map_or(*limit, |units| Units { memory: units.mem, steps: units.steps });
        }
        if let Some(models) = update.cost_models_for_script_languages {
            for (model, update) in self.cost_models.iter_mut().zip([models.plutus_v1, models.plutus_v2]) {
                *model = update.or(model.take());
            }
        }
        Ok(())
    }
}
