//! Lines that Amaru 0.1.2 wrote, and the rows that they are.

use super::*;
use crate::dialects::dialect::Dialect;

const HASH: &str = "c22bbb266bfb0fa4ca9a9144c370854dc3a2ba0aad29cc6bdc8232a1d01cb414";

const HEADER: &str = r#"{"timestamp":"2026-11-27T13:10:54.259022Z","level":"TRACE","fields":{"message":"exit"},"target":"amaru::stores::consensus","span":{"hash":"c22bbb266bfb0fa4ca9a9144c370854dc3a2ba0aad29cc6bdc8232a1d01cb414","name":"store_header"},"stage":"receive_header-1","id":1364591236849074205}"#;
const BLOCK: &str = r#"{"timestamp":"2026-11-27T13:10:54.319102Z","level":"TRACE","fields":{"message":"exit"},"target":"amaru::stores::consensus","span":{"hash":"c22bbb266bfb0fa4ca9a9144c370854dc3a2ba0aad29cc6bdc8232a1d01cb414","name":"store_block"},"stage":"fetch_block-3","id":1060598811757379600}"#;
const ADOPTED: &str = r#"{"timestamp":"2026-11-27T13:10:54.319690Z","level":"TRACE","fields":{"message":"exit"},"target":"amaru::stores::consensus","span":{"hash":"c22bbb266bfb0fa4ca9a9144c370854dc3a2ba0aad29cc6bdc8232a1d01cb414","slot":"355293","name":"roll_forward_chain"},"stage":"select_chain-5","id":929994422563635230}"#;
const TIP: &str = r#"{"timestamp":"2026-11-27T13:10:54.320016Z","level":"TRACE","fields":{"message":"diffusion.forward_chain.new_tip","point":"355293.c22bbb266bfb0fa4ca9a9144c370854dc3a2ba0aad29cc6bdc8232a1d01cb414"},"target":"amaru::consensus::forward_chain","span":{"stage":"forward_chain-6","name":"poll"},"stage":"forward_chain-6"}"#;
const ENTER: &str = r#"{"timestamp":"2026-11-27T13:10:54.258000Z","level":"TRACE","fields":{"message":"enter"},"target":"amaru::stores::consensus","span":{"name":"store_header"},"stage":"receive_header-1","id":1364591236849074205}"#;
const STARTED: &str = r#"{"timestamp":"2026-11-27T13:10:52.026794Z","level":"INFO","fields":{"message":"Started with global arguments","with_open_telemetry":false,"with_json_traces":true},"target":"amaru"}"#;

fn reason(line: &str) -> Option<Reason> {
    read_line(line.as_bytes()).err()
}

#[test]
fn each_line_of_a_block_is_a_row() {
    for (line, us, message, slot) in [
        (HEADER, 259_022, Message::Header, None),
        (BLOCK, 319_102, Message::Fetched, None),
        (ADOPTED, 319_690, Message::Adopted, Some(355_293)),
        (TIP, 320_016, Message::Announced, Some(355_293)),
    ] {
        assert!(Dialect::has(&Amaru::new(), line.as_bytes()), "{line}");
        let part = read_line(line.as_bytes()).unwrap().part.expect("a row");
        assert_eq!(part.ts_ns % 1_000_000_000, us * 1_000, "{line}");
        assert_eq!(part.content, Told { message, block: HASH.as_bytes(), slot });
        let mut rows = Vec::new();
        Rows.take(&part, 3, |entry: &Entry<'_>, place| {
            rows.push((entry.message, entry.ts_ns, place));
            Ok::<(), ()>(())
        })
        .unwrap();
        assert_eq!(rows, [(message, part.ts_ns, 3)]);
    }
}

#[test]
fn lines_of_no_interest_are_counted_by_their_span_or_text() {
    for (line, name) in [(ENTER, "store_header"), (STARTED, "Started with global arguments")] {
        let read = read_line(line.as_bytes()).unwrap();
        assert_eq!((String::from_utf8_lossy(&read.name).as_ref(), read.part), (name, None));
    }
}

#[test]
fn what_is_wrong_with_a_line_is_told() {
    for line in [HEADER, BLOCK, ADOPTED, TIP] {
        assert_eq!(reason(line), None);
        assert_eq!(reason(&line.replace("2026-11", "2026-13")), Some(Reason::Wrong("timestamp")));
        assert_eq!(reason(&line.replace("timestamp", "when")), Some(Reason::Missing("timestamp")));
        assert_eq!(reason(&line.replace("fields", "members")), Some(Reason::Missing("fields")));
        assert_eq!(reason(&line.replace(r#""message""#, r#""text""#)), Some(Reason::Missing("message")));
        assert_eq!(reason(&format!("{line}}}")), Some(Reason::NotJson));
        for length in 1..line.len() {
            assert_eq!(reason(&line[..length]), Some(Reason::Cut), "cut at {length}");
        }
    }
    assert_eq!(reason(&HEADER.replace(HASH, "")), Some(Reason::Wrong("hash")));
    assert_eq!(reason(&HEADER.replace(r#""hash""#, r#""id""#)), Some(Reason::Missing("hash")));
    assert_eq!(reason(&ADOPTED.replace("355293", "-1")), Some(Reason::Wrong("slot")));
    assert_eq!(reason(&ADOPTED.replace("355293", "99999999999")), Some(Reason::OutOfRange("slot")));
    assert_eq!(reason(&TIP.replace("355293.", "355293")), Some(Reason::Wrong("point")));
    assert_eq!(reason(&TIP.replace("355293.", ".")), Some(Reason::Wrong("point")));
    assert_eq!(reason(&TIP.replace(HASH, "")), Some(Reason::Wrong("point")));
    assert_eq!(reason("2026-11-27T13:10:52.026794Z  INFO amaru: Started"), Some(Reason::NotJson));
}
