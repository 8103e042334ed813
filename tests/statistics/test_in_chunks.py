"""Order statistics and moments of values that are read in chunks, beside numpy's of all of them."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotmark.statistics.in_chunks import moments, values_at
from slotmark.statistics.location import left_out, trimmed_mean

values = st.lists(
    st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([0.0, -0.0, 1.0, 2.0])), min_size=1
)


@given(values, st.integers(1, 7), st.integers(0, 5), st.data())
def test_places_hold_what_sorting_puts_there(drawn: list[float], chunks: int, few: int, data: st.DataObject) -> None:
    every = np.array(drawn)
    places = data.draw(st.lists(st.integers(0, every.size - 1), min_size=1, max_size=9))
    found = values_at(lambda: iter(np.array_split(every, chunks)), places, few)
    assert found == {place: np.sort(every)[place] for place in places}


def test_many_equal_values_are_never_sorted() -> None:
    every = np.repeat([1.0, 1.0 + 2**-52, 7.0], 1000)
    assert values_at(lambda: iter([every]), [0, 999, 1000, 2999], 10) == {
        0: 1.0,
        999: 1.0,
        1000: 1.0 + 2**-52,
        2999: 7.0,
    }


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.integers(1, 5))
def test_moments_are_those_of_all_values(drawn: list[float], chunks: int) -> None:
    every = np.array(drawn)
    cut, ordered = left_out(every.size), np.sort(every)
    found = moments(
        lambda: iter(np.array_split(every, chunks)), every.size, ordered[cut], ordered[every.size - cut - 1], cut
    )
    near = partial(pytest.approx, rel=1e-9, abs=1e-6)
    assert found.mean == near(every.mean())
    assert found.trimmed == near(trimmed_mean(every))
    assert found.sd == near(every.std(ddof=1) if every.size > 1 else 0.0)
