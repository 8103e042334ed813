"""`slotmark chain`: look into a chain folder, or forge one."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from slotmark.cli.console import progress, talk
from slotmark.errors import ArgumentError

app = typer.Typer(help="Look into a chain, or forge one.", no_args_is_help=True, rich_markup_mode=None)

WORKLOADS = ("value-only", "plutus-loop", "empty", "preview-like")


@app.command(epilog="Example: slotmark chain info chains/preview")
def info(
    chain: Annotated[
        Path, typer.Argument(metavar="DIR", help="An ImmutableDB: the folder with 00000.chunk and so on.")
    ],
    start: Annotated[
        str | None, typer.Option(help="Only what comes after this point: SLOT.HASH, origin, or densest.")
    ] = None,
    blocks: Annotated[int | None, typer.Option(min=1, help="Only this many blocks.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print what a chain holds: blocks, eras, slots, sizes, transactions, redeemers. Every block is checked and decoded."""
    from slotmark import _core
    from slotmark.cli.chain_table import print_chain

    with progress("MB") as step:
        text = _core.chain_info(
            str(chain), start, blocks, lambda done, total: step(done // 10**6, total // 10**6, "reading")
        )
    if as_json:
        typer.echo(text)
    else:
        print_chain(msgspec.json.decode(text))


@app.command(epilog="Example: slotmark chain synth --workload preview-like --blocks 10000 -o chains/made")
def synth(
    workload: Annotated[str, typer.Option(help=f"One of {', '.join(WORKLOADS)}.")],
    blocks: Annotated[int, typer.Option(min=1, help="How many blocks.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="The new folder.")],
    seed: Annotated[int, typer.Option(min=0, help="Decides everything that is random.")] = 1,
    chunk_slots: Annotated[
        int, typer.Option(min=20, help="Slots a chunk file; 4320 as on preview, 21600 as on mainnet.")
    ] = 4320,
) -> None:
    """Forge a chain of Conway blocks, valid in all but the proofs of VRF and KES, the same bytes for the same seed."""
    from slotmark import _core

    if workload not in WORKLOADS:
        raise ArgumentError(f"--workload {workload}: expected one of {', '.join(WORKLOADS)}.")
    with progress("blocks") as step:
        text = _core.forge(
            workload, blocks, seed, chunk_slots, str(out), lambda done, total: step(done, total, f"forging {workload}")
        )
    facts = msgspec.json.decode(text)
    talk.remark(
        f"{out}: {facts['blocks']:,} blocks, {facts['transactions']:,} transactions, {facts['bytes'] / 1e6:,.1f} MB, tip {facts['tip']}"
    )
