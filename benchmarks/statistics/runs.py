"""Prints how often the line of a comparison of runs is wrong, by how many runs there are and how much they vary: the table of docs/decision.md.

    benchmarks/statistics/run [repetitions] [--shard N/OF -o FOLDER | --merge FOLDER]

The same seed prints the same table.
"""

from benchmarks.statistics.rows import Asked
from tests.compare.planted_runs import MARGIN, SHAPES, Plant, rates

SPREADS = (0.0, 0.005, 0.01, 0.02, 0.04)

DESIGNS: dict[str, tuple[tuple[int, int], float | None]] = {
    "1 and 1, prior right": ((1, 1), 1.0),
    "1 and 1, prior half of it": ((1, 1), 0.5),
    "1 and 1, prior twice it": ((1, 1), 2.0),
    "1 and 3": ((1, 3), None),
    "1 and 5": ((1, 5), None),
    "2 and 2": ((2, 2), None),
    "3 and 3": ((3, 3), None),
    "5 and 5": ((5, 5), None),
}
"""Runs of both sides, and how large the runs of a given table varied, in the true spread."""


def main() -> None:
    """Prints the table."""
    asked = Asked(400)
    count = asked.repetitions
    places = [
        (name, shape, spread)
        for shape in SHAPES
        for name in DESIGNS
        for spread in SPREADS
        if shape == "normal" or spread == 0.04
    ]
    print(
        f"\n{count:,} made-up comparisons per row: spread of runs, runs per side | equal builds: hold, ship | worse by"
    )
    print(
        "the margin: ship | by two margins and four spreads: hold | by 4 %: hold | intervals cover: all metrics, the least"
    )
    asked.print_rows(row, ((one, count) for one in places))


def row(place: tuple[str, str, float], count: int) -> str:
    """A line of the table."""
    name, shape, spread = place
    sides, prior = DESIGNS[name]
    equal, margin, far, four = rates(
        Plant(sides=sides, spread=spread, shape=shape, prior=prior),
        [0.0, MARGIN, 2 * MARGIN + 4 * spread, 0.04],
        count,
    )
    return (
        f"{shape:18} {spread:6.1%} {name:26} | {equal.hold:6.1%} {equal.ship:6.1%} | {margin.ship:6.1%} | {far.hold:6.1%} | {four.hold:6.1%} | "
        f"{equal.covered:6.1%} {equal.least:6.1%}"
    )


if __name__ == "__main__":
    main()
