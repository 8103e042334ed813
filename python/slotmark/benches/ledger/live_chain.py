"""The chain that a host of a live run left behind, as input of replays. docs/replay.md describes it."""

from pathlib import Path

import msgspec

from slotmark.errors import ArgumentError

_SHOWN = "--live takes the folder of a host in a live run's run directory, as runs/live.logs/node-0"


class LiveChain(msgspec.Struct, frozen=True):
    """Files that a host left behind and a replay needs.

    Attributes:
        chain: The ImmutableDB folder: blocks that more than k blocks follow.
        genesis: The network's Shelley genesis file, as the run stamped it, with those of the other eras beside it.
        config: The node's configuration file.
        newest: k: at most this many of the host's newest blocks are not in that folder.
    """

    chain: Path
    genesis: Path
    config: Path
    newest: int


def live_chain(host: Path) -> LiveChain:
    """Returns the files of a host of a live run.

    Args:
        host: Its folder in the run directory.

    Raises:
        ArgumentError: It isn't a folder of a live run, its node keeps its chain in another form, or it has no settled block.
    """
    chain, genesis = host / "db" / "immutable", host.parent / "genesis" / "genesis.shelley.json"
    if not host.is_dir():
        raise ArgumentError(f"--live {host}: no such folder; {_SHOWN}.")
    if (host / "run.json").exists() or (host / "genesis").is_dir():
        raise ArgumentError(f"--live {host}: a run and no host of one; {_SHOWN}.")
    if not genesis.is_file():
        raise ArgumentError(f"--live {host}: there is no {genesis}; {_SHOWN}.")
    newest = _security_parameter(genesis)
    if not (host / "db").is_dir() or not any((host / "db").iterdir()):
        raise ArgumentError(f"--live {host}: its folder db holds nothing: its node kept no chain there. Name another.")
    if not chain.is_dir():
        raise ArgumentError(
            f"--live {host}: its node keeps no folder db/immutable, which nodes that write cardano-node's format do. Name a host with another node."
        )
    if not any(file.is_file() and file.stat().st_size for file in chain.glob("*.chunk")):
        raise ArgumentError(
            f"--live {host}: no block of its chain is settled, which takes k = {newest:,} blocks behind it. Run for longer, or make the bed with a smaller "
            "genesis.security_parameter."
        )
    return LiveChain(chain, genesis, host / "config.json", newest)


class _Shelley(msgspec.Struct, rename="camel"):
    security_param: int


def _security_parameter(genesis: Path) -> int:
    try:
        return msgspec.json.decode(genesis.read_bytes(), type=_Shelley).security_param
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ArgumentError(f"{genesis}: not a Shelley genesis ({error}). Name a host of another run.") from error
