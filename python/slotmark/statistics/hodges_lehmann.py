"""The Hodges-Lehmann estimate: the median of all Walsh averages (y_i + y_j) / 2, i <= j, without forming them all.

Of n values there are n (n + 1) / 2 averages; they are counted below a threshold in O(n log n) by binary search in the
sorted values, and only those near the median are formed (in the spirit of Johnson and Mizoguchi 1978). Definition:
Hodges and Lehmann 1963; R's wilcox.test calls it the pseudomedian.
"""

from collections.abc import Sequence

import msgspec
import numpy as np

_ALL_UP_TO = 300
"""Up to this many different values all averages are formed."""

_PILOT = 4_096
"""Random pairs whose averages show roughly where the median lies; the seed is fixed and the result doesn't depend on it."""


class Linearised(msgspec.Struct, frozen=True):
    """The estimate, and how it answers to small changes of the values.

    Attributes:
        estimate: The pseudomedian.
        influence: Influence of each value, in their order, mean about 0: resampling values changes the estimate by the mean of their
            influences, to first order. Its mean square over n is the estimate's variance.
        shift: Shift of each value, in their order, above 0 or 0, sum 1: adding d to the values changes the estimate by the sum
            of d times these, to first order.
    """

    estimate: float
    influence: np.ndarray
    shift: np.ndarray


