"""Pieces: work that needs nothing of other pieces, with a name that follows from its content."""

import hashlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, get_type_hints

import msgspec

from slotmark.errors import PieceError, SlotmarkError
from slotmark.texts import content_of
from slotmark.versions import slotmark_commit, slotmark_version
from slotmark.whole_files import written_whole

T = TypeVar("T")
Merged = TypeVar("Merged")

MOST_OUTPUT_BYTES = 256 << 20
"""Of the output of a piece: it holds the tables of a report, not the rows of a run."""

Progress = Callable[[int, int], None]
"""Gets what is done and what there is to do in all; may raise to stop."""


class Piece(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A piece of work, which any process with this slotmark can do.

    Attributes:
        work: A function of a module. It takes the inputs, by name what ``how`` has, and ``progress`` where its work has parts; the type
            that it is declared to return is one that msgspec can encode and decode.
        inputs: What decides the output; msgspec can encode it.
        label: What people call it, as ``seed 4``; empty where its errors name what they are about.
        how: Arguments that make no difference to the output: the folder that it is written to, the number of threads.
        kept: The file that the output is written to as soon as it is there, whole; None for no file.
    """

    work: Callable[..., T]
    inputs: tuple[Any, ...]
    label: str
    how: dict[str, Any] = {}
    kept: Path | None = None

    @property
    def name(self) -> str:
        """The function's name and a digest of the inputs and of slotmark's version: the same for the same piece on any machine."""
        content = msgspec.json.encode((self.inputs, slotmark_version(), slotmark_commit()), order="deterministic")
        function = f"{Path(inspect.getfile(self.work)).stem}.{self.work.__name__}"
        return f"{function}-{hashlib.sha256(function.encode() + content).hexdigest()[:12]}"

    def done(self, progress: Progress) -> bytes:
        """Does the work. Returns the output, encoded. What the work raises names the piece."""
        try:
            given = {"progress": progress} if "progress" in inspect.signature(self.work).parameters else {}
            encoded = msgspec.msgpack.encode(self.work(*self.inputs, **self.how, **given))
            if self.kept is not None:
                keep(encoded, self.kept)
            return encoded
        except SlotmarkError as error:
            if not self.label:
                raise
            raise type(error)(f"{self.label}: {error}") from error
        except Exception as error:
            error.add_note(f"in {self.label}, the piece {self.name}")
            raise

    def output(self, encoded: bytes) -> T:
        """The output that was encoded."""
        return msgspec.msgpack.decode(encoded, type=get_type_hints(self.work)["return"])


def keep(encoded: bytes, file: Path) -> None:
    """Writes an output behind its digest."""
    try:
        with written_whole(file) as (partial,):
            partial.write_bytes(hashlib.sha256(encoded).digest() + encoded)
    except OSError as error:
        raise PieceError(
            f"{file}: {error.strerror}. What is finished is kept; mend that, and run the same command again."
        ) from error


def kept_in(file: Path) -> bytes | None:
    """The output that is kept in a file, encoded; None where there is none, or it is not as it was written."""
    try:
        content = content_of(file, MOST_OUTPUT_BYTES)
    except OSError:
        return None
    digest, encoded = content[:32], content[32:]
    return encoded if hashlib.sha256(encoded).digest() == digest else None


class Engine(Protocol):
    """Does pieces, and merges their outputs: the callers of one engine can call any."""

    def __call__(
        self,
        pieces: Sequence[Piece[T]],
        merge: Callable[[Iterator[T]], Merged],
        progress: Progress = ...,
        workers: int | None = None,
    ) -> Merged:
        """Returns what ``merge`` returns, which gets the outputs in the order of the pieces; :func:`slotmark.engine.local` has the arguments."""
        ...
