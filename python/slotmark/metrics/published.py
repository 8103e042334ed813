"""Tables as an established tool or report prints them: ``--method published``."""

from collections.abc import Sequence

import msgspec

from slotmark.errors import ComparisonError
from slotmark.run import Run


class PublishedTable(msgspec.Struct, frozen=True):
    """A table, every cell as printed.

    Attributes:
        title: Above it.
        columns: Their titles.
        rows: The cells.
        labels: How many of the first columns hold words.
        notes: Below it.
    """

    title: str
    columns: list[str]
    rows: list[list[str]]
    labels: int = 2
    notes: list[str] = []


def published_tables(sides: Sequence[Sequence[Run]]) -> list[PublishedTable]:
    """The established report's tables from these runs, the first side as the reference.

    Args:
        sides: Each of one run or several of one target. Chain-sync's tables have a row a run; a ledger side's processes are put
            together.

    Raises:
        ComparisonError: Nobody has published tables of this bench.
    """
    from slotmark.metrics.chainsync import published as chainsync  # noqa: PLC0415 - each bench has its own
    from slotmark.metrics.ledger import published as ledger  # noqa: PLC0415

    bench = sides[0][0].manifest.bench
    if bench == "chainsync":
        return chainsync.tables([run for side in sides for run in side])
    if bench == "ledger":
        return ledger.tables(sides)
    raise ComparisonError(f"--method published: nobody has published tables of {bench}. Leave it out.")
