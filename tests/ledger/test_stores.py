"""`slotmark ledger stores`: what it measures, what it refuses, and what it does with a store that gives wrong answers."""

import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from slotmark import open_run
from slotmark.benches.ledger import store_work
from slotmark.benches.ledger.request import StoresRequest
from slotmark.benches.ledger.store_work import OF_A_BATCH, program, read_work
from slotmark.benches.ledger.stores import run, works_of
from slotmark.benches.ledger.tables import BATCHES, STORE_PROCESS
from slotmark.compare import compare
from slotmark.compare.growth import growth
from slotmark.compare.plan import plan
from slotmark.errors import ArgumentError, ComparisonError, PlatformError, RunError, TargetError
from slotmark.measure.limits import Limits, limited
from slotmark.metrics import samples
from slotmark.options import whole_number
from slotmark.run import Run
from tests.conftest import slotmark

BATCH_COUNT = 40
REQUEST = StoresRequest(
    stores=["memory", "lsm", "lmdb"],
    out=Path(),
    entries=20_000,
    batches=BATCH_COUNT,
    rounds=2,
    proof=2_000,
    timeout_s=120.0,
)


@pytest.fixture(scope="module", autouse=True)
def _program() -> None:
    try:
        program()
    except TargetError as error:
        pytest.skip(str(error))


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_work, "DISK_BYTES", 1 << 20)
    monkeypatch.setattr(store_work, "EACH_MS", 20)


