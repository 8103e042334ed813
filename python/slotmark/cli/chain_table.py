"""Tables of `slotmark chain info` and `slotmark chain check` for a person."""

from typing import Any

from rich import box
from rich.console import Group
from rich.table import Table

from slotmark.cli.console import print_table
from slotmark.numbers import fixed
from slotmark.words import counted


def chain_table(facts: dict[str, Any]) -> Group:
    """Two tables, the whole and an era a row, from the result of :func:`slotmark._core.chain_info`."""
    whole = Table(box=None, show_header=False, pad_edge=False)
    whole.add_column(style="bold")
    whole.add_column(justify="left", overflow="fold")
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
    print_table(chain_table(facts))


def check_table(facts: dict[str, Any]) -> Group:
    """Returns the results of the checks, a row per rule and per epoch, from the JSON of ``slotmark-forge check-chain``; then the first failures."""
    whole = Table(box=None, show_header=False, pad_edge=False)
    whole.add_column(style="bold")
    whole.add_column(justify="left", overflow="fold")
    byron = f", of which {facts['byron_blocks']:,} are Byron's: only their place, link and body proof are checked"
    for name, value in (
        ("chain", facts["chain"]),
        ("blocks", f"{facts['blocks']:,}{byron if facts['byron_blocks'] else ''}"),
        ("bytes", f"{facts['bytes']:,}"),
        ("transactions", f"{facts['transactions']:,}, with {counted(facts['inputs'], 'input')} looked up"),
    ):
        whole.add_row(name, value)
    rules = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    rules.add_column("rule", no_wrap=True)
    rules.add_column("counted")
    columns = {"held": "holds", "approximate": "holds,\napprox.\nstake", "unknown": "unknown", "broken": "broken"}
    for heading in columns.values():
        rules.add_column(heading, justify="right")
    for rule in facts["rules"]:
        rules.add_row(
            rule["rule"], rule["counted"], *(f"{rule[column]:,}" if rule[column] else "" for column in columns)
        )
    parts = [whole, rules]
    if facts["epochs"]:
        epochs = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for heading in ("epoch", "blocks", "pools", "stake (ada)"):
            epochs.add_column(heading, justify="right")
        epochs.add_column("nonce")
        for epoch in facts["epochs"]:
            known = epoch["pools"] is not None
            epochs.add_row(
                f"{epoch['epoch']:,}",
                f"{epoch['blocks']:,}",
                f"{epoch['pools']:,}" if known else "not known",
                f"{'' if epoch['exact'] else '~'}{fixed(epoch['stake'] / 10**6)}" if known else "not known",
                f"{epoch['nonce'][:16]}…" if epoch["nonce"] else "neutral",
            )
        parts.append(epochs)
    if facts["failures"]:
        failures = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        failures.add_column("slot", no_wrap=True)
        failures.add_column("block", overflow="fold")
        failures.add_column("transaction", justify="right")
        failures.add_column("broken rule", no_wrap=True)
        failures.add_column("what must hold")
        for failure in facts["failures"]:
            place = "" if failure["transaction"] is None else f"{failure['transaction']}"
            failures.add_row(f"{failure['slot']}", failure["hash"], place, failure["rule"], failure["requirement"])
        parts.append(failures)
    return Group(*parts)


def print_check(facts: dict[str, Any]) -> None:
    """Prints what was checked on standard output."""
    print_table(check_table(facts))
