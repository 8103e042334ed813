"""The report of published tables: which method, from which runs, and what the files hold."""

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from slotmark import published
from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.simulate import load_profile
from slotmark.errors import ComparisonError
from slotmark.metrics import Analysis, catalogue, parse_filters
from slotmark.published import METHODS, publication, published_report
from slotmark.published.locli import LOWEST_HOSTS
from slotmark.published.styles import STYLES
from slotmark.report.document import Figure, Paragraph, Table
from slotmark.report.sections.published import published_document
from slotmark.run import Run
from tests.cluster.test_planted_truth import made_up
from tests.conftest import slotmark
from tests.made_up_runs import workload, write_run

SETTING = "decode, sequential"


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    folder = tmp_path_factory.mktemp("clusters")
    return {"ours": made_up(folder, 21, blocks=30), "theirs": made_up(folder, 22, slower=1.1, blocks=30)}


def test_catalogues_and_methods_name_each_other() -> None:
    assert {catalogue(bench).published for bench in ("chainsync", "cluster", "ledger")} == set(METHODS)


def test_a_bench_without_published_tables_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = write_run(tmp_path / "a", "a", {SETTING: [1_000]})
    without = msgspec.structs.replace(catalogue("chainsync"), published="")
    monkeypatch.setattr(published, "catalogue", lambda bench: without)
    with pytest.raises(ComparisonError, match="there are no published tables of chainsync"):
        published_report([{"a": run}])


@pytest.mark.parametrize("style", ["org", "typst"])
def test_tables_of_clusters_hold_what_is_printed_and_the_number_behind_it(clusters: dict[str, Run], style: str) -> None:
    ours, theirs = clusters.values()
    report = published_report([{"ours": ours}, {"theirs": theirs}], parse_filters(["none"], "cluster"), style)
    assert (report.method, [side.names for side in report.sides]) == ("locli", [["ours"], ["theirs"]])
    assert [side.manifests for side in report.sides] == [[ours.manifest], [theirs.manifest]]
    assert f"as its {style} reports do" in report.said
    (forging,) = [table for table in report.tables if table.title == "Forging"]
    assert forging.columns == ["", "ours", "theirs", "Δ", "Δ%"]
    (row,) = [row for row in forging.rows if row[0].text == f"{catalogue('cluster')['forge_ticked'].name}, s"]
    means = []
    for run in (ours, theirs):
        with Analysis(run, filters=[], published=True) as analysis:
            means.append(float(analysis.samples("forge_ticked").table["value"].to_numpy().mean()))
    change = means[1] - means[0]
    assert row[0].value is None
    assert [cell.value for cell in row[1:]] == pytest.approx([*means, change, 100 * change / means[0]], rel=1e-12)
    by, width = STYLES[style], catalogue("cluster")["forge_ticked"].width
    assert [cell.text for cell in row[1:]] == [
        *(by.cell(mean, width) for mean in means),
        by.delta(means[0], means[1], width),
        by.percent(means[0], means[1], width),
    ]
    counts = [row for row in forging.rows if row[0].text == "Sample count"]
    assert [[cell.text for cell in row[1:]] for row in counts] == (
        [] if style == "typst" else [["(29)", "(29)", "", ""]]
    )
    assert [cell.value for row in counts for cell in row[1:]] == ([] if style == "typst" else [29, 29, None, None])


def test_filters_of_the_profile_or_of_the_caller_are_written_down(clusters: dict[str, Run]) -> None:
    (own,) = published_report([clusters]).sides
    (asked,) = published_report([clusters], parse_filters(["BMinimumAdoptions 2"], "cluster")).sides
    assert own.filters == [
        str(one) for one in parse_filters(clusters["ours"].manifest.parameters.get("filters", []), "cluster")
    ]
    assert asked.filters == ["BMinimumAdoptions 2"]


def test_few_hosts_all_count(clusters: dict[str, Run]) -> None:
    (table,) = [table for table in published_report([clusters]).tables if table.title == "Resource usage"]
    with Analysis(clusters["ours"], published=True) as analysis:
        found = analysis.samples("forge_starts").table.group_by("host").aggregate([("value", "mean")])
    assert found.num_rows <= LOWEST_HOSTS
    starts = next(row for row in table.rows if row[0].text.startswith(catalogue("cluster")["forge_starts"].name))
    assert starts[1].value == pytest.approx(float(np.mean(found["value_mean"].to_numpy())), rel=1e-12)


def test_a_host_without_a_stretch_above_85_percent_counts_as_one_of_length_0(tmp_path: Path) -> None:
    profile = load_profile("value-only-10.5", ["hosts=5", "pools=5", "run.slots=900"])
    run, _ = simulate_direct(profile, 1, tmp_path / "run", lambda *_: None)
    with Analysis(run, published=True) as analysis:
        spans = analysis.samples("busy_span_slots").table
    of_hosts: dict[str, list[float]] = {}
    for host, length in zip(spans["host"].to_pylist(), spans["value"].to_pylist(), strict=True):
        of_hosts.setdefault(host, []).append(length)
    assert 0 < len(of_hosts) < 5
    (table,) = [one for one in published_report([{"run": run}]).tables if one.title == "Resource usage"]
    row = next(row for row in table.rows if row[0].text.startswith(catalogue("cluster")["busy_span_slots"].name))
    assert row[1].value == pytest.approx(sum(np.mean(one) for one in of_hosts.values()) / 5, rel=1e-12)


