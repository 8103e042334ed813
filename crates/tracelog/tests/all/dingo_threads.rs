//! Dingo's lines are looked at in threads and joined by one: the rows are the same for any number of threads.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;

use slotmark_tracelog::{HostFrom, Ingested, Reading, Source, ingest};

/// A log of several batches. Each block takes three lines, of which other lines stand between.
fn log(path: &Path) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    let mut at = 0;
    let mut line = |msg: &str, members: &str| {
        at += 1;
        let (s, us) = (at / 1_000_000, at % 1_000_000);
        writeln!(
            file,
            r#"{{"time":"2026-01-01T00:00:{s:02}.{us:06}Z","level":"DEBUG","msg":"{msg}","component":"network","connection_id":"10.0.0.1:3001<->10.0.0.2:40000"{members}}}"#
        )
        .unwrap();
    };
    for slot in 0..12_000 {
        line("chainsync: header received", &format!(r#","slot":{slot},"tip_slot":{slot}"#));
        line(&format!("of no interest {slot}"), &format!(r#","padding":"{}""#, "x".repeat(300)));
        let point = format!("{{Slot: {slot}, Hash: {slot:064x}}}");
        line(&format!("calling GetBlockRange(start: {point}, end: {point})"), "");
        line("block returned", "");
        line("batch done", "");
        if slot % 1_000 == 7 {
            line("calling GetBlockRange(start: cut", "");
        }
    }
    write!(file, r#"{{"time":"2026-01-01T00:01:00Z","level":"DEBUG","msg":"batch"#).unwrap();
}

/// The files of all tables.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.display().to_string(), fs::read(&path).unwrap());
        }
    }
    found
}

fn ingested(log: &Path, tables: &Path, threads: usize) -> (Ingested, BTreeMap<String, Vec<u8>>) {
    fs::create_dir(tables).unwrap();
    let sources = vec![Source { host: "n1".into(), path: log.into() }];
    let reading = Reading { tables: tables.into(), threads, host_from: HostFrom::Path, elsewhere: None };
    let done = ingest(&sources, &reading, &|_, _| ControlFlow::Continue(())).unwrap();
    let named = files(tables).into_iter().map(|(path, bytes)| (path[tables.display().to_string().len()..].to_owned(), bytes));
    (done, named.collect())
}

#[test]
fn rows_are_the_same_for_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stdout.log");
    log(&path);
    assert!(fs::metadata(&path).unwrap().len() > 3 * (2 << 20), "several batches");
    let (alone, expected) = ingested(&path, &folder.path().join("1"), 1);
    assert_eq!((alone.lines, alone.rejected), (12_000 * 5 + 12 + 1, 12 + 1));
    assert!(alone.tables.values().sum::<u64>() >= 3 * 12_000, "{:?}", alone.tables);
    for threads in [2, 5] {
        let (done, tables) = ingested(&path, &folder.path().join(threads.to_string()), threads);
        assert_eq!((done.lines, done.rejected), (alone.lines, alone.rejected));
        assert!(tables == expected, "{threads} threads");
    }
}
