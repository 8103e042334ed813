//! The files of a chain's network, as cardano-node reads them and cardano-cli lays them out: genesis files of all eras, a
//! node's configuration, and keys.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ed25519_dalek::SigningKey;
use serde_json::{Map, Value, json};
use slotmark_chain::hash::{Hashing, blake2b_224};
use slotmark_chain::{ChainError, Hash32};
use slotmark_praos::envelope::{
    ColdSigningKey, ColdVerificationKey, DRepSigningKey, DRepVerificationKey, Envelope, Enveloped, IssueCounter, KesSigningKey,
    KesVerificationKey, OperationalCertificate, PaymentSigningKey, PaymentVerificationKey, StakeSigningKey, StakeVerificationKey,
    VrfSigningKey, VrfVerificationKey,
};
use slotmark_praos::kes;

use crate::error::SynthError;
use crate::genesis::outputs;
use crate::keys::{Keys, STAKE_KEYS};
use crate::parameters::*;
use crate::pools::{HotKey, Pool};
use crate::random::secret;
use crate::recipe::Recipe;

/// The folder of a chain's network, in the chain's folder: `config.json`, genesis files, and keys by owner.
pub const GENESIS_FOLDER: &str = "genesis";

const DREPS: u64 = 3;
/// The epoch in which the DReps expire that the genesis has.
const DREP_EXPIRY: u64 = 1_000;

/// Writes the configuration and the genesis files. Gives the hash of the Shelley genesis, which is the chain's first nonce.
pub(crate) fn write_genesis(chain: &Path, recipe: &Recipe, keys: &Keys, pools: &[Pool]) -> Result<Hash32, SynthError> {
    let folder = Folder(chain.join(GENESIS_FOLDER));
    // Canonical JSON (no spaces, keys in order), so that the file's hash is the one that nodes compute for Byron's.
    let byron = folder.file("byron-genesis.json", |file| write!(file, "{}", byron(recipe)))?;
    let shelley = folder.file("shelley-genesis.json", |file| write_shelley(file, recipe, keys, pools))?;
    let alonzo = folder.json("alonzo-genesis.json", &alonzo())?;
    let conway = folder.json("conway-genesis.json", &conway(recipe))?;
    let dijkstra = folder.json("dijkstra-genesis.json", &dijkstra())?;
    folder.json("config.json", &configuration(&byron, &shelley, &alonzo, &conway, &dijkstra))?;
    Ok(shelley)
}

/// Writes the keys; of each pool with the hot key and certificate that it used last.
pub(crate) fn write_keys(chain: &Path, recipe: &Recipe, keys: &Keys, pools: &[Pool], hot_keys: &[HotKey]) -> Result<(), SynthError> {
    let folder = chain.join(GENESIS_FOLDER);
    for ((number, pool), hot) in (1..).zip(pools).zip(hot_keys) {
        let place = Folder(folder.join(format!("pools-keys/pool{number}")));
        place.pair("cold", &ColdSigningKey(pool.cold.to_bytes()), &ColdVerificationKey(pool.cold_key()))?;
        place.pair("vrf", &VrfSigningKey(pool.vrf.to_bytes()), &VrfVerificationKey(pool.vrf.verification_key()))?;
        let key = kes::SigningKey::from_seed(&hot.seed);
        place.pair("kes", &KesSigningKey(key.to_bytes()), &KesVerificationKey(key.verification_key()))?;
        let certificate = OperationalCertificate { certificate: hot.certificate.clone(), cold_key: pool.cold_key() };
        place.envelope("opcert.cert", &certificate)?;
        place.envelope("opcert.counter", &IssueCounter { next: hot.certificate.sequence + 1, cold_key: pool.cold_key() })?;
    }
    for number in 0..STAKE_KEYS {
        let place = Folder(folder.join(format!("stake-delegators/delegator{}", number + 1)));
        let (payment, stake) = (keys.payment_secret(number as u16), keys.stake_secret(number));
        place.pair("payment", &PaymentSigningKey(payment), &PaymentVerificationKey(public(&payment)))?;
        place.pair("staking", &StakeSigningKey(stake), &StakeVerificationKey(public(&stake)))?;
    }
    for number in 0..DREPS {
        let drep = drep_secret(recipe, number);
        let place = Folder(folder.join(format!("drep-keys/drep{}", number + 1)));
        place.pair("drep", &DRepSigningKey(drep), &DRepVerificationKey(public(&drep)))?;
    }
    Ok(())
}

fn public(seed: &[u8; 32]) -> [u8; 32] {
    SigningKey::from_bytes(seed).verifying_key().to_bytes()
}

fn drep_secret(recipe: &Recipe, number: u64) -> [u8; 32] {
    secret(recipe.seed, "drep", number)
}

/// A folder that files are written into; it is made with the first of them.
struct Folder(PathBuf);

