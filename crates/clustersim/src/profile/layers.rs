//! Reading a profile: layers of TOML, and settings over them.

use serde::Deserialize;
use toml::{Table, Value};

use super::settings::{is_load, set};
use super::{Profile, TopologyRule};
use crate::error::SimulationError;
use crate::topology::read_nodes;

impl Profile {
    /// Reads a profile from its layers, the base first, and lays `settings` over them: `ledger_tick.mean=33ms`, `tps*=2`. A topology file
    /// that it names is read too: the profile is all that a simulation depends on but the seed.
    pub fn from_layers(layers: &[&str], settings: &[String]) -> Result<Self, SimulationError> {
        let mut merged = Table::new();
        let mut name = String::from("(unnamed)");
        for text in layers {
            let layer: Table = text.parse().map_err(|error: toml::de::Error| {
                let place = error.span().map_or(0, |span| text[..span.start.min(text.len())].lines().count().max(1));
                SimulationError::profile(&name, format!("line {place}: {}; mend the TOML.", error.message()))
            })?;
            if let Some(Value::String(given)) = layer.get("name") {
                name.clone_from(given);
            }
            lay_over(&mut merged, layer);
        }
        merged.remove("extends");
        let most_bytes = |table: &Table| table.get("genesis").and_then(|genesis| genesis.get("max_block_body_size")).cloned();
        let own = most_bytes(&merged);
        // A load follows from the size of transactions: it is set last.
        let (loads, others): (Vec<&String>, Vec<&String>) = settings.iter().partition(|setting| is_load(setting));
        for setting in others.into_iter().chain(loads) {
            set(&mut merged, setting).map_err(|message| SimulationError::profile(&name, message))?;
        }
        let mut profile = Self::deserialize(Value::Table(merged.clone())).map_err(|error| {
            let message = error.to_string().trim().replace('\n', " ");
            SimulationError::profile(&name, format!("{message}; docs/simulator.md has the table of parameters."))
        })?;
        if let TopologyRule::File { path } = &profile.network.topology {
            profile.network.topology = read_nodes(path)?;
        }
        profile.check()?;
        let (most, block) = (profile.genesis.max_block_body_size, profile.workload.block_size);
        if most_bytes(&merged) != own && most < block {
            let message =
                format!("genesis.max_block_body_size = {most}: expected {block}, workload.block_size, or more; set that too, or leave it.");
            return Err(SimulationError::profile(&name, message));
        }
        Ok(profile)
    }

    /// The profile as one TOML text, without layers.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).unwrap_or_default()
    }
}

/// Lays a table over another: tables are merged, everything else is replaced.
fn lay_over(base: &mut Table, layer: Table) {
    for (key, value) in layer {
        match (base.get_mut(&key), value) {
            // A table with a `kind` is one choice: the other kind's keys must not stay.
            (Some(Value::Table(below)), Value::Table(above)) if !above.contains_key("kind") => lay_over(below, above),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}
