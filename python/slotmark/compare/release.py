"""Releases: several comparisons with one answer and one error rate. docs/release.md explains them."""

import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from slotmark.cleaning import one_line, one_name
from slotmark.compare.compare import compare
from slotmark.compare.deciding.decision import together
from slotmark.compare.deciding.policy import Policy, read_policy
from slotmark.compare.earlier import EarlierRuns
from slotmark.compare.plan import plan
from slotmark.compare.results.decision import Answer
from slotmark.compare.results.plan import Effort
from slotmark.compare.results.release import Compared, Cost, MissingRun, Released, ReleasePlan, RunSide
from slotmark.compare.traits import traits_of
from slotmark.errors import ArgumentError, ComparisonError, did_you_mean
from slotmark.metrics import benches, catalogue
from slotmark.places import refuse_secrets
from slotmark.run import Run, open_runs
from slotmark.texts import read_toml
from slotmark.words import few, listed

NAMED = 3
"""The most comparisons that are named in the line; the table has all."""

Progress = Callable[[str, int, int, str], None]
"""Called with a comparison's name, how many of its metrics are done, of how many, and what is being done now; may raise to stop."""


FindEarlier = Callable[[Sequence[Run]], EarlierRuns]
"""Gives earlier runs of the bench and the work of some runs."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison of a release file.

    Attributes:
        name: Its name in the file.
        bench: The bench of its runs.
        workload: Facts that the manifest of each of its runs must have.
        runs: Run folders, or folders of them, by side, baseline first.
        policy: What decides; None for the catalogue's ranks and margins.
        run_to_run: A table of how much runs of one build differ, or a folder of earlier runs; None for the table that comes with slotmark for their cluster, if there
            is one.
        make: The command that makes a missing run, with ``{run}`` for its folder.
        required: Whether nothing ships without it.
    """

    name: str
    bench: str
    workload: Mapping[str, str]
    runs: Mapping[RunSide, Sequence[Path]]
    policy: Policy | None
    run_to_run: Path | None
    make: str
    required: bool


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a release file.

    Attributes:
        title: Name of the release; the file's name where it has none.
        comparisons: In the order of the file, one or more.
    """

    title: str
    comparisons: Sequence[Asked]


class _Comparison(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    name: str
    bench: str
    baseline: list[str]
    candidate: list[str]
    workload: dict[str, str] = {}
    policy: str = ""
    run_to_run: str = ""
    make: str = ""


class _File(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    comparison: list[_Comparison]
    title: str = ""
    required: list[str] | None = None


def read_release(path: Path) -> Release:
    """The release of a TOML file; paths in it are from the file's folder. docs/release.md has every field.

    Raises:
        ComparisonError: There is no such file, it is no such TOML, or it names an unknown bench or comparison, one run on both sides, or
            runs that are compared in a loop.
    """
    try:
        found = msgspec.convert(read_toml(path), _File)
    except OSError as error:
        raise ComparisonError(f"{path}: the release can't be read ({error.strerror}). Give a TOML file.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise ComparisonError(
            f"{path}: no release ({error}). Compare it with the example of docs/release.md."
        ) from error
    names = [one.name for one in found.comparison]
    if not names:
        raise ComparisonError(f"{path}: no comparison. Add one as [[comparison]].")
    for place, name in enumerate(names):
        if not name.strip() or name in names[:place]:
            raise ComparisonError(f"{path}: comparison {place + 1} is named '{name}'. Give each a name of its own.")
    required = names if found.required is None else found.required
    if not required:
        raise ComparisonError(
            f"{path}: required = [] asks for no comparison, so that nothing could ship. Name one, or leave `required` out for all of them."
        )
    for name in required:
        if name not in names:
            raise ComparisonError(
                f"{path}: '{name}' is required, but no comparison has that name.{did_you_mean(name, names)}"
                f" There are: {', '.join(names)}."
            )
    asked = [_asked(path, one, required=one.name in required) for one in found.comparison]
    _refuse_loops(path, asked)
    return Release(title=one_name(found.title.strip()) or one_name(path.stem), comparisons=asked)


def _asked(path: Path, one: _Comparison, *, required: bool) -> Asked:
    where = f"{path}: comparison '{one.name}'"
    if one.bench not in benches():
        raise ComparisonError(
            f"{where}: there is no bench '{one.bench}'.{did_you_mean(one.bench, benches())} There are: {', '.join(benches())}."
        )
    sides: dict[RunSide, Sequence[str]] = {"baseline": one.baseline, "candidate": one.candidate}
    for side, of_side in sides.items():
        if not of_side or not all(of_side):
            raise ComparisonError(f"{where}: its {side} names no run. Name one run folder or more.")
    runs: dict[RunSide, Sequence[Path]] = {
        side: [_path(path, where, run) for run in of_side] for side, of_side in sides.items()
    }
    both = {_same(run) for run in runs["baseline"]} & {_same(run) for run in runs["candidate"]}
    if both:
        raise ComparisonError(
            f"{where}: {min(both)} is on both sides, and a run is always equal to itself. Leave it out on one side."
        )
    return Asked(
        name=one_name(one.name),
        bench=one.bench,
        workload=one.workload,
        runs=runs,
        policy=read_policy(_path(path, where, one.policy), one.bench) if one.policy else None,
        run_to_run=_path(path, where, one.run_to_run) if one.run_to_run else None,
        make=one.make,
        required=required,
    )


def _path(path: Path, where: str, named: str) -> Path:
    """A path that a release file names, from the file's folder. ComparisonError where it is a URL, or none that a file can have; secrets of a URL aren't printed."""
    try:
        refuse_secrets([named])
    except ArgumentError as error:
        raise ComparisonError(f"{where}: {error}") from error
    if "\0" in named or "://" in named:
        raise ComparisonError(
            f"{where}: '{one_name(named)}' is no path of this machine. Name one; `slotmark copy URL RUN` brings a run from a store."
        )
    return path.parent / named


def _same(run: Path) -> str:
    """A folder's name that is the same however it is written."""
    try:
        return str(run.resolve())
    except (OSError, RuntimeError) as error:
        raise ComparisonError(f"{run}: can't be followed ({error}). Name the run's folder itself.") from error


