//! Settings: single parameters of a profile, changed from outside.
//!
//! `ledger_tick.mean=33ms` sets a parameter, `ledger_tick.mean*=2` multiplies it. A key may leave out the tables before it where that is
//! unambiguous. `rtt[0].mean=400us` is of the first entry of a list, `rtt[eu-central-1].mean=400us` of all entries that name this region,
//! `rtt[eu-central-1,us-east-1].mean=400us` of those that name both. `load=4kB/s` is another word for transactions per second: `workload.tps`.

use toml::{Table, Value};

use crate::quantity::{Bytes, Load, Quantity};

/// Keys that are other words for `workload.tps`, by the bytes of transactions.
const OFFERED: [&str; 2] = ["load", "workload.load"];

/// A change of a value.
enum Change<'s> {
    /// To a value, and as it was written.
    To(Value, &'s str),
    Times(f64),
}

/// Returns whether a setting is of the load.
pub(super) fn is_load(setting: &str) -> bool {
    setting.split_once('=').is_some_and(|(key, _)| OFFERED.contains(&key.trim().trim_end_matches('*').trim_end()))
}

/// Lays one setting over a profile.
pub(super) fn set(table: &mut Table, setting: &str) -> Result<(), String> {
    let Some((key, text)) = setting.split_once('=') else {
        return Err(format!("`{setting}` is no setting; write key=value, as ledger_tick.mean=33ms."));
    };
    let (key, text) = (key.trim(), text.trim());
    let (key, change) = match key.strip_suffix('*') {
        None => (key, Change::To(value_of(text), text)),
        Some(key) => match text.parse::<f64>() {
            Ok(factor) if factor.is_finite() && factor >= 0.0 => (key.trim_end(), Change::Times(factor)),
            _ => return Err(format!("`{setting}`: `{text}` is no factor; write a number, as in ledger_tick.mean*=2.")),
        },
    };
    if OFFERED.contains(&key) {
        return offer(table, &change, key);
    }
    let Some((list, rest)) = key.split_once('[') else {
        let path = resolve(table, key)?;
        let (place, last) = descend(table, &path, key)?;
        return alter(place, last, &change, key);
    };
    let Some((which, rest)) = rest.split_once(']') else {
        return Err(format!("`{key}`: `[` without `]`; write rtt[0].mean or rtt[eu-central-1,us-east-1].mean."));
    };
    let path = resolve(table, list.trim())?;
    let (place, last) = descend(table, &path, key)?;
    let Some(Value::Array(entries)) = place.get_mut(last) else {
        return Err(format!("`{key}`: {path} is no list; leave out [{which}]."));
    };
    for index in chosen(entries, which, &path)? {
        let entry = &mut entries[index];
        match (rest.strip_prefix('.'), entry) {
            (Some(inner), Value::Table(entry)) => {
                let (place, last) = descend(entry, inner, key)?;
                if !place.contains_key(last) {
                    let all = place.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
                    return Err(format!("`{key}`: an entry of {path} has no `{last}`; it has {all}."));
                }
                alter(place, last, &change, key)?;
            }
            (None, entry) if rest.is_empty() => *entry = changed(Some(entry), &change, key)?,
            _ => return Err(format!("`{key}`: an entry of {path} has no `{rest}`.")),
        }
    }
    Ok(())
}

/// Sets how many transactions are submitted per second, by their bytes.
fn offer(table: &mut Table, change: &Change<'_>, key: &str) -> Result<(), String> {
    let (workload, tps) = descend(table, "workload.tps", key)?;
    let change = match change {
        Change::Times(factor) => Change::Times(*factor),
        Change::To(_, text) => {
            let offered: Load = text.parse().map_err(|error| format!("`{key}`: {error}."))?;
            let size =
                workload.get("tx_size").and_then(Value::as_str).and_then(|text| text.parse::<Bytes>().ok()).filter(|size| size.0 > 0);
            let Some(size) = size else {
                return Err(format!("`{key}`: it follows from workload.tx_size, which is no size above 0."));
            };
            Change::To(Value::Float(offered.0 as f64 / size.0 as f64), text)
        }
    };
    alter(workload, tps, &change, key)
}

/// A value as TOML reads it; what is no TOML, as `33ms`, is a text.
fn value_of(text: &str) -> Value {
    format!("value = {text}")
        .parse::<Table>()
        .ok()
        .and_then(|mut parsed| parsed.remove("value"))
        .unwrap_or_else(|| Value::String(text.to_string()))
}

