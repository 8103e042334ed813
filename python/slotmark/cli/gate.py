"""Gates: the metrics that one looks at, with their margins, and the exit code that follows from verdicts."""

import tomllib
from collections.abc import Collection, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from slotmark.cli.quantities import fraction
from slotmark.errors import ArgumentError, did_you_mean

if TYPE_CHECKING:
    from slotmark.compare import Comparison

WORSE, CANT_TELL = 1, 3
"""Exit codes of a gate that fails."""


class Conditional(StrEnum):
    """What a verdict is to a gate that holds for these runs only."""

    counted = "count"
    inconclusive = "inconclusive"


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
            raise ArgumentError(
                f"--gate {path}: '{metric}' isn't tested.{did_you_mean(metric, tested)} Tested are: {', '.join(tested)}."
            )
    return {metric: fraction(f"--gate {path}: {metric}", str(share)) for metric, share in entries.items()}


class Outcome(NamedTuple):
    """How a gate ends: its exit code, 0 where it lets pass, and which metrics decided, in words."""

    code: int
    said: str = ""


def outcome(
    comparison: "Comparison",
    gated: Collection[str],
    fail_on: FailOn | None,
    conditional: Conditional = Conditional.counted,
) -> Outcome:
    """Whether a gate fails. Rows that are only shown, as parts of the blocks, have no verdict and don't count.

    Args:
        comparison: With its verdicts.
        gated: The metrics to look at; all where there are none.
        fail_on: What to fail on; with gated metrics at least what is worse.
        conditional: Whether verdicts that hold for these runs only count like any other, or as inconclusive.

    Raises:
        ArgumentError: A gated metric has no verdict for some candidate: a gate that sees nothing must not let it pass.
    """
    given = [
        (
            row.metric.id,
            side.name,
            "inconclusive"
            if difference.conditional and conditional is Conditional.inconclusive
            else difference.verdict,
        )
        for row in comparison.rows
        for side, difference in zip(comparison.candidates, row.differences, strict=True)
        if difference is not None and difference.verdict is not None
    ]
    for metric in gated:
        for side in comparison.candidates:
            if not any((one, name) == (metric, side.name) for one, name, _ in given):
                raise ArgumentError(
                    f"--gate: nothing was compared in '{metric}' for {side.name}: one of the runs doesn't have it. Leave it out."
                )
    fails_on = {"worse": WORSE} if fail_on is not None or gated else {}
    if fail_on is FailOn.inconclusive:
        fails_on["inconclusive"] = CANT_TELL
    for verdict, code in fails_on.items():
        found = [
            f"{metric} ({name})" for metric, name, one in given if one == verdict and (not gated or metric in gated)
        ]
        if found:
            return Outcome(code, f"the gate fails: {verdict} {', '.join(dict.fromkeys(found))}.")
    return Outcome(0)