@pytest.mark.parametrize(("style", "label"), [("org", "Forge loop starts, #"), ("typst", "Forge loop starts, units")])
def test_a_count_has_a_sign_for_its_unit_only_in_the_established_tools_tables(
    clusters: dict[str, Run], style: str, label: str
) -> None:
    (table,) = [one for one in published_report([clusters], style=style).tables if one.title == "Resource usage"]
    assert label in [row[0].text for row in table.rows]
    ours = [metric.unit for bench in ("cluster", "ledger", "chainsync") for metric in catalogue(bench).metrics]
    assert {"s", "MB", "%", ""} <= set(ours)
    assert "#" not in ours


def test_documents_show_cells_as_printed(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", "a", {SETTING: [1_000, 2_000]})
    published = publication([{"a": run}])
    report, document = published.report, published_document(published)
    (section,) = document.sections
    assert (document.subtitle, section.brief) == (report.said, True)
    for block, table in zip(section.blocks, report.tables, strict=True):
        assert isinstance(block, Table)
        assert (block.title, block.notes) == (table.title, table.notes)
        assert [column.align for column in block.columns[: table.labels + 1]] == ["left"] * table.labels + ["right"]
        assert [[cell.text for cell in row] for row in block.rows] == [
            [cell.text for cell in row] for row in table.rows
        ]


def test_the_written_report_names_the_method_and_holds_its_numbers(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / "a", "a", {SETTING: [1_000, 2_000, 2_500]}).path,
        write_run(tmp_path / "b", "b", {SETTING: [500, 500, 500]}).path,
    ]
    reports = {}
    for method in ("slotmark", "published"):
        done = slotmark("compare", *runs, "--method", method, "-o", tmp_path / method)
        assert done.returncode == 0, done.stderr
        reports[method] = json.loads((tmp_path / method / "report.json").read_text(encoding="utf-8"))
    assert "Key deltas" in done.stdout
    found = reports["published"]
    assert (found["schema"], found["method"]) == (3, "chainsync-benchmark-2026")
    assert [(side["names"], side["manifests"][0]["target"]["name"]) for side in found["sides"]] == [
        (["a"], "a"),
        (["b"], "b"),
    ]
    (deltas,) = [table for table in found["tables"] if table["title"] == "Key deltas to a"]
    ((name, mode, change, relative),) = deltas["rows"]
    assert (name, mode["text"]) == ({"text": "b", "value": None}, SETTING)
    assert (change["text"], relative["text"]) == ("-1333.3", "-72.7%")
    assert (change["value"], relative["value"]) == pytest.approx((-4000 / 3, -800 / 11), rel=1e-12)
    assert reports["slotmark"]["rows"]
    assert not {"rows", "verdict"} & found.keys()
    assert not {"method", "tables"} & reports["slotmark"].keys()


def test_gates_decide_under_the_published_method_too(tmp_path: Path) -> None:
    for name, rates in (("a", [1_000 + 2 * n for n in range(10)]), ("b", [900 + 2 * n for n in range(10)])):
        write_run(tmp_path / name, name, {SETTING: rates})
    done = slotmark("compare", "a", "b", "--method", "published", "-o", "out", "--fail-on", "worse", cwd=tmp_path)
    assert (done.returncode, "HOLD b: worse in Blocks per second" in done.stderr) == (1, True), done.stderr
    assert json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))["method"]


def test_runs_of_other_work_have_no_published_tables_together(tmp_path: Path) -> None:
    write_run(tmp_path / "a", "a", {SETTING: [1_000]})
    write_run(tmp_path / "b", "b", {SETTING: [1_000]}, workload_facts=workload(blocks=500))
    done = slotmark("compare", "a", "b", "--method", "published", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "a and b did different work" in done.stderr


def _labels(table) -> list[str]:
    return [row[0].text for row in table.rows if row[0].text != "Sample count"]


@pytest.mark.parametrize(("style", "file"), [("org", "release-10.5.0"), ("typst", "release-10.6.2")])
def test_rows_have_the_labels_and_units_that_are_published(
    clusters: dict[str, Run], shared: Path, style: str, file: str
) -> None:
    printed = json.loads((shared / "published" / "releases" / f"{file}.value-only.json").read_text(encoding="utf-8"))
    assert printed["style"] == style
    report = published_report(
        [{name: run} for name, run in clusters.items()], parse_filters(["none"], "cluster"), style
    )
    for table in report.tables:
        rows = next(rows for title, rows in printed["sections"].items() if title.lower() == table.title.lower())
        theirs = [f"{row['metric']}, {row['unit']}" for row in rows]
        # What these runs do not record has no row.
        assert [label for label in theirs if label in _labels(table)] == _labels(table)
    manifest = report.manifest
    assert manifest is not None
    ours = [row[0].text for row in manifest.rows]
    assert [label for label in printed["manifest"] if label != "Analysis date"] == ours


def test_the_document_has_the_parts_of_a_published_report(clusters: dict[str, Run]) -> None:
    published = publication([{name: run} for name, run in clusters.items()], parse_filters(["none"], "cluster"))
    report, document = published.report, published_document(published)
    assert [section.title for section in document.sections] == [
        "",
        "Manifest",
        "Analysis",
        "Appendix A: charts",
        "Appendix B: data dictionary",
    ]
    assert report.compared.startswith("We compare theirs")
    assert " against ours" in report.compared
    assert "theirs against ours" in document.title
    charts = [block for block in document.sections[3].blocks if isinstance(block, Figure)]
    assert "0.50 adoption" in " ".join(chart.title for chart in charts)
    assert isinstance(how := document.sections[3].blocks[0], Paragraph)
    assert how.text == (
        "The share of samples up to each value. Shaded: from the lowest to the highest host. Linear axes end where 99.5 % of samples do."
    )
    assert not any("Network" in label for table in report.tables for label in _labels(table))
