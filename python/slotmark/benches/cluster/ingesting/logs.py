"""Finding the logs of a cluster's hosts in a folder, in all layouts that are in use.

- one folder per host: ``node-0/stdout*`` (workbench), ``node-0/node-*.json`` (cardano-tracer), or whatever log files it holds;
- one file per host: ``logs-node-0.flt.json`` (locli's ``analysis`` folder), ``node-0.log``, ``node-0.json.gz``; or several, as a rotated log has:
  ``node-0.log.1``, ``node-0.log-20260801.gz``.

Packed files are known by their first bytes, whatever they are called.
"""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa

from slotmark import _core
from slotmark.benches.cluster.files import packing_of, unreadable
from slotmark.cleaning import MOST_OF_A_NAME, one_name
from slotmark.errors import LogError
from slotmark.texts import is_of_the_kernel

NOT_HOSTS = frozenset({"analysis", "genesis", "flag", "generator", "past", "tracer", "explorer", "profile", "tables"})
"""Folders of a run directory that are no block producers."""

_PACKED = {".gz": "gzip", ".zst": "zstd"}
"""By the ends of names: a damaged file is known by its name alone."""

_ROTATED = r"([.-]\d[\d.:TZ_-]*)?$"
"""The end of the name of an older part of a log, as logrotate gives it: a number or a date."""

_ENDS = re.compile(r"(\.flt)?\.(json|jsonl|ndjson|log|txt)" + _ROTATED)

_CALLED_LOG = re.compile(r"\.(log|jsonl|ndjson)$")

_PRINTED = re.compile("stdout" + _ROTATED)
"""The name of what a node prints, the same for all hosts."""

_BESIDE = "beside the folders of hosts, so it is not known whose it is: move it into one"
_EMPTY = "empty"
_UNKNOWN_FORM = "no line of it is in a form that is read, as cardano-node's, Dingo's, Dugite's or Amaru's"

SNIFFED_BYTES = 1 << 18
"""Bytes of the beginning of a file by which it is known whether it is a log."""

_STEP_BYTES = 1 << 12


class HostLog(msgspec.Struct, frozen=True, order=True):
    """A log file and the host whose it is."""

    host: str
    path: Path


class HostLogs(msgspec.Struct, frozen=True):
    """The log files in a folder.

    Attributes:
        logs: The log files, sorted.
        unread: Files beside them that can't be read, each with the reason in words.
    """

    logs: list[HostLog]
    unread: list[tuple[Path, str]]


def host_logs(folder: Path) -> HostLogs:
    """The log files in a folder, each with its host.

    Raises:
        LogError: There is no such folder, no log in it, or a file can't be opened.
    """
    if is_of_the_kernel(folder):
        raise LogError(f"{folder}: files of the kernel, not logs. Give the folder of the logs.")
    try:
        return _host_logs(folder)
    except OSError as error:
        raise LogError(
            f"{error.filename or folder}: can't be read ({error.strerror or error}). Check the file, or leave it out."
        ) from error


def _host_logs(folder: Path) -> HostLogs:
    if folder.exists() and not folder.is_dir():
        _refuse_other_names([folder])
        if why := unreadable(folder) or ("" if folder.is_file() else "no plain file"):
            raise LogError(f"{folder}: {why}. Give it as plain text in UTF-8, or packed by gzip or zstd.")
        return HostLogs([HostLog(host_of(folder), folder)], [])
    if not folder.is_dir():
        raise LogError(
            f"{folder}: no such folder. Give the folder that holds a folder or a file of logs for each host."
        )
    if (folder / "run.json").is_file():
        raise LogError(
            f"{folder}: a run folder already, not logs: nothing is left to ingest. Use it as it is, as in `slotmark show {folder}`, or "
            "name the folder of the logs that it was made from."
        )
    _refuse_other_names(folder.iterdir())
    hosts = [child for child in sorted(folder.iterdir()) if child.is_dir() and child.name not in NOT_HOSTS]
    unread: list[tuple[Path, str]] = []
    found = [HostLog(host.name, path) for host in hosts for path in _logs_in(host, unread)]
    if found:
        unread += [(path, _BESIDE) for path in _logs_in(folder, [])]
    else:
        found = [HostLog(host_of(path), path) for path in _logs_in(folder, unread, of_hosts=True)]
    if not found and (folder / "analysis").is_dir():
        found = [HostLog(host_of(path), path) for path in _logs_in(folder / "analysis", unread, of_hosts=True)]
    if not found:
        first = f" {unread[0][0]}: {unread[0][1]}." if unread else ""
        raise LogError(
            f'{folder}: no file in it begins like a node\'s log, with lines as {{"at":…,"ns":…,"data":…}} (cardano-node), '
            f'{{"time":…,"level":…,"msg":…}} (Dingo) or {{"timestamp":…,"level":…,"fields":…}} (Dugite, Amaru).{first} Expected node-0/stdout and so on, or a file per host.'
        )
    return HostLogs(sorted(found), unread)


