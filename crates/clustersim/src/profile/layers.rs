//! Reading a profile: layers of TOML, and settings over them.

use serde::Deserialize;
use toml::{Table, Value};

use super::Profile;
use crate::error::SimulationError;

impl Profile {
    /// Reads a profile from its layers, the base first, and lays `settings` (`key=value`) over them.
    ///
    /// A key may leave out the tables before it where that is unambiguous: `ledger_tick.mean=33ms`.
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
        for setting in settings {
            set(&mut merged, setting).map_err(|message| SimulationError::profile(&name, message))?;
        }
        let profile = Self::deserialize(Value::Table(merged)).map_err(|error| {
            let message = error.to_string().trim().replace('\n', " ");
            SimulationError::profile(&name, format!("{message}; docs/simulator.md has the table of parameters."))
        })?;
        profile.check()?;
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

/// Every path in a table, tables and leaves.
fn paths(table: &Table, before: &str, found: &mut Vec<String>) {
    for (key, value) in table {
        let path = if before.is_empty() { key.clone() } else { format!("{before}.{key}") };
        if let Value::Table(inner) = value {
            paths(inner, &path, found);
        }
        found.push(path);
    }
}

fn set(table: &mut Table, setting: &str) -> Result<(), String> {
    let Some((key, text)) = setting.split_once('=') else {
        return Err(format!("`{setting}` is no setting; write key=value, as ledger_tick.mean=33ms."));
    };
    let (key, text) = (key.trim(), text.trim());
    let mut known = Vec::new();
    paths(table, "", &mut known);
    let suffix = format!(".{key}");
    let matches: Vec<&String> = known.iter().filter(|path| *path == key || path.ends_with(&suffix)).collect();
    let path = match (known.iter().find(|path| *path == key), matches.as_slice()) {
        (Some(exact), _) => (*exact).clone(),
        (None, [only]) => (*only).clone(),
        (None, []) => match key {
            "fault" | "network.stake" => key.to_string(),
            "stake" => "network.stake".to_string(),
            _ => return Err(format!("it has no parameter `{key}`; `slotmark simulate PROFILE --show` prints all.")),
        },
        (None, several) => {
            let all = several.iter().map(|path| path.as_str()).collect::<Vec<_>>().join(", ");
            return Err(format!("`{key}` may mean {all}; write more of it."));
        }
    };
    let value = format!("value = {text}")
        .parse::<Table>()
        .ok()
        .and_then(|mut parsed| parsed.remove("value"))
        .unwrap_or_else(|| Value::String(text.to_string()));
    let mut place = table;
    let mut steps = path.split('.').peekable();
    while let Some(step) = steps.next() {
        if steps.peek().is_none() {
            // `stage=20ms` means its mean.
            if let (Some(Value::Table(stage)), Value::String(_)) = (place.get_mut(step), &value)
                && stage.contains_key("mean")
            {
                stage.insert("mean".into(), value);
                return Ok(());
            }
            // An integer where a fraction is expected.
            let value = match (place.get(step), value) {
                (Some(Value::Float(_)), Value::Integer(whole)) => Value::Float(whole as f64),
                (_, value) => value,
            };
            place.insert(step.to_string(), value);
            return Ok(());
        }
        match place.get_mut(step) {
            Some(Value::Table(inner)) => place = inner,
            _ => return Err(format!("`{key}`: `{step}` is no table.")),
        }
    }
    Ok(())
}
