"""The basis of a verdict is in every form: how many runs, blocks or hosts, which margin, and why."""

import io
import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
from benchmarks.ledger.made_up_runs import made_up_run
from rich.console import Console

from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.simulate import load_profile
from slotmark.compare import Comparison, Difference, compare
from slotmark.compare.deciding.policy import Policy
from slotmark.metrics import catalogue
from slotmark.report import comparison_document, print_document
from slotmark.report.renderers.html import html
from slotmark.report.renderers.json import json as as_json
from slotmark.report.renderers.markdown import markdown
from slotmark.run import Run
from slotmark.verdict import Conditional
from tests.compare.planted_courses import autoregressive
from tests.conftest import slotmark
from tests.differences import difference
from tests.made_up_runs import write_run

SEQUENTIAL = "decode, sequential"
SMALL = ("hosts=6", "pools=6", "run.slots=900", "genesis.epoch_slots=300")
NONE_DECIDES = Policy(
    ranks={metric.id: "important" for metric in catalogue("cluster").metrics if metric.rank == "decisive"}
)
SLOWER = ('forging.ledger_tick={mean="120ms", sigma=0.2}',)


def simulated(folder: Path, seed: int, *settings: str) -> Run:
    profile = load_profile("value-only-10.5", (*SMALL, *settings))
    return simulate_direct(profile, seed, folder / f"run-{seed}", lambda _done, _total: None)[0]


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Three runs of a cluster, then three whose ledger ticks take far longer."""
    folder = tmp_path_factory.mktemp("clusters")
    return [simulated(folder, seed, *(SLOWER if seed > 3 else ())) for seed in range(1, 7)]


@pytest.fixture(scope="module")
def once(clusters: Sequence[Run]) -> Comparison:
    return compare(
        [clusters[0], clusters[3]], policy=msgspec.structs.replace(NONE_DECIDES, conditional=Conditional.COUNT)
    )


def firm(comparison: Comparison) -> list[Difference]:
    return [one for one in judged(comparison) if one.verdict != "undecided"]


def judged(comparison: Comparison) -> list[Difference]:
    return [one for row in comparison.rows for one in row.differences if one and one.verdict]


def texts_of(comparison: Comparison) -> list[str]:
    """The report as Markdown, as HTML, and on a wide screen."""
    document = comparison_document(comparison)
    console = Console(width=160, record=True, color_system=None, file=io.StringIO())
    print_document(document, console)
    return [markdown(document), html(document), console.export_text()]


def test_one_run_a_side_gives_conditional_verdicts_in_every_form(once: Comparison) -> None:
    assert difference(once, "forge_ticked").verdict == "worse"
    assert all(one.conditional for one in firm(once))
    assert {"one_run_a_side"} <= {warning.kind for warning in once.all_warnings}
    *in_full, on_screen = texts_of(once)
    for text in (*in_full, on_screen):
        assert "▼¹" in text
        assert "¹ Conditional on these runs: nothing shows how much another run" in " ".join(text.split())
    # The terminal leaves out the sentence of each row that isn't decisive.
    assert all("worse, conditional on these runs." in text for text in in_full)
    as_data = json.loads(as_json(once))
    ticked = next(row for row in as_data["rows"] if row["metric"]["id"] == "forge_ticked")
    assert ticked["differences"][0]["conditional"] is True


@pytest.mark.parametrize("asked", list(Conditional))
def test_single_runs_whose_noise_may_hide_a_drift_get_verdicts_only_where_these_runs_are_asked_for(
    clusters: Sequence[Run], once: Comparison, asked: Conditional
) -> None:
    """13 blocks per side: ticks four times as long could be a drift of the level. What hosts have at their own level is no matter of drift."""
    found = compare([clusters[0], clusters[3]], policy=msgspec.structs.replace(NONE_DECIDES, conditional=asked))
    ticked = difference(found, "forge_ticked")
    assert ticked.ratio == difference(once, "forge_ticked").ratio
    if asked == Conditional.UNDECIDED:
        assert ticked.verdict == "undecided"
        assert "may hide a drift" in ticked.reason
        assert "Within these runs alone it is worse: +" in ticked.reason
        assert ticked.drift is not None
        assert ticked.drift.low < 1 < ticked.drift.high
        for text in texts_of(found):
            assert "?² undecided" in text
            assert "² The interval alone would show a verdict" in " ".join(text.split())
        assert difference(found, "heap_mib").drift is None
        assert difference(found, "heap_mib").verdict == difference(once, "heap_mib").verdict == "equivalent"
    else:
        assert ticked.verdict == "worse"
        assert ticked.drift is None
        assert not [text for text in texts_of(found) if "²" in text]


def test_where_a_build_was_run_again_they_are_not(clusters: Sequence[Run]) -> None:
    for sides in ([clusters[:2], clusters[3:5]], [clusters[:3], clusters[3:4]], [clusters[:1], clusters[3:]]):
        again = compare(sides)
        found = difference(again, "forge_ticked").basis
        assert found is not None
        # Two of their own, and at most as many again from the metrics of the same section.
        assert found.over == "runs"
        assert 2 <= found.degrees <= 4
        assert not any(one.conditional for one in judged(again) if one.basis and one.basis.over == "runs")
        assert not [warning for warning in again.all_warnings if warning.kind == "one_run_a_side"]
    three = compare([clusters[:3], clusters[3:]])
    assert not any(one.conditional for one in judged(three))
    found = difference(three, "slot_to_announced")
    assert found.verdict == "worse"
    assert found.basis is not None
    assert (found.basis.over, found.basis.counts) == ("runs", (3, 3))
    assert "¹" not in markdown(comparison_document(three)).split("## Method", maxsplit=1)[0]


def test_a_gate_counts_conditional_verdicts_unless_told_otherwise(clusters: Sequence[Run], tmp_path: Path) -> None:
    gate = tmp_path / "gate.toml"
    gate.write_text('forge_ticked = "2%"\n')

    def ended(*more: str) -> int:
        return slotmark("compare", clusters[0].path, clusters[3].path, "--gate", gate, *more).returncode

    assert ended() == 1
    assert ended("--conditional", "undecided") == 3
    assert ended("--conditional", "undecided", "--fail-on", "worse") == 0


def test_levels_are_compared_over_hosts_and_the_row_says_so(once: Comparison) -> None:
    for metric in ("rss_mib", "heap_mib", "live_mib"):
        found = difference(once, metric)
        assert found.basis is not None
        assert (found.basis.over, found.basis.counts) == ("matched hosts", (6, 6)), metric
    assert "over 6 matched hosts per side" in html(comparison_document(once))


def test_blocks_say_how_many_independent_ones_they_are_worth(once: Comparison) -> None:
    found = difference(once, "forge_ticked").basis
    assert found is not None
    assert found.over == "blocks"
    assert all(4 <= one <= count for one, count in zip(found.effective, found.counts, strict=True))


def test_what_nobody_recorded_is_no_test(once: Comparison) -> None:
    (row,) = (row for row in once.rows if row.metric.id == "net_read_kib")
    assert (row.summaries, row.differences) == ([None, None], [None])
    text = markdown(comparison_document(once))
    (said,) = (line for line in text.splitlines() if line.startswith("Not recorded on any side:"))
    assert "network reads" in said
    # Of the tables only the data dictionary has it.
    (line,) = (one for one in text.splitlines() if one.startswith(f"| {row.metric.name}"))
    assert row.metric.definition.split(";", maxsplit=1)[0] in line


def test_an_absolute_margin_stands_in_the_row_and_in_the_reason(once: Comparison) -> None:
    absolute = [
        (row, one)
        for row in once.rows
        for one in row.differences
        if one and one.verdict == "equivalent" and one.margin_absolute is not None
    ]
    tested = [one.p is not None for _, one in absolute]
    assert any(tested)
    for (row, one), with_p in zip(absolute, tested, strict=True):
        assert one.margin_absolute == row.metric.least
        assert ("of the baseline)" in one.reason) == with_p, one.reason
    text = markdown(comparison_document(once))
    assert "± 0.5 ms" in text
    assert "± 2 %" in text


def test_counts_are_not_said_to_fall_below_zero(once: Comparison) -> None:
    nonnegative = [
        one
        for row in once.rows
        for one in row.differences
        if one and one.ratio and all(summary and summary.minimum >= 0 for summary in row.summaries)
    ]
    assert nonnegative
    assert all(one.ratio.low >= 0 for one in nonnegative if one.ratio)


def ledger(folder: Path, processes: int) -> Comparison:
    runs = [
        made_up_run(folder / f"{processes}-{place}", ratio, processes=processes, blocks=60, seed=place, factors={})
        for place, ratio in enumerate((1.0, 1.3))
    ]
    return compare(runs, repetitions=300)


@pytest.mark.parametrize(("processes", "kind"), [(1, "one_process"), (2, "two_processes")])
def test_processes_below_three_give_no_verdict(tmp_path: Path, processes: int, kind: str) -> None:
    found = ledger(tmp_path, processes)
    assert {one.verdict for one in judged(found)} == {"undecided"}
    assert found.tests == 0
    assert kind in {warning.kind for warning in found.all_warnings}


def test_three_processes_give_one_that_is_not_conditional(tmp_path: Path) -> None:
    found = ledger(tmp_path, 3)
    worse = [one for one in judged(found) if one.verdict == "worse"]
    assert worse
    assert not any(one.conditional for one in judged(found))
    assert worse[0].basis is not None
    assert (worse[0].basis.over, worse[0].basis.counts) == ("processes", (3, 3))
    assert worse[0].detail is not None
    assert worse[0].detail.effective_blocks is not None


def session(folder: Path, name: str, rates: np.ndarray, session: str = "s1") -> Run:
    return write_run(folder / name, name, {SEQUENTIAL: list(rates)}, session=session)


def test_two_sessions_are_conditional_and_one_is_not(tmp_path: Path) -> None:
    rates = 3_000 * np.exp(np.random.default_rng(1).normal(0, 0.004, (2, 10)))
    rates[1] *= 1.3
    together = compare([session(tmp_path, "a", rates[0]), session(tmp_path, "b", rates[1])])
    apart = compare([session(tmp_path, "c", rates[0]), session(tmp_path, "d", rates[1], "s2")])
    assert not any(one.conditional for one in judged(together))
    assert all(one.conditional for one in firm(apart))
    assert firm(apart)


def test_rounds_whose_ratio_drifts_are_warned_of(tmp_path: Path) -> None:
    noise = autoregressive(0.0)(np.random.default_rng(1), 1, 30)[0]
    drift = autoregressive(0.9)(np.random.default_rng(2), 1, 30)[0]
    runs = [session(tmp_path, name, 3_000 * np.exp(0.01 * one)) for name, one in (("a", noise / 10), ("b", drift))]
    (warning,) = (one for one in compare(runs).all_warnings if one.kind == "drifting_rounds")
    assert warning.subject == f"b: {SEQUENTIAL}"
    assert warning.text.startswith("The ratios of consecutive rounds are correlated (autocorrelation 0.")
    steady = [session(tmp_path, name, 3_000 * np.exp(0.01 * one)) for name, one in (("c", noise), ("d", noise[::-1]))]
    assert "drifting_rounds" not in {one.kind for one in compare(steady).all_warnings}


def test_the_reason_of_every_verdict_is_in_every_form(tmp_path: Path) -> None:
    rates = 3_000 * np.exp(np.random.default_rng(3).normal(0, 0.05, (2, 6)))
    found = compare([session(tmp_path, "a", rates[0]), session(tmp_path, "b", rates[1])])
    one = next(row for row in found.rows if row.metric.id == "blocks_per_s").differences[0]
    assert one is not None
    assert one.verdict == "undecided"
    document = comparison_document(found)
    console = Console(width=250, record=True, color_system=None, file=io.StringIO())
    print_document(document, console)
    for text in (console.export_text(), markdown(document), html(document)):
        assert f"{one.reason}; over 6 rounds per side" in text


def test_what_differs_but_not_among_many_tests_is_not_called_nothing(clusters: Sequence[Run]) -> None:
    found = compare([clusters[0], clusters[1]], margins={"forge_forged": 0.0, "peer_fetched": 0.0})
    text = markdown(comparison_document(found))
    alone = [
        row.metric.name
        for row in found.rows
        for one in row.differences
        if one and one.verdict == "undecided" and one.excludes_none and one.p_adjusted and one.p_adjusted >= 0.05
    ]
    none = [
        row.metric.name
        for row in found.rows
        for one in row.differences
        if one and one.verdict == "undecided" and one.p_adjusted and not one.excludes_none
    ]
    assert none, "seeds differ in chance only"
    said = [line for line in text.splitlines() if "undecided, no difference seen" in line]
    assert len(said) == 1
    assert not any(f" {name.lower()}" in said[0].lower().split(": ", 2)[2].split(", ") for name in alone)
    if alone:
        assert f"different if tested alone, but among {found.tests} tests that happens by chance" in text


def test_compare_reports_how_far_it_is(clusters: Sequence[Run]) -> None:
    steps: list[tuple[int, int, str]] = []
    compare([clusters[0], clusters[3]], progress=lambda done, total, what: steps.append((done, total, what)))
    total = len(catalogue("cluster").metrics)
    assert [(done, of) for done, of, _ in steps] == [(place, total) for place in range(total + 1)]
    assert steps[-1][2] == "where differences come from"
