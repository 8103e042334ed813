//! Tables of the true events: `truth` a row a block and host, `truth_blocks` a row a block, `truth_hosts` a row a host, `truth_slots` a row a slot
//! and host.
//!
//! Columns are the fields of `truth.jsonl` and `truth-slots.jsonl`; times are ns since slot 0 by a clock that is right.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, StringArray, UInt64Array};
use slotmark_tracelog::{write_part, write_table};

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
        rows.insert(name.to_owned(), columns.first().map_or(0, |(_, column)| column.len() as u64));
        write_table(tables, name, columns).map_err(|source| SimulationError::Table { path: tables.join(name), source })?;
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
    let mut columns: Columns = vec![("host", text(slots.iter().map(|_| host)))];
    columns.extend(SlotTruth::FIELDS.into_iter().zip(values.into_iter().map(|column| Arc::new(Int64Array::from(column)) as ArrayRef)));
    let name = "truth_slots";
    write_part(tables, name, part, columns).map_err(|source| SimulationError::Table { path: tables.join(name), source })?;
    Ok(slots.len() as u64)
}

type Columns = Vec<(&'static str, ArrayRef)>;

fn text<'a>(values: impl Iterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn whole(values: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

/// Moments; null for never.
fn moments(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter(values.map(|ns| (ns != NEVER).then_some(ns as i64))))
}

fn hosts(truth: &Truth, topology: &Topology, names: &[&str], hashes: &[String]) -> Columns {
    vec![
        ("host", text(names.iter().copied())),
        ("region", text(topology.hosts.iter().map(|host| host.region.as_str()))),
        ("clock_ahead_ns", whole(truth.clock_ahead_ns.iter().copied())),
        ("tip", text(truth.tips.iter().map(|&tip| hashes[tip as usize].as_str()))),
    ]
}

fn blocks(truth: &Truth, names: &[&str], hashes: &[String]) -> Columns {
    let chain: HashSet<u32> = truth.chain().into_iter().collect();
    let blocks = || truth.blocks.iter().skip(1);
    let number = |get: fn(&Block) -> i64| whole(blocks().map(get));
    let stage = |get: fn(&ForgingTimes) -> u64| moments(truth.forging.iter().skip(1).map(get));
    vec![
        ("block", text(blocks().map(|block| hashes[block.index as usize].as_str()))),
        ("slot", number(|block| block.slot as i64)),
        ("number", number(Block::number)),
        ("parent", text(blocks().map(|block| hashes[block.parent as usize].as_str()))),
        ("forger", text(blocks().map(|block| names[block.forger as usize]))),
        ("size_bytes", number(|block| block.size_bytes as i64)),
        ("txs", number(|block| i64::from(block.txs))),
        ("vrf", Arc::new(UInt64Array::from_iter_values(blocks().map(|block| block.vrf)))),
        ("on_chain", Arc::new(BooleanArray::from_iter(blocks().map(|block| Some(chain.contains(&block.index)))))),
        ("started_ns", stage(|times| times.started_ns)),
        ("block_context_ns", stage(|times| times.block_context_ns)),
        ("ledger_state_ns", stage(|times| times.ledger_state_ns)),
        ("ledger_view_ns", stage(|times| times.ledger_view_ns)),
        ("leadership_ns", stage(|times| times.leadership_ns)),
        ("ledger_tick_ns", stage(|times| times.ledger_tick_ns)),
        ("mempool_snapshot_ns", stage(|times| times.mempool_snapshot_ns)),
        ("forged_ns", number(|block| block.forged_ns as i64)),
    ]
}

fn observations(truth: &Truth, names: &[&str], hashes: &[String]) -> Columns {
    let pairs = || (1..truth.blocks.len() as u32).flat_map(|block| (0..names.len()).map(move |host| (block, host)));
    let seen = || pairs().map(|(block, host)| truth.observation(host, block));
    let moment = |get: fn(Observation) -> u64| moments(seen().map(get));
    vec![
        ("block", text(pairs().map(|(block, _)| hashes[block as usize].as_str()))),
        ("host", text(pairs().map(|(_, host)| names[host]))),
        ("noticed_ns", moment(|seen| seen.noticed_ns)),
        ("requested_ns", moment(|seen| seen.requested_ns)),
        ("range", whole(seen().map(|seen| i64::from(seen.range)))),
        ("fetched_ns", moment(|seen| seen.fetched_ns)),
        ("announced_ns", moment(|seen| seen.announced_ns)),
        ("sending_ns", moment(|seen| seen.sending_ns)),
        ("adopted_ns", moment(|seen| seen.adopted_ns)),
        ("adopted_by", Arc::new(StringArray::from_iter(seen().map(|seen| seen.adopted_by.word())))),
    ]
}
