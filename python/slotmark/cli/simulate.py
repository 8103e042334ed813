"""`slotmark simulate`: a cluster in virtual time."""

import json
from pathlib import Path
from typing import Annotated

import typer

from slotmark.cli.console import progress, talk
from slotmark.cli.profiles import PROFILE, Settings
from slotmark.errors import ArgumentError


def simulate(
    profile: Annotated[str | None, PROFILE] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="DIR", help="The new run directory, or run folder with --direct; needed to simulate."
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
    show: Annotated[bool, typer.Option("--show", help="Print the whole profile and stop.")] = False,
    profiles: Annotated[
        bool, typer.Option("--profiles", help="Print the shipped profiles, a line for each, and stop.")
    ] = False,
    validate: Annotated[
        bool,
        typer.Option("--validate", help="Print what is predicted beside what was published; all profiles, or PROFILE."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --profiles: print a line of JSON per profile.")] = False,
) -> None:
    """Simulate a cluster: write the logs that its nodes would write, or a run folder, with what really happened beside."""
    from slotmark.benches.cluster import simulate as cluster
    from slotmark.benches.cluster.model import PREDICTED, SIMULATED, outside_of_extended, refuse_settings
    from slotmark.cli.validation_table import print_validation

    if profiles:
        for name, description in cluster.described_profiles().items():
            typer.echo(
                json.dumps({"name": name, "description": description}) if as_json else f"{name:<32} {description}"
            )
        return
    changes = list(settings or ())
    if slots is not None:
        if any(change.partition("=")[0].strip() in ("slots", "run.slots") for change in changes):
            raise ArgumentError("--slots and --set run.slots both say how many slots: leave one out.")
        changes.append(f"run.slots={slots}")
    if topology is not None:
        changes.append(f'network.topology={{kind="file", path="{topology}"}}')
    if validate:
        if out is not None or direct:
            raise ArgumentError("--validate writes nothing: leave out --out and --direct.")
        for name in [profile] if profile else [*cluster.FITTED, *cluster.HELD_OUT]:
            refuse_settings(name, changes, PREDICTED)
            with progress("slots") as step:
                tables = cluster.predict(
                    cluster.load_profile(name, changes),
                    range(seed, seed + cluster.VALIDATION_SEEDS),
                    lambda done, total, name=name: step(done, total, name),
                )
            print_validation(name, tables)
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
    talk.doubts(outside_of_extended(profile, SIMULATED))
    if out is None:
        raise ArgumentError("--out is missing: expected a directory for the run that does not exist yet.")
    if direct:
        from slotmark.benches.cluster.direct import simulate_direct

        with progress("host-slots") as step:
            run, facts = simulate_direct(
                text, seed, out, lambda done, total: step(done, total, f"simulating {profile}")
            )
        talk.remark(
            f"{run.path}: {facts.hosts:,} hosts, {facts.slots:,} slots, {facts.blocks_forged:,} blocks of which "
            f"{facts.blocks_chained:,} on the chain, {facts.lines:,} lines that were never written"
        )
        return
    with progress("slots") as step:
        facts = cluster.simulate(text, seed, out, lambda done, total: step(done, total, f"simulating {profile}"))
    talk.remark(
        f"{out}: {facts.hosts:,} hosts, {facts.slots:,} slots, {facts.blocks_forged:,} blocks of which "
        f"{facts.blocks_chained:,} on the chain, {facts.lines:,} lines, {facts.bytes / 1e6:,.1f} MB"
    )
