"""Chains of profiles, made and checked by the commands."""

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from slotmark.cli import app

GENESIS = Path("genesis", "shelley-genesis.json")
"""The Shelley genesis of a chain that was made, below it."""


def synthesised(profile: str, blocks: int, chain: Path, *options: str) -> None:
    """Makes a chain of a profile."""
    words = ["chain", "synth", "--profile", profile, "--blocks", str(blocks), *options, "-o", str(chain)]
    made = CliRunner().invoke(app, words)
    assert made.exit_code == 0, made.output


def checked(chain: Path) -> Result:
    """The end of ``chain check --json`` of a chain that was made, by its genesis."""
    return CliRunner().invoke(app, ["chain", "check", str(chain), "--genesis", str(chain / GENESIS), "--json"])


def rules_of(result: Result) -> dict[str, dict[str, Any]]:
    """The rules of a chain in which all held, by their names: how often each held, and how often that isn't known."""
    assert result.exit_code == 0, result.output
    text = result.output  # JSON, with progress beside it
    return {rule["rule"]: rule for rule in json.loads(text[text.index("{") : text.rindex("}") + 1])["rules"]}
