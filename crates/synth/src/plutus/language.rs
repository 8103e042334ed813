//! The versions of Plutus.

use std::sync::LazyLock;

use slotmark_network::shelley::{self, ProtocolVersion, VAN_ROSSEM};
use slotmark_network::{
    PLUTUS_V1_COST_MODEL, PLUTUS_V2_COST_MODEL, PLUTUS_V3_COST_MODEL, PLUTUS_V3_PLOMIN_COST_MODEL, PLUTUS_V3_VAN_ROSSEM_COST_MODEL,
    Parameters, STATED,
};

/// A version of Plutus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Since Alonzo. Its scripts can't see inline datums nor reference inputs.
    V1,
    /// Since Babbage.
    V2,
    /// Since Conway.
    V3,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::V1, Self::V2, Self::V3];

    /// Its number in the ledger, which counts from 0.
    pub(crate) fn number(self) -> u64 {
        self as u64
    }

    /// Returns the type of its scripts in text envelopes.
    pub(crate) fn envelope_type(self) -> &'static str {
        match self {
            Self::V1 => "PlutusScriptV1",
            Self::V2 => "PlutusScriptV2",
            Self::V3 => "PlutusScriptV3",
        }
    }

    /// The key under which witness sets have its scripts.
    pub(crate) fn witness_key(self) -> u64 {
        match self {
            Self::V1 => 3,
            Self::V2 => 6,
            Self::V3 => 7,
        }
    }
}

/// Cost models of a forged network beside those that the public networks' genesis files have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LaterCosts {
    /// That of Plutus V2.
    pub(crate) v2: bool,
    /// The parameters in that of Plutus V3.
    pub(crate) v3: V3Costs,
}

/// The parameters in a cost model of Plutus V3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum V3Costs {
    /// Those of genesis files.
    #[default]
    Genesis,
    /// And those of protocol version 10.
    Plomin,
    /// And those of protocol version 11.
    VanRossem,
}

impl LaterCosts {
    /// These, and what every network of a major version of the protocol has.
    pub(crate) fn under(self, major: u64) -> Self {
        let least = if major < VAN_ROSSEM { V3Costs::Genesis } else { V3Costs::VanRossem };
        Self { v3: self.v3.max(least), ..self }
    }

    /// The costs of a language's instructions, in the ledger's order.
    pub(crate) fn model(self, language: Language) -> &'static [i64] {
        match (language, self.v3) {
            (Language::V1, _) => &PLUTUS_V1_COST_MODEL,
            (Language::V2, _) => &PLUTUS_V2_COST_MODEL,
            (Language::V3, V3Costs::Genesis) => &PLUTUS_V3_COST_MODEL,
            (Language::V3, V3Costs::Plomin) => &PLUTUS_V3_PLOMIN_COST_MODEL,
            (Language::V3, V3Costs::VanRossem) => &PLUTUS_V3_VAN_ROSSEM_COST_MODEL,
        }
    }

    /// All parameters of a network with these models, and that of Plutus V2.
    pub(crate) fn parameters(self) -> &'static Parameters {
        static PLOMIN: LazyLock<Parameters> = LazyLock::new(|| stated(&PLUTUS_V3_PLOMIN_COST_MODEL, shelley::PARAMETERS.protocol_version));
        static LATER: LazyLock<Parameters> = LazyLock::new(|| stated(&PLUTUS_V3_VAN_ROSSEM_COST_MODEL, ProtocolVersion::of(VAN_ROSSEM)));
        match self.v3 {
            V3Costs::Genesis => &STATED,
            V3Costs::Plomin => &PLOMIN,
            V3Costs::VanRossem => &LATER,
        }
    }
}

/// The parameters of forged networks with another cost model of Plutus V3, under a version of the protocol.
fn stated(v3: &[i64], protocol_version: ProtocolVersion) -> Parameters {
    let mut parameters = STATED.clone();
    parameters.cost_models[Language::V3 as usize] = Some(v3.to_vec());
    parameters.shelley.protocol_version = protocol_version;
    parameters
}
