"""The sides of a comparison: their names, and what must be equal between them."""

from collections.abc import Sequence

from slotmark.cleaning import one_name
from slotmark.compare.result import Side
from slotmark.errors import ComparisonError
from slotmark.metrics import catalogue
from slotmark.places import Place
from slotmark.run import Manifest, Run, TablePart

NO_CHANCE = 100
"""The number of rows from which on no two seeds draw the same table."""


def name_sides(groups: Sequence[Sequence[Run]]) -> list[Side]:
    """One side per group of runs, named by its target where all targets differ, else by the folder of its run, or the one that only its runs are in.

    Raises:
        ComparisonError: A run is there twice.
    """
    runs = [run for group in groups for run in group]
    paths = [run.place.resolve() for run in runs]
    for index, path in enumerate(paths):
        if path in paths[:index]:
            raise ComparisonError(
                f"{runs[index].place}: named twice, and a run is always equal to itself. Leave one out."
            )
    known: dict[tuple[str, ...], Run] = {}
    for run in runs:
        files = tuple(file.identity for file in run.manifest.sources)
        # Two reports that print one run are two files, and its id shows it.
        of_run = () if run.manifest.origin == "published" else files
        twin = known.setdefault((run.manifest.id, *of_run), run)
        if files and twin is not run:
            raise ComparisonError(
                f"{twin.place} and {run.place} are one run, made from the same files: it must count once. Leave one out."
            )
    targets = [group[0].manifest.target.name for group in groups]
    folders = _folders(groups)
    named = all(targets) and len(set(targets)) == len(targets)
    return [
        Side(
            (target if named else _folder(folder, folders)) + (f" ({len(group)} runs)" if len(group) > 1 else ""),
            group[0].manifest,
            [run.manifest for run in group[1:]],
        )
        for target, folder, group in zip(targets, folders, groups, strict=True)
    ]


def builds(runs: Sequence[Run]) -> list[list[Run]]:
    """The runs of each build: of one target, version and commit."""
    found: dict[tuple[str, str, str], list[Run]] = {}
    for run in runs:
        target = run.manifest.target
        found.setdefault((target.name, target.version, target.commit), []).append(run)
    return list(found.values())


def _folders(groups: Sequence[Sequence[Run]]) -> list[Place]:
    """The folder of each group: that in which all of its several runs and no others are, else that of its first run."""
    firsts = [group[0].place.resolve() for group in groups]
    parents = [{run.place.resolve().parent for run in group} for group in groups]
    return [
        first.parent
        if len(group) > 1
        and len(own) == 1
        and first.parent.name
        and sum(not own.isdisjoint(one) for one in parents) == 1
        else first
        for first, own, group in zip(firsts, parents, groups, strict=True)
    ]


def _folder(path: Place, paths: Sequence[Place]) -> str:
    """The name of a folder, with as many folders above it as it takes to distinguish it from the others."""
    rivals = [other for other in paths if other != path and other.name == path.name]
    depth = 1
    while any(other.parts[-depth:] == path.parts[-depth:] for other in rivals):
        depth += 1
    return one_name("/".join(path.parts[-depth:]))


def refuse_different_work(baseline: Side, candidate: Side) -> None:
    """Raises ComparisonError where the two did different work: another bench, or another workload.

    Only facts that both manifests have are compared: a run without a mode has no digest of it.
    """
    refuse_other_bench(baseline, candidate)
    ours, theirs = baseline.manifest.workload, candidate.manifest.workload
    differing = [fact for fact in ours if fact in theirs and ours[fact] != theirs[fact]]
    if differing:
        facts = "; ".join(f"{fact} is {_quoted(ours[fact])} and {_quoted(theirs[fact])}" for fact in differing)
        raise ComparisonError(
            f"{baseline.name} and {candidate.name} did different work: {facts}. "
            "Nothing about the targets follows from that; measure both on the same."
        )
    if ours and theirs and not ours.keys() & theirs.keys():
        raise ComparisonError(
            f"{baseline.name} and {candidate.name} record no workload fact in common, so nothing shows that they did the same. "
            "Measure both with this slotmark."
        )


