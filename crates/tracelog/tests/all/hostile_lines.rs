//! Lines that must not become rows, or must become the right ones, as an attack on the parser found them.

use slotmark_tracelog::{Body, LineReader, Reason, Seen, Slot};

fn line(data: &str) -> String {
    format!(r#"{{"at":"2025-12-01T07:06:46Z","ns":"Forge.Loop.NodeIsLeader","data":{data},"sev":"Info","thread":"5","host":"h"}}"#)
}

/// Reads a line, after one that is as it should be.
fn read_line(line: &[u8]) -> Result<Seen<'_>, Reason> {
    let usual = self::line(r#"{"slot":7}"#);
    let mut lines = LineReader::default();
    lines.read(usual.as_bytes()).unwrap();
    lines.read(line)
}

fn reason(line: &str) -> Option<Reason> {
    read_line(line.as_bytes()).err()
}

fn slot(line: &str) -> Option<i64> {
    match read_line(line.as_bytes()).ok()?.entry?.body {
        Body::Slot(Slot { slot, .. }) => slot,
        _ => None,
    }
}

#[test]
fn values_that_no_node_can_mean_are_out_of_range() {
    let out = |field| Some(Reason::OutOfRange(field));
    assert_eq!(reason(&line(r#"{"slot":9223372036854775807}"#)), out("slot"));
    assert_eq!(reason(&line(r#"{"slot":18446744073709551616}"#)), out("slot"));
    assert_eq!(reason(&line(r#"{"slot":-1}"#)), out("slot"));
    assert_eq!(reason(&line(r#"{"slot":2147483648}"#)), out("slot"));
    assert_eq!(slot(&line(r#"{"slot":2147483647}"#)), Some(2_147_483_647));
    for year in ["1999-12-31T23:59:59Z", "2200-01-01T00:00:00Z"] {
        assert_eq!(reason(&line(r#"{"slot":7}"#).replace("2025-12-01T07:06:46Z", year)), out("at"));
    }
    let of = |name: &str, data: &str| reason(&line(data).replace("Forge.Loop.NodeIsLeader", name));
    assert_eq!(of("Forge.Loop.BlockContext", r#"{"current slot":7,"tipBlockNo":-9223372036854775808}"#), out("tipBlockNo"));
    assert_eq!(of("Forge.Loop.AdoptedBlock", r#"{"blockHash":"ab","blockSize":9223372036854775807}"#), out("blockSize"));
    assert_eq!(of("ChainSync.Client.DownloadedHeader", r#"{"block":"ab","slot":1,"blockNo":{"unBlockNo":4294967296}}"#), out("blockNo"));
    assert_eq!(of("LedgerMetrics", r#"{"slot":7,"utxoSize":1,"chainDensity":1e300}"#), out("chainDensity"));
    assert_eq!(of("BlockFetch.Client.SendFetchRequest", r#"{"head":"ab","length":-3}"#), out("length"));
}

#[test]
fn a_line_of_interest_is_json_from_end_to_end() {
    for data in [
        r#"{"slot":7,"x":01}"#,
        r#"{"slot":7,"x":1.}"#,
        r#"{"slot":7,"x":1-2}"#,
        r#"{"slot":7,"x":1e}"#,
        r#"{"slot":7,"x":-}"#,
        r#"{"slot":7,"x":{"a" 1}}"#,
        r#"{"slot":7,"x":{"a":1,}}"#,
        r#"{"slot":7,"x":{a:1}}"#,
        r#"{"slot":7,"x":[1,]}"#,
        r#"{"slot":7,"x":[1 2]}"#,
        r#"{"slot":7,"x":[tru]}"#,
        r#"{"slot":7,"x":{]}"#,
        r#"{"slot":7,"x":"\q"}"#,
        r#"{"slot":7,"x":"\u12g4"}"#,
        "{\"slot\":7,\"x\":\"a\tb\"}",
        "{\"slot\":7,\"x\":{\"y\":\"\u{1}\"}}",
        r#"{"slot":7,}"#,
    ] {
        let line = line(data);
        assert!(serde_json::from_str::<serde_json::Value>(&line).is_err(), "{data} is JSON");
        assert_eq!(reason(&line), Some(Reason::NotJson), "{data}");
    }
    let mut bytes = line(r#"{"slot":7,"x":"?"}"#).into_bytes();
    let place = bytes.iter().position(|&byte| byte == b'?').unwrap();
    bytes[place] = 0xff;
    assert_eq!(read_line(&bytes).err(), Some(Reason::NotJson));
    let deep = format!(r#"{{"slot":7,"x":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(reason(&line(&deep)), Some(Reason::NotJson));
    assert_eq!(slot(&line(r#"{"slot":7,"x":[{"a":[-0.5e-3,"\ud83d\ude00\/"]},[],{}, null ]}"#)), Some(7));
}

#[test]
fn names_that_are_escaped_say_what_they_say() {
    assert_eq!(slot(&line(r#"{"sl\u006ft":7}"#)), Some(7));
    assert_eq!(slot(&line(r#"{"slot":7}"#).replace("\"data\"", r#""d\u0061ta""#)), Some(7));
    assert_eq!(slot(&line(r#"{"slot":7}"#).replace("NodeIsLeader", r"Node\u0049sLeader")), Some(7));
    let unknown = line(r#"{"slot":7,"kind":"TraceNode\u0049sLeader"}"#).replace("Forge.Loop.NodeIsLeader", "Else");
    assert_eq!(slot(&unknown), Some(7));
    // The same key twice, once escaped: the later one counts.
    assert_eq!(slot(&line(r#"{"slot":7,"\u0073lot":8}"#)), Some(8));
}
