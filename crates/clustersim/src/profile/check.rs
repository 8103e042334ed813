//! Checks of a profile.

use super::{Fault, PROTOCOL_VERSIONS, Profile};
use crate::error::SimulationError;

impl Profile {
    /// Checks that it can be simulated.
    pub(super) fn check(&self) -> Result<(), SimulationError> {
        let wrong = |message: String| Err(SimulationError::profile(&self.name, message));
        let network = &self.network;
        if network.hosts == 0 || network.pools == 0 || network.pools > network.hosts {
            return wrong(format!(
                "network.hosts = {}, network.pools = {}: expected 1 or more of each and no more pools than hosts.",
                network.hosts, network.pools
            ));
        }
        if network.hosts > 65_535 {
            return wrong(format!("network.hosts = {}: expected 65535 at the most.", network.hosts));
        }
        if !network.stake.is_empty() && network.stake.len() != network.pools as usize {
            return wrong(format!(
                "network.stake has {} entries: expected one per pool ({}), or none.",
                network.stake.len(),
                network.pools
            ));
        }
        if network.stake.iter().any(|stake| stake.is_nan() || *stake < 0.0)
            || (!network.stake.is_empty() && network.stake.iter().sum::<f64>() <= 0.0)
        {
            return wrong("network.stake: expected numbers of 0 or more, not all 0.".into());
        }
        if network.regions.is_empty() {
            return wrong("network.regions is empty: expected at least one region.".into());
        }
        if !(0.0..1.0).contains(&network.loss) {
            return wrong(format!("network.loss = {}: expected a probability from 0 to below 1.", network.loss));
        }
        if self.workload.block_size.0 == 0 {
            return wrong("workload.block_size = 0: expected more than 0.".into());
        }
        if network.bandwidth.0 < 1000 {
            return wrong(format!("network.bandwidth = {}: expected 1kbit/s or more.", network.bandwidth));
        }
        if !(self.genesis.active_slot_coefficient > 0.0 && self.genesis.active_slot_coefficient <= 1.0) {
            return wrong(format!(
                "genesis.active_slot_coefficient = {}: expected more than 0 and at most 1.",
                self.genesis.active_slot_coefficient
            ));
        }
        if self.genesis.slot_length.0 == 0 || self.genesis.epoch_slots == 0 || self.run.slots == 0 {
            return wrong("genesis.slot_length, genesis.epoch_slots and run.slots: expected more than 0.".into());
        }
        if !PROTOCOL_VERSIONS.contains(&self.genesis.protocol_version) {
            let (least, most) = (PROTOCOL_VERSIONS.start(), PROTOCOL_VERSIONS.end());
            return wrong(format!("genesis.protocol_version = {}: expected {least} to {most}.", self.genesis.protocol_version));
        }
        if self.genesis.slot_length.0.checked_mul(self.run.slots).is_none_or(|ns| ns > i64::MAX as u64 / 4) {
            return wrong(format!("run.slots = {}: expected less than 73 years.", self.run.slots));
        }
        if crate::clock::parse_start(&self.run.system_start).is_none() {
            return wrong(format!("run.system_start = `{}`: expected a time like 2025-08-01T16:54:49Z.", self.run.system_start));
        }
        if self.tcp.segment.0 == 0 || self.tcp.initial_window == 0 || self.tcp.growth.is_nan() || self.tcp.growth < 1.0 {
            return wrong("tcp.segment and tcp.initial_window: expected more than 0; tcp.growth: 1 or more.".into());
        }
        if !(0.0..=1.0).contains(&self.tcp.warm_share) || !(0.0..=1.0).contains(&self.forging.missed_slots) {
            return wrong("tcp.warm_share and forging.missed_slots: expected a share from 0 to 1.".into());
        }
        let workload = &self.workload;
        if workload.tx_size.0 == 0
            || workload.txs_per_reply == 0
            || [workload.tps, workload.refill_tps, workload.mempool_blocks].iter().any(|rate| rate.is_nan() || *rate < 0.0)
        {
            return wrong("workload: expected tx_size and txs_per_reply above 0, tps, refill_tps and mempool_blocks of 0 or more.".into());
        }
        for (region, share) in &workload.shares {
            if !network.regions.contains(region) || !share.is_finite() || *share < 0.0 {
                return wrong(format!(
                    "workload.shares has {share} for {region}: expected shares of 0 or more, of regions in network.regions ({}).",
                    network.regions.join(", ")
                ));
            }
        }
        if !workload.shares.is_empty() && workload.shares.values().sum::<f64>() <= 0.0 {
            return wrong("workload.shares: expected one above 0 at least, or none at all.".into());
        }
        if self.peer.concurrency == 0 || self.peer.max_range == 0 {
            return wrong("peer.concurrency and peer.max_range: expected 1 or more.".into());
        }
        for fault in &self.fault {
            let (hosts, from, until): (Vec<u32>, u64, u64) = match fault {
                Fault::HostDown { host, from, until } | Fault::HostSlow { host, from, until, .. } => (vec![*host], *from, *until),
                Fault::LinkCut { between, from, until } => (vec![between.0, between.1], *from, *until),
                Fault::Partition { hosts, from, until } => (hosts.clone(), *from, *until),
                Fault::ClockSkew { host, .. } => (vec![*host], 0, 1),
            };
            if let Some(host) = hosts.iter().find(|host| **host >= network.hosts) {
                return wrong(format!("a fault names host {host}: expected one below {}.", network.hosts));
            }
            if from >= until {
                return wrong(format!("a fault lasts from slot {from} until slot {until}: expected a later end."));
            }
            let run_ms = self.genesis.slot_length.0 as f64 * self.run.slots as f64 / 1e6;
            match fault {
                Fault::HostSlow { factor, .. } if !(factor.is_finite() && *factor > 0.0) => {
                    return wrong(format!("a fault makes a host {factor} times as slow: expected a factor above 0."));
                }
                Fault::Partition { hosts, .. } if !(0..network.hosts).any(|host| hosts.contains(&host) != hosts.contains(&0)) => {
                    return wrong("a fault separates no hosts: expected some of the hosts, not all.".into());
                }
                Fault::ClockSkew { ahead_ms, .. } if ahead_ms.is_nan() || ahead_ms.abs() > run_ms => {
                    return wrong(format!("a fault sets a clock {ahead_ms} ms ahead: expected no more than the run lasts, {run_ms} ms."));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
