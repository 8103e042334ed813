"""Comparisons of the same blocks: what is planted is found, what isn't there is not, and what a reader must know is said."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from benchmarks.ledger.made_up_runs import made_up_run

from slotmark.compare import ALL, Blocks, Comparison, Difference, compare
from slotmark.compare.block_warnings import few_blocks
from slotmark.errors import ComparisonError
from slotmark.metrics import Analysis, catalogue
from slotmark.run import Run, RunWriter, SourceFile, Target


def made(
    folder: Path, *ratios: float, processes: int = 5, blocks: int = 400, factors: Sequence[tuple[str, str]] = ()
) -> list[Run]:
    return [
        made_up_run(
            folder / f"run-{index}",
            ratio,
            processes=processes,
            blocks=blocks,
            seed=index,
            factors=dict(zip(("ghc", "branch"), factors[index], strict=True)) if factors else {},
        )
        for index, ratio in enumerate(ratios)
    ]


def compared(runs: Sequence[Run]) -> Comparison:
    return compare(runs, repetitions=500)


def detail(found: Comparison) -> Blocks:
    (one,) = (detail for detail in found.details if isinstance(detail, Blocks))
    return one


def difference(found: Comparison, metric: str, part: str = ALL, quantity: str = "typical block") -> Difference:
    (row,) = (row for row in found.rows if (row.metric.id, row.part, row.quantity) == (metric, part, quantity))
    (one,) = row.differences
    assert one is not None
    return one


def test_a_planted_slowdown_is_found_in_total_mutator_and_phases(tmp_path: Path) -> None:
    found = compared(made(tmp_path, 1.0, 1.08))
    for metric in ("total_us", "mut_us", "block_apply_us"):
        one = difference(found, metric)
        assert one.verdict == "worse", (metric, one)
        assert one.ratio is not None
        assert one.ratio.low <= 1.08 <= one.ratio.high
        assert one.detail is not None
        assert one.detail.faster is not None
        assert one.detail.faster < 0.05
    assert difference(found, "gc_us", quantity="all blocks together").verdict != "worse"
    assert found.tests == sum(
        one is not None and one.p_adjusted is not None for row in found.rows for one in row.differences
    )


def test_blocks_are_split_by_what_they_hold(tmp_path: Path) -> None:
    found = compared(made(tmp_path, 1.0, 1.08, blocks=2_000))
    parts = {row.part: row for row in found.rows if row.metric.id == "total_us" and row.part}
    assert set(parts) == {
        "with a major GC", "without a major GC", "empty", "not empty", "below 10 kB", "10 to 40 kB", "from 40 kB",
    }  # fmt: skip
    halves = [
        of.detail.blocks
        for name in ("with a major GC", "without a major GC")
        if (of := difference(found, "total_us", name)).detail
    ]
    assert sum(halves) == 2_000
    assert all(one.verdict is None and one.ratio for row in parts.values() for one in row.differences if one)


def test_one_process_a_side_gets_no_verdict_and_is_told_so(tmp_path: Path) -> None:
    found = compared(made(tmp_path, 1.0, 1.5, processes=1))
    assert {one.verdict for row in found.rows for one in row.differences if one} == {"undecided", None}
    one = difference(found, "total_us")
    assert one.detail is not None
    assert (one.p, one.detail.detectable, one.detail.runs_needed) == (None, None, None)
    assert one.ratio is not None
    assert found.tests == 0
    assert [warning.kind for warning in found.all_warnings].count("one_process") == 1


def test_what_a_reader_must_know_is_said(tmp_path: Path) -> None:
    found = compared(made(tmp_path, 1.0, 1.0, blocks=60))
    kinds = {warning.kind for warning in found.all_warnings}
    assert {"clusters", "thin_quantiles", "coarse"} <= kinds
    assert "one_process" not in kinds
    more = compared(made(tmp_path / "more", 1.0, 1.0, blocks=500))
    assert "thin_quantiles" not in {warning.kind for warning in more.all_warnings}


def test_an_effect_of_few_blocks_is_named() -> None:
    baseline = np.full(1_000, 1_000.0)
    candidate = baseline.copy()
    candidate[7] += 40_000
    (warning,) = few_blocks(catalogue("ledger"), baseline, candidate, np.arange(0, 20_000, 20), 0.01)
    assert "1 of 1,000 blocks (slot 140)" in warning.text
    assert few_blocks(catalogue("ledger"), baseline, baseline * 1.05, np.arange(1_000), 0.01) == []
    assert few_blocks(catalogue("ledger"), baseline, baseline, np.arange(1_000), 0.01) == []


def test_short_phases_are_compared_by_their_sums(tmp_path: Path) -> None:
    found = compared(made(tmp_path, 1.0, 1.2))
    assert {row.quantity for row in found.rows if row.metric.id == "forecast_us"} == {"all blocks together"}


def test_factors_and_their_interaction_are_told_apart(tmp_path: Path) -> None:
    places = [("8.10", "base"), ("8.10", "split"), ("9.6", "base"), ("9.6", "split")]
    found = compared(made(tmp_path, 1.0, 1.1, 0.9, 1.1 * 0.9 * 1.2, factors=places, processes=8))
    effects = {effect.name: effect for effect in detail(found).factors}
    assert list(effects) == ["ghc 9.6 over 8.10", "branch split over base", "ghc 9.6 with branch split"]
    assert effects["ghc 9.6 with branch split"].interaction
    for name, truth in zip(effects, (0.9 * 1.2**0.5, 1.1 * 1.2**0.5, 1.2), strict=True):
        # Total time holds GC, which doesn't answer to what was planted.
        assert effects[name].ratio.estimate == pytest.approx(truth, rel=0.02), name
    ranking = detail(found).ranking
    assert ranking is not None
    assert np.argsort(ranking.mean_ranks).tolist() == [2, 0, 1, 3]


def test_bands_hold_blocks_of_about_one_cost(tmp_path: Path) -> None:
    """Three clusters of cost lie far apart: no band reaches from one into the next."""
    (found,) = detail(compared(made(tmp_path, 1.0, 1.05))).bands
    assert 10 <= len(found) <= 14
    assert sum(band.blocks for band in found) >= 390
    assert all(band.high / band.low < 2 for band in found)
    assert all(one.high < other.low for one, other in pairwise(found))
    assert all(band.blocks >= 8 for band in found)


def test_one_block_gets_no_ratio_and_says_why(tmp_path: Path) -> None:
    found = compared(made(tmp_path, 1.0, 1.1, blocks=1))
    one = difference(found, "total_us")
    assert (one.ratio, one.verdict) == (None, "undecided")
    assert one.reason == "one block doesn't show how blocks vary; record at least two"
    assert "clusters" not in {warning.kind for warning in found.all_warnings}


def test_threads_do_not_change_the_comparison(tmp_path: Path) -> None:
    runs = made(tmp_path, 1.0, 1.01, 1.02)
    one, other = (compare(runs, repetitions=300, threads=threads) for threads in (1, 3))
    assert one == other


def test_runs_over_other_blocks_are_refused(tmp_path: Path) -> None:
    (one,), (other,) = made(tmp_path / "a", 1.0, blocks=100), made(tmp_path / "b", 1.0, blocks=101)
    with pytest.raises(ComparisonError, match=r"did different work: blocks is 100 and 101"):
        compare([one, other])


def test_runs_of_one_target_are_put_together(tmp_path: Path) -> None:
    """Two folders of three processes are the same as one folder of all six."""
    one, more, other = made(tmp_path, 1.0, 1.01, 1.05, processes=3)
    together = _as_one_target(tmp_path / "together", one, more)
    parts = [_as_one_target(tmp_path / f"part-{run.name}", run) for run in (one, more)]
    whole, split = (compare([side, other], repetitions=300) for side in (together, parts))
    assert detail(split).processes == detail(whole).processes == [6, 3]
    assert split.rows == whole.rows
    assert split.details == whole.details
    assert split.baseline.name == "base (2 runs)"


def _as_one_target(folder: Path, *runs: Run, file: str = "", **changed: object) -> Run:
    """A run with the processes of some, of a target called ``base``."""
    tables, processes = [], 0
    for run in runs:
        table = run.table("blocks")
        number = pa.array(table["run"].to_numpy() + processes, pa.int32())
        tables.append(table.set_column(0, table.schema.field("run"), number))
        processes += run.manifest.parameters["processes"]
    manifest = msgspec.structs.replace(
        runs[0].manifest,
        target=Target("base", ""),
        parameters={**runs[0].manifest.parameters, "processes": processes},
        sources=[SourceFile(file, 1, file)] if file else [],
        tables={},
    )
    with RunWriter(folder) as writer:
        writer.table("blocks", pa.concat_tables(tables))
        return writer.finish(msgspec.structs.replace(manifest, **changed))


def test_what_is_no_run_of_the_same_target_is_refused(tmp_path: Path) -> None:
    one, more, other = made(tmp_path, 1.0, 1.0, 1.0, processes=2, blocks=60)
    base = _as_one_target(tmp_path / "base", one, file="a.csv")
    with pytest.raises(ComparisonError, match=r"base is a run of target 'base', run-1 of 'run-1'.*--target"):
        compare([[base, more], other])
    levels = {"target factors": {"ghc": "9.6"}, "processes": 2}
    with pytest.raises(ComparisonError, match=r"base has the factors none, levels has ghc=9.6"):
        compare([[base, _as_one_target(tmp_path / "levels", more, parameters=levels)], other])
    with pytest.raises(ComparisonError, match=r"were made from the same file, a.csv: one recording must"):
        compare([[base, _as_one_target(tmp_path / "again", more, file="a.csv")], other])
    with pytest.raises(ComparisonError, match=r"were made from the same file, a.csv"):
        compare([base, _as_one_target(tmp_path / "elsewhere", other, file="a.csv")])
    (longer,) = made(tmp_path / "longer", 1.0, processes=2, blocks=61)
    with pytest.raises(ComparisonError, match=r"base and longer did different work|base and run-0 did different work"):
        compare([[base, longer], other])


def test_runs_of_one_side_that_differ_are_named(tmp_path: Path) -> None:
    one, more, other, another = made(tmp_path, 1.0, 1.0, 1.0, 1.0, processes=2, blocks=60)
    base = _as_one_target(tmp_path / "base", one, target=Target("base", "", commit="aaa"))
    later = _as_one_target(tmp_path / "later", more, target=Target("base", "", commit="bbb"), session="tuesday")
    found = {warning.kind: warning for warning in compare([[base, later], other], repetitions=300).all_warnings}
    assert found["builds_differ"].text.startswith(
        "Its runs are of several builds, which differ in the commit: aaa, bbb."
    )
    assert found["builds_differ"].subject == "base (2 runs)"
    assert "not_interleaved" in found  # the candidate has no run of tuesday
    both = [other, _as_one_target(tmp_path / "other", another, target=other.manifest.target, session="tuesday")]
    kinds = {warning.kind for warning in compare([[base, later], both], repetitions=300).all_warnings}
    assert "not_interleaved" not in kinds


def test_a_metric_that_a_side_lacks_is_said_to_be_left_out(tmp_path: Path) -> None:
    one, other = made(tmp_path, 1.0, 1.0, blocks=60)
    table = other.table("blocks")
    place = table.schema.get_field_index("gc_us")
    with RunWriter(tmp_path / "without") as writer:
        writer.table("blocks", table.set_column(place, table.schema.field(place), pa.nulls(len(table), pa.int64())))
        without = writer.finish(msgspec.structs.replace(other.manifest, tables={}))
    for runs in ([one, without], [without, one]):
        found = compare(runs, repetitions=300)
        assert "gc_us" not in {row.metric.id for row in found.rows}
        assert [
            (warning.kind, warning.text.split("'")[1]) for warning in found.all_warnings if warning.kind == "lacking"
        ] == [("lacking", "GC time")]


def test_the_matrix_holds_processes_by_blocks(tmp_path: Path) -> None:
    (run,) = made(tmp_path, 1.0, processes=3, blocks=50)
    with Analysis(run) as analysis:
        matrix = analysis.samples("total_us").matrix()
    assert matrix.values.tolist() == run.table("blocks")["total_us"].to_numpy().reshape(3, 50).tolist()
    assert matrix.keys.tolist() == list(range(0, 1_000, 20))
