//! Checks of a profile.

use super::{Fault, PROTOCOL_VERSIONS, Profile};
use crate::error::SimulationError;
use crate::quantity::{Bytes, Span};

/// The longest mean of a stage, and the longest other duration.
const LONGEST: Span = Span(3_600_000_000_000);
/// The largest standard deviation of a duration's logarithm.
const MOST_SIGMA: f64 = 10.0;
/// The most percent of a core, collections per second, and times that a host is slow.
const MOST_USED: f64 = 1e6;
/// The most bytes of memory, and per second.
const MOST_BYTES: Bytes = Bytes(1_000_000_000_000);

/// Checks that a duration is none beyond what a cluster may have.
fn within(name: &str, duration: Span) -> Result<(), String> {
    if duration > LONGEST { Err(format!("{name} = {duration}: expected {LONGEST} at most.")) } else { Ok(()) }
}

impl Profile {
    /// Checks that it can be simulated.
    pub(super) fn check(&self) -> Result<(), SimulationError> {
        let found = self
            .check_network()
            .and_then(|()| self.check_time())
            .and_then(|()| self.check_transport())
            .and_then(|()| self.check_durations())
            .and_then(|()| self.check_resources())
            .and_then(|()| self.check_workload())
            .and_then(|()| self.fault.iter().try_for_each(|fault| self.check_fault(fault)));
        found.map_err(|message| SimulationError::profile(&self.name, message))
    }

    /// Checks the hosts and what is between them; an error is in words.
    fn check_network(&self) -> Result<(), String> {
        let network = &self.network;
        if network.hosts == 0 || network.pools == 0 || network.pools > network.hosts {
            return Err(format!(
                "network.hosts = {}, network.pools = {}: expected 1 or more of each and no more pools than hosts; set both.",
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
        if self.tcp.segment.0 == 0 || self.tcp.initial_window == 0 || !(1.0..f64::INFINITY).contains(&self.tcp.growth) {
            return Err("tcp.segment and tcp.initial_window: expected more than 0; tcp.growth: 1 or more.".into());
        }
        if self.tcp.max_window.0 < self.tcp.segment.0.saturating_mul(self.tcp.initial_window) {
            return Err(format!("tcp.max_window = {}: expected tcp.initial_window segments of tcp.segment, or more.", self.tcp.max_window));
        }
        if !(0.0..f64::INFINITY).contains(&self.tcp.idle_half_life_rtos) {
            return Err(format!("tcp.idle_half_life_rtos = {}: expected 0 or more.", self.tcp.idle_half_life_rtos));
        }
        if !(0.0..=1.0).contains(&self.tcp.warm_share) || !(0.0..=1.0).contains(&self.forging.missed_slots) {
            return Err("tcp.warm_share and forging.missed_slots: expected a share from 0 to 1.".into());
        }
        if self.peer.concurrency == 0 || self.peer.max_range == 0 {
            return Err("peer.concurrency and peer.max_range: expected 1 or more.".into());
        }
        Ok(())
    }

    /// Checks that no duration is beyond what a cluster may have, and that spreads are such.
    fn check_durations(&self) -> Result<(), String> {
        let (network, tcp, forging, peer) = (&self.network, &self.tcp, &self.forging, &self.peer);
        let stages = [
            ("forging.started", &forging.started),
            ("forging.block_context", &forging.block_context),
            ("forging.ledger_state", &forging.ledger_state),
            ("forging.ledger_view", &forging.ledger_view),
            ("forging.leadership", &forging.leadership),
            ("forging.ledger_tick", &forging.ledger_tick),
            ("forging.mempool_snapshot", &forging.mempool_snapshot),
            ("forging.forge", &forging.forge),
            ("forging.forged_to_announced", &forging.forged_to_announced),
            ("forging.self_adopt", &forging.self_adopt),
            ("peer.header_notice", &peer.header_notice),
            ("peer.notice_to_fetch", &peer.notice_to_fetch),
            ("peer.serve", &peer.serve),
            ("peer.receive", &peer.receive),
            ("peer.fetched_to_announced", &peer.fetched_to_announced),
            ("peer.adopt", &peer.adopt),
        ];
        for (name, stage) in stages {
            within(&format!("{name}.mean"), stage.mean)?;
            if !(0.0..=MOST_SIGMA).contains(&stage.sigma) {
                return Err(format!("{name}.sigma = {}: expected 0 to {MOST_SIGMA}.", stage.sigma));
            }
        }
        if !(0.0..=MOST_SIGMA).contains(&peer.host_spread) {
            return Err(format!("peer.host_spread = {}: expected 0 to {MOST_SIGMA}.", peer.host_spread));
        }
        for rtt in &network.rtt {
            within("network.rtt", rtt.mean)?;
            within("network.rtt", rtt.spread)?;
        }
        within("network.jitter", network.jitter)?;
        within("network.reconnect", network.reconnect)?;
        within("tcp.round_pause", tcp.round_pause)?;
        within("tcp.rto_margin", tcp.rto_margin)?;
        within("peer.decision_interval", peer.decision_interval)?;
        within("peer.receive_per_kb", peer.receive_per_kb)?;
        within("forging.epoch_boundary", forging.epoch_boundary)
    }

    /// Checks what nodes use.
    fn check_resources(&self) -> Result<(), String> {
        let used = &self.resources;
        let rates = [
            ("mutator_percent", used.mutator_percent),
            ("gc_percent", used.gc_percent),
            ("minor_gcs", used.minor_gcs),
            ("major_gcs", used.major_gcs),
        ];
        if let Some((name, rate)) = rates.into_iter().find(|(_, rate)| !(0.0..=MOST_USED).contains(rate)) {
            return Err(format!("resources.{name} = {rate}: expected 0 to {MOST_USED}."));
        }
        let sizes = [("rss", used.rss), ("heap", used.heap), ("live", used.live), ("alloc", used.alloc), ("fs_writes", used.fs_writes)];
        match sizes.into_iter().find(|(_, size)| *size > MOST_BYTES) {
            Some((name, size)) => Err(format!("resources.{name} = {size}: expected {MOST_BYTES} at most.")),
            None => Ok(()),
        }
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
            Fault::HostSlow { factor, .. } if !(*factor > 0.0 && *factor <= MOST_USED) => {
                return Err(format!("a fault makes a host {factor} times as slow: expected a factor above 0, {MOST_USED} at most."));
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
