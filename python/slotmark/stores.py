"""Object stores: the objects below a URL, read by ranges and written whole.

Requests, signatures and what is asked again are the library's (obstore). What a store answers is data: a name in it is never a path of this machine.
"""

import os
import re
import sys
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from functools import cache, wraps
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from urllib.parse import urlsplit

import msgspec

from slotmark.cleaning import one_line
from slotmark.errors import StoreError
from slotmark.places import Url
from slotmark.store_answers import CODE, answer_in_words
from slotmark.temporary import temporary_place

if TYPE_CHECKING:
    from obstore.store import ObjectStore

AT_ONCE = 16
"""Requests that are under way at a time."""

RANGE_BYTES = 16 << 20
"""Bytes that one request reads at most: one that is cut is asked for again."""

WHOLE_BYTES = 32 << 20
"""Bytes that one request writes at most; more is uploaded in several, and those of an upload that fails are removed."""

_PART_BYTES = 16 << 20

_RETRY = {
    "max_retries": 6,
    "retry_timeout": timedelta(minutes=2),
    "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=5), "base": 2},
}
"""Settings of the library, which asks again after an answer of 5xx and after a connection that broke: about 6 s in all until it gives up."""

_CLIENT = {"timeout": "2min", "connect_timeout": "10s"}

_ALLOW_HTTP = ("AWS_ALLOW_HTTP", "AZURE_ALLOW_HTTP", "GOOGLE_ALLOW_HTTP")

_ENDPOINTS = {
    "s3": ("AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"),
    "gs": ("GOOGLE_BASE_URL",),
    "az": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
}
"""Variables that the library takes the address of a store from. It panics where that is no URL."""


_CONFLICTS = 6
"""Times that a conditional put is tried where the store says that another one is under way."""

_CONFLICT = ("ConditionalRequestConflict", "OperationAborted", "PreconditionFailed")
"""Codes of such an answer, and of one by a store that then shows no object."""

MOST_CREATED_BYTES = 1 << 30

P = ParamSpec("P")
R = TypeVar("R")


def remark(text: str) -> None:
    """Prints a line on standard error."""
    sys.stderr.write(f"slotmark: {one_line(text)}\n")


def not_kept(error: OSError) -> StoreError:
    """The error about the folder for temporary files, where what is read of stores is kept."""
    return StoreError(
        f"what is read of a store can't be kept in {temporary_place()} ({error.strerror}). Free space there, or set TMPDIR to a folder of another disk."
    )


