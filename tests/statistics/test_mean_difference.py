"""Means of runs: their difference, its interval, and how often it is right."""

import msgspec
import numpy as np
import pytest

from slotmark.statistics.between_runs import RunMean, Spread
from slotmark.statistics.dependence import LEAST_EFFECTIVE
from slotmark.statistics.interval import Interval
from slotmark.statistics.mean_difference import (
    LOPSIDED,
    MeanDifference,
    Units,
    by_unit,
    difference_of_runs,
    mean_difference,
)
from tests.compare.planted_courses import COURSES, hosts_again, levels_of_hosts, log_normal, use_of_hosts


def run(values: np.ndarray) -> Units:
    """A run with one value per block."""
    return by_unit(values, np.arange(values.size))


def compared(ours: Units, theirs: Units) -> MeanDifference:
    found = mean_difference([ours], [theirs], confidence=0.95)
    assert found is not None
    return found


def test_samples_of_one_block_stay_together() -> None:
    found = by_unit(np.array([1.0, 2.0, 5.0]), np.array([0, 0, 1]))
    assert (found.sums.tolist(), found.counts.tolist()) == ([3, 5], [2, 1])
    assert found.mean == pytest.approx(8 / 3)


def test_samples_of_one_host_are_put_together_wherever_they_are() -> None:
    found = by_unit(np.array([1.0, 10, 2, 20, 30]), np.array([0, 3, 0, 3, 3]), ordered=False)
    assert (found.sums.tolist(), found.counts.tolist(), found.ordered) == ([3, 60], [2, 3], False)


def test_hosts_are_compared_by_students_t_of_their_means() -> None:
    # Means 1, 2, 3 and 5, 6, 7: difference 4, standard error sqrt(2/3), 4 degrees of freedom, t = 2.7764.
    sides = [by_unit(np.array(values), np.arange(3), ordered=False) for values in ((1.0, 2.0, 3.0), (5.0, 6.0, 7.0))]
    found = compared(*sides)
    assert found.delta.high - 4 == pytest.approx(2.7764 * (2 / 3) ** 0.5, rel=1e-4)
    assert found.effective == (3, 3)


def test_swapping_sides_turns_the_sign() -> None:
    draws = np.random.default_rng(3)
    ours, theirs = run(draws.normal(10, 1, 400)), run(draws.normal(11, 1, 400))
    there, back = compared(ours, theirs), compared(theirs, ours)
    assert (there.delta.estimate, there.delta.low) == pytest.approx((-back.delta.estimate, -back.delta.high))
    assert there.delta.low < 1 < there.delta.high
    assert there.p == pytest.approx(back.p)
    assert there.p < 0.001


def test_equal_runs_differ_by_nothing() -> None:
    found = compared(run(np.ones(30)), run(np.ones(40)))
    assert (found.delta.low, found.delta.high, found.p) == (0, 0, 1)


def test_equal_levels_of_unlike_numbers_of_runs_differ_by_nothing() -> None:
    for level in np.random.default_rng(8).normal(size=400):
        few, many = ([RunMean(float(level))] * count for count in (3, 20))
        for spread in (None, Spread(0.0, 5.0)):
            found = difference_of_runs(few, many, spread, confidence=0.95, scale="identity")
            assert (found.delta, found.p) == (Interval(0.0, 0.0, 0.0), 1.0)


def test_one_block_tells_nothing_of_chance() -> None:
    assert mean_difference([run(np.ones(1))], [run(np.ones(40))], confidence=0.95) is None


def matched_pair(draws: np.random.Generator, blocks: int, *, lost: int = 0) -> tuple[Units, Units]:
    """Two runs of the same leaders: what they share is AR(1) 0.7 and nine times as wide as what each has of its own; the second lost some."""
    shared = np.zeros(blocks)
    for place in range(1, blocks):
        shared[place] = 0.7 * shared[place - 1] + draws.normal(0, 9 * (1 - 0.7**2) ** 0.5)
    works = [(20 * place, f"node-{place % 7}") for place in range(blocks)]
    sides = (run(100 + shared + draws.normal(0, 1, blocks)) for _ in range(2))
    ours, theirs = (msgspec.structs.replace(one, works=works) for one in sides)
    left = np.sort(draws.permutation(blocks)[lost:])
    return ours, msgspec.structs.replace(
        theirs, sums=theirs.sums[left], counts=theirs.counts[left], works=[works[place] for place in left]
    )


