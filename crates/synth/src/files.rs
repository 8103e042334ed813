//! The files of a forged chain's network.

use std::path::Path;

use slotmark_chain::Hash32;
use slotmark_network::shelley::{self, ProtocolVersion};

use crate::error::SynthError;
use crate::genesis::{delegators_outputs, outputs};
use crate::keys::{Keys, STAKE_KEYS, payment_secret, stake_secret};
use crate::network::configuration::configuration;
use crate::network::keys::{write_delegators, write_dreps, write_pools};
use crate::network::{Folder, Network, Staking};
use crate::plutus::Script;
use crate::pools::{HotKey, Pool};
use crate::recipe::Recipe;

/// The folder of a chain's network, in the chain's folder: `config.json`, genesis files, and keys by owner.
pub const GENESIS_FOLDER: &str = "genesis";

const DREPS: u64 = 3;

fn network(recipe: &Recipe, script: Option<&Script>) -> Network {
    let of_loop = recipe.workload.of_loop().map(|one| Script::of_loop(one, 0));
    let costs = script.or(of_loop.as_ref()).map(Script::costs).unwrap_or_default().under(recipe.protocol_version);
    Network {
        seed: recipe.seed,
        magic: shelley::NETWORK_MAGIC,
        slot_length_ns: 1_000_000_000,
        active_slot_coefficient: 1.0 / shelley::SLOTS_PER_BLOCK as f64,
        security_parameter: recipe.security_parameter,
        epoch_slots: recipe.epoch_slots(),
        kes_period_slots: recipe.kes_period_slots,
        max_block_body_bytes: recipe.max_block_body_bytes,
        dreps: DREPS,
        protocol_version: ProtocolVersion::of(recipe.protocol_version),
        budgets: recipe.budgets,
        costs,
        rewards: recipe.delegators > 0,
    }
}

/// Writes the configuration and the genesis files. Gives the hash of the Shelley genesis, which is the chain's first nonce.
pub(crate) fn write_genesis(
    chain: &Path,
    recipe: &Recipe,
    script: Option<&Script>,
    keys: &Keys,
    pools: &[Pool],
) -> Result<Hash32, SynthError> {
    let folder = Folder::new(chain.join(GENESIS_FOLDER));
    let name = |era: &str| format!("{}-genesis.json", era.to_lowercase());
    let funds = outputs(keys, recipe.utxo).map(|(_, output)| output).chain(delegators_outputs(keys, recipe.delegators));
    let funds = funds.map(|output| (output.address, output.lovelace));
    let others = (0..recipe.delegators).zip(pools.iter().cycle()).map(|(number, pool)| (keys.delegator_hash(number), pool.id)).collect();
    let staking = Staking { pools, stake_hash: &|key| keys.stake_hash(key), others };
    let hashes = network(recipe, script).write_genesis(&folder, name, staking, funds)?;
    folder.json("config.json", &configuration(name, &hashes))?;
    Ok(hashes[1])
}

/// Writes the keys; of each pool with the hot key and certificate that it used last.
pub(crate) fn write_keys(chain: &Path, recipe: &Recipe, pools: &[Pool], hot_keys: &[HotKey]) -> Result<(), SynthError> {
    let folder = Folder::new(chain.join(GENESIS_FOLDER));
    write_pools(&folder, pools, hot_keys)?;
    write_delegators(&folder, (0..STAKE_KEYS).map(|number| (payment_secret(recipe.seed, number), stake_secret(recipe.seed, number))))?;
    write_dreps(&folder, recipe.seed, DREPS)
}
