"""From what a session measured to run folders, one a target."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import pyarrow as pa

from slotmark import warnings
from slotmark.benches.chainsync.invocation import Invocation
from slotmark.benches.chainsync.session import Failure, Measured
from slotmark.benches.chainsync.setting import Setting
from slotmark.benches.chainsync.tables import INVOCATIONS, WINDOWS
from slotmark.benches.chainsync.targets import FLOOR, Description
from slotmark.run import MachineFacts, Manifest, Run, RunWriter, SourceFile, Target
from slotmark.warnings import Warning

BENCH = "chainsync"

_NODE_TO_CLIENT = 0x8000
"""The bit that versions of node-to-client have on the wire and those of node-to-node don't."""
BUSY = 0.70
"""The share of a core above which the server may be what is measured."""


class SessionFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What all runs of a session have in common; see :class:`slotmark.run.Manifest`.

    Attributes:
        node: The node that clients followed, where the session didn't start it; else empty.
        node_program: The name of its program, where the system tells.
        warnings: About how the session went.
    """

    session: str
    workload: dict[str, str]
    parameters: dict[str, Any]
    machine: MachineFacts
    started: str
    ended: str
    versions: dict[str, str]
    sources: list[SourceFile]
    pinned: bool
    node: str
    node_program: str | None
    rounds: int
    reply_delay_us: float
    server_peak_bytes: int | None
    warnings: list[Warning]


def write_runs(
    folder: Path,
    facts: SessionFacts,
    measured: Sequence[Measured],
    failures: Sequence[Failure],
    descriptions: Mapping[str, Description],
) -> list[Run]:
    """Writes a run folder per target below ``folder``; none of a target that failed in all that it was to do.

    Raises:
        RunError: A folder is already there, or there's no room. What isn't whole isn't kept.
    """
    with ExitStack() as stack:
        finishing = []
        for name, description in descriptions.items():
            mine = [one for one in measured if one.program == name]
            if not mine:
                continue
            writer = stack.enter_context(RunWriter(folder / name))
            writer.table("invocations", _invocations(mine, _floors(measured), facts.server_peak_bytes))
            writer.table("windows", _windows(mine))
            manifest = Manifest(
                id=f"{facts.session}-{name}",
                bench=BENCH,
                origin="measured",
                target=Target(
                    name, description.version, description.language, description.commit, description.toolchain
                ),
                workload=facts.workload,
                parameters=facts.parameters,
                session=facts.session,
                machine=facts.machine,
                started=facts.started,
                ended=facts.ended,
                versions=facts.versions,
                sources=facts.sources,
                tables={},
                warnings=[
                    *_warnings(facts, mine),
                    *(
                        warnings.target_failed(str(one.setting), str(one.error))
                        for one in failures
                        if one.program == name
                    ),
                ],
            )
            finishing.append((writer, manifest))
        return [writer.finish(manifest) for writer, manifest in finishing]


def _floors(measured: Sequence[Measured]) -> dict[tuple[int, Setting], Measured]:
    return {(one.round, one.setting): one for one in measured if one.program == FLOOR}


def _invocations(
    mine: Sequence[Measured], floors: Mapping[tuple[int, Setting], Measured], server_peak: int | None
) -> pa.Table:
    rows = []
    for one in mine:
        floor, ran = floors.get((one.round, one.setting.floor)), one.invocation
        rows.append(
            {
                "invocation": one.order,
                "round": one.round,
                "warmup": one.round == 0,
                "setting": str(one.setting),
                "mode": one.setting.mode,
                "depth": one.setting.depth,
                "at": one.at,
                "blocks": ran.done.blocks,
                "bytes": _bytes(ran, floor),
                "elapsed_ns": ran.elapsed_ns,
                "first_block_ns": ran.first.at_ns - ran.started.at_ns,
                "startup_ns": ran.startup_ns,
                "connect_ns": ran.ready.connect_ns,
                "protocol_version": ran.ready.version,
                "client_cpu_ns": ran.cpu_ns,
                "client_user_us": ran.user_us,
                "client_system_us": ran.system_us,
                "client_peak_bytes": ran.peak_bytes,
                "client_voluntary_switches": ran.voluntary_switches,
                "server_cpu_ns": ran.server_cpu_ns,
                "server_peak_bytes": server_peak,
                "floor_blocks": floor.invocation.done.blocks if floor else None,
                "floor_elapsed_ns": floor.invocation.elapsed_ns if floor else None,
                "last_slot": ran.done.slot,
                "last_hash": ran.done.hash,
                "digest": ran.done.digest,
                "load": one.load,
            }
        )
    return pa.Table.from_pylist(rows, schema=INVOCATIONS)


def _bytes(ran: Invocation, floor: Measured | None) -> int:
    """Bytes received; where the library hides them, those that the floor received of the same blocks."""
    told = ran.done.bytes if ran.done.bytes is not None or floor is None else floor.invocation.done.bytes
    return told or 0


def _windows(mine: Sequence[Measured]) -> pa.Table:
    rows = []
    for one in mine:
        blocks, at = 0, one.invocation.started.at_ns
        for record in one.invocation.progress:
            rows.append(
                {
                    "invocation": one.order,
                    "blocks": record.blocks,
                    "bytes": record.bytes,
                    "at_ns": record.at_ns - one.invocation.started.at_ns,
                    "window_blocks": record.blocks - blocks,
                    "window_ns": record.at_ns - at,
                }
            )
            blocks, at = record.blocks, record.at_ns
    return pa.Table.from_pylist(rows, schema=WINDOWS)


def spoken(versions: Sequence[int | None]) -> list[str]:
    """The versions that clients agreed on with the node, in words; None where a library hides it."""
    return [
        f"node-to-client version {version & ~_NODE_TO_CLIENT}"
        if version & _NODE_TO_CLIENT
        else f"node-to-node version {version}"
        for version in sorted({version for version in versions if version is not None})
    ]


def _warnings(facts: SessionFacts, mine: Sequence[Measured]) -> list[Warning]:
    found = []
    if facts.node:
        found.append(
            warnings.other_node(facts.node, facts.node_program, spoken([one.invocation.ready.version for one in mine]))
        )
    if not facts.pinned:
        found.append(warnings.one_core() if facts.machine.cores == 1 else warnings.not_pinned())
    found += facts.warnings
    if facts.reply_delay_us:
        found.append(warnings.reply_delay(facts.reply_delay_us))
    if facts.rounds < warnings.ENOUGH_ROUNDS:
        found.append(warnings.few_rounds(facts.rounds))
    for setting in dict.fromkeys(one.setting for one in mine):
        shares = [
            one.invocation.server_cpu_ns / one.invocation.elapsed_ns
            for one in mine
            if one.setting == setting and one.round and one.invocation.server_cpu_ns is not None
        ]
        if shares and median(shares) > BUSY and mine[0].program != FLOOR:
            found.append(warnings.server_busy(str(setting), median(shares), BUSY))
    return found
