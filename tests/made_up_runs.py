"""Run folders of the chainsync bench with figures that a test has thought up, written by the bench's own schema."""

import hashlib
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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


# Long because each figure that a test may think up is a parameter, with a line that says what it is.
def write_run(
    path: Path,
    target: str,
    settings: Mapping[str, Sequence[float]],
    *,
    session: str = "s1",
    blocks: int = 10_000,
    rounds: Sequence[int] | None = None,
    cpu_us_per_block: Figures = 80.0,
    switches_per_block: Figures = 1.0,
    peak_memory_mb: Figures = 24.0,
    first_block_ms: Figures = 1.5,
    startup_ms: Figures = 12.0,
    floor_blocks_per_s: Figures | None = 200_000.0,
    server_share: Figures | None = 0.30,
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
) -> Run:
    """Writes a chainsync run folder at ``path`` and returns it opened.

    Args:
        path: The folder; its name is the run's.
        target: The target's name.
        settings: Blocks per second of every counted round, by the setting's words (``decode, sequential``, ``raw, 100 in flight``).
        session: Runs of one session can be paired.
        blocks: Blocks an invocation.
        rounds: Numbers of the rounds, where they aren't 1, 2, 3…
        cpu_us_per_block: And the others: one number for all, one per round, or either by setting.
        switches_per_block: Voluntary context switches.
        peak_memory_mb: In 10^6 bytes.
        first_block_ms: Time to the first block.
        startup_ms: Time to `ready`.
        floor_blocks_per_s: The floor's figure; None where it didn't run.
        server_share: The server's CPU share of a core, as a fraction; None with somebody else's node.
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
    """
    longest = max((len(rates) for rates in settings.values()), default=0)
    numbers = list(rounds) if rounds is not None else list(range(1, longest + 1))
    modes, depths = zip(*(_mode_and_depth(setting) for setting in settings), strict=True) if settings else ((), ())
    invocations: list[dict[str, Any]] = []
    own_ns = (
        zlib.crc32(f"{session} {target} {path.name}".encode()) % 1_000
    )  # no metric: two runs with the same figures aren't copies
    for index in range(-1 if warmup else 0, longest):
        counted, at = index >= 0, max(index, 0)
        for setting, rates in settings.items():
            if index >= len(rates):
                continue
            elapsed_ns = round(blocks * 1e9 / (rates[at] if counted else rates[at] / 2))
            cpu_ns = round(blocks * _figure(cpu_us_per_block, setting, at) * 1e3)
            share = None if server_share is None else _figure(server_share, setting, at)
            floor = None if floor_blocks_per_s is None else _figure(floor_blocks_per_s, setting, at)
            invocations.append(
                {
                    **_invocation(len(invocations), setting, blocks),
                    "round": numbers[index] if counted else 0,
                    "warmup": not counted,
                    "elapsed_ns": elapsed_ns,
                    "first_block_ns": round(_figure(first_block_ms, setting, at) * 1e6),
                    "startup_ns": round(_figure(startup_ms, setting, at) * 1e6),
                    "connect_ns": round(_figure(startup_ms, setting, at) * 1e5) + own_ns,
                    "client_cpu_ns": cpu_ns,
                    "client_user_us": cpu_ns * 8 // 10_000,
                    "client_system_us": cpu_ns * 2 // 10_000,
                    "client_peak_bytes": round(_figure(peak_memory_mb, setting, at) * 1e6),
                    "client_voluntary_switches": round(_figure(switches_per_block, setting, at) * blocks),
                    "server_cpu_ns": None if share is None else round(elapsed_ns * share),
                    "server_peak_bytes": None if share is None else 30_000_000,
                    "floor_blocks": None if floor is None else blocks,
                    "floor_elapsed_ns": None if floor is None else round(blocks * 1e9 / floor),
                }
            )
    manifest = Manifest(
        id=f"{session}-{path.name}",
        bench=bench,
        origin="measured",
        target=Target(target, version, language, "0123456789ab", "rustc 1.90.0" if language == "Rust" else ""),
        workload=dict(workload(blocks, list(dict.fromkeys(modes))) if workload_facts is None else workload_facts),
        parameters={
            "modes": list(dict.fromkeys(modes)),
            "depths": list(dict.fromkeys(depths)),
            "rounds": longest,
            "warm-up rounds": int(warmup),
            "seed": 1,
            "start": f"1085316.{FIRST_HASH}",
            "start asked for": "densest",
            "blocks": blocks,
            "reply delay, us": 0.0,
            "progress every": blocks // windows if windows else blocks,
            "pinned": True,
            "server": "slotmark's replay server",
            **(parameters or {}),
        },
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
