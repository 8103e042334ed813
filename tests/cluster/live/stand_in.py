"""A program that starts, dies and stops as a node does and logs as cardano-node does, without a chain; of what nodes ask each other it answers
the handshake alone.

All stand-ins of a cluster work out the same chain: a block in each second slot, forged by the hosts in turn. Where the environment is
that of a Dingo, it takes its settings from there and logs as Dingo does.
"""

import argparse
import base64
import contextlib
import hashlib
import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
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
    "--address=CARDANO_BIND_ADDR",
    "--magic=CARDANO_NETWORK_MAGIC",
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


def block_hash(slot: int, of: str = "") -> str:
    """The hash of the block in a slot, of the chain that all share or of another one."""
    return hashlib.sha256(f"{slot}{of}".encode()).hexdigest()


def magic_and_versions(proposal: bytes) -> tuple[int, list[int]]:
    """The network's magic and the versions of ``[0, {version: [magic, …]}]`` as a client of node-to-node proposes them."""
    magic, versions, at = 0, [], 3
    for _ in range(proposal[2] & 0x1F):
        versions.append(proposal[at])
        length = {0x18: 1, 0x19: 2, 0x1A: 4}.get(proposal[at + 2], 0)
        magic = int.from_bytes(proposal[at + 3 : at + 3 + length]) if length else proposal[at + 2]
        at += 3 + length + 3  # and [… initiator only, peer sharing, query]
    return magic, versions


def answer(connection: socket.socket, magic: int, begun: Sequence[int]) -> None:
    """Answers the handshake as a node of this network does, and nothing after it; begins these protocols of its own."""
    with connection, suppress(OSError):
        header = connection.recv(8, socket.MSG_WAITALL)
        asked, versions = magic_and_versions(
            connection.recv(int.from_bytes(header[6:]), socket.MSG_WAITALL) if len(header) == 8 else bytes(3)
        )
        if asked == magic:
            said = bytes([0x83, 1, versions[-1], 0x84, 0x1A, *magic.to_bytes(4), 0xF5, 0, 0xF4])
        else:
            why = b"version data mismatch"
            said = bytes([0x82, 2, 0x83, 2, versions[-1] if versions else 14, 0x60 + len(why), *why])
        connection.sendall(bytes([0, 0, 0, 0, 0x80, 0, 0, len(said)]) + said)
        for protocol in begun:
            connection.sendall(bytes([0, 0, 0, 0, 0, protocol, 0, 1, 0x80]))
        while connection.recv(4096):
            pass