impl Folder {
    /// Writes a file, and gives its hash.
    fn file(&self, name: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<Hash32, SynthError> {
        let written = || {
            DirBuilder::new().recursive(true).create(&self.0)?;
            let mut file = Hashing::new(BufWriter::with_capacity(1 << 16, File::create(self.0.join(name))?));
            write(&mut file)?;
            file.finish()
        };
        written().map_err(|source| self.error(name, source))
    }

    fn json(&self, name: &str, value: &Value) -> Result<Hash32, SynthError> {
        self.file(name, |file| writeln!(file, "{value:#}"))
    }

    fn envelope(&self, name: &str, content: &impl Enveloped) -> Result<(), SynthError> {
        self.file(name, |file| file.write_all(Envelope::of(content).text().as_bytes())).map(drop)
    }

    /// Both halves of a key. Others may not read the secret one: cardano-node refuses a VRF key that they may.
    fn pair(&self, name: &str, signing: &impl Enveloped, verification: &impl Enveloped) -> Result<(), SynthError> {
        self.envelope(&format!("{name}.vkey"), verification)?;
        let name = format!("{name}.skey");
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(self.0.join(&name));
        let written = file.and_then(|mut file| file.write_all(Envelope::of(signing).text().as_bytes()));
        written.map_err(|source| self.error(&name, source))
    }

    fn error(&self, name: &str, source: io::Error) -> SynthError {
        SynthError::Chain(ChainError::Write { path: self.0.join(name), source })
    }
}

fn byron(recipe: &Recipe) -> Value {
    let stakeholder = hex::encode(blake2b_224(&[&public(&secret(recipe.seed, "byron", 0))]));
    json!({
        "avvmDistr": {},
        "blockVersionData": {
            "heavyDelThd": "300000000000",
            "maxBlockSize": "2000000",
            "maxHeaderSize": "2000000",
            "maxProposalSize": "700",
            "maxTxSize": "4096",
            "mpcThd": "20000000000000",
            "scriptVersion": 0,
            "slotDuration": "20000",
            "softforkRule": {"initThd": "900000000000000", "minThd": "600000000000000", "thdDecrement": "50000000000000"},
            "txFeePolicy": {"multiplier": "43946000000", "summand": "155381000000000"},
            "unlockStakeEpoch": "18446744073709551615",
            "updateImplicit": "10000",
            "updateProposalThd": "100000000000000",
            "updateVoteThd": "1000000000000",
        },
        "bootStakeholders": {stakeholder: 1},
        "heavyDelegation": {},
        "nonAvvmBalances": {},
        "protocolConsts": {"k": recipe.security_parameter, "protocolMagic": NETWORK_MAGIC},
        "startTime": SYSTEM_START_S,
    })
}

/// The unspent outputs first, one by one, since there may be millions.
fn write_shelley(file: &mut dyn Write, recipe: &Recipe, keys: &Keys, pools: &[Pool]) -> io::Result<()> {
    write!(file, "{{\n  \"initialFunds\": {{")?;
    let mut comma = "";
    let mut text = [0; 2 * 57];
    for (_, output) in outputs(keys, recipe.utxo) {
        let bytes = output.address.bytes();
        let text = &mut text[..2 * bytes.len()];
        hex::encode_to_slice(bytes, text).expect("two digits a byte");
        write!(file, "{comma}\n    \"")?;
        file.write_all(text)?;
        write!(file, "\": {}", output.lovelace)?;
        comma = ",";
    }
    let rest = format!("{:#}", shelley(recipe, keys, pools));
    writeln!(file, "\n  }},{}", rest.strip_prefix('{').expect("an object"))
}

/// All but the unspent outputs.
fn shelley(recipe: &Recipe, keys: &Keys, pools: &[Pool]) -> Value {
    let mut registered = Map::new();
    let mut delegated = Map::new();
    for pool in pools {
        let id = hex::encode(pool.id);
        for key in pool.delegators.clone() {
            delegated.insert(hex::encode(keys.stake_hash(key)), json!(id));
        }
        let account = hex::encode(keys.stake_hash(pool.delegators.start));
        let parameters = json!({
            "cost": 0,
            "margin": 0.0,
            "metadata": null,
            "owners": [],
            "pledge": 0,
            "publicKey": id,
            "relays": [],
            "rewardAccount": {"credential": {"key hash": account}, "network": "Testnet"},
            "vrf": hex::encode(pool.vrf_key_hash()),
        });
        registered.insert(id, parameters);
    }
    json!({
        "activeSlotsCoeff": 1.0 / SLOTS_PER_BLOCK as f64,
        "epochLength": recipe.epoch_slots(),
        "genDelegs": {},
        "maxKESEvolutions": MAX_KES_EVOLUTIONS,
        "maxLovelaceSupply": MAX_LOVELACE,
        "networkId": "Testnet",
        "networkMagic": NETWORK_MAGIC,
        "protocolParams": {
            "a0": 0.3,
            "decentralisationParam": 0,
            "eMax": 18,
            "extraEntropy": {"tag": "NeutralNonce"},
            "keyDeposit": 2_000_000,
            "maxBlockBodySize": MAX_BLOCK_BODY_BYTES,
            "maxBlockHeaderSize": MAX_HEADER_BYTES,
            "maxTxSize": MAX_TX_BYTES,
            "minFeeA": MIN_FEE_PER_BYTE,
            "minFeeB": MIN_FEE_CONSTANT,
            "minPoolCost": 0,
            "minUTxOValue": 0,
            "nOpt": 500,
            "poolDeposit": 500_000_000,
            "protocolVersion": {"major": PROTOCOL_VERSION.0, "minor": PROTOCOL_VERSION.1},
            "rho": 0.003,
            "tau": 1.0,
        },
        "securityParam": recipe.security_parameter,
        "slotLength": 1,
        "slotsPerKESPeriod": recipe.kes_period_slots,
        "staking": {"pools": registered, "stake": delegated},
        "systemStart": SYSTEM_START,
        "updateQuorum": 1,
    })
}

fn alonzo() -> Value {
    let price = |(numerator, denominator): (u64, u64)| numerator as f64 / denominator as f64;
    json!({
        "collateralPercentage": COLLATERAL_PERCENT,
        "costModels": {"PlutusV1": &PLUTUS_V1_COST_MODEL[..]},
        "executionPrices": {"prMem": price(MEMORY_PRICE), "prSteps": price(STEP_PRICE)},
        "lovelacePerUTxOWord": LOVELACE_PER_UTXO_WORD,
        "maxBlockExUnits": {"exUnitsMem": MAX_BLOCK_MEMORY, "exUnitsSteps": MAX_BLOCK_STEPS},
        "maxCollateralInputs": 3,
        "maxTxExUnits": {"exUnitsMem": MAX_TX_MEMORY, "exUnitsSteps": MAX_TX_STEPS},
        "maxValueSize": 5_000,
    })
}

fn conway(recipe: &Recipe) -> Value {
    let dreps: Map<String, Value> = (0..DREPS)
        .map(|number| {
            let hash = blake2b_224(&[&public(&drep_secret(recipe, number))]);
            (format!("keyHash-{}", hex::encode(hash)), json!({"deposit": DREP_DEPOSIT, "expiry": DREP_EXPIRY}))
        })
        .collect();
    json!({
        "committee": {"members": {}, "threshold": {"denominator": 3, "numerator": 2}},
        "committeeMaxTermLength": 365,
        "committeeMinSize": 0,
        "constitution": {"anchor": {"dataHash": "00".repeat(32), "url": ""}},
        "dRepActivity": 20,
        "dRepDeposit": DREP_DEPOSIT,
        "dRepVotingThresholds": {
            "committeeNoConfidence": 0.6,
            "committeeNormal": 0.67,
            "hardForkInitiation": 0.6,
            "motionNoConfidence": 0.67,
            "ppEconomicGroup": 0.67,
            "ppGovGroup": 0.75,
            "ppNetworkGroup": 0.67,
            "ppTechnicalGroup": 0.67,
            "treasuryWithdrawal": 0.67,
            "updateToConstitution": 0.75,
        },
        "govActionDeposit": 100_000_000_000_u64,
        "govActionLifetime": 30,
        "initialDReps": dreps,
        "minFeeRefScriptCostPerByte": REFERENCE_SCRIPT_FEE_PER_BYTE,
        "plutusV3CostModel": &PLUTUS_V3_COST_MODEL[..],
        "poolVotingThresholds": {
            "committeeNoConfidence": 0.51,
            "committeeNormal": 0.51,
            "hardForkInitiation": 0.51,
            "motionNoConfidence": 0.51,
            "ppSecurityGroup": 0.51,
        },
    })
}

/// What nodes from 10.6 on ask for beside the others.
fn dijkstra() -> Value {
    json!({
        "maxRefScriptSizePerBlock": 1_048_576,
        "maxRefScriptSizePerTx": 204_800,
        "refScriptCostMultiplier": 1.2,
        "refScriptCostStride": 25_600,
    })
}

/// A node's configuration: Conway from the first slot on.
fn configuration(byron: &Hash32, shelley: &Hash32, alonzo: &Hash32, conway: &Hash32, dijkstra: &Hash32) -> Value {
    let mut configuration = Map::new();
    for (era, hash) in [("Byron", byron), ("Shelley", shelley), ("Alonzo", alonzo), ("Conway", conway), ("Dijkstra", dijkstra)] {
        configuration.insert(format!("{era}GenesisFile"), json!(format!("{}-genesis.json", era.to_lowercase())));
        configuration.insert(format!("{era}GenesisHash"), json!(hex::encode(hash)));
    }
    for era in ["Shelley", "Allegra", "Mary", "Alonzo", "Babbage", "Conway"] {
        configuration.insert(format!("Test{era}HardForkAtEpoch"), json!(0));
    }
    for (key, value) in [
        ("ExperimentalHardForksEnabled", json!(true)),
        ("ExperimentalProtocolsEnabled", json!(true)),
        ("LastKnownBlockVersion-Alt", json!(0)),
        ("LastKnownBlockVersion-Major", json!(6)),
        ("LastKnownBlockVersion-Minor", json!(0)),
        ("Protocol", json!("Cardano")),
        ("RequiresNetworkMagic", json!("RequiresMagic")),
    ] {
        configuration.insert(key.to_owned(), value);
    }
    Value::Object(configuration)
}
