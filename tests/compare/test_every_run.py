"""Every run of a side counts: for what is unequal, accepted, missing, or equal by chance. A baseline of 0 has a margin where its metric has one."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from slotmark.compare import Comparison, Policy, compare
from slotmark.compare.deciding.policy import Accepted, only, read_policy
from slotmark.compare.estimators.interface import How
from slotmark.compare.estimators.means import of_paired_levels
from slotmark.compare.looks import undecided
from slotmark.compare.results.rows import Design, Difference
from slotmark.errors import ComparisonError
from slotmark.metrics import catalogue, register
from slotmark.report import comparison_document
from slotmark.report.renderers.markdown import markdown
from slotmark.run import Run, Target
from slotmark.statistics.between_runs import RunMean, Spread
from slotmark.statistics.mean_difference import difference_of_runs
from slotmark.verdict import Verdict
from tests.compare.planted_runs import BENCH, FOLDER, Plant, levels, values_of, write_runs
from tests.made_up_runs import MACHINE


@pytest.fixture(autouse=True)
def registered() -> None:
    register(BENCH, FOLDER)


def runs(
    folder: Path, build: str, count: int, *, worse: float = 0.0, first: Sequence[float] | None = None
) -> list[Run]:
    """Runs that vary by 0.2 %, of which the first metric has these levels where they are given; not a number stands for none."""
    draws = np.random.default_rng(len(build))
    values = values_of(draws, levels(draws, Plant(sides=(1, 1), spread=0.002), count, 1.0) + np.log1p(worse))
    for run, level in zip(values, first or (), strict=bool(first)):
        run[0] = level
    return write_runs(folder, build, values)


def of_first(found: Comparison) -> Difference:
    one = next(row.differences[0] for row in found.rows if row.metric.id == "metric_0")
    assert one is not None
    return one


def answer(found: Comparison) -> str:
    assert found.decision is not None
    return found.decision.answer


def test_a_worse_build_among_runs_of_another_does_not_ship(tmp_path: Path) -> None:
    usual, worse = runs(tmp_path, "newer", 10), runs(tmp_path, "newest", 2, worse=0.03)

    def of_version(version: str, group: Sequence[Run]) -> list[Run]:
        target = Target(name="node", version=version)
        return [Run(run.path, msgspec.structs.replace(run.manifest, target=target)) for run in group]

    base = of_version("10.5", runs(tmp_path, "old", 12))
    assert answer(compare([base, of_version("10.5", [*usual, *worse])])) == "ship"  # as a control: of one build
    several = compare([base, [*of_version("10.5", usual), *of_version("10.6", worse)]])
    assert several.decision is not None
    assert several.decision.line.startswith("RUN AGAIN newer-0 (12 runs): warnings: builds_differ")
    # What isn't recorded differs from nothing.
    assert answer(compare([base, [*of_version("10.5", usual), *of_version("", worse)]])) == "ship"


@pytest.mark.parametrize(
    ("candidate", "verdict", "says"),
    [
        ((0.2, 0.202, 0.199), Verdict.WORSE, "+200 ms [+198 ms to +203 ms], beyond the margin of 1 ms; adjusted p"),
        ((0.0001, 0.0002, 0.0001), Verdict.EQUIVALENT, "lies within the margin of 1 ms"),
        ((0.0005, 0.0, 0.002), Verdict.UNDECIDED, "reaches beyond the margin of 1 ms upwards"),
        ((0.0, 0.0, 0.0), Verdict.EQUIVALENT, "all samples of both are 0"),
    ],
)
def test_from_a_baseline_of_0_the_least_difference_is_the_margin(
    tmp_path: Path, candidate: Sequence[float], verdict: Verdict, says: str
) -> None:
    usual = runs(tmp_path, "old", 3, first=(0.0, 0.0, 0.0))
    found = compare([usual, runs(tmp_path, "newer", 3, first=candidate)])
    one = of_first(found)
    assert (one.verdict, one.ratio) == (verdict, None)
    assert says in one.reason
    assert found.decision is not None
    expected = {Verdict.WORSE: "hold", Verdict.EQUIVALENT: "ship", Verdict.UNDECIDED: "run again"}[verdict]
    assert found.decision.answer == expected, found.decision.line
    text = markdown(comparison_document(found))
    if verdict == Verdict.WORSE:
        assert "worse in Metric 0 +200 ms (margin 1 ms)" in found.decision.line
        assert "Metric 0 is 200 ms higher" in text
        assert "(+200 ms) is worse with" in text
    if not any(candidate):
        assert "Metric 0 is the same" in text


def test_a_margin_in_the_metrics_unit_is_as_large_in_both_directions(tmp_path: Path) -> None:
    small, smaller = (0.0016, 0.00161, 0.0016), (0.0009, 0.00091, 0.0009)
    for name, sides in (("a", (small, smaller)), ("b", (smaller, small))):
        ours, theirs = (
            runs(tmp_path / name, build, 3, first=one) for build, one in zip(("old", "newer"), sides, strict=True)
        )
        one = of_first(compare([ours, theirs]))
        assert one.verdict == Verdict.EQUIVALENT, one.reason


def test_runs_that_are_equal_by_chance_are_no_certainty() -> None:
    def p(few: int, many: int, spread: Spread | None = None) -> float:
        ours, theirs = [RunMean(1.0)] * few, [RunMean(0.9)] * many
        return difference_of_runs(ours, theirs, spread, confidence=0.95, scale="identity").p

    assert p(2, 1, Spread(0.0, 1.0)) == pytest.approx(1 / 3)
    assert p(3, 3) == pytest.approx(1 / 20)
    assert p(1, 1, Spread(0.0, 9.0)) == pytest.approx(1 / 11)
    assert p(20, 20) < 1e-9
    rounds = np.array([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]])
    metric = catalogue(BENCH).metrics[0]
    designs: list[tuple[Design, float]] = [("paired rounds", 0.25), ("paired seeds", 0.0)]
    for over, least in designs:
        paired = of_paired_levels(metric, (rounds[0], rounds[1]), 1.0, "identity", over, How(0.95, None, 1, 1))
        assert paired.p == least
    nothing = difference_of_runs(
        [RunMean(float("nan"))], [RunMean(1.0)], Spread(1.0, 5.0), confidence=0.95, scale="identity"
    )
    assert np.isnan(nothing.delta.estimate)
    # By simulation: three values, each run drawn anew. How often are both sides equal in themselves and differ from each other?
    draws = np.random.default_rng(3).choice(3, (20_000, 6), p=[0.9, 0.05, 0.05])
    sides = draws[:, :3], draws[:, 3:]
    equal = np.all([(side == side[:, :1]).all(axis=1) for side in sides], axis=0)
    assert (equal & (sides[0][:, 0] != sides[1][:, 0])).mean() < 1 / 20


@pytest.mark.parametrize("order", [(0, 1, 1), (1, 0, 0), (1, 1, 0)])
def test_conditions_of_all_runs_are_compared_whatever_their_order(tmp_path: Path, order: Sequence[int]) -> None:
    machines = [MACHINE, msgspec.structs.replace(MACHINE, hostname_hash="another")]
    ours, theirs = runs(tmp_path, "old", 3), runs(tmp_path, "newer", 3)

    def on(side: Sequence[Run], places: Sequence[int]) -> list[Run]:
        return [
            Run(run.path, msgspec.structs.replace(run.manifest, machine=machines[place]))
            for run, place in zip(side, places, strict=True)
        ]

    def unequal(found: Comparison) -> list[str]:
        return [one.text for side in found.candidates for one in side.warnings if one.kind == "different"]

    (text,) = unequal(compare([on(ours, (0, 0, 0)), on(theirs, order)]))
    assert "another" in text
    assert not unequal(compare([on(ours, (0, 1, 0)), on(theirs, order)]))
    # Some runs don't record their machine.
    for place in range(3):
        side = on(theirs, (1, 1, 1))
        side[place] = Run(side[place].path, msgspec.structs.replace(side[place].manifest, machine=None))
        assert len(unequal(compare([on(ours, (0, 0, 0)), side]))) == 1


@pytest.mark.parametrize("begin", [("2026-12-31", "2027-01-05"), ("2027-01-05", "2026-12-31")])
def test_what_is_accepted_is_so_for_all_runs_or_for_none(tmp_path: Path, begin: Sequence[str]) -> None:
    ours, theirs = runs(tmp_path, "old", 4), runs(tmp_path, "newer", 2, worse=0.3)
    policy = Policy(
        accepted=[Accepted(metric=f"metric_{number}", reason="known", until="2026-12-31") for number in range(4)],
        warnings=(),
    )

    def began(days: Sequence[str]) -> list[Run]:
        return [
            Run(run.path, msgspec.structs.replace(run.manifest, started=f"{day}T10:00:00"))
            for run, day in zip(theirs, days, strict=True)
        ]

    assert answer(compare([ours, began(["2026-12-31"] * 2)], policy=policy)) == "ship"
    assert answer(compare([ours, began(begin)], policy=policy)) == "hold"


def test_a_metric_is_accepted_once(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    entry = "[[accepted]]\nmetric = 'metric_0'\nreason = 'x'\nuntil = '{}'\n"
    file.write_text(entry.format("10.7") + entry.format("10.9"))
    with pytest.raises(ComparisonError, match="'metric_0' is accepted twice"):
        read_policy(file, BENCH)


def test_nothing_ships_on_a_metric_that_some_runs_lack(tmp_path: Path) -> None:
    ours, theirs = runs(tmp_path, "old", 3), runs(tmp_path, "newer", 3)
    assert answer(compare([ours, theirs])) == "ship"
    lacking = runs(tmp_path, "newest", 3, first=(1.0, 1.0001, float("nan")))
    found = compare([ours, lacking])
    assert answer(found) == "run again"
    assert found.decision is not None
    assert [cause.reason for cause in found.decision.causes] == ["only 2 of 3 runs of newest (3 runs) have it"]
    # More rounds don't change it, so a session that goes on until all is decided ends with it.
    assert not undecided(found.decision)
    # Where one run on each side has it, it is compared by what varies within these, and a gate counts that.
    gate = only({"metric_0": 0.5}, BENCH, "gate")
    assert answer(compare([ours[:1], theirs[:1]], policy=gate)) == "ship"
    one = runs(tmp_path, "rarely", 2, first=(1.0, float("nan")))
    for sides in ([ours[:1], one], [one, ours[:1]]):
        alone = compare(sides, policy=gate).decision
        assert alone is not None and alone.answer == "run again"
        assert [cause.reason for cause in alone.causes] == ["only 1 of 2 runs of rarely (2 runs) have it"]
    worse = runs(tmp_path, "new-er", 3, worse=0.3, first=(1.3, 1.3001, float("nan")))
    held = compare([ours, worse]).decision
    assert held is not None
    assert {(cause.metric, cause.answer) for cause in held.causes} == {(f"metric_{n}", "hold") for n in range(4)}


def test_levels_of_two_sides_are_the_same_beside_a_third_that_lacks_the_metric(tmp_path: Path) -> None:
    ours, theirs = runs(tmp_path, "old", 3), runs(tmp_path, "newer", 3, worse=0.1)
    third = runs(tmp_path, "newest", 2, first=(float("nan"), float("nan")))
    alone, beside = (
        next(row for row in compare(sides).rows if row.metric.id == "metric_0")
        for sides in ([ours, theirs], [ours, theirs, third])
    )
    assert alone.fitted is not None and beside.fitted is not None
    assert beside.fitted == [*alone.fitted, None]
    difference = alone.differences[0]
    assert difference is not None and difference.delta is not None and alone.fitted[0] is not None
    assert alone.fitted[1] == pytest.approx(alone.fitted[0] + difference.delta.estimate)
