"""From what a session measured to run folders, one per target."""

from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import pyarrow as pa

from slotmark.benches.chainsync.invocation import Invocation
from slotmark.benches.chainsync.session import Failure, Measured
from slotmark.benches.chainsync.setting import MODES, Mode, Setting
from slotmark.benches.chainsync.tables import INVOCATIONS, WINDOWS
from slotmark.benches.chainsync.targets import FLOOR, Description
from slotmark.measure.manifest import NewRun
from slotmark.measure.session import Head
from slotmark.metrics.catalogue import Catalogue, catalogue
from slotmark.numbers import percent, plain
from slotmark.run import SourceFile, Target
from slotmark.warnings import ENOUGH_ROUNDS, Warning
from slotmark.words import counted

BENCH = "chainsync"

_NODE_TO_CLIENT = 0x8000
"""The bit that versions of node-to-client have on the wire and those of node-to-node don't."""
BUSY = 0.70
"""The share of a core above which the server may be what is measured."""


class SessionFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts that all runs of a session have in common; see :class:`slotmark.run.Manifest`.

    Attributes:
        node: The node that clients followed, where the session didn't start it; else empty.
        node_program: The name of its program, where the system gives it.
        warnings: About how the session went.
    """

    head: Head
    workload: dict[str, str]
    parameters: dict[str, Any]
    sources: list[SourceFile]
    pinned: bool
    node: str
    node_program: str | None
    rounds: int
    reply_delay_us: float
    server_peak_bytes: int | None
    warnings: list[Warning]


def new_runs(
    out: Path,
    facts: SessionFacts,
    measured: Sequence[Measured],
    failures: Sequence[Failure],
    descriptions: Mapping[str, Description],
) -> list[NewRun]:
    """A run per target below ``out``; none of a target that failed in all that it was to do."""
    taking_part = dict(map(version_of, descriptions.items()))
    runs: list[NewRun] = []
    for name, description in descriptions.items():
        mine = [one for one in measured if one.case.program == name]
        if not mine:
            continue
        tables = {
            "invocations": _invocations(mine, _floors(measured), facts.server_peak_bytes),
            "windows": _windows(mine),
        }
        failed = [
            warning
            for one in failures
            if one.case.program == name
            for warning in catalogue(BENCH).warnings_on("failed", str(one.case.setting), why=str(one.error))
        ]
        run = NewRun(
            folder=out / name,
            head=facts.head,
            bench=BENCH,
            target=target_of(name, description),
            workload=_own_workload(facts.workload, {one.case.setting.mode for one in mine}),
            parameters=facts.parameters | _own_settings(one.case.setting for one in mine),
            tables=tables,
            sources=facts.sources,
            versions=taking_part,
            warnings=[*_warnings(facts, mine), *failed],
        )
        runs.append(run)
    return runs


def digest_fact(mode: Mode) -> str:
    """The name of the workload's fact that has the digest of the chain in a mode."""
    return f"digest, {mode}"


def _own_workload(workload: Mapping[str, str], modes: Container[Mode]) -> dict[str, str]:
    """The workload without the digests of modes that the target was not measured in."""
    others = {digest_fact(mode) for mode in MODES if mode not in modes}
    return {fact: value for fact, value in workload.items() if fact not in others}


def _own_settings(settings: Iterable[Setting]) -> dict[str, Any]:
    """The parameters that say in which modes and at which depths the target was measured."""
    made = sorted({*settings}, key=lambda one: (MODES.index(one.mode), one.depth))
    return {
        "modes": list(dict.fromkeys(one.mode for one in made)),
        "depths": sorted({one.depth for one in made}),
    }


def target_of(name: str, description: Description) -> Target:
    """A client as a manifest names it."""
    return Target(name, description.version, description.language, description.commit, description.toolchain)


def version_of(client: tuple[str, Description]) -> tuple[str, str]:
    """A client's entry among the versions of a manifest."""
    name, description = client
    return f"target {name}", f"{description.version} {description.commit}".strip()


def _floors(measured: Sequence[Measured]) -> dict[tuple[int, Setting], Measured]:
    return {(one.round, one.case.setting): one for one in measured if one.case.program == FLOOR}