@pytest.mark.parametrize(("blocks", "lost"), [(60, 0), (200, 0), (200, 2)])
def test_intervals_over_matched_blocks_hold_and_are_narrower(blocks: int, lost: int) -> None:
    draws, trials = np.random.default_rng(blocks + lost), 600
    covered, narrower = 0, 0
    for _ in range(trials):
        ours, theirs = matched_pair(draws, blocks, lost=lost)
        found = compared(ours, theirs)
        assert found.over == "matched units"
        covered += found.delta.low <= 0 <= found.delta.high
        apart = compared(msgspec.structs.replace(ours, works=()), msgspec.structs.replace(theirs, works=()))
        assert apart.delta.estimate == found.delta.estimate
        narrower += found.delta.high - found.delta.low < (apart.delta.high - apart.delta.low) / 2
    assert 0.93 <= covered / trials <= 0.98
    assert narrower / trials > 0.98


def test_runs_that_were_given_other_work_are_not_matched() -> None:
    ours, theirs = matched_pair(np.random.default_rng(1), 100, lost=11)
    assert compared(ours, theirs).over == "units"
    ours, theirs = matched_pair(np.random.default_rng(1), 100)
    others = [(slot, "node-9") for slot, _ in ours.works]
    assert compared(ours, msgspec.structs.replace(theirs, works=others)).over == "units"
    assert compared(ours, msgspec.structs.replace(theirs, works=[ours.works[0]] * 100)).over == "units", (
        "twice the same"
    )
    found = mean_difference([ours, ours], [theirs], confidence=0.95)
    assert found is not None
    assert found.over == "units"


def test_two_runs_a_side_are_compared_by_their_means() -> None:
    # Run means 10 and 12, 15 and 17: difference 5, standard error sqrt(1 + 1), two degrees of freedom, t = 4.303.
    runs = [[run(np.full(20, mean) + np.arange(20) * 1e-9) for mean in means] for means in ((10, 12), (15, 17))]
    found = mean_difference(runs[0], runs[1], confidence=0.95)
    assert found is not None
    assert (found.over, found.delta.estimate) == ("runs", pytest.approx(5))
    assert found.delta.high - 5 == pytest.approx(4.3027 * 2**0.5, rel=1e-4)


def test_two_runs_on_one_side_alone_count_as_one_longer_one() -> None:
    draws = np.random.default_rng(5)
    one, more, other = (run(draws.normal(10, 1, 200)) for _ in range(3))
    found = mean_difference([one, more], [other], confidence=0.95)
    assert found is not None
    assert found.over == "units"
    assert found.delta.estimate == pytest.approx(other.mean - np.concatenate([one.sums, more.sums]).mean())
    assert found.effective[0] > 1.5 * found.effective[1]


def rates(course: str, blocks: int, pairs: int) -> tuple[float, float, float]:
    """The shares of intervals that cover the truth, of pairs with a verdict, and of pairs called different without a margin."""
    draws = np.random.default_rng([11, blocks])
    sides = COURSES[course](draws, 2 * pairs, blocks)
    found = [compared(run(one), run(other)) for one, other in zip(sides[:pairs], sides[pairs:], strict=True)]
    judged = np.array([min(one.effective) >= LEAST_EFFECTIVE for one in found])
    covered = np.array([one.delta.low <= 0 <= one.delta.high for one in found])
    return float(covered.mean()), float(judged.mean()), float((judged & ~covered).mean())


