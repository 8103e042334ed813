"""The small files of a store: read whole, written whole, some of them once. In a folder of this machine or in an object store."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from slotmark.errors import StoreError, unwritten
from slotmark.places import Place, Url
from slotmark.run.storage import MANIFEST
from slotmark.stores import Bucket
from slotmark.texts import content_of

MOST_BYTES = 1 << 30
"""Far more than any of these files has: the index of 10,000 runs has some 30 MB."""


class Files(Protocol):
    """Files below a place, by names with slashes."""

    place: Place

    def read(self, name: str) -> bytes | None:
        """The content of a file; None where there is none. StoreError where it can't be read."""
        ...

    def create(self, name: str, content: bytes) -> bytes | None:
        """Writes a file where there is none. Of writers that do so at once, one does.

        Returns:
            None where this call wrote it, else what is there.
        """
        ...

    def put(self, name: str, content: bytes) -> None:
        """Writes a file whole, in the place of an older one."""
        ...

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder, sorted."""
        ...

    def remove_run(self, name: str) -> None:
        """Removes the run folder of a name: its manifest first, so that it is no run from then on. StoreError where that can't be done."""
        ...


class FolderFiles:
    """Files in a folder of this machine. They are written beside their places under names that begin with a dot."""

    def __init__(self, place: Path) -> None:
        self.place: Place = place
        self._folder = place

    def read(self, name: str) -> bytes | None:
        """As of :class:`Files`."""
        file = self._folder / name
        try:
            return content_of(file, MOST_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StoreError(
                f"{file}: can't be read ({error.strerror}). Make it readable, or copy it again."
            ) from error

    def create(self, name: str, content: bytes) -> bytes | None:
        """As of :class:`Files`."""
        with self._written(name, content) as partial:
            try:
                os.link(partial, self._folder / name)
            except FileExistsError:
                return self.read(name)
        return None

    def put(self, name: str, content: bytes) -> None:
        """As of :class:`Files`."""
        with self._written(name, content) as partial:
            partial.replace(self._folder / name)

    def names(self, folder: str) -> list[str]:
        """As of :class:`Files`."""
        try:
            with os.scandir(self._folder / folder) as found:
                return sorted(one.name for one in found if not one.name.startswith("."))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreError(f"{self._folder / folder}: can't be read ({error.strerror}). Make it readable.") from error

    def remove_run(self, name: str) -> None:
        """As of :class:`Files`."""
        folder = self._folder / name
        try:
            (folder / MANIFEST).unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=not folder.exists())
        except OSError as error:
            raise StoreError(
                f"{folder}: can't be removed ({error.strerror}). Make the store writable, and run the same command again."
            ) from error

    @contextmanager
    def _written(self, name: str, content: bytes) -> Iterator[Path]:
        """A file beside the place of another with its content, which is removed in the end, where it is still there."""
        file = self._folder / name
        partial = file.with_name(f".{file.name}.{os.urandom(4).hex()}")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with partial.open("xb") as out:
                out.write(content)
                out.flush()
                os.fsync(out.fileno())
            yield partial
        except OSError as error:
            raise StoreError(unwritten(file, error, "name another place")) from error
        finally:
            with suppress(OSError):
                partial.unlink(missing_ok=True)


class BucketFiles:
    """Files in an object store."""

    def __init__(self, place: Url) -> None:
        self.place: Place = place
        self._bucket = Bucket(place)

    def read(self, name: str) -> bytes | None:
        """As of :class:`Files`."""
        return self._bucket.whole(name, MOST_BYTES)

    def create(self, name: str, content: bytes) -> bytes | None:
        """As of :class:`Files`."""
        written = self._bucket.create(name, content)
        return None if written.ours else written.there

    def put(self, name: str, content: bytes) -> None:
        """As of :class:`Files`."""
        self._bucket.put(name, content)

    def names(self, folder: str) -> list[str]:
        """As of :class:`Files`."""
        inside = f"{folder}/"
        return [name.removeprefix(inside) for name in self._bucket.names(folder) if name.startswith(inside)]

    def remove_run(self, name: str) -> None:
        """As of :class:`Files`."""
        names = [one for one in self._bucket.names(name) if one.startswith(f"{name}/")]
        manifest = f"{name}/{MANIFEST}"
        if left := self._bucket.delete([manifest, *(one for one in names if one != manifest)]):
            raise StoreError(f"{self.place}/{left[0]}: the store didn't remove it. Run the same command again.")


def files_at(place: Place) -> Files:
    """The files below a place."""
    return BucketFiles(place) if isinstance(place, Url) else FolderFiles(place)
