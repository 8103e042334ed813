//! The reach of each parameter of a profile: whether a change of it moves blocks, shows in logs alone, names something, or does nothing.
//!
//! This is the one home of what the model has. A parameter that isn't listed is not in the model, and is refused where it is set.

/// The effect of a parameter on a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Blocks, or which of them are analysed: what is predicted.
    Blocks,
    /// Only what hosts log beside blocks.
    Logs,
    /// Only what something is called.
    Name,
    /// Nothing: the simulator passes it on, at the most.
    Nothing,
}

impl Reach {
    /// Its name, for the other side of a binding.
    pub fn word(self) -> &'static str {
        match self {
            Self::Blocks => "blocks",
            Self::Logs => "logs",
            Self::Name => "name",
            Self::Nothing => "nothing",
        }
    }
}

/// Parameters and tables of them; the longest entry that a parameter is, or lies in, holds for it.
const REACHES: &[(&str, Reach)] = &[
    ("name", Reach::Name),
    ("description", Reach::Name),
    ("run.slots", Reach::Blocks),
    ("run.system_start", Reach::Name),
    ("genesis.slot_length", Reach::Blocks),
    ("genesis.epoch_slots", Reach::Blocks),
    ("genesis.active_slot_coefficient", Reach::Blocks),
    ("genesis.max_block_body_size", Reach::Blocks),
    ("genesis.network_magic", Reach::Name),
    ("network", Reach::Blocks),
    ("tcp", Reach::Blocks),
    ("workload.name", Reach::Name),
    ("workload.tps", Reach::Blocks),
    ("workload.tx_count", Reach::Blocks),
    ("workload.tx_size", Reach::Blocks),
    ("workload.block_size", Reach::Blocks),
    ("workload.mempool_blocks", Reach::Blocks),
    ("workload.refill_tps", Reach::Blocks),
    ("workload.txs_per_reply", Reach::Blocks),
    ("target", Reach::Name),
    ("forging", Reach::Blocks),
    ("peer", Reach::Blocks),
    ("resources", Reach::Logs),
    ("fault", Reach::Blocks),
    ("published.report", Reach::Name),
    ("published.column", Reach::Name),
    ("published.rows", Reach::Name),
    ("published", Reach::Blocks),
];

/// Returns the reach of a parameter, by its full name: `workload.tps`, `network.rtt[0].mean`.
pub fn reach(parameter: &str) -> Reach {
    let holds = |entry: &str| parameter.strip_prefix(entry).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
    let longest = REACHES.iter().filter(|(entry, _)| holds(entry)).max_by_key(|(entry, _)| entry.len());
    longest.map_or(Reach::Nothing, |(_, reach)| *reach)
}

#[cfg(test)]
mod tests {
    use super::{Reach, reach};

    #[test]
    fn the_longest_entry_holds_and_what_is_in_none_is_not_in_the_model() {
        assert_eq!(reach("network.rtt[0].mean"), Reach::Blocks);
        assert_eq!(reach("fault[1].until"), Reach::Blocks);
        assert_eq!(reach("published.rows.Fetch duration"), Reach::Name);
        assert_eq!(reach("published.first_epoch"), Reach::Blocks);
        assert_eq!(reach("resources.rss"), Reach::Logs);
        for outside in ["genesis.utxo_entries", "workload.script", "live.funds", "networking", "run", "new.parameter"] {
            assert_eq!(reach(outside), Reach::Nothing, "{outside}");
        }
    }
}
