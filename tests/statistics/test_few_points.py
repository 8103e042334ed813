"""Few points of many values."""

import numpy as np
import pytest

from slotmark.statistics.few_points import POINTS, few_points


@pytest.mark.parametrize("count", [0, 1, POINTS])
def test_values_that_are_few_stay(count: int) -> None:
    values = np.arange(float(count)).tolist()
    assert few_points(values) == values


def test_of_many_values_neighbours_become_their_mean() -> None:
    assert few_points(np.repeat(np.arange(60.0), 3).tolist()) == np.arange(60.0).tolist()
    found = few_points(np.arange(1000.0).tolist())
    assert len(found) == POINTS and found == sorted(found)
    assert found[0] == np.arange(17.0).mean()
