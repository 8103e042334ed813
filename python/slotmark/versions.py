"""The versions that runs record: of this slotmark, and of a cardano-node's packages; and the numbers by which versions are ordered."""

import datetime
import platform
import re
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    "cardano-node",
    "ouroboros-consensus",
    "ouroboros-network",
    "cardano-ledger-core",
    "plutus-core",
    "cardano-crypto",
    "cardano-prelude",
)
"""The packages of a cardano-node whose versions published reports show, in their order."""

_NUMBERS = re.compile(r"(?!\d{4}-\d\d-\d\d)v?(\d+(?:\.\d+)+|\d{1,4}(?!\w))")
"""One number alone is a version where it is short and no letter follows it: commits may be of digits, and days aren't versions."""

_VERSION = re.compile(r"v?\d+(\.\d+)*")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")

_YEAR = re.compile(r"(?<!\w)v?(19|20|21)\d\d(\d{4})?(?!\w)")
"""A number that a version is taken not to have: a day that isn't written as 2026-12-31 has one, and would be a version that never comes."""


def numbers_of(version: str) -> tuple[int, ...] | None:
    """The numbers that a version begins with, without zeros at their end, so that 10.8, v10.8 and 10.8.0 are equal; None where it begins with none."""
    found = _NUMBERS.match(version.strip())
    if found is None:
        return None
    numbers = [int(one) for one in found[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def is_end(until: str, *, of_any_name: bool = False) -> bool:
    """Returns whether a text is a day as 2026-12-31 or a version of numbers and dots, and none that can be taken for the other.

    Args:
        until: The text.
        of_any_name: Whether a version may have more behind its numbers, or none.
    """
    if _DAY.fullmatch(until):
        try:
            return bool(datetime.date.fromisoformat(until))
        except ValueError:
            return False
    if _YEAR.search(until):
        return False
    if not of_any_name:
        return _VERSION.fullmatch(until) is not None
    found = _VERSION.match(until)
    return found is None or until[found.end() :][:1] not in ("/", ",")


@cache
def slotmark_version() -> str:
    """The version of the installed package."""
    try:
        return version("slotmark")
    except PackageNotFoundError:
        return "unknown"


@cache
def slotmark_commit() -> str:
    """The commit of the checkout that it runs from, with ``+`` behind it where the checkout was changed; empty elsewhere."""
    try:
        named = _git("describe", "--always", "--abbrev=12", "--exclude=*")
        changed = _git("status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return ""
    return f"{named}+" if changed else named


def _git(*arguments: str) -> str:
    """Returns what git prints of the checkout. It writes nothing there: two commands may ask at once, and one that is killed leaves no lock."""
    return subprocess.run(
        ["git", "--no-optional-locks", *arguments],
        cwd=Path(__file__).resolve().parent,
        capture_output=True,
        text=True,
        timeout=10,
        check=True,
    ).stdout.strip()


def versions() -> dict[str, str]:
    """Versions of what takes part in every run."""
    return {
        "slotmark": slotmark_version(),
        "slotmark commit": slotmark_commit() or "unknown",
        "Python": platform.python_version(),
    }
