"""Knowledge from before a comparison of how much runs of one build differ: a table, the earlier runs of a folder, or what a policy assumes."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from slotmark import warnings
from slotmark.cleaning import one_name
from slotmark.compare.deciding.policy import Policy
from slotmark.compare.matching.paired_runs import spoiling
from slotmark.compare.matching.sides import builds, recordings
from slotmark.compare.run_to_run.prior import Prior
from slotmark.compare.run_to_run.spread_table import (
    SpreadTable,
    read_spread_table,
    refuse_other_runs,
    refuse_simulated,
    shipped_table,
)
from slotmark.compare.spread import spread
from slotmark.errors import ComparisonError
from slotmark.metrics import Filter, catalogue
from slotmark.run import Manifest, Run, open_runs
from slotmark.warnings import Warning
from slotmark.words import few, listed


class EarlierRuns(msgspec.Struct, frozen=True):
    """Runs from before a comparison, some of which may show how much runs of one build differ.

    Attributes:
        name: What to call them.
        runs: One or more; the compared runs may be among them.
        asked: Whether they were named to show it, so that it is an error where they don't.
    """

    name: str
    runs: Sequence[Run]
    asked: bool = True


Source = Path | EarlierRuns
"""A table of how much runs differ or a folder of earlier runs, or such runs."""

NAMED = 3
"""The most runs that are named for one reason; how many there are is always said."""


def prior_of(
    groups: Sequence[Sequence[Run]], given: Source | None, policy: Policy, filters: Sequence[Filter] | None = None
) -> Prior | None:
    """Returns what was known before these runs; None of simulated ones, whose seeds are their runs.

    Args:
        groups: The runs of each side.
        given: A table of how much runs differ, a folder of earlier runs, or such runs; None for the table that comes with slotmark for their cluster, if there is one.
        policy: What it assumes counts where no table has a metric.
        filters: What of each earlier run is analysed; None for what its own profile says.

    Raises:
        ComparisonError: The file is no table, or one of other runs; or the folder has no two runs of one build that are of the same bench, cluster and work.
        RunError: A run of the folder is damaged.
    """
    runs = [run for group in groups for run in group]
    manifests = [run.manifest for run in runs]
    table, warned = None, []
    if isinstance(given, EarlierRuns):
        if not any(one.origin == "simulated" for one in manifests):
            table, warned = earlier_runs(given, runs, filters)
    elif given:
        refuse_simulated(given, manifests)
        if given.is_dir():
            named = one_name(given.resolve().name)
            table, warned = earlier_runs(EarlierRuns(named, open_runs(given)), runs, filters)
        else:
            table = read_spread_table(given)
            refuse_other_runs(table, given, manifests)
    if any(one.origin == "simulated" for one in manifests):
        return None
    return Prior(
        table=table or shipped_table(manifests),
        assumed=policy.assumed_spread,
        of_metrics=policy.assumed_spreads,
        warnings=warned,
    )


def earlier_runs(
    earlier: EarlierRuns, compared: Sequence[Run], filters: Sequence[Filter] | None = None
) -> tuple[SpreadTable | None, list[Warning]]:
    """The table of how much runs of one build differ, from those earlier runs that are like the compared ones, and a warning of what was left out.

    Args:
        earlier: The runs; the compared runs may be among them, and are left out.
        compared: One run or more, none of them simulated.
        filters: What of each run is analysed; None for what its own profile says.

    Returns:
        No table where no two runs that are left are of one build, or where they don't show how much such runs differ, as those of benches that repeat rounds within a run.

    Raises:
        ComparisonError: So it is with runs that were named to show it.
    """
    kept: list[Run] = []
    left_out: dict[str, list[str]] = {}
    known = {digest: "compared here" for run in compared for digest in _digests(run)}
    for run in earlier.runs:
        why = next((known[one] for one in _digests(run) if one in known), "") or next(
            _unlike(compared[0].manifest, run), ""
        )
        if why:
            left_out.setdefault(why, []).append(run.name)
        else:
            kept.append(run)
            known |= dict.fromkeys(_digests(run), "there twice")
    setup = catalogue(compared[0].manifest.bench).setup
    place = setup.place if setup else "machine"
    reasons = "; ".join(f"{why}: {listed(few(names, NAMED))}" for why, names in left_out.items())
    groups = [group for group in builds(kept) if len(group) > 1]
    if not groups and not earlier.asked:
        why = reasons or f"no other run is of that bench, {place} and work"
        return None, [warnings.earlier_runs_left_out(earlier.name, why)]
    if not groups:
        remarks = f" Left out: {reasons}." if reasons else ""
        raise ComparisonError(
            f"{earlier.name}: no two of its runs are of one build and of the bench, {place} and work of {compared[0].manifest.id}, so nothing shows how much such runs "
            f"differ.{remarks} Name another folder, or a table from `slotmark spread`."
        )
    single = [run.name for group in builds(kept) if len(group) == 1 for run in group]
    if single:
        reasons = "; ".join(filter(None, (reasons, f"the only run of its build: {listed(few(single, NAMED))}")))
    try:
        table = spread(groups, f"earlier runs in {earlier.name}", filters=filters).table
    except ComparisonError as error:
        if earlier.asked:
            raise ComparisonError(
                f"{earlier.name}: nothing shows how much runs of one build differ. {error}"
            ) from error
        return None, [warnings.earlier_runs_left_out(earlier.name, f"all of them. {str(error).removesuffix('.')}")]
    return table, [warnings.earlier_runs_left_out(earlier.name, reasons)] if reasons else []


def _digests(run: Run) -> list[str]:
    """Digests of which no other run has one: of its tables, and of the files that were recorded elsewhere."""
    return [run.manifest.content, *recordings(run.manifest)]


def _unlike(ours: Manifest, run: Run) -> Iterator[str]:
    """Gives the reasons why a run isn't of the bench, the cluster and the work of another, or isn't whole; none where nothing shows that."""
    theirs, setup = run.manifest, catalogue(ours.bench).setup
    if theirs.bench != ours.bench:
        yield f"of bench '{theirs.bench}'"
    if theirs.origin == "simulated":
        yield "simulated"
    if theirs.mixed:
        yield f"of two targets that shared a {setup.place if setup else 'run'}"
    for fact, value in ours.workload.items():
        if (other := theirs.workload.get(fact, "not recorded")) != value:
            yield f"of other work ({one_name(fact)} is {one_name(other)} there, and {one_name(value)} here)"
    if len({one.machine.hostname_hash if one.machine else "" for one in (ours, theirs)}) > 1:
        yield "of another machine"
    if setup is not None:
        here, there = (one_name(str(one.parameters.get(setup.parameter, ""))) for one in (ours, theirs))
        if here != there:
            yield f"of another {setup.parameter} ('{there}' there, and '{here}' here)"
    for warning in spoiling(run):
        yield f"spoilt ({warning.text.removesuffix('.')})"
