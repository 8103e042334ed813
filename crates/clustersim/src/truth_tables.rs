//! Tables of the true events: `truth` a row a block and host, `truth_blocks` a row a block, `truth_hosts` a row a host, `truth_slots` a row a slot
//! and host.
//!
//! Columns are the fields of `truth.jsonl` and `truth-slots.jsonl`; times are ns since slot 0 by a clock that is right.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use slotmark_tracelog::{Column, write_part, write_table};

use crate::error::SimulationError;
use crate::event::Block;
use crate::topology::Topology;
use crate::truth::{ForgingTimes, NEVER, Observation, SlotTruth, Truth};

/// Writes the tables below a folder of tables and gives the rows of each.
pub(crate) fn write_truth_tables(tables: &Path, truth: &Truth, topology: &Topology) -> Result<BTreeMap<String, u64>, SimulationError> {
    let names: Vec<&str> = topology.hosts.iter().map(|host| host.name.as_str()).collect();
    let hashes: Vec<String> = (0..truth.blocks.len() as u32).map(|block| truth.hash(block)).collect();
    let mut rows = BTreeMap::new();
    for (name, columns) in [
        ("truth_hosts", hosts(truth, topology, &names, &hashes)),
        ("truth_blocks", blocks(truth, &names, &hashes)),
        ("truth", observations(truth, &names, &hashes)),
    ] {
        let written = write_table(tables, name, columns).map_err(|source| SimulationError::Table { path: tables.join(name), source })?;
        rows.insert(name.to_owned(), written);
    }
    Ok(rows)
}

/// Writes a host's part of `truth_slots` and gives its rows.
pub(crate) fn write_slots(tables: &Path, part: usize, host: &str, slots: &[SlotTruth]) -> Result<u64, SimulationError> {
    let mut values: Vec<Vec<Option<i64>>> = SlotTruth::FIELDS.iter().map(|_| Vec::with_capacity(slots.len())).collect();
    for truth in slots {
        for (column, value) in values.iter_mut().zip(truth.values()) {
            column.push(value);
        }
    }
    let mut columns = vec![Column::text("host", slots.iter().map(|_| host))];
    columns.extend(SlotTruth::FIELDS.into_iter().zip(values).map(|(field, values)| Column::optional(field, values.into_iter())));
    let name = "truth_slots";
    write_part(tables, name, part, columns).map_err(|source| SimulationError::Table { path: tables.join(name), source })
}

/// Moments; null for never.
fn moments(name: &'static str, values: impl Iterator<Item = u64>) -> Column {
    Column::optional(name, values.map(|ns| (ns != NEVER).then_some(ns as i64)))
}

fn hosts(truth: &Truth, topology: &Topology, names: &[&str], hashes: &[String]) -> Vec<Column> {
    vec![
        Column::text("host", names.iter().copied()),
        Column::text("region", topology.hosts.iter().map(|host| host.region.as_str())),
        Column::whole("clock_ahead_ns", truth.clock_ahead_ns.iter().copied()),
        Column::text("tip", truth.tips.iter().map(|&tip| hashes[tip as usize].as_str())),
    ]
}

fn blocks(truth: &Truth, names: &[&str], hashes: &[String]) -> Vec<Column> {
    let chain: HashSet<u32> = truth.chain().into_iter().collect();
    let blocks = || truth.blocks.iter().skip(1);
    let number = |name, get: fn(&Block) -> i64| Column::whole(name, blocks().map(get));
    let stage = |name, get: fn(&ForgingTimes) -> u64| moments(name, truth.forging.iter().skip(1).map(get));
    vec![
        Column::text("block", blocks().map(|block| hashes[block.index as usize].as_str())),
        number("slot", |block| block.slot as i64),
        number("number", Block::number),
        Column::text("parent", blocks().map(|block| hashes[block.parent as usize].as_str())),
        Column::text("forger", blocks().map(|block| names[block.forger as usize])),
        number("size_bytes", |block| block.size_bytes as i64),
        number("txs", |block| i64::from(block.txs)),
        Column::unsigned("vrf", blocks().map(|block| block.vrf)),
        Column::flag("on_chain", blocks().map(|block| chain.contains(&block.index))),
        stage("started_ns", |times| times.started_ns),
        stage("block_context_ns", |times| times.block_context_ns),
        stage("ledger_state_ns", |times| times.ledger_state_ns),
        stage("ledger_view_ns", |times| times.ledger_view_ns),
        stage("leadership_ns", |times| times.leadership_ns),
        stage("ledger_tick_ns", |times| times.ledger_tick_ns),
        stage("mempool_snapshot_ns", |times| times.mempool_snapshot_ns),
        number("forged_ns", |block| block.forged_ns as i64),
    ]
}

fn observations(truth: &Truth, names: &[&str], hashes: &[String]) -> Vec<Column> {
    let pairs = || (1..truth.blocks.len() as u32).flat_map(|block| (0..names.len()).map(move |host| (block, host)));
    let seen = || pairs().map(|(block, host)| truth.observation(host, block));
    let moment = |name, get: fn(Observation) -> u64| moments(name, seen().map(get));
    vec![
        Column::text("block", pairs().map(|(block, _)| hashes[block as usize].as_str())),
        Column::text("host", pairs().map(|(_, host)| names[host])),
        moment("noticed_ns", |seen| seen.noticed_ns),
        moment("requested_ns", |seen| seen.requested_ns),
        Column::whole("range", seen().map(|seen| i64::from(seen.range))),
        moment("fetched_ns", |seen| seen.fetched_ns),
        moment("announced_ns", |seen| seen.announced_ns),
        moment("sending_ns", |seen| seen.sending_ns),
        moment("adopted_ns", |seen| seen.adopted_ns),
        Column::optional_text("adopted_by", seen().map(|seen| seen.adopted_by.word())),
    ]
}
