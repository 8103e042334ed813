"""Runs from the tables of published reports: what is taken over, what is refused, and what they say in a comparison."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from slotmark.compare import compare
from slotmark.errors import ComparisonError, ImportFileError
from slotmark.metrics import Analysis, catalogue
from slotmark.published.archive import column_of, metrics_of, read_report, unknown_rows, write_run
from slotmark.published.styles import STYLES
from slotmark.report import comparison_document
from slotmark.report.document import Figure
from slotmark.run import Run, open_run
from tests.differences import difference

Command = Callable[..., "CompletedProcess[str]"]


def content(**other: Any) -> dict[str, Any]:
    return {
        "report": "one-report",
        "style": "org",
        "workload": "value-only",
        "versions": ["old", "new"],
        "manifest": {
            "Cluster system start date": ["2025-01-01", "2025-02-01"],
            "Cluster system start time": ["10:00:00", "11:00:00"],
            "cardano-node version": ["1.0", "1.1"],
            "cardano-node git": ["aaaaaaa", "bbbbbbb"],
            "GHC version": ["9.6.5", "9.6.5"],
            "TPS": ["12.0", "12.0"],
            "Plutus script": ["—", "—"],
            "Machines": ["52", "52"],
        },
        "sections": {
            "Forging": [{"metric": "Ledger ticking", "unit": "s", "values": ["0.02126", "0.03"]}],
            "End-to-end propagation": [{"metric": "0.50 adoption", "unit": "s", "values": ["0.61001", "—"]}],
        },
    } | other


def written(folder: Path, **other: Any) -> Path:
    file = folder / "report.json"
    file.write_text(json.dumps(content(**other)), encoding="utf-8")
    return file


def runs(file: Path, folder: Path) -> list[Run]:
    report = read_report(file)
    return [write_run(file, report, place, folder / str(place)) for place in range(len(report.versions))]


def test_a_run_has_what_is_printed_and_nothing_else(tmp_path: Path) -> None:
    first, second = runs(written(tmp_path), tmp_path)
    figures = open_run(first.path).table("figures").to_pylist()
    assert [(one["metric"], one["value"], one["text"]) for one in figures] == [
        ("forge_ticked", 0.02126, "0.02126"),
        ("adopted_by_050", 0.61001, "0.61001"),
    ]
    assert second.table("figures")["metric"].to_pylist() == ["forge_ticked"]  # a dash is no value
    manifest = first.manifest
    assert (manifest.origin, manifest.bench, manifest.started) == ("published", "published", "2025-01-01T10:00:00Z")
    assert (manifest.target.name, manifest.target.version, manifest.target.commit) == ("old", "1.0", "aaaaaaa")
    assert manifest.workload == {"workload": "value-only", "TPS": "12.0", "hosts": "52"}
    assert manifest.machine is None
    with Analysis(first) as analysis:
        assert analysis.samples("forge_ticked").values("").tolist() == [0.02126]
        assert analysis.samples("rss_mib").table.num_rows == 0


@pytest.mark.parametrize("style", STYLES)
def test_the_range_of_a_printed_number_holds_every_number_that_is_printed_so(style: str) -> None:
    by = STYLES[style]
    for exponent in range(-6, 5):
        for digits in (1.0, 1.26349, 3.00004, 5.5, 9.99996):
            for width in (3, 4, 5, 7):
                value = digits * 10.0**exponent
                low, high = by.printed_from(float(by.cell(value, width)), width)
                assert low <= value * (1 + 1e-12), (value, width)
                assert value <= high * (1 + 1e-12), (value, width)
                assert by.cell(high + (high - low), width) != by.cell(value, width), (value, width)


def test_rows_that_are_no_metric_are_named_and_left_out(tmp_path: Path) -> None:
    rows = {
        "Forging": [{"metric": name, "unit": "s", "values": ["1.0", "2.0"]} for name in ("Ledger ticking", "Magic")]
    }
    file = written(tmp_path, sections=rows)
    assert unknown_rows(read_report(file)) == ["Magic, s"]
    run, _ = runs(file, tmp_path)
    (warning,) = [one for one in run.manifest.warnings if one.kind == "unknown_rows"]
    assert "Magic, s" in warning.text
    assert run.table("figures").num_rows == 1


def test_single_values_without_a_spread_decide_nothing(tmp_path: Path) -> None:
    of_another_cluster = content()["manifest"] | {"Machines": ["10", "10"]}
    comparison = compare(runs(written(tmp_path, manifest=of_another_cluster), tmp_path))
    assert comparison.line.startswith("RUN AGAIN")
    assert difference(comparison, "forge_ticked").verdict == "undecided"
    assert difference(comparison, "forge_ticked").basis is None


def test_runs_of_the_benchmarking_cluster_differ_by_the_table_that_comes_with_slotmark(tmp_path: Path) -> None:
    comparison = compare(runs(written(tmp_path), tmp_path))
    found = difference(comparison, "forge_ticked")
    assert found.basis is not None
    assert (found.basis.over, found.basis.source) == ("runs", "reference-52, 10 pairs")
    assert found.ratio is not None
    # The table's standard deviation of a run is 8 %: two runs differ by 11 %, known from 6 degrees of freedom.
    assert 1.3 < found.ratio.high / found.ratio.estimate < 1.5


def test_a_planted_regression_beyond_the_spread_holds(tmp_path: Path) -> None:
    for slower, answer in ((1.02, "RUN AGAIN"), (1.5, "HOLD")):
        rows = [
            {"metric": name, "unit": "s", "values": [f"{level:.4f}", f"{level * slower:.4f}"]}
            for name, level in (("0.50 adoption", 0.61), ("0.96 adoption", 1.02))
        ]
        folder = tmp_path / answer
        folder.mkdir()
        comparison = compare(runs(written(folder, sections={"End-to-end propagation": rows}), folder))
        assert comparison.line.startswith(answer), comparison.line
        assert comparison.line.endswith("run-to-run variation assumed: reference-52, 10 pairs")


def test_no_release_of_the_archive_is_held_by_its_single_runs(shared: Path, tmp_path: Path) -> None:
    files = sorted((shared / "published" / "releases").glob("release-*.json"))
    assert len(files) > 3
    for file in files:
        report = read_report(file)
        made = [
            write_run(file, report, place, tmp_path / file.stem / str(place)) for place in range(len(report.versions))
        ]
        line = compare(made).line
        assert line.startswith(("SHIP", "RUN AGAIN")), line
        assert line.endswith("run-to-run variation assumed: reference-52, 10 pairs"), line


def test_a_report_of_single_values_has_no_chart_of_samples(tmp_path: Path) -> None:
    document = comparison_document(compare(runs(written(tmp_path), tmp_path)))
    assert not [block for section in document.sections for block in section.blocks if isinstance(block, Figure)]


def test_one_run_in_two_reports_is_one_run(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    ours, theirs = written(tmp_path), written(tmp_path / "other", report="another", style="typst")
    first = write_run(ours, read_report(ours), 0, tmp_path / "a")
    again = write_run(theirs, read_report(theirs), 0, tmp_path / "b")
    with pytest.raises(ComparisonError, match="are one run"):
        compare([first, again])


def test_columns_are_named_or_numbered(tmp_path: Path) -> None:
    file = written(tmp_path, versions=["10.5", "10.5"])
    report = read_report(file)
    assert column_of(file, report, "2") == 1
    with pytest.raises(ImportFileError, match=r"2 columns are named '10\.5'\. Give its number"):
        column_of(file, report, "10.5")
    with pytest.raises(ImportFileError, match=r"no column 'x'.* It has 10\.5 and 10\.5"):
        column_of(file, report, "x")
    for named in ("0", "3", "-1", "²"):
        with pytest.raises(ImportFileError, match="no column"):
            column_of(file, report, named)


TOO_LONG = [{"metric": "Ledger ticking", "unit": "s", "values": ["1.0"]}]
TWICE = [{"metric": "Ledger ticking", "unit": "s", "values": ["1.0", "2.0"]}] * 2


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"versions": [], "manifest": {}, "sections": {}}, "versions is empty"),
        ({"sections": {}}, "sections have no row"),
        ({"style": "pdf"}, "style is 'pdf', and org and typst are known"),
        ({"sections": {"Forging": TOO_LONG}}, "Forging, 'Ledger ticking': 1 value for 2 runs"),
        ({"sections": {"Forging": TWICE}}, "the row is there twice"),
        (
            {"sections": {"F": [{"metric": "M", "unit": "s", "values": ["1.0", "inf"]}]}},
            "column 'new': 'inf' is no number",
        ),
        ({"sections": {"F": [{"metric": "M", "unit": "s", "values": ["1.0", "$(id)"]}]}}, "is no number"),
        ({"manifest": {"Era": ["conway"]}}, "manifest, 'Era': 1 value for 2 runs"),
        ({"sections": [1]}, "Expected `object`"),
    ],
)
def test_what_is_no_report_is_refused_in_one_line(
    other: dict[str, Any], said: str, tmp_path: Path, command: Command
) -> None:
    file = written(tmp_path, **other)
    ended = command("published", "compare", file)
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert said in ended.stderr
    assert str(file) in ended.stderr


@pytest.mark.parametrize("text", ["", "{", "[]", "null", json.dumps(content())[:-40], "\xff\xfe", "[" * 100_000])
def test_a_cut_file_is_refused_in_one_line(text: str, tmp_path: Path, command: Command) -> None:
    file = tmp_path / "cut.json"
    file.write_text(text, encoding="latin-1")
    for arguments in (("show", file), ("compare", file), ("import", file, "1", "-o", tmp_path / "run")):
        ended = command("published", *arguments)
        assert ended.returncode == 2
        assert ended.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_names_of_a_stranger_are_text(tmp_path: Path, command: Command) -> None:
    name = "../[red]x\x1b[31m\u202e{0}"
    file = written(tmp_path, versions=[name, "new"], report="a/b", workload="[bold]w")
    for arguments in (("show", file), ("compare", file)):
        ended = command("published", *arguments)
        assert ended.returncode == 0, ended.stderr
        assert "\x1b[31m" not in ended.stdout
        assert "../[red]x" in ended.stdout
    command("published", "import", file, "1", "-o", tmp_path / "run")
    assert open_run(tmp_path / "run").manifest.target.name.startswith("../[red]x")


def test_a_column_becomes_a_run_that_other_commands_read(tmp_path: Path, command: Command) -> None:
    file = written(tmp_path)
    for place in ("1", "new"):
        ended = command("published", "import", file, place, "-o", tmp_path / place)
        assert ended.returncode == 0, ended.stderr
        assert "Only one printed value per metric" in ended.stderr
    shown = command("show", tmp_path / "1")
    assert "origin: published" in shown.stdout
    compared = command("compare", tmp_path / "1", tmp_path / "new")
    assert compared.returncode == 0, compared.stderr
    assert "RUN AGAIN new" in compared.stdout
    # With a policy the exit code is that of the decision, as of compare.
    policy = tmp_path / "policy.toml"
    policy.write_text("", encoding="utf-8")
    for options, code in (((), 0), (("--policy", policy), 3)):
        ended = command("published", "compare", file, *options)
        assert (ended.returncode, "RUN AGAIN new" in ended.stdout) == (code, True), ended.stderr


def test_a_run_that_two_files_print_counts_once(tmp_path: Path, command: Command) -> None:
    (tmp_path / "more").mkdir()
    ours, theirs = written(tmp_path), written(tmp_path / "more", report="another")
    ended = command("published", "compare", ours, theirs, "--json")
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("counts once") == 2
    assert len(json.loads(ended.stdout)["candidates"]) == 1


def test_every_row_of_the_archive_is_a_metric(shared: Path) -> None:
    files = sorted((shared / "published" / "releases").glob("*.json"))
    assert len(files) >= 37
    for file in files:
        report = read_report(file)
        assert unknown_rows(report) == [], file
        assert set(metrics_of(report).values()) <= {metric.id for metric in catalogue("cluster").metrics}
