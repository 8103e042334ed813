"""`slotmark chain info` against a reader of its own in Python, and the tables of `chain info` and `chain check` of facts that a test has thought up."""

import json
import math
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from rich.console import Console, RenderableType

from slotmark.cli.chain_table import chain_table, check_table
from tests.conftest import slotmark

ENTRY_BYTES = 56
SET_TAG = 258


class Cbor:
    """A reader of CBOR: whole numbers, bytes, text, lists, maps as lists of pairs, tags without themselves, and what isn't read as None."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def _count(self, low: int) -> int | None:
        if low < 24:
            return low
        if low == 31:
            return None
        length = 1 << (low - 24)
        self.at += length
        return int.from_bytes(self.content[self.at - length : self.at])

    def item(self) -> Any:
        first = self.content[self.at]
        self.at += 1
        major, low = first >> 5, first & 31
        count = self._count(low)
        if major in (2, 3):
            return b"".join(self._many(count)) if count is None else self._bytes(count)
        if major == 4:
            return self._many(count)
        if major == 5:
            items = self._many(None if count is None else 2 * count)
            return list(zip(items[::2], items[1::2], strict=True))
        if major == 6:
            return self.item()
        return {0: count, 1: -1 - (count or 0)}.get(major)

    def _bytes(self, count: int) -> bytes:
        self.at += count
        return self.content[self.at - count : self.at]

    def _many(self, count: int | None) -> list[Any]:
        found = []
        while len(found) != count:
            if count is None and self.content[self.at] == 0xFF:
                self.at += 1
                break
            found.append(self.item())
        return found


class Block(NamedTuple):
    """A block as this file's reader has it."""

    size: int
    point: str
    slot: int
    transactions: int
    invalid: int
    inputs: int
    outputs: int
    redeemers: int
    fees: int
    version: str


def blocks_of(chain: Path) -> list[Block]:
    """All blocks of a chain of Conway's era, by its chunks and their secondary indices."""
    found = []
    for chunk in sorted(chain.glob("*.chunk")):
        content, index = chunk.read_bytes(), chunk.with_suffix(".secondary").read_bytes()
        entries = [index[at : at + ENTRY_BYTES] for at in range(0, len(index), ENTRY_BYTES)]
        offsets = [*(struct.unpack(">Q", entry[:8])[0] for entry in entries), len(content)]
        for (begin, end), entry in zip(pairwise(offsets), entries, strict=True):
            era, ((header, _), bodies, witnesses, _, invalid) = Cbor(content[begin:end]).item()
            assert era == 7
            bodies = [dict(body) for body in bodies]
            found.append(
                Block(
                    size=end - begin,
                    point=f"{header[1]}.{entry[16:48].hex()}",
                    slot=header[1],
                    transactions=len(bodies),
                    invalid=len(invalid),
                    inputs=sum(len(body[0]) for body in bodies),
                    outputs=sum(len(body[1]) for body in bodies),
                    redeemers=sum(len(dict(one).get(5, [])) for one in witnesses),
                    fees=sum(body[2] for body in bodies),
                    version=f"{header[9][0]}.{header[9][1]}",
                )
            )
    return found


def facts_of(chain: Path, *more: str) -> dict[str, Any]:
    printed = slotmark("chain", "info", chain, "--json", *more)
    assert printed.returncode == 0, printed.stderr
    return json.loads(printed.stdout)


@pytest.mark.parametrize(("first", "count"), [(0, 600), (150, 77)], ids=["all", "within chunks"])
def test_the_facts_of_a_stretch_are_those_of_another_reader(small_chain: Path, first: int, count: int) -> None:
    every = blocks_of(small_chain)
    assert len(every) == 600
    blocks = every[first : first + count]
    more = ("--start", every[first - 1].point, "--blocks", str(count)) if first else ()
    found = facts_of(small_chain, *more)
    sizes = sorted(block.size for block in blocks)
    expected = {
        "blocks": count,
        "empty_blocks": sum(block.transactions == 0 for block in blocks),
        "bytes": sum(sizes),
        "first_slot": blocks[0].slot,
        "last_slot": blocks[-1].slot,
        "tip": blocks[-1].point,
        # The smallest size that so many of a hundred blocks don't exceed.
        "block_bytes": {f"p{share}": sizes[math.ceil(count * share / 100) - 1] for share in (5, 50, 90, 99)}
        | {"max": sizes[-1]},
        "transactions": sum(block.transactions for block in blocks),
        "invalid_transactions": sum(block.invalid for block in blocks),
        "inputs": sum(block.inputs for block in blocks),
        "outputs": sum(block.outputs for block in blocks),
        "redeemers": sum(block.redeemers for block in blocks),
        "fees": sum(block.fees for block in blocks),
    }
    assert {name: found[name] for name in expected} == expected
    assert min(expected[name] for name in ("empty_blocks", "inputs", "outputs", "redeemers", "fees")) > 0
    (era,) = found["eras"]
    assert era == {
        "era": "Conway",
        **{name: expected[name] for name in ("blocks", "bytes", "transactions", "first_slot", "last_slot")},
        "protocol_versions": {blocks[0].version: count},
    }


