"""A program that starts, dies and stops as a node does and logs as cardano-node does, without a chain or connections.

All stand-ins of a cluster work out the same chain: a block in each second slot, forged by the hosts in turn. Where the environment is
that of a Dingo, it takes its settings from there and logs as Dingo does.
"""

import argparse
import base64
import hashlib
import json
import os
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
MEAL_BYTES = 256 << 20


IS_DINGO = "DINGO_LOGGING_FORMAT" in os.environ
DINGO = (
    "--config=CARDANO_CONFIG",
    "--topology=CARDANO_TOPOLOGY",
    "--port=CARDANO_PORT",
    "--shelley-kes-key=CARDANO_SHELLEY_KES_KEY",
)
"""The variables that stand for options."""


def now() -> str:
    seconds, ns = divmod(time.time_ns(), 10**9)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{ns:09d}Z"


def say(namespace: str, **data: Any) -> None:
    """One line of a cardano-node, with the time of now."""
    print(
        json.dumps({"at": now(), "ns": namespace, "data": data, "sev": "Info", "thread": "7", "host": "x"}), flush=True
    )


def say_as_dingo(text: str, **members: Any) -> None:
    """One line of a Dingo, with the time of now."""
    line = {"time": now(), "level": "DEBUG", "msg": text, "component": "network"} | members
    print(json.dumps(line, separators=(",", ":")), flush=True)


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


def step_of_dingo(slot: int, number: int, hosts: int) -> None:
    """What a host logs in a slot, as Dingo does."""
    forger, block = slot // 2 % hosts, block_hash(slot)
    leads, extended = slot % 2 == 0 and forger == number, f"chain extended, new tip: {block} at slot {slot}"
    if not leads:
        say_as_dingo("forge check: not leader for slot", current_slot=slot, tip_slot=max(slot - 1, 0))
    if leads:
        of = {"slot": slot, "hash": block, "block_number": slot // 2}
        tip = {
            "tip_slot": slot,
            "tip_hash": base64.b64encode(bytes.fromhex(block)).decode(),
            "tip_block_number": slot // 2,
        }
        peer = {"connection_id": f"127.0.0.1:{FIRST_PORT + number}<->127.0.0.1:{FIRST_PORT + 100}"}
        say_as_dingo("producing block", slot=slot)
        say_as_dingo("successfully built block", prev_hash=block_hash(slot - 2), block_size=0, **of)
        say_as_dingo("calling RollForward", block_type=7, block_size=900, **tip, **peer)
        say_as_dingo("calling AwaitReply()", **peer)
        say_as_dingo(extended, source="forged")
    elif slot % 2 == 0:
        peer = {"connection_id": f"127.0.0.1:{FIRST_PORT + 200 + number}<->127.0.0.1:{FIRST_PORT + forger}"}
        point = f"{{Slot: {slot}, Hash: {block}}}"
        say_as_dingo("chainsync: header received", slot=slot, tip_slot=slot, **peer)
        say_as_dingo(f"calling GetBlockRange(start: {point}, end: {point})", **peer)
        say_as_dingo("block returned", **peer)
        say_as_dingo("batch done", **peer)
        say_as_dingo(extended, source="chainsync")


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
    parser.add_argument("--prepared", type=Path, help="a file that is there before it starts")
    parser.add_argument(
        "--eats", action="store_true", help="take memory from the start, and not only once a file named `eat` is there"
    )
    told = [f"{option}={os.environ[name]}" for option, _, name in (pair.partition("=") for pair in DINGO) if IS_DINGO]
    given, _ = parser.parse_known_args([*sys.argv[1:], *told])
    number = given.port - FIRST_PORT
    assert given.prepared is None or given.prepared.read_text() == "prepared\n"
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
        if IS_DINGO:
            say_as_dingo("version: 0.70.1 (commit abcdef0123)")
            say_as_dingo(f"listening for ouroboros node-to-node connections on 127.0.0.1:{given.port}")
        else:
            say("Startup.Ready", kind="ready to follow")
    eaten = bytearray(b"\1") * MEAL_BYTES if given.eats else None
    die, eat = Path("die"), Path("eat")
    done = slot_of(genesis)
    while True:
        time.sleep(0.02)
        if eaten is None and eat.exists():
            eaten = bytearray(b"\1") * MEAL_BYTES
        if die.exists():
            die.unlink()
            sys.exit("the store is gone")
        if (slot := slot_of(genesis)) > done:
            done = slot
            if slot >= 0:
                (step_of_dingo if IS_DINGO else step)(slot, number, given.hosts)


if __name__ == "__main__":
    main()
