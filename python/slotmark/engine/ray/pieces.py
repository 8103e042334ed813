"""Pieces on the nodes of a Ray cluster: the engine."""

import shutil
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from slotmark.cleaning import one_line
from slotmark.engine.kept import is_whole, keep, kept, put
from slotmark.engine.piece import Engine, Merged, Piece, Progress, T
from slotmark.engine.ray.connection import Driver, connected, lost_in_words
from slotmark.engine.ray.messages import Begin, Lost, Made
from slotmark.engine.ray.nodes import Cluster, refuse, refuse_without_ray
from slotmark.engine.reached import OUTPUTS, reached
from slotmark.errors import EngineError, PieceError
from slotmark.numbers import duration
from slotmark.places import Url
from slotmark.words import counted


@contextmanager
def on_ray(
    folder: Path,
    *,
    shared: Url | None = None,
    insecure: bool,
    labels: Mapping[str, str],
    checked: Callable[[Cluster], None],
    remark: Callable[[str], None],
) -> Iterator[Engine]:
    """Yields the engine that has pieces done by a Ray cluster that runs already: the one of ``RAY_ADDRESS``, or else the one of this machine.

    Outputs are kept as soon as they are there; pieces whose outputs are there already are not done again. Files that a piece made
    travel with its output, by the memory of Ray's nodes.

    Args:
        folder: Of this engine alone, for what Ray prints and for outputs; made where it isn't there.
        shared: Where outputs are kept in a store in the place of ``folder``, so that a call on another machine goes on from them.
        insecure: Whether to go on where the cluster doesn't ask for a token.
        labels: Only nodes with these do pieces.
        checked: Gets the cluster as it was found, before it is refused or work begins.
        remark: Gets lines for people: how many pieces were found finished, and what each host did.

    Yields:
        An engine, which counts pieces in its progress, and connects to the cluster when it is first called. It raises EngineError where there is no cluster, or not one that gives the outputs of this
        machine; PieceError where a piece was given up; else what a piece raised.
    """
    refuse_without_ray()
    connection: list[tuple[Driver, Cluster]] = []
    ending = ExitStack()
    there = ending.enter_context(reached(shared or folder))
    new = [one for one in (folder, folder.parent) if not one.exists()]

    def reach() -> tuple[Driver, Cluster]:
        if not connection:
            try:
                driver, cluster = ending.enter_context(connected(folder, for_pieces=True))
                checked(cluster)
                refuse(cluster, insecure=insecure, labels=labels)
            except EngineError:
                _forget(folder, new)
                raise
            connection.append((driver, cluster))
        return connection[0]

    def engine(
        pieces: Sequence[Piece[T]],
        merge: Callable[[Iterator[T]], Merged],
        progress: Progress = lambda _done, _total: None,
        workers: int | None = None,
    ) -> Merged:
        files = [(there.folder if piece.lasting else folder) / OUTPUTS / piece.name for piece in pieces]
        there.bring([piece.name for piece in pieces if piece.lasting])
        left = [place for place, file in enumerate(files) if not (pieces[place].lasting and is_whole(file))]
        if len(left) < len(pieces):
            remark(f"{len(pieces) - len(left):,} of {counted(len(pieces), 'piece')} were finished before.")
        finishing = _finishing(pieces, files, left, folder, labels, reach, remark)

        def outputs() -> Iterator[T]:
            lacking = set(left)
            for place, (piece, file) in enumerate(zip(pieces, files, strict=True)):
                while place in lacking:
                    lacking -= set(next(finishing))
                    progress(len(pieces) - len(lacking), len(pieces))
                found = kept(file)
                if found is None:
                    raise PieceError(f"{file}: not as it was written a moment ago. Run the same command again.")
                if piece.folder is not None:
                    put(file, found, piece.folder)
                yield piece.output(found.output)
            next(finishing, None)

        with there.sending():
            return merge(outputs())

    with ending:
        yield engine


def _forget(folder: Path, new: Sequence[Path]) -> None:
    """Removes the folder that this call made, and what it is in where that is new and empty: no piece was begun."""
    if folder in new:
        shutil.rmtree(folder, ignore_errors=True)
    if folder.parent in new:
        with suppress(OSError):  # something else is in it
            folder.parent.rmdir()


def _finishing(
    pieces: Sequence[Piece[Any]],
    files: Sequence[Path],
    left: Sequence[int],
    folder: Path,
    labels: Mapping[str, str],
    reach: "Callable[[], tuple[Driver, Cluster]]",
    remark: Callable[[str], None],
) -> Generator[list[int], None, None]:
    """Does the pieces at some places, and yields the places of those that are finished now: none of them every few moments."""
    if not left:
        return
    done: dict[str, int] = defaultdict(int)
    took_s: dict[str, float] = defaultdict(float)
    driver, cluster = reach()
    driver.send(Begin(_ordered(cluster, pieces, left), dict(labels)))
    for _ in left:
        while (found := driver.received()) is None:
            yield []
        if isinstance(found, Lost):
            raise EngineError(lost_in_words(cluster.address, found.why, folder))
        piece = pieces[found.place]
        if isinstance(found.found, str):
            raise PieceError(
                f"{piece.label} (the piece {piece.name}): given up by Ray: {one_line(found.found)} "
                "What is finished is kept; mend that, and run the same command again."
            )
        if isinstance(found.found, MemoryError):
            raise PieceError(f"{piece.label}: there is not enough memory on {found.node}. Leave that node out.")
        if isinstance(found.found, BaseException):
            raise found.found
        keep(files[found.place], partial(_written, found.found), makes_files=piece.folder is not None)
        done[found.node] += 1
        took_s[found.node] += found.took_s
        yield [found.place]
    for host, count in sorted(done.items() if pieces[left[0]].lasting else ()):
        remark(f"{host}: {counted(count, 'piece')}, {duration(took_s[host])} of work")


def _ordered(cluster: Cluster, pieces: Sequence[Piece[Any]], left: Sequence[int]) -> list[tuple[int, Piece[Any], str]]:
    """Pieces with the only node that each can be done by, in turns of those nodes, so that none waits for the pieces of another."""
    nodes = {host: cluster.node_of(host).id for host in {pieces[place].host for place in left if pieces[place].host}}
    before: dict[str, int] = defaultdict(int)
    turns = []
    for place in left:
        host = pieces[place].host
        turns.append((before[host], place))
        before[host] += 1
    return [(place, pieces[place], nodes.get(pieces[place].host, "")) for _, place in sorted(turns)]


def _written(found: "bytes | Made", folder: Path | None) -> bytes:
    """Writes the files that a piece made into a folder. Returns the piece's output."""
    if folder is None or isinstance(found, bytes):
        assert isinstance(found, bytes), "it made no files"
        return found
    for name, content in found.files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return found.output
