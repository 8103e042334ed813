"""Arguments and options for a profile of a cluster, and for changes of its parameters."""

from typing import Annotated, Any

import typer

PROFILE = typer.Argument(metavar="PROFILE", help="A TOML file or a shipped profile; `simulate --profiles` lists those.")


def set_option(examples: str) -> Any:
    """The option ``--set``, with examples of what a command's users change."""
    return typer.Option("--set", metavar="KEY=VALUE", help=f"Change a parameter: {examples}; again for more.")


Settings = Annotated[list[str] | None, set_option("ledger_tick.mean=33ms, tps*=2, rtt[us-east-1].mean=1ms")]
"""Changes of what is simulated."""
