"""Ratios of block costs over unequal numbers of processes: a typical block of 3 is held against one of 3 of 10."""

import numpy as np
import pytest

from slotmark.statistics.block_ratio import Part, block_log_ratios, even_log_ratios, typical_ratio
from slotmark.statistics.hodges_lehmann import hodges_lehmann
from tests.compare.planted_blocks import paused


@pytest.mark.parametrize(("ours", "theirs"), [(3, 10), (10, 3), (4, 6), (5, 5), (1, 4)])
def test_rows_are_over_as_many_processes_of_both_sides_and_each_counts_alike(ours: int, theirs: int) -> None:
    draws = np.random.default_rng(1)
    parts = [Part(-1, draws.uniform(1, 2, (ours, 7))), Part(1, draws.uniform(1, 2, (theirs, 7)))]
    rows = even_log_ratios(parts)
    assert rows.shape == ((1 if ours == theirs else max(ours, theirs)), 7)
    assert rows.mean(axis=0) == pytest.approx(block_log_ratios(parts))
    least, (few, many) = min(ours, theirs), sorted(parts, key=lambda part: len(part.cost))
    first = np.log(many.cost[:least]).mean(axis=0) * many.weight + np.log(few.cost).mean(axis=0) * few.weight
    assert rows[0] == pytest.approx(first)


@pytest.mark.parametrize("counts", [(3, 10), (10, 3)])
def test_pauses_at_random_do_not_move_the_typical_block_of_unequal_counts(counts: tuple[int, int]) -> None:
    """A tenth of blocks and processes is hit: means over all processes, as they were taken, are off by 2 %."""
    even, uneven = [], []
    for index in range(60):
        ours, theirs = paused(np.random.default_rng([7, index]), counts, 0.1)
        parts = [Part(-1, ours), Part(1, theirs)]
        even.append(typical_ratio(parts).estimate)
        uneven.append(hodges_lehmann(block_log_ratios(parts)))
    sign = 1 if counts == (3, 10) else -1
    assert abs(np.mean(even)) < 4 * np.std(even) / np.sqrt(60)
    assert sign * np.mean(uneven) > 0.01
    assert np.std(even) < np.std(uneven)