def hodges_lehmann(values: np.ndarray) -> float:
    """The pseudomedian of at least one value; of an even number of Walsh averages the mean of the two in the middle."""
    pairs = values.size * (values.size + 1) // 2
    low, high = _Averages(values).ranked((pairs + 1) // 2, pairs // 2 + 1)
    return (low + high) / 2


def linearised(values: np.ndarray, change: float = 0.0) -> Linearised:
    """The pseudomedian of at least two values with its influences.

    The influence of y is (1 - 2 F(2 m - y)) / h, with m the estimate, F the values' distribution and h the density of the
    Walsh averages at m, counted within about one standard error on either side. Where more averages than that equal m, the
    values are too coarse to vary: influences are 0.

    Args:
        values: At least two.
        change: How large the changes are that shifts are asked for, as a standard deviation. Changes as large as the values'
            own spread reorder them: shifts are then those of values that lie anywhere within two of these.
    """
    n, averages = values.size, _Averages(values)
    pairs = n * (n + 1) // 2
    low, high = averages.ranked((pairs + 1) // 2, pairs // 2 + 1)
    middle = (low + high) / 2
    reach = averages.reach(middle)
    if reach == 0:
        return Linearised(middle, np.zeros(n), np.full(n, 1 / n))
    ordered, partner = np.sort(values), 2 * middle - values
    above, below = (np.searchsorted(ordered, partner, side) for side in ("right", "left"))
    density = _near(ordered, partner, 2 * reach).sum() / n / n / (2 * reach)
    near = _near(ordered, partner, 2 * max(reach, change))
    influence = (1 - (above + below) / n) / density
    return Linearised(middle, influence, near / near.sum())


def _near(ordered: np.ndarray, places: np.ndarray, reach: float) -> np.ndarray:
    """Returns the number of values within reach of each place."""
    return np.searchsorted(ordered, places + reach, "right") - np.searchsorted(ordered, places - reach, "left")


class _Averages:
    """All Walsh averages of some values, by rank. Equal values are held once, with how often they occur."""

    def __init__(self, values: np.ndarray) -> None:
        self.values, self.counts = np.unique(values, return_counts=True)
        self.below = np.concatenate([[0], np.cumsum(self.counts)])
        self.n = values.size

    def at_most(self, threshold: float) -> int:
        """Returns the number of averages that are at most this."""
        partners = self.below[np.searchsorted(self.values, 2 * threshold - self.values, "right")]
        with_itself = self.below[np.searchsorted(self.values, threshold, "right")]
        return (int(self.counts @ partners) + int(with_itself)) // 2

    def ranked(self, first: int, last: int) -> tuple[float, float]:
        """The averages of two ranks from 1 that lie close together, the smaller first."""
        low, high, before = self._bracket(first, last)
        if low >= high:
            return high, high
        averages, counts = self._between(low, high)
        order = np.argsort(averages, kind="stable")
        upto = before + np.cumsum(counts[order])
        places = [min(int(np.searchsorted(upto, rank)), order.size - 1) for rank in (first, last)]
        return float(averages[order[places[0]]]), float(averages[order[places[1]]])

    def reach(self, middle: float) -> float:
        """Returns the distance from the middle, on both sides, within which as many averages lie as the signed rank's standard deviation.

        0 where that many equal it.
        """
        wanted = 2 * np.sqrt(self.n * (self.n + 1) * (2 * self.n + 1) / 24)
        span = float(self.values[-1] - self.values[0])
        least = span * 1e-12
        if span == 0 or self._within(middle, least) >= wanted:
            return 0.0
        reach, low, high = span / np.sqrt(self.n), least, span
        for _ in range(60):
            found = self._within(middle, reach)
            if 0.8 * wanted <= found <= 1.25 * wanted:
                break
            low, high = (reach, high) if found < wanted else (low, reach)
            guess = reach * wanted / max(found, 1)
            reach = guess if low < guess < high else (low + high) / 2
        return float(reach)

    def _within(self, middle: float, reach: float) -> int:
        return self.at_most(middle + reach) - self.at_most(middle - reach)

    def _bracket(self, first: int, last: int) -> tuple[float, float, int]:
        """Two thresholds with both ranks above the first and not above the second, and how many averages the first is not below.

        Few averages lie between; where the thresholds are equal, the ranks' averages are.
        """
        low, high = float(np.nextafter(self.values[0], -np.inf)), float(self.values[-1])
        before, upto = 0, self.n * (self.n + 1) // 2
        if self.values.size <= _ALL_UP_TO:
            return low, high, before
        few = 8 * self.values.size
        guesses = self._pilot((first + last) / 2 / upto)
        while upto - before > few:
            size = upto - before
            for guess in guesses:
                if low < guess < high:
                    found = self.at_most(guess)
                    if found < first:
                        low, before = guess, found
                    elif found >= last:
                        high, upto = guess, found
            if upto - before > size / 4:
                middle = low + (high - low) / 2
                if not low < middle < high:
                    return high, high, before
                found = self.at_most(middle)
                if found < first:
                    low, before = middle, found
                elif found >= last:
                    high, upto = middle, found
                else:  # between the two ranks: both ends are averages next to it
                    return self._beside(middle)
            guesses = [
                low + (high - low) * (rank - before) / (upto - before) for rank in (first - few // 4, last + few // 4)
            ]
        return low, high, before

    def _beside(self, middle: float) -> tuple[float, float, int]:
        """A bracket of the two averages next to a threshold that separates them."""
        width = max(abs(middle), 1e-300) * 1e-15
        at = self.at_most(middle)
        while self.at_most(middle - width) == at or self.at_most(middle + width) == at:
            width *= 4
        return middle - width, middle + width, self.at_most(middle - width)

    def _pilot(self, share: float) -> list[float]:
        draws = np.random.default_rng(0)
        pairs = draws.integers(0, self.n, (2, _PILOT))
        drawn = self.values[np.searchsorted(self.below, pairs, "right") - 1]
        spread = 4 * np.sqrt(share * (1 - share) / _PILOT)
        around: Sequence[float] = np.clip([share - spread, share + spread], 0, 1).tolist()
        return np.quantile(drawn.mean(axis=0), around).tolist()

    def _between(self, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
        """The averages above low and not above high, and how often each occurs."""
        values, size = self.values, self.values.size
        start = np.maximum(np.searchsorted(values, 2 * low - values, "right"), np.arange(size))
        end = np.searchsorted(values, 2 * high - values, "right")
        lengths = np.maximum(end - start, 0)
        left = np.repeat(np.arange(size), lengths)
        right = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths) + start[left]
        counts = self.counts[left] * self.counts[right]
        same = left == right
        counts[same] = self.counts[left[same]] * (self.counts[left[same]] + 1) // 2
        return (values[left] + values[right]) / 2, counts
