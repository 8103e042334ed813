"""Prints how often the decision of a whole report is wrong, on made-up reports whose truth is known: the table of docs/decision.md.

    benchmarks/statistics/run [repetitions] [--shard N/OF -o FOLDER | --merge FOLDER]

The same seed prints the same table.
"""

from itertools import product

from benchmarks.statistics.rows import Asked
from tests.compare.planted_decisions import TESTS, Bench, Plant, shares

NOISES = (0.3, 1.0, 3.0)
TWO_KINDS = ("rounds", "processes")
"""Benches whose noise has two kinds only."""


def main() -> None:
    """Prints the table."""
    asked = Asked(1_000)
    repetitions = asked.repetitions
    places = [(bench, noise) for bench, noise in product(TESTS, NOISES) if noise <= 1 or bench not in TWO_KINDS]
    print(
        f"\n{repetitions:,} made-up reports per row: what is repeated, error in margins | nothing planted: ship, hold,"
    )
    print("run again | worse by two margins: ship, hold, run again | nothing planted, all metrics decisive: hold")
    asked.print_rows(row, ((one, repetitions) for one in places))


def row(place: tuple[Bench, float], repetitions: int) -> str:
    """A line of the table."""
    bench, noise = place
    found = [
        shares(plant, repetitions)
        for plant in (Plant(bench, noise), Plant(bench, noise, effect=2), Plant(bench, noise, all_decide=True))
    ]
    nothing, worse = (f"{one['ship']:6.1%} {one['hold']:6.1%} {one['run again']:6.1%}" for one in found[:2])
    return f"{bench:16} {noise:3} | {nothing} | {worse} | {found[2]['hold']:6.1%}"


if __name__ == "__main__":
    main()