/// The whole path that a key means.
fn resolve(table: &mut Table, key: &str) -> Result<String, String> {
    let mut known = Vec::new();
    paths(table, "", &mut known);
    let suffix = format!(".{key}");
    let matches: Vec<&String> = known.iter().filter(|path| *path == key || path.ends_with(&suffix)).collect();
    match (known.iter().find(|path| *path == key), matches.as_slice()) {
        (Some(exact), _) => Ok((*exact).clone()),
        (None, [only]) => Ok((*only).clone()),
        (None, []) => match key {
            "fault" | "network.stake" | "network.edge_hosts" => Ok(key.to_string()),
            _ if key.starts_with("live.") => {
                table.entry("live").or_insert_with(|| Value::Table(Table::new()));
                Ok(key.to_string())
            }
            "stake" | "edge_hosts" => Ok(format!("network.{key}")),
            _ => Err(format!("it has no parameter `{key}`; `slotmark simulate PROFILE --show` prints all.")),
        },
        (None, several) => {
            let all = several.iter().map(|path| path.as_str()).collect::<Vec<_>>().join(", ");
            Err(format!("`{key}` may mean {all}; write more of it."))
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

/// The table that holds the last step of a path, and that step.
fn descend<'t, 'p>(table: &'t mut Table, path: &'p str, key: &str) -> Result<(&'t mut Table, &'p str), String> {
    let (before, last) = path.rsplit_once('.').map_or((None, path), |(before, last)| (Some(before), last));
    let mut place = table;
    for step in before.into_iter().flat_map(|before| before.split('.')) {
        match place.get_mut(step) {
            Some(Value::Table(inner)) => place = inner,
            _ => return Err(format!("`{key}`: `{step}` is no table.")),
        }
    }
    Ok((place, last))
}

/// The entries of a list that `which` means: a number from 0, or names that they hold.
fn chosen(entries: &[Value], which: &str, path: &str) -> Result<Vec<usize>, String> {
    if let Ok(index) = which.trim().parse::<usize>() {
        if index < entries.len() {
            return Ok(vec![index]);
        }
        return Err(format!("{path} has {} entries, from [0] on, and no [{index}].", entries.len()));
    }
    let asked: Vec<&str> = which.split(',').map(str::trim).collect();
    let found: Vec<usize> = (0..entries.len())
        .filter(|index| {
            let mut names = names(&entries[*index]);
            asked.iter().all(|name| names.iter().position(|other| other == name).map(|place| names.remove(place)).is_some())
        })
        .collect();
    if found.is_empty() {
        let all: Vec<String> = entries.iter().map(|entry| format!("[{}]", names(entry).join(","))).collect();
        return Err(format!("no entry of {path} is of [{which}]; there are {}.", all.join(", ")));
    }
    Ok(found)
}

/// The texts that an entry holds, by which it may be chosen: those of a list in it, or itself.
fn names(entry: &Value) -> Vec<&str> {
    match entry {
        Value::String(text) => vec![text],
        Value::Table(table) => table.values().filter_map(Value::as_array).flatten().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn alter(place: &mut Table, last: &str, change: &Change<'_>, key: &str) -> Result<(), String> {
    // `stage=20ms` means its mean.
    if let Some(Value::Table(stage)) = place.get_mut(last)
        && stage.contains_key("mean")
        && matches!(change, Change::To(Value::String(_), _) | Change::Times(_))
    {
        return alter(stage, "mean", change, key);
    }
    let value = changed(place.get(last), change, key)?;
    place.insert(last.to_string(), value);
    Ok(())
}

fn changed(old: Option<&Value>, change: &Change<'_>, key: &str) -> Result<Value, String> {
    let factor = match (old, change) {
        // An integer where a fraction is expected.
        (Some(Value::Float(_)), Change::To(Value::Integer(whole), _)) => return Ok(Value::Float(*whole as f64)),
        // A text that TOML reads as something else, as the version 11.0 or a time.
        (Some(Value::String(old)), Change::To(Value::Integer(_) | Value::Float(_) | Value::Datetime(_), written)) if !is_quantity(old) => {
            return Ok(Value::String((*written).to_owned()));
        }
        (_, Change::To(value, _)) => return Ok(value.clone()),
        (_, Change::Times(factor)) => *factor,
    };
    match old {
        Some(Value::Integer(number)) => Ok(Value::Integer((*number as f64 * factor).round() as i64)),
        Some(Value::Float(number)) => Ok(Value::Float(number * factor)),
        Some(Value::String(text)) => match Quantity::parse(text) {
            Some(quantity) => Ok(Value::String(format!("{}{}", quantity.number * factor, quantity.unit))),
            None => Err(format!("`{key}`: `{text}` is no number that can be multiplied; write {key}=VALUE.")),
        },
        _ => Err(format!("`{key}` is no number that can be multiplied; write {key}=VALUE.")),
    }
}

/// Returns whether a text is a number with a unit, as `33ms`.
fn is_quantity(text: &str) -> bool {
    Quantity::parse(text).is_some_and(|quantity| !quantity.unit.is_empty())
}