def _invocations(
    mine: Sequence[Measured], floors: Mapping[tuple[int, Setting], Measured], server_peak: int | None
) -> pa.Table:
    rows = []
    for one in mine:
        floor, ran = floors.get((one.round, one.case.setting.floor)), one.result
        rows.append(
            {
                "invocation": one.order,
                "round": one.round,
                "warmup": one.round == 0,
                "setting": str(one.case.setting),
                "mode": one.case.setting.mode,
                "depth": one.case.setting.depth,
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
                "floor_blocks": floor.result.done.blocks if floor else None,
                "floor_elapsed_ns": floor.result.elapsed_ns if floor else None,
                "last_slot": ran.done.slot,
                "last_hash": ran.done.hash,
                "digest": ran.done.digest,
                "load": one.load,
            }
        )
    return pa.Table.from_pylist(rows, schema=INVOCATIONS)


def _bytes(ran: Invocation, floor: Measured | None) -> int:
    """Bytes of what was received, as the floor counted them in the same round: it is our own client, where others may say or hide what they like."""
    return (floor.result if floor else ran).done.bytes or 0


def _windows(mine: Sequence[Measured]) -> pa.Table:
    rows = []
    for one in mine:
        blocks, at = 0, one.result.started.at_ns
        for record in (*one.result.progress, one.result.done):
            if record.blocks == blocks:
                continue  # the last block had a progress record
            rows.append(
                {
                    "invocation": one.order,
                    "blocks": record.blocks,
                    "bytes": record.bytes,
                    "at_ns": record.at_ns - one.result.started.at_ns,
                    "window_blocks": record.blocks - blocks,
                    "window_ns": record.at_ns - at,
                }
            )
            blocks, at = record.blocks, record.at_ns
    return pa.Table.from_pylist(rows, schema=WINDOWS)


def other_node(bench: Catalogue, node: str, program: str | None, versions: Sequence[int | None]) -> Warning:
    """Returns the warning about a node that the session didn't start.

    Args:
        bench: The catalogue with the words.
        node: The node, in words.
        program: What it runs; None where that isn't known.
        versions: What clients agreed on with it; None where a library hides it.
    """
    behind = f" (program '{program}')" if program else ""
    spoken = ", ".join(_spoken(versions)) or "a version that no client reports"
    return bench.warning("other_node", node=f"{node}{behind}", versions=spoken)


def _spoken(versions: Sequence[int | None]) -> list[str]:
    """The versions that clients agreed on with the node, in words; None where a library hides it."""
    return [
        f"node-to-client version {version & ~_NODE_TO_CLIENT}"
        if version & _NODE_TO_CLIENT
        else f"node-to-node version {version}"
        for version in sorted({version for version in versions if version is not None})
    ]


def _warnings(facts: SessionFacts, mine: Sequence[Measured]) -> list[Warning]:
    of_bench, found = catalogue(BENCH), []
    if facts.node:
        versions = [one.result.ready.version for one in mine]
        found.append(other_node(of_bench, facts.node, facts.node_program, versions))
    if not facts.pinned:
        found.append(of_bench.warning("one_core" if facts.head.machine.cores == 1 else "not_pinned"))
    found += facts.warnings
    if facts.reply_delay_us:
        found.append(of_bench.warning("reply_delay", delay_us=plain(facts.reply_delay_us)))
    if facts.rounds < ENOUGH_ROUNDS:
        found += of_bench.warnings_on("too_few", count=counted(facts.rounds, "round"), enough=str(ENOUGH_ROUNDS))
    for setting in dict.fromkeys(one.case.setting for one in mine):
        shares = [
            one.result.server_cpu_ns / one.result.elapsed_ns
            for one in mine
            if one.case.setting == setting and one.round and one.result.server_cpu_ns is not None
        ]
        if shares and median(shares) > BUSY and mine[0].case.program != FLOOR:
            share = percent(median(shares))
            found.append(of_bench.warning("server_busy", str(setting), share=share, limit=percent(BUSY)))
    return found