@pytest.mark.parametrize("blocks", [50, 120, 2_000])
@pytest.mark.parametrize("course", ["independent", "AR(1) 0.5", "AR(1) 0.7", "AR(1) 0.7, skewed"])
def test_intervals_cover_the_truth_however_much_blocks_resemble_their_neighbours(course: str, blocks: int) -> None:
    # 800 pairs: 95 % give or take .8 %; the rule of 50 stretches covered 84 to 90 % at 0.7.
    covered, judged, false = rates(course, blocks, 800)
    assert 0.93 <= covered <= 0.985, covered
    assert judged > 0.85
    assert false <= 0.06


def refused(course: str, blocks: int) -> float:
    """The share of 400 pairs whose level seems to drift."""
    sides = COURSES[course](np.random.default_rng([13, blocks]), 800, blocks)
    return float(
        np.mean([compared(run(one), run(other)).drifts for one, other in zip(sides[:400], sides[400:], strict=True)])
    )


@pytest.mark.parametrize("blocks", [50, 120, 400])
@pytest.mark.parametrize("course", ["independent", "AR(1) 0.5"])
def test_what_depends_on_its_neighbours_alone_is_hardly_ever_taken_for_a_drift(course: str, blocks: int) -> None:
    assert refused(course, blocks) <= 0.06


@pytest.mark.parametrize(
    ("course", "blocks", "least"),
    [
        ("walk of 0.5 under noise", 400, 0.6),
        ("walk of 1 under noise", 120, 0.65),
        ("walk of 1 under noise", 400, 0.85),
        ("walk of 2 under noise", 50, 0.65),
        ("walk of 2 under noise", 120, 0.85),
        ("a fifth AR(1) 0.99", 400, 0.7),
        ("half AR(1) 0.98, half 0.3", 120, 0.6),
    ],
)
def test_a_drift_under_noise_gets_no_verdict_as_far_as_it_shows(course: str, blocks: int, least: float) -> None:
    # Verdicts were given in 98 to 100 of 100, and intervals covered the truth in 40 to 81. A smaller drift looks like noise.
    assert refused(course, blocks) >= least


HIDDEN = [
    ("walk of 0.5 under noise", 50),
    ("walk of 0.5 under noise", 120),
    ("walk of 1 under noise", 50),
    ("a fifth AR(1) 0.99", 50),
    ("a fifth AR(1) 0.99", 120),
    ("half AR(1) 0.98, half 0.3", 50),
]
"""Courses that hide so much of their drift that verdicts are false in more than one of ten pairs of equal runs, by what shows."""


@pytest.mark.parametrize(("course", "blocks"), HIDDEN)
def test_a_drift_that_noise_hides_makes_no_verdict_that_stands_up_to_the_widest(course: str, blocks: int) -> None:
    sides = COURSES[course](np.random.default_rng([17, blocks]), 800, blocks)
    false = stands = 0
    for ours, theirs in zip(sides[:400], sides[400:], strict=True):
        found = compared(run(ours), run(theirs))
        assert found.widest is not None
        assert found.widest.low <= found.delta.low <= found.delta.high <= found.widest.high
        if min(found.effective) >= LEAST_EFFECTIVE and not found.drifts:
            false += not found.delta.low <= 0 <= found.delta.high
            stands += not found.widest.low <= 0 <= found.widest.high
    # 5 % give or take 1.1 %. The positive control: without the widest drift it is far more.
    assert stands / 400 <= 0.06
    assert false / 400 >= 0.12


@pytest.mark.parametrize("blocks", [120, 400, 2_000])
@pytest.mark.parametrize(("course", "deviation"), [("independent", 1.0), ("AR(1) 0.5", 2.0), ("AR(1) 0.7", 10 / 3)])
def test_large_differences_of_blocks_without_a_drift_stand_up_to_the_widest(
    course: str, deviation: float, blocks: int
) -> None:
    """Their error is that of independent blocks with this deviation. Found are differences of 18 errors, 6.5 times the half-width of an interval by what shows."""
    sides = COURSES[course](np.random.default_rng([19, blocks]), 200, blocks)
    apart = 18 * deviation / blocks**0.5
    pairs = [compared(run(one), run(other + apart)) for one, other in zip(sides[:100], sides[100:], strict=True)]
    wide = [one.widest for one in pairs if one.widest]
    assert np.mean([one.low > 0 for one in wide]) >= 0.9
    assert (
        np.median(
            [(one.high - one.low) / (own.delta.high - own.delta.low) for one, own in zip(wide, pairs, strict=True)]
        )
        < 3.5
    )


