"""A bench that slotmark doesn't know, in a folder of its own, is analysed, compared and reported without a change elsewhere."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from slotmark.compare import Answer, Blocks, Comparison, Policy, compare, show_run, show_session
from slotmark.compare.deciding.decision import decide
from slotmark.compare.deciding.policy import only
from slotmark.compare.earlier import EarlierRuns, earlier_runs
from slotmark.compare.run_to_run.spread_table import refuse_other_runs
from slotmark.errors import ComparisonError, RunError
from slotmark.metrics import Analysis, catalogue, register
from slotmark.report import comparison_document, run_document, session_document, write_report
from slotmark.report.document import Figure
from slotmark.report.renderers.markdown import markdown
from slotmark.run import Run, RunWriter, Target
from slotmark.warnings import Warning
from tests.made_up_runs import bare_manifest

LAB = Path(__file__).parent / "lab"

QUANTITIES = {"heat": "mean", "glow": "mean", "pots": "typical", "energy": "typical block", "wait": "typical"}


@pytest.fixture(autouse=True)
def registered() -> None:
    register("lab", LAB)


def fired(
    folder: Path,
    target: str,
    *,
    hotter: float = 1.0,
    seed: int = 1,
    cold: int = 0,
    batches: int = 10,
    cools: float = 0.0,
    attempts: int = 5,
    tolls: int = 20,
    glaze: str = "celadon",
    warnings: Sequence[Warning] = (),
) -> Run:
    """A run of the made-up bench: readings of kilns, batches of pots, and what was spent on each pot."""
    draws = np.random.default_rng(seed)
    minutes, kilns = np.arange(300), 4
    readings = pa.table(
        {
            "kiln": [f"kiln-{kiln}" for kiln in range(kilns) for _ in minutes],
            "minute": np.tile(minutes, kilns),
            "kelvin": np.concatenate(
                [[273.0] * cold, 1_200 * hotter + draws.normal(0, 5, kilns * minutes.size - cold)]
            ),
        }
    )
    whole = 40 + draws.normal(0, 0.2, batches) - cools * np.arange(batches)
    pots = 200
    spent = 1_000 * hotter * np.exp(np.linspace(0, 1, pots) + draws.normal(0, 0.005, (attempts, pots)))
    energy = pa.table(
        {
            "attempt": np.repeat(np.arange(attempts), pots),
            "pot": np.tile(np.arange(pots), attempts),
            "spent": spent.ravel(),
        }
    )
    cracks = pa.table(
        {
            "toll": np.repeat(np.arange(tolls), 2),
            "shard": np.tile([1, 2], tolls),
            "waited": np.exp(draws.normal(0, 0.01, 2 * tolls)),
        }
    )
    manifest = bare_manifest(
        f"{target}-{seed}",
        "lab",
        Target(target, "1"),
        workload={"clay": "red"},
        parameters={"stoker": f"stoker-{seed}", "glaze": glaze},
        session="today",
        started="2026-01-01T00:00:00Z",
        ended="2026-01-01T05:00:00Z",
        warnings=list(warnings),
    )
    with RunWriter(folder) as writer:
        for name, table in (
            ("readings", readings),
            ("batches", pa.table({"batch": np.arange(1, batches + 1), "pots": whole})),
            ("energy", energy),
            ("cracks", cracks),
        ):
            writer.table(name, table)
        return writer.finish(manifest)


@pytest.fixture
def compared(tmp_path: Path) -> Comparison:
    return compare(
        [fired(tmp_path / "old", "old"), fired(tmp_path / "new", "new", hotter=1.1, seed=2)], repetitions=500
    )


def test_every_metric_is_compared_by_the_estimator_that_its_catalogue_names(compared: Comparison) -> None:
    found = {row.metric.id: row for row in reversed(compared.rows)}
    assert {name: row.quantity for name, row in found.items()} == QUANTITIES
    verdicts = {name: one.verdict for name, row in found.items() for one in row.differences if one}
    assert verdicts == {"heat": "worse", "glow": "worse", "pots": "equivalent", "energy": "worse", "wait": "equivalent"}
    assert any(isinstance(detail, Blocks) for detail in compared.details)
    assert compared.baseline.facts == [("kilns", "4")]


def test_its_odd_names_are_read_off_its_catalogue(compared: Comparison) -> None:
    """A kiln, a pot and a crack stand here for a host, a slot and a block: words, bands, axes and data of charts are of those."""
    found = {row.metric.id: row for row in reversed(compared.rows)}
    over = {name: one.basis.over for name, row in found.items() for one in row.differences if one and one.basis}
    assert (over["heat"], over["glow"], over["wait"]) == ("minutes", "kilns", "cracks")
    heat = found["heat"].summaries[0]
    assert heat is not None
    assert len(heat.band) > 10, "the lowest and the highest kiln at each centile"
    drawn = str([chart.draw() for chart in charts_of(compared)])
    assert "minute of the firing" in drawn
    assert "energy per pot per block, us" in drawn, "of repeated costs, not of the first metric"
    assert "'pot:Q'" in drawn or "'field': 'pot'" in drawn
    text = markdown(comparison_document(compared))
    assert "Blocks are paired by pot; " in text
    assert "Only cracks that both have count." in text
    assert "; cracks of one toll count as one)" in text
    assert not re.search(r"\b(slots?|hosts?|nodes?|clusters?|profiles?|clients?)\b", text, re.IGNORECASE)
    assert not [one for one in compared.all_warnings if one.kind == "different"], "stokers may differ"


def charts_of(compared: Comparison) -> list[Figure]:
    """All charts of its report."""
    document = comparison_document(compared)
    return [block for section in document.sections for block in section.blocks if isinstance(block, Figure)]


def test_every_renderer_shows_it(compared: Comparison, tmp_path: Path) -> None:
    page, paper, text, data, *_ = write_report(comparison_document(compared), compared, tmp_path / "out")
    assert paper.read_bytes().startswith(b"%PDF")
    for metric in catalogue("lab").metrics:
        assert metric.name in page.read_text()
        assert metric.name in text.read_text()
    report = json.loads(data.read_text())
    assert {row["metric"]["id"] for row in report["rows"]} == set(QUANTITIES)
    assert msgspec.json.decode(data.read_bytes(), type=Comparison) == compared


def decided(compared: Comparison, policy: Policy) -> Answer:
    """The decision of a policy on rows that were compared without it."""
    metrics = {metric.id: metric for metric in policy.applied(catalogue(compared.bench).metrics)}
    rows = [msgspec.structs.replace(row, metric=metrics[row.metric.id]) for row in compared.rows]
    decision = decide(msgspec.structs.replace(compared, rows=rows), list(metrics.values()), policy)
    assert decision is not None
    return decision.answer


def test_a_gate_looks_at_it(compared: Comparison) -> None:
    bench = compared.bench
    assert compared.decision is None, "its catalogue ranks nothing"
    every = [row.metric.id for row in compared.rows if row.metric.tested]
    assert decided(compared, only(dict.fromkeys(every), bench, "all")) == "hold"
    assert decided(compared, only({"pots": None}, bench, "pots")) != "hold"


def test_one_run_of_it_is_shown_with_its_warnings(tmp_path: Path) -> None:
    run = fired(tmp_path / "old", "old", cold=3)
    with Analysis(run) as analysis:
        assert [warning.text for warning in analysis.warnings()] == [
            "3 readings are below 300 K. See whether the fire was lit."
        ]
    shown = markdown(run_document(show_run(run)))
    assert "Heat" in shown
    assert "below 300 K" in shown


def test_earlier_runs_show_its_spread_where_they_are_set_up_alike(tmp_path: Path) -> None:
    compared = fired(tmp_path / "new", "new", seed=9)
    shelf = [fired(tmp_path / f"old {seed}", "old", seed=seed) for seed in (1, 2)]
    other = fired(tmp_path / "raku", "old", seed=3, glaze="raku")
    table, (left_out,) = earlier_runs(EarlierRuns("the shelf", [*shelf, other]), [compared])
    assert table is not None
    assert [one.id for one in table.run] == ["old-1", "old-2"]
    assert "of another glaze ('raku' there, and 'celadon' here): raku" in left_out.text
    with pytest.raises(ComparisonError, match="of the bench, pottery and work of new-9") as caught:
        earlier_runs(EarlierRuns("the shelf", [shelf[0], other]), [compared])
    assert "cluster" not in str(caught.value)
    elsewhere = msgspec.structs.replace(table, machine="a kiln of its own")
    with pytest.raises(ComparisonError, match="a table of the machine a kiln of its own, but new-9 is of no machine"):
        refuse_other_runs(elsewhere, tmp_path, [compared.manifest])
    ends = msgspec.structs.replace(table, profile_ends="raku")
    with pytest.raises(ComparisonError, match="its glazes end with 'raku', but new-9 has 'celadon'"):
        refuse_other_runs(ends, tmp_path, [compared.manifest])


def test_events_of_one_listener_have_its_words(tmp_path: Path) -> None:
    runs = [fired(tmp_path / name, name, tolls=tolls, seed=tolls) for name, tolls in (("old", 9), ("new", 8))]
    found = {(one.kind, one.text) for one in compare(runs, repetitions=500).all_warnings}
    assert {
        ("few_firings", "8 cracks, where 10 would do. Light the kilns again."),
        ("unheard", "2 cracks count for one listener."),
    } <= found


def test_conditions_that_estimators_see_have_its_own_words(tmp_path: Path) -> None:
    """Those of the estimator are there for conditions of which the bench has none."""
    few = [fired(tmp_path / name, name, batches=3, attempts=1, seed=seed) for seed, name in enumerate(("old", "new"))]
    found = {one.kind: one.text for one in compare(few, repetitions=500).all_warnings}
    assert found["few_firings"] == "3 rounds, where 5 would do. Light the kilns again."
    assert found["one_process"].startswith("One process: ")
    assert "few_rounds" not in found


def test_nothing_ships_on_a_condition_that_stops_by_its_own_words(tmp_path: Path) -> None:
    runs = [
        fired(tmp_path / name, name, batches=30, cools=cools, seed=seed)
        for seed, (name, cools) in enumerate((("steady", 0.0), ("cooling", 0.2)))
    ]
    (warning,) = (one for one in compare(runs, repetitions=500).all_warnings if one.kind == "cooling")
    assert warning.text.startswith("The kilns cooled from batch to batch (autocorrelation 0.")
    assert "drifting_rounds" not in catalogue("lab").stopping
    assert {"cooling", "not_interleaved", "different", "builds_differ"} == set(catalogue("lab").stopping)
    found = compare(runs, repetitions=500, policy=Policy(ranks={"pots": "decisive"}))
    assert found.decision is not None
    assert "cooling" in found.decision.line


def test_a_target_that_failed_is_known_by_its_own_words(tmp_path: Path) -> None:
    broke = catalogue("lab").warnings_on("failed", why="a draught")
    shown = markdown(
        session_document(show_session([fired(tmp_path / "old", "old", warnings=broke), fired(tmp_path / "new", "new")]))
    )
    assert [line.split("|")[2].strip() for line in shown.splitlines() if line.startswith(("| old", "| new"))] == [
        "failed",
        "39.92",
    ]


def test_a_bench_that_nobody_registered_is_refused(tmp_path: Path) -> None:
    run = fired(tmp_path / "run", "old")
    other = Run(run.path, msgspec.structs.replace(run.manifest, bench="pottery"))
    with pytest.raises(RunError, match="has no bench 'pottery'"):
        run_document(show_run(other))
