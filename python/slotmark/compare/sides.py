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

_BUILD = {"version": "the version", "commit": "the commit", "toolchain": "the toolchain"}
"""Facts of a target that should be equal between runs of it."""

_OF_NO_MATTER = frozenset({"seed", "batch", "tag", "profile", "processes"})
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
    known: dict[tuple[str, ...], Run] = {}
    for run in runs:
        files = tuple(file.sha256 for file in run.manifest.sources)
        twin = known.setdefault((run.manifest.id, *files), run)
        if files and twin is not run:
            raise ComparisonError(
                f"{twin.path} and {run.path} are one run, made from the same files: it must count once. Leave one out."
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
        facts = "; ".join(f"{fact} is {_quoted(ours[fact])} and {_quoted(theirs[fact])}" for fact in differing)
        raise ComparisonError(
            f"{baseline.name} and {candidate.name} did different work: {facts}. "
            "Nothing can be said about the targets from that; measure both on the same."
        )
    if ours and theirs and not ours.keys() & theirs.keys():
        raise ComparisonError(
            f"{baseline.name} and {candidate.name} record no workload fact in common, so nothing says that they did the same. "
            "Measure both with this slotmark."
        )


def _quoted(fact: str) -> str:
    return f"'{fact}'" if " " in fact else fact


def refuse_unlike_runs(groups: Sequence[Sequence[Run]], *, recorded: bool = True) -> None:
    """Raises ComparisonError where runs can't be put together: other work, other targets on one side, or one recording twice.

    Args:
        groups: One per side.
        recorded: Whether source files are what was recorded, and not what was worked on: each counts once.
    """
    named = iter(name_sides([[run] for group in groups for run in group]))
    sides = [[next(named) for _ in group] for group in groups]
    read: dict[str, str] = {}
    for group in sides:
        for side in group:
            refuse_different_work(sides[0][0], side)
            _refuse_another_target(group[0], side)
            files = {file.sha256: file.path for file in side.manifest.sources if file.bytes} if recorded else {}
            for digest, path in files.items():
                if digest in read:
                    raise ComparisonError(
                        f"{read[digest]} and {side.name} were made from the same file, {path}: one process must count once. "
                        "Leave one out."
                    )
            read |= dict.fromkeys(files, side.name)


def _refuse_another_target(first: Side, other: Side) -> None:
    ours, theirs = first.manifest, other.manifest
    if ours.target.name != theirs.target.name:
        raise ComparisonError(
            f"{first.name} is a run of target '{ours.target.name}', {other.name} of '{theirs.target.name}': only runs of one target "
            "can stand on one side. Give each a side of its own, or import both with the same --target."
        )
    levels = [manifest.parameters.get("target factors", {}) for manifest in (ours, theirs)]
    if levels[0] != levels[1]:
        shown = [", ".join(f"{name}={level}" for name, level in one.items()) or "none" for one in levels]
        raise ComparisonError(
            f"{first.name} has the factors {shown[0]}, {other.name} has {shown[1]}: only runs of one target can stand on one side. "
            "Give each a side of its own, or import both with the same --factor."
        )


def in_turns(baseline: Side, candidate: Side) -> bool:
    """Whether the runs of the two took turns, in one session or session by session."""
    return {run.session for run in baseline.manifests} == {run.session for run in candidate.manifests}


def in_one_session(baseline: Side, candidate: Side) -> bool:
    """Whether the two were measured together, interleaved."""
    return baseline.manifest.session == candidate.manifest.session


def doubts_about(baseline: Side, candidate: Side) -> list[Warning]:
    """What should be equal between two runs and isn't."""
    ours, theirs = baseline.manifest, candidate.manifest
    apart = catalogue(ours.bench).in_rounds and not in_one_session(baseline, candidate)
    found = [warnings.apart(candidate.name)] if apart else []
    return found + [
        warnings.different(candidate.name, _capitalised(what), _shown(mine), _shown(other))
        for what, mine, other in _pairs(ours, theirs)
        if mine != other
    ]


def doubts_within(side: Side) -> list[Warning]:
    """What should be equal between the runs of one side and isn't."""
    differing: dict[str, list[str]] = {}
    for other in side.others:
        of_target = [
            (words, getattr(side.manifest.target, field), getattr(other.target, field))
            for field, words in _BUILD.items()
        ]
        for what, mine, its in [*of_target, *_pairs(side.manifest, other)]:
            if mine != its:
                differing.setdefault(what, [_shown(mine)]).append(_shown(its))
    return [warnings.runs_differ(side.name, what, list(dict.fromkeys(values))) for what, values in differing.items()]


def doubts_of_runs(sides: Sequence[Side]) -> list[Warning]:
    """The runs' own doubts, each with its side as the subject."""
    return [
        msgspec.structs.replace(doubt, subject=": ".join(dict.fromkeys(filter(None, (side.name, doubt.subject)))))
        for side in sides
        for manifest in side.manifests
        for doubt in manifest.warnings
    ]


def said_once(doubts: Sequence[Warning]) -> list[Warning]:
    """One doubt for what is said of several subjects in the same words, with all of them."""
    subjects: dict[tuple[str, str], list[str]] = {}
    for doubt in doubts:
        subjects.setdefault((doubt.kind, doubt.text), []).append(doubt.subject)
    return [Warning(kind, text, "; ".join(dict.fromkeys(filter(None, of)))) for (kind, text), of in subjects.items()]


def _pairs(ours: Manifest, theirs: Manifest) -> Iterator[tuple[str, Any, Any]]:
    """What should be equal between two runs, in words, with what it is in each."""
    yield from _machine_facts(ours, theirs)
    for name, mine, other in _common(ours.parameters, theirs.parameters):
        yield f"parameter '{name}'", mine, other
    for name, mine, other in _common(ours.versions, theirs.versions):
        yield f"the version of {name}", mine, other


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
