"""Recordings of every age and form are imported; whatever is wrong with one is said with file and row."""

import json
import os
import tracemalloc
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from slotmark.benches.ledger.importing import Recording, import_recordings
from slotmark.benches.ledger.recordings.reading import read_file
from slotmark.benches.ledger.recordings.recorded import Recorded, from_slot
from slotmark.benches.ledger.study import read_study
from slotmark.benches.ledger.tables import BLOCKS
from slotmark.benches.ledger.totals import Totals, totals_of, without_table_read
from slotmark.compare import alone
from slotmark.compare.matching.alike import unlike_machines
from slotmark.errors import ArgumentError, ImportFileError, RunError
from slotmark.history.series import machine_of
from slotmark.run import Run, open_run
from tests.conftest import slotmark
from tests.ledger.recordings import (
    AGE_2023,
    AGE_2024,
    AGE_2026,
    AGES,
    ERA,
    as_json,
    beacon_run,
    concatenated,
    points,
    tab_separated,
    written,
)
from tests.made_up_runs import MACHINE


def imported(folder: Path, *texts: str, subtract: bool = False, extension: str = "csv") -> Run:
    files = [written(folder, f"process-{number}.{extension}", text) for number, text in enumerate(texts, start=1)]
    recording = Recording(target="one", files=files, factors={}, out=folder / "run")
    return import_recordings([recording], subtract_table_read=subtract)[0]


def column(run: Run, name: str) -> list[int | None]:
    return run.table("blocks")[name].to_pylist()


@pytest.mark.parametrize("age", AGES)
@pytest.mark.parametrize("form", [tab_separated, concatenated, beacon_run])
def test_every_age_in_every_form_gives_the_same_figures(tmp_path: Path, age: str, form) -> None:
    recorded = points(with_table_read=age == "2026")
    run = imported(tmp_path, form(recorded, AGES[age]))
    assert open_run(run.path).table("blocks").schema.equals(BLOCKS)
    assert column(run, "slot") == [point["slot"] for point in recorded]
    assert column(run, "total_us") == [point["totalTime"] for point in recorded]
    assert column(run, "block_apply_us") == [point["mut_blockApply"] for point in recorded]
    assert column(run, "transactions") == [point["stats"][0] for point in recorded]
    assert column(run, "script_steps") == [(point["stats"][2:] or [None])[0] for point in recorded]
    assert column(run, "table_read_us") == [point["tableReadTime"] if age == "2026" else None for point in recorded]
    assert column(run, "block_bytes") == [None if age == "2023" else point["blockBytes"] for point in recorded]
    assert column(run, "hash") == [None] * len(recorded)


def test_each_file_is_one_process(tmp_path: Path) -> None:
    texts = [tab_separated(points(seed=seed)) for seed in (1, 2, 3)]
    run = imported(tmp_path, *texts)
    assert column(run, "run") == [1] * 12 + [2] * 12 + [3] * 12
    assert run.table("processes")["file"].to_pylist() == [str(tmp_path / f"process-{n}.csv") for n in (1, 2, 3)]
    assert [len(source.sha256) for source in run.manifest.sources] == [64] * 3


def test_what_the_files_say_about_the_process_is_kept(tmp_path: Path) -> None:
    one = imported(tmp_path / "a", concatenated(points()), extension="json").manifest
    assert (one.target.toolchain, one.target.commit, one.workload["mode"]) == (
        "ghc-9.6",
        "1356d3e9b",
        "full-application",
    )
    run = imported(tmp_path / "b", beacon_run(points(), apply="Reapply"), extension="json")
    assert (run.manifest.target.toolchain, run.manifest.workload["mode"]) == ("haskell96", "reapplication")
    assert run.manifest.workload["chain"] == "fragment-1"
    (process,) = run.table("processes").to_pylist()
    assert (process["backend"], process["peak_bytes"]) == ("V2InMem", 3_000_000_000)
    assert process["host"] not in (None, "bench-1")
    assert "bench-1" not in (run.path / "run.json").read_text(encoding="utf-8")


