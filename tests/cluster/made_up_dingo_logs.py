"""Logs of made-up Dingo nodes, written line by line in the form of its JSON log.

A test says what happened on which host; the lines of both ends of a connection fit together, with hashes of real headers.
"""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

from tests.cluster.made_up_logs import START, rfc3339, ts

COMPONENTS = {"chain": "ledger", "chainsync": "ouroboros", "updated": "chainselection"}


def header(number: int, slot: int) -> bytes:
    """A header with no more than is read of one: its number, its slot and no parent, and a signature."""
    return b"\x82\x83\x19" + number.to_bytes(2) + b"\x1a" + slot.to_bytes(4) + b"\xf6\x41\x01"


def block(number: int, slot: int) -> str:
    """A block with that header and nothing in it, in hex."""
    return (b"\x85" + header(number, slot) + b"\x80\x80\xa0\x80").hex()


def block_hash(number: int, slot: int) -> str:
    return hashlib.blake2b(header(number, slot), digest_size=32).hexdigest()


def address(host: int, port: int = 3001) -> str:
    return f"10.0.0.{host + 1}:{port}"


class DingoCluster:
    """Hosts and what their logs have. Each host has dialled all before it."""

    def __init__(self, hosts: int) -> None:
        self.lines: dict[int, list[tuple[int, str]]] = {host: [] for host in range(hosts)}
        for host in self.lines:
            self.say(host, ts(-10), "version: 0.70.1 (commit abcdef0123)", level="INFO", component="dingo")

    def say(self, host: int, ts_ns: int, text: str, level: str = "DEBUG", **members: Any) -> None:
        """One line of a host."""
        component = members.pop(
            "component", COMPONENTS.get(text.split(":", maxsplit=1)[0].split(" ", maxsplit=1)[0], "network")
        )
        line = {"time": rfc3339(ts_ns), "level": level, "msg": text, "component": component} | members
        self.raw(host, ts_ns, json.dumps(line, separators=(",", ":")))

    def raw(self, host: int, ts_ns: int, text: str) -> None:
        self.lines[host].append((ts_ns, text))

    @staticmethod
    def connection(own: int, peer: int) -> str:
        """The connection of two hosts as one of them writes it."""
        ends = {max(own, peer): 40_000 + min(own, peer), min(own, peer): 3001}
        return f"{address(own, ends[own])}<->{address(peer, ends[peer])}"

    def forged(
        self, host: int, slot: int, number: int, *, at_ms: tuple[float, float, float], debug: bool = True
    ) -> str:
        """A block of a host: when it found that it leads, had forged it, and had adopted it. ``debug``: with the lines of level debug."""
        leading, forged, adopted = at_ms
        made = block_hash(number, slot)
        self.say(host, ts(slot, leading), "producing block", level="INFO", component="forging", slot=slot)
        of = {"slot": slot, "hash": made}
        if debug:
            before = block_hash(number - 1, slot - 1) if number else "0" * 64
            self.say(
                host,
                ts(slot, forged),
                "successfully built block",
                **of,
                block_number=number,
                prev_hash=before,
                block_size=0,
            )
        self.say(
            host, ts(slot, forged + 0.1), "block proposal accepted by chain", level="INFO", **of, block_number=number
        )
        self.say(host, ts(slot, forged + 0.2), "block produced successfully", level="INFO", **of)
        self.adopted(host, slot, adopted, made)
        for other in self.lines.keys() - {host}:
            self.say(other, ts(slot, leading), "forge check: not leader for slot", current_slot=slot, tip_slot=slot - 1)
        return made

    def adopted(self, host: int, slot: int, at_ms: float, made: str) -> None:
        self.say(
            host, ts(slot, at_ms), f"chain extended, new tip: {made} at slot {slot}", level="INFO", source="chainsync"
        )

    def passed(
        self, sender: int, receiver: int, slot: int, number: int, *, at_ms: tuple[float, float, float, float, float]
    ) -> None:
        """A block that goes on: when its header was offered and received, the block asked for, sent and received."""
        offered, received, asked, sent, returned = (ts(slot, ms) for ms in at_ms)
        made, data = block_hash(number, slot), block(number, slot)
        ours, theirs = (
            {"connection_id": self.connection(one, other)} for one, other in ((sender, receiver), (receiver, sender))
        )
        tip = {"tip_slot": slot, "tip_hash": base64.b64encode(bytes.fromhex(made)).decode(), "tip_block_number": number}
        self.say(sender, offered, "calling RollForward", block_type=7, block_size=len(data) // 2, **tip, **ours)
        self.say(sender, received + 100_000, "calling AwaitReply()", **ours)
        self.say(receiver, received, "chainsync: header received", slot=slot, tip_slot=slot, **theirs)
        self.say(receiver, received + 1, "updated peer tip", slot=slot, block_number=number, **theirs)
        point = f"{{Slot: {slot}, Hash: {made}}}"
        self.say(receiver, asked, f"calling GetBlockRange(start: {point}, end: {point})", **theirs)
        self.say(sender, sent, f"calling Block(blockType: +7, blockData: {data})", **ours)
        self.say(receiver, returned, "block returned", **theirs)
        self.say(receiver, returned + 1, "batch done", **theirs)

    def write(self, folder: Path) -> Path:
        """Writes a file per host, and the genesis beside them."""
        folder.mkdir(parents=True)
        for host, lines in self.lines.items():
            ordered = sorted(lines, key=lambda one: one[0])
            (folder / f"n{host}.jsonl").write_text("".join(f"{text}\n" for _, text in ordered), encoding="utf-8")
        genesis = {
            "systemStart": START.isoformat().replace("+00:00", "Z"),
            "slotLength": 1,
            "epochLength": 500,
            "securityParam": 40,
            "activeSlotsCoeff": 0.4,
            "protocolParams": {"maxBlockBodySize": 90_112},
        }
        (folder / "shelley-genesis.json").write_text(json.dumps(genesis))
        return folder


def followed_by(log: str, folder: Path, blocks: int) -> Path:
    """A Dingo that makes a block in each second slot, and this log of another node, which follows it."""
    made = DingoCluster(2)
    for number in range(blocks):
        made.forged(0, 2 * number, number, at_ms=(1, 11, 41))
        made.passed(0, 1, 2 * number, number, at_ms=(8, 9, 12, 13, 60))
    made.write(folder)
    (folder / "n1.jsonl").write_text(log, encoding="utf-8")
    return folder
