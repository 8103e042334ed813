"""What tests share: chains, built targets, and the command itself."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]


def slotmark(*arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    """Runs the command as a user would; returns what it printed and how it ended."""
    return subprocess.run(
        [sys.executable, "-m", "slotmark", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        **options,  # pyright: ignore[reportArgumentType, reportCallIssue]
    )


@pytest.fixture(scope="session")
def command() -> Callable[..., subprocess.CompletedProcess[str]]:
    return slotmark


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of data that is shared with other repositories: published reports, among others."""
    named = os.environ.get("SLOTMARK_SHARED")
    folder = Path(named) if named else REPO.parent / "shared"
    if not folder.is_dir():
        pytest.skip("the shared data ../shared is not here; SLOTMARK_SHARED names another place")
    return folder


@pytest.fixture(scope="session")
def preview() -> Path:
    """The real chain's folder."""
    named = os.environ.get("SLOTMARK_PREVIEW_CHAIN")
    folder = Path(named) if named else REPO / ".build" / "chains" / "preview"
    if not folder.is_dir():
        pytest.skip("the real chain ../shared/data/preview-immutable.tar.zst is not here")
    return folder


@pytest.fixture(scope="session")
def small_chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A forged chain of 600 blocks of many sizes."""
    folder = tmp_path_factory.mktemp("chains") / "small"
    made = slotmark("chain", "synth", "--workload", "preview-like", "--blocks", "600", "--seed", "7", "-o", folder)
    assert made.returncode == 0, made.stderr
    return folder


def run_arguments(chain: Path, out: Path, *more: str) -> Sequence[str]:
    """A short chainsync run's arguments."""
    return [
        "chainsync",
        "run",
        "--chain",
        str(chain),
        "--blocks",
        "500",
        "--rounds",
        "2",
        "--progress-every",
        "100",
        "-o",
        str(out),
        *more,
    ]
