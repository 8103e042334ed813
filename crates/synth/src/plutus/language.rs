//! The versions of Plutus.

use std::sync::LazyLock;

use slotmark_network::{PLUTUS_V1_COST_MODEL, PLUTUS_V2_COST_MODEL, PLUTUS_V3_COST_MODEL, PLUTUS_V3_PLOMIN_COST_MODEL, Parameters, STATED};

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
    /// That of Plutus V3 with the parameters of protocol version 10.
    pub(crate) plomin: bool,
}

impl LaterCosts {
    /// The costs of a language's instructions, in the ledger's order.
    pub(crate) fn model(self, language: Language) -> &'static [i64] {
        match language {
            Language::V1 => &PLUTUS_V1_COST_MODEL,
            Language::V2 => &PLUTUS_V2_COST_MODEL,
            Language::V3 if self.plomin => &PLUTUS_V3_PLOMIN_COST_MODEL,
            Language::V3 => &PLUTUS_V3_COST_MODEL,
        }
    }

    /// All parameters of a network with these models, and that of Plutus V2.
    pub(crate) fn parameters(self) -> &'static Parameters {
        static PLOMIN: LazyLock<Parameters> = LazyLock::new(|| {
            let mut parameters = STATED.clone();
            parameters.cost_models[2] = Some(PLUTUS_V3_PLOMIN_COST_MODEL.to_vec());
            parameters
        });
        if self.plomin { &PLOMIN } else { &STATED }
    }
}