def measured(out: Path, **instead: object) -> list[Run]:
    request = msgspec.structs.replace(REQUEST, out=out, **instead)
    runs, failures = run(request, lambda _: None, lambda *_: None)
    assert not failures
    return runs


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Runs of a session through the command."""
    out = tmp_path_factory.mktemp("stores")
    words = ["--store", "memory,lsm,lmdb", "--entries", "20k", "--batches", str(BATCH_COUNT), "--rounds", "2"]
    made = slotmark("ledger", "stores", *words, "--proof", "2k", "-o", out)
    assert made.returncode == 0, made.stderr
    names = [f"{store}-{number}" for number in (1, 2) for store in ("memory", "lsm", "lmdb")]
    assert [line for line in made.stdout.splitlines() if line.startswith(str(out))] == [
        str(out / name) for name in names
    ]
    assert "Compare them: slotmark compare " in made.stderr
    assert sorted(path.name for path in out.iterdir()) == sorted(names)
    return [open_run(out / name) for name in names]


def test_a_run_has_every_batch_and_what_the_process_used(runs: list[Run]) -> None:
    for one in runs:
        batches, process = one.table("batches"), one.table("execution")
        assert batches.schema == BATCHES
        assert process.schema == STORE_PROCESS
        assert batches["batch"].to_pylist() == list(range(1, BATCH_COUNT + 1))
        (used,) = process.to_pylist()
        assert (used["operations"], used["entries"]) == (BATCH_COUNT * OF_A_BATCH, 20_000)
        for row in batches.to_pylist():
            assert row["latency_ns"] == row["lookups_ns"] + row["updates_ns"] > 0
        assert sum(batches["latency_ns"].to_pylist()) <= used["elapsed_ns"]
        assert (used["disk_bytes"] is None) == (one.manifest.target.name == "memory")
        assert "our_stores" in [warning.kind for warning in one.manifest.warnings]
    assert len({one.manifest.id for one in runs}) == len(runs)
    assert {one.manifest.target.version.split(" ")[0] for one in runs} == {"hashbrown", "fjall", "LMDB"}
    for one in runs:  # of a few ms, which the kernel's ticks of 10 ms don't see
        (used,) = one.table("execution").select(["user_us", "system_us", "elapsed_ns"]).to_pylist()
        assert used["user_us"] + used["system_us"] > used["elapsed_ns"] / 1e3 / 1_000


def test_stores_are_compared_round_by_round_and_planned(runs: list[Run]) -> None:
    sides = [[one for one in runs if one.manifest.target.name == name] for name in ("memory", "lsm", "lmdb")]
    found = compare(sides)
    assert "different" not in {warning.kind for warning in found.all_warnings}, "the store is what is compared"
    row = next(row for row in found.rows if row.metric.id == "operations_per_s")
    assert [difference.basis.over for difference in row.differences if difference and difference.basis] == [
        "paired rounds",
        "paired rounds",
    ]
    assert {row.metric.id for row in found.rows} >= {"batch_ms", "worst_batch_ms", "cpu_us_per_operation", "disk_mb"}
    planned = plan(sides[1:])
    assert "operations_per_s" in [one.metric.id for one in planned.shown]
    assert {effort.design for one in planned.shown for effort in one.efforts} >= {"paired rounds"}
    (rate,) = samples(sides[1][0], "operations_per_s").values("").tolist()
    assert rate > 0


def test_the_same_work_in_a_pipeline_gives_the_same_answers_and_other_sizes_show_growth(
    runs: list[Run], tmp_path: Path
) -> None:
    small = measured(tmp_path / "small", entries=11_000, rounds=1, stores=["lsm", "lmdb"])
    both = [one for one in runs if one.manifest.target.name != "memory"] + small
    found = growth(both)
    assert found.sizes == [11_000, 20_000]
    assert {curve.metric.id for curve in found.curves} >= {"operations_per_s", "disk_mb", "worst_batch_ms"}
    for target in ("lsm", "lmdb"):
        (curve,) = (one for one in found.curves if (one.metric.id, one.target) == ("batch_ms", target))
        of_target = [one for one in both if one.manifest.target.name == target]
        for level in curve.levels:
            means = [
                float(samples(one, "batch_ms").values("").mean())
                for one in of_target
                if one.manifest.workload["entries"] == f"{level.size:,}"
            ]
            assert level.processes == len(means), "a process is one run, however many batches it did"
            assert [level.low, level.high] == pytest.approx([min(means), max(means)])
    piped = measured(tmp_path / "piped", pipelined=True, rounds=1)
    with pytest.raises(ComparisonError, match="order of work"):
        compare([[runs[0]], [piped[0]]])


@pytest.mark.parametrize("limit", [200_000_000])
def test_with_a_memory_limit_the_page_cache_is_counted(limit: int, tmp_path: Path) -> None:
    try:
        limited(Limits(memory_bytes=limit), "--memory-limit")
    except PlatformError as error:
        pytest.skip(str(error))
    (one,) = measured(tmp_path / "runs", stores=["lsm"], rounds=1, memory_limit_bytes=limit)
    (used,) = one.table("execution").to_pylist()
    assert 0 < used["page_cache_bytes"] <= limit
    assert "page_cache_free" not in [warning.kind for warning in one.manifest.warnings]
    with pytest.raises(TargetError, match="as by the kernel where --memory-limit is less than it needs"):
        measured(tmp_path / "less", stores=["memory"], rounds=1, memory_limit_bytes=5 << 20, entries=100_000)


def test_a_session_that_was_cut_goes_on_with_the_rounds_that_are_whole(tmp_path: Path) -> None:
    out = tmp_path / "runs"
    request = msgspec.structs.replace(REQUEST, out=out, stores=["memory", "lsm"], rounds=2)

    def cut(done: int, _all: int, _label: str) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(request, lambda _: None, cut)
    before = {path.name: path.stat().st_ino for path in out.iterdir()}
    assert {"memory-1", "lsm-1", "unfinished-session.jsonl"} < before.keys()
    with pytest.raises(ArgumentError, match="--resume: not the session that was cut"):
        run(msgspec.structs.replace(request, resume=True, entries=19_999), lambda _: None, lambda *_: None)
    runs, _ = run(msgspec.structs.replace(request, resume=True), lambda _: None, lambda *_: None)
    assert len(runs) == 4
    after = {path.name: path.stat().st_ino for path in out.iterdir()}
    assert {name: after[name] for name in ("memory-1", "lsm-1")} == {
        name: before[name] for name in ("memory-1", "lsm-1")
    }
    assert len(after) == 4
    with pytest.raises(RunError, match="already"):
        run(request, lambda _: None, lambda *_: None)


def test_a_store_that_gives_a_wrong_answer_is_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = "slotmark-stores: lsm: a wrong answer: after batch 9, a key that was deleted, or never inserted, is there."
    script = tmp_path / "stores"
    script.write_text(
        f'#!/bin/sh\ncase "$*" in *"prove --backend lsm"*) echo "{wrong}" >&2; exit 2;; esac\nexec {program()} "$@"\n'
    )
    script.chmod(0o755)
    monkeypatch.setattr(store_work, "program", lambda: str(script))
    request = msgspec.structs.replace(REQUEST, out=tmp_path / "runs", stores=["lsm", "lmdb"], rounds=1)
    runs, failures = run(request, lambda _: None, lambda *_: None)
    assert [one.manifest.target.name for one in runs] == ["lmdb"]
    assert [(one.case, "is there" in str(one.error)) for one in failures] == [("lsm", True)]
    with pytest.raises(TargetError, match="a wrong answer"):
        run(msgspec.structs.replace(request, out=tmp_path / "alone", stores=["lsm"]), lambda _: None, lambda *_: None)
    assert not (tmp_path / "alone").exists()


@pytest.mark.parametrize(
    ("instead", "why"),
    [
        ({"stores": ["lsn"]}, "no such store"),
        ({"stores": []}, "nothing to measure"),
        ({"stores": ["lsm", "lsm"]}, "a name for each"),
        ({"stores": ["../x=lsm"]}, "a folder's"),
        ({"batches": 79}, "enough for 78"),
        ({"entries": 255, "batches": None}, "enough for 0"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_line(instead: dict[str, object], why: str) -> None:
    with pytest.raises(ArgumentError, match=why) as refused:
        works_of(msgspec.structs.replace(REQUEST, **instead))
    assert "\n" not in str(refused.value)


def test_whole_numbers_have_letters_for_powers_of_a_thousand() -> None:
    assert [whole_number("--entries", text) for text in ("5", "250k", "10M", "1G")] == [5, 250_000, 10**7, 10**9]
    for text in ("", "0", "-1", "1.5M", "10 M", "M", "1kk", "١", "9" * 20, "10m"):
        with pytest.raises(ArgumentError, match="expected a whole number"):
            whole_number("--entries", text)


def test_what_a_process_wrote_is_refused_where_it_is_cut_or_damaged(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = [program(), "work", "--backend", "memory", "--state", str(tmp_path), "--out", str(out)]
    subprocess.run([*words, "--entries", "1000", "--batches", "3"], check=True)
    whole = out.read_bytes()
    assert read_work("a", whole, 1, 3).times.shape == (3, 3)
    lines = whole.splitlines(keepends=True)
    for damaged in (
        b"",
        whole[:40],
        b"".join(lines[:-1]),
        b"".join([*lines[:2], *lines[3:]]),
        whole.replace(b"latency_ns", b"x"),
    ):
        with pytest.raises(TargetError):
            read_work("a", damaged, 1, 3)


@pytest.mark.parametrize("store", ["lsm", "lmdb"])
def test_a_folder_of_something_else_ends_the_work_with_a_line(store: str, tmp_path: Path) -> None:
    work = [program(), "batches", "--backend", store, "--state", str(tmp_path / "state")]
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "set").write_text("of another program")
    done = subprocess.run(work, capture_output=True, text=True, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert done.stderr.startswith(f"slotmark-stores: {tmp_path / 'state'}: the UTxO set can't be opened")


SMALL_DISK = 'mount -t tmpfs -o size=2m none "$1" || exit 77\nshift\nexec "$@"\n'


@pytest.mark.parametrize("store", ["lsm", "lmdb"])
def test_a_full_disk_ends_with_one_line(store: str, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    words = [program(), "work", "--backend", store, "--state", str(state), "--out", os.devnull]
    words += ["--entries", "100000", "--batches", "20"]
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", SMALL_DISK, "sh", str(state), *words],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode in (1, 77):
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert "Make room" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("store", ["lsm", "lmdb"])
def test_ten_million_operations_and_a_hundred_kills(store: str, tmp_path: Path) -> None:
    words = [program(), "prove", "--backend", store, "--state", str(tmp_path), "--operations", "10000000"]
    done = subprocess.run([*words, "--kills", "100"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
