"""The places of runs: folders of this machine, or object stores. All that reads and writes runs asks here, and knows no other difference.

A run in a store has the objects that a run folder has files. Readers get a folder of this machine for it in which the tables' files have their sizes and footers, and of
their columns those that were fetched: byte for byte those of the object, at their places. The rest is a hole, whose zeros no reader of Parquet takes for a page.
"""

import os
import re
import shutil
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from threading import Lock
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from slotmark import _core
from slotmark.errors import ArgumentError, RunError, StoreError
from slotmark.places import Place, Url, folder_of
from slotmark.run.manifest import TablePart
from slotmark.stores import Bucket, Uploads, not_kept, remark, traffic
from slotmark.temporary import temporary_folder

MANIFEST = "run.json"

MOST_MANIFEST_BYTES = 1 << 30
"""Far more than that of any run; a store's answer is bounded by it."""

TAIL_BYTES = 8 << 10
"""Bytes that are first read from the end of a file in a store: the footers of most files. Smaller files are so read whole."""

_AGAIN = "copy the run again from where it was made."
_MAGIC = b"PAR1"
_LEFT = re.compile(r"writing-[0-9a-f]{8}|tables/[a-z][a-z0-9_]{0,63}/part-[0-9A-Za-z_-]{1,64}\.parquet")
"""Objects that a writer makes before its run is complete."""


class Storage(Protocol):
    """The place of one run.

    Attributes:
        place: Its place, as it was named.
        folder: The folder of this machine from which its tables are read.
    """

    place: Place
    folder: Path

    def manifest(self) -> bytes | None:
        """The content of ``run.json``; None where there is none."""
        ...

    def inside(self) -> list[Place]:
        """The runs one level below, in no order."""
        ...

    def sizes(self, parts: Sequence[TablePart]) -> list[int | None]:
        """The size of each file, None where it is gone; from then on those of the right size can be opened in the folder."""
        ...

    def fetch(self, parts: Sequence[TablePart], columns: Collection[str] | None = None) -> None:
        """Has columns of some files be in the folder; all of them where none are named."""
        ...

    def digest(self, part: TablePart) -> str:
        """The BLAKE3 digest of a file, as ``blake3:9f…``; it was measured at several times the speed of SHA-256."""
        ...


class Folder:
    """A run in a folder of this machine."""

    def __init__(self, place: Path) -> None:
        self.place: Place = place
        self.folder = place

    def manifest(self) -> bytes | None:
        """As of :class:`Storage`."""
        file = self.folder / MANIFEST
        return file.read_bytes() if file.is_file() else None

    def inside(self) -> list[Place]:
        """As of :class:`Storage`; not those whose names begin with a dot, which are unfinished."""
        found = (file.parent for file in self.folder.glob(f"*/{MANIFEST}"))
        return [one for one in found if not one.name.startswith(".")]

    def sizes(self, parts: Sequence[TablePart]) -> list[int | None]:
        """As of :class:`Storage`. RunError where a file leads out of the folder."""
        tables = self.folder / "tables"
        inside = tables.resolve()
        found: list[int | None] = []
        for file in (tables / part.file for part in parts):
            if file.is_file() and not file.resolve().is_relative_to(inside):
                raise RunError(f"{file}: leads out of the run folder; {_AGAIN}")
            found.append(file.stat().st_size if file.is_file() else None)
        return found

    def fetch(self, parts: Sequence[TablePart], columns: Collection[str] | None = None) -> None:
        """Does nothing: all is there."""

    def digest(self, part: TablePart) -> str:
        """As of :class:`Storage`."""
        return digest_of(self.folder / "tables" / part.file)


