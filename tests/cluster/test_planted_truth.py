"""Logs of clusters in which something was made slower on purpose: the comparison finds it, and nothing else."""

from pathlib import Path

import numpy as np
import pytest

from slotmark.benches.cluster.ingesting.ingest import ingest
from slotmark.benches.cluster.requests import IngestRequest
from slotmark.compare import Comparison, compare
from slotmark.compare.deciding.policy import Policy
from slotmark.run import Run
from slotmark.verdict import Conditional
from tests.cluster.made_up_logs import Cluster

BLOCKS = 300
"""Change of a side where rates are counted: blocks vary by 8 %, so 5 % is seven and a half standard errors. The metric isn't decisive, and those have a fifth
of a report's error rate: among its 72 tests p must be below 0.00014, four standard errors with the degrees of freedom that there are. Of 200
blocks, 82 of 100 are found."""


IN_THESE_RUNS = Policy(conditional=Conditional.COUNT)
"""Change by which single runs are tested: 5 % more could also be a drift that noise hides."""


def made_up(folder: Path, seed: int, *, slower: float = 1.0, blocks: int = 120) -> Run:
    """A cluster of three hosts whose phases vary from block to block; ledger ticking takes ``slower`` times as long."""
    draws = np.random.default_rng(seed)
    cluster = Cluster(3)
    previous = None
    for number in range(blocks):
        vary = draws.lognormal(0, 0.08, 8)
        leading, ticked = 2.0, 20.0 * vary[0] * slower
        snapshot = 40.0 * vary[1]
        forged = leading + ticked + snapshot + vary[2]
        forger, slot, name = number % 3, 20 * number + 10, f"{seed}-{number}"
        cluster.forge(
            forger,
            slot,
            number,
            name,
            previous,
            steps_ms={"leading_ms": leading, "ticked_ms": leading + ticked, "snapshot_ms": leading + ticked + snapshot},
            forged_ms=forged,
            announced_ms=forged + vary[3],
            sending_ms=forged + 6 * vary[4],
            adopted_ms=forged + 60 * vary[5],
        )
        for host in range(3):
            if host != forger:
                own = draws.lognormal(0, 0.1, 5)
                noticed = forged + 30 * own[0]
                fetched = noticed + 1 + 300 * own[1]
                cluster.observe(
                    host,
                    slot,
                    number,
                    name,
                    noticed_ms=noticed,
                    requested_ms=noticed + 1,
                    fetched_ms=fetched,
                    announced_ms=fetched + own[2],
                    sending_ms=fetched + 40 * own[3],
                    adopted_ms=fetched + 70 * own[4],
                )
        previous = name
    return ingest(IngestRequest(logs=[str(cluster.write(folder / f"logs-{seed}"))], out=folder / f"run-{seed}"))[0]


def verdicts(comparison: Comparison) -> dict[str, str]:
    return {
        row.metric.id: difference.verdict
        for row in comparison.rows
        for difference in row.differences
        if difference and difference.verdict
    }


def test_five_percent_on_ledger_ticking_are_found(tmp_path: Path) -> None:
    comparison = compare([made_up(tmp_path, 1), made_up(tmp_path, 2, slower=1.05)], policy=IN_THESE_RUNS)
    found = verdicts(comparison)
    assert found["forge_ticked"] == "worse"
    assert [metric for metric, verdict in found.items() if verdict in ("better", "worse")] == ["forge_ticked"]
    (row,) = [row for row in comparison.rows if row.metric.id == "forge_ticked"]
    difference = row.differences[0]
    assert difference is not None
    assert difference.ratio is not None
    assert difference.ratio.low < 1.05 < difference.ratio.high


def test_equal_clusters_get_no_verdict(tmp_path: Path) -> None:
    found = verdicts(compare([made_up(tmp_path, 3), made_up(tmp_path, 4)], policy=IN_THESE_RUNS))
    assert set(found.values()) <= {"equivalent", "undecided"}


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_how_often_the_truth_is_covered_and_equal_clusters_differ(tmp_path: Path) -> None:
    covered, found, differing = 0, 0, 0
    for repetition in range(100):
        folder = tmp_path / str(repetition)
        folder.mkdir()
        base = made_up(folder, 1_000 + 3 * repetition, blocks=BLOCKS)
        slower = made_up(folder, 1_001 + 3 * repetition, slower=1.05, blocks=BLOCKS)
        same = made_up(folder, 1_002 + 3 * repetition, blocks=BLOCKS)
        comparison = compare([base, slower, same], policy=IN_THESE_RUNS)
        (row,) = [row for row in comparison.rows if row.metric.id == "forge_ticked"]
        with_truth, without = row.differences
        assert with_truth is not None
        assert with_truth.ratio is not None
        assert without is not None
        covered += with_truth.ratio.low <= 1.05 <= with_truth.ratio.high
        found += with_truth.verdict == "worse"
        differing += any(
            one and one.verdict in ("better", "worse") for row in comparison.rows for one in row.differences[1:]
        )
    print(f"covered {covered} of 100, found {found} of 100, equal clusters called different {differing} of 100")
    assert 90 <= covered <= 99
    assert found >= 90
    assert differing <= 5
