"""Every command that shows something has --json, and what it prints is JSON."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.main import get_command

from slotmark.cli import app
from tests.conftest import slotmark
from tests.made_up_runs import write_run

WRITES_ONLY = {
    "chain snapshot",
    "chain synth",
    "cluster create",
    "cluster clean",
    "site",
    "serve",
    "store recompute",
    "store accept",
    "store prune",
}
"""Commands that print remarks."""

PRINTS_FOLDERS = {
    "chainsync run",
    "cluster run",
    "ledger run",
    "ledger import",
    "ledger noise",
    "ledger stores",
    "published import",
    "copy",
    "store add",
    "store import",
}
"""Commands that make something with a manifest, or JSON itself."""

OF_ITS_OWN = {"samples", "comment", "export"}
"""Other forms, as --format says."""


def commands(command: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, list[str]]]:
    """All commands of the tree, each with its options."""
    inside = getattr(command, "commands", None)
    if inside is None:
        yield " ".join(path), [option for one in command.params for option in one.opts]  # pyright: ignore[reportAttributeAccessIssue]
        return
    for name, one in inside.items():
        yield from commands(one, (*path, name))


def lacking(tree: typer.Typer) -> set[str]:
    """The commands without --json."""
    return {name for name, options in commands(get_command(tree)) if "--json" not in options}


def test_every_command_that_shows_something_prints_json() -> None:
    assert len(list(commands(get_command(app)))) > 20
    assert lacking(app) == WRITES_ONLY | PRINTS_FOLDERS | OF_ITS_OWN


def test_a_new_command_that_shows_something_without_json_is_found() -> None:
    tree = typer.Typer()
    tree.command("look")(lambda: None)
    tree.command("other")(lambda: None)
    assert lacking(tree) == {"look", "other"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    return [write_run(folder / name, name, {"decode, sequential": [100.0 + n for n in range(6)]}).path for name in "ab"]


@pytest.mark.parametrize("command", ["compare", "show", "check"])
def test_what_is_printed_is_the_result(command: str, runs: list[Path]) -> None:
    done = slotmark(command, *(runs[:1] if command == "show" else runs), "--json")
    assert done.returncode == 0, done.stderr
    if command == "check":
        assert [json.loads(line)["files"] for line in done.stdout.splitlines()] == [2, 2]
        return
    as_data = json.loads(done.stdout)
    assert as_data["baseline"]["manifest"]["target"]["name"] == "a"
    assert len(as_data["candidates"]) == (1 if command == "compare" else 0)
    assert (as_data["ranking"] is None) == (command == "show")
    assert as_data["decision"] is None, "a and b are two clients"


@pytest.mark.parametrize("command", [("chainsync", "targets"), ("simulate", "--profiles")])
def test_targets_and_profiles_have_a_line_each(command: tuple[str, ...]) -> None:
    plain = slotmark(*command).stdout.splitlines()
    as_data = [json.loads(line) for line in slotmark(*command, "--json").stdout.splitlines()]
    assert len(plain) == len(as_data) > 4
    for line, one in zip(plain, as_data, strict=True):
        assert line.startswith(one["name"])
        assert len(one["description"]) > 10
        assert line.endswith(one["description"])
