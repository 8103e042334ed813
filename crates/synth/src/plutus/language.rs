//! The versions of Plutus.

use slotmark_network::{PLUTUS_V1_COST_MODEL, PLUTUS_V2_COST_MODEL, PLUTUS_V3_COST_MODEL};

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

    /// Returns the costs of its instructions on forged networks, in the ledger's order.
    pub(crate) fn cost_model(self) -> &'static [i64] {
        match self {
            Self::V1 => &PLUTUS_V1_COST_MODEL,
            Self::V2 => &PLUTUS_V2_COST_MODEL,
            Self::V3 => &PLUTUS_V3_COST_MODEL,
        }
    }
}
