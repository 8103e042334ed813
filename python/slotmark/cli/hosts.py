"""`slotmark hosts`: machines that work is done on."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from slotmark.cli.console import print_table, talk
from slotmark.cli.groups import group
from slotmark.cli.reports import AsJson
from slotmark.words import counted

app = group("Machines of a cluster: what they have, and what they lack.")


@app.command("check", epilog="Example: slotmark hosts check hosts.toml --engine ray")
def check(
    hosts: Annotated[Path, typer.Argument(metavar="FILE", help="The hosts and what each must have: docs/scale.md.")],
    engine: Annotated[Literal["ray"], typer.Option("--engine", help="How the hosts are reached.")] = "ray",
    as_json: AsJson = False,
) -> None:
    """Check the hosts of a file: labels, versions, programs, free ports, and how far their clocks are apart; exit code 2 where anything is wrong."""
    import msgspec
    from rich.table import Table

    from slotmark.cli.engines import nodes_table
    from slotmark.engine.hosts import wanted
    from slotmark.engine.ray import hosts_found, output_of_ray

    asked = wanted(hosts)
    with output_of_ray(talk.remark) as folder:
        cluster, found = hosts_found(asked, folder)
    if as_json:
        for one in found:
            typer.echo(msgspec.json.encode(one).decode())
    else:
        print_table(nodes_table(cluster))
        table = Table(title=f"Hosts of {hosts}", title_justify="left")
        for title in ("host", "node", "clock ahead", "programs", "ports", "wrong"):
            table.add_column(title)
        for one in found:
            clock = "" if one.clock is None else f"{one.clock.ahead_us:,} us ± {one.clock.doubt_us:,} us"
            needs = asked[one.name]
            programs, ports = ", ".join(needs.programs), ", ".join(map(str, needs.ports))
            table.add_row(one.name, one.node, clock, programs, ports, "; ".join(one.wrong) or "nothing")
        print_table(table)
    unsecured = [node for node in cluster.nodes if not node.secured and not node.fault]
    if unsecured:
        talk.remark(
            f"! {unsecured[0].name} requires no token: anybody who can reach it can run any program there. docs/scale.md"
        )
    wrong = sum(bool(one.wrong) for one in found)
    if wrong:
        talk.remark(f"Something is wrong with {wrong:,} of {counted(len(found), 'host')}.")
    if wrong or unsecured:
        raise typer.Exit(2)
