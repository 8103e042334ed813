"""Checks which files of a folder of logs can be read: plain files of a disk, in a form that ingest reads."""

import stat
from pathlib import Path

from slotmark.cleaning import one_line
from slotmark.errors import LogError
from slotmark.texts import is_of_the_kernel

PACKINGS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
"""The packings that ingest reads, by the first bytes of a file."""

_OTHER_FORMS = {
    b"\xfd7zXZ\0": "packed by xz",
    b"BZh": "packed by bzip2",
    b"PK\x03\x04": "packed by zip",
    b"7z\xbc\xaf\x27\x1c": "packed by 7-Zip",
    b"\x04\x22\x4d\x18": "packed by LZ4",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
    b"{\0": "text in UTF-16",
    b"\0{": "text in UTF-16",
}
"""Forms in which logs come and that ingest doesn't read, by the first bytes of a file."""


def packing_of(path: Path) -> str | None:
    """Returns a file's packing, by its first bytes: ``gzip``, ``zstd``, or None."""
    start = _start(path)
    return next((packing for magic, packing in PACKINGS.items() if start.startswith(magic)), None)


def unreadable(path: Path) -> str:
    """Returns the reason why a file can't be read as a log, in words; empty where it can, where it is a folder or a socket, or where nothing is there.

    Raises:
        OSError: The file can't be opened.
    """
    if path.is_symlink() and not path.exists():
        return "a link to nothing"
    if not path.exists():
        return ""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode) or stat.S_ISSOCK(mode):
        return ""
    if is_of_the_kernel(path):
        return f"of the kernel, {one_line(str(path.resolve()))}"
    if not stat.S_ISREG(mode):
        return "no plain file"
    start = _start(path)
    return next((form for magic, form in _OTHER_FORMS.items() if start.startswith(magic)), "")


def content_of(path: Path) -> bytes:
    """Returns the content of a file beside logs, as a genesis.

    Raises:
        LogError: It is no plain file of a disk, or can't be read.
    """
    try:
        if is_of_the_kernel(path) or not path.is_file():
            raise LogError(f"{path}: no plain file of a disk. Give the file itself.")
        return path.read_bytes()
    except OSError as error:
        raise LogError(f"{path}: can't be read ({error.strerror or error}). Check the file.") from error


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(max(map(len, (*PACKINGS, *_OTHER_FORMS))))
