"""What `slotmark chain info` shows to a person."""

from typing import Any

from rich import box
from rich.console import Console, Group
from rich.table import Table


def chain_table(facts: dict[str, Any]) -> Group:
    """Two tables, the whole and an era a row, from what :func:`slotmark._core.chain_info` tells."""
    whole = Table(box=None, show_header=False, pad_edge=False)
    whole.add_column(style="bold")
    whole.add_column(justify="left")
    sizes = facts["block_bytes"]
    for name, value in (
        ("chain", facts["chain"]),
        ("chunks", f"{facts['chunks']:,}"),
        ("blocks", f"{facts['blocks']:,}, of which {facts['empty_blocks']:,} are empty"),
        ("bytes", f"{facts['bytes']:,}"),
        ("slots", f"{facts['first_slot']:,} to {facts['last_slot']:,}"),
        ("block size", ", ".join(f"{name} {sizes[name]:,}" for name in ("p5", "p50", "p90", "p99", "max"))),
        ("transactions", f"{facts['transactions']:,}, of which {facts['invalid_transactions']:,} failed phase 2"),
        ("inputs, outputs", f"{facts['inputs']:,}, {facts['outputs']:,}"),
        ("redeemers", f"{facts['redeemers']:,}"),
        ("fees", f"{facts['fees']:,} lovelace"),
        ("tip", facts["tip"]),
    ):
        whole.add_row(name, value)
    eras = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    eras.add_column("era")
    for column in ("blocks", "bytes", "transactions", "slots", "protocol versions"):
        eras.add_column(column, justify="right")
    for era in facts["eras"]:
        eras.add_row(
            era["era"],
            f"{era['blocks']:,}",
            f"{era['bytes']:,}",
            f"{era['transactions']:,}",
            f"{era['first_slot']:,} to {era['last_slot']:,}",
            ", ".join(f"{version} ({blocks:,})" for version, blocks in era["protocol_versions"].items()),
        )
    return Group(whole, eras)


def print_chain(facts: dict[str, Any]) -> None:
    """Prints the tables on standard output."""
    Console(highlight=False).print(chain_table(facts))
