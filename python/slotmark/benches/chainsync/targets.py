"""Targets: the programs under test, how they are built, and their answers to `describe`."""

import os
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import msgspec

from slotmark.benches.chainsync.setting import Mode, Setting
from slotmark.cleaning import MOST_OF_A_TEXT, one_line
from slotmark.errors import TargetError, did_you_mean
from slotmark.measure.process import answer, children_group, how_ended, last_words
from slotmark.measure.shipped import INSIDE, root
from slotmark.texts import read_toml

CONTRACT = 1
"""The version of docs/targets.md that this slotmark speaks."""

DESCRIBE_S = 60
"""Time that a target may take to answer ``describe``."""

FLOOR = "floor"
REFERENCE = "native"
"""Our own client: where the chain is another node, all others must reach its digest."""


class Description(msgspec.Struct, frozen=True):
    """A target's answer to ``describe``.

    Attributes:
        modes: The greatest depth in each mode that ``run`` can do.
        follow: The modes that ``follow`` can do.
    """

    contract: int
    name: str
    version: str
    modes: dict[Mode, int]
    follow: list[Mode] = []
    language: str = ""
    toolchain: str = ""
    commit: str = ""


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A built-in target's ``target.toml``.

    Attributes:
        command: How to start it; a first part with a slash is a path from the target's folder.
        build: Commands that build it, run in its folder.
        needs: Programs that must be there to build and run it.
        description: What it is, in a line.
    """

    command: list[str]
    build: list[list[str]]
    needs: list[str]
    description: str = ""


class Program(msgspec.Struct, frozen=True):
    """A target that can be started.

    Attributes:
        name: As the user calls it.
        command: The words that start it.
        description: Its answer to ``describe``.
    """

    name: str
    command: tuple[str, ...]
    description: Description

    def can(self, setting: Setting) -> bool:
        """True where its description has this setting."""
        return setting.depth <= self.description.modes.get(setting.mode, 0)


State = Literal["ready", "not built", "missing tools"]


class BuiltIn(msgspec.Struct, frozen=True):
    """One of the targets that come with slotmark.

    Attributes:
        name: Its folder's name.
        folder: Its folder.
        recipe: Its ``target.toml``.
    """

    name: str
    folder: Path
    recipe: Recipe

    @property
    def command(self) -> tuple[str, ...]:
        """The words that start it."""
        return tuple(os.path.realpath(self.folder / word) if "/" in word else word for word in self.recipe.command)

    @property
    def missing(self) -> list[str]:
        """Programs that it needs and that aren't on this machine."""
        return [tool for tool in self.recipe.needs if shutil.which(tool) is None]

    @property
    def state(self) -> State:
        """Its state: it can be started, or why not."""
        if self.missing:
            return "missing tools"
        made = [word for word in self.command if "/" in word]
        return "ready" if all(map(os.path.exists, made)) else "not built"

    def build(self, on_line: Callable[[str], None]) -> None:
        """Builds it from its lock file; TargetError with the last lines printed when a step fails."""
        for step in self.recipe.build:
            process = subprocess.Popen(
                step,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                process_group=children_group(),
            )
            tail: list[str] = []
            assert process.stdout is not None
            for line in process.stdout:
                on_line(line.rstrip())
                tail = [*tail[-19:], line.rstrip()]
            if process.wait():
                printed = last_words("\n".join(tail))
                raise TargetError(
                    f"{self.folder}: `{shlex.join(step)}` failed: {printed}. Correct that and run the set-up again."
                )


def build_all(targets: Sequence[BuiltIn], on_line: Callable[[str, str], None]) -> None:
    """Builds targets at the same time: most of a build from nothing is waiting for its registry.

    Args:
        targets: Which ones.
        on_line: Called with a target's name and a line that its build printed.

    Raises:
        TargetError: A build failed; the others have come to their ends.
    """
    with ThreadPoolExecutor() as pool:
        builds = [pool.submit(target.build, lambda line, name=target.name: on_line(name, line)) for target in targets]
    for build in builds:
        build.result()


def targets_folder() -> Path:
    """The folder of the built-in targets: ``$SLOTMARK_TARGETS``, or ``targets/``."""
    named = os.environ.get("SLOTMARK_TARGETS")
    return Path(named) if named else root() / "targets"


