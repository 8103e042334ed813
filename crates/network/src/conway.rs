//! Conway's genesis file and its protocol parameters.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use slotmark_chain::CborBuffer;
use slotmark_chain::block::Credential;

use crate::parameters::put_ratio;
use crate::ratio::Ratio;

/// The epoch in which the DReps of forged networks expire.
const DREP_EXPIRY: u64 = 1_000;

/// The parameters of forged networks.
pub const PARAMETERS: Parameters = Parameters {
    pool_thresholds: PoolThresholds {
        motion_no_confidence: hundredths(51),
        committee_normal: hundredths(51),
        committee_no_confidence: hundredths(51),
        hard_fork_initiation: hundredths(51),
        pp_security_group: hundredths(51),
    },
    drep_thresholds: DRepThresholds {
        motion_no_confidence: hundredths(67),
        committee_normal: hundredths(67),
        committee_no_confidence: hundredths(60),
        update_to_constitution: hundredths(75),
        hard_fork_initiation: hundredths(60),
        pp_network_group: hundredths(67),
        pp_economic_group: hundredths(67),
        pp_technical_group: hundredths(67),
        pp_gov_group: hundredths(75),
        treasury_withdrawal: hundredths(67),
    },
    committee_min_size: 0,
    committee_max_term_length: 365,
    gov_action_lifetime: 30,
    gov_action_deposit: 100_000_000_000,
    drep_deposit: 500_000_000,
    drep_activity: 20,
    fee_per_script_byte: Ratio::new(15, 1).expect("a fraction"),
};

const fn hundredths(number: u64) -> Ratio {
    Ratio::new(number, 100).expect("a fraction")
}

/// A Conway genesis file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Conway {
    /// The parameters that are numbers.
    #[serde(flatten)]
    pub parameters: Parameters,
    /// The cost model of Plutus V3, in the ledger's order.
    #[serde(rename = "plutusV3CostModel")]
    pub plutus_v3_cost_model: Vec<i64>,
    committee: Value,
    constitution: Value,
    #[serde(rename = "initialDReps", default)]
    initial_dreps: Map<String, Value>,
    /// Pools and DReps that accounts begin with.
    #[serde(rename = "delegs", default, skip_serializing_if = "Map::is_empty")]
    delegations: Map<String, Value>,
}

/// The governance that a genesis begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Governance {
    /// Members of the committee, each with the last epoch of its term.
    pub members: Vec<(Credential, u64)>,
    /// Share of the committee that votes take.
    pub committee_threshold: Ratio,
    /// The place of the constitution.
    pub constitution_url: String,
    /// Its hash.
    pub constitution_hash: [u8; 32],
    /// Hash of its script; None without one.
    pub guardrails: Option<[u8; 28]>,
    /// DReps, in ascending order.
    pub dreps: Vec<DRep>,
}

/// The part of a genesis that isn't parameters.
#[derive(Clone, Debug, Default)]
pub struct Beginning {
    /// DReps, in ascending order.
    pub dreps: Vec<DRep>,
    /// The governance; None where it isn't known.
    pub governance: Option<Governance>,
}

/// A DRep of a genesis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DRep {
    /// True where the hash is that of a script, and not of a key.
    pub script: bool,
    /// The hash.
    pub hash: [u8; 28],
    /// The epoch in which it expires.
    pub expiry: u64,
    /// Lovelace.
    pub deposit: u64,
}

impl Conway {
    /// The genesis with these DReps, as hashes of their keys, and without a committee.
    pub fn stated(parameters: Parameters, cost_model: &[i64], dreps: impl Iterator<Item = [u8; 28]>) -> Self {
        let deposit = parameters.drep_deposit;
        let drep = |hash| (format!("keyHash-{}", hex::encode(hash)), json!({"deposit": deposit, "expiry": DREP_EXPIRY}));
        Self {
            parameters,
            plutus_v3_cost_model: cost_model.to_vec(),
            committee: json!({"members": {}, "threshold": {"denominator": 3, "numerator": 2}}),
            constitution: json!({"anchor": {"dataHash": "00".repeat(32), "url": ""}}),
            initial_dreps: dreps.map(drep).collect(),
            delegations: Map::new(),
        }
    }

    /// DReps, in ascending order; None where they can't be read.
    pub(crate) fn dreps(&self) -> Option<Vec<DRep>> {
        let drep = |(name, drep): (&String, &Value)| {
            let Credential { script, hash } = credential(name)?;
            Some(DRep { script, hash, expiry: drep["expiry"].as_u64()?, deposit: drep["deposit"].as_u64()? })
        };
        let mut dreps: Vec<DRep> = self.initial_dreps.iter().map(drep).collect::<Option<_>>()?;
        dreps.sort_unstable();
        Some(dreps)
    }

    /// The governance that it begins with; None where a part can't be read, or accounts begin with DReps, which isn't followed.
    pub fn governance(&self) -> Option<Governance> {
        let member = |(name, epoch): (&String, &Value)| Some((credential(name)?, epoch.as_u64()?));
        let mut constitution_hash = [0; 32];
        hex::decode_to_slice(self.constitution["anchor"]["dataHash"].as_str()?, &mut constitution_hash).ok()?;
        let threshold: Ratio = serde_json::from_value(self.committee["threshold"].clone()).ok()?;
        let guardrails = match self.constitution.get("script") {
            None | Some(Value::Null) => None,
            Some(script) => {
                let mut hash = [0; 28];
                hex::decode_to_slice(script.as_str()?, &mut hash).ok()?;
                Some(hash)
            }
        };
        let governance = Governance {
            members: self.committee["members"].as_object()?.iter().map(member).collect::<Option<_>>()?,
            committee_threshold: threshold.is_share().then_some(threshold)?,
            constitution_url: self.constitution["anchor"]["url"].as_str()?.to_owned(),
            constitution_hash,
            guardrails,
            dreps: self.dreps()?,
        };
        self.delegations.is_empty().then_some(governance)
    }
}

