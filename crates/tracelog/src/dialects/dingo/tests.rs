//! Lines of Dingo's log, and the rows that are made of them.

use super::joins::{MOST_ASKED, MOST_CONNECTIONS, MOST_NUMBERS};
use super::*;
use crate::dialects::entry::Entry;
use crate::dialects::parts::Joining;

const FIRST: &str = "aa00000000000000000000000000000000000000000000000000000000000001";
const SECOND: &str = "bb00000000000000000000000000000000000000000000000000000000000002";
const TO_A_PEER: &str = "10.0.0.1:3001<->10.0.0.2:40000";

/// A line at this many ms into a second.
fn line(ms: u32, msg: &str, members: &str) -> String {
    format!(r#"{{"time":"2026-01-01T00:00:07.{ms:03}Z","level":"DEBUG","msg":"{msg}","component":"network"{members}}}"#)
}

fn on(connection: &str, members: &str) -> String {
    format!(r#","connection_id":"{connection}"{members}"#)
}

fn asked(ms: u32, first: (u32, &str), last: (u32, &str)) -> String {
    let msg =
        format!("calling GetBlockRange(start: {{Slot: {}, Hash: {}}}, end: {{Slot: {}, Hash: {}}})", first.0, first.1, last.0, last.1);
    line(ms, &msg, &on(TO_A_PEER, ""))
}

fn offered(ms: u32, tip: (u32, &str), size_bytes: u32) -> String {
    let hash = STANDARD.encode(hex::decode(tip.1).unwrap());
    let members = format!(r#","block_size":{size_bytes},"tip_slot":{},"tip_hash":"{hash}","tip_block_number":3"#, tip.0);
    line(ms, "calling RollForward", &on(TO_A_PEER, &members))
}

/// The rows of a log: ms, message, and of blocks the first two digits of the hash; slots otherwise.
fn rows(log: &[String]) -> Vec<(i64, Message, String)> {
    let (mut joins, mut rows) = (Joins::default(), Vec::new());
    let mut give = |entry: &Entry<'_>, place: i64| {
        let ms = entry.ts_ns / 1_000_000 % 1_000;
        assert!(log[place as usize].contains(&format!("07.{ms:03}Z")), "a row has the place of its own line");
        let what = match entry.body {
            Body::Block(block) => String::from_utf8_lossy(&block.block[..2]).into_owned(),
            Body::Slot(slot) => slot.slot.unwrap().to_string(),
            _ => String::new(),
        };
        rows.push((ms, entry.message, what));
        Ok::<(), ()>(())
    };
    for (place, line) in log.iter().enumerate() {
        let read = read_line(line.as_bytes()).unwrap_or_else(|reason| panic!("{line}: {reason}"));
        if let Some(part) = &read.part {
            joins.take(part, place as i64, &mut give).unwrap();
        }
    }
    joins.give_rest(&mut give).unwrap();
    rows
}

/// A row of a block: message, slot, block number, size and length.
type BlockRow = (Message, Option<i64>, Option<i64>, Option<i64>, Option<i64>);

/// The rows of blocks of a log, in full.
fn blocks(log: &[String]) -> Vec<BlockRow> {
    let (mut joins, mut rows) = (Joins::default(), Vec::new());
    let mut give = |entry: &Entry<'_>, _: i64| {
        if let Body::Block(block) = entry.body {
            rows.push((entry.message, block.slot, block.block_no, block.size_bytes, block.length));
        }
        Ok::<(), ()>(())
    };
    for line in log {
        if let Some(part) = &read_line(line.as_bytes()).unwrap().part {
            joins.take(part, 0, &mut give).unwrap();
        }
    }
    joins.give_rest(&mut give).unwrap();
    rows
}

fn reason(line: &str) -> Option<Reason> {
    read_line(line.as_bytes()).err()
}

#[test]
fn a_header_gets_its_hash_from_the_range_that_asks_for_its_slot() {
    let header = |ms, slot| line(ms, "chainsync: header received", &on(TO_A_PEER, &format!(r#","slot":{slot},"tip_slot":9"#)));
    let elsewhere = line(9, "chainsync: header received", &on("10.0.0.1:3001<->10.0.0.3:40000", r#","slot":7"#));
    let log = [
        elsewhere,
        header(10, 7),
        line(11, "updated peer tip", &on(TO_A_PEER, r#","slot":7,"block_number":3"#)),
        header(12, 8),
        header(13, 9),
        asked(15, (7, FIRST), (9, SECOND)),
        line(16, "block returned", &on(TO_A_PEER, "")),
        line(17, "block returned", &on(TO_A_PEER, "")),
        line(18, "block returned", &on(TO_A_PEER, "")),
        line(19, "batch done", &on(TO_A_PEER, "")),
        asked(20, (7, FIRST), (7, FIRST)),
        line(21, "no blocks returned", &on(TO_A_PEER, "")),
        line(22, "block returned", &on(TO_A_PEER, "")),
    ];
    // The block between the first and the last has no hash in the log; what was asked for again was noticed before.
    let wanted = [
        (10, Message::Header, "aa"),
        (13, Message::Header, "bb"),
        (15, Message::Requested, "bb"),
        (16, Message::Fetched, "aa"),
        (18, Message::Fetched, "bb"),
        (20, Message::Requested, "aa"),
    ];
    assert_eq!(rows(&log), wanted.map(|(ms, message, block)| (ms, message, block.to_owned())));
    let rows = blocks(&log);
    assert_eq!(rows[0], (Message::Header, Some(7), Some(3), None, None));
    assert_eq!(rows[1], (Message::Header, Some(9), None, None, None));
    assert_eq!(rows[2], (Message::Requested, None, None, None, Some(3)));
    assert_eq!(rows[5], (Message::Requested, None, None, None, Some(1)));
}

#[test]
fn a_range_has_a_length_where_its_headers_are_of_one_chain() {
    let header = |slot| line(10, "chainsync: header received", &on(TO_A_PEER, &format!(r#","slot":{slot}"#)));
    let back = line(11, "roll backward", &on(TO_A_PEER, ""));
    let length = |log: &[String]| blocks(log).into_iter().find(|row| row.0 == Message::Requested).unwrap().4;
    let range = || asked(15, (7, FIRST), (9, SECOND));
    assert_eq!(length(&[header(6), header(7), header(8), header(9), header(12), range()]), Some(3));
    assert_eq!(length(&[header(7), header(8), back.clone(), header(9), range()]), None);
    assert_eq!(length(&[header(7), header(8), back, header(7), header(9), range()]), Some(2));
    assert_eq!(length(&[header(8), header(9), range()]), None);
}

#[test]
fn blocks_are_those_of_their_range_though_lines_are_missing() {
    let on_peer = |ms, msg: &str| line(ms, msg, &on(TO_A_PEER, ""));
    let log = [
        asked(10, (7, FIRST), (7, FIRST)),
        asked(11, (8, SECOND), (8, SECOND)),
        on_peer(12, "starting batch"),
        on_peer(13, "block returned"),
        // Its "batch done" is missing.
        on_peer(14, "starting batch"),
        on_peer(15, "block returned"),
        on_peer(16, "batch done"),
        asked(20, (9, FIRST), (9, FIRST)),
        on_peer(21, "calling GetBlock(point: {Slot: 5, Hash: aa})"),
        on_peer(22, "starting batch"),
        on_peer(23, "block returned"),
        on_peer(24, "batch done"),
        asked(30, (9, FIRST), (9, FIRST)),
        on_peer(31, "calling RequestRange(start: {Slot: 5, Hash: aa}, end: {Slot: 5, Hash: aa})"),
        on_peer(32, "block returned"),
        asked(40, (9, SECOND), (9, SECOND)),
        on_peer(41, "starting batch"),
        on_peer(42, "block returned"),
    ];
    let fetched: Vec<_> = rows(&log).into_iter().filter(|row| row.1 == Message::Fetched).map(|(ms, _, block)| (ms, block)).collect();
    assert_eq!(fetched, [(13, "aa"), (15, "bb"), (42, "bb")].map(|(ms, block)| (ms, block.to_owned())));
}

#[test]
fn a_header_is_announced_once_it_is_sure_to_be_the_tips() {
    let at_tip = |ms| line(ms, "calling AwaitReply()", &on(TO_A_PEER, ""));
    let back = line(40, "calling RollBackward(point: {Slot: 7, Hash: aa}, tip: {})", &on(TO_A_PEER, ""));
    let log =
        [offered(10, (9, SECOND), 5), offered(11, (9, SECOND), 6), at_tip(12), at_tip(13), offered(14, (7, FIRST), 7), back, at_tip(41)];
    assert_eq!(rows(&log), [(11, Message::Announced, "bb".to_owned())]);
    assert_eq!(blocks(&log), [(Message::Announced, Some(9), Some(3), None, None)]);
}

#[test]
fn an_own_block_is_forged_once_and_adopted_with_its_size() {
    let of = |hash: &str, rest: &str| format!(r#","slot":7,"hash":"{hash}"{rest}"#);
    let log = [
        line(0, "producing block", r#","slot":7"#),
        line(10, "successfully built block", &of(FIRST, &format!(r#","block_number":3,"prev_hash":"{SECOND}","block_size":0"#))),
        line(11, "block proposal accepted by chain", &of(FIRST, r#","block_number":3"#)),
        line(12, "block produced successfully", &of(FIRST, "")),
        offered(13, (7, FIRST), 853),
        line(20, &format!("chain extended, new tip: {FIRST} at slot 7"), r#","source":"forged""#),
        line(50, "calling AwaitReply()", &on(TO_A_PEER, "")),
        line(60, &format!("chain rolled back, new tip: {SECOND} at slot 5"), ""),
        line(70, &format!("chain extended, new tip: {SECOND} at slot 8"), r#","source":"forged""#),
        line(90, "forge check: not leader for slot", r#","current_slot":9,"tip_slot":8"#),
    ];
    let wanted = [
        (0, Message::Leader, "7"),
        (10, Message::Forged, "aa"),
        (20, Message::SelfAdopted, "aa"),
        (13, Message::Announced, "aa"),
        (70, Message::Switched, "bb"),
        (90, Message::NotLeader, "9"),
    ];
    assert_eq!(rows(&log), wanted.map(|(ms, message, block)| (ms, message, block.to_owned())));
    let rows = blocks(&log);
    assert_eq!(rows[0], (Message::Forged, Some(7), Some(3), None, None));
    assert_eq!(rows[1], (Message::SelfAdopted, Some(7), None, Some(853), None));
}

#[test]
fn a_log_without_debug_lines_still_tells_of_forging_and_adoption() {
    let log = [
        line(11, "block proposal accepted by chain", &format!(r#","slot":7,"hash":"{FIRST}","block_number":3"#)),
        line(12, "block produced successfully", &format!(r#","slot":7,"hash":"{FIRST}""#)),
        line(20, &format!("chain extended, new tip: {FIRST} at slot 7"), ""),
        line(30, "block produced successfully", &format!(r#","slot":8,"hash":"{SECOND}""#)),
    ];
    let rows = blocks(&log);
    let messages: Vec<_> = rows.iter().map(|row| row.0).collect();
    assert_eq!(messages, [Message::Forged, Message::Forged, Message::SelfAdopted]);
    assert_eq!((rows[0].2, rows[1].2, rows[2].3), (Some(3), None, None));
}

#[test]
fn an_adoption_has_by_how_many_blocks_the_chain_grew() {
    // A header of a slot, the tip of the peer that has it, and the request that tells its hash.
    let known = |ms, slot, tip: (u32, u32), hash| {
        [
            line(ms, "chainsync: header received", &on(TO_A_PEER, &format!(r#","slot":{slot}"#))),
            line(ms + 1, "updated peer tip", &on(TO_A_PEER, &format!(r#","slot":{},"block_number":{}"#, tip.0, tip.1))),
            asked(ms + 2, (slot, hash), (slot, hash)),
        ]
    };
    let extended = |ms, hash, slot| line(ms, &format!("chain extended, new tip: {hash} at slot {slot}"), "");
    let [third, fourth] = [FIRST.replace("aa", "cc"), FIRST.replace("aa", "dd")];
    let log = [
        known(10, 7, (7, 3), FIRST).to_vec(),
        vec![extended(20, FIRST, 7)],
        known(30, 9, (9, 5), SECOND).to_vec(),
        vec![extended(40, SECOND, 9), line(50, &format!("chain rolled back, new tip: {FIRST} at slot 7"), "")],
        known(60, 10, (10, 6), &third).to_vec(),
        vec![extended(70, &third, 10)],
        // The peer's tip is a later block than this header's: its number isn't that of the header.
        known(80, 12, (13, 8), &fourth).to_vec(),
        vec![extended(90, &fourth, 12)],
    ];
    let rows = blocks(&log.concat());
    let of = |wanted: &[Message]| rows.iter().filter(|row| wanted.contains(&row.0)).map(|row| (row.0, row.2, row.4)).collect::<Vec<_>>();
    assert_eq!(
        of(&[Message::Adopted, Message::Switched]),
        [
            (Message::Adopted, None, None),
            (Message::Adopted, None, Some(2)),
            (Message::Switched, None, Some(1)),
            (Message::Adopted, None, None)
        ]
    );
    assert_eq!(of(&[Message::Header]), [Some(3), Some(5), Some(6), None].map(|block_no| (Message::Header, block_no, None)));
}

#[test]
fn what_was_received_on_a_connection_that_was_closed_is_not_of_the_next_one() {
    let header = line(10, "chainsync: header received", &on(TO_A_PEER, r#","slot":7"#));
    let closed = line(20, "connection closed", &on(TO_A_PEER, ""));
    let messages = |log: &[String]| blocks(log).iter().map(|row| row.0).collect::<Vec<_>>();
    assert_eq!(messages(&[header.clone(), asked(30, (7, FIRST), (7, FIRST))]), [Message::Header, Message::Requested]);
    assert_eq!(messages(&[header, closed, asked(30, (7, FIRST), (7, FIRST))]), [Message::Requested]);
}

#[test]
fn a_block_that_is_sent_is_known_by_its_header() {
    // [[[3, 7, null], h'01'], [], [], {}, []]
    let block = "858283030 7f64101 8080a080".replace(' ', "");
    let sent = |block: &str, kind: u32| line(30, &format!("calling Block(blockType: +{kind}, blockData: {block})"), &on(TO_A_PEER, ""));
    let sent_block = |line: &str| match read_line(line.as_bytes()).unwrap().part {
        Some(Part { content: Content::Of(_, On::Sent { block, slot, block_no, size_bytes }), .. }) => {
            Some((String::from_utf8_lossy(&block).into_owned(), slot, block_no, size_bytes))
        }
        _ => None,
    };
    let header = blake2b_simd::Params::new().hash_length(32).hash(&hex::decode("8283030 7f64101".replace(' ', "")).unwrap());
    assert_eq!(sent_block(&sent(&block, 7)), Some((header.to_hex().to_string(), 7, 3, 12)));
    assert_eq!(sent_block(&sent(&block, 1)), None, "Byron");
    for cut in 1..block.len() - 8 {
        assert!(reason(&sent(&block[..cut], 7)).is_none_or(|reason| reason == Reason::Wrong("msg")), "cut at {cut}");
    }
    assert_eq!(reason(&sent("85828303", 7)), Some(Reason::Wrong("msg")));
    assert_eq!(reason(&sent("zz", 7)), Some(Reason::Wrong("msg")));
    assert_eq!(reason(&sent(&"9f".repeat(100_000), 7)), Some(Reason::Wrong("msg")));
    assert_eq!(reason(&sent("8582831affffffff07f64101", 7)), Some(Reason::OutOfRange("msg")));
}

#[test]
fn what_is_wrong_with_a_line_is_told() {
    let leader = line(0, "producing block", r#","slot":7"#);
    assert_eq!(reason(&leader), None);
    assert_eq!(reason(&leader.replace("\"slot\":7", "\"slot\":\"7\"")), Some(Reason::Wrong("slot")));
    assert_eq!(reason(&leader.replace("\"slot\":7", "\"slot\":1e99")), Some(Reason::Wrong("slot")));
    assert_eq!(reason(&leader.replace("\"slot\":7", "\"slot\":99999999999")), Some(Reason::OutOfRange("slot")));
    assert_eq!(reason(&leader.replace(",\"slot\":7", "")), Some(Reason::Missing("slot")));
    assert_eq!(reason(&leader.replace("2026-01", "2026-13")), Some(Reason::Wrong("time")));
    assert_eq!(reason(&leader.replace("2026", "1996")), Some(Reason::OutOfRange("time")));
    assert_eq!(reason(&leader.replace("\"slot\":7", "\"slot\":7]")), Some(Reason::NotJson));
    assert_eq!(reason(&leader.replace("\"time\"", "\"when\"")), Some(Reason::Missing("time")));
    assert_eq!(reason(&leader.replace("\"msg\"", "\"message\"")), Some(Reason::Missing("msg")));
    assert_eq!(reason("time=2026-01-01 msg=x"), Some(Reason::NotJson));
    for length in 1..leader.len() {
        assert_eq!(reason(&leader[..length]), Some(Reason::Cut), "cut at {length}");
    }
    assert_eq!(reason(&line(0, "calling GetBlockRange(start: 7)", &on(TO_A_PEER, ""))), Some(Reason::Wrong("msg")));
    assert_eq!(reason(&line(0, "chain extended, new tip: at slot 7", "")), Some(Reason::Wrong("msg")));
    assert_eq!(reason(&line(0, "block returned", "")), Some(Reason::Missing("connection_id")));
    assert_eq!(reason(&line(0, "block returned", r#","connection_id":7"#)), Some(Reason::Wrong("connection_id")));
    assert_eq!(reason(&offered(0, (7, FIRST), 7).replace("tip_hash\":\"", "tip_hash\":\"?")), Some(Reason::Wrong("tip_hash")));
    let client = line(0, "calling AwaitReply()", &on("/bed/n1/node.socket<->unix@5", ""));
    assert_eq!(read_line(client.as_bytes()).unwrap().part, None, "a local client");
}

#[test]
fn lines_of_no_interest_are_counted_by_what_they_have_in_common() {
    for (msg, name) in [
        ("tx-submission: client message for 127.0.0.1:50334", "tx-submission: client message for"),
        ("failed to add tx aa53d4 to mempool: x", "failed to add tx"),
        ("calling RequestTxs(txIds: [aa])", "calling RequestTxs"),
        (r#"bad \"thing\""#, "bad"),
        ("batch done, checking for more headers", "batch done, checking for more headers"),
        ("7", ""),
        ("", ""),
        ("chain extended, new tip: ab at slot 1", "chain extended, new tip"),
    ] {
        let line = line(0, msg, "");
        assert_eq!(String::from_utf8_lossy(&read_line(line.as_bytes()).unwrap().name), name, "{msg}");
    }
}

#[test]
fn what_waits_for_the_rest_of_its_row_stays_within_bounds() {
    let mut joins = Joins::default();
    let nothing = |_: &Entry<'_>, _: i64| Ok::<(), ()>(());
    let mut take = |line: &str| match read_line(line.as_bytes()).unwrap().part {
        Some(part) => joins.take(&part, 0, nothing).unwrap(),
        _ => panic!("{line}"),
    };
    for number in 0..3 * MOST_CONNECTIONS {
        take(&line(
            0,
            "chainsync: header received",
            &on(&format!("10.0.0.1:3001<->10.0.{}.{}:1", number / 250, number % 250), r#","slot":7"#),
        ));
    }
    for number in 0..2 * MOST_NUMBERS + 100 {
        take(&line(0, "chainsync: header received", &on(TO_A_PEER, &format!(r#","slot":{number}"#))));
        take(&line(0, "block produced successfully", &format!(r#","slot":7,"hash":"{number:064x}""#)));
        take(&offered(0, (7, &format!("{number:064x}")), 7));
        if number < 2 * MOST_ASKED {
            take(&asked(0, (0, FIRST), (0, SECOND)));
        }
    }
    assert!(joins.is_within_bounds());
}
