"""Packed logs that unpack to far more than they are: read in bounded memory, and refused or read as what they hold."""

import random
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from attack.ground import Ground, emptied
from attack.outcome import REFUSED, Ended, Tried, chances, command

MOST_BYTES = 700 << 20
"""What an ingest may take: two threads with a line of 64 MiB each, and what Python and Arrow take anyway."""

_OPTIONS = ("--accept-damaged", "--max-rejected", "99.99%")

BLOCKS = 16
"""Of 64 MiB or a little less, in each bomb."""

LINE = (
    b'{"at":"2025-08-01T16:54:56.001939Z","ns":"Forge.Loop.NodeIsLeader","data":{"kind":"TraceNodeIsLeader","slot":%d},'
    b'"sev":"Info","thread":"%b","host":"node-0"}\n'
)


def bombs(ground: Ground, seed: int, tries: int) -> Iterator[Tried]:
    """Packs a log of 1 GiB and more into a small file, as gzip and as zstd, and ingests it."""
    kinds = [(pack, fill) for fill in FILLS for pack in (gzip_bomb, zstd_bomb)]
    _unharmed(ground)
    for number, chance in enumerate(chances(seed, "bombs", tries)):
        pack, fill = kinds[number % len(kinds)]
        folder = emptied(ground.folder / "bomb")
        log = folder / "logs" / "node-0" / f"stdout.{'gz' if pack is gzip_bomb else 'zst'}"
        log.parent.mkdir(parents=True)
        log.write_bytes(pack((fill(chance) for _ in range(BLOCKS)), chance))
        done = _ingested(ground, folder)
        wrong = done.wrong(0, REFUSED)
        if not wrong and done.peak_bytes > MOST_BYTES:
            wrong = f"{done.peak_bytes >> 20} MiB of memory"
        left = sorted(path.name for path in folder.iterdir())
        if not wrong and left != (["logs", "run"] if done.code == 0 else ["logs"]):
            wrong = f"{left} is there"
        told = f"bomb {number}: {fill.__name__.removeprefix('_')} as {pack.__name__}, {log.stat().st_size:,} bytes: {wrong}"
        yield Tried(1, [told] if wrong else [])


def _ingested(ground: Ground, folder: Path) -> Ended:
    """How `ingest` of the folder's logs ended."""
    genesis = ground.logs / "genesis" / "genesis.shelley.json"
    return command("ingest", "logs", "--genesis", genesis, "-o", "run", *_OPTIONS, into=folder)


def _unharmed(ground: Ground) -> None:
    """Raises RuntimeError unless a small packed log that nothing is wrong with becomes a run, by the same command."""
    folder = emptied(ground.folder / "bomb")
    log = folder / "logs" / "node-0" / "stdout.gz"
    log.parent.mkdir(parents=True)
    log.write_bytes(gzip_bomb(iter([LINE % (7, b"5") * 100]), random.Random(0)))
    done = _ingested(ground, folder)
    if done.code != 0 or not (folder / "run" / "run.json").is_file():
        raise RuntimeError(f"the unharmed packed log isn't ingested, so that nothing is attacked: {done.said}")


def _one_line(_chance: random.Random) -> bytes:
    return b"\0" * (64 << 20)


def _a_message_without_end(_chance: random.Random) -> bytes:
    return LINE[:20] + b"x" * (64 << 20)


def _empty_lines(_chance: random.Random) -> bytes:
    return b"\n" * (64 << 20)


def _broken_lines(_chance: random.Random) -> bytes:
    return b"{\n" * (32 << 20)


def _messages(chance: random.Random) -> bytes:
    return LINE % (7, b"%d" % chance.randrange(10)) * (1 << 18)


def _long_names(chance: random.Random) -> bytes:
    """Lines of no interest, each of another name of 1 MiB."""
    line = b'{"at":"2025-08-01T16:54:56Z","ns":"%b%d","data":{},"sev":"Info","thread":"5","host":"node-0"}\n'
    return b"".join(line % (b"N" * (1 << 20), chance.randrange(1 << 40)) for _ in range(64))


def _long_values(chance: random.Random) -> bytes:
    """Lines of interest, each with another thread of 1 MiB."""
    return b"".join(LINE % (7, b"t" * (1 << 20) + b"%d" % chance.randrange(1 << 40)) for _ in range(64))


def _many_names(chance: random.Random) -> bytes:
    """Lines of no interest, each of another name."""
    line = b'{"at":"2025-08-01T16:54:56Z","ns":"Name.%d","data":{},"sev":"Info","thread":"5","host":"node-0"}\n'
    first = chance.randrange(1 << 40)
    return b"".join(line % (first + place) for place in range(1 << 18))


def _deep_lines(_chance: random.Random) -> bytes:
    return (LINE[:-2] % (7, b"5") + b',"x":' + b"[" * (1 << 20) + b"\n") * 32


FILLS: tuple[Callable[[random.Random], bytes], ...] = (
    _one_line,
    _a_message_without_end,
    _empty_lines,
    _broken_lines,
    _messages,
    _long_names,
    _long_values,
    _many_names,
    _deep_lines,
)


def gzip_bomb(blocks: Iterator[bytes], _chance: random.Random) -> bytes:
    """The blocks as members of one gzip file."""
    return b"".join(zlib.compress(block, 1, wbits=31) for block in blocks)


def zstd_bomb(blocks: Iterator[bytes], chance: random.Random) -> bytes:
    """The blocks as frames of one zstd file; at its end now and then a frame that asks for a window of 2 GiB."""
    packed = b"".join(pa.compress(block, codec="zstd", asbytes=True) for block in blocks)
    if chance.random() < 0.5:
        window = bytes([0x28, 0xB5, 0x2F, 0xFD, 0x00, (31 - 10) << 3])
        repeated = struct.pack("<I", (128 << 10) << 3 | 1 << 1)[:3] + b"a"
        packed += window + repeated * 20_000 + b"\x01\x00\x00"
    return packed
