"""The versions that runs record: of this slotmark, and of a cardano-node's packages."""

import platform
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
    here = Path(__file__).resolve().parent
    try:
        named = subprocess.run(
            ["git", "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"],
            cwd=here,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return named.stdout.strip()


def versions() -> dict[str, str]:
    """Versions of what takes part in every run."""
    return {
        "slotmark": slotmark_version(),
        "slotmark commit": slotmark_commit() or "unknown",
        "Python": platform.python_version(),
    }
