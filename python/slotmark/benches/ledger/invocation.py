"""One process that replays a chain, from its start to its end, and what it wrote."""

import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from slotmark.benches.ledger.engine import PROGRAM, program
from slotmark.benches.ledger.recordings.reading import Source, read_file
from slotmark.benches.ledger.targets import Program
from slotmark.errors import ImportFileError, TargetError
from slotmark.measure.limits import Limited
from slotmark.measure.process import family, how_ended, last_words_in, nothing_left, peak_bytes, refuse_endless, running
from slotmark.temporary import FolderForAWhile, temporary_file

_LOOK_S = 0.05
"""Time between two looks at a process while it runs."""

_FAMILY_EVERY = 20
"""The most looks from one search for the processes that it has started to the next: a search takes some 5 ms, and what it finds keeps its own peak."""


class Invocation(msgspec.Struct, frozen=True):
    """The record that a process wrote, and what was measured of it from outside.

    Attributes:
        source: What it wrote.
        wall_ns: From its start to its end.
        peak_bytes: Its largest resident set and those of the processes that it has started, added up, as far as they were seen, looking some 20 times a second.
    """

    source: Source
    wall_ns: int
    peak_bytes: int


def invoke(
    target: Program,
    chain: Path,
    blocks: int,
    scratch: Path,
    timeout_s: float,
    *,
    limited: Limited,
    prepared: Path | None,
) -> Invocation:
    """Runs a target once over the first blocks of a chain, in a new folder below ``scratch`` that is removed afterwards.

    Raises:
        TargetError: It couldn't start, failed, took too long, or didn't write what docs/replay.md requires. The process is gone in any
            case.
    """
    with FolderForAWhile(prefix="replay-", dir=scratch) as folder:
        # db-analyser takes the format from the extension, and supports .json only.
        out, state = Path(folder) / "out.json", Path(folder) / "state"
        state.mkdir()
        db = _database(Path(folder) / "db", chain, snapshots=target.from_snapshot)
        words = target.command(chain=chain, out=out, state=state, db=db, blocks=blocks, prepared=prepared)
        with limited() as group:
            wall_ns, peak = run_once(target.name, words, group.words, timeout_s)
        if not out.is_file():
            raise TargetError(
                f"{target.name}: it ended well and wrote nothing to {{out}}. See docs/replay.md for what it is to write."
            )
        try:
            source = read_file(out)
        except ImportFileError as error:
            raise TargetError(f"{target.name}: {str(error).replace(str(out), 'what it wrote')}") from error
    return Invocation(source, wall_ns, peak)


def prepare(genesis: Path, out: Path, timeout_s: float) -> Path | None:
    """Has our engine write what its processes need of a genesis, once for all of them and outside of any memory limit.

    Returns:
        The file; None where it failed: each process, which then does it itself, fails with the reason.
    """
    words = [program(), "--prepare", "--genesis", genesis, "--out", out]
    try:
        run_once(PROGRAM, list(map(str, words)), (), timeout_s)
    except TargetError:
        return None
    return out


def _database(folder: Path, chain: Path, *, snapshots: bool) -> Path:
    """A new folder that is a node's database by its form: the chain, and the ledger's snapshots beside it where they are wanted.

    What a process writes there, as an LSM tree of its own, goes with the folder. Where they are, some versions of
    db-analyser begin at the newest one, wherever they are to begin.
    """
    folder.mkdir()
    (folder / "immutable").symlink_to(chain, target_is_directory=True)
    beside = chain.parent / "ledger"
    if snapshots and beside.is_dir():
        (folder / "ledger").symlink_to(beside, target_is_directory=True)
    return folder


def run_once(name: str, words: list[str], before: Sequence[str], timeout_s: float) -> tuple[int, int]:
    """Runs a command to its end, behind the words that limit it; TargetError where it fails.

    Returns:
        Wall time in ns, and the largest resident set that was seen.
    """
    with temporary_file() as stderr, nothing_left():
        begin = time.monotonic_ns()
        peak, looks, of_it = 0, 0, []
        with running(name, [*before, *words], shown=words, stderr=stderr) as process:
            while True:
                try:
                    process.wait(_LOOK_S)
                    break
                except subprocess.TimeoutExpired:
                    # Also after 1, 2, 4 and 8 looks: a short command has ended before the second search.
                    if looks % _FAMILY_EVERY == 0 or looks & (looks - 1) == 0:
                        of_it = family(process.pid)
                    looks += 1
                    peak = max(peak, peak_bytes(*of_it))
                refuse_endless(name, stderr)
                if time.monotonic_ns() - begin > timeout_s * 1e9:
                    raise TargetError(
                        f"{name}: took too long and was stopped. If it is only slow, give it more with --timeout."
                    )
        wall_ns = time.monotonic_ns() - begin
        if code := process.returncode:
            how = how_ended(code)
            if before and code == -signal.SIGKILL:
                how += ", as by the kernel where --memory-limit is less than it needs"
            printed = last_words_in(stderr)
            raise TargetError(f"{name}: {how}{': ' + printed if printed else '; it printed nothing.'}")
    return wall_ns, peak
