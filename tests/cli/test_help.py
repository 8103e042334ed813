"""Help: quick, with an example per command that is one; completion; exit codes in one place."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from slotmark.cli import app
from tests.conftest import REPO, slotmark

HEAVY = (
    "altair",
    "duckdb",
    "jinja2",
    "numpy",
    "pyarrow",
    "rich.console",
    "scipy",
    "statsmodels",
    "vl_convert",
)


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with the words that call it."""
    for name, one in group.commands.items():
        if hasattr(one, "commands"):
            yield from commands(one, (*path, name))
        else:
            yield (*path, name), one


COMMANDS = dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_the_help_of_a_command_has_an_example_that_it_takes(path: tuple[str, ...]) -> None:
    command = COMMANDS[path]
    kind, _, example = (command.epilog or "").partition(": ")
    assert kind == "Example"
    words = shlex.split(example)
    assert tuple(words[: len(path) + 1]) == ("slotmark", *path)
    context = command.make_context(" ".join(path), words[len(path) + 1 :])
    assert not context.args


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]], ids=" ".join)
def test_help_and_version_load_nothing_heavy(arguments: list[str]) -> None:
    ended = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "slotmark", *arguments], capture_output=True, text=True, check=True
    )
    loaded = {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines() if line.startswith("import time:")}
    assert "slotmark.cli" in loaded
    assert not {name for name in loaded if name.startswith(HEAVY)}


def test_the_shell_completes_commands_and_options() -> None:
    def completed(words: str) -> list[str]:
        asked = {"_SLOTMARK_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        return slotmark(env={**os.environ, **asked}).stdout.split()

    assert completed("slotmark comp") == ["compare"]
    assert completed("slotmark compare --fail") == ["--fail-on"]
    assert completed("slotmark chainsync ser") == ["serve"]
    assert {"--install-completion", "--show-completion"} <= set(slotmark("--help").stdout.split())


def test_exit_codes_are_in_one_place() -> None:
    page = (REPO / "docs" / "commands.md").read_text(encoding="utf-8")
    codes = [line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| ")][2:]
    assert codes == ["0", "1", "2", "3", "70", "129", "130", "143"]
    assert "docs/commands.md" in slotmark("--help").stdout


GROUPS = sorted({path[:-1] for path in COMMANDS})


@pytest.mark.parametrize("path", GROUPS, ids=lambda path: " ".join(path) or "slotmark")
def test_a_list_of_commands_has_whole_sentences(path: tuple[str, ...]) -> None:
    listed = slotmark(*path, "--help").stdout.partition("Commands:")[2]
    assert listed.strip()
    assert "..." not in listed
