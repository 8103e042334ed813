//! The stake of pools, as the lottery of an epoch sees it.

use std::collections::HashMap;

use slotmark_chain::Hash32;
use slotmark_chain::block::Hash28;
use slotmark_network::Ratio;

use crate::header::{Leader, PoolStake};

/// The stake that counts for the lottery of an epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    pools: HashMap<Hash28, (u64, Hash32)>,
    total: u64,
    /// True where nothing is missing in it.
    pub exact: bool,
}

impl Distribution {
    /// Exact stake: by pool its lovelace and the hash of its VRF key.
    pub fn of_pools(pools: impl IntoIterator<Item = (Hash28, (u64, Hash32))>) -> Self {
        let pools: HashMap<Hash28, (u64, Hash32)> = pools.into_iter().collect();
        let total = pools.values().fold(0u64, |total, (lovelace, _)| total.saturating_add(*lovelace));
        Self { pools, total, exact: true }
    }

    /// Returns the lottery's view of an issuer: a pool with its share, or not registered.
    pub fn leader(&self, issuer: &Hash28) -> Leader {
        let Some(&(lovelace, vrf_key_hash)) = self.pools.get(issuer) else { return Leader::NotRegistered };
        let share = Ratio::new(lovelace, self.total).unwrap_or(Ratio::ZERO);
        Leader::Pool(PoolStake { share, vrf_key_hash, exact: self.exact })
    }

    /// Its pools in the order of their ids, each with its lovelace and the hash of its VRF key.
    pub fn pools(&self) -> Vec<(&Hash28, u64, &Hash32)> {
        let mut pools: Vec<_> = self.pools.iter().map(|(id, (lovelace, vrf_key_hash))| (id, *lovelace, vrf_key_hash)).collect();
        pools.sort_unstable_by_key(|(id, ..)| *id);
        pools
    }

    /// Returns the number of pools with stake.
    pub fn pools_with_stake(&self) -> usize {
        self.pools.values().filter(|(lovelace, _)| *lovelace > 0).count()
    }

    /// Lovelace delegated to its pools.
    pub fn total_lovelace(&self) -> u64 {
        self.total
    }
}
