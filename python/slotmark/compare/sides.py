"""The sides of a comparison: their names, what must be equal between them, and what should be."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from slotmark import warnings
from slotmark.compare.comparison import Side
from slotmark.errors import ComparisonError
from slotmark.metrics import catalogue
from slotmark.run import Manifest, Run
from slotmark.warnings import Warning

_MACHINE = {
    "hostname_hash": "the machine",
    "cpu": "the processor",
    "cores": "the number of cores",
    "governor": "the frequency governor",
    "memory_bytes": "main memory in bytes",
    "kernel": "the kernel",
    "system": "the system",
    "virtualisation": "virtualisation",
}
"""Facts that should be equal; the load is a doubt about one run, not about two."""

_OF_NO_MATTER = frozenset({"seed", "batch", "tag", "profile"})
"""Parameters that may differ."""


def name_sides(groups: Sequence[Sequence[Run]]) -> list[Side]:
    """One side a group of runs, named by its first run's folder, and by as many folders above it as it takes to tell two apart.

    Raises:
        ComparisonError: A run is there twice.
    """
    runs = [run for group in groups for run in group]
    paths = [run.path.resolve() for run in runs]
    for index, path in enumerate(paths):
        if path in paths[:index]:
            raise ComparisonError(
                f"{runs[index].path}: named twice, and a run is always equal to itself. Leave one out."
            )
    sides = []
    for group in groups:
        path = group[0].path.resolve()
        rivals = [other for other in paths if other != path and other.name == path.name]
        depth = 1
        while any(other.parts[-depth:] == path.parts[-depth:] for other in rivals):
            depth += 1
        name = "/".join(path.parts[-depth:]) + (f" and {len(group) - 1} more" if len(group) > 1 else "")
        sides.append(Side(name, group[0].manifest, [run.manifest for run in group[1:]]))
    return sides


def refuse_different_work(baseline: Side, candidate: Side) -> None:
    """Raises ComparisonError where the two did different work: another bench, or another workload.

    Only facts that both manifests have are held against each other: a run without a mode has no digest of it.
    """
    if baseline.manifest.bench != candidate.manifest.bench:
        raise ComparisonError(
            f"{baseline.name} is a run of bench '{baseline.manifest.bench}', {candidate.name} of '{candidate.manifest.bench}'. "
            "Only runs of one bench can be compared."
        )
    ours, theirs = baseline.manifest.workload, candidate.manifest.workload
    differing = [fact for fact in ours if fact in theirs and ours[fact] != theirs[fact]]
    if differing:
        facts = "; ".join(f"{fact} is {ours[fact]} and {theirs[fact]}" for fact in differing)
        raise ComparisonError(
            f"{baseline.name} and {candidate.name} did different work: {facts}. "
            "Nothing can be said about the targets from that; measure both on the same."
        )
    if ours and theirs and not ours.keys() & theirs.keys():
        raise ComparisonError(
            f"{baseline.name} and {candidate.name} record no workload fact in common, so nothing says that they did the same. "
            "Measure both with this slotmark."
        )


def in_one_session(baseline: Side, candidate: Side) -> bool:
    """Whether the two were measured together, interleaved."""
    return baseline.manifest.session == candidate.manifest.session


def doubts_about(baseline: Side, candidate: Side) -> list[Warning]:
    """What should be equal between two runs and isn't."""
    ours, theirs = baseline.manifest, candidate.manifest
    apart = catalogue(ours.bench).in_rounds and not in_one_session(baseline, candidate)
    found = [warnings.apart(candidate.name)] if apart else []
    pairs = [
        *_machine_facts(ours, theirs),
        *((f"parameter '{name}'", mine, other) for name, mine, other in _common(ours.parameters, theirs.parameters)),
        *((f"the version of {name}", mine, other) for name, mine, other in _common(ours.versions, theirs.versions)),
    ]
    return found + [
        warnings.different(candidate.name, _capitalised(what), _shown(mine), _shown(other))
        for what, mine, other in pairs
        if mine != other
    ]


def doubts_of_runs(sides: Sequence[Side]) -> list[Warning]:
    """The runs' own doubts, each with its side as the subject."""
    return [
        msgspec.structs.replace(doubt, subject=": ".join(dict.fromkeys(filter(None, (side.name, doubt.subject)))))
        for side in sides
        for doubt in side.manifest.warnings
    ]


def said_once(doubts: Sequence[Warning]) -> list[Warning]:
    """One doubt for what is said of several subjects in the same words, with all of them."""
    subjects: dict[tuple[str, str], list[str]] = {}
    for doubt in doubts:
        subjects.setdefault((doubt.kind, doubt.text), []).append(doubt.subject)
    return [Warning(kind, text, "; ".join(dict.fromkeys(filter(None, of)))) for (kind, text), of in subjects.items()]


def _machine_facts(ours: Manifest, theirs: Manifest) -> Iterator[tuple[str, Any, Any]]:
    if ours.machine is None or theirs.machine is None:
        return
    for fact, words in _MACHINE.items():
        yield words, getattr(ours.machine, fact), getattr(theirs.machine, fact)


def _common(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Facts of both, but for the versions of targets: those are what is compared."""
    for name in ours:
        if name in theirs and name not in _OF_NO_MATTER and not name.startswith("target "):
            yield name, ours[name], theirs[name]


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
