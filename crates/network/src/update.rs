//! Changes of protocol parameters that actions of Conway's governance propose.

use pallas_codec::minicbor;
use pallas_primitives::RationalNumber;
use pallas_primitives::conway::{DRepVotingThresholds, PoolVotingThresholds, ProtocolParamUpdate};

use crate::alonzo::{Prices, WORD_BYTES};
use crate::conway::{DRepThresholds, PoolThresholds};
use crate::parameters::{Parameters, Units};
use crate::ratio::Ratio;
use crate::shelley::VAN_ROSSEM;

/// From this major version on, governance is complete (`hardforkConwayBootstrapPhase` before it).
const FIRST_COMPLETE: u64 = 10;

/// The parameters that DReps decide on by one threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Network,
    Economic,
    Technical,
    Governance,
}

/// Numbers of parameters with their group, and whether pools decide on them too (`PPGroups` of `ConwayPParams` in cardano-ledger).
const GROUPS: [(u32, Group, bool); 30] = [
    (0, Group::Economic, true),
    (1, Group::Economic, true),
    (2, Group::Network, true),
    (3, Group::Network, true),
    (4, Group::Network, true),
    (5, Group::Economic, false),
    (6, Group::Economic, false),
    (7, Group::Technical, false),
    (8, Group::Technical, false),
    (9, Group::Technical, false),
    (10, Group::Economic, false),
    (11, Group::Economic, false),
    (16, Group::Economic, false),
    (17, Group::Economic, true),
    (18, Group::Technical, false),
    (19, Group::Economic, false),
    (20, Group::Network, false),
    (21, Group::Network, true),
    (22, Group::Network, true),
    (23, Group::Technical, false),
    (24, Group::Network, false),
    (25, Group::Governance, false),
    (26, Group::Governance, false),
    (27, Group::Governance, false),
    (28, Group::Governance, false),
    (29, Group::Governance, false),
    (30, Group::Governance, true),
    (31, Group::Governance, false),
    (32, Group::Governance, false),
    (33, Group::Economic, true),
];

/// A change of parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    changes: ProtocolParamUpdate,
    /// Numbers of the parameters that it has.
    numbers: Vec<u32>,
}

impl Update {
    /// Reads a change as it is encoded, a map by number of parameter; None where it can't be read, or has a number that is no parameter's.
    pub fn read(encoded: &[u8]) -> Option<Self> {
        let changes = minicbor::decode(encoded).ok()?;
        let mut decoder = minicbor::Decoder::new(encoded);
        let mut numbers = Vec::new();
        let items = decoder.map().ok()?;
        while items.map_or_else(|| decoder.datatype().ok() != Some(minicbor::data::Type::Break), |items| (numbers.len() as u64) < items) {
            let number = decoder.u32().ok()?;
            GROUPS.iter().find(|(known, ..)| *known == number)?;
            decoder.skip().ok()?;
            numbers.push(number);
        }
        Some(Self { changes, numbers })
    }

    /// Returns whether it may be proposed under a major version (`ppuWellFormed`).
    pub fn is_well_formed(&self, major: u64) -> bool {
        let changes = &self.changes;
        let mut numbers = vec![
            changes.max_block_body_size,
            changes.max_transaction_size,
            changes.max_block_header_size,
            changes.max_value_size,
            changes.collateral_percentage,
            changes.committee_term_limit,
            changes.governance_action_validity_period,
            changes.pool_deposit,
            changes.governance_action_deposit,
            changes.drep_deposit,
        ];
        if major >= FIRST_COMPLETE {
            numbers.push(changes.ada_per_utxo_byte);
        }
        if major >= VAN_ROSSEM {
            numbers.push(changes.desired_number_of_stake_pools);
        }
        !self.numbers.is_empty() && !numbers.contains(&Some(0))
    }