def without_logs(hosts: Sequence[str], named: Sequence[str], folders: Sequence[str]) -> list[str]:
    """The hosts that a run directory names and has no log of: those that its topology names, and folders beside the hosts' own.

    Args:
        hosts: Those with logs, also such as can't be read.
        named: Those of the topology.
        folders: Those of the run directory.
    """
    in_folders = any(host in folders for host in hosts)
    return sorted({*named, *(folders if in_folders else [])} - NOT_HOSTS - set(hosts))


def _logs_in(folder: Path, unread: list[tuple[Path, str]], *, of_hosts: bool = False) -> Sequence[Path]:
    """The log files of one folder: of those that a node writes itself and those that a tracer does, only the former, unless they are empty.

    Files that can't be read are added to ``unread``, and those that are called like a log and aren't in the form of one.

    Args:
        folder: The folder.
        unread: Takes such files, each with the reason.
        of_hosts: Whether each file may be the only log of a host.
    """
    whys = {path: unreadable(path) for path in sorted(folder.iterdir())}
    logs = [path for path, why in whys.items() if not why and path.is_file() and _is_log(path)]
    known = {_form_of(path) for path in logs}
    for path in [path for path, why in whys.items() if not why and path.is_file() and path not in logs]:
        form = _form_of(path)
        # What a node printed is its log, in whatever form; so is what is called like a log.
        if form in known or (not logs and form.startswith("stdout")) or (of_hosts and _CALLED_LOG.search(form)):
            whys[path] = _UNKNOWN_FORM if path.stat().st_size else _EMPTY
    files = [path for path, why in whys.items() if why or path in logs]
    _refuse_other_names(files)
    printed = [path for path in files if path.name.startswith("stdout")]
    if any(path.stat().st_size for path in printed if path in logs) or not set(logs) - set(printed):
        files = printed or files
    unread += [(path, whys[path]) for path in files if whys[path]]
    return [path for path in files if not whys[path]]


def _refuse_other_names(paths: Iterable[Path]) -> None:
    """Refuses names that are not UTF-8, or that can't be shown as they are: they become names of hosts."""
    for path in paths:
        shown = os.fsencode(path.name).decode("utf-8", "backslashreplace")
        if shown != path.name:
            raise LogError(f"{path.parent}: the name {shown} in it is not UTF-8. Rename it: a host is called by it.")
        if one_name(shown) != shown:
            raise LogError(
                f"{path.parent}: the name {one_name(shown)!r} in it has characters that can't be shown, or more than {MOST_OF_A_NAME}. "
                "Rename it: a host is called by it."
            )


def _is_log(path: Path) -> bool:
    """Returns whether a line near its beginning is a message.

    A file without any line counts where its name is that of a log. A packed one of which no line can be unpacked counts
    too: what it was is not known, and ingest counts it as damaged.
    """
    if path.stat().st_size == 0:
        return path.name.startswith("stdout")
    lines = first_lines(path)
    return lines is None or any(map(_core.is_log_line, lines))


def first_lines(path: Path) -> list[bytes] | None:
    """The lines near a file's beginning; None where it is packed and damaged before the first ends."""
    start = b""
    packing = packing_of(path) or _PACKED.get(path.suffix)
    with pa.input_stream(str(path), compression=packing) as file:
        while len(start) < SNIFFED_BYTES:
            try:
                more = file.read(_STEP_BYTES)
            except OSError:
                if packing is None:
                    raise
                if b"\n" not in start:
                    return None
                break
            if not more:
                break
            start += more
    return start.splitlines()


def host_of(path: Path) -> str:
    """The host that a file's name means: ``logs-node-0.flt.json.gz`` is ``node-0``'s, and so is ``node-0/stdout``, whatever else is named."""
    name = _ENDS.sub("", _unpacked(path)).removeprefix("logs-") or path.name
    if not _PRINTED.fullmatch(name):
        return name
    folder = path.parent.name  # of a link its own, as where the folder above is read
    if folder in ("", ".."):
        folder = path.parent.resolve().name
    return folder if folder and one_name(folder) == folder else name


def _form_of(path: Path) -> str:
    """A file's name without its packing, the number of a rotated part, and what hosts and dates differ in: the same of all logs of a folder."""
    return re.sub(r"\d+", "0", re.sub(_ROTATED, "", _unpacked(path)))


def _unpacked(path: Path) -> str:
    """A file's name without its packing."""
    return next((path.name.removesuffix(suffix) for suffix in _PACKED if path.name.endswith(suffix)), path.name)
