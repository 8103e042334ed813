"""Stages by where they took place, on two sides: what is compared is the same host and the same sender."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec
import numpy as np
import pyarrow as pa

from slotmark.metrics import Analysis, StageCells, dense_ranks
from slotmark.statistics.student import satterthwaite

MOST_LAID_OUT = 20_000_000
"""Cells times blocks above which only those that occur are laid out: of long runs of many hosts few do."""

LEAST_BLOCKS = 3
"""The number of blocks on each side that must have taken the stage there for a cell to count."""


class Together(msgspec.Struct, frozen=True):
    """Some sets of cells, each with its mean difference; arrays have one entry per set.

    Attributes:
        baseline: The mean there.
        candidate: Likewise.
        differences: Candidate less baseline.
        errors: Standard errors of the differences. What one unit of chance did in several cells isn't independent; units are.
        weights: How many samples waited.
        degrees: Degrees of freedom of the errors (Satterthwaite's).
    """

    baseline: np.ndarray
    candidate: np.ndarray
    differences: np.ndarray
    errors: np.ndarray
    weights: np.ndarray
    degrees: np.ndarray


class Errors(msgspec.Struct, frozen=True):
    """Contributions of one side's blocks to the error of each cell's weighted difference; arrays have one entry per block in a cell.

    Attributes:
        cells: Which cell.
        units: Which unit of chance the block belongs to, from 0.
        values: What it adds.
    """

    cells: np.ndarray
    units: np.ndarray
    values: np.ndarray


class Cells(msgspec.Struct, frozen=True):
    """A stage, by where it took place: a cell is a host, or what one host sent another. Other ways of the blocks make no difference to a cell.

    Attributes:
        stage: Which.
        names: Sender and place of each cell; the sender is empty where there is none. Where a stage of one host took place too seldom, that is
            empty: such hosts of one group are a cell.
        groups: Groups of sender and place of each cell; empty where not known.
        means: Means of the baseline and of the candidate; shape (2, cells).
        taken: What is taken off the differences, one per cell.
        weights: How many samples waited for it on both sides, one per cell.
        errors: Errors of the baseline and of the candidate.
    """

    stage: str
    names: list[tuple[str, str]]
    groups: list[tuple[str, str]]
    means: np.ndarray
    taken: np.ndarray
    weights: np.ndarray
    errors: list[Errors]

    def together(self, which: np.ndarray, count: int) -> Together:
        """Sets of cells.

        Args:
            which: The set of each cell, from 0; ``count`` of those in none; shape (cells,).
            count: How many sets there are; none is empty.
        """
        kept = which < count
        weights = np.bincount(which[kept], self.weights[kept], count)

        def mean(values: np.ndarray) -> np.ndarray:
            return np.bincount(which[kept], (self.weights * values)[kept], count) / weights

        baseline, candidate = mean(self.means[0]), mean(self.means[1])
        variances, degrees = np.empty((2, count)), np.empty((2, count))
        for side, errors in enumerate(self.errors):
            inside = kept[errors.cells]
            shape = count, errors.units.max() + 1
            place = np.ravel_multi_index((which[errors.cells][inside], errors.units[inside]), shape)
            if count * shape[1] > MOST_LAID_OUT:
                place, of = np.unique(place, return_inverse=True)
                of_units = np.bincount(of, errors.values[inside])
                variances[side] = np.bincount(place // shape[1], of_units**2, count)
                degrees[side] = np.bincount(place // shape[1], minlength=count) - 1
                continue
            of_units = np.bincount(place, errors.values[inside], count * shape[1]).reshape(shape)
            there = np.zeros(count * shape[1], bool)
            there[place] = True
            variances[side] = (of_units**2).sum(axis=1)
            degrees[side] = there.reshape(shape).sum(axis=1) - 1
        whole = variances.sum(axis=0)
        effective = np.array(
            [
                satterthwaite(one, zip(variances[:, place], degrees[:, place], strict=True))
                for place, one in enumerate(whole)
            ]
        )
        differences = candidate - baseline - mean(self.taken)
        return Together(baseline, candidate, differences, np.sqrt(whole) / weights, weights, effective)


class Observed(msgspec.Struct, frozen=True):
    """A stage in a run: which step it is, and by cell its blocks, how long it took, and how many samples waited for it."""

    step: int
    blocks: dict[tuple[str, str], np.ndarray]
    values: dict[tuple[str, str], np.ndarray]
    waited: dict[tuple[str, str], int]


def observed(stage_cells: StageCells, analysis: Analysis) -> dict[str, Observed]:
    """The stages of a run, in the order of steps. RunError where the run's tables don't allow it."""
    found: dict[str, Observed] = {}
    some: dict[tuple[str, tuple[str, str]], list[tuple[np.ndarray, np.ndarray]]] = {}
    for table in analysis.in_batches(stage_cells.sql(), "its stages by place"):
        codes = np.stack([_codes(table[name]) for name in ("stage", "sender", "place")])
        starts = [0, *(np.flatnonzero((codes[:, 1:] != codes[:, :-1]).any(axis=0)) + 1).tolist()]
        firsts = table.take(starts).to_pylist()
        key, value, waited = (table[name].to_numpy() for name in ("key", "value", "waited"))
        for first, (start, end) in zip(firsts, pairwise([*starts, table.num_rows]), strict=True):
            one = found.setdefault(first["stage"], Observed(first["step"], {}, {}, {}))
            cell = (first["sender"] or "", first["place"])
            one.waited[cell] = one.waited.get(cell, 0) + int(waited[start:end].sum())
            some.setdefault((first["stage"], cell), []).append((key[start:end].copy(), value[start:end].copy()))
    for stage, cell in list(some):
        keys, values = zip(*some.pop((stage, cell)), strict=True)
        found[stage].blocks[cell], found[stage].values[cell] = np.concatenate(keys), np.concatenate(values)
    return found


def groups_of(stage_cells: StageCells, analysis: Analysis) -> dict[str, str]:
    """The group of each place for which it is known. RunError where the run's tables don't allow it."""
    found = analysis.select(stage_cells.groups_sql(), "its groups of places")
    return dict(zip(found["place"].to_pylist(), found["group"].to_pylist(), strict=True))


def _codes(column: pa.ChunkedArray) -> np.ndarray:
    """A number per value of text; -1 for none."""
    words = column.combine_chunks()
    if not isinstance(words, pa.DictionaryArray):
        words = words.dictionary_encode()
    return words.indices.cast(pa.int64()).fill_null(-1).to_numpy()


def cells_of(sides: Sequence[Sequence[dict[str, Observed]]], groups: Mapping[str, str]) -> list[Cells]:
    """The stages that took place in the same cells on both sides, in the order of steps.

    Args:
        sides: The stages of each run of the baseline, and of the candidate.
        groups: The group of each place, as far as it is known.
    """
    steps = sorted({(one.step, stage) for side in sides for run in side for stage, one in run.items()})
    both = set.intersection(
        *({place for run in side for one in run.values() for _, place in one.blocks} for side in sides)
    )
    return [cells for _, stage in steps if (cells := _cells(stage, sides, groups, both)) is not None]


def _cells(
    stage: str, sides: Sequence[Sequence[dict[str, Observed]]], groups: Mapping[str, str], both: set[str]
) -> Cells | None:
    runs = [[run[stage] for run in side if stage in run] for side in sides]
    # Where sides have several runs, what differs from run to run is chance too, and the blocks of one run share it.
    by_run = all(len(side) > 1 for side in sides)
    waited = Counter[tuple[str, str]]()
    for side in runs:
        for run in side:
            waited.update(run.waited)

    def enough(cells: Sequence[tuple[str, str]]) -> bool:
        for side in runs:
            seen = [_distinct(np.concatenate(there)) for run in side if (there := _there(run, cells))]
            if sum(seen) < LEAST_BLOCKS or (by_run and len(seen) < 2):
                return False
        return any(waited[cell] for cell in cells)

    found: list[tuple[tuple[str, str], list[tuple[str, str]]]] = []
    seldom: dict[str, list[tuple[str, str]]] = {}
    for cell in sorted({cell for side in runs for run in side for cell in run.blocks}):
        if enough([cell]):
            found.append((cell, [cell]))
        elif not cell[0] and cell[1] in both:
            seldom.setdefault(groups.get(cell[1], ""), []).append(cell)
    found += [(("", ""), cells) for cells in seldom.values() if enough(cells)]
    if not found:
        return None
    weights = np.array([sum(waited[cell] for cell in cells) for _, cells in found], float)
    means = np.empty((2, len(found)))
    errors: list[Errors] = []
    for number, side in enumerate(runs):
        # Blocks of different runs are different blocks.
        first = np.cumsum([0, *(max(int(one.max()) for one in run.blocks.values()) + 1 for run in side)])
        of_cells, units, parts = [], [], []
        for place, (_, cells) in enumerate(found):
            there = [(run, cell) for run in range(len(side)) for cell in cells if cell in side[run].values]
            values = np.concatenate([side[run].values[cell] for run, cell in there])
            of = np.concatenate(
                [
                    np.full(side[run].values[cell].size, run) if by_run else first[run] + side[run].blocks[cell]
                    for run, cell in there
                ]
            )
            count = _distinct(of)
            means[number, place] = values.mean()
            of_cells.append(np.full(values.size, place, np.int32))
            units.append(of)
            parts.append((values - values.mean()) * np.sqrt(count / (count - 1)) / values.size * weights[place])
        errors.append(
            Errors(np.concatenate(of_cells), dense_ranks(np.concatenate(units)).astype(np.int32), np.concatenate(parts))
        )
    return Cells(
        stage=stage,
        names=[name for name, _ in found],
        groups=[(groups.get(cells[0][0], ""), groups.get(cells[0][1], "")) for _, cells in found],
        means=means,
        taken=np.zeros(len(found)),
        weights=weights,
        errors=errors,
    )


def _there(run: Observed, cells: Sequence[tuple[str, str]]) -> list[np.ndarray]:
    """The blocks of those of the cells that a run has."""
    return [run.blocks[cell] for cell in cells if cell in run.blocks]


def _distinct(values: np.ndarray) -> int:
    """Returns the number of distinct values, of at least one."""
    return 1 + int(np.count_nonzero(np.diff(np.sort(values))))
