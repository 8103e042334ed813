"""The replay engine as a process: what it writes, and what a crash or a full disk leaves."""

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from slotmark.benches.ledger.engine import ROCKSDB, backends, program, refuse_unknown_store
from slotmark.benches.ledger.recordings.reading import read_file
from slotmark.errors import ArgumentError, ImportFileError, TargetError
from tests.conftest import slotmark

SMALL = {"lsm": "88k", "lmdb": "160k", ROCKSDB: "104k"}
"""The stores on disk, with disks on which some flushes find room, and not all."""


@pytest.fixture(scope="module")
def engine() -> Path:
    try:
        return program()
    except TargetError as error:
        pytest.skip(str(error))


@pytest.fixture(params=SMALL)
def on_disk(engine: Path, request: pytest.FixtureRequest) -> str:
    """A store on disk that the engine was built with."""
    try:
        refuse_unknown_store(f"--backend {request.param}", request.param)
    except ArgumentError as error:
        pytest.skip(str(error))
    return request.param


def arguments(engine: Path, chain: Path, folder: Path, backend: str, *more: str) -> list[str]:
    words = [engine, "--chain", chain, "--out", folder / "out.json", "--state", folder / "state", "--backend", backend]
    return [*map(str, words), *more]


def replay(engine: Path, chain: Path, folder: Path, backend: str, *more: str) -> list[dict[str, object]]:
    """The lines that a replay writes."""
    folder.mkdir(exist_ok=True, parents=True)
    done = subprocess.run(arguments(engine, chain, folder, backend, *more), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in (folder / "out.json").read_text().splitlines()]


def test_all_stores_do_the_same_work_and_end_with_the_same_set(engine: Path, small_chain: Path, tmp_path: Path) -> None:
    info = json.loads(slotmark("chain", "info", small_chain, "--json").stdout)
    seen = {}
    for backend in backends():
        process, *blocks, end = replay(engine, small_chain, tmp_path / backend, backend)
        phases = ["read", "decode", "resolve", "apply", *(["flush"] if backend != "memory" else [])]
        assert process["phases"] == phases
        assert end["blocks"] == len(blocks) == 600
        for block in blocks:
            assert sum(int(str(block[f"{phase}_ns"])) for phase in phases) == block["total_ns"]
            assert "header_check_ns" not in block
        counts = [{name: block[name] for name in block if not name.endswith("_ns")} for block in blocks]
        seen[backend] = counts, end["digest"], end["entries"]
        assert sum(int(str(block["block_bytes"])) for block in blocks) == info["bytes"]
        assert (end["disk_bytes"] is None) == (backend == "memory")
    assert seen["memory"] == seen["lsm"] == seen["lmdb"]


