"""Earlier runs in a store that may show how much runs of one build differ."""

from collections.abc import Sequence

from slotmark.cleaning import one_name
from slotmark.compare.earlier import EarlierRuns
from slotmark.history.decisions import Decisions, read_decisions
from slotmark.history.series import workload_of
from slotmark.history.store import Store
from slotmark.run import Run
from slotmark.run.storage import is_run


def runs_like(store: Store, compared: Sequence[Run], decisions: Decisions | None = None) -> EarlierRuns:
    """The runs of a store that are of the bench and the work of the compared ones, without those that readers left out. What else must be the same is looked at when they are used.

    Args:
        store: The store.
        compared: One run or more.
        decisions: What readers decided; None for what the store's file has.

    Raises:
        StoreError: The store is damaged.
    """
    decided = read_decisions(store) if decisions is None else decisions
    manifest = compared[0].manifest
    wanted = manifest.bench, workload_of(manifest)
    rows = store.table().select(["run", "name", "bench", "workload", "machine"]).to_pylist()
    like = [row["run"] for row in rows if (row["bench"], row["workload"]) == wanted and not decided.leaves_out(row)]
    return EarlierRuns(
        one_name(store.place.resolve().name),
        [*store.opened(one for one in like if is_run(store.place / "runs" / one))],
        asked=False,
    )
