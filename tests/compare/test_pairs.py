"""Runs at a node's tip, written with known times: what both have is paired by block, and the planted ratio is found."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from slotmark import compare
from slotmark.benches.chainsync.tables import ANNOUNCEMENTS, ROLLBACKS
from slotmark.compare.result import Comparison
from slotmark.errors import ComparisonError
from slotmark.run import Run, RunWriter, Target
from tests.conftest import slotmark
from tests.made_up_runs import bare_manifest

Key = tuple[int, str, int]


def run(folder: Path, name: str, latencies: Mapping[Key, int | None], *, session: str = "monday", busy: int = 0) -> Run:
    """A run with these latencies in ns by slot, hash and announcement; the first ``busy`` blocks weren't awaited."""
    rows: list[dict[str, Any]] = [
        {
            "setting": "decode",
            "mode": "decode",
            "slot": slot,
            "hash": hash_,
            "announcement": number,
            "awaited": place >= busy,
            "bytes": 1_000,
            "announced_ns": slot * 10**9,
            "arrived_ns": slot * 10**9,
            "decoded_ns": None if latency is None else slot * 10**9 + latency,
            "latency_ns": latency,
            "held_ns": 5_000,
        }
        for place, ((slot, hash_, number), latency) in enumerate(latencies.items())
    ]
    manifest = bare_manifest(
        f"{session}-{name}",
        "follow",
        Target(name, "1"),
        workload={"network magic": "2", "node": "node at n", "from": "origin"},
        session=session,
        origin="measured",
    )
    with RunWriter(folder / f"{session}-{name}") as writer:
        writer.table("announcements", pa.Table.from_pylist(rows, schema=ANNOUNCEMENTS))
        writer.table("rollbacks", pa.Table.from_pylist([], schema=ROLLBACKS))
        return writer.finish(manifest)


def blocks(count: int, *, factor: float = 1.0, seed: int = 1) -> dict[Key, int]:
    """Times of one block per slot: what a block costs all clients alike, times what is the client's own."""
    draws = np.random.default_rng(3)
    cost = 200_000 * np.exp(draws.normal(0, 0.8, count))
    own = np.exp(np.random.default_rng(seed).normal(0, 0.05, count))
    return {(20 * n, f"{n:064x}", 1): int(factor * cost[n] * own[n]) for n in range(count)}


def difference(comparison: Comparison) -> Any:
    (row,) = (one for one in comparison.rows if one.metric.id == "decoded_us")
    (found,) = row.differences
    assert found is not None
    return found


def test_a_planted_ratio_is_found_over_blocks_that_differ_much_more(tmp_path: Path) -> None:
    ours, theirs = blocks(40, seed=1), blocks(40, factor=1.5, seed=2)
    found = difference(compare(run(tmp_path, "ours", ours), run(tmp_path, "theirs", theirs)))
    assert found.ratio.low < 1.5 < found.ratio.high
    assert found.ratio.high / found.ratio.low < 1.1
    assert (found.verdict, found.conditional, found.paired) == ("worse", True, True)
    assert (found.basis.over, found.basis.counts) == ("blocks", (40, 40))


def test_only_blocks_that_count_for_both_are_paired(tmp_path: Path) -> None:
    ours, theirs = blocks(30), blocks(30, factor=2.0)
    only_ours: dict[Key, int | None] = {**ours, (5, "aa", 1): 10**12, (6, "bb", 1): None}
    compared = compare(run(tmp_path, "ours", only_ours), run(tmp_path, "theirs", theirs, busy=4))
    found = difference(compared)
    assert found.basis.counts == (26, 26)
    assert found.ratio.low == pytest.approx(2, rel=1e-3)
    assert found.ratio.high == pytest.approx(2, rel=1e-3)
    (warning,) = (one for side in compared.sides for one in side.warnings if one.kind == "unshared_blocks")
    assert warning.text.startswith("5 blocks count for one of the two clients only")


def test_announcements_and_blocks_of_one_slot_are_one_pair(tmp_path: Path) -> None:
    ours: dict[Key, int | None] = {**blocks(20), (400, "aa", 1): 1_000, (400, "aa", 2): 4_000, (400, "bb", 1): 2_000}
    theirs = {key: None if latency is None else 3 * latency for key, latency in ours.items()}
    found = difference(compare(run(tmp_path, "ours", ours), run(tmp_path, "theirs", theirs)))
    assert found.basis.counts == (21, 21)
    assert found.ratio.estimate == pytest.approx(3, rel=1e-3)


def test_three_clients_are_ranked_by_how_late_they_have_a_block(tmp_path: Path) -> None:
    """One has each block 20 ms later, another 60 ms later; the last is the baseline."""
    names, later_ms = ("slower", "slow", "native"), (60, 20, 0)
    sides = [
        run(tmp_path, name, {key: time + later * 10**6 for key, time in blocks(40, seed=seed).items()})
        for seed, (name, later) in enumerate(zip(names, later_ms, strict=True))
    ]
    result = compare(*sides)
    assert result.ranking is not None
    assert result.ranking.metric.id == "decoded_us"
    (part,) = result.ranking.parts
    assert [(one.place, names[one.side]) for one in part.ranked] == [("1", "native"), ("2", "slow"), ("3", "slower")]
    levels = [one.level for one in part.ranked]
    assert levels[1] >= 20_000
    assert levels[2] >= 60_000
    first, second, last = (one.next for one in part.ranked)
    assert last is None
    for one in (first, second):
        assert one is not None
        assert (one.verdict, one.paired, one.conditional) == ("better", True, True)
    # Tables have the two differences from the baseline; the third pair is compared for the ranking alone.
    (row,) = (one for one in result.rows if one.metric.tested)
    assert [one.verdict for one in row.differences if one] == ["better", "better"]
    done = slotmark("compare", *(side.path for side in sides), "-o", tmp_path / "report")
    assert done.returncode == 0, done.stderr
    line = done.stdout.splitlines()[-1]
    assert line == result.ranking.line
    assert line.startswith("RANKING by Announcement to decoded block, decode: 1 native ")
    assert json.loads((tmp_path / "report" / "report.json").read_text())["ranking"]["line"] == line
    assert line in (tmp_path / "report" / "report.md").read_text()


@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_too_few_blocks_get_no_verdict(count: int, tmp_path: Path) -> None:
    ours, theirs = blocks(12), blocks(12, factor=5.0)
    shared = dict(list(theirs.items())[:count])
    others = {(slot + 1, hash_, number): latency for (slot, hash_, number), latency in theirs.items()}
    compared = compare(run(tmp_path, "ours", ours), run(tmp_path, "theirs", {**shared, **others}))
    found = difference(compared)
    assert found.verdict == "undecided"
    assert "10 are needed" in found.reason
    assert any(one.kind == "few_blocks_at_tip" for side in compared.sides for one in side.warnings)


def test_runs_of_two_sessions_have_no_block_in_common(tmp_path: Path) -> None:
    first, second = run(tmp_path, "ours", blocks(20)), run(tmp_path, "theirs", blocks(20, seed=3), session="tuesday")
    with pytest.raises(ComparisonError, match="not measured in one session"):
        compare(first, second)
    with pytest.raises(ComparisonError, match="name one run per side"):
        compare([first, run(tmp_path, "ours", blocks(20, seed=2), session="wednesday")], second)
