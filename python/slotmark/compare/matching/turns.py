"""Checks whether the processes of two sides took turns: else what the machine drifted in between looks like a difference."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import numpy as np

from slotmark.compare.matching.sides import in_turns
from slotmark.compare.result import Side
from slotmark.metrics import Analysis, Turns

FARTHEST = 0.4
"""Sides take turns where at no moment one is farther than the other by more than this share of its processes. Of three rounds it is a third, of two a half."""

Moment = tuple[str, int] | tuple[datetime, int]


def apart(turns: Turns | None, sides: tuple[Side, Side], analyses: Sequence[Sequence[Analysis]]) -> str:
    """Returns why nothing shows that two sides took turns, in words; empty where they did, or where a session took turns and records no order.

    Args:
        turns: Where the bench keeps the order; None where it keeps none.
        sides: Baseline and candidate.
        analyses: Analyses of their runs.
    """
    if not in_turns(*sides):
        return "nothing shows that processes of the two took turns"
    if turns is None:
        return ""
    moments = [[one for analysis in of_side for one in _moments(turns, analysis)] for of_side in analyses]
    known = [one for of_side in moments for one in of_side if one is not None]
    if len(known) < sum(map(len, moments)) or len({type(one[0]) for one in known}) != 1 or len(set(known)) < len(known):
        return ""
    ours, theirs = (np.sort([sorted(known).index(one) for one in of_side if one]) for of_side in moments)
    places = np.arange(len(known))
    behind = [np.searchsorted(one, places, "right") / one.size for one in (ours, theirs)]
    fewest = min(ours.size, theirs.size)
    if float(np.abs(behind[0] - behind[1]).max()) <= (0.5 if fewest == 2 else FARTHEST):
        return ""
    return "processes of the two did not take turns, by the order in which they ran"


def _moments(turns: Turns, analysis: Analysis) -> Iterator[Moment | None]:
    """Yields when each process of a run ran: its place in the session, or its start where there is no place; None where neither is known."""
    if turns.relation not in analysis.run.manifest.tables:
        yield None
        return
    rows = analysis.query(f'SELECT {turns.place} AS place, {turns.started} AS started FROM "{turns.relation}"')
    for place, started in zip(rows["place"].to_pylist(), rows["started"].to_pylist(), strict=True):
        if place is not None:
            # Sessions come after each other: their names begin with nothing, so their starts order them.
            yield f"{analysis.run.manifest.started} {analysis.run.manifest.session}", place
        else:
            yield _moment(started)


def _moment(text: str | None) -> Moment | None:
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return (found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None)), 0
