"""Run folders of the chainsync bench with figures that a test has thought up, written by the bench's own schema."""

import hashlib
import zlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

import pyarrow as pa

from slotmark.benches.chainsync.tables import INVOCATIONS, WINDOWS
from slotmark.run import MachineFacts, Manifest, Run, RunWriter, SourceFile, Target
from slotmark.warnings import Warning

MACHINE = MachineFacts(
    cpu="Test CPU @ 3.00GHz",
    cores=2,
    governor="performance",
    memory_bytes=8 << 30,
    kernel="Linux 6.1.0",
    system="Debian GNU/Linux 12 (bookworm)",
    virtualisation="none",
    load=0.05,
    hostname_hash="0123456789ab",
)
BYTES_A_BLOCK = 2_319
FIRST_HASH, LAST_HASH = "aa" * 32, "bb" * 32


def bare_manifest(name: str, bench: str, target: Target, **facts: Any) -> Manifest:
    """The manifest of a run of which nothing is known but these facts; it is its own session unless one is among them."""
    nothing: dict[str, Any] = {
        "workload": {},
        "parameters": {},
        "session": name,
        "machine": None,
        "started": "",
        "ended": "",
        "versions": {},
        "sources": [],
        "tables": {},
        "warnings": [],
    }
    return Manifest(id=name, bench=bench, target=target, **{**nothing, **facts})


Figures = float | Sequence[float] | Mapping[str, float | Sequence[float]]
"""One number for all, one per round, or either of them by setting."""


def workload(blocks: int = 10_000, modes: Sequence[str] = ("decode", "raw")) -> dict[str, str]:
    """The workload facts that the bench writes of a window of the real chain."""
    return {
        "network magic": "2",
        "start point": f"1085316.{FIRST_HASH}",
        "blocks": f"{blocks:,}",
        "first block": f"1085336.{FIRST_HASH}",
        "last block": f"1285336.{LAST_HASH}",
        "bytes": f"{blocks * BYTES_A_BLOCK:,}",
        **{f"digest, {mode}": hashlib.sha256(mode.encode()).hexdigest() for mode in modes},
    }


class Costs(TypedDict, total=False):
    """Figures of a client's processes: of each one number for all, one per round, or either by setting.

    Attributes:
        cpu_us_per_block: Processor time.
        switches_per_block: Voluntary context switches.
        peak_memory_mb: In 10^6 bytes.
        first_block_ms: Time to the first block.
        startup_ms: Time to `ready`.
        floor_blocks_per_s: The floor's figure; None where it didn't run.
        server_share: The server's CPU share of a core, as a fraction; None with somebody else's node.
    """

    cpu_us_per_block: Figures
    switches_per_block: Figures
    peak_memory_mb: Figures
    first_block_ms: Figures
    startup_ms: Figures
    floor_blocks_per_s: Figures | None
    server_share: Figures | None


USUAL = Costs(
    cpu_us_per_block=80.0,
    switches_per_block=1.0,
    peak_memory_mb=24.0,
    first_block_ms=1.5,
    startup_ms=12.0,
    floor_blocks_per_s=200_000.0,
    server_share=0.30,
)
"""Figures of a test that thinks up no others."""


def write_run(
    path: Path,
    target: str,
    settings: Mapping[str, Sequence[float]],
    *,
    session: str = "s1",
    blocks: int = 10_000,
    rounds: Sequence[int] | None = None,
    windows: int = 10,
    warmup: bool = True,
    version: str = "1.0.0",
    language: str = "Rust",
    workload_facts: Mapping[str, str] | None = None,
    parameters: Mapping[str, Any] | None = None,
    machine: MachineFacts = MACHINE,
    versions: Mapping[str, str] | None = None,
    warnings: Sequence[Warning] = (),
    bench: str = "chainsync",
    **costs: Unpack[Costs],
) -> Run:
    """Writes a chainsync run folder at ``path`` and returns it opened.

    Args:
        path: The folder; its name is the run's.
        target: The target's name.
        settings: Blocks per second of every counted round, by the setting's words (``decode, sequential``, ``raw, 100 in flight``).
        session: Runs of one session can be paired.
        blocks: Blocks an invocation.
        rounds: Numbers of the rounds, where they aren't 1, 2, 3…
        windows: Progress records an invocation.
        warmup: Whether there is a warm-up round, number 0, in which all was half as fast.
        version: The target's.
        language: The target's.
        workload_facts: In place of :func:`workload`.
        parameters: Over the usual ones.
        machine: Facts about the machine.
        versions: In place of slotmark's and the target's.
        warnings: The run's own.
        bench: The bench's name in the manifest.
        costs: In place of :data:`USUAL`.
    """
    longest = max((len(rates) for rates in settings.values()), default=0)
    numbers = list(rounds) if rounds is not None else list(range(1, longest + 1))
    # No metric: two runs with the same figures aren't copies.
    own_ns = zlib.crc32(f"{session} {target} {path.name}".encode()) % 1_000
    invocations: list[dict[str, Any]] = []
    for index in range(-1 if warmup else 0, longest):
        counted, at = index >= 0, max(index, 0)
        for setting, rates in settings.items():
            if index >= len(rates):
                continue
            elapsed_ns = round(blocks * 1e9 / (rates[at] if counted else rates[at] / 2))
            measured = _measured({**USUAL, **costs}, setting, at, blocks, elapsed_ns)
            invocations.append(
                {
                    **_invocation(len(invocations), setting, blocks),
                    "round": numbers[index] if counted else 0,
                    "warmup": not counted,
                    **measured,
                    "connect_ns": measured["startup_ns"] // 10 + own_ns,
                }
            )
    usual = _parameters(settings, longest, blocks, windows, warmup=warmup)
    manifest = Manifest(
        id=f"{session}-{path.name}",
        bench=bench,
        origin="measured",
        target=Target(target, version, language, "0123456789ab", "rustc 1.90.0" if language == "Rust" else ""),
        workload=dict(workload(blocks, usual["modes"]) if workload_facts is None else workload_facts),
        parameters={**usual, **(parameters or {})},
        session=session,
        machine=machine,
        started="2026-11-21T10:00:00.000+00:00",
        ended="2026-11-21T10:05:00.000+00:00",
        versions=dict(
            {"slotmark": "0.1.0", "slotmark commit": "0123456789ab", f"target {target}": version}
            if versions is None
            else versions
        ),
        sources=[SourceFile("00050.chunk", 31_337_000, "cc" * 32)],
        tables={},
        warnings=list(warnings),
    )
    with RunWriter(path) as writer:
        writer.table("invocations", pa.Table.from_pylist(invocations, schema=INVOCATIONS))
        writer.table("windows", pa.Table.from_pylist(_windows(invocations, windows), schema=WINDOWS))
        return writer.finish(manifest)