def keep(file: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Writes what is read of a store to a new file in a folder for a while. StoreError where there is no room."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("wb") as out:
            out.writelines(pieces)
    except OSError as error:
        raise not_kept(error) from error


class Traffic:
    """The amounts that this process read of stores and wrote to them.

    Attributes:
        requests: The requests that were answered, those that were repeated counted once.
        read_bytes: Bytes of objects that were received.
        needed_bytes: Bytes of the columns that were asked for, as their files hold them.
        written_bytes: Bytes of objects that were written.
    """

    def __init__(self) -> None:
        self.requests = self.read_bytes = self.needed_bytes = self.written_bytes = 0
        self._lock = Lock()

    def add(self, *, read: int = 0, needed: int = 0, written: int = 0, requests: int = 0) -> None:
        """Adds to the figures, from any thread."""
        with self._lock:
            self.requests += requests
            self.read_bytes += read
            self.needed_bytes += needed
            self.written_bytes += written

    def __str__(self) -> str:
        needed = f", the columns that were needed have {self.needed_bytes:,}" if self.needed_bytes else ""
        return f"object stores: {self.requests:,} requests, {self.read_bytes:,} bytes read{needed}, {self.written_bytes:,} bytes written"


traffic = Traffic()
"""The traffic of this process."""


class Written(msgspec.Struct, frozen=True):
    """The end of a write that may lose against another.

    Attributes:
        ours: Whether what is there now was written by this call.
        there: What another has written there, where it isn't ours.
    """

    ours: bool
    there: bytes = b""


def _in_one_line(doing: Callable[P, R]) -> Callable[P, R]:
    """Has what the library raises become StoreError, which names the object and what to do."""

    @wraps(doing)
    def done(*given: P.args, **named: P.kwargs) -> R:
        import obstore.exceptions as failures  # noqa: PLC0415 - only who names a store loads it

        bucket, *rest = given
        assert isinstance(bucket, Bucket)
        try:
            return doing(*given, **named)
        except (failures.BaseError, OSError, ValueError) as error:
            raise bucket.failed(rest[0] if rest and isinstance(rest[0], str) else "", error) from error

    return done


class Uploads:
    """Files that are being written as objects while the caller does something else. It ends with :meth:`wait` or :meth:`stop`.

    Args:
        put: Writes a file as the object of a name.
        names: The objects.
        files: Their content.
    """

    def __init__(self, put: Callable[[str, Path], None], names: Sequence[str], files: Sequence[Path]) -> None:
        self._pool = ThreadPoolExecutor(AT_ONCE)
        self._pending = [self._pool.submit(put, name, file) for name, file in zip(names, files, strict=True)]

    def wait(self) -> None:
        """Waits until all are written. The first error ends it, when what is under way has ended: StoreError."""
        try:
            for one in self._pending:
                one.result()
        finally:
            self.stop()

    def stop(self) -> None:
        """Begins no more, and waits until what is under way has ended."""
        self._pool.shutdown(cancel_futures=True)


class Bucket:
    """The objects below one URL, by their names below it.

    Args:
        url: A run, or a folder of runs.
    """

    def __init__(self, url: Url) -> None:
        self.url = url
        self._store = client(url.scheme, url.bucket)

    @_in_one_line
    def whole(self, name: str, most_bytes: int) -> bytes | None:
        """The content of an object; None where there is none. StoreError where it has more bytes than that."""
        import obstore  # noqa: PLC0415

        try:
            found = obstore.get(self._store, self._key(name))
        except FileNotFoundError as error:
            self._refuse_missing_bucket(error)
            return None
        if found.meta["size"] > most_bytes:
            raise StoreError(
                f"{self.url / name}: {found.meta['size']:,} bytes, where {most_bytes:,} are expected at most."
            )
        content = bytes(found.bytes())
        traffic.add(requests=1, read=len(content))
        if len(content) != found.meta["size"]:
            raise StoreError(
                f"{self.url / name}: the answer ended after {len(content):,} of {found.meta['size']:,} bytes. Try again."
            )
        return content

    @_in_one_line
    def tail(self, name: str, most_bytes: int) -> tuple[int, bytes] | None:
        """The size of an object and its last bytes, at most so many; None where there is none."""
        import obstore  # noqa: PLC0415

        try:
            if self.url.scheme == "az":  # which has no range from the end
                size = obstore.head(self._store, self._key(name))["size"]
                return size, bytes(self._piece(name, max(0, size - most_bytes), size)) if size else b""
            found = obstore.get(self._store, self._key(name), options={"range": {"suffix": most_bytes}})
            size, content = found.meta["size"], bytes(found.bytes())
        except FileNotFoundError as error:
            self._refuse_missing_bucket(error)
            return None
        traffic.add(requests=1, read=len(content))
        if len(content) != min(size, most_bytes):
            raise StoreError(f"{self.url / name}: the answer ended after {len(content):,} bytes. Try again.")
        return size, content

    def range(self, name: str, start: int, end: int) -> Iterator[tuple[int, memoryview]]:
        """The bytes of an object from one place to another, in pieces of `RANGE_BYTES` at most, each with its place."""
        for begin in range(start, end, RANGE_BYTES):
            yield begin, self._piece(name, begin, min(end, begin + RANGE_BYTES))

    @_in_one_line
    def _piece(self, name: str, start: int, end: int) -> memoryview:
        import obstore  # noqa: PLC0415

        content = memoryview(obstore.get_range(self._store, self._key(name), start=start, end=end))
        traffic.add(requests=1, read=len(content))
        if len(content) != end - start:
            raise StoreError(
                f"{self.url / name}: the answer has {len(content):,} bytes, where {end - start:,} were asked for."
            )
        return content

    @_in_one_line
    def size(self, name: str) -> int | None:
        """The size of an object; None where there is none."""
        import obstore  # noqa: PLC0415

        try:
            found = obstore.head(self._store, self._key(name))["size"]
        except FileNotFoundError:
            return None
        traffic.add(requests=1)
        return found

    @_in_one_line
    def facts(self, name: str) -> tuple[int, str] | None:
        """The size of an object, and a text that another object of its name doesn't have; None where there is none."""
        import obstore  # noqa: PLC0415

        try:
            found = obstore.head(self._store, self._key(name))
        except FileNotFoundError:
            return None
        traffic.add(requests=1)
        return found["size"], f"{found['e_tag'] or found['last_modified']}"

    @_in_one_line
    def names(self, below: str = "", most: int = 1_000_000) -> list[str]:
        """The names of objects, sorted; of a store that lists them with a delay, as it has them.

        Empty objects that stand for folders, as consoles and tools of stores make them (``logs/``, ``logs/node-0/``), are left out.
        """
        import obstore  # noqa: PLC0415

        prefix = self._key(below)
        found: dict[str, int] = {}
        skipped = len(self.url.key) + 1 if self.url.key else 0
        for objects in obstore.list(self._store, prefix or None, chunk_size=1000):
            traffic.add(requests=1)
            found |= {one["path"][skipped:]: one["size"] for one in objects}
            if len(found) > most:
                break
        names = sorted(found)
        return [name for name in names if found[name] or not _stands_for_folder(name, names)]

    @_in_one_line
    def folders(self) -> list[str]:
        """The first names of what lies deeper, sorted."""
        import obstore  # noqa: PLC0415

        found = obstore.list_with_delimiter(self._store, self.url.key or None)
        traffic.add(requests=1)
        return sorted(str(one).rpartition("/")[2] for one in found["common_prefixes"])

    @_in_one_line
    def put(self, name: str, content: bytes | Path) -> None:
        """Writes an object whole, in the place of an older one. A large file is uploaded in parts; those of an upload that fails are removed."""
        import obstore  # noqa: PLC0415

        size = content.stat().st_size if isinstance(content, Path) else len(content)
        obstore.put(
            self._store,
            self._key(name),
            content,
            use_multipart=size > WHOLE_BYTES,
            chunk_size=_PART_BYTES,
            max_concurrency=1,  # a part that is under way when its upload is aborted may be kept
        )
        traffic.add(requests=1, written=size)

    @_in_one_line
    def create(self, name: str, content: bytes) -> Written:
        """Writes an object where there is none, by a conditional put: of writers that do so at once, one does.

        An answer that says that it is there already, where it is what this call wrote (its first answer was lost), counts as written. One that another
        write is under way at this moment is asked again.
        """
        import obstore  # noqa: PLC0415
        from obstore.exceptions import AlreadyExistsError, PreconditionError  # noqa: PLC0415

        for attempt in range(_CONFLICTS):
            try:
                obstore.put(self._store, self._key(name), content, mode="create", use_multipart=False)
            except (AlreadyExistsError, PreconditionError) as error:
                there = self.whole(name, MOST_CREATED_BYTES)
                if there is not None:
                    return Written(there == content, there)
                if attempt == _CONFLICTS - 1:
                    raise
                code = CODE.search(str(error))
                if code and code[1] not in _CONFLICT:
                    raise
                time.sleep(0.1 * 2**attempt)
            else:
                traffic.add(requests=1, written=len(content))
                return Written(True)
        raise AssertionError("the last attempt returns or raises")

    def delete(self, names: Sequence[str]) -> list[str]:
        """Removes objects; the names of those that may still be there."""
        import obstore  # noqa: PLC0415
        from obstore.exceptions import BaseError  # noqa: PLC0415

        left = []
        for name in names:
            try:
                with suppress(FileNotFoundError):
                    obstore.delete(self._store, self._key(name))
            except (BaseError, OSError):
                left.append(name)
        return left

    def each(self, doing: Callable[..., R], *arguments: Sequence[Any]) -> list[R]:
        """Does something with each of some names, several at a time; what it gives, in their order. The first error ends it, when what is under way has ended."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            pending = [pool.submit(doing, *one) for one in zip(*arguments, strict=True)]
            try:
                return [one.result() for one in pending]
            except BaseException:
                for one in pending:
                    one.cancel()
                raise

    def failed(self, name: str, error: Exception) -> StoreError:
        """The error in one line: which object, what the store answered, what to do. No text of the store's but a code."""
        return StoreError(f"{self.url / name if name else self.url}: {answer_in_words(self.url, error)}")

    def _refuse_missing_bucket(self, error: FileNotFoundError) -> None:
        if "<Code>NoSuchBucket</Code>" in str(error):
            raise self.failed("", error) from error

    def _key(self, name: str) -> str:
        return f"{self.url.key}/{name}" if self.url.key and name else self.url.key or name


class Ranges:
    """Files that compiled code reads by ranges: objects, by their URLs as :class:`Url` prints them."""

    def facts(self, url: str) -> tuple[int, str]:
        """The size of an object, and a text that another object of its name doesn't have. StoreError where there is none."""
        bucket = _bucket_of(url)
        found = bucket.facts("")
        if found is None:
            raise StoreError(f"{url}: there is no such object.")
        return found

    def range(self, url: str, start: int, end: int) -> bytes:
        """The bytes of an object in a range that lies in it."""
        return b"".join(content for _, content in _bucket_of(url).range("", start, end))


def _stands_for_folder(name: str, names: Sequence[str]) -> bool:
    """Returns whether one of these names, which are sorted, lies below a name, or whether that is the whole place. The library's names have no slash at the end."""
    place = bisect_left(names, f"{name}/")
    return not name or (place < len(names) and names[place].startswith(f"{name}/"))


def _bucket_of(url: str) -> Bucket:
    scheme, _, rest = url.partition("://")
    bucket, _, key = rest.partition("/")
    return Bucket(Url(scheme, bucket, key))


@cache
def client(scheme: str, bucket: str) -> "ObjectStore":
    """The library's client of a store, which all threads share; made from the environment as it is then. StoreError where that doesn't say how to reach it."""
    from obstore.store import from_url  # noqa: PLC0415

    for name in _ENDPOINTS.get(scheme, ()):
        if name in os.environ and not _is_endpoint(os.environ[name]):
            raise StoreError(
                f"{scheme}://{bucket}: {name}, the address of the store, is no URL. Expected one as https://host:9000; for {scheme}'s own, unset it."
            )
    # The library reads this setting itself only where no option is given.
    plain = scheme == "http" or any(os.environ.get(name, "").lower() in ("true", "1") for name in _ALLOW_HTTP)
    options: Any = {**_CLIENT, "allow_http": plain}
    retry: Any = _RETRY
    try:
        return from_url(f"{scheme}://{bucket}", client_options=options, retry_config=retry)
    except Exception as error:  # of several kinds, by scheme: a part of the configuration that is missing
        text = one_line(str(error).splitlines()[0])[:200]
        raise StoreError(f"{scheme}://{bucket}: the environment doesn't say how to reach it: {text}") from None


def _is_endpoint(text: str) -> bool:
    try:
        found = urlsplit(text)
        _ = found.port
    except ValueError:
        return False
    return found.scheme in ("http", "https") and bool(found.hostname) and bool(re.fullmatch(r"[!-~]+", text))