def listen(address: str, port: int, magic: int, begun: Sequence[int] = ()) -> socket.socket:
    """Accepts connections from now on, until the socket is shut down."""
    listener = socket.create_server((address, port))

    def accept() -> None:
        with contextlib.suppress(OSError), listener:
            while True:
                threading.Thread(target=answer, args=(listener.accept()[0], magic, begun), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener


def slot_of(genesis: Mapping[str, Any]) -> int:
    """The slot that it is now; below 0 before the first."""
    start = datetime.fromisoformat(genesis["systemStart"]).timestamp()
    return int((time.time() - start) // genesis["slotLength"])


def step(slot: int, number: int, hosts: int) -> None:
    """The lines that a host logs in a slot."""
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
    """The lines that a host logs in a slot, as Dingo does."""
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


def step_alone(slot: int, number: int) -> None:
    """The lines that a host logs in a slot that forges a chain of its own, and has nothing of the others'."""
    say("Forge.Loop.StartLeadershipCheck", kind="TraceStartLeadershipCheck", slot=slot)
    if slot % 2 == 0:
        block, before = block_hash(slot, f"of {number}"), block_hash(slot - 2, f"of {number}")
        say("Forge.Loop.NodeIsLeader", kind="TraceNodeIsLeader", slot=slot)
        forged = {"slot": slot, "blockNo": slot // 2, "block": block, "blockPrev": before}
        say("Forge.Loop.ForgedBlock", kind="TraceForgedBlock", **forged)
        say("ChainDB.AddBlockEvent.AddedToCurrentChain", kind="AddedToCurrentChain", newtip=f"{block}@{slot}")


def say_as_dugite(text: str, node: str = "dugite_node", /, **fields: Any) -> None:
    """One line of a Dugite, or of a node whose log ingest doesn't read, with the time of now."""
    line = {"timestamp": now(), "level": "INFO", "fields": {"message": text} | fields, "target": f"{node}::node"}
    print(json.dumps(line, separators=(",", ":")), flush=True)


def step_of_dugite(slot: int) -> None:
    """The lines that a host that only follows logs in a slot, as Dugite does."""
    if slot % 2 == 0:
        of, peer = {"slot": slot, "block": slot // 2}, f"127.0.0.1:{FIRST_PORT}"
        say_as_dugite(
            "BlockFetch: active fetcher, downloading blocks", addr=peer, count=1, first_slot=slot, last_slot=slot
        )
        say_as_dugite("BlockFetch: block decoded", addr=peer, slot=slot, block_no=slot // 2)
        say_as_dugite("Chain extended", **of, txs=0, hash=block_hash(slot))
        say_as_dugite("live-tip: announced block to peers", **of)


def end(_number: int, _frame: FrameType | None) -> None:
    """Ends at once, with 0."""
    sys.exit(0)


def main() -> None:
    """Logs until it is stopped; dies once a file named `die` is in its folder."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--topology", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--address", required=True)
    parser.add_argument("--magic", type=int, required=True)
    parser.add_argument("--shelley-kes-key", type=Path)
    parser.add_argument("--hosts", type=int, required=True)
    parser.add_argument("--stays", type=int, help="the host that ignores SIGINT")
    parser.add_argument("--hangs", action="store_true", help="have a socket at which no connection is ever accepted")
    parser.add_argument("--mute", action="store_true", help="never be ready")
    parser.add_argument("--deaf", type=int, help="the host that doesn't listen")
    parser.add_argument("--astray", type=int, help="the host that is of another network")
    parser.add_argument("--alone", type=int, help="the host that follows only its own blocks")
    parser.add_argument("--unheard", action="store_true", help="log in a form that ingest doesn't know")
    parser.add_argument("--dugite", action="store_true", help="log as Dugite does, and only follow")
    parser.add_argument("--prepared", type=Path, help="a file that is there before it starts")
    parser.add_argument(
        "--eats", action="store_true", help="take memory from the start, and not only once a file named `eat` is there"
    )
    from_environment = [
        f"{option}={os.environ[name]}" for option, _, name in (pair.partition("=") for pair in DINGO) if IS_DINGO
    ]
    given, _ = parser.parse_known_args([*sys.argv[1:], *from_environment])
    number = given.port - FIRST_PORT
    assert given.prepared is None or given.prepared.read_text() == "prepared\n"
    assert json.loads(given.topology.read_bytes())
    assert given.shelley_kes_key is None or given.shelley_kes_key.is_file()
    config = json.loads(given.config.read_bytes())
    genesis = json.loads((given.config.parent / config["ShelleyGenesisFile"]).read_bytes())
    signal.signal(signal.SIGINT, signal.SIG_IGN if number == given.stays else end)
    if given.hangs:
        listener, first = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        listener.bind("node.socket")
        listener.listen(0)
        first.connect("node.socket")  # whoever comes next waits for a place in the queue
    if given.deaf != number:
        listen(given.address, given.port, given.magic + (given.astray == number))
    if given.unheard:
        say_as_dugite("ready to follow", "another_node")
    elif given.dugite:
        say_as_dugite("Dugite Cardano Node starting, ready to follow", version="1.1.0-alpha")
    elif not given.mute:
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
            if slot >= 0 and given.unheard:
                if slot % 2 == 0:
                    say_as_dugite("Chain extended", "another_node", slot=slot, txs=0, hash=block_hash(slot))
            elif slot >= 0 and given.dugite:
                step_of_dugite(slot)
            elif slot >= 0 and given.alone == number:
                step_alone(slot, number)
            elif slot >= 0:
                (step_of_dingo if IS_DINGO else step)(slot, number, given.hosts)


if __name__ == "__main__":
    main()
