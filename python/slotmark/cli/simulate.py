"""`slotmark simulate`: a cluster in virtual time."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slotmark.cli.console import progress, talk
from slotmark.cli.profiles import PROFILE, Settings
from slotmark.errors import ArgumentError
from slotmark.numbers import megabytes
from slotmark.places import Place, Url, place

if TYPE_CHECKING:
    from slotmark.benches.cluster.simulate import RunFacts


def simulate(
    profile: Annotated[str | None, PROFILE] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--out",
            metavar="DIR",
            help="The new run directory; with --direct the new run folder, or its URL in an object store. Needed to simulate.",
        ),
    ] = None,
    settings: Settings = None,
    seed: Annotated[int, typer.Option(min=0, help="Decides everything that is random.")] = 1,
    slots: Annotated[int | None, typer.Option(min=1, help="Slots, instead of the profile's.")] = None,
    topology: Annotated[
        Path | None, typer.Option(metavar="FILE", help="JSON with nodes and their producers, instead of the profile's.")
    ] = None,
    direct: Annotated[
        bool,
        typer.Option(
            "--direct", help="Write a run folder at once, as ingesting the logs would, with the truth as tables."
        ),
    ] = False,
    repeat: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Make this many runs, of seeds SEED, SEED+1 and so on, side by side: seed-N in --out, which `compare` takes as one side.",
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Print the whole profile and stop.")] = False,
    profiles: Annotated[
        bool, typer.Option("--profiles", help="Print the shipped profiles, a line for each, and stop.")
    ] = False,
    validate: Annotated[
        bool,
        typer.Option("--validate", help="Print what is predicted beside what was published; all profiles, or PROFILE."),
    ] = False,
    published: Annotated[
        list[Path] | None,
        typer.Option(
            "--published",
            metavar="FILE",
            help="Of --validate: a profile from each column of a report's tables (docs/archive.md); again for more.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="With --profiles: print a line of JSON per profile.")] = False,
) -> None:
    """Simulate a cluster: write the logs that its nodes would write, or a run folder, with what really happened beside."""
    from slotmark.benches.cluster import simulate as cluster
    from slotmark.benches.cluster.direct import simulate_direct
    from slotmark.benches.cluster.model import SIMULATED, outside_of_extended, refuse_settings
    from slotmark.benches.cluster.simulations import simulate_seeds

    if profiles:
        for name, description in cluster.described_profiles().items():
            typer.echo(
                json.dumps({"name": name, "description": description}) if as_json else f"{name:<32} {description}"
            )
        return
    changes = _changes(settings, slots, topology)
    if validate or published:
        if out is not None or direct or repeat is not None:
            raise ArgumentError("--validate writes nothing: leave out --out, --direct and --repeat.")
        if published:
            _print_columns(published, profile, changes, seed)
        else:
            _print_validations([profile] if profile else [*cluster.FITTED, *cluster.HELD_OUT], changes, seed)
        return
    if profile is None:
        raise ArgumentError(
            "PROFILE is missing: expected a file or one of " + ", ".join(cluster.shipped_profiles()) + "."
        )
    text = cluster.load_profile(profile, changes)
    if show:
        typer.echo(text)
        return
    refuse_settings(profile, changes, SIMULATED)
    talk.warnings(outside_of_extended(profile, SIMULATED))
    if out is None:
        raise ArgumentError("--out is missing: expected a directory for the run that does not exist yet.")
    to = _where(out, direct=direct)
    with progress("host-slots" if direct else "slots") as step:

        def advance(done: int, total: int) -> None:
            step(done, total, f"simulating {profile}")

        if repeat is not None:
            made = simulate_seeds(text, range(seed, seed + repeat), to, advance, direct=direct)
        else:
            made = [
                (
                    to,
                    cluster.simulate(text, seed, to, advance)
                    if isinstance(to, Path) and not direct
                    else simulate_direct(text, seed, to, advance)[1],
                )
            ]
    for folder, facts in made:
        _remark_made(folder, facts)


def _where(out: str, *, direct: bool) -> Place:
    """The place that ``--out`` names."""
    to = place(out)
    if isinstance(to, Url) and not direct:
        raise ArgumentError(
            f"--out {to}: logs are written to a folder. Name one, or write a run at once with --direct."
        )
    return to


def _changes(settings: list[str] | None, slots: int | None, topology: Path | None) -> list[str]:
    """All changes of the profile, those of ``--slots`` and ``--topology`` among them, as ``--set`` has them."""
    changes = list(settings or ())
    if slots is not None:
        if any(change.partition("=")[0].strip() in ("slots", "run.slots") for change in changes):
            raise ArgumentError("--slots and --set run.slots both set the number of slots: leave one out.")
        changes.append(f"run.slots={slots}")
    if topology is not None:
        changes.append(f'network.topology={{kind="file", path="{topology}"}}')
    return changes


def _remark_made(folder: Place, facts: "RunFacts") -> None:
    """Prints a line about a run directory or, where no logs were written, a run folder."""
    size = f"lines, {megabytes(facts.bytes)}" if facts.bytes else "lines that were never written"
    talk.remark(
        f"{folder}: {facts.hosts:,} hosts, {facts.slots:,} slots, {facts.blocks_forged:,} blocks of which "
        f"{facts.blocks_chained:,} on the chain, {facts.lines:,} {size}"
    )


def _print_validations(names: Sequence[str], changes: Sequence[str], seed: int) -> None:
    """Prints what is predicted of each profile beside what was published of it."""
    from slotmark.benches.cluster import simulate as cluster
    from slotmark.benches.cluster.model import PREDICTED, refuse_settings
    from slotmark.cli.validation_table import print_validation

    for name in names:
        refuse_settings(name, changes, PREDICTED)
        with progress("slots") as step:
            tables = cluster.predict(
                cluster.load_profile(name, changes),
                range(seed, seed + cluster.VALIDATION_SEEDS),
                lambda done, total, name=name: step(done, total, name),
            )
        print_validation(name, tables)


def _print_columns(files: Sequence[Path], profile: str | None, changes: Sequence[str], seed: int) -> None:
    """Prints what is predicted of each column of some reports beside what it has; a run that an earlier column has is left out."""
    from slotmark.benches.cluster.from_tables import BASES, predict_column
    from slotmark.benches.cluster.model import PREDICTED, refuse_settings
    from slotmark.benches.cluster.simulate import VALIDATION_SEEDS
    from slotmark.cli.validation_table import print_columns
    from slotmark.published.archive import began, read_report, values_of

    if profile is not None:
        raise ArgumentError("--published makes the profile of each column: leave out PROFILE.")
    columns = []
    for file in files:
        report = read_report(file)
        columns += [(report, place) for place in range(len(report.versions))]
    distinct = {began(report, place) or (report.report, place): (report, place) for report, place in reversed(columns)}
    found = []
    with progress("slots") as step:
        for report, place in reversed(distinct.values()):
            scripts = "Plutus script" in report.facts(place)
            refuse_settings(BASES[scripts], changes, PREDICTED)
            name = f"{report.versions[place]}, {report.workload or report.report}"
            tables = predict_column(
                values_of(report, place),
                range(seed, seed + VALIDATION_SEEDS),
                lambda done, total, name=name: step(done, total, name),
                scripts=scripts,
                settings=changes,
            )
            found.append((began(report, place)[:10], name, tables))
    print_columns(found)
