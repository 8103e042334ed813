//! Checks of a profile.

use super::{Fault, PROTOCOL_VERSIONS, Profile};
use crate::error::SimulationError;

impl Profile {
    /// Checks that it can be simulated.
    pub(super) fn check(&self) -> Result<(), SimulationError> {
        let found = self
            .check_network()
            .and_then(|()| self.check_time())
            .and_then(|()| self.check_transport())
            .and_then(|()| self.check_workload())
            .and_then(|()| self.fault.iter().try_for_each(|fault| self.check_fault(fault)));
        found.map_err(|message| SimulationError::profile(&self.name, message))
    }

    /// Checks the hosts and what is between them; an error is in words.
    fn check_network(&self) -> Result<(), String> {
        let network = &self.network;
        if network.hosts == 0 || network.pools == 0 || network.pools > network.hosts {
            return Err(format!(
                "network.hosts = {}, network.pools = {}: expected 1 or more of each and no more pools than hosts.",
                network.hosts, network.pools
            ));
        }
        if network.edge_hosts > network.hosts - network.pools {
            return Err(format!(
                "network.edge_hosts = {}: expected as many as there are hosts without a pool, {}, at the most; set fewer, or fewer pools.",
                network.edge_hosts,
                network.hosts - network.pools
            ));
        }
        if network.hosts > 65_535 {
            return Err(format!("network.hosts = {}: expected 65535 at the most.", network.hosts));
        }
        if !network.stake.is_empty() && network.stake.len() != network.pools as usize {
            return Err(format!("network.stake has {} entries: expected one per pool ({}), or none.", network.stake.len(), network.pools));
        }
        if network.stake.iter().any(|stake| stake.is_nan() || *stake < 0.0)
            || (!network.stake.is_empty() && network.stake.iter().sum::<f64>() <= 0.0)
        {
            return Err("network.stake: expected numbers of 0 or more, not all 0.".into());
        }
        if network.regions.is_empty() {
            return Err("network.regions is empty: expected at least one region.".into());
        }
        if !(0.0..1.0).contains(&network.loss) {
            return Err(format!("network.loss = {}: expected a probability from 0 to below 1.", network.loss));
        }
        if network.bandwidth.0 < 1000 {
            return Err(format!("network.bandwidth = {}: expected 1kbit/s or more.", network.bandwidth));
        }
        Ok(())
    }

    /// Checks the slots of the chain and of the run; likewise.
    fn check_time(&self) -> Result<(), String> {
        if !(self.genesis.active_slot_coefficient > 0.0 && self.genesis.active_slot_coefficient <= 1.0) {
            return Err(format!(
                "genesis.active_slot_coefficient = {}: expected more than 0 and at most 1.",
                self.genesis.active_slot_coefficient
            ));
        }
        if self.genesis.slot_length.0 == 0 || self.genesis.epoch_slots == 0 || self.run.slots == 0 {
            return Err("genesis.slot_length, genesis.epoch_slots and run.slots: expected more than 0.".into());
        }
        if !PROTOCOL_VERSIONS.contains(&self.genesis.protocol_version) {
            let (least, most) = (PROTOCOL_VERSIONS.start(), PROTOCOL_VERSIONS.end());
            return Err(format!("genesis.protocol_version = {}: expected {least} to {most}.", self.genesis.protocol_version));
        }
        if self.genesis.slot_length.0.checked_mul(self.run.slots).is_none_or(|ns| ns > i64::MAX as u64 / 4) {
            return Err(format!("run.slots = {}: expected less than 73 years.", self.run.slots));
        }
        if crate::clock::parse_start(&self.run.system_start).is_none() {
            return Err(format!("run.system_start = `{}`: expected a time like 2025-08-01T16:54:49Z.", self.run.system_start));
        }
        Ok(())
    }

