"""`slotmark simulate`: a cluster in virtual time."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from slotmark.cli.console import progress, talk
from slotmark.errors import ArgumentError

if TYPE_CHECKING:
    from slotmark.benches.cluster.simulate import Tables


def simulate(
    profile: Annotated[
        str | None, typer.Argument(metavar="PROFILE", help="A TOML file or a shipped profile; --profiles lists those.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="DIR", help="The new run directory, or run folder with --direct; needed to simulate."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a parameter: ledger_tick.mean=33ms; again for more."),
    ] = None,
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
        bool, typer.Option("--profiles", help="Print the names of the shipped profiles and stop.")
    ] = False,
    validate: Annotated[
        bool,
        typer.Option("--validate", help="Print what is predicted beside what was published; all profiles, or PROFILE."),
    ] = False,
) -> None:
    """Simulate a cluster: write the logs that its nodes would write, or a run folder, with what really happened beside."""
    from slotmark.benches.cluster import simulate as cluster

    if profiles:
        typer.echo("\n".join(cluster.shipped_profiles()))
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
            with progress("slots") as step:
                tables = cluster.predict(
                    cluster.load_profile(name, changes),
                    range(seed, seed + cluster.VALIDATION_SEEDS),
                    lambda done, total, name=name: step(done, total, name),
                )
            Console(highlight=False).print(validation_table(name, tables))
        return
    if profile is None:
        raise ArgumentError(
            "PROFILE is missing: expected a file or one of " + ", ".join(cluster.shipped_profiles()) + "."
        )
    text = cluster.load_profile(profile, changes)
    if show:
        typer.echo(text)
        return
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


def validation_table(name: str, tables: "Tables") -> Table:
    """Predicted beside published, for the rows from First peer notice to 1.00 adoption."""
    from slotmark.benches.cluster.simulate import END_TO_END_ROWS, PEER_ROWS

    table = Table(title=f"{name}: {tables.blocks:,} blocks analysed", title_justify="left", box=None, pad_edge=False)
    table.add_column("metric")
    for column in ("predicted, s", "± (one s.e.)", "published, s", "error"):
        table.add_column(column, justify="right")
    for metric in (*PEER_ROWS, *END_TO_END_ROWS):
        row = tables.row(metric)
        if row.predicted is None or row.standard_error is None:
            table.add_row(metric, "no blocks", "", "", "")
            continue
        published = "" if row.published is None else f"{row.published:.5f}"
        error = "" if row.relative_error is None else f"{100 * row.relative_error:+.1f} %"
        table.add_row(metric, f"{row.predicted:.5f}", f"{row.standard_error:.5f}", published, error)
    return table
