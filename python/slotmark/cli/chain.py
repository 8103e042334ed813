"""`slotmark chain`: look into a chain folder, check it against the protocol's rules, or forge one."""

import time
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from slotmark.cli.console import progress, talk
from slotmark.errors import ArgumentError
from slotmark.numbers import fixed, megabytes
from slotmark.places import folder_of

app = typer.Typer(help="Look into a chain, check it, or forge one.", no_args_is_help=True, rich_markup_mode=None)


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


@app.command(epilog="Example: slotmark chain check chains/preview --genesis genesis/shelley-genesis.json")
def check(
    chain: Annotated[
        Path, typer.Argument(metavar="DIR", help="An ImmutableDB: the folder with 00000.chunk and so on.")
    ],
    genesis: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The network's Shelley genesis; Byron's, Alonzo's and Conway's are read from its folder.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check every header and transaction of a chain against the rules of TPraos, Praos and the ledger; exit 1 where one is broken.

    Without --genesis, whatever depends on it is counted as not known: KES periods and signatures, VRF proofs, leadership, limits, inputs, fees, scripts.
    """
    from slotmark.cli.chain_table import print_check
    from slotmark.measure.forge import forge

    begin = time.monotonic()
    with progress("blocks") as step:
        found = forge(
            "check-chain",
            {"chain": chain, "genesis": genesis},
            progress=lambda done, total: step(done, total, "checking"),
        )
    seconds = time.monotonic() - begin
    facts = msgspec.json.decode(found)
    if as_json:
        typer.echo(found)
    else:
        print_check(facts)
    talk.remark(f"{facts['blocks']:,} blocks in {fixed(seconds, 1)} s: {fixed(facts['blocks'] / seconds)} blocks/s")
    if facts["failed_blocks"]:
        first = facts["failures"][0]
        talk.remark(
            f"slotmark: {chain}: {facts['failed_blocks']:,} of {facts['blocks']:,} blocks break a rule; the first, "
            f"{first['slot']}.{first['hash']}, breaks {first['rule']}. docs/chain.md has the rules."
        )
        raise typer.Exit(1)


@app.command(epilog="Example: slotmark chain synth --workload preview-like --blocks 10000 -o chains/made")
def synth(
    workload: Annotated[
        str,
        typer.Option(
            help="value-only, plutus-loop, empty, preview-like, blocks of several of these by weight: mix:value-only=3,plutus-loop=1, or script."
        ),
    ],
    blocks: Annotated[int, typer.Option(min=1, help="How many blocks.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="The new folder.", parser=folder_of)],
    script: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="For --workload script: its text envelope, as cardano-cli has it (.plutus)."),
    ] = None,
    datum: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The script's datum: JSON as cardano-cli has it, or CBOR in hexadecimal."),
    ] = None,
    redeemer: Annotated[Path | None, typer.Option(metavar="FILE", help="Its redeemer, likewise.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Decides everything that is random.")] = 1,
    utxo: Annotated[
        int,
        typer.Option(
            min=0, max=16_000_000, help="Unspent outputs in the genesis beyond the 16384 that are always there."
        ),
    ] = 0,
    security_parameter: Annotated[
        int,
        typer.Option(
            "--security-parameter",
            "-k",
            min=2,
            max=100_000,
            help="k: chunk files have 10k slots, epochs 200k. 432 as on preview, 2160 as on mainnet.",
        ),
    ] = 432,
) -> None:
    """Forge a valid chain of Conway blocks, the same bytes for the same seed. Its network is in DIR/genesis: genesis files, configuration, keys."""
    from slotmark.measure.forge import forge

    files = (script, datum, redeemer)
    if any(files) and not all(files):
        raise ArgumentError(
            "--script, --datum and --redeemer: expected all three or none. Give those that are missing."
        )
    with progress("blocks") as step:
        made = forge(
            "forge-chain",
            {
                "workload": workload,
                "blocks": blocks,
                "seed": seed,
                "security-parameter": security_parameter,
                "utxo": utxo,
                "script": script,
                "datum": datum,
                "redeemer": redeemer,
                "out": out,
            },
            progress=lambda done, total: step(done, total, f"forging {workload}"),
        )
    facts = msgspec.json.decode(made)
    talk.remark(
        f"{out}: {facts['blocks']:,} blocks, {facts['transactions']:,} transactions, {megabytes(facts['bytes'])}, tip {facts['tip']}"
        + (f", script {facts['script']}" if facts["script"] else "")
    )
