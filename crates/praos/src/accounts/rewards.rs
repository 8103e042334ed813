//! The rewards of an epoch, in exact fractions.
//!
//! After section "Rewards and the Epoch Boundary" of the Shelley ledger specification (`createRUpd`, `reward`, `rewardOnePool`,
//! `maxPool`, `mkApparentPerf`, `r_operator`, `r_member`) and `Cardano.Ledger.Shelley.Rewards`: rounded down where they are.

use std::collections::HashMap;

use imbl::OrdMap;
use num_bigint::BigInt;
use num_rational::BigRational;
use slotmark_chain::block::{Credential, Hash28, PoolTerms};
use slotmark_network::{Ratio, shelley};

use super::{Account, Constants, Snapshot};

/// The figures that the rewards of an epoch are worked out of.
pub(super) struct Issue<'i> {
    pub(super) parameters: &'i shelley::Parameters,
    pub(super) constants: &'i Constants,
    pub(super) blocks: &'i OrdMap<Hash28, u64>,
    pub(super) snapshot: &'i Snapshot,
    pub(super) reserves: u64,
    pub(super) fees: u64,
}

/// The changes that rewards bring.
pub(super) struct Update {
    /// Lovelace for the treasury.
    pub(super) treasury: u64,
    /// Lovelace that the reserves issue.
    pub(super) issued: u64,
    /// Lovelace that goes back into them, since nobody earned it.
    pub(super) returned: u64,
    pub(super) rewards: HashMap<Credential, u64>,
}

fn exact(share: Ratio) -> BigRational {
    of(share.numerator(), share.denominator())
}

fn of(numerator: impl Into<BigInt>, denominator: impl Into<BigInt>) -> BigRational {
    BigRational::new(numerator.into(), denominator.into())
}

fn whole(number: impl Into<BigInt>) -> BigRational {
    BigRational::from_integer(number.into())
}

fn floor(number: &BigRational) -> u64 {
    number.floor().to_integer().try_into().unwrap_or_default()
}

impl Issue<'_> {
    /// Works the rewards out. `eligible` are the accounts that may have any; None for all.
    pub(super) fn work_out(&self, eligible: Option<&OrdMap<Credential, Option<Account>>>) -> Update {
        let d = exact(self.parameters.decentralisation);
        let mostly_overlay = d >= of(4, 5);
        let made: u64 = self.blocks.values().sum();
        let expected = floor(&((whole(1) - &d) * exact(self.constants.active_slots) * whole(self.constants.epoch_slots)));
        let eta = if mostly_overlay { whole(1) } else { of(made, expected.max(1)) };
        let issued = floor(&(eta.min(whole(1)) * exact(self.parameters.rho) * whole(self.reserves)));
        let pot = issued + self.fees;
        let treasury = floor(&(exact(self.parameters.tau) * whole(pot)));
        let rest = pot - treasury;
        let rewards = self.shares(rest, made, mostly_overlay, eligible);
        let paid: u64 = rewards.values().sum();
        Update { treasury, issued, returned: rest.saturating_sub(paid), rewards }
    }

    /// The share of each account in the rewards of all pools.
    fn shares(
        &self,
        rest: u64,
        made: u64,
        mostly_overlay: bool,
        eligible: Option<&OrdMap<Credential, Option<Account>>>,
    ) -> HashMap<Credential, u64> {
        let mut stake: HashMap<&Hash28, u64> = HashMap::new();
        let mut members: HashMap<&Hash28, Vec<(&Credential, u64)>> = HashMap::new();
        let mut active = 0u64;
        for (owner, (lovelace, pool)) in &self.snapshot.stake {
            *stake.entry(pool).or_default() += lovelace;
            active += lovelace;
            if self.blocks.contains_key(pool) {
                members.entry(pool).or_default().push((owner, *lovelace));
            }
        }
        let circulating = self.constants.max_lovelace - self.reserves;
        let mut rewards: HashMap<Credential, u64> = HashMap::new();
        let mut pay = |owner: &Credential, lovelace: u64| {
            if lovelace > 0 && eligible.is_none_or(|eligible| eligible.contains_key(owner)) {
                *rewards.entry(*owner).or_default() += lovelace;
            }
        };
        for (pool, blocks) in self.blocks {
            let (Some(terms), Some(members)) = (self.snapshot.pools.get(pool), members.get(pool)) else { continue };
            let pool_stake = stake[pool];
            let is_owner = |owner: &Credential| !owner.script && terms.owners.contains(&owner.hash);
            let own: u64 = members.iter().filter(|(owner, _)| is_owner(owner)).map(|(_, lovelace)| lovelace).sum();
            let most = if terms.pledge <= own { self.most_for(terms.pledge, pool_stake, circulating, rest) } else { 0 };
            // The share of blocks over the share of stake that leads.
            let performance = if mostly_overlay { whole(1) } else { of(*blocks, made.max(1)) / of(pool_stake, active) };
            let earned = floor(&(performance * whole(most)));
            let (for_leader, per_lovelace) = split(terms, earned, own, pool_stake);
            pay(&terms.account, for_leader);
            for (owner, lovelace) in members.iter().filter(|(owner, _)| !is_owner(owner)) {
                // The product isn't reduced to lowest terms, as a fraction would be: that takes ten times as long as all the rest.
                let share = per_lovelace.numer() * lovelace / per_lovelace.denom();
                pay(owner, share.try_into().unwrap_or_default());
            }
        }
        rewards
    }

    /// The most that a pool can earn (`maxPool'`).
    fn most_for(&self, pledge: u64, stake: u64, circulating: u64, rest: u64) -> u64 {
        let a0 = exact(self.parameters.a0);
        let z0 = of(1, self.parameters.n_opt.max(1));
        let sigma = of(stake, circulating).min(z0.clone());
        let pledge = of(pledge, circulating).min(z0.clone());
        let factor4 = (&z0 - &sigma) / &z0;
        let factor3 = (&sigma - &pledge * factor4) / &z0;
        let factor2 = sigma + pledge * &a0 * factor3;
        floor(&(whole(rest) / (whole(1) + a0) * factor2))
    }
}

/// Splits what a pool earned: lovelace for its leader, and the others' for each lovelace that they delegate.
fn split(terms: &PoolTerms, earned: u64, own: u64, stake: u64) -> (u64, BigRational) {
    let Some(shared) = earned.checked_sub(terms.cost).filter(|shared| *shared > 0) else { return (earned, whole(0)) };
    let margin = of(terms.margin.0, terms.margin.1);
    let rest = whole(1) - &margin;
    let for_leader = terms.cost + floor(&(whole(shared) * (margin + &rest * of(own, stake))));
    (for_leader, whole(shared) * rest / whole(stake))
}
