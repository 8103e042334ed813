"""The growth of time and memory with the number of unspent outputs: exact for made-up processes, and end to end over chains of two sizes."""

import json
from pathlib import Path
from typing import Any

import pytest

from slotmark.benches.ledger.engine import backends
from slotmark.benches.ledger.importing import Recording, import_recordings
from slotmark.compare.growth import growth
from slotmark.compare.results.growth import Curve
from slotmark.errors import ComparisonError
from slotmark.report import growth_document
from slotmark.report.renderers.markdown import markdown
from slotmark.run import Run, open_run
from tests.conftest import slotmark


def recorded(folder: Path, target: str, entries: int | None, processes: list[list[int]]) -> Run:
    """A run of processes of which each took so many us for its blocks; the second one's peak is 1 MB higher."""
    folder.mkdir(parents=True)
    files = []
    for place, blocks in enumerate(processes):
        first: dict[str, Any] = {"record": "process", "contract": 1, "engine": "mine", "version": "2"}
        lines = [first | {"phases": ["apply"]}]
        for number, took_us in enumerate(blocks, 1):
            took = {"total_ns": took_us * 1000, "apply_ns": took_us * 1000}
            lines.append({"record": "block", "slot": 20 * number, "hash": f"{entries}-{number}"} | took)
        end = {"record": "end", "blocks": len(blocks), "peak_bytes": (7 + place) * 1_000_000}
        lines.append(end | ({} if entries is None else {"entries": entries}))
        files.append(folder / f"{place}.json")
        files[-1].write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    (run,) = import_recordings([Recording(target=target, files=files, factors={}, out=folder / "run")])
    return run


def levels(curve: Curve) -> list[tuple[int, int, float, float, float]]:
    return [(one.size, one.processes, one.mean, one.low, one.high) for one in curve.levels]


def test_levels_are_means_of_processes_by_target_and_size(tmp_path: Path) -> None:
    runs = [
        recorded(tmp_path / "large", "b", 1_000, [[30, 50], [50, 70]]),
        recorded(tmp_path / "small", "b", 10, [[10, 20], [20, 30]]),
        recorded(tmp_path / "small2", "a", 10, [[4, 4]]),
    ]
    found = growth(runs)
    assert (found.along, found.targets, found.sizes) == ("unspent outputs", ["b", "a"], [10, 1_000])
    total = {curve.target: levels(curve) for curve in found.curves if curve.metric.id == "total_us"}
    assert total == {
        "b": [(10, 2, 20.0, 15.0, 25.0), (1_000, 2, 50.0, 40.0, 60.0)],
        "a": [(10, 1, 4.0, 4.0, 4.0)],
    }
    peak = {curve.target: levels(curve) for curve in found.curves if curve.metric.id == "peak_memory_mb"}
    assert peak["b"] == [(10, 2, 7.5, 7.0, 8.0), (1_000, 2, 7.5, 7.0, 8.0)]
    text = markdown(growth_document(found))
    assert "b 20.00 us with 10 unspent outputs, 50.00 us with 1,000, 2.50x." in text
    assert "a 4" not in text.partition("## By size")[0], "one size doesn't grow"
    assert "| b | 20.00 | 50.00 | 2.50x |" in text
    assert "| a | 4.000 | - | - |" in text


def test_a_warning_of_several_runs_stands_once(tmp_path: Path) -> None:
    runs = [recorded(tmp_path / f"run-{size}", "b", size, [[1, 2]]) for size in (10, 20, 30)]
    names = [side.name for side in growth(runs).sides]
    text = markdown(growth_document(growth(runs)))
    warned = [
        line for line in text.partition("## Warnings")[2].partition("## ")[0].splitlines() if line.startswith("- ")
    ]
    assert len({line.rpartition("**")[2] for line in warned}) == len(warned)
    assert all(name in line for line in warned for name in names)


def test_the_first_run_is_named_where_no_side_is_a_baseline(tmp_path: Path) -> None:
    runs = []
    for size in (10, 20):
        run = recorded(tmp_path / f"run-{size}", "b", size, [[1, 2]])
        manifest = json.loads((run.path / "run.json").read_bytes())
        manifest["parameters"]["memory limit"] = f"{size} MB"
        (run.path / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
        runs.append(open_run(run.path))
    text = markdown(growth_document(growth(runs)))
    assert f"Parameter 'memory limit' differs: 10 MB for {growth(runs).sides[0].name}, 20 MB here" in text
    assert "baseline" not in text.partition("## Warnings")[2].partition("## ")[0]


def test_versions_of_one_target_are_curves_of_their_own(tmp_path: Path) -> None:
    runs = []
    for took_us, version in enumerate(("2", "3"), 1):
        for size in (10, 20):
            run = recorded(tmp_path / f"{version}-{size}", "b", size, [[took_us]])
            manifest = json.loads((run.path / "run.json").read_bytes())
            manifest["target"]["version"] = version
            (run.path / "run.json").write_text(json.dumps(manifest))
            runs.append(open_run(run.path))
    assert growth(runs).targets == ["b 2", "b 3"]


def test_what_has_no_growth_is_refused_in_one_line(tmp_path: Path) -> None:
    small = recorded(tmp_path / "small", "b", 10, [[1, 2]])
    with pytest.raises(ComparisonError, match="All runs have 10 unspent outputs: nothing grows"):
        growth([small, recorded(tmp_path / "same", "c", 10, [[1, 2]])])
    with pytest.raises(ComparisonError, match=r"'blocks' is '2' and '3'\. Measure both alike"):
        growth([small, recorded(tmp_path / "long", "b", 20, [[1, 2, 3]])])
    with pytest.raises(ComparisonError, match=r"untold/run has no number for unspent outputs\. Leave it out"):
        growth([small, recorded(tmp_path / "untold", "b", None, [[1, 2]])])
    with pytest.raises(ComparisonError, match="named twice"):
        growth([small, small])


def test_stores_over_chains_of_two_sizes_from_the_command_line(tmp_path: Path) -> None:
    folders = []
    for utxo in (0, 30_000):
        chain, out = tmp_path / f"chain-{utxo}", tmp_path / f"runs-{utxo}"
        options = ("--workload", "value-only", "--blocks", "4", "--utxo", str(utxo), "-o", str(chain))
        made = slotmark("chain", "synth", *options)
        assert made.returncode == 0, made.stderr
        genesis = chain / "genesis" / "shelley-genesis.json"
        options = (
            "--chain",
            chain,
            "--genesis",
            genesis,
            "--backend",
            ",".join(backends()),
            "--rounds",
            "2",
            "-o",
            out,
        )
        done = slotmark("ledger", "run", *options)
        if "make setup" in done.stderr:
            pytest.skip(done.stderr.strip())
        assert done.returncode == 0, done.stderr
        folders += [out / backend for backend in backends()]
    shown = slotmark("growth", *folders, "-o", tmp_path / "report")
    assert shown.returncode == 0, shown.stderr
    found = json.loads((tmp_path / "report" / "report.json").read_bytes())
    assert found["targets"] == list(backends())
    assert found["sizes"][1] - found["sizes"][0] == 30_000
    by_metric = {(one["metric"]["id"], one["target"]): one["levels"] for one in found["curves"]}
    for backend in backends():
        assert [level["processes"] for level in by_metric["total_us", backend]] == [2, 2]
        small, large = by_metric["peak_memory_mb", backend]
        assert large["low"] > small["high"], "a larger set takes more memory"
    assert ("disk_mb", "memory") not in by_metric
    assert "unspent outputs" in shown.stdout
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert page.count('"type":"log"') >= 2 * len(backends())
