//! Lines of Dugite's log, and the rows that are made of them.

use super::joins::MOST_SLOTS;
use super::*;
use crate::dialects::entry::Entry;
use crate::dialects::own::MOST_OWN;
use crate::dialects::parts::Joining;
use crate::messages::{Body, Message};

const FIRST: &str = "aa00000000000000000000000000000000000000000000000000000000000001";
const SECOND: &str = "bb00000000000000000000000000000000000000000000000000000000000002";

/// A line at this many ms into a second.
fn line(ms: u32, message: &str, members: &str) -> String {
    format!(
        r#"{{"timestamp":"2026-01-01T00:00:07.{ms:03}000Z","level":"DEBUG","fields":{{"message":"{message}"{members}}},"target":"dugite_node::node"}}"#
    )
}

fn asked(ms: u32, first: u32, last: u32, count: u32) -> String {
    let members = format!(r#","addr":"10.0.0.2:3001","count":{count},"first_slot":{first},"last_slot":{last}"#);
    line(ms, "BlockFetch: active fetcher, downloading blocks", &members)
}

fn fetched(ms: u32, slot: u32, block_no: u32) -> String {
    line(ms, "BlockFetch: block decoded", &format!(r#","addr":"10.0.0.2:3001","slot":{slot},"block_no":{block_no}"#))
}

fn named(ms: u32, message: &str, slot: u32, block_no: u32, hash: &str) -> String {
    line(ms, message, &format!(r#","slot":{slot},"block":{block_no},"txs":0,"hash":"{hash}""#))
}

fn announced(ms: u32, slot: u32, block_no: u32) -> String {
    line(ms, "live-tip: announced block to peers", &format!(r#","slot":{slot},"block":{block_no}"#))
}

fn forged(ms: u32, slot: u32, block_no: u32, hash: &str) -> String {
    let members = format!(r#","slot":{slot},"block_number":{block_no},"tx_count":0,"body_size":4,"header_hash":"{hash}""#);
    line(ms, "Block forged", &members)
}

fn sent(ms: u32, slot: u32, hash: &str) -> String {
    line(ms, "blockfetch server: serving block", &format!(r#","slot":{slot},"hash":"{hash}","cbor_len":853,"first_bytes":"8207""#))
}

/// A row: ms, message, the first two digits of the hash or the slot, and of a block its number, size and length.
type Row = (i64, Message, String, [Option<i64>; 3]);

fn rows(log: &[String]) -> Vec<Row> {
    let (mut joins, mut rows) = (Joins::default(), Vec::new());
    let mut give = |entry: &Entry<'_>, place: i64| {
        let ms = entry.ts_ns / 1_000_000 % 1_000;
        assert!(log[place as usize].contains(&format!("07.{ms:03}000Z")), "a row has the place of its own line");
        rows.push(match entry.body {
            Body::Block(block) => {
                let begin = String::from_utf8_lossy(&block.block[..2]).into_owned();
                (ms, entry.message, begin, [block.block_no, block.size_bytes, block.length])
            }
            Body::Slot(slot) => (ms, entry.message, slot.slot.unwrap().to_string(), [None; 3]),
            Body::Version(version) => (ms, entry.message, String::from_utf8_lossy(version.version).into_owned(), [None; 3]),
            _ => panic!("{entry:?}"),
        });
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

fn row(ms: i64, message: Message, of: &str, numbers: [Option<i64>; 3]) -> Row {
    (ms, message, of.to_owned(), numbers)
}

fn reason(line: &str) -> Option<Reason> {
    read_line(line.as_bytes()).err()
}

#[test]
fn what_has_no_hash_gets_that_of_the_block_of_its_slot() {
    let log = [
        asked(10, 7, 9, 2),
        fetched(20, 7, 3),
        fetched(21, 9, 4),
        named(30, "Chain extended", 7, 3, FIRST),
        named(31, "Chain extended", 9, 4, SECOND),
        announced(40, 9, 4),
        announced(41, 11, 5),
    ];
    let wanted = [
        row(20, Message::Fetched, "aa", [Some(3), None, None]),
        row(30, Message::Adopted, "aa", [Some(3), None, None]),
        row(10, Message::Requested, "bb", [None, None, Some(2)]),
        row(21, Message::Fetched, "bb", [Some(4), None, None]),
        row(31, Message::Adopted, "bb", [Some(4), None, None]),
        row(40, Message::Announced, "bb", [Some(4), None, None]),
    ];
    assert_eq!(rows(&log), wanted);
}

#[test]
fn lines_that_may_be_about_another_block_of_their_slot_give_no_row() {
    let adopted = |ms, hash| named(ms, "Chain extended", 7, 3, hash);
    let messages = |log: &[String]| rows(log).into_iter().map(|row| (row.0, row.1)).collect::<Vec<_>>();
    let twice = [asked(10, 7, 7, 1), fetched(11, 7, 3), asked(12, 7, 7, 1), fetched(13, 7, 3), adopted(20, FIRST)];
    assert_eq!(messages(&twice), [(20, Message::Adopted)]);
    let thrice = [fetched(11, 7, 3), fetched(12, 7, 3), fetched(13, 7, 3), adopted(20, FIRST)];
    assert_eq!(messages(&thrice), [(20, Message::Adopted)]);
    for other_number in [2, 4] {
        assert_eq!(messages(&[fetched(11, 7, other_number), adopted(20, FIRST)]), [(20, Message::Adopted)]);
    }
    let again = [fetched(11, 7, 3), adopted(20, FIRST), fetched(30, 7, 3), announced(31, 7, 3)];
    assert_eq!(messages(&again), [(11, Message::Fetched), (20, Message::Adopted), (31, Message::Announced)]);
    let two = [adopted(20, FIRST), fetched(25, 7, 3), adopted(30, SECOND), announced(31, 7, 3)];
    assert_eq!(messages(&two), [(20, Message::Adopted), (25, Message::Fetched), (30, Message::Adopted)]);
    assert_eq!(messages(&[fetched(11, 7, 3), asked(12, 7, 7, 1)]), [], "never adopted");
}

#[test]
fn an_own_block_is_adopted_once_with_its_size() {
    let log = [
        line(0, "Dugite Cardano Node starting", r#","version":"1.1.0-alpha""#),
        line(1, "Slot leader check: ELECTED — forging block", r#","slot":7"#),
        forged(10, 7, 3, FIRST),
        named(20, "Chain extended", 7, 3, FIRST),
        named(21, "Announced forged block to peers", 7, 3, FIRST),
        sent(30, 7, FIRST),
        sent(31, 7, FIRST),
        line(40, "Slot leader check: not elected", r#","slot":8"#),
        forged(50, 9, 4, SECOND),
        named(60, "Forged block announced but NO peers are connected", 9, 4, SECOND),
    ];
    let wanted = [
        row(0, Message::Version, "1.1.0-alpha", [None; 3]),
        row(1, Message::Leader, "7", [None; 3]),
        row(10, Message::Forged, "aa", [Some(3), None, None]),
        row(21, Message::Announced, "aa", [Some(3), None, None]),
        row(20, Message::SelfAdopted, "aa", [Some(3), Some(853), None]),
        row(30, Message::Sending, "aa", [None; 3]),
        row(31, Message::Sending, "aa", [None; 3]),
        row(40, Message::NotLeader, "8", [None; 3]),
        row(50, Message::Forged, "bb", [Some(4), None, None]),
        row(60, Message::SelfAdopted, "bb", [Some(4), None, None]),
    ];
    assert_eq!(rows(&log), wanted);
}

#[test]
fn what_is_wrong_with_a_line_is_told() {
    let leader = line(0, "Slot leader check: not elected", r#","slot":7"#);
    assert_eq!(reason(&leader), None);
    assert_eq!(reason(&leader.replace("\"slot\":7", "\"slot\":\"7\"")), Some(Reason::Wrong("slot")));
    assert_eq!(reason(&leader.replace("\"slot\":7", "\"slot\":99999999999")), Some(Reason::OutOfRange("slot")));
    assert_eq!(reason(&leader.replace(",\"slot\":7", "")), Some(Reason::Missing("slot")));
    assert_eq!(reason(&leader.replace("2026-01", "2026-13")), Some(Reason::Wrong("timestamp")));
    assert_eq!(reason(&leader.replace("2026", "1996")), Some(Reason::OutOfRange("timestamp")));
    assert_eq!(reason(&leader.replace("\"slot\":7", "\"slot\":7]")), Some(Reason::NotJson));
    assert_eq!(reason(&leader.replace("timestamp", "when")), Some(Reason::Missing("timestamp")));
    assert_eq!(reason(&leader.replace("fields", "members")), Some(Reason::Missing("fields")));
    assert_eq!(reason(&leader.replace("message", "text")), Some(Reason::Missing("message")));
    assert_eq!(reason("2026-01-01T00:00:00Z INFO dugite_node: Chain extended"), Some(Reason::NotJson));
    for length in 1..leader.len() {
        assert_eq!(reason(&leader[..length]), Some(Reason::Cut), "cut at {length}");
    }
    assert_eq!(reason(&named(0, "Chain extended", 7, 3, "")), Some(Reason::Wrong("hash")));
    assert_eq!(reason(&line(0, "BlockFetch: block decoded", r#","slot":7"#)), Some(Reason::Missing("block_no")));
}

#[test]
fn lines_of_no_interest_are_counted_by_what_they_have_in_common() {
    for (message, name) in [
        ("Peer 10.0.0.2:3001 connected", "Peer"),
        ("KES signature produced", "KES signature produced"),
        ("Chain extended", "Chain extended"),
    ] {
        let line = named(0, message, 7, 3, FIRST);
        assert_eq!(String::from_utf8_lossy(&read_line(line.as_bytes()).unwrap().name), name, "{message}");
    }
}

#[test]
fn what_waits_for_the_rest_of_its_row_stays_within_bounds() {
    let mut joins = Joins::default();
    let mut take = |line: &str| {
        let part = read_line(line.as_bytes()).unwrap().part.unwrap();
        joins.take(&part, 0, |_: &Entry<'_>, _: i64| Ok::<(), ()>(())).unwrap();
    };
    for number in 0..MOST_SLOTS as u32 + 100 {
        take(&fetched(0, number, 3));
        take(&named(0, "Chain extended", number + 1, 3, &format!("{number:064x}")));
    }
    for number in 0..2 * MOST_OWN as u32 {
        take(&forged(0, number, 3, &format!("{number:064x}")));
    }
    assert!(joins.is_within_bounds());
}