def test_equal_blocks_hide_nothing_and_hosts_do_not_drift() -> None:
    found = compared(run(np.full(60, 3.0)), run(np.full(60, 4.0)))
    assert found.widest == found.delta
    hosts = [by_unit(np.array([1.0, 2.0, 3.0]), np.arange(3), ordered=False) for _ in range(2)]
    assert compared(*hosts).widest is None


@pytest.mark.parametrize("blocks", [8, 50])
def test_few_skewed_values_are_not_held_against_many(blocks: int) -> None:
    # Intervals cover 74 and 85 in 100: rare large values are on the side of 2,000 alone.
    draws = np.random.default_rng(blocks)
    pairs = zip(log_normal(draws, 1.5, (200, blocks)), log_normal(draws, 1.5, (200, 2_000)), strict=True)
    found = [compared(run(one), run(other)) for one, other in pairs]
    missed = [not one.delta.low <= 0 <= one.delta.high for one in found]
    assert np.mean(missed) > 0.1
    assert np.mean([one.lopsided <= LOPSIDED for one in found]) < 0.05


def test_sides_of_one_size_and_values_that_are_hardly_skewed_are_compared() -> None:
    draws = np.random.default_rng(9)
    alike = log_normal(draws, 1.5, (2, 400))
    assert compared(run(alike[0]), run(alike[1])).lopsided == 0
    pairs = zip(draws.standard_normal((100, 50)), draws.standard_normal((100, 2_000)), strict=True)
    assert max(compared(run(one), run(other)).lopsided for one, other in pairs) < LOPSIDED


@pytest.mark.parametrize(("course", "blocks"), [("AR(1) 0.9", 50), ("AR(1) 0.9", 400), ("AR(1) 0.995", 200)])
def test_what_drifts_through_the_run_is_covered_or_gets_no_verdict(course: str, blocks: int) -> None:
    covered, judged, false = rates(course, blocks, 600)
    assert false <= 0.06, (covered, judged)


@pytest.mark.parametrize("blocks", [120, 3_000])
def test_neighbours_that_are_alike_over_ten_blocks_are_drawn_together(blocks: int) -> None:
    covered, _, false = rates("ten alike", blocks, 400)
    assert covered >= 0.93
    assert false <= 0.06


def test_the_effective_number_is_that_of_an_autoregression() -> None:
    # (1 - 0.5) / (1 + 0.5) of the blocks.
    sides = COURSES["AR(1) 0.5"](np.random.default_rng(2), 40, 3_000)
    found = np.median(
        [compared(run(one), run(other)).effective for one, other in zip(sides[:20], sides[20:], strict=True)]
    )
    assert found == pytest.approx(1_000, rel=0.25)


def test_levels_of_hosts_that_drift_are_covered_by_an_interval_over_hosts() -> None:
    draws, slots, hosts = np.random.default_rng(4), 200, 20
    places = np.tile(np.arange(hosts), slots)
    covered = {"host": 0, "slot": 0}
    for _ in range(300):
        ours, theirs = levels_of_hosts(draws, 2, slots, hosts)
        pairs = {
            "host": [by_unit(side.ravel(), places, ordered=False) for side in (ours, theirs)],
            "slot": [by_unit(side.ravel(), np.arange(slots).repeat(hosts)) for side in (ours, theirs)],
        }
        for unit, (one, other) in pairs.items():
            found = compared(one, other)
            covered[unit] += found.delta.low <= 0 <= found.delta.high
    assert 0.92 <= covered["host"] / 300 <= 0.98, covered
    assert covered["slot"] / 300 < 0.85, "slots don't hold where hosts start"


def named(values: np.ndarray, *names: str) -> Units:
    """A run with a level per host, given with the hosts' names."""
    units = by_unit(values, np.arange(values.size), ordered=False)
    return msgspec.structs.replace(units, works=[(name,) for name in names or map(str, range(values.size))])


