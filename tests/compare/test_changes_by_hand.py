"""Stages by place and their changes, of a few hosts and blocks: every number worked out by hand."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from slotmark.compare.attribution import stage_cells
from slotmark.compare.attribution.changes import changes
from slotmark.compare.attribution.outlier_places import outlier_places
from slotmark.compare.attribution.stage_cells import Observed, cells_of
from slotmark.compare.results.attribution import Change
from slotmark.metrics import catalogue

Cell = tuple[str, str]

HOSTS = [f"node-{number}" for number in range(8)]
ALONE: list[Cell] = [("", host) for host in HOSTS]
SENT: list[Cell] = [(sender, host) for sender in HOSTS for host in HOSTS if sender != host]
REGIONS = dict(zip(HOSTS, ["a", "a", "b", "b", "b", "c", "c", "c"], strict=True))


def run(values: Mapping[Cell, Sequence[float]], step: int = 0, first: int = 0) -> dict[str, Observed]:
    """A run with one stage: how long each block took there, blocks counted from 0 on, on the last host from another."""
    begin = dict.fromkeys(values, 0) | {max(values): first}
    return {
        f"stage {step}": Observed(
            step,
            {cell: begin[cell] + np.arange(len(of)) for cell, of in values.items()},
            {cell: np.array(of, float) for cell, of in values.items()},
            {cell: len(of) for cell, of in values.items()},
        )
    }


def steady(cells: Sequence[Cell], by: Mapping[Cell, float], step: int = 0) -> dict[str, Observed]:
    """A run whose blocks take 70 ms and 0.1 ms more or less, and in some cells so much longer."""
    return run(
        {
            cell: [0.07 + by.get(cell, 0.0) + 1e-4 * (-1) ** (at + block) for block in range(20)]
            for at, cell in enumerate(cells)
        },
        step,
    )


def named(cells: Sequence[Cell], *by: Mapping[Cell, float]) -> list[Change]:
    """The changes between two runs, a stage each by what it takes longer."""
    how = catalogue("cluster").stage_cells
    assert how
    sides = [
        [
            {
                stage: one
                for step, of in enumerate(by)
                for stage, one in steady(cells, of if changed else {}, step).items()
            }
        ]
        for changed in (False, True)
    ]
    found = changes(how, cells_of(sides, REGIONS), 0.95)
    assert found
    return found.found


@pytest.mark.parametrize("longer", [0.002, -0.002])
def test_what_takes_shorter_has_changed_too_and_less_than_a_millisecond_does_not_matter(longer: float) -> None:
    (found,) = named(ALONE, dict.fromkeys(ALONE, longer))
    assert (found.stage, found.kind, found.places) == ("stage 0", "", [])
    assert found.delta.estimate == pytest.approx(longer)
    assert named(ALONE, dict.fromkeys(ALONE, longer / 4)) == []


def test_a_change_is_named_beside_a_larger_one_down_to_a_tenth_of_it() -> None:
    """A cause counts by its square: 4 ms beside 20 ms are a twenty-fifth, 1.5 ms less than a hundredth."""
    found = named(ALONE, *(dict.fromkeys(ALONE, longer) for longer in (0.020, 0.004, 0.0015)))
    assert [(one.stage, round(one.delta.estimate, 6)) for one in found] == [("stage 0", 0.02), ("stage 1", 0.004)]


@pytest.mark.parametrize(
    ("slow", "kind", "places"),
    [
        ([cell for cell in SENT if cell[0] == "node-2"], "sender", ["node-2"]),
        ([cell for cell in SENT if cell[1] == "node-2"], "host", ["node-2"]),
        ([cell for cell in SENT if set(cell) == {"node-6", "node-2"}], "hosts", ["node-2", "node-6"]),
        ([cell for cell in SENT if REGIONS[cell[1]] == "b"], "region", ["b"]),
        ([cell for cell in SENT if {REGIONS[one] for one in cell} == {"c", "a"}], "regions", ["a", "c"]),
    ],
)
def test_a_change_is_of_the_place_that_has_all_of_it(slow: list[Cell], kind: str, places: list[str]) -> None:
    """A sender, a receiver, two hosts, a region, two regions: none is taken for another."""
    (found,) = named(SENT, dict.fromkeys(slow, 0.02))
    assert (found.kind, found.places) == (kind, places)
    assert found.delta.estimate == pytest.approx(0.02)


def test_blocks_are_the_chance_of_a_single_run_and_runs_of_several() -> None:
    one, several = [10, 12, 10, 12], ([20, 22, 20, 22], [24, 26, 24, 26])
    cell = ("", "node-0")
    sides = [[run({cell: one})], [run({cell: of}) for of in several]]
    (found,) = cells_of(sides, {})
    all_ = found.together(np.zeros(1, int), 1)
    # The baseline's blocks are 1 from their mean, four of them: 4/3 * 4/16. The candidate's are 3 and 1 from 23, eight of them: 8/7 * 40/64.
    variances = 1 / 3, 5 / 7
    assert (all_.baseline[0], all_.candidate[0], all_.differences[0]) == (11, 23, 12)
    assert all_.errors[0] == pytest.approx(sum(variances) ** 0.5)
    # Blocks of the same number in two runs are two blocks, so that there are eight.
    assert all_.degrees[0] == pytest.approx(sum(variances) ** 2 / (variances[0] ** 2 / 3 + variances[1] ** 2 / 7))
    # Where both sides have two runs, their means are 2 from the side's: 2 * (4 + 4) / 4 on each side.
    sides = [[run({cell: [less - 9 for less in of]}) for of in several], sides[1]]
    (found,) = cells_of(sides, {})
    all_ = found.together(np.zeros(1, int), 1)
    assert all_.differences[0] == 9
    assert all_.errors[0] == pytest.approx((4 + 4) ** 0.5)
    assert all_.degrees[0] == pytest.approx(2)


def test_a_place_that_one_of_several_runs_has_is_not_compared() -> None:
    """It has no two runs by which chance would show."""
    here, there = ("", "node-0"), ("", "node-1")
    whole, part = run({here: [1, 2, 3], there: [1, 2, 3]}), run({here: [2, 3, 4]})
    (found,) = cells_of([[whole, whole], [whole, part]], {})
    assert found.names == [here]


def test_places_with_few_blocks_are_taken_together_where_both_sides_have_them() -> None:
    """A host that only the baseline logged would be a difference between the two sides."""
    few: dict[Cell, list[float]] = {("", "node-1"): [5, 7], ("", "node-2"): [6, 6]}
    usual = run({("", "node-0"): [100.0] * 10, **few}, first=2)
    other = run({cell: [one + 1 for one in of] for cell, of in few.items()}, first=2)
    (found,) = cells_of([[usual], [other]], dict.fromkeys(HOSTS, "a"))
    assert (found.names, found.groups) == ([("", "")], [("", "a")])
    assert found.means.tolist() == [[6.0], [7.0]]


def test_cells_of_long_runs_give_what_those_of_short_ones_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells and blocks that are too many to be laid out go another way, to the same figures."""
    draws = np.random.default_rng(1)
    sides = [
        [run({cell: draws.normal(70, 5, 3 + place % 5).tolist() for place, cell in enumerate(SENT)})] for _ in range(2)
    ]
    (found,) = cells_of(sides, REGIONS)
    which = np.array([HOSTS.index(host) for _, host in found.names])
    usual = found.together(which, len(HOSTS))
    monkeypatch.setattr(stage_cells, "MOST_LAID_OUT", 0)
    other = found.together(which, len(HOSTS))
    for name in usual.__struct_fields__:
        assert getattr(other, name) == pytest.approx(getattr(usual, name)), name


@pytest.mark.parametrize("longer", [0.02, -0.02])
def test_a_host_differs_by_what_it_takes_beyond_the_others(longer: float) -> None:
    """All hosts take 5 ms more, one 20 ms more or less than that."""
    by = {cell: 0.005 + (longer if cell == ALONE[3] else 0.0) for cell in ALONE}
    how = catalogue("cluster").stage_cells
    assert how
    found = outlier_places(how, cells_of([[steady(ALONE, {})], [steady(ALONE, by)]], REGIONS), 0.95)
    assert found
    (apart,) = found.apart
    assert apart.place == "node-3"
    assert apart.baseline == pytest.approx(0.07)
    assert apart.candidate == pytest.approx(0.075 + longer)
    assert apart.beyond == pytest.approx(longer)
    assert found.differences[3] == [pytest.approx(0.005 + longer)]
