"""Two targets that shared the hosts of one cluster and swapped them from round to round, compared by hosts in rounds. docs/method.md has the model."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import pyarrow as pa

from slotmark import warnings
from slotmark.compare.estimators.interface import Entry, Measured, measured_of_means
from slotmark.compare.estimators.reach import Chance
from slotmark.compare.matching.paired_runs import spoiling
from slotmark.compare.result import Side
from slotmark.compare.results.rows import ALL, Basis
from slotmark.compare.summary import summarise_runs
from slotmark.compare.traits import traits_of
from slotmark.compare.verdict import Judgement
from slotmark.errors import ComparisonError
from slotmark.metrics import Analysis, Metric, Samples
from slotmark.metrics.catalogue import Mixed, PassedOn
from slotmark.run import Manifest, Run, Target
from slotmark.statistics.between_runs import Spread
from slotmark.statistics.passed_on import UNKNOWN, swapped_on_the_way
from slotmark.statistics.passed_on import PassedOn as OnTheWay
from slotmark.statistics.swapped import Levels, Swapped, levels, swapped
from slotmark.verdict import Verdict
from slotmark.warnings import ENOUGH_RUNS, Warning

OVER = "mixed rounds"
"""The words for what intervals are over."""

STAYS = "stays"
"""The column of a place that runs one and the same in all rounds of its session, and isn't swapped."""

Ran = Mapping[str, str]
"""Host to the name of what it ran in a round."""


def mixed_rounds(runs: Sequence[Run]) -> tuple[list[Run], list[Warning]]:
    """The rounds that can be compared, in their order, and a warning for each that can't.

    Raises:
        ComparisonError: They aren't rounds of the same two targets, or two runs are one round.
    """
    names = runs[0].manifest.mixed
    for run in runs:
        if run.manifest.mixed != names:
            raise ComparisonError(
                f"{run.place}: {' and '.join(run.manifest.mixed) or 'one target'} ran there, and {' and '.join(names)} in {runs[0].place}. Name rounds of the same two."
            )
    by_round = {(run.manifest.session, run.manifest.round): run for run in runs}
    if len(by_round) < len(runs):
        raise ComparisonError("two of the runs are one round of one session: a round counts once. Leave one out.")
    kept, remarks = [], []
    for (_, number), run in sorted(by_round.items()):
        if spoilt := spoiling(run):
            remarks.append(warnings.round_left_out(number, f"{run.place.name}: {spoilt[0].text.removesuffix('.')}"))
        else:
            kept.append(run)
    return kept, remarks


def both_sides(runs: Sequence[Run], both: Side) -> list[Side]:
    """Two sides, each of all the rounds, with what was analysed of both."""
    sides = []
    for name in runs[0].manifest.mixed:
        of_side = [_of_side(run.manifest, name) for run in runs]
        sides.append(msgspec.structs.replace(both, name=name, manifest=of_side[0], others=of_side[1:]))
    return sides


def _of_side(manifest: Manifest, name: str) -> Manifest:
    """The manifest of a round with one of its two targets; the version is that target's, or none where only the other's is recorded."""
    target = msgspec.structs.replace(manifest.target, name=name)
    recorded = {one: manifest.versions.get(f"target {one}", "") for one in manifest.mixed}
    if any(recorded.values()):
        target = Target(name, recorded[name])
    return msgspec.structs.replace(manifest, target=target)


def who_ran(runs: Sequence[Run], mixed: Mixed) -> list[Ran]:
    """Returns the node of each host, round by round.

    Raises:
        ComparisonError: A run lacks the record, a host ran neither of the two, or hosts weren't swapped from a round to the next.
    """
    found: list[Ran] = []
    staying: set[str] = set()
    for run in runs:
        if mixed.ran not in run.manifest.tables:
            raise ComparisonError(
                f"{run.place}: it has no table '{mixed.ran}', which has what each {mixed.place} ran. Make the run again."
            )
        table = run.table(mixed.ran)
        of_run = dict(zip(table[mixed.place].to_pylist(), table["name"].to_pylist(), strict=True))
        if STAYS in table.column_names:
            staying |= {place for place, stays in zip(of_run, table[STAYS].to_pylist(), strict=True) if stays}
        if wrong := sorted(set(of_run.values()) - {*run.manifest.mixed}):
            raise ComparisonError(
                f"{run.place}: by its table '{mixed.ran}' a {mixed.place} ran '{wrong[0]}', which is neither of {' and '.join(run.manifest.mixed)}."
            )
        found.append(of_run)
    for (first, before), (run, after) in zip(
        zip(runs, found, strict=True), list(zip(runs, found, strict=True))[1:], strict=False
    ):
        same_session = first.manifest.session == run.manifest.session
        if same_session and run.manifest.round == first.manifest.round + 1 and run.manifest.round % 2 == 0:
            stayed = sorted(host for host in after.keys() - staying if before.get(host) == after[host])
            if stayed or set(before) != set(after):
                what = (
                    f"{stayed[0]} ran '{after[stayed[0]]}' in both" if stayed else f"the two have other {mixed.place}s"
                )
                raise ComparisonError(
                    f"{first.place} and {run.place}: the {mixed.place}s were not swapped between these two rounds: {what}. Their own effects would be part of the difference; "
                    f"measure them again with `{mixed.made_by}`."
                )
    return found


