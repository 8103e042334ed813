"""JSON lines by the contract of docs/replay.md: our own engine's, or those of any other that writes them."""

from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import msgspec
import numpy as np

from slotmark.benches.ledger.recordings.recorded import LARGEST, REPLAY_PHASES, Facts, Recorded, Used, Whole, refuse

T = TypeVar("T")
CONTRACT = 1

COUNTS = (
    *("block_no", "era", "first_of_epoch", "reward_pulse", "block_bytes", "transactions", "inputs", "outputs"),
    *("script_memory", "script_steps", "missing"),
)
"""Counts of a block that are kept; any of them may be missing."""

_AGAIN = "Record it again; docs/replay.md has the contract."
_COLUMNS = {"missing": "missing_inputs"}


class _Process(msgspec.Struct, tag_field="record", tag="process"):
    contract: int
    engine: str = ""
    version: str = ""
    backend: str = ""
    store: str = ""
    mode: Literal["", "full-application", "reapplication"] = ""
    phases: list[str] = []


class _End(Used, frozen=True, kw_only=True, tag_field="record", tag="end"):
    blocks: Whole
    peak_bytes: Whole | None = None


def is_replay(data: bytes) -> bool:
    """True for a file that looks like such lines: its first one describes the process."""
    first, _, _ = data.partition(b"\n")
    try:
        return msgspec.json.decode(first, type=dict).get("record") == "process"
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False


def read_replay(path: str, data: bytes) -> Recorded:
    """The process that a file of JSON lines records.

    Args:
        path: Its name, for errors.
        data: All of it.

    Raises:
        ImportFileError: It isn't whole, or a line isn't as the contract requires.
    """
    lines = data.splitlines()
    process = _decoded(path, 1, lines[0], _Process)
    if process.contract != CONTRACT:
        refuse(
            f"{path}, line 1", f"contract {process.contract}, expected {CONTRACT}", "Use a slotmark that supports it."
        )
    if not data.endswith(b"\n") or len(lines) < 3 or b'"end"' not in lines[-1]:
        refuse(f"{path}, line {len(lines)}", "no record `end` as the last line", f"The process ended early. {_AGAIN}")
    end = _decoded(path, len(lines), lines[-1], _End)
    blocks = _blocks(path, lines[1:-1])
    if end.blocks != len(blocks):
        refuse(f"{path}, line {len(lines)}", f"{end.blocks} blocks at the end of {len(blocks)}", _AGAIN)
    names = blocks[0].keys()
    for line, block in enumerate(blocks, 2):
        if block.keys() != names:
            other = sorted(names ^ block.keys())[0]
            refuse(f"{path}, line {line}", f"'{other}' isn't in every block", _AGAIN)
    columns: dict[str, np.ndarray] = {}
    for name in ("slot", "total_ns", *COUNTS, *(f"{phase}_ns" for phase in REPLAY_PHASES)):
        if name in names:
            columns[_COLUMNS.get(name, name)] = _numbers(path, name, [block[name] for block in blocks])
        elif name in ("slot", "total_ns"):
            refuse(f"{path}, line 2", f"there is no '{name}'", _AGAIN)
    columns["total_us"] = columns["total_ns"] // 1000
    hashes = [block["hash"] for block in blocks] if "hash" in names else None
    if hashes is not None and not all(isinstance(one, str) for one in hashes):
        refuse(path, "a 'hash' that is no text", _AGAIN)
    kept = {"record", "hash", "slot", "total_ns", *COUNTS, *(f"{phase}_ns" for phase in REPLAY_PHASES)}
    return Recorded(
        path=path,
        format="JSON lines",
        place="line",
        first=2,
        columns=columns,
        hashes=hashes,
        unknown=tuple(name for name in names if name not in kept),
        facts=Facts(
            engine=f"{process.engine} {process.version}".strip(),
            backend=f"{process.backend}: {process.store}".strip(": "),
            mode=process.mode,
            used=Used(**{name: getattr(end, name) for name in Used.__struct_fields__}),
            peak_bytes=end.peak_bytes,
        ),
    )


def _decoded(path: str, line: int, text: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        refuse(f"{path}, line {line}", str(error), _AGAIN)


def _blocks(path: str, lines: Sequence[bytes]) -> list[dict[str, Any]]:
    decoder = msgspec.json.Decoder(dict[str, Any])
    blocks = []
    for number, line in enumerate(lines, 2):
        try:
            block = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            refuse(f"{path}, line {number}", f"not a JSON object ({error})", _AGAIN)
        if block.get("record") != "block":
            refuse(f"{path}, line {number}", "not the record of a block", _AGAIN)
        blocks.append(block)
    return blocks


def _numbers(path: str, name: str, figures: list[Any]) -> np.ndarray:
    for line, figure in enumerate(figures, 2):
        if type(figure) is not int or not 0 <= figure <= LARGEST:
            refuse(f"{path}, line {line}", f"'{str(figure)[:40]}' as '{name}' is no whole number from 0 on", _AGAIN)
    return np.array(figures, dtype=np.int64)
