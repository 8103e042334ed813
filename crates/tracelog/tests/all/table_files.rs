//! Tables that are written, as Parquet's reader finds them.

use std::fs::File;
use std::path::Path;

use parquet::basic::Repetition;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use slotmark_tracelog::{Column, write_part, write_table};

/// More than a row group has.
const ROWS: u64 = (1 << 20) + 1_000;

fn part(tables: &Path, name: &str, part: usize) -> SerializedFileReader<File> {
    let path = tables.join(name).join(format!("part-{part:05}.parquet"));
    SerializedFileReader::new(File::open(path).expect("a file")).expect("a Parquet file")
}

fn required(file: &SerializedFileReader<File>) -> Vec<bool> {
    let columns = file.metadata().file_metadata().schema_descr().columns();
    columns.iter().map(|column| column.self_type().get_basic_info().repetition() == Repetition::REQUIRED).collect()
}

#[test]
fn each_row_has_its_values_in_all_row_groups() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = |row: u64| (!row.is_multiple_of(3)).then_some(row as i64 - 5);
    let word = |row: u64| (!row.is_multiple_of(7)).then_some(["adopted", "", "grün"][row as usize % 3]);
    let columns = vec![
        Column::optional("whole", (0..ROWS).map(whole)),
        Column::optional_text("word", (0..ROWS).map(word)),
        Column::unsigned("unsigned", (0..ROWS).map(|row| u64::MAX - row)),
        Column::flag("flag", (0..ROWS).map(|row| row.is_multiple_of(5))),
        Column::text("text", (0..ROWS).map(|row| if row < 10 { "first" } else { "later" })),
    ];
    write_part(folder.path(), "table", 3, columns).expect("a table");
    let file = part(folder.path(), "table", 3);
    assert_eq!(file.num_row_groups(), 2);
    assert_eq!(required(&file), [false; 5]);
    let mut rows = 0;
    for (place, row) in (0..).zip(file.get_row_iter(None).expect("rows")) {
        let row = row.expect("a row");
        assert_eq!(row.get_long(0).ok(), whole(place));
        assert_eq!(row.get_string(1).ok().map(String::as_str), word(place));
        assert_eq!(row.get_ulong(2).ok(), Some(u64::MAX - place));
        assert_eq!(row.get_bool(3).ok(), Some(place.is_multiple_of(5)));
        assert_eq!(row.get_string(4).ok().map(String::as_str), Some(if place < 10 { "first" } else { "later" }));
        rows += 1;
    }
    assert_eq!(rows, ROWS);
}

#[test]
fn a_whole_table_has_gaps_only_where_one_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let columns = vec![
        Column::optional("full", [Some(1), Some(2)].into_iter()),
        Column::optional("some", [None, Some(2)].into_iter()),
        Column::whole("whole", [1, 2].into_iter()),
    ];
    write_table(folder.path(), "table", columns).expect("a table");
    assert_eq!(required(&part(folder.path(), "table", 0)), [true, false, true]);
    write_table(folder.path(), "empty", vec![Column::text("host", [].into_iter())]).expect("a table");
    assert_eq!(part(folder.path(), "empty", 0).metadata().file_metadata().num_rows(), 0);
}

#[test]
fn columns_of_different_lengths_are_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let columns = vec![Column::whole("one", [1, 2].into_iter()), Column::optional("other", [None].into_iter())];
    assert!(write_table(folder.path(), "table", columns).is_err());
}

#[test]
fn words_may_be_other_ones_in_each_row_and_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    // Together more than Parquet's writers have in a dictionary.
    let words: Vec<String> = (0..30_000).map(|row| format!("{:0>64}", row * 7 % 30_000)).collect();
    let there = |row: usize| (row % 3 != 1).then(|| words[row].as_str());
    let columns = vec![
        Column::text("each", words.iter().map(String::as_str)),
        Column::optional_text("some", (0..words.len()).map(there)),
        Column::optional_text("none", words.iter().map(|_| None)),
    ];
    write_part(folder.path(), "table", 0, columns).expect("a table");
    let file = part(folder.path(), "table", 0);
    for (place, row) in file.get_row_iter(None).expect("rows").enumerate() {
        let row = row.expect("a row");
        assert_eq!(row.get_string(0).ok(), Some(&words[place]));
        assert_eq!(row.get_string(1).ok().map(String::as_str), there(place));
        assert!(row.get_string(2).is_err());
    }
    let group = file.metadata().row_group(0);
    let of = |column: usize| group.column(column).statistics().expect("statistics");
    assert_eq!(
        (of(0).min_bytes_opt(), of(0).max_bytes_opt()),
        (Some(format!("{:0>64}", 0).as_bytes()), Some(format!("{:0>64}", 29_999).as_bytes()))
    );
    assert_eq!([0, 1, 2].map(|column| of(column).null_count_opt()), [Some(0), Some(10_000), Some(30_000)]);
    assert!(of(2).min_bytes_opt().is_none());
}
