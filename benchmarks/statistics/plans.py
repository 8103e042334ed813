"""Prints how often as many runs or rounds as `slotmark plan` asks for are enough: the table of docs/how-many-runs.md.

    benchmarks/statistics/run [repetitions] [--shard N/OF -o FOLDER | --merge FOLDER]

The same seed prints the same table.
"""

from benchmarks.statistics.rows import Asked
from tests.compare.planted_plans import Plant, kept

CHANGE = 0.04
"""A difference that is to be found: twice the margin."""

PLANTS = (
    *(Plant(design="runs", before=before, spread=spread) for before in (2, 3, 5) for spread in (0.005, 0.01, 0.02)),
    *(Plant(design="runs", before=1, table=11, spread=spread) for spread in (0.005, 0.01, 0.02)),
    *(
        Plant(design="paired rounds", before=before, spread=spread)
        for before in (4, 6)
        for spread in (0.005, 0.01, 0.02)
    ),
    *(Plant(design="mixed rounds", before=before, spread=spread) for before in (2, 4) for spread in (0.01, 0.02)),
    Plant(design="mixed rounds", before=2, spread=0.03, hosts=10),
)


def main() -> None:
    """Prints the table."""
    asked = Asked(200)
    count = asked.repetitions
    print(
        f"\n{count:,} made-up plans per row: design, of how many units, spread of a run or of a host in a round | an unchanged metric"
    )
    print(
        f"is shown to be within its margin by as many as asked: share, how many | a difference of {CHANGE:.0%} is found: share, how many"
    )
    asked.print_rows(row, ((one, count) for one in PLANTS))


def row(plant: Plant, count: int) -> str:
    """Returns a line of the table."""
    found = kept(plant, CHANGE, count)
    of = {
        "runs": f"{plant.before} per side" if not plant.table else f"{plant.before} per side, table",
        "mixed rounds": f"{plant.before}, {plant.hosts} hosts",
    }.get(plant.design, str(plant.before))
    beyond = f" | beyond {found.beyond:.1%}" if found.beyond else ""
    return f"{plant.design:14} {of:17} {plant.spread:5.1%} | {found.shown:6.1%} {found.units:6.1f} | {found.found:6.1%} {found.units_found:6.1f}{beyond}"


if __name__ == "__main__":
    main()
