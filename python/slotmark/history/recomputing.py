"""Estimates of a store computed anew, and which changes are others then."""

import msgspec

from slotmark.errors import StoreError
from slotmark.history.decisions import read_decisions
from slotmark.history.read import changes_of
from slotmark.history.results import FoundChange
from slotmark.history.store import Progress, Store


class Recomputed(msgspec.Struct, frozen=True):
    """The end of a computation.

    Attributes:
        runs: How many runs it was of.
        lines: A line for each sure change that is there only before or only after it.
    """

    runs: int
    lines: list[str]


def recomputed(store: Store, progress: Progress | None = None) -> Recomputed:
    """Computes all estimates of a store anew. Raises as :meth:`Store.recompute`."""
    earlier = store.slotmark
    before = _sure(store)
    runs = store.recompute(progress)
    after = _sure(store)
    why = f"estimates of slotmark {store.slotmark} in the place of {earlier}'s"
    gone = [f"gone: {_shown(one)} ({why})" for name, one in before.items() if name not in after]
    new = [f"new: {_shown(one)} ({why})" for name, one in after.items() if name not in before]
    return Recomputed(runs, [*gone, *new])


def _sure(store: Store) -> dict[str, FoundChange]:
    """The sure changes of a store; none where its estimates can't be read."""
    try:
        found = changes_of(store, read_decisions(store))
    except StoreError:
        return {}
    return {one.id: one for one in [*found.changes, *found.accepted] if one.state == "sure"}


def _shown(one: FoundChange) -> str:
    return f"{one.id}, {one.metric}{', ' if one.part else ''}{one.part} since {one.version or one.name}"
