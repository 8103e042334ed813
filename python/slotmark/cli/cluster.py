"""`slotmark cluster`: beds for clusters of real nodes; running one is in :mod:`slotmark.cli.live`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from slotmark.benches.cluster.requests import ProfileOption, set_option
from slotmark.cli import live
from slotmark.cli.console import progress, talk
from slotmark.cli.groups import group
from slotmark.cli.requests import from_requests
from slotmark.options import MOST_SEED
from slotmark.places import folder_of
from slotmark.words import counted

app = group("Run a cluster of real nodes; make and check the files that it needs.")


@app.command(epilog="Example: slotmark cluster create value-only-5 -o bed")
@from_requests
def create(
    profile: ProfileOption,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="The new folder.", parser=folder_of)],
    hosts: Annotated[
        int | None, typer.Option(min=1, help="Hosts, instead of the profile's; its topology rule is applied to them.")
    ] = None,
    settings: Annotated[Sequence[str], set_option("utxo_entries=10000, delegators=1000, live.funds=50")] = (),
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of all keys and of random topologies.")] = 1,
) -> None:
    """Make a bed: genesis files, keys, topologies and configurations for a cluster of nodes. The same options give the same bytes."""
    from slotmark.benches.cluster.bed import create_bed

    with progress("entries") as step:
        bed = create_bed(
            profile,
            out,
            lambda done, total: step(done, total, "writing the genesis"),
            seed=seed,
            hosts=hosts,
            settings=settings,
        )
    pools, edges = sum(host.pool is not None for host in bed.hosts), sum(host.edge for host in bed.hosts)
    kinds = counted(pools, "pool") + (f", {counted(edges, 'edge host')}" if edges else "")
    genesis = bed.genesis
    talk.remark(
        f"{out}: {counted(len(bed.hosts), 'host')}, {kinds}, {counted(len(bed.links), 'link')}; in the genesis {genesis.delegators:,} "
        f"delegators, {genesis.utxo_entries:,} UTxO entries, {genesis.dreps:,} DReps, {genesis.funds:,} funds of the workload"
    )
    if genesis.first_slot:
        talk.remark(
            f"a run begins in slot {genesis.first_slot:,}, after {genesis.past_epochs:,} epochs with a few blocks each"
        )
    for name, (before, now) in bed.changed.items():
        talk.remark(f"{name}: {now}, {before} in the profile")


@app.command(epilog="Example: slotmark cluster check bed")
def check(
    bed: Annotated[Path, typer.Argument(metavar="BED", help="A folder that `cluster create` made.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON per fault.")] = False,
) -> None:
    """Print the faults of a bed, a line for each; exit 2 if there are any."""
    from slotmark.benches.cluster.bed import check_bed
    from slotmark.errors import BedError

    faults = check_bed(bed)
    for fault in faults:
        if as_json:
            typer.echo(json.dumps({"file": str(fault.file), "what": fault.what, "remedy": fault.remedy}))
            continue
        typer.echo(f"{fault.file}: {fault.what}; {fault.remedy}.")
    if faults:
        raise BedError(f"{bed}: {counted(len(faults), 'fault')}. Correct what is listed, or make the bed again.")
    talk.remark(f"{bed}: nothing is wrong")


app.command("run", epilog="Example: slotmark cluster run bed --node slotmark --for 10m -o runs/live")(live.run)
app.command("validate", epilog="Example: slotmark cluster validate runs/live")(live.validate)
app.command("clean", epilog="Example: slotmark cluster clean")(live.clean)
