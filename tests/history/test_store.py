"""The store: what is in it, what is made of it, who writes to it at once, and what it refuses."""

import datetime
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest

from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.simulate import load_profile
from slotmark.errors import ArgumentError, SlotmarkError, StoreError
from slotmark.history import Labels, Store, history_of, index, make_store, open_store
from slotmark.history.decisions import Decisions
from slotmark.history.earlier import runs_like
from slotmark.history.store import digest_of
from slotmark.metrics import catalogue, samples
from slotmark.places import Url
from slotmark.run import Run, check_run, open_run
from tests.conftest import bytes_of, remarks, slotmark
from tests.history.made import METRIC, made
from tests.made_up_runs import MACHINE
from tests.s3 import BUCKET, S3

ADD = [sys.executable, "-m", "slotmark", "store", "add"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Six runs."""
    folder = tmp_path_factory.mktemp("runs")
    return [made(folder, day, 1000.0 + day) for day in range(6)]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, runs: list[Run]) -> Path:
    """A store with them, that tests only read or copy."""
    place = tmp_path_factory.mktemp("filled") / "store"
    store = make_store(place)
    for number, run in enumerate(runs):
        store.add([run], Labels(version=f"1.{number}", ref=f"abc{number}", branch="main"))
    store.keep_index()
    return place


@pytest.fixture
def store(filled: Path, tmp_path: Path) -> Store:
    """A copy of it."""
    return open_store(Path(shutil.copytree(filled, tmp_path / "store")))


def index_file(store: Store) -> Path:
    assert isinstance(store.place, Path)
    (file,) = (store.place / "index").iterdir()
    return file


def refuses(*arguments: str | Path, words: tuple[str, ...]) -> None:
    """Checks that a command ends with one line that has some words."""
    ended = slotmark(*arguments)
    assert ended.returncode == 2, ended.stdout
    assert len(remarks(ended.stderr)) == 1, ended.stderr
    for word in words:
        assert word in ended.stderr


def test_a_run_is_whole_in_the_store_and_its_estimate_is_that_of_its_samples(filled: Path, runs: list[Run]) -> None:
    store = open_store(filled)
    assert len(store.runs()) == 6
    for digest in store.runs():
        assert check_run(filled / "runs" / digest) == len(runs[0].manifest.parts)
    rows = {row["version"]: row for row in store.table().to_pylist()}
    row = rows["1.3"]
    assert (row["ref"], row["branch"], row["bench"], row["target"]) == ("abc3", "main", "chainsync", "pallas")
    (estimate,) = (one for one in row["estimates"] if one["metric"] == METRIC)
    values = samples(runs[3], METRIC).values("decode, sequential")
    assert (estimate["unit"], estimate["samples"]) == ("blocks/s", 6)
    assert estimate["estimate"] == pytest.approx(np.median(values))
    assert min(values) <= estimate["low"] < estimate["estimate"] < estimate["high"] <= max(values)


def test_the_index_is_rebuilt_with_the_same_bytes_whatever_became_of_it(store: Store) -> None:
    file = index_file(store)
    store.write_index()
    whole = file.read_bytes()
    table = store.table()
    for damage in (b"", whole[: len(whole) // 2], b"PAR1" + b"\0" * 100, None):
        file.unlink() if damage is None else file.write_bytes(damage)
        assert store.table().equals(table)
    store.write_index(from_files=True)
    assert file.read_bytes() == whole
    shutil.rmtree(Path(str(store.place)) / "estimates")
    assert store.recompute() == 6
    assert file.read_bytes() == whole


def test_an_index_with_any_bit_flipped_is_made_anew(store: Store) -> None:
    file = index_file(store)
    store.write_index()
    whole = file.read_bytes()
    table = store.table()
    assert index.decoded(whole) is not None
    damaged = bytearray(whole)
    for bit in np.random.default_rng(11).choice(8 * len(whole), 3_000, replace=False).tolist():
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        assert index.decoded(bytes(damaged)) is None, bit
    file.write_bytes(damaged)
    assert store.table().equals(table)
    pq.write_table(table, file)  # one without a digest, as slotmark wrote it once
    assert index.decoded(file.read_bytes()) is None


def test_an_index_that_is_older_than_the_runs_lacks_none_of_them(store: Store, tmp_path: Path) -> None:
    before = index_file(store).read_bytes()
    for day in range(10, 12):
        store.add([made(tmp_path, day, 1000.0)], Labels())
    assert index_file(store).read_bytes() == before
    assert len(store.table()) == 8
    removed = store.runs()[0]
    (Path(str(store.place)) / "entries" / f"{removed}.json").unlink()
    assert removed not in store.table()["run"].to_pylist()
    store.keep_index()
    assert index_file(store).read_bytes() != before


def test_a_run_counts_once_and_keeps_its_names(store: Store, runs: list[Run], tmp_path: Path) -> None:
    copied = Path(shutil.copytree(runs[0].path, tmp_path / "of-another-name"))
    again = slotmark("store", "add", copied, "--to", str(store.place), "--version", "1.0")
    assert again.returncode == 0, again.stderr
    assert "(already there)" in again.stdout
    refuses(
        "store", "add", copied, "--to", str(store.place), "--version", "2.0", words=("already in", "--version '1.0'")
    )
    assert len(store.runs()) == 6


def test_two_processes_at_once_and_one_that_is_killed_lose_nothing(runs: list[Run], tmp_path: Path) -> None:
    place = tmp_path / "new"
    every = [str(run.path) for run in runs]
    both = [subprocess.Popen([*ADD, *of, "--to", str(place)]) for of in (every[:4], [*reversed(every[2:])])]
    assert [one.wait(timeout=240) for one in both] == [0, 0]
    store = open_store(place)
    assert len(store.runs()) == 6
    killed = subprocess.Popen([*ADD, *every, "--to", str(tmp_path / "killed")], start_new_session=True)
    entries = tmp_path / "killed" / "entries"
    while not entries.is_dir() or not any(entries.glob("*.json")):
        assert killed.poll() is None
        time.sleep(0.005)
    killed.send_signal(signal.SIGKILL)
    killed.wait(timeout=60)
    after = open_store(tmp_path / "killed")
    assert 1 <= len(after.table()) <= 6
    assert after.table()["run"].to_pylist() == after.runs()
    again = slotmark("store", "add", *every, "--to", tmp_path / "killed")
    assert again.returncode == 0, again.stderr
    assert after.table().drop_columns(["added_ns", "place"]).equals(store.table().drop_columns(["added_ns", "place"]))


def test_a_store_in_a_bucket_has_the_same_history(s3: S3, runs: list[Run], store: Store) -> None:
    there = make_store(Url("s3", BUCKET, "team/store"))
    for number, run in enumerate(runs):
        there.add([run], Labels(version=f"1.{number}"))
    there.keep_index()
    there.add([runs[0]], Labels())
    with pytest.raises(StoreError, match="already in s3://runs/team/store"):
        there.add([runs[0]], Labels(version="7"))
    ours, theirs = (history_of(one, METRIC, Decisions()) for one in (store, open_store(there.place)))
    assert [one.levels for one in ours.series] == [one.levels for one in theirs.series]
    check_run(Url("s3", BUCKET, f"team/store/runs/{there.runs()[0]}"))
    there.remove_tables(there.runs()[0])
    assert s3.names(f"team/store/runs/{there.runs()[0]}") == []
    assert len(there.table()) == 6
    with pytest.raises(StoreError, match="no store"):
        open_store(Url("s3", BUCKET, "nothing"))


def test_other_machines_and_other_work_have_histories_of_their_own(store: Store, tmp_path: Path) -> None:
    other = msgspec.structs.replace(MACHINE, kernel="Linux 7.0.1")
    store.add([made(tmp_path, 20, 500.0, machine=other)], Labels(version="2.0"))
    store.add([made(tmp_path, 21, 500.0, blocks=20_000)], Labels(version="2.0"))
    store.add([made(tmp_path, 22, 500.0)], Labels(version="2.0", machine="the other rack"))
    same = msgspec.structs.replace(MACHINE, kernel="Linux 6.1.99", hostname_hash="ba9876543210", load=1.0)
    store.add([made(tmp_path, 23, 1000.0, machine=same)], Labels(version="2.1"))
    found = history_of(store, METRIC, Decisions())
    assert sorted(len(one.levels) for one in found.series) == [1, 1, 1, 7]
    assert {one.group.machine for one in found.series} >= {
        "the other rack",
        "Test CPU @ 3.00GHz, 2 cores, 8 GiB, Linux 7, none",
    }


@pytest.mark.parametrize("started", ["2099-01-01T00:00:00Z", "", "yesterday"])
def test_a_run_whose_clock_cant_be_right_is_ordered_by_when_it_was_added(
    store: Store, tmp_path: Path, started: str
) -> None:
    run = made(tmp_path, 30, 1000.0, started=started or " ")
    (added,) = store.add([run], Labels(version="odd"))
    assert added.late
    (row,) = (row for row in store.table().to_pylist() if row["version"] == "odd")
    assert row["at_ns"] == row["added_ns"]
    now = datetime.datetime.now(datetime.UTC).timestamp()
    assert abs(row["at_ns"] / 1e9 - now) < 600


def test_names_are_data_and_are_shown_as_they_are(tmp_path: Path) -> None:
    place = tmp_path / "named"
    names = [
        "feature/x",
        'it\'s "quoted"',
        "🚀",
        "<script>alert(1)</script>",
        "../../etc/passwd",
        "[bold red]x[/]",
        "a|b",
    ]
    store = make_store(place)
    for day, name in enumerate(names):
        store.add([made(tmp_path, day, 1000.0)], Labels(version=name, branch=name, ref=name))
    assert sorted(path.name for path in place.iterdir()) == ["entries", "estimates", "runs", "store.json"]
    shown = slotmark(
        "history", METRIC, "--store", place, env={"COLUMNS": "180", "PATH": "", "PYTHONIOENCODING": "utf-8"}
    )
    assert shown.returncode == 0, shown.stderr
    for name in names:
        assert name in shown.stdout
    for wrong in ("a\nb", " x", "x" * 201, "a\x1b[31mb"):
        with pytest.raises(ArgumentError, match="--branch"):
            Labels(branch=wrong)


def test_what_is_no_store_or_a_newer_one_is_refused_in_a_line(store: Store, runs: list[Run], tmp_path: Path) -> None:
    assert isinstance(store.place, Path)
    refuses("history", METRIC, "--store", tmp_path / "nothing", words=("no store", "slotmark store add RUN --to"))
    refuses("store", "add", runs[0].path, "--to", runs[1].path, words=("not empty",))
    (tmp_path / "file").write_text("no folder")
    refuses(
        "store", "add", runs[0].path, "--to", tmp_path / "file", words=("no store, and not empty", "or a new folder")
    )
    refuses(
        "store", "add", runs[0].path, "--to", tmp_path / "file" / "x", words=("can't be written", "Name another place")
    )
    refuses(
        "history",
        METRIC,
        "--store",
        runs[0].path,
        words=("a run and no store", "Name a store; slotmark store add RUN --to STORE"),
    )
    refuses("history", METRIC, "--store", tmp_path / "file", words=("file: no store", "Name a store; slotmark"))
    refuses("store", "add", tmp_path / "no-run", "--to", tmp_path / "x", words=("no such run folder",))
    refuses("history", "blocks_per_ss", "--store", store.place, words=("Did you mean 'blocks_per_s'?",))
    refuses("history", "--store", store.place, words=("name one METRIC",))
    refuses("history", "--changes", "--since", "soon", "--store", store.place, words=("--since 'soon'", "30d"))
    for content, words in (
        (b'{"schema":2,"slotmark":"9"}', "newer slotmark"),
        (b'{"schema":1,"slotmark":"../../x"}', "is no version"),
        (b"{", "damaged"),
        (b'{"schema":1}', "damaged"),
    ):
        (store.place / "store.json").write_bytes(content)
        with pytest.raises(StoreError, match=words):
            open_store(store.place)
    (store.place / "store.json").write_bytes(b'{"schema":1,"slotmark":"0.0.9"}')
    other = open_store(store.place)
    with pytest.raises(StoreError, match=r"computed by slotmark 0\.0\.9, this is .* recompute"):
        other.add([runs[0]], Labels())
    with pytest.raises(StoreError, match=r"estimates/0\.0\.9/.* gone\. Run `slotmark store recompute"):
        other.table()
    done = slotmark("store", "recompute", "--store", store.place)
    assert done.returncode == 0, done.stderr
    assert open_store(store.place).slotmark != "0.0.9"


def test_a_damaged_file_of_a_run_is_named(store: Store) -> None:
    assert isinstance(store.place, Path)
    index_file(store).unlink()
    entry = store.place / "entries" / f"{store.runs()[0]}.json"
    whole = entry.read_bytes()
    for content in (b"", whole[:30], whole.replace(b'"schema":1', b'"schema":7'), b"[" * 100_000):
        entry.write_bytes(content)
        with pytest.raises(StoreError, match=entry.name):
            store.table()
    entry.write_bytes(whole)
    (store.place / "entries" / "notes.txt").write_text("x")
    (store.place / "entries" / ".partial.json").write_text("x")
    assert len(store.table()) == 6


def test_estimates_in_another_unit_are_refused(store: Store) -> None:
    assert isinstance(store.place, Path)
    index_file(store).unlink()
    for file in (store.place / "estimates" / store.slotmark).iterdir():
        file.write_bytes(file.read_bytes().replace(b'"unit":"blocks/s"', b'"unit":"blocks/h"'))
    with pytest.raises(StoreError, match=r"'blocks_per_s' of run .* is in blocks/h, here in blocks/s"):
        history_of(store, METRIC, Decisions())


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"1e999", b"null", b'"1"'])
def test_an_estimate_that_is_no_number_is_refused_with_its_file(store: Store, number: bytes) -> None:
    assert isinstance(store.place, Path)
    index_file(store).unlink()
    (file, *_) = sorted((store.place / "estimates" / store.slotmark).iterdir())
    content = re.sub(rb'"level":[-0-9.e]+', b'"level":' + number, file.read_bytes())
    assert content != file.read_bytes()
    file.write_bytes(content)
    refuses("history", METRIC, "--store", store.place, words=(file.name, "recompute"))


def test_runs_of_several_processes_are_those_of_one(runs: list[Run], tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    for day in range(10, 20):
        made(folder, day, 1000.0 + day)
    alone = make_store(tmp_path / "alone")
    alone.add([open_run(one) for one in sorted(folder.iterdir())], Labels(version="2.0"))
    alone.keep_index()
    done = slotmark("store", "add", folder, "--to", tmp_path / "several", "--version", "2.0")
    assert done.returncode == 0, done.stderr
    several = open_store(tmp_path / "several")
    for name in ("runs", "estimates"):
        assert bytes_of(tmp_path / "alone" / name) == bytes_of(tmp_path / "several" / name)
    times = [[{**row, "added_ns": 0} for row in store.table().to_pylist()] for store in (alone, several)]
    assert times[0] == times[1]
    # Where one of them fails, the line names the run, and those that were added before are whole.
    third = tmp_path / "third"
    assert slotmark("store", "add", folder / "run-15", "--to", third, "--version", "1.0").returncode == 0
    refuses("store", "add", folder, "--to", third, "--version", "2.0", words=("run-15", "with --version '1.0'"))
    assert 0 < len(open_store(third).runs()) < 10
    assert len(open_store(third).table()) == len(open_store(third).runs())


def test_runs_of_other_seeds_are_of_one_series_and_count_each(tmp_path: Path) -> None:
    for seed in ("1", "2"):
        done = slotmark("simulate", "value-only-5", "--slots", "60", "--direct", "--seed", seed, "-o", tmp_path / seed)
        assert done.returncode == 0, done.stderr
    assert slotmark("store", "add", tmp_path / "1", tmp_path / "2", "--to", tmp_path / "store").returncode == 0
    (series,) = history_of(open_store(tmp_path / "store"), "slot_to_announced", Decisions()).series
    assert len(series.levels) == 2
    assert series.levels[0] != series.levels[1]


def test_a_folder_that_cant_be_written_ends_in_a_line_and_leaves_nothing(store: Store, tmp_path: Path) -> None:
    assert isinstance(store.place, Path)
    shutil.rmtree(store.place / "entries")
    (store.place / "entries").write_text("a file in the place of a folder")
    with pytest.raises(SlotmarkError, match="entries"):
        store.add([made(tmp_path, 40, 1000.0)], Labels())


def test_ten_thousand_unknown_metrics_are_no_burden(store: Store) -> None:
    """As of a store that somebody else's slotmark wrote: metrics that the catalogue doesn't have are kept, and not shown."""
    assert isinstance(store.place, Path)
    index_file(store).unlink()
    file = store.place / "estimates" / store.slotmark / f"{store.runs()[0]}.json"
    found = msgspec.json.decode(file.read_bytes())
    found["estimates"] += [{**found["estimates"][0], "metric": f"m{number}"} for number in range(10_000)]
    file.write_bytes(msgspec.json.encode(found))
    (series,) = history_of(store, METRIC, Decisions()).series
    assert len(series.levels) == 6
    assert len(store.table()["estimates"][0]) > 10_000


def test_tables_of_old_runs_are_removed_only_where_that_is_asked_for(store: Store, runs: list[Run]) -> None:
    assert isinstance(store.place, Path)
    folder = store.place / "runs"
    before = store.table()
    arguments = ("store", "prune", "--older", "2026-09-04", "--store", store.place)
    shown = slotmark(*arguments)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines()[-1].startswith("3 runs, ")
    assert "nothing was removed" in shown.stdout
    assert len(list(folder.iterdir())) == 6
    assert slotmark(*arguments, "--remove").returncode == 0
    assert len(list(folder.iterdir())) == 3
    assert store.table().equals(before)
    assert slotmark(*arguments).stdout.startswith("0 runs")
    # Estimates of runs without tables are kept when others are computed anew, and such runs show no spread.
    assert store.recompute() == 6
    assert store.table().equals(before)
    assert len(runs_like(store, [runs[5]]).runs) == 3
    (again,) = store.add([runs[0]], Labels())
    assert not again.new
    # The newest run of a group stays, however old it is.
    assert len(store.old_runs(2**62)) == 2
    refuses("store", "prune", "--older", "long", "--store", store.place, words=("--older 'long'",))


def test_names_are_those_of_the_command_that_came_to_its_end(runs: list[Run], tmp_path: Path) -> None:
    """A command that was killed before it wrote the entry leaves the run and its estimates, which have no names."""
    store = make_store(tmp_path / "store")
    store.add([runs[0]], Labels(version="first", machine="one"))
    store.keep_index()
    (tmp_path / "store" / "entries" / f"{store.runs()[0]}.json").unlink()
    store.add([runs[0]], Labels(version="second", machine="other"))
    (row,) = store.table().to_pylist()
    assert (row["version"], row["machine"]) == ("second", "other")


def test_the_same_command_completes_one_that_was_killed_before_it_wrote_the_index(
    runs: list[Run], tmp_path: Path
) -> None:
    store = make_store(tmp_path / "store")
    store.add(runs[:2], Labels(version="first"))
    store.keep_index()
    taken_out = digest_of(runs[0])
    (tmp_path / "store" / "entries" / f"{taken_out}.json").unlink()
    store.add_one(runs[0], Labels(version="second"), time.time_ns(), 0)  # the index is as it was
    (again,) = store.add(runs[:1], Labels(version="second"))
    assert not again.new
    assert {row["run"]: row["version"] for row in store.table().to_pylist()}[taken_out] == "second"
    content = index_file(store).read_bytes()
    store.add(runs[:1], Labels(version="second"))
    assert index_file(store).read_bytes() == content


def test_a_commit_is_a_version_by_twelve_digits_where_nothing_else_names_one(runs: list[Run], tmp_path: Path) -> None:
    store = make_store(tmp_path / "store")
    store.add(runs[:1], Labels(ref="0123456789abcdef" * 2 + "01234567"))
    (series,) = history_of(store, METRIC, Decisions()).series
    assert [(line.version, line.ref) for line in series.versions] == [
        ("0123456789ab", "0123456789abcdef" * 2 + "01234567")
    ]
    shown = slotmark("history", METRIC, "--store", tmp_path / "store").stdout
    assert " 0123456789ab " in shown and " ref " not in shown


def test_a_run_in_which_a_node_died_is_kept_and_counts_in_no_history(tmp_path: Path) -> None:
    """Its figures are of the nodes that were left: a history named its version as worse."""
    settings = ("hosts=4", "pools=4", "run.slots=120")
    made_up = [
        simulate_direct(
            load_profile("value-only-5", settings), seed, tmp_path / f"run-{seed}", lambda _done, _all: None
        )[0]
        for seed in (1, 2)
    ]
    died = catalogue("cluster").warning("node_died", "node-1", words="it was killed by signal 11")
    changed = msgspec.structs.replace(made_up[1].manifest, warnings=[*made_up[1].manifest.warnings, died])
    (made_up[1].path / "run.json").write_bytes(msgspec.json.encode(changed))
    added = slotmark("store", "add", *(run.path for run in made_up), "--to", tmp_path / "store")
    assert added.returncode == 0, added.stderr
    (line,) = remarks(added.stderr)
    assert line.startswith(f"slotmark: {made_up[1].path}: no history counts it: node-1: The node ended by itself")
    store = open_store(tmp_path / "store")
    for _ in range(2):
        (series,) = history_of(store, "adopted_by_096", Decisions()).series
        assert [version.runs for version in series.versions] == [1]
        store.recompute()
        store.keep_index()
    facts = {row["run"]: {one["name"]: one["value"] for one in row["facts"]} for row in store.table().to_pylist()}
    told = [facts[digest_of(run)].get("not counted", "") for run in made_up]
    assert (told[0], told[1].startswith("node-1: The node ended by itself")) == ("", True)
