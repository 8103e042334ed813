"""Measuring a matrix: every target over every fragment, and nothing twice that the store holds already.

    STORE/FRAGMENT-DIGEST/TARGET

Each folder below the store is a session: the targets of a fragment that were missing took turns in it. What a run is of is known by its
content, which its manifest keeps, not by its place: runs that are copied into the store count too.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from slotmark.benches.ledger.bench import blocks_of, programs_of, run
from slotmark.benches.ledger.engine import genesis_files
from slotmark.benches.ledger.matrix_file import Fragment, Matrix, MatrixTarget
from slotmark.benches.ledger.request import Request, idle_us
from slotmark.benches.ledger.session import Blocks
from slotmark.benches.ledger.targets import Program
from slotmark.errors import ArgumentError, RunError, SlotmarkError
from slotmark.measure import session
from slotmark.measure.content import contents_of
from slotmark.measure.session import OnStep
from slotmark.run import Run, machine_facts, open_run

CELL = "target cell"
"""The parameter of a run's manifest with the digest of what it is of."""

_MOST_SESSIONS = 10_000


class Cell(msgspec.Struct, frozen=True):
    """A target over a fragment.

    Attributes:
        fragment: The fragment's name.
        target: The target's name.
        how: Whether it was measured now, was there, or failed.
        run: Its run; None where it failed.
        why: What went wrong; None where nothing did.
    """

    fragment: str
    target: str
    how: Literal["measured", "there", "failed"]
    run: Run | None = None
    why: SlotmarkError | None = None


class _Work(msgspec.Struct, frozen=True):
    """A fragment with what is to be measured over it: digests by target, and what is settled already."""

    fragment: Fragment
    request: Request
    missing: Mapping[str, str]
    settled: Mapping[str, Cell]


def measure(
    matrix: Matrix,
    timeout_s: float,
    memory_limit_bytes: int | None,
    *,
    again: bool,
    resume: bool,
    on_remark: Callable[[str], None],
    on_step: OnStep,
) -> list[Cell]:
    """Measures what is missing, fragment by fragment; what fails costs only itself.

    Args:
        matrix: What to measure, and where the runs are kept.
        timeout_s: Of one process.
        memory_limit_bytes: Of one process; None for no limit.
        again: Whether to measure what is there once more, beside it.
        resume: Whether to go on with sessions that were cut.
        on_remark: Called with remarks for a person.
        on_step: Called before and after each process, over all sessions of the matrix.

    Returns:
        Every cell, in the order of the matrix: fragment by fragment, target by target.
    """
    store = Path(matrix.store)
    kept = {} if again else _runs_by_cell(store, on_remark)
    works = [_work(matrix, fragment, kept, timeout_s, memory_limit_bytes) for fragment in matrix.fragment]
    total = sum(len(work.missing) for work in works) * matrix.rounds
    on_remark(
        f"{len(matrix.fragment)} fragments, {len(matrix.target)} targets: {sum(len(work.missing) for work in works)} to measure, "
        f"{sum(cell.how == 'there' for work in works for cell in work.settled.values())} there"
    )
    cells: list[Cell] = []
    before = 0
    for work_before in works:
        # Two fragments may be one stretch: what was measured a moment ago is there.
        same = kept.keys() & work_before.missing.values()
        work = _work(matrix, work_before.fragment, kept, timeout_s, memory_limit_bytes) if same else work_before
        step = _over_all(on_step, work.fragment.name, before, total)
        measured = _measure(work, store, resume=resume, on_remark=on_remark, on_step=step) if work.missing else {}
        kept |= {work.missing[name]: cell.run for name, cell in measured.items() if cell.run}
        cells += [{**work.settled, **measured}[target.name] for target in matrix.target]
        before += len(work_before.missing) * matrix.rounds
    return cells


def _over_all(on_step: OnStep, fragment: str, before: int, total: int) -> OnStep:
    """Takes the steps of a session as steps of the whole matrix, with the number of steps before it."""
    return lambda done, _total, label: on_step(before + done, total, f"{fragment}: {label}")


def _runs_by_cell(store: Path, on_remark: Callable[[str], None]) -> dict[str, Run]:
    """The newest run of each cell in the store; one that is damaged isn't there, and a remark names it."""
    found: dict[str, Run] = {}
    for file in sorted(store.glob("*/*/run.json")):
        if (file.parents[1] / session.FILE).exists():
            continue  # its session was cut while it wrote its runs, and goes on with all of them
        try:
            opened = open_run(file.parent)
        except RunError as error:
            on_remark(f"left out of the store: {error}")
            continue
        cell = opened.manifest.parameters.get(CELL)
        if isinstance(cell, str) and (cell not in found or found[cell].manifest.started < opened.manifest.started):
            found[cell] = opened
    return found


