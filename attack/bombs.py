"""Packed logs that unpack to far more than they are: read in bounded memory, and refused or read as what they hold."""

import random
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from attack.control import Attack
from attack.faults import FOLDER_LEFT, MEMORY_TAKEN, REFUSES, TRACEBACK_BEFORE
from attack.ground import Fault, Ground, emptied
from attack.outcome import REFUSED, Ended, Tried, chances, command

MOST_BYTES = 700 << 20
"""Bytes that an ingest may take: two threads with a line of 64 MiB each, and what Python and Arrow take anyway."""

_OPTIONS = ("--accept-damaged", "--max-rejected", "99.99%")
"""Most lines of most bombs can't be read, and how many is not what counts here."""

BLOCKS = 16
"""Blocks of 64 MiB or a little less in each bomb."""

LINE = (
    b'{"at":"2025-08-01T16:54:56.001939Z","ns":"Forge.Loop.NodeIsLeader","data":{"kind":"TraceNodeIsLeader","slot":%d},'
    b'"sev":"Info","thread":"%b","host":"node-0"}\n'
)


def bombs(ground: Ground, seed: int, tries: int) -> Iterator[Tried]:
    """Packs a log of 1 GiB and more into a small file, as gzip and as zstd, and ingests it."""
    kinds = [(pack, fill) for fill in FILLS for pack in (gzip_bomb, zstd_bomb)]
    for number, chance in enumerate(chances(seed, "bombs", tries)):
        pack, fill = kinds[number % len(kinds)]
        folder = emptied(ground.folder / "bomb")
        log = folder / "logs" / "node-0" / f"stdout.{'gz' if pack is gzip_bomb else 'zst'}"
        log.parent.mkdir(parents=True)
        log.write_bytes(pack((fill(chance) for _ in range(BLOCKS)), chance))
        done = _ingested(ground, folder)
        wrong = done.wrong(0, REFUSED) or _too_much(folder, done)
        failure = f"bomb {number}: {fill.__name__.removeprefix('_')} as {pack.__name__}, {log.stat().st_size:,} bytes: {wrong}"
        yield Tried(1, [failure] if wrong else [])


def _ingested(ground: Ground, folder: Path) -> Ended:
    genesis = ground.logs / "genesis" / "genesis.shelley.json"
    return ground.attacked("ingest", "logs", "--genesis", genesis, "-o", "run", *_OPTIONS, into=folder)


def _too_much(folder: Path, done: Ended) -> str:
    """Returns the fault of an ingest that took or left too much."""
    if done.peak_bytes > MOST_BYTES:
        return f"{done.peak_bytes >> 20} MiB of memory"
    left = sorted(path.name for path in folder.iterdir())
    return f"{left} is left" if left != (["logs", "run"] if done.code == 0 else ["logs"]) else ""


def unharmed(ground: Ground) -> str:
    """Returns the fault in reading logs whose unpacked size is normal: they must give the same samples as the logs that aren't packed."""
    expected = command("samples", ground.cluster_run, *_SAMPLES, into=ground.folder)
    for pack in (gzip_bomb, zstd_bomb):
        folder = emptied(ground.folder / "bomb")
        for log in ground.logs.glob("*/stdout"):
            packed = folder / "logs" / log.parent.name / f"stdout.{'gz' if pack is gzip_bomb else 'zst'}"
            packed.parent.mkdir(parents=True)
            packed.write_bytes(pack(iter([log.read_bytes()]), random.Random(0)))
        done = _ingested(ground, folder)
        if wrong := done.wrong(0) or _too_much(folder, done):
            return f"{pack.__name__}: {wrong}"
        found = command("samples", folder / "run", *_SAMPLES, into=ground.folder)
        if found.code or found.out != expected.out or expected.out.count(b"\n") < 2:
            return f"{pack.__name__}: samples are others"
    return ""


_SAMPLES = ("forge_ticked", "--filter", "none")


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
    """The blocks as frames of one zstd file; at its end now and then a frame with a window of 2 GiB."""
    packed = b"".join(pa.compress(block, codec="zstd", asbytes=True) for block in blocks)
    if chance.random() < 0.5:
        window = bytes([0x28, 0xB5, 0x2F, 0xFD, 0x00, (31 - 10) << 3])
        repeated = struct.pack("<I", (128 << 10) << 3 | 1 << 1)[:3] + b"a"
        packed += window + repeated * 20_000 + b"\x01\x00\x00"
    return packed


ATTACK = Attack(
    "bombs as packed logs",
    18,
    0.1,
    bombs,
    unharmed,
    (
        REFUSES,
        FOLDER_LEFT,
        MEMORY_TAKEN,
        TRACEBACK_BEFORE,
        Fault(
            "a packed log is read to its middle only",
            "import gzip, pathlib, sys\n"
            "if sys.argv[1:2] == ['ingest'] or 'ingest' in sys.orig_argv:\n"
            "    for _log in sorted(pathlib.Path('logs').glob('*/*.gz')):\n"
            "        _text = gzip.decompress(_log.read_bytes())\n"
            "        _log.write_bytes(gzip.compress(_text[: _text.index(b'\\n', len(_text) // 2) + 1]))\n",
            "samples are others",
        ),
    ),
    inputs=2,
)
