"""A running server, and what to ask of targets."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from slotmark import _core
from slotmark.benches.chainsync.server import ReplayServer
from slotmark.benches.chainsync.session import Schedule
from slotmark.benches.chainsync.setting import Setting
from slotmark.benches.chainsync.targets import Program, built_ins, resolve

BLOCKS = 500


@pytest.fixture(scope="session")
def window(small_chain: Path) -> "_core.Window":
    return _core.chain_window(str(small_chain), "densest", BLOCKS)


@pytest.fixture(scope="session")
def server(small_chain: Path, window: "_core.Window") -> Iterator[ReplayServer]:
    start, blocks = window.start, window.blocks
    with ReplayServer(small_chain, magic=2, start=start, blocks=blocks, reply_delay_us=0, cores=frozenset()) as running:
        yield running


@pytest.fixture(scope="session")
def native() -> Program:
    return built("native")


@pytest.fixture(scope="session")
def floor() -> Program:
    return built("floor")


def built(name: str) -> Program:
    """A built-in target; the test is skipped where it isn't built."""
    target = built_ins()[name]
    if target.state != "ready":
        pytest.skip(f"target {name} is {target.state}: {', '.join(target.missing) or 'run make setup'}")
    return resolve([name])[0]


def schedule(
    window: "_core.Window", floor: Program, *programs: Program, settings: tuple[Setting, ...], rounds: int = 1
) -> Schedule:
    """A short session over the window."""
    return Schedule(
        programs=programs,
        floor=floor,
        settings=settings,
        rounds=rounds,
        seed=3,
        magic=2,
        start=window.start,
        blocks=window.blocks,
        progress_every=100,
        client_cores=frozenset(),
        timeout_s=120,
    )
