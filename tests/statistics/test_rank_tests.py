"""Holm's adjustment, against hand-worked numbers and against statsmodels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from slotmark.statistics.rank_tests import holm


def test_hand_worked() -> None:
    # Sorted .01 .02 .03 .04 times 4 3 2 1: .04 .06 .06 .04; none below one before it: .04 .06 .06 .06.
    assert holm([0.01, 0.02, 0.03, 0.04]) == pytest.approx([0.04, 0.06, 0.06, 0.06])
    # The order given is kept: .5 * 1, .001 * 3, .4 * 2.
    assert holm([0.5, 0.001, 0.4]) == pytest.approx([0.8, 0.003, 0.8])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([0.3]) == [0.3]
    assert holm([]) == []


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_is_what_statsmodels_gives(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(np.asarray(multipletests(p_values, method="holm")[1]).tolist())
