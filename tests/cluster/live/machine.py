"""What tests of live clusters ask of the machine."""

from pathlib import Path

import pytest

from slotmark.benches.cluster.live.launching import MARK
from tests.conftest import REPO


def skip_without_router() -> None:
    """Skips where the router isn't built."""
    if not (REPO / "target" / "release" / "slotmark-wan").is_file():
        pytest.skip("slotmark-wan isn't built: make setup does it")


def skip_without_network(said: str) -> None:
    """Skips where these words are of a machine that can't have an emulated network."""
    if "no network namespace can be made" in said or "/dev/net/tun" in said:
        pytest.skip(f"this machine has no network namespaces or TUN devices: {said.strip()}")


def of_conductor(pid: int) -> list[int]:
    """Processes that a conductor started and that haven't ended."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            text = (entry / "environ").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue
        if f"{MARK}={pid}:".encode() in text:
            found.append(int(entry.name))
    return found