class Objects:
    """A run in an object store. Its folder is a temporary one, which ends with it."""

    def __init__(self, place: Url) -> None:
        self.place: Place = place
        self._bucket = Bucket(place)
        self._temporary = temporary_folder()
        self.folder = Path(self._temporary.name)
        self._fetched: dict[str, set[str]] = {}
        self._whole: set[str] = set()
        self._lock = Lock()

    def manifest(self) -> bytes | None:
        """As of :class:`Storage`."""
        return self._bucket.whole(MANIFEST, MOST_MANIFEST_BYTES)

    def inside(self) -> list[Place]:
        """As of :class:`Storage`; none where the store can't list."""
        assert isinstance(self.place, Url)
        if not self.place.listed:
            return []
        names = [name for name in self._bucket.folders() if not name.startswith(".")]
        sizes = self._bucket.each(self._bucket.size, [f"{name}/{MANIFEST}" for name in names])
        return [self.place / name for name, size in zip(names, sizes, strict=True) if size is not None]

    def sizes(self, parts: Sequence[TablePart]) -> list[int | None]:
        """As of :class:`Storage`: a request per file, of its end."""
        for folder in {(self.folder / "tables" / part.file).parent for part in parts}:
            folder.mkdir(parents=True, exist_ok=True)
        return self._bucket.each(self._end, parts)

    def fetch(self, parts: Sequence[TablePart], columns: Collection[str] | None = None) -> None:
        """As of :class:`Storage`: requests for the ranges of those columns that aren't there yet."""
        if unopened := [part for part in parts if part.file not in self._fetched]:
            self.sizes(unopened)  # of a run that was just written
        with self._lock:
            wanted: list[tuple[str, int, int]] = []
            for part in parts:
                there = self._fetched[part.file]
                chunks = _chunks(pq.read_metadata(self.folder / "tables" / part.file))
                new = [one for one in chunks if (columns is None or _is_of(one[0], columns)) and one[0] not in there]
                traffic.add(needed=sum(end - start for _, start, end in new))
                there |= {name for name, _, _ in new}
                if part.file not in self._whole:
                    wanted += [
                        (part.file, start, end) for start, end in _together((one[1:] for one in new), part.bytes)
                    ]
            self._bucket.each(self._fill, *zip(*wanted, strict=True)) if wanted else None

    def digest(self, part: TablePart) -> str:
        """As of :class:`Storage`, of all its bytes."""
        with temporary_folder() as folder:
            file = Path(folder) / "part.parquet"
            size = self._bucket.size(f"tables/{part.file}")
            if size is None:
                raise RunError(
                    f"{self.place}/tables/{part.file}: the manifest lists this file but it is gone; {_AGAIN}"
                )
            _write(file, self._bucket.range(f"tables/{part.file}", 0, size))
            return digest_of(file)

    def _end(self, part: TablePart) -> int | None:
        """The size of a file; where it is the right one, the file is made here with its footer, and with all else that is in no column."""
        name = f"tables/{part.file}"
        found = self._bucket.tail(name, TAIL_BYTES)
        if found is None or found[0] != part.bytes:
            return found and found[0]
        size, tail = found
        file = self.folder / "tables" / part.file
        footer = int.from_bytes(tail[-8:-4], "little") + 8
        if tail[-4:] != _MAGIC or footer > size:
            raise damaged_table(self.place / name, "it doesn't end as one")
        if footer > len(tail):
            earlier = list(self._bucket.range(name, size - footer, size - len(tail)))
            tail = b"".join(content for _, content in earlier) + tail
        had = size - len(tail)
        _write(file, [(0, _MAGIC), (had, tail)], size)
        try:
            chunks = _chunks(pq.read_metadata(file))
        except (OSError, pa.ArrowException) as error:
            raise damaged_table(self.place / name, error) from error
        covered = [(0, len(_MAGIC)), *_together((one[1:] for one in chunks), size), (had, size)]
        for start, end in _between(covered):
            self._fill(part.file, start, end)
        if had <= len(_MAGIC):
            self._whole.add(part.file)
        self._fetched[part.file] = set()
        return size

    def _fill(self, file: str, start: int, end: int) -> None:
        _write(self.folder / "tables" / file, self._bucket.range(f"tables/{file}", start, end))


def storage_of(place: Place) -> Storage:
    """The reader of the run at a place."""
    return Objects(place) if isinstance(place, Url) else Folder(place)


def digest_of(path: Path) -> str:
    """The file's BLAKE3 digest, as ``blake3:9f…``; it was measured at several times the speed of SHA-256."""
    return f"blake3:{_core.blake3_file(str(path))}"


def damaged_table(path: object, error: object) -> RunError:
    """The error about a file that can't be read as Parquet."""
    return RunError(f"{path}: not a readable Parquet file ({error}). Copy the run again from where it was made.")


def _chunks(metadata: pq.FileMetaData) -> list[tuple[str, int, int]]:
    """The columns' places in a file: the path of the column, where it begins and where it ends; once per row group."""
    found = []
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for place in range(row_group.num_columns):
            chunk = row_group.column(place)
            first = [at for at in (chunk.dictionary_page_offset, chunk.data_page_offset) if at]
            start = min(first, default=0)
            found.append((chunk.path_in_schema, start, start + chunk.total_compressed_size))
    return found


def _is_of(path: str, columns: Collection[str]) -> bool:
    """Returns whether a path in a file is that of one of some columns, or of a part of it: their names may have dots too."""
    return path in columns or any(path.startswith(f"{column}.") for column in columns)