def differs_by_place(metric: Metric, mixed: Mixed) -> bool:
    """Returns whether hosts of a mixed cluster differ in a metric: its samples are of a host, or of a block that one forged."""
    return traits_of(metric.estimator).means_of_runs and (
        mixed.place in metric.grain or (metric.relation == mixed.forged and metric.grain == (mixed.key,))
    )


def is_of_staying(metric: Metric, mixed: Mixed, analyses: Sequence[Analysis], ran: Sequence[Ran]) -> bool:
    """Returns whether a metric has values of places alone that weren't swapped, as one of forging where only relays were."""
    ran_by = defaultdict[str, set[str]](set)
    for of_round in ran:
        for place, name in of_round.items():
            ran_by[place].add(name)
    both = {place for place, names in ran_by.items() if len(names) > 1}
    if mixed.place in metric.grain or len(both) == len(ran_by):
        return False  # without a look at its samples
    rows = [analysis.named_samples(metric.id).rows for analysis in analyses]
    forgers = {place for of_run in rows for place in of_run[mixed.forger].cast(pa.string()).unique().to_pylist()}
    return bool(forgers) and not forgers & both


class _Values(msgspec.Struct, frozen=True):
    """The values of a metric in the rounds, by side and by host.

    Attributes:
        sides: The samples of each side, a list per side with one per round that has any.
        rounds: The levels of each round's hosts.
        treated: For each round, whether each of these hosts ran the candidate.
        passed: For each round, how hosts had the values from each other; fewer where that isn't known of all, or hosts have none from others.
    """

    sides: tuple[list[Samples], list[Samples]]
    rounds: list[Levels]
    treated: list[np.ndarray]
    passed: list[OnTheWay]

    def swapped(self, confidence: float) -> Swapped | None:
        """The candidate's effect; None where it can't be estimated."""
        there = self.rounds and all(any(one.table.num_rows for one in side) for side in self.sides)
        if not there:
            return None
        if len(self.passed) == len(self.rounds):
            return swapped_on_the_way(self.passed, confidence)
        return swapped(self.rounds, self.treated, confidence)


def entry(
    metric: Metric,
    mixed: Mixed,
    names: Sequence[str],
    analyses: Sequence[Analysis],
    ran: Sequence[Ran],
    confidence: float,
) -> Entry | None:
    """The row of a metric; None where no run has it."""
    values = _values(metric, mixed, names, analyses, ran)
    if values is None:
        return None
    summaries = [
        summarise_runs(some, ALL) if (some := [one for one in of_side if one.table.num_rows]) else None
        for of_side in values.sides
    ]
    found = values.swapped(confidence)
    return Entry(
        metric=metric,
        quantity="mean",
        summaries=summaries,
        fitted=found and [found.base, found.base + found.found.interval.estimate],
        measured=[_measured(metric, found, len(values.rounds))],
    )


def chance(
    metric: Metric,
    mixed: Mixed,
    names: Sequence[str],
    analyses: Sequence[Analysis],
    ran: Sequence[Ran],
    confidence: float,
) -> Chance | None:
    """Returns the variation of the difference that one round shows; None where these rounds don't show it."""
    values = _values(metric, mixed, names, analyses, ran)
    found = values and values.swapped(confidence)
    if values is None or found is None or found.base <= 0:
        return None
    hosts = np.unique(np.concatenate([one.places for one in values.rounds])).size
    return chance_of_rounds(metric, found, len(values.rounds), hosts)


def chance_of_rounds(metric: Metric, found: Swapped, rounds: int, hosts: int) -> Chance:
    """Returns the variation of the difference that one round shows.

    Args:
        metric: Which.
        found: From some rounds; its base is above 0.
        rounds: How many these were.
        hosts: How many swapped.
    """
    spread = Spread(rounds * (found.error / found.base) ** 2, found.degrees)
    return Chance(design="mixed rounds", metric=metric, part=ALL, mean=found.base, spread=spread, hosts=hosts)


def without_senders(mixed: Mixed, analyses: Sequence[Analysis], ran: Sequence[Ran]) -> list[str]:
    """The targets on whose hosts a round doesn't show from where they had values that hosts pass on; none where no metric has such values."""
    if (how := mixed.passed_on) is None:
        return []
    found: set[str] = set()
    for analysis, of_round in zip(analyses, ran, strict=True):
        places = set(analysis.named_samples(how.metric).rows[mixed.place].cast(pa.string()).to_pylist())
        sent = analysis.query(
            f'SELECT DISTINCT CAST("{mixed.place}" AS VARCHAR) AS place FROM "{how.relation}" WHERE "{how.sender}" IS NOT NULL',
            f"'{how.relation}'",
        )
        found |= {of_round[place] for place in places - set(sent["place"].to_pylist()) if place in of_round}
    return sorted(found)