def _refuse_loops(path: Path, asked: Sequence[Asked]) -> None:
    """Raises ComparisonError where candidates are, by way of other comparisons, baselines of their own baselines."""
    after: dict[str, set[str]] = {}
    for one in asked:
        for run in one.runs["baseline"]:
            after.setdefault(_same(run), set()).update(map(_same, one.runs["candidate"]))
    for start, firsts in after.items():
        reached, ahead = set[str](), list(firsts)
        while ahead:
            run = ahead.pop()
            if run not in reached:
                reached.add(run)
                ahead += after.get(run, ())
        if start in reached:
            raise ComparisonError(
                f"{path}: {start} is a baseline, and by way of the comparisons also a candidate against itself. "
                "Leave one of these comparisons out."
            )


def release(
    asked: Release,
    *,
    earlier: FindEarlier | None = None,
    confidence: float = 0.95,
    seed: int = 1,
    progress: Progress | None = None,
) -> Released:
    """Compares the runs of a release, and answers once for all.

    The error rate of holding is shared: each of n comparisons has the nth part, whether its runs are there or not. To ship, all required
    comparisons must ship, so that nothing is shared: what is worse in any of them ships as rarely as it does in that one alone.

    Args:
        asked: The comparisons.
        earlier: Finds earlier runs that show how much runs of one build differ, for comparisons that name none; None for none.
        confidence: Confidence of all verdicts together, and of each interval.
        seed: Seed of the bootstrap.
        progress: Called as each comparison proceeds.

    Raises:
        ComparisonError: Runs of a comparison can't be compared, or aren't those of the file.
        RunError: A run is damaged.
    """
    found = [_compared(one, len(asked.comparisons), earlier, confidence, seed, progress) for one in asked.comparisons]
    answer = together([one.answer for one in found if one.required or one.answer == "hold"])
    return Released(
        title=asked.title,
        answer=answer,
        line=_line(asked.title, answer, found),
        comparisons=found,
        confidence=confidence,
    )


