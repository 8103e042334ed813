"""Values are put in order only where they are looked at; Qn is that of another library."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from statsmodels.robust.scale import qn_scale

from slotmark import _core
from slotmark.statistics.location import (
    CENTILES,
    MOST_PAIRED,
    at_centiles,
    counted,
    pair_deviation,
    partly_ordered,
    trimmed_mean,
)

FINITE = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(arrays(np.float64, st.integers(1, 300), elements=FINITE))
def test_partly_ordered_values_have_those_in_their_places_that_ordered_ones_have(values: np.ndarray) -> None:
    given_values = values.copy()
    partly, whole = partly_ordered(values, centiles=True), np.sort(values)
    assert np.array_equal(values, given_values)
    assert np.array_equal(np.sort(partly), whole)
    assert np.array_equal(at_centiles(partly), at_centiles(whole))
    assert len(at_centiles(partly)) == len(CENTILES)
    middle = slice((values.size - 1) // 2, values.size // 2 + 1)
    assert np.array_equal(np.sort(partly[middle]), whole[middle])
    assert trimmed_mean(partly, ordered=True) == pytest.approx(trimmed_mean(whole, ordered=True))


def test_a_place_beyond_the_last_value_is_refused() -> None:
    values = np.array([3.0, 1.0, 2.0])
    with pytest.raises(IndexError):
        _core.partitioned(values, [3])
    assert values.tolist() == [3.0, 1.0, 2.0]


@pytest.mark.parametrize("count", [5, 12, 13, 52, MOST_PAIRED, 10 * MOST_PAIRED])
def test_qn_is_that_of_statsmodels_with_the_factor_for_few_values(count: int) -> None:
    factors = {5: 0.844, 12: 12 / 15.8, 13: 13 / 14.4, 52: 52 / 55.8, MOST_PAIRED: MOST_PAIRED / (MOST_PAIRED + 3.8)}
    values = np.random.default_rng(1).normal(7, 2, count)
    expected = factors.get(count, 1.0) * qn_scale(values)
    # Other constants have fewer digits; of many values so many are taken.
    assert pair_deviation(values) == pytest.approx(expected, rel=0.02 if count > MOST_PAIRED else 1e-3)


def test_distinct_values_are_counted_in_their_order() -> None:
    distinct, counts = counted(np.array([2.5, -1.0, 0.0, 2.5, -0.0, 2.5]))
    assert (distinct.tolist(), counts.tolist()) == ([-1.0, 0.0, 2.5], [1, 2, 3])
