"""The places of logs, and a look at those of a place: folders of this machine, object stores and web servers, and hosts of a cluster of machines."""

import os
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from slotmark.benches.cluster.files import content_of
from slotmark.benches.cluster.ingesting import tracing
from slotmark.benches.cluster.ingesting.log_pieces import Surveyed, survey, surveyed
from slotmark.benches.cluster.ingesting.logs import SNIFFED_BYTES, HostLog, host_logs, host_of
from slotmark.benches.cluster.metadata import GENESIS_PLACES, SIMULATED_PROFILE
from slotmark.cleaning import one_line
from slotmark.errors import LogError
from slotmark.places import Url, place
from slotmark.stores import AT_ONCE, Bucket, keep
from slotmark.temporary import temporary_folder

DESCRIPTION = ("meta.json", "profile.json", SIMULATED_PROFILE, "topology.json", *GENESIS_PLACES)
"""Files beside logs that describe the run."""

MOST_FILES = 10_000
"""Most files of one place in a store."""

MOST_DESCRIPTION_BYTES = 64 << 20
"""Most bytes of one such file that isn't on this machine."""

MOST_OF_A_PART = 255
"""Bytes of a part of a file's name."""

_ON_HOST = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,252}):(/.*)", re.ASCII | re.DOTALL)


class OnHost(msgspec.Struct, frozen=True):
    """A folder or a file of a host, which only that one can read."""

    host: str
    path: str

    def __str__(self) -> str:
        return f"{self.host}:{self.path}"


LogPlace = Path | Url | OnHost


class Unread(msgspec.Struct, frozen=True):
    """A file beside logs that can't be read, its host, and the reason in words."""

    host: str
    place: str
    why: str


class Look(msgspec.Struct, frozen=True):
    """The logs of a place.

    Attributes:
        survey: What decides how they are cut, of each file.
        unread: Files that can't be read.
        folders: Names of the folders of the place.
        description: Files that describe the run, by their places; none of a folder of this machine, which has them.
    """

    survey: list[Surveyed]
    unread: list[Unread] = []
    folders: list[str] = []
    description: dict[str, bytes] = {}


def log_place(named: str) -> LogPlace:
    """The place that a text names: ``HOST:/PATH`` where no file of this machine is called so, a URL, or a path.

    Raises:
        ArgumentError: A URL that can't be one, or that holds a user or a password.
    """
    found = place(named)
    on_host = _ON_HOST.fullmatch(named)
    if on_host is None or isinstance(found, Url) or found.exists():
        return found
    return OnHost(on_host[1], on_host[2])


def look(at: Path | Url) -> Look:
    """Finds the logs of a folder or of a store, and looks at the ends of each.

    Raises:
        LogError: There are none, or one can't be read.
        StoreError: The store fails.
    """
    return _look_here(at) if isinstance(at, Path) else _look_in_store(at)


def look_at_host(path: str, at: str) -> Look:
    """The same of a folder or file of the host that does this. Files of the folder itself are the host's; folders in it are hosts.

    Args:
        path: The folder or the file.
        at: The name of the host.
    """
    folder = Path(path)
    found = host_logs(folder)
    own = folder.parent if folder.is_file() else folder
    logs = [HostLog(at, log.path) if log.path.parent == own else log for log in found.logs]
    unread = [
        Unread(at if file.parent == own else file.parent.name, f"{at}:{file}", one_line(why))
        for file, why in found.unread
    ]
    return Look(survey(logs, at), unread, _folders(own), description(own))


def _look_here(folder: Path) -> Look:
    found = host_logs(folder)
    own = folder if folder.is_dir() else folder.parent
    try:
        return Look(survey(found.logs), _unread(own, found.unread), _folders(own))
    except OSError as error:
        raise LogError(
            f"{own}: a log was there and can't be read ({error.strerror or error}). Ingest again, or ingest a copy."
        ) from error


def _look_in_store(url: Url) -> Look:
    """By a folder of this machine that has the beginnings of the store's files, and those that describe the run."""
    with temporary_folder() as name:
        below, folder, begun = _beginnings(url, Path(name))
        try:
            found = host_logs(begun)
        except LogError as error:
            raise LogError(str(error).replace(str(folder), str(below))) from error
        with ThreadPoolExecutor(AT_ONCE) as pool:
            at_ends = list(
                pool.map(lambda log: surveyed(log, str(below / str(log.path.relative_to(folder)))), found.logs)
            )
        unread = [
            msgspec.structs.replace(one, place=one.place.replace(str(folder), str(below)))
            for one in _unread(folder, found.unread)
        ]
        return Look(at_ends, unread, _folders(folder), description(folder))


def _beginnings(url: Url, scratch: Path) -> tuple[Url, Path, Path]:
    """Makes a folder of a URL's name with the beginnings of a store's files. Returns the URL that it stands for, the folder, and the place in it that was asked for."""
    bucket = Bucket(url)
    names = bucket.names(most=MOST_FILES) if url.listed else []
    file = ""
    if not names:
        if not url.key or bucket.facts("") is None:
            raise LogError(
                f"{url}: nothing is there{'' if url.listed else ', or a folder, which a web server does not list: name each file'}. "
                "Give the URL of the logs."
            )
        names, url, file = [url.name], url.parent, url.name
        bucket = Bucket(url)
    if len(names) > MOST_FILES:
        raise LogError(f"{url}: more than {MOST_FILES:,} objects. Give the URL of the logs of one run.")
    near = [name for name in names if name.count("/") < 2]
    for name in near:
        if any(
            part in ("", ".", "..") or "\0" in part or len(os.fsencode(part)) > MOST_OF_A_PART
            for part in name.split("/")
        ):
            raise LogError(f"{url}: the object {one_line(name)!r:.100} in it can't be a file. Leave it out.")

    folder = scratch / (url.name if url.key and len(os.fsencode(url.name)) <= MOST_OF_A_PART else "logs")
    folder.mkdir()

    def bring(name: str) -> None:
        size = bucket.size(name) or 0
        whole = name in DESCRIPTION or Path(name).name == tracing.CONFIGURATION
        ranges = bucket.range(name, 0, min(size, MOST_DESCRIPTION_BYTES if whole else SNIFFED_BYTES))
        keep(folder / name, (content for _, content in ranges))

    bucket.each(bring, near)
    return url, folder, folder / file


def _unread(folder: Path, found: Sequence[tuple[Path, str]]) -> list[Unread]:
    return [
        Unread(host_of(file) if file.parent == folder else file.parent.name, str(file), one_line(why))
        for file, why in found
    ]


def _folders(folder: Path) -> list[str]:
    return sorted(child.name for child in folder.iterdir() if child.is_dir())


def description(folder: Path) -> dict[str, bytes]:
    """The files that describe the run; those that are too large are left out."""
    return {
        name: content_of(folder / name)
        for name in DESCRIPTION
        if (folder / name).is_file() and (folder / name).stat().st_size < MOST_DESCRIPTION_BYTES
    }