def test_the_real_chain_is_replayed_with_its_headers_checked_and_no_input_missing(
    engine: Path, preview: Path, shared: Path, tmp_path: Path
) -> None:
    genesis = shared / "data" / "preview-genesis" / "shelley-genesis.json"
    process, *blocks, end = replay(engine, preview, tmp_path, "memory", "--genesis", str(genesis), "--blocks", "20000")
    assert process["genesis_entries"] == 8
    assert sum(int(str(block["missing"])) for block in blocks) == 0
    assert all(int(str(block["header_check_ns"])) > 10_000 for block in blocks), "no proof takes so little"
    made = sum(int(str(block["outputs"])) - int(str(block["inputs"])) for block in blocks)
    # Transactions that failed phase 2 spend and make something else; there are few.
    assert abs(int(str(end["entries"])) - made - 8) < 200
    # Rewards are followed through boundaries of the real chain: the treasury gets a fifth of them, which is tau.
    boundaries = [int(str(block["tick_ns"])) for block in blocks if block["first_of_epoch"]]
    others = [int(str(block["tick_ns"])) for block in blocks if not block["first_of_epoch"]]
    assert len(boundaries) >= 4
    assert min(boundaries) > sorted(others)[len(others) // 2]
    assert int(str(end["treasury"])) > 0


def test_a_chain_that_breaks_a_rule_is_refused_in_one_line(
    engine: Path, small_chain: Path, shared: Path, tmp_path: Path
) -> None:
    genesis = shared / "data" / "preview-genesis" / "shelley-genesis.json"
    done = subprocess.run(
        arguments(engine, small_chain, tmp_path, "memory", "--genesis", str(genesis)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "breaks the rule" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    with pytest.raises(ImportFileError):
        read_file(tmp_path / "out.json")


@pytest.mark.parametrize("kills", [15, pytest.param(200, marks=pytest.mark.slow)])
def test_a_killed_replay_goes_on_from_the_last_flush(
    on_disk: str, kills: int, engine: Path, small_chain: Path, tmp_path: Path
) -> None:
    digest = replay(engine, small_chain, tmp_path / "whole", "memory")[-1]["digest"]
    draws = random.Random(kills)
    begin = time.monotonic()
    replay(engine, small_chain, tmp_path / "timed", on_disk, "--flush-every", "7")
    whole_s = time.monotonic() - begin
    killed = finished = resumed = 0
    while killed < kills or not finished:
        folder = tmp_path / f"state-{finished}"
        folder.mkdir(exist_ok=True)
        with subprocess.Popen(
            arguments(engine, small_chain, folder, on_disk, "--flush-every", "7"), stderr=subprocess.PIPE, text=True
        ) as process:
            if killed < kills:
                time.sleep(draws.random() * whole_s)
                process.send_signal(signal.SIGKILL)
            _, said = process.communicate()
        if process.returncode == -signal.SIGKILL:
            killed += 1
            continue
        assert process.returncode == 0, said
        first, *blocks, end = [json.loads(line) for line in (folder / "out.json").read_text().splitlines()]
        resumed += first["resumed_after"] is not None
        assert end["digest"] == digest
        assert first["resumed_after"] is None or not blocks or blocks[0]["slot"] > first["resumed_after"]
        finished += 1
    assert resumed, "no replay was killed between its first and its last flush"


SMALL_DISK = """
mount -t tmpfs -o size=$1 none "$2" || exit 77
shift 2
"$@" 2>"$SAID"; echo $? >"$CODE"
mount -o remount,size=300m "$STATE" && "$@"
"""


def test_a_full_disk_ends_with_one_line_and_the_replay_can_be_gone_on_with(
    on_disk: str, engine: Path, small_chain: Path, tmp_path: Path
) -> None:
    whole = replay(engine, small_chain, tmp_path / "whole", "memory")[-1]
    state, said, code = tmp_path / "state", tmp_path / "said", tmp_path / "code"
    state.mkdir()
    words = arguments(engine, small_chain, tmp_path, on_disk, "--flush-every", "20")
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", SMALL_DISK, "sh", SMALL[on_disk], str(state), *words],
        env={**os.environ, "SAID": str(said), "CODE": str(code), "STATE": str(state)},
        capture_output=True,
        text=True,
        check=False,
    )
    if not code.exists():
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    first = said.read_text()
    assert code.read_text().strip() == "2", first
    assert len(first.splitlines()) == 1
    assert first.startswith(f"slotmark-replay: {state}: the UTxO set can't be kept here")
    assert "Make room" in first
    assert done.returncode == 0, done.stderr
    process, *_, end = [json.loads(line) for line in (tmp_path / "out.json").read_text().splitlines()]
    assert process["resumed_after"] is not None
    assert end["digest"] == whole["digest"]


def test_a_set_that_found_no_room_while_it_was_made_is_made_anew(
    on_disk: str, engine: Path, small_chain: Path, tmp_path: Path
) -> None:
    """A disk of any few pages ends the replay wherever in the making of the set it is: LMDB's file may lack its second page."""
    state, said, code = tmp_path / "state", tmp_path / "said", tmp_path / "code"
    state.mkdir()
    words = arguments(engine, small_chain, tmp_path, on_disk, "--blocks", "2")
    codes = set()
    for pages in range(1, 16):
        done = subprocess.run(
            ["unshare", "-rm", "sh", "-c", SMALL_DISK, "sh", f"{4 * pages}k", str(state), *words],
            env={**os.environ, "SAID": str(said), "CODE": str(code), "STATE": str(state)},
            capture_output=True,
            text=True,
            check=False,
        )
        if not code.exists():
            pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
        codes.add(code.read_text().strip())
        assert codes <= {"0", "2"}, said.read_text()
        assert done.returncode == 0, f"{pages} pages: {said.read_text()}, then {done.stderr}"
    assert "2" in codes


def test_a_set_of_another_chain_is_not_gone_on_with(engine: Path, small_chain: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    made = slotmark("chain", "synth", "--workload", "value-only", "--blocks", "20", "--seed", "9", "-o", other)
    assert made.returncode == 0, made.stderr
    replay(engine, other, tmp_path / "one", "lsm")
    done = subprocess.run(
        arguments(engine, small_chain, tmp_path / "one", "lsm"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "made over another chain" in done.stderr


def test_what_was_prepared_stands_for_the_genesis_and_is_refused_where_it_is_damaged(
    engine: Path, small_chain: Path, tmp_path: Path
) -> None:
    genesis, prepared = small_chain / "genesis" / "shelley-genesis.json", tmp_path / "prepared"
    words = [engine, "--prepare", "--genesis", genesis, "--out", prepared]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

    def facts(lines: list[dict[str, object]]) -> list[dict[str, object]]:
        """Lines without times and what the process used."""
        kept = ("record", "phases", "genesis_entries", "hash", "missing", "entries", "digest", "accounts", "reserves")
        return [{name: line[name] for name in kept if name in line} for line in lines]

    for backend in backends():
        ways = (("--genesis", str(genesis)), ("--prepared", str(prepared)))
        ours, its = (
            facts(replay(engine, small_chain, tmp_path / f"{backend}{way[0]}", backend, "--blocks", "40", *way))
            for way in ways
        )
        assert ours == its
        assert sum(int(str(line.get("missing", 0))) for line in ours) == 0
        assert {"tick", "header_check", "accounts"} <= set(str(ours[0]["phases"]).split("'"))
        assert int(str(ours[-1]["accounts"])) == 16
        assert int(str(ours[0]["genesis_entries"])) > 0

    whole = prepared.read_bytes()
    for content in (whole[:-1], whole[:50], b"", b"\xff" * 99):
        prepared.write_bytes(content)
        given = ("--prepared", str(prepared))
        refused = subprocess.run(
            arguments(engine, small_chain, tmp_path, "memory", *given), capture_output=True, text=True, check=False
        )
        assert refused.returncode == 2
        (line,) = refused.stderr.splitlines()
        assert line.startswith(f"slotmark-replay: {prepared}: not what --prepare writes (")