def _parameters(settings: Collection[str], rounds: int, blocks: int, windows: int, *, warmup: bool) -> dict[str, Any]:
    """Returns what a session was asked for, where a test thinks up nothing else."""
    modes, depths = zip(*map(_mode_and_depth, settings), strict=True) if settings else ((), ())
    return {
        "modes": list(dict.fromkeys(modes)),
        "depths": list(dict.fromkeys(depths)),
        "rounds": rounds,
        "warm-up rounds": int(warmup),
        "seed": 1,
        "start": f"1085316.{FIRST_HASH}",
        "start asked for": "densest",
        "blocks": blocks,
        "reply delay, us": 0.0,
        "progress every": blocks // windows if windows else blocks,
        "pinned": True,
        "server": "slotmark's replay server",
    }


def _measured(costs: Costs, setting: str, at: int, blocks: int, elapsed_ns: int) -> dict[str, Any]:
    """The columns of an invocation that were measured, in the round of a place."""
    cpu_us, switches, memory_mb, first_ms, startup_ms = (
        _figure(costs.get(name, 0.0), setting, at)
        for name in ("cpu_us_per_block", "switches_per_block", "peak_memory_mb", "first_block_ms", "startup_ms")
    )
    share, floor = (
        None if (given := costs.get(name)) is None else _figure(given, setting, at)
        for name in ("server_share", "floor_blocks_per_s")
    )
    cpu_ns = round(blocks * cpu_us * 1e3)
    return {
        "elapsed_ns": elapsed_ns,
        "first_block_ns": round(first_ms * 1e6),
        "startup_ns": round(startup_ms * 1e6),
        "client_cpu_ns": cpu_ns,
        "client_user_us": cpu_ns * 8 // 10_000,
        "client_system_us": cpu_ns * 2 // 10_000,
        "client_peak_bytes": round(memory_mb * 1e6),
        "client_voluntary_switches": round(switches * blocks),
        "server_cpu_ns": None if share is None else round(elapsed_ns * share),
        "server_peak_bytes": None if share is None else 30_000_000,
        "floor_blocks": None if floor is None else blocks,
        "floor_elapsed_ns": None if floor is None else round(blocks * 1e9 / floor),
    }


def _figure(figures: Figures, setting: str, at: int) -> float:
    mine = figures[setting] if isinstance(figures, Mapping) else figures
    return float(mine[at] if isinstance(mine, Sequence) else mine)


def _invocation(number: int, setting: str, blocks: int) -> dict[str, Any]:
    """The columns of an invocation that are the same whatever it measured."""
    mode, depth = _mode_and_depth(setting)
    return {
        "invocation": number,
        "setting": setting,
        "mode": mode,
        "depth": depth,
        "at": f"2026-11-21T10:{number // 60 % 60:02}:{number % 60:02}.000+00:00",
        "blocks": blocks,
        "bytes": blocks * BYTES_A_BLOCK,
        "protocol_version": 32_791,
        "last_slot": 1_285_336,
        "last_hash": LAST_HASH,
        "digest": hashlib.sha256(mode.encode()).hexdigest(),
        "load": 0.5,
    }


def _mode_and_depth(setting: str) -> tuple[str, int]:
    mode, _, rest = setting.partition(", ")
    number = "".join(character for character in rest if character.isdigit())
    return mode, int(number) if number else 1


def _windows(invocations: Sequence[Mapping[str, Any]], windows: int) -> list[dict[str, Any]]:
    """Progress records at even distances; the first window of each invocation takes half as long again as the others."""
    rows = []
    for one in invocations:
        blocks_before, at_before = 0, 0
        for number in range(1, windows + 1):
            blocks = one["blocks"] * number // windows
            at = round(one["elapsed_ns"] * (number + 0.5) / (windows + 0.5))
            rows.append(
                {
                    "invocation": one["invocation"],
                    "blocks": blocks,
                    "bytes": blocks * BYTES_A_BLOCK,
                    "at_ns": at,
                    "window_blocks": blocks - blocks_before,
                    "window_ns": at - at_before,
                }
            )
            blocks_before, at_before = blocks, at
    return rows
