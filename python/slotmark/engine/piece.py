"""Pieces: work that needs nothing of other pieces, with a name that follows from its content."""

import hashlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, get_type_hints

import msgspec

from slotmark.engine.kept import keep
from slotmark.errors import SlotmarkError
from slotmark.versions import slotmark_commit, slotmark_version

T = TypeVar("T")
Merged = TypeVar("Merged")

Progress = Callable[[int, int], None]
"""Gets what is done and what there is to do in all; may raise to stop."""


class Piece(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A piece of work, which any process with this slotmark can do.

    Attributes:
        work: A function of a module. It takes the inputs, by name what ``how`` has, and ``progress`` where its work has parts; the type
            that it is declared to return is one that msgspec can encode and decode.
        inputs: What decides the output; msgspec can encode it.
        label: What people call it, as ``seed 4``; empty where it is the only one.
        how: Arguments that make no difference to the output, as the number of threads.
        folder: Where the files are wanted that the work makes; None where it makes none. The work gets a folder as ``folder``, this one or one
            elsewhere from which they are brought here, and makes files in it that no other piece makes.
        kept: The file that the output is written to as soon as it is there, whole; None for no file.
        host: The only host that can do it, for an engine of several machines; empty where any can.
        lasting: Whether the output is the same whenever it is done: that of a look at a log that is being written isn't, and is never kept.
    """

    work: Callable[..., T]
    inputs: tuple[Any, ...]
    label: str
    how: dict[str, Any] = {}
    folder: Path | None = None
    kept: Path | None = None
    host: str = ""
    lasting: bool = True

    @property
    def name(self) -> str:
        """The function's name and a digest of the inputs and of slotmark's version: the same for the same piece on any machine."""
        content = msgspec.json.encode((self.inputs, slotmark_version(), slotmark_commit()), order="deterministic")
        function = f"{Path(inspect.getfile(self.work)).stem}.{self.work.__name__}"
        return f"{function}-{hashlib.sha256(function.encode() + content).hexdigest()[:12]}"

    def done(self, progress: Progress) -> bytes:
        """Does the work. Returns the output, encoded. What the work raises names the piece."""
        try:
            if self.kept is None:
                return self._output(self.folder, progress)
            return keep(self.kept, lambda made: self._output(made, progress), makes_files=self.folder is not None)
        except SlotmarkError as error:
            if not self.label:
                raise
            raise type(error)(f"{self.label}: {error}") from error
        except Exception as error:
            error.add_note(f"in {self.label}, the piece {self.name}")
            raise

    def _output(self, folder: Path | None, progress: Progress) -> bytes:
        given = self.how if folder is None else {**self.how, "folder": folder}
        if "progress" in inspect.signature(self.work).parameters:
            given = {**given, "progress": progress}
        return msgspec.msgpack.encode(self.work(*self.inputs, **given))

    def output(self, encoded: bytes) -> T:
        """The output that was encoded."""
        return msgspec.msgpack.decode(encoded, type=get_type_hints(self.work)["return"])


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