def refuse_other_bench(baseline: Side, candidate: Side) -> None:
    """Raises ComparisonError where two sides are runs of two benches."""
    if baseline.manifest.bench != candidate.manifest.bench:
        raise ComparisonError(
            f"{baseline.name} is a run of bench '{baseline.manifest.bench}', {candidate.name} of '{candidate.manifest.bench}'. "
            "Name runs of one bench."
        )


def _quoted(fact: str) -> str:
    return f"'{fact}'" if " " in fact else fact


def refuse_unlike_runs(groups: Sequence[Sequence[Run]], *, simulated_twins: bool = True) -> None:
    """Raises ComparisonError where runs, a group per side, can't be put together: other work, other targets on one side, or one recording twice.

    Args:
        groups: The runs of each side.
        simulated_twins: Whether simulated runs of two sides may have the same tables: seeds that both have draw the same where nothing differs.
    """
    named = iter(name_sides([[run] for group in groups for run in group]))
    sides = [[next(named) for _ in group] for group in groups]
    read: dict[str, str] = {}
    known: dict[str, tuple[int, str]] = {}
    for number, group in enumerate(sides):
        drawn: dict[str, str] = {}
        for side in group:
            of_side, twin = known.get(side.manifest.content, (number, ""))
            may_be = simulated_twins and of_side != number and side.manifest.origin == "simulated"
            if twin and not may_be:
                raise ComparisonError(
                    f"{twin} and {side.name} have the same tables to the last byte: they are one run, which must count once. Leave one out."
                )
            known[side.manifest.content] = number, side.name
            refuse_different_work(sides[0][0], side)
            _refuse_another_target(group[0], side)
            files = recordings(side.manifest)
            for digest, path in files.items():
                if digest in read:
                    raise ComparisonError(
                        f"{read[digest]} and {side.name} were made from the same file, {path}: one recording must count once. "
                        "Leave one out."
                    )
            read |= dict.fromkeys(files, side.name)
            # As the logs of a simulation and what `--direct` made of it.
            if (largest := _largest(side.manifest)) and largest.digest in drawn:
                raise ComparisonError(
                    f"{drawn[largest.digest]} and {side.name} have the same table '{largest.table}' to the last byte: they were simulated from one seed, which must count once. Leave one out."
                )
            drawn |= {part.digest: side.name for part in side.manifest.parts}


def recordings(manifest: Manifest) -> dict[str, str]:
    """The paths of the files that no other run may be made from, by their digests."""
    return {} if catalogue(manifest.bench).files_of_several else manifest.recordings


def _largest(manifest: Manifest) -> TablePart | None:
    """The largest part of the tables of a simulated run, which no other seed draws; smaller ones may be of the cluster, as a row per host. None of other runs, and where it is small."""
    if manifest.origin != "simulated" or not manifest.parts:
        return None
    found = max(manifest.parts, key=lambda part: part.rows)
    return found if found.rows >= NO_CHANCE else None


def _refuse_another_target(first: Side, other: Side) -> None:
    ours, theirs = first.manifest, other.manifest
    if ours.target.name != theirs.target.name:
        raise ComparisonError(
            f"{first.name} is a run of target '{ours.target.name}', {other.name} of '{theirs.target.name}': only runs of one target "
            "can stand on one side. Give each a side of its own, or make both with the same --target."
        )
    levels = [manifest.factors for manifest in (ours, theirs)]
    if levels[0] != levels[1]:
        shown = [", ".join(f"{name}={level}" for name, level in one.items()) or "none" for one in levels]
        raise ComparisonError(
            f"{first.name} has the factors {shown[0]}, {other.name} has {shown[1]}: only runs of one target can stand on one side. "
            "Give each a side of its own, or make both with the same --factor."
        )


def in_turns(baseline: Side, candidate: Side) -> bool:
    """Returns whether the runs of the two took turns, in one session or session by session."""
    return {run.session for run in baseline.manifests} == {run.session for run in candidate.manifests}


def in_one_session(baseline: Side, candidate: Side) -> bool:
    """Returns whether the two were measured together, interleaved."""
    return baseline.manifest.session == candidate.manifest.session
