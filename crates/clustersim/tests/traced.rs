//! A bed's nodes log every message that ingest reads and the simulator writes.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;

use serde_json::Value;
use slotmark_synth::Budgets;
use slotmark_synth::bed::{BED_SCHEMA, Bed, BedGenesis, BedHost};

#[test]
fn a_beds_configurations_log_every_message_of_the_table() {
    let genesis = BedGenesis {
        network_magic: 42,
        slot_length_ns: 1_000_000_000,
        active_slot_coefficient: 0.4,
        security_parameter: 20,
        epoch_slots: 500,
        max_block_body_bytes: 16_384,
        budgets: Budgets::PUBLIC,
        delegators: 1,
        utxo_entries: 0,
        dreps: 0,
        funds: 1,
        first_slot: 0,
    };
    let hosts = vec![BedHost::new(0, String::new(), Some(1.0))];
    let (links, changed, profile) = (Vec::new(), BTreeMap::new(), Value::Null);
    let bed = Bed { schema: BED_SCHEMA, seed: 1, genesis, concurrency: 1, hosts, links, changed, profile, script: None };
    let folder = tempfile::tempdir().expect("a folder");
    bed.write(folder.path(), &mut |_, _| ControlFlow::Continue(())).expect("a bed");
    let text = fs::read(folder.path().join("node-0/config.json")).expect("a configuration");
    let configuration: Value = serde_json::from_slice(&text).expect("JSON");
    let traces = configuration["TraceOptions"].as_object().expect("options");
    assert_eq!(traces[""]["backends"][0], "Stdout MachineFormat");
    let mut names = 0;
    for name in slotmark_tracelog::namespaces() {
        let inner = traces.iter().filter(|(of, _)| *of == name || name.starts_with(&format!("{of}.")));
        let severity = inner.max_by_key(|(of, _)| of.len()).map(|(_, option)| option["severity"].clone());
        let expected = if ["LedgerMetrics", "Version.NodeVersion"].contains(&name) { "Info" } else { "Debug" };
        assert_eq!(severity, Some(expected.into()), "{name}");
        names += 1;
    }
    assert!(names >= 25, "{names}");
}
