"""The place that outputs are kept at and other calls find them, as that of shards, reached from this machine: a folder as it is, one in an object store by a copy of what a call needs.

In a store the outputs of pieces are objects of the names that files have. What is finished is sent there at once: the files that a piece made first, its output last. A piece has the same bytes
whoever does it, so that two calls that do one piece write the same.
"""

import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from slotmark.engine.kept import MOST_OUTPUT_BYTES, folder_of, is_whole, kept
from slotmark.errors import PieceError, StoreError
from slotmark.places import Place, Url
from slotmark.stores import Bucket, keep, remark
from slotmark.temporary import temporary_folder

SHARED_FILE = "shards.json"
OUTPUTS = "outputs"

MOST_BYTES = 1 << 20
"""The most bytes of the file that says what is shared: it holds the options of a command."""

_SENT_EVERY_S = 0.5
_AGAIN_S = 10.0
"""Time after which a store that failed is asked again."""


class Reached:
    """A folder of this machine.

    Attributes:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(self, shared: bytes) -> None:
        """Has the file there that says what is shared, where it isn't yet and the folder can't be asked."""

    def bring(self, names: Sequence[str]) -> None:
        """Brings what is there of pieces' outputs, with the files that they made."""

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Sends what is finished meanwhile."""
        yield

    def missing(self, names: Sequence[str]) -> int:
        """The number of pieces whose outputs aren't there."""
        return sum(not (self.folder / OUTPUTS / name).is_file() for name in names)


class _InStore(Reached):
    """A copy of a folder in an object store."""

    def __init__(self, url: Url, folder: Path) -> None:
        super().__init__(folder)
        self._bucket = Bucket(url)
        self._url = url
        self._there: set[str] = set()
        (folder / OUTPUTS).mkdir()

    def begin(self, shared: bytes) -> None:
        text = self._bucket.whole(SHARED_FILE, MOST_BYTES)
        if text is None:
            if others := self._bucket.names():
                raise PieceError(f"{self._url}: not a folder of shards: {others[0]!r} is in it. Choose another -o.")
            written = self._bucket.create(SHARED_FILE, shared)  # of shards that begin at once, one writes it
            text = shared if written.ours else written.there
        keep(self.folder / SHARED_FILE, [text])

    def bring(self, names: Sequence[str]) -> None:
        self._bucket.each(self._bring, names)

    def _bring(self, name: str) -> None:
        content = self._bucket.whole(f"{OUTPUTS}/{name}", MOST_OUTPUT_BYTES)
        if content is None:
            return
        file = self.folder / OUTPUTS / name
        keep(file, [content])
        found = kept(file)
        for one in found.files if found else []:
            made = folder_of(file) / one.name
            size = self._bucket.size(f"{OUTPUTS}/{folder_of(file).name}/{one.name}")
            if size is None:
                continue
            ranges = self._bucket.range(f"{OUTPUTS}/{folder_of(file).name}/{one.name}", 0, size)
            keep(made, (content for _, content in ranges))
        self._there.add(name)

    @contextmanager
    def sending(self) -> Iterator[None]:
        """A store that fails meanwhile is asked again until the work is done; then it must not fail."""
        for name in [name for name in self._there if not is_whole(self.folder / OUTPUTS / name)]:
            (self.folder / OUTPUTS / name).unlink()  # it is done again
            self._there.remove(name)
        ended = threading.Event()
        sender = threading.Thread(target=self._send_until, args=(ended,), daemon=True)
        sender.start()
        try:
            yield
        except BaseException:
            ended.set()
            sender.join()
            with suppress(StoreError):  # what ended the work is told
                self._send()
            raise
        ended.set()
        sender.join()
        self._send()

    def _send_until(self, ended: threading.Event) -> None:
        wait_s = _SENT_EVERY_S
        while not ended.wait(wait_s):
            try:
                self._send()
                wait_s = _SENT_EVERY_S
            except StoreError as error:
                if wait_s == _SENT_EVERY_S:
                    remark(f"{error} The work continues, and finished pieces are sent as soon as that is possible.")
                wait_s = _AGAIN_S

    def _send(self) -> None:
        """Sends the outputs that are finished and aren't there."""
        finished = [one.name for one in (self.folder / OUTPUTS).iterdir() if one.is_file() and one.name[0] != "."]
        for name in sorted({*finished} - self._there):
            file = self.folder / OUTPUTS / name
            found = kept(file)
            if found is None:
                continue
            made = folder_of(file)
            names = [f"{OUTPUTS}/{made.name}/{one.name}" for one in found.files]
            self._bucket.each(self._bucket.put, names, [made / one.name for one in found.files])
            self._bucket.put(f"{OUTPUTS}/{name}", file)
            self._there.add(name)

    def missing(self, names: Sequence[str]) -> int:
        listed = {*self._bucket.names(OUTPUTS)}
        return sum(name not in self._there and f"{OUTPUTS}/{name}" not in listed for name in names)


def forget(place: Place) -> None:
    """Removes all that is kept at a place, when it isn't needed any more."""
    if not isinstance(place, Url):
        shutil.rmtree(place, ignore_errors=True)
        return
    bucket = Bucket(place)
    if left := bucket.delete(bucket.names()):
        remark(f"{place}: the store didn't remove {len(left)} objects that aren't needed any more, as {left[0]}.")


@contextmanager
def reached(place: Place) -> Iterator[Reached]:
    """Reaches a folder that calls share. What is told of its copy is told of the place itself."""
    if not isinstance(place, Url):
        yield Reached(place)
        return
    with temporary_folder() as folder:
        try:
            yield _InStore(place, Path(folder))
        except PieceError as error:
            raise PieceError(str(error).replace(folder, str(place))) from error
