"""Simulated runs of the same seeds are compared seed by seed: what a seed draws, as who leads, goes out of the interval."""

from collections.abc import Callable
from pathlib import Path

import pytest

from slotmark.benches.cluster.simulating.direct import simulate_direct
from slotmark.benches.cluster.simulating.simulate import load_profile
from slotmark.compare import Difference, compare
from slotmark.report import comparison_document
from slotmark.report.renderers.html import html
from slotmark.run import Run
from tests.differences import difference

SMALL = ("hosts=5", "pools=5", "run.slots=900", "genesis.epoch_slots=200")
TICK_MS, SLOWER = 30.0, 1.25


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, int], Run]:
    """A run of a seed, of the usual ledger tick or of a slower one."""
    folder = tmp_path_factory.mktemp("seeds")
    made: dict[tuple[str, int], Run] = {}

    def run(name: str, seed: int) -> Run:
        if (name, seed) not in made:
            mean = TICK_MS * (SLOWER if name == "slow" else 1.0)
            profile = load_profile(
                "value-only-10.5", (*SMALL, f'forging.ledger_tick={{mean="{mean:g}ms", sigma=0.05}}')
            )
            made[name, seed], _ = simulate_direct(profile, seed, folder / f"{name}-{seed}", lambda _done, _total: None)
        return made[name, seed]

    return run


def over(difference: Difference) -> str:
    assert difference.basis is not None
    return difference.basis.over


def test_runs_of_the_same_seeds_are_pairs_in_whatever_order(simulated: Callable[[str, int], Run]) -> None:
    usual = [simulated("usual", seed) for seed in (1, 2, 3)]
    comparison = compare([usual, [simulated("slow", seed) for seed in (3, 1, 2)]])
    found = difference(comparison, "forge_ticked")
    assert (over(found), found.basis and found.basis.counts, found.conditional) == ("paired seeds", (3, 3), False)
    assert found.delta is not None
    assert found.delta.low <= TICK_MS * (SLOWER - 1) / 1e3 <= found.delta.high
    assert comparison.decision is not None
    assert comparison.decision.run_to_run == "from runs of the same seeds"
    assert "one_run_a_side" not in {warning.kind for warning in comparison.all_warnings}
    assert "the runs of a seed are a pair" in html(comparison_document(comparison))
    # The same as of other seeds: who leads stands in the interval, and in that of adoption it is nearly all.
    apart = compare([usual, [simulated("slow", seed) for seed in (4, 5, 6)]])
    assert over(difference(apart, "adopted_by_096")) == "runs"
    widths = [
        one.high - one.low
        for each in (comparison, apart)
        if (one := difference(each, "adopted_by_096").delta) is not None
    ]
    assert widths[0] < widths[1] / 3


@pytest.mark.parametrize("seeds", [(1, 2), (1, 2, 4), (1, 2, 3, 4)])
def test_where_a_seed_has_no_twin_all_runs_stand_alone(
    simulated: Callable[[str, int], Run], seeds: tuple[int, ...]
) -> None:
    comparison = compare(
        [[simulated("usual", seed) for seed in (1, 2, 3)], [simulated("slow", seed) for seed in seeds]]
    )
    assert over(difference(comparison, "forge_ticked")) == "runs"


def test_equal_builds_of_the_same_seeds_differ_in_nothing(simulated: Callable[[str, int], Run], tmp_path: Path) -> None:
    # Another seed of the model's noise alone can't be had: the twin has a tick that is slower by less than any margin.
    profile = load_profile("value-only-10.5", (*SMALL, 'forging.ledger_tick={mean="30.01ms", sigma=0.05}'))
    twins = [simulate_direct(profile, seed, tmp_path / str(seed), lambda _done, _total: None)[0] for seed in (1, 2, 3)]
    comparison = compare([[simulated("usual", seed) for seed in (1, 2, 3)], twins])
    assert comparison.decision is not None
    assert comparison.decision.answer == "ship", comparison.line
