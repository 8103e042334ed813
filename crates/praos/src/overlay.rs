//! The overlay schedule of TPraos: slots that belong to the genesis keys while decentralisation isn't complete.
//!
//! After `classifyOverlaySlot` of cardano-protocol-tpraos.

use serde::{Deserialize, Serialize};
use slotmark_chain::Hash32;
use slotmark_chain::block::Hash28;

use slotmark_network::Ratio;

/// A genesis key and who makes blocks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegation {
    /// Hash of the genesis key.
    pub genesis_key: Hash28,
    /// Hash of the delegate's cold key.
    pub delegate: Hash28,
    /// BLAKE2b-256 of the delegate's VRF key.
    pub vrf_key_hash: Hash32,
}

/// The owner of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotOwner {
    /// The pools, by lottery.
    Pools,
    /// The delegate of one genesis key.
    Delegate(Delegation),
    /// No owner: no block may be in it.
    Nobody,
}

/// Returns the owner of a slot of an epoch, counted from its first slot, with the decentralisation parameter d and the active slot coefficient f. The
/// delegations are in ascending order of their genesis keys.
pub fn slot_owner(slot_of_epoch: u64, d: Ratio, f: Ratio, delegations: &[Delegation]) -> SlotOwner {
    let position = d.ceil_of(slot_of_epoch);
    if position >= d.ceil_of(slot_of_epoch.saturating_add(1)) {
        return SlotOwner::Pools;
    }
    let every = u128::from(f.floor_of_inverse());
    if !position.is_multiple_of(every) || delegations.is_empty() {
        return SlotOwner::Nobody;
    }
    SlotOwner::Delegate(delegations[(position / every % delegations.len() as u128) as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delegations(count: u8) -> Vec<Delegation> {
        (0..count).map(|n| Delegation { genesis_key: [n; 28], delegate: [n + 100; 28], vrf_key_hash: [n; 32] }).collect()
    }

    #[test]
    fn all_slots_are_the_genesis_keys_at_first() {
        let (keys, f) = (delegations(7), Ratio::new(1, 20).unwrap());
        for slot in 0..1_000 {
            let expected = if slot % 20 == 0 { SlotOwner::Delegate(keys[slot as usize / 20 % 7]) } else { SlotOwner::Nobody };
            assert_eq!(slot_owner(slot, Ratio::ONE, f, &keys), expected, "{slot}");
            assert_eq!(slot_owner(slot, Ratio::ZERO, f, &keys), SlotOwner::Pools);
        }
    }

    #[test]
    fn d_is_the_share_of_overlay_slots() {
        let (keys, f) = (delegations(3), Ratio::new(1, 2).unwrap());
        let d = Ratio::new(2, 5).unwrap();
        let owners: Vec<_> = (0..1_000).map(|slot| slot_owner(slot, d, f, &keys)).collect();
        assert_eq!(owners.iter().filter(|owner| **owner == SlotOwner::Pools).count(), 600);
        let active: Vec<_> = owners.iter().filter(|owner| matches!(owner, SlotOwner::Delegate(_))).collect();
        assert_eq!(active.len(), 200);
        assert!(active.iter().enumerate().all(|(n, owner)| **owner == SlotOwner::Delegate(keys[n % 3])));
        assert_eq!(owners[0], SlotOwner::Delegate(keys[0]));
        assert_eq!(slot_owner(0, d, f, &[]), SlotOwner::Nobody);
    }
}