def test_a_fact_that_is_none_is_left_out_and_half_a_character_replaced(tmp_path: Path) -> None:
    run = json.loads(beacon_run(points()))
    run["processStats"]["statsMaxResidentSetSize"] = True
    run["meta"] |= {"host": "\ud800", "chain": "main\udfff", "apply": {"\ud800": 1}, "memLimit": {"\ud801": "\ud802"}}
    (process,) = imported(tmp_path, json.dumps(run)).table("processes").to_pylist()
    assert (process["peak_bytes"], process["chain"], process["mode"]) == (None, "main\ufffd", "\ufffd")
    hashes = [{**as_json(point, AGE_2026), "hash": "\ud800", "\ud801": 1} for point in points()]
    assert {*column(imported(tmp_path / "b", json.dumps(hashes)), "hash")} == {"\ufffd"}


def test_a_list_of_points_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    recorded = points()
    listed = json.dumps([as_json(point, AGE_2026) for point in recorded])
    assert column(imported(tmp_path / "a", listed), "total_us") == [point["totalTime"] for point in recorded]
    windows = tab_separated(recorded).replace("\n", "\r\n")
    assert column(imported(tmp_path / "b", windows), "total_us") == [point["totalTime"] for point in recorded]


def test_hashes_pair_blocks_where_the_files_have_them(tmp_path: Path) -> None:
    listed = [{**as_json(point, AGE_2026), "blockHash": f"{index:064x}"} for index, point in enumerate(points())]
    assert column(imported(tmp_path / "a", json.dumps(listed)), "hash")[1] == f"{1:064x}"
    other = [{**point, "blockHash": "f" * 64} if index == 4 else point for index, point in enumerate(listed)]
    with pytest.raises(ImportFileError, match=r"process-2.csv, block 5: the block of slot 143 is f+, but 0+4 in"):
        imported(tmp_path / "b", json.dumps(listed), json.dumps(other))


# What is refused: the text, and what the error says.
WHOLE = tab_separated(points())
LINES = WHOLE.splitlines(keepends=True)
JSON = concatenated(points())
ROW = LINES[3].split("\t")


def with_line(number: int, line: str) -> str:
    return "".join([*LINES[: number - 1], line, *LINES[number:]])


