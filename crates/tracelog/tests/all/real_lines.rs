//! Lines of real nodes, of all ages, from files that are not part of the project.

use std::fs;
use std::path::PathBuf;

use slotmark_tracelog::{Body, Entry, Message, Reason, read_line};

fn logs(name: &str) -> Vec<u8> {
    let shared = std::env::var_os("SLOTMARK_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let path = shared.join("data/logs").join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
#[ignore = "needs the shared data: logs of real nodes"]
fn every_line_of_a_consumed_kind_is_interpreted() {
    let text = logs("real-log-lines.jsonl");
    let lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 71);
    for (number, line) in (1..).zip(lines) {
        let seen = read_line(line).unwrap_or_else(|reason| panic!("line {number}: {reason}"));
        // The roll-backward and its twin have no header.
        let dropped = [9, 10].contains(&number);
        assert_eq!(seen.entry.is_none(), dropped, "line {number}: {:?}", String::from_utf8_lossy(line));
    }
}

#[test]
#[ignore = "needs the shared data: logs of real nodes"]
fn a_whole_log_of_a_devnet_has_no_rejected_line() {
    let text = logs("two-node-devnet-10.6.log");
    let lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 260);
    let seen: Vec<_> = lines.iter().map(|line| read_line(line).unwrap()).collect();
    let count = |wanted: fn(&Entry<'_>) -> bool| seen.iter().filter_map(|seen| seen.entry.as_ref()).filter(|entry| wanted(entry)).count();
    assert_eq!(count(|entry| matches!(entry.body, Body::Resources(..))), 14);
    assert_eq!(count(|entry| entry.message == Message::Started), 13);
    assert_eq!(count(|entry| entry.message == Message::LedgerMetrics), 12);
    assert_eq!(count(|entry| entry.message == Message::NotLeader), 12);
    assert_eq!(count(|entry| entry.message == Message::Forged), 1);
    assert_eq!(count(|entry| entry.message == Message::Announced), 2);
}

#[test]
fn what_is_wrong_with_a_line_is_told() {
    let line = |data: &str| {
        format!(r#"{{"at":"2025-12-01T07:06:46Z","ns":"Forge.Loop.NodeIsLeader","data":{data},"sev":"Info","thread":"5","host":"h"}}"#)
    };
    let reason = |text: &str| read_line(text.as_bytes()).err();
    assert_eq!(reason(&line(r#"{"kind":"TraceNodeIsLeader","slot":7}"#)), None);
    assert_eq!(reason(&line(r#"{"kind":"TraceNodeIsLeader"}"#)), Some(Reason::Missing("slot")));
    assert_eq!(reason(&line(r#"{"kind":"TraceNodeIsLeader","slot":"7"}"#)), Some(Reason::Wrong("slot")));
    assert_eq!(reason(&line(r#"{"kind":"TraceNodeIsLeader","slot":7.5}"#)), Some(Reason::Wrong("slot")));
    assert_eq!(reason(&line(r#"{"kind":"TraceNodeIsLeader","slot":18446744073709551615}"#)), Some(Reason::OutOfRange("slot")));
    assert_eq!(reason(&line(r#""text""#)), Some(Reason::Wrong("data")));
    assert_eq!(reason(&line(r#"{"slot":7]"#)), Some(Reason::NotJson));
    assert_eq!(reason("node: internal error"), Some(Reason::NotJson));
    assert_eq!(reason(&line(r#"{"slot":7}"#).replace("2025-12", "2025-13")), Some(Reason::Wrong("at")));
    let whole = line(r#"{"kind":"TraceNodeIsLeader","slot":7}"#);
    for length in 1..whole.len() {
        assert_eq!(read_line(&whole.as_bytes()[..length]).err(), Some(Reason::Cut), "cut at {length}");
    }
}

#[test]
fn both_ends_of_a_connection_are_read_in_all_forms() {
    let ends = |namespace: &str, data: &str| {
        let line = format!(
            r#"{{"at":"2025-12-01T07:06:46Z","ns":{namespace},"data":{{"block":"ab","head":"ab","addBlock":"ab@1","length":1,"slot":1,"blockNo":1{data}}},"sev":"Info","thread":"5","host":"h"}}"#
        );
        let seen = read_line(line.as_bytes()).unwrap();
        let Some(Entry { body: Body::Block(block), .. }) = seen.entry else { panic!("{line}") };
        block.connection.map(|ends| {
            [ends.local.unwrap(), ends.remote]
                .map(|end| format!("{} {}", String::from_utf8_lossy(end.host), String::from_utf8_lossy(end.port)))
        })
    };
    let both = Some(["10.0.0.3 42527".to_owned(), "10.0.0.1 30001".to_owned()]);
    let new = r#","peer":{"connectionId":"10.0.0.3:42527 10.0.0.1:30001"}"#;
    for namespace in [
        "ChainSync.Client.DownloadedHeader",
        "BlockFetch.Client.SendFetchRequest",
        "BlockFetch.Client.CompletedBlockFetch",
        "ChainSync.ServerHeader.Update",
        "BlockFetch.Server.SendBlock",
    ] {
        assert_eq!(ends(&format!("\"{namespace}\""), new), both, "{namespace}");
    }
    let legacy =
        r#","kind":"CompletedBlockFetch","peer":{"local":{"addr":"10.0.0.3","port":"42527"},"remote":{"addr":"10.0.0.1","port":30001}}"#;
    assert_eq!(ends(r#"["cardano.node.BlockFetchClient"]"#, legacy), both);
    let v6 = r#","peer":{"connectionId":"[::1]:3001 [2001:db8::7]:3002"}"#;
    assert_eq!(ends("\"BlockFetch.Server.SendBlock\"", v6), Some(["[::1] 3001".to_owned(), "[2001:db8::7] 3002".to_owned()]));
    // What is no connection leaves the rest of the line as it is.
    for other in [
        "",
        r#","peer":null"#,
        r#","peer":7"#,
        r#","peer":{}"#,
        r#","peer":{"connectionId":"10.0.0.3:42527"}"#,
        r#","peer":{"connectionId":"10.0.0.3 10.0.0.1"}"#,
        r#","peer":{"connectionId":"10.0.0.3:42527 10.0.0.1:30001 10.0.0.1:1"}"#,
        r#","peer":{"connectionId":"10.0.0.3:x 10.0.0.1:30001"}"#,
        r#","peer":{"connectionId":"a\"b:1 c:2"}"#,
        r#","peer":{"local":{"addr":"10.0.0.3","port":"1"}}"#,
    ] {
        assert_eq!(ends("\"BlockFetch.Server.SendBlock\"", other), None, "{other}");
    }
}
