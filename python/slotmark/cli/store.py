"""`slotmark store`: runs in a store, over time."""

import datetime
import getpass
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from slotmark.cli.bisect import bisect
from slotmark.cli.console import progress, talk
from slotmark.cli.given import refuse_empty
from slotmark.cli.groups import group
from slotmark.errors import ArgumentError, StoreError, did_you_mean
from slotmark.places import file_of, place

if TYPE_CHECKING:
    from slotmark.run import Run

app = group(
    "Keep runs in a store. `slotmark history` reads them, and comparisons with `--store` take from them how much runs of one build differ."
)

StoreOption = Annotated[
    str,
    typer.Option("--store", metavar="STORE", help="The store: a folder, or a URL as s3://bucket/store."),
]

DecisionsOption = Annotated[
    Path | None,
    typer.Option(
        "--decisions",
        metavar="FILE",
        help="What readers decided, as TOML: decisions.toml in the store by default.",
        parser=file_of,
    ),
]


@app.command(epilog="Example: slotmark store add runs/10.6 --to store --version 10.6.0 --ref 7a1ecf7")
def add(
    context: typer.Context,
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...", help="Run folders, or folders of such, or their URLs: all with the same names."
        ),
    ],
    to: Annotated[
        str,
        typer.Option("--to", metavar="STORE", help="The store: a folder, which is made, or a URL."),
    ],
    ref: Annotated[str, typer.Option(metavar="COMMIT", help="The commit or tag that the target was built from.")] = "",
    version: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Its version, as the history shows it; the ref, or what the run records, by default."
        ),
    ] = "",
    branch: Annotated[str, typer.Option(metavar="NAME", help="The branch that the commit is on.")] = "",
    target: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="The software whose history it belongs to, in the place of what the run records."
        ),
    ] = "",
    machine: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="The kind of machine, in the place of what the run records: kinds are never compared."
        ),
    ] = "",
) -> None:
    """Copy runs into a store and compute their estimates. A run that is there already stays as it is."""
    from slotmark.cli.reports import opened_runs
    from slotmark.cores import usable_cores
    from slotmark.history import Labels, make_store

    refuse_empty(context)
    labels = Labels(ref=ref, version=version, branch=branch, target=target, machine=machine)
    opened: list[Run] = opened_runs(runs)
    store = make_store(place(to))
    with progress("runs") as step:
        found = store.add(opened, labels, step, most_processes=usable_cores())
        store.keep_index()
    for one in found:
        typer.echo(f"{one.run}  {one.place}{'' if one.new else ' (already there)'}")
    for one in found:
        if one.spoilt:
            talk.remark(f"slotmark: {one.place}: no history counts it: {one.spoilt}")
    _remark_on_order([str(one.place) for one in found if one.late])


@app.command(
    "import", epilog="Example: slotmark store import results.json --format bmf --target node --to store --unit ms"
)
def import_(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="The tool's file; of Criterion the folder target/criterion.", parser=file_of
        ),
    ],
    form: Annotated[
        str,
        typer.Option("--format", metavar="NAME", help="Its format: asv, bmf, criterion, otava or pytest-benchmark."),
    ],
    to: Annotated[str, typer.Option("--to", metavar="STORE", help="The store: a folder, which is made, or a URL.")],
    target: Annotated[str, typer.Option(metavar="NAME", help="The software that the figures are of.")],
    unit: Annotated[
        str, typer.Option(metavar="UNIT", help="The unit of figures of which the file states none, as ms; 1 for none.")
    ] = "",
    better: Annotated[
        str,
        typer.Option(metavar="lower|higher", help="Which direction of these is better, where the unit doesn't tell."),
    ] = "",
    ref: Annotated[str, typer.Option(metavar="COMMIT", help="The commit, where the file has none.")] = "",
    branch: Annotated[str, typer.Option(metavar="NAME", help="The branch, likewise.")] = "",
    machine: Annotated[str, typer.Option(metavar="NAME", help="The kind of machine, likewise.")] = "",
) -> None:
    """Add figures that another tool kept: a run per commit, without anything but these figures."""
    from slotmark.history import Labels, make_store
    from slotmark.history.importing import FORMATS, Asked, read_records, write_run
    from slotmark.temporary import temporary_folder
    from slotmark.words import counted

    refuse_empty(context)
    if form not in FORMATS:
        raise ArgumentError(
            f"--format '{form}': not known.{did_you_mean(form, list(FORMATS))} Formats are {', '.join(FORMATS)}."
        )
    if better not in ("", "lower", "higher"):
        raise ArgumentError(f"--better '{better}': expected lower or higher.")
    every = read_records(file, form, Asked(unit, better))
    records = [one for one in every if one.figures]
    store = make_store(place(to))
    late: list[str] = []
    with temporary_folder() as folder, progress("runs") as step:
        for number, one in enumerate(records):
            named = msgspec.structs.replace(one, ref=one.ref or ref, machine=one.machine or machine)
            shown = named.ref or file.name
            step(number, len(records), shown)
            labels = Labels(ref=named.ref, branch=one.branch or branch, target=target, machine=named.machine)
            run = write_run(named, target, form, file, Path(folder) / str(number))
            try:
                (added,) = store.add([run], labels)
            except StoreError as error:  # of the folder, which is gone then, no reader knows
                raise StoreError(str(error).replace(str(run.place), f"{file}, {shown}")) from error
            typer.echo(f"{added.run}  {shown}{'' if added.new else ' (already there)'}")
            late += [shown] if added.late else []
        store.keep_index()
    _remark_on_order(late)
    if lacking := sum(one.left_out for one in every):
        empty = len(every) - len(records)
        beside = f", and {counted(empty, 'commit')} without any other" if empty else ""
        talk.remark(f"slotmark: {counted(lacking, 'figure')} without a number left out{beside}")