    /// The share of the DReps' stake that votes for it take: the largest one of its groups (`pparamsUpdateThreshold`).
    pub fn drep_threshold(&self, thresholds: &DRepThresholds) -> Ratio {
        let of_groups = self.groups().map(|(group, _)| match group {
            Group::Network => thresholds.pp_network_group,
            Group::Economic => thresholds.pp_economic_group,
            Group::Technical => thresholds.pp_technical_group,
            Group::Governance => thresholds.pp_gov_group,
        });
        of_groups.fold(Ratio::ZERO, Ratio::or_larger)
    }

    /// Returns whether pools vote on it.
    pub fn is_of_pools(&self) -> bool {
        self.groups().any(|(_, of_pools)| of_pools)
    }

    fn groups(&self) -> impl Iterator<Item = (Group, bool)> {
        GROUPS.iter().filter(|(number, ..)| self.numbers.contains(number)).map(|(_, group, of_pools)| (*group, *of_pools))
    }
}

impl Parameters {
    /// Takes over a change that was enacted (ENACT). Parameters of Conway stay unknown where they were.
    pub fn enact(&mut self, update: &Update) {
        let changes = &update.changes;
        let set = |parameter: &mut u64, update: Option<u64>| *parameter = update.unwrap_or(*parameter);
        let share =
            |parameter: &mut Ratio, update: &Option<RationalNumber>| *parameter = update.as_ref().and_then(ratio).unwrap_or(*parameter);
        let shelley = &mut self.shelley;
        set(&mut shelley.fee_per_byte, changes.minfee_a);
        set(&mut shelley.fee_constant, changes.minfee_b);
        set(&mut shelley.max_body_bytes, changes.max_block_body_size);
        set(&mut shelley.max_transaction_bytes, changes.max_transaction_size);
        set(&mut shelley.max_header_bytes, changes.max_block_header_size);
        set(&mut shelley.key_deposit, changes.key_deposit);
        set(&mut shelley.pool_deposit, changes.pool_deposit);
        set(&mut shelley.e_max, changes.maximum_epoch);
        set(&mut shelley.n_opt, changes.desired_number_of_stake_pools);
        set(&mut shelley.min_pool_cost, changes.min_pool_cost);
        share(&mut shelley.a0, &changes.pool_pledge_influence);
        share(&mut shelley.rho, &changes.expansion_rate);
        share(&mut shelley.tau, &changes.treasury_growth_rate);
        let alonzo = &mut self.alonzo;
        set(&mut alonzo.lovelace_per_word, changes.ada_per_utxo_byte.map(|price| price.saturating_mul(WORD_BYTES)));
        set(&mut alonzo.max_value_bytes, changes.max_value_size);
        set(&mut alonzo.collateral_percent, changes.collateral_percentage);
        set(&mut alonzo.max_collateral_inputs, changes.max_collateral_inputs);
        if let Some(prices) = &changes.execution_costs {
            let Prices { memory, steps } = alonzo.prices;
            alonzo.prices =
                Prices { memory: ratio(&prices.mem_price).unwrap_or(memory), steps: ratio(&prices.step_price).unwrap_or(steps) };
        }
        for (limit, units) in
            [(&mut alonzo.max_transaction_units, changes.max_tx_ex_units), (&mut alonzo.max_block_units, changes.max_block_ex_units)]
        {
            *limit = units.map_or(*limit, |units| Units { memory: units.mem, steps: units.steps });
        }
        if let Some(models) = &changes.cost_models_for_script_languages {
            for (model, update) in self.cost_models.iter_mut().zip([&models.plutus_v1, &models.plutus_v2, &models.plutus_v3]) {
                *model = update.clone().or(model.take());
            }
        }
        let Some(conway) = &mut self.conway else { return };
        conway.pool_thresholds =
            changes.pool_voting_thresholds.as_ref().map_or(conway.pool_thresholds, |new| of_pools(new, conway.pool_thresholds));
        conway.drep_thresholds =
            changes.drep_voting_thresholds.as_ref().map_or(conway.drep_thresholds, |new| of_dreps(new, conway.drep_thresholds));
        set(&mut conway.committee_min_size, changes.min_committee_size);
        set(&mut conway.committee_max_term_length, changes.committee_term_limit);
        set(&mut conway.gov_action_lifetime, changes.governance_action_validity_period);
        set(&mut conway.gov_action_deposit, changes.governance_action_deposit);
        set(&mut conway.drep_deposit, changes.drep_deposit);
        set(&mut conway.drep_activity, changes.drep_inactivity_period);
        share(&mut conway.fee_per_script_byte, &changes.minfee_refscript_cost_per_byte);
    }
}

