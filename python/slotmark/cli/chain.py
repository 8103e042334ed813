"""`slotmark chain`: look into a chain folder, check it against the protocol's rules, or forge one."""

import time
import tomllib
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from slotmark.cli.console import progress, talk
from slotmark.cli.given import refuse_densest_of_any_length
from slotmark.cli.groups import group
from slotmark.cli.requests import from_requests
from slotmark.errors import ArgumentError
from slotmark.measure.forge import ChainRequest, forge
from slotmark.numbers import fixed, megabytes
from slotmark.words import counted

app = group("Look into a chain, check it, or forge one.")

ChainFolder = Annotated[
    Path, typer.Argument(metavar="DIR", help="An ImmutableDB: the folder with 00000.chunk and so on.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command(epilog="Example: slotmark chain info chains/preview")
def info(
    chain: ChainFolder,
    start: Annotated[
        str | None, typer.Option(help="Only blocks after this point: SLOT.HASH, origin, or, with --blocks, densest.")
    ] = None,
    blocks: Annotated[int | None, typer.Option(min=1, help="Only this many blocks.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print what a chain holds: blocks, eras, slots, sizes, transactions, redeemers. Every block is checked and decoded."""
    from slotmark import _core
    from slotmark.cli.chain_table import print_chain

    refuse_densest_of_any_length(start, blocks)
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
    chain: ChainFolder,
    genesis: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The network's Shelley genesis; Byron's, Alonzo's and Conway's are read from its folder.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check every header and transaction of a chain against the rules of TPraos, Praos and the ledger; exit 1 where one is broken.

    Without --genesis, whatever depends on it is counted as not known: KES periods and signatures, VRF proofs, leadership, limits, inputs, fees, scripts.
    """
    from slotmark.cli.chain_table import print_check

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


@app.command(
    epilog="Example: slotmark chain snapshot chains/made --genesis chains/made/genesis/shelley-genesis.json -o snapshots"
)
def snapshot(
    chain: ChainFolder,
    genesis: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="The network's Shelley genesis; Alonzo's and Conway's are read from its folder."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="New folder for the snapshots.")],
    until: Annotated[
        int | None, typer.Option(min=0, metavar="EPOCH", help="The newest epoch; the last that has ended by default.")
    ] = None,
    ended: Annotated[
        bool, typer.Option("--ended", help="The chain's last epoch has ended too, though no block follows.")
    ] = False,
) -> None:
    """Write what Amaru begins with: the ledger after each of a chain's last three epochs that have ended, nonces and headers."""
    with progress("blocks") as step:
        made = forge(
            "snapshot-chain",
            {"chain": chain, "genesis": genesis, "until": until, "ended": ended, "out": out},
            progress=lambda done, total: step(done, total, "following"),
        )
    facts = msgspec.json.decode(made)
    first, *between, last = facts["epochs"]
    talk.remark(
        f"{out}: the ledger after epochs {', '.join(map(str, [first, *between]))} and {last}, up to {facts['tip']}; "
        f"{counted(facts['blocks_after'], 'block')} of the chain after it"
    )


@app.command(epilog="Example: slotmark chain synth --workload preview-like --blocks 10000 -o chains/made")
@from_requests
def synth(request: ChainRequest) -> None:
    """Forge a valid chain of Conway blocks, the same bytes for the same seed. Its network is in DIR/genesis: genesis files, configuration, keys."""
    files = (request.script, request.datum, request.redeemer)
    if any(files) and not all(files):
        raise ArgumentError(
            "--script, --datum and --redeemer: expected all three or none. Give those that are missing."
        )
    if (request.workload is None) == (request.profile is None):
        raise ArgumentError("--workload and --profile: expected one of them. Give what the blocks are to hold.")
    options, line = msgspec.structs.asdict(request), b""
    if request.profile is not None:
        from slotmark.benches.cluster.scripts import script_files
        from slotmark.benches.cluster.simulating.simulate import load_profile

        text = load_profile(request.profile)
        if not any(files) and (of_profile := script_files(request.profile, tomllib.loads(text))):
            options |= dict(zip(("script", "datum", "redeemer"), of_profile, strict=True))
        options["profile"], line = True, msgspec.json.encode({"profile": text})
    with progress("blocks") as step:
        made = forge(
            "forge-chain",
            options,
            first_line=line,
            progress=lambda done, total: step(done, total, f"forging {request.workload or request.profile}"),
        )
    facts = msgspec.json.decode(made)
    talk.remark(
        f"{request.out}: {facts['blocks']:,} blocks, {facts['transactions']:,} transactions, {megabytes(facts['bytes'])}, tip {facts['tip']}"
        + (f", script {facts['script']}" if facts["script"] else "")
    )
    if run := facts["loop"]:
        units = run["units"]
        talk.remark(
            f"{run['name']}, script {run['hash']}: {run['rounds']:,} rounds in each transaction, {units['memory']:,} of memory, {units['steps']:,} steps, "
            f"{run['lovelace']:,} lovelace"
        )
