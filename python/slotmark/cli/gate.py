"""Gates: the metrics that one looks at, with their margins, and the exit code that follows from verdicts."""

import tomllib
from collections.abc import Collection, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from slotmark.cli.quantities import fraction
from slotmark.errors import ArgumentError

if TYPE_CHECKING:
    from slotmark.compare import Comparison
    from slotmark.compare.block_comparison import BlockComparison

WORSE, CANT_TELL = 1, 3
"""Exit codes of a gate that fails."""


class FailOn(StrEnum):
    """What makes the command fail."""

    worse = "worse"
    inconclusive = "inconclusive"


def read_gate(path: Path, tested: Sequence[str]) -> dict[str, float]:
    """The margins of a gate's metrics, by metric id: a TOML file with lines as ``forge_ticked = "3%"``.

    Args:
        path: The file.
        tested: The metrics that there are.

    Raises:
        ArgumentError: There is no such file, it is no such TOML, or it names another metric.
    """
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ArgumentError(f"--gate {path}: can't be read ({error.strerror}). Give a TOML file.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArgumentError(f'--gate {path}: not TOML ({error}). Expected lines as forge_ticked = "3%".') from error
    if not entries:
        raise ArgumentError(f'--gate {path}: names no metric. Expected lines as forge_ticked = "3%".')
    for metric in entries:
        if metric not in tested:
            raise ArgumentError(f"--gate {path}: '{metric}' isn't tested. Tested are: {', '.join(tested)}.")
    return {metric: fraction(f"--gate {path}: {metric}", str(share)) for metric, share in entries.items()}


def exit_code(comparison: "Comparison | BlockComparison", gated: Collection[str], fail_on: FailOn | None) -> int:
    """0, or the code of a gate that fails. Rows that are only shown, as parts of the blocks, have no verdict and don't count.

    Args:
        comparison: With its verdicts.
        gated: The metrics to look at; all where there are none.
        fail_on: What to fail on; with gated metrics at least what is worse.

    Raises:
        ArgumentError: A gated metric has no verdict for some candidate: a gate that sees nothing must not let it pass.
    """
    given = [
        (row.metric.id, place, difference.verdict)
        for row in comparison.rows
        for place, difference in enumerate(row.differences)
        if difference is not None and difference.verdict is not None
    ]
    for metric in gated:
        for place, side in enumerate(comparison.candidates):
            if not any((one, where) == (metric, place) for one, where, _ in given):
                raise ArgumentError(
                    f"--gate: nothing was compared in '{metric}' for {side.name}: one of the runs doesn't have it. Leave it out."
                )
    verdicts = {verdict for metric, _, verdict in given if not gated or metric in gated}
    if (fail_on is not None or gated) and "worse" in verdicts:
        return WORSE
    return CANT_TELL if fail_on is FailOn.inconclusive and "inconclusive" in verdicts else 0
