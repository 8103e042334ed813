//! The rewards of an epoch, in exact fractions, worked out in pulses.
//!
//! After section "Rewards and the Epoch Boundary" of the Shelley ledger specification (`createRUpd`, `reward`, `rewardOnePool`,
//! `maxPool`, `mkApparentPerf`, `r_operator`, `r_member`) and `Cardano.Ledger.Shelley.Rewards`: rounded down where they are. As a node does
//! (`startStep`, `pulseStep` and `completeStep` of `Cardano.Ledger.Shelley.LedgerState.PulsingReward`), what pools earned is worked out first, and
//! then, in each block, what some of the owners have of it.

use std::collections::HashMap;
use std::sync::Arc;

use imbl::{OrdMap, Vector};
use num_bigint::BigInt;
use num_rational::BigRational;
use slotmark_chain::block::{Credential, Hash28, PoolTerms};
use slotmark_network::{Ratio, shelley};

use super::registered::Registered;
use super::{Accounts, Constants, Snapshot};

/// The last version of the protocol in which rewards are only worked out for accounts that are there then.
const LAST_WITH_EARLY_FILTER: u64 = 6;

/// Blocks over which a node spreads the rewards of members, as a multiple of k.
const PULSES: u64 = 4;

/// The figures that the rewards of an epoch are worked out of.
pub(super) struct Issue<'i> {
    pub(super) parameters: &'i shelley::Parameters,
    pub(super) constants: &'i Constants,
    pub(super) blocks: &'i OrdMap<Hash28, u64>,
    pub(super) snapshot: &'i Arc<Snapshot>,
    pub(super) reserves: u64,
    pub(super) fees: u64,
}

/// Rewards that are being worked out. A copy costs nothing: it shares what is there.
#[derive(Clone)]
pub(super) struct Pulser {
    begun: Arc<Begun>,
    /// Lovelace of the owners in the snapshot, in its order, as far as it is worked out.
    members: Vector<u64>,
}

/// The part that is worked out first, and doesn't change.
struct Begun {
    snapshot: Arc<Snapshot>,
    /// Accounts that may have rewards; None for all.
    eligible: Option<Registered>,
    /// Lovelace for the treasury.
    treasury: u64,
    /// Lovelace that the reserves issue.
    issued: u64,
    /// Lovelace for pools: what nobody earns of it goes back into the reserves.
    rest: u64,
    /// Leaders of pools, each with lovelace.
    leaders: Vec<(Credential, u64)>,
    pools: HashMap<Hash28, Earned>,
    /// Owners of one pulse.
    each: usize,
}

/// Lovelace that rewards move between pots.
pub(super) struct PotMoves {
    /// Into the treasury.
    pub(super) treasury: u64,
    /// Out of the reserves; negative where more of the fees goes into them than they issue.
    pub(super) reserves: i64,
}

/// Lovelace that rewards move at the end of an epoch.
pub(crate) struct NextUpdate {
    /// Into the treasury.
    pub(crate) treasury: u64,
    /// Out of the reserves, as in [`PotMoves`].
    pub(crate) reserves: i64,
    /// Out of the fees.
    pub(crate) fees: u64,
    pub(crate) rewards: HashMap<Credential, u64>,
}

/// Rewards of a pool's members.
struct Earned {
    per_lovelace: BigRational,
    /// Keys that have theirs as leaders.
    owners: Vec<Hash28>,
}

