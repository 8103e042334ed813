//! A bed's nodes log every message that ingest reads and the simulator writes.

use std::fs;
use std::ops::ControlFlow;

use serde_json::Value;
use slotmark_synth::bed::Bed;

#[test]
fn a_beds_configurations_log_every_message_of_the_table() {
    let bed = Bed::small(&[1.0]);
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
