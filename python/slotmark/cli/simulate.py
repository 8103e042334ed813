"""`slotmark simulate`: a cluster in virtual time."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slotmark.benches.cluster.requests import SimulationRequest
from slotmark.cli.console import progress, talk
from slotmark.cli.engines import EngineRequest, chosen
from slotmark.cli.requests import from_requests
from slotmark.cli.shards import ShardOption, print_shard, shared_folder
from slotmark.errors import ArgumentError
from slotmark.numbers import megabytes
from slotmark.places import Place, Url
from slotmark.words import counted

if TYPE_CHECKING:
    from slotmark.benches.cluster.simulating.simulate import RunFacts


@from_requests
def simulate(
    request: SimulationRequest,
    *,
    show: Annotated[bool, typer.Option("--show", help="Print the whole profile and stop.")] = False,
    profiles: Annotated[
        bool, typer.Option("--profiles", help="Print the shipped profiles, a line for each, and stop.")
    ] = False,
    validate: Annotated[
        bool,
        typer.Option("--validate", help="Compare predictions with published figures; for all profiles, or PROFILE."),
    ] = False,
    published: Annotated[
        list[Path] | None,
        typer.Option(
            "--published",
            metavar="FILE",
            help="With --validate: use a profile of each column of a report's tables (docs/archive.md); again for more.",
        ),
    ] = None,
    shard: ShardOption = None,
    work: EngineRequest,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="With --profiles: print a line of JSON per profile; with --shard: print the finished pieces as JSON.",
        ),
    ] = False,
) -> None:
    """Simulate a cluster: write the logs that its nodes would write, or a run folder; and the true events."""
    from slotmark.benches.cluster.simulating import simulate as cluster
    from slotmark.benches.cluster.simulating.model import SIMULATED, outside_of_extended, refuse_settings
    from slotmark.benches.cluster.simulating.simulations import shard_done, simulated

    if as_json and not (profiles or shard):
        raise ArgumentError("--json: goes with --profiles or --shard. Leave it out.")
    if profiles:
        _print_profiles(as_json=as_json)
        return
    profile, out, changes = request.profile, request.out, request.changes()
    if validate or published:
        if out is not None or request.direct or request.repeat is not None:
            raise ArgumentError("--validate writes nothing: leave out --out, --direct and --repeat.")
        if published:
            _print_columns(published, profile, changes, request.seed)
        else:
            _print_validations([profile] if profile else [*cluster.FITTED, *cluster.HELD_OUT], changes, request.seed)
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
    out = _where(request, shard, work.engine)
    unit, doing = "host-slots" if request.direct else "slots", f"simulating {profile}"
    if shard is not None:
        folder = shared_folder(out, work.engine)
        with progress(unit) as step:
            shard_was = shard_done(request.shared, shard, folder, lambda done, total: step(done, total, doing))
        print_shard(shard_was, folder, as_json=as_json)
        return
    with (
        chosen(work, out) as by,
        progress(unit if work.engine == "local" else by.unit) as step,
    ):
        elsewhere = None if work.engine == "local" else by.engine
        made = simulated(request, text, out, lambda done, total: step(done, total, doing), elsewhere, by.noted)
    remark_made(made)


def _where(request: SimulationRequest, shard: str | None, engine: str) -> Place:
    """The place that ``--out`` names."""
    out = request.out
    if out is None:
        raise ArgumentError("--out is missing: expected a directory for the run that does not exist yet.")
    if shard is not None and request.repeat is None:
        raise ArgumentError("--shard needs --repeat N: simulations of several seeds are shared.")
    if engine != "local" and request.repeat is None:
        raise ArgumentError("--engine needs --repeat N: one simulation is one piece.")
    if isinstance(out, Url) and not request.direct and shard is None:
        raise ArgumentError(
            f"--out {out}: logs are written to a folder. Name one, or write a run at once with --direct."
        )
    return out


def _print_profiles(*, as_json: bool) -> None:
    """Prints the shipped profiles, a line for each."""
    from slotmark.benches.cluster.simulating.simulate import described_profiles

    for name, description in described_profiles().items():
        typer.echo(json.dumps({"name": name, "description": description}) if as_json else f"{name:<32} {description}")


def remark_made(made: "Sequence[tuple[Place, RunFacts]]") -> None:
    """Prints a line about each run directory or, where no logs were written, run folder; and whether none of the first one's blocks is analysed."""
    from slotmark.benches.cluster.ingesting.finishing import without_blocks
    from slotmark.run import open_run

    for folder, facts in made:
        size = f"lines, {megabytes(facts.bytes)}" if facts.bytes else "lines that were never written"
        talk.remark(
            f"{folder}: {counted(facts.hosts, 'host')}, {counted(facts.slots, 'slot')}, {counted(facts.blocks_forged, 'block')} of which "
            f"{facts.blocks_chained:,} on the chain, {facts.lines:,} {size}"
        )
    folder, facts = made[0]
    if not facts.bytes:  # seeds of one profile differ little
        talk.warnings(without_blocks(open_run(folder)))


def _print_validations(names: Sequence[str], changes: Sequence[str], seed: int) -> None:
    """Prints what is predicted of each profile beside what was published of it."""
    from slotmark.benches.cluster.simulating import simulate as cluster
    from slotmark.benches.cluster.simulating.model import PREDICTED, refuse_settings
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
    from slotmark.benches.cluster.simulating.model import PREDICTED, refuse_settings
    from slotmark.benches.cluster.simulating.simulate import VALIDATION_SEEDS
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
