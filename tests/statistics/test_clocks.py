"""Offsets of clocks from least differences: planted ones come back, and bounds hold whatever the delays are."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from slotmark.statistics.clocks import Offsets, clock_offsets, made_alike

MS = 1e6


def estimated(offsets_ns: np.ndarray, delays_ns: dict[tuple[int, int], float]) -> Offsets:
    """Estimates of clocks that are off by so much, where the least delays between them are these."""
    ends = np.array(sorted(delays_ns)).reshape(-1, 2)
    least = np.array([offsets_ns[b] - offsets_ns[a] + delays_ns[int(a), int(b)] for a, b in ends])
    return clock_offsets(len(offsets_ns), ends[:, 0], ends[:, 1], least)


def ring(delay_ns: float, clocks: int) -> dict[tuple[int, int], float]:
    around = [(clock, (clock + 1) % clocks) for clock in range(clocks)]
    return {ends: delay_ns for a, b in around for ends in ((a, b), (b, a))}


def test_planted_offsets_come_back_where_links_are_symmetric() -> None:
    offsets = np.array([0, 500, -500, 3, 1, -250, 20, 7]) * MS
    found = estimated(offsets, ring(30 * MS, 8))
    assert found.reference == 4  # the fourth of eight, from the one that is most behind
    np.testing.assert_allclose(found.offset_ns, offsets - 1 * MS, atol=1)
    assert not found.moved.any()


def test_the_error_of_a_pair_is_half_the_asymmetry_and_the_bound_half_the_round_trip() -> None:
    found = estimated(np.array([0, 100]) * MS, {(0, 1): 30 * MS, (1, 0): 10 * MS})
    assert found.reference == 0
    assert found.offset_ns.tolist() == [0, 110 * MS]
    assert (found.low_ns.tolist(), found.high_ns.tolist()) == ([0, 90 * MS], [0, 130 * MS])


def test_a_short_round_trip_weighs_more_than_long_ones() -> None:
    delays = {
        (0, 1): 0.2 * MS,
        (1, 0): 0.2 * MS,
        (1, 2): 140 * MS,
        (2, 1): 100 * MS,
        (2, 0): 0.1 * MS,
        (0, 2): 0.1 * MS,
    }
    found = estimated(np.array([0, 40, 80]) * MS, delays)
    np.testing.assert_allclose(found.offset_ns, np.array([-40, 0, 40]) * MS, atol=0.01 * MS)
    assert found.high_ns[2] - found.low_ns[2] < 1 * MS


def test_messages_in_one_direction_bound_one_side_only() -> None:
    found = estimated(np.array([0, 50, 10]) * MS, {(0, 1): 5 * MS, (1, 0): 5 * MS, (0, 2): 5 * MS})
    assert np.isnan(found.offset_ns[2])
    assert (found.low_ns[2], found.high_ns[2]) == (-np.inf, 15 * MS)
    assert found.offset_ns[1] == 50 * MS
    alone = estimated(np.array([0, 50]) * MS, {(1, 0): 5 * MS})
    assert alone.reference == 0
    assert (alone.low_ns.tolist(), alone.high_ns.tolist()) == ([0, 45 * MS], [0, np.inf])
    assert np.isnan(alone.offset_ns).tolist() == [False, True]


def test_nothing_is_known_without_messages() -> None:
    found = clock_offsets(3, np.array([], int), np.array([], int), np.array([]))
    assert found.reference is None
    assert np.isnan(found.offset_ns).all()
    assert np.isinf(found.low_ns).all()


def test_clocks_that_nothing_connects_to_the_most_others_have_no_offset() -> None:
    found = estimated(np.zeros(5), {(3, 4): 1, (4, 3): 1, (0, 1): 1, (1, 0): 1, (1, 2): 1, (2, 1): 1})
    assert np.isnan(found.offset_ns).tolist() == [False, False, False, True, True]


def test_a_clock_that_no_one_offset_fits_is_found_and_left_out() -> None:
    delays = ring(1 * MS, 6)
    delays[2, 3], delays[3, 4] = -20 * MS, -20 * MS  # clock 3 lost 20 ms in the run, as seen by both neighbours
    delays[3, 2], delays[4, 3] = 1 * MS, 1 * MS
    found = estimated(np.zeros(6), delays)
    assert found.moved.tolist() == [False, False, False, True, False, False]
    assert np.isnan(found.offset_ns[3])
    np.testing.assert_allclose(found.offset_ns[[0, 1, 2, 4, 5]], 0, atol=1)


def test_differences_that_only_contradict_each_other_around_a_cycle_give_no_offset() -> None:
    delays = {(0, 1): -9.0, (1, 0): 10.0, (1, 2): -9.0, (2, 1): 10.0, (2, 0): -9.0, (0, 2): 10.0}
    found = estimated(np.zeros(3), delays)
    assert found.reference is None
    assert found.moved.all()


def test_a_least_difference_of_nothing_counts() -> None:
    found = estimated(np.array([0.0, 0.0]), {(0, 1): 0.0, (1, 0): 0.0})
    np.testing.assert_allclose([*found.low_ns, *found.high_ns], 0, atol=0.01)
    assert found.offset_ns.tolist() == [0, 0]


@st.composite
def networks(draw: st.DrawFn) -> tuple[np.ndarray, dict[tuple[int, int], float]]:
    clocks = draw(st.integers(2, 9))
    offsets = draw(st.lists(st.integers(-(10**9), 10**9), min_size=clocks, max_size=clocks))
    pairs = st.tuples(st.integers(0, clocks - 1), st.integers(0, clocks - 1)).filter(lambda ends: ends[0] != ends[1])
    delays = draw(st.dictionaries(pairs, st.integers(0, 3 * 10**8), min_size=1, max_size=30))
    return np.array(offsets, float), {ends: float(ns) for ends, ns in delays.items()}


@settings(max_examples=60, deadline=None)
@given(networks())
def test_bounds_hold_whatever_the_delays_are_and_the_estimate_is_within(
    network: tuple[np.ndarray, dict[tuple[int, int], float]],
) -> None:
    offsets, delays = network
    found = estimated(offsets, delays)
    assert not found.moved.any()
    assert found.reference is not None
    true = offsets - offsets[found.reference]
    assert (found.low_ns - 10 <= true).all() and (true <= found.high_ns + 10).all()
    known = ~np.isnan(found.offset_ns)
    assert (found.low_ns[known] - 10 <= found.offset_ns[known]).all()
    assert (found.offset_ns[known] <= found.high_ns[known] + 10).all()


def test_errors_of_many_paths_average_out() -> None:
    random = np.random.default_rng(1)
    offsets = random.uniform(-500, 500, 30) * MS
    delays = {(a, b): random.uniform(90, 100) * MS for a in range(30) for b in range(30) if a != b}
    found = estimated(offsets, delays)
    errors = found.offset_ns - (offsets - offsets[found.reference or 0])
    half_way = (found.low_ns + found.high_ns) / 2 - (offsets - offsets[found.reference or 0])
    assert np.sqrt((errors**2).mean()) < 0.6 * np.sqrt((half_way**2).mean())


def test_clocks_that_only_a_cycle_connects_have_an_estimate() -> None:
    found = estimated(np.array([0, 30, -30]) * MS, {(0, 1): 2 * MS, (1, 2): 3 * MS, (2, 0): 4 * MS})
    np.testing.assert_allclose(found.offset_ns, np.array([0, 29, -31]) * MS)


def test_a_direction_in_which_messages_were_slow_gives_way_to_other_paths() -> None:
    delays = {(a, b): 30 * MS for a in range(5) for b in range(5) if a != b}
    delays[0, 1] = 400 * MS
    found = estimated(np.zeros(5), delays)
    assert abs(found.offset_ns).max() < 10 * MS


def test_kinds_of_messages_that_take_longer_are_no_offset() -> None:
    # Clock 2 only gets headers and asks for blocks; a request takes 20 ms longer than a header.
    ends = np.array([(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)])
    header = np.array([10.0, 10.0, 10.0, np.nan, 10.0, np.nan]) * MS
    request = np.array([30.0, 30.0, np.nan, 30.0, np.nan, 30.0]) * MS
    kinds, least = np.column_stack([header, request]), np.fmin(header, request)
    alike = made_alike(least, kinds)
    assert (alike == 30 * MS).all()
    assert (alike == made_alike(least, kinds[:, ::-1])).all()
    as_it_is, found = (clock_offsets(3, ends[:, 0], ends[:, 1], least, one) for one in (None, alike))
    assert as_it_is.offset_ns[2] - as_it_is.offset_ns[0] == -10 * MS
    assert found.offset_ns.tolist() == [0, 0, 0]
    assert found.low_ns[2] == -30 * MS  # not what was made alike
    # Where no direction has both kinds, nothing shows what one takes longer.
    assert (made_alike(least[2:], kinds[2:]) == least[2:]).all()
    assert made_alike(np.array([7.0]), np.full((1, 2), np.nan)).tolist() == [7.0]


def test_the_error_follows_from_how_much_links_contradict_each_other() -> None:
    random = np.random.default_rng(3)
    within = []
    for asymmetry in [0.0, 5.0, 20.0] * 20:
        around = [(clock, (clock + step) % 9) for clock in range(9) for step in (1, 3)]
        delays = {}
        for a, b in around:
            middle, half = random.uniform(20, 100), random.uniform(-asymmetry, asymmetry) / 2
            delays[a, b], delays[b, a] = (middle + half) * MS, (middle - half) * MS
        found = estimated(np.zeros(9), delays)
        within.append((np.abs(found.offset_ns) <= found.error_ns + 1).all())
        assert found.error_ns[found.reference] == 0
        assert found.error_ns.max() < (2 + 2 * asymmetry) * MS
    assert np.mean(within) > 0.85
    # Where no two paths connect two clocks, nothing shows it.
    assert np.isnan(estimated(np.zeros(3), {(0, 1): 9.0, (1, 0): 9.0, (1, 2): 9.0, (2, 1): 9.0}).error_ns).all()
