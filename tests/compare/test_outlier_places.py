"""Hosts that differ from the rest, of made-up stages whose hosts differ between two runs by chance."""

import numpy as np
import pytest

from slotmark.compare.attribution.outlier_places import outlier_places
from slotmark.compare.attribution.stage_cells import Cells
from slotmark.metrics import catalogue
from tests.compare.made_up_stages import stages

PAIRS = 100


def named(made_up: list[Cells]) -> list[str]:
    """Returns the hosts that are named."""
    stage_cells = catalogue("cluster").stage_cells
    assert stage_cells
    found = outlier_places(stage_cells, made_up, 0.95)
    assert found
    return [one.place for one in found.apart]


@pytest.mark.parametrize("hosts", [5, 12, 20])
def test_hosts_that_differ_by_chance_are_seldom_named(hosts: int) -> None:
    """By the median absolute deviation, which is uncertain of few hosts, one was named in one of six to one of four such pairs."""
    draws = np.random.default_rng(1)
    alarms = sum(bool(named(stages(draws, hosts))) for _ in range(PAIRS))
    assert alarms < 12  # of 100 at 5 %, 12 or more have less than one chance in a hundred


@pytest.mark.parametrize("all_", [0.0, 0.03])
def test_hosts_that_take_longer_may_differ_by_more(all_: float) -> None:
    """As those at the end of long links; by differences in ms alone, one was named in 91 of 100 such pairs."""
    draws = np.random.default_rng(1)
    alarms = sum(bool(named(stages(draws, 52, longest=0.26, all_=all_))) for _ in range(PAIRS))
    assert alarms < 12


@pytest.mark.parametrize(("first", "longest"), [(0.05, 0.07), (0.15, 0.26)])
def test_a_host_that_differs_is_named(first: float, longest: float) -> None:
    draws = np.random.default_rng(3)
    found = [named(stages(draws, 12, first=first, longest=longest)) for _ in range(20)]
    assert sum(one[:1] == ["node-0"] for one in found) >= 18


@pytest.mark.parametrize("hosts", [6, 12, 20])
def test_half_of_the_hosts_are_not_named_as_if_there_were_a_rest(hosts: int) -> None:
    """As one of two regions that became slower: by Qn alone all hosts differed from the rest."""
    draws = np.random.default_rng(4)
    alarms = sum(bool(named(stages(draws, hosts, first=0.2, those=hosts // 2))) for _ in range(20))
    assert alarms < 5  # likewise