def _work(
    matrix: Matrix, fragment: Fragment, kept: Mapping[str, Run], timeout_s: float, memory_limit_bytes: int | None
) -> _Work:
    """The missing cells of a fragment; a target that can't be started, or a chain that can't be read, is settled as failed."""
    request = Request(
        chain=Path(fragment.chain),
        backends=[],
        targets=[],
        genesis=Path(fragment.genesis) if fragment.genesis else None,
        config=Path(fragment.config) if fragment.config else None,
        blocks=None,
        rounds=matrix.rounds,
        seed=matrix.seed,
        flush_every=matrix.flush_every,
        reapply=matrix.reapply,
        pause_us=idle_us("pause", matrix.pause) if matrix.pause else 0,
        timeout_s=timeout_s,
        memory_limit_bytes=memory_limit_bytes,
        out=Path(),
    )
    missing: dict[str, str] = {}
    settled: dict[str, Cell] = {}
    wanted: list[MatrixTarget] = []
    try:
        blocks = blocks_of(request.chain, None)
        skip, end = _stretch(fragment, blocks)
        request = msgspec.structs.replace(request, skip=skip, blocks=end)
        of_fragment = _content_of_fragment(matrix, request, blocks)
    except SlotmarkError as error:
        failed = {one.name: Cell(fragment.name, one.name, "failed", why=error) for one in matrix.target}
        return _Work(fragment, request, {}, failed)
    for target in matrix.target:
        try:
            (program,) = programs_of(_asking(request, [target]), blocks)
            cell = _digest({**of_fragment, **_content_of_program(program)})
        except SlotmarkError as error:
            settled[target.name] = Cell(fragment.name, target.name, "failed", why=error)
            continue
        if cell in kept:
            settled[target.name] = Cell(fragment.name, target.name, "there", kept[cell])
        else:
            missing[target.name] = cell
            wanted.append(target)
    recorded = {"fragment": fragment.name, **({"machine name": matrix.machine} if matrix.machine else {})}
    request = msgspec.structs.replace(
        _asking(request, wanted), also_recorded={name: {**recorded, CELL: cell} for name, cell in missing.items()}
    )
    return _Work(fragment, request, missing, settled)


def _measure(
    work: _Work, store: Path, *, resume: bool, on_remark: Callable[[str], None], on_step: OnStep
) -> dict[str, Cell]:
    """Measures what is missing in one session, in which the targets take turns."""
    out = _session_folder(store, work)
    name = work.fragment.name
    failed: dict[str, SlotmarkError] = {}
    runs: list[Run] = []
    try:
        going_on = resume and (out / session.FILE).exists()
        runs, failures = run(
            msgspec.structs.replace(work.request, out=out, resume=going_on),
            lambda remark: on_remark(f"{name}: {remark}"),
            on_step,
        )
        failed = {one.case: one.error for one in failures}
    except SlotmarkError as error:
        failed = dict.fromkeys(work.missing, error)
    finally:
        if out.is_dir() and not any(out.iterdir()):
            shutil.rmtree(out)
    by_name = {one.manifest.target.name: one for one in runs}
    return {
        target: Cell(name, target, "measured", by_name[target])
        if target in by_name
        else Cell(name, target, "failed", why=failed.get(target))
        for target in work.missing
    }


def _session_folder(store: Path, work: _Work) -> Path:
    """The folder of the session: that of one that was cut, even before its first round was kept, or a new one; the digest is of what it measures."""
    digest = _digest(sorted(work.missing.values()))[:12]
    for number in range(1, _MOST_SESSIONS):
        out = store / f"{work.fragment.name}-{digest}{f'-{number}' if number > 1 else ''}"
        if (out / session.FILE).exists() or not any(out.glob("*/run.json")):
            return out
    raise ArgumentError(f"{store}: more than {_MOST_SESSIONS:,} sessions of one kind. Choose another store.")


def _asking(request: Request, targets: Sequence[MatrixTarget]) -> Request:
    """The request with these targets."""
    return msgspec.structs.replace(
        request,
        backends=[f"{one.name}={one.backend}" for one in targets if one.backend],
        targets=[f"{one.name}={one.command}" for one in targets if one.command],
    )


def _stretch(fragment: Fragment, blocks: Blocks) -> tuple[int, int]:
    """The number of blocks before a fragment, and before its end. ArgumentError where it holds none."""
    slots = blocks.slots
    skip = 0 if fragment.begin is None else int(np.searchsorted(slots, fragment.begin))
    end = slots.size if fragment.end is None else int(np.searchsorted(slots, fragment.end, side="right"))
    if fragment.blocks is not None:
        end = skip + fragment.blocks
    if end > slots.size or end <= skip:
        raise ArgumentError(
            f"fragment '{fragment.name}': {fragment.chain} has {slots.size:,} blocks in slots {slots[0]} to {slots[-1]}, and {max(0, slots.size - skip):,} "
            "from its beginning on. Choose another stretch."
        )
    return skip, end


def _content_of_fragment(matrix: Matrix, request: Request, blocks: Blocks) -> dict[str, object]:
    """All that a cell is made of beside its target; blocks by their hashes, whatever the files are that they lie in."""
    machine = msgspec.structs.asdict(machine_facts())
    del machine["load"]
    return {
        "machine": machine,
        "machine name": matrix.machine,
        "blocks": blocks.hashes[: request.blocks],
        "left out": request.skip,
        "genesis": [one.identity for one in genesis_files(request.genesis)] if request.genesis else [],
        "rounds": matrix.rounds,
        "seed": matrix.seed,
        **({"memory limit": request.memory_limit_bytes} if request.memory_limit_bytes else {}),
    }


def _content_of_program(program: Program) -> dict[str, object]:
    """The program by its file's content, and its words, those that name a file by that file's content too."""
    first, *words = contents_of(program.words)
    return {"program": first, "words": words}


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
