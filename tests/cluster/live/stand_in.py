"""A program that starts, dies and stops as a node does and logs as cardano-node does, without a chain or connections.

All stand-ins of a cluster work out the same chain: a block in each second slot, forged by the hosts in turn.
"""

import argparse
import hashlib
import json
import signal
import socket
import sys
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Any

FIRST_PORT = 30_000


def say(namespace: str, **data: Any) -> None:
    """One line, with the time of now."""
    seconds, ns = divmod(time.time_ns(), 10**9)
    at = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{ns:09d}Z"
    print(json.dumps({"at": at, "ns": namespace, "data": data, "sev": "Info", "thread": "7", "host": "x"}), flush=True)


def block_hash(slot: int) -> str:
    """The hash of the block in a slot."""
    return hashlib.sha256(str(slot).encode()).hexdigest()


def slot_of(genesis: Mapping[str, Any]) -> int:
    """The slot that it is now; below 0 before the first."""
    start = datetime.fromisoformat(genesis["systemStart"]).timestamp()
    return int((time.time() - start) // genesis["slotLength"])


def step(slot: int, number: int, hosts: int) -> None:
    """What a host logs in a slot."""
    say("Forge.Loop.StartLeadershipCheck", kind="TraceStartLeadershipCheck", slot=slot)
    block, before = block_hash(slot), block_hash(slot - 2) if slot >= 2 else "GenesisHash"
    added = {"kind": "AddedToCurrentChain", "newtip": f"{block}@{slot}"}
    if slot % 2 or slot // 2 % hosts != number:
        say("Forge.Loop.NodeNotLeader", kind="TraceNodeNotLeader", slot=slot)
        if slot % 2 == 0:
            say("ChainSync.Client.DownloadedHeader", kind="DownloadedHeader", slot=slot, blockNo=slot // 2, block=block)
            say("BlockFetch.Client.SendFetchRequest", kind="SendFetchRequest", head=block, length=1)
            say("BlockFetch.Client.CompletedBlockFetch", kind="CompletedBlockFetch", block=block, delay=0.1, size=900)
            say("ChainDB.AddBlockEvent.AddedToCurrentChain", **added)
        return
    say("Forge.Loop.NodeIsLeader", kind="TraceNodeIsLeader", slot=slot)
    forged = {"slot": slot, "blockNo": slot // 2, "block": block, "blockPrev": before}
    say("Forge.Loop.ForgedBlock", kind="TraceForgedBlock", **forged)
    say("ChainDB.AddBlockEvent.AddedToCurrentChain", **added)
    say("Forge.Loop.AdoptedBlock", kind="TraceAdoptedBlock", slot=slot, blockHash=block, blockSize=900)


def end(_number: int, _frame: FrameType | None) -> None:
    """Ends at once, with 0."""
    sys.exit(0)


def main() -> None:
    """Logs until it is stopped; dies once a file named `die` is in its folder."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--topology", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--shelley-kes-key", type=Path)
    parser.add_argument("--hosts", type=int, required=True)
    parser.add_argument("--stays", type=int, help="the host that ignores SIGINT")
    parser.add_argument("--hangs", action="store_true", help="have a socket at which no connection is ever accepted")
    parser.add_argument("--mute", action="store_true", help="never be ready")
    given, _ = parser.parse_known_args()
    number = given.port - FIRST_PORT
    assert json.loads(given.topology.read_bytes())
    assert given.shelley_kes_key.is_file()
    config = json.loads(given.config.read_bytes())
    genesis = json.loads((given.config.parent / config["ShelleyGenesisFile"]).read_bytes())
    signal.signal(signal.SIGINT, signal.SIG_IGN if number == given.stays else end)
    if given.hangs:
        listener, first = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        listener.bind("node.socket")
        listener.listen(0)
        first.connect("node.socket")  # whoever comes next waits for a place in the queue
    if not given.mute:
        say("Startup.Ready", kind="ready to follow")
    die = Path("die")
    done = slot_of(genesis)
    while True:
        time.sleep(0.02)
        if die.exists():
            die.unlink()
            sys.exit("the store is gone")
        if (slot := slot_of(genesis)) > done:
            done = slot
            if slot >= 0:
                step(slot, number, given.hosts)


if __name__ == "__main__":
    main()