def _compared(
    one: Asked, comparisons: int, earlier: FindEarlier | None, confidence: float, seed: int, progress: Progress | None
) -> Compared:
    opened: dict[RunSide, list[Run]] = {side: [*_opened(one, paths)] for side, paths in one.runs.items()}
    missing = [*_missing(one)]
    lacks = _lacks(missing)
    if not all(opened.values()):
        return Compared(
            name=one.name, bench=one.bench, required=one.required, answer="run again", why=lacks, missing=missing
        )

    def step(done: int, total: int, what: str) -> None:
        if progress:
            progress(one.name, done, total, what)

    comparison = compare(
        list(opened.values()),
        policy=one.policy or Policy(),
        run_to_run=_source(one, earlier, [run for side in opened.values() for run in side]),
        confidence=confidence,
        comparisons=comparisons,
        seed=seed,
        progress=step,
    )
    decided = comparison.decision
    if decided is None:
        raise ComparisonError(
            f"Comparison '{one.name}': no metric of its runs is decisive. Give it a policy that ranks one."
        )
    answer: Answer = "run again" if missing and decided.answer == "ship" else decided.answer
    reasons = [lacks] if answer != decided.answer else [decided.reasons[0], *filter(None, [lacks])]
    return Compared(
        name=one.name,
        bench=one.bench,
        required=one.required,
        answer=answer,
        why="; ".join(reasons),
        missing=missing,
        comparison=comparison,
    )


def _source(one: Asked, earlier: FindEarlier | None, runs: Sequence[Run]) -> Path | EarlierRuns | None:
    return earlier(runs) if earlier and runs and one.run_to_run is None else one.run_to_run


def _there(path: Path) -> bool:
    """Returns whether there is anything at the place of a run; a damaged one is refused when it is opened."""
    try:
        return path.exists()
    except OSError as error:
        raise ComparisonError(
            f"{path}: can't be looked at ({error.strerror}). Name the run's folder itself."
        ) from error


def _opened(one: Asked, paths: Sequence[Path]) -> Iterator[Run]:
    """Gives the runs that are there; a folder of run folders stands for all of them."""
    for path in paths:
        if not _there(path):
            continue
        for run in open_runs(path):
            _refuse_other_work(one, run)
            yield run


def _refuse_other_work(one: Asked, run: Run) -> None:
    """Raises ComparisonError where a run isn't of the bench or of the workload of the file."""
    manifest = run.manifest
    if manifest.bench != one.bench:
        raise ComparisonError(
            f"{run.place}: a run of bench '{manifest.bench}', but comparison '{one.name}' is of '{one.bench}'. Correct one of them."
        )
    for fact, value in one.workload.items():
        if manifest.workload.get(fact) != value:
            there = f"'{manifest.workload[fact]}'" if fact in manifest.workload else "not recorded"
            raise ComparisonError(
                f"{run.place}: its {one_name(fact)} is {there}, but comparison '{one.name}' asks for '{one_name(value)}'. Name another run, "
                "or correct the file."
            )


def _missing(one: Asked) -> Iterator[MissingRun]:
    for side, paths in one.runs.items():
        for path in paths:
            if not _there(path):
                yield MissingRun(path=one_line(str(path)), side=side, command=_command(one, path))


def _command(one: Asked, path: Path) -> str:
    """Returns the command that makes a missing run: the file's, else the bench's. It is only shown."""
    return one_line((one.make or catalogue(one.bench).made_by).replace("{run}", shlex.quote(str(path))))


def _lacks(missing: Sequence[MissingRun]) -> str:
    if not missing:
        return ""
    return (
        f"{len(missing)} run{'s' if len(missing) > 1 else ''} of the file {'are' if len(missing) > 1 else 'is'} missing"
    )


