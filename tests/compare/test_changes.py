"""Changes by place, of made-up stages whose hosts differ between two runs by chance."""

import numpy as np
import pytest

from slotmark.compare.attribution.changes import changes
from slotmark.compare.results.attribution import Change
from slotmark.metrics import catalogue
from tests.compare.made_up_stages import stages

PAIRS = 100


def named(draws: np.random.Generator, hosts: int, *, first: float = 0.0, all_: float = 0.0) -> list[Change]:
    """Returns the changes that are named; arguments as of :func:`stages`."""
    stage_cells = catalogue("cluster").stage_cells
    assert stage_cells
    found = changes(stage_cells, stages(draws, hosts, first=first, all_=all_), 0.95)
    assert found
    return found.found


@pytest.mark.parametrize("hosts", [8, 12, 52])
def test_hosts_that_differ_by_chance_are_seldom_changes(hosts: int) -> None:
    """By the half of the hosts with the smallest errors, which are those that became faster, one was named in 91 to 100 of 100 such pairs."""
    draws = np.random.default_rng(1)
    alarms = sum(bool(named(draws, hosts)) for _ in range(PAIRS))
    assert alarms < 12  # of 100 at 5 %, 12 or more have less than one chance in a hundred


@pytest.mark.parametrize(("first", "all_", "places"), [(0.06, 0.0, ["node-0"]), (0.0, 0.02, [])])
def test_a_change_is_named(first: float, all_: float, places: list[str]) -> None:
    draws = np.random.default_rng(3)
    found = [named(draws, 12, first=first, all_=all_) for _ in range(20)]
    assert sum([(one.stage, one.places) for one in of_pair[:1]] == [("stage 0", places)] for of_pair in found) >= 18