def test_the_same_hosts_are_compared_host_by_host() -> None:
    # Differences 1, 2, 3: mean 2, standard error 1 / sqrt(3), two degrees of freedom, t = 4.3027.
    found = compared(named(np.array([10.0, 50, 90])), named(np.array([11.0, 52, 93])))
    assert found.over == "matched units"
    assert (found.delta.estimate, found.effective) == (pytest.approx(2), (3, 3))
    assert found.delta.high - 2 == pytest.approx(4.3027 / 3**0.5, rel=1e-4)


def test_hosts_are_matched_by_name_and_only_where_both_runs_have_the_same() -> None:
    values = np.arange(20.0)
    names = [f"node-{place:02}" for place in range(20)]
    assert compared(named(values, *names), named(values + 1, *names)).over == "matched units"
    one_other = [*names[:-1], "node-99"]
    assert compared(named(values, *names), named(values + 1, *one_other)).over == "units", "blocks are matched at 90 %"
    assert compared(named(values, *names), named(values[:-1] + 1, *names[:-1])).over == "units"


def rates_over_hosts(hosts: int, again: float, pairs: int, *, same: bool = True) -> tuple[float, float, float]:
    """The shares of intervals over hosts 30 % apart that cover no difference, of equal runs called different, and of +5 % found."""
    draws = np.random.default_rng([hosts, round(1_000 * again), same])
    of = hosts_again(draws, pairs, hosts, 0.3, again, same=same)
    equal, more = ([compared(named(ours), named(change * theirs)) for ours, theirs in of] for change in (1.0, 1.05))
    covered = np.mean([one.delta.low <= 0 <= one.delta.high for one in equal])
    return (
        float(covered),
        float(np.mean([one.p < 0.05 for one in equal])),
        float(np.mean([one.delta.low > 0 for one in more])),
    )


def test_five_percent_more_memory_on_ten_hosts_is_found() -> None:
    # Not matched, the half-width is 26 % and none is found.
    covered, _, found = rates_over_hosts(10, 0.01, 200)
    assert covered >= 0.92
    assert found > 0.99


@pytest.mark.slow
@pytest.mark.parametrize("hosts", [5, 10, 52])
@pytest.mark.parametrize("again", [0.005, 0.01, 0.02])
def test_intervals_over_matched_hosts_cover_the_truth(hosts: int, again: float) -> None:
    # 4,000 pairs: 95 % give or take .35 %; three times that are allowed.
    covered, different, found = rates_over_hosts(hosts, again, 4_000)
    assert 0.939 <= covered <= 0.961
    assert different <= 0.061
    assert found > (0.7 if again == 0.02 and hosts == 5 else 0.97)


@pytest.mark.slow
@pytest.mark.parametrize("hosts", [5, 10, 52])
def test_other_hosts_of_the_same_names_are_covered_too(hosts: int) -> None:
    covered, different, found = rates_over_hosts(hosts, 0.01, 4_000, same=False)
    assert 0.939 <= covered <= 0.961
    assert different <= 0.061
    assert found < 0.2, "intervals are as wide as hosts are apart"


def test_use_of_processors_is_compared_over_slots_since_a_block_makes_all_hosts_work() -> None:
    draws, slots, hosts, pairs = np.random.default_rng(6), 400, 20, 150
    covered = {"slots": 0, "hosts": 0}
    for _ in range(pairs):
        sides = use_of_hosts(draws, slots, hosts, 0.005, 0.5)
        by_slot = [by_unit(one.ravel(), np.arange(slots).repeat(hosts)) for one in sides]
        by_host = [named(one.mean(axis=0)) for one in sides]
        for over, (ours, theirs) in (("slots", by_slot), ("hosts", by_host)):
            found = compared(ours, theirs)
            covered[over] += found.delta.low <= 0 <= found.delta.high
    assert covered["slots"] / pairs >= 0.9, covered
    assert covered["hosts"] / pairs < 0.8, covered