def _together(ranges: Iterable[tuple[int, int]], size: int) -> list[tuple[int, int]]:
    """Ranges of a file of some size in their order, those that touch as one. RunError where one isn't in the file."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if not 0 <= start <= end <= size:
            raise RunError(f"a column from byte {start} to {end} of a file of {size}: the footer is damaged; {_AGAIN}")
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _between(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The gaps between ranges."""
    found, reached = [], 0
    for start, end in sorted(ranges):
        if start > reached:
            found.append((reached, start))
        reached = max(reached, end)
    return found


def _write(file: Path, pieces: Iterable[tuple[int, bytes | memoryview]], size: int | None = None) -> None:
    """Writes pieces at their places of a file, which is made where it isn't there. StoreError where there is no room."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if size is not None:
                os.ftruncate(descriptor, size)
            for start, content in pieces:
                written = 0
                while written < len(content):
                    written += os.pwrite(descriptor, memoryview(content)[written:], start + written)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise not_kept(error) from error


class Unfinished(Protocol):
    """A run that is being written.

    Attributes:
        path: The folder to write to.
    """

    path: Path

    def take(self, file: Path, to: Path) -> None:
        """Has the content of a file that stays as it is in a file below `path`. OSError where that can't be."""
        ...

    def named(self) -> None:
        """Gives the tables' files the names that they will have, when all are written: from here on they stay as they are."""
        ...

    def finish(self, manifest: bytes, parts: Sequence[TablePart]) -> None:
        """Puts the run in its place. OSError or RunError where that can't be done, as where another writer was faster."""
        ...

    def remove(self) -> None:
        """Removes what was written, unless it is finished."""
        ...


class NewFolder:
    """A new run folder: written beside its place, and renamed when complete."""

    def __init__(self, place: Path) -> None:
        """Makes the temporary folder. OSError where it can't be made."""
        self._place = place
        self._new = _core.NewFolder(place)
        self.path = Path(self._new.path)

    def take(self, file: Path, to: Path) -> None:
        """As of :class:`Unfinished`."""
        shutil.copyfile(file, to)

    def named(self) -> None:
        """They have them."""

    def finish(self, manifest: bytes, parts: Sequence[TablePart]) -> None:
        """As of :class:`Unfinished`."""
        with (self.path / MANIFEST).open("wb") as file:
            file.write(manifest)
            file.flush()
            os.fsync(file.fileno())
        self._new.finish()

    def remove(self) -> None:
        """As of :class:`Unfinished`."""
        self._new.remove()


