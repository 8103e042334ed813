"""The whole way as a user goes it: import a study, compare, read the reports."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from slotmark.benches.ledger.importing import Recording, import_recordings
from slotmark.compare import alone, show_run
from slotmark.report.exports import figures
from slotmark.run import open_run
from tests.conftest import remarks, slotmark
from tests.ledger.recordings import AGE_2024, beacon_run, points, tab_separated, written

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
    assert re.search(r"8\.10-split: Total time, typical block is (9\.\d|10\.\d) % higher", said)
    assert "8.10-base: Costs fall into 3 groups" in said
    found = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    (row,) = (
        row
        for row in found["rows"]
        if (row["metric"]["id"], row["part"], row["quantity"]) == ("mut_us", "", "typical block")
    )
    assert [one["verdict"] for one in row["differences"]] == ["worse", "better", "better"]
    for one, (_, _, truth) in zip(row["differences"], TARGETS[1:], strict=True):
        assert one["ratio"]["low"] <= truth * 1.003
        assert one["ratio"]["high"] >= truth * 0.997
    html = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert all(title in html for title in ("Distribution of costs", "Speedup by percentile: ghc 9.6", "Shift function"))
    assert html.count('data-chart="') == 1 + 2 + 3 + 1 + 3  # the last: where each candidate's difference comes from


def test_the_first_screen_says_what_the_ratio_of_a_typical_block_is(runs: Path) -> None:
    """The medians beside it have another quotient."""
    shown = slotmark("compare", runs / "8.10-base", runs / "9.6-split").stdout
    screen = " ".join(shown[: shown.index("! ")].split())
    assert "Total time, typical block" in screen
    assert "The ratio of a typical block is the middle of the blocks' own ratios" in screen


def test_the_published_tables_come_from_the_same_runs(runs: Path) -> None:
    done = slotmark("compare", *(runs / f"{ghc}-{branch}" for ghc, branch, _ in TARGETS), "--method", "published")
    assert done.returncode == 0, done.stderr
    assert all(head in done.stdout for head in ("Shapiro-Wilk", "Kruskal-Wallis", "Speedup over 8.10 base"))


def test_one_process_a_build_gets_no_verdict(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 2)):
        file = written(tmp_path, f"{name}.csv", tab_separated(points(60, seed=seed)))
        assert slotmark("ledger", "import", file, "-o", tmp_path / name).returncode == 0
    done = slotmark("compare", tmp_path / "a", tmp_path / "b", "--fail-on", "undecided")
    assert done.returncode == 3, done.stderr
    said = " ".join(done.stdout.split())
    assert "one process on a side is too few for a verdict on the build" in said
    assert "! a; b: One process" in said


def test_runs_over_other_blocks_are_refused(tmp_path: Path) -> None:
    for name, blocks in (("a", 60), ("b", 61)):
        file = written(tmp_path, f"{name}.csv", tab_separated(points(blocks)))
        assert slotmark("ledger", "import", file, "-o", tmp_path / name).returncode == 0
    done = slotmark("compare", tmp_path / "a", tmp_path / "b")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "did different work: blocks is 60 and 61" in done.stderr


def test_a_process_in_two_formats_counts_once(tmp_path: Path) -> None:
    """It was compared with itself, or made two of one side's processes."""
    recorded = points(60)
    for name, recording in (
        ("table.csv", tab_separated(recorded)),
        ("beacon.json", beacon_run(recorded)),
        ("other.csv", tab_separated(points(60, seed=2))),
    ):
        file = written(tmp_path, name, recording)
        done = slotmark("ledger", "import", file, "--target", name[:5], "-o", tmp_path / file.stem)
        assert done.returncode == 0, done.stderr
    for sides in (["table", "beacon"], ["other", "table", "beacon"]):
        done = slotmark("compare", *(tmp_path / side for side in sides))
        assert (done.returncode, done.stderr) == (
            2,
            "slotmark: process 1 of table and process 1 of beaco have the same Total time of every block: they are one process, which must count once. Leave one out.\n",
        )
    assert slotmark("compare", tmp_path / "other", tmp_path / "beacon").returncode == 0


def test_totals_of_two_ages_are_refused_when_compared(tmp_path: Path) -> None:
    old = written(tmp_path, "old.csv", tab_separated(points(60, with_table_read=False), AGE_2024))
    new = written(tmp_path, "new.csv", tab_separated(points(60, seed=2)))
    for name, file in (("old", old), ("new", new)):
        assert slotmark("ledger", "import", file, "-o", tmp_path / "runs" / name).returncode == 0
    done = slotmark("compare", tmp_path / "runs" / "old", tmp_path / "runs" / "new")
    assert done.returncode == 2
    assert "totals is 'the five operations' and 'the five operations and the table read'" in done.stderr
    taken = slotmark("ledger", "import", new, "--subtract-table-read", "-o", tmp_path / "runs" / "mended")
    assert taken.returncode == 0
    assert slotmark("compare", tmp_path / "runs" / "old", tmp_path / "runs" / "mended").returncode == 0