def _line(title: str, answer: Answer, found: Sequence[Compared]) -> str:
    """The answer in one line, with the comparisons that cause it."""
    if answer == "ship":
        required = sum(one.required for one in found)
        others = [one.name for one in found if one.answer != "ship"]
        beside = f"; {listed(few(others, NAMED))} without a verdict, not required" if others else ""
        which = "the required comparison ships" if required == 1 else f"all {required} required comparisons ship"
        return one_line(f"SHIP {title}: {which}{beside}")
    parts = []
    for kind in ("hold", "run again"):
        of_kind = [one for one in found if one.answer == kind and (one.required or kind == "hold")]
        if not of_kind:
            continue
        reasons = few([f"{one.name}: {one.why}" for one in of_kind], NAMED)
        without = f"{listed([one.name for one in of_kind])} {'has' if len(of_kind) == 1 else 'have'} no verdict"
        parts.append("; ".join(reasons) if kind == answer else without)
    return one_line(f"{answer.upper()} {title}: {'; '.join(parts)}")


def plan_release(asked: Release, *, earlier: FindEarlier | None = None) -> ReleasePlan:
    """Returns what a decision costs: runs per side, from how much the runs that are there vary, and the time that these take.

    Args:
        asked: The comparisons.
        earlier: As of :func:`release`.

    Raises:
        ComparisonError: Runs aren't those of the file.
        RunError: A run is damaged.
    """
    costs = [_cost(one, earlier) for one in asked.comparisons]
    return ReleasePlan(title=asked.title, costs=costs, left_s=sum(one.left_s or 0.0 for one in costs))


def _cost(one: Asked, earlier: FindEarlier | None) -> Cost:
    opened: dict[RunSide, list[Run]] = {side: [*_opened(one, paths)] for side, paths in one.runs.items()}
    lengths = [length for runs in opened.values() for run in runs if (length := run.manifest.took_s) is not None]
    run_s = sum(lengths) / len(lengths) if lengths else None
    needed, why = _needed(one, [*opened.values()], earlier)
    missing = [*_missing(one)]
    left = None
    count = needed.count or 0 if needed else 0
    if run_s is not None:
        # A run of the file is made, whether or not it is needed. A folder of runs is one entry of the file and stands for several.
        left = run_s * sum(
            max(sum(run.side == side for run in missing), count - len(runs)) for side, runs in opened.items()
        )
    return Cost(
        name=one.name,
        required=one.required,
        there={side: len(runs) for side, runs in opened.items()},
        missing=missing,
        needed=needed,
        why=why,
        run_s=run_s,
        left_s=left,
    )


def _needed(one: Asked, sides: Sequence[Sequence[Run]], earlier: FindEarlier | None) -> tuple[Effort | None, str]:
    """Returns the effort that decides everything decisive, by the design that the runs have, and why."""
    if not any(sides):
        return None, "no run is there yet"
    if not any(traits_of(metric.estimator).means_of_runs for metric in catalogue(one.bench).metrics if metric.tested):
        return None, "compare the runs: the line has how many more are needed"
    planned = plan(sides, policy=one.policy, run_to_run=_source(one, earlier, [run for side in sides for run in side]))
    if not planned.decision:
        return None, "nothing decisive is recorded, or too little of it"
    # What is compared in pairs is planned in pairs, and the runs of both sides are.
    needed = planned.decision[-1]
    efforts = [
        (shown.metric.name, effort.count)
        for shown in planned.shown
        for effort in shown.efforts
        if effort.design == needed.design
    ]
    slowest = [name for name, count in efforts if count == needed.count]
    if needed.count is None:
        return needed, f"no number of {needed.design} within reach decides {listed(few(slowest, NAMED))}"
    others = [f"; without pairs {effort.count:,} per side" for effort in planned.decision[:-1] if effort.count]
    return needed, f"for {listed(few(slowest, NAMED))}{''.join(others)}"