class NewObjects:
    """A new run in an object store: files first, the manifest last, by a put that one of several writers can do.

    The files are written to a temporary folder of this machine; nothing of the run is in the store before all of them are complete. They are uploaded side by side, while
    their digests are computed. Their names there hold a number drawn at random: two writers of one run write nothing that the other lists. Whose manifest is there has
    won; it removes what others left.
    """

    def __init__(self, place: Url) -> None:
        """Asks the store whether it has conditional puts, and says so where it hasn't. RunError where something else is at the place."""
        if not place.listed:
            raise ArgumentError(
                f"{place}: {place.scheme} URLs are for reading. Name s3://, gs:// or az://, or a folder."
            )
        self._place = place
        self._bucket = Bucket(place)
        self._attempt = os.urandom(4).hex()
        self._own = [f"writing-{self._attempt}"]
        self._uploads: Uploads | None = None
        self._manifest: bytes | None = None  # from when it may be in the store
        self._done = False
        refuse_existing(place)
        left = self._bucket.names()
        others = [name for name in left if not _LEFT.fullmatch(name)]
        if others:
            raise RunError(f"{place}: other objects are below it, as {others[0]!r}. Choose another -o.")
        self._temporary = temporary_folder()
        self.path = Path(self._temporary.name) / "run"
        self.path.mkdir()
        try:
            self._conditional = self._answers_conditions()
        except BaseException:
            self.remove()
            raise
        if left:
            remark(
                f"{place}: {len(left)} objects are of a writer that has not finished. They are removed when this run is complete; the other is refused then, if it still works."
            )
        if not self._conditional:
            remark(
                f"{place}: this store has no conditional put (If-None-Match). Two commands that write this run at once are not told apart: start only one."
            )

    def _answers_conditions(self) -> bool:
        """Returns whether the store refuses to write what is there: tried with an object that marks this writer until it ends."""
        name = self._own[0]
        try:
            self._bucket.create(name, b"a run is being written\n")
            return not self._bucket.create(name, b"a run is being written; a second writer\n").ours
        except StoreError as error:
            if "NotImplemented" not in str(error):
                raise
            self._bucket.put(name, b"a run is being written\n")
            return False

    def take(self, file: Path, to: Path) -> None:
        """As of :class:`Unfinished`: what is only read until it is uploaded need not be copied where both are on one disk."""
        try:
            to.hardlink_to(file.resolve())
        except OSError:
            shutil.copyfile(file, to)

    def named(self) -> None:
        """As of :class:`Unfinished`: ``NAME/part-ATTEMPT-….parquet``, in the order that they have."""
        tables = self.path / "tables"
        for file in sorted(tables.glob("*.parquet")):
            folder = tables / file.stem
            folder.mkdir()
            file.rename(folder / "part-00001.parquet")
        for file in sorted(tables.glob("*/part-*.parquet")):
            file.rename(file.with_name(f"part-{self._attempt}-{file.name.removeprefix('part-')}"))
        names = [f"tables/{file.relative_to(tables)}" for file in sorted(tables.glob("*/part-*.parquet"))]
        self._own += names
        self._uploads = Uploads(self._bucket.put, names, [self.path / name for name in names])

    def finish(self, manifest: bytes, parts: Sequence[TablePart]) -> None:
        """As of :class:`Unfinished`."""
        names = [f"tables/{part.file}" for part in parts]
        assert self._uploads is not None
        self._uploads.wait()
        if not self._conditional:
            refuse_existing(self._place)
        self._manifest = manifest
        if not self._conditional:
            self._bucket.put(MANIFEST, manifest)
        elif not self._bucket.create(MANIFEST, manifest).ours:
            raise RunError(
                f"{self._place}: another command has just written a run there, and a run is never overwritten. Choose another -o; nothing of this one was kept."
            )
        self._done = True
        self._temporary.cleanup()
        unwanted = set(self._own[:1])
        if self._conditional:  # who isn't finished now is refused
            unwanted |= {name for name in self._bucket.names() if name not in names and _LEFT.fullmatch(name)}
        self._delete(sorted(unwanted))

    def remove(self) -> None:
        """As of :class:`Unfinished`."""
        if not self._done:
            self._done = True
            if self._uploads:
                self._uploads.stop()
            self._temporary.cleanup()
            if self._manifest is None or not self._may_be_there(self._manifest):
                self._delete(self._own)

    def _may_be_there(self, manifest: bytes) -> bool:
        """Returns whether the run is there, or may be, though no answer to its last put came: without its files it would be damaged. Says so."""
        try:
            there = self._bucket.whole(MANIFEST, MOST_MANIFEST_BYTES)
        except StoreError:
            remark(
                f"{self._place}: the store doesn't answer whether the run's {MANIFEST} was written, so its files stay. Once it answers, slotmark check {self._place} "
                "tells whether the run is whole; where there is none, the next writer of this run removes them."
            )
            return True
        if there == manifest:
            remark(f"{self._place}: the run is whole all the same: only the store's answer to its last file was lost.")
            self._delete(self._own[:1])
        return there == manifest

    def _delete(self, names: Sequence[str]) -> None:
        if left := self._bucket.delete(names):
            remark(
                f"{self._place}: the store didn't remove {len(left)} objects of an unfinished run, as {left[0]}. The next writer of this run removes them, and so may you."
            )


def begin(place: Place) -> Unfinished:
    """Begins a run at a place.

    Raises:
        RunError: Something is there already.
        OSError: A folder can't be made there.
        StoreError: The store can't be written.
    """
    return NewObjects(place) if isinstance(place, Url) else NewFolder(place)


def try_out(place: Place) -> None:
    """Begins a run at a place and ends that again: long work isn't begun for a store that can't be written. Raises as :func:`begin`."""
    if isinstance(place, Url):
        NewObjects(place).remove()


def is_run(place: Place) -> bool:
    """Returns whether there is a run at a place."""
    if isinstance(place, Url):
        return Bucket(place).size(MANIFEST) is not None
    return (place / MANIFEST).exists()


def refuse_existing(place: Place) -> None:
    """Raises RunError where something is already at the place of a run, which is never overwritten, or where that is inside another run."""
    if is_run(place) if isinstance(place, Url) else folder_of(place).exists():
        raise RunError(f"{place}: already there, and a run is never overwritten. Choose another -o or move it away.")
    if not isinstance(place, Url):
        around = next((one for one in place.absolute().parents if is_run(one) and (one / "tables").is_dir()), None)
        if around is not None:
            raise RunError(
                f"{place}: inside the run {around}, which has to stay as it is. Choose a place outside of it."
            )
