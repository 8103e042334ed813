"""A machine's noise: how much processes of one target differ from each other, and so which changes are too small to show there.

It is measured by comparing a target with itself, kept in a file with the machine's facts, and used before runs of that machine are compared.
"""

import math
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np

from slotmark.compare.result import Comparison
from slotmark.compare.results.rows import ALL
from slotmark.compare.warnings import machines
from slotmark.errors import ArgumentError, ComparisonError, unwritten
from slotmark.metrics import catalogue
from slotmark.numbers import percent
from slotmark.run import MachineFacts, Run
from slotmark.statistics.interval import Interval
from slotmark.statistics.planning import detectable_between, deviation_range
from slotmark.versions import slotmark_version
from slotmark.warnings import ENOUGH_RUNS
from slotmark.whole_files import written_whole

SCHEMA = 1

CONFIDENCE = 0.9
"""The confidence of the range in which a smallest change lies, from this many processes."""

_Share = Annotated[float, msgspec.Meta(ge=0, le=10)]
_HASH = re.compile(r"[0-9a-f]{12}")


class Spread(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The difference of processes in one quantity.

    Attributes:
        quantity: As of a comparison's row.
        deviation: Standard deviation of a process's log cost.
        error_of_blocks: The part of the standard error of a comparison of this many processes that is the blocks'.
    """

    quantity: str
    deviation: _Share
    error_of_blocks: _Share


class Noise(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The noise of a machine, from a target that was compared with itself.

    Attributes:
        schema: Always :data:`SCHEMA`.
        bench: Bench of the runs.
        metric: Its name: the bench's first one.
        machine: Before the first measurement.
        target: What was compared with itself.
        workload: What it did.
        processes: On each of the two sides.
        measured: When it began; ISO 8601, UTC.
        slotmark: The version that measured it.
        spreads: By quantity.
    """

    schema: int = SCHEMA
    bench: str
    metric: str
    machine: MachineFacts
    target: str
    workload: dict[str, str]
    processes: Annotated[int, msgspec.Meta(ge=ENOUGH_RUNS, le=1_000_000)]
    measured: str
    slotmark: str
    spreads: Annotated[list[Spread], msgspec.Meta(min_length=1)]

    def detectable(self, spread: Spread, processes: int) -> Interval:
        """The smallest change, as a fraction, that this many processes per side find four times in five, with its range.

        It is of one test at 5 %, and of changes that all blocks share. The range is that of the deviation, at :data:`CONFIDENCE`.
        """
        found = deviation_range(spread.deviation, 2 * (self.processes - 1), CONFIDENCE)
        of_blocks = spread.error_of_blocks * math.sqrt(self.processes / processes)
        return Interval(
            *(
                math.expm1(
                    detectable_between(float(np.hypot(deviation * math.sqrt(2 / processes), of_blocks)), processes)
                )
                for deviation in (found.estimate, found.low, found.high)
            )
        )


def spread_of(quantity: str, error_of_runs: float, error_of_blocks: float, processes: int) -> Spread:
    """Returns how much processes differ, from the standard error of a comparison of this many on each side, by its two parts."""
    return Spread(quantity, error_of_runs * math.sqrt(processes / 2), error_of_blocks)


def noise_of(comparison: Comparison, target: str) -> Noise:
    """The noise that a comparison of a target with itself shows.

    Raises:
        ComparisonError: It has no ratio with an error of its processes, or doesn't have the machine.
    """
    manifest = comparison.baseline.manifest
    main = comparison.rows[0].metric
    processes = 0
    spreads = []
    for row in comparison.rows:
        difference = row.differences[0]
        detail = difference.detail if difference else None
        if row.metric.id != main.id or row.part != ALL or difference is None or detail is None:
            continue
        if detail.error_of_runs is None or detail.error_of_blocks is None or difference.basis is None:
            continue
        processes = min(difference.basis.counts)
        spreads.append(spread_of(row.quantity, detail.error_of_runs, detail.error_of_blocks, processes))
    if not spreads or manifest.machine is None:
        raise ComparisonError(f"{target}: its processes show no noise: a ratio needs costs above 0. Take more blocks.")
    return Noise(
        bench=manifest.bench,
        metric=main.name,
        machine=manifest.machine,
        target=target,
        workload=manifest.workload,
        processes=processes,
        measured=manifest.started,
        slotmark=slotmark_version(),
        spreads=spreads,
    )


def state_file(bench: str, machine: MachineFacts) -> Path | None:
    """Returns the file of a machine's noise: below ``$XDG_STATE_HOME`` or ``~/.local/state``; None where the machine has no name to keep it by."""
    if not _HASH.fullmatch(machine.hostname_hash):
        return None
    named = os.environ.get("XDG_STATE_HOME", "")
    # A relative path is to be ignored, by the XDG Base Directory Specification.
    state = Path(named) if named.startswith("/") else Path.home() / ".local" / "state"
    return state / "slotmark" / f"noise-{bench}-{machine.hostname_hash}.json"


def write_noise(noise: Noise, file: Path) -> None:
    """Writes the file whole; one that is there is replaced. ArgumentError where it can't be written."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(file) as [partial]:
            partial.write_bytes(msgspec.json.format(msgspec.json.encode(noise), indent=2) + b"\n")
    except OSError as error:
        raise ArgumentError(unwritten(file, error)) from error


def read_noise(file: Path, measure: str) -> Noise:
    """Returns the noise that a file holds.

    Args:
        file: With the noise.
        measure: The command that measures it, for errors.

    Raises:
        ComparisonError: It can't be read or holds none.
    """
    try:
        found = msgspec.json.decode(file.read_bytes(), type=Noise)
    except OSError as error:
        raise ComparisonError(f"{file}: can't be read ({error.strerror}). Measure it: {measure}.") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ComparisonError(f"{file}: no record of a machine's noise ({error}). Measure it: {measure}.") from error
    if found.schema != SCHEMA:
        raise ComparisonError(f"{file}: schema {found.schema}, this slotmark reads {SCHEMA}. Measure it: {measure}.")
    return found


def beforehand(groups: Sequence[Sequence[Run]], file: Path | None) -> Iterator[str]:
    """Changes too small for these runs to show, in words, as far as the noise of their machine is known.

    Args:
        groups: One per side.
        file: With the noise; None for the one that is kept for the runs' machine, if there is one.

    Raises:
        ComparisonError: The named file holds no noise, or that of another bench or machine.
    """
    manifests = [run.manifest for group in groups for run in group]
    machine = manifests[0].machine
    if machine is None:
        if file:
            raise ComparisonError(
                f"{file}: the runs don't record their machine, so no noise is known to be of their machine. Leave it out."
            )
        return
    how = catalogue(manifests[0].bench).noise
    if how is None:
        if file:
            raise ComparisonError(
                f"{file}: no noise is measured for runs of bench '{manifests[0].bench}'. Leave it out."
            )
        return
    kept = file or state_file(manifests[0].bench, machine)
    if kept is None or not (file or kept.is_file()):
        return
    try:
        noise = read_noise(kept, how.measure)
        _refuse_another(noise, kept, groups, how.measure)
    except ComparisonError as error:
        if file:
            raise
        yield f"the noise of this machine isn't used: {error}"
        return
    processes = min(sum(run.manifest.tables.get(how.processes, 0) for run in group) for group in groups)
    if processes < ENOUGH_RUNS:
        return
    found = [(spread.quantity, noise.detectable(spread, processes).estimate) for spread in noise.spreads]
    shown = " or ".join(f"{percent(change)} ({quantity})" for quantity, change in found)
    elsewhere = "" if noise.workload == manifests[0].workload else ", other work than these runs'"
    yield (
        f"by this machine's noise ({noise.target} over {noise.workload.get(how.amount, '?')} {how.amount}{elsewhere}; {noise.measured[:10]}), "
        f"with {processes} processes per side, changes of {noise.metric.lower()} below {shown} are missed in more than one of five cases"
    )


def _refuse_another(noise: Noise, file: Path, groups: Sequence[Sequence[Run]], measure: str) -> None:
    """Raises ComparisonError where a run isn't of the noise's bench or machine."""
    for run in (run for group in groups for run in group):
        manifest = run.manifest
        if manifest.bench != noise.bench:
            raise ComparisonError(f"{file}: noise of bench '{noise.bench}', but {run.place} is of '{manifest.bench}'.")
        if manifest.machine is None:
            raise ComparisonError(f"{file}: {run.place} doesn't record its machine. Leave the noise out.")
        unlike = [one for one in machines(noise.machine, manifest.machine) if one[1] != one[2]]
        if unlike:
            what, then, now = unlike[0]
            raise ComparisonError(
                f"{file}: {what} was {then} there, and is {now} in {run.place}. Measure it: {measure}."
            )
