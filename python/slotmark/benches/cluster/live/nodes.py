"""Nodes that can be run: ``nodes/NAME/node.toml``, or any command that takes cardano-node's command line."""

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from slotmark.errors import TargetError, did_you_mean
from slotmark.measure.process import answer
from slotmark.measure.shipped import root
from slotmark.texts import read_toml

LIKE = "cardano-node"
"""The node whose command line any other command is taken to have."""

PLACES = (
    "config",
    "topology",
    "database",
    "socket",
    "address",
    "port",
    "port_2000",
    "port_4000",
    "magic",
    "kes",
    "vrf",
    "certificate",
    "prepared",
    "genesis",
    "past",
    "python",
)
"""Names that may stand in braces in a command or an environment; ``magic`` is the network's, ``port_2000`` is the host's port and 2000, ``prepared`` what ``prepare`` makes,
``past`` the database of the blocks before a run, ``python`` the program that slotmark runs in."""

PEER = "peer"
"""A word of a command with this in braces stands once for each host that is followed, with the ``ADDRESS:PORT`` of that one."""

_STATED_WITHIN_S = 10
"""Time that a program has to state its version."""

Role = Literal["producer", "relay", "edge"]
"""The part of a host in a bed: with a pool; without; without and followed by no host."""


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A ``node.toml``.

    Attributes:
        command: Words that start it, run in the host's folder; a first word with a slash is a path from the recipe's folder.
        tip: A regular expression for the lines of its log by which its chain got a new tip: groups ``hash`` and ``slot``.
        ready: By what it is ready: a tip query on its socket, or ``ready_text`` in its log.
        ready_text: A part of the line by which it is ready.
        version: Words that print its version, for a node whose log has none; the first word is as that of ``command``.
        prepare: Words that are run once for all hosts, in the first one's folder, before any node is started; its first word is as that of
            ``command``.
        producer: More words, for a host with a pool.
        environment: Variables beside slotmark's own.
        producer_environment: More of them, for a host with a pool.
        roles: What a host may be that it runs on.
        backends: By the name of a backend, what of the host's configuration chooses it.
        database: By its place in a host's database, of what that begins as a copy. What is of a past is left out where the bed has none.
        past_epochs: Epochs that must have ended before it can begin.
        genesis: Values that a profile's genesis must have.
    """

    command: list[str]
    tip: str
    ready: Literal["socket", "log"]
    ready_text: str = ""
    version: list[str] = []
    prepare: list[str] = []
    producer: list[str] = []
    environment: dict[str, str] = {}
    producer_environment: dict[str, str] = {}
    roles: tuple[Role, ...] = ("producer", "relay", "edge")
    backends: dict[str, dict[str, Any]] = {}
    database: dict[str, str] = {}
    past_epochs: int = 0
    genesis: dict[str, str | int | float] = {}


class Node(msgspec.Struct, frozen=True):
    """A node that can be started.

    Attributes:
        name: What reports call it.
        recipe: How it is started; the first words of its commands can be run from anywhere.
    """

    name: str
    recipe: Recipe

    def command(self, places: Mapping[str, str], *, producer: bool, peers: Sequence[str] = ()) -> list[str]:
        """The words that start it as a host.

        Args:
            places: A value for each of :data:`PLACES`.
            producer: Whether the host has a pool.
            peers: Where those listen that the host follows, as ``10.0.0.1:3001``.
        """
        filled = []
        for word in [*self.recipe.command, *(self.recipe.producer if producer else [])]:
            each = [{PEER: peer} for peer in peers] if f"{{{PEER}}}" in word else [{}]
            filled += [_filled(word, {**places, **one}) for one in each]
        return filled

    def database(self, places: Mapping[str, str], *, has_past: bool) -> dict[str, str]:
        """By its place in a host's database, of what that begins as a copy: paths from the host's folder."""
        return {
            place: _filled(source, places)
            for place, source in self.recipe.database.items()
            if has_past or "{past}" not in source
        }

    def preparation(self, places: Mapping[str, str]) -> list[str]:
        """The words that prepare what all hosts share, filled for one of them; none where nothing is prepared."""
        return [_filled(word, places) for word in self.recipe.prepare]

    def stated_version(self) -> str:
        """Returns the version that its program states; empty where its recipe asks for none, or none is stated.

        Raises:
            TargetError: The program takes too long, or prints too much.
        """
        if not self.recipe.version:
            return ""
        stated = answer(f"--node {self.name}", self.recipe.version, _STATED_WITHIN_S)
        found = re.search(rb"(?<!\w)v?([0-9][\w.+-]{0,63})", stated.out)
        return found[1].decode() if found else ""

    def environment(self, places: Mapping[str, str], *, producer: bool) -> dict[str, str]:
        """The variables that it is started with, slotmark's own included; arguments as of :meth:`command`."""
        own = self.recipe.environment | (self.recipe.producer_environment if producer else {})
        return {**os.environ, **{name: _filled(value, places) for name, value in own.items()}}