BAD = {
    "an empty file": ("", r"\.csv: an empty file"),
    "white space": (" \n\n", r"\.csv: an empty file"),
    "something else": ("Loaded ledger\nstate\n", r"line 1: neither JSON nor a table with 'slot' on top, but 'Loaded ledger'"),
    "bytes": ("\x00\x01\x02\n", r"line 1: neither JSON"),
    "a header alone": (LINES[0], r"\.csv: it has a header and no rows"),
    "commas": (WHOLE.replace("\t", ","), r"line 1: no tab in the header 'slot,slotGap"),
    "no total": (tab_separated(points(), ["slot", "mut"]), r"line 1: there is no column 'totalTime', only slot, mut"),
    "a column twice": (tab_separated(points(), [*AGE_2023, "mut"]), r"line 1: the column 'mut' is there twice"),
    "cut within a number": (WHOLE[:-3], r"line 13: the last row doesn't end with a line end. The file was cut in the middle"),
    "cut within a row": (WHOLE[: WHOLE.rindex("\t", 0, -30)] + "\n", r"line 13: \d+ fields of at least 16. The file was cut"),
    "cut in JSON": (JSON[:-30], r"JSON value 13: not JSON at character \d+. The file was cut in the middle"),
    "cut in a JSON string": (JSON[: JSON.rindex('"') - 1], r"JSON value 13: .*The file was cut in the middle"),
    "cut in a beacon run": (beacon_run(points())[:-300], r"JSON value 1: .*The file was cut in the middle"),
    "damaged JSON": (JSON.replace('{"slot":103', '{"slot":1o3'), r"JSON value 4: not JSON.*The file is damaged"),
    "a short row": (with_line(4, "\t".join(ROW[:8]) + "\n"), r"line 4: 8 fields, expected 16 to 19"),
    "a long row": (with_line(4, "\t".join([*ROW[:-1], "1", "2", "3", "4"]) + "\n"), r"line 4: \d+ fields, expected 16 to 19"),
    "an empty row": (with_line(4, "\n"), r"line 4: 1 field, expected 16 to 19"),
    "a word": (with_line(4, "\t".join([*ROW[:2], "x", *ROW[3:]])), r"line 4: 'x' in column 'totalTime' is no whole number"),
    "a fraction": (with_line(4, "\t".join([*ROW[:2], "1.5", *ROW[3:]])), r"line 4: '1.5' in column 'totalTime' .*microseconds"),
    "a negative time": (with_line(4, "\t".join([*ROW[:2], "-5", *ROW[3:]])), r"line 4: '-5' in column 'totalTime'"),
    "an empty field": (with_line(4, "\t".join([*ROW[:2], "", *ROW[3:]])), r"line 4: '' in column 'totalTime'"),
    "beyond 64 bits": (with_line(4, "\t".join([*ROW[:2], "9" * 20, *ROW[3:]])), r"line 4: a figure of 'totalTime' is beyond"),
    "a slot twice": (with_line(4, LINES[2]), r"line 4: slot 83 was there before, in line 3"),
    "two processes in one file": (WHOLE + "".join(LINES[1:]), r"line 14: slot 63 was there before, in line 2"),
    "slots out of order": ("".join([LINES[0], LINES[2], LINES[1], *LINES[3:]]), r"line 3: slot 63 comes after slot 83"),
    "no blocks in JSON": (concatenated([]), r"\.csv: it holds no blocks"),
    "an empty list": ("[]", r"\.csv: it holds no blocks"),
    "a JSON number as a word": (JSON.replace('"slot":103', '"slot":"103"'), r"block 3: '103' as 'slot' is no whole number"),
    "a JSON fraction": (JSON.replace('"slot":103', '"slot":103.0'), r"block 3: '103.0' as 'slot' is no whole number"),
    "true as a number": (JSON.replace('"slot":103', '"slot":true'), r"block 3: 'True' as 'slot' is no whole number"),
    "a block that lacks a figure": (JSON.replace('"slot":103,"slotGap":20', '"slot":103'), r"block 3: it lacks 'slotGap'"),
    "two metadata objects": (JSON + JSON, r"JSON value 14: a second object about the process"),
    "two beacon runs": (beacon_run(points()) * 2, r"\.csv: 2 runs in one file"),
    "statistics that are none": (JSON.replace('"blockStats":["2"', '"blockStats":["x"'), r"block \d+: .* as 'blockStats'"),
    "thousands of digits": (with_line(4, "\t".join([*ROW[:2], "9" * 5_000, *ROW[3:]])), r"line 4: a figure of 'totalTime' is beyond 64 bits"),
    "thousands of digits of an era": (with_line(4, "\t".join([*ROW[:-1], "9" * 5_000 + "\n"])), r"line 4: a figure of '\.\.\.era-sp"),
    "thousands of digits in JSON": (JSON.replace('"slot":103', '"slot":' + "9" * 5_000), r"JSON value 4: a figure of thousands of digits"),
    "thousands of digits in statistics": (JSON.replace('"blockStats":["2"', '"blockStats":["' + "9" * 5_000 + '"'), r"block \d+: .* as 'blockStats'"),
    "nested JSON": (JSON.replace('"slot":103', '"slot":' + "[" * 20_000 + "]" * 20_000), r"\.csv: values inside of values"),
    "nested objects": ('{"meta":' * 100_000, r"\.csv: values inside of values"),
    "a nested block's figure": (JSON.replace('"slot":103', '"slot":' + "[" * 950 + "]" * 950), r"\.csv"),
    "a process of 2^70 bytes": (beacon_run(points()).replace('"statsMaxResidentSetSize":', '"statsMaxResidentSetSize":1180591620717411303424,"x":'), r"\.csv: 1180591620717411303424 as 'statsMaxResidentSetSize'"),
    "data that is no list": ('{"meta":{},"data":3}', r"\.csv: 'data' is no list of blocks"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_file_is_refused_with_file_and_row_in_one_line(tmp_path: Path, kind: str) -> None:
    text, message = BAD[kind]
    with pytest.raises(ImportFileError, match=message) as raised:
        imported(tmp_path, text)
    assert "\n" not in str(raised.value)
    assert str(raised.value).startswith(str(tmp_path / "process-1.csv"))
    assert not list(tmp_path.glob("*run*"))


def test_a_file_of_line_ends_takes_no_more_memory_than_itself(tmp_path: Path) -> None:
    file = tmp_path / "lines.csv"
    file.write_text(LINES[0] + "\n" * (2 << 20))
    tracemalloc.start()
    try:
        with pytest.raises(ImportFileError, match=r"line 2: 1 field, expected 16 to 19"):
            read_file(file)
        assert tracemalloc.get_traced_memory()[1] < 10 * file.stat().st_size
    finally:
        tracemalloc.stop()


def test_other_blocks_in_another_process_are_refused(tmp_path: Path) -> None:
    whole, shorter = tab_separated(points(12)), tab_separated(points(11))
    with pytest.raises(ImportFileError, match=r"process-2.csv, line 12: other blocks than in .*: slot 283 is only in"):
        imported(tmp_path / "a", whole, shorter)
    moved = points()
    moved[5]["slot"] += 1
    with pytest.raises(ImportFileError, match=r"process-2.csv, line 7: .*slot 163 is only in .*; slot 164 is only in"):
        imported(tmp_path / "b", whole, tab_separated(moved))


def test_totals_with_and_without_the_table_read_are_told_apart(tmp_path: Path) -> None:
    def totals(text: str, name: str) -> str:
        return totals_of(read_file(written(tmp_path, name, text)).recorded)

    assert totals(tab_separated(points()), "a") is Totals.with_table_read
    assert totals(tab_separated(points(with_table_read=False), AGE_2024), "b") is Totals.operations
    # The two days when the column was there already and the total didn't hold it.
    assert totals(tab_separated(points(with_table_read=False)), "c") is Totals.operations


def test_a_total_without_its_table_read_is_known_as_that_whatever_its_other_parts_leave_open(tmp_path: Path) -> None:
    """Time between the parts that is longer than the table read hides whether that was subtracted; a table read of 0 is in no total."""
    old = points(40, seed=2, with_table_read=False)
    loose = [{**point, "totalTime": point["totalTime"] + 800, "mut": point["mut"] + 800} for point in points(40)]
    none = [{**point, "tableReadTime": 0, "mut_tableRead": 0} for point in points(40, seed=3, with_table_read=False)]
    run = imported(tmp_path / "a", tab_separated(old), tab_separated(loose), tab_separated(none), subtract=True)
    assert run.manifest.workload["totals"] == "the five operations"
    run = imported(tmp_path / "b", tab_separated(old), tab_separated(none))
    assert run.manifest.workload["totals"] == "the five operations"


def _recorded(**columns: list[int]) -> Recorded:
    held = {name: np.array(values) for name, values in columns.items()}
    return Recorded(path="a.csv", format="", place="line", first=2, columns=held)


def test_what_a_total_holds_is_told_by_its_parts_and_taken_out_of_each_figure() -> None:
    columns = {"slot": [20, 40], "total_us": [110, 26], "mut_us": [100, 24], "gc_us": [10, 2]}
    read = {"table_read_us": [25, 28], "mut_table_read_us": [20, 25], "block_apply_us": [80, 0]}
    # 80 + 20 us are as much as a mutator time of 100 us, and may be in it; 1 us more can't be.
    whole = _recorded(**columns | {"mut_us": [100, 25]}, **read)
    assert totals_of(whole) == Totals.with_table_read
    assert totals_of(_recorded(**columns | {"mut_us": [99, 25]}, **read)) == Totals.operations
    # Figures are cut to whole microseconds one by one: 26 - 28 is nothing.
    left = without_table_read(whole).columns
    assert {name: left[name].tolist() for name in columns} == {
        "slot": [20, 40],
        "total_us": [85, 0],
        "mut_us": [80, 0],
        "gc_us": [5, 0],
    }
    with pytest.raises(ImportFileError, match="line 3: its table read, 28 us, is longer than 'total_us', 25 us"):
        without_table_read(_recorded(**columns | {"mut_us": [100, 25], "total_us": [110, 25]}, **read))


def test_blocks_before_a_slot_are_left_out_but_not_all() -> None:
    recorded = _recorded(slot=[20, 40, 60], total_us=[1, 2, 3])
    for slot, left in ((20, [20, 40, 60]), (21, [40, 60]), (40, [40, 60]), (60, [60]), (61, [20, 40, 60])):
        assert from_slot(recorded, slot).columns["slot"].tolist() == left, slot
    assert from_slot(recorded, 40).row(0) == "a.csv, line 3"


def test_totals_from_before_and_after_the_table_read_need_subtracting(tmp_path: Path) -> None:
    old, new = tab_separated(points(with_table_read=False), AGE_2024), tab_separated(points())
    with pytest.raises(
        ImportFileError, match=r"process-2.csv, line 2: its totals hold .*table read.*--subtract-table-read"
    ):
        imported(tmp_path / "a", old, new)
    with pytest.raises(ImportFileError, match=r"process-2.csv, line 2: its totals hold only .*--subtract-table-read"):
        imported(tmp_path / "b", new, old)
    run = imported(tmp_path / "c", old, new, subtract=True)
    assert column(run, "total_us")[12:] == column(run, "total_us")[:12]
    assert column(run, "mut_us")[12:] == column(run, "mut_us")[:12]
    assert run.manifest.workload["totals"] == Totals.operations
    longer = points()
    longer[2]["tableReadTime"] = 10_000_000
    with pytest.raises(ImportFileError, match=r"process-1.csv, line 4: its table read, 10000000 us, is longer than"):
        imported(tmp_path / "d", tab_separated(longer), subtract=True)


@pytest.mark.parametrize("again", [WHOLE, WHOLE.replace("\n", "\r\n"), JSON])
def test_a_process_that_is_there_twice_is_refused_in_whatever_format(again: str, tmp_path: Path) -> None:
    with pytest.raises(ImportFileError, match=r"the total of every block is the same as in .* one process"):
        imported(tmp_path, WHOLE, again)


def test_warnings_about_files_are_kept(tmp_path: Path) -> None:
    def kinds(run: Run) -> set[str]:
        return {warning.kind for warning in run.manifest.warnings}

    assert kinds(imported(tmp_path / "a", WHOLE)) == {"one_process", "machine_unknown"}
    odd = points()
    odd[3]["gc"] += 50
    named = tab_separated(odd).replace("slotGap", "novelty")
    assert kinds(imported(tmp_path / "c", named)) == {
        "one_process",
        "machine_unknown",
        "unknown_columns",
        "totals_at_odds",
    }
    two = [beacon_run(points(), host="a"), beacon_run(points(seed=2), host="b")]
    assert kinds(imported(tmp_path / "d", *two)) == {"machine_unknown", "processes_differ"}


STUDY = """
name = "two-builds"
interleaved = true
[machine]
cpu = "AMD Ryzen 7 2700X"
cores = 16
[[target]]
name = "base"
files = ["base-*.csv"]
factors = { ghc = 9.6, branch = "baseline" }
[[target]]
name = "split"
files = ["split-1.csv", "split-2.csv"]
factors = { ghc = 9.6, branch = "split" }
"""


def study(folder: Path, text: str = STUDY) -> Path:
    for place, name in enumerate(["base-1", "base-2", "split-1", "split-2"]):
        written(folder, f"{name}.csv", tab_separated(points(seed=place)))
    written(folder, "study.toml", text)
    return folder


def test_a_study_is_imported_whole(tmp_path: Path) -> None:
    done = slotmark("ledger", "import", study(tmp_path / "study"), "-o", tmp_path / "runs")
    assert done.returncode == 0, done.stderr
    base, split = (open_run(tmp_path / "runs" / name) for name in ("base", "split"))
    assert base.manifest.parameters["target factors"] == {"ghc": "9.6", "branch": "baseline"}
    assert base.manifest.session == split.manifest.session == "two-builds"
    assert base.manifest.workload == split.manifest.workload
    assert split.manifest.machine is not None
    assert (split.manifest.machine.cpu, split.manifest.machine.cores) == ("AMD Ryzen 7 2700X", 16)
    assert split.manifest.warnings == []
    assert split.manifest.machine.kind == {"processor": "AMD Ryzen 7 2700X", "cores": "16 cores"}
    assert [Path(source.path).name for source in base.manifest.sources] == ["base-1.csv", "base-2.csv"]


STUDIES = {
    "no name": ("[[target]]\nname='a'\nfiles=['base-*.csv']", r"study.toml: .*`name`"),
    "not TOML": ("name = ", r"study.toml: not TOML"),
    "an unknown key": (STUDY + "colour = 1\n", r"study.toml: .*colour"),
    "a file that isn't there": (STUDY.replace("base-*", "bass-*"), r"'bass-\*.csv' names no file in its folder"),
    "a name twice": (STUDY.replace('"split"\nfiles', '"base"\nfiles'), r"two targets are called 'base'"),
    "no targets": ('name = "a"\ntarget = []', r"it has no \[\[target\]\]"),
    "a name that is a path": (STUDY.replace('"base"\n', '"../base"\n'), r"'../base' can't be the name"),
}


@pytest.mark.parametrize("kind", STUDIES)
def test_a_bad_study_is_refused(tmp_path: Path, kind: str) -> None:
    text, message = STUDIES[kind]
    with pytest.raises(ImportFileError, match=message):
        read_study(study(tmp_path, text), tmp_path / "runs")


def test_a_machine_of_which_nothing_is_known_is_not_recorded(tmp_path: Path) -> None:
    unknown = imported(tmp_path, WHOLE)
    assert machine_of(unknown.manifest) == "not recorded"
    side = alone(unknown).baseline
    assert unlike_machines([side, side]) == []
    known = msgspec.structs.replace(side, manifest=msgspec.structs.replace(unknown.manifest, machine=MACHINE))
    assert unlike_machines([side, known])[0] == "processor (unknown, Test CPU @ 3.00GHz)"


def test_a_study_is_imported_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    folder = study(tmp_path / "study")
    written(folder, "split-2.csv", WHOLE[:-4])
    done = slotmark("ledger", "import", folder, "-o", tmp_path / "runs")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "split-2.csv, line 13: the last row doesn't end with a line end" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_factors_that_differ_in_name_are_refused(tmp_path: Path) -> None:
    uneven = STUDY.replace('factors = { ghc = 9.6, branch = "split" }', "factors = { ghc = 9.6 }")
    found = read_study(study(tmp_path, uneven), tmp_path / "runs")
    with pytest.raises(ArgumentError, match="split has the factors ghc, base has ghc, branch"):
        import_recordings(found.recordings)


def test_the_command_imports_one_target(tmp_path: Path) -> None:
    file = written(tmp_path, "base.csv", WHOLE)
    done = slotmark("ledger", "import", file, "--target", "9.6-baseline", "--factor", "ghc=9.6", "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "1 process, 12 blocks, slots 63 to 283" in done.stdout
    assert "9.6-baseline: Recorded by one process" in done.stderr
    assert open_run(tmp_path / "run").manifest.target.name == "9.6-baseline"
    again = slotmark("ledger", "import", file, "-o", tmp_path / "run")
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    for wrong in ("ghc", "ghc=", "=9.6"):
        done = slotmark("ledger", "import", file, "--factor", wrong, "-o", tmp_path / "other")
        assert (done.returncode, "expected NAME=LEVEL" in done.stderr) == (2, True)
    gone = slotmark("ledger", "import", tmp_path / "gone.csv", "-o", tmp_path / "other")
    assert (gone.returncode, "gone.csv: can't be read (No such file or directory)" in gone.stderr) == (2, True)


def test_files_without_a_time_were_recorded_when_they_were_written_and_give_the_same_run_again(tmp_path: Path) -> None:
    files = [written(tmp_path, f"{number}.csv", tab_separated(points(seed=number))) for number in (1, 2)]
    for file, at in zip(files, (1_780_000_060, 1_780_000_000), strict=True):
        os.utime(file, (at, at))
    recordings = [Recording(target="one", files=files, factors={}, out=tmp_path / name) for name in ("run", "again")]
    found, again = (import_recordings([recording])[0] for recording in recordings)
    assert (found.manifest.started, found.manifest.ended) == ("2026-05-28T20:26:40+00:00", "2026-05-28T20:27:40+00:00")
    assert (found.path / "run.json").read_bytes() == (again.path / "run.json").read_bytes()


def test_dates_are_in_the_order_of_times_whatever_their_zones(tmp_path: Path) -> None:
    dates = ("2026-08-22T12:00:00+02:00", "2026-08-22T10:30:00Z", "yesterday")
    run = imported(tmp_path, *(beacon_run(points(seed=n), date=at) for n, at in enumerate(dates)), extension="json")
    assert (run.manifest.started, run.manifest.ended) == dates[:2]
    alone = imported(tmp_path / "alone", beacon_run(points(), date="yesterday"), extension="json")
    assert "yesterday" not in alone.manifest.started


def test_a_run_that_is_there_is_never_overwritten(tmp_path: Path) -> None:
    imported(tmp_path, WHOLE)
    with pytest.raises(RunError, match="never overwritten"):
        imported(tmp_path, WHOLE)


def test_the_table_is_in_the_order_of_run_and_slot(tmp_path: Path) -> None:
    table = imported(tmp_path, WHOLE, tab_separated(points(seed=9))).table("blocks")
    assert table.sort_by([("run", "ascending"), ("slot", "ascending")]).equals(table)
    assert isinstance(table, pa.Table)
    assert ERA not in table.column_names
    assert AGE_2023[0] in table.column_names


def test_a_warm_up_is_named_with_where_it_ends_and_stays_in_the_figures(tmp_path: Path) -> None:
    files = []
    for number in range(3):
        recorded = points(200, seed=number)
        for place, point in enumerate(recorded):
            cost = round((2_000 + point["blockBytes"]) * (2 if place < 40 else 1) * (1 + 0.001 * (point["mut"] % 20)))
            point.update(totalTime=cost, mut=cost, gc=0)
        files.append(written(tmp_path, f"{number}.csv", tab_separated(recorded)))
    out = tmp_path / "run"
    made = slotmark("ledger", "import", *files, "--target", "base", "-o", out)
    assert made.returncode == 0, made.stderr
    run = open_run(out)
    (warning,) = [one for one in run.manifest.warnings if one.kind == "warmed_up"]
    assert warning.text.startswith(f"The first 40 blocks, up to slot {63 + 20 * 39}, cost ")
    assert "in 3 of 3 processes" in warning.text
    assert run.table("blocks").num_rows == 600
    shown = slotmark("show", out)
    assert "The first 40 blocks" in shown.stdout
