"""A side whose blocks have fewer transactions is faster for that alone: it doesn't ship."""

from collections.abc import Callable

import msgspec
import pytest

from slotmark.benches.cluster.direct import simulate_direct
from slotmark.benches.cluster.simulate import load_profile
from slotmark.compare import Comparison, compare
from slotmark.run import Run
from slotmark.warnings import Warning


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Callable[[float, int], list[Run]]:
    """Three runs of a cluster that takes so many transactions per second, from a seed on."""
    folder = tmp_path_factory.mktemp("loads")

    def runs(taken: float, first: int) -> list[Run]:
        made = []
        for seed in (first + place for place in range(3)):
            profile = load_profile("value-only-5", (f"tps={taken}", "run.slots=900"))
            run, _ = simulate_direct(profile, seed, folder / f"{taken}-{seed}", lambda _done, _total: None)
            # The same was offered to all.
            workload = {**run.manifest.workload, "TPS": "8.0"}
            made.append(Run(run.path, msgspec.structs.replace(run.manifest, workload=workload)))
        return made

    return runs


def of_sizes(found: Comparison) -> list[Warning]:
    return [one for side in found.candidates for one in side.warnings if one.kind == "other_block_sizes"]


def test_a_side_that_takes_half_of_the_load_does_not_ship(simulated: Callable[[float, int], list[Run]]) -> None:
    """It was SHIP: 0.50 adoption was 14 % better."""
    usual, half = simulated(8, 1), simulated(4, 51)
    found = compare([usual, half])
    (warning,) = of_sizes(found)
    assert warning.text.startswith("Block size of analysed blocks differs from the baseline's by -4")
    assert "(the limit is 5 %)" in warning.text
    assert found.decision is not None
    assert found.decision.answer == "run again"
    assert [cause.name for cause in found.decision.causes] == ["other_block_sizes"]
    assert not of_sizes(compare([usual, simulated(8, 81)])), "sizes differ by chance"