def _filled(text: str, places: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: places.get(found[1], found[0]), text)


def nodes_folder() -> Path:
    """Returns the folder of the shipped nodes: ``$SLOTMARK_NODES``, or ``nodes/``."""
    named = os.environ.get("SLOTMARK_NODES")
    return Path(named) if named else root() / "nodes"


def resolve_node(given: str) -> Node:
    """The node that ``--node`` names: a shipped one, a folder with a ``node.toml``, or a command, each with more arguments behind it.

    Raises:
        TargetError: There is no such node or program, or its recipe makes no sense.
    """
    try:
        words = shlex.split(given)
    except ValueError as error:
        raise TargetError(f"--node {given!r}: {error}. Give a node's name, or a command.") from error
    if not words or not words[0]:
        raise TargetError(f"--node {given!r}: names nothing. Give a node's name, or a command.")
    first, *more = words
    shipped = {file.parent.name: file for file in sorted(nodes_folder().glob("*/node.toml"))}
    file = shipped.get(first) or Path(first) / "node.toml"
    if file.is_file():
        name, recipe = file.parent.resolve().name, _read(file)
        words = [*_with_path(recipe.command, file.parent, name), *more]
        prepare, version = (_with_path(command, file.parent, name) for command in (recipe.prepare, recipe.version))
        recipe = msgspec.structs.replace(recipe, prepare=prepare, version=version)
    else:
        if LIKE not in shipped or not _found(first):
            raise TargetError(
                f"--node {first}: no node and no program of this name.{did_you_mean(first, shipped)} Known nodes: "
                f"{', '.join(shipped) or 'none'}; or give a command with cardano-node's command line."
            )
        name, recipe = Path(first).name, _read(shipped[LIKE])
        words = [_program(first, Path.cwd(), first), *more, *recipe.command[1:]]
    return Node(name, msgspec.structs.replace(recipe, command=words))


def _found(word: str) -> str | None:
    return shutil.which(word)


def _with_path(command: list[str], folder: Path, name: str) -> list[str]:
    """A command of a recipe in a folder, with its program's path; none stays none."""
    return [_program(command[0], folder, name), *command[1:]] if command else []


def _program(word: str, folder: Path, name: str) -> str:
    """The path of a program, from wherever it is started."""
    path = _found(str(folder / word) if "/" in word else word)
    if path is None:
        raise TargetError(f"--node {name}: {word} isn't there, or can't be run. Build or install it, or give its path.")
    return str(Path(path).resolve())


def _read(file: Path) -> Recipe:
    try:
        recipe = msgspec.convert(read_toml(file), Recipe)
        groups = re.compile(recipe.tip).groupindex
    except (OSError, ValueError, msgspec.ValidationError, re.error) as error:
        raise TargetError(f"{file}: {error}. Correct the file; docs/live.md describes its fields.") from error
    texts = (
        *recipe.command,
        *recipe.prepare,
        *recipe.producer,
        *recipe.environment.values(),
        *recipe.producer_environment.values(),
    )
    made = [*texts, *recipe.database.values()]
    once = [text for text in made if text not in (*recipe.command, *recipe.producer)]
    known = {*PLACES, PEER}
    unknown = {place for text in made for place in re.findall(r"\{(\w+)\}", text)} - known
    for wrong, what in (
        (not recipe.command, "command is empty"),
        (not recipe.roles, "roles is empty"),
        (set(groups) != {"hash", "slot"}, "tip hasn't the groups hash and slot"),
        ((recipe.ready == "log") != bool(recipe.ready_text), "ready_text goes with ready = 'log'"),
        (
            any("{prepared}" in text for text in made) != any("{prepared}" in word for word in recipe.prepare),
            "{prepared} is used, and prepare doesn't make it",
        ),
        (bool(unknown), f"there is no {{{min(unknown, default='')}}}, only {', '.join(sorted(known))}"),
        (any(re.search(r"\{\w+\}", word) for word in recipe.version), "version is asked before places have values"),
        (any(f"{{{PEER}}}" in text for text in once), f"{{{PEER}}} stands for several only in command and producer"),
        (
            any("{past}" in text for text in texts) and not recipe.past_epochs,
            "{past} is used, and not every bed has one: past_epochs is 0",
        ),
        (
            any(Path(place).is_absolute() or ".." in Path(place).parts for place in recipe.database),
            "a place in database isn't inside of it",
        ),
    ):
        if wrong:
            raise TargetError(f"{file}: {what}. Correct the file; docs/live.md describes its fields.")
    return recipe