def _values(
    metric: Metric, mixed: Mixed, names: Sequence[str], analyses: Sequence[Analysis], ran: Sequence[Ran]
) -> _Values | None:
    """Returns the values of a metric in the rounds; None where no run has it."""
    each = [(analysis.named_samples(metric.id), analysis) for analysis in analyses]
    passed_on = mixed.passed_on if mixed.passed_on and mixed.passed_on.metric == metric.id else None
    by_place = mixed.place in metric.grain
    column = mixed.place if by_place else mixed.forger
    there = [(*of_run, of_round) for of_run, of_round in zip(each, ran, strict=True) if _recorded(of_run[0])]
    if not there:
        return None
    hosts = sorted({host for of_round in ran for host in of_round})
    found = _Values(([], []), [], [], [])
    for samples, analysis, of_round in there:
        rows = samples.rows
        where = rows[column].cast(pa.string()).to_pylist()
        known = np.array([host in of_round for host in where])
        side = np.array([of_round.get(host) == names[1] for host in where])
        for of_side, mask in zip(found.sides, (known & ~side, known & side), strict=True):
            of_side.append(msgspec.structs.replace(samples, table=samples.table.filter(pa.array(mask))))
        places = np.array([hosts.index(host) for host, one in zip(where, known, strict=True) if one], dtype=np.int64)
        units = None
        if by_place and len(metric.grain) > 1:
            (unit,) = (one for one in metric.grain if one != mixed.place)
            units = np.unique(rows[unit].to_numpy()[known], return_inverse=True)[1]
        if not places.size:
            continue
        found.rounds.append(levels(rows["value"].to_numpy()[known], places, units))
        found.treated.append(np.array([of_round[hosts[place]] == names[1] for place in found.rounds[-1].places]))
        if passed_on is not None and units is not None:
            treated = np.array([of_round.get(host) == names[1] for host in hosts])
            of_hosts = rows.filter(pa.array(known))
            found.passed.extend(_on_the_way(analysis, mixed, passed_on, of_hosts, hosts, (places, units, treated)))
    return found


def _on_the_way(
    analysis: Analysis,
    mixed: Mixed,
    how: PassedOn,
    rows: pa.Table,
    hosts: Sequence[str],
    numbered: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> list[OnTheWay]:
    """Returns how hosts had the values of a round from each other; empty where the run doesn't record it of a host, as of a node that logs no requests.

    Args:
        analysis: Of the round.
        mixed: The catalogue's.
        how: Likewise.
        rows: The values with their keys.
        hosts: All, in the order of their numbers.
        numbered: The number of each value's host and unit, and whether a host of a number ran the candidate.
    """
    sql = f'SELECT "{mixed.key}", "{mixed.place}", "{how.sender}" FROM "{how.relation}"'
    *keys, senders = (column.to_pylist() for column in analysis.query(sql, f"'{how.relation}'").columns)
    sent_by: dict[tuple[int | str, ...], str | None] = dict(zip(zip(*keys, strict=True), senders, strict=True))
    numbers: dict[str | None, int] = {host: number for number, host in enumerate(hosts)}
    of_rows = zip(*(rows[name].to_pylist() for name in (mixed.key, mixed.place)), strict=True)
    places, units, treated = numbered
    known = np.array([numbers.get(sent_by.get(row), UNKNOWN) for row in of_rows], dtype=np.int64)
    if np.setdiff1d(places, places[known != UNKNOWN]).size:
        return []
    return [
        OnTheWay(
            values=rows["value"].to_numpy(),
            places=places,
            units=units,
            senders=known,
            origins=np.array([numbers.get(one, UNKNOWN - 1) for one in rows[mixed.forger].to_pylist()], dtype=np.int64),
            treated=treated,
        )
    ]


def _recorded(samples: Samples) -> bool:
    values = samples.table["value"].to_numpy()
    return values.size > 0 and not (samples.metric.zero_unrecorded and not values.any())


def _measured(metric: Metric, result: Swapped | None, rounds: int) -> Measured:
    shown = "" if metric.tested else "not tested"
    if result is None:
        why = "chance can't be estimated from so few places and rounds"
        return Measured(ratio=None, paired=True, shown=shown, settled=Judgement(Verdict.UNDECIDED, why))
    return measured_of_means(
        metric,
        result.base,
        result.found.interval,
        result.found.bounds,
        p=result.found.p,
        paired=True,
        shown=shown,
        conditional=rounds < ENOUGH_RUNS,
        basis=Basis(OVER, (rounds, rounds), (float(rounds), float(rounds)), result.degrees),
    )
