"""The run directory of a live cluster: the bed's files with a new start, and a folder for each host."""

import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from slotmark.benches.cluster.bed import Host, stamp_bed
from slotmark.benches.cluster.live.request import Request
from slotmark.errors import ArgumentError, BedError, TargetError
from slotmark.run.storage import try_out

SOCKET = "node.socket"
LOOPBACK = "127.0.0.1"
PREPARED = "prepared"
PAST = "past"
USAGE = "usage.arrows"
MACHINE_USAGE = "machine-usage.arrows"
WAKES = "timer-delays.jsonl"


def make_rundir(request: Request, start_s: int, node: str, *, loopback: bool, quiet_slots: int) -> Path:
    """Makes the run directory of a node with slot 0 at this second, whose hosts are at addresses of their own or differ by their ports.

    Quiet slots are as of :func:`~slotmark.benches.cluster.bed.stamp_bed`.

    Raises:
        ArgumentError: The run folder or the run directory is there already, or can't be made.
        BedError: The bed is damaged.
    """
    try_out(request.out)
    for path in (request.here, request.logs):
        if path.exists():
            raise ArgumentError(f"-o {request.out}: {path} exists already. Name another, or remove it.")
    try:
        request.logs.mkdir(parents=True)
    except OSError as error:
        raise ArgumentError(
            f"-o {request.out}: {request.logs} can't be made ({error.strerror}). Choose another place."
        ) from error
    try:
        stamp_bed(request.bed, request.logs, start_s, loopback=loopback, node=node, quiet_slots=quiet_slots)
    except BaseException:
        shutil.rmtree(request.logs)
        raise
    return request.logs


def host_places(host: Host, address: str, magic: int, prepared: str = PREPARED) -> Mapping[str, str]:
    """The values of ``nodes.PLACES`` for a host that listens at an address, with paths from its folder: a socket's path may have only 107 bytes."""
    pool = f"../genesis/pools-keys/pool{host.pool}"
    return {
        "config": "config.json",
        "topology": "topology.json",
        "database": "db",
        "socket": SOCKET,
        "address": address,
        "port": str(host.port),
        "port_2000": str(host.port + 2000),
        "port_4000": str(host.port + 4000),
        "magic": str(magic),
        "kes": f"{pool}/kes.skey",
        "vrf": f"{pool}/vrf.skey",
        "certificate": f"{pool}/opcert.cert",
        "prepared": f"../{prepared}",
        "genesis": "../genesis",
        "past": f"../{PAST}",
        "python": sys.executable,
    }


def begin_database(folder: Path, database: Path, sources: Mapping[str, str]) -> None:
    """Copies what a host's database begins with.

    Args:
        folder: The host's, which paths of sources are from.
        database: The database.
        sources: By their places in it, folders.

    Raises:
        TargetError: One can't be copied.
    """
    for place, source in sources.items():
        try:
            shutil.copytree(folder / source, database / place, dirs_exist_ok=True)
        except (OSError, shutil.Error) as error:
            raise TargetError(
                f"{folder / source}: what a node's database begins with can't be copied to {database / place} ({error}). Make room, or correct "
                "database in its node.toml."
            ) from error


def remove_prepared(folder: Path, on_remark: Callable[[str], None]) -> None:
    """Removes what was prepared for all hosts from a run directory: it can be as large as the genesis, and is made of it.

    Args:
        folder: The run directory.
        on_remark: Called where it can't be removed: a run doesn't fail for that.
    """
    for prepared in (folder / PREPARED, *sorted(folder.glob(f"{PREPARED}-*"))):
        try:
            if prepared.is_dir() and not prepared.is_symlink():
                shutil.rmtree(prepared)
            else:
                prepared.unlink(missing_ok=True)
        except OSError as error:
            on_remark(
                f"{prepared} can't be removed ({error.strerror or error}). The run doesn't need it: remove it by hand."
            )


def configure(folder: Path, settings: Mapping[str, Any]) -> None:
    """Changes the configuration of a host in a run directory; BedError where it can't be read."""
    file = folder / "config.json"
    if not settings:
        return
    try:
        content = msgspec.json.decode(file.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError) as error:
        raise BedError(f"{file}: not a configuration ({error}). Make the bed again.") from error
    file.write_bytes(msgspec.json.format(msgspec.json.encode(content | dict(settings)), indent=2) + b"\n")