@app.command(epilog="Example: slotmark store recompute --store store")
def recompute(
    store: StoreOption,
    index: Annotated[
        bool, typer.Option("--index", help="Only write the index anew, from the estimates that are there.")
    ] = False,
) -> None:
    """Compute all estimates anew by this slotmark, from the runs; print which sure changes are gone or new."""
    from slotmark.cli.reports import share_freed_memory
    from slotmark.history import open_store
    from slotmark.history.recomputing import recomputed

    found = open_store(place(store))
    if index:
        found.write_index(from_files=True)
        typer.echo(f"{store}: index of {len(found.runs()):,} runs")
        return
    share_freed_memory()
    with progress("runs") as step:
        done = recomputed(found, step)
    for line in done.lines:
        typer.echo(line)
    typer.echo(f"{store}: {done.runs:,} runs, by slotmark {found.slotmark}")


@app.command(epilog='Example: slotmark store accept 3f9a01c2 --reason "new mempool" --until 10.8 --store store')
def accept(
    change: Annotated[str, typer.Argument(metavar="CHANGE", help="Its id, as `slotmark history` prints it.")],
    store: StoreOption,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why it is accepted.")],
    until: Annotated[
        str, typer.Option(metavar="VERSION|DATE", help="From this version or day on it is open again.")
    ] = "",
    decisions: DecisionsOption = None,
) -> None:
    """Accept a change: it is no longer listed as open. The file says who, when, why and until when."""
    from slotmark.history import open_store
    from slotmark.history.decisions import Accepted, accept, read_decisions
    from slotmark.history.read import changes_of

    if not reason.strip():
        raise ArgumentError("--reason: empty. Say why the change is accepted.")
    opened = open_store(place(store))
    found = changes_of(opened, read_decisions(opened, decisions if decisions and decisions.exists() else None))
    every = [*found.changes, *found.accepted]
    one = next((one for one in every if one.id == change), None)
    if one is None:
        raise ArgumentError(
            f"{change}: no change of {store} that matters has this id. `slotmark history --changes --store {store}` lists them."
        )
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    file = accept(opened, Accepted(change=change, reason=reason, who=_user(), when=today, until=until), decisions)
    typer.echo(f"{file}: accepted {change}, {one.metric} since {one.version or one.name}")


@app.command(epilog="Example: slotmark store prune --older 365d --store store")
def prune(
    store: StoreOption,
    older: Annotated[
        str, typer.Option(metavar="TIME", help="Runs that were measured before: 365d, 52w, or a day as 2026-01-31.")
    ],
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove their tables. Without it nothing is removed.")
    ] = False,
) -> None:
    """List runs that are older, but for the newest of each kind, and how much their tables take; remove these where that is asked for. Names, estimates and histories stay."""
    from slotmark.history import open_store
    from slotmark.numbers import megabytes

    before_ns = time_ago_ns("--older", older)
    opened = open_store(place(store))
    found = opened.old_runs(before_ns)
    for one in found:
        day = datetime.datetime.fromtimestamp(one.at_ns // 10**9, datetime.UTC).date()
        typer.echo(f"{one.run}  {day}  {megabytes(one.size_bytes)}  {one.version or one.name}")
        if remove:
            opened.remove_tables(one.run)
    total = megabytes(sum(one.size_bytes for one in found))
    told = "removed" if remove else "nothing was removed: --remove does it"
    typer.echo(f"{len(found):,} runs, {total}; {told}")


app.command(
    "bisect",
    epilog="Example: slotmark store bisect adopted_by_096 --good 10.5 --bad 10.6 --run './measure.sh {commit} {out}' --budget 3h",
)(bisect)


_TIME = re.compile(r"([0-9]{1,5})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 168}


def time_ago_ns(option: str, text: str) -> int:
    """The time that ``30d`` or ``2026-10-01`` stands for, in ns since 1970; ArgumentError where it stands for none."""
    if found := _TIME.fullmatch(text):
        return time.time_ns() - int(found[1]) * _HOURS[found[2]] * 3_600 * 10**9
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        raise ArgumentError(f"{option} '{text}': expected a time as 30d, 12h or 2w, or a day as 2026-10-01.") from None
    return int(datetime.datetime.combine(day, datetime.time(), datetime.UTC).timestamp()) * 10**9


def _remark_on_order(late: Sequence[str]) -> None:
    """Names the runs whose place in a history isn't by when they were measured."""
    if late:
        talk.remark(
            f"slotmark: when these were measured isn't recorded, or lies ahead: they are ordered by when they were added: {', '.join(late)}"
        )


def _user() -> str:
    """The name of who is at work; empty where the system has none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