    /// Checks TCP, what is fetched by it, and missed slots.
    fn check_transport(&self) -> Result<(), String> {
        if self.tcp.segment.0 == 0 || self.tcp.initial_window == 0 || self.tcp.growth.is_nan() || self.tcp.growth < 1.0 {
            return Err("tcp.segment and tcp.initial_window: expected more than 0; tcp.growth: 1 or more.".into());
        }
        if !(0.0..=1.0).contains(&self.tcp.warm_share) || !(0.0..=1.0).contains(&self.forging.missed_slots) {
            return Err("tcp.warm_share and forging.missed_slots: expected a share from 0 to 1.".into());
        }
        if self.peer.concurrency == 0 || self.peer.max_range == 0 {
            return Err("peer.concurrency and peer.max_range: expected 1 or more.".into());
        }
        Ok(())
    }

    /// Checks transactions and blocks.
    fn check_workload(&self) -> Result<(), String> {
        let workload = &self.workload;
        if workload.block_size.0 == 0 {
            return Err("workload.block_size = 0: expected more than 0.".into());
        }
        if workload.tx_size.0 == 0
            || workload.txs_per_reply == 0
            || [workload.tps, workload.refill_tps, workload.mempool_blocks].iter().any(|rate| !rate.is_finite() || *rate < 0.0)
        {
            return Err("workload: expected tx_size and txs_per_reply above 0, tps, refill_tps and mempool_blocks of 0 or more.".into());
        }
        for (region, share) in &workload.shares {
            if !self.network.regions.contains(region) || !share.is_finite() || *share < 0.0 {
                return Err(format!(
                    "workload.shares has {share} for {region}: expected shares of 0 or more, of regions in network.regions ({}).",
                    self.network.regions.join(", ")
                ));
            }
        }
        if !workload.shares.is_empty() && workload.shares.values().sum::<f64>() <= 0.0 {
            return Err("workload.shares: expected one above 0 at least, or none at all.".into());
        }
        Ok(())
    }

    /// Checks a fault of the network.
    fn check_fault(&self, fault: &Fault) -> Result<(), String> {
        let (hosts, from, until): (Vec<u32>, u64, u64) = match fault {
            Fault::HostDown { host, from, until } | Fault::HostSlow { host, from, until, .. } => (vec![*host], *from, *until),
            Fault::LinkCut { between, from, until } => (vec![between.0, between.1], *from, *until),
            Fault::Partition { hosts, from, until } => (hosts.clone(), *from, *until),
            Fault::ClockSkew { host, .. } => (vec![*host], 0, 1),
        };
        if let Some(host) = hosts.iter().find(|host| **host >= self.network.hosts) {
            return Err(format!("a fault names host {host}: expected one below {}.", self.network.hosts));
        }
        if from >= until {
            return Err(format!("a fault lasts from slot {from} until slot {until}: expected a later end."));
        }
        let run_ms = self.genesis.slot_length.0 as f64 * self.run.slots as f64 / 1e6;
        match fault {
            Fault::HostSlow { factor, .. } if !(factor.is_finite() && *factor > 0.0) => {
                return Err(format!("a fault makes a host {factor} times as slow: expected a factor above 0."));
            }
            Fault::Partition { hosts, .. } if !(0..self.network.hosts).any(|host| hosts.contains(&host) != hosts.contains(&0)) => {
                return Err("a fault separates no hosts: expected some of the hosts, not all.".into());
            }
            Fault::ClockSkew { ahead_ms, .. } if ahead_ms.is_nan() || ahead_ms.abs() > run_ms => {
                return Err(format!("a fault sets a clock {ahead_ms} ms ahead: expected no more than the run lasts, {run_ms} ms."));
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use slotmark_network::shelley::PROTOCOL_MAJORS;

    use super::PROTOCOL_VERSIONS;

    #[test]
    fn versions_of_the_protocol_are_those_of_forged_networks() {
        assert_eq!(PROTOCOL_VERSIONS, PROTOCOL_MAJORS);
    }
}
