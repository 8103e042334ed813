"""Shared parts of tests: chains, built targets, and the command itself."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from attack.signals import default_for_children
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.s3 import S3, reaching, s3_server
from tests.side_by_side import ByFile, own_network, processes

REPO = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("SLOTMARK_SHARED") or REPO.parent / "shared")
"""Data that is not part of the project: the real chain, logs of real nodes, published reports."""

MEMORY, ROOM = Path("/dev/shm"), 8 << 30
"""The folder in which tests write, if there is so much room: a run folder is there once the disk has it, and for slow disks tests wait longer than for all else."""


def pytest_configure(config: pytest.Config) -> None:
    """Has what tests start be stopped by signals, also where the tests run under nohup or in the background of a script."""
    starts_workers = bool(config.getoption("numprocesses", None)) and not hasattr(config, "workerinput")
    if not starts_workers:  # workers, which start what tests need, go on ignoring them themselves
        default_for_children()
    if hasattr(config, "workerinput"):
        own_network()
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that use shared data, so that `-m shared_data` selects them."""
    for item in items:
        if {"shared", "preview"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.shared_data)


def pytest_xdist_auto_num_workers() -> int:
    """The number of processes for ``-n auto``."""
    return processes()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Gives each file to one process."""
    return ByFile(config, log)


def slotmark(*arguments: str | Path, timeout: float = 240, **options: object) -> subprocess.CompletedProcess[str]:
    """Runs the command as a user would; returns what it printed and how it ended."""
    return subprocess.run(
        [sys.executable, "-m", "slotmark", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        **options,  # pyright: ignore[reportArgumentType, reportCallIssue]
    )


def remarks(said: str) -> list[str]:
    """The lines of standard error without those of progress, which only a slow machine prints."""
    progress = re.compile(r".+: [\d,]+ of [\d,]+ \w+(, about .* left)?")
    return [line for line in said.splitlines() if not progress.fullmatch(line)]


def quietly(done: int, total: int) -> None:
    """Takes progress, and holds it within bounds."""
    assert 0 <= done <= total


def bytes_of(folder: Path) -> dict[str, bytes]:
    """The content of each file of a folder, by its path from there."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.fixture(scope="session")
def command() -> Callable[..., subprocess.CompletedProcess[str]]:
    return slotmark


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared data."""
    if not SHARED.is_dir():
        pytest.skip("the shared data is not here: ../shared, or what SLOTMARK_SHARED names")
    return SHARED


@pytest.fixture(scope="session")
def preview(shared: Path) -> Path:
    """The real chain's folder."""
    named = os.environ.get("SLOTMARK_PREVIEW_CHAIN")
    folder = Path(named) if named else REPO / ".build" / "chains" / "preview"
    if not folder.is_dir():
        pytest.skip(f"the real chain is not unpacked from {shared}: make test-shared does it")
    return folder


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    """A real S3 server with a bucket, which this process and those that it starts reach."""
    with s3_server(tmp_path_factory.mktemp("s3")) as server, reaching(server):
        yield server


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