/// The credential of a name as `keyHash-…` or `scriptHash-…`.
fn credential(name: &str) -> Option<Credential> {
    let (kind, digits) = name.split_once('-')?;
    let mut hash = [0; 28];
    hex::decode_to_slice(digits, &mut hash).ok()?;
    Some(Credential { script: kind == "scriptHash", hash })
}

/// Protocol parameters that Conway's genesis states; amounts are in lovelace, times in epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parameters {
    /// Shares of the pools' stake that votes take.
    #[serde(rename = "poolVotingThresholds")]
    pub pool_thresholds: PoolThresholds,
    /// Shares of the DReps' stake that votes take.
    #[serde(rename = "dRepVotingThresholds")]
    pub drep_thresholds: DRepThresholds,
    /// Members of the committee at least.
    pub committee_min_size: u64,
    /// Longest term of a member of the committee.
    pub committee_max_term_length: u64,
    /// Time in which an action can be voted on.
    pub gov_action_lifetime: u64,
    /// Deposit for an action.
    pub gov_action_deposit: u64,
    /// Deposit for a DRep.
    #[serde(rename = "dRepDeposit")]
    pub drep_deposit: u64,
    /// Time for which a DRep who doesn't vote counts.
    #[serde(rename = "dRepActivity")]
    pub drep_activity: u64,
    /// Least fee, for each byte of a script that is referred to.
    #[serde(rename = "minFeeRefScriptCostPerByte")]
    pub fee_per_script_byte: Ratio,
}

/// Declares a struct of shares that are all encoded, in this order.
macro_rules! thresholds {
    ($(#[doc = $doc:literal])+ $name:ident { $($field:ident,)+ }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        #[allow(missing_docs, reason = "the names are the ledger's")]
        pub struct $name {
            $(pub $field: Ratio,)+
        }

        impl $name {
            fn encode(&self, out: &mut Vec<u8>) {
                let shares = [$(self.$field),+];
                out.array(shares.len());
                shares.into_iter().for_each(|share| put_ratio(out, share));
            }
        }
    };
}

thresholds! {
    /// Shares of the pools' stake that votes take.
    PoolThresholds {
        motion_no_confidence,
        committee_normal,
        committee_no_confidence,
        hard_fork_initiation,
        pp_security_group,
    }
}

thresholds! {
    /// Shares of the DReps' stake that votes take.
    DRepThresholds {
        motion_no_confidence,
        committee_normal,
        committee_no_confidence,
        update_to_constitution,
        hard_fork_initiation,
        pp_network_group,
        pp_economic_group,
        pp_technical_group,
        pp_gov_group,
        treasury_withdrawal,
    }
}

impl Parameters {
    /// Their number in [`crate::Parameters::encode`].
    pub(crate) const ENCODED: usize = 9;

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        self.pool_thresholds.encode(out);
        self.drep_thresholds.encode(out);
        for number in [self.committee_min_size, self.committee_max_term_length, self.gov_action_lifetime, self.gov_action_deposit] {
            out.uint(number);
        }
        [self.drep_deposit, self.drep_activity].into_iter().for_each(|number| out.uint(number));
        put_ratio(out, self.fee_per_script_byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn governance_is_read_or_is_not_known() {
        let stated = serde_json::to_value(Conway::stated(PARAMETERS, &[1], [[7; 28]].into_iter())).unwrap();
        let read = |change: &dyn Fn(&mut Value)| {
            let mut file = stated.clone();
            change(&mut file);
            serde_json::from_value::<Conway>(file).unwrap().governance()
        };
        let begun = read(&|_| {}).expect("governance");
        assert_eq!((begun.members.len(), begun.committee_threshold, begun.guardrails), (0, Ratio::new(2, 3).unwrap(), None));
        assert_eq!((begun.dreps[0].hash, begun.dreps[0].expiry), ([7; 28], DREP_EXPIRY));
        let members = |file: &mut Value| {
            let names = ["scriptHash-", "keyHash-"].map(|kind| format!("{kind}{}", "05".repeat(28)));
            file["committee"]["members"] = json!({&names[0]: 1_000, &names[1]: 7});
            file["constitution"]["script"] = json!("09".repeat(28));
        };
        let begun = read(&members).expect("governance");
        assert_eq!(begun.guardrails, Some([9; 28]));
        assert!(
            [(true, 1_000), (false, 7)]
                .map(|(script, last)| (Credential { script, hash: [5; 28] }, last))
                .iter()
                .all(|member| begun.members.contains(member))
        );
        for (place, wrong) in [
            ("/committee/members", json!({"keyHash-05": 7})),
            ("/committee/threshold", json!({"numerator": 3, "denominator": 2})),
            ("/constitution/anchor/dataHash", json!("05")),
        ] {
            assert_eq!(read(&|file| *file.pointer_mut(place).unwrap() = wrong.clone()), None, "{place}");
        }
        assert_eq!(read(&|file| file["delegs"] = json!({"keyHash-05": {}})), None);
    }
}