def test_markdown_is_made_of_every_section(runs: Path, tmp_path: Path) -> None:
    done = slotmark("compare", runs / "8.10-base", runs / "9.6-base", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    heads = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert heads[:3] == ["Decision", "Warnings", "Comparison"]
    assert {"Kinds of blocks", "Quantiles", "Design", "Method", "Data dictionary", "Manifest"} <= set(heads)


def _imported(
    folder: Path, name: str, *, seeds: range, ratio: float = 1.0, target: str = "", factor: str = "ghc=9.6"
) -> Path:
    """A run of some processes with 0.3 % noise between them."""
    files = []
    for seed in seeds:
        noise = ratio * float(np.exp(np.random.default_rng(seed).normal(0, 0.003)))
        noisy = [
            {key: _scaled(key, value, noise) for key, value in point.items()}
            for point in points(122, seed=3, with_table_read=False)
        ]
        files.append(written(folder, f"{name}-{seed}.csv", tab_separated(noisy, AGE_2024)))
    out, factors = folder / "runs" / name, dict([factor.split("=")])
    recording = Recording(target=target or name, files=files, factors=factors, out=out)
    import_recordings([recording], session=f"day {seeds.start % 20}")
    return out


def test_several_folders_of_a_target_count_as_one_side(tmp_path: Path) -> None:
    base = [_imported(tmp_path, f"base-{day}", seeds=range(3 * day, 3 * day + 3), target="base") for day in (0, 1)]
    slow = [
        _imported(
            tmp_path,
            f"slow-{day}",
            seeds=range(20 + 3 * day, 23 + 3 * day),
            ratio=1.05,
            target="slow",
            factor="ghc=9.8",
        )
        for day in (0, 1)
    ]
    sides = [",".join(map(str, side)) for side in (base, slow)]
    done = slotmark("compare", *sides, "-o", tmp_path / "out", "--fail-on", "worse")
    assert done.returncode == 1, done.stderr
    found = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert [one["processes"] for one in found["details"] if one["type"] == "blocks"] == [[6, 6]]
    assert [side["name"] for side in (found["baseline"], *found["candidates"])] == [
        "base (2 runs)",
        "slow (2 runs)",
    ]
    assert [one["target"]["name"] for one in found["baseline"]["others"]] == ["base"]
    text = (tmp_path / "out" / "report-sources.csv").read_text(encoding="utf-8")
    assert all(f"base-{day}-{3 * day}.csv" in text for day in (0, 1)), "the files of both folders"
    assert text.count('"base (2 runs)",') == 6
    printed = slotmark("compare", *sides, "--method", "published")
    assert printed.returncode == 0, printed.stderr
    assert "Of 6 processes, the median of each block" in " ".join(printed.stdout.split())


def test_folders_that_do_not_fit_on_one_side_are_refused(tmp_path: Path) -> None:
    base = _imported(tmp_path, "base", seeds=range(2))
    other = _imported(tmp_path, "other", seeds=range(2, 4))
    level = _imported(tmp_path, "level", seeds=range(4, 6), target="base", factor="ghc=9.8")
    again = _imported(tmp_path, "again", seeds=range(1, 3), target="base")
    for sides, said in (
        ((f"{base},{other}", level), "base is a run of target 'base', other of 'other'"),
        ((f"{base},{level}", other), "base has the factors ghc=9.6, level has ghc=9.8"),
        ((f"{base},{again}", level), "base and again were made from the same file"),
        ((f"{base},{base}", other), "named twice"),
        ((",", other), "a side names no folder"),
    ):
        done = slotmark("compare", *sides)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert said in done.stderr, done.stderr


def test_a_gate_looks_at_its_metrics_alone(runs: Path, tmp_path: Path) -> None:
    base, slow = runs / "8.10-base", runs / "8.10-split"
    gate = tmp_path / "gate.toml"

    def ended(lines: str, *more: str, sides: tuple[Path, Path] = (base, slow)):
        gate.write_text(lines)
        return slotmark("compare", *sides, "--gate", gate, *more)

    failed = ended('mut_us = "1%"', "-o", str(tmp_path / "out"))
    assert failed.returncode == 1, "10 % slower"
    assert failed.stderr.splitlines()[-1].startswith(
        "slotmark: HOLD 8.10-split: worse in Mutator time, typical block +"
    )
    assert f"slotmark: {failed.stdout.splitlines()[-1]}" == failed.stderr.splitlines()[-1]
    found = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    row = next(row for row in found["rows"] if row["metric"]["id"] == "mut_us")
    assert (row["metric"]["margin"], row["differences"][0]["verdict"]) == (0.01, "worse")
    ratio = row["differences"][0]["ratio"]
    at_the_edge = (ratio["estimate"] + ratio["high"]) / 2 - 1
    assert ended(f"mut_us = {at_the_edge}", "--fail-on", "undecided").returncode == 3
    assert ended('gc_us = "1%"').returncode == 0, "GC is as it was, whatever total time is"
    assert ended('total_us = "1%"', sides=(slow, base)).returncode == 0, "the other way round it's better"


def test_a_gate_that_can_see_nothing_is_refused(runs: Path, tmp_path: Path) -> None:
    base, slow = runs / "8.10-base", runs / "8.10-split"
    gate = tmp_path / "gate.toml"
    for lines, said in (
        ('forge_ticked = "3%"', f"--gate {gate}: 'forge_ticked' isn't tested. Tested are: total_us, mut_us, gc_us"),
        ('table_read_us = "3%"', "--gate: nothing was compared in 'table_read_us' for 8.10-split"),
        ("mut_us = 'much'", f"--gate {gate}: mut_us"),
        ("mut_us", f"--gate {gate}: not TOML"),
        ("", f"--gate {gate}: names no metric"),
    ):
        gate.write_text(lines)
        done = slotmark("compare", base, slow, "--gate", gate)
        assert done.returncode == 2, done.stderr
        (line,) = remarks(done.stderr)
        assert said in line


def test_parts_of_the_blocks_make_no_gate_fail(tmp_path: Path) -> None:
    """Every seventh block has a major GC and costs twice; the typical block is as before, but the sum isn't."""
    for name, seed in (("base", 0), ("slow", 10)):
        files = []
        for process in range(4):
            noise = np.random.default_rng(seed + process)
            slower = [
                {
                    key: round(
                        value * 100 * (1 + (name == "slow" and index % 7 == 3)) * float(np.exp(noise.normal(0, 1e-4)))
                    )
                    if key == "totalTime"
                    else value
                    for key, value in point.items()
                }
                for index, point in enumerate(points(122, seed=3, with_table_read=False))
            ]
            files.append(written(tmp_path, f"{name}-{process}.csv", tab_separated(slower, AGE_2024)))
        assert slotmark("ledger", "import", *files, "--session", "turns", "-o", tmp_path / name).returncode == 0
    gate = written(tmp_path, "gate.toml", 'total_us = "1%"\n')
    done = slotmark("compare", tmp_path / "base", tmp_path / "slow", "--gate", gate, "-o", tmp_path / "out")
    found = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    rows = {
        (row["part"], row["quantity"]): row["differences"][0]
        for row in found["rows"]
        if row["metric"]["id"] == "total_us"
    }
    assert rows["with a major GC", "typical block"]["ratio"]["low"] > 1.9
    assert rows["with a major GC", "typical block"]["verdict"] is None
    assert rows["", "typical block"]["verdict"] == "equivalent"
    assert rows["", "all blocks together"]["verdict"] in ("worse", "undecided")
    assert done.returncode == (1 if rows["", "all blocks together"]["verdict"] == "worse" else 0)


def test_a_run_by_itself_has_the_same_metrics_in_text_json_and_exports(runs: Path) -> None:
    run = open_run(runs / "8.10-base")
    shown = {metric.id: summary.mean for metric, part, summary in show_run(run).rows if not part}
    by_itself = {row.metric.id: row.summaries[0] for row in alone(run).rows if not row.part}
    assert shown.keys() == by_itself.keys() == {one.metric.id for one in figures([alone(run)])}
    assert {"total_us", "mut_us", "gc_us", "block_apply_us"} <= shown.keys()
    assert {name: one.mean for name, one in by_itself.items() if one} == pytest.approx(shown)


def test_there_is_nothing_to_filter(runs: Path) -> None:
    done = slotmark("compare", runs / "8.10-base", runs / "8.10-split", "--filter", "size-full")
    assert (done.returncode, "ledger runs have nothing to filter" in done.stderr) == (2, True)


def test_commands_load_no_library_that_takes_longer_than_their_work(runs: Path) -> None:
    script = """
import sys
from slotmark.__main__ import main
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
print({"pandas", "ruptures", "scipy.stats"} & sys.modules.keys(), file=sys.stderr)
"""
    sides = [runs / "8.10-base", runs / "8.10-split"]
    done = subprocess.run(
        [sys.executable, "-c", script, "compare", *sides], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "set()"
