"""The report of two clusters as people and machines see it, from logs to the page."""

import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pyarrow.parquet
import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from slotmark.benches.cluster.ingesting.ingest import ingest
from slotmark.benches.cluster.requests import IngestRequest
from slotmark.compare import Comparison, compare
from slotmark.errors import ComparisonError
from slotmark.metrics import Filter
from slotmark.numbers import number
from slotmark.report import comparison_document, print_document, write_report
from slotmark.report.charts import CHARTS
from slotmark.report.renderers.markdown import markdown
from slotmark.report.sections.means import SHOWN_CENTILES, centile_tables
from slotmark.run import Run, Target, open_run
from slotmark.versions import slotmark_version
from tests.cluster.made_up_logs import Cluster
from tests.cluster.test_planted_truth import made_up
from tests.conftest import slotmark
from tests.pages import opened_page

NASTY = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Two clusters of three hosts, the second with a ledger tick that takes a tenth longer."""
    folder = tmp_path_factory.mktemp("clusters")
    return [made_up(folder, 21), made_up(folder, 22, slower=1.1)]


@pytest.fixture(scope="module")
def comparison(runs: list[Run]) -> Comparison:
    return compare(runs)


def test_the_tables_in_words(comparison: Comparison, snapshot: SnapshotAssertion) -> None:
    text = markdown(comparison_document(comparison)).replace(f"slotmark {slotmark_version()}", "slotmark VERSION")
    brief = re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)
    assert brief.split("## Manifest", maxsplit=1)[0] == snapshot
    assert len(text) < 60_000  # what a comment on a pull request may hold


@pytest.mark.parametrize("style", ["org", "typst"])
def test_the_tables_in_the_established_tools_styles(
    comparison: Comparison, style: str, snapshot: SnapshotAssertion
) -> None:
    console = Console(width=100, record=True, color_system=None, file=io.StringIO())
    document = comparison_document(comparison, style)
    print_document(document, console)
    assert [line.rstrip() for line in console.export_text().splitlines() if "adoption" in line] == snapshot


def test_charts_of_durations_are_in_milliseconds(comparison: Comparison) -> None:
    (row,) = [row for row in comparison.rows if row.metric.id == "adopted_by_096"]
    names = [side.name for side in comparison.sides]
    for spec, along in ((CHARTS["cdf"](row, names, 1.0), "x"), (CHARTS["course"](row, names, "block"), "y")):
        summary = row.summaries[0]
        assert summary is not None
        points = [point for values in spec["datasets"].values() for point in values]
        values = [point["value"] for point in points if point["run"] == names[0] and "value" in point]
        assert 1e3 * summary.minimum <= min(values) <= max(values) <= 1e3 * summary.maximum
        assert {layer["encoding"][along]["title"] for layer in spec["layer"]} == {"ms"}


def test_distributions_of_few_distinct_values_are_drawn_as_steps(comparison: Comparison) -> None:
    names = [side.name for side in comparison.sides]
    kinds = {}
    for row in comparison.rows:
        if row.metric.chart == "cdf" and all(row.summaries):
            lines = [one for one in CHARTS["cdf"](row, names, 1.0)["layer"] if one["mark"]["type"] == "line"]
            stepped = {bool(summary.steps) for summary in row.summaries if summary}
            assert {line["mark"]["interpolate"] == "step-after" for line in lines} == stepped
            kinds |= dict.fromkeys(stepped)
    assert set(kinds) == {True, False}


def test_several_runs_of_a_side_are_compared_by_their_means(tmp_path: Path) -> None:
    runs = [made_up(tmp_path, seed, blocks=40) for seed in (31, 32, 33, 34)]
    with pytest.raises(ComparisonError, match="only runs of one target can stand on one side"):
        compare([runs[:2], runs[2:]])
    named = [
        Run(run.path, msgspec.structs.replace(run.manifest, target=Target(name, "")))
        for run, name in zip(runs, ("base", "base", "new", "new"), strict=True)
    ]
    comparison = compare([named[:2], named[2:]])
    assert [side.name for side in comparison.sides] == ["base (2 runs)", "new (2 runs)"]
    assert [len(side.others) for side in comparison.sides] == [1, 1]
    assert not [warning for warning in comparison.all_warnings if warning.kind == "one_run_a_side"]
    (row,) = [row for row in comparison.rows if row.metric.id == "forge_ticked"]
    assert [summary.runs for summary in row.summaries if summary] == [2, 2]
    assert "Otherwise the run is the unit" in markdown(comparison_document(comparison))


def test_the_page_draws_offline_and_a_run_can_be_switched_off(tmp_path: Path) -> None:
    opened = []
    for name, profile in (("first", "value-only-10.5"), ("second", "value-only-10.6-pre")):
        made = slotmark("simulate", profile, "--slots", "300", "-o", tmp_path / "logs" / name)
        assert made.returncode == 0, made.stderr
        (tmp_path / "logs" / name / "node-7").rename(tmp_path / "logs" / name / "node-7 <script>alert(7)<")
        opened.append(ingest(IngestRequest(logs=[str(tmp_path / "logs" / name)], out=tmp_path / name, target=NASTY))[0])
    comparison = compare(opened, filters=[])
    page_file, pdf, brief, data, *_ = write_report(comparison_document(comparison), comparison, tmp_path / "report")
    assert page_file.stat().st_size < 3_000_000
    assert pdf.read_bytes().startswith(b"%PDF")
    assert NASTY not in brief.read_text()
    assert json.loads(data.read_text())["bench"] == "cluster"
    with opened_page(page_file) as page:
        assert page.locator(".chart").count() >= 29
        lines = "() => document.querySelector('#charts .chart').querySelectorAll('.mark-line path').length"
        assert page.evaluate(lines) == 2
        page.get_by_role("checkbox", name="second").uncheck()
        page.wait_for_function(f"({lines})() === 1")


def test_the_commands_from_logs_to_a_gate(tmp_path: Path) -> None:
    for seed, slower in ((41, 1.0), (42, 1.2)):
        made_up(tmp_path, seed, slower=slower, blocks=60)
    base, slow = tmp_path / "run-41", tmp_path / "run-42"

    def ended(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
        return slotmark(*arguments, cwd=tmp_path)

    again = ended("ingest", "logs-41", "-o", "again")
    assert again.returncode == 0, again.stderr
    assert "3 hosts" in again.stderr
    assert open_run(tmp_path / "again").manifest.tables == open_run(base).manifest.tables
    shown = ended("show", base)
    assert "ticking" in shown.stdout
    assert "TPS: 12.0" in shown.stdout
    written = ended("samples", base, "forge_ticked", "-o", "ticked.csv")
    assert written.returncode == 0, written.stderr
    assert len((tmp_path / "ticked.csv").read_text().splitlines()) == 60  # a head, and 60 blocks without the tip
    assert ended("samples", base, "forge_ticked", "-o", "ticked.csv").returncode == 2
    for name, given in (("ticked.csv.gz", []), ("ticked.txt", []), ("b.parquet", ["--format", "csv"])):
        refused = ended("samples", base, "forge_ticked", "-o", name, *given)
        assert (refused.returncode, refused.stderr.startswith(f"slotmark: -o {name}: ")) == (2, True), refused.stderr
        assert not (tmp_path / name).exists()
    assert ended("samples", base, "forge_ticked", "-o", "new/b.parquet").returncode == 0
    assert pyarrow.parquet.read_table(tmp_path / "new" / "b.parquet").num_rows == 59
    assert ended("compare", base, slow, "--fail-on", "worse").returncode == 1
    assert ended("compare", slow, base, "--fail-on", "worse").returncode == 0
    (tmp_path / "gate.toml").write_text('peer_fetched = "20%"\n')
    assert ended("compare", base, slow, "--fail-on", "worse", "--gate", "gate.toml").returncode == 0
    (tmp_path / "gate.toml").write_text('forge_ticked = "3%"\n')
    assert ended("compare", base, slow, "--fail-on", "worse", "--gate", "gate.toml").returncode == 1
    wrong = ended("compare", base, slow, "--filter", "fullish")
    assert (wrong.returncode, "size-full" in wrong.stderr) == (2, True)


def test_a_copy_of_a_run_is_no_second_run(runs: list[Run], tmp_path: Path) -> None:
    shutil.copytree(runs[0].path, tmp_path / "copy")
    with pytest.raises(ComparisonError, match="are one run, made from the same files"):
        compare([[runs[0], open_run(tmp_path / "copy")], [runs[1]]])


def test_a_report_is_written_and_a_gate_decides_whoever_reads(runs: list[Run], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "slotmark", "compare", *(str(run.path) for run in runs), "-o", "out", "--fail-on"]
    done = subprocess.Popen([*command, "worse"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.stdout is not None
    done.stdout.close()
    _, said = done.communicate(timeout=240)
    assert (done.returncode, said.decode().splitlines()[-1][:14]) == (1, "slotmark: HOLD")
    assert (tmp_path / "out" / "report.html").exists()


def test_what_no_block_passes_is_told(runs: list[Run]) -> None:
    comparison = compare(runs, filters=[Filter("BMinimumAdoptions", 50)])
    (told,) = (one for one in comparison.baseline.warnings if one.kind == "no_blocks")
    assert "none pass BMinimumAdoptions 50 (BMinimumAdoptions 50 rejects 119)" in told.text


def test_centiles_are_in_the_unit_of_the_other_tables(runs: list[Run]) -> None:
    comparison = compare(runs)
    (centiles,) = centile_tables(comparison)
    row = next(row for row in comparison.rows if row.metric.id == "forge_ticked" and row.summaries[0])
    (cells, *_) = (cells for cells in centiles.rows if cells[0].text == "Ledger ticking, ms")
    assert row.summaries[0]
    known = dict(row.summaries[0].centiles)
    assert [cell.text for cell in cells[3:]] == [number(1e3 * known[share]) for share in SHOWN_CENTILES]


def test_a_run_without_an_analysed_block_is_told_by_the_command_that_makes_it(tmp_path: Path) -> None:
    """Settings that make blocks smaller, beside a profile whose filters take full blocks alone."""
    settings = ("--set", "workload.block_size=20kB", "--set", "epoch_slots=50", "--slots", "200")
    for where in (("--direct", "-o", "run"), ("-o", "logs")):
        made = slotmark("simulate", "value-only-10.5", *settings, *where, cwd=tmp_path)
        assert made.returncode == 0
        assert ("BFullnessGEq 0.9 rejects" in made.stderr) == ("run" in where), made.stderr
    told = slotmark("ingest", "logs", "-o", "ingested", cwd=tmp_path)
    assert "BFullnessGEq 0.9 rejects" in told.stderr
    assert "or --filter none" in told.stderr


def test_runs_of_other_work_are_refused(tmp_path: Path) -> None:
    first = made_up(tmp_path, 51, blocks=3)
    other = Cluster(2)
    other.forge(0, 10, 0, "root", None)
    other.forge(0, 30, 1, "tip", "root")
    second, _ = ingest(IngestRequest(logs=[str(other.write(tmp_path / "logs"))], out=tmp_path / "run"))
    with pytest.raises(ComparisonError, match="hosts is 3 and 2"):
        compare([first, second])
