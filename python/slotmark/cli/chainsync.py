"""`slotmark chainsync`: measure client libraries against a chain."""

import json
import math
import os
import sys
from typing import Annotated

import typer

from slotmark.benches.chainsync.request import Request, ServeRequest
from slotmark.benches.chainsync.targets import FLOOR, build_all, built_ins
from slotmark.cleaning import one_line, one_name
from slotmark.cli.console import progress, talk
from slotmark.cli.given import given, refuse_densest_of_any_length
from slotmark.cli.groups import group
from slotmark.cli.requests import from_requests
from slotmark.cli.session import end_session
from slotmark.errors import ArgumentError, TargetError, did_you_mean

app = group("Measure chain-sync clients against a real chain.")


@app.command(epilog="Example: slotmark chainsync run --chain chains/preview --target native,pallas -o runs")
@from_requests
def run(request: Request, *, context: typer.Context) -> None:
    """Run every target in every mode and depth, round by round, in an order drawn at random, and keep a run of each.

    With --follow all targets follow a node's tip instead, at the same time.
    """
    place = request.place
    if request.follow_s:
        _refuse_of_rounds(context)
        _follow_tip(request)
        return
    from slotmark.benches.chainsync.bench import run as run_bench

    if sum(one is not None for one in (place.chain, place.node_socket or place.node)) != 1:
        raise ArgumentError("give either --chain DIR, or --node-socket PATH and --node HOST:PORT of a node.")
    if place.chain is None and request.reply_delay_us:
        raise ArgumentError("--reply-delay slows our own server: it goes with --chain.")
    with progress("invocations") as show:
        runs, failures = run_bench(request, lambda remark: talk.remark(f"slotmark: {remark}"), show)
    named = [run for run in runs if run.name != FLOOR]
    end_session(runs, named, [failure.error for failure in failures], request.out)


_OF_ROUNDS = (
    "chain",
    "depths",
    "rounds",
    "start",
    "blocks",
    "seed",
    "reply_delay_us",
    "progress_every",
    "timeout_s",
    "resume",
    "pin",
)
"""Options of a session in rounds over a stretch of chain."""


def _refuse_of_rounds(context: typer.Context) -> None:
    """Raises ArgumentError where an option was given that means nothing at a node's tip."""
    for name, option in given(context):
        if name in _OF_ROUNDS:
            raise ArgumentError(
                f"{option}: not with --follow, which has no rounds and no stretch of chain. Leave one of the two out."
            )


def _follow_tip(request: Request) -> None:
    from slotmark.benches.chainsync.tip import follow

    if request.place.node_socket is None and request.place.node is None:
        raise ArgumentError("--follow: give the node's --node-socket PATH, or --node HOST:PORT.")
    with progress("s") as show:
        whole = math.ceil(request.follow_s)
        followed = follow(
            request,
            lambda remark: talk.remark(f"slotmark: {remark}"),
            lambda past_s, blocks: show(int(past_s), whole, f"at the tip: {blocks:,} blocks"),
        )
    named = [run for run in followed.runs if run.name != FLOOR]
    errors = [failure.error for failure in followed.failures]
    if followed.interrupted:
        end_session(followed.runs, named, [], request.out)
        for error in errors:
            talk.remark(f"slotmark: {error}")
        talk.remark("slotmark: what was measured until now was kept")
        raise KeyboardInterrupt
    end_session(
        followed.runs, named, [*errors, *([TargetError(f"{followed.cut}.")] if followed.cut else [])], request.out
    )


@app.command(epilog="Example: slotmark chainsync targets --build all")
def targets(
    build: Annotated[
        str | None,
        typer.Option(metavar="NAME,...|all", help="Build these first; all leaves out those whose tools are missing."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON per target.")] = False,
) -> None:
    """List the targets that come with slotmark, what each is, and whether they can run here."""
    known = built_ins()
    wanted = list(known) if build == "all" else [name for name in (build or "").split(",") if name]
    for name in wanted:
        if name not in known:
            raise TargetError(
                f"--build {name}: no such target.{did_you_mean(name, known)} There are {', '.join(known)}."
            )
        if known[name].missing and build != "all":
            raise TargetError(
                f"--build {name}: needs {', '.join(known[name].missing)}, which this machine doesn't have."
            )
    with talk.doing() as show:
        build_all(
            [known[name] for name in wanted if not known[name].missing],
            lambda name, line: show(f"building {name}: {line[:100]}"),
        )
    for name, target in known.items():
        remark = f"left out: needs {', '.join(target.missing)}" if target.missing else target.state
        if as_json:
            _line(json.dumps({"name": name, "state": remark, "description": target.recipe.description}))
        else:
            typer.echo(f"{one_name(name):<14} {one_line(remark):<12} {target.recipe.description}")


@app.command(epilog="Example: slotmark chainsync serve --chain chains/preview --socket node.socket")
@from_requests
def serve(request: ServeRequest) -> None:
    """Serve a chain to any client, until interrupted."""
    from slotmark.benches.chainsync.server import server_command

    if request.socket is None and request.listen is None:
        raise ArgumentError("give --socket PATH, --listen HOST:PORT, or both.")
    if request.roll_back_every is not None and request.pace_us is None:
        raise ArgumentError("--roll-back-every: goes with --pace, which lets the chain grow.")
    refuse_densest_of_any_length(request.start, request.blocks)
    if request.blocks is not None and (
        request.start is None or (request.pace_us is not None and request.start != "densest")
    ):
        raise ArgumentError(
            "--blocks: goes with --start, for the blocks that are prepared; the whole chain is served, and with --pace none is prepared. Leave it out."
        )
    words = server_command(request)
    os.execv(words[0], words)


def _line(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
