"""Beds: all files that a cluster of nodes needs, made from a profile (docs/live.md)."""

import tomllib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec

from slotmark.benches.cluster.scripts import script_files
from slotmark.benches.cluster.simulating.simulate import load_profile
from slotmark.errors import BedError
from slotmark.measure.forge import Progress, forge


class Live(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of a profile that only a live cluster needs: its table ``[live]``.

    Attributes:
        funds: Unspent outputs that the workload begins with, each with a key of its own.
        references: How many of the genesis's other unspent outputs a transaction refers to.
        past_epochs: Epochs that have ended when a run begins, with a few blocks each.
    """

    funds: int = 100
    references: Annotated[int, msgspec.Meta(ge=0, le=300)] = 0
    past_epochs: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0


class Host(msgspec.Struct, frozen=True):
    """A host of a bed.

    Attributes:
        name: ``node-I``, which is also its folder.
        region: Where it is.
        host_addr: Where it listens, in a network of its own.
        port: On which port, in any network.
        pool: The number of its pool, from 1 on; None for one that only follows.
        stake: Stake of its pool, in any unit.
        edge: Whether no host follows it.
    """

    name: str
    region: str
    host_addr: str
    port: int
    pool: int | None
    stake: float
    edge: bool = False


class Link(msgspec.Struct, frozen=True):
    """A connection over which one host, by its number, follows another; a message takes `latency_ns`."""

    follower: int
    producer: int
    latency_ns: int


class Genesis(msgspec.Struct, frozen=True):
    """The genesis, the same for every node of a bed; nodes make blocks from ``first_slot`` on, and a run begins with those before it."""

    network_magic: int
    slot_length_ns: Annotated[int, msgspec.Meta(gt=0)]
    active_slot_coefficient: float
    security_parameter: int
    epoch_slots: Annotated[int, msgspec.Meta(gt=0)]
    max_block_body_bytes: int
    delegators: int
    utxo_entries: int
    dreps: int
    funds: int
    first_slot: int = 0

    @property
    def past_epochs(self) -> int:
        """Epochs that have ended when a run begins."""
        return self.first_slot // self.epoch_slots


class BedScript(msgspec.Struct, frozen=True):
    """The script of a file that the workload of a bed runs: its file's name and its hash."""

    name: str
    hash: str


class Bed(msgspec.Struct, frozen=True):
    """A bed as ``bed.json`` has it.

    Attributes:
        schema: The version of the file.
        seed: Decides all keys.
        genesis: What every node agrees on.
        hosts: By number.
        links: Who follows whom.
        changed: What ``--hosts`` changed: parameter to the profile's value and the bed's.
        profile: The whole profile with all changes; ``profile.toml`` beside has it as a text that can be simulated.
        script: What the workload's transactions run, where the profile names a file.
    """

    schema: int
    seed: int
    genesis: Genesis
    hosts: tuple[Host, ...]
    links: tuple[Link, ...]
    changed: dict[str, tuple[Any, Any]]
    profile: dict[str, Any]
    script: BedScript | None = None

    @property
    def live(self) -> Live:
        """The profile's table ``[live]``."""
        return _live(self.profile)


class Fault(msgspec.Struct, frozen=True):
    """One thing that is wrong with a bed: in which file, what, and what to do."""

    file: str
    what: str
    remedy: str


def create_bed(
    profile: str | Path,
    out: Path,
    progress: Progress,
    *,
    seed: int = 1,
    hosts: int | None = None,
    settings: Sequence[str] = (),
) -> Bed:
    """Makes a bed in a new folder, the same bytes for the same arguments.

    Args:
        profile: A file, or the name of a shipped profile.
        out: The new folder; it is there only when it is whole.
        progress: Gets entries of the genesis that are written, and of how many.
        seed: Decides all keys, and what is random in the topology.
        hosts: How many hosts, instead of the profile's; the first of them have the pools.
        settings: As of ``load_profile``.

    Raises:
        SimulationError: The profile is missing or makes no sense.
        BedError: No bed can be made of it, its script fails, or the folder is there already.
    """
    text = load_profile(profile, settings)
    changed = {} if hosts is None else _changed_by_hosts(tomllib.loads(text)["network"], hosts)
    text = load_profile(
        profile, [*settings, *(f"{name}={msgspec.json.encode(new).decode()}" for name, (_, new) in changed.items())]
    )
    merged = tomllib.loads(text)
    script, live = script_files(profile, merged), _live(merged)
    if not 0 <= live.funds < 2**32:
        raise BedError(f"live.funds is {live.funds}: expected 1 to 10000. Give another with --set live.funds=….")
    made = forge(
        "create-bed",
        {
            "seed": seed,
            "funds": live.funds,
            "past-epochs": live.past_epochs,
            "out": out,
            **dict(zip(("script", "datum", "redeemer"), script or (), strict=False)),
        },
        first_line=msgspec.json.encode({"profile": text, "changed": changed}),
        progress=progress,
    )
    return msgspec.json.decode(made, type=Bed)


def read_bed(folder: Path) -> Bed:
    """The bed in a folder.

    Raises:
        BedError: There is none, or it is damaged.
    """
    path = folder / "bed.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=Bed)
    except OSError as error:
        raise BedError(
            f"{path}: can't be read ({error.strerror}). Name a folder that `slotmark cluster create` made."
        ) from error
    except (msgspec.DecodeError, ValueError) as error:
        raise BedError(
            f"{path}: not the description of a bed ({error}). Make one with `slotmark cluster create`."
        ) from error


def check_bed(folder: Path) -> list[Fault]:
    """All that is wrong with a bed; nothing where nodes can run on it.

    Raises:
        BedError: Its ``bed.json`` can't be read.
    """
    return msgspec.json.decode(forge("check-bed", {"bed": folder}), type=list[Fault])


def stamp_bed(bed: Path, into: Path, start_s: int, *, loopback: bool, node: str, quiet_slots: int = 0) -> None:
    """Copies a bed's files into a folder that is there, with another system start.

    Both genesis files that carry the start, the hashes in all configurations, and the times and tag of ``meta.json`` change
    with it. ``meta.json`` gets the node's name in the place of the one that the profile describes, and nothing of that one's build. Nothing else
    changes.

    Args:
        bed: The bed.
        into: The folder, as a run directory that is being made.
        start_s: When slot 0 begins, seconds since 1970; the blocks before the first slot are forged for it.
        loopback: Whether nodes reach each other at 127.0.0.1, by their ports, or else at addresses of their own.
        node: What reports call the node that runs.
        quiet_slots: Slots before the bed's first one in which no pool is to lead, since nodes are started in them.

    Raises:
        BedError: The bed is damaged, or a file can't be written.
    """
    forge("stamp-bed", {"bed": bed, "into": into, "start": start_s, "quiet-slots": quiet_slots, "loopback": loopback})
    path = into / "meta.json"
    start = datetime.fromtimestamp(start_s, UTC)
    try:
        content = msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, Any]])
        meta = content["meta"]
        meta["timing"] |= {
            "start": start_s,
            "start_human": start.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "earliest_start": start_s,
        }
        meta["ident"], meta["manifest"] = node, {}
        meta.pop("node_ghc_version", None)
        meta["tag"] = start.strftime("%Y-%m-%d-%H-%M") + meta["tag"][len("YYYY-MM-DD-HH-MM") :]
    except (msgspec.DecodeError, KeyError, TypeError) as error:
        raise BedError(
            f"{bed / 'meta.json'}: not what it should be ({error!r}). Put the file back, or make the bed again."
        ) from error
    path.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")


def _changed_by_hosts(network: dict[str, Any], hosts: int) -> dict[str, tuple[Any, Any]]:
    """Returns the parameters of a profile's network that another number of hosts changes: the parameter, its value, the new one."""
    pools = min(network["pools"], hosts) if network["pools"] < network["hosts"] else hosts
    new = {"network.hosts": hosts, "network.pools": pools}
    if stake := network.get("stake"):
        if pools > len(stake):
            raise BedError(
                f"--hosts {hosts}: network.stake has {len(stake)} pools. Give --set network.stake=[…] with {pools}, or fewer hosts."
            )
        new["network.stake"] = stake[:pools]
    before = {name: network.get(name.removeprefix("network.")) for name in new}
    return {name: (before[name], value) for name, value in new.items() if before[name] != value}


def _live(profile: dict[str, Any]) -> Live:
    try:
        return msgspec.convert(profile.get("live", {}), type=Live)
    except msgspec.ValidationError as error:
        raise BedError(
            f"profile {profile.get('name')}: [live]: {error}. docs/live.md has what may be there."
        ) from error
