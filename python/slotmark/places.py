"""Places of runs: folders of this machine, and URLs of object stores.

A URL names a run or a folder of runs: ``s3://bucket/runs/10.6``, ``gs://…``, ``az://container/…``, and ``http://…`` or ``https://…`` for reading. Credentials
come from the environment or the machine's own identity, never from a URL.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

from slotmark.cleaning import one_line
from slotmark.errors import ArgumentError

_WRITABLE = ("s3", "gs", "az")
_READABLE = ("http", "https")
SCHEMES = (*_WRITABLE, *_READABLE)

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")

_WITH_QUERY = re.compile(r"(?:s3a?|gs|az|abfss?|https?)://[^\s?]*\?", re.IGNORECASE)
"""A text that begins as a URL up to its query: one in a sentence or in a command of somebody's is theirs."""

_WAS_URL = re.compile(f"(?:{'|'.join(SCHEMES)}):/")
"""A URL that was taken for a path."""


class Url(msgspec.Struct, frozen=True):
    """The place of something in a store, with what paths have that those who print and join them use.

    Attributes:
        scheme: One of `SCHEMES`.
        bucket: The bucket or container; of http the host, with its port.
        key: The names below it, without a slash at either end.
    """

    scheme: str
    bucket: str
    key: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}{'/' if self.key else ''}{self.key}"

    def __truediv__(self, name: str) -> "Url":
        return Url(self.scheme, self.bucket, f"{self.key}{'/' if self.key else ''}{name}")

    @property
    def name(self) -> str:
        """The last of its names."""
        return self.parts[-1]

    @property
    def parent(self) -> "Url":
        """The place that it lies in; the bucket lies in itself."""
        return Url(self.scheme, self.bucket, self.key.rpartition("/")[0])

    @property
    def listed(self) -> bool:
        """Returns whether the store lists names: a web server doesn't."""
        return self.scheme in _WRITABLE

    @property
    def parts(self) -> tuple[str, ...]:
        """Its names, the bucket's before them."""
        return (f"{self.scheme}://{self.bucket}", *filter(None, self.key.split("/")))

    def resolve(self) -> "Url":
        """Returns itself: a URL has one form."""
        return self


Place = Path | Url
"""The place of a run or of a folder of runs: a folder of this machine, or in a store."""


def place(named: str | Path | Url) -> Place:
    """The place that a text names: a URL of a store, or a path. ``file:`` URLs are paths.

    Raises:
        ArgumentError: A URL that holds a user or a password, or that names nothing that can be opened.
    """
    if not isinstance(named, str):
        return named
    if not _URL.match(named):
        return Path(named)
    try:
        split = urlsplit(named)
        port = split.port
    except ValueError:
        raise ArgumentError("a URL whose host can't be read: expected one as s3://bucket/runs/x.") from None
    if "@" in split.netloc:  # what stands before it isn't printed
        raise ArgumentError(
            f"{split.scheme}://…@{split.netloc.rpartition('@')[2]}: a URL with a user or password. Leave it out, and give credentials by the environment (docs/scale.md)."
        )
    if split.query or split.fragment or "?" in named or "#" in named:
        raise ArgumentError(
            f"{split.scheme}://{split.netloc}{split.path}: a URL with '?' or '#' and more behind it, where secrets may stand. Leave that out (docs/scale.md)."
        )
    if not named.isprintable():  # what can't be printed, urlsplit leaves out
        raise ArgumentError(f"{one_line(named)}: expected a bucket and plain names behind it, as s3://bucket/runs/x.")
    scheme = split.scheme.lower()
    if scheme == "file":
        if split.netloc not in ("", "localhost"):
            raise ArgumentError(f"{named}: a file of another machine. Expected file:///and/a/path.")
        return Path(unquote(split.path))
    if scheme not in SCHEMES:
        raise ArgumentError(f"{named}: expected a path, or a URL of {', '.join((*SCHEMES, 'file'))}.")
    path = unquote(split.path) if scheme in _READABLE else split.path
    names = [name for name in path.split("/") if name]
    if not split.netloc or any(name in (".", "..") or not name.isprintable() for name in names):
        raise ArgumentError(f"{one_line(named)}: expected a bucket and plain names behind it, as s3://bucket/runs/x.")
    host = f"{split.hostname}:{port}" if scheme in _READABLE and port else split.netloc
    return Url(scheme, host, "/".join(names))


def place_of_option(_option: str, named: str) -> Place:
    """The place that an option names: :func:`place`."""
    return place(named)


def folder_of_option(_option: str, named: str) -> Path:
    """The folder that an option names: :func:`folder_of`."""
    return folder_of(named)


def folder_of(named: Place | str) -> Path:
    """The folder that is named, where a store will not do, as for reports and for sessions, which keep what they need to go on. ArgumentError for a URL."""
    return _of_this_machine(
        named, "written to a folder. Name one; runs can be copied from there to a store: slotmark copy RUN URL."
    )


def file_of(named: Place | str) -> Path:
    """The file that is named, where a store will not do. ArgumentError for a URL."""
    return _of_this_machine(named, "written to a file of this machine. Name one.")


def _of_this_machine(named: Place | str, told: str) -> Path:
    found = place(named)
    if isinstance(found, Url) or _WAS_URL.match(str(found)):
        raise ArgumentError(f"{named}: this is {told}")
    return found


def refuse_secrets(arguments: Iterable[str]) -> None:
    """Raises ArgumentError where a text of the command line holds a URL with a user or a password, or is one with a query: also where no URL is taken."""
    for argument in arguments:
        named = argument.partition("=")[2] if argument.startswith("--") else argument
        if _WITH_QUERY.match(named):
            place(named)
        for found in re.findall(r"(?:s3a?|gs|az|abfss?|https?)://[^\s,]*", argument):
            if "@" in found.split("://", 1)[1].split("/", 1)[0]:
                place(found)