_INSIDE = INSIDE / "targets"
"""The targets inside an installed slotmark; no folder in a checkout."""


def built_ins() -> dict[str, BuiltIn]:
    """The targets that come with slotmark, by name: those inside an installed one, and those of :func:`targets_folder`."""
    found: dict[str, BuiltIn] = {}
    for file in sorted(_INSIDE.glob("*/target.toml")) + sorted(targets_folder().glob("*/target.toml")):
        try:
            recipe = msgspec.convert(read_toml(file), Recipe)
        except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
            raise TargetError(f"{file}: {error}. Correct the file; another target's shows the form.") from error
        words = [*recipe.command, *recipe.needs, *(word for step in recipe.build for word in step)]
        if not recipe.command or not all(recipe.build) or any(not word or "\0" in word for word in words):
            raise TargetError(
                f"{file}: expected words in `command` and in each step of `build`, each with a character and none with a null character. "
                "Correct the file; another target's shows the form."
            )
        recipe = msgspec.structs.replace(recipe, description=one_line(recipe.description, MOST_OF_A_TEXT))
        found[file.parent.name] = BuiltIn(file.parent.name, file.parent, recipe)
    return found


def resolve(names: Sequence[str]) -> list[Program]:
    """The programs that ``--target`` names: built-in names, or ``NAME=COMMAND`` for anybody else's.

    Raises:
        TargetError: A name is unknown, given twice, not built, or our floor's; or its program doesn't speak the contract.
    """
    known = built_ins()
    programs: list[Program] = []
    for given in names:
        name, equals, command = given.partition("=")
        if any(program.name == name for program in programs):
            raise TargetError(f"--target {name}: named twice. Name each target once.")
        if equals:
            try:
                words = tuple(shlex.split(command))
            except ValueError as error:
                raise TargetError(f"--target '{given}': {error}. Close every quote.") from error
            if not words or not name or "/" in name or name.startswith("."):
                raise TargetError(
                    f"--target '{given}': expected NAME='COMMAND ARGUMENTS', with a name that can be a folder's."
                )
            if name == FLOOR:
                raise TargetError(
                    f"--target '{given}': '{FLOOR}' is slotmark's own client, whose output isn't proven and which all figures are shown against. Choose another name."
                )
        else:
            words = _built_in_command(known, name)
        programs.append(Program(name, words, describe(name, words)))
    return programs


def _built_in_command(known: dict[str, BuiltIn], name: str) -> tuple[str, ...]:
    target = known.get(name)
    if target is None:
        raise TargetError(
            f"--target {name}: no such target.{did_you_mean(name, known)} There are {', '.join(known) or 'none'}; add your own with {name}='COMMAND'.{_elsewhere()}"
        )
    if target.state == "missing tools":
        raise TargetError(
            f"--target {name}: needs {', '.join(target.missing)}, which this machine doesn't have. Install it and run `make setup`."
        )
    if target.state == "not built":
        raise TargetError(
            f"--target {name}: not built yet. Run `make setup`, or `slotmark chainsync targets --build {name}`."
        )
    return target.command


def _elsewhere() -> str:
    """A sentence on other targets, where slotmark runs without its source tree; else empty."""
    if targets_folder() != _INSIDE and targets_folder().is_dir():
        return ""
    return " The other clients are built in slotmark's source tree: name its folder of targets in SLOTMARK_TARGETS."


def describe(name: str, command: Sequence[str]) -> Description:
    """Asks a program what it is; TargetError where it doesn't answer by the contract."""
    answered = answer(f"--target {name}", [*command, "describe"], DESCRIBE_S)
    if answered.code:
        words = last_words(answered.errors.decode(errors="replace"))
        raise TargetError(
            f"--target {name}: `describe` {how_ended(answered.code)}{': ' + words if words else ''}. See docs/targets.md."
        )
    try:
        description = msgspec.json.decode(answered.out, type=Description)
    except msgspec.DecodeError as error:
        raise TargetError(
            f"--target {name}: `describe` didn't print what docs/targets.md asks for ({error})."
        ) from error
    if description.contract != CONTRACT:
        raise TargetError(
            f"--target {name}: has contract {description.contract}, this slotmark has {CONTRACT}. See docs/targets.md."
        )
    return description
