//! Tables of the true events: `truth` a row per block and host, `truth_blocks` a row per block, `truth_hosts` a row per host, `truth_slots` a row per slot
//! and host.
//!
//! Columns are the fields of `truth.jsonl` and `truth-slots.jsonl`; times are ns since slot 0 by a clock that is right.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use slotmark_tracelog::{Column, write_part, write_table};

use crate::error::SimulationError;
use crate::event::Block;
use crate::topology::Topology;
use crate::truth::{self, SlotTruth, Truth};

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
    let mut columns = vec![Column::text("host", slots.iter().map(|_| host))];
    columns.extend(truth::columns(slots.iter().copied()));
    let name = "truth_slots";
    write_part(tables, name, part, columns).map_err(|source| SimulationError::Table { path: tables.join(name), source })
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
    let mut columns = vec![
        Column::text("block", blocks().map(|block| hashes[block.index as usize].as_str())),
        number("slot", |block| block.slot as i64),
        number("number", Block::number),
        Column::text("parent", blocks().map(|block| hashes[block.parent as usize].as_str())),
        Column::text("forger", blocks().map(|block| names[block.forger as usize])),
        number("size_bytes", |block| block.size_bytes as i64),
        number("txs", |block| i64::from(block.txs)),
        Column::unsigned("vrf", blocks().map(|block| block.vrf)),
        Column::flag("on_chain", blocks().map(|block| chain.contains(&block.index))),
    ];
    columns.extend(truth::columns(truth.forging.iter().skip(1).copied()));
    columns.push(number("forged_ns", |block| block.forged_ns as i64));
    columns
}

fn observations(truth: &Truth, names: &[&str], hashes: &[String]) -> Vec<Column> {
    let pairs = || (1..truth.blocks.len() as u32).flat_map(|block| (0..names.len()).map(move |host| (block, host)));
    let mut columns = vec![
        Column::text("block", pairs().map(|(block, _)| hashes[block as usize].as_str())),
        Column::text("host", pairs().map(|(_, host)| names[host])),
    ];
    columns.extend(truth::columns(pairs().map(|(block, host)| truth.observation(host, block))));
    columns
}
