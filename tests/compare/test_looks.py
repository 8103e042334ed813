"""Rounds that are made until they decide: what looks show of run folders, and how often they end wrongly. docs/until-decided.md has the whole table."""

from pathlib import Path

import pytest

from slotmark.compare.looks import in_words, rounds_needed, undecided
from slotmark.statistics.anytime import FIRST_LOOK
from tests.compare.planted_rounds import (
    NAIVE,
    SEQUENCE,
    drawn,
    looked,
    made_worse,
    planned,
    rates,
    through_folders,
    until_decided,
)


def test_looks_without_folders_are_those_of_run_folders(tmp_path: Path) -> None:
    found = made_worse(drawn(0.01, [5, 1], 7), 0.04)
    for count in (1, 3, 4, 5, 7):
        compared, decision = through_folders(found[:, :count], tmp_path / str(count))
        rows, alone = looked(found[:, :count], SEQUENCE)
        assert [cause.metric for cause in undecided(decision)] == [cause.metric for cause in undecided(alone)]
        for one, other in zip(compared, rows, strict=True):
            mine, its = one.differences[0], other.differences[0]
            assert mine
            assert its
            assert mine.verdict == its.verdict
            assert (mine.ratio is None) == (count < FIRST_LOOK)
            if mine.ratio and its.ratio and mine.bounds and its.bounds:
                assert mine.ratio.low == pytest.approx(its.ratio.low, rel=1e-6)
                assert mine.bounds.high == pytest.approx(its.bounds.high, rel=1e-6)


def test_equal_builds_are_rarely_called_different_and_naive_looks_are_found_out() -> None:
    equal = rates(0.01, 0.0, 60, seed=31)
    assert equal.differs <= 0.04
    assert equal.ship >= 0.9
    # The control, where the margin hides little of it.
    assert rates(0.04, 0.0, 60, how=NAIVE, most=40, seed=31).differs > 0.1
    assert rates(0.04, 0.0, 60, most=40, seed=31).differs <= 0.04


def test_what_is_worse_by_the_margin_is_not_shipped_and_twice_the_margin_holds_in_half_the_rounds_of_a_plan() -> None:
    assert rates(0.01, 0.02, 40, most=40, seed=32).ship <= 0.05
    twice = rates(0.02, 0.04, 40, seed=32)
    assert twice.hold >= 0.95
    assert twice.rounds <= 0.6 * planned(0.02, 100, seed=33)


def test_so_few_rounds_name_the_first_look_and_later_ones_about_as_many_as_it_takes() -> None:
    found = made_worse(drawn(0.02, [6, 2]), 0.04)
    _, early = looked(found[:, :2], SEQUENCE)
    assert rounds_needed(early) == FIRST_LOOK - 2
    assert in_words(early).endswith(f"; about {FIRST_LOOK - 2} more rounds")
    _, last = looked(found[:, : FIRST_LOOK - 1], SEQUENCE)
    assert in_words(last).endswith("; about 1 more round")
    ended = until_decided(found)
    assert ended.decided
    _, before = looked(found[:, :10], SEQUENCE)
    needed = rounds_needed(before)
    assert needed is not None
    assert 0.5 * ended.rounds <= 10 + needed <= 2.5 * ended.rounds