/// The stake of a pool.
struct Pledged<'s> {
    terms: Option<&'s PoolTerms>,
    stake: u64,
    /// That of its owners.
    own: u64,
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
    /// Begins to work the rewards out. `eligible` are the accounts that may have any; None for all.
    pub(super) fn begin(&self, eligible: Option<Registered>) -> Pulser {
        let d = exact(self.parameters.decentralisation);
        let mostly_overlay = d >= of(4, 5);
        let made: u64 = self.blocks.values().sum();
        let expected = floor(&((whole(1) - &d) * exact(self.constants.active_slots) * whole(self.constants.epoch_slots)));
        let eta = if mostly_overlay { whole(1) } else { of(made, expected.max(1)) };
        let issued = floor(&(eta.min(whole(1)) * exact(self.parameters.rho) * whole(self.reserves)));
        let pot = issued + self.fees;
        let treasury = floor(&(exact(self.parameters.tau) * whole(pot)));
        let pulses = PULSES.saturating_mul(self.constants.security_parameter).max(1);
        let mut begun = Begun {
            snapshot: self.snapshot.clone(),
            eligible,
            treasury,
            issued,
            rest: pot - treasury,
            leaders: Vec::new(),
            pools: HashMap::new(),
            each: (self.snapshot.stake.len() as u64).div_ceil(pulses).max(1) as usize,
        };
        self.earn(&mut begun, made, mostly_overlay);
        Pulser { begun: Arc::new(begun), members: Vector::new() }
    }

    /// Works out what each pool earned, and what its leader has of it.
    fn earn(&self, begun: &mut Begun, made: u64, mostly_overlay: bool) {
        let mut pledged: HashMap<&Hash28, Pledged<'_>> = HashMap::new();
        let mut active = 0u64;
        for (owner, lovelace, pool) in &self.snapshot.stake {
            let of_pool = || Pledged { terms: self.snapshot.pools.get(pool), stake: 0, own: 0 };
            let pledged = pledged.entry(pool).or_insert_with(of_pool);
            pledged.stake += lovelace;
            if pledged.terms.is_some_and(|terms| is_among(&terms.owners, owner)) {
                pledged.own += lovelace;
            }
            active += lovelace;
        }
        let circulating = self.constants.max_lovelace - self.reserves;
        for (pool, blocks) in self.blocks {
            let Some(&Pledged { terms: Some(terms), stake, own }) = pledged.get(pool) else { continue };
            let most = if terms.pledge <= own { self.most_for(terms.pledge, stake, circulating, begun.rest) } else { 0 };
            // The share of blocks over the share of stake that leads.
            let performance = if mostly_overlay { whole(1) } else { of(*blocks, made.max(1)) / of(stake, active) };
            let earned = floor(&(performance * whole(most)));
            let (for_leader, per_lovelace) = split(terms, earned, own, stake);
            if begun.may_have(&terms.account) {
                begun.leaders.push((terms.account, for_leader));
            }
            begun.pools.insert(*pool, Earned { per_lovelace, owners: terms.owners.clone() });
        }
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

impl Begun {
    fn may_have(&self, owner: &Credential) -> bool {
        self.eligible.as_ref().is_none_or(|eligible| eligible.get(owner).is_some())
    }

    /// Lovelace of a member of a pool, by what it delegates.
    fn of_member(&self, owner: &Credential, lovelace: u64, pool: &Hash28) -> u64 {
        let Some(Earned { per_lovelace, owners }) = self.pools.get(pool) else { return 0 };
        if is_among(owners, owner) || !self.may_have(owner) {
            return 0;
        }
        // The product isn't reduced to lowest terms, as a fraction would be: that takes ten times as long as all the rest.
        (per_lovelace.numer() * lovelace / per_lovelace.denom()).try_into().unwrap_or_default()
    }
}

impl Pulser {
    /// Works out the rewards of the next owners; gives their number.
    pub(super) fn pulse(&mut self) -> usize {
        self.work_out(self.begun.each)
    }

    /// Works out the rewards of all owners that are left; gives their number.
    pub(super) fn complete(&mut self) -> usize {
        self.work_out(usize::MAX)
    }

    fn work_out(&mut self, owners: usize) -> usize {
        let before = self.members.len();
        let next = self.begun.snapshot.stake[before..].iter().take(owners);
        self.members.extend(next.map(|(owner, lovelace, pool)| self.begun.of_member(owner, *lovelace, pool)));
        self.members.len() - before
    }

    /// Lovelace that moves between pots. All must be worked out.
    pub(super) fn pot_moves(&self) -> PotMoves {
        let Begun { treasury, issued, rest, .. } = *self.begun;
        let returned = rest.saturating_sub(self.rewards().map(|(_, lovelace)| lovelace).sum());
        PotMoves { treasury, reserves: issued as i64 - returned as i64 }
    }

    /// Those who have rewards, as far as these are worked out, each with lovelace. A leader may be there several times.
    pub(super) fn rewards(&self) -> impl Iterator<Item = (Credential, u64)> {
        self.leaders().chain(self.members())
    }

    fn leaders(&self) -> impl Iterator<Item = (Credential, u64)> {
        self.begun.leaders.iter().copied().filter(|(_, lovelace)| *lovelace > 0)
    }

    fn members(&self) -> impl Iterator<Item = (Credential, u64)> {
        let owners = self.begun.snapshot.stake.iter().map(|(owner, ..)| *owner);
        owners.zip(self.members.iter().copied()).filter(|(_, lovelace)| *lovelace > 0)
    }
}

impl Accounts {
    fn begin_rewards(&self) -> Pulser {
        let issue = Issue {
            parameters: &self.before,
            constants: &self.constants,
            blocks: &self.blocks_before,
            snapshot: &self.snapshots[2],
            reserves: self.pots.reserves,
            fees: self.fees_to_share,
        };
        let is_filtered = self.before.protocol_version.major <= LAST_WITH_EARLY_FILTER;
        issue.begin(is_filtered.then(|| self.registered.clone()))
    }

    /// Goes on working rewards out (RUPD), before a block that is further into its epoch than nonces take to settle: the first such one begins,
    /// each later one does a part, and all that is left is done in one that is late. Returns whether there was something to be done.
    pub(crate) fn pulse_rewards(&mut self, is_late: bool) -> bool {
        let begins = self.pulser.is_none();
        if begins {
            self.pulser = Some(self.begin_rewards());
        }
        let Some(pulser) = &mut self.pulser else { return false };
        let done = match (is_late, begins) {
            (true, _) => pulser.complete(),
            (false, false) => pulser.pulse(),
            (false, true) => pulser.begun.snapshot.stake.len(),
        };
        done > 0
    }

    /// The changes that the end of the running epoch makes by rewards.
    pub(crate) fn next_update(&self) -> NextUpdate {
        let mut pulser = self.pulser.clone().unwrap_or_else(|| self.begin_rewards());
        pulser.complete();
        let mut rewards = HashMap::new();
        for (owner, lovelace) in pulser.rewards() {
            *rewards.entry(owner).or_default() += lovelace;
        }
        let PotMoves { treasury, reserves } = pulser.pot_moves();
        NextUpdate { treasury, reserves, fees: self.fees_to_share, rewards }
    }

    /// Pays the rewards that the epoch that ends worked out, those of the one before it (NEWEPOCH).
    pub(crate) fn pay_rewards(&mut self) {
        let mut pulser = self.pulser.take().unwrap_or_else(|| self.begin_rewards());
        pulser.complete();
        let PotMoves { treasury, reserves } = pulser.pot_moves();
        self.pots.treasury += treasury;
        self.pots.reserves = self.pots.reserves.saturating_add_signed(-reserves);
        self.pots.fees -= self.fees_to_share;
        for (owner, lovelace) in pulser.leaders() {
            self.pay(&owner, lovelace);
        }
        for (owner, lovelace) in pulser.members() {
            if !self.registered.pay_delegating(&owner, lovelace) {
                self.pots.treasury += lovelace;
            }
        }
    }
}

/// Returns whether a credential is one of these keys.
fn is_among(keys: &[Hash28], owner: &Credential) -> bool {
    !owner.script && keys.contains(&owner.hash)
}

/// Splits what a pool earned: lovelace for its leader, and the others' for each lovelace that they delegate.
fn split(terms: &PoolTerms, earned: u64, own: u64, stake: u64) -> (u64, BigRational) {
    let Some(shared) = earned.checked_sub(terms.cost).filter(|shared| *shared > 0) else { return (earned, whole(0)) };
    let margin = of(terms.margin.0, terms.margin.1);
    let rest = whole(1) - &margin;
    let for_leader = terms.cost + floor(&(whole(shared) * (margin + &rest * of(own, stake))));
    (for_leader, whole(shared) * rest / whole(stake))
}