def cells(tables: RenderableType) -> list[list[str]]:
    """The lines of printed tables, by cells, which are two spaces or more apart; without rules."""
    console = Console(width=200, color_system=None)
    with console.capture() as caught:
        console.print(tables)
    lines = [line for line in caught.get().splitlines() if line.strip(" ─")]
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]


def test_each_fact_of_a_chain_stands_in_its_own_line_and_column() -> None:
    facts = {
        "chain": "made",
        "chunks": 3,
        "blocks": 1_001,
        "empty_blocks": 402,
        "bytes": 5_003,
        "first_slot": 4,
        "last_slot": 9_005,
        "tip": "9005.aa",
        "block_bytes": {"p5": 6, "p50": 57, "p90": 98, "p99": 999, "max": 1_100},
        "transactions": 1_211,
        "invalid_transactions": 12,
        "inputs": 1_313,
        "outputs": 1_414,
        "redeemers": 1_515,
        "fees": 1_616_000,
        "eras": [
            {
                "era": "Alonzo",
                "blocks": 17,
                "bytes": 1_818,
                "transactions": 19,
                "first_slot": 4,
                "last_slot": 2_020,
                "protocol_versions": {"6.0": 10, "5.0": 7},
            }
        ],
    }
    assert cells(chain_table(facts)) == [
        ["chain", "made"],
        ["chunks", "3"],
        ["blocks", "1,001, of which 402 are empty"],
        ["bytes", "5,003"],
        ["slots", "4 to 9,005"],
        ["block size", "p5 6, p50 57, p90 98, p99 999, max 1,100"],
        ["transactions", "1,211, of which 12 failed phase 2"],
        ["inputs, outputs", "1,313, 1,414"],
        ["redeemers", "1,515"],
        ["fees", "1,616,000 lovelace"],
        ["tip", "9005.aa"],
        ["era", "blocks", "bytes", "transactions", "slots", "protocol versions"],
        ["Alonzo", "17", "1,818", "19", "4 to 2,020", "6.0 (10), 5.0 (7)"],
    ]


def test_each_count_of_a_check_stands_in_its_own_column() -> None:
    rule = {"rule": "vrf-proof", "counted": "blocks", "held": 1_001, "approximate": 22, "unknown": 3, "broken": 4}
    epoch = {"epoch": 5, "blocks": 66, "pools": 7, "stake": 8_000_900_000, "exact": True, "nonce": "ab" * 32}
    facts = {
        "chain": "made",
        "blocks": 1_030,
        "byron_blocks": 9,
        "bytes": 10,
        "transactions": 11,
        "inputs": 12,
        "rules": [rule],
        "epochs": [
            epoch,
            epoch | {"epoch": 6, "exact": False, "nonce": ""},
            epoch | {"epoch": 7, "pools": None},
        ],
        "failures": [
            {"slot": 13, "hash": "cd", "transaction": 0, "rule": "vrf-proof", "requirement": "it must hold"},
            {"slot": 14, "hash": "ef", "transaction": None, "rule": "body-size", "requirement": "it must fit"},
        ],
    }
    printed = cells(check_table(facts))
    for line in (
        ["blocks", "1,030, of which 9 are Byron's: only their place, link and body proof are checked"],
        ["transactions", "11, with 12 inputs looked up"],
        ["rule", "counted", "holds", "stake", "unknown", "broken"],  # of "holds, approx. stake" the last of three lines
        ["vrf-proof", "blocks", "1,001", "22", "3", "4"],
        ["5", "66", "7", "8,001", "abababababababab…"],  # in ada
        ["6", "66", "7", "~8,001", "neutral"],
        ["7", "66", "not known", "not known", "abababababababab…"],
        ["13", "cd", "0", "vrf-proof", "it must hold"],
        ["14", "ef", "body-size", "it must fit"],
    ):
        assert line in printed, line


def test_what_is_said_of_a_chain_that_was_forged_is_what_it_holds(tmp_path: Path) -> None:
    made = slotmark("chain", "synth", "--workload", "value-only", "--blocks", "7", "-o", tmp_path / "chain")
    assert made.returncode == 0, made.stderr
    blocks = blocks_of(tmp_path / "chain")
    assert (len(blocks), len({block.transactions for block in blocks})) == (7, 1), "every block is full"
    transactions, megabytes = sum(block.transactions for block in blocks), sum(block.size for block in blocks) / 1e6
    assert made.stderr.splitlines()[-1] == (
        f"{tmp_path / 'chain'}: 7 blocks, {transactions:,} transactions, {megabytes:.1f} MB, tip {blocks[-1].point}"
    )
    # Two inputs, two outputs and a fee of one ada each.
    for block in blocks:
        assert (block.inputs, block.outputs, block.fees) == tuple(
            share * block.transactions for share in (2, 2, 1_000_000)
        )