fn ratio(number: &RationalNumber) -> Option<Ratio> {
    Ratio::new(number.numerator, number.denominator)
}

fn of_pools(new: &PoolVotingThresholds, old: PoolThresholds) -> PoolThresholds {
    PoolThresholds {
        motion_no_confidence: ratio(&new.motion_no_confidence).unwrap_or(old.motion_no_confidence),
        committee_normal: ratio(&new.committee_normal).unwrap_or(old.committee_normal),
        committee_no_confidence: ratio(&new.committee_no_confidence).unwrap_or(old.committee_no_confidence),
        hard_fork_initiation: ratio(&new.hard_fork_initiation).unwrap_or(old.hard_fork_initiation),
        pp_security_group: ratio(&new.security_voting_threshold).unwrap_or(old.pp_security_group),
    }
}

fn of_dreps(new: &DRepVotingThresholds, old: DRepThresholds) -> DRepThresholds {
    DRepThresholds {
        motion_no_confidence: ratio(&new.motion_no_confidence).unwrap_or(old.motion_no_confidence),
        committee_normal: ratio(&new.committee_normal).unwrap_or(old.committee_normal),
        committee_no_confidence: ratio(&new.committee_no_confidence).unwrap_or(old.committee_no_confidence),
        update_to_constitution: ratio(&new.update_constitution).unwrap_or(old.update_to_constitution),
        hard_fork_initiation: ratio(&new.hard_fork_initiation).unwrap_or(old.hard_fork_initiation),
        pp_network_group: ratio(&new.pp_network_group).unwrap_or(old.pp_network_group),
        pp_economic_group: ratio(&new.pp_economic_group).unwrap_or(old.pp_economic_group),
        pp_technical_group: ratio(&new.pp_technical_group).unwrap_or(old.pp_technical_group),
        pp_gov_group: ratio(&new.pp_governance_group).unwrap_or(old.pp_gov_group),
        treasury_withdrawal: ratio(&new.treasury_withdrawal).unwrap_or(old.treasury_withdrawal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::STATED;

    fn read(text: &str) -> Option<Update> {
        Update::read(&hex::decode(text.replace(' ', "")).unwrap())
    }

    #[test]
    fn each_change_is_taken_over_and_nothing_else() {
        let share = "d81e820102";
        let half = Ratio::new(1, 2).unwrap();
        let changed = |text: &str| {
            let mut parameters = STATED.clone();
            parameters.enact(&read(text).expect(text));
            parameters
        };
        assert_eq!(changed("a0"), *STATED);
        type Set = fn(&mut Parameters);
        let numbers: [(u8, Set); 22] = [
            (0, |p| p.shelley.fee_per_byte = 7),
            (1, |p| p.shelley.fee_constant = 7),
            (2, |p| p.shelley.max_body_bytes = 7),
            (3, |p| p.shelley.max_transaction_bytes = 7),
            (4, |p| p.shelley.max_header_bytes = 7),
            (5, |p| p.shelley.key_deposit = 7),
            (6, |p| p.shelley.pool_deposit = 7),
            (7, |p| p.shelley.e_max = 7),
            (8, |p| p.shelley.n_opt = 7),
            (16, |p| p.shelley.min_pool_cost = 7),
            (17, |p| p.alonzo.lovelace_per_word = 56),
            (22, |p| p.alonzo.max_value_bytes = 7),
            (23, |p| p.alonzo.collateral_percent = 7),
            (24, |p| p.alonzo.max_collateral_inputs = 7),
            (27, |p| p.conway.as_mut().unwrap().committee_min_size = 7),
            (28, |p| p.conway.as_mut().unwrap().committee_max_term_length = 7),
            (29, |p| p.conway.as_mut().unwrap().gov_action_lifetime = 7),
            (30, |p| p.conway.as_mut().unwrap().gov_action_deposit = 7),
            (31, |p| p.conway.as_mut().unwrap().drep_deposit = 7),
            (32, |p| p.conway.as_mut().unwrap().drep_activity = 7),
            (18, |p| p.cost_models[1] = Some(vec![7, -1])),
            (20, |p| p.alonzo.max_transaction_units = Units { memory: 7, steps: 8 }),
        ];
        for (number, set) in numbers {
            let value = match number {
                18 => "a101820720",
                20 => "820708",
                _ => "07",
            };
            let mut expected = STATED.clone();
            set(&mut expected);
            let key = if number < 24 { format!("{number:02x}") } else { format!("18{number:02x}") };
            assert_ne!(expected, *STATED, "{number}");
            assert_eq!(changed(&format!("a1{key}{value}")), expected, "{number}");
        }
        let shares: [(&str, Set); 4] = [
            ("09", |p| p.shelley.a0 = Ratio::new(1, 2).unwrap()),
            ("0a", |p| p.shelley.rho = Ratio::new(1, 2).unwrap()),
            ("0b", |p| p.shelley.tau = Ratio::new(1, 2).unwrap()),
            ("1821", |p| p.conway.as_mut().unwrap().fee_per_script_byte = Ratio::new(1, 2).unwrap()),
        ];
        for (key, set) in shares {
            let mut expected = STATED.clone();
            set(&mut expected);
            assert_eq!(changed(&format!("a1{key}{share}")), expected, "{key}");
        }
        let all = changed(&format!("bf 1819 85{0} 181a 8a{1} 13 82{share}{share} ff", share.repeat(5), share.repeat(10)));
        let conway = all.conway.unwrap();
        assert_eq!((conway.pool_thresholds.pp_security_group, conway.pool_thresholds.committee_normal), (half, half));
        assert_eq!((conway.drep_thresholds.treasury_withdrawal, conway.drep_thresholds.pp_gov_group), (half, half));
        assert_eq!(all.alonzo.prices, Prices { memory: half, steps: half });
    }

    #[test]
    fn changes_that_can_not_be_proposed_are_known() {
        for (text, majors) in [
            ("a0", [false; 3]),
            ("a10007", [true; 3]),
            ("a10200", [false; 3]),
            ("a10000", [true; 3]),
            ("a1181d00", [false; 3]),
            ("a11100", [true, false, false]),
            ("a10800", [true, true, false]),
            ("a1182000", [true; 3]),
        ] {
            assert_eq!([9, 10, 11].map(|major| read(text).unwrap().is_well_formed(major)), majors, "{text}");
        }
        for text in ["a10c00", "a11822 00", "a1", "80", "a10020"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn groups_decide_on_thresholds_and_on_who_votes() {
        let hundredth = |number| Ratio::new(number, 100).unwrap();
        let thresholds = DRepThresholds {
            pp_network_group: hundredth(10),
            pp_economic_group: hundredth(20),
            pp_technical_group: hundredth(30),
            pp_gov_group: hundredth(40),
            ..STATED.conway.unwrap().drep_thresholds
        };
        for (text, expected, of_pools) in [
            ("a10007", 20, true),
            ("a10507", 20, false),
            ("a10207", 10, true),
            ("a1181807", 10, false),
            ("a10707", 30, false),
            ("a2181807 0707", 30, false),
            ("a2181807 0507", 20, false),
            ("a1181d07", 40, false),
            ("a1181e07", 40, true),
        ] {
            let update = read(text).expect(text);
            assert_eq!((update.drep_threshold(&thresholds), update.is_of_pools()), (hundredth(expected), of_pools), "{text}");
        }
        assert_eq!(read("a0").unwrap().drep_threshold(&thresholds), Ratio::ZERO);
    }
}
