"""Requirements of tests of live clusters on the machine."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from slotmark.benches.cluster.live.launching import MARK
from tests.conftest import REPO

PATIENCE_S = 400
"""The time for which a condition is waited for on a machine that has much else to do."""

STAND_IN = REPO / "tests" / "cluster" / "live" / "stand_in.py"


def stand_in_recipe(tmp_path: Path, hosts: int, *more: str) -> Path:
    """A new folder whose node.toml starts a stand-in per host of a bed, with more arguments."""
    folder = tmp_path / "stand-in"
    folder.mkdir()
    words = [sys.executable, str(STAND_IN), "--hosts", str(hosts), *more]
    files = ["--config", "{config}", "--topology", "{topology}", "--port", "{port}"]
    files += ["--address", "{address}", "--magic", "{magic}"]
    (folder / "node.toml").write_text(
        f"""
        command = {json.dumps([*words, *files])}
        producer = ["--shelley-kes-key", "{{kes}}"]
        ready = "log"
        ready_text = "ready to follow"
        tip = '"newtip": "(?P<hash>[0-9a-f]+)@(?P<slot>[0-9]+)"'
        """
    )
    return folder


def skip_without_router() -> None:
    """Skips where the router isn't built."""
    if not (REPO / "target" / "release" / "slotmark-wan").is_file():
        pytest.skip("slotmark-wan isn't built: make setup does it")


def skip_without_programs() -> None:
    """Skips where our own node, or what submits transactions to it, isn't built."""
    built = {name: REPO / "target" / "release" / f"slotmark-{name}" for name in ("node", "txgen")}
    if missing := [name for name, path in built.items() if not path.is_file()]:
        pytest.skip(f"slotmark-{' and slotmark-'.join(missing)} not built: make setup does it")


def skip_without_network(said: str) -> None:
    """Skips where these words are of a machine that can't have an emulated network."""
    if "no network namespace can be made" in said or "/dev/net/tun" in said:
        pytest.skip(f"this machine has no network namespaces or TUN devices: {said.strip()}")


def until(what: str, condition: Callable[[], object]) -> None:
    """Waits until a condition holds."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.02)


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
