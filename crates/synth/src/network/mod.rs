//! The files of a network, as cardano-node reads them and cardano-cli lays them out: genesis files of all eras, nodes'
//! configurations, and keys. Forged chains and beds write them by the same code.

pub(crate) mod configuration;
mod folder;
mod genesis;
pub(crate) mod keys;

use slotmark_chain::Hash32;
use slotmark_network::shelley::ProtocolVersion;
use slotmark_network::{dijkstra, shelley};
use slotmark_praos::header::KesPeriods;

pub(crate) use self::folder::Folder;
pub(crate) use self::genesis::Staking;
use crate::address::Address;
use crate::budgets::Budgets;
use crate::error::SynthError;
use crate::plutus::LaterCosts;

/// The eras that have a genesis file, as the configuration names them.
pub(crate) const ERAS: [&str; 5] = ["Byron", "Shelley", "Alonzo", "Conway", "Dijkstra"];

/// The part of a network's genesis files that differs from other networks; [`crate::parameters`] has the rest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Network {
    pub(crate) seed: u64,
    pub(crate) magic: u32,
    pub(crate) slot_length_ns: u64,
    pub(crate) active_slot_coefficient: f64,
    pub(crate) security_parameter: u64,
    pub(crate) epoch_slots: u64,
    pub(crate) kes_period_slots: u64,
    pub(crate) max_block_body_bytes: u64,
    pub(crate) dreps: u64,
    /// The version of the protocol.
    pub(crate) protocol_version: ProtocolVersion,
    /// Budgets of scripts.
    pub(crate) budgets: Budgets,
    /// Cost models that the workload's scripts need.
    pub(crate) costs: LaterCosts,
    /// True where pools and those who delegate to them have rewards; else the treasury has all.
    pub(crate) rewards: bool,
}

impl Network {
    /// Returns the periods in which KES keys are valid.
    pub(crate) fn kes_periods(&self) -> KesPeriods {
        KesPeriods { slots: self.kes_period_slots, max_evolutions: shelley::MAX_KES_EVOLUTIONS }
    }

    /// Writes the genesis files, named by their era. Gives their hashes, in the order of [`ERAS`]; Shelley's is the chain's first nonce.
    pub(crate) fn write_genesis(
        &self,
        folder: &Folder,
        name: impl Fn(&str) -> String,
        staking: Staking<'_>,
        funds: impl Iterator<Item = (Address, u64)>,
    ) -> Result<[Hash32; 5], SynthError> {
        Ok([
            // Canonical JSON (no spaces, keys in order), so that the file's hash is the one that nodes compute for Byron's.
            folder.file(&name("Byron"), |file| write!(file, "{}", genesis::byron(self)))?,
            folder.file(&name("Shelley"), |file| genesis::write_shelley(file, self, staking, funds))?,
            folder.json(&name("Alonzo"), &genesis::alonzo(self))?,
            folder.json(&name("Conway"), &genesis::conway(self))?,
            folder.json(&name("Dijkstra"), &dijkstra::stated())?,
        ])
    }
}
