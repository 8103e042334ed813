"""The whole way as a user goes it: import a study, compare, read the reports."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import slotmark
from tests.ledger.recordings import AGE_2024, points, tab_separated, written

TARGETS = [("8.10", "base", 1.0), ("8.10", "split", 1.1), ("9.6", "base", 0.8), ("9.6", "split", 0.88)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four targets, five processes each, 122 blocks, 0.3 % noise between processes."""
    folder = tmp_path_factory.mktemp("study")
    draws = np.random.default_rng(1)
    toml = ['name = "four-builds"', "interleaved = true", "[machine]", 'cpu = "made up"']
    for ghc, branch, ratio in TARGETS:
        name = f"{ghc}-{branch}"
        for process in range(5):
            noisy = [
                {
                    key: _scaled(key, value, ratio * float(np.exp(draws.normal(0, 0.003))))
                    for key, value in point.items()
                }
                for point in points(122, seed=3, with_table_read=False)
            ]
            written(folder, f"{name}-{process}.csv", tab_separated(noisy, AGE_2024))
        toml += [
            "[[target]]",
            f'name = "{name}"',
            f'files = ["{name}-*.csv"]',
            f'factors = {{ ghc = "{ghc}", branch = "{branch}" }}',
        ]
    written(folder, "study.toml", "\n".join(toml))
    done = slotmark("ledger", "import", folder, "-o", folder / "runs")
    assert done.returncode == 0, done.stderr
    return folder / "runs"


def _scaled(name: str, value, factor: float):
    timed = name.startswith("mut") or name == "totalTime"
    return round(value * factor * 100) if timed else value


def test_the_report_says_what_was_planted(runs: Path, tmp_path: Path) -> None:
    done = slotmark(
        "compare",
        *(runs / f"{ghc}-{branch}" for ghc, branch, _ in TARGETS),
        "-o",
        tmp_path / "out",
        "--fail-on",
        "worse",
    )
    assert done.returncode == 1, done.stderr
    said = " ".join(done.stdout.split())
    assert "8.10-split, total time, typical block: 1.10" in said
    assert "Costs come in" in said or "clusters" not in said
    found = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    (row,) = (
        row
        for row in found["rows"]
        if (row["metric"]["id"], row["part"], row["estimator"]) == ("mut_us", "", "typical block")
    )
    assert [one["verdict"] for one in row["differences"]] == ["worse", "better", "better"]
    for one, (_, _, truth) in zip(row["differences"], TARGETS[1:], strict=True):
        assert one["ratio"]["low"] <= truth * 1.003
        assert one["ratio"]["high"] >= truth * 0.997
    html = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert all(title in html for title in ("Distribution of costs", "Speedup by percentile: ghc 9.6", "Shift function"))
    assert html.count('data-chart="') == 1 + 2 + 3 + 1


def test_the_published_tables_come_from_the_same_runs(runs: Path) -> None:
    done = slotmark("compare", *(runs / f"{ghc}-{branch}" for ghc, branch, _ in TARGETS), "--method", "published")
    assert done.returncode == 0, done.stderr
    assert all(head in done.stdout for head in ("Shapiro-Wilk", "Kruskal-Wallis", "Speedup over 8.10 base"))


def test_one_process_a_build_gets_no_verdict(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 2)):
        file = written(tmp_path, f"{name}.csv", tab_separated(points(60, seed=seed)))
        assert slotmark("ledger", "import", file, "-o", tmp_path / name).returncode == 0
    done = slotmark("compare", tmp_path / "a", tmp_path / "b", "--fail-on", "inconclusive")
    assert done.returncode == 3, done.stderr
    said = " ".join(done.stdout.split())
    assert "one process on a side says nothing about the build" in said
    assert "! a; b: One process" in said


def test_runs_over_other_blocks_are_refused(tmp_path: Path) -> None:
    for name, blocks in (("a", 60), ("b", 61)):
        file = written(tmp_path, f"{name}.csv", tab_separated(points(blocks)))
        assert slotmark("ledger", "import", file, "-o", tmp_path / name).returncode == 0
    done = slotmark("compare", tmp_path / "a", tmp_path / "b")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "did different work: blocks is 60 and 61" in done.stderr


def test_totals_of_two_ages_are_refused_when_compared(tmp_path: Path) -> None:
    old = written(tmp_path, "old.csv", tab_separated(points(60, with_table_read=False), AGE_2024))
    new = written(tmp_path, "new.csv", tab_separated(points(60)))
    for name, file in (("old", old), ("new", new)):
        assert slotmark("ledger", "import", file, "-o", tmp_path / "runs" / name).returncode == 0
    done = slotmark("compare", tmp_path / "runs" / "old", tmp_path / "runs" / "new")
    assert done.returncode == 2
    assert "totals is the five operations and the five operations and the table read" in done.stderr
    taken = slotmark("ledger", "import", new, "--subtract-table-read", "-o", tmp_path / "runs" / "mended")
    assert taken.returncode == 0
    assert slotmark("compare", tmp_path / "runs" / "old", tmp_path / "runs" / "mended").returncode == 0


def test_markdown_is_made_of_every_section(runs: Path, tmp_path: Path) -> None:
    done = slotmark("compare", runs / "8.10-base", runs / "9.6-base", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    heads = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert heads[:3] == ["Verdicts", "Warnings", "Comparison"]
    assert {"Parts", "Quantiles", "Design", "Method", "Data dictionary", "Manifest"} <= set(heads)
