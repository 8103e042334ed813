"""Two runs with the same leaders in the same slots are compared over matched blocks."""

from pathlib import Path

import pytest

from slotmark.compare import Comparison, compare
from slotmark.compare.results.rows import Difference
from slotmark.run import open_run
from tests.conftest import slotmark

ADOPTION = "adopted_by_096"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run of one version, one of another with the same seed, and one of that with another seed."""
    folder = tmp_path_factory.mktemp("runs")
    for name, profile, seed in (("a", "10.5", 1), ("b", "10.6-pre", 1), ("c", "10.6-pre", 2)):
        made = slotmark(
            "simulate", f"value-only-{profile}", "--slots", "1000", "--seed", str(seed), "--direct", "-o", folder / name
        )
        assert made.returncode == 0, made.stderr
    return folder


def difference(folder: Path, name: str) -> Difference:
    comparison: Comparison = compare([open_run(folder / "a"), open_run(folder / name)], filters=[])
    row = next(row for row in comparison.rows if row.metric.id == ADOPTION)
    found = row.differences[0]
    assert found is not None
    return found


def test_the_same_leaders_are_matched_and_others_are_not(runs: Path) -> None:
    matched, apart = difference(runs, "b"), difference(runs, "c")
    assert matched.basis is not None
    assert matched.basis.over == "matched blocks"
    assert apart.basis is not None
    assert apart.basis.over == "blocks"
    assert matched.delta is not None
    assert apart.delta is not None
    assert matched.delta.high - matched.delta.low < (apart.delta.high - apart.delta.low) / 10
    assert apart.delta.low < matched.delta.estimate < apart.delta.high
